"""*Choosing*: privacy on one axis, error on the other, every design a line and, at the demand, a point.

Designs that are not admissible are grey, with an arrow to what beats them.

Source: [NayakZhai2019, section 3.2] for the minimax design; errors as :mod:`maskwell.planning.candidates` gives them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Array, Real
from maskwell.core.exact import Number, log_of
from maskwell.core.phrases import Printed
from maskwell.planning.candidates import Frontier, FrontierLine, frontier
from maskwell.planning.design_choice import Choice, choose
from maskwell.planning.sample_size import check_n
from maskwell.planning.set_sizes import gamma_of
from maskwell.privacy.criteria import Demand
from maskwell.reports.choosing_panels import Entry, Scene, draw_scene, scene_heights
from maskwell.reports.demands import asked, in_symbols
from maskwell.reports.picture import Picture
from maskwell.reports.words import SPACE, percent

LOW, HIGH, POINTS = 0.25, 5.0, 77  # epsilons of the scale; one of them is 1
MOST = 700.0  # the largest epsilon that has a gamma
RESPONDENTS = 1000
DRAWN = ("subset", "k-ary", "oue, best-linear", "rappor, best-linear")
"""Lines that are drawn; unary encodings with the best of their three estimators."""
SAME, CLOSE = 1e-9, 1e-3
EQUAL_SHARES = "Errors are drawn at equal shares, not at those that were assumed."
NO_BOUND = "Local l-diversity is not on this scale: it has no bound on parity."


def plot_frontier(k: int, *, demand: Demand | None = None, n: Number = RESPONDENTS) -> Picture:
    """Privacy against error, for all designs of k categories at equal shares.

        error = sqrt((V_R + 1 - 1/k) / (k n))

    is the root mean square error of one share from n reports, where V_R is what the design adds.

    Parameters
    ----------
    k, n
        Categories and respondents.
    demand
        Where the designs are set side by side, with the one that is recommended; epsilon = 1 without it.

    >>> picture = plot_frontier(10, demand=Demand.from_epsilon(1))
    >>> picture.rows[0][:3]
    ['minimax subset selection', '29.1', '5.48']
    """
    n = check_n(n)
    check_kind(Demand | None, demand=demand)
    return _picture(k, demand, n, None if demand is None else choose(k, demand, n=n))


def plot_choice(choice: Choice) -> Picture:
    """The same for a choice that was made: its demand, its number of respondents and what it recommends.

    >>> plot_choice(choose(10, Demand.from_epsilon(1), n=500)).title
    'Choosing: privacy against error'
    """
    check_kind(Choice, choice=choice)
    return _picture(choice.design.k, choice.demand, choice.n or RESPONDENTS, choice)


def _picture(k: int, demand: Demand | None, n: Number, choice: Choice | None) -> Picture:
    found, place = _found(k, demand, n)
    lines = _distinct(found.lines)
    scene = Scene(
        epsilon=found.epsilon,
        place=place,
        entries=[_entry(line, lines, choice, place) for line in lines],
        k=k,
        n=found.n or RESPONDENTS,
        where=in_symbols(demand) if demand else "ε = 1",
        reason=choice.reason if choice else "",
        remarks=(NO_BOUND, *((EQUAL_SHARES,) if choice and choice.pi else ())),
    )
    return Picture(
        name="frontier",
        title="Choosing: privacy against error",
        text=_in_words(found, scene, demand),
        data=_arrays(found),
        columns=("design", "added variance", "error of a share, points", "a guess is right", "beaten by"),
        rows=[_row(line, entry, place) for line, entry in zip(lines, scene.entries, strict=True)],
        heights=scene_heights(scene),
        draw=lambda canvas: draw_scene(canvas, scene),
    )


def _found(k: int, demand: Demand | None, n: Number) -> tuple[Frontier, int]:
    """All designs over the scale, and the place of the demand on it."""
    at = 1.0 if demand is None else log_of(gamma_of(demand))
    scale = np.linspace(min(LOW, at / 2), max(HIGH, min(1.25 * at, MOST)), POINTS)
    apart = [e for e in scale if demand is None or abs(e - at) > CLOSE]
    grid: list[Demand | Number] = [Demand.from_epsilon(f"{Printed(e):.4f}") for e in apart]
    found = frontier(k, grid if demand is None else [*grid, demand], n=n)
    return found, int(np.argmin(np.abs(found.epsilon - at)))


def _distinct(lines: Sequence[FrontierLine]) -> list[FrontierLine]:
    """Subset selection left out where it always names one category: then it is the gamma-diagonal design."""
    subset, diagonal, *others = lines
    same = np.allclose(subset.added_variance, diagonal.added_variance, rtol=SAME)
    return [diagonal, *others] if same else [subset, diagonal, *others]


def _entry(line: FrontierLine, lines: Sequence[FrontierLine], choice: Choice | None, place: int) -> Entry:
    beaten_by = None
    if line.dominated_by is not None:
        beaten_by = next((other.label for other in lines if other.name == line.dominated_by), lines[0].label)
    twin = next((other for other in lines if other.name == "k-ary"), line)
    same = math.isclose(line.added_variance[place], twin.added_variance[place], rel_tol=SAME)
    return Entry(
        label=line.label,
        error=_errors(line),
        beaten_by=beaten_by,
        recommended=choice is not None and line.name == choice.recommended.name,
        drawn=line.name in DRAWN,
        listed=line.name != "subset" or not same,
    )


def _errors(line: FrontierLine) -> Real:
    assert line.rms_error is not None, "a frontier is made with a number of respondents"
    return line.rms_error


def _arrays(found: Frontier) -> dict[str, Array]:
    """``error`` and ``added_variance`` have a row for each design and estimator."""
    return {
        "epsilon": found.epsilon,
        "gamma": found.gamma,
        "error": np.array([_errors(line) for line in found.lines]),
        "added_variance": np.array([line.added_variance for line in found.lines]),
    }


def _row(line: FrontierLine, entry: Entry, at: int) -> list[str]:
    guess = f"{percent(float(line.guess_probability[at]))}{SPACE}%"
    variance, error = float(line.added_variance[at]), 100 * float(entry.error[at])
    return [entry.label, f"{Printed(variance):.3g}", f"{Printed(error):.3g}", guess, entry.beaten_by or ""]


def _in_words(found: Frontier, scene: Scene, demand: Demand | None) -> str:
    said = ", ".join(f"{entry.label} {Printed(100 * float(entry.error[scene.place])):.3g}" for entry in scene.entries)
    beaten = [entry for entry in scene.entries if entry.beaten_by]
    parts = [
        f"Error of one share from {scene.n:,} reports about {found.k:,} categories, in percentage points, against "
        f"privacy: the more privacy, the larger the error. At {asked(demand or Demand.from_epsilon(1))}: {said}.",
        f"For the demand {in_symbols(demand)}, {scene.reason}." if demand else "",
        f"Dominated, because designs of the same parity tell more: {'; '.join(entry.label for entry in beaten)}; "
        f"{beaten[0].beaten_by} adds less variance, whatever the shares.",
        *scene.remarks,
    ]
    return " ".join(part for part in parts if part)

"""The family of exact boundaries: what every design of parity gamma leaves possible, for several gammas at once.

Source: [ChaiNayak2018, Figure 4, eq. (3.5)].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import as_list, check_kind
from maskwell.core.arrays import Array
from maskwell.core.exact import Number, log_of, safe_below, to_float
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import Demand
from maskwell.reports.demands import asked, demand_in_words, in_symbols
from maskwell.reports.notes import Note, area_mark, line_mark
from maskwell.reports.outline import Region
from maskwell.reports.picture import SMALL, Canvas, Picture
from maskwell.reports.square import (
    DASHES,
    at_parity,
    breach,
    breach_line,
    diagonal_note,
    end_notes,
    explain,
    sample_of,
    shade_outside,
    square,
    square_heights,
    trace,
)
from maskwell.reports.style import LEVELS, colour, levels
from maskwell.reports.words import PRIORS, SPACE, factor_up, range_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAMMAS = (2, 5, 10, 20, 100)
MOST = 10
APART = 0.038  # least distance of two labels along each side of the square
EDGE = 0.075  # no label nearer to the corner, where the scale has its own
CASE = Fraction(1, 10)
LARGEST = 100.0  # a logarithm beyond which no label would be seen


def plot_family(gammas: Sequence[Number] = GAMMAS, *, demand: Demand | None = None) -> Picture:
    """The boundaries of parity gamma, up and down, for several gammas.

        h(p) = gamma p / (1 + (gamma - 1) p),    h~(p) = p / (gamma - (gamma - 1) p)

    Parameters
    ----------
    gammas
        At most ten, each above 1.
    demand
        Drawn over the family, with the boundary of the parity that it allows.

    >>> [cell.replace(SPACE, " ") for cell in plot_family([3]).rows[0]]   # 10 % cannot become more than 25 %
    ['3', '0.33 to 3 %', '3.5 to 25 %', '25 to 75 %', '75 to 96.5 %']
    """
    check_kind(Demand | None, demand=demand)
    gammas = as_list(gammas, "gammas")
    exact = _read(gammas)
    asked_for = None if demand is None else Region.of(demand)
    regions = [Region.at_parity(gamma, like=asked_for) for gamma in exact]
    implied = None if demand is None else Region.at_parity(demand.gamma_exact, like=asked_for)
    notes = [
        *_key(exact),
        *([] if demand is None or asked_for is None else _demand_key(demand, asked_for)),
        diagonal_note(),
    ]

    def draw(canvas: Canvas) -> None:
        axes = square(canvas)
        if asked_for and implied and not asked_for.is_empty:
            shade_outside(axes, asked_for.lower, asked_for.upper, **breach())
            for curve in (asked_for.lower, asked_for.upper):
                trace(axes, curve, **breach_line())
            for curve in (implied.lower, implied.upper):
                trace(axes, curve, **at_parity())
        for region, style in zip(regions, _styles(len(exact)), strict=True):
            for curve in (region.lower, region.upper):
                trace(axes, curve, **style)
        _label(axes, exact)
        explain(canvas, notes)

    return Picture(
        name="family",
        title="What each parity leaves possible",
        text=_in_words(exact, demand),
        data=_arrays(exact, regions, asked_for, implied),
        columns=("γ", *(f"from {100 * p}{SPACE}%" for p in PRIORS)),
        rows=[[factor_up(gamma), *(_range(gamma, p) for p in PRIORS)] for gamma in exact],
        heights=square_heights(notes),
        draw=draw,
    )


def _read(gammas: Sequence[Number]) -> list[Fraction]:
    exact = sorted({safe_below(gamma, "gamma") for gamma in gammas})
    if not 1 <= len(exact) <= MOST or exact[0] <= 1:
        raise ParameterError(
            f"gammas = {', '.join(map(str, gammas)) or 'none'}", hint=f"give one to {MOST}, each above 1", gammas=gammas
        )
    return exact


def _range(gamma: Fraction, prior: Fraction) -> str:
    _, low, high = range_in_words(gamma, prior)
    return f"{low} to {high}{SPACE}%"


def _arrays(
    gammas: Sequence[Fraction], regions: Sequence[Region], stated: Region | None, implied: Region | None
) -> dict[str, Array]:
    """Curves by name: ``upper`` and ``lower`` have a row for each gamma."""
    optional = {"demand": stated, "implied": implied}
    return {
        "gamma": np.array([to_float(gamma) for gamma in gammas]),
        "prior": regions[0].upper.prior,
        "lower": np.array([region.lower.value for region in regions]),
        "upper": np.array([region.upper.value for region in regions]),
        **{f"{name}_lower": region.lower.value for name, region in optional.items() if region},
        **{f"{name}_upper": region.upper.value for name, region in optional.items() if region},
    }


def _in_words(gammas: Sequence[Fraction], demand: Demand | None) -> str:
    said = "; ".join(
        f"parity {factor_up(gamma)}: " + ", ".join(f"{100 * p} % becomes {_range(gamma, p)}" for p in PRIORS)
        for gamma in gammas
    )
    drawn = f"What a belief can become after one report, for several parities. {said}."
    return drawn if demand is None else f"{drawn} {demand_in_words(demand)}"


def _styles(count: int) -> list[dict[str, Any]]:
    """A shade each; beyond the number of shades, every second line is dashed."""
    dashes = itertools.cycle(DASHES if count > LEVELS else DASHES[:1])
    return [
        {"color": colour(tone), "linewidth": 1.8, "linestyle": dash, "zorder": 4}
        for tone, dash in zip(levels(count), dashes, strict=False)
    ]


def _key(gammas: Sequence[Fraction]) -> list[Note]:
    before = f"{100 * CASE}"
    lines = [
        Note(f"γ = {factor_up(gamma)}: {_range(gamma, CASE)}", line_mark(**style))
        for gamma, style in zip(gammas, _styles(len(gammas)), strict=True)
    ]
    return [Note("One report at parity γ", tone="muted"), Note(f"turns {before} % into", strong=True), *lines]


def _demand_key(demand: Demand, stated: Region) -> list[Note]:
    if stated.is_empty:
        return [Note(f"{in_symbols(demand)}: nothing is asked", space=8)]
    bound = asked(demand).split(" (", maxsplit=1)[0]
    return [
        Note(f"breach of {in_symbols(demand)}", area_mark(**sample_of(breach())), space=8),
        Note("limit of the demand", line_mark(**breach_line())),
        *end_notes(stated),
        Note(f"really asked: {bound}", line_mark(**at_parity())),
    ]


def _label(axes: Axes, gammas: Sequence[Fraction]) -> None:
    """Each gamma on its upper curve, where that is farthest from the diagonal; not where it would touch other words."""
    last = math.inf
    for gamma in gammas:
        at = 1 / (1 + math.exp(min(log_of(gamma), LARGEST) / 2))
        if last - at > APART and at > EDGE:
            box = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 1.5}
            style: dict[str, Any] = {"fontsize": SMALL, "ha": "center", "va": "center", "bbox": box, "zorder": 5}
            axes.text(at, 1 - at, factor_up(gamma), color=colour("ink"), parse_math=False, **style)
            last = at

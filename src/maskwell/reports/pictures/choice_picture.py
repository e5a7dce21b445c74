"""*Choosing*: privacy on one axis, error on the other, every design a line and, at the demand, a point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, check_kind
from maskwell.core.exact import Number, log_of
from maskwell.core.percentages import SPACE, percent
from maskwell.core.phrases import Printed, shorten
from maskwell.notes import Note
from maskwell.planning.candidates import Frontier, FrontierLine, frontier
from maskwell.planning.design_choice import Choice, choose
from maskwell.planning.sample_size import check_n
from maskwell.planning.set_sizes import gamma_of
from maskwell.privacy.criteria import Demand
from maskwell.reports.demand_words import asked, in_symbols
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Row, Sheet, rows_height, write_rows
from maskwell.reports.plain_words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOW, HIGH, POINTS = 0.25, 5.0, 77  # epsilons of the scale; one of them is 1
MOST = 700.0  # the largest epsilon that has a gamma
RESPONDENTS = 1000
DRAWN = ("subset", "k-ary", "oue, best-linear", "rappor, best-linear")  # unary encodings with the best estimator
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
    curves, place = _frontier_at(k, demand, n)
    lines = _distinct(curves.lines)
    scene = Scene(
        epsilon=curves.epsilon,
        place=place,
        entries=[_entry(line, lines, choice, place) for line in lines],
        k=k,
        n=curves.n or RESPONDENTS,
        where=in_symbols(demand) if demand else "ε = 1",
        reason=choice.reason if choice else "",
        remarks=(NO_BOUND, *((EQUAL_SHARES,) if choice and choice.pi else ())),
    )
    return Picture(
        name="frontier",
        title="Choosing: privacy against error",
        text=_in_words(curves, scene, demand),
        data={  # errors and variances have a row for each design and estimator
            "epsilon": curves.epsilon,
            "gamma": curves.gamma,
            "error": np.array([_errors(line) for line in curves.lines]),
            "added_variance": np.array([line.added_variance for line in curves.lines]),
        },
        columns=("design", "added variance", "error of a share, points", "a guess is right", "beaten by"),
        rows=[_row(line, entry, place) for line, entry in zip(lines, scene.entries, strict=True)],
        draw=lambda sheet: _draw(sheet, scene),
    )


def _frontier_at(k: int, demand: Demand | None, n: Number) -> tuple[Frontier, int]:
    """All designs over the scale, and the place of the demand on it."""
    at = 1.0 if demand is None else log_of(gamma_of(demand))
    scale = np.linspace(min(LOW, at / 2), max(HIGH, min(1.25 * at, MOST)), POINTS)
    apart = [e for e in scale if demand is None or abs(e - at) > CLOSE]
    grid: list[Demand | Number] = [Demand.from_epsilon(f"{Printed(e):.4f}") for e in apart]
    curves = frontier(k, grid if demand is None else [*grid, demand], n=n)
    return curves, int(np.argmin(np.abs(curves.epsilon - at)))


def _distinct(lines: Sequence[FrontierLine]) -> list[FrontierLine]:
    """Subset selection left out where it always names one category: then it is k-ary randomized response."""
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


def _row(line: FrontierLine, entry: Entry, at: int) -> list[str]:
    guess = f"{percent(float(line.guess_probability[at]))}{SPACE}%"
    variance, error = float(line.added_variance[at]), 100 * float(entry.error[at])
    return [entry.label, f"{Printed(variance):.3g}", f"{Printed(error):.3g}", guess, entry.beaten_by or ""]


def _in_words(curves: Frontier, scene: Scene, demand: Demand | None) -> str:
    said = ", ".join(f"{entry.label} {Printed(100 * float(entry.error[scene.place])):.3g}" for entry in scene.entries)
    beaten = [entry for entry in scene.entries if entry.beaten_by]
    at, others = asked(demand or Demand.from_epsilon(1)), "; ".join(entry.label for entry in beaten)
    parts = [
        Note("picture-of-a-frontier", n=scene.n, k=curves.k, at=at, said=said),
        f"For the demand {in_symbols(demand)}, {scene.reason}." if demand else "",
        Note("designs-that-are-beaten", others=others, by=beaten[0].beaten_by),
        *scene.remarks,
    ]
    return " ".join(part for part in parts if part)


HEIGHT = 240
MOST_TICKS = 6
SHORT = {"minimax subset selection": "minimax subset", "k-ary randomized response": "k-ary"}
HUGE_POWER = 100  # of ten, beyond which a digit before it says nothing
NEAR = 0.04  # part of the scale below which an arrow would say nothing


@dataclass(frozen=True, eq=False)
class Entry:
    """One design with one estimator."""

    label: str  # its name
    error: Real  # of one share, at each epsilon of the scene, shape (n,)
    beaten_by: str | None  # label of what dominates it
    # recommended, drawn, listed: whether it is the one to take, whether it has a line, and whether it has a point:
    # not where it is the same design as another one
    recommended: bool
    drawn: bool
    listed: bool

    @property
    def tone(self) -> str:
        """The recommended one stands out, the dominated ones step back."""
        return "accent" if self.recommended else "muted" if self.beaten_by else "ink"


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is drawn."""

    epsilon: Real  # epsilon, place: the scale of privacy, shape (n,), and where on it the designs are set side by side
    place: int
    entries: Sequence[Entry]  # the designs
    k: int  # k, n: numbers of categories and of reports
    n: int
    where: str  # where, reason, remarks: the demand in words, why one design is recommended, and what else must be said
    reason: str
    remarks: Sequence[str]

    def points(self) -> list[tuple[Entry, float]]:
        """The designs with their errors at the demand, best first."""
        listed = ((entry, float(entry.error[self.place])) for entry in self.entries if entry.listed)
        return sorted(listed, key=lambda pair: pair[1])

    @property
    def span(self) -> float:
        """The largest error of the scale from zero."""
        return 1.04 * self.points()[-1][1]

    @property
    def arrows(self) -> dict[str, float]:
        """By label of a dominated design the error of what beats it, where that is far enough for an arrow."""
        errors = {entry.label: float(entry.error[self.place]) for entry in self.entries}
        pairs = [(entry, error, errors.get(entry.beaten_by or "", error)) for entry, error in self.points()]
        return {entry.label: better for entry, error, better in pairs if (error - better) / self.span > NEAR}


def _draw(sheet: Sheet, scene: Scene) -> None:
    points = scene.points()
    rows = [
        Row(SHORT.get(entry.label, entry.label), _figures(error, points[0][1]), entry.tone, strong=entry.recommended)
        for entry, error in points
    ]
    lines, frame = sheet.plots(HEIGHT, rows_height(rows))
    _lines(lines, scene)
    _points(frame, scene, rows)
    sheet.below += _notes(scene)


def _notes(scene: Scene) -> list[LegendEntry]:
    arrow = "the arrow leads to" if scene.arrows else "there is"
    kinds = [
        ("accent", f"recommended: {scene.reason}"),
        ("ink", "another admissible design"),
        ("muted", f"dominated: {arrow} a design of the same parity that errs less, whatever the shares"),
    ]
    seen = {entry.tone for entry, _ in scene.points()}
    marked = [LegendEntry(words, marks.line(**_point(tone))) for tone, words in kinds if tone in seen]
    return [*marked, *(LegendEntry(remark) for remark in scene.remarks)]


def _lines(axes: Axes, scene: Scene) -> None:
    """Error over privacy; an error of more than a hundred points is left out, unless the demand needs it."""
    drawn = [entry for entry in scene.entries if entry.drawn]
    values = np.concatenate([entry.error for entry in drawn])
    asked_for = max(float(entry.error[scene.place]) for entry in drawn)
    low, high = float(values.min()) / 1.15, min(float(values.max()), max(1.0, asked_for)) * 1.15
    axes.set(xlim=(float(scene.epsilon[0]), float(scene.epsilon[-1])), ylim=(low, high), yscale="log")
    marks.set_numbers(axes.yaxis, [x / 100 for x in marks.round_numbers(100 * low, 100 * high)], factor=100)
    ticks = _ticks(*axes.get_xlim(), most=MOST_TICKS)
    axes.set_xticks(ticks, [f"{Printed(e):g}\n{_gamma(e)}" for e in ticks])
    for entry in sorted(drawn, key=lambda entry: entry.tone == "accent"):
        axes.plot(scene.epsilon, entry.error, **_line(entry.tone))
    at = float(scene.epsilon[scene.place])
    axes.axvline(at, color=colour("accent"), linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for entry in drawn:
        if entry.recommended:
            axes.plot([at], [float(entry.error[scene.place])], **_point("accent"))
    heights = [math.log(float(entry.error[-1]) / low) / math.log(high / low) for entry in drawn]
    names = [SHORT.get(name, name) for name in (entry.label.split(",", maxsplit=1)[0] for entry in drawn)]
    ends = zip(heights, names, (e.tone for e in drawn), (e.recommended for e in drawn), strict=True)
    marks.name_ends(axes, HEIGHT, [*ends])
    axes.set_title(f"Error of a share, % points, from {scene.n:,} reports")
    axes.set_xlabel("← more private; ε, and below it γ", loc="left")


def _ticks(low: float, high: float, *, most: int) -> list[float]:
    """Whole epsilons, not too many."""
    step = next(
        step * 10**power for power in itertools.count() for step in (1, 2, 5) if high / 10**power / step <= most
    )
    return [float(e) for e in range(step * math.ceil(low / step), math.floor(high) + 1, step)]


def _gamma(epsilon: float) -> str:
    """``e**epsilon`` to one or two digits, or the nearest power of ten where it is huge."""
    power = epsilon / math.log(10)
    if power >= HUGE_POWER:
        return f"10{marks.raised(round(power))}"
    gamma = math.exp(epsilon)
    return marks.scale_number(
        float(f"{Printed(gamma):.2g}" if gamma < marks.LARGEST_PLAIN else f"{Printed(gamma):.1g}")
    )


def _points(axes: Axes, scene: Scene, rows: Sequence[Row]) -> None:
    """A row for each design: its error from zero, and an arrow to what beats it."""
    axes.set_xlim(0, scene.span)
    marks.ticks(axes.xaxis, 4, lambda x: marks.plain_number(100 * x))
    axes.axvline(0, color=colour("muted"), linewidth=1)
    for (entry, error), y in zip(scene.points(), write_rows(axes, rows), strict=True):
        axes.plot([0, error], [y, y], color=colour("rule"), linewidth=1.4, zorder=2)
        axes.plot([error], [y], **_point(entry.tone), clip_on=False)
        if entry.label in scene.arrows:
            _arrow(axes, error, scene.arrows[entry.label], y)
    where = shorten(f"At {scene.where}", 46)
    axes.set_title(f"{where}\n{counted(scene.k, 'category', 'categories')}; points, reports needed")
    axes.set_xlabel("Error of a share, % points")


def _figures(error: float, least: float) -> str:
    """The error, and how many times the reports it needs for the error of the best."""
    times = (error / least) ** 2
    shown = f"{Printed(times):.2f}" if times < 10 else marks.scale_number(float(f"{Printed(times):.3g}"))
    return f"{marks.scale_number(float(f'{Printed(100 * error):.3g}'))},  {shown} ×"


def _arrow(axes: Axes, start: float, end: float, y: float) -> None:
    """From a design back to the error of the one that beats it."""
    style = {"arrowstyle": "-|>", "color": colour("muted"), "linewidth": 1.4, "shrinkA": 5, "shrinkB": 0}
    axes.annotate("", xy=(end, y), xytext=(start, y), arrowprops=style, zorder=3)


def _line(tone: str) -> dict[str, Any]:
    width = {"accent": 2.6, "ink": 1.8}.get(tone, 1.2)
    return {"color": colour(tone), "linewidth": width, "zorder": 2 if tone == "muted" else 3}


def _point(tone: str) -> dict[str, Any]:
    size = 9 if tone == "accent" else 7
    face: dict[str, Any] = marks.open_point(colour(tone)) if tone == "ink" else {"color": colour(tone)}
    return {"marker": "o", "markersize": size, "linestyle": "none", "zorder": 6, **face}

"""*What your report reveals*: belief before on one axis, belief after on the other, and where no report can lead."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from maskwell.core.arguments import Flag, check_kind, shown_short
from maskwell.core.exact import Parity
from maskwell.core.percentages import SPACE
from maskwell.core.phrases import shorten
from maskwell.errors import ParameterError, WrongTypeError
from maskwell.notes import Note
from maskwell.privacy.criteria import Demand, posterior_range
from maskwell.reports.demand_words import asked, demand_bounds, in_symbols, kept
from maskwell.reports.pictures import belief_square as beliefs
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.belief_square import Region, Worst
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Sheet
from maskwell.reports.plain_words import PRIORS, factor_down, factor_up, range_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CASE = Fraction(1, 10)
COLUMNS = ("belief before the report", "after it, at least", "after it, at most")
DEMANDED = ("demanded: at least", "demanded: at most")
NAME_WIDTH = 60


def plot_revealed(parity: Parity, *, demand: Demand | None = None, name: str = "", decimals: bool = False) -> Picture:
    """What one report can do to anybody's belief, for a design of this parity and name.

    Parameters
    ----------
    demand
        Drawn with it: the design meets the demand when all that the demand forbids lies where no report leads.
    decimals
        Whether the design was given as decimals, so that a demand is met within slack
        (:mod:`maskwell.privacy.criteria`).

    >>> print(plot_revealed(Fraction(3)).text.split(".")[0])
    With parity at most 3, one report can multiply or divide the odds of any statement about a person by at most 3
    >>> print(plot_revealed(Fraction(16), demand=Demand.from_rho("0.1", "0.5")).text.split(". ")[-1])
    Not met: from just below 10 % a report can lead up to 64 %, where the demand allows no more than 50 %.
    """
    check_kind(Flag, decimals=decimals)
    check_kind(Demand | None, demand=demand)
    check_kind(str, name=name)
    if isinstance(parity, bool) or not isinstance(parity, Fraction | float | int):
        raise WrongTypeError("parity-is-no-number", parity=shown_short(parity))
    if not parity >= 1:
        raise ParameterError("parity-is-below-1", parity=shown_short(parity))
    stated = None if demand is None else Region.of(demand)
    region = Region.at_parity(parity, like=stated)
    title = shorten(name, NAME_WIDTH)
    if demand is None or stated is None:
        return _alone(parity, region, title)
    return _against(parity, region, demand, stated, title, decimals=decimals)


def _alone(parity: Parity, region: Region, name: str) -> Picture:
    before, low, high = range_in_words(parity, CASE)

    def draw(sheet: Sheet) -> None:
        axes = beliefs.square(sheet)
        _draw_reach(axes, region)
        _bar(axes, parity, CASE)
        said = [
            LegendEntry(_heading(name, parity), tone="muted"),
            LegendEntry(f"{before} % before, {low} to {high} % after, whatever the report says", strong=True),
        ]
        beliefs.explain(sheet, [*said, *_bar_notes(), *_outside_note(region), _reach_note(), beliefs.diagonal_note()])

    return Picture(
        name="revealed",
        title="What a report reveals",
        text=_in_words(parity, name),
        data=region.arrays,
        columns=COLUMNS,
        rows=_rows(parity),
        draw=draw,
    )


def _against(parity: Parity, region: Region, demand: Demand, stated: Region, name: str, *, decimals: bool) -> Picture:
    met, bound = demand.allows(parity, decimals=decimals), demand.gamma_exact
    worst = None if met else beliefs.find_worst(parity, demand, region, stated)
    answer, reason = "Not met", str(worst or "by less than can be drawn")
    if met:
        answer = "Met"
        reason = "nothing is asked" if isinstance(demand.gamma_exact, float) else "no report leads into a breach"

    allowed = f"The demand {in_symbols(demand)} allows parity up to {asked(demand)}."

    def draw(sheet: Sheet) -> None:
        axes = beliefs.square(sheet)
        _draw_reach(axes, region)
        beliefs.shade_between(axes, stated, region, **marks.look("broken"))
        beliefs.draw_breach(axes, stated)
        if worst is not None:
            _bar(axes, parity, worst.before)
        notes = [
            LegendEntry(f"{answer}: {reason}", strong=True, tone="ink" if met else "risk"),
            LegendEntry(_heading(name, parity), tone="muted"),
            LegendEntry(f"The demand {in_symbols(demand)} allows parity up to {factor_down(bound)}", tone="muted"),
            *_demand_notes(stated, worst),
            *_outside_note(region),
            _reach_note(),
            *([] if worst is None else _bar_notes()),
            beliefs.diagonal_note(),
        ]
        beliefs.explain(sheet, notes)

    return Picture(
        name="revealed",
        title="What a report reveals, against a demand",
        text=f"{_in_words(parity, name)} {allowed} {answer}: {reason}.",
        data={**region.arrays, "demand_lower": stated.lower.value, "demand_upper": stated.upper.value},
        columns=(*COLUMNS, *DEMANDED),
        rows=[[*row, *bounds] for row, bounds in zip(_rows(parity), demand_bounds(demand), strict=True)],
        draw=draw,
    )


def _heading(name: str, parity: Parity) -> str:
    """The design and its parity in one line."""
    return f"{name}: {kept(parity)}" if name else f"A design with {kept(parity)}"


def _rows(parity: Parity) -> list[list[str]]:
    return [[f"{text}{SPACE}%" for text in range_in_words(parity, p)] for p in PRIORS]


def _in_words(parity: Parity, name: str) -> str:
    cases = "; ".join(f"a belief of {before} becomes {low} to {high}" for before, low, high in _rows(parity))
    said = f"The design {name}. " if name else ""
    if isinstance(parity, float):
        return f"{said}Without a bound on parity, a report may lead anybody to certainty. In numbers: {cases}."
    factor = factor_up(parity)
    return Note("picture-of-a-parity", said=said, factor=factor, cases=cases)


def _draw_reach(axes: Axes, region: Region) -> None:
    beliefs.shade_outside(axes, region, **marks.look("unreachable"))
    beliefs.trace(axes, region, **marks.look("parity"))


def _bar(axes: Axes, parity: Parity, prior: Fraction) -> None:
    """One belief before, and all that it may become."""
    at, ends = float(prior), [float(x) for x in posterior_range(parity, prior)]
    axes.plot([at] * 2, ends, color=colour("report"), linewidth=6, solid_capstyle="butt", zorder=4)
    axes.plot([at], [at], marker="o", markersize=8, color=colour("ink"), zorder=5, clip_on=False)


def _demand_notes(stated: Region, worst: Worst | None) -> list[LegendEntry]:
    """What the demand adds to the drawing: nothing where it forbids nothing."""
    notes = beliefs.breach_notes(stated, "breach: what the demand forbids", "limit of the demand")
    if notes and worst is not None:
        notes.insert(1, LegendEntry("breach that a report can lead to", marks.area(**marks.look("broken"))))
    return [*notes, *beliefs.end_notes(stated)] if notes else []


def _outside_note(region: Region) -> list[LegendEntry]:
    return [] if region.is_empty else [LegendEntry("no report leads here", marks.area(**marks.look("unreachable")))]


def _reach_note() -> LegendEntry:
    return LegendEntry("what one report can do", marks.line(**marks.look("parity")))


def _bar_notes() -> list[LegendEntry]:
    return [
        LegendEntry("before", marks.line(linestyle="none", marker="o", markersize=8, color=colour("ink"))),
        LegendEntry("possible after", marks.bar(color=colour("report"), linewidth=6)),
    ]

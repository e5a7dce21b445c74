"""*What your report reveals*: belief before on one axis, belief after on the other, and where no report can lead."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.exact import Parity
from maskwell.privacy.criteria import Demand
from maskwell.reports.demands import asked, demand_bounds, in_symbols
from maskwell.reports.notes import Note, area_mark, bar_mark, line_mark, point_mark
from maskwell.reports.outline import Region
from maskwell.reports.picture import Canvas, Picture
from maskwell.reports.square import (
    at_parity,
    breach,
    breach_line,
    explain,
    nothing_learned,
    sample_of,
    shade,
    shade_outside,
    square,
    square_heights,
    trace,
)
from maskwell.reports.style import colour
from maskwell.reports.words import PRIORS, SPACE, factor_up, percent, range_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CASE = Fraction(1, 10)
COLUMNS = ("belief before the report", "after it, at least", "after it, at most")
DEMANDED = ("demanded: at least", "demanded: at most")
VISIBLE = 1e-6


def posterior_curves(gamma: float, prior: Real) -> tuple[Real, Real]:
    """The least and greatest belief after a report, for each belief before it.

        h_low(p) = p / (gamma - (gamma - 1) p),    h_high(p) = gamma p / (1 + (gamma - 1) p)

    where ``prior`` holds p, shape (n,). Both leave 0 and 1 where they are, for gamma infinite too.
    Source: [ChaiNayak2018, eq. (3.5)].

    >>> low, high = posterior_curves(5, np.array([0.1]))
    >>> round(float(low[0]), 7), round(float(high[0]), 6)   # one in ten may become one in three, not more
    (0.0217391, 0.357143)
    """
    if math.isinf(gamma):
        return np.where(prior < 1, 0.0, 1.0), np.where(prior > 0, 1.0, 0.0)
    return prior / (gamma - (gamma - 1) * prior), gamma * prior / (1 + (gamma - 1) * prior)


def plot_revealed(parity: Parity, *, demand: Demand | None = None) -> Picture:
    """What one report can do to anybody's belief, for a design of this parity.

    Parameters
    ----------
    parity
        Of the design.
    demand
        Drawn with it: the design meets the demand when all that the demand forbids lies where no report leads.

    >>> print(plot_revealed(Fraction(3)).text.split(".")[0])
    With parity at most 3, one report can multiply or divide the odds of any statement about a person by at most 3
    >>> plot_revealed(Fraction(16), demand=Demand.from_rho("0.1", "0.5")).text.split(". ")[-1]
    'Not met: from 10.0 % a report can lead to 64.0 %, where the demand allows 50.0 %.'
    """
    stated = None if demand is None else Region.of(demand)
    region = Region.at_parity(parity, like=stated)
    return _alone(parity, region) if demand is None or stated is None else _against(parity, region, demand, stated)


def _alone(parity: Parity, region: Region) -> Picture:
    before, low, high = range_in_words(parity, CASE)
    forbidden = Note("breach: no report leads here", area_mark(**sample_of(breach())))
    notes = [
        Note("One case", tone="muted"),
        Note(f"{before} % before", strong=True),
        Note(f"{low} to {high} % after", strong=True),
        Note("whatever the report says"),
        *_bar_notes(),
        Note("nothing learned", line_mark(**nothing_learned())),
        forbidden,
    ]
    brief = [Note(f"Case: {before} % before, {low} to {high} % after."), forbidden]

    def draw(canvas: Canvas) -> None:
        axes = square(canvas)
        shade_outside(axes, region.lower, region.upper, **breach())
        for curve in (region.lower, region.upper):
            trace(axes, curve, **breach_line())
        _bar(axes, parity, float(CASE))
        explain(canvas, notes, brief=brief)

    return Picture(
        name="revealed",
        title="What a report reveals",
        text=_in_words(parity),
        data=_arrays(region),
        columns=COLUMNS,
        rows=_rows(parity),
        heights=square_heights(notes, brief=brief),
        draw=draw,
    )


def _against(parity: Parity, region: Region, demand: Demand, stated: Region) -> Picture:
    verdict, worst = _verdict(parity, region, demand, stated)
    met = demand.allows(parity)
    answer, reason = verdict.split(": ", 1)
    notes = [
        Note(in_symbols(demand), tone="muted"),
        Note(answer, strong=True, tone="ink" if met else "risk"),
        Note(reason),
        Note("breach", area_mark(**sample_of(breach())), space=10),
        *([] if met else [Note("breach that a report can lead to", area_mark(**sample_of(_broken())))]),
        Note("no report leads here", area_mark(**sample_of(_unreachable()))),
        Note("reach of one report", line_mark(**at_parity())),
        *([] if worst is None else _bar_notes()),
        Note("nothing learned", line_mark(**nothing_learned())),
    ]

    def draw(canvas: Canvas) -> None:
        axes = square(canvas)
        shade_outside(axes, region.lower, region.upper, **_unreachable())
        shade(axes, region.upper.prior, stated.upper.value, region.upper.value, **_broken())
        shade(axes, region.lower.prior, region.lower.value, stated.lower.value, **_broken())
        shade_outside(axes, stated.lower, stated.upper, **breach())
        for curve in (region.lower, region.upper):
            trace(axes, curve, **at_parity())
        for curve in (stated.lower, stated.upper):
            trace(axes, curve, **breach_line())
        if worst is not None:
            _bar(axes, parity, worst)
        explain(canvas, notes)

    return Picture(
        name="revealed",
        title="What a report reveals, against a demand",
        text=f"{_in_words(parity)} The demand {in_symbols(demand)} asks for parity up to {asked(demand)}. {verdict}.",
        data={**_arrays(region), "demand_lower": stated.lower.value, "demand_upper": stated.upper.value},
        columns=(*COLUMNS, *DEMANDED),
        rows=[[*row, *bounds] for row, bounds in zip(_rows(parity), demand_bounds(demand), strict=True)],
        heights=square_heights(notes),
        draw=draw,
    )


def _arrays(region: Region) -> dict[str, Array]:
    return {"prior": region.upper.prior, "lower": region.lower.value, "upper": region.upper.value}


def _rows(parity: Parity) -> list[list[str]]:
    return [[f"{text}{SPACE}%" for text in range_in_words(parity, p)] for p in PRIORS]


def _in_words(parity: Parity) -> str:
    cases = "; ".join(f"a belief of {before} becomes {low} to {high}" for before, low, high in _rows(parity))
    if isinstance(parity, float):
        return f"This design has no bound on parity: a report may lead anybody to certainty. In numbers: {cases}."
    factor = factor_up(parity)
    return (
        f"With parity at most {factor}, one report can multiply or divide the odds of any statement about a person by "
        f"at most {factor}. In numbers: {cases}."
    )


def _verdict(parity: Parity, region: Region, demand: Demand, stated: Region) -> tuple[str, float | None]:
    """Whether all that is forbidden lies where no report leads; if not, the worst case and its prior."""
    if demand.allows(parity):
        return "Met: no report leads into a breach", None
    rise = region.upper.value - stated.upper.value
    fall = stated.lower.value - region.lower.value
    upwards = bool(rise.max() >= fall.max())
    excess, reached, allowed = (rise, region.upper, stated.upper) if upwards else (fall, region.lower, stated.lower)
    if excess.max() < VISIBLE:
        return "Not met: by less than can be drawn", None
    at = int(excess.argmax())
    before, after, limit = (percent(float(x[at])) for x in (reached.prior, reached.value, allowed.value))
    worst = f"from {before} % a report can lead to {after} %, where the demand allows {limit} %"
    return f"Not met: {worst}", float(reached.prior[at])


def _bar(axes: Axes, parity: Parity, prior: float) -> None:
    """One belief before, and all that it may become."""
    low, high = (float(curve[0]) for curve in posterior_curves(float(parity), np.array([prior])))
    axes.plot([prior] * 2, [low, high], color=colour("report"), linewidth=6, solid_capstyle="butt", zorder=4)
    axes.plot([prior], [prior], marker="o", markersize=8, color=colour("ink"), zorder=5, clip_on=False)


def _bar_notes() -> list[Note]:
    return [
        Note("before", point_mark(marker="o", markersize=8, color=colour("ink")), space=10),
        Note("possible after", bar_mark(color=colour("report"), linewidth=6)),
    ]


def _unreachable() -> dict[str, Any]:
    return {"facecolor": colour("grid"), "edgecolor": colour("rule"), "linewidth": 0}


def _broken() -> dict[str, Any]:
    return {"facecolor": colour("risk"), "edgecolor": colour("risk"), "linewidth": 0, "alpha": 0.45}

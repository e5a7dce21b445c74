"""The unit square of beliefs, before a report across and after it upwards: regions, curves, the worst case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.exact import Parity
from maskwell.core.percentages import as_decimal, percent_bound
from maskwell.core.phrases import Printed
from maskwell.privacy.criteria import Demand, posterior_range
from maskwell.privacy.curves import Boundary
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes


POINTS = 401
SPAN = 12.0  # log-odds at the ends of the grid: 0.0006 % and its mirror
BESIDE = 2.0**-40  # far below a pixel, far above the rounding of 1 - p
SAME = 1e-9


@dataclass(frozen=True)
class Jump:
    """Where a curve jumps: what it tends to from the left, what it is, and what it tends to on the right."""

    at: float
    left: float
    here: float
    right: float


@dataclass(frozen=True, eq=False)
class Grid:
    """Priors, and one minus each of them as exactly as the breaks are known."""

    prior: Real  # prior, mirror: rising and falling, shape (n,)
    mirror: Real
    breaks: tuple[int, ...]  # places of the breaks and of their mirror images in ``prior``

    @classmethod
    def around(cls, breaks: Iterable[float] = ()) -> Grid:
        """A grid with these breaks and points beside; mirror images keep their partners, as 1 - 0.9 is not 0.1 here."""
        inside = sorted({b for b in breaks if 0 < b < 1})
        exact = [(b, _partner(b, inside)) for b in inside]
        exact += [(1 - b, b) for b in inside if _partner(b, inside) == 1 - b]
        beside = [(p + d, q - d) for p, q in exact for d in (-BESIDE, BESIDE)]
        even = 1 / (1 + np.exp(-np.linspace(-SPAN, SPAN, POINTS)))
        plain = [(p, 1 - p) for p in (0.0, *even.tolist(), 1.0) if all(abs(p - b) > 2 * BESIDE for b, _ in exact)]
        pairs = np.array(sorted({p: (p, q) for p, q in [*plain, *beside, *exact]}.values()))
        at = np.searchsorted(pairs[:, 0], [p for p, _ in sorted(exact)])
        return cls(pairs[:, 0], pairs[:, 1], tuple(dict.fromkeys(at.tolist())))


def _partner(b: float, breaks: Iterable[float]) -> float:
    return next((c for c in breaks if abs(1 - b - c) < BESIDE), 1 - b)


@dataclass(frozen=True, eq=False)
class Outline:
    """A curve on a grid."""

    prior: Real  # prior, value: points of the curve, shape (n,)
    value: Real
    jumps: tuple[Jump, ...] = ()  # from left to right

    @classmethod
    def on(cls, grid: Grid, value: Real) -> Outline:
        """The curve with these values on the grid; its jumps are found beside the breaks."""
        beside = [Jump(*(float(x) for x in (grid.prior[i], value[i - 1], value[i], value[i + 1]))) for i in grid.breaks]
        jumps = (j for j in beside if max(abs(j.left - j.here), abs(j.right - j.here)) > SAME)
        return cls(grid.prior, value, tuple(jumps))

    def pieces(self) -> tuple[Real, Real]:
        """Points to draw as lines, with a gap (not a number) at each jump."""
        cuts = []
        for jump in self.jumps:
            i = int(np.searchsorted(self.prior, jump.at))
            cuts += [i] if abs(jump.left - jump.here) > SAME else []
            cuts += [i + 1] if abs(jump.right - jump.here) > SAME else []
        return np.insert(self.prior, cuts, np.nan), np.insert(self.value, cuts, np.nan)

    def ends(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        """Points at the jumps where the curve holds its value, and points that it only approaches."""
        held = [(jump.at, jump.here) for jump in self.jumps]
        sides = [(jump.at, value, jump.here) for jump in self.jumps for value in (jump.left, jump.right)]
        return held, [(at, value) for at, value, here in sides if abs(value - here) > SAME]


@dataclass(frozen=True, eq=False)
class Region:
    """The breach region of a demand: what lies above ``upper`` and below ``lower``."""

    lower: Outline
    upper: Outline

    @classmethod
    def of(cls, demand: Demand) -> Region:
        """As the demand states it."""
        grid = Grid.around(demand.breaks)
        return cls(Outline.on(grid, demand.lower(grid.prior)), Outline.on(grid, demand.upper(grid.prior)))

    @classmethod
    def canonical(cls, demand: Demand) -> Region:
        """With both halves said in both directions: h(p) = min(h_u(p), 1 - h_l(1 - p)), h~(p) = 1 - h(1 - p).

        Source: [ChaiNayak2018, Lemma 3.1, Definition 3.1].
        """
        grid = Grid.around(demand.breaks)
        high = np.minimum(demand.upper(grid.prior), 1 - demand.lower(grid.mirror))
        low = np.maximum(demand.lower(grid.prior), 1 - demand.upper(grid.mirror))
        return cls(Outline.on(grid, low), Outline.on(grid, high))

    @classmethod
    def at_parity(cls, gamma: Parity, *, like: Region | None = None) -> Region:
        """Of every design of that parity, on the grid of another region."""
        prior = like.upper.prior if like else Grid.around().prior
        curves = (Boundary(gamma, upward=upward).values(prior) for upward in (False, True))
        return cls(*(Outline(prior, value) for value in curves))

    @property
    def arrays(self) -> dict[str, Array]:
        """Its curves by name."""
        return {"prior": self.upper.prior, "lower": self.lower.value, "upper": self.upper.value}

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies outside, but for beliefs that are certain already."""
        return bool((self.upper.value[1:-1] >= 1).all() and (self.lower.value[1:-1] <= 0).all())

    def is_as(self, other: Region) -> bool:
        """Whether two regions on the same grid are the same."""
        pairs = ((self.lower, other.lower), (self.upper, other.upper))
        return all(np.allclose(a.value, b.value, rtol=0, atol=SAME) for a, b in pairs)


VISIBLE = 1e-6
ROUND, LEAST = 3, 0.01  # decimals of a belief that is easy to read, and how far it stays from the ends
NEARLY = 0.95  # how much of the worst excess an easier belief must show


@dataclass(frozen=True)
class Worst:
    """A belief before a report, what it can become, and what a demand allows it to become."""

    before: Fraction  # before, after, limit: probabilities
    after: Fraction
    limit: Fraction
    upwards: bool  # whether the belief rises
    # ``"just below "`` or ``"just above "`` where the limit holds on that side of a jump only, else empty
    beside: str = ""

    def __str__(self) -> str:
        """In words: what can happen rounded outwards, what is allowed rounded inwards."""
        before = percent_bound(self.before, up=False)
        after, limit = (
            percent_bound(x, up=up) for x, up in ((self.after, self.upwards), (self.limit, not self.upwards))
        )
        lead, allowed = ("up to", "no more than") if self.upwards else ("down to", "no lower than")
        return (
            f"from {self.beside}{before} % a report can lead {lead} {after} %, "
            f"where the demand allows {allowed} {limit} %"
        )


def find_worst(parity: Parity, demand: Demand, reached: Region, stated: Region) -> Worst | None:
    """The belief with the largest excess; None where there is none that can be seen."""
    rise = reached.upper.value - stated.upper.value
    fall = stated.lower.value - reached.lower.value
    upwards = bool(rise.max() >= fall.max())
    excess, curve = (rise, stated.upper) if upwards else (fall, stated.lower)
    if excess.max() < VISIBLE:
        return None
    at = int(excess.argmax())
    return _at_jump(parity, curve, at, upwards=upwards) or _at_point(parity, demand, curve, at, upwards=upwards)


def _at_jump(parity: Parity, curve: Outline, place: int, *, upwards: bool) -> Worst | None:
    """The case beside a jump, which the demand's limit only approaches there."""
    prior = float(curve.prior[place])
    near = next((jump for jump in curve.jumps if abs(jump.at - prior) <= 2 * BESIDE), None)
    if near is None:
        return None
    before = as_decimal(near.at)
    side = "just below " if prior < near.at else "just above " if prior > near.at else ""
    limit = as_decimal(float(curve.value[place]))
    return Worst(before, posterior_range(parity, before)[upwards], limit, upwards, side)


def _at_point(parity: Parity, demand: Demand, curve: Outline, place: int, *, upwards: bool) -> Worst:
    """The case away from jumps, moved to a belief that is easy to read where that is nearly as bad."""
    prior = float(curve.prior[place])
    easy = min(max(round(prior, ROUND), LEAST), 1 - LEAST)
    worst, easier = (_case(parity, demand, p, upwards=upwards) for p in (prior, easy))
    between = any(min(prior, easy) <= jump.at <= max(prior, easy) for jump in curve.jumps)
    return worst if between or _excess(easier) < NEARLY * _excess(worst) else easier


def _excess(case: Worst) -> float:
    return float(abs(case.after - case.limit)) if (case.after > case.limit) == case.upwards else 0.0


def _case(parity: Parity, demand: Demand, prior: float, *, upwards: bool) -> Worst:
    before = as_decimal(prior)
    limit = (demand.upper if upwards else demand.lower)(np.array([prior]))
    return Worst(before, posterior_range(parity, before)[upwards], as_decimal(float(limit[0])), upwards)


TICKS = np.linspace(0, 1, 6)
HATCHES = ("////", "\\\\\\\\")
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)))


def square(sheet: Sheet) -> Axes:
    """The empty square, with its scales and the diagonal on which nothing is learned."""
    (axes,) = sheet.plots(0)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(TICKS.tolist(), labels=[f"{Printed(100 * t):.0f}" for t in TICKS])
    axes.plot([0, 1], [0, 1], **marks.look("nothing learned"))
    axes.set_title("Belief after the report, %")
    axes.set_xlabel("Belief before the report, %")
    return axes


def explain(sheet: Sheet, notes: Sequence[LegendEntry]) -> None:
    """Sentences above the square, and below it what its lines and areas mean."""
    sheet.above += [note for note in notes if note.mark is None]
    sheet.below += [note for note in notes if note.mark is not None]


def _shade(axes: Axes, prior: Real, lower: Real, upper: Real, **style: Any) -> None:
    """An area between two curves, where the second lies above the first."""
    if np.any(upper > lower):
        axes.fill_between(prior, lower, upper, where=upper > lower, interpolate=True, **style)


def shade_between(axes: Axes, inner: Region, outer: Region, **style: Any) -> None:
    """What lies outside the first region's limits and inside those of the second."""
    _shade(axes, outer.upper.prior, inner.upper.value, outer.upper.value, **style)
    _shade(axes, outer.lower.prior, outer.lower.value, inner.lower.value, **style)


def shade_outside(axes: Axes, region: Region, **style: Any) -> None:
    """All that lies above the upper curve and below the lower one."""
    _shade(axes, region.upper.prior, region.upper.value, np.ones_like(region.upper.value), **style)
    _shade(axes, region.lower.prior, np.zeros_like(region.lower.value), region.lower.value, **style)


def draw_breach(axes: Axes, region: Region, place: int = 0) -> None:
    """What a demand forbids, with its limits."""
    shade_outside(axes, region, **breach(place))
    trace(axes, region, **breach_line(place))


def trace(axes: Axes, region: Region, **style: Any) -> None:
    """Both curves, with gaps at jumps: a filled point where the value holds, an open one where it does not."""
    point: dict[str, Any] = {"marker": "o", "markersize": 6, "linestyle": "none", "clip_on": False, "zorder": 6}
    faces = ({"color": style["color"]}, marks.open_point(style["color"]))
    for curve in (region.lower, region.upper):
        axes.plot(*curve.pieces(), **style)
        for points, face in zip(curve.ends(), faces, strict=True):
            if points:  # the layout would make room for a line without points, too
                axes.plot([x for x, _ in points], [y for _, y in points], **point, **face)


def end_notes(*regions: Region) -> list[LegendEntry]:
    """What filled and open points mean, where there are any."""
    if not any(region.lower.jumps or region.upper.jumps for region in regions):
        return []
    held = marks.line(linestyle="none", marker="o", markersize=6, color=colour("risk"))
    approached = marks.line(linestyle="none", marker="o", markersize=6, **marks.open_point(colour("risk")))
    return [LegendEntry("end included", held), LegendEntry("end not included", approached)]


def breach_notes(region: Region, area: str, line: str) -> list[LegendEntry]:
    """What hatching and its edge mean, where there is any."""
    words = [LegendEntry(area, marks.area(**breach())), LegendEntry(line, marks.line(**breach_line()))]
    return [] if region.is_empty else words


def diagonal_note() -> LegendEntry:
    """What the diagonal means."""
    return LegendEntry("nothing learned", marks.line(**marks.look("nothing learned")))


def breach(place: int = 0) -> dict[str, Any]:
    """An area into which no belief may be moved, of the first or the second demand."""
    return {"facecolor": "none", "edgecolor": colour("risk"), "hatch": HATCHES[place], "linewidth": 0, "alpha": 0.55}


def breach_line(place: int = 0) -> dict[str, Any]:
    """The boundary of such an area."""
    return {"color": colour("risk"), "linewidth": 1.8, "linestyle": DASHES[place]}

"""What a release does to associations and to the precision of shares: two pictures of its utility."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import as_count, check_kind
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import largest
from maskwell.errors import InputError
from maskwell.microdata.utility.utility_measures import Association
from maskwell.microdata.utility.utility_report import UtilityReport, VariableUtility
from maskwell.reports.pictures import marks
from maskwell.reports.pictures.canvas import Picture
from maskwell.reports.pictures.palette import colour
from maskwell.reports.pictures.sheet import LegendEntry, Row, Sheet, rows_height, write_rows
from maskwell.reports.plain_words import count, label
from maskwell.reports.text.release_words import factor_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 16  # lines of a page
LARGEST = 100.0  # inflation beyond which a scale would show nothing else


def plot_associations(utility: UtilityReport, *, most: int | None = None) -> Picture:
    """Cramér's V of pairs of columns before and after a release, those first that lose most.

    Parameters
    ----------
    utility
        Of a release; before the draw, what is expected of it is drawn.
    most
        How many pairs are drawn at most; all of them by default, on as many pages as they need.
    """
    check_kind(UtilityReport, utility=utility)
    known = drawn_pairs(utility)
    if not known:
        raise InputError("there-is-no-pair-of-columns")
    ranked = sorted(known, key=lambda pair: -_loss(pair))
    drawn = ranked if most is None else ranked[: as_count(most, "most")]
    lines = [
        PairLine(
            label=_names(pair),
            before=_value(pair.before),
            after=_value(pair.after),
            expected=_value(pair.expected),
            words=f"{_v(pair.before)} → {_v(pair.expected if pair.after is None else pair.after)}",
        )
        for pair in drawn
    ]
    largest = max(max(line.before, line.after if math.isfinite(line.after) else 0) for line in lines)
    scale = PairScale(
        title="Pairs of columns, by what they lose",
        unit="Cramér's V, from 0 (none) to 1 (complete)",
        low=0.0,
        high=min(1.0, max(0.1, 1.08 * largest)),
        names=("original file", "released file", "expected after the release"),
    )
    pairs = "; ".join(
        f"{_names(p)} {_v(p.before)} before, {_v(p.expected)} expected, {_v(p.after)} after" for p in ranked[:SHOWN]
    )
    left = len(ranked) - SHOWN
    where = "they are on further pages" if len(drawn) == len(ranked) else "not all of them are drawn"
    more = f" {count(left)} more pairs lose less; {where}." if left > 0 else ""
    return Picture(
        name="associations",
        title="What goes with what, before and after",
        text=f"Strength of association (Cramér's V) of pairs of columns: {pairs}.{more}",
        data={name: np.array([_value(getattr(p, name)) for p in ranked]) for name in ("before", "expected", "after")},
        columns=["columns", "before", "expected", "after"],
        rows=[[_names(p), *(_v(x) for x in (p.before, p.expected, p.after))] for p in drawn],
        **_in_pages(lines, scale, len(ranked)),
    )


def _in_pages(lines: Sequence[PairLine], scale: PairScale, total: int) -> dict[str, Any]:
    """Lines on as many pages as they need; each page says which of all lines it has."""
    pages = []
    for start in range(0, len(lines), SHOWN):
        some = lines[start : start + SHOWN]
        which = "" if len(some) == total else f": {start + 1} to {start + len(some)} of {count(total)}"
        pages.append(partial(_draw, lines=some, scale=replace(scale, title=f"{scale.title}{which}")))
    return {"draw": pages[0], "further": tuple(pages[1:])}


def drawn_pairs(utility: UtilityReport) -> list[Association]:
    """Pairs whose association in the original file is known: of a constant column it is not defined."""
    return [pair for pair in utility.pairs if pair.before is not None and math.isfinite(pair.before)]


def _loss(pair: Association) -> float:
    now = pair.after if pair.expected is None else pair.expected
    return (pair.before or 0.0) - (pair.before or 0.0 if now is None else now)


def _names(pair: Association) -> str:
    return " × ".join(pair.columns)


def _value(v: float | None) -> float:
    return math.nan if v is None else v


def _v(v: float | None) -> str:
    return "–" if v is None else f"{Printed(v):.3f}"


def plot_inflation(utility: UtilityReport) -> Picture:
    """By which factor the variances of shares grow: the least and the most inflated category of each variable."""
    known = drawn_variables(utility)
    if not known:
        raise InputError("no-inflation-is-known-of-any")
    ranked = sorted(known, key=lambda one: -_factors(one)[1])
    lines = [_inflation_line(one) for one in ranked]
    most = max(line.after for line in lines)
    scale = PairScale(
        title="Randomized columns",
        unit="Factor by which variances grow; 1: nothing is lost",
        low=1.0,
        high=min(LARGEST, max(1.1, 1 + 1.08 * (most - 1))),
        names=("", "category that loses most", "category that loses least"),
        bars=True,
        shown=lambda x: f"{Printed(x):.4g}",
    )
    factors = "; ".join(
        f"{name} from {least} to {most}, most for {category}"
        for name, least, most, category, _ in map(_inflation_row, ranked)
    )
    return Picture(
        name="inflation",
        title="What randomization costs in precision",
        text=f"Factor by which the variances of shares grow, over the categories of a column: {factors}.",
        data={
            "least": np.array([_factors(one)[0] for one in ranked]),
            "most": np.array([_factors(one)[1] for one in ranked]),
        },
        columns=["column", "least", "most", "category that loses most", "worth so many records"],
        rows=[_inflation_row(one) for one in ranked],
        **_in_pages(lines, scale, len(lines)),
    )


def drawn_variables(utility: UtilityReport) -> list[VariableUtility]:
    """Variables whose inflation is known and can be drawn."""
    return [
        one
        for one in utility.variables.values()
        if one.inflation is not None and len(one.inflation.factors) > 0 and np.isfinite(one.inflation.factors).all()
    ]


def _factors(one: VariableUtility) -> tuple[float, float]:
    factors = np.ones(1) if one.inflation is None else one.inflation.factors
    return float(factors.min()), float(factors.max())


def _inflation_line(one: VariableUtility) -> PairLine:
    least, most = _factors(one)
    low, high = factor_text(least), factor_text(most)
    words = f"× {high}" if low == high else f"× {low} to {high}"
    return PairLine(one.name, math.nan, min(most, LARGEST), min(least, LARGEST), words)


def _inflation_row(one: VariableUtility) -> list[str]:
    least, most = _factors(one)
    worth, worst = 0, "–"
    if one.inflation is not None:
        worth = int(one.inflation.n / most)
        worst = label(one.inflation.categories[largest(one.inflation.factors)])
    return [one.name, factor_text(least), factor_text(most), worst, count(worth)]


@dataclass(frozen=True)
class PairLine:
    """One line."""

    label: str  # what the numbers are of
    before: float  # before, after: the two numbers; NaN where there is none
    after: float
    expected: float = np.nan  # what was to be expected after; NaN where it is not known
    words: str = ""  # the numbers as they are read


@dataclass(frozen=True)
class PairScale:
    """What the lines share."""

    title: str  # title, unit: above the names, and below the scale
    unit: str
    low: float  # low, high: the ends of the scale; ``low`` is where nothing is
    high: float
    names: tuple[str, str, str] = ("before", "after", "expected")  # what before, after and expected are called
    shown: Callable[[float], str] = marks.plain_number  # how a number of the scale is written
    bars: bool = False  # whether what comes after is a bar from the low end: something that randomization adds


def _draw(sheet: Sheet, *, lines: Sequence[PairLine], scale: PairScale) -> None:
    """Names and numbers above marks on a common scale."""
    rows = [Row(line.label, line.words) for line in lines]
    (axes,) = sheet.plots(rows_height(rows))
    axes.set_xlim(scale.low, scale.high)
    marks.ticks(axes.xaxis, 5, scale.shown, steps=(1, 2, 2.5, 5, 10))
    axes.axvline(scale.low, color=colour("muted"), linewidth=1)
    for line, y in zip(lines, write_rows(axes, rows), strict=True):
        (_bar if scale.bars else _pair)(axes, line, y)
    axes.set_title(scale.title)
    axes.set_xlabel(scale.unit)
    sheet.below += _notes(lines, scale)


def _notes(lines: Sequence[PairLine], scale: PairScale) -> list[LegendEntry]:
    shapes = (
        marks.line(**marks.look("true")),
        marks.area(**marks.look("added")) if scale.bars else marks.line(**marks.look("reported")),
        marks.bar(color=colour("ink"), linewidth=1.8),
    )
    there = (any(np.isfinite(getattr(line, name)) for line in lines) for name in ("before", "after", "expected"))
    return [LegendEntry(words, mark) for shown, words, mark in zip(there, scale.names, shapes, strict=True) if shown]


def _pair(axes: Axes, line: PairLine, y: float) -> None:
    if np.isfinite(line.before) and np.isfinite(line.after):
        axes.plot([line.before, line.after], [y, y], color=colour("rule"), linewidth=5, solid_capstyle="butt", zorder=2)
    if np.isfinite(line.expected):
        marks.upright(axes, line.expected, y, linewidth=1.8, zorder=4)
    for value, above, style in ((line.before, 9, marks.look("true")), (line.after, 0, marks.look("reported"))):
        if np.isfinite(value):
            axes.plot([value], [y - above], **style)


def _bar(axes: Axes, line: PairLine, y: float) -> None:
    axes.fill(*marks.box_at(axes.get_xlim()[0], line.after, y), zorder=3, **marks.look("added"))
    if np.isfinite(line.expected):
        marks.upright(axes, line.expected, y, linewidth=1.8, clip_on=False)

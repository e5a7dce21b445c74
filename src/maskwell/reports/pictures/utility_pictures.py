"""What a release does to associations and to the precision of shares: two pictures of its utility.

Numbers before and after stand on lines, one under the other: before is a blue triangle, after an orange ring, as truth
and report are in every picture; a bar joins the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.phrases import Printed, shorten
from maskwell.errors import InputError
from maskwell.release.utility.utility_measures import Association, Inflation
from maskwell.release.utility.utility_report import UtilityReport, VariableUtility
from maskwell.reports.pictures.canvas import (
    NARROW,
    SMALL,
    WIDE,
    Canvas,
    Mark,
    Note,
    Picture,
    area_mark,
    bar_mark,
    colour,
    notes_height,
    point_mark,
    scale_number,
    write_notes,
)
from maskwell.reports.plain_words import count, label
from maskwell.reports.text.release_words import factor_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 16
LARGEST = 100.0
"""Inflation beyond which a scale would show nothing else."""


def plot_associations(utility: UtilityReport) -> Picture:
    """Cramér's V of pairs of columns before and after a release, those first that lose most.

    Parameters
    ----------
    utility
        Of a release; where there is no released file yet, what is expected of it is drawn.
    """
    check_kind(UtilityReport, utility=utility)
    known = drawn_pairs(utility)
    if not known:
        raise InputError(
            "there is no pair of columns whose association could be drawn",
            hint="name two columns with at least two categories each as keys or sensitive columns",
        )
    ranked = sorted(known, key=lambda pair: -_loss(pair))
    lines = [_pair_line(pair) for pair in ranked[:SHOWN]]
    most = max(max(line.before, line.after if math.isfinite(line.after) else 0) for line in lines)
    scale = PairScale(
        title=f"Pairs of columns, by what they lose{_first_of(len(ranked))}",
        unit="Cramér's V, from 0 (none) to 1 (complete)",
        low=0.0,
        high=min(1.0, max(0.1, 1.08 * most)),
        names=("original file", "released file", "expected after the release"),
    )
    return Picture(
        name="associations",
        title="What goes with what, before and after",
        text=_associations_in_words(ranked),
        data={name: np.array([_value(getattr(p, name)) for p in ranked]) for name in ("before", "expected", "after")},
        columns=["columns", "before", "expected", "after"],
        rows=[[_names(p), *(_v(x) for x in (p.before, p.expected, p.after))] for p in ranked[:SHOWN]],
        heights=pair_heights(lines, scale),
        draw=lambda canvas: draw_pairs(canvas, lines, scale),
    )


def _first_of(lines: int) -> str:
    """That more lines were there, where not all are drawn.

    >>> _first_of(40), _first_of(3)
    (': the first 16 of 40', '')
    """
    return f": the first {SHOWN} of {count(lines)}" if lines > SHOWN else ""


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


def _pair_line(pair: Association) -> PairLine:
    now = pair.expected if pair.after is None else pair.after
    names = " × ".join(shorten(name, 12) for name in pair.columns)
    words = f"{_v(pair.before)} → {_v(now)}"
    return PairLine(names, _value(pair.before), _value(pair.after), _value(pair.expected), words)


def _associations_in_words(ranked: Sequence[Association]) -> str:
    pairs = "; ".join(
        f"{_names(p)} {_v(p.before)} before, {_v(p.expected)} expected, {_v(p.after)} after" for p in ranked[:SHOWN]
    )
    left = len(ranked) - SHOWN
    more = f" {count(left)} more pairs lose less and are not drawn." if left > 0 else ""
    return f"Strength of association (Cramér's V) of pairs of columns: {pairs}.{more}"


def plot_inflation(utility: UtilityReport) -> Picture:
    """By which factor the variances of shares grow: the least and the most inflated category of each variable.

    Parameters
    ----------
    utility
        Of a release.
    """
    check_kind(UtilityReport, utility=utility)
    known = drawn_variables(utility)
    if not known:
        raise InputError(
            "no inflation is known of any variable", hint="randomize a variable, with a matrix of full rank"
        )
    ranked = sorted(known, key=lambda one: -_factors(one)[1])[:SHOWN]
    lines = [_inflation_line(one) for one in ranked]
    most = max(line.after for line in lines)
    scale = PairScale(
        title=f"Randomized columns{_first_of(len(known))}",
        unit="Factor by which variances grow; 1: nothing is lost",
        low=1.0,
        high=min(LARGEST, max(1.1, 1 + 1.08 * (most - 1))),
        names=("", "category that loses most", "category that loses least"),
        bars=True,
        shown=lambda x: f"{Printed(x):.4g}",
    )
    return Picture(
        name="inflation",
        title="What randomization costs in precision",
        text=_inflation_in_words(ranked),
        data={
            "least": np.array([_factors(one)[0] for one in ranked]),
            "most": np.array([_factors(one)[1] for one in ranked]),
        },
        columns=["column", "least", "most", "category that loses most", "worth so many records"],
        rows=[_inflation_row(one) for one in ranked],
        heights=pair_heights(lines, scale),
        draw=lambda canvas: draw_pairs(canvas, lines, scale),
    )


def drawn_variables(utility: UtilityReport) -> list[VariableUtility]:
    """Variables whose inflation is known and can be drawn."""
    return [one for one in utility.variables.values() if one.inflation is not None and _is_finite(one.inflation)]


def _is_finite(inflation: Inflation) -> bool:
    return len(inflation.factors) > 0 and bool(np.isfinite(inflation.factors).all())


def _factors(one: VariableUtility) -> tuple[float, float]:
    factors = np.ones(1) if one.inflation is None else one.inflation.factors
    return float(factors.min()), float(factors.max())


def worst_category(one: VariableUtility) -> str:
    """The category whose variance grows most."""
    if one.inflation is None:
        return "–"
    return label(one.inflation.categories[int(one.inflation.factors.argmax())])


def _inflation_line(one: VariableUtility) -> PairLine:
    least, most = _factors(one)
    low, high = factor_text(least), factor_text(most)
    words = f"× {high}" if low == high else f"× {low} to {high}"
    return PairLine(one.name, math.nan, min(most, LARGEST), min(least, LARGEST), words)


def _inflation_row(one: VariableUtility) -> list[str]:
    least, most = _factors(one)
    worth = 0 if one.inflation is None else int(one.inflation.n / most)
    return [one.name, factor_text(least), factor_text(most), worst_category(one), count(worth)]


def _inflation_in_words(ranked: Sequence[VariableUtility]) -> str:
    factors = "; ".join(
        f"{name} from {least} to {most}, most for {category}"
        for name, least, most, category, _ in map(_inflation_row, ranked)
    )
    return f"Factor by which the variances of shares grow, over the categories of a column: {factors}."


# ---- numbers before and after, one under the other

HEAD, ROW, NARROW_ROW, FOOT = 34, 30, 46, 48
LEFT, RIGHT = 216, 104


@dataclass(frozen=True)
class PairLine:
    """One line.

    Attributes
    ----------
    label
        What the numbers are of.
    before, after
        The two numbers; NaN where there is none.
    expected
        What was to be expected after; NaN where it is not known.
    words
        The numbers as they are read.
    """

    label: str
    before: float
    after: float
    expected: float = np.nan
    words: str = ""


def _plainly(x: float) -> str:
    return scale_number(x) if x else "0"


@dataclass(frozen=True)
class PairScale:
    """What the lines share.

    Attributes
    ----------
    title, unit
        Above the names, and below the scale.
    low, high
        The ends of the scale; ``low`` is where nothing is.
    names
        What before, after and expected are called.
    shown
        How a number of the scale is written.
    bars
        Whether what comes after is a bar from the low end: something that randomization adds.
    """

    title: str
    unit: str
    low: float
    high: float
    names: tuple[str, str, str] = ("before", "after", "expected")
    shown: Callable[[float], str] = _plainly
    bars: bool = False


def pair_heights(lines: Sequence[PairLine], scale: PairScale) -> tuple[int, int]:
    """Pixels for the whole, wide and narrow."""
    notes = _notes(lines, scale)
    wide = HEAD + ROW * len(lines) + FOOT + notes_height(notes, x=4, width=WIDE)
    return wide, HEAD + NARROW_ROW * len(lines) + FOOT + notes_height(notes, x=4, width=NARROW)


def draw_pairs(canvas: Canvas, lines: Sequence[PairLine], scale: PairScale) -> None:
    """Names on the left, marks on a common scale, numbers on the right."""
    step = NARROW_ROW if canvas.narrow else ROW
    left, right = (10, canvas.width - 12) if canvas.narrow else (LEFT, canvas.width - RIGHT)
    axes = canvas.axes(left=left, top=HEAD, width=right - left, height=step * len(lines))
    axes.set(xlim=(scale.low, scale.high), ylim=(step * len(lines), 0), yticks=[], zorder=-1)  # names above the grid
    _scale(axes, scale)
    for i, line in enumerate(lines):
        (_bar if scale.bars else _pair)(axes, line, step * i + (34 if canvas.narrow else step / 2 + 3))
        _words(canvas, line, HEAD + step * i + (10 if canvas.narrow else step / 2))
    bottom = HEAD + step * len(lines)
    canvas.text(4, 14, scale.title, tone="muted", fontsize=SMALL)
    canvas.text(right, bottom + 34, scale.unit, tone="muted", align="right", fontsize=SMALL)
    write_notes(canvas, _notes(lines, scale), x=4, top=bottom + FOOT)


def _notes(lines: Sequence[PairLine], scale: PairScale) -> list[Note]:
    after = area_mark(**_added()) if scale.bars else point_mark(**_after())
    kinds: list[tuple[bool, str, Mark]] = [
        (any(np.isfinite(line.before) for line in lines), scale.names[0], point_mark(**_before())),
        (any(np.isfinite(line.after) for line in lines), scale.names[1], after),
        (any(np.isfinite(line.expected) for line in lines), scale.names[2], bar_mark(**_expected())),
    ]
    return [Note(words, mark) for there, words, mark in kinds if there]


def _scale(axes: Axes, scale: PairScale) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: scale.shown(x)))
    axes.grid(axis="x", color=colour("grid"), linewidth=1)
    axes.axvline(scale.low, color=colour("muted"), linewidth=1)


def _pair(axes: Axes, line: PairLine, y: float) -> None:
    if np.isfinite(line.before) and np.isfinite(line.after):
        axes.plot([line.before, line.after], [y, y], color=colour("rule"), linewidth=5, solid_capstyle="butt", zorder=2)
    if np.isfinite(line.expected):
        axes.plot([line.expected] * 2, [y - 8, y + 8], **_expected())
    for value, above, style in ((line.before, 9, _before()), (line.after, 0, _after())):
        if np.isfinite(value):
            axes.plot([value], [y - above], **style, clip_on=False)


def _bar(axes: Axes, line: PairLine, y: float) -> None:
    low = axes.get_xlim()[0]
    axes.fill([low, line.after, line.after, low], [y - 6, y - 6, y + 6, y + 6], **_added())
    if np.isfinite(line.expected):
        axes.plot([line.expected] * 2, [y - 9, y + 9], **_expected(), clip_on=False)


def _words(canvas: Canvas, line: PairLine, y: float) -> None:
    if canvas.narrow:
        canvas.text(12, y, shorten(line.label, 26), fontsize=SMALL)
    else:
        canvas.text(LEFT - 14, y, shorten(line.label, 27), align="right", fontsize=SMALL)
    canvas.text(canvas.width - 4, y, line.words, align="right", fontsize=SMALL)


def _before() -> dict[str, Any]:
    shape = {"marker": "v", "markersize": 8.5, "linestyle": "none", "markeredgewidth": 0}
    return {**shape, "color": colour("truth"), "zorder": 5}


def _after() -> dict[str, Any]:
    face = {"markerfacecolor": colour("paper"), "markeredgecolor": colour("report"), "markeredgewidth": 2}
    return {"marker": "o", "markersize": 7.5, "linestyle": "none", "zorder": 6, **face}


def _added() -> dict[str, Any]:
    face = {"facecolor": colour("randomization"), "edgecolor": colour("report")}
    return {**face, "hatch": "////", "linewidth": 1, "zorder": 3}


def _expected() -> dict[str, Any]:
    return {"color": colour("ink"), "linewidth": 1.8, "solid_capstyle": "butt", "zorder": 4}

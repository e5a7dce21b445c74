"""Lines of numbers before and after, one under the other: what a release does to each of several things.

Before is a blue triangle, after an orange ring, as truth and report are in every picture; a bar joins the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.reports.notes import Mark, Note, area_mark, bar_mark, notes_height, point_mark, write_notes
from maskwell.reports.picture import NARROW, SMALL, WIDE, Canvas
from maskwell.reports.scales import number
from maskwell.reports.style import colour
from maskwell.reports.tables import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    return number(x) if x else "0"


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

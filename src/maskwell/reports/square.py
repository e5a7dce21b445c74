"""The unit square of beliefs: before a report across, after it upwards; breach regions, curves and their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.reports.notes import Note, line_mark, notes_height, open_point, point_mark, write_notes
from maskwell.reports.outline import Outline, Region
from maskwell.reports.picture import SMALL, WIDE, Canvas
from maskwell.reports.style import colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE, LEFT, TOP = 376, 54, 42
NARROW_SIDE, NARROW_LEFT, NARROW_TOP = 264, 46, 40
BESIDE = LEFT + SIDE + 24
BELOW = 52
TICKS = np.linspace(0, 1, 6)
HATCHES = ("////", "\\\\\\\\")
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)))


def square(canvas: Canvas) -> Axes:
    """The empty square, with its scales and the diagonal on which nothing is learned."""
    side, left, top = (NARROW_SIDE, NARROW_LEFT, NARROW_TOP) if canvas.narrow else (SIDE, LEFT, TOP)
    axes = canvas.axes(left=left, top=top, width=side, height=side)
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=TICKS, yticks=TICKS)
    axes.set_xticklabels([f"{Printed(100 * t):.0f}" for t in TICKS])
    axes.set_yticklabels([f"{Printed(100 * t):.0f}" for t in TICKS])
    axes.grid(color=colour("grid"), linewidth=1)
    axes.plot([0, 1], [0, 1], **nothing_learned())
    canvas.text(4, top - 22, "Belief after the report, %", tone="muted", fontsize=SMALL)
    across: dict[str, Any] = {"tone": "muted", "align": "right", "fontsize": SMALL}
    canvas.text(left + side, top + side + 38, "Belief before the report, %", **across)
    return axes


def explain(canvas: Canvas, notes: Sequence[Note], *, brief: Sequence[Note] | None = None) -> None:
    """Words to the right of the square, or under it on a narrow screen, where they may be fewer."""
    if canvas.narrow:
        write_notes(canvas, brief or notes, x=4, top=NARROW_TOP + NARROW_SIDE + BELOW)
    else:
        write_notes(canvas, notes, x=BESIDE, top=TOP - 4)


def square_heights(notes: Sequence[Note], *, brief: Sequence[Note] | None = None) -> tuple[int, int]:
    """Pixels for the square with its words, wide and narrow."""
    beside, below = notes_height(notes, x=BESIDE, width=WIDE), notes_height(brief or notes)
    return max(TOP + SIDE + 52, TOP + beside + 4), NARROW_TOP + NARROW_SIDE + BELOW + below + 8


def shade(axes: Axes, prior: Real, lower: Real, upper: Real, **style: Any) -> None:
    """An area between two curves, where the second lies above the first."""
    if np.any(upper > lower):
        axes.fill_between(prior, lower, upper, where=upper > lower, interpolate=True, **style)


def shade_outside(axes: Axes, lower: Outline, upper: Outline, **style: Any) -> None:
    """All that lies above one curve and below the other."""
    shade(axes, upper.prior, upper.value, np.ones_like(upper.value), **style)
    shade(axes, lower.prior, np.zeros_like(lower.value), lower.value, **style)


def trace(axes: Axes, curve: Outline, **style: Any) -> None:
    """A curve with gaps at its jumps: a filled point where the value holds, an open one where it does not."""
    axes.plot(*curve.pieces(), **style)
    held, approached = curve.ends()
    point: dict[str, Any] = {"marker": "o", "markersize": 6, "linestyle": "none", "clip_on": False, "zorder": 6}
    for points, face in ((held, {"color": style["color"]}), (approached, open_point(style["color"]))):
        axes.plot([x for x, _ in points], [y for _, y in points], **point, **face)


def end_notes(*regions: Region) -> list[Note]:
    """What filled and open points mean, where there are any."""
    if not any(region.lower.jumps or region.upper.jumps for region in regions):
        return []
    held = point_mark(marker="o", markersize=6, color=colour("risk"))
    approached = point_mark(marker="o", markersize=6, **open_point(colour("risk")))
    return [Note("end included", held), Note("end not included", approached)]


def diagonal_note() -> Note:
    """What the diagonal means."""
    return Note("nothing learned", line_mark(**nothing_learned()))


def nothing_learned() -> dict[str, Any]:
    """The diagonal."""
    return {"color": colour("muted"), "linewidth": 1, "linestyle": (0, (1, 3))}


def breach(hatch: str = HATCHES[0]) -> dict[str, Any]:
    """An area into which no belief may be moved."""
    return {"facecolor": "none", "edgecolor": colour("risk"), "hatch": hatch, "linewidth": 0, "alpha": 0.55}


def breach_line(dashes: Any = DASHES[0]) -> dict[str, Any]:
    """The boundary of such an area."""
    return {"color": colour("risk"), "linewidth": 1.8, "linestyle": dashes}


def at_parity() -> dict[str, Any]:
    """The boundary of the parity that a demand allows."""
    return {"color": colour("ink"), "linewidth": 1.4}


def sample_of(area: dict[str, Any]) -> dict[str, Any]:
    """An area as a sample among the words: with an outline."""
    return {**area, "linewidth": 1}

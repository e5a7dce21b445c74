"""Words beside a drawing: headings, sentences, and marks with what they mean, one under the other."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwell.reports.picture import NARROW, SIZE, SMALL, Canvas
from maskwell.reports.style import colour
from maskwell.reports.words import SPACE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, STEP = 17, 23
INDENT = 24
LETTER = 7.0  # width of a letter of the small size, on the generous side

Mark = Callable[["Axes", float, float], None]


@dataclass(frozen=True)
class Note:
    """One remark.

    Attributes
    ----------
    words
        What it says; long words are broken into lines.
    mark
        Draws a sample in front of the words, around a point.
    tone, strong
        Name of the colour, and whether the words stand out.
    space
        Pixels of air above.
    """

    words: str
    mark: Mark | None = None
    tone: str = "ink"
    strong: bool = False
    space: int = 0

    def lines(self, width: float) -> list[str]:
        """The words in lines that fit."""
        letter = LETTER * SIZE / SMALL * 1.06 if self.strong else LETTER
        room = width - (INDENT if self.mark else 0)
        together = self.words.replace(" = ", f"{SPACE}={SPACE}").replace(" %", f"{SPACE}%")
        return textwrap.wrap(together, max(8, int(room / letter)), break_on_hyphens=False)


def write_notes(canvas: Canvas, notes: Sequence[Note], *, x: float, top: float) -> float:
    """Put remarks on a canvas, down from ``top``, and say where they end."""
    y = top
    for note in notes:
        y += note.space
        if note.mark:
            note.mark(canvas.page, x + 8, y + STEP / 2)
        for step, line in enumerate(note.lines(canvas.width - x - 2)):
            style = {"fontsize": SIZE, "weight": "bold"} if note.strong else {"fontsize": SMALL}
            left = x + (INDENT if note.mark else 0)
            canvas.text(left, y + STEP / 2 + LINE * step, line, tone=note.tone, **style)
        y += _height(note, canvas.width - x - 2)
    return y


def notes_height(notes: Sequence[Note], *, x: float = 4, width: int = NARROW) -> int:
    """Pixels that remarks need from ``x`` to the right edge."""
    return sum(note.space + _height(note, width - x - 2) for note in notes)


def _height(note: Note, width: float) -> int:
    return STEP + LINE * (len(note.lines(width)) - 1)


def line_mark(**style: Any) -> Mark:
    """A short piece of a line."""

    def draw(page: Axes, x: float, y: float) -> None:
        page.plot([x - 9, x + 9], [y, y], **{"solid_capstyle": "butt", **style})

    return draw


def bar_mark(**style: Any) -> Mark:
    """A short upright bar."""

    def draw(page: Axes, x: float, y: float) -> None:
        page.plot([x, x], [y - 9, y + 9], **{"solid_capstyle": "butt", **style})

    return draw


def area_mark(**style: Any) -> Mark:
    """A small piece of an area."""

    def draw(page: Axes, x: float, y: float) -> None:
        page.fill([x - 8, x + 8, x + 8, x - 8], [y - 7, y - 7, y + 7, y + 7], **style)

    return draw


def point_mark(**style: Any) -> Mark:
    """One point."""

    def draw(page: Axes, x: float, y: float) -> None:
        page.plot([x], [y], **{"linestyle": "none", **style})

    return draw


def open_point(edge: str) -> dict[str, Any]:
    """Style of a point that is only a ring."""
    return {"markerfacecolor": colour("paper"), "markeredgecolor": edge, "markeredgewidth": 1.6}

"""What drawings share: a figure that matplotlib lays out, its key, and rows with labels; heights are pixels."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maskwell.core.percentages import SPACE
from maskwell.core.phrases import visible, visible_lines
from maskwell.reports.pictures.palette import colour

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.transforms import Bbox

WIDTH = 420  # pixels. Letters of 12 are still 9 where a phone of 360 pixels shows it on 328
PER_INCH = 72
SIZE = 12.0
LINE = 17
LETTER = 7.2  # pixels of a letter, on the generous side


@dataclass(frozen=True)
class LegendEntry:
    """A remark above or below the frames; long ones are wrapped."""

    words: str  # what it says
    mark: Any = None  # a sample of what it explains, as a legend of matplotlib takes it
    tone: str = "ink"  # tone, strong: name of the colour, and whether the words stand out
    strong: bool = False

    def wrapped(self, room: float) -> str:
        """The words in lines that fit."""
        together = visible(self.words).replace(" = ", f"{SPACE}={SPACE}").replace(" %", f"{SPACE}%")
        letters = int(room / (LETTER * (1.1 if self.strong else 1)))
        return "\n".join(textwrap.wrap(together, letters, break_on_hyphens=False))


class Sheet:
    """A figure with frames one below the other and words around them."""

    def __init__(
        self, title: str = "", *, scale: float = 1.0, ax: Axes | None = None, places: Sequence[Bbox] = ()
    ) -> None:
        from matplotlib.figure import Figure

        self.figure = (
            Figure(figsize=(scale * WIDTH / PER_INCH, 1), dpi=PER_INCH, layout="constrained")
            if ax is None
            else cast("Figure", ax.figure)
        )
        self.frames: list[Axes] = []
        self.above: list[LegendEntry] = [LegendEntry(title, strong=True)] if title else []
        self.below: list[LegendEntry] = []
        self.keys: list[Legend] = []
        self._scale, self._ax, self._places = scale, ax, [*places]
        self._heights: tuple[float, ...] = ()

    def plots(self, *heights: float, across: int = 1) -> list[Axes]:
        """Frames of these heights, one below the other, or several beside each other; 0 is as high as wide."""
        self._heights = heights
        if self._ax is not None:
            boxes = [self._places.pop(0).bounds for _ in range(len(heights) * across)]
            self.frames = [self._ax.inset_axes(box) for box in boxes]
        else:
            grid = self.figure.add_gridspec(len(heights), across, height_ratios=[height or WIDTH for height in heights])
            cells = [grid[row, column] for row in range(len(heights)) for column in range(across)]
            self.frames = [self.figure.add_subplot(cell) for cell in cells]
        return self.frames

    def finish(self) -> Sheet:
        """Write the remarks, and give the figure the height that all of it needs."""
        for notes, edge in ((self.above, "upper"), (self.below, "lower")):
            if notes:
                self.keys.append(self._key(notes, edge))
        from matplotlib.text import Text

        for text in (text for part in [*self.frames, *self.keys] for text in part.findobj(Text)):
            text.set_parse_math(False)
            text.set_text(visible_lines(text.get_text()))
        if self._scale != 1:
            _rescale([one for axes in self.frames for one in axes.findobj()], self._scale)
            for axes in self.frames:
                axes.tick_params(labelsize=SIZE * self._scale, pad=5 * self._scale)
        if self._ax is None:
            self._fit()
        return self

    def _key(self, notes: Sequence[LegendEntry], edge: str) -> Legend:
        from matplotlib.legend import Legend
        from matplotlib.lines import Line2D

        marked = any(note.mark is not None for note in notes)
        marks = [Line2D([], [], linestyle="none") if note.mark is None else note.mark for note in notes]
        if self._scale != 1:
            _rescale([part for mark in marks for part in (mark if isinstance(mark, tuple) else (mark,))], self._scale)
        words = [note.wrapped(WIDTH - (44 if marked else 16)) for note in notes]
        looks: dict[str, Any] = {
            "fontsize": SIZE * self._scale,
            "handlelength": 1.7 if marked else 0,
            "handletextpad": 0.7 if marked else 0,
        }
        if self._ax is None:
            looks["loc"] = f"outside {edge} left"
            key = self.figure.legend(marks, words, **looks)
        else:
            box = self._places.pop(0)
            looks |= {"loc": "upper left", "bbox_to_anchor": (box.x0, box.y1), "bbox_transform": self._ax.transAxes}
            key = Legend(self._ax, marks, words, **looks)
            self._ax.add_artist(key)
        for text, note in zip(key.get_texts(), notes, strict=True):
            text.set(color=colour(note.tone), weight="bold" if note.strong else "normal")
        return key

    def _fit(self) -> None:
        """Lay the figure out twice: the first time shows what is needed beside the frames."""
        engine: Any = self.figure.get_layout_engine()
        engine.set(w_pad=0.06 * self._scale, h_pad=0.08 * self._scale, hspace=0, wspace=0)
        lines = sum(note.wrapped(WIDTH - 44).count("\n") + 2 for note in (*self.above, *self.below))
        high = sum(height or WIDTH for height in self._heights) + 140 + LINE * lines
        self.figure.set_figheight(high * self._scale / PER_INCH)
        for _ in range(2):
            engine.execute(self.figure)
            across = len(self.frames) // len(self._heights)
            boxes = [axes.get_position(original=True) for axes in self.frames[::across]]
            width, height = self.figure.get_size_inches()
            wanted = sum(
                pixels * self._scale / PER_INCH or width * box.width
                for pixels, box in zip(self._heights, boxes, strict=True)
            )
            self.figure.set_figheight(height + wanted - height * sum(box.height for box in boxes))
        engine.execute(self.figure)
        self.figure.set_layout_engine("none")

    def places(self) -> list[Bbox]:
        """Where frames and remarks stand, as parts of the figure."""
        whole = self.figure.transFigure.inverted()
        shown = [axes.get_window_extent() for axes in self.frames] + [key.get_window_extent() for key in self.keys]
        return [box.transformed(whole) for box in shown]


def _rescale(artists: Iterable[Artist], factor: float) -> None:
    """Make letters, lines and marks so many times as large; places follow the size of the figure."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    for artist in artists:
        if isinstance(artist, Text):
            artist.set_fontsize(float(artist.get_fontsize()) * factor)
        elif isinstance(artist, Line2D):
            artist.set(linewidth=artist.get_linewidth() * factor, markersize=artist.get_markersize() * factor)
            artist.set_markeredgewidth(artist.get_markeredgewidth() * factor)
        elif isinstance(artist, Patch):
            artist.set_linewidth(artist.get_linewidth() * factor)
        elif isinstance(artist, Collection):
            artist.set_linewidth((np.asarray(artist.get_linewidth()) * factor).tolist())


@contextmanager
def quietly() -> Iterator[None]:
    """No warnings about letters that a font lacks: the reader's fonts may have them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


BAR_ROOM, HEADING_ROOM = 32, 14


@dataclass(frozen=True)
class Row:
    """One row."""

    label: str  # label, value: what it is about, wrapped where it is long, and its numbers at the right end
    value: str = ""
    tone: str = "ink"  # tone, strong: name of the colour, and whether the words stand out
    strong: bool = False
    heading: bool = False  # whether it has no marks: rows that belong to it follow

    @property
    def lines(self) -> list[str]:
        """The label in lines that fit beside the numbers; words that are longer than a line are broken."""
        room = WIDTH - 28 - LETTER * (len(self.value) + 1 if self.value else 0)
        return textwrap.wrap(visible(self.label), max(8, int(room / LETTER))) or [""]

    @property
    def height(self) -> int:
        """Pixels."""
        return LINE * len(self.lines) + (HEADING_ROOM if self.heading else BAR_ROOM)


def rows_height(rows: Sequence[Row]) -> int:
    """Pixels of a frame of these rows."""
    return sum(row.height for row in rows) + 4


def write_rows(axes: Axes, rows: Sequence[Row]) -> list[float]:
    """Write the labels into a frame, and return the heights of the marks."""
    across = axes.get_yaxis_transform()
    box = {"facecolor": colour("paper"), "edgecolor": "none", "pad": 0.5}
    top, middles = 2.0, []
    for row in rows:
        style: dict[str, Any] = {"color": colour(row.tone), "va": "center", "bbox": box, "transform": across}
        style |= {"weight": "bold" if row.strong or row.heading else "normal", "zorder": 8}
        first = top + LINE / 2 + (HEADING_ROOM - 4 if row.heading else 0)
        for i, line in enumerate(row.lines):
            axes.text(0.01, first + LINE * i, line, ha="left", **style)
        if row.value:
            axes.text(1, first, row.value, ha="right", **style)
        middles.append(top + row.height - 15)
        top += row.height
    axes.set(ylim=(rows_height(rows), 0), yticks=[])
    return middles

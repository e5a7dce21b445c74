"""Picture: what a figure shows, as arrays, as words and as a drawing.

The arrays and the words exist without any drawing library; a drawing is made only when one is asked for. Lengths are
pixels of the page, measured from the top left; a figure is drawn anew for a narrow screen instead of being shrunk.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.core.arrays import Array
from maskwell.core.atomic import atomic_file
from maskwell.core.escapes import visible, visible_lines
from maskwell.errors import DataFileError, MissingExtraError
from maskwell.reports.style import TEXT_FONTS, colour, with_variables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, NARROW = 680, 328
SIZE, SMALL = 13.0, 12.0
PER_INCH = 72
MEASURED = "DejaVu Sans"
ENDINGS = (".svg", ".png", ".pdf")


class Canvas:
    """A blank figure of a given width, with helpers that count in pixels from the top left.

    Attributes
    ----------
    width, height
        In pixels.
    narrow
        Whether it is drawn for a small screen.
    """

    def __init__(self, *, width: int, height: int) -> None:
        from matplotlib.figure import Figure

        self.width, self.height = width, height
        self.narrow = width < WIDE
        self.figure = Figure(figsize=(width / PER_INCH, height / PER_INCH), dpi=PER_INCH, facecolor=colour("paper"))
        self.page = self._axes((0, 0, 1, 1))
        self.page.set(xlim=(0, width), ylim=(height, 0))
        self.page.set_axis_off()

    def _axes(self, box: tuple[float, float, float, float]) -> Axes:
        axes = self.figure.add_axes(box)
        axes.patch.set_visible(False)
        return axes

    def axes(self, *, left: float, top: float, width: float, height: float) -> Axes:
        """A frame for data, without lines or ticks of its own."""
        bottom = self.height - top - height
        axes = self._axes((left / self.width, bottom / self.height, width / self.width, height / self.height))
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0, labelsize=SMALL, labelcolor=colour("muted"), pad=5)
        axes.set_axisbelow(True)
        return axes

    def text(self, x: float, y: float, text: str, *, tone: str = "ink", align: str = "left", **more: Any) -> None:
        """Words whose middle line is at ``y``; never read as mathematics."""
        style = {"fontsize": SIZE, "va": "center_baseline", "ha": align, "color": colour(tone), **more}
        self.page.text(x, y, visible_lines(text), parse_math=False, **style)

    def make_visible(self) -> None:
        """Write signs that no drawing can hold as escapes, and take no text for mathematics: labels are not ours."""
        from matplotlib.text import Text

        for text in self.figure.findobj(Text):
            text.set_parse_math(False)
            text.set_text(visible_lines(text.get_text()))


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure that can be tested, read aloud, drawn and saved.

    Attributes
    ----------
    name
        A short word for files and links.
    title, text
        What it is called, and all that it says to a reader who does not see it.
    data
        The arrays that are drawn.
    columns, rows
        The figure as a table for people.
    heights
        Pixels it needs when wide and when narrow.
    draw
        Puts it on a canvas.
    """

    name: str
    title: str
    text: str
    data: Mapping[str, Array]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    heights: tuple[int, int]
    draw: Callable[[Canvas], None]

    def figure(self, *, narrow: bool = False) -> Figure:
        """The drawing as a matplotlib figure."""
        with _house_style():
            canvas = Canvas(width=NARROW if narrow else WIDE, height=self.heights[narrow])
            self.draw(canvas)
        canvas.make_visible()
        return canvas.figure

    def svg(self, *, narrow: bool = False) -> str:
        """A drawing to stand alone."""
        raw = self._rendered("svg", narrow=narrow).decode("utf-8")
        return _described(_fonts(raw[raw.index("<svg") :]), self, prefix=self.name)

    def inline_svg(self, *, narrow: bool = False) -> str:
        """A drawing to stand inside a page: it takes the colours of the page and the width it is given."""
        svg = self.svg(narrow=narrow)
        prefix = f"{self.name}-narrow" if narrow else self.name
        svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
        svg = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", svg).replace("xlink:href", "href")
        return with_variables(svg.replace(f'"{self.name}-', f'"{prefix}-').replace(f"#{self.name}-", f"#{prefix}-"))

    def content(self, path: str | Path) -> bytes:
        """The drawing as the file of that name holds it: ``.svg``, ``.png`` or ``.pdf``."""
        ending = check_ending(path)
        return self.svg().encode() if ending == ".svg" else self._rendered(ending[1:], narrow=False)

    def save(self, path: str | Path) -> Path:
        """Write the drawing as ``.svg``, ``.png`` or ``.pdf``; a file of that name is replaced."""
        target, content = Path(path), self.content(path)
        with atomic_file(target, force=True) as file:
            file.write(content)
        return target

    def _rendered(self, kind: str, *, narrow: bool) -> bytes:
        figure = self.figure(narrow=narrow)
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        buffer = io.BytesIO()
        with _house_style(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the reader's fonts may have it
            figure.savefig(buffer, format=kind, dpi=PER_INCH if kind == "svg" else 2 * PER_INCH, metadata=metadata)
        return buffer.getvalue()


def check_ending(path: str | Path) -> str:
    """The ending of a file for a picture, in small letters; raises when it is none that can be drawn.

    >>> check_ending("region.SVG")
    '.svg'
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataFileError(
            f"a picture cannot be saved as {ending or 'a file without an ending'}",
            hint=f"use one of {', '.join(ENDINGS)}",
            path=path,
        )
    return ending


def _house_style() -> AbstractContextManager[None]:
    """The same drawing on every machine, whatever a reader has set for drawings of their own."""
    try:
        from matplotlib import style
    except ImportError as error:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", hint="pip install 'maskwell[report]'"
        ) from error
    ours = {"font.sans-serif": [MEASURED], "svg.fonttype": "none", "svg.hashsalt": "maskwell", "text.usetex": False}
    return style.context(["default", ours])


def _fonts(svg: str) -> str:
    """The reader's own fonts instead of the one that measured the text."""
    return re.sub(rf"'{MEASURED}'[^;\"]*", TEXT_FONTS, svg)


def _described(svg: str, picture: Picture, *, prefix: str) -> str:
    """Names for readers, identifiers that are unique on a page, no others."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r"(url\(#|href=\"#)", rf"\1{prefix}-", svg)
    head, body = svg.split(">", 1)
    named = f'<title id="{prefix}-title">{html.escape(visible(picture.title))}</title>'
    told = f'<desc id="{prefix}-desc">{html.escape(visible_lines(picture.text))}</desc>'
    return f'{head} role="img" aria-labelledby="{prefix}-title {prefix}-desc">{named}{told}{body}'

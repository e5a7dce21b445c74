"""Picture: what a figure shows, as arrays, as words and as a drawing; and what drawings share.

The arrays and the words exist without any drawing library; a drawing is made only when one is asked for. Lengths are
pixels of the page, measured from the top left; a figure is drawn anew for a narrow screen instead of being shrunk.
Shared are the words beside a drawing (headings, sentences, marks with what they mean), logarithmic scales, labels at
the ends of lines that do not touch, and the colours and letters, which pages have, too.

Each colour is named by what it means. *Truth* is a deep blue and *report* an orange wherever they appear; red is kept
for *risk*. The two parts of an error, *sampling* and *randomization*, are two tints. An ordered list, such as gammas,
takes the *levels* of one violet, told apart by their lightness. Meaning never rests on colour alone: labels, shapes and
hatching repeat it. The hues lie near those of Okabe and Ito, moved until text and lines reach WCAG AA on both papers; a
test measures it.
"""

from __future__ import annotations

import html
import io
import logging
import math
import re
import textwrap
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from maskwell.core.arguments import Array, as_list, as_mapping, as_real, check_kind, check_option
from maskwell.core.atomic import atomic_file
from maskwell.core.extras import missing_extra
from maskwell.core.phrases import Printed, visible, visible_lines
from maskwell.errors import DataFileError, LabelError, ParameterError
from maskwell.reports.plain_words import SPACE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# ---- colours and letters

TEXT_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
MONO_FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace"


@dataclass(frozen=True)
class Colour:
    """One meaning in two lights."""

    light: str
    dark: str


PALETTE: dict[str, Colour] = {
    "paper": Colour("#fffefc", "#15191d"),
    "panel": Colour("#f5f4f0", "#1e2429"),
    "ink": Colour("#1b2024", "#e8eaeb"),
    "muted": Colour("#59626a", "#a4aeb6"),
    "rule": Colour("#cfd3d5", "#3c454c"),
    "grid": Colour("#e6e8e8", "#2a3137"),
    "accent": Colour("#00615a", "#5fc4b8"),
    "truth": Colour("#0b4f8f", "#79b4ea"),
    "report": Colour("#bd5700", "#f39a3d"),
    "risk": Colour("#a8123a", "#f2849c"),
    "sampling": Colour("#8fb4d6", "#3f6f9c"),
    "randomization": Colour("#f3c48e", "#8a571c"),
    "level1": Colour("#a348b9", "#b770c9"),
    "level2": Colour("#813ea4", "#bd8bd8"),
    "level3": Colour("#613192", "#c6a6e5"),
    "level4": Colour("#451f7b", "#d5c2f0"),
    "level5": Colour("#260f56", "#e8dff9"),
}
LEVELS = 5


def levels(count: int) -> list[str]:
    """Names of colours for an ordered list, from the faintest to the strongest; neighbours share one beyond five.

    >>> levels(3), levels(6)
    (['level1', 'level3', 'level5'], ['level1', 'level2', 'level3', 'level3', 'level4', 'level5'])
    """
    if count == 1:
        return [f"level{LEVELS}"]
    return [f"level{1 + (2 * i * (LEVELS - 1) + count - 1) // (2 * (count - 1))}" for i in range(count)]


_CHOSEN: ContextVar[Mapping[str, str]] = ContextVar("chosen", default=MappingProxyType({}))


def colour(name: str) -> str:
    """The colour for light paper, as drawing libraries want it; another where a reader has chosen one.

    >>> colour("truth")
    '#0b4f8f'
    """
    return _CHOSEN.get().get(name, PALETTE[name].light)


@contextmanager
def chosen_colours(chosen: Mapping[str, str]) -> Iterator[None]:
    """Drawings from within have these colours in place of those of the palette."""
    token = _CHOSEN.set(chosen)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def with_variables(text: str) -> str:
    """Colours of the palette replaced by variables of the page, so that a drawing follows its light.

    >>> with_variables("fill: #0b4f8f")
    'fill: var(--truth)'
    """
    for name, shade in PALETTE.items():
        text = text.replace(shade.light, f"var(--{name})")
    return text


def variables(light: str) -> str:
    """The palette as CSS variables for one light, ``"light"`` or ``"dark"``."""
    return " ".join(f"--{name}: {getattr(shade, light)};" for name, shade in PALETTE.items())


def contrast(first: str, second: str) -> float:
    """Contrast of two colours, from 1 to 21, as WCAG 2 defines it.

    >>> round(contrast("#000000", "#ffffff"), 2)
    21.0
    """
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# ---- a figure

WIDE, NARROW = 680, 328
SIZE, SMALL = 13.0, 12.0
PER_INCH = 72
MEASURED = "DejaVu Sans"
ENDINGS = (".svg", ".png", ".pdf")
LABEL_LETTER = 7.4
"""Pixels of a letter of a label, on the generous side."""

TITLE_SIZE, TITLE_LINE, TITLE_GAP, TITLE_LETTER = 15.0, 21, 12, 9.0
"""Of a title above a drawing: points, pixels of a line and around it, and of a letter."""


class Canvas:
    """A blank figure of a given width, with helpers that count in pixels from the top left.

    Attributes
    ----------
    width, height
        In pixels.
    narrow
        Whether it is drawn for a small screen.
    """

    def __init__(self, *, width: int, height: int, title: str = "", ax: Axes | None = None) -> None:
        self.width, self.height = width, height
        self.narrow = width < WIDE
        self.heading = textwrap.wrap(title, int(width / TITLE_LETTER)) if title else []
        self.whole = height + (TITLE_LINE * len(self.heading) + TITLE_GAP if title else 0)
        self.frames: list[Axes] = []
        self.ax = ax
        self.figure = self._sheet() if ax is None else cast("Figure", ax.figure)
        self.page = self._axes((0, 0, 1, height / self.whole))
        self.page.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])  # ticks take time, and none is seen
        self.page.set_axis_off()
        for i, line in enumerate(self.heading):
            y = TITLE_LINE * (i + 0.6) + TITLE_GAP / 2 - (self.whole - height)
            self.text(4, y, line, fontsize=TITLE_SIZE, weight="bold", clip_on=False)

    def _sheet(self) -> Figure:
        from matplotlib.figure import Figure

        size = (self.width / PER_INCH, self.whole / PER_INCH)
        return Figure(figsize=size, dpi=PER_INCH, facecolor=colour("paper"))

    def _axes(self, box: tuple[float, float, float, float]) -> Axes:
        axes = self.figure.add_axes(box) if self.ax is None else self.ax.inset_axes(box)
        axes.patch.set_visible(False)
        return axes

    def axes(self, *, left: float, top: float, width: float, height: float) -> Axes:
        """A frame for data, without lines or ticks of its own."""
        bottom = self.height - top - height
        axes = self._axes((left / self.width, bottom / self.whole, width / self.width, height / self.whole))
        self.frames.append(axes)
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

        for axes in (self.page, *self.frames):
            for text in axes.findobj(Text):
                text.set_parse_math(False)
                text.set_text(visible_lines(text.get_text()))

    def rescale(self, factor: float) -> None:
        """Make letters, lines and marks so many times as large; places follow the size of the figure."""
        from matplotlib.collections import Collection
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch
        from matplotlib.text import Text

        for axes in (self.page, *self.frames):
            for artist in axes.findobj():
                if isinstance(artist, Text):
                    artist.set_fontsize(float(artist.get_fontsize()) * factor)
                elif isinstance(artist, Line2D):
                    artist.set(linewidth=artist.get_linewidth() * factor, markersize=artist.get_markersize() * factor)
                    artist.set_markeredgewidth(artist.get_markeredgewidth() * factor)
                elif isinstance(artist, Patch):
                    artist.set_linewidth(artist.get_linewidth() * factor)
                elif isinstance(artist, Collection):
                    artist.set_linewidth((np.asarray(artist.get_linewidth()) * factor).tolist())
            axes.tick_params(labelsize=SMALL * factor, pad=5 * factor)


class Page(NamedTuple):
    """One page of a picture: the pixels it needs when wide and when narrow, and what puts it on a canvas."""

    heights: tuple[int, int]
    draw: Callable[[Canvas], None]


@dataclass(frozen=True)
class Style:
    """What a reader has chosen: a title above the drawing, colours by their names, the width in inches, an Axes."""

    title: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)
    size: float | None = None
    ax: Axes | None = None


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
    further
        Pages after the first, where one would be too long.
    width
        Pixels it needs when wide.
    style
        What a reader has chosen.
    """

    name: str
    title: str
    text: str
    data: Mapping[str, Array]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    heights: tuple[int, int]
    draw: Callable[[Canvas], None]
    further: tuple[Page, ...] = ()
    width: int = WIDE
    style: Style = Style()

    def with_style(
        self,
        *,
        title: str = "",
        colours: Mapping[str, str] | None = None,
        size: float | None = None,
        ax: Axes | None = None,
    ) -> Picture:
        """The same picture with other looks.

        Parameters
        ----------
        title
            Drawn above; long ones are wrapped.
        colours
            By their names in the palette, such as ``{"sampling": "grey"}``.
        size
            Width of the figure in inches; the height follows, and letters and lines with it.
        ax
            Axes of matplotlib that the picture is drawn into at once, at the place of its data. Its first page then.
        """
        check_kind(str, title=title)
        chosen = {name: _checked_colour(name, one) for name, one in as_mapping(colours or {}, "colours").items()}
        inches = None if size is None else as_real(size, "size", low=1, high=100)
        made = replace(self, style=Style(title, chosen, inches, _checked_axes(ax)))
        if ax is not None:
            made.figure()
        return made

    @property
    def pages(self) -> tuple[Page, ...]:
        """All pages."""
        return (Page(self.heights, self.draw), *self.further)

    @property
    def axes(self) -> tuple[Axes, ...]:
        """The Axes of the data on the first page; what is changed in them is shown and saved."""
        return tuple(self._canvas(narrow=False, page=0).frames)

    def figure(self, *, narrow: bool = False, page: int = 0) -> Figure:
        """The drawing as a matplotlib figure, the same at every call: what is changed in it is shown and saved."""
        return self._canvas(narrow=narrow, page=page).figure

    def _canvas(self, *, narrow: bool, page: int) -> Canvas:
        if (narrow, page) not in self._canvases:
            self._canvases[narrow, page] = self._drawn(narrow=narrow, page=page)
        return self._canvases[narrow, page]

    @cached_property
    def _canvases(self) -> dict[tuple[bool, int], Canvas]:
        return {}

    def _drawn(self, *, narrow: bool, page: int) -> Canvas:
        style, (heights, draw) = self.style, self.pages[page]
        with _house_style(), chosen_colours(style.colours):
            title = style.title if page == 0 or not style.title else f"{style.title} ({page + 1})"
            width = NARROW if narrow else self.width
            canvas = Canvas(width=width, height=heights[narrow], title=title, ax=style.ax)
            draw(canvas)
        canvas.make_visible()
        self._fit(canvas)
        return canvas

    def _fit(self, canvas: Canvas) -> None:
        """Give a figure the size that was asked for, or take that of the Axes it is drawn into."""
        whole = canvas.width / PER_INCH
        if canvas.ax is not None:
            canvas.ax.set_axis_off()
            box, dots = canvas.ax.get_window_extent(), canvas.figure.dpi
            canvas.rescale(min(box.width / dots / whole, box.height / dots * PER_INCH / canvas.whole))
        elif self.style.size is not None:
            factor = self.style.size / whole
            canvas.figure.set_size_inches(self.style.size, canvas.whole / PER_INCH * factor)
            canvas.rescale(factor)

    def svg(self, *, narrow: bool = False, page: int = 0) -> str:
        """A drawing to stand alone."""
        raw = self._rendered("svg", narrow=narrow, page=page).decode("utf-8")
        return _described(_fonts(raw[raw.index("<svg") :]), self, prefix=self.name)

    def inline_svg(self, *, narrow: bool = False) -> str:
        """A drawing to stand inside a page: it takes the colours of the page and the width it is given."""
        return "\n".join(self._inline_page(page, narrow=narrow) for page in range(len(self.pages)))

    def _inline_page(self, page: int, *, narrow: bool) -> str:
        svg = self.svg(narrow=narrow, page=page)
        prefix = f"{self.name}-narrow" if narrow else self.name
        prefix += f"-{page + 1}" if page else ""
        svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
        svg = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", svg).replace("xlink:href", "href")
        return with_variables(svg.replace(f'"{self.name}-', f'"{prefix}-').replace(f"#{self.name}-", f"#{prefix}-"))

    def contents(self, path: str | Path) -> dict[str, bytes]:
        """The drawing as files hold it: one ``.pdf`` with all pages, or an ``.svg`` or ``.png`` for each of them.

        The first page has the name that was given, the others a number: ``shares.png``, ``shares-2.png``.
        """
        ending = check_ending(path)
        if ending == ".pdf":
            return {str(path): self._pdf()}
        names = [str(path), *(numbered(path, page) for page in range(2, len(self.pages) + 1))]
        return {name: self._file(ending, page) for page, name in enumerate(names)}

    def _file(self, ending: str, page: int) -> bytes:
        return self.svg(page=page).encode() if ending == ".svg" else self._rendered("png", narrow=False, page=page)

    def save(self, path: str | Path) -> Path:
        """Write the drawing as ``.svg``, ``.png`` or ``.pdf``; files of that name are replaced.

        Pages after the first are in the same ``.pdf``, or in files with a number: ``shares-2.png``.
        """
        for name, content in self.contents(path).items():
            with atomic_file(Path(name), force=True) as file:
                file.write(content)
        return Path(path)

    def _repr_png_(self) -> bytes | None:
        """What a notebook shows; nothing where the picture stands in Axes of a reader, who shows them."""
        return None if self.further or self.style.ax is not None else self._rendered("png", narrow=False)

    def _repr_html_(self) -> str | None:
        """All pages, where there are several."""
        if not self.further or self.style.ax is not None:
            return None
        pages = (b64encode(self._rendered("png", narrow=False, page=i)).decode() for i in range(len(self.pages)))
        words = html.escape(visible(self.title))
        images = (
            f'<img alt="{words}, page {i}" style="width:{self.width}px" src="data:image/png;base64,{page}">'
            for i, page in enumerate(pages, 1)
        )
        return "\n".join(images)

    def _pdf(self) -> bytes:
        from matplotlib.backends.backend_pdf import PdfPages

        buffer = io.BytesIO()
        with _house_style(), _quietly(), PdfPages(buffer, metadata={"CreationDate": None}) as pages:
            for page in range(len(self.pages)):
                pages.savefig(self.figure(page=page))
        return buffer.getvalue()

    def _rendered(self, kind: str, *, narrow: bool, page: int = 0) -> bytes:
        figure = self.figure(narrow=narrow, page=page)
        metadata = {"svg": {"Date": None}}.get(kind, {})
        buffer = io.BytesIO()
        with _house_style(), _quietly():
            figure.savefig(buffer, format=kind, dpi=PER_INCH if kind == "svg" else 2 * PER_INCH, metadata=metadata)
        return buffer.getvalue()


def styled(draw: Callable[..., Picture], value: Any, **options: Any) -> Picture:
    """A picture with the looks among ``options``; the others are those of the picture itself."""
    looks = {name: options.pop(name) for name in [*options] if name in LOOKS}
    return draw(value, **options).with_style(**looks) if looks else draw(value, **options)


LOOKS = ("title", "colours", "size", "ax")


def _checked_colour(name: Any, one: Any) -> str:
    if name not in PALETTE:
        raise ParameterError(f"colours has {name!r}", hint=f"the names are {', '.join(PALETTE)}", name=name)
    from matplotlib.colors import to_hex

    try:
        return to_hex(one)
    except ValueError as error:
        raise ParameterError(
            f"{one!r} is no colour for {name}", hint="give a name or a code that matplotlib knows, such as #444444"
        ) from error


def _checked_axes(ax: Any) -> Axes | None:
    if ax is not None:
        from matplotlib.axes import Axes

        check_kind(Axes, ax=ax)
    checked: Axes | None = ax
    return checked


def numbered(path: str | Path, page: int) -> str:
    """The name of the file of a further page.

    >>> numbered("out/shares.png", 2)
    'out/shares-2.png'
    """
    whole = Path(path)
    return str(whole.with_name(f"{whole.stem}-{page}{whole.suffix}"))


@contextmanager
def _quietly() -> Iterator[None]:
    """No warnings about letters that a font lacks: the reader's fonts may have them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


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


@contextmanager
def quiet_matplotlib() -> Iterator[None]:
    """While it is loaded: without its remarks on folders of its own, which a home that cannot be written lacks."""
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def _house_style() -> AbstractContextManager[None]:
    """The same drawing on every machine, whatever a reader has set for drawings of their own."""
    try:
        with quiet_matplotlib():
            import matplotlib.figure  # noqa: F401 - with it its fonts are looked up
            from matplotlib import style
    except ImportError as error:
        raise missing_extra("matplotlib", "a picture") from error
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
    description = f'<desc id="{prefix}-desc">{html.escape(visible_lines(picture.text))}</desc>'
    return f'{head} role="img" aria-labelledby="{prefix}-title {prefix}-desc">{named}{description}{body}'


MOST_HEIGHT = 2400
"""Pixels of a page at most: some sixty lines, which a picture file still holds at twice the size."""


def label_lines(text: str, width: float, *, letter: float = LABEL_LETTER) -> list[str]:
    """A label in lines that fit into so many pixels; words that are longer than a line are broken.

    >>> label_lines("north of the river", 80)
    ['north of', 'the river']
    """
    return textwrap.wrap(visible(text), max(4, int(width / letter))) or [""]


def labels_width(labels: Sequence[str], *, least: int, most: int) -> int:
    """Pixels for a column of labels: those of the longest, where it is not too long for one line."""
    longest = max((len(visible(one)) for one in labels), default=0)
    return int(min(most, max(least, longest * LABEL_LETTER)))


def in_pages(heights: Sequence[float], room: float) -> list[slice]:
    """Which lines stand on which page, in order; a page holds one line at least.

    >>> in_pages([10, 10, 10], 25)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    starts, used = [0], 0.0
    for place, height in enumerate(heights):
        if place > starts[-1] and used + height > room:
            starts.append(place)
            used = 0.0
        used += height
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(heights)], strict=True)]


def page_words(page: int, pages: int) -> str:
    """What stands at the foot of each of several pages."""
    return f"Page {page + 1} of {pages}" if pages > 1 else ""


def ordered(labels: Sequence[str], values: Sequence[float], order: str | Sequence[Any]) -> list[int]:
    """Places of lines in the order that was asked for.

    Parameters
    ----------
    labels, values
        Of the lines, as they are given.
    order
        "given", "largest", "smallest", "name", or the labels in their order; labels that are left out come last.

    >>> ordered(["b", "a", "c"], [0.1, 0.3, 0.2], "largest"), ordered(["b", "a", "c"], [0.1, 0.3, 0.2], ["c"])
    ([1, 2, 0], [2, 0, 1])
    """
    places = [*range(len(labels))]
    if not isinstance(order, str):
        named = [str(one) for one in as_list(order, "order")]
        unknown = next((one for one in named if one not in labels), None)
        if unknown is not None:
            raise LabelError("order names a label that is not drawn", hint="name labels of the picture", values=unknown)
        return sorted(places, key=lambda i: named.index(labels[i]) if labels[i] in named else len(named))
    check_option("order", order, ORDERS)
    sign = {"largest": -1.0, "smallest": 1.0}.get(order)
    if sign is not None:
        return sorted(places, key=lambda i: math.inf if math.isnan(values[i]) else sign * values[i])
    return sorted(places, key=labels.__getitem__) if order == "name" else places


ORDERS = ("given", "largest", "smallest", "name")

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


FEW_DECADES, MOST_DECADES = 2.2, 9
LEAST_PLAIN, LARGEST_PLAIN = 1e-3, 1e4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def round_numbers(low: float, high: float) -> list[float]:
    """Numbers for a logarithmic scale: powers of ten, with 2 and 5 in between where it is short, few where it is long.

    >>> round_numbers(1.5, 60), round_numbers(0.02, 3000), round_numbers(2, 1e30)
    ([2, 5, 10, 20, 50], [0.1, 1, 10, 100, 1000], [10000, 100000000, ...])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if math.log10(high) - math.log10(low) <= FEW_DECADES else (1,)
    stride = math.ceil((last - first) / MOST_DECADES)
    powers = range(first - first % stride, last + 1, stride)
    numbers = [float(f"{step}e{power}") for power in powers for step in steps]
    return [int(x) if x >= 1 else x for x in numbers if low <= x * (1 + 1e-12) and x <= high * (1 + 1e-12)]


def scale_number(x: float) -> str:
    """A number of a scale, without needless digits; a power of ten where it is very large or small.

    >>> scale_number(0.05), scale_number(20), scale_number(200000), scale_number(1e-5)
    ('0.05', '20', '2·10⁵', '10⁻⁵')
    """
    if LEAST_PLAIN <= x < LARGEST_PLAIN:
        return f"{Printed(x):.4g}"
    lead, power = f"{Printed(x):.3e}".split("e")
    first = f"{Printed(float(lead)):g}"
    return f"{'' if first == '1' else f'{first}·'}10{raised(int(power))}"


def raised(power: int) -> str:
    """The digits of a power.

    >>> "10" + raised(-12)
    '10⁻¹²'
    """
    return str(power).translate(RAISED)


def log_scale(axes: Axes, *, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Logarithmic scales with round numbers and a light grid."""
    axes.set(xscale="log", yscale="log", xlim=x, ylim=y)
    for axis, (low, high) in ((axes.xaxis, x), (axes.yaxis, y)):
        set_numbers(axis, round_numbers(low, high))
    axes.grid(color=colour("grid"), linewidth=1)


def set_numbers(axis: Axis, at: Sequence[float], *, factor: float = 1) -> None:
    """Numbers on a scale and nothing between them, shown times a factor."""
    from matplotlib.ticker import NullLocator

    axis.set_ticks([float(x) for x in at], labels=[scale_number(factor * x) for x in at])
    axis.set_minor_locator(NullLocator())


def spread(places: Sequence[float], *, apart: float, low: float, high: float) -> list[float]:
    """Places moved as little as needed to lie at least ``apart`` from each other, between ``low`` and ``high``.

    >>> spread([10, 11, 50], apart=14, low=0, high=100)
    [3.5, 17.5, 50]
    """
    groups: list[list[int]] = []
    order = sorted(range(len(places)), key=places.__getitem__)
    for i in order:
        groups.append([i])
        while (
            len(groups) > 1
            and _start(groups[-1], places, apart, low, high) < _end(groups[-2], places, apart, low, high) + apart
        ):
            last = groups.pop()
            groups[-1] += last
    spread_out = [0.0] * len(places)
    for group in groups:
        first = _start(group, places, apart, low, high)
        for step, i in enumerate(group):
            spread_out[i] = places[i] if len(group) == 1 and low <= places[i] <= high else first + apart * step
    return spread_out


def _start(group: Sequence[int], places: Sequence[float], apart: float, low: float, high: float) -> float:
    """Where a group begins: around its middle, inside the limits."""
    length = apart * (len(group) - 1)
    middle = sum(places[i] for i in group) / len(group)
    return max(low, min(middle - length / 2, high - length))


def _end(group: Sequence[int], places: Sequence[float], apart: float, low: float, high: float) -> float:
    return _start(group, places, apart, low, high) + apart * (len(group) - 1)

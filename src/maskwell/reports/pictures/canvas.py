"""Picture: what a figure shows, as arrays, as words and as a drawing."""

from __future__ import annotations

import html
import io
import logging
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from maskwell.core.arguments import Array, as_list, as_mapping, as_real, check_kind, check_option
from maskwell.core.atomic import write_files
from maskwell.core.extras import missing_extra
from maskwell.core.phrases import visible, visible_lines
from maskwell.errors import DataFileError, LabelError, ParameterError
from maskwell.reports.pictures.palette import PALETTE, TEXT_FONTS, chosen_colours, colour, with_variables
from maskwell.reports.pictures.sheet import PER_INCH, SIZE, WIDTH, Sheet, quietly

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURED = "DejaVu Sans"
ENDINGS = (".svg", ".png", ".pdf")
Draw: TypeAlias = Callable[[Sheet], None]


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
    draw
        Puts it on a sheet.
    further
        What draws the pages after the first, where one would be too long.
    style
        What a reader has chosen.
    """

    name: str
    title: str
    text: str
    data: Mapping[str, Array]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    draw: Draw
    further: tuple[Draw, ...] = ()
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
        if ax is not None:
            from matplotlib.axes import Axes

            check_kind(Axes, ax=ax)
        checked: Axes | None = ax
        made = replace(self, style=Style(title, chosen, inches, checked))
        if ax is not None:
            made.figure()
        return made

    @property
    def pages(self) -> tuple[Draw, ...]:
        """What draws each page."""
        return (self.draw, *self.further)

    @property
    def axes(self) -> tuple[Axes, ...]:
        """The Axes of the first page; what is changed in them is shown and saved."""
        return tuple(self._sheet(0).frames)

    def figure(self, *, page: int = 0) -> Figure:
        """The drawing as a matplotlib figure, the same at every call: what is changed in it is shown and saved."""
        return self._sheet(page).figure

    def _sheet(self, page: int) -> Sheet:
        if page not in self._sheets:
            self._sheets[page] = self._drawn(page)
        return self._sheets[page]

    @cached_property
    def _sheets(self) -> dict[int, Sheet]:
        return {}

    def _drawn(self, page: int) -> Sheet:
        style = self.style
        title = style.title if page == 0 or not style.title else f"{style.title} ({page + 1})"
        with chosen_colours(style.colours), _house_style(), quietly():
            if style.ax is None:
                scale = 1.0 if style.size is None else style.size * PER_INCH / WIDTH
                return self._on(Sheet(title, scale=scale), page)
            # laid out on a sheet of its own first, then at the same places within the Axes
            own = self._on(Sheet(title), page)
            box, (width, height) = style.ax.get_window_extent(), own.figure.get_size_inches()
            dots = style.ax.figure.dpi
            scale = min(box.width / dots / width, box.height / dots / height)
            style.ax.set_axis_off()
            return self._on(Sheet(title, scale=scale, ax=style.ax, places=own.places()), page)

    def _on(self, sheet: Sheet, page: int) -> Sheet:
        self.pages[page](sheet)
        return sheet.finish()

    def svg(self, *, page: int = 0) -> str:
        """A drawing to stand alone."""
        raw = self._rendered("svg", page).decode("utf-8")
        return _described(
            re.sub(rf"'{MEASURED}'[^;\"]*", TEXT_FONTS, raw[raw.index("<svg") :]),
            self,
            prefix=f"{self.name}-{page + 1}" if page else self.name,
        )

    def inline_svg(self) -> str:
        """A drawing to stand inside a page: it takes the colours of the page and the width it is given."""
        drawn = (re.sub(r' (?:width|height)="[\d.]+pt"', "", self.svg(page=i), count=2) for i in range(len(self.pages)))
        bare = (re.sub(r' xmlns(?::xlink)?="[^"]*"', "", svg).replace("xlink:href", "href") for svg in drawn)
        return "\n".join(map(with_variables, bare))

    def contents(self, path: str | Path) -> dict[str, bytes]:
        """The drawing as files hold it: one ``.pdf`` with all pages, or an ``.svg`` or ``.png`` for each of them.

        The first page has the name that was given, the others a number: ``shares.png``, ``shares-2.png``.
        """
        ending = check_ending(path)
        if ending == ".pdf":
            return {str(path): self._pdf()}
        names = [str(path), *(numbered(path, page) for page in range(2, len(self.pages) + 1))]
        return {
            name: self.svg(page=page).encode() if ending == ".svg" else self._rendered("png", page)
            for page, name in enumerate(names)
        }

    def save(self, path: str | Path) -> Path:
        """Write the drawing as ``.svg``, ``.png`` or ``.pdf``; files of that name are replaced.

        Pages after the first are in the same ``.pdf``, or in files with a number: ``shares-2.png``.
        """
        write_files({name: (name, content) for name, content in self.contents(path).items()}, force=True)
        return Path(path)

    def _repr_png_(self) -> bytes | None:
        """What a notebook shows; nothing where the picture is in Axes of a reader, who shows them."""
        return None if self.further or self.style.ax is not None else self._rendered("png", 0)

    def _repr_html_(self) -> str | None:
        """All pages, where there are several."""
        if not self.further or self.style.ax is not None:
            return None
        words = html.escape(visible(self.title))
        pages = (b64encode(self._rendered("png", i)).decode() for i in range(len(self.pages)))
        return "\n".join(
            f'<img alt="{words}, page {i}" style="width:{WIDTH}px" src="data:image/png;base64,{page}">'
            for i, page in enumerate(pages, 1)
        )

    def _pdf(self) -> bytes:
        from matplotlib.backends.backend_pdf import PdfPages

        buffer = io.BytesIO()
        with _house_style(), quietly(), PdfPages(buffer, metadata={"CreationDate": None}) as pages:
            for page in range(len(self.pages)):
                pages.savefig(self.figure(page=page))
        return buffer.getvalue()

    def _rendered(self, kind: str, page: int) -> bytes:
        figure = self.figure(page=page)
        metadata = {"svg": {"Date": None}}.get(kind, {})
        buffer = io.BytesIO()
        with _house_style(), quietly():
            figure.savefig(buffer, format=kind, dpi=PER_INCH if kind == "svg" else 3 * PER_INCH, metadata=metadata)
        return buffer.getvalue()


def styled(draw: Callable[..., Picture], value: Any, **options: Any) -> Picture:
    """A picture with the looks among ``options``; the others are those of the picture itself."""
    looks = {name: options.pop(name) for name in [*options] if name in LOOKS}
    return draw(value, **options).with_style(**looks) if looks else draw(value, **options)


LOOKS = ("title", "colours", "size", "ax")


def _checked_colour(name: Any, one: Any) -> str:
    if name not in PALETTE:
        raise ParameterError("colours-has-name", palette=", ".join(PALETTE), name=name)
    from matplotlib.colors import to_hex

    try:
        return to_hex(one)
    except ValueError as error:
        raise ParameterError("one-is-no-colour-for-name", one=one, name=name) from error


def numbered(path: str | Path, page: int) -> str:
    """The name of the file of a further page."""
    whole = Path(path)
    return str(whole.with_name(f"{whole.stem}-{page}{whole.suffix}"))


def check_ending(path: str | Path) -> str:
    """The ending of a file for a picture, in small letters; raises when it is none that can be drawn."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataFileError(
            "a-picture-cannot-be-saved",
            ending=ending or "a file without an ending",
            endings=", ".join(ENDINGS),
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
    ink, muted, grid, paper = (colour(name) for name in ("ink", "muted", "grid", "paper"))
    letters = {"font.sans-serif": [MEASURED], "font.size": SIZE, "text.color": ink, "text.usetex": False}
    words = {"axes.titlesize": SIZE, "axes.titlecolor": muted, "axes.labelcolor": muted, "axes.titlelocation": "left"}
    places = {"xaxis.labellocation": "right", "axes.titlepad": 10, "axes.labelpad": 6, "legend.frameon": False}
    frames = {"axes.grid": True, "grid.color": grid, "grid.linewidth": 1, "axes.axisbelow": True}
    spines = {f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")}
    ticks = {
        f"{one}tick.{what}": value
        for one in "xy"
        for what, value in {"labelcolor": muted, "labelsize": SIZE, "major.size": 0, "major.pad": 5}.items()
    }
    paints = {"figure.facecolor": paper, "axes.facecolor": "none", "legend.borderaxespad": 0.3}
    files = {"svg.fonttype": "none", "svg.hashsalt": "maskwell", "axes.unicode_minus": True}
    return style.context(["default", letters | words | places | frames | spines | ticks | paints | files])


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


LINES = 48  # rows of a page at most


def page_words(page: int, pages: int) -> str:
    """What stands at the foot of each of several pages."""
    return f"Page {page + 1} of {pages}" if pages > 1 else ""


def ordered(labels: Sequence[str], values: Sequence[float], order: str | Sequence[Any]) -> list[int]:
    """Places of lines in the order that was asked for."""
    places = [*range(len(labels))]
    if not isinstance(order, str):
        named = [str(one) for one in as_list(order, "order")]
        unknown = next((one for one in named if one not in labels), None)
        if unknown is not None:
            raise LabelError("order-names-a-label", values=unknown)
        return sorted(places, key=lambda i: named.index(labels[i]) if labels[i] in named else len(named))
    check_option("order", order, ORDERS)
    sign = {"largest": -1.0, "smallest": 1.0}.get(order)
    if sign is not None:
        return sorted(places, key=lambda i: math.inf if math.isnan(values[i]) else sign * values[i])
    return sorted(places, key=labels.__getitem__) if order == "name" else places


ORDERS = ("given", "largest", "smallest", "name")

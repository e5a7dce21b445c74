"""What a command answers, as one value: a headline, facts, tables, notes and what to do next; and how it is written."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, overload

from maskwell.core.extras import missing_extra
from maskwell.core.percentages import SPACE
from maskwell.core.phrases import in_markdown, one_line, shorten, visible_lines
from maskwell.reports.pages.paper_tables import Table

if TYPE_CHECKING:
    from jinja2 import Environment

WIDTH = 100  # columns of a terminal


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str  # what is said
    # indent, hang: what stands before the first line, and before those that follow, in a terminal
    indent: str = field(default="", kw_only=True)
    hang: str = field(default="  ", kw_only=True)
    # whether words may be broken, at hyphens or where they are longer than a line
    split: bool = field(default=False, kw_only=True)
    wrapped: bool = field(default=True, kw_only=True)  # whether it is broken into lines at all
    # whether its no-break spaces hold numbers and units together, and are blanks in a terminal
    keeps_units: bool = field(default=False, kw_only=True)

    def to_text(self) -> list[str]:
        """Lines for a terminal."""
        if not self.wrapped:
            return [self.text]
        lines = textwrap.wrap(
            self.text,
            WIDTH,
            initial_indent=self.indent,
            subsequent_indent=self.hang,
            break_long_words=self.split,
            break_on_hyphens=self.split,
        )
        return [line.replace(SPACE, " ") for line in lines] if self.keeps_units else lines

    def to_markdown(self) -> list[str]:
        """Lines of Markdown."""
        return [in_markdown(self.text.strip())]

    def to_html(self) -> list[str]:
        """Lines of HTML."""
        return [f"<p>{in_html(self.text.strip())}</p>"]


def in_notebook(page: str) -> str:
    """A piece of a page in which MathJax, which notebooks run over it, looks for no formulas: "$10 to $20" is none."""
    return f'<div class="tex2jax_ignore mathjax_ignore">\n{page}\n</div>'


def line(text: str) -> Paragraph:
    """A sentence that stays on one line, however long."""
    return Paragraph(text, wrapped=False)


def sentence(text: str) -> Paragraph:
    """A sentence in which a number stays with its unit."""
    return Paragraph(text, keeps_units=True)


@dataclass(frozen=True)
class Facts:
    """Names and values, one pair to a line."""

    pairs: Sequence[tuple[str, str]]

    def to_text(self) -> list[str]:
        """Lines for a terminal, long values broken."""
        width = max((len(name) for name, _ in self.pairs), default=0)
        lines = []
        for name, value in self.pairs:
            first, *more = textwrap.wrap(value, WIDTH - width - 4) or [""]
            lines += [f"  {name:<{width}}  {first}", *(" " * (width + 4) + rest for rest in more)]
        return lines

    def to_markdown(self) -> list[str]:
        """Lines of Markdown."""
        return [f"- {in_markdown(name)}: {in_markdown(value)}" for name, value in self.pairs]

    def to_html(self) -> list[str]:
        """Lines of HTML."""
        rows = [f"    <dt>{in_html(name)}</dt><dd>{in_html(value)}</dd>" for name, value in self.pairs]
        return ['  <dl class="facts">', *rows, "  </dl>"] if rows else []


@dataclass(frozen=True)
class Grid:
    """A table of texts: names in the first column, numbers in the others."""

    header: Sequence[str]  # header, rows: texts; every row is as long as the header
    rows: Sequence[Sequence[str]]
    title: str = field(default="", kw_only=True)  # a line above it
    marks: Sequence[str] = field(default=(), kw_only=True)  # what is said behind each row, if anything
    more: str = field(default="", kw_only=True)  # a line below it, such as how many rows were left out
    texts: bool = field(default=False, kw_only=True)  # whether all columns hold texts, which stand to the left
    indent: str = field(default="", kw_only=True)  # what stands before each line in a terminal, besides two blanks
    names: int = field(default=1, kw_only=True)  # how many columns at the left hold names, where not all are texts
    widest: int = field(default=40, kw_only=True)  # width of a name in a terminal, beyond which it is cut

    def to_text(self) -> list[str]:
        """Lines for a terminal."""
        some = (self.header, self.rows)
        lines = left_lines(*some) if self.texts else table_lines(*some, self.names, self.widest)
        if self.marks:
            wide = max(map(len, lines))
            marked = zip(lines, ["", *self.marks], strict=True)
            lines = [f"{row.ljust(wide)}  {mark}".rstrip() for row, mark in marked]
        above, below = ([f"{self.indent}{text}"] if text else [] for text in (self.title, self.more))
        return [*above, *(f"{self.indent}{row}" for row in lines), *below]

    def to_markdown(self) -> list[str]:
        """Lines of Markdown."""
        return self.table().lines("md")

    def to_html(self) -> list[str]:
        """Lines of HTML."""
        table = self.table()
        caption = [f"<caption>{in_html(table.caption)}</caption>"] if table.caption else []
        head = "".join(f'<th scope="col">{in_html(name)}</th>' for name in table.header)
        body = [
            f'<tr><th scope="row">{in_html(first)}</th>{"".join(f"<td>{in_html(cell)}</td>" for cell in cells)}</tr>'
            for first, *cells in table.rows
        ]
        below = [f"<p>{in_html(note)}</p>" for note in table.notes]
        return [
            "<table>",
            *caption,
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
            *below,
        ]

    def table(self) -> Table:
        """The same to be published: what is said behind rows has a column of its own."""
        marked = any(self.marks)
        rows = [[*row, mark] for row, mark in zip(self.rows, self.marks, strict=True)] if marked else self.rows
        more = [self.more.strip()] if self.more else []
        names = len(self.header) if self.texts else self.names
        header = [*self.header, *([""] if marked else [])]
        return Table(header, rows, caption=self.title.strip(), notes=more, names=names)


@dataclass(frozen=True)
class Notes:
    """Remarks that a reader must not overlook, each after one ``word``."""

    texts: Sequence[str]
    word: str = field(default="note", kw_only=True)
    keeps_units: bool = field(default=False, kw_only=True)

    def to_text(self) -> list[str]:
        """Lines for a terminal."""
        said = (Paragraph(f"{self.word}: {text}", split=True, keeps_units=self.keeps_units) for text in self.texts)
        return [row for one in said for row in one.to_text()]

    def to_markdown(self) -> list[str]:
        """Lines of Markdown."""
        return [row for text in self.texts for row in ("", f"> {self.word}: {in_markdown(text)}")][1:]

    def to_html(self) -> list[str]:
        """Lines of HTML."""
        return [f'<p class="notice">{self.word.capitalize()}: {in_html(text)}</p>' for text in self.texts]


@dataclass(frozen=True)
class Gap:
    """An empty line in a terminal; elsewhere parts stand apart anyway."""

    def to_text(self) -> list[str]:
        """One empty line."""
        return [""]

    def to_markdown(self) -> list[str]:
        """Nothing."""
        return []

    to_html = to_markdown


GAP = Gap()
Block = Paragraph | Facts | Grid | Notes | Gap


@dataclass(frozen=True, eq=False, repr=False)
class Report(Sequence[str]):
    """What a result says to people.

    As a sequence it is the lines of a terminal; a notebook shows it as a page would.
    """

    headline: str | Paragraph | Sequence[Paragraph] = ()  # what answers the question
    body: Sequence[Block] = ()  # facts, tables, notes and sentences, in the order of reading
    next_step: str = field(default="", kw_only=True)  # what to type or to do next; empty where another report goes on

    @property
    def facts(self) -> list[tuple[str, str]]:
        """All pairs of a name and a value."""
        return [pair for block in self.body if isinstance(block, Facts) for pair in block.pairs]

    @property
    def tables(self) -> list[Grid]:
        """All tables."""
        return [block for block in self.body if isinstance(block, Grid)]

    @property
    def notes(self) -> list[str]:
        """All remarks."""
        return [text for block in self.body if isinstance(block, Notes) for text in block.texts]

    def with_line(self, text: str) -> Report:
        """One more line at the end, before what comes next."""
        return replace(self, body=[*self.body, line(text)])

    def with_notes(self, texts: Iterable[str]) -> Report:
        """More remarks at the end."""
        return replace(self, body=[*self.body, Notes([*texts])])

    @property
    def opening(self) -> list[Paragraph]:
        """The headline, sentence by sentence."""
        first = self.headline
        return [Paragraph(first)] if isinstance(first, str) else [first] if isinstance(first, Paragraph) else [*first]

    @property
    def blocks(self) -> list[Block]:
        """The headline and the body."""
        return [*self.opening, *self.body]

    @cached_property
    def _lines(self) -> list[str]:
        following = [f"Next: {self.next_step}"] if self.next_step else []
        return [*(row for block in self.blocks for row in block.to_text()), *following]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        return self._lines[place]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def to_text(self) -> list[str]:
        """Lines for a terminal."""
        return list(self._lines)

    def to_markdown(self) -> list[str]:
        """Lines of Markdown."""
        following = [[f"Next: `{self.next_step}`"]] if self.next_step else []
        parts = [part for part in (*(block.to_markdown() for block in self.blocks), *following) if part]
        return [row for part in parts for row in ("", *part)][1:]

    def to_html(self) -> str:
        """A piece of a page."""
        following = [f"<p>Next: <code>{in_html(self.next_step)}</code></p>"] if self.next_step else []
        return "\n".join([*(row for block in self.blocks for row in block.to_html()), *following])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return in_notebook(self.to_html())

    def __repr__(self) -> str:
        return "\n".join(self)

    def _repr_markdown_(self) -> str:
        """What a notebook that shows no HTML shows."""
        return "\n".join(self.to_markdown())


def in_html(text: str) -> str:
    """A text as a page holds it; signs that nobody sees are written as escapes."""
    return html.escape(visible_lines(text)).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1, widest: int = 40) -> list[str]:
    """Lines of a table: names in the first columns to the left, the others aligned on the decimal point."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    columns = [[*column] for column in zip(*rows, strict=True)] or [[] for _ in header]
    cells = [
        [shorten(cell, widest) for cell in column] if i < names else _on_the_point(column)
        for i, column in enumerate(columns)
    ]
    widths = [max(map(len, [title, *column])) for title, column in zip(header, cells, strict=True)]
    lines = [
        [cell.ljust(width) if i < names else cell.rjust(width) for i, (cell, width) in enumerate(both)]
        for both in (zip(row, widths, strict=True) for row in [header, *zip(*cells, strict=True)])
    ]
    return ["  " + "  ".join(row).rstrip() for row in lines]


def _on_the_point(cells: Sequence[str]) -> list[str]:
    tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in cells]
    return [cell + " " * (max(tails, default=0) - tail) for cell, tail in zip(cells, tails, strict=True)]


def left_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of texts, all to the left; a last column that is too wide goes on in further lines."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    room = WIDTH - sum(width + 2 for width in widths[:-1]) - 2
    whole = [line for row in [header, *rows] for line in _broken(row, room)]
    return [("  " + "  ".join(map(str.ljust, row, widths))).rstrip() for row in whole]


def _broken(row: Sequence[str], room: int) -> list[list[str]]:
    """A row as lines, in which the last cell has no more letters than there is room for."""
    first, *others = textwrap.wrap(row[-1], max(room, 20), break_on_hyphens=False) or [""]
    return [[*row[:-1], first], *([*[""] * (len(row) - 1), other] for other in others)]


def environment() -> Environment:
    """Templates that escape every label, or an error that says what to install."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise missing_extra("jinja2", "a page") from error
    return _for_pages()


@cache
def _for_pages() -> Environment:
    """Kept, because compiling the templates takes longer than filling them."""
    return template_environment(autoescape=True, finalize=_finalized)


def template_environment(**options: Any) -> Environment:
    """The files of ``reports/templates``."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("maskwell.reports", "templates")
    options |= {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    return Environment(loader=loader, **options)  # noqa: S701 (the caller says whether it escapes)


def _finalized(value: Any) -> Any:
    """Texts without signs that nobody sees; what was marked safe is ours and stays."""
    return visible_lines(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def page_style() -> dict[str, str]:
    """Colours and fonts of a page."""
    from maskwell.reports.pictures.palette import MONO_FONTS, TEXT_FONTS, variables

    return {"light": variables("light"), "dark": variables("dark"), "text": TEXT_FONTS, "mono": MONO_FONTS}

"""Tables to paste into a paper: Markdown, LaTeX (booktabs), HTML that Word opens, and CSV."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from maskwell.core.phrases import Printed, in_markdown, in_spreadsheet, one_line, visible
from maskwell.errors import ParameterError

_LATEX = {sign: f"\\{sign}" for sign in "&%$#_{}"}
_LATEX |= {
    sign: rf"\text{name}{{}}"
    for sign, name in zip("\\~^<>|", ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar"), strict=True)
}
_NEGATIVE = re.compile(r"(?<![\w.])-(\d+(?:[.,]\d+)*)")
_PIECES = re.compile(r"[^\W_]{1,10}|.")
LONG_WORD = 17

COLUMN, PAGE = 56, 80
"""Letters of the small size beside each other: in a column of a journal, 240 points, and across a page, 345 points."""

GAP = 1.5  # letters that the space between two columns takes
LEAST_NAME, STACKED = 14, 7
"""Letters that are kept for a name of a row, and those of a line of a heading where room is short."""

WHOLE = 100

MOST_ROWS = 40  # rows of a table that is still one page


@dataclass(frozen=True)
class Table:
    """A table to be published."""

    header: Sequence[str]  # names of the columns
    rows: Sequence[Sequence[str]]  # one sequence of texts for each line, as long as the header
    caption: str = ""  # caption, notes: what stands above and below
    notes: Sequence[str] = ()
    names: int = 1  # how many columns at the left hold names
    label: str = ""  # what ``\\ref`` calls it in LaTeX; made from the caption where none is given

    def __post_init__(self) -> None:
        odd = next((row for row in self.rows if len(row) != len(self.header)), None)
        if odd is not None:
            raise ParameterError(
                "a-row-of-cells-under-headings", odd_count=len(odd), header_count=len(self.header), row=odd
            )

    def lines(self, style: str) -> list[str]:
        """The table in one of the ``STYLES``."""
        if style not in STYLES:
            raise ParameterError("format-format", styles=", ".join(STYLES), format=style)
        return STYLES[style](self)

    def once(self) -> list[list[str]]:
        """The rows, with a group that is that of the row above left empty; the last column of names is always there."""
        rows: list[list[str]] = []
        above: Sequence[str] = ()
        for row in self.rows:
            same = 0
            while same < self.names - 1 and above and above[same] == row[same]:
                same += 1
            rows.append([*[""] * same, *row[same:]])
            above = row
        return rows


def document(tables: Sequence[Table], style: str) -> list[str]:
    """Tables below each other; HTML as a whole page, which browsers and Word open."""
    pieces = [table.lines(style) for table in tables]
    lines = [line for piece in pieces for line in (*piece, "")][:-1]
    if style != "html":
        return lines
    title = tables[0].caption if tables else ""
    head = f'<meta charset="utf-8"><title>{in_cell(title or "Table")}</title>'
    return ["<!DOCTYPE html>", f'<html lang="en"><head>{head}</head><body>', *lines, "</body></html>"]


def to_markdown(table: Table) -> list[str]:
    """Lines of Markdown, readable as they are."""
    cells = [[in_markdown(cell) for cell in row] for row in (table.header, *table.once())]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = [f":{'-' * (w + 1)}" if place < table.names else f"{'-' * (w + 1)}:" for place, w in enumerate(widths)]
    set_left = [str.ljust if place < table.names else str.rjust for place in range(len(widths))]
    body = [[set_(cell, width) for set_, cell, width in zip(set_left, row, widths, strict=True)] for row in cells]
    lines = [f"| {' | '.join(body[0])} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(row)} |" for row in body[1:])]
    above = [in_markdown(table.caption), ""] if table.caption else []
    return [*above, *lines, *(line for note in table.notes for line in ("", in_markdown(note)))]


RULE = "1px solid"


def to_html(table: Table) -> list[str]:
    """Lines of HTML with all looks inside, so that a table keeps them when it is pasted into Word."""
    caption = f'<caption style="text-align:left;padding:4px 8px">{in_cell(table.caption)}</caption>'
    head = "".join(
        _html_cell(cell, place < table.names, "th", ' scope="col"', f";border-top:{RULE};border-bottom:{RULE}")
        for place, cell in enumerate(table.header)
    )
    notes = [f'<p style="font-size:smaller;margin:4px 8px">{in_cell(note)}</p>' for note in table.notes]
    return [
        '<table style="border-collapse:collapse">',
        *([caption] if table.caption else []),
        *([f"<thead><tr>{head}</tr></thead>"] if any(table.header) else []),
        f'<tbody style="border-top:{RULE};border-bottom:{RULE}">',
        *(_html_row(row, table.names) for row in table.once()),
        "</tbody>",
        "</table>",
        *notes,
    ]


def _html_row(row: Sequence[str], names: int) -> str:
    first = min(names, 1)
    cells = [_html_cell(cell, True, "th", ' scope="row"', ";font-weight:normal") for cell in row[:first]]
    cells += [_html_cell(cell, place < names, "td") for place, cell in enumerate(row[first:], first)]
    return f"<tr>{''.join(cells)}</tr>"


def _html_cell(text: str, left: bool, tag: str, scope: str = "", looks: str = "") -> str:  # noqa: FBT001
    side = "left" if left else "right"
    return f'<{tag}{scope} style="text-align:{side};padding:2px 8px{looks}">{in_cell(text)}</{tag}>'


def in_cell(text: str) -> str:
    """Text as a cell of a page holds it."""
    return html.escape(visible(one_line(text)), quote=False)


def to_latex(table: Table) -> list[str]:
    r"""Lines of LaTeX for ``\usepackage{booktabs}``: a table with caption and notes where there are any."""
    if not table.caption and not table.notes:
        return [line for part in _fitting(table) for line in _tabular(part)]
    parts = list(_fitting(table))
    return [line for place, part in enumerate(parts) for line in _float(part, place, len(parts))]


def _float(table: Table, place: int, parts: int) -> list[str]:
    """One table with its caption; those that go on with it keep its number, and the notes stand below the last."""
    going_on = " (continued)" if place else ""
    above = [f"\\caption{{{in_latex(table.caption)}{going_on}}}"] if table.caption else []
    above += [f"\\label{{{table.label or label_of(table.caption)}}}"] if table.caption and not place else []
    notes = table.notes if place == parts - 1 else ()
    below = [f"\\par\\smallskip\\raggedright {in_latex(note)}" for note in notes]
    kind = "table" if _leaves_room(table, COLUMN) else "table*"
    again = ["\\addtocounter{table}{-1}"] if place and table.caption else []
    small = ["\\footnotesize", "\\setlength{\\tabcolsep}{3pt}"]
    begin = [f"\\begin{{{kind}}}", *again, "\\centering", *above, *small]
    return [*begin, *_tabular(table), *below, f"\\end{{{kind}}}"]


def _tabular(table: Table) -> list[str]:
    wrapped, rows, narrow = _wrapped(table), table.once(), _is_narrow(table)
    ends = "\\tabularnewline" if len(table.header) - 1 in wrapped else "\\\\"
    stacked = [
        _latex_cell(one, wrapped=place in wrapped) if place < table.names or narrow else _stacked(one)
        for place, one in enumerate(table.header)
    ]
    body = [" & ".join(_latex_cell(cell, wrapped=place in wrapped) for place, cell in enumerate(row)) for row in rows]
    apart = [False, *(table.names > 1 and bool(row[0]) for row in rows[1:])]
    above = [["\\addlinespace"] if gap else [] for gap in apart]
    lines = [line for gap, row in zip(above, body, strict=False) for line in (*gap, f"{row} {ends}")]
    columns = [wrapped.get(place, "l" if place < table.names else "r") for place in range(len(table.header))]
    begin = f"\\begin{{tabular}}{{{''.join(columns)}}}"
    head = [f"{' & '.join(stacked)} {ends}", "\\midrule"] if any(table.header) else []
    return [begin, "\\toprule", *head, *lines, "\\bottomrule", "\\end{tabular}"]


def _stacked(heading: str) -> str:
    """A heading with a line for each word or two, as narrow as its column."""
    lines = textwrap.wrap(heading, STACKED, break_long_words=False, break_on_hyphens=False)
    text = "\\\\".join(map(in_latex, lines))
    return text if len(lines) < 2 else f"\\shortstack[r]{{{text}}}"


def _latex_cell(text: str, *, wrapped: bool) -> str:
    if not wrapped or not text:
        return in_latex(text)
    words = one_line(text).split(" ")  # words longer than a narrow column may be broken
    pieces = ([word] if len(word) < LONG_WORD else _PIECES.findall(word) for word in words)
    return "\\raggedright " + " ".join("\\allowbreak{}".join(map(in_latex, word)) for word in pieces)


def _letters(table: Table) -> list[int]:
    """Letters that each column needs on one line."""
    return [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]


def _number_letters(table: Table) -> list[int]:
    """The same for the columns of numbers, their headings being stacked."""
    columns = [*zip(table.header, *table.rows, strict=True)][table.names :]
    heads = (max(map(len, textwrap.wrap(head, STACKED, break_long_words=False) or [""])) for head, *_ in columns)
    return [max(head, *map(len, cells), 1) for head, (_, *cells) in zip(heads, columns, strict=True)]


def _is_narrow(table: Table) -> bool:
    """Whether it fits a column of a journal as it stands."""
    letters = _letters(table)
    return sum(letters) + GAP * len(letters) <= COLUMN


def _fits_stacked(table: Table, width: int) -> bool:
    """Whether it fits without wrapped names, the headings of numbers being stacked."""
    letters = [*_letters(table)[: table.names], *_number_letters(table)]
    return sum(letters) + GAP * len(letters) <= width


def _leaves_room(table: Table, width: int) -> bool:
    """Whether the numbers leave room for the names, which may be wrapped."""
    least = sum(min(one, LEAST_NAME) for one in _letters(table)[: table.names])
    return _is_narrow(table) or least + sum(_number_letters(table)) + GAP * len(table.header) <= width


def _wrapped(table: Table) -> dict[int, str]:
    """Columns of names that are wrapped, with their width: what the others leave of a line."""
    if _is_narrow(table) or not table.names or _fits_stacked(table, COLUMN):
        return {}
    if not _leaves_room(table, COLUMN) and _fits_stacked(table, PAGE):
        return {}
    letters = _letters(table)[: table.names]
    long = [place for place, one in enumerate(letters) if one > LEAST_NAME] or [*range(table.names)]
    kept = sum(one for place, one in enumerate(letters) if place not in long)
    rest = f"\\linewidth-{Printed((kept + sum(_number_letters(table)) + GAP * len(table.header)) / 2):.1f}em"
    weights = {place: math.sqrt(letters[place]) for place in long}
    shares = {place: round(100 * weight / sum(weights.values())) for place, weight in weights.items()}
    parts = {place: rest if share == WHOLE else f"({rest})*{share}/100" for place, share in shares.items()}
    return {place: f"p{{\\dimexpr{part}\\relax}}" for place, part in parts.items()}


def _fitting(table: Table) -> Iterator[Table]:
    """The table in pieces, each as wide and as long as a page at most."""
    for columns in _column_groups(table):
        kept = [*range(table.names), *columns]
        for start in range(0, max(1, len(table.rows)), MOST_ROWS):
            rows = [[row[place] for place in kept] for row in table.rows[start : start + MOST_ROWS]]
            yield replace(table, header=[table.header[place] for place in kept], rows=rows)


def _column_groups(table: Table) -> list[list[int]]:
    """Which columns of numbers are beside each other."""
    room = PAGE - sum(min(one, LEAST_NAME) + GAP for one in _letters(table)[: table.names])
    groups: list[list[int]] = [[]]
    used = 0.0
    for place, letters in enumerate(_number_letters(table), table.names):
        if groups[-1] and used + letters + GAP > room:
            groups.append([])
            used = 0.0
        groups[-1].append(place)
        used += letters + GAP
    return groups


def label_of(caption: str) -> str:
    r"""The name of a table for ``\ref``, from its caption."""
    words = re.findall(r"[a-z0-9]+", caption.lower())
    return f"tab:{'-'.join(words)[:40].strip('-') or 'maskwell'}"


def to_csv(table: Table) -> list[str]:
    """Lines of CSV with a header, without notes and caption; what a spreadsheet would work out gets an apostrophe."""
    text = io.StringIO()
    cells = ([in_spreadsheet(one_line(cell)) for cell in row] for row in (table.header, *table.rows))
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue().removesuffix("\n").split("\n")


STYLES: dict[str, Callable[[Table], list[str]]] = {"md": to_markdown, "latex": to_latex, "html": to_html, "csv": to_csv}


def in_latex(text: str) -> str:
    """Text as LaTeX sets it; a bracket or a star at the start would be read as an option of the line above."""
    plain = "".join(_LATEX.get(character, character) for character in one_line(text))
    plain = f"{{{plain[0]}}}{plain[1:]}" if plain[:1] in ("[", "*") else plain
    return _NEGATIVE.sub(r"$-\1$", plain)

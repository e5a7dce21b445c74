r"""Tables to paste into a paper: Markdown, LaTeX (booktabs) and CSV.

A table is a header and rows of cells that are text already: the caller decides how many digits a number deserves. The
first columns hold names and stand to the left, the others hold numbers and stand to the right. Notes go below; a CSV
file has none, because programs read it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maskwell.core.phrases import in_markdown, in_spreadsheet, one_line
from maskwell.errors import ParameterError

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_NEGATIVE = re.compile(r"(?<![\w.])-(\d+(?:[.,]\d+)*)")


@dataclass(frozen=True)
class Table:
    r"""A table to be published.

    Attributes
    ----------
    header
        Names of the columns.
    rows
        One sequence of texts for each line, as long as the header.
    caption, notes
        What stands above and below.
    names
        How many columns at the left hold names.

    >>> shares = Table(["answer", "share"], [["yes", "0.25"], ["no", "0.75"]], notes=["n = 300"])
    >>> print("\n".join(shares.lines("md")))
    | answer | share |
    |:-------|------:|
    | yes    |  0.25 |
    | no     |  0.75 |
    <BLANKLINE>
    n = 300
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    notes: Sequence[str] = ()
    names: int = 1

    def __post_init__(self) -> None:
        odd = next((row for row in self.rows if len(row) != len(self.header)), None)
        if odd is not None:
            raise ParameterError(
                f"a row of {len(odd)} cells under {len(self.header)} headings",
                hint="give every row one cell for each heading",
                row=odd,
            )

    def lines(self, style: str) -> list[str]:
        """The table in one of the ``STYLES``."""
        if style not in STYLES:
            raise ParameterError(f"format = {style!r}", hint=f"format is one of {', '.join(STYLES)}", format=style)
        return STYLES[style](self)


def to_markdown(table: Table) -> list[str]:
    """Lines of Markdown, readable as they are."""
    cells = [[in_markdown(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = [f":{'-' * (w + 1)}" if place < table.names else f"{'-' * (w + 1)}:" for place, w in enumerate(widths)]
    body = [_aligned(row, widths, table.names) for row in cells]
    lines = [f"| {' | '.join(body[0])} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(row)} |" for row in body[1:])]
    above = [in_markdown(table.caption), ""] if table.caption else []
    return [*above, *lines, *(line for note in table.notes for line in ("", in_markdown(note)))]


def to_latex(table: Table) -> list[str]:
    r"""Lines of LaTeX for ``\usepackage{booktabs}``: a table with caption and notes where there are any.

    >>> print("\n".join(to_latex(Table(["a_b", "50 %"], [["x & y", "-0.5"]]))))
    \begin{tabular}{lr}
    \toprule
    a\_b & 50 \% \\
    \midrule
    x \& y & $-0.5$ \\
    \bottomrule
    \end{tabular}
    """
    body = [f"{' & '.join(map(in_latex, row))} \\\\" for row in (table.header, *table.rows)]
    lines = [
        f"\\begin{{tabular}}{{{'l' * table.names}{'r' * (len(table.header) - table.names)}}}",
        "\\toprule",
        body[0],
        "\\midrule",
        *body[1:],
        "\\bottomrule",
        "\\end{tabular}",
    ]
    if not table.caption and not table.notes:
        return lines
    above = [f"\\caption{{{in_latex(table.caption)}}}"] if table.caption else []
    below = [f"\\par\\smallskip {{\\footnotesize {in_latex(note)}}}" for note in table.notes]
    return ["\\begin{table}", "\\centering", *above, *lines, *below, "\\end{table}"]


def to_csv(table: Table) -> list[str]:
    """Lines of CSV with a header; notes and caption are left out. What a spreadsheet would work out gets an apostrophe.

    >>> to_csv(Table(["answer", "share"], [["yes, once", "0.25"]]))
    ['answer,share', '"yes, once",0.25']
    """
    text = io.StringIO()
    cells = ([in_spreadsheet(one_line(cell)) for cell in row] for row in (table.header, *table.rows))
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue().removesuffix("\n").split("\n")


STYLES: dict[str, Callable[[Table], list[str]]] = {"md": to_markdown, "latex": to_latex, "csv": to_csv}
"""How a table may be written."""


def in_latex(text: str) -> str:
    r"""Text as LaTeX sets it: special characters protected, a negative number with a proper minus.

    >>> in_latex("C(x)[T.a_1] < 50 %"), in_latex("-1.25")
    ('C(x)[T.a\\_1] \\textless{} 50 \\%', '$-1.25$')
    """
    plain = "".join(_LATEX.get(character, character) for character in one_line(text))
    return _NEGATIVE.sub(r"$-\1$", plain)


def _aligned(cells: Sequence[str], widths: Sequence[int], names: int) -> list[str]:
    both = enumerate(zip(cells, widths, strict=True))
    return [cell.ljust(width) if place < names else cell.rjust(width) for place, (cell, width) in both]

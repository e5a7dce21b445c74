"""Parts of a text report: numbers, labels, facts and tables, at most 100 columns wide, aligned on the point."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

from maskwell.core.escapes import one_line
from maskwell.core.exact import parity_text as parity_text  # noqa: PLC0414 (other reports take it from here)
from maskwell.core.exact import rounded as rounded  # noqa: PLC0414
from maskwell.core.phrases import Printed
from maskwell.core.phrases import shorten as shorten  # noqa: PLC0414 (other reports take it from here)

WIDTH = 100


def number(value: float | None, digits: int = 6) -> str:
    """A number to so many significant digits.

    >>> number(2.718281828), number(float("inf")), number(3.0), number(None)
    ('2.71828', 'infinite', '3', 'none')
    """
    if value is None:
        return "none"
    return "infinite" if math.isinf(value) else f"{Printed(value):.{digits}g}"


def count(value: int) -> str:
    """A count with its digits grouped, or as a power of ten when it is very large.

    >>> count(12345), count(2**100)
    ('12,345', '1.27e+30')
    """
    if value < 10**12:
        return f"{value:,}"
    exponent = math.floor(math.log10(value))
    lead = f"{Printed(value / 10**exponent):.2f}" if exponent < 300 else ""
    return f"{lead}e+{exponent}" if lead else f"about 10 to the power {exponent:,}"


def label(value: object) -> str:
    """A category as people read it: a cell of a table as its parts, a text with a comma in quotes, a set as it is.

    >>> label("never"), label("yes, once"), label(("yes", "never")), label("{once, never}")
    ('never', '"yes, once"', '(yes, never)', '{once, never}')
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(label, value))})"
    text = str(value)
    enclosed = text.startswith("{") and text.endswith("}")
    return f'"{text}"' if "," in text and not enclosed else text


def counted(number_of: int, one: str, more: str) -> str:
    """A count with its noun.

    >>> counted(1, "row", "rows"), counted(1200, "row", "rows")
    ('1 row', '1,200 rows')
    """
    return f"{count(number_of)} {one if number_of == 1 else more}"


def with_article(name: str) -> str:
    """A name at the start of a sentence, with its article as it is spoken.

    >>> with_article("k-ary"), with_article("oue"), with_article("l-diverse"), with_article("unary")
    ('A k-ary', 'An oue', 'An l-diverse', 'A unary')
    """
    return f"An {name}" if name.startswith(("a", "e", "i", "o", "l-")) else f"A {name}"


def facts(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Names and values, one pair to a line, long values broken.

    >>> facts([("parity", "3"), ("k", "2")])
    ['  parity  3', '  k       2']
    """
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    lines = []
    for name, value in listed:
        broken = textwrap.wrap(value, WIDTH - width - 4) or [""]
        lines += [f"  {name:<{width}}  {broken[0]}", *(" " * (width + 4) + more for more in broken[1:])]
    return lines


def broken(text: str, indent: str = "") -> list[str]:
    """A sentence in lines that fit; words are kept whole.

    >>> broken("twenty-four letters here " * 5)[1]
    '  twenty-four letters here'
    """
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others aligned on the decimal point.

    >>> table(["answer", "share"], [["yes", "0.25"], ["no", "10.5"]])
    ['  answer  share', '  yes      0.25', '  no      10.5']
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    columns = [[shorten(row[0]) for row in rows], *([*column] for column in list(zip(*rows, strict=True))[1:])]
    cells = [columns[0], *map(_on_the_point, columns[1:])]
    widths = [max(len(title), *map(len, column)) for title, column in zip(header, cells, strict=True)]
    lines = [[header[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(header[1:], widths[1:], strict=True))]]
    lines += [
        [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        for row in zip(*cells, strict=True)
    ]
    return ["  " + "  ".join(line).rstrip() for line in lines]


def _on_the_point(cells: Sequence[str]) -> list[str]:
    tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in cells]
    return [cell + " " * (max(tails) - tail) for cell, tail in zip(cells, tails, strict=True)]


def notes(texts: Iterable[str], *, word: str = "note") -> list[str]:
    """Remarks that a reader must not overlook, broken to fit.

    >>> notes(["few reports"])
    ['note: few reports']
    """
    return [line for text in texts for line in textwrap.wrap(f"{word}: {text}", WIDTH, subsequent_indent="  ")]

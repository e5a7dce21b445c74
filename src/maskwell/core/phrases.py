"""Parts of messages that hold what somebody else wrote: texts cut in the middle, lists that end where the line does.

A message and its hint are one line each, of at most 100 columns after ``error:`` and ``hint:``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from maskwell.core.printed import Printed

MESSAGE = 93
HINT = 94
"""Columns that are left for the texts of an error."""

VALUES = 400
"""Characters of the values of an error, which stand on a line of their own."""

LEAST = 12
SHORT = 60
P_LEAST = 0.0001


def shorten(text: str, width: int = 40) -> str:
    """A text cut in the middle to fit.

    >>> shorten("abcdefghij", 7)
    'abc…hij'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def short_repr(value: object, instead: str = "...") -> str:
    """A value as it could be typed, where it is short; a table or an array is not.

    >>> short_repr([1, 2]), short_repr(list(range(100)))
    ('[1, 2]', '...')
    """
    written = repr(value)
    return written if len(written) <= SHORT and "\n" not in written else instead


def fault_of(error: BaseException, width: int = 44) -> str:
    """What another library found wrong, in short: its first sentence, and the place in a text.

    >>> fault_of(ValueError("Magic bytes not found. Is this a file?"))
    'Magic bytes not found'
    """
    if isinstance(error, json.JSONDecodeError):
        return f"{_first_sentence(error.msg, width)}, line {error.lineno}, column {error.colno}"
    return _first_sentence(str(error), width)


def _first_sentence(text: str, width: int) -> str:
    return shorten(" ".join(text.split()).split(". ")[0].removesuffix("."), width)


def p_text(value: float | None) -> str:
    """A p-value with four decimals, never zero.

    >>> p_text(0.04321), p_text(0.00018), p_text(1e-9), p_text(None)
    ('0.0432', '0.0002', '<0.0001', 'n/a')
    """
    if value is None or math.isnan(value):
        return "n/a"
    return f"{Printed(value):.4f}" if value >= P_LEAST else f"<{P_LEAST}"


def p_equals(value: float) -> str:
    """A p-value in a sentence.

    >>> p_equals(0.04321), p_equals(1e-9)
    ('p = 0.0432', 'p < 0.0001')
    """
    shown = p_text(value)
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def listed(items: Iterable[str], total: int, width: int, *, at_least: bool = False) -> str:
    """The first of many items, as many as fit the width, and how many there are where some are left out.

    What an item says in brackets at its end, such as how often it occurs, is never cut.

    >>> listed(["'a'", "'b'"], 2, 20), listed((str(i) for i in range(1000)), 1000, 30)
    ("'a', 'b'", '0, 1, 2, 3, ... (1,000 in all)')
    """
    ending = f", ... ({total:,} {'or more' if at_least else 'in all'})"
    first = [_shorten_name(item, max(LEAST, width - len(ending))) for item in islice(items, max(1, width // 3 + 2))]
    whole = ", ".join(first)
    if len(first) == total and len(whole) <= width:
        return whole
    while len(first) > 1 and len(", ".join(first)) + len(ending) > width:
        first.pop()
    return ", ".join(first) + (ending if len(first) < total else "")


def shown_values(times: Mapping[Any, int], *, at_least: bool = False) -> str:
    """Values and how often each occurs, for those who ask to see them: the ``values`` of an error.

    >>> shown_values({"maybe": 12, "?": 1})
    "'maybe' (12 times), '?' (1 time)"
    """
    common = sorted(times.items(), key=lambda item: -item[1])
    items = (f"{value!r} ({count:,} {'time' if count == 1 else 'times'})" for value, count in common)
    return listed(items, len(times), VALUES, at_least=at_least)


def _shorten_name(item: str, width: int) -> str:
    """An item cut to fit, but not the brackets at its end.

    >>> _shorten_name("'a very long label' (9,718 times)", 24)
    "'a ver…abel' (9,718 times)"
    """
    name, opening, rest = item.rpartition(" (")
    if not opening or not rest.endswith(")"):
        return shorten(item, width)
    return shorten(name, max(LEAST, width - len(rest) - 2)) + opening + rest

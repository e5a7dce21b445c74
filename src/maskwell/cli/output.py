"""What commands print: one JSON object, or lines for people; and errors in both.

Labels, names of columns and names of files come from elsewhere and may hold signs that a terminal obeys. All text
leaves through this file, where such signs are written as escapes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

import click

from maskwell.core.escaping import in_json, visible
from maskwell.core.json_values import plain
from maskwell.core.phrases import HINT, MESSAGE, shorten
from maskwell.core.printed import Printed

SHORTEST = 16
OK, ANSWER_IS_NO, BAD_INPUT, FAULT, STOPPED = 0, 1, 2, 3, 130


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    sys.set_int_max_str_digits(0)  # the number of reports of a set design may have thousands of digits
    click.echo(in_json(json.dumps(plain(content), ensure_ascii=False, allow_nan=False)))


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines for people."""
    click.echo("\n".join(map(visible, lines)), err=err)


def print_error(
    code: str, message: str, hint: str, *, as_json: bool, typed: Iterable[str] = (), values: str = ""
) -> None:
    """One line for what is wrong and one for what to do, on stderr; in JSON mode also an object on stdout.

    What was ``typed`` is cut in the middle where a line would be too long, and then the whole line. ``values`` of the
    data get a line of their own, where they were asked for.
    """
    words = {_one_line(part) for word in typed for part in (word, *re.split("[=@]", word))}
    message, hint = _one_line(message), _one_line(hint or "see maskwell --help")
    if words:
        message, hint = shorten(fitted(message, words, MESSAGE), MESSAGE), shorten(fitted(hint, words, HINT), HINT)
    more = {"values": values} if values else {}
    print_lines([f"error: {message}", f"hint: {hint}", *(f"values: {text}" for text in more.values())], err=True)
    if as_json:
        print_json({"error": {"code": code, "message": message, "hint": hint, **more}})


def _one_line(text: str) -> str:
    """As it will be printed: escapes take more room than what they stand for."""
    return visible(" ".join(text.split()))


def fitted(text: str, words: Iterable[str], width: int) -> str:
    """A line in which long words are cut in the middle, the longest first, until it fits or nothing long is left.

    >>> fitted("cannot read my/very/long/folder/of/designs.json", ["my/very/long/folder/of/designs.json"], 35)
    'cannot read my/very/lon…esigns.json'
    """
    for word in sorted(words, key=len, reverse=True):
        times, beyond = text.count(word) if word else 0, len(text) - width
        if beyond > 0 and times and len(word) > SHORTEST:
            text = text.replace(word, shorten(word, max(SHORTEST, len(word) - -(-beyond // times))))
    return text


class Progress:
    """Rows so far, on stderr, only on a terminal and only when the work takes longer than a second."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._start = self._last = time.monotonic()
        self._printed = False

    def __call__(self, rows: int, share: float | None) -> None:
        """Say how far it is."""
        now = time.monotonic()
        if not self._shown or now - self._start < 1 or now - self._last < 0.2:
            return
        self._last, self._printed = now, True
        percent = "" if share is None else f"  {Printed(100 * share):3.0f} %"
        click.echo(f"\r  {rows:,} rows{percent}", err=True, nl=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._printed:
            click.echo("\r" + " " * 40 + "\r", err=True, nl=False)

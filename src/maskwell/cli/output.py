"""What commands print: one JSON object, or lines for people; and errors in both.

Labels, names of columns and names of files come from elsewhere and may hold signs that a terminal obeys. All text
leaves through this file, where such signs are written as escapes.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, TextIO, cast

import click

from maskwell.core.documents import json_form
from maskwell.core.phrases import HINT, MESSAGE, Printed, in_ascii, in_json, masked, shorten, visible
from maskwell.errors import DataFileError

SHORTEST = 16
LONG_WORD = 60  # that nobody reads; longer than the names of files that maskwell makes
OK, ANSWER_IS_NO, BAD_INPUT, FAULT, STOPPED = 0, 1, 2, 3, 130


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object; letters that the terminal cannot show as JSON writes them, with backslash and u."""
    sys.set_int_max_str_digits(0)  # the number of reports of a set design may have thousands of digits
    text = in_json(json.dumps(json_form(content), ensure_ascii=False, allow_nan=False))
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), allow_nan=False)
    _write(text)


class Loudness(StrEnum):
    """How much a command prints for people."""

    QUIET = "quiet"
    USUAL = "usual"
    VERBOSE = "verbose"


_LOUDNESS: ContextVar[Loudness] = ContextVar("loudness", default=Loudness.USUAL)


def set_loudness(loudness: Loudness) -> None:
    """Print as much from now on."""
    _LOUDNESS.set(loudness)


def is_verbose() -> bool:
    """Whether time and memory are reported."""
    return _LOUDNESS.get() is Loudness.VERBOSE


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines for people, unless the command is quiet."""
    if _LOUDNESS.get() is not Loudness.QUIET:
        _print_lines(lines, err=err)


def _print_lines(lines: Iterable[str], *, err: bool) -> None:
    coloured = is_coloured(err=err)
    shown = (visible(with_form(line)) for line in lines)
    _write("\n".join(map(_coloured, shown) if coloured else shown), err=err)


_COLOURS: dict[str, dict[str, Any]] = {
    "error:": {"fg": "red", "bold": True},
    "hint:": {"fg": "cyan"},
    "note:": {"fg": "yellow"},
    "Next:": {"fg": "cyan"},
    "Yes:": {"fg": "green", "bold": True},
    "No:": {"fg": "red", "bold": True},
}


def is_coloured(*, err: bool = False) -> bool:
    """Whether a stream is a terminal with colours, and NO_COLOR is not set."""
    stream = sys.stderr if err else sys.stdout
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream is not None and stream.isatty()


def _coloured(line: str) -> str:
    word, space, rest = line.partition(" ")
    return f"{click.style(word, **_COLOURS[word])}{space}{rest}" if word in _COLOURS else line


_FORM_OPTIONS: ContextVar[str] = ContextVar("form_options", default="")
_STANDARD_INPUT = re.compile(r"(?<=[ =])(?<!-o )-(?= |$)")
_READS_A_FILE = re.compile(r"(Next: |#   )maskwell (estimate|mine|randomize|regress|release|risk) ")


@contextmanager
def form_said(options: Mapping[str, str | None]) -> Iterator[None]:
    """While this lasts, suggested next commands include these options for reading their files."""
    words = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
    before = _FORM_OPTIONS.set(f" {shlex.join(words)}" if words else "")
    try:
        yield
    finally:
        _FORM_OPTIONS.reset(before)


def with_form(line: str) -> str:
    """A line that suggests the next command, with the options for reading its files; any other line unchanged."""
    if line.startswith("Next: "):  # standard input cannot be read again
        line = _STANDARD_INPUT.sub("FILE", line)
    options = _FORM_OPTIONS.get()
    return f"{line}{options}" if _READS_A_FILE.match(line) and not line.endswith(options) else line


def _write(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Print a text. A closed standard output is an error; a closed standard error is ignored."""
    stream = sys.stderr if err else sys.stdout
    try:
        if stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        stream.write(text + end)
        stream.flush()
    except OSError as error:
        if not err:
            raise unwritten(error) from error


class NobodyReadsError(DataFileError):
    """The reader of standard output has enough, as ``head`` has after its lines; this is not reported."""


def unwritten(error: OSError) -> DataFileError:
    """The error for standard output that takes no more. What is left in it goes nowhere."""
    _divert(sys.stdout)
    return (NobodyReadsError if isinstance(error, BrokenPipeError) else DataFileError)(
        "cannot-write-to-standard-output", strerror=error.strerror or "it is closed"
    )


def _divert(stream: TextIO | None) -> None:
    """Send the rest of a stream nowhere, or the interpreter would try again at its end, and change the status."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), cast(TextIO, stream).fileno())


def flushed(status: int) -> int:
    """Print what the streams still hold; the status, or that of bad input where standard output does not take it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError) as error:
        told = unwritten(error if isinstance(error, OSError) else OSError())
        if status != BAD_INPUT and not isinstance(told, NobodyReadsError):
            print_error(told.code, told.message, told.hint, as_json=False)
        status = BAD_INPUT
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        _divert(sys.stderr)
    return status


def prepare_streams() -> None:
    """Let standard output and standard error print any text, whatever the terminal can show, and keep their numbers.

    Where one of them is closed, the next file that is opened would get its number, and what is printed.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(handle)
    codecs.register_error(_SPELLED, _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_SPELLED)


_SPELLED = "maskwell-spelled"
_STDERR = 2


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return in_ascii(error.object[error.start : error.end]), error.end


def print_error(
    code: str, message: str, hint: str, *, as_json: bool, typed: Iterable[str] = (), values: str = ""
) -> None:
    """What is wrong and what to do, a line each on stderr; what was ``typed`` is cut where a line would be too long."""
    message, hint, typed = masked(message), masked(hint), [masked(word) for word in typed]
    words = {_one_line(part) for word in typed for part in (word, *re.split("[=@]", word))}
    message, hint = _one_line(message), _one_line(hint or "see maskwell --help")
    if words:  # where nothing that was typed is told, such as the file with a traceback, nothing is cut
        words |= {word for word in f"{message} {hint}".split() if len(word) > LONG_WORD}
        message, hint = shorten(fitted(message, words, MESSAGE), MESSAGE), shorten(fitted(hint, words, HINT), HINT)
    more = {"values": values} if values else {}
    _print_lines([f"error: {message}", f"hint: {hint}", *(f"values: {text}" for text in more.values())], err=True)
    if as_json:
        with suppress(DataFileError):  # where standard output takes nothing, it was told above
            print_json({"error": {"code": code, "message": message, "hint": hint, **more}})


def _one_line(text: str) -> str:
    """As it will be printed: escapes take more room than what they represent."""
    return visible(" ".join(text.split()))


def fitted(text: str, words: Iterable[str], width: int) -> str:
    """A line in which long words are cut in the middle, the longest first, until it fits or nothing long is left."""
    for word in sorted(words, key=len, reverse=True):
        times, beyond = text.count(word) if word else 0, len(text) - width
        if beyond > 0 and times and len(word) > SHORTEST:
            text = text.replace(word, shorten(word, max(SHORTEST, len(word) - -(-beyond // times))))
    return text


LOG_SECONDS = 10.0  # how often a log hears how far the work is
VERBOSE_SECONDS = 1.0  # with --verbose


class Progress:
    """Rows so far, on stderr: on a terminal in one line that changes, elsewhere, as in a log, a line every ten seconds.

    The lines of a log come from a thread, so that they also come while nothing is read.
    """

    def __init__(self) -> None:
        self._there = sys.stderr is not None
        self._terminal = self._there and sys.stderr.isatty()
        self._quiet = _LOUDNESS.get() is Loudness.QUIET
        self._start = self._last = time.monotonic()
        self._printed = False
        self._state = self._logged = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._pause = VERBOSE_SECONDS if is_verbose() else LOG_SECONDS

    def __call__(self, rows: int, share: float | None) -> None:
        """Say how far it is."""
        percent = "" if share is None else f"  {Printed(100 * share):3.0f} %"
        self._state = f"{rows:,} rows{percent}"
        now = time.monotonic()
        if not self._terminal or self._quiet or now - self._start < 1 or now - self._last < 0.2:
            return
        self._last, self._printed = now, True
        _write(f"\r  {self._state}", err=True, end="")

    def __enter__(self) -> Progress:
        if self._there and not self._terminal and not self._quiet:
            self._thread = threading.Thread(target=self._log, name="maskwell-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(1)  # not longer, where nobody reads what it prints
        if self._printed:
            _write("\r" + " " * 40 + "\r", err=True, end="")

    def _log(self) -> None:
        while not self._ended.wait(self._pause):
            state, before, self._logged = self._state, self._logged, self._state
            parts = [state, "working" if state == before else ""]
            _write(f"  {', '.join(filter(None, parts))}  ({Printed(time.monotonic() - self._start):.0f} s)", err=True)

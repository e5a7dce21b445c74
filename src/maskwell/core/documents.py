"""Documents that somebody else wrote, taken apart as JSON or TOML; and the canonical form of what maskwell writes."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import numbers
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from maskwell.core.exact import check_digits
from maskwell.core.phrases import HALF
from maskwell.errors import DataFileError, InputError

STANDARD_INPUT = "-"  # what a command calls standard input, where it expects the name of a file
LARGEST = 128 << 20  # bytes of a document: a matrix of 2,000 by 2,000 chances with 17 digits has 80 million

LARGEST_BY_HAND = 16 << 20  # bytes of a table that people write themselves, of curves or strata
LARGEST_TOML = 4 << 20  # bytes of a plan: the parser takes seconds for each million
MOST_VALUES = 2 * 10**7
"""Numbers, texts, lists and objects in a document, which may take two bytes each there and a hundred in memory."""

DEEPEST = 200  # levels of lists and objects within each other
MOST_LISTS = 10_000_000
"""Lists and objects of a document; a million states of a release with all their metadata have five million."""

_MOST_PARTS = 12  # of a key of TOML such as release.intruder
_MOST_DIGITS = 4300  # of an integer, Python's own limit, which commands raise for what they print
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DOTTED = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+")
_TOO_DOTTED = re.compile(rf"(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")


class TooManyValuesError(ValueError):
    """A document that is read nowhere, however right it is."""


_LONG_HEX = re.compile(r"\b0[xob][0-9a-fA-F_]{1000}")  # the only integers that Python reads at any length
_CHUNK = 1 << 20
_MAYBE_HALVES = re.compile(r"\\u[dD][89a-fA-F]")


def standard_input() -> Any:
    """The bytes of standard input; it stays open."""
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is None or buffer.closed:
        raise DataFileError("standard-input-is-closed")
    return buffer


def read_document(path: str | Path, *, error: type[InputError], hint: str, largest: int = LARGEST) -> str:
    """The text of a file, a pipe or standard input (``-``); ``error`` where it cannot be read."""
    try:
        with nullcontext(standard_input()) if path == STANDARD_INPUT else Path(path).open("rb") as file:
            content = bytearray()  # a pipe may give it in small pieces
            while len(content) <= largest and (part := file.read(min(_CHUNK, largest + 1 - len(content)))):
                content += part
    except OSError as fault:
        raise error(f"cannot read {path}: {fault.strerror or type(fault).__name__}", hint=hint) from fault
    except ValueError as fault:  # a name that no file can have: with a NUL, or with half a character
        raise error("cannot read a file whose name no file can have", hint=hint, path=str(path)) from fault
    if path == STANDARD_INPUT and not content:
        raise error("standard input is empty, or was read already", hint="name one file only as -")
    if len(content) > largest:
        raise error(f"cannot read {path}: it has more than {largest >> 20} MB", hint="give the document as it was made")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise error(f"cannot read {path}: it is not text in UTF-8 (byte {fault.start:,})", hint=hint) from fault


@contextmanager
def many_objects() -> Iterator[None]:
    """While a document is taken apart: looking for garbage among millions of new lists would double the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def from_json(text: str, *, parse_float: Callable[[str], Any] | None = None, most: int = MOST_VALUES) -> Any:
    """What a JSON document says; ValueError for one that two readers could read differently, or that has no bounds."""
    with many_objects():
        return bounded(_parsed(text, _no_repeats, parse_float), text, most)


def from_json_noting(text: str, *, parse_float: Callable[[str], Any], repeated: Callable[[], None]) -> Any:
    """The same, but a key that is repeated is noted by calling ``repeated``; the last one counts."""

    def pairs_noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            repeated()
        return members

    with many_objects():
        return bounded(_parsed(text, pairs_noted, parse_float), text)


def _parsed(text: str, pairs: Callable[[list[tuple[str, Any]]], Any], parse_float: Callable[[str], Any] | None) -> Any:
    if text.count("[") + text.count("{") > MOST_LISTS:
        raise ValueError(f"it has more than {MOST_LISTS:,} lists and objects")
    with _bounded():
        return json.loads(text, object_pairs_hook=pairs, parse_float=parse_float, parse_constant=_no_constant)


@contextmanager
def _bounded() -> Iterator[None]:
    """Integers of a hundred thousand digits each would take minutes to read; an unbounded document is a short error."""
    usual = sys.get_int_max_str_digits()
    if not 0 < usual <= _MOST_DIGITS:
        sys.set_int_max_str_digits(_MOST_DIGITS)
    try:
        yield
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except ValueError as error:
        raise (ValueError(_TOO_LONG) if "integer string conversion" in str(error) else error) from error
    finally:
        sys.set_int_max_str_digits(usual)


_TOO_DEEP = f"it has more than {DEEPEST} levels of nesting"
_TOO_LONG = "it has an integer of thousands of digits"
_HALF = "a text in it holds half a character"
_TOO_DOTTED_KEY = f"it has more than {_MOST_PARTS} names joined by dots"
_INFINITE = "a number in it is beyond what computers keep, 1.8e308"


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers could take two different ones of repeated keys for the truth."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is repeated")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# A body of a few kilobytes, each value of which is compared with what it may be: quicker than ``from_json``, whose
# further faults (numbers without bounds, half characters) are refused by those comparisons.
from_small_json = json.JSONDecoder(object_pairs_hook=_no_repeats, parse_constant=_no_constant).decode


def from_toml(text: str) -> dict[str, Any]:
    """What a TOML document says, with decimals as they were written; ValueError as for JSON."""
    if _LONG_HEX.search(text):
        raise ValueError(_TOO_LONG)
    if any(_TOO_DOTTED.match(run) for run in _DOTTED.findall(text) if len(run) > 2 * _MOST_PARTS):
        raise ValueError(_TOO_DOTTED_KEY)  # they take the parser the square of their length, in time and memory
    with _bounded():
        return bounded(tomllib.loads(text, parse_float=_decimal), text)  # type: ignore[no-any-return]


def _decimal(text: str) -> Decimal:
    if not any(map(str.isdigit, text)):
        raise ValueError(f"{text} is not a number that can be used here")
    check_digits(text, "a number in it")
    return Decimal(text)


def bounded(content: Any, text: str = "", most: int = MOST_VALUES) -> Any:
    """The content again, if it has not too many values or levels, no half characters and no infinite numbers."""
    halves = _MAYBE_HALVES.search(text) is not None
    level: list[Any] = [[content]]
    values = 0
    for _ in range(DEEPEST + 1):
        if halves:
            _check_halves(key for one in level if isinstance(one, dict) for key in one)
        lists = level if set(map(type, level)) == {list} else [*map(_items, level)]
        if (values := values + sum(map(len, lists))) > most:
            raise TooManyValuesError(f"it has more than {most:,} values")
        if halves:
            _check_halves(one for one in chain.from_iterable(lists) if isinstance(one, str))
        kinds = set(map(type, chain.from_iterable(lists)))  # a list of a million numbers is seen at a glance
        if float in kinds and any(math.inf in one or -math.inf in one for one in lists):
            raise ValueError(_INFINITE)
        if not kinds & {dict, list}:
            return content
        inner = list(chain.from_iterable(lists))
        level = inner if kinds <= {dict, list} else [one for one in inner if type(one) in (dict, list)]
    raise ValueError(_TOO_DEEP)


def _items(one: Any) -> Collection[Any]:
    return one.values() if isinstance(one, dict) else one


def _check_halves(texts: Iterable[str]) -> None:
    if any(map(HALF.search, texts)):
        raise ValueError(_HALF)


def json_form(value: Any) -> Any:
    """A value as JSON can hold it: infinity as text, no NaN, fractions as text, library numbers as plain ones."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_form(item) for key, item in value.items()}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else None if math.isnan(number) else "inf" if number > 0 else "-inf"
    if hasattr(value, "tolist"):
        return json_form(value.tolist())
    if type(value) is list and set(map(type, value)) == {float} and all(map(math.isfinite, value)):
        return value  # a million of them are seen at a glance
    return [json_form(item) for item in value] if isinstance(value, Iterable) else str(value)


def json_schema(package: str, name: str) -> dict[str, Any]:
    """A JSON Schema that a package brings."""
    from importlib.resources import files

    content: dict[str, Any] = json.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    return content


@cache
def version_text() -> str:
    """The version that makes a file or a page."""
    from importlib.metadata import PackageNotFoundError, version  # here, because it loads a reader of mail headers

    try:
        return version("maskwell")
    except PackageNotFoundError:
        return "from source"


def fingerprint_of(identity: Mapping[str, Any]) -> str:
    """SHA-256 of the JSON text with sorted keys and no spaces."""
    return fingerprint_of_text([canonical_text(identity)])


def canonical_text(content: Any) -> str:
    """JSON with sorted keys, no spaces and only ASCII characters."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def fingerprint_of_text(pieces: Iterable[str]) -> str:
    """The same from the canonical text, piece by piece, so that a large one never lies in memory whole."""
    running = RunningFingerprint()
    for piece in pieces:
        running.add(piece)
    return running.text()


class RunningFingerprint:
    """The same for a text that somebody else reads or writes on the way."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, piece: str) -> None:
        """The next piece of the text."""
        self._digest.update(piece.encode("ascii"))

    def text(self) -> str:
        """The fingerprint of all pieces."""
        return "sha256:" + self._digest.hexdigest()


def joint_fingerprint(names: Sequence[str]) -> str:
    """One name for the designs of several samples, from the names of each."""
    return names[0] if len(names) == 1 else fingerprint_of({"samples": list(names)})

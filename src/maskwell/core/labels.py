"""Labels: what is allowed and what is missing, their texts and JSON form, and finders of the codes of values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskwell.core.arguments import Codes, check_ordered, code_type, shown_short
from maskwell.core.phrases import HALF, MESSAGE, listed, shorten
from maskwell.errors import DesignFileError, LabelError, WrongTypeError

LARGEST_SAFE_INTEGER = 2**53 - 1  # beyond it a JSON number is rounded by browsers, so the integer travels as text

Finder = Callable[[Any], Codes]

BLOCK = 1 << 16  # rows at a time: temporary arrays stay in the processor's cache
TABLE_SLOTS = 1 << 16  # integer labels spread wider than this (and than 4k) are searched, not looked up
SORTED_TEXTS = 64  # up to this many fixed-width texts a binary search beats a dictionary


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # NA and sNaN refuse to be compared, arrays are many values
        return type(value).__name__ == "NAType" or (isinstance(value, Decimal) and value.is_nan())


def plain(value: Any) -> Any:
    """Turn a numpy scalar into the Python value it represents, and leave anything else unchanged."""
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64) and isinstance(value.item(), int):
        return value.astype(f"{value.dtype.kind}8[us]").item()
    return value.item()


def check_labels(labels: Any) -> Sequence[Hashable]:
    """Return the labels as a tuple (``range(k)`` for the integers 0..k-1), or say why they cannot be categories."""
    check_ordered(labels, "labels")
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) != 1:
        raise WrongTypeError("labels-must-be-a-list-not", labels_shown=shown_short(labels), labels=labels)
    if isinstance(labels, range) and labels and labels == range(labels.stop):  # len() has a limit
        return labels
    plain_labels = tuple(plain(label) for label in labels)
    if not plain_labels:
        raise LabelError("no-labels-were-given-at-least")
    if not _are_distinct_tuples(plain_labels):
        _check_distinct(plain_labels)
    numbered = all(type(label) is int and label == code for code, label in enumerate(plain_labels))
    return range(len(plain_labels)) if numbered else plain_labels


def _are_distinct_tuples(labels: tuple[Any, ...]) -> bool:
    """A quick yes for the many cells of a table: their few parts are looked at once, not in every cell."""
    if type(labels[0]) is not tuple or not all(type(label) is tuple for label in labels):
        return False
    try:
        parts = set(chain.from_iterable(labels))
        return len(set(labels)) == len(labels) and not any(map(_has_half, parts))
    except TypeError:
        return False


def _check_distinct(labels: tuple[Any, ...]) -> None:
    first: dict[Hashable, object] = {}
    clashes: list[tuple[object, object]] = []
    for position, label in enumerate(labels):
        if is_missing(label):
            raise LabelError("label-is-a-missing-value", position_number=position + 1, label=label, position=position)
        if _has_half(label):
            raise LabelError("label-holds-half-a-character-which", position_number=position + 1, position=position)
        try:
            if label in first:
                clashes.append((first[label], label))
            first.setdefault(label, label)
        except TypeError as error:
            raise LabelError(
                "label-is-a-which-cannot",
                position_number=position + 1,
                name=shorten(type(label).__name__),
                values=shorten(" ".join(repr(label).split())),
                label=label,
            ) from error
    if clashes:
        said = (f"{a!r} appears twice" if repr(a) == repr(b) else f"{a!r} equals {b!r}" for a, b in clashes)
        pairs = listed(said, len(clashes), MESSAGE - 20)
        raise LabelError("labels-must-differ", pairs=pairs, duplicates=[b for _, b in clashes])


def _has_half(label: Any) -> bool:
    """Whether a text, alone or in a tuple, holds a surrogate without its other half."""
    if isinstance(label, str):
        return not label.isascii() and HALF.search(label) is not None
    return isinstance(label, tuple) and any(map(_has_half, label))


def texts(value: Any) -> tuple[str, ...]:
    """List the texts that represent a value, its ``str()`` first."""
    value = plain(value)
    if isinstance(value, bool):
        return (str(value), str(value).lower(), str(value).upper())
    if isinstance(value, float) and value.is_integer():
        return (str(value), str(int(value)))
    if isinstance(value, datetime):
        day = (str(value.date()),) if value.timetz() == time.min else ()
        return (str(value), value.isoformat(), *day)
    if isinstance(value, bytes):
        return (value.decode(errors="replace"),)
    return (str(value),)


_WHOLE_FLOAT = re.compile(r"(-?[1-9][0-9]{0,14}|0)\.0")  # as every program writes it, and every one reads it exactly


def matched_texts(value: Any) -> tuple[str, ...]:
    """The texts by which a value is found: a text that is a whole float, as in a CSV file, is found as one."""
    whole = isinstance(value, str) and _WHOLE_FLOAT.fullmatch(value)
    return (str.__str__(value), value[:-2]) if whole else texts(value)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


READERS: Mapping[str, Callable[[Any], Any]] = {
    "integer": int,
    "float": float,
    "boolean": _truth,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


def read_text(label: object, kind: str) -> Any:
    """Value of that kind which one of the label's texts represents, or None."""
    for text in matched_texts(label):
        try:
            value = READERS[kind](text)
        except (ValueError, KeyError, OverflowError):
            continue
        if text in texts(value):
            return value
    return None


def in_one_type(levels: Sequence[Any]) -> list[Any]:
    """The values of a column in one type, the same whatever held them: a CSV file has texts, SPSS has floats only."""
    for kind in READERS:
        typed = [read_text(level, kind) for level in levels]
        if None not in typed and len({*typed}) == len(typed) and not any(map(is_missing, typed)):
            return typed
    return list(levels)


def to_json(label: Any) -> Any:
    """JSON form of a label: text, integers and booleans as they are, the rest as an object with one tag."""
    if isinstance(label, bool):
        return label
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, int):
        return int(label) if abs(label) <= LARGEST_SAFE_INTEGER else {"integer": str(int(label))}
    if isinstance(label, float):
        return {"float": repr(float(label))}  # one text in every language: browsers write 1.0 as 1, and 1e16 in full
    if isinstance(label, tuple):
        return {"tuple": [part if type(part) is str else to_json(part) for part in label]}
    if isinstance(label, date):
        tag = "datetime" if isinstance(label, datetime) else "date"
        form = {tag: label.isoformat()}
        if READERS[tag](form[tag]) == label:
            return form
    raise LabelError("a-label-of-the-type", name=type(label).__name__, values=repr(label), label=label)


def from_json(form: Any) -> Hashable:
    """Label from its JSON form."""
    if isinstance(form, str | bool | int | float):
        return form
    if isinstance(form, Mapping) and len(form) == 1:
        ((tag, content),) = form.items()
        if tag == "tuple" and isinstance(content, list):
            return tuple(from_json(part) for part in content)
        if tag in READERS and tag != "boolean" and isinstance(content, str):
            try:
                return READERS[tag](content)  # type: ignore[no-any-return]
            except ValueError:
                pass
    raise DesignFileError("not-the-json-form", form=form)


def sorted_levels(labels: Iterable[Hashable], given: Iterable[Hashable] = ()) -> list[Hashable]:
    """Labels in a given order, others after them: numbers (also those that texts begin with), texts, missing last."""
    return sorted(labels, key=level_key(given))


def level_key(given: Iterable[Hashable] = ()) -> Callable[[Hashable], tuple[Any, ...]]:
    """What labels are sorted by: their place in the order that was given, or their natural order."""
    places = {label: place for place, label in enumerate(given)}
    return lambda label: (0, places[label]) if label in places else (1, *_natural(label))


_FIRST_NUMBER = re.compile(r"\s*(\d{1,3}(?:,\d{3})+(?!\d)|\d{1,15}(?:\.\d{1,15})?)")


def _natural(label: Hashable) -> tuple[int, float, str]:
    if label is None:
        return (3, 0.0, "")
    try:
        value = float(label)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = _FIRST_NUMBER.match(label) if isinstance(label, str) else None
        if number:
            return (0, float(number[1].replace(",", "")), str(label))
        return (1 if isinstance(label, str) else 2, 0.0, str(label))
    return (1, 0.0, str(label)) if math.isnan(value) else (0, value, str(label))


def find_all(data: Any, finder: Finder, k: int, kind: np.dtype[Any] | None = None) -> Codes:
    """Codes of a whole column, block by block; of the smallest type that holds 0..k unless ``kind`` names another."""
    codes = np.empty(len(data), dtype=code_type(k + 1) if kind is None else kind)
    for start in range(0, len(data), BLOCK):
        codes[start : start + BLOCK] = finder(data[start : start + BLOCK])
    return codes


def finder_for(kind: str, labels: Sequence[Hashable], match: str) -> Finder:
    """Finder for columns of one numpy kind: "i" and "u" integers, "f" floats, "U" texts, anything else objects."""
    k = len(labels)
    if kind in "iuf" and isinstance(labels, range):
        return _range_finder(k)
    if kind in "iu":
        return _integer_finder(_keys(labels, match, "integer"), k)
    if kind == "f":
        return _sorted_finder(_keys(labels, match, "float"), k, np.dtype(np.float64))
    if kind == "U":
        own = {str.__str__(label): code for code, label in enumerate(labels) if isinstance(label, str)}
        codes = _text_codes(labels) if match == "text" else own
        few = len(codes) <= SORTED_TEXTS
        return _sorted_finder(codes, k, np.dtype(np.str_)) if few else _dictionary_finder(codes, k)
    if match == "text":
        return _by_text_finder(labels)
    return _dictionary_finder({label: code for code, label in enumerate(labels)}, k)


def _keys(labels: Sequence[Hashable], match: str, kind: str) -> dict[Any, int]:
    """Codes by the values of that kind which the labels equal (or, matching by text, represent)."""
    keys: dict[Any, int] = {}
    for code, label in enumerate(labels):
        value = read_text(label, kind) if match == "text" else _same_number(label, kind)
        if value is not None:
            _add(keys, value, code, labels)
    return keys


def _same_number(label: Any, kind: str) -> Any:
    try:
        value = READERS[kind](label)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if value == label else None


def _text_codes(labels: Sequence[Hashable]) -> dict[str, int]:
    codes: dict[str, int] = {}
    for code, label in enumerate(labels):
        for text in matched_texts(label) if not are_bits(labels) else (*matched_texts(label), *texts(bool(label))):
            _add(codes, text, code, labels)
    return codes


def are_bits(labels: Sequence[Hashable]) -> bool:
    """Whether the labels are the numbers 1 and 0, for which truth values may stand."""
    return len(labels) == 2 and {*labels} == {0, 1} and all(type(label) is int for label in labels)


def _add(keys: dict[Any, int], value: Any, code: int, labels: Sequence[Hashable]) -> None:
    other = keys.setdefault(value, code)
    if other != code:
        raise LabelError(
            "the-labels-and-both-match-one",
            label=labels[other],
            label_shown=labels[code],
            values=repr(value),
            labels=[labels[other], labels[code]],
        )


def _range_finder(k: int) -> Finder:
    """Labels 0..k-1 are their own codes: check the bounds, and that floats are whole."""

    def find(block: NDArray[Any]) -> Codes:
        inside = (block >= 0) & (block < k)
        if block.dtype.kind == "f":
            inside &= np.floor(block) == block
        codes = np.where(inside, block, block.dtype.type(0)).astype(code_type(k + 1))
        codes[~inside] = k
        return codes

    return find


def _integer_finder(keys: dict[int, int], k: int) -> Finder:
    bounds = np.iinfo(np.int64)
    keys = {value: code for value, code in keys.items() if bounds.min <= value <= bounds.max}
    low, high = min(keys, default=0), max(keys, default=0)
    if high - low >= max(TABLE_SLOTS, 4 * k):
        return _sorted_finder(keys, k, np.dtype(np.int64))
    table = np.full(high - low + 2, k, dtype=code_type(k + 1))
    for value, code in keys.items():
        table[value - low] = code

    def find(block: NDArray[Any]) -> Codes:
        inside = (block >= low) & (block <= high)
        return table[np.where(inside, block.astype(np.int64) - low, high - low + 1)]

    return find


def _sorted_finder(keys: dict[Any, int], k: int, dtype: np.dtype[Any]) -> Finder:
    """Binary search among sorted keys, then a check that the key found is the value."""
    if not keys:
        return lambda block: np.full(len(block), k, dtype=code_type(k + 1))
    values = sorted(keys)
    ordered = np.array(values, dtype=dtype)
    codes = np.array([keys[value] for value in values], dtype=code_type(k + 1))

    def find(block: NDArray[Any]) -> Codes:
        place = np.minimum(np.searchsorted(ordered, block), len(ordered) - 1)
        return np.where(ordered[place] == block, codes[place], codes.dtype.type(k))

    return find


def _dictionary_finder(codes: dict[Any, int], k: int) -> Finder:
    return lambda block: _collect(map(codes.get, _objects(block), repeat(k)), len(block), k)


def _by_text_finder(labels: Sequence[Hashable]) -> Finder:
    """Look values up by text, remembering each value with its type: 1, 1.0 and True are equal but read differently."""
    codes, k = _text_codes(labels), len(labels)

    class Remembered(dict[tuple[type, Any], int]):
        def __missing__(self, key: tuple[type, Any]) -> int:
            value = key[1]
            if is_missing(value):
                return k
            hits: dict[Any, int] = {}
            for text in matched_texts(value):
                if text in codes:
                    _add(hits, value, codes[text], labels)
            self[key] = code = hits.get(value, k)
            return code

    remembered = Remembered()

    def find(block: Any) -> Codes:
        values = _objects(block)
        return _collect(map(remembered.__getitem__, zip(map(type, values), values, strict=True)), len(values), k)

    return find


def _objects(block: Any) -> Sequence[Any]:
    return block.tolist() if isinstance(block, np.ndarray) else block  # type: ignore[no-any-return]


def _collect(codes: Iterator[int], count: int, k: int) -> Codes:
    try:
        return np.fromiter(codes, dtype=code_type(k + 1), count=count)
    except TypeError as error:
        raise WrongTypeError("a-value-in-the-column-cannot", values=str(error)) from None

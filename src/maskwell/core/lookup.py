"""Finding the codes of values: one finder per kind of column, each without a Python step per row where numpy can do it.

A finder takes a block of values and returns codes, with ``k`` (one past the last code) for values it does not hold:
missing and unknown values, which the caller tells apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskwell.core.arrays import Codes, code_type
from maskwell.core.labels import READERS, is_missing, read_text, texts
from maskwell.errors import LabelError, WrongTypeError

Finder = Callable[[Any], Codes]

BLOCK = 1 << 16  # rows at a time: temporary arrays stay in the processor's cache
TABLE_SLOTS = 1 << 16  # integer labels spread wider than this (and than 4k) are searched, not looked up
SORTED_TEXTS = 64  # up to this many fixed-width texts a binary search beats a dictionary


def find_all(data: Any, finder: Finder, k: int) -> Codes:
    """Codes of a whole column, block by block."""
    codes = np.empty(len(data), dtype=code_type(k + 1))
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
        return _text_finder(_text_codes(labels) if match == "text" else _codes_of_texts(labels), k)
    if match == "text":
        return _by_text_finder(labels)
    return _dictionary_finder({label: code for code, label in enumerate(labels)}, k)


def _keys(labels: Sequence[Hashable], match: str, kind: str) -> dict[Any, int]:
    """Codes by the values of that kind which the labels equal (or, matching by text, stand for)."""
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
        for text in texts(label):
            _add(codes, text, code, labels)
    return codes


def _codes_of_texts(labels: Sequence[Hashable]) -> dict[str, int]:
    return {str.__str__(label): code for code, label in enumerate(labels) if isinstance(label, str)}


def _add(keys: dict[Any, int], value: Any, code: int, labels: Sequence[Hashable]) -> None:
    other = keys.setdefault(value, code)
    if other != code:
        raise LabelError(
            f"the labels {labels[other]!r} and {labels[code]!r} both match one value by their text",
            hint="give the categories labels whose texts differ, or match by value",
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
    found = sorted(keys)
    ordered = np.array(found, dtype=dtype)
    codes = np.array([keys[value] for value in found], dtype=code_type(k + 1))

    def find(block: NDArray[Any]) -> Codes:
        place = np.minimum(np.searchsorted(ordered, block), len(ordered) - 1)
        return np.where(ordered[place] == block, codes[place], codes.dtype.type(k))

    return find


def _text_finder(keys: dict[str, int], k: int) -> Finder:
    if len(keys) <= SORTED_TEXTS:
        return _sorted_finder(keys, k, np.dtype(np.str_))
    return _dictionary_finder(keys, k)


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
            for text in texts(value):
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
        raise WrongTypeError(
            "a value in the column cannot be a label",
            hint="every row must hold one text, number, date or tuple",
            values=str(error),
        ) from None

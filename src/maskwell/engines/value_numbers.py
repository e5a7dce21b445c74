"""Values of a column of any type as numbers of 64 bits, the same in every batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arrays import Array
from maskwell.engines.arrow_arrays import require
from maskwell.engines.levels import integers_of

_WORDS = np.random.Generator(np.random.PCG64(20_260)).integers(0, 1 << 63, 1 << 10, dtype=np.uint64) * np.uint64(2) + (
    np.uint64(1)
)
MISSING = np.uint64(0x9E3779B97F4A7C15)
"""The number of a missing value."""


class Encoded(NamedTuple):
    """A column of a batch: for each row a place in ``numbers``, which stand for the values; the last for none."""

    places: Array
    numbers: Array


def encode(column: Any) -> Encoded:
    """Values of any type as numbers of 64 bits; those of integers are all different.

    >>> import pyarrow as pa
    >>> places, numbers = encode(pa.array(["a", None, "b", "a"]))
    >>> places.tolist(), len(set(numbers.tolist()))
    ([0, 2, 1, 0], 3)
    """
    arrow = require()
    if not arrow.types.is_dictionary(column.type):
        column = _simple(column).dictionary_encode()
    indices = column.indices
    if indices.null_count:
        indices = indices.cast(arrow.int64()).fill_null(len(column.dictionary))
    values = column.dictionary
    numbers = np.append(_numbers(values), MISSING)
    if values.null_count:
        numbers[:-1][np.array(values.is_null().to_pylist())] = MISSING
    return Encoded(integers_of(indices).astype(np.int64), numbers)


def _simple(column: Any) -> Any:
    """Lists and other values with parts as texts, and values with a meaning of their own as they are stored."""
    arrow = require()
    if isinstance(column.type, arrow.BaseExtensionType):
        column = column.storage
    if arrow.types.is_nested(column.type) or arrow.types.is_interval(column.type):
        return arrow.array([None if value is None else repr(value) for value in column.to_pylist()], arrow.string())
    return column


def _numbers(values: Any) -> Array:
    arrow = require()
    types, kind = arrow.types, values.type
    if types.is_temporal(kind) and not types.is_interval(kind):
        values = values.cast(arrow.int32() if kind.bit_width == 32 else arrow.int64())
        kind = values.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return _mixed(integers_of(values.cast(arrow.int64(), safe=False).fill_null(0)).view(np.uint64))
    if types.is_floating(kind):
        real = integers_of(values.cast(arrow.float64()).fill_null(0.0)) + 0.0
        return _mixed(real.view(np.uint64))
    if "binary" in str(kind):  # of any length, or of one length as UUIDs are: bytes that need not be a text
        values = values.cast(arrow.binary())
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        values = values.cast(arrow.string())
    return _text_numbers(values.cast(arrow.large_binary()))


def _mixed(numbers: Array) -> Array:
    """Numbers of 64 bits spread over all of them, one to one."""
    with np.errstate(over="ignore"):
        found = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = found ^ (found >> np.uint64(31))
    return mixed


def _text_numbers(values: Any) -> Array:
    """A number for each text: the sum of its bytes, each times a fixed random number for its place."""
    if not len(values):
        return np.zeros(0, dtype=np.uint64)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(ends)
    signs = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    place = np.arange(len(signs), dtype=np.int64) - np.repeat(ends[:-1] - ends[0], lengths)
    factors = _WORDS[place % len(_WORDS)] + (place // len(_WORDS)).astype(np.uint64) * np.uint64(2)
    sums = np.append(np.uint64(0), np.cumsum((signs.astype(np.uint64) + np.uint64(1)) * factors, dtype=np.uint64))
    return _mixed(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]] + lengths.astype(np.uint64))


def joined(first: Encoded, second: Encoded) -> Encoded:
    """Two columns as one."""
    size = len(second.numbers)
    codes, possible = first.places * size + second.places, len(first.numbers) * size
    if possible <= len(codes):
        there = np.bincount(codes, minlength=possible) > 0
        cells, places = np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
    else:
        cells, places = np.unique(codes, return_inverse=True)
    a, b = np.divmod(cells, size)
    numbers = _mixed(first.numbers[a] + np.uint64(3) * _mixed(second.numbers[b]))
    return Encoded(places.astype(np.int64), np.append(numbers, MISSING))

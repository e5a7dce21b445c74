"""A random order of rows, exactly fair: rows sorted by random numbers, and equal numbers by further words."""

from __future__ import annotations

from functools import cmp_to_key, partial
from itertools import count, pairwise

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.randomness import Stream


def random_order(stream: Stream, first: int, size: int) -> Array:
    """The numbers 0..size-1 in an order of which all are equally likely: sorted by random numbers of 64 bits.

    Where two of these are equal, further words decide.
    """
    keys = stream.words(first, size, 2).copy().view("<u8").ravel()
    order = np.argsort(keys, kind="stable")
    for start, end in _tied(keys[order]):
        order[start:end] = sorted(order[start:end].tolist(), key=cmp_to_key(partial(_compared, stream, first)))
    return order


def _compared(stream: Stream, first: int, a: int, b: int) -> int:
    """Which of two rows comes first by its further words."""
    pairs = ((stream.spill(first + a, refill), stream.spill(first + b, refill)) for refill in count())
    one, two = next((x, y) for x, y in pairs if x != y)
    return -1 if one < two else 1


def _tied(keys: Array) -> list[tuple[int, int]]:
    """Stretches of equal numbers in a sorted column.

    >>> _tied(np.array([1, 2, 2, 3, 5, 5, 5]))
    [(1, 3), (4, 7)]
    """
    ends = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [len(keys)]]).tolist()
    return [(start, end) for start, end in pairwise(ends) if end - start > 1]

"""One number for each combination of codes, whatever the number of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array

_LARGEST = 1 << 62
_MARKED = 1 << 22


def numbered(sizes: Sequence[int], *codes: Array) -> list[Array]:
    """Numbers that rise with the combinations, first column slowest; equal in all arrays where the codes are.

    Parameters
    ----------
    sizes
        Number of codes of each column.
    codes
        Arrays of shape (rows, columns).

    >>> numbered([2, 3], np.array([[0, 2], [1, 0]]), np.array([[1, 0]]))
    [array([2, 3]), array([3])]
    """
    stacked = np.concatenate(codes).astype(np.int64)
    key, space = np.zeros(len(stacked), dtype=np.int64), 1
    for column, size in zip(stacked.T, sizes, strict=True):
        if space * max(1, size) >= _LARGEST:
            distinct, key = np.unique(key, return_inverse=True)
            space = len(distinct)
        key = key.ravel() * max(1, size) + column
        space *= max(1, size)
    return np.split(key, np.cumsum([len(own) for own in codes])[:-1])


def compressed(space: int, *keys: Array) -> tuple[list[Array], int]:
    """Numbers below ``space`` as 0, 1, 2, ... in their order, the same in all arrays, and how many there are.

    >>> compressed(100, np.array([70, 5]), np.array([5, 99]))
    ([array([1, 0]), array([0, 2])], 3)
    """
    if space > _MARKED + 4 * sum(map(len, keys)):  # marking places would cost more than sorting
        distinct, place = np.unique(np.concatenate(keys), return_inverse=True)
        return np.split(place.ravel(), np.cumsum([len(own) for own in keys])[:-1]), len(distinct)
    used = np.zeros(space, dtype=bool)
    for own in keys:
        used[own] = True
    place = np.cumsum(used) - 1
    return [place[own] for own in keys], int(used.sum())


def find(known: Array, wanted: Array) -> Array:
    """The place of each wanted number among known ones, or -1.

    >>> find(np.array([5, 3]), np.array([3, 4, 5])).tolist()
    [1, -1, 0]
    """
    order = np.argsort(known, kind="stable")
    if not len(order):
        return np.full(len(wanted), -1)
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)]
    return np.where(known[place] == wanted, place, -1)

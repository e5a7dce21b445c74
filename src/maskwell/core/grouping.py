"""Sums of rows that have the same codes in several columns: one pass when the codes are few, a sort otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real

DENSE = 1 << 20  # this many places are counted into, even for few rows
LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows put together by a key: ``key`` (n,) below ``space``, of which only the values ``used`` occur."""

    key: Array
    space: int
    used: Array
    sizes: Array

    @classmethod
    def by(cls, columns: Iterable[tuple[Array, int]], n: int) -> Groups:
        """Groups of equal codes in all columns, each given with the number of its codes; first column slowest."""
        key, space = np.zeros(n, dtype=np.int64), 1
        for codes, size in columns:
            if size == 1:
                continue
            if space * size >= LARGEST:
                key, space = _compressed(key)
            key = codes.astype(np.int64, copy=False) if space == 1 else key * size + codes
            space *= size
        if space > max(DENSE, 2 * n):
            key, space = _compressed(key)
        sizes = np.bincount(key, minlength=space)
        used = np.flatnonzero(sizes)
        return cls(key, space, used, sizes[used])

    def __len__(self) -> int:
        return len(self.used)

    def sums(self, values: Array) -> Real:
        """Sum of the values in each group, shape (groups,), or (groups, R) for values of shape (n, R)."""
        if values.ndim == 1:
            return np.asarray(np.bincount(self.key, weights=values, minlength=self.space)[self.used], dtype=np.float64)
        return (
            np.stack([self.sums(column) for column in values.T], axis=1)
            if values.shape[1]
            else np.zeros((len(self), 0))
        )

    def row_of_each(self) -> Array:
        """One row of each group."""
        rows = np.zeros(self.space, dtype=np.int64)
        rows[self.key] = np.arange(len(self.key))
        return rows[self.used]

    @property
    def codes(self) -> Array:
        """The number of its group for each row."""
        place = np.zeros(self.space, dtype=np.int64)
        place[self.used] = np.arange(len(self.used))
        return place[self.key]

    def varying(self, values: Array) -> Array:
        """Rows whose value is not that of the row which stands for their group."""
        chosen = np.zeros(self.space, dtype=values.dtype)
        chosen[self.key] = values
        return np.flatnonzero(chosen[self.key] != values)


def _compressed(key: Array) -> tuple[Array, int]:
    distinct, codes = np.unique(key, return_inverse=True)
    return codes.astype(np.int64, copy=False), max(1, len(distinct))

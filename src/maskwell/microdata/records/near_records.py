"""The nearest records of a file by coded columns: all are compared, or in long files those near in sorted orders.

The distance of two records is a sum over columns, of squared differences of mid-ranks where values are numbers and of
1 for different values elsewhere; each column is scaled so that two records drawn at random are 1 apart. Derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import below

NEAREST = 64  # neighbours of a record that are kept
# What the first, second, ... of them count: nearer ones more; or so many alike
WEIGHTS = np.stack([1 / np.sqrt(np.arange(1.0, NEAREST + 1)), *(np.arange(NEAREST) < n for n in (4, 16, NEAREST))])
MOST_COMPARED = 1 << 30  # pairs of values up to which all records are compared
# In longer files: sorted orders, columns that each is sorted by, and records that are compared on either side in each
ORDERS, SORTED_BY, BESIDE = 6, 6, 24
UNIT = 1000  # distances are whole numbers, this of two records at random
LEAST_SPREAD = 0.05  # columns of which two records differ less are scaled as if by this
UNKNOWN = -2  # stands for a neighbour that was not looked for
ROOM = 1 << 21  # distances that are held at once


@dataclass(frozen=True, eq=False)
class NearRecords:
    """The neighbours of records, computed on demand."""

    values: Array  # Shape (records, columns): codes
    distances: Array  # Shape (columns, codes, codes)

    @classmethod
    def of(cls, values: Array, shares: Sequence[Real], numbers: Sequence[Real]) -> NearRecords:
        """From the share of each code, and the number that it denotes, NaN for none, by column."""
        pairs = zip(shares, numbers, strict=True)
        return cls(values, np.stack([_distances(share, number) for share, number in pairs]))

    def of_records(self, records: Array) -> Array:
        """Shape (records, neighbours): the places of other records, the nearest first; -1 beyond the last."""
        unknown = np.unique(records[self._near[records, 0] == UNKNOWN])
        whole = len(self.values) ** 2 * self.values.shape[1] <= MOST_COMPARED
        step = max(1, ROOM // (len(self.values) if whole else 2 * BESIDE * ORDERS))
        for first in range(0, len(unknown), step):
            some = unknown[first : first + step]
            self._near[some] = self._nearest(some, None if whole else self._beside(some))
        return np.asarray(self._near[records])

    @cached_property
    def _near(self) -> Array:
        """What is known of the neighbours; a record alone has none."""
        most = min(NEAREST, len(self.values) - 1)
        return np.full((len(self.values), max(1, most)), UNKNOWN if most else -1, np.int32)

    def _nearest(self, records: Array, others: Array | None) -> Array:
        """The nearest of all records, or of ``others``; of equally near ones the first by lot."""
        far = np.zeros((len(records), len(self.values) if others is None else others.shape[1]), np.int32)
        for values, table in zip(self.values.T, self.distances, strict=True):
            own = table[values[records]]
            far += own.take(values, axis=1) if others is None else np.take_along_axis(own, values[others], axis=1)
        itself = np.arange(len(self.values)) == records[:, None] if others is None else others < 0
        lot = self._lot if others is None else self._lot[others]
        far = np.where(itself, np.iinfo(np.int64).max, far * np.int64(len(self.values)) + lot)
        most = self._near.shape[1]
        first = np.argpartition(far, most - 1, axis=1)[:, :most]
        first = np.take_along_axis(first, np.argsort(np.take_along_axis(far, first, 1), axis=1), 1)
        return np.asarray(first if others is None else np.take_along_axis(others, first, 1))

    def _beside(self, records: Array) -> Array:
        """Shape (records, others): those near in one of the sorted orders, each once; -1 for no other."""
        orders, places = self._orders
        at = places[:, records, None] + np.delete(np.arange(-BESIDE, BESIDE + 1), BESIDE)
        others = np.take_along_axis(orders[:, None], np.clip(at, 0, len(self.values) - 1), 2)
        others[(at < 0) | (at >= len(self.values))] = -1
        others = np.sort(others.transpose(1, 0, 2).reshape(len(records), -1), axis=1)
        others[:, 1:][others[:, 1:] == others[:, :-1]] = -1
        return np.asarray(others)

    @cached_property
    def _orders(self) -> tuple[Array, Array]:
        """Records sorted by some columns in turn, and the place of each record; both of shape (orders, records)."""
        random = np.random.default_rng(1)
        columns = [random.permutation(self.values.shape[1])[:SORTED_BY] for _ in range(ORDERS)]
        orders = np.stack([np.lexsort((self._lot, *self.values[:, some].T)) for some in columns])
        return orders, np.argsort(orders, axis=1)

    @cached_property
    def _lot(self) -> Array:
        """Shape (records,): records are kept in an order that reveals their keys."""
        return np.random.default_rng(2).permutation(len(self.values))


def _distances(share: Real, number: Real) -> Array:
    """Shape (codes, codes): of a column, from the share of each code and the number that it denotes."""
    known = ~np.isnan(number)
    if below(float(share[known].sum()), 0.5):
        known[:] = False
    order = np.argsort(number, kind="stable")
    rank = np.empty(len(number))
    rank[order] = np.cumsum(share[order]) - share[order] / 2
    far = np.where(known[:, None] & known, (rank[:, None] - rank) ** 2, 1.0)
    np.fill_diagonal(far, 0.0)
    far[known[:, None] != known] = 1 / 6 if known.any() else 1.0  # the mean of two shares at random
    spread = max(round(float(share @ far @ share), 9), LEAST_SPREAD)  # on every processor alike
    return np.rint(UNIT * far / spread).astype(np.int32)

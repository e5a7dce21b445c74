"""Flows in whole records: what is carried out when a release must keep every count exactly.

With a matrix every record changes on its own, and counts are kept on average. With whole flows F exactly ``F_ij``
records of category j become i, chosen at random without replacement, and every count is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError


@dataclass(frozen=True, eq=False)
class IntegerFlows:
    """Whole flows with equal margins, kept by columns; entries of zero are left out.

    Attributes
    ----------
    starts, rows, amounts
        Entries of column j, the records that have category j, stand from ``starts[j]`` to ``starts[j + 1]``.
    categories
        The k categories.

    >>> found = IntegerFlows.of([[2, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> found.counts.tolist(), found.match_risk().round(4).tolist()   # a third would be matched if nothing changed
    ([3, 3, 2], [0.2222, 0.1111, 0.25])
    """

    starts: Array
    rows: Array
    amounts: Array
    categories: Categories

    @classmethod
    def of(cls, F: Any, categories: Categories | None = None) -> Self:
        """From a matrix of whole numbers whose rows and columns have the same sums, shape (k, k).

        Source: derived; [Adeshiyan2011, section 5.2] compares swapping with post-randomization.
        """
        amounts = _whole_matrix(F)
        _check_margins(amounts)
        columns, rows = np.nonzero(amounts.T)
        starts = np.searchsorted(columns, np.arange(len(amounts) + 1))
        inputs = Categories.numbered(len(amounts)) if categories is None else categories
        return cls(starts, rows, amounts[rows, columns], inputs)

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.starts) - 1

    @property
    def counts(self) -> Array:
        """Records of each category, before and after."""
        return np.bincount(self._origins, self.amounts, self.k).astype(np.int64)

    @property
    def _origins(self) -> Array:
        return np.repeat(np.arange(self.k), np.diff(self.starts))

    def design(self) -> Sparse:
        """What one record sees: ``Pr(Z = i | X = j) = F_ij / N_j``. Records are not independent."""
        occurring = self.counts > 0
        if occurring.all():
            return Sparse.from_integers(self.starts, self.rows, self.amounts, self.categories)
        absent = np.flatnonzero(~occurring)
        order = np.argsort(np.concatenate([self._origins, absent]), kind="stable")
        rows = np.concatenate([self.rows, absent])[order]
        amounts = np.concatenate([self.amounts, np.ones_like(absent)])[order]
        starts = np.concatenate([[0], np.cumsum(np.maximum(np.diff(self.starts), 1))])
        return Sparse.from_integers(starts, rows, amounts, self.categories)

    def match_risk(self) -> Real:
        """``F_xx / N_x^2``: the probability that one of the records released as x is a given record of x.

        Zero where no record is. The formulas for independent records do not apply: the released count is always N_x.
        """
        counts, kept = self.counts.astype(float), np.zeros(self.k)
        own = self.rows == self._origins
        kept[self.rows[own]] = self.amounts[own]
        return np.asarray(np.divide(kept, counts**2, out=np.zeros(self.k), where=counts > 0))


def _whole_matrix(F: Any) -> Array:
    try:
        given = as_floats(F, "F", finite=False)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != 2 or not given.size or given.shape[0] != given.shape[1]:
        raise CountsError(f"flows of shape {given.shape}", hint="give a square matrix of whole numbers")
    if not np.isfinite(given).all() or (given < 0).any() or (given != np.floor(given)).any():
        i, j = np.argwhere(~np.isfinite(given) | (given < 0) | (given != np.floor(given)))[0]
        raise CountsError(
            f"the flow [{i}, {j}] is {given[i, j]:g}, not a whole number of records",
            hint="draw whole flows from a matrix and its counts (whole_flows)",
        )
    return given.astype(np.int64)


def _check_margins(amounts: Array) -> None:
    before, after = amounts.sum(axis=0), amounts.sum(axis=1)
    if not before.any():
        raise CountsError("all flows are zero", hint="give the flows of at least one record")
    unequal = np.flatnonzero(before != after)
    if len(unequal):
        j = int(unequal[0])
        raise CountsError(
            f"category {j} would have {int(before[j]):,} records before and {int(after[j]):,} after",
            hint="rows and columns of flows must have the same sums",
            category=j,
        )

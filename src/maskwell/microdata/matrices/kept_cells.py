"""What a matrix does to a table of labels that it moves and of columns that it does not see.

A record of state j has the outcome y with share ``s_jy`` whatever is drawn. With flows F and the part ``c(i)`` of state
i that the table names, the expected count of a cell changes by

    sum_ij ([c(i) = c] - [c(j) = c]) s_jy F_ij

which is linear in F. Derived; docs/theory/after-release.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Real

SHARE_BITS = 30  # Shares of outcomes are multiples of two to minus this power in a program
_COST = 1000.0  # What states without a common outcome cost, in whole numbers


@dataclass(frozen=True, eq=False)
class KeptCells:
    """A table that is to be kept: of each state the part that it names, and the records beside it by outcome."""

    parts: Array  # Shape (l,): a number for the labels that the table names
    beside: Real  # Shape (l, outcomes): records, or sums of weights
    within: Fraction  # How far a share may be off on average

    @cached_property
    def shares(self) -> Real:
        """Shape (l, outcomes): the outcomes of each state as shares."""
        return np.asarray(self.beside / np.maximum(self.beside.sum(axis=1, keepdims=True), 1e-300), dtype=np.float64)

    def part(self, places: Array) -> KeptCells:
        """Of some of the states."""
        return KeptCells(self.parts[places], self.beside[places], self.within)

    def rows(self, released: Array, true: Array) -> Iterator[Array]:
        """Shape (pairs,): by how much a flow of 1 changes each cell, times two to the power of ``SHARE_BITS``."""
        shares = np.rint(self.shares * (1 << SHARE_BITS)).astype(np.int64)
        for part in np.unique(self.parts).tolist():
            sign = (self.parts[released] == part).astype(np.int64) - (self.parts[true] == part)
            for outcome in np.flatnonzero(shares.any(axis=0)).tolist():
                changes = sign * shares[true, outcome]
                if changes.any():
                    yield changes


@dataclass(frozen=True, eq=False)
class LikeOutcomes:
    """Costs of exchanges that keep tables: nothing between states of one part, else what their outcomes differ by."""

    tables: Sequence[KeptCells]
    codes: Array

    def order(self) -> Sequence[int]:
        """Columns of the codes, those first on which the parts of the tables depend."""
        return sorted(range(self.codes.shape[1]), key=lambda i: -self._named(i))

    def _named(self, column: int) -> int:
        """How many tables name a column of the codes, at most: its labels follow from their parts."""
        pairs = [np.unique(np.column_stack([one.parts, self.codes[:, column]]), axis=0) for one in self.tables]
        return sum(len(pair) == len(np.unique(one.parts)) for pair, one in zip(pairs, self.tables, strict=True))

    def costs(self, cells: Array) -> Array:
        """Shape (cells, cells): how unlike their outcomes are where their parts differ, in whole numbers."""
        total = np.zeros((len(cells), len(cells)))
        for one in self.tables:
            shares, parts = one.shares[cells], one.parts[cells]
            for outcome in shares.T:
                total += np.abs(outcome[:, None] - outcome) * (parts[:, None] != parts)
        return np.rint(total * _COST).astype(np.int64)

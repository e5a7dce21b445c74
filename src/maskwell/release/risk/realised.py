"""The risk of the very file that is released: somebody knows all true counts, and sees all released ones.

Whoever conditions on the numbers m of records released with every value, and not only on those with one of them,
finds a record of true cell x among the ``m_i`` released as i with chance

    Pr(correct | m) = E(records of x released as i | m) / (m_i N_x)
                    = (p_ix / m_i) [z^m] z_i F(z) / (sum_l p_lx z_l)  /  [z^m] F(z)

where ``F(z) = prod_j (sum_i p_ij z_i)^N_j`` and ``[z^m]`` takes a coefficient. Blocks of cells that exchange no
records are worked on one by one: small ones by multiplying the polynomials out, where nothing is subtracted; and blocks
in which a record either stays or is dealt out evenly by an integral, whatever their size
(:mod:`~maskwell.release.risk.realised_mixing`). No record of a cell of N is found with more than ``1 / N``, so blocks
of large cells need no work.

Source: derived; [Adeshiyan2011, eq. (4.24)] conditions on one of the counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.risk.realised_mixing import Dealt, dealt_risks
from maskwell.release.risk.summands import highest_of, row_sums

if TYPE_CHECKING:
    from maskwell.release.risk.listed import Listed

STATES = 10**6
"""Coefficients of one polynomial that are kept at once."""

WORK = 10**9
"""Products of coefficients that are formed for one file."""

SAFE = 0.01
"""Chances below this are not told apart."""

_EQUAL = 1e-9


def realised_risks(arrivals: Listed) -> Real | None:
    """The chance of a correct match of each cell that has records, looking where it is easiest; None if not known.

    Cells that cannot be the worst have ``1 / N``, which they do not exceed.

    >>> from dataclasses import replace
    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.release.risk.listed import Listed
    >>> listed = Listed.from_design(np.array([1, 1]), Dense.of([["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> realised_risks(replace(listed, seen=np.array([1, 1]))).round(3).tolist()   # both stayed or both left
    [0.9, 0.9]
    """
    blocks = _Blocks(arrivals)
    if not blocks.possible:
        return None
    risk = np.where(arrivals.counts > 0, 1 / np.maximum(arrivals.counts, 1), 0.0)
    worst = float(risk[blocks.alone].max(initial=SAFE))
    dealt = blocks.dealt()
    for size in np.unique(blocks.smallest[dealt]).tolist():
        if 1 / size <= worst:
            break
        for group in blocks.grouped(dealt & (blocks.smallest == size)):
            found = dealt_risks(group)
            if not np.isfinite(found).all():
                return None
            risk[group.cells[group.cells >= 0]] = found[group.cells >= 0]
            worst = max(worst, float(found.max()))
    work = 0.0
    others = np.flatnonzero(~dealt & (blocks.cells > 1))
    for number in others[np.argsort(blocks.smallest[others], kind="stable")].tolist():
        if 1 / blocks.smallest[number] <= worst:
            break
        block = blocks.block(number)
        work += block.work
        chances = None if block.states > STATES or work > WORK else block.risks()
        if chances is None:
            return None
        risk[block.cells] = chances
        worst = max(worst, float(chances.max()))
    return risk[arrivals.counts > 0]


class _Blocks:
    """Cells and released values that hang together: no record leaves its block."""

    def __init__(self, arrivals: Listed) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        self._listed = arrivals
        cells, rows = len(arrivals.counts), arrivals.rows
        graph = coo_array(
            (np.ones(len(arrivals.row)), (arrivals.row, rows + arrivals.cell)), shape=(rows + cells, rows + cells)
        )
        self.count, label = connected_components(graph, directed=False)
        self.of_row, self.of_cell = label[:rows].astype(np.int64), label[rows:].astype(np.int64)
        there = arrivals.counts > 0
        self.cells = np.bincount(self.of_cell[there], minlength=self.count)
        self.rows = np.bincount(self.of_row, minlength=self.count)
        self.smallest = np.full(self.count, np.iinfo(np.int64).max)
        np.minimum.at(self.smallest, self.of_cell[there], arrivals.counts[there])

    @property
    def possible(self) -> bool:
        """Whether as many records were released in each block as it has: else the file is not of this release."""
        listed = self._listed
        if listed.seen is None:
            return False
        records = row_sums(self.of_cell, listed.counts, self.count)
        return bool((records == row_sums(self.of_row, listed.seen, self.count)).all())

    @property
    def alone(self) -> Array:
        """Cells that are the only one of their block: their records are found with ``1 / N``."""
        return np.flatnonzero((self.cells[self.of_cell] == 1) & (self._listed.counts > 0))

    def dealt(self) -> Array:
        """Which blocks deal records out evenly: all entries are there, and equal in each column but for the own one."""
        listed = self._listed
        entries = np.bincount(self.of_cell[listed.cell], minlength=self.count)
        own = listed.row == listed.own[listed.cell]
        away, cells = listed.cell[~own], len(listed.counts)
        most = highest_of(away, listed.p[~own], cells)
        least = -highest_of(away, -listed.p[~own] + 1, cells) + 1
        there = listed.counts > 0
        fits = (most - least <= _EQUAL * most) & (listed.kept >= most * (1 - _EQUAL))
        wrong = np.bincount(self.of_cell[there & ~fits], minlength=self.count) > 0
        owned = np.bincount(self.of_row[np.unique(listed.own[there])], minlength=self.count)
        full = (entries == self.cells * self.rows) & (owned == self.cells)
        return np.asarray(full & ~wrong & (self.cells > 1))

    def grouped(self, chosen: Array) -> list[Dealt]:
        """Chosen blocks that deal evenly, those of one size together."""
        return [self._dealt(np.flatnonzero(chosen & (self.rows == size))) for size in np.unique(self.rows[chosen])]

    def _dealt(self, numbers: Array) -> Dealt:
        listed = self._listed
        size = int(self.rows[numbers[0]])
        block = np.full(self.count, -1)
        block[numbers] = np.arange(len(numbers))
        rows = np.flatnonzero(block[self.of_row] >= 0)
        rows = rows[np.argsort(block[self.of_row[rows]], kind="stable")]
        cell = np.full(listed.rows, -1)
        there = np.flatnonzero(listed.counts > 0)
        cell[listed.own[there]] = there
        cells = cell[rows].reshape(-1, size)
        leave = np.where(cells >= 0, (1 - listed.kept[cells]) * size / (size - 1), 0.0)
        assert listed.seen is not None
        return Dealt(
            cells=cells,
            counts=np.where(cells >= 0, listed.counts[cells], 0),
            leave=np.minimum(leave, 1.0),
            released=listed.seen[rows].reshape(-1, size).astype(np.int64),
        )

    def block(self, number: int) -> _Block:
        """One block, written out."""
        listed = self._listed
        cells = np.flatnonzero((self.of_cell == number) & (listed.counts > 0))
        rows = np.flatnonzero(self.of_row == number)
        P = np.zeros((len(rows), len(cells)))
        inside = self.of_cell[listed.cell] == number
        P[np.searchsorted(rows, listed.row[inside]), np.searchsorted(cells, listed.cell[inside])] = listed.p[inside]
        assert listed.seen is not None
        return _Block(cells, listed.counts[cells].astype(np.int64), P, listed.seen[rows].astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Block:
    """Cells (c,), their records (c,), probabilities (r, c), and records released with each value (r,)."""

    cells: Array
    counts: Array
    P: Real
    released: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Coefficients by the powers of all released values but the most frequent, whose power follows from the sum."""
        return tuple((self.released + 1)[self._kept].tolist())

    @property
    def _kept(self) -> Array:
        return np.delete(np.arange(len(self.released)), int(np.argmax(self.released)))

    @property
    def states(self) -> float:
        """Coefficients that are kept."""
        return float(np.exp(min(np.log(self.shape).sum(), 700.0)))

    @property
    def work(self) -> float:
        """Products that are formed, about."""
        return float(self.states * len(self.released) * (2.0 * self.counts.sum() + 3 * len(self.cells)))

    def risks(self) -> Real | None:
        """The chance of a correct match of each cell; None where these counts cannot be released."""
        before = [self._one()]
        for j, n in enumerate(self.counts[:-1].tolist()):
            before.append(self._times(before[-1], j, n))
        after = self._one()
        risk = np.zeros(len(self.cells))
        for j in range(len(self.cells) - 1, -1, -1):
            without = self._times(before[j], j, int(self.counts[j]) - 1)
            found = self._coefficients(without, after) * self.P[:, j]  # Pr(m, the record is released as i)
            total = float(found.sum())
            if not total > 0:
                return None
            risk[j] = float((found / np.maximum(self.released, 1)).max() / total)
            after = self._times(after, j, int(self.counts[j]))
        return risk

    def _one(self) -> Real:
        one = np.zeros(self.shape)
        one[(0,) * one.ndim] = 1.0
        return one

    def _times(self, polynomial: Real, j: int, n: int) -> Real:
        """The polynomial times that of n records of a cell, scaled so that its largest coefficient is one."""
        kept = self._kept.tolist()
        rest = self.P[int(np.argmax(self.released)), j]
        for _ in range(n):
            product = rest * polynomial
            for axis, i in enumerate(kept):
                if self.P[i, j] > 0:
                    up = [slice(None)] * polynomial.ndim
                    down = [slice(None)] * polynomial.ndim
                    up[axis], down[axis] = slice(1, None), slice(None, -1)
                    product[tuple(up)] += self.P[i, j] * polynomial[tuple(down)]
            most = product.max(initial=0.0)
            polynomial = product / most if most > 0 else product
        return polynomial

    def _coefficients(self, left: Real, right: Real) -> Real:
        """``[z^m] z_i left(z) right(z)`` for every released value i, shape (r,), up to a common factor."""
        out = np.zeros(len(self.released))
        turned = right[(slice(None, None, -1),) * right.ndim]
        for i, n in enumerate(self.released.tolist()):
            if not n:
                continue
            at: list[slice] = [slice(None)] * left.ndim
            to: list[slice] = [slice(None)] * left.ndim
            if i in self._kept:
                axis = self._kept.tolist().index(i)
                at[axis], to[axis] = slice(None, -1), slice(1, None)
            out[i] = float((left[tuple(at)] * turned[tuple(to)]).sum())
        return out

"""Arrivals under several matrices that act independently: never written out, worked on axis by axis.

    sum_j N_j p_xj^m = (P_1^(m) x ... x P_C^(m)) N        (x: Kronecker product, ^(m): entry by entry)

The cell's own term is kept out of the sum from the start, and the few other p above 0.1 are taken out and listed.
Derived; as accurate as listing all entries (1e-12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.errors import TooLargeError
from maskwell.microdata.risk import binomial_sums as binomial
from maskwell.microdata.risk.binomial_sums import BinomialSums

if TYPE_CHECKING:
    from maskwell.microdata.risk.arrivals import Component

GRID = 2 * 10**7  # cells of one block, true or released, that are worked on at once
_FADED = 1e-18


@dataclass(frozen=True, eq=False)
class KroneckerArrivals:
    """Arrivals by blocks; released cells are numbered block after block."""

    counts: Array
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, table: CellTable, parts: Sequence[Component], fixed: Array) -> KroneckerArrivals:
        """Blocks of cells that agree in the fixed part of the key; other columns are part of the states."""
        order = np.argsort(fixed, kind="stable")
        cuts = np.flatnonzero(np.diff(fixed[order])) + 1
        return cls(table.counts, tuple(_block(table, parts, cells) for cells in np.split(order, cuts)))

    @cached_property
    def offsets(self) -> Array:
        """The number of the first released cell of each block."""
        return np.concatenate([[0], np.cumsum([int(np.prod(block.shape)) for block in self.blocks])])

    @cached_property
    def own(self) -> Array:
        """The released cell that is each cell's own key."""
        out = np.zeros(len(self.counts), dtype=np.int64)
        for block, first in zip(self.blocks, self.offsets.tolist(), strict=False):
            out[block.cells] = block.own + first
        return out

    @cached_property
    def kept(self) -> Real:
        """Chance that a record is released with its own key."""
        out = np.zeros(len(self.counts))
        for block in self.blocks:
            out[block.cells] = block.staying
        return out

    def summands(self, rows: Array) -> BinomialSums:
        """The terms of some rows, given in increasing order."""
        cuts = np.searchsorted(rows, self.offsets)
        parts = [
            block.summands(rows[a:b] - first)
            for block, first, a, b in zip(self.blocks, self.offsets.tolist(), cuts[:-1], cuts[1:], strict=False)
            if b > a
        ]
        return BinomialSums.joined(parts)

    def terms(self, row: int) -> tuple[Array, Real]:
        """Records and probabilities of one row."""
        number = int(np.searchsorted(self.offsets, row, side="right")) - 1
        block = self.blocks[number]
        at = np.unravel_index(row - int(self.offsets[number]), block.shape)
        each = [P[i, states] for P, i, states in zip(block.matrices, at, block.state.T, strict=True)]
        return block.counts, np.prod(each, axis=0)

    def easiest(self, cells: Array, own: Real) -> Real:
        """The strict risk of cells under the released value that is best for the intruder, or a bound from above."""
        place = np.full(len(self.counts), -1)
        place[cells] = np.arange(len(cells))
        risks = own.copy()
        for block in self.blocks:
            at = place[block.cells]
            asked = at >= 0
            risks[at[asked]] = block.easiest(np.where(asked, own[at], 0.0))[asked]
        return risks

    def best_guesses(self) -> Real:
        """For each released cell the expected records of the true key that most of them have."""
        return np.concatenate([block.best_guesses() for block in self.blocks])

    def expected_uniques(self) -> float:
        """Expected number of released cells with one record."""
        return sum(float(block.whole.chance_of_one.sum()) for block in self.blocks)


@dataclass(frozen=True, eq=False)
class Block:
    """Cells that agree in the part of the key that is not randomized: only they can be released as the same cell."""

    cells: Array  # which cells of the table
    matrices: tuple[Real, ...]  # one for each component, shape (parts, states)
    kept: tuple[Array, ...]  # for each component the part that is each state's own, shape (states,)
    state: Array  # shape (cells, components): the true states
    counts: Array  # shape (cells,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Parts of each component: the released cells of the block."""
        return tuple(len(P) for P in self.matrices)

    @property
    def own(self) -> Array:
        """The released cell that is each cell's own key, as a number."""
        parts = [kept[self.state[:, c]] for c, kept in enumerate(self.kept)]
        return np.ravel_multi_index(tuple(parts), self.shape).astype(np.int64)

    @property
    def staying(self) -> Real:
        """Chance that each cell is released as itself."""
        each = [P[kept[s], s] for P, kept, s in zip(self.matrices, self.kept, self.state.T, strict=True)]
        return np.asarray(np.prod(each, axis=0))

    def grid(self, values: Array) -> Real:
        """Values of the cells as an array with one axis for each component."""
        out = np.zeros(tuple(P.shape[1] for P in self.matrices))
        out[tuple(self.state.T)] = values
        return out

    def arrivals(self, m: int) -> Real:
        """``sum N p^m`` over all cells whose own key it is not, for every released cell, flattened."""
        same = self.grid(self.counts)
        same = same.reshape(len(same), -1)
        other = np.zeros_like(same)
        for P, kept in zip(self.matrices, self.kept, strict=True):
            same, other = (part.reshape(P.shape[1], -1) for part in (same, other))
            power = P**m
            stay = power[kept, np.arange(P.shape[1])]
            rest = power.copy()
            rest[kept, np.arange(P.shape[1])] = 0.0
            # transposed, so that the next axis comes first; after all axes the order is the first one again
            other = np.ascontiguousarray((np.hstack([rest, power]) @ np.vstack([same, other])).T)
            gathered = np.zeros((len(P), same.shape[1]))
            if len(np.unique(kept)) == len(kept):
                gathered[kept] = same * stay[:, None]
            else:
                np.add.at(gathered, kept, same * stay[:, None])
            same = np.ascontiguousarray(gathered.T)
        return other.ravel()

    def largest(self, values: Array) -> Real:
        """``max_j value_j p_xj`` for every released cell, flattened."""
        out = self.grid(values)
        for axis, P in enumerate(self.matrices):
            moved = np.moveaxis(out, axis, -1)
            out = np.moveaxis(np.stack([(moved * row).max(axis=-1) for row in P], axis=-1), -1, axis)
        return out.ravel()

    def best_guesses(self) -> Real:
        """For every released cell the expected records of the true key that most of them have, flattened."""
        _, key, sizes = np.unique(self.own, return_inverse=True, return_counts=True)
        several = sizes[key.ravel()] > 1  # cells with the same key, which are released in different ways
        best = self.largest(np.where(several, 0, self.counts))
        order = np.flatnonzero(several)[np.argsort(key.ravel()[several], kind="stable")]
        cuts = np.flatnonzero(np.diff(key.ravel()[order])) + 1
        for cells in np.split(order, cuts) if len(order) else ():
            np.maximum(best, self._together(cells), out=best)
        return best

    def _together(self, cells: Array) -> Real:
        """``sum_j N_j p_xj`` over some cells, for every released cell, flattened."""
        *first, last = (P[:, states] for P, states in zip(self.matrices, self.state[cells].T, strict=True))
        out = self.counts[cells][None, :].astype(np.float64)
        for P in first:
            out = (out[:, None, :] * P).reshape(-1, len(cells))
        return np.asarray((out @ last.T).ravel())

    @cached_property
    def large(self) -> tuple[Array, Array, Real]:
        """Releases away from a cell's own key with probability above 0.1: place of the cell, released cell, p."""
        cell, row, p = np.arange(len(self.cells)), np.zeros(len(self.cells), np.int64), np.ones(len(self.cells))
        for P, states in zip(self.matrices, self.state.T, strict=True):
            part, state = np.nonzero(P > binomial.SMALL)
            order = np.argsort(state, kind="stable")
            starts = np.searchsorted(state[order], np.arange(P.shape[1] + 1))
            taken, entry = binomial.expanded(starts, states[cell])
            entry = order[entry]
            q = p[taken] * P[part[entry], state[entry]]
            kept = q > binomial.SMALL
            cell, row, p = cell[taken][kept], (row[taken] * len(P) + part[entry])[kept], q[kept]
        moved = row != self.own[cell]
        return cell[moved], row[moved], p[moved]

    @cached_property
    def tail(self) -> Tail:
        """The tail of the released cells that are some cell's own, or large releases."""
        return self.tail_of(np.unique(np.concatenate([self.own, self.large[1]])))

    def tail_of(self, rows: Array) -> Tail:
        """Power sums of all terms that are neither own nor large."""
        cell, row, p = self.large
        size = int(np.prod(self.shape))
        log_none, odds, sums = np.zeros(size), np.zeros(size), []
        taken_out = self.counts[cell] * p
        for m in range(1, binomial.powers_needed(binomial.SMALL) + 1):
            whole = self.arrivals(m) - binomial.row_sums(row, taken_out, size)
            log_none -= whole / m
            odds += whole
            sums.append(whole[rows])
            taken_out = taken_out * p
            if m > 1 and 2.0**m / m * np.abs(whole).max() < _FADED:
                break
        return Tail(rows, np.stack(sums, axis=1), log_none, odds)

    def summands(self, rows: Array) -> BinomialSums:
        """Own and large terms listed, all others by their power sums; rows in increasing order."""
        listed, tail = self._listed(rows), self.tail
        if not np.isin(rows, tail.rows).all():
            tail = self.tail_of(rows)
        sums = tail.sums[np.searchsorted(tail.rows, rows)]
        highest = listed.highest
        if (highest <= binomial.SMALL).any():
            highest = np.maximum(highest, self.largest(np.ones(len(self.counts)))[rows])
        return replace(
            listed,
            ups=binomial.with_powers(listed.ups, sums.shape[1]) + binomial.with_powers(sums, listed.ups.shape[1]),
            reach=np.full(len(rows), int(self.counts.sum())),
            log_none=listed.log_none + tail.log_none[rows],
            odds=listed.odds + tail.odds[rows],
            highest=highest,
        )

    @cached_property
    def whole(self) -> BinomialSums:
        """Every released cell, as far as the chances of none and of one arrival need it."""
        listed, tail = self._listed(np.arange(int(np.prod(self.shape)))), self.tail
        return replace(listed, log_none=listed.log_none + tail.log_none, odds=listed.odds + tail.odds)

    def easiest(self, own: Real) -> Real:
        """The strict risk of cells where it is highest, at least ``own``; ``1 / (N + 1)`` without the largest odds."""
        place = self.grid(np.arange(1, len(self.cells) + 1)).astype(np.int64)
        highest = (place > 0).astype(np.float64)  # for every released cell the largest p of any true one, and which
        for axis, P in enumerate(self.matrices):  # ``max_j P_ij value_j`` along the axis, and from which cell it comes
            moved, cells_of = np.moveaxis(highest, axis, -1), np.moveaxis(place, axis, -1)
            best_of = [(moved * row).argmax(axis=-1)[..., None] for row in P]
            taken = [np.take_along_axis(moved * row, at, -1)[..., 0] for row, at in zip(P, best_of, strict=True)]
            origin = [np.take_along_axis(cells_of, at, -1)[..., 0] for at in best_of]
            highest, place = (np.moveaxis(np.stack(each, axis=-1), -1, axis) for each in (taken, origin))
        highest, first = highest.ravel(), np.maximum(place.ravel() - 1, 0)
        certain, total = self.whole.certain, self.whole.odds
        free = (certain == 0) & (highest > 0)
        odds = highest / np.where(highest < 1, 1 - highest, 1.0)
        share = np.where(free, np.minimum(odds / np.where(free, total, 1.0), 1.0), 0.0)
        best = np.zeros(len(self.counts))
        np.maximum.at(best, first, share)
        cell, row, p = self.large
        sure = p == 1
        np.maximum.at(best, cell[sure], 1 / certain[row[sure]])
        others = np.minimum(1 / (self.counts + 1), max(float(share.max()), 0.5 * bool((certain > 0).any())))
        return np.maximum(own, np.maximum(np.minimum(best, 1 / self.counts), others))

    def _listed(self, rows: Array) -> BinomialSums:
        place = np.full(int(np.prod(self.shape)), -1)
        place[rows] = np.arange(len(rows))
        cell, away, q = self.large
        row = np.concatenate([place[self.own], place[away]])
        used = row >= 0
        n, p = np.concatenate([self.counts, self.counts[cell]]), np.concatenate([self.staying, q])
        return binomial.sums_of_terms(row[used], n[used], p[used], len(rows))


@dataclass(frozen=True, eq=False)
class Tail:
    """Power sums of many small probabilities."""

    rows: Array  # rows, sums: released cells that are looked at, and their power sums, shape (rows, powers)
    sums: Real
    log_none: Real  # log_none, odds: ``sum N log(1 - p)`` and ``sum N p / (1 - p)`` of every released cell
    odds: Real


def _block(table: CellTable, parts: Sequence[Component], cells: Array) -> Block:
    matrices, kept, states = [], [], []
    for part in parts:
        used, state = np.unique(part.state[cells], return_inverse=True)
        entries = np.concatenate([np.arange(part.starts[s], part.starts[s + 1]) for s in used])
        column = np.repeat(np.arange(len(used)), part.lengths[used])
        own = part.own[cells]
        rows, place = np.unique(np.concatenate([part.row[entries], own]), return_inverse=True)
        P = np.zeros((len(rows), len(used)))
        P[place.ravel()[: len(entries)], column] = part.p[entries]
        own_of = np.zeros(len(used), dtype=np.int64)
        own_of[state.ravel()] = place.ravel()[len(entries) :]
        matrices.append(P)
        kept.append(own_of)
        states.append(state.ravel())
    block = Block(cells, tuple(matrices), tuple(kept), np.stack(states, axis=1), table.counts[cells])
    size = max(np.prod([side[axis] for side in (P.shape for P in matrices)], dtype=float) for axis in (0, 1))
    if size > GRID:
        raise TooLargeError("a-key-of-possible-cells", size=size, grid=GRID)
    return block

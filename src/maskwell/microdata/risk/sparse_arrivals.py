"""Who arrives where, listed one by one: the records of each true cell that can be released as each cell of a key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.designs.coded import ENTRY_LIMIT, CodedDesign
from maskwell.microdata.risk.binomial_sums import BinomialSums, chance_of_one, highest_of, row_sums, sums_of_terms
from maskwell.microdata.risk.match_chances import strict_risks, strict_when_highest

_NEAR = 1 + 1e-9
_ROOM = 8
_AT_ONCE = 100  # releases that are looked for before those are left out which cannot matter any more
SEARCHED = 1000  # releases under another value than their own whose strict risk is looked for, t by t, of one file


@dataclass(frozen=True, eq=False)
class SparseArrivals:
    """How records of the true cells (columns) are released as cells of the key (rows)."""

    counts: Array  # shape (cells,): records of each true cell
    own: Array  # shape (cells,): the row that is the cell's own key
    rows: int  # number of rows
    row: Array  # row, cell, p: the entries that are not zero, sorted by row
    cell: Array
    p: Real
    seen: Array | None = None  # shape (rows,): records that were released as each row, where the file is drawn

    @classmethod
    def of(cls, counts: Array, own: Array, rows: int, row: Array, cell: Array, p: Real) -> SparseArrivals:
        """Entries in any order; those of empty cells are left out."""
        used = np.flatnonzero((counts[cell] > 0) & (p > 0))
        small = row[used].astype(np.uint16) if rows <= 1 << 16 else row[used]  # sorted by digits, much faster
        used = used[np.argsort(small, kind="stable")]
        return cls(counts, own, rows, row[used].astype(np.int64), cell[used].astype(np.int64), p[used])

    @classmethod
    def from_design(cls, counts: Array, design: CodedDesign) -> SparseArrivals:
        """The design of one stage; a cell's own row is the report with its label."""
        row, cell, p = design.transitions(limit=ENTRY_LIMIT)
        own = np.arange(design.k)
        if design.outputs is not design.inputs:  # a label that is no report gets a row to which nothing leads
            places = {label: i for i, label in enumerate(design.outputs.labels)}
            own = np.array([places.setdefault(label, len(places)) for label in design.inputs.labels], dtype=np.int64)
        return cls.of(counts, own, max(design.m, int(own.max()) + 1), row, cell, p)

    @cached_property
    def kept(self) -> Real:
        """Shape (cells,): chance that a record is released with its own key."""
        out = np.zeros(len(self.counts))
        staying = self.row == self.own[self.cell]
        out[self.cell[staying]] = self.p[staying]
        return out

    def summands(self, rows: Array) -> BinomialSums:
        """The terms of some rows."""
        first, last = np.searchsorted(self.row, [rows.min(initial=0), rows.max(initial=-1) + 1])
        place = np.full(self.rows, -1)
        place[rows] = np.arange(len(rows))
        at = place[self.row[first:last]]
        used = first + np.flatnonzero(at >= 0)
        return sums_of_terms(at[at >= 0], self.counts[self.cell[used]], self.p[used], len(rows))

    def terms(self, row: int) -> tuple[Array, Real]:
        """Records and probabilities of one row."""
        first, last = np.searchsorted(self.row, [row, row + 1])
        return self.counts[self.cell[first:last]], self.p[first:last]

    def best_guesses(self) -> Real:
        """Shape (rows,): for each released cell the expected records of the true key that most of them have."""
        expected = self.p * self.counts[self.cell]
        if len(np.unique(self.own)) == len(self.own):
            return highest_of(self.row, expected, self.rows)
        key = self.row * self.rows + self.own[self.cell]
        both, place = np.unique(key, return_inverse=True)
        return highest_of(both // self.rows, row_sums(place.ravel(), expected, len(both)), self.rows)

    def expected_uniques(self) -> float:
        """Expected number of released cells with one record."""
        return float(chance_of_one(self.row, self.counts[self.cell], self.p, self.rows).sum())

    def easiest(self, cells: Array, own: Real) -> Real:
        """The strict risk of cells under the released value that is best for whoever looks; never below ``own``."""
        risks = own.copy()
        target, row, p, bound = self._elsewhere(cells, own)
        rows, place = np.unique(row, return_inverse=True)
        if not len(rows):
            return risks
        risk = strict_when_highest(self.summands(rows), place.ravel(), p)
        settled = ~np.isnan(risk)
        np.maximum.at(risks, target[settled], risk[settled])
        open_ = np.flatnonzero(~settled & (bound > risks[target] * _NEAR))
        self._search(risks, target[open_], row[open_], p[open_], bound[open_])
        return risks

    def above(self, cells: Array, least: float) -> tuple[Array, Array, Real]:
        """Looks under another value that find with a chance, or a bound of it, above ``least``: cell, row, risk."""
        target, row, p, bound = self._elsewhere(cells, np.full(len(cells), least))
        rows, place = np.unique(row, return_inverse=True)
        risk = strict_when_highest(self.summands(rows), place.ravel(), p) if len(rows) else bound
        open_ = np.flatnonzero(np.isnan(risk))
        risk[open_] = bound[open_]
        some = open_[:SEARCHED]
        risk[some] = strict_risks([self.terms(int(one)) for one in row[some]], p[some])
        more = risk > least
        return cells[target[more]], row[more], risk[more]

    def _search(self, risks: Real, target: Array, row: Array, p: Real, bound: Real) -> None:
        """Raise risks to the strict risks of targets that are not the likeliest of their row, the easiest first."""
        known: dict[tuple[int, float], float] = {}
        order = np.argsort(-bound, kind="stable")
        while len(order):
            some, order = order[:_AT_ONCE], order[_AT_ONCE:]
            keys = [(int(row[one]), float(p[one])) for one in some]
            new = [key for key in dict.fromkeys(keys) if key not in known][: max(0, SEARCHED - len(known))]
            known.update(
                zip(new, strict_risks([self.terms(at) for at, _ in new], np.array([q for _, q in new])), strict=True)
            )
            reached = [known.get(key, bound[one]) for key, one in zip(keys, some, strict=True)]
            np.maximum.at(risks, target[some], reached)
            order = order[bound[order] > risks[target[order]] * _NEAR]

    def _elsewhere(self, cells: Array, least: Real) -> tuple[Array, Array, Real, Real]:
        """Targets (place, row, p, bound) that may be found more easily under another value, as far as bounds tell."""
        if not len(cells):
            return cells, cells, least, least
        place = np.full(len(self.counts), -1)
        place[cells] = np.arange(len(cells))
        least_here = np.where(place[self.cell] >= 0, least[place[self.cell]], np.inf) * _NEAR
        away = (self.row != self.own[self.cell]) & (1 / self.counts[self.cell] > least_here)
        odds = np.where(self.p < 1, self.p / np.where(self.p < 1, 1 - self.p, 1.0), np.inf)
        for bound in (self._by_highest, self._by_classes, self._by_odds):
            rows = np.zeros(self.rows, dtype=bool)
            rows[self.row[away]] = True
            inside = np.flatnonzero(rows[self.row])
            shares = bound(inside, odds[inside])
            away[inside] &= shares > least_here[inside]
        kept = away[inside]
        return place[self.cell[away]], self.row[away], self.p[away], shares[kept]

    def _by_highest(self, inside: Array, odds: Real) -> Real:
        """``max(o) / sum N o`` of the row of each entry: no share is above it."""
        row, n, finite = self._finite(inside, odds)
        total, highest = row_sums(row, n * finite, self.rows), highest_of(row, finite, self.rows)
        free = row_sums(row, np.isinf(odds), self.rows) == 0
        bound = np.where(free & (total > 0), highest / np.where(total > 0, total, 1.0), 1.0)
        return np.asarray(bound[row])

    def _by_classes(self, inside: Array, odds: Real) -> Real:
        """A bound within a factor of two of the next, without sorting: odds are put in classes by powers of two."""
        row, n, finite = self._finite(inside, odds)
        power = np.frexp(finite)[1]
        least = int(power.min(initial=0))
        power = np.where(np.isinf(odds), int(power.max(initial=0)) + 1, power) - least
        classes = int(power.max(initial=0)) + 1
        if self.rows * classes > _ROOM * max(len(row), 1 << 20):
            return np.ones(len(row))
        place = row * classes + power
        records = row_sums(place, n, self.rows * classes).reshape(self.rows, classes)
        weighted = row_sums(place, n * finite, self.rows * classes).reshape(self.rows, classes)
        above = np.cumsum(records[:, ::-1], axis=1)[:, ::-1] - records
        below = np.cumsum(weighted, axis=1) / np.ldexp(1.0, np.arange(classes) + least)
        certain = np.isinf(odds)
        shares = np.where(certain, records[row, power], (above + below)[row, power])
        return np.asarray(1 / shares)

    def _finite(self, inside: Array, odds: Real) -> tuple[Array, Real, Real]:
        """Rows, records and odds of entries; the odds of those that are certain to arrive as 0."""
        n = self.counts[self.cell[inside]].astype(np.float64)
        return self.row[inside], n, np.where(np.isfinite(odds), odds, 0.0)

    def _by_odds(self, inside: Array, odds: Real) -> Real:
        """``1 / sum_j N_j min(o_j / o, 1)`` for entries that fill whole rows."""
        row, n = self.row[inside], self.counts[self.cell[inside]].astype(np.float64)
        order = np.lexsort((odds, row))
        row, n, o = row[order], n[order], odds[order]
        finite = np.isfinite(o)
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        sizes = np.diff(np.append(starts, len(row)))
        weighted = _running(np.where(finite, n * np.where(finite, o, 0.0), 0.0), starts, sizes)
        records = _running(n, starts, sizes)
        total = np.repeat(records[starts + sizes - 1], sizes)
        certain = np.repeat(np.add.reduceat(np.where(finite, 0.0, n), starts), sizes) if len(starts) else n
        shares = np.where(finite, weighted / np.where(finite & (o > 0), o, 1.0) + total - records, certain)
        out = np.empty(len(order))
        out[order] = 1 / shares
        return out


def joined_blocks(one: Array, ones: int, other: Array, others: int) -> tuple[int, Array, Array]:
    """Blocks of things of two kinds that hang together by pairs: how many blocks, and the block of each thing."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(one)), (one, ones + other)), shape=(ones + others, ones + others))
    count, block = connected_components(graph, directed=False)
    return count, block[:ones].astype(np.int64), block[ones:].astype(np.int64)


def _running(values: Real, starts: Array, sizes: Array) -> Real:
    """Sums from the start of each stretch."""
    sums = np.cumsum(values)
    before = np.concatenate([[0.0], sums])[starts]
    return np.asarray(sums - np.repeat(before, sizes))

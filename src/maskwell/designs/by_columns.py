"""Designs of many states with few entries in each column, as matrices of releases are; zeros are not kept.

Linear algebra goes by components, blocks that share no truth and no report, as stacks of small dense matrices.

Source: [ChaiNayak2018, section 1]; the left inverse for more reports than categories is [NayakZhai2019, eq. (6.3)].
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_whole
from maskwell.core.draws import WordReader, interval
from maskwell.core.exact import Parity
from maskwell.designs.coded import RANK, CodedDesign, weighted_left_inverse
from maskwell.designs.column_arrays import (
    Columns,
    ColumnTable,
    Labels,
    Stack,
    Transitions,
    column_sums,
    component_labels,
    cumulative,
    quotients,
    sizes_of,
    stacks_of,
)
from maskwell.designs.dense import takes_two_values
from maskwell.designs.design import EXACT_LIMIT, MATRIX_LIMIT
from maskwell.errors import ParameterError

_TINY, _CLOSE = 1e-290, 1e-12  # floats whose ratio may not be a number; ratios of floats that may stand for equal ones


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ByColumns(CodedDesign):
    """Kept in flat arrays (``column_arrays.py``): entry e of column j is ``numerators[e] / denominators[j]``."""

    starts: Array
    rows: Array
    numerators: Array

    # ---- entries

    @property
    def _columns(self) -> Columns:
        return Columns(self.starts, self.rows, self.numerators)

    @cached_property
    def denominators(self) -> Array:
        """What the integers of each column sum to, shape (k,)."""
        return column_sums(self._columns)

    @cached_property
    def values(self) -> Real:
        """The chance of each entry, the float nearest to its fraction, shape (entries,)."""
        return quotients(self._columns, self.denominators)

    def columns_exact(self, j: int) -> dict[int, Fraction]:
        """The reports that can come from truth j, with their chances."""
        j = as_whole(j, "j", high=self.k - 1)
        entries = slice(int(self.starts[j]), int(self.starts[j + 1]))
        total = int(self.denominators[j])
        pairs = zip(self.rows[entries].tolist(), self.numerators[entries].tolist(), strict=True)
        return {i: Fraction(n, total) for i, n in pairs}

    def transitions(self, *, limit: int = MATRIX_LIMIT) -> Transitions:
        """The entries as they are kept, however many."""
        return Transitions(self.rows, self._columns.owners, self.values)

    def transitions_exact(self) -> list[dict[int, Fraction]]:
        """The entries as they are kept."""
        return [self.columns_exact(j) for j in range(self.k)]

    def csc(self) -> Any:
        """P as a ``scipy.sparse.csc_array`` of floats."""
        return self._csc.copy()

    @cached_property
    def _csc(self) -> Any:
        from scipy.sparse import csc_array

        return csc_array((self.values, self.rows, self.starts), shape=(self.m, self.k))

    @cached_property
    def _keys(self) -> Array:
        """One increasing number for each entry, by column and row."""
        return np.asarray(self._columns.owners * np.int64(self.m) + self.rows)

    def entries(self, reports: Array, truths: Array) -> Real:
        """Looked up among the entries; zero where there is none."""
        return self.entries_at(np.asarray(reports)[:, None], np.asarray(truths)[None, :])

    def entries_at(self, reports: Array, truths: Array) -> Real:
        """``P[reports, truths]`` one by one, for arrays of one shape or of shapes that fit together."""
        keys = np.asarray(truths, dtype=np.int64) * self.m + np.asarray(reports, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self.values[at], 0.0)

    def diagonal(self) -> Real:
        """Chance that each state is reported as it is, shape (k,); for designs with as many reports as truths."""
        if self.m != self.k:
            raise ParameterError("a-matrix-of-reports-by-truths", m=self.m, k=self.k)
        return self.entries_at(np.arange(self.k), np.arange(self.k))

    def _matrix(self) -> Real:
        P = np.zeros((self.m, self.k))
        P[self.rows, self._columns.owners] = self.values
        return P

    def _exact_matrix(self) -> list[list[Fraction]]:
        rows = [[Fraction(0)] * self.k for _ in range(self.m)]
        for j in range(self.k):
            for i, p in self.columns_exact(j).items():
                rows[i][j] = p
        return rows

    def details(self) -> dict[str, Any]:
        """How many entries are not zero."""
        return {"non_zeros": len(self.rows)}

    # ---- privacy

    @cached_property
    def _row_lengths(self) -> Array:
        return np.bincount(self.rows, minlength=self.m)

    def parity_exact(self) -> Parity:
        """Infinite where a report can come from some truths only; else the largest ratio within a row."""
        return self._parity

    @cached_property
    def _parity(self) -> Parity:
        if not np.isin(self._row_lengths, (0, self.k)).all():
            return math.inf
        return max(_ratio(row) for row in self._rows_exact(self._extremes()))

    def _extremes(self) -> Array:
        """Entries that may be the largest or smallest of the row of largest ratio: floats decide all but near ties."""
        low, high = np.full(self.m, np.inf), np.zeros(self.m)
        np.minimum.at(low, self.rows, self.values)
        np.maximum.at(high, self.rows, self.values)
        if low.min() < _TINY:
            return np.arange(len(self.rows))
        near = high / low >= (high / low).max() * (1 - _CLOSE)
        ends = (self.values == low[self.rows]) | (self.values == high[self.rows])
        return np.flatnonzero(near[self.rows] & ends)

    def _rows_exact(self, entries: Array) -> list[set[tuple[int, int]]]:
        """The different chances of each report among some entries, as pairs of numerator and denominator."""
        chances: dict[int, set[tuple[int, int]]] = defaultdict(set)
        totals = self.denominators[self._columns.owners[entries]].tolist()
        for i, n, d in zip(self.rows[entries].tolist(), self.numerators[entries].tolist(), totals, strict=True):
            chances[i].add((n, d))
        return list(chances.values())

    def is_admissible(self) -> bool:
        """With an infinite parity, when no report can come from two truths; else as a matrix that is written out."""
        if math.isinf(self.parity_exact()):
            return int(self._row_lengths.max()) == 1
        self._check_size(EXACT_LIMIT)
        values = ([Fraction(*pair) for pair in row] for row in self._rows_exact(np.arange(len(self.rows))))
        return takes_two_values(values, self.parity_exact(), decimals=self.decimals)

    def guess_probability(self, prior: Real | None = None) -> float:
        """``sum_i max_j a_j P[i, j]`` for a prior a."""
        a = self.uniform_prior() if prior is None else self.check_distribution(prior, "prior")
        return float(self.largest_in_rows(a)[0].sum())

    def largest_in_rows(self, scale: Real) -> tuple[Real, Array]:
        """Among the stored entries: for scales of 0 or more, all others are at most as large."""
        scaled = self.values * scale[self._columns.owners]
        most, where = np.zeros(self.m), np.full(self.m, self.k, dtype=np.int64)
        np.maximum.at(most, self.rows, scaled)
        reached = scaled == most[self.rows]
        np.minimum.at(where, self.rows[reached], self._columns.owners[reached])
        return most, np.where(most > 0, where, 0)

    def total_variation(self) -> float:
        """2 where two truths share no report; else from the columns written out, two by two."""
        shortest = int(np.diff(self.starts).argmin())
        reached = np.zeros(self.m, dtype=bool)
        reached[self.rows[self.starts[shortest] : self.starts[shortest + 1]]] = True
        if not np.logical_or.reduceat(reached[self.rows], self.starts[:-1]).all():
            return 2.0
        return super().total_variation()

    # ---- linear algebra, component by component

    @cached_property
    def _labels(self) -> Labels:
        return component_labels(self._columns, self.m)

    def components(self) -> Array:
        """The number of the component of each state, shape (k,): states of two components never become each other."""
        return self._labels.truths.copy()

    @cached_property
    def _stacks(self) -> list[Stack]:
        return stacks_of(self._columns, self.values, self._labels)

    @cached_property
    def _singular(self) -> list[Real]:
        return [np.asarray(np.linalg.svd(stack.P, compute_uv=False)) for stack in self._stacks]

    def rank_work(self) -> int:
        """Of the singular value decompositions of all components."""
        width, height = sizes_of(self._labels)
        return int((width.astype(np.float64) * height * np.minimum(width, height)).sum())

    def rank(self) -> int:
        """The sum of the ranks of the components."""
        return sum(int(ranks.sum()) for ranks in self._ranks)

    @cached_property
    def _ranks(self) -> list[Array]:
        """Of each component: singular values above ``max(r s eps, 1e-12)`` times its largest."""
        least = [max(math.prod(stack.P.shape[1:]) * np.finfo(float).eps, RANK) for stack in self._stacks]
        return [np.asarray((v > v[:, :1] * part).sum(axis=1)) for v, part in zip(self._singular, least, strict=True)]

    def singular_range(self) -> tuple[float, float]:
        """The largest and the smallest of all components."""
        return max(float(v.max()) for v in self._singular), min(float(v.min()) for v in self._singular)

    def check_identifiable(self) -> None:
        """Raise, naming a direction that reports cannot show, unless the columns are safely independent."""
        for stack, ranks in zip(self._stacks, self._ranks, strict=True):
            weak = np.flatnonzero(ranks < stack.truths.shape[1])
            if weak.size:
                direction = np.zeros(self.k)
                direction[stack.truths[weak[0]]] = np.linalg.svd(stack.P[weak[0]])[2][-1]
                raise self.not_identifiable(direction)

    @cached_property
    def _inverses(self) -> list[tuple[Array, Array, Real]]:
        return [(stack.truths, stack.reports, _left_inverses(stack.P)) for stack in self._stacks]

    def forward(self, x: Real) -> Real:
        """``P x`` along the last axis."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1, self.k)
        return np.asarray((self._csc @ flat.T).T).reshape(*np.shape(x)[:-1], self.m)

    def forward_adjoint(self, x: Real) -> Real:
        """``P' x`` along the last axis."""
        flat = np.asarray(x, dtype=np.float64).reshape(-1, self.m)
        return np.asarray((self._csc.T @ flat.T).T).reshape(*np.shape(x)[:-1], self.k)

    def backward(self, x: Real) -> Real:
        """``L x`` along the last axis."""
        return _by_component(x, self.k, self._inverses)

    def backward_squared(self, x: Real) -> Real:
        """``(L * L) x`` along the last axis."""
        return _by_component(x, self.k, [(into, of, L**2) for into, of, L in self._inverses])

    def second_moment_of_truth(self) -> Real:
        """The diagonal of ``(L * L) P``, component by component, shape (k,)."""
        self.check_identifiable()
        moment = np.empty(self.k)
        for stack, (truths, _, L) in zip(self._stacks, self._inverses, strict=True):
            moment[truths] = np.einsum("cji,cij->cj", L**2, stack.P)
        return moment

    def second_moment(self, share: Real) -> Real:
        """``L diag(share) L'``, shape (k, k); refused when it would be huge."""
        self._check_size(MATRIX_LIMIT)
        return super().second_moment(share)

    # ---- sampling: the report is the entry whose stretch of the column a uniform number falls into

    words_per_row = 2  # one number of 64 bits

    @cached_property
    def _cumulative(self) -> Array:
        return cumulative(self._columns)

    @cached_property
    def _table(self) -> ColumnTable:
        return ColumnTable.of(self._columns, self.denominators)

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition."""
        first, last = int(self.starts[truth]), int(self.starts[truth + 1]) - 1
        passed = interval(
            self._cumulative[first:last].tolist(), int(self.denominators[truth]), words.part(self.words_per_row)
        )
        return int(self.rows[first + passed])

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        return self._table.draw_rows(codes, words, out)


def _ratio(row: set[tuple[int, int]]) -> Fraction:
    chances = [Fraction(n, d) for n, d in row]
    return max(chances) / min(chances)


def _left_inverses(P: Real) -> Real:
    """L with L P = I for each component, shape (count, s, r): the inverse, else best at equal shares."""
    r, s = P.shape[1:]
    return np.asarray(np.linalg.inv(P)) if r == s else np.stack([weighted_left_inverse(p, p.sum(axis=1)) for p in P])


def _by_component(x: Real, size: int, pieces: list[tuple[Array, Array, Real]]) -> Real:
    """Matrices (count, out, in) applied to the last axis of ``x`` at the places ``into`` and ``of`` of each."""
    flat = x.reshape(-1, x.shape[-1])
    out = np.zeros((len(flat), size))
    for into, of, matrices in pieces:
        products = np.matmul(flat[:, of].transpose(1, 0, 2), matrices.transpose(0, 2, 1))
        out[:, into] = products.transpose(1, 0, 2)
    return out.reshape(*x.shape[:-1], size)

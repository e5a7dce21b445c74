"""At most how biased the coefficients of a regression of released values are, from what is public.

With d_c the expected released share of the cell c of all columns less the true one, s_c the score of a record in it and
H the mean information,

    bias_k = sum_c g_kc d_c + ...,    g = H^-1 s,    to the first order

so the largest one is a linear program: d sums to zero over every table that is kept or was not randomized, to at most
the stated bias over every cell of the others, and its absolute values to at most twice the share of changed records.
Derived; docs/theory/after-release.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows
from maskwell.core.labels import texts
from maskwell.engines.cell_counts import count_rows
from maskwell.engines.rows import Rows
from maskwell.estimation.regression.regression_result import Regression
from maskwell.microdata.analysis.bias_bounds import COUNTS, Distortion, Weights, moves_of
from maskwell.microdata.folder.receipt import Receipt
from maskwell.microdata.stages.stage import acting, is_kept

MOST_CELLS = 3000  # of the table of all columns of a model, occurring or not
FAMILIES = ("logistic", "multinomial")


def bias_of_regression(rows: Rows, receipt: Receipt, fit: Regression, columns: Sequence[str]) -> Real | None:
    """Shape (p,): for an outcome, the first of the columns, and predictors as released; None where nobody can say."""
    if fit.family not in FAMILIES or fit.frame is None or fit.margins is None or fit.random is not None:
        return None
    with rows.open() as source:
        table = count_rows(source, str(rows), [(*columns,)])[0]
    levels = [[label for label in one if label is not None] for one in table.levels]
    places = {text: code for code, label in enumerate(fit.categories) for text in texts(label)}
    outcomes = [next((places[text] for text in texts(label) if text in places), -1) for label in levels[0]]
    sizes = [len(one) for one in levels]
    if np.prod(sizes, dtype=float) > MOST_CELLS or -1 in outcomes:
        return None
    codes = np.array([*product(*map(range, sizes))], dtype=np.int64)
    cells = {name: [levels[i][code] for code in codes[:, i]] for i, name in enumerate(columns) if i or len(sizes) == 1}
    X = np.asarray(fit.frame(cells), dtype=np.float64)
    influence = _influence(fit, X, np.array(outcomes)[codes[:, 0]], _shares(table, sizes))
    return _Known.of(receipt, columns, codes, fit.n).largest(influence)


def _shares(table: CellTable, sizes: Sequence[int]) -> Real:
    """Released shares of all cells, in C order, of the records that have all values."""
    whole = (table.codes < np.array(sizes)).all(axis=1)  # a missing value is the last label
    place = np.ravel_multi_index(tuple(table.codes[whole].T.astype(np.int64)), tuple(sizes))
    counts = np.bincount(place, table.counts[whole], minlength=int(np.prod(sizes)))
    return np.asarray(counts / counts.sum())


def _influence(fit: Regression, X: Real, outcome: Array, shares: Real) -> Real:
    """``H^-1 s`` of each cell, shape (p, cells): with the last category as the reference."""
    assert fit.margins is not None
    chances = fit.margins.at(fit.estimates, X)
    first = chances[:, None] if chances.ndim == 1 else chances[:, :-1]
    away = (outcome[:, None] == np.arange(first.shape[1])) - first
    scores = (away[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    spread = -first[:, :, None] * first[:, None, :]
    spread[:, np.arange(first.shape[1]), np.arange(first.shape[1])] += first
    H = np.einsum("c,cab,ci,cj->aibj", shares, spread, X, X).reshape(scores.shape[1], -1)
    return np.asarray(np.linalg.solve(H, scores.T))


@dataclass(frozen=True, eq=False)
class _Known:
    """What is public of the differences d of a table: sums of them that are at most so large, and of all of them."""

    sums: Any  # Which cells each sum takes, sparse, shape (sums, cells)
    most: Real  # Shape (sums,)
    changed: float  # At most the share of the records in another cell

    @classmethod
    def of(cls, receipt: Receipt, columns: Sequence[str], codes: Array, n: int) -> _Known:
        """From a receipt; of a part of the file only that all who changed may be in it."""
        from scipy.sparse import csr_array, vstack

        changed = sum(move.changed for move in moves_of(receipt.groups, columns))
        part, parts, most = n / receipt.rows, list[Any](), list[Real]()
        for names, bound in _bounds(receipt, columns) if n == receipt.rows else iter(()):
            groups, of_cell = distinct_rows([codes[:, columns.index(name)] for name in names], len(codes))
            parts.append(csr_array((np.ones(len(codes)), (of_cell, np.arange(len(codes)))), (len(groups), len(codes))))
            most.append(np.full(len(groups), bound))
        parts.append(csr_array(np.ones((1, len(codes)))))
        return cls(vstack(parts), np.concatenate([*most, [0.0]]), min(1.0, changed / part))

    def largest(self, influence: Real) -> Real:
        """The largest ``sum_c g_kc d_c`` of each coefficient; what is allowed is symmetric."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, vstack

        both = hstack([self.sums, -self.sums])
        rows = vstack([both, -both, csr_array(np.ones((1, both.shape[1])))])
        limits = np.concatenate([self.most, self.most, [2 * self.changed]])
        found = []
        for row in influence:
            answer = linprog(-np.concatenate([row, -row]), A_ub=rows, b_ub=limits, bounds=(0, 1), method="highs")
            found.append(-answer.fun if answer.status == 0 else np.inf)
        return np.maximum(found, 0.0)


def _bounds(receipt: Receipt, columns: Sequence[str]) -> Iterator[tuple[tuple[str, ...], float]]:
    """For sets of columns, at most how far a share of their table is off on average; the largest kept sets alone."""
    exact: list[set[str]] = []
    for size in range(len(columns), 0, -1):
        for names in combinations(columns, size):
            if any({*names} <= one for one in exact):
                continue
            groups = acting(receipt.groups, names)
            if is_kept(receipt.groups, names) and all(group.invariance == COUNTS for group in groups):
                exact.append({*names})
                yield names, 0.0
                continue
            told = receipt.tables.get((frozenset(names), COUNTS))
            if told is not None or size <= 2:
                wide = Distortion.of(moves_of(receipt.groups, names), Weights.alike())
                yield names, wide.told(told, receipt.rows).bias

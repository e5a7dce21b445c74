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
from maskwell.engines.row_sources import engine_of
from maskwell.engines.rows import Rows
from maskwell.estimation.regression.regression_result import Regression
from maskwell.microdata.analysis.bias_bounds import COUNTS, Distortion, Weights, moves_of
from maskwell.microdata.folder.receipt import Receipt
from maskwell.microdata.stages.stage import acting, is_kept

MOST_CELLS = 3000  # of the table of all columns of a model, occurring or not
FAMILIES = ("logistic", "multinomial", "linear")


def bias_of_regression(rows: Rows, receipt: Receipt, fit: Regression, columns: Sequence[str]) -> Real | None:
    """Shape (p,): for an outcome, the first of the columns, and predictors as released; None where nobody can say.

    NaN for coefficients without a standard error. Records that lack a value have no influence, but count in all tables.
    """
    if fit.family not in FAMILIES or fit.frame is None or fit.margins is None or fit.random is not None:
        return None
    texts_only = rows.path is not None and engine_of(rows.path).texts_only
    with rows.open() as source:
        table = count_rows(source, str(rows), [(*columns,)])[0]
    values = table.sizes[0]
    table = _in_classes(table, MOST_CELLS) if fit.family == "linear" else table
    if np.prod(table.sizes, dtype=float) > MOST_CELLS:
        return None
    cells = _Cells.of(table, texts_only=texts_only)
    influence, blur = (_linear if fit.family == "linear" else _of_chances)(fit, cells)
    merged = 1 if table.sizes[0] == values else values  # what is stated of a value holds for each of a class
    bias = _Known.of(receipt, columns, cells.codes, table.n, merged).largest(influence, blur)
    return np.where(np.isfinite(fit.standard_error), bias, np.nan)


@dataclass(frozen=True, eq=False)
class _Cells:
    """All cells of the columns of a model, occurring or not, in C order; missing values are a category."""

    table: CellTable
    codes: Array  # Shape (cells, columns)
    whole: Array  # Which of them have all values
    shares: Real  # Released shares of all records
    texts_only: bool  # Whether numbers came as texts

    @classmethod
    def of(cls, table: CellTable, *, texts_only: bool) -> _Cells:
        codes = np.array([*product(*map(range, table.sizes))], dtype=np.int64)
        lacking = np.array([one.index(None) if None in one else -1 for one in map(list, table.levels)])
        whole = (codes != lacking).all(axis=1)
        place = np.ravel_multi_index(tuple(table.codes.T.astype(np.int64)), table.sizes)
        shares = np.bincount(place, table.counts, minlength=len(codes)) / table.n
        return cls(table, codes, whole, np.asarray(shares), texts_only)

    def predictors(self, fit: Regression) -> Real:
        """The model matrix of the cells that have all values, as the model reads their labels."""
        assert fit.frame is not None
        outcome, *names = self.table.columns
        read: dict[str, list[Any]] = {} if names else {outcome: [0.0] * int(self.whole.sum())}  # for their number alone
        for i, name in enumerate(names, 1):
            labels = [label for label in self.table.levels[i] if label is not None]
            known = numbers_of(labels) if self.texts_only else None
            values = labels if known is None else known.tolist()
            read[name] = [values[code] for code in self.codes[self.whole, i]]  # a missing value is the last label
        return np.asarray(fit.frame(read), dtype=np.float64)

    def spread(self, influence: Real) -> Real:
        """Of all cells, zero where a value is missing: shape (p, cells) from that of the whole ones."""
        out = np.zeros((len(influence), len(self.codes)))
        out[:, self.whole] = influence
        return out


def numbers_of(labels: Sequence[Any]) -> Real | None:
    """The numbers that labels are, if all are."""
    try:
        return np.array([float(label) for label in labels])
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True)
class _Class:
    """Neighbouring values of an outcome in numbers: their middle, and how far they are from it at most."""

    middle: float
    reach: float


def _in_classes(table: CellTable, most: int) -> CellTable:
    """The table with values of the outcome in classes of about as many records."""
    labels = [*table.levels[0]]
    numbers = numbers_of([label for label in labels if label is not None])
    assert numbers is not None  # it has a linear regression
    counts = np.bincount(table.codes[:, 0], table.counts, minlength=len(labels))[: len(labels)]
    order = np.argsort(numbers)
    room = max(1, int(most / np.prod(table.sizes[1:], dtype=float)) - 1)
    ends = np.cumsum(counts[[i for i, label in enumerate(labels) if label is not None]][order])
    group = (
        np.minimum((ends * room / (ends[-1] + 1)).astype(np.int64), room - 1)
        if len(order) > room
        else np.arange(len(order))
    )
    of_value = np.empty(len(order), dtype=np.int64)
    of_value[order] = np.unique(group, return_inverse=True)[1]
    classes: list[Any] = []
    for one in range(int(of_value.max()) + 1):
        own = numbers[of_value == one]
        classes.append(_Class(float(own.min() + own.max()) / 2, float(own.max() - own.min()) / 2))
    codes = table.codes.astype(np.int64).copy()
    lacking = len(labels) > len(numbers)
    codes[:, 0] = np.append(of_value, [len(classes)] if lacking else [])[codes[:, 0]]
    levels = ((*classes, *([None] if lacking else [])), *table.levels[1:])
    return CellTable(table.columns, levels, codes, table.counts)


def _linear(fit: Regression, cells: _Cells) -> tuple[Real, Real]:
    """``H^-1 x (y - x' beta)`` with H the mean of ``x x'``, and what the classes of y leave open."""
    X, shares = cells.predictors(fit), cells.shares[cells.whole]
    classes = [cells.table.levels[0][code] for code in cells.codes[cells.whole, 0]]
    y = np.array([one.middle for one in classes])
    H = (X * shares[:, None]).T @ X
    moved = _solved(fit, H, X.T)
    blur = np.abs(moved) * np.array([one.reach for one in classes])
    return cells.spread(moved * (y - X @ fit.estimates)), cells.spread(blur)


def _of_chances(fit: Regression, cells: _Cells) -> tuple[Real, Real]:
    """``H^-1 s`` of each cell, shape (p, cells): with the last category as the reference."""
    assert fit.margins is not None
    places = {text: code for code, label in enumerate(fit.categories) for text in texts(label)}
    labels = [next((places[text] for text in texts(one) if text in places), -1) for one in cells.table.levels[0]]
    outcome = np.array(labels)[cells.codes[cells.whole, 0]]
    X, shares = cells.predictors(fit), cells.shares[cells.whole]
    chances = fit.margins.at(fit.estimates, X)
    first = chances[:, None] if chances.ndim == 1 else chances[:, :-1]
    away = (outcome[:, None] == np.arange(first.shape[1])) - first
    scores = (away[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    spread = -first[:, :, None] * first[:, None, :]
    spread[:, np.arange(first.shape[1]), np.arange(first.shape[1])] += first
    H = np.einsum("c,cab,ci,cj->aibj", shares, spread, X, X).reshape(scores.shape[1], -1)
    found = cells.spread(_solved(fit, H, scores.T))
    return found, np.zeros_like(found)


def _solved(fit: Regression, H: Real, scores: Real) -> Real:
    """``H^-1 s`` of the coefficients that have a standard error; the others are at infinity, where scores vanish."""
    known = np.isfinite(fit.standard_error)
    out = np.zeros(scores.shape)
    out[known] = np.linalg.solve(H[np.ix_(known, known)], scores[known])
    return out


@dataclass(frozen=True, eq=False)
class _Known:
    """What is public of the differences d of a table: sums of them that are at most so large, and of all of them."""

    sums: Any  # Which cells each sum takes, sparse, shape (sums, cells)
    most: Real  # Shape (sums,)
    changed: float  # At most the share of the records in another cell

    @classmethod
    def of(cls, receipt: Receipt, columns: Sequence[str], codes: Array, n: int, merged: int = 1) -> _Known:
        """From a receipt; of a part of the file only that all who changed may be in it."""
        from scipy.sparse import csr_array, vstack

        changed = sum(move.changed for move in moves_of(receipt.groups, columns))
        part, parts, most = n / receipt.rows, list[Any](), list[Real]()
        for names, bound in _bounds(receipt, columns, merged) if n == receipt.rows else iter(()):
            groups, of_cell = distinct_rows([codes[:, columns.index(name)] for name in names], len(codes))
            parts.append(csr_array((np.ones(len(codes)), (of_cell, np.arange(len(codes)))), (len(groups), len(codes))))
            most.append(np.full(len(groups), bound))
        parts.append(csr_array(np.ones((1, len(codes)))))
        return cls(vstack(parts), np.concatenate([*most, [0.0]]), min(1.0, changed / part))

    def largest(self, influence: Real, blur: Real) -> Real:
        """The largest ``sum_c g_kc d_c + blur_kc |d_c|`` of each coefficient; what is allowed is symmetric."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, vstack

        unit = max(self.changed, 1e-12)  # the program is solved for d / unit, so that its numbers are not tiny
        both = hstack([self.sums, -self.sums])
        rows = vstack([both, -both, csr_array(np.ones((1, both.shape[1])))])
        limits = np.concatenate([self.most / unit, self.most / unit, [2 * self.changed / unit]])
        found = []
        for row, wide in zip(influence, blur, strict=True):
            scale = max(float(np.abs(row).max()), 1e-300)
            costs = -np.concatenate([row + wide, wide - row]) / scale
            answer = linprog(costs, A_ub=rows, b_ub=limits, bounds=(0, None), method="highs")
            found.append(-answer.fun * scale * unit if answer.status == 0 else np.inf)
        return np.maximum(found, 0.0)


def _bounds(receipt: Receipt, columns: Sequence[str], merged: int) -> Iterator[tuple[tuple[str, ...], float]]:
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
                wide = Distortion.of(moves_of(receipt.groups, names), Weights.alike()).bias
                stated = 1.0 if told is None else told.bias * (merged if columns[0] in names else 1)
                yield names, min(wide, stated)

"""How well a model separates released from original records: the propensity-score mean squared error (pMSE)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable

MOST_VALUES = 5_000_000  # cells times columns of a table that is fitted
MOST_PARAMETERS = 400
STEPS, STEADY = 60, 1e-10  # steps of Newton's method at most, and the change of all chances after which it ends
RANK = 1e-9  # eigenvalues below this part of the largest are zero: columns that follow from others add no parameter


@dataclass(frozen=True)
class PropensityScore:
    """How well a logistic regression on main effects distinguishes the released records from the original ones.

        pMSE = sum_i (p_i - c)^2 / N,      null = (k - 1) (1 - c)^2 c / N,      ratio = pMSE / null

    where p_i is the fitted chance that record i of both files together is a released one, c the released share of all N
    records and k the number of parameters. ``null`` is the expectation where released records are drawn anew from a
    model fitted to the file. Source: [Snoke2018]; ``null`` derived.
    """

    columns: tuple[str, ...]  # of the model: those that were counted together
    records: int  # N, of both files
    parameters: int  # k, with the constant
    pmse: float
    null: float

    @property
    def ratio(self) -> float | None:
        """The pMSE as a multiple of its expectation; None where the columns have one category each."""
        return self.pmse / self.null if self.null else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "columns": list(self.columns), "ratio": self.ratio}


def widest_table(
    before: Mapping[tuple[str, ...], CellTable], after: Mapping[tuple[str, ...], CellTable], moved: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The columns that were counted together in both files and of which most are randomized; then the most columns."""
    common = [columns for columns in before if columns in after and {*moved} & {*columns}]
    return max(common, key=lambda columns: (len({*moved} & {*columns}), len(columns)), default=None)


def propensity_score(before: CellTable, after: CellTable) -> PropensityScore | None:
    """The pMSE of two files from their counts over the same columns; None where there are too many cells."""
    if (len(before) + len(after)) * len(before.columns) > MOST_VALUES or not before.n or not after.n:
        return None
    codes, size, released = together(before, after)
    X = _main_effects(codes)
    if X.shape[1] > MOST_PARAMETERS:
        return None
    c, n = after.n / (before.n + after.n), before.n + after.n
    p = _chances(X, codes, size, released)
    parameters = np.linalg.eigvalsh((X.T @ X).toarray())
    k = int((parameters > RANK * parameters[-1]).sum())
    pmse = float(size @ (p - c) ** 2) / n
    return PropensityScore(before.columns, n, k, pmse, (k - 1) * (1 - c) ** 2 * c / n)


def hellinger_distance(before: CellTable, after: CellTable) -> float:
    """``sqrt(1/2 sum (sqrt a_i - sqrt b_i)^2)`` of the shares of the cells of two files."""
    _, size, released = together(before, after)
    a, b = np.sqrt((size - released) / before.n), np.sqrt(released / after.n)
    return math.sqrt(float(((a - b) ** 2).sum()) / 2)


def together(before: CellTable, after: CellTable) -> tuple[Array, Real, Real]:
    """The cells of two tables of the same columns: codes, records of both files, and released records."""
    counted = [
        replace(one, weights=one.counts * float(is_released), squares=np.zeros(len(one)))
        for one, is_released in ((before, False), (after, True))
    ]
    whole = CellTable.total(counted)
    assert whole.weights is not None
    return whole.codes, whole.counts.astype(np.float64), whole.weights


def _main_effects(codes: Array) -> Any:
    """A constant, and a column for each category of each column but the first that occurs: sparse, shape (cells, p)."""
    from scipy.sparse import coo_array

    rows, columns, width = [np.arange(len(codes))], [np.zeros(len(codes), dtype=np.int64)], 1
    for own in codes.T:
        known, place = np.unique(own, return_inverse=True)
        some = np.flatnonzero(place.reshape(-1) > 0)
        rows.append(some)
        columns.append(width - 1 + place.reshape(-1)[some])
        width += len(known) - 1
    i, j = np.concatenate(rows), np.concatenate(columns)
    return coo_array((np.ones(len(i)), (i, j)), shape=(len(codes), width)).tocsr()


def _chances(X: Any, codes: Array, size: Real, released: Real) -> Real:
    """The fitted chance of every cell; 0 or 1 where a category occurs in one of the files only, as in the limit."""
    p, left = released / size, np.ones(len(codes), dtype=bool)
    while True:  # what one cell shows may leave a category of another in one file
        alone = np.zeros(len(codes), dtype=bool)
        for own in codes.T:
            n = np.bincount(own, size * left)[own]
            hits = np.bincount(own, released * left)[own]
            alone |= left & ((hits == 0) | (hits == n))
        if not alone.any():
            break
        left &= ~alone
    if left.any():
        p[left] = _newton(X[left], size[left], released[left])
    return np.asarray(p)


def _newton(X: Any, size: Real, released: Real) -> Real:
    """Newton's method for a logistic regression; directions that the data do not identify are not taken."""
    eta = np.full(len(size), math.log(released.sum() / (size.sum() - released.sum())))
    p: Real = 1 / (1 + np.exp(-eta))
    for _ in range(STEPS):
        curvature = (X.T @ (X * (size * p * (1 - p))[:, None])).toarray()
        step = X @ np.linalg.lstsq(curvature, X.T @ (released - size * p), rcond=RANK)[0]
        eta = eta + np.clip(step, -4, 4)  # a cell that all but tells the file apart moves on without end
        new: Real = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
        change, p = float(np.abs(new - p).max()), new
        if change < STEADY:
            break
    return p

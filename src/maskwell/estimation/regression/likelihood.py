"""The log-likelihood of all rows and its derivatives in the coefficients, added up block by block.

    l = sum_i w_i l_i(eta_i),   eta_iq = x_iq' theta_q,   gradient sum_q X_q' (w dl/deta_q),   and so on

Memory beyond the data does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.estimation.regression.matrix import ModelMatrix, blocks
from maskwell.estimation.regression.rows import Pairs, RowModel


@dataclass(frozen=True)
class Predictor:
    """One linear predictor: a version of a model matrix, and where its coefficients begin."""

    matrix: int
    version: int
    start: int


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Log-likelihood, gradient (p,) and observed information (p, p) at one point."""

    value: float
    gradient: Real
    information: Real


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Rows, matrices and weights put together.

    Attributes
    ----------
    rows
        What each row says, as a function of its linear predictors.
    matrices, predictors
        The model matrices, and which of them each predictor uses with which coefficients.
    weights
        Shape (n,), or None when all are one.
    """

    rows: RowModel
    matrices: tuple[ModelMatrix, ...]
    predictors: tuple[Predictor, ...]
    weights: Real | None = None

    @classmethod
    def shared(cls, rows: RowModel, matrix: ModelMatrix, weights: Real | None) -> Likelihood:
        """Every predictor has the same columns and coefficients of its own."""
        return cls(rows, (matrix,), tuple(Predictor(0, 0, q * matrix.p) for q in range(rows.width)), weights)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.matrices[0].n

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def p(self) -> int:
        """Number of coefficients."""
        return max(one.start + self.matrices[one.matrix].p for one in self.predictors)

    @property
    def back(self) -> Real:
        """T, shape (p, p): coefficients of the columns as they were given are T theta."""
        T = np.zeros((self.p, self.p))
        for one in self.predictors:
            T[self._place(one), self._place(one)] = self.matrices[one.matrix].back
        return T

    @cached_property
    def _stretch(self) -> Real:
        """One over the scale of each coefficient."""
        out = np.ones(self.p)
        for one in self.predictors:
            out[self._place(one)] = 1 / self.matrices[one.matrix].scale
        return out

    @cached_property
    def _stretched(self) -> Real:
        return np.outer(self._stretch, self._stretch)

    def thinned(self, step: int) -> Likelihood:
        """The same with every so many rows, for a first look."""
        return Likelihood(
            self.rows.thinned(step),
            tuple(matrix.thinned(step) for matrix in self.matrices),
            self.predictors,
            None if self.weights is None else self.weights[::step],
        )

    def value(self, theta: Real) -> float:
        """The log-likelihood."""
        total = 0.0
        for where, X in self._blocks():
            found = self.rows.slopes(self._eta(X, theta), where).value
            total += float(found.sum() if self.weights is None else found @ self.weights[where])
        return total

    def derivatives(self, theta: Real) -> Derivatives:
        """The log-likelihood with gradient and observed information."""
        value, gradient, information = 0.0, np.zeros(self.p), np.zeros((self.p, self.p))
        for where, X in self._blocks():
            found = self.rows.slopes(self._eta(X, theta), where)
            weights = None if self.weights is None else self.weights[where]
            value += float(found.value.sum() if weights is None else found.value @ weights)
            for one, x, slope in zip(self.predictors, X, found.gradient, strict=True):
                gradient[self._place(one)] += x @ (slope if weights is None else slope * weights)
            self._add(information, X, found.hessian, weights)
        return Derivatives(value, gradient * self._stretch, -information * self._stretched)

    def expected(self, theta: Real) -> Real:
        """Expected information, shape (p, p)."""
        information = np.zeros((self.p, self.p))
        for where, X in self._blocks():
            weights = None if self.weights is None else self.weights[where]
            self._add(information, X, self.rows.information(self._eta(X, theta), where), weights)
        return information * self._stretched

    def slopes(self, theta: Real) -> Real:
        """Derivative of each row's log-likelihood by each of its predictors, without weights, shape (n, Q)."""
        out = np.empty((self.n, len(self.predictors)))
        for where, X in self._blocks():
            out[where] = np.column_stack(self.rows.slopes(self._eta(X, theta), where).gradient)
        return out

    def far(self, theta: Real, limit: float) -> tuple[int, int]:
        """In how many rows a linear predictor lies below -limit, and in how many above the limit."""
        low = high = 0
        for _, X in self._blocks():
            eta = np.array(self._eta(X, theta))
            below = (eta < -limit).any(axis=0)
            low += int(below.sum())
            high += int(((eta > limit).any(axis=0) & ~below).sum())
        return low, high

    def score_columns(self, slopes: Real) -> Iterator[tuple[int, Real]]:
        """Column after column of the scores of all rows, shape (n,), on the common scale; several may share a place."""
        for one, slope in zip(self.predictors, slopes.T, strict=True):
            matrix = self.matrices[one.matrix]
            for j in range(matrix.p):
                yield one.start + j, slope * matrix.column(j, one.version)

    def score_blocks(self, slopes: Real) -> Iterator[tuple[slice, Real]]:
        """Weighted scores of all rows on the common scale, block after block, shape (rows, p)."""
        for where, X in self._blocks():
            scores = np.zeros((self.p, X[0].shape[1]))
            for one, x, slope in zip(self.predictors, X, slopes[where].T, strict=True):
                scores[self._place(one)] += x * (slope if self.weights is None else slope * self.weights[where])
            yield where, (scores * self._stretch[:, None]).T

    def randomization(self, theta: Real, weights: Real) -> Real:
        """``sum_i weights_i V_R(s_i)``, shape (p, p): unbiased for what the randomization adds to the scores."""
        total = np.zeros((self.p, self.p))
        for where, X in self._blocks():
            self._add(total, X, self.rows.randomization(self._eta(X, theta), where), weights[where])
        return total * self._stretched

    def _blocks(self) -> Iterator[tuple[slice, list[Real]]]:
        for where in blocks(self.n):
            read: dict[tuple[int, int], Real] = {}
            for one in self.predictors:
                if (one.matrix, one.version) not in read:
                    read[one.matrix, one.version] = self.matrices[one.matrix].block(where, one.version)
            yield where, [read[one.matrix, one.version] for one in self.predictors]

    def _eta(self, X: Sequence[Real], theta: Real) -> list[Real]:
        plain = theta * self._stretch
        return [plain[self._place(one)] @ x for one, x in zip(self.predictors, X, strict=True)]

    def _place(self, one: Predictor) -> slice:
        return slice(one.start, one.start + self.matrices[one.matrix].p)

    def _add(self, total: Real, X: Sequence[Real], pairs: Pairs, weights: Array | None) -> None:
        """Add ``X_q' diag(w h_qr) X_r`` for every pair of predictors."""
        for (q, r), bend in pairs.items():
            scaled = bend if weights is None else bend * weights
            product = (X[q] * scaled) @ X[r].T
            a, b = self._place(self.predictors[q]), self._place(self.predictors[r])
            total[a, b] += product
            if q != r:
                total[b, a] += product.T

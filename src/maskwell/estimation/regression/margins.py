"""Predictions and average marginal effects of a fitted regression, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import InputError
from maskwell.estimation.regression.coefficients import Coefficients
from maskwell.estimation.regression.matrix import ModelMatrix, blocks
from maskwell.estimation.regression.rows import softmax


@dataclass(frozen=True, eq=False)
class Margins:
    """What is needed to go from coefficients to chances.

    Attributes
    ----------
    matrix
        The model matrix of the fit.
    k
        Number of outcome categories; 0 for a linear model.
    weights
        Of the rows, None when all count alike.
    categories
        Labels of the outcome.
    """

    matrix: ModelMatrix
    k: int
    weights: Real | None
    categories: tuple[Any, ...]

    def complete(self, X: Real) -> Real:
        """New rows with a column of ones where the fit had an intercept without a column."""
        wanted = self.matrix.p - int(self.matrix.with_ones)
        if X.ndim != 2 or X.shape[1] != wanted:
            raise InputError(
                f"an array of shape {X.shape} for a model with {wanted} columns", hint="give the columns of the fit"
            )
        return np.column_stack([np.ones(len(X)), X]) if self.matrix.with_ones else X

    def at(self, beta: Real, X: Real) -> Real:
        """Chances (or means) for complete rows of the model matrix."""
        if self.k == 0:
            return np.asarray(X @ beta)
        pi = self._chances(beta, X)
        return pi[0] if self.k == 2 else pi.T

    def fitted(self, beta: Real) -> Real:
        """Chances for the rows of the fit."""
        return np.concatenate([self.at(beta, self._rows(where)) for where in blocks(self.matrix.n)])

    def effects(self, found: Coefficients, *, dummy: bool) -> Coefficients:
        """Average marginal effects of every predictor but the intercept, with their covariance."""
        kept = [j for j in range(self.matrix.p) if j != self.matrix.constant]
        switched = [dummy and self._is_dummy(j) for j in kept]
        shown = self.k if self.k > 2 else 1
        value, slope = np.zeros((shown, len(kept))), np.zeros((shown, len(kept), len(found.estimates)))
        for where in blocks(self.matrix.n):
            X, share = self._rows(where), self._share(where)
            for place, (j, is_switched) in enumerate(zip(kept, switched, strict=True)):
                effect, turn = (self._switch if is_switched else self._slope)(found.estimates, X, share, j)
                value[:, place] += effect[:shown]
                slope[:, place] += turn[:shown]
        names = [self.matrix.names[j] for j in kept]
        terms = names if shown == 1 else [f"{self.categories[c]}: {name}" for c in range(shown) for name in names]
        J = slope.reshape(-1, len(found.estimates))
        return Coefficients(tuple(terms), value.reshape(-1), J @ found.covariance @ J.T, found.degrees_of_freedom)

    def _slope(self, beta: Real, X: Real, share: Real, j: int) -> tuple[Real, Real]:
        """Mean of ``dPr_c / dx_j = pi_c (beta_cj - mean_j)``, shape (k,), and its derivative by all coefficients."""
        if self.k == 0:
            return np.array([beta[j] * share.sum()]), np.eye(len(beta))[[j]] * share.sum()
        pi, b = self._chances(beta, X), self._by_category(beta)[:, j]
        mean = b @ pi
        turn = np.array(
            [
                [pi[c] * ((c == d) - pi[d]) * (b[c] - mean) - pi[c] * pi[d] * (b[d] - mean) for d in range(self.k - 1)]
                for c in range(self.k)
            ]
        )
        through = _through(turn, X, share)
        through[:, j :: self.matrix.p] += self._turn(pi) @ share
        return (pi * (b[:, None] - mean)) @ share, through

    def _switch(self, beta: Real, X: Real, share: Real, j: int) -> tuple[Real, Real]:
        """Mean difference that switching column j from 0 to 1 makes, and its derivative by all coefficients."""
        on, off = X.copy(), X.copy()
        on[:, j], off[:, j] = 1.0, 0.0
        high, low = self._chances(beta, on), self._chances(beta, off)
        through = _through(self._turn(high), on, share) - _through(self._turn(low), off, share)
        return (high - low) @ share, through

    def _turn(self, pi: Real) -> Real:
        """``dpi_c / deta_d``, shape (k, k - 1, rows)."""
        return np.array([[pi[c] * ((c == d) - pi[d]) for d in range(self.k - 1)] for c in range(self.k)])

    def _is_dummy(self, j: int) -> bool:
        column = self.matrix.column(j) * self.matrix.scale[j] + self.matrix.shift[j]
        return self.k > 0 and bool(np.isin(np.round(column, 12), (0.0, 1.0)).all())

    def _chances(self, beta: Real, X: Real) -> Real:
        eta = X @ self._by_category(beta)[:-1].T
        return softmax(list(eta.T))

    def _by_category(self, beta: Real) -> Real:
        """Coefficients of each category, the reference with zeros, shape (k, p)."""
        return np.concatenate([beta.reshape(-1, self.matrix.p), np.zeros((1, self.matrix.p))])

    def _rows(self, where: slice) -> Real:
        return self.matrix.block(where).T + self.matrix.shift

    def _share(self, where: slice) -> Real:
        if self.weights is None:
            return np.full(where.stop - where.start, 1 / self.matrix.n)
        return np.asarray(self.weights[where] / self.weights.sum())


def _through(turn: Real, X: Real, share: Real) -> Real:
    """Mean of ``turn_cd x_l``, shape (k, (k - 1) p): the derivative by beta_dl of something that depends on eta."""
    return np.asarray(((turn * share) @ X).reshape(len(turn), -1))

"""Predictions with intervals, and average marginal effects, block by block; Chances define a model's probabilities.

Errors by the delta method; the predictors count as fixed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_level
from maskwell.core.display import Summary
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.model_matrix import ModelMatrix, blocks
from maskwell.estimation.regression.named_coefficients import WIDTH, Coefficients, coefficient_lines, name_width
from maskwell.estimation.regression.row_likelihoods import expit_pair, softmax

MOST_PREDICTIONS = 10_000


class Chances(ABC):
    """What a model says about rows of the model matrix: X has the shape (rows, p), theta all that was estimated."""

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of outcome categories; 1 for the mean of a linear model."""

    @abstractmethod
    def at(self, theta: Real, X: Real) -> Real:
        """The chance of each category, shape (k, rows)."""

    @abstractmethod
    def through(self, theta: Real, X: Real, share: Real) -> Real:
        """Derivatives by theta of the chances, summed over the rows with these shares, shape (k, len(theta))."""

    @abstractmethod
    def slope(self, theta: Real, X: Real, share: Real, D: Real) -> tuple[Real, Real]:
        """The sum of the derivatives of the chances by a number x, where D is dX / dx, and its derivative by theta."""

    def columns_of(self, coefficients: Array, p: int) -> Array:
        """Which of the p columns of the model matrix belong to some of the coefficients, marked by True."""
        return coefficients

    def restriction(self, R: Real) -> Real:
        """``R beta = 0`` for one set of coefficients of the columns as a restriction of all that was estimated."""
        return R


class Mean(Chances):
    """A linear model: the mean, and no chance."""

    k = 1

    def at(self, theta: Real, X: Real) -> Real:
        """The mean, shape (1, rows)."""
        return (X @ theta)[None]

    def through(self, theta: Real, X: Real, share: Real) -> Real:
        """``share' X``."""
        return np.asarray(share @ X)[None]

    def slope(self, theta: Real, X: Real, share: Real, D: Real) -> tuple[Real, Real]:
        """``share' D theta``, and ``share' D``."""
        moved = share @ D
        return np.array([moved @ theta]), moved[None]


@dataclass(frozen=True)
class SoftmaxChances(Chances):
    """``exp(x' beta_c) / sum_d exp(x' beta_d)`` with zeros for the last of k categories; logistic where k = 2."""

    k: int = 2

    def at(self, theta: Real, X: Real) -> Real:
        """The chance of each category."""
        return softmax(list((X @ theta.reshape(self.k - 1, -1).T).T))

    def through(self, theta: Real, X: Real, share: Real) -> Real:
        """``dpi_c / deta_d = pi_c ([c = d] - pi_d)``, times the row."""
        return _summed(self._turn(self.at(theta, X)), X, share)

    def slope(self, theta: Real, X: Real, share: Real, D: Real) -> tuple[Real, Real]:
        """``dPr_c / dx = pi_c (g_c - mean)``, where ``g = D beta``, and its derivative."""
        pi = self.at(theta, X)
        beta = np.concatenate([theta.reshape(self.k - 1, -1), np.zeros((1, X.shape[1]))])
        g = beta @ D.T
        away = g - (g * pi).sum(axis=0)
        turn = np.array(
            [
                [pi[c] * ((c == d) - pi[d]) * away[c] - pi[c] * pi[d] * away[d] for d in range(self.k - 1)]
                for c in range(self.k)
            ]
        )
        return (pi * away) @ share, _summed(turn, X, share) + _summed(self._turn(pi), D, share)

    def columns_of(self, coefficients: Array, p: int) -> Array:
        """Of any category."""
        return np.asarray(coefficients.reshape(-1, p).any(axis=0))

    def restriction(self, R: Real) -> Real:
        """The same for each category."""
        return np.asarray(np.kron(np.eye(self.k - 1), R), dtype=np.float64)

    def _turn(self, pi: Real) -> Real:
        return np.array([[pi[c] * ((c == d) - pi[d]) for d in range(self.k - 1)] for c in range(self.k)])


@dataclass(frozen=True, eq=False)
class CurveChances(Chances):
    """``pi_c = rest_c + sum_q mix[c, q] expit(z_q)``, ``z_q = sign x' beta + offsets[q] alpha``, theta = (beta, alpha).

    A curve for each threshold of an ordinal model, or for each node of a quadrature over random intercepts.
    """

    # Of shape (k, Q), and of shape (k,)
    mix: Real
    rest: Real
    offsets: Real  # Shape (Q, E): what the parameters alpha, E of them, add to each curve
    columns: Array  # Which columns of the model matrix have a coefficient here
    sign: float = 1.0  # Of the linear predictor in the curves
    # Which column is the intercept that the first of alpha stands for, with the sign reversed; None where it has a
    # coefficient of its own
    constant: int | None = None

    @property
    def k(self) -> int:
        """Number of categories."""
        return len(self.rest)

    def at(self, theta: Real, X: Real) -> Real:
        """The chance of each category."""
        return np.asarray(self.mix @ expit_pair(self._curves(theta, X))[0] + self.rest[:, None])

    def through(self, theta: Real, X: Real, share: Real) -> Real:
        """``mix_cq expit'(z_q)`` times the row and the offsets."""
        first, second = expit_pair(self._curves(theta, X))
        return self._summed(self.mix, first * second * share, X)

    def slope(self, theta: Real, X: Real, share: Real, D: Real) -> tuple[Real, Real]:
        """``sum_q mix_cq expit'(z_q) sign g``, where ``g = D beta``, and its derivative."""
        first, second = expit_pair(self._curves(theta, X))
        moved = self.sign * (D[:, self.columns] @ theta[: len(self.columns)])
        bend = first * second
        turned = self._summed(self.mix, bend * (second - first) * moved * share, X)
        turned[:, : len(self.columns)] += self.sign * (self.mix @ (bend * share) @ D[:, self.columns])
        return self.mix @ (bend @ (moved * share)), turned

    def columns_of(self, coefficients: Array, p: int) -> Array:
        """Of those that have a column."""
        out = np.zeros(p, dtype=bool)
        out[self.columns] = coefficients[: len(self.columns)]
        return out

    def restriction(self, R: Real) -> Real:
        """Zeros for what no column has."""
        out = np.zeros((len(R), len(self.columns) + self.offsets.shape[1]))
        out[:, : len(self.columns)] = R[:, self.columns]
        if self.constant is not None:
            out[:, len(self.columns)] = -R[:, self.constant]
        return out

    def _curves(self, theta: Real, X: Real) -> Real:
        split = len(self.columns)
        return np.asarray(self.sign * (X[:, self.columns] @ theta[:split]) + (self.offsets @ theta[split:])[:, None])

    def _summed(self, mix: Real, heights: Real, X: Real) -> Real:
        """``sum_i mix_cq heights_qi (sign x_i, offsets_q)``."""
        by_row = self.sign * (mix @ heights @ X[:, self.columns])
        return np.concatenate([by_row, mix @ (heights.sum(axis=1)[:, None] * self.offsets)], axis=1)


@dataclass(frozen=True, eq=False)
class Change:
    """A change in a predictor: for some rows dX / dx and None, or their columns with one value and with another."""

    name: str
    rows: Callable[[slice], tuple[Real, Real | None]]

    @classmethod
    def between(cls, name: str, on: Real, off: Real | None) -> Change:
        """From arrays for all rows."""
        return cls(name, lambda where: (on[where], None if off is None else off[where]))


@dataclass(frozen=True, eq=False, repr=False)
class Effects(Coefficients):
    """Average marginal effects: how much the chance of a category changes, as a share, with their covariance."""

    def summary(self, level: float = 0.95) -> Summary:
        """A table of the effects: text, which a notebook shows as a table."""
        title = "Average marginal effects".center(WIDTH).rstrip()
        lines = [title, "=" * WIDTH, *coefficient_lines(self, level, name_width([self])), "=" * WIDTH]
        return Summary.of("\n".join(lines), self)

    def __repr__(self) -> str:
        return self.summary()


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Coefficients):
    """Predicted chances, or means of a linear model, with their covariance."""

    # Whether these are chances, whose intervals are Wald's on the scale of log odds and so stay between 0 and 1
    chances: bool = True

    def confidence_interval(self, level: float = 0.95) -> Real:
        """Intervals, shape (p, 2)."""
        if not self.chances:
            return super().confidence_interval(level)
        check_level(level, highest=1)
        inside = np.clip(self.estimates, 1e-300, 1 - 1e-16)
        odds = np.log(inside) - np.log1p(-inside)
        scale = inside * (1 - inside)
        bias = None if self.bias is None else self.bias / scale
        covariance = self.covariance / np.outer(scale, scale)
        stretched = Coefficients(self.terms, odds, covariance, self.degrees_of_freedom, bias=bias)
        return expit_pair(stretched.confidence_interval(level))[0]

    @property
    def interval_methods(self) -> list[str]:
        """The method: "logit" for chances, whose intervals are Wald's on that scale."""
        return ["logit" if self.chances else "wald"] * len(self.terms)

    def rows(self, level: float = 0.95, *, exponentiate: bool = False) -> list[dict[str, Any]]:
        """One plain dictionary for each prediction; there is nothing to test."""
        made = super().rows(level, exponentiate=exponentiate)
        return [{**row, "p_value": None, "p_value_method": None} for row in made]

    def plain(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The same without the place of a test, for JSON."""
        return [
            {name: value for name, value in row.items() if not name.startswith("p_value")} for row in self.rows(level)
        ]

    def to_frame(self, level: float = 0.95, *, exponentiate: bool = False) -> Any:
        """A pandas table with one row for each prediction."""
        return super().to_frame(level, exponentiate=exponentiate).drop(columns="p_value")

    def __repr__(self) -> str:
        return str(self.to_frame())


@dataclass(frozen=True, eq=False)
class Margins:
    """What is needed to go from coefficients to chances."""

    matrix: ModelMatrix  # The model matrix of the fit
    chances: Chances  # How coefficients make chances
    weights: Real | None  # Of the rows, None when all count alike
    categories: tuple[Any, ...]  # Labels of the outcome

    def complete(self, X: Real) -> Real:
        """New rows with a column of ones where the fit had an intercept without a column."""
        columns = self.matrix.p - int(self.matrix.with_ones)
        if X.ndim != 2 or X.shape[1] != columns:
            raise InputError("an-array-of-shape", shape=X.shape, columns=columns)
        return np.column_stack([np.ones(len(X)), X]) if self.matrix.with_ones else X

    def at(self, theta: Real, X: Real) -> Real:
        """Chances (or means) for complete rows of the model matrix: one column for each category if k > 2."""
        pi = self.chances.at(theta, X)
        return pi[0] if len(pi) <= 2 else pi.T

    def fitted(self, theta: Real) -> Real:
        """Chances for the rows of the fit."""
        return np.concatenate([self.at(theta, self._rows(where)) for where in blocks(self.matrix.n)])

    def effects(self, fit: Coefficients, changes: Iterable[Change]) -> Effects:
        """The average effect of each change on the chance of each category, with their covariance."""
        made = ((change.name, self._effect(fit, change)) for change in changes)
        names, values, covariance, degrees, bias = self._estimated(fit, made)
        return Effects(names, values, covariance, degrees, bias=bias)

    def predictions(self, fit: Coefficients, rows: Iterable[tuple[str, Real]], *, averaged: bool) -> Predictions:
        """The chance of each category for named rows, or averaged over all rows of the fit, changed in some way."""
        made = ((name, self._prediction(fit, X, averaged=averaged)) for name, X in rows)
        names, values, covariance, degrees, bias = self._estimated(fit, made)
        return Predictions(names, values, covariance, degrees, chances=self.chances.k > 1, bias=bias)

    def of_columns(self, *, dummy: bool) -> list[Change]:
        """A change in each column of the model but the intercept; with ``dummy`` from 0 to 1 where it holds these."""
        kept = [j for j in range(self.matrix.p) if j != self.matrix.constant]
        return [self._of_column(j, dummy=dummy and self.chances.k > 1) for j in kept]

    def _of_column(self, j: int, *, dummy: bool) -> Change:
        column = self.matrix.column(j) * self.matrix.scale[j] + self.matrix.shift[j]

        def slope(where: slice) -> tuple[Real, Real | None]:
            return np.tile(np.eye(self.matrix.p)[j], (where.stop - where.start, 1)), None

        def switch(where: slice) -> tuple[Real, Real | None]:
            on, off = self._rows(where).copy(), self._rows(where).copy()
            on[:, j], off[:, j] = 1.0, 0.0
            return on, off

        switched = dummy and np.isin(np.round(column, 12), (0.0, 1.0)).all()
        return Change(self.matrix.names[j], switch if switched else slope)

    def _estimated(self, fit: Coefficients, made: Iterable[tuple[str, tuple[Real, Real]]]) -> tuple[Any, ...]:
        """Names, values, covariance, degrees of freedom and bias of quantities with these values and derivatives."""
        shown = self.chances.k if self.chances.k > 2 else 1
        names, values, slopes = list[str](), list[Real](), list[Real]()
        for name, (value, slope) in made:
            names.append(name)
            values.append(value[:shown])
            slopes.append(slope[:shown])
        labels = [""] if shown == 1 else [f"{label}: " for label in self.categories]
        width = len(fit.estimates)
        J = np.reshape(slopes, (len(names), shown, width)).transpose(1, 0, 2).reshape(-1, width)
        return (
            tuple(f"{label}{name}" for label in labels for name in names),
            np.reshape(values, (len(names), shown)).T.reshape(-1),
            J @ fit.covariance @ J.T,
            fit.degrees_of_freedom,
            None if fit.bias is None else np.abs(J) @ fit.bias,
        )

    def _effect(self, fit: Coefficients, change: Change) -> tuple[Real, Real]:
        """Of one change, averaged over the rows, with its derivatives by all that was estimated."""
        k, theta = self.chances.k, fit.estimates
        value, slope = np.zeros(k), np.zeros((k, len(theta)))
        away = np.zeros(len(theta), dtype=bool) if fit.infinite is None else fit.infinite != 0
        away = self.chances.columns_of(away, self.matrix.p)
        for where in blocks(self.matrix.n):
            share, (moved, off) = self._share(where), change.rows(where)
            if off is None and (moved[:, away] != 0).any():  # the slope has no limit
                effect, turn = np.full(k, np.nan), np.zeros((k, len(theta)))
            elif off is None:
                effect, turn = self.chances.slope(theta, self._rows(where), share, moved)
            else:
                effect = (self.chances.at(theta, moved) - self.chances.at(theta, off)) @ share
                turn = self.chances.through(theta, moved, share) - self.chances.through(theta, off, share)
            value += effect
            slope += turn
        return value, slope

    def _prediction(self, fit: Coefficients, X: Real, *, averaged: bool) -> tuple[Real, Real]:
        k, theta = self.chances.k, fit.estimates
        value, slope = np.zeros(k), np.zeros((k, len(theta)))
        for where in blocks(len(X)):
            share = self._share(where) if averaged else np.full(where.stop - where.start, 1 / len(X))
            value += self.chances.at(theta, X[where]) @ share
            slope += self.chances.through(theta, X[where], share)
        return value, slope

    def _rows(self, where: slice) -> Real:
        return self.matrix.block(where).T + self.matrix.shift

    def _share(self, where: slice) -> Real:
        if self.weights is None:
            return np.full(where.stop - where.start, 1 / self.matrix.n)
        return np.asarray(self.weights[where] / self.weights.sum())


def check_few(rows: int) -> None:
    """Raise where a table of so many predictions would be of no use."""
    if rows > MOST_PREDICTIONS:
        raise ParameterError("predictions-with-intervals", rows=rows, most_predictions=MOST_PREDICTIONS)


def numbered(X: Real) -> list[tuple[str, Real]]:
    """Each row under its number, counted from 1."""
    return [(f"row {number}", row[None]) for number, row in enumerate(X, 1)]


def _summed(turn: Real, X: Real, share: Real) -> Real:
    """Sum of ``turn_cd x_l``, shape (k, (k - 1) p): the derivative by beta_dl of something that depends on eta."""
    return np.asarray(((turn * share) @ X).reshape(len(turn), -1))

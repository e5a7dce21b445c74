"""The log-likelihood of all rows, the search for its maximum, and the covariance of what is found there.

``l = sum_i w_i l_i(eta_i)``, ``eta_iq = x_iq' theta_q``, on the scale of the standardised columns. The covariance is
the inverse of an information, or the sandwich ``A^-1 B A^-1`` with the observed information A and, under the sampling,
    B = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - mean_h)(t_hc - mean_h)'  +  sum_i f_h(i) w_i^2 V_R(s_i)
where ``t_hc`` sums the scores in cluster c of stratum h, ``f_h`` is the sampling fraction, ``V_R`` estimates the
variance of a score by the randomization. Source of B: derived, after [Adeshiyan2011, Theorem 3.2], corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import listed
from maskwell.estimation.regression.likelihood_search import (
    Derivatives,
    Hill,
    Limit,
    Optimum,
    Profiles,
    climb,
    highest,
    is_positive_definite,
    settled,
)
from maskwell.estimation.regression.model_matrix import ModelMatrix, blocks, check_enough
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.row_likelihoods import Pairs, RowModel
from maskwell.estimation.regression.row_sampling import RowSampling, kind_of_variance
from maskwell.notes import Note

PART = 1 << 12
COARSER = 16

FAR = 15.0  # a linear predictor beyond this is a chance within 3e-7 of 0 or 1


@dataclass(frozen=True)
class Predictor:
    """One linear predictor: a version of a model matrix, and where its coefficients begin."""

    matrix: int
    version: int
    start: int


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Rows, matrices and weights put together."""

    rows: RowModel  # What each row says, as a function of its linear predictors
    # The model matrices, and which of them each predictor uses with which coefficients
    matrices: tuple[ModelMatrix, ...]
    predictors: tuple[Predictor, ...]
    weights: Real | None = None  # Shape (n,), or None when all are one

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

    def part(self, rows: slice | Array) -> Likelihood:
        """The same with some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Likelihood(
            self.rows.part(rows), tuple(one.part(rows) for one in self.matrices), self.predictors, weights
        )

    def value(self, theta: Real) -> float:
        """The log-likelihood."""
        total = 0.0
        for where, X in self._blocks():
            values = self.rows.slopes(self._eta(X, theta), where).value
            total += float(values.sum() if self.weights is None else values @ self.weights[where])
        return total

    def derivatives(self, theta: Real) -> Derivatives:
        """The log-likelihood with gradient and observed information."""
        value, gradient, information = 0.0, np.zeros(self.p), np.zeros((self.p, self.p))
        for where, X in self._blocks():
            rows = self.rows.slopes(self._eta(X, theta), where)
            weights = None if self.weights is None else self.weights[where]
            value += float(rows.value.sum() if weights is None else rows.value @ weights)
            for one, x, slope in zip(self.predictors, X, rows.gradient, strict=True):
                gradient[self._place(one)] += x @ (slope if weights is None else slope * weights)
            self._add(information, X, rows.hessian, weights)
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

    def span(self, step: Real) -> float:
        """The largest change of a linear predictor, over all rows, if theta changes by the step."""
        return max(float(np.abs(self._eta(X, step)).max()) for _, X in self._blocks())

    def score_blocks(self, slopes: Real) -> Iterator[tuple[slice, Real]]:
        """Weighted scores of all rows on the common scale, block after block, shape (rows, p)."""
        for where, X in self._blocks():
            scores = np.zeros((self.p, X[0].shape[1]))
            for one, x, slope in zip(self.predictors, X, slopes[where].T, strict=True):
                scores[self._place(one)] += x * (slope if self.weights is None else slope * self.weights[where])
            yield where, (scores * self._stretch[:, None]).T

    def near(self, theta: Real) -> Likelihood:
        """The same, with rows that are alike put together: few values of predictors make a search quick."""
        return self._together

    @cached_property
    def _together(self) -> Likelihood:
        if self.n <= PART or not _many_alike(self.part(slice(PART)).columns):
            return self
        _, first, of_row = np.unique(self.columns, axis=0, return_index=True, return_inverse=True)
        if 2 * len(first) > self.n:
            return self
        counts = np.bincount(of_row.reshape(-1), self.weights, len(first))
        return replace(self.part(first), weights=counts.astype(np.float64))

    @property
    def columns(self) -> Real:
        """Everything in which rows differ but their weights, shape (n, columns)."""
        said = [*(version for one in self.matrices for version in one.versions), *self.rows.columns]
        return np.column_stack([np.asarray(one, dtype=np.float64) for one in said])

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


def _many_alike(columns: Real) -> bool:
    return 4 * len(np.unique(columns, axis=0)) < len(columns)


Starts = Callable[[Likelihood], Sequence[Real]]


@dataclass(frozen=True)
class Search:
    """How a search ended, and what it may be compared with."""

    log_likelihood: float = math.nan
    iterations: int = 0
    converged: bool = True
    variance: str = ""  # What the standard errors rest on, in words
    null_log_likelihood: float | None = None  # With an intercept alone, None where that has no meaning
    incomparable: str = ""  # Why the log-likelihood must not be compared with those of other models


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a search found; ``infinite`` is -1 or 1 where a coefficient runs away, NaN where any value would do."""

    estimates: Real
    covariance: Real
    search: Search
    flags: tuple[str, ...]
    infinite: Real
    profiles: Profiles

    def part(self, terms: Sequence[str], start: int, degrees_of_freedom: int | None) -> Coefficients:
        """The coefficients from a place on, by name."""
        where = slice(start, start + len(terms))
        return Coefficients(
            tuple(terms),
            self.estimates[where],
            self.covariance[where, where],
            degrees_of_freedom,
            infinite=self.infinite[where],
            profiles=self.profiles.part(where),
        )


def fit(
    likelihood: Likelihood, starts: Starts, sampled: RowSampling, terms: Sequence[str], *, variance: str | None
) -> Fitted:
    """Maximise, and estimate the covariance that was asked for: by default what the sampling calls for."""
    kind = kind_of_variance(variance, sampled)
    check_enough(likelihood.n, likelihood.p)
    peak = maximise(likelihood, starts)
    words = sampled.sandwich_words() if kind == "sandwich" else f"{kind} information"
    return described(
        likelihood,
        peak,
        terms,
        kind,
        lambda theta: score_variance(likelihood, theta, sampled),
        words=words,
        is_simple=sampled.is_simple and kind != "sandwich",
    )


def described(
    hill: Hill,
    peak: Optimum,
    terms: Sequence[str],
    kind: str,
    scores: Callable[[Real], Real],
    *,
    words: str,
    is_simple: bool,
) -> Fitted:
    """What a search found; ``scores``: the sandwich's middle; ``is_simple``: the profile needs no scaling."""
    peak, limit = settled(hill, peak)
    information, T = _information(hill, peak, limit, kind), hill.back
    bread = limit.known @ np.linalg.solve(limit.known.T @ information @ limit.known, limit.known.T)
    middle = scores(peak.theta) if kind == "sandwich" else information
    plain, covariance = T @ bread @ T.T, T @ bread @ middle @ bread @ T.T
    lost = limit.lost(T)
    covariance[lost], covariance[:, lost] = np.nan, np.nan
    errors = np.sqrt(np.where(lost, np.nan, np.diag(plain)))
    scales = np.ones(len(T)) if is_simple else np.sqrt(np.diag(covariance)) / errors
    infinite = limit.signs(hill, peak, T)
    flags = _flags(
        hill,
        peak,
        [term for term, is_lost in zip(terms, lost, strict=True) if is_lost],
        infinite[lost],
        is_simple=is_simple,
    )
    # How theta moves per unit of each coefficient: along its profile, or back from infinity
    moves = np.where(lost[:, None], 0.0 if limit.away is None else limit.away, T @ bread)
    with np.errstate(divide="ignore", invalid="ignore"):
        paths = np.asarray(moves / (moves * T).sum(axis=1)[:, None])
    return Fitted(
        T @ peak.theta,
        (covariance + covariance.T) / 2,
        Search(peak.at.value, peak.iterations, bool(peak.converged and not lost.any()), words),
        flags,
        infinite,
        Profiles(hill, peak.theta, peak.at.value, T, paths, errors, scales, infinite),
    )


def _information(hill: Hill, peak: Optimum, limit: Limit, kind: str) -> Real:
    """The observed one, or the expected where that was asked for or the other is not positive definite."""
    observed = peak.at.information
    if kind == "expected" or not is_positive_definite(limit.known.T @ observed @ limit.known):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.nan_to_num(hill.expected(peak.theta), nan=0.0, posinf=0.0, neginf=0.0)
    return observed


def score_variance(likelihood: Likelihood, theta: Real, sampled: RowSampling) -> Real:
    """B on the common scale, shape (p, p)."""
    slopes = likelihood.slopes(theta)
    if sampled.auxiliary is not None:
        B = sampled.variance_of_total(np.concatenate([block for _, block in likelihood.score_blocks(slopes)]))
    elif sampled.cluster is None:
        B = sampled.variance_by_rows(likelihood.score_blocks(slopes), likelihood.p)
    else:
        weights = 1.0 if sampled.weights is None else sampled.weights
        used = [(one, likelihood.matrices[one.matrix]) for one in likelihood.predictors]
        columns = (
            (one.start + j, slope * matrix.column(j, one.version) * weights)
            for (one, matrix), slope in zip(used, slopes.T, strict=True)
            for j in range(matrix.p)
        )
        B = sampled.variance_by_clusters(columns, likelihood.p)
    if sampled.fraction is not None:
        squared = np.ones(sampled.n) if sampled.weights is None else sampled.weights**2
        B = B + likelihood.randomization(theta, sampled.fraction[sampled.row_strata()] * squared)
    return np.asarray(B)


def _flags(likelihood: Hill, peak: Optimum, lost: Sequence[str], infinite: Real, *, is_simple: bool) -> tuple[str, ...]:
    low, high = likelihood.far(peak.theta, FAR)
    flags = []
    if lost:
        none = "" if is_simple else ", and no interval with a sandwich"
        flags.append(_running_away(likelihood, lost, infinite, low, high) + none)
    elif low or high:
        flags.append(Note("of-rows-have-a-fitted-probability", low_plus_high=low + high, n=likelihood.n))
    if not peak.converged and not lost:
        flags.append(Note("the-search-did-not-end-after", iterations=peak.iterations))
    if peak.several:
        flags.append(Note("the-likelihood-has-several-peaks"))
    return tuple(flags)


def _running_away(hill: Hill, lost: Sequence[str], infinite: Real, low: int, high: int) -> str:
    """Why coefficients have no finite estimate; ``infinite`` says where each of the lost ones runs."""
    ways = {-1.0: "runs to minus infinity", 1.0: "runs to plus infinity"}
    said = [f"{term} {ways.get(way, 'may have any value')}" for term, way in zip(lost, infinite.tolist(), strict=True)]
    named, n = listed(said, len(said), 90), hill.n
    if hill.back.shape == (1, 1) and n in (low, high):
        rate, who = ("few", "nobody") if low else ("many", "everybody")
        why = f"as {rate} people reported the first category as the design produces when {who} truly belongs to it"
    elif low or high:
        rows = "all rows" if low + high == n else f"{low + high:,} of {n:,} rows"
        why = f"in {rows} a fitted probability is 0 or 1"
    else:
        why = "the reports hold no information about it"
    return f"no finite estimate: {named}, because {why}; it has no standard error"


def maximise(likelihood: Likelihood, starts: Callable[[Likelihood], Sequence[Real]]) -> Optimum:
    """The highest point that the starts lead to; with many rows they are followed on a part of them first."""
    step = min(COARSER, likelihood.n // PART)
    if step > 1:
        first = maximise(likelihood.part(slice(None, None, step)), starts)
        if first.converged and is_positive_definite(first.at.information):
            last = climb(likelihood, first.theta)
            return replace(last, iterations=first.iterations + last.iterations, several=first.several)
    return highest(climb(likelihood, start) for start in starts(likelihood))

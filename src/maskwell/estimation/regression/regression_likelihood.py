"""The log-likelihood of all rows, the search for its maximum, and the covariance of what is found there.

    l = sum_i w_i l_i(eta_i),   eta_iq = x_iq' theta_q,   gradient sum_q X_q' (w dl/deta_q),   and so on

is added up block by block: memory beyond the data does not grow with the number of rows. The search is Newton's, for
log-likelihoods that are not concave: Newton's step where the observed information is positive definite, Fisher's step
elsewhere, both with backtracking, from deterministic starts, on the scale of the standardised columns.

The covariance is the inverse of an information, or the sandwich ``A^-1 B A^-1``, where ``A`` is the observed
information and ``B`` the variance of the total score ``sum_i w_i s_i`` under the sampling:

    B = sum_h (1 - f_h) n_h / (n_h - 1) sum_c (t_hc - mean_h)(t_hc - mean_h)'  +  sum_i f_h(i) w_i^2 V_R(s_i)

where ``t_hc`` is the sum of weighted scores in cluster c of stratum h, ``f_h`` the sampling fraction and ``V_R`` the
unbiased estimate of the variance that the randomization gives a score. Without a finite population the second sum is
zero: the differences between draws hold the randomization already. With simple random sampling in strata the factor
``f w^2`` of the second sum is w, as in the variance of an estimated total.

Source of B: derived, after [Adeshiyan2011, Theorem 3.2], corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Protocol

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import listed
from maskwell.estimation.regression.model_matrix import ModelMatrix, blocks, check_enough
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.row_likelihoods import Pairs, RowModel
from maskwell.estimation.regression.row_sampling import RowSampling, kind_of_variance

TOLERANCE = 1e-8
"""The search ends when no component of the gradient exceeds this share of the sum of weights."""

STEPS = 100
LONGEST = 10.0
PROFILE_STEPS = 40
PROFILE_EXACT = 1e-6
SLACK = 1e-14
SINGULAR = 1e-10
TWO_PEAKS = 1e-6
PART = 1 << 12
COARSER = 16

FAR = 15.0
"""A linear predictor beyond this is a chance within 3e-7 of 0 or 1."""

FLAT = 1e-8
"""Information per row in a standardised direction below which nothing is known about it."""


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

    def near(self, theta: Real) -> Likelihood:
        """The same."""
        return self

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


Starts = Callable[[Likelihood], Sequence[Real]]


class Hill(Protocol):
    """What can be climbed, and described where the search ended: a :class:`Likelihood`, or another of this kind."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def total(self) -> float:
        """Sum of the weights."""

    @property
    def back(self) -> Real:
        """T, shape (p, p): what was estimated is T theta."""

    def value(self, theta: Real) -> float:
        """The log-likelihood."""

    def derivatives(self, theta: Real) -> Derivatives:
        """The log-likelihood with gradient and observed information."""

    def expected(self, theta: Real) -> Real:
        """An information that is never negative, shape (p, p)."""

    def far(self, theta: Real, limit: float) -> tuple[int, int]:
        """In how many rows a linear predictor lies below -limit, and in how many above the limit."""

    def near(self, theta: Real) -> Hill:
        """The same, made for a search around here."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients of the columns as they were given, their covariance, and how they were found."""

    estimates: Real
    covariance: Real
    log_likelihood: float
    iterations: int
    converged: bool
    variance: str
    flags: tuple[str, ...]

    def part(self, terms: Sequence[str], start: int, degrees_of_freedom: int | None) -> Coefficients:
        """The coefficients from a place on, by name."""
        where = slice(start, start + len(terms))
        return Coefficients(tuple(terms), self.estimates[where], self.covariance[where, where], degrees_of_freedom)


def fit(
    likelihood: Likelihood, starts: Starts, sampled: RowSampling, terms: Sequence[str], *, variance: str | None
) -> Fitted:
    """Maximise, and estimate the covariance that was asked for: by default what the sampling calls for."""
    kind = kind_of_variance(variance, sampled)
    check_enough(likelihood.n, likelihood.p)
    peak = maximise(likelihood, starts)
    words = sampled.sandwich_words() if kind == "sandwich" else f"{kind} information"
    return described(
        likelihood, peak, terms, kind, lambda: score_variance(likelihood, peak.theta, sampled), words=words
    )


def described(
    hill: Hill, peak: Optimum, terms: Sequence[str], kind: str, scores: Callable[[], Real], *, words: str
) -> Fitted:
    """What was found at the end of a search; ``scores`` gives the variance of the total score for the sandwich."""
    information = peak.at.information
    if kind == "expected" or not is_positive_definite(information):
        information = hill.expected(peak.theta)
    known, unknown = _directions(information / hill.total)
    bread = known @ np.linalg.solve(known.T @ information @ known, known.T)
    middle = scores() if kind == "sandwich" else information
    T = hill.back
    covariance = T @ bread @ middle @ bread @ T.T
    lost = _touched(T, unknown)
    covariance[lost], covariance[:, lost] = np.nan, np.nan
    flags = _flags(hill, peak, [term for term, is_lost in zip(terms, lost, strict=True) if is_lost])
    return Fitted(
        T @ peak.theta,
        (covariance + covariance.T) / 2,
        peak.at.value,
        peak.iterations,
        peak.converged and not lost.any(),
        words,
        flags,
    )


def score_variance(likelihood: Likelihood, theta: Real, sampled: RowSampling) -> Real:
    """B on the common scale, shape (p, p)."""
    slopes = likelihood.slopes(theta)
    if sampled.cluster is None:
        B = sampled.variance_by_rows(likelihood.score_blocks(slopes), likelihood.p)
    else:
        weights = 1.0 if sampled.weights is None else sampled.weights
        columns = ((place, column * weights) for place, column in likelihood.score_columns(slopes))
        B = sampled.variance_by_clusters(columns, likelihood.p)
    if sampled.fraction is not None:
        squared = np.ones(sampled.n) if sampled.weights is None else sampled.weights**2
        B = B + likelihood.randomization(theta, sampled.fraction[sampled.row_strata()] * squared)
    return np.asarray(B)


def _directions(information: Real) -> tuple[Real, Real]:
    """Directions in which something is known, and those in which nothing is, as columns."""
    values, vectors = np.linalg.eigh(information)
    return vectors[:, values >= FLAT], vectors[:, values < FLAT]


def _touched(T: Real, unknown: Real) -> Real:
    """Which of the given coefficients depend on a direction in which nothing is known."""
    share = np.abs(T @ unknown) / np.sqrt((T**2).sum(axis=1))[:, None]
    return np.asarray((share > 1e-3).any(axis=1))


def _flags(likelihood: Hill, peak: Optimum, lost: Sequence[str]) -> tuple[str, ...]:
    low, high = likelihood.far(peak.theta, FAR)
    flags = []
    if lost:
        flags.append(_running_away(likelihood, lost, low, high))
    elif low or high:
        flags.append(f"{low + high:,} of {likelihood.n:,} rows have a fitted chance within 3e-7 of 0 or 1")
    if not peak.converged and not lost:
        flags.append(f"the search did not end after {peak.iterations} steps: do not use these numbers")
    if peak.several:
        flags.append("the likelihood has several peaks; the highest that was found is shown")
    return tuple(flags)


def _running_away(likelihood: Hill, lost: Sequence[str], low: int, high: int) -> str:
    named, n = listed(lost, len(lost), 60), likelihood.n
    if low == n or high == n:
        way, rate, who = ("minus", "few", "nobody") if low == n else ("plus", "many", "everybody")
        why = f"as {rate} people reported the first category as the design produces when {who} truly belongs to it"
        return f"no finite estimate: {named} runs to {way} infinity, because {why}; there is no standard error"
    if low and high and low + high == n:
        why = "the predictors tell the outcome apart without error (perfect separation)"
    elif low or high:
        why = f"in {low + high:,} of {n:,} rows the fitted chance is 0 or 1, as if some predictor decided it alone"
    else:
        why = "the reports hold next to no information about it"
    return f"no finite estimate: {named}; {why}; there is no standard error"


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the search ended.

    Attributes
    ----------
    theta
        Coefficients on the common scale, shape (p,).
    at
        Log-likelihood, gradient and observed information there.
    iterations
        Steps taken.
    converged
        Whether the gradient is zero up to the tolerance.
    several
        Whether another start led to a lower peak.
    """

    theta: Real
    at: Derivatives
    iterations: int
    converged: bool
    several: bool = False


def maximise(likelihood: Likelihood, starts: Callable[[Likelihood], Sequence[Real]]) -> Optimum:
    """The highest point that the starts lead to.

    With many rows the starts are followed on a part of them first, and only the best end goes on with more of them: it
    is a few standard errors of the part away, so that two or three steps remain.
    """
    step = min(COARSER, likelihood.n // PART)
    if step > 1:
        first = maximise(likelihood.thinned(step), starts)
        if first.converged and is_positive_definite(first.at.information):
            last = climb(likelihood, first.theta)
            return replace(last, iterations=first.iterations + last.iterations, several=first.several)
    return highest(climb(likelihood, start) for start in starts(likelihood))


def highest(ends: Iterable[Optimum]) -> Optimum:
    """The best end of several searches, and whether another one ended at a lower peak."""
    peaks = [*ends]
    best = max(peaks, key=lambda one: (one.converged, one.at.value))
    apart = TWO_PEAKS * (1 + abs(best.at.value))
    several = any(one.converged and best.at.value - one.at.value > apart for one in peaks)
    return replace(best, several=several)


def climb(likelihood: Hill, start: Real, *, steps: int = STEPS) -> Optimum:
    """Walk uphill from one start."""
    theta, at = start, likelihood.derivatives(start)
    for done in range(steps):
        if _is_flat(at, likelihood.total):
            return Optimum(_last_step(theta, at), at, done, converged=True)
        step = _direction(likelihood, theta, at)
        moved = _backtrack(likelihood, theta, at, step)
        if moved is None:
            return Optimum(theta, at, done, converged=False)
        theta, at = moved
    return Optimum(theta, at, steps, _is_flat(at, likelihood.total))


def _is_flat(at: Derivatives, total: float) -> bool:
    return bool(np.abs(at.gradient).max(initial=0.0) < TOLERANCE * total)


def _last_step(theta: Real, at: Derivatives) -> Real:
    """One more step, which costs nothing: it squares the error that the tolerance left."""
    if not is_positive_definite(at.information):
        return theta
    return np.asarray(theta + np.linalg.solve(at.information, at.gradient))


def _direction(likelihood: Hill, theta: Real, at: Derivatives) -> Real:
    """Newton's step, or Fisher's where the log-likelihood is not concave; never a leap."""
    if is_positive_definite(at.information):
        step = np.linalg.solve(at.information, at.gradient)
    else:
        values, vectors = np.linalg.eigh(likelihood.expected(theta))
        kept = np.maximum(values, SINGULAR * max(values[-1], np.finfo(float).tiny))
        step = vectors @ (vectors.T @ at.gradient / kept)
    return np.asarray(step) * min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))


def _backtrack(likelihood: Hill, theta: Real, at: Derivatives, step: Real) -> tuple[Real, Derivatives] | None:
    """The first of the step, its half, its quarter ... that climbs; the derivatives there."""
    slack = SLACK * (likelihood.total + abs(at.value))
    rise = float(at.gradient @ step)
    for halved in range(40):
        size = 0.5**halved
        trial = theta + size * step
        if halved and likelihood.value(trial) < at.value + 1e-4 * size * rise - slack:
            continue
        there = likelihood.derivatives(trial)
        if there.value >= at.value + 1e-4 * size * rise - slack:
            return trial, there
    return None


def is_positive_definite(matrix: Real) -> bool:
    """Whether a symmetric matrix is, by more than rounding."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0))
    if not np.isfinite(matrix).all() or (scale <= 0).any():
        return False
    try:
        np.linalg.cholesky(matrix / np.outer(scale, scale) - 1e-12 * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Held:
    """A likelihood with one of its parameters held at a value."""

    hill: Hill
    place: int
    at: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.hill.n

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return self.hill.total

    @property
    def back(self) -> Real:
        """T of the others."""
        return np.delete(np.delete(self.hill.back, self.place, axis=0), self.place, axis=1)

    def value(self, theta: Real) -> float:
        """The log-likelihood."""
        return self.hill.value(self._whole(theta))

    def derivatives(self, theta: Real) -> Derivatives:
        """The log-likelihood with its derivatives by the others."""
        there = self.hill.derivatives(self._whole(theta))
        return Derivatives(there.value, np.delete(there.gradient, self.place), self._rest(there.information))

    def expected(self, theta: Real) -> Real:
        """Expected information about the others."""
        return self._rest(self.hill.expected(self._whole(theta)))

    def far(self, theta: Real, limit: float) -> tuple[int, int]:
        """In how many rows a linear predictor lies below -limit, and in how many above the limit."""
        return self.hill.far(self._whole(theta), limit)

    def near(self, theta: Real) -> Held:
        """The same, made for a search around here."""
        return replace(self, hill=self.hill.near(self._whole(theta)))

    def _whole(self, theta: Real) -> Real:
        return np.insert(theta, self.place, self.at)

    def _rest(self, matrix: Real) -> Real:
        return np.delete(np.delete(matrix, self.place, axis=0), self.place, axis=1)


def profile_ends(
    hill: Hill, theta: Real, top: float, place: int, level: float, *, step: float, low: float, high: float
) -> tuple[float, float]:
    """The ends of the profile likelihood interval of one parameter, or the limits where it reaches so far.

    ``theta`` is where the log-likelihood has its maximum ``top``, ``step`` the first guess of half the width.
    """
    from maskwell.estimation.likelihood_intervals import distance

    reach = NormalDist().inv_cdf((1 + level) / 2)
    centre, others = float(theta[place]), np.delete(theta, place)
    ends = []
    for sign, most in ((-1.0, centre - low), (1.0, high - centre)):
        beside = {0.0: others}

        def loss(s: float, sign: float = sign, beside: dict[float, Real] = beside) -> float:
            start = beside[max(known for known in beside if known <= s)]  # from the side of the maximum
            best = climb(Held(hill, place, centre + sign * s).near(start), start, steps=PROFILE_STEPS)
            if best.converged:
                beside[s] = best.theta
            return math.sqrt(2 * max(top - best.at.value, 0.0))

        ends.append(centre + sign * distance(loss, most, reach, step, PROFILE_EXACT))
    return ends[0], ends[1]

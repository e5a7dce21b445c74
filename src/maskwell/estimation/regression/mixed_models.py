"""Logistic regression with a random intercept, behind a randomized outcome with two categories.

    L_g = integral of prod_i lam_i(x_i' beta + s v) phi(v) dv,      lam_i(eta) = a_i expit(eta) + b_i expit(-eta)
with the standard deviation s of the intercepts, searched for without a bound since L(s) = L(-s), and the row a_i, b_i
of P. Gauss-Hermite nodes are moved to the mean, and stretched to the deviation, of v given a group's reports. Source:
standard (as in R's lme4 and GLMMRR); derivatives derived, by Louis's form of the information with the nodes held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import option, shorten
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.likelihood_search import Derivatives, Optimum, climb, highest, profile_ends
from maskwell.estimation.regression.logit_models import Prepared, regress_outcome
from maskwell.estimation.regression.model_matrix import BLOCK, ModelMatrix, check_enough
from maskwell.estimation.regression.named_coefficients import Parameter
from maskwell.estimation.regression.nested_models import no_spread_test
from maskwell.estimation.regression.predicted_chances import CurveChances
from maskwell.estimation.regression.regression_likelihood import Fitted, described
from maskwell.estimation.regression.regression_result import Besides, RandomIntercept, Regression
from maskwell.estimation.regression.row_likelihoods import Logit, Slopes
from maskwell.estimation.regression.row_sampling import kind_of_variance
from maskwell.notes import Note

NODES = ((1.5, 25), (3.0, 51), (math.inf, 101))  # of each group's quadrature, up to which deviation of the intercept
# Errors of the log-likelihood are then below 1e-6 up to 1.5 and below 1e-4 up to 3, as tried with groups of 2 to 200
MEAN_NODES = 41  # of the quadrature over all groups, for predictions
MODE_STEPS = 12
ROUNDS = 15
ROUND_STEPS = 5
LEAST_SPREAD = 0.05
STARTS = (0.5, 2.0)  # standard deviations of the intercept with which the search begins
WIDEST = 10.0  # a standard deviation beyond which a profile is not followed: most chances are 0 or 1 then
LATENT = math.pi**2 / 3  # variance of the logistic distribution
JOINED = '{"any": ["once", "often"]}'
FEW = 10
NOTHING = 1e-8  # gain in log-likelihood, as a share of it, below which there is no variance between groups


@dataclass(frozen=True, eq=False)
class _MixedLikelihood:
    """The log-likelihood of rows, group after group; theta holds coefficients, then the spread of intercepts."""

    rows: Logit  # What each row says
    matrix: ModelMatrix  # The model matrix
    sizes: Array  # Rows of each group
    # Nodes of each block, and the logarithms of their weights; None where they are placed anew for each theta. With
    # nodes that are held the derivatives are those of the sum exactly
    held: tuple[tuple[Real, Real], ...] | None = None

    @property
    def n(self) -> int:
        return self.matrix.n

    @property
    def total(self) -> float:
        return float(self.n)

    @property
    def back(self) -> Real:
        """T, shape (p + 1, p + 1): coefficients of the columns as they were given, then the standard deviation."""
        T = np.eye(self.matrix.p + 1)
        T[:-1, :-1] = self.matrix.back
        return T

    def value(self, theta: Real) -> float:
        return sum(float(block.log_likelihood.sum()) for block in self._at(theta))

    def derivatives(self, theta: Real) -> Derivatives:
        value, p = 0.0, len(theta)
        gradient, information = np.zeros(p), np.zeros((p, p))
        for there in self._at(theta):
            value += float(there.log_likelihood.sum())
            gradient += there.scores.sum(axis=1)
            information += there.information()
        return Derivatives(value, gradient, information)

    def expected(self, theta: Real) -> Real:
        scores = [block.scores for block in self._at(theta)]
        return np.asarray(sum(score @ score.T for score in scores))

    def far(self, theta: Real, limit: float) -> tuple[int, int]:
        """In how many rows the fixed part of the predictor lies below -limit, and in how many above the limit."""
        fixed = np.concatenate([self.fixed(theta, where) for where, _ in self._blocks])
        return int((fixed < -limit).sum()), int((fixed > limit).sum())

    def span(self, step: Real) -> float:
        """The largest change of a predictor, for one standard deviation of the intercept."""
        fixed = [float(np.abs(self.fixed(step, where)).max()) for where, _ in self._blocks]
        return max(*fixed, abs(float(step[-1])))

    def fixed(self, theta: Real, where: slice) -> Real:
        return np.asarray((theta[:-1] / self.matrix.scale) @ self.matrix.block(where))

    def near(self, theta: Real) -> _MixedLikelihood:
        """The same with nodes that are placed for this theta."""
        anew = (_Block(self, theta, *block, None) for block in self._blocks)
        return replace(self, held=tuple((block.v, block.weight) for block in anew))

    def _at(self, theta: Real) -> Iterator[_Block]:
        for number, block in enumerate(self._blocks):
            yield _Block(self, theta, *block, None if self.held is None else self.held[number])

    @cached_property
    def _blocks(self) -> list[tuple[slice, Array]]:
        """Rows of whole groups, about as many as fit into the processor's cache, with the sizes of the groups."""
        ends = np.cumsum(self.sizes)
        parts = np.split(np.arange(len(ends)), np.flatnonzero(np.diff((ends - 1) // BLOCK)) + 1)
        return [(slice(int(ends[g[0]] - self.sizes[g[0]]), int(ends[g[-1]])), self.sizes[g]) for g in parts]


class _Block:
    """Some groups at one theta: their log-likelihoods, scores and information. Arrays over nodes, then over rows."""

    def __init__(
        self, whole: _MixedLikelihood, theta: Real, where: slice, sizes: Array, nodes: tuple[Real, Real] | None
    ) -> None:
        self.whole, self.where, self.sizes = whole, where, sizes
        self.spread, self.fixed = float(theta[-1]), whole.fixed(theta, where)
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.v, self.weight = self._placed(*self._moments(*self._mode())) if nodes is None else nodes
        self.slopes = self._slopes(self.v)
        joint = self.weight + self._by_group(self.slopes.value)
        top = joint.max(axis=0)
        chance = np.exp(joint - top)
        self.log_likelihood = top + np.log(chance.sum(axis=0))
        self.posterior = chance / chance.sum(axis=0)

    def _placed(self, centre: Real, width: Real) -> tuple[Real, Real]:
        """Nodes for each group, and the logarithms of their weights in an integral with the normal density."""
        points, weights = _rule(next(nodes for most, nodes in NODES if abs(self.spread) <= most))
        v = centre + width * points[:, None]
        return v, np.log(weights)[:, None] + np.log(width) + (points[:, None] ** 2 - v**2) / 2

    @cached_property
    def at_nodes(self) -> Real:
        """Scores of each group at each node, shape (nodes, p + 1, groups)."""
        slope = self.slopes.gradient[0]
        scores = np.add.reduceat(slope[:, None, :] * self._columns, self.starts, axis=2)
        return np.concatenate([scores, (self.v * self._by_group(slope))[:, None, :]], axis=1)

    @cached_property
    def scores(self) -> Real:
        """Scores of each group, shape (p + 1, groups)."""
        return np.asarray((self.at_nodes * self.posterior[:, None, :]).sum(axis=0))

    def information(self) -> Real:
        """``-sum_g E[H + S S'] + E[S] E[S]'``, means over v given the reports of the group."""
        bend = self._by_row(self.posterior) * self.slopes.hessian[0, 0]
        v, X = self._by_row(self.v), self._columns
        total = np.empty((len(X) + 1,) * 2)
        total[:-1, :-1] = (X * bend.sum(axis=0)) @ X.T
        total[:-1, -1] = total[-1, :-1] = X @ (bend * v).sum(axis=0)
        total[-1, -1] = (bend * v * v).sum()
        spread = (self.at_nodes * np.sqrt(self.posterior)[:, None, :]).transpose(1, 0, 2).reshape(len(total), -1)
        return np.asarray(self.scores @ self.scores.T - total - spread @ spread.T)

    @cached_property
    def _columns(self) -> Real:
        return self.whole.matrix.block(self.where) / self.whole.matrix.scale[:, None]

    def _mode(self) -> tuple[Real, Real]:
        """About where v given the reports is most likely, and how far it spreads around there."""
        v = np.zeros(len(self.sizes))
        for _ in range(MODE_STEPS):
            there = self._slopes(v[None])
            curve = np.maximum(1 - self.spread**2 * self._by_group(there.hessian[0, 0])[0], 1.0)
            step = np.clip((self.spread * self._by_group(there.gradient[0])[0] - v) / curve, -1.0, 1.0)
            v = v + step
            if np.abs(step).max(initial=0.0) < 1e-3:
                break
        return v, 1 / np.sqrt(curve)

    def _moments(self, centre: Real, width: Real) -> tuple[Real, Real]:
        """Mean and standard deviation of v given the reports, from nodes around the mode."""
        v, weight = self._placed(centre, width)
        joint = weight + self._by_group(self._slopes(v).value)
        chance = np.exp(joint - joint.max(axis=0))
        chance /= chance.sum(axis=0)
        mean = (chance * v).sum(axis=0)
        return mean, np.sqrt(np.maximum((chance * (v - mean) ** 2).sum(axis=0), (LEAST_SPREAD * width) ** 2))

    def _slopes(self, v: Real) -> Slopes:
        """Of all rows with these values of v in each group, shape (nodes, groups)."""
        return self.whole.rows.slopes([self.fixed + self.spread * self._by_row(v)], self.where)

    def _by_row(self, values: Real) -> Real:
        return np.repeat(values, self.sizes, axis=-1)

    def _by_group(self, values: Real) -> Real:
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))


@cache
def _rule(nodes: int) -> tuple[Real, Real]:
    """Nodes and weights for the mean over a standard normal variable."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return points, weights / weights.sum()


def regress_mixed(rows: Prepared, groups: Array, column: str) -> Regression:
    """Logistic regression with a random intercept for each of the numbered groups, defined by a column."""
    evidence, sizes = rows.evidence, np.bincount(groups)
    _check(rows, sizes, column)
    plain = regress_outcome(rows)
    assert plain.margins is not None
    order, matrix = np.argsort(groups, kind="stable"), plain.margins.matrix
    check_enough(matrix.n, matrix.p + 1)
    sorted_rows = Logit(replace(evidence, index=evidence.index[order]))
    hill = _MixedLikelihood(sorted_rows, replace(matrix, versions=(matrix.versions[0][order],)), sizes)
    start = np.linalg.solve(matrix.back, plain.estimates) if plain.converged else np.zeros(matrix.p)
    peak = highest(_search(hill, np.append(start, spread)) for spread in STARTS)
    gain = peak.at.value - plain.log_likelihood
    if gain <= NOTHING * (1 + abs(plain.log_likelihood)):
        # The groups do not differ more than chance makes them: the fit is the one without a random intercept
        covariance = np.zeros((len(plain.terms) + 1,) * 2)
        covariance[:-1, :-1] = plain.covariance
        theta = np.append(np.linalg.solve(matrix.back, plain.estimates), 0.0)
        flag = Note("the-groups-of-differ-no-more", column=shorten(column, 24))
        return _with_intercept(plain, hill, theta, column, 0.0, covariance, plain, flag)
    kind, count = kind_of_variance(rows.variance, rows.sampled), len(sizes)
    fitted = described(
        hill,
        peak,
        (*plain.terms, "standard deviation"),
        kind,
        lambda theta: hill.expected(theta) * count / (count - 1),
        words=f"sandwich ({count:,} groups)" if kind == "sandwich" else "observed information",
        is_simple=kind != "sandwich",
    )
    return _with_spread(plain, hill, peak, fitted, column)


def _search(hill: _MixedLikelihood, theta: Real) -> Optimum:
    """Walk uphill with nodes that are held for a few steps and then placed anew, until that changes nothing."""
    steps = 0
    for _ in range(ROUNDS):
        peak = climb(hill.near(theta), theta, steps=ROUND_STEPS)
        steps, theta = steps + peak.iterations, peak.theta
        if peak.converged and peak.iterations <= 1:
            break
    return replace(peak, iterations=steps)


def _check(rows: Prepared, sizes: Array, column: str) -> None:
    """Raise unless a random intercept can be fitted."""
    evidence, sampled = rows.evidence, rows.sampled
    named = shorten(repr(column), 24)
    if evidence.k != 2:
        raise ParameterError(
            "a-random-intercept-for-an-outcome", k=evidence.k, option_name=option("combine", "any=once+often", JOINED)
        )
    if not sampled.is_simple:
        here = f"(1 | {shorten(column, 10)})"
        raise ParameterError("a-random-intercept-together", in_words=sampled.in_words(), here=here)
    if rows.variance == "expected":
        raise ParameterError("no-expected-information-with-a-random")
    if len(sizes) < 2 or sizes.max() < 2:
        many = "one value in all rows" if len(sizes) < 2 else "another value in each row"
        raise InputError("no-random-intercept-of-it", named=named, many=many)


def _with_spread(plain: Regression, hill: _MixedLikelihood, peak: Optimum, fitted: Fitted, column: str) -> Regression:
    deviation = float(fitted.estimates[-1]) if not np.isnan(fitted.infinite[-1]) else math.nan
    signs = np.ones(len(fitted.estimates))
    signs[-1] = 1.0 if deviation >= 0 else -1.0  # s and -s are the same model
    covariance = fitted.covariance * np.outer(signs, signs)
    part = fitted.part(plain.terms, 0, plain.degrees_of_freedom)
    result = replace(
        plain,
        estimates=part.estimates,
        covariance=part.covariance,
        infinite=part.infinite,
        profiles=part.profiles,
        flags=tuple(dict.fromkeys((*hill.rows.evidence.flags(), *fitted.flags))),
        search=replace(fitted.search, null_log_likelihood=plain.null_log_likelihood, incomparable=plain.incomparable),
    )
    theta = np.append(peak.theta[:-1], abs(peak.theta[-1]))
    return _with_intercept(result, hill, theta, column, abs(deviation), covariance, plain)


def _with_intercept(
    result: Regression,
    hill: _MixedLikelihood,
    theta: Real,
    column: str,
    deviation: float,
    covariance: Real,
    without: Regression,
    flag: str = "",
) -> Regression:
    """A fit with all that belongs to its random intercept; ``without`` is the fit without one."""
    groups, both = len(hill.sizes), result.converged and without.converged
    few = f"{groups} groups of {shorten(column, 24)} carry little information about the variance between groups"
    error = math.sqrt(covariance[-1, -1]) if deviation else None
    points, weights = _rule(MEAN_NODES)
    chances = CurveChances(
        np.array([weights, -weights]), np.array([0.0, 1.0]), points[:, None], np.arange(hill.matrix.p)
    )
    assert result.margins is not None
    return replace(
        result,
        family="mixed logistic",
        flags=(*result.flags, *([few] if groups < FEW else []), *([flag] if flag else [])),
        besides=Besides(
            random=RandomIntercept(column, groups, float(theta[-1]), covariance),
            parameters=_parameters(hill, theta, result.log_likelihood, column, deviation, error),
            free=1,
            checks=(no_spread_test(result.log_likelihood, without.log_likelihood),) if both else (),
        ),
        margins=replace(result.margins, chances=chances),
    )


def _parameters(
    hill: _MixedLikelihood, theta: Real, top: float, column: str, deviation: float, error: float | None
) -> tuple[Parameter, ...]:
    """The variance of the intercept and the intraclass correlation, with profile intervals."""

    @cache
    def ends(level: float) -> tuple[float, float]:
        step = 2 * error if error is not None and math.isfinite(error) else 0.3
        low, high = profile_ends(hill, theta, top, len(theta) - 1, level, step=step, low=0.0, high=WIDEST)
        return low, high if high < WIDEST else math.inf

    def variance(s: float) -> float:
        return s * s

    def correlation(s: float) -> float:
        return 1.0 if s == math.inf else s * s / (s * s + LATENT)

    def through(f: Callable[[float], float]) -> Callable[[float], tuple[float, float]]:
        return lambda level: (f(ends(level)[0]), f(ends(level)[1]))

    slopes = 2 * deviation, 2 * deviation * LATENT / (deviation**2 + LATENT) ** 2
    errors = [None if error is None else slope * error for slope in slopes]
    return (
        Parameter(f"variance (1 | {column})", variance(deviation), errors[0], through(variance)),
        Parameter("intraclass correlation", correlation(deviation), errors[1], through(correlation)),
    )

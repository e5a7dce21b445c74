"""Ordered outcomes behind a device: the cumulative logit with proportional odds, of categories c_1 (lowest) .. c_k.

    Pr(Y > c_q | x) = U_q = expit(x' beta - alpha_q),     alpha_1 < alpha_2 < ... < alpha_(k-1)
    lam = sum_j P[z, j] Pr(Y = c_j | x) = P[z, 1] + sum_q (P[z, q + 1] - P[z, q]) U_q
The search is for minus the threshold that splits the reports best, as the intercept of the model matrix, and for the
logarithms of the gaps between thresholds, which keeps these in order. Source: standard; derivatives derived.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import listed
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.likelihood_search import Profiles, is_positive_definite
from maskwell.estimation.regression.logit_models import Prepared, fingerprints, null_log_likelihood
from maskwell.estimation.regression.model_matrix import ModelMatrix
from maskwell.estimation.regression.nested_models import NestedTest
from maskwell.estimation.regression.predicted_chances import CurveChances, Margins
from maskwell.estimation.regression.regression_likelihood import Fitted, Likelihood, Predictor, fit
from maskwell.estimation.regression.regression_result import Besides, Regression
from maskwell.estimation.regression.row_likelihoods import ReportRows, Slopes, expit_pair

FAR = 30.0  # a threshold beyond this, without a standard error, is infinite
RAREST = 0.02  # share of a category with which the search begins at least


class _CurveRows(ReportRows):
    """A predictor z_q for each threshold, ``Pr(Y > c_q) = expit(z_q)``: odds need not be proportional."""

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        return self._slopes(eta, self.evidence.rows(where))

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        for chances in self.evidence.alternatives(where):
            could = chances.max(axis=0) > 0
            made = self._slopes(eta, np.where(could, chances, 1.0))
            yield np.exp(np.where(could, made.value, -np.inf)), [np.where(could, g, 0.0) for g in made.gradient]

    def _slopes(self, eta: list[Real], chances: Real) -> Slopes:
        gaps = [np.full_like(eta[0], np.inf), *(high - low for high, low in pairwise(eta))]
        return curve_slopes(np.array(eta), np.array(gaps), chances)


@dataclass(frozen=True, eq=False)
class _OrdinalRows(_CurveRows):
    """A base threshold and the logarithms of gaps: ``z_q = eta_1 + sum_r A[q, r] exp(eta_r)``.

    With ``m_1 = 1``, ``m_r = exp(eta_r)`` and ``G = A' g`` the gradient is ``m_r G_r``, the Hessian
    ``m_r m_s ((A' D A)_rs - G_r G_s) + [r = s > 1] m_r G_r``, D the diagonal part of the second derivatives.
    """

    base: int = 0

    @property
    def steps(self) -> Real:
        """A, shape (k - 1, k - 1): what one and each gap add to the predictor of each threshold."""
        q, r = np.arange(self.width)[:, None], np.arange(self.width)
        A = ((q < r) & (r <= self.base)).astype(np.float64) - ((self.base < r) & (r <= q))
        A[:, 0] = 1.0
        return np.asarray(A)

    def _slopes(self, eta: list[Real], chances: Real) -> Slopes:
        m = np.array([np.ones_like(eta[0]), *map(np.exp, eta[1:])])
        gaps, A = np.concatenate([np.full_like(m[:1], np.inf), m[1:]]), self.steps
        free = curve_slopes(eta[0] + A[:, 1:] @ m[1:], gaps, chances)
        g = np.array(free.gradient)
        bends = np.array([free.hessian[q, q] + free.gradient[q] ** 2 for q in range(self.width)])
        G = A.T @ g
        hessian = {
            (r, s): m[r] * m[s] * ((A[:, r] * A[:, s]) @ bends - G[r] * G[s]) + (m[r] * G[r] if r == s > 0 else 0.0)
            for r, s in combinations_with_replacement(range(self.width), 2)
        }
        return Slopes(free.value, list(m * G), hessian)


def curve_slopes(z: Real, gaps: Real, chances: Real) -> Slopes:
    """Of a report with these chances (k, rows), where ``Pr(Y > c_q) = expit(z_q)``; ``gaps`` are ``z_(q-1) - z_q``."""
    above, below = expit_pair(z)
    between = above[:-1] * below[1:] * -np.expm1(-gaps[1:])
    pi = np.concatenate([below[:1], between, above[-1:]])
    lam = (chances * pi).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # gaps that are not positive: no such chances
        value = np.where((gaps > 0).all(axis=0), np.log(lam), -np.inf)
        first = np.where(lam > 0, np.diff(chances, axis=0) * above * below / lam, 0.0)
    diagonal = first * (below - above)
    hessian = {
        (q, r): (diagonal[q] if q == r else 0.0) - first[q] * first[r]
        for q, r in combinations_with_replacement(range(len(z)), 2)
    }
    return Slopes(value, list(first), hessian)


def regress_ordinal(prepared: Prepared) -> Regression:
    """Cumulative logit; the categories of the evidence come from the lowest to the highest."""
    evidence, sampled = prepared.evidence, prepared.sampled
    if evidence.k < 3:
        raise ParameterError("an-ordinal-regression-of-an-outcome", k=evidence.k)
    matrix = ModelMatrix.of([prepared.values], prepared.names, sampled.weights)
    if matrix.constant is None:
        raise InputError("an-ordinal-regression-without-an-intercept")
    gap = ModelMatrix((np.empty((matrix.n, 0)),), ("gap",), np.zeros(1), np.ones(1), 0, with_ones=True)
    gaps = tuple(Predictor(1, 0, matrix.p + q) for q in range(evidence.k - 2))
    counts = evidence.counts(sampled.weights)
    above = 1 - np.cumsum(counts @ evidence.recovered / counts.sum())[:-1]
    rows = _OrdinalRows(evidence, int(np.argmin(np.abs(above - 0.5))))  # the threshold with the most even shares
    likelihood = Likelihood(rows, (matrix, gap), (Predictor(0, 0, 0), *gaps), sampled.weights)
    labels = tuple(evidence.categories.labels)
    thresholds = tuple(f"{low}|{high}" for low, high in pairwise(labels))
    named = [*matrix.names, *(one for q, one in enumerate(thresholds) if q != rows.base)]
    fitted = fit(likelihood, _starts, sampled, named, variance=prepared.variance)
    return _regression_of(fitted, matrix, rows, prepared, thresholds)


def _regression_of(
    fitted: Fitted, matrix: ModelMatrix, rows: _OrdinalRows, prepared: Prepared, thresholds: tuple[str, ...]
) -> Regression:
    """The fit in coefficients and thresholds, in place of an intercept and the logarithms of gaps."""
    evidence, sampled, constant, p = rows.evidence, prepared.sampled, matrix.constant, matrix.p
    labels = tuple(evidence.categories.labels)
    assert constant is not None
    kept = np.delete(np.arange(p), constant)
    log_gaps = fitted.estimates[p:]
    fitted, closed = _with_closed_gaps(fitted, p, labels)
    alpha = -fitted.estimates[constant] - rows.steps[:, 1:] @ np.exp(log_gaps)
    J = np.zeros((len(kept) + len(alpha), p + len(log_gaps)))  # by the intercept and the logarithms of gaps
    J[np.arange(len(kept)), kept] = 1.0
    J[len(kept) :, constant] = -1.0
    J[len(kept) :, p:] = -(rows.steps[:, 1:] * np.where(closed, 0.0, np.exp(log_gaps)))
    covariance = _through(J, fitted.covariance)
    lost = np.isnan(np.diag(covariance))[len(kept) :]
    infinite = np.concatenate([fitted.infinite[kept], np.where(lost & (np.abs(alpha) > FAR), np.sign(alpha), 0.0)])
    turned = {matrix.names[constant]: thresholds[rows.base], **{one: one for one in thresholds[: rows.base]}}
    mix = np.eye(len(labels), len(thresholds)) - np.eye(len(labels), len(thresholds), -1)
    chances = CurveChances(mix, np.eye(len(labels))[-1], np.eye(len(thresholds)), kept, sign=-1.0, constant=constant)
    found = replace(
        fitted,
        estimates=np.concatenate([fitted.estimates[kept], alpha]),
        covariance=covariance,
        infinite=infinite,
        profiles=_profiles(fitted.profiles, kept, constant, infinite, rows.base),
    )
    checks = _proportional_odds(fitted, matrix, rows) if sampled.is_simple and not closed.any() else ()
    return Regression.of_fit(
        found,
        (*(matrix.names[j] for j in kept), *thresholds),
        sampled,
        Margins(matrix, chances, sampled.weights, labels),
        family="ordinal",
        null_log_likelihood=null_log_likelihood(evidence, sampled.weights),
        flags=(*evidence.flags(), *_of_thresholds(fitted.flags, turned)),
        fingerprints=fingerprints(prepared.designs),
        besides=Besides(checks=checks),
    )


def _of_thresholds(flags: Sequence[str], reversed_names: Mapping[str, str]) -> list[str]:
    """Notes with the names of thresholds, for what has the opposite sign in the search."""
    other = {"plus": "minus", "minus": "plus"}
    return [
        re.sub(
            r"(?<![^ ,])({}) runs to (plus|minus)".format("|".join(map(re.escape, reversed_names))),
            lambda found: f"{reversed_names[found[1]]} runs to {other[found[2]]}",
            flag,
        )
        for flag in flags
    ]


def _through(J: Real, covariance: Real) -> Real:
    """``J V J'``, with NaN only for what depends on a parameter that has no variance."""
    lost = np.isnan(np.diag(covariance))
    out = np.asarray(J @ np.nan_to_num(covariance, nan=0.0) @ J.T)
    touched = (J[:, lost] != 0).any(axis=1)
    out[touched], out[:, touched] = np.nan, np.nan
    return out


def _profiles(every: Profiles, kept: Array, constant: int, infinite: Real, base: int) -> Profiles:
    """Those of the coefficients and of the base threshold; the others are not linear in what is searched for."""
    places = np.concatenate([kept, np.full(len(infinite) - len(kept), constant)])
    sign = np.where(np.arange(len(places)) < len(kept), 1.0, -1.0)[:, None]
    some = every.part(places)
    rows, paths = sign * some.rows, sign * some.paths
    rows[len(kept) :][np.arange(len(rows) - len(kept)) != base] = np.nan
    return replace(some, rows=rows, paths=paths, infinite=infinite)


def _with_closed_gaps(fitted: Fitted, p: int, labels: Sequence[Hashable]) -> tuple[Fitted, Array]:
    """The fit if merged thresholds are not a fault, and which gaps, of those after p coefficients, are merged."""
    closed = fitted.infinite[p:] == -1
    covariance = fitted.covariance.copy()
    covariance[p:][closed], covariance[:, p:][:, closed] = 0.0, 0.0
    if not closed.any() or np.isnan(covariance).any():
        return replace(fitted, covariance=covariance), closed
    empty = [str(label) for label, none in zip(labels[1:-1], closed, strict=True) if none]
    same = f"nobody is estimated to be in {listed(empty, len(empty), 40)}: its two thresholds are the same"
    others = (flag for flag in fitted.flags if not flag.startswith("no finite estimate"))
    return replace(
        fitted, covariance=covariance, search=replace(fitted.search, converged=True), flags=(*others, same)
    ), closed


def _starts(likelihood: Likelihood) -> list[Real]:
    """Thresholds from the recovered shares of the categories, or from equal ones; no slopes."""
    rows, matrix = likelihood.rows, likelihood.matrices[0]
    assert isinstance(rows, _OrdinalRows)
    counts = rows.evidence.counts(likelihood.weights)
    recovered = np.maximum(counts @ rows.evidence.recovered / counts.sum(), RAREST)
    return [_start(share / share.sum(), matrix, rows.base) for share in (recovered, np.ones(rows.evidence.k))]


def _start(shares: Real, matrix: ModelMatrix, base: int) -> Real:
    above = 1 - np.cumsum(shares)[:-1]
    z = np.log(above) - np.log1p(-above)
    theta = np.zeros(matrix.p + len(z) - 1)
    theta[matrix.constant] = z[base] * _unit(matrix)
    theta[matrix.p :] = np.log(-np.diff(z))
    return theta


def _unit(matrix: ModelMatrix) -> float:
    """What an intercept of one is on the common scale."""
    assert matrix.constant is not None
    return float(matrix.scale[matrix.constant] / matrix.versions[0][0, matrix.constant])


def _proportional_odds(fitted: Fitted, matrix: ModelMatrix, rows: _OrdinalRows) -> tuple[NestedTest, ...]:
    """The score test ``g' I^-1 g`` against coefficients that differ between thresholds. Source: standard."""
    evidence, thresholds, slopes = rows.evidence, rows.width, matrix.p - 1
    if not slopes or not fitted.search.converged:
        return ()
    assert matrix.constant is not None
    common = np.linalg.solve(matrix.back, fitted.estimates[: matrix.p])
    theta = np.tile(common, (thresholds, 1))
    theta[:, matrix.constant] += rows.steps[:, 1:] @ np.exp(fitted.estimates[matrix.p :]) * _unit(matrix)
    free = Likelihood.shared(_CurveRows(evidence), matrix, None)
    information = free.expected(theta.reshape(-1))
    if not is_positive_definite(information):
        return ()
    from scipy import special

    gradient, df = free.derivatives(theta.reshape(-1)).gradient, slopes * (thresholds - 1)
    statistic = float(gradient @ np.linalg.solve(information, gradient))
    p = float(special.chdtrc(df, statistic))
    return (NestedTest(statistic, df, None, p, "score", "proportional odds"),)

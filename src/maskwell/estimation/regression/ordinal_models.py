"""Ordered outcomes behind a device: the cumulative logit with proportional odds.

    Pr(Y > c_q | x) = U_q = expit(x' beta - alpha_q),     alpha_1 < alpha_2 < ... < alpha_(k-1)
    lam = sum_j P[z, j] Pr(Y = c_j | x) = P[z, 1] + sum_q (P[z, q + 1] - P[z, q]) U_q

where ``c_1 .. c_k`` are the categories from the lowest to the highest. A positive coefficient makes higher categories
more likely, by the same odds ratio at each threshold. The search is for -alpha_1, as the intercept of the model matrix,
and for the logarithms of the gaps between thresholds, which keeps these in order.
Source: standard; derivatives derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, pairwise

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import listed
from maskwell.designs.design import Design
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.logit_models import (
    check_outcome,
    fingerprints,
    null_log_likelihood,
    why_incomparable,
)
from maskwell.estimation.regression.model_matrix import ModelMatrix
from maskwell.estimation.regression.nested_models import NestedTest
from maskwell.estimation.regression.predicted_chances import CurveChances, Margins
from maskwell.estimation.regression.regression_likelihood import (
    Fitted,
    Likelihood,
    Predictor,
    fit,
    is_positive_definite,
)
from maskwell.estimation.regression.regression_result import Regression
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_likelihoods import Pairs, Slopes, expit_pair, randomization_of
from maskwell.estimation.regression.row_sampling import RowSampling

RAREST = 0.02
"""Share of a category with which the search begins at least."""


@dataclass(frozen=True, eq=False)
class CurveRows:
    """A predictor z_q for each threshold, ``Pr(Y > c_q) = expit(z_q)``: odds need not be proportional.

    dl / dz_q = d_q U_q (1 - U_q) / lam,   d_q = P[z, q + 1] - P[z, q]
    """

    evidence: Evidence

    @property
    def width(self) -> int:
        """One less than the categories."""
        return self.evidence.k - 1

    def thinned(self, step: int) -> CurveRows:
        """The same for every so many rows."""
        return replace(self, evidence=self.evidence.thinned(step))

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, self.evidence.rows(where))

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``sum_z lam_z g_z g_z'``."""
        total = {pair: np.zeros(len(eta[0])) for pair in combinations_with_replacement(range(self.width), 2)}
        for chances in self.evidence.alternatives(where):
            made = self._reported(eta, chances)
            for q, r in total:
                total[q, r] += np.exp(made.value) * made.gradient[q] * made.gradient[r]
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """Unbiased estimate of the variance that the randomization gives the gradient."""
        possible = self.evidence.alternatives(where)
        return randomization_of(self.evidence, where, possible, [self._reported(eta, c).gradient for c in possible])

    def _reported(self, eta: list[Real], chances: Real) -> Slopes:
        """Of a report that some rows could not have made: nothing for these."""
        possible = chances.max(axis=0) > 0
        made = self._slopes(eta, np.where(possible, chances, 1.0))
        value = np.where(possible, made.value, -np.inf)
        return Slopes(value, [np.where(possible, g, 0.0) for g in made.gradient], {})

    def _slopes(self, eta: list[Real], chances: Real) -> Slopes:
        gaps = [np.full_like(eta[0], np.inf), *(high - low for high, low in pairwise(eta))]
        return curve_slopes(np.array(eta), np.array(gaps), chances)


@dataclass(frozen=True, eq=False)
class OrdinalRows(CurveRows):
    """Predictors ``x' beta - alpha_1`` and the logarithms of the gaps: ``z_q = eta_1 - sum_(r <= q) exp(eta_r)``.

    With ``m_1 = 1``, ``m_r = -exp(eta_r)`` and sums ``G_r, D_r`` over q >= r of the first derivatives and of the part
    of the second that is diagonal, the gradient is ``m_r G_r``, the Hessian
    ``m_r m_s (D_max(r, s) - G_r G_s) + [r = s > 1] m_r G_r``.
    """

    def _slopes(self, eta: list[Real], chances: Real) -> Slopes:
        gaps = np.array([np.full_like(eta[0], np.inf), *map(np.exp, eta[1:])])
        z = eta[0] - np.concatenate([np.zeros((1, len(eta[0]))), np.cumsum(gaps[1:], axis=0)])
        free = curve_slopes(z, gaps, chances)
        G = np.cumsum(np.array(free.gradient)[::-1], axis=0)[::-1]
        bends = np.array([free.hessian[q, q] + free.gradient[q] ** 2 for q in range(self.width)])
        D = np.cumsum(bends[::-1], axis=0)[::-1]
        m = np.concatenate([np.ones((1, len(eta[0]))), -gaps[1:]])
        hessian = {
            (r, s): m[r] * m[s] * (D[s] - G[r] * G[s]) + (m[r] * G[r] if r == s > 0 else 0.0)
            for r, s in combinations_with_replacement(range(self.width), 2)
        }
        return Slopes(free.value, list(m * G), hessian)


def curve_slopes(z: Real, gaps: Real, chances: Real) -> Slopes:
    """Of a report with these chances given each category, shape (k, rows), where ``Pr(Y > c_q) = expit(z_q)``.

    ``gaps`` are ``z_(q-1) - z_q``, shape (k - 1, rows), so that small chances keep all their digits:
    ``expit(a) - expit(b) = expit(a) expit(-b) (1 - exp(b - a))``.
    """
    above, below = expit_pair(z)
    between = above[:-1] * below[1:] * -np.expm1(-gaps[1:])
    pi = np.concatenate([below[:1], between, above[-1:]])
    lam = (chances * pi).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # gaps that are not positive: no such chances
        value = np.where((gaps > 0).all(axis=0), np.log(lam), -np.inf)
        first = np.diff(chances, axis=0) * above * below / lam
    diagonal = first * (below - above)
    hessian = {
        (q, r): (diagonal[q] if q == r else 0.0) - first[q] * first[r]
        for q, r in combinations_with_replacement(range(len(z)), 2)
    }
    return Slopes(value, list(first), hessian)


def regress_ordinal(
    values: Array,
    names: Sequence[str],
    evidence: Evidence,
    sampled: RowSampling,
    *,
    designs: Design | Sequence[Design] | None,
    variance: str | None,
) -> Regression:
    """Cumulative logit from checked parts; the categories of the evidence come from the lowest to the highest."""
    check_outcome(evidence, len(values))
    if evidence.k < 3:
        raise ParameterError(
            f"an ordinal regression of an outcome with {evidence.k} categories",
            hint="it needs three or more categories in their order; leave the model out for two",
        )
    matrix = ModelMatrix.of([values], names, sampled.weights)
    if matrix.constant is None:
        raise InputError(
            "an ordinal regression without an intercept", hint="thresholds take its place: leave out the 0 or -1"
        )
    gap = ModelMatrix((np.empty((len(values), 0)),), ("gap",), np.zeros(1), np.ones(1), 0, with_ones=True)
    gaps = tuple(Predictor(1, 0, matrix.p + q) for q in range(evidence.k - 2))
    likelihood = Likelihood(OrdinalRows(evidence), (matrix, gap), (Predictor(0, 0, 0), *gaps), sampled.weights)
    labels = tuple(evidence.categories.labels)
    thresholds = tuple(f"{low}|{high}" for low, high in pairwise(labels))
    fitted = fit(likelihood, _starts, sampled, [*names, *thresholds[1:]], variance=variance)
    return _regression_of(fitted, matrix, evidence, sampled, thresholds, designs)


def _regression_of(
    fitted: Fitted,
    matrix: ModelMatrix,
    evidence: Evidence,
    sampled: RowSampling,
    thresholds: tuple[str, ...],
    designs: Design | Sequence[Design] | None,
) -> Regression:
    """The fit in coefficients and thresholds, in place of an intercept and the logarithms of gaps."""
    labels, constant, p = tuple(evidence.categories.labels), matrix.constant, matrix.p
    assert constant is not None
    kept = np.delete(np.arange(p), constant)
    log_gaps = fitted.estimates[p:]
    J = _jacobian(kept, constant, p, np.exp(log_gaps))
    fitted, closed = _with_closed_gaps(fitted, p, labels)
    alpha = -fitted.estimates[constant] + np.concatenate([[0.0], np.cumsum(np.exp(log_gaps))])
    reason = why_incomparable(sampled)
    mix = np.eye(len(labels), len(thresholds)) - np.eye(len(labels), len(thresholds), -1)
    rest = np.eye(len(labels))[-1]
    return Regression(
        (*(matrix.names[j] for j in kept), *thresholds),
        np.concatenate([fitted.estimates[kept], alpha]),
        J @ fitted.covariance @ J.T,
        sampled.degrees_of_freedom,
        family="ordinal",
        categories=labels,
        n=matrix.n,
        log_likelihood=fitted.log_likelihood,
        null_log_likelihood=null_log_likelihood(evidence, sampled.weights),
        iterations=fitted.iterations,
        converged=fitted.converged,
        variance=fitted.variance,
        flags=(*evidence.flags(), *fitted.flags, *filter(None, [reason])),
        incomparable=reason,
        fingerprints=fingerprints(designs),
        checks=_proportional_odds(fitted, matrix, evidence) if sampled.is_simple and not closed.any() else (),
        margins=Margins(
            matrix,
            CurveChances(mix, rest, np.eye(len(thresholds)), kept, sign=-1.0, constant=constant),
            sampled.weights,
            labels,
        ),
    )


def _with_closed_gaps(fitted: Fitted, p: int, labels: Sequence[Hashable]) -> tuple[Fitted, Array]:
    """The fit where thresholds that fall together are no fault, and which gaps, of those after p coefficients, are."""
    closed = np.isnan(np.diag(fitted.covariance))[p:]
    covariance = fitted.covariance.copy()
    covariance[p:][closed], covariance[:, p:][:, closed] = 0.0, 0.0
    if not closed.any() or np.isnan(covariance).any():
        return replace(fitted, covariance=covariance), closed
    empty = [str(label) for label, none in zip(labels[1:-1], closed, strict=True) if none]
    same = f"nobody is estimated to be in {listed(empty, len(empty), 40)}: its two thresholds are the same"
    others = (flag for flag in fitted.flags if not flag.startswith("no finite estimate"))
    return replace(fitted, covariance=covariance, converged=True, flags=(*others, same)), closed


def _jacobian(kept: Array, constant: int, p: int, gaps: Real) -> Real:
    """Derivatives of coefficients and thresholds by the coefficients with the intercept, and the logarithms of gaps."""
    J = np.zeros((len(kept) + 1 + len(gaps), p + len(gaps)))
    J[np.arange(len(kept)), kept] = 1.0
    J[len(kept) :, constant] = -1.0
    J[len(kept) + 1 :, p:] = np.tril(np.ones((len(gaps), len(gaps)))) * gaps
    return J


def _starts(likelihood: Likelihood) -> list[Real]:
    """Thresholds from the recovered shares of the categories, or from equal ones; no slopes."""
    rows, matrix = likelihood.rows, likelihood.matrices[0]
    assert isinstance(rows, OrdinalRows)
    counts = rows.evidence.counts(likelihood.weights)
    recovered = np.maximum(counts @ rows.evidence.recovered / counts.sum(), RAREST)
    return [_start(share / share.sum(), matrix) for share in (recovered, np.ones(rows.evidence.k))]


def _start(shares: Real, matrix: ModelMatrix) -> Real:
    above = 1 - np.cumsum(shares)[:-1]
    z = np.log(above) - np.log1p(-above)
    theta = np.zeros(matrix.p + len(z) - 1)
    theta[matrix.constant] = z[0] * _unit(matrix)
    theta[matrix.p :] = np.log(-np.diff(z))
    return theta


def _unit(matrix: ModelMatrix) -> float:
    """What an intercept of one is on the common scale."""
    assert matrix.constant is not None
    return float(matrix.scale[matrix.constant] / matrix.versions[0][0, matrix.constant])


def _proportional_odds(fitted: Fitted, matrix: ModelMatrix, evidence: Evidence) -> tuple[NestedTest, ...]:
    """The score test against coefficients that differ between thresholds: ``g' I^-1 g`` at the fit.

    Source: standard; ``I`` is the expected information of the larger model.
    """
    thresholds, slopes = evidence.k - 1, matrix.p - 1
    if not slopes or not fitted.converged:
        return ()
    assert matrix.constant is not None
    common = np.linalg.solve(matrix.back, fitted.estimates[: matrix.p])
    theta = np.tile(common, (thresholds, 1))
    theta[1:, matrix.constant] -= np.cumsum(np.exp(fitted.estimates[matrix.p :])) * _unit(matrix)
    free = Likelihood.shared(CurveRows(evidence), matrix, None)
    information = free.expected(theta.reshape(-1))
    if not is_positive_definite(information):
        return ()
    from scipy import special

    gradient, df = free.derivatives(theta.reshape(-1)).gradient, slopes * (thresholds - 1)
    statistic = float(gradient @ np.linalg.solve(information, gradient))
    p = float(special.chdtrc(df, statistic))
    return (NestedTest(statistic, df, None, p, "score", "proportional odds"),)

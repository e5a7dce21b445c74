"""Tests between two regressions on the same rows, one of which is a special case of the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, check_kind
from maskwell.core.phrases import Printed, p_equals, shorten
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.model_matrix import ModelMatrix, blocks
from maskwell.estimation.regression.named_coefficients import WaldTest

if TYPE_CHECKING:
    from maskwell.estimation.regression.regression_result import Regression

METHODS = ("likelihood-ratio", "wald")

WITHIN = 1e-9  # share of a column's squares that may be left when the columns of the larger model explain it
WORSE = 1e-6  # how far the log-likelihood of the larger model may be below that of the smaller one, by rounding


@dataclass(frozen=True, repr=False)
class NestedTest(WaldTest):
    """A test that the larger of two models explains nothing that the smaller does not."""

    method: str  # "likelihood-ratio", "wald" or "score"
    smaller: str | None = None  # The formula of the smaller model, None where it came from arrays
    reason: str = ""  # Why likelihoods are not compared, empty where they are, or could be
    # Whether a variance that cannot be negative is among what is tested: the statistic is then chi-squared with df
    # degrees of freedom in half of all samples, and with one less in the other half
    halves: bool = False

    def sentence(self) -> str:
        """The test in words."""
        kind = f"half chi2({self.df - 1}), half chi2({self.df})" if self.halves else self.law
        name = {"wald": "Wald test", "score": "score test"}.get(self.method, "likelihood ratio test")
        other = "the smaller model" if self.smaller is None else shorten(self.smaller, 40)
        which = "of" if self.method == "score" else "against"
        return f"{which} {other}: {name}, {kind} = {Printed(self.statistic):.4f}, {p_equals(self.p_value)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        told = {"formula": self.smaller, "method": self.method, **super().to_dict()}
        return {**told, "reason": self.reason, "halves": self.halves}

    def __repr__(self) -> str:
        return f"NestedTest({self.sentence()})"


def compare_nested(larger: Regression, smaller: Regression, *, method: str | None = None) -> NestedTest:
    """Test a model against a special case of it: ``2 (l1 - l0)``, or Wald's where likelihoods do not compare."""
    from maskwell.estimation.regression.regression_result import Regression

    check_kind(Regression, larger=larger, smaller=smaller)
    if method is not None and method not in METHODS:
        raise ParameterError("method-method", methods=", ".join(METHODS), method=method)
    _check_same_rows(larger, smaller)
    if larger.random is not None and smaller.random is None:
        reason = _why_no_ratio(larger, smaller)
        if method == "wald" or reason:
            reason = reason or "zero is on the boundary of a variance, no case for Wald"
            raise InputError("no-test-of-a-random-intercept", reason=reason)
        q = len(_restrictions(larger, smaller, may_be_same=True))
        return _halved(_gain(larger.log_likelihood, smaller.log_likelihood), q, smaller.formula)
    R = _restrictions(larger, smaller)
    reason = _why_no_ratio(larger, smaller)
    if method == "wald" or reason:
        if method == "likelihood-ratio":
            raise InputError("no-likelihood-ratio-test", reason=reason)
        test = larger.wald_test(R[:, : len(larger.terms)])
        return NestedTest(test.statistic, test.df, test.df_denominator, test.p_value, "wald", smaller.formula, reason)
    from scipy import special

    statistic = _gain(larger.log_likelihood, smaller.log_likelihood)
    p = float(special.chdtrc(len(R), statistic))
    return NestedTest(statistic, len(R), None, p, "likelihood-ratio", smaller.formula)


def no_spread_test(with_it: float, without: float) -> NestedTest:
    """The likelihood ratio test that the intercepts of groups do not vary, from both log-likelihoods."""
    return _halved(_gain(with_it, without), 0, "no random intercept")


def _halved(statistic: float, q: int, smaller: str | None) -> NestedTest:
    """Of a variance and q coefficients; the variance cannot be negative. Source: standard."""
    from scipy import special

    low = float(special.chdtrc(q, statistic)) if q else float(statistic <= 0)
    p = (low + float(special.chdtrc(q + 1, statistic))) / 2
    return NestedTest(statistic, q + 1, None, p, "likelihood-ratio", smaller, halves=True)


def _gain(larger: float, smaller: float) -> float:
    """Twice the difference of the log-likelihoods."""
    statistic = 2 * (larger - smaller)
    if statistic < -WORSE:
        raise InputError("the-larger-model-fits-worse")
    return max(statistic, 0.0)


def _check_same_rows(larger: Regression, smaller: Regression) -> None:
    """Raise for models of different data, as far as the fits show."""
    facts = [
        ("families", larger.family.removeprefix("mixed "), smaller.family.removeprefix("mixed ")),
        ("outcomes", larger.outcome, smaller.outcome),
        ("categories, or their order,", larger.categories, smaller.categories),
    ]
    if smaller.random is not None and (larger.random is None or larger.random.column != smaller.random.column):
        raise InputError("the-smaller-model-has-a-random")
    different = next((what for what, one, other in facts if one != other), None)
    if different is not None:
        raise InputError("the-models-have-different", rstrip=different.rstrip(","))
    if larger.n != smaller.n:
        raise InputError("the-models-use-different-rows", n=larger.n, smaller_n=smaller.n)
    nulls = larger.null_log_likelihood, smaller.null_log_likelihood
    same = None in nulls or math.isclose(*nulls, rel_tol=1e-9)  # type: ignore[arg-type]
    if not (same and {*smaller.fingerprints} <= {*larger.fingerprints}):
        raise InputError("the-models-explain-different-reports")


def _why_no_ratio(larger: Regression, smaller: Regression) -> str:
    """Why the likelihoods of two models must not be compared, empty where they may."""
    reason = larger.incomparable or smaller.incomparable
    if reason:
        return reason
    terms = [() if model.latent is None else model.latent.terms for model in (larger, smaller)]
    if terms[0] != terms[1]:
        return "the models of the randomized predictors differ too: fit both with the same latent"
    return "" if larger.converged and smaller.converged else "a search did not end at finite coefficients"


def _restrictions(larger: Regression, smaller: Regression, *, may_be_same: bool = False) -> Real:
    """R, shape (q, coefficients): the smaller model is the larger one with ``R beta = 0``."""
    if larger.margins is None or smaller.margins is None:
        raise InputError("regressions-of-this-kind-cannot", family=larger.family)
    R = restriction_of(larger.margins.matrix, smaller.margins.matrix, may_be_same=may_be_same)
    return larger.margins.chances.restriction(R)


def restriction_of(larger: ModelMatrix, smaller: ModelMatrix, *, may_be_same: bool = False) -> Real:
    """The same for one category of the outcome, from the columns of both models."""
    from scipy import linalg

    many, few = len(larger.versions), len(smaller.versions)
    if few not in (1, many):
        raise InputError("the-models-have-different-randomized-predictors")
    pairs = [
        (v, v if few == many else 0) for v in range(many)
    ]  # a model without a randomized predictor has one version
    gram, cross = np.zeros((larger.p, larger.p)), np.zeros((larger.p, smaller.p))
    for Z, X in _blocks(larger, smaller, pairs):
        gram += Z @ Z.T
        cross += Z @ X
    theta = np.linalg.solve(gram, cross)  # the columns of the smaller model are Z' theta
    left, whole = np.zeros(smaller.p), np.zeros(smaller.p)
    for Z, X in _blocks(larger, smaller, pairs):
        left += ((X - Z.T @ theta) ** 2).sum(axis=0)
        whole += (X**2).sum(axis=0)
    outside = np.flatnonzero(left > WITHIN * whole)
    if len(outside):
        raise InputError("the-larger-model-does-not-hold", name=shorten(repr(smaller.names[outside[0]]), 30))
    R = linalg.null_space((theta / np.linalg.norm(theta, axis=0)).T).T
    if not len(R) and not may_be_same:
        raise InputError("both-models-are-the-same")
    return np.asarray(R @ np.linalg.inv(larger.back))


def _blocks(larger: ModelMatrix, smaller: ModelMatrix, pairs: list[tuple[int, int]]) -> Any:
    """Rows of both: of the larger model on the common scale, shape (p, rows), of the smaller as given, (rows, p)."""
    for v, w in pairs:
        for where in blocks(larger.n):
            yield larger.block(where, v) / larger.scale[:, None], (smaller.block(where, w) + smaller.shift[:, None]).T

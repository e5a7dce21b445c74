"""Regression of a randomized outcome with attention: one predictor for the trait, one for attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.arrays import Real
from maskwell.designs.design import Design
from maskwell.errors import InputError, ParameterError, ReportError
from maskwell.estimation.regression.anchor import anchor_chance, first_reports
from maskwell.estimation.regression.coefficients import Coefficients
from maskwell.estimation.regression.fitting import fit
from maskwell.estimation.regression.likelihood import Likelihood, Predictor
from maskwell.estimation.regression.margins import Margins
from maskwell.estimation.regression.matrix import ModelMatrix, as_matrix
from maskwell.estimation.regression.result import Regression
from maskwell.estimation.regression.rows import Pairs, Slopes, expit_pair
from maskwell.estimation.regression.sampled import Sampled

ATTENTIONS = ("separate", "shared")


@dataclass(frozen=True, eq=False)
class AnchorRows:
    """Two predictors: eta of the first category, zeta of attention.

    With ``u = s (f - 1/2)`` and ``v = s' (a - 1/2)``, where ``f = b + (p - b) sigma(eta)``, ``gamma = sigma(zeta)``
    and the signs s, s' are + for the first report and - for the second:

        separate   l = ln(1/2 + gamma u) + ln(1/2 + gamma v)                    each question finds its own attention
        shared     l = ln(gamma (1/2 + u)(1/2 + v) + (1 - gamma) / 4)           one attention for both questions

    Source: derived.
    """

    first: Real
    anchor: Real
    chances: tuple[float, float]
    anchor_chance: float
    shared: bool
    width: int = 2

    def thinned(self, step: int) -> AnchorRows:
        """The same for every so many rows."""
        return replace(self, first=self.first[::step], anchor=self.anchor[::step])

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, 2 * self.first[where] - 1, 2 * self.anchor[where] - 1)

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """Mean of the products of gradients over the four pairs of reports."""
        total = {pair: np.zeros(len(eta[0])) for pair in ((0, 0), (0, 1), (1, 1))}
        for sign in (1.0, -1.0):
            for other in (1.0, -1.0):
                ones = np.ones(len(eta[0]))
                found = self._slopes(eta, sign * ones, other * ones)
                for q, r in total:
                    total[q, r] += np.exp(found.value) * found.gradient[q] * found.gradient[r]
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:  # noqa: D102
        raise InputError(
            "a finite population is not taken into account together with attention",
            hint="leave out the population: standard errors are then a little too large",
        )

    def _slopes(self, eta: list[Real], sign: Real, other: Real) -> Slopes:
        (p, b), half = self.chances, 0.5
        sigma, rest = expit_pair(eta[0])
        gamma, away = expit_pair(eta[1])
        u, v = sign * (b + (p - b) * sigma - half), other * (self.anchor_chance - half)
        du = sign * (p - b) * sigma * rest
        ddu = du * (rest - sigma)
        dg, ddg = gamma * away, gamma * away * (away - gamma)
        if self.shared:
            c = u / 2 + v / 2 + u * v
            dc, ddc = du * (half + v), ddu * (half + v)
            lam = 0.25 + gamma * c
            g0, g1 = gamma * dc / lam, dg * c / lam
            return Slopes(
                np.log(lam),
                [g0, g1],
                {(0, 0): gamma * ddc / lam - g0**2, (0, 1): dg * dc / lam - g0 * g1, (1, 1): ddg * c / lam - g1**2},
            )
        lam, mu = half + gamma * u, half + gamma * v
        g0, g1, h1 = gamma * du / lam, dg * u / lam, dg * v / mu
        return Slopes(
            np.log(lam) + np.log(mu),
            [g0, g1 + h1],
            {
                (0, 0): gamma * ddu / lam - g0**2,
                (0, 1): dg * du / lam - g0 * g1,
                (1, 1): ddg * u / lam - g1**2 + ddg * v / mu - h1**2,
            },
        )


def fit_with_anchor(
    X: Any,
    reports: Any,
    anchor: Any,
    design: Design,
    anchor_design: Design,
    *,
    codes: bool = False,
    anchor_share: float = 0.0,
    attention: str = "separate",
    attention_predictors: bool = True,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    lonely: str = "error",
    variance: str | None = None,
    names: Sequence[str] | None = None,
) -> Regression:
    """Logistic regression of a randomized trait, corrected with an anchor question for inattentive respondents.

    The trait and attention each have a logit in the predictors; ``latent`` of the result holds those of attention.

    Parameters
    ----------
    X, reports, design, codes, names
        As in :func:`fit_logistic`.
    anchor, anchor_design, anchor_share
        As in :func:`estimate_with_anchor`.
    attention
        "separate": the two reports of a respondent are taken as independent given X, as in the literature; "shared":
        who is inattentive at one question is so at the other, which uses more of the data if it is true.
    attention_predictors
        Whether attention depends on X (True) or is the same for all (False).
    """
    check_kind(str, attention=attention)
    check_kind(Flag, attention_predictors=attention_predictors)
    if attention not in ATTENTIONS:
        raise ParameterError(f"attention = {attention!r}", hint="attention is separate or shared", attention=attention)
    z = first_reports(reports, design, "reports", codes=codes)
    c = first_reports(anchor, anchor_design, "anchor reports", codes=codes)
    values, named = as_matrix(X, names)
    if not len(z) == len(c) == len(values):
        raise ReportError(
            f"{len(z):,} reports, {len(c):,} anchor reports and {len(values):,} rows of predictors",
            hint="give all three for each respondent",
        )
    sampled = Sampled.of(len(z), weights=weights, strata=strata, clusters=clusters, lonely=lonely)
    p, b = map(float, design.matrix()[0])
    rows = AnchorRows(z, c, (p, b), anchor_chance(anchor_design, anchor_share), attention == "shared")
    matrix = ModelMatrix.of([values], ("Intercept", *named), sampled.weights, with_ones=True)
    hidden = matrix
    if not attention_predictors:
        hidden = ModelMatrix.of([np.empty((len(z), 0))], ("Intercept",), sampled.weights, with_ones=True)
    likelihood = Likelihood(rows, (matrix, hidden), (Predictor(0, 0, 0), Predictor(1, 0, matrix.p)), sampled.weights)
    terms, hidden_terms = matrix.names, tuple(f"attention: {name}" for name in hidden.names)
    found = fit(likelihood, _starts, sampled, [*terms, *hidden_terms], variance=variance)
    return Regression(
        terms,
        found.estimates[: matrix.p],
        found.covariance[: matrix.p, : matrix.p],
        sampled.degrees_of_freedom,
        family="logistic",
        categories=tuple(design.inputs.labels),
        n=len(z),
        log_likelihood=found.log_likelihood,
        iterations=found.iterations,
        converged=found.converged,
        variance=found.variance,
        flags=found.flags,
        latent=Coefficients(
            hidden_terms,
            found.estimates[matrix.p :],
            found.covariance[matrix.p :, matrix.p :],
            sampled.degrees_of_freedom,
        ),
        fingerprints=(design.fingerprint, anchor_design.fingerprint),
        margins=Margins(matrix, 2, sampled.weights, tuple(design.inputs.labels)),
    )


def _starts(likelihood: Likelihood) -> list[Real]:
    """Zero, and most respondents attentive."""
    attentive = np.zeros(likelihood.p)
    place = likelihood.predictors[1].start
    attentive[place] = 1.5 * likelihood.matrices[1].scale[0]
    return [np.zeros(likelihood.p), attentive]

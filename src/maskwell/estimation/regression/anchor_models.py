"""Respondents who do not pay attention, and the anchor question from which their number is estimated.

One is attentive with probability ``gamma`` and else answers at random; of the anchor's trait the share is known, and
``a`` is the chance of the first anchor report from somebody attentive:
    Pr(first report | truth j) = gamma P[0, j] + (1 - gamma) / 2,    Pr(first anchor report) = gamma a + (1 - gamma) / 2
Source: derived; the correction is known from the work of Atsusaka and Stevenson on the crosswise model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from maskwell.core.arguments import Flag, Real, as_real, check_kind
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.errors import InputError, NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation.regression.model_matrix import ModelMatrix, as_matrix
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.predicted_chances import Margins, SoftmaxChances
from maskwell.estimation.regression.regression_likelihood import Likelihood, Predictor, fit
from maskwell.estimation.regression.regression_result import Besides, Regression
from maskwell.estimation.regression.report_evidence import report_codes
from maskwell.estimation.regression.row_likelihoods import RowModel, Slopes, expit_pair
from maskwell.estimation.regression.row_sampling import RowSampling
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.notes import Note


@dataclass(frozen=True, eq=False)
class Anchor:
    """The anchor question: its reports, its design, and the known share of its first category, usually 0."""

    reports: Any  # One of each respondent, shape (n,): labels or Reports
    design: Design  # With two reports and two categories
    share: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class AnchoredEstimate(Coefficients):
    """Shares corrected for inattention: the coefficients ``naive``, ``corrected`` and ``attentive`` (gamma)."""

    n: int = 0  # Number of respondents
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    @property
    def naive(self) -> float:
        """Share of the first category as if everybody paid attention."""
        return float(self.estimates[0])

    @property
    def corrected(self) -> float:
        """Share of the first category among all, corrected for inattention."""
        return float(self.estimates[1])

    @property
    def attentive(self) -> float:
        """Share of attentive respondents."""
        return float(self.estimates[2])

    def __repr__(self) -> str:
        lines = [f"Shares with an anchor question, n = {self.n:,} (95 % intervals)"]
        for term, value, (low, high) in zip(self.terms, self.estimates, self.confidence_interval(), strict=True):
            lines.append(f"  {term:<10} {Printed(value):8.4f}  [{Printed(low):.4f}, {Printed(high):.4f}]")
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def estimate_with_anchor(
    reports: Any, design: Design, anchor: Anchor, *, codes: bool = False, plan: Sampling | None = None
) -> AnchoredEstimate:
    """Share of the first category, corrected with an anchor question for respondents who answer at random.

        gamma = (lam' - 1/2) / (a - 1/2),       pi = ((lam - 1/2) / gamma + 1/2 - b) / (P[0, 0] - b),   b = P[0, 1]

    where ``lam`` and ``lam'`` are the shares of first reports to the question and to the anchor. Errors by
    linearisation, under the sampling that is given.

    Parameters
    ----------
    reports, design
        Report of each respondent to the question, shape (n,): labels or :class:`Reports`; and its design, with two
        reports and two categories.
    anchor
        The same of the anchor question: ``Anchor(reports, design, share=0.0)``.
    codes
        Whether the reports are codes in place of labels: 0 is the first report of its design, 1 the second.
    plan
        How the respondents were drawn, as in :func:`fit_logistic`.

    >>> from maskwell.procedures.registry import make_design
    >>> crosswise = make_design("crosswise", q="0.15")
    >>> reports = np.repeat(["same", "different"], [570, 230])
    >>> anchor = np.repeat(["same", "different"] * 2, [450, 120, 166, 64])
    >>> shares = estimate_with_anchor(reports, crosswise, Anchor(anchor, crosswise))
    >>> [round(x, 3) for x in (shares.naive, shares.corrected, shares.attentive)]   # half of the naive share was noise
    [0.196, 0.106, 0.771]
    """
    check_kind(Anchor, anchor=anchor)
    z = first_reports(reports, design, "reports", codes=codes)
    c = first_reports(anchor.reports, anchor.design, "anchor reports", codes=codes)
    if len(z) != len(c):
        raise ReportError("reports-and-anchor-reports", z_count=len(z), c_count=len(c))
    sampled = RowSampling.from_plan(plan, len(z))
    if sampled.fraction is not None:
        raise InputError(AnchorRows.refusal)
    w = np.ones(len(z)) if sampled.weights is None else sampled.weights
    a, (p, b) = anchor_chance(anchor), design.matrix()[0]
    lam, mu = float(w @ z / w.sum()), float(w @ c / w.sum())
    gamma = (mu - 0.5) / (a - 0.5)
    values = np.array([(lam - b) / (p - b), ((lam - 0.5) / gamma + 0.5 - b) / (p - b), gamma])
    slopes = np.array(
        [[1 / (p - b), 0.0], [1 / gamma / (p - b), -(lam - 0.5) / gamma**2 / (a - 0.5) / (p - b)], [0, 1 / (a - 0.5)]]
    )
    flags = [] if 0 < gamma <= 1 else [Note("the-share-of-attentive-respondents-lies")]
    flags += [] if 0 <= values[1] <= 1 else [Note("the-corrected-share-lies-outside-0")]
    scores = (w / w.sum())[:, None] * (np.column_stack([z - lam, c - mu]) @ slopes.T)
    return AnchoredEstimate(
        ("naive", "corrected", "attentive"),
        values,
        sampled.variance_of_total(scores),
        sampled.degrees_of_freedom,
        n=len(z),
        flags=tuple(flags),
    )


def anchor_chance(anchor: Anchor) -> float:
    """Chance of the first anchor report from somebody attentive."""
    share = as_real(anchor.share, "anchor_share")
    if not 0 <= share <= 1:
        raise ParameterError("anchor-share-is-not-between-0", share=share)
    first = anchor.design.matrix()[0]
    chance = float(share * first[0] + (1 - share) * first[1])
    if abs(chance - 0.5) < 1e-9:
        raise NotIdentifiableError("an-attentive-respondent-reports-the-anchor")
    return chance


def first_reports(reports: Any, design: Design, name: str, *, codes: bool) -> Real:
    """1 for the first report, 0 for the second."""
    check_kind(Design, design=design)
    check_kind(Flag, codes=codes)
    if design.k != 2 or design.m != 2:
        raise ParameterError("the-have-a-design-of-reports", name=name, m=design.m, k=design.k)
    design.check_identifiable()
    return np.asarray(report_codes(reports, design, codes=codes, name=name) == 0, dtype=np.float64)


ATTENTIONS = ("separate", "shared")


@dataclass(frozen=True, eq=False)
class AnchorRows(RowModel):
    """Predictors eta of the first category and zeta of attention ``gamma = sigma(zeta)``. Derived.

    l = ln(1/2 + gamma u) + ln(1/2 + gamma v), or shared: ln(gamma (1/2 + u)(1/2 + v) + (1 - gamma) / 4),
    with ``u = +-(b + (p - b) sigma(eta) - 1/2)`` and ``v = +-(a - 1/2)``, + for the first report.
    """

    first: Real
    anchor: Real
    chances: tuple[float, float]
    anchor_chance: float
    shared: bool
    width: int = 2
    refusal: ClassVar[str] = "a-finite-population-is-not-taken"

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, 2 * self.first[where] - 1, 2 * self.anchor[where] - 1)

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """Of the four pairs of reports."""
        ones = np.ones(len(eta[0]))
        for sign, other in product((1.0, -1.0), repeat=2):
            slopes = self._slopes(eta, sign * ones, other * ones)
            yield np.exp(slopes.value), slopes.gradient

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
    design: Design,
    anchor: Anchor,
    *,
    codes: bool = False,
    attention: str = "separate",
    attention_predictors: bool = True,
    variance: str | None = None,
    names: Sequence[str] | None = None,
    plan: Sampling | None = None,
) -> Regression:
    """Logistic regression of a randomized trait, corrected with an anchor question for inattentive respondents.

    The trait and attention each have a logit in the predictors; ``latent`` of the result holds those of attention.

    Parameters
    ----------
    X, reports, design, codes, variance, names, plan
        As in :func:`fit_logistic`.
    anchor
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
        raise ParameterError("attention-attention", attention=attention)
    check_kind(Anchor, anchor=anchor)
    z = first_reports(reports, design, "reports", codes=codes)
    c = first_reports(anchor.reports, anchor.design, "anchor reports", codes=codes)
    values, named = as_matrix(X, names)
    if not len(z) == len(c) == len(values):
        raise ReportError("reports-anchor-reports-and-rows", z_count=len(z), c_count=len(c), values_count=len(values))
    sampled = RowSampling.from_plan(plan, len(z))
    p, b = map(float, design.matrix()[0])
    rows = AnchorRows(z, c, (p, b), anchor_chance(anchor), attention == "shared")
    matrix = ModelMatrix.of([values], ("Intercept", *named), sampled.weights, with_ones=True)
    hidden = matrix
    if not attention_predictors:
        hidden = ModelMatrix.of([np.empty((len(z), 0))], ("Intercept",), sampled.weights, with_ones=True)
    likelihood = Likelihood(rows, (matrix, hidden), (Predictor(0, 0, 0), Predictor(1, 0, matrix.p)), sampled.weights)
    terms, hidden_terms = matrix.names, tuple(f"attention: {name}" for name in hidden.names)
    fitted = fit(likelihood, _starts, sampled, [*terms, *hidden_terms], variance=variance)
    return Regression.of_fit(
        fitted,
        terms,
        sampled,
        Margins(matrix, SoftmaxChances(2), sampled.weights, tuple(design.inputs.labels)),
        flags=fitted.flags,
        fingerprints=(design.fingerprint, anchor.design.fingerprint),
        besides=Besides(latent=fitted.part(hidden_terms, matrix.p, sampled.degrees_of_freedom)),
    )


def _starts(likelihood: Likelihood) -> list[Real]:
    """Zero, and most respondents attentive."""
    attentive = np.zeros(likelihood.p)
    place = likelihood.predictors[1].start
    attentive[place] = 1.5 * likelihood.matrices[1].scale[0]
    return [np.zeros(likelihood.p), attentive]

"""Respondents who do not pay attention, and the anchor question that tells how many they are.

A respondent is attentive with probability ``gamma`` and otherwise answers at random, each of the two reports with 1/2.
The anchor question uses the same kind of device for a trait that nobody (or a known share) has, so that its reports
tell gamma alone:

    Pr(first report | truth j) = gamma P[0, j] + (1 - gamma) / 2,    Pr(first anchor report) = gamma a + (1 - gamma) / 2

where ``a`` is the chance of the first anchor report from somebody attentive.

Source: derived; the correction is known from the work of Atsusaka and Stevenson on the crosswise model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Flag, as_real, check_kind
from maskwell.core.arrays import Real
from maskwell.core.printed import Printed
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation.regression.coefficients import Coefficients
from maskwell.estimation.regression.evidence import report_codes
from maskwell.estimation.regression.sampled import Sampled
from maskwell.estimation.regression.sandwich import variance_of_total


@dataclass(frozen=True, eq=False, repr=False)
class AnchoredEstimate(Coefficients):
    """Shares corrected for respondents who did not pay attention.

    The three coefficients are ``naive`` (as if all paid attention), ``corrected`` and ``attentive`` (gamma).

    Attributes
    ----------
    n
        Number of respondents.
    flags
        What a reader should know, in words.
    """

    n: int = 0
    flags: tuple[str, ...] = ()

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
    reports: Any,
    anchor: Any,
    design: Design,
    anchor_design: Design,
    *,
    codes: bool = False,
    anchor_share: float = 0.0,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    lonely: str = "error",
) -> AnchoredEstimate:
    """Share of the first category, corrected with an anchor question for respondents who answer at random.

        gamma = (lam' - 1/2) / (a - 1/2),       pi = ((lam - 1/2) / gamma + 1/2 - b) / (P[0, 0] - b),   b = P[0, 1]

    where ``lam`` and ``lam'`` are the shares of first reports to the question and to the anchor. Errors by
    linearisation, under the sampling that is given.

    Parameters
    ----------
    reports, anchor
        Reports of each respondent to the question and to the anchor, shape (n,): labels or :class:`Reports`.
    codes
        Whether these are codes in place of labels: 0 is the first report of its design, 1 the second.
    design, anchor_design
        Their designs, with two reports and two categories.
    anchor_share
        Known share of the first category of the anchor, usually 0.

    >>> from maskwell.procedures.registry import make_design
    >>> crosswise = make_design("crosswise", q="0.15")
    >>> reports = np.repeat(["same", "different"], [570, 230])
    >>> anchor = np.repeat(["same", "different"] * 2, [450, 120, 166, 64])
    >>> found = estimate_with_anchor(reports, anchor, crosswise, crosswise)
    >>> [round(x, 3) for x in (found.naive, found.corrected, found.attentive)]   # half of the naive share was noise
    [0.196, 0.106, 0.771]
    """
    z = first_reports(reports, design, "reports", codes=codes)
    c = first_reports(anchor, anchor_design, "anchor reports", codes=codes)
    if len(z) != len(c):
        raise ReportError(f"{len(z):,} reports and {len(c):,} anchor reports", hint="give both for each respondent")
    sampled = Sampled.of(len(z), weights=weights, strata=strata, clusters=clusters, lonely=lonely)
    w = np.ones(len(z)) if sampled.weights is None else sampled.weights
    a, (p, b) = anchor_chance(anchor_design, anchor_share), design.matrix()[0]
    lam, mu = float(w @ z / w.sum()), float(w @ c / w.sum())
    gamma = (mu - 0.5) / (a - 0.5)
    values = np.array([(lam - b) / (p - b), ((lam - 0.5) / gamma + 0.5 - b) / (p - b), gamma])
    slopes = np.array(
        [[1 / (p - b), 0.0], [1 / gamma / (p - b), -(lam - 0.5) / gamma**2 / (a - 0.5) / (p - b)], [0, 1 / (a - 0.5)]]
    )
    scores = (w / w.sum())[:, None] * (np.column_stack([z - lam, c - mu]) @ slopes.T)
    return AnchoredEstimate(
        ("naive", "corrected", "attentive"),
        values,
        variance_of_total(scores, sampled),
        sampled.degrees_of_freedom,
        n=len(z),
        flags=_flags(values),
    )


def anchor_chance(design: Design, share: float) -> float:
    """Chance of the first anchor report from somebody attentive, when this share has the anchor's first category."""
    share = as_real(share, "anchor_share")
    if not 0 <= share <= 1:
        raise ParameterError(
            f"anchor_share = {share} is not between 0 and 1", hint="give the known share, usually 0", share=share
        )
    first = design.matrix()[0]
    chance = float(share * first[0] + (1 - share) * first[1])
    if abs(chance - 0.5) < 1e-9:
        raise NotIdentifiableError(
            "an attentive respondent reports the anchor like a coin: attention cannot be told",
            hint="use an anchor whose first report is not a matter of 1/2",
        )
    return chance


def first_reports(reports: Any, design: Design, name: str, *, codes: bool) -> Real:
    """1 for the first report, 0 for the second."""
    check_kind(Design, design=design)
    check_kind(Flag, codes=codes)
    if design.k != 2 or design.m != 2:
        raise ParameterError(
            f"the {name} have a design of {design.m} reports for {design.k} categories",
            hint="attention is modelled for two categories and two reports",
        )
    design.check_identifiable()
    return np.asarray(report_codes(reports, design, codes=codes, name=name) == 0, dtype=np.float64)


def _flags(values: Real) -> tuple[str, ...]:
    flags = []
    if not 0 < values[2] <= 1:
        flags.append("the share of attentive respondents lies outside (0, 1]: the anchor does not fit its design")
    if not 0 <= values[1] <= 1:
        flags.append("the corrected share lies outside [0, 1], as an unbiased estimate of a small share may")
    return tuple(flags)

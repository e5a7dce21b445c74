"""Margins of an estimate whose categories are tuples: sums over all but one place of them.

    theta = C pi_hat,     Cov(theta) = C Cov(pi_hat) C'

where C has a row of 0 and 1 for each answer in that place. Designs whose truths are pairs, such as an own and an
unrelated answer, note which of the two is wanted. Source: standard.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from maskwell.core.arguments import as_whole, check_kind
from maskwell.core.arrays import Real
from maskwell.designs.design import Design
from maskwell.errors import LabelError, TooLargeError
from maskwell.estimation.moments import sampling_part
from maskwell.estimation.result import Estimate
from maskwell.estimation.sampling.result import SurveyEstimate

SUMMED = ("wald", "logit", "bonferroni", "scheffe")
"""Intervals that need no more than a standard error, and so can be had for sums."""


def of_sums(interval: str | None) -> str | None:
    """The method of the intervals of sums where this one was asked for: the same, or the default.

    >>> of_sums("logit"), of_sums("profile")
    ('logit', None)
    """
    return interval if interval in SUMMED else None


def wanted_margin(estimate: Estimate, design: Design) -> tuple[str, Estimate] | None:
    """The variable that a design of pairs is there for, by name, and its shares; None for any other design.

    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> from maskwell.procedures.registry import make_design
    >>> sample = Sample.of([40, 20, 22, 118], make_design("simmons-twice", p1="0.6", p2="0.7"))
    >>> name, found = wanted_margin(estimate_by_moments(sample.counts, sample.design), sample.design)
    >>> name, found.categories, found.pi_hat.round(3).tolist()   # the unrelated answers are summed over
    ('own answer', ('yes', 'no'), [0.34, 0.66])
    """
    check_kind(Estimate, estimate=estimate)
    check_kind(Design, design=design)
    variables, wanted = design.provenance.get("variables"), design.provenance.get("wanted")
    if not isinstance(variables, list | tuple) or wanted not in variables:
        return None
    if tuple(estimate.categories) == tuple(design.inputs.labels):
        return str(wanted), margin_of(estimate, list(variables).index(wanted))
    told = any(isinstance(category, tuple) and category[0] == wanted for category in estimate.categories)
    return (str(wanted), _variable_of(estimate, str(wanted))) if told else None


def _variable_of(estimate: Estimate, name: str) -> Estimate:
    """The shares of one variable of an estimate that has those of several, named (variable, category)."""
    named = [(place, c) for place, c in enumerate(estimate.categories) if isinstance(c, tuple) and c[0] == name]
    C = np.zeros((len(named), len(estimate.categories)))
    C[np.arange(len(named)), [place for place, _ in named]] = 1
    return _summed(estimate, C, tuple(category for _, (_, category) in named))


def margin_of(estimate: Estimate, place: int) -> Estimate:
    """The shares of the answers in one place of the categories, with the errors of sums.

    Under a sampling plan totals and domains are summed too; the two parts of the variance are then not told apart.
    """
    place = as_whole(place, "place", low=-1000)
    check_kind(Estimate, estimate=estimate)
    answers = _answers(estimate.categories, place)
    C = np.array([[float(one == answer) for one in answers] for answer in dict.fromkeys(answers)])
    return _summed(estimate, C, tuple(dict.fromkeys(answers)))


def _summed(estimate: Estimate, C: Real, categories: tuple[Hashable, ...]) -> Estimate:
    """``C pi`` with the errors of sums."""
    pi_hat, covariance = C @ estimate.pi_hat, _covariance(C, estimate.covariance)
    variance = np.diagonal(covariance).copy()
    survey = isinstance(estimate, SurveyEstimate)
    sampling = np.full(len(C), np.nan) if survey else sampling_part(pi_hat, variance, estimate.n)
    summed = replace(
        estimate,
        categories=categories,
        pi_hat=pi_hat,
        variance=variance,
        sampling_variance=sampling,
        randomization_variance=variance - sampling,
        covariance=covariance,
        flags=estimate.flags if np.isnan(pi_hat).all() else _flags(pi_hat),
        samples=(),
        moments=None if estimate.moments is None else C @ estimate.moments,
        inverse=None,
    )
    return _with_totals(summed, C) if isinstance(summed, SurveyEstimate) else summed


def _with_totals(estimate: SurveyEstimate, C: Real) -> SurveyEstimate:
    covariance = _covariance(C, estimate.total_covariance)
    return replace(
        estimate,
        total=C @ estimate.total,
        total_variance=np.diagonal(covariance).copy(),
        total_covariance=covariance,
        domains={
            label: cast(SurveyEstimate, _summed(one, C, tuple(estimate.categories)))
            for label, one in estimate.domains.items()
        },
    )


def _answers(categories: Sequence[Hashable], place: int) -> list[Hashable]:
    tuples = [label for label in categories if isinstance(label, tuple) and -len(label) <= place < len(label)]
    if len(tuples) < len(categories):
        raise LabelError(
            f"the categories are no tuples with a place {place}: {str(categories[0])[:40]!r}",
            hint="margins are sums over the other places of categories such as ('yes', 'no')",
        )
    return [label[place] for label in tuples]


def _covariance(C: Real, covariance: Real | None) -> Real:
    if covariance is None:
        raise TooLargeError("covariances were left out, so sums have no standard error", hint="use fewer categories")
    return np.asarray(C @ covariance @ C.T)


def _flags(pi_hat: Real) -> tuple[str, ...]:
    if (pi_hat >= 0).all() and (pi_hat <= 1).all():
        return ()
    return ("an estimate lies outside [0, 1], as unbiased estimates of small shares may; do not cut it",)

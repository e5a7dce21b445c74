"""Variances that are never below the part that the device adds.

Unbiased estimates of a variance may come out far too small, or zero: of a category without reports, of one stratum with
one unit, of an estimate outside [0, 1]. The device is known, and given the nearest shares t inside [0, 1] it adds

    (sum_g w_g V_g(t) - t (1 - t)) / n

where V_g is the variance of the recovery from one report of design g, w_g its share of the squared weights and n the
number of reports of equal weight. Covariances stay the unbiased ones; sums and contrasts use those of ``raised_to``.
Derived.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import is_outside
from maskwell.estimation.outside_estimates import nearest_shares
from maskwell.estimation.sampling.survey_estimate import NEGATIVE, SurveyEstimate
from maskwell.estimation.share_estimate import ROUNDING, Estimate, Flag


def with_device_noise(estimate: Estimate) -> Estimate:
    """The estimate, and those of its domains, with variances of at least what the device adds, and a flag that says so.

    The part of the sampling is not a number where it would be negative: there the two parts cannot be separated.
    """
    if isinstance(estimate, SurveyEstimate) and estimate.domains:
        domains: Any = {label: with_device_noise(one) for label, one in estimate.domains.items()}
        estimate = replace(estimate, domains=domains)
    estimate = _without_residues(estimate)
    least = _least(estimate)
    if least is None:
        return estimate
    lacking = np.where(_is_unreliable(estimate), _lacking(least, estimate.variance), 0)
    raised = lacking > 0
    if raised.any():
        estimate = _raised(estimate, lacking, least)
    sampling = estimate.variance - estimate.randomization_variance
    sampling = np.where(np.abs(sampling) <= ROUNDING * estimate.variance, 0.0, sampling)
    unknown = sampling < 0
    flags = (*_other_flags(estimate, unknown), *([_least_error(raised)] if raised.any() else []))
    return replace(estimate, sampling_variance=np.where(unknown, np.nan, sampling), flags=flags)


def _without_residues(estimate: Estimate) -> Estimate:
    """Variances that are zero but for rounding are zero."""
    residues = np.abs(estimate.variance) <= ROUNDING / max(estimate.n, 1)
    return replace(estimate, variance=np.where(residues, 0.0, estimate.variance)) if residues.any() else estimate


def _least(estimate: Estimate) -> Real | None:
    """What the device adds to each variance; None where the reports of single designs are not known."""
    raw = estimate.pi_hat if estimate.moments is None else estimate.moments
    if estimate.sums_of is not None or not np.isfinite(raw).all():
        return None
    parts = (estimate.used if isinstance(estimate, SurveyEstimate) else ()) or estimate.parts
    t = nearest_shares(raw)
    if parts:
        spread = np.asarray(sum(part.weight * part.variance(t) for part in parts)) - t * (1 - t)
        return np.asarray(np.maximum(spread, 0) / estimate.effective_n)
    counts = estimate.binomial_counts
    if counts is None:
        return None
    a, b = counts.a, counts.b
    return np.asarray(((1 - t) * b * (1 - b) + t * a * (1 - a)) / (a - b) ** 2 / counts.n)


def _is_unreliable(estimate: Estimate) -> Array:
    """Which variances may be far too small: of estimates outside [0, 1], those of zero or less, and of one stratum."""
    degrees = estimate.degrees_of_freedom if isinstance(estimate, SurveyEstimate) else None
    lonely = degrees is not None and degrees < 1
    raw = estimate.pi_hat if estimate.moments is None else estimate.moments
    return np.asarray(is_outside(raw) | (estimate.variance <= ROUNDING / max(estimate.n, 1)) | lonely)


def _lacking(least: Real, variance: Real) -> Real:
    """What variances lack by more than rounding; nothing where one is not defined."""
    lacking = np.where(np.isfinite(variance), least - variance, 0)
    return np.where(lacking > ROUNDING * least, lacking, 0)


def _raised(estimate: Estimate, lacking: Real, least: Real) -> Estimate:
    more: dict[str, Any] = {}
    if isinstance(estimate, SurveyEstimate):
        lost = np.where(lacking > 0, _lacking(least * estimate.population**2, estimate.total_variance), 0)
        more = {"total_variance": estimate.total_variance + lost}
    return replace(estimate, variance=estimate.variance + lacking, **more)


def _other_flags(estimate: Estimate, unknown: Array) -> list[str]:
    positive = bool((estimate.variance > ROUNDING / max(estimate.n, 1)).all())
    gone = {"no-error": positive, "small-sampling": not unknown.any()}
    kept = [flag for flag in estimate.flags if not (isinstance(flag, Flag) and gone.get(flag.kind, False))]
    return [flag for flag in kept if flag != NEGATIVE or not positive]


def _least_error(raised: Array) -> Flag:
    words = (
        f"{int(raised.sum())} of {len(raised)} standard errors are those of the randomization alone, which is known: "
        "the reports vary less than it makes them vary on average"
    )
    return Flag(words, "least-error")

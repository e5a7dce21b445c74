"""Variances that are never below the part that the device adds: estimates of a variance may come out far too small.

    (sum_g w_g V_g(t) - t (1 - t)) / n        at the nearest shares t inside [0, 1]

where V_g is the variance of the recovery from one report of design g, w_g its share of the squared weights and n the
number of reports of equal weight. Covariances stay unbiased; sums and contrasts use those of ``raised_to``. Derived.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import is_outside
from maskwell.estimation.outside_estimates import Flag, nearest_shares
from maskwell.estimation.sampling.survey_estimate import NEGATIVE, SurveyEstimate
from maskwell.estimation.share_estimate import ROUNDING, Estimate


def with_device_noise(estimate: Estimate) -> Estimate:
    """The estimate, and those of its domains, with variances of at least what the device adds."""
    more: dict[str, Any] = {}
    if isinstance(estimate, SurveyEstimate) and estimate.domains:
        more["domains"] = {label: with_device_noise(one) for label, one in estimate.domains.items()}
    residues = np.abs(estimate.variance) <= ROUNDING / max(estimate.n, 1)  # zero but for rounding
    estimate = replace(estimate, variance=np.where(residues, 0.0, estimate.variance), **more)
    least = _least(estimate)
    if least is None:
        return estimate
    degrees = estimate.degrees_of_freedom
    of_one_stratum = degrees is not None and degrees < 1
    unreliable = is_outside(estimate.raw) | ~estimate.has_error | of_one_stratum
    lacking = np.where(unreliable, _lacking(least, estimate.variance), 0)
    raised = lacking > 0
    if raised.any():
        more = {"variance": estimate.variance + lacking}
        if isinstance(estimate, SurveyEstimate):
            lost = np.where(raised, _lacking(least * estimate.population**2, estimate.total_variance), 0)
            more["total_variance"] = estimate.total_variance + lost
        estimate = replace(estimate, **more)
    sampling = estimate.variance - estimate.randomization_variance
    sampling = np.where(np.abs(sampling) <= ROUNDING * estimate.variance, 0.0, sampling)
    unknown = sampling < 0
    parts = np.where(unknown, np.nan, sampling), estimate.randomization_variance
    return replace(estimate, variance_parts=parts, flags=_flags(estimate, raised, separable=not unknown.any()))


def _least(estimate: Estimate) -> Real | None:
    """What the device adds to each variance; None where the reports of single designs are not known."""
    if estimate.sums_of is not None or not np.isfinite(estimate.raw).all():
        return None
    parts = (estimate.used if isinstance(estimate, SurveyEstimate) else ()) or estimate.parts
    t = nearest_shares(estimate.raw)
    if parts:
        spread = np.asarray(sum(part.weight * part.variance(t) for part in parts)) - t * (1 - t)
        return np.asarray(np.maximum(spread, 0) / estimate.effective_n)
    counts = estimate.binomial_counts
    if counts is None:
        return None
    a, b = counts.a, counts.b
    return np.asarray(((1 - t) * b * (1 - b) + t * a * (1 - a)) / (a - b) ** 2 / counts.n)


def _lacking(least: Real, variance: Real) -> Real:
    """What variances lack by more than rounding; nothing where one is not defined."""
    lacking = np.where(np.isfinite(variance), least - variance, 0)
    return np.where(lacking > ROUNDING * least, lacking, 0)


def _flags(estimate: Estimate, raised: Array, *, separable: bool) -> tuple[str, ...]:
    """Those that still hold, and how many standard errors are those of the randomization."""
    positive = bool(estimate.has_error.all())
    gone = {kind for kind, is_gone in (("no-error", positive), ("small-sampling", separable)) if is_gone}
    kept = [flag for flag in estimate.flags if not (isinstance(flag, Flag) and flag.kind in gone)]
    words = (
        f"{int(raised.sum())} of {len(raised)} standard errors are those of the randomization alone, which is known: "
        "the reports vary less than it makes them vary on average"
    )
    added = [Flag(words, "least-error")] if raised.any() else []
    return (*(flag for flag in kept if flag != NEGATIVE or not positive), *added)

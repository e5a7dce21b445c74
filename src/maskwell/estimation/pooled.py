"""Samples that are each identifiable, pooled with weights that do not depend on the reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Real
from maskwell.estimation.moments import flags_of_moments, largest_steps, nearest_shares, sampling_part
from maskwell.estimation.result import Estimate
from maskwell.estimation.samples import Sample


def pool(estimates: Sequence[Estimate], samples: Sequence[Sample]) -> Estimate:
    """``sum_g w_g pi_hat_g`` with ``w_g`` in the ratio of ``n_g / v_g``: exactly unbiased.

    ``v_g`` is the summed variance of one report of sample g at equal shares. Used where the stacked matrices would be
    too large to write out, or where sets are reported. Derived.
    """
    precision = np.array([s.n / (s.design.added_variance() + 1 - 1 / s.design.k) for s in samples])
    weights = precision / precision.sum()
    pi_hat = sum(w * one.pi_hat for w, one in zip(weights, estimates, strict=True))
    variance = np.asarray(sum(w**2 * one.variance for w, one in zip(weights, estimates, strict=True)))
    parts = [one.covariance for one in estimates]
    covariance = None
    if all(part is not None for part in parts):
        covariance = np.asarray(sum(w**2 * part for w, part in zip(weights, parts, strict=True) if part is not None))
    n = sum(sample.n for sample in samples)
    sampling = sampling_part(np.asarray(pi_hat), variance, n)
    near = nearest_shares(np.asarray(pi_hat))
    nearby = sum(w**2 * s.design.share_variance(near) / s.n for w, s in zip(weights, samples, strict=True))
    return Estimate(
        categories=estimates[0].categories,
        pi_hat=np.asarray(pi_hat),
        variance=variance,
        sampling_variance=sampling,
        randomization_variance=variance - sampling,
        covariance=covariance,
        n=n,
        method="moments",
        fingerprint=estimates[0].fingerprint,
        flags=(
            "the estimates of the samples are pooled with weights that follow from their designs and sizes",
            *flags_of_moments(
                np.asarray(pi_hat),
                variance,
                sampling,
                full=covariance is not None,
                error=np.sqrt(nearby),
                steps=_steps(weights, samples),
            ),
        ),
        samples=tuple(samples),
    )


def _steps(weights: Real, samples: Sequence[Sample]) -> Real | None:
    """At most how much one report adds to each pooled estimate; None where sets are reported."""
    own = [largest_steps(sample.design, sample.design, sample.n) for sample in samples]
    parts = [w * steps for w, steps in zip(weights, own, strict=True) if steps is not None]
    return np.asarray(np.max(parts, axis=0)) if len(parts) == len(own) else None

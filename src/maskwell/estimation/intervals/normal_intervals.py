"""Intervals from standard errors: Wald, on the log odds, for all shares together, and with an effective size."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arguments import Real
from maskwell.errors import ParameterError
from maskwell.estimation.intervals.interval_ends import Intervals

if TYPE_CHECKING:
    from maskwell.estimation.share_estimate import Estimate


UNDEFINED = "no interval where a standard error is not defined"


def wald(estimate: Estimate, level: float) -> Intervals:
    """``pi_hat +- z SE``, not cut to [0, 1]; z is the normal quantile, or that of t where the estimate says so.

    Each interval stands for its own category, not for all of them together. Source: [Adeshiyan2011, section 3.3];
    standard.

    >>> import numpy as np
    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> intervals = wald(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].round(4).tolist()   # no share is negative: near zero, prefer a score interval
    [-0.0518, 0.034]
    """
    return symmetric(estimate, estimate.critical_value((1 + level) / 2), "wald", level)


def symmetric(estimate: Estimate, factor: float, method: str, level: float) -> Intervals:
    """``pi_hat +- factor * SE``."""
    half: Real = factor * estimate.standard_error
    flags = (UNDEFINED,) if np.isnan(half).any() else ()
    return Intervals(estimate.pi_hat - half, estimate.pi_hat + half, method, level, flags)


def logit(estimate: Estimate, level: float) -> Intervals:
    """``expit(logit(pi_hat) +- z SE / (pi_hat (1 - pi_hat)))`` where 0 < pi_hat < 1, and NaN with a flag elsewhere.

    Do not use it near 0 or 1: it covers less than it says there (see docs/theory/intervals.md). Standard.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> intervals = logit(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].tolist(), intervals.flags[0]
    ([nan, nan], 'no logit interval for 2 of 2 categories: it needs an estimate between 0 and 1')
    """
    p, error = estimate.pi_hat, estimate.standard_error
    inside = (p > 0) & (p < 1)
    q = np.where(inside, p, 0.5)
    centre, half = np.log(q / (1 - q)), estimate.critical_value((1 + level) / 2) * error / (q * (1 - q))
    low, high = (np.where(inside, 0.5 + 0.5 * np.tanh((centre + side * half) / 2), np.nan) for side in (-1, 1))
    missing = int((~inside).sum())
    flags = [f"no logit interval for {missing} of {len(p)} categories: it needs an estimate between 0 and 1"]
    flags = flags if missing else []
    return Intervals(low, high, "logit", level, (*flags, *((UNDEFINED,) if np.isnan(half).any() else ())))


def wilson_effective(estimate: Estimate, level: float) -> Intervals:
    """All shares s with ``|p - s| <= z sqrt(s (1 - s) / n_e)``, where n_e is the effective number of records.

    They lie within [0, 1] and exist for categories that no released record has. Source: Wilson's interval, standard;
    with the effective number of records derived.

    >>> from maskwell.estimation import estimate_unknown
    >>> wilson_effective(estimate_unknown([10, 0]), 0.95).to_array().round(4).tolist()
    [[0.5781, 1.0], [0.0, 0.4219]]
    """
    sizes: Real | None = getattr(estimate, "effective", None)
    if sizes is None:
        raise ParameterError(
            f"no wilson interval: this estimate by {estimate.method} has no effective number of records",
            hint="ask for a wald interval, or a score interval for two categories",
        )
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    p, t = estimate.pi_hat, z2 / sizes
    centre, half = p + t / 2, np.sqrt(t * p * (1 - p) + t**2 / 4)
    low, high = (centre - half) / (1 + t), (centre + half) / (1 + t)
    return Intervals(np.where(p == 0, 0.0, low), np.where(p == 1, 1.0, high), "wilson", level)


def bonferroni(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with ``z`` at ``1 - alpha / (2 k)``: all k shares are covered together with chance ``1 - alpha``.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Uniform
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
    >>> estimate = estimate_by_moments(sample.counts, sample.design)
    >>> round(float(bonferroni(estimate, 0.95).half_width[0] / estimate.standard_error[0]), 4)   # instead of 1.96
    2.394
    """
    lower = (1 - level) / (2 * len(estimate.pi_hat))  # for many categories one minus this would be rounded to one
    return symmetric(estimate, -estimate.critical_value(lower), "bonferroni", level)


def scheffe(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with the root of the chi-squared quantile (k - 1 degrees): for all contrasts, also found later.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Uniform
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
    >>> estimate = estimate_by_moments(sample.counts, sample.design)
    >>> round(float(scheffe(estimate, 0.95).half_width[0] / estimate.standard_error[0]), 4)   # instead of 1.96
    2.4477
    """
    from scipy.special import chdtri

    return symmetric(estimate, math.sqrt(chdtri(len(estimate.pi_hat) - 1, 1 - level)), "scheffe", level)

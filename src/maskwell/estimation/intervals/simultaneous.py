"""Simultaneous intervals: all of them together cover with the chance stated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from maskwell.estimation.intervals.base import Intervals
from maskwell.estimation.intervals.wald import symmetric

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate


def bonferroni(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with ``z`` at ``1 - alpha / (2 k)``: all k shares are covered together with chance ``1 - alpha``.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
    >>> estimate = estimate_by_moments(sample.counts, sample.design)
    >>> round(float(bonferroni(estimate, 0.95).half_width[0] / estimate.standard_error[0]), 4)   # instead of 1.96
    2.394
    """
    lower = (1 - level) / (2 * len(estimate.pi_hat))  # for many categories one minus this would be rounded to one
    return symmetric(estimate, -estimate.critical_value(lower), "bonferroni", level)


def scheffe(estimate: Estimate, level: float) -> Intervals:
    """Wald intervals with the root of the chi-squared quantile (k - 1 degrees): for all contrasts, also found later.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([500, 300, 200], Uniform.from_gamma(5, Categories.numbered(3)))
    >>> estimate = estimate_by_moments(sample.counts, sample.design)
    >>> round(float(scheffe(estimate, 0.95).half_width[0] / estimate.standard_error[0]), 4)   # instead of 1.96
    2.4477
    """
    from scipy.special import chdtri

    return symmetric(estimate, math.sqrt(chdtri(len(estimate.pi_hat) - 1, 1 - level)), "scheffe", level)

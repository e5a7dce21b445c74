"""Wald intervals: the estimate, plus and minus a number of standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Real
from maskwell.estimation.intervals.base import Intervals

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate

UNDEFINED = "no interval where a standard error is not defined"


def wald(estimate: Estimate, level: float) -> Intervals:
    """``pi_hat +- z SE``, not cut to [0, 1]; z is the normal quantile, or that of t where the estimate says so.

    Each interval stands for its own category, not for all of them together. Source: [Adeshiyan2011, section 3.3];
    standard.

    >>> import numpy as np
    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> found = wald(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> found.to_array()[0].round(4).tolist()   # no share is negative: near zero, prefer a score interval
    [-0.0518, 0.034]
    """
    return symmetric(estimate, estimate.critical_value((1 + level) / 2), "wald", level)


def symmetric(estimate: Estimate, factor: float, method: str, level: float) -> Intervals:
    """``pi_hat +- factor * SE``."""
    half: Real = factor * estimate.standard_error
    flags = (UNDEFINED,) if np.isnan(half).any() else ()
    return Intervals(estimate.pi_hat - half, estimate.pi_hat + half, method, level, flags)

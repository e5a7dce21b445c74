"""Logit intervals: Wald on the log odds, so that they stay between 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwell.estimation.intervals.base import Intervals
from maskwell.estimation.intervals.wald import UNDEFINED

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate


def logit(estimate: Estimate, level: float) -> Intervals:
    """``expit(logit(pi_hat) +- z SE / (pi_hat (1 - pi_hat)))`` where 0 < pi_hat < 1, and NaN with a flag elsewhere.

    Do not use it near 0 or 1: it covers less than it says there (see docs/theory/intervals.md). Standard.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> found = logit(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> found.to_array()[0].tolist(), found.flags[0]
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

"""Exact intervals: Clopper and Pearson's for the share of "yes", carried back to the true shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwell.estimation.intervals.base import Intervals
from maskwell.estimation.intervals.binary import carried_back, count_of_first

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate


def exact(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Intervals that cover with at least the chance stated, whatever the share and n; longer than score intervals.

    For a design with two categories and two reports; cut and flagged like :func:`score`. Source: Clopper and Pearson's
    interval, standard; carried back by the map of [Adeshiyan2011, eq. (2.4)], derived.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
    >>> found = exact(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> found.to_array()[0].round(4).tolist()   # a quarter; between a tenth and four tenths
    [0.1103, 0.3947]
    """
    x, n, design = count_of_first(estimate, "exact")
    return carried_back(design, clopper_pearson(x, n, level), "exact", level, cut=cut)


def clopper_pearson(x: int, n: int, level: float) -> tuple[float, float]:
    """All lam that neither one-sided binomial test at half of ``1 - level`` rejects.

    >>> [round(end, 4) for end in clopper_pearson(0, 10, 0.95)]
    [0.0, 0.3085]
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if x == 0 else float(betaincinv(x, n - x + 1, tail))
    high = 1.0 if x == n else float(betaincinv(x + 1, n - x, 1 - tail))
    return low, high

"""Score intervals: Wilson's for the share of "yes", carried back to the true shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from maskwell.estimation.intervals.base import Intervals
from maskwell.estimation.intervals.binary import carried_back, count_of_first

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate


def score(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Score intervals for a design with two categories and two reports: all shares that a score test keeps.

    Cut to [0, 1] unless ``cut`` is false; where nothing is left, the nearest end with the flag
    ``inconsistent_with_design``. The default there. Source: Wilson's interval, standard; carried back by the map of
    [Adeshiyan2011, eq. (2.4)], derived.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.moments import estimate_by_moments
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> found = score(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> found.to_array()[0].round(4).tolist()   # at most one in twenty-six
    [0.0, 0.0374]
    """
    x, n, design = count_of_first(estimate, "score")
    return carried_back(design, wilson(x, n, level), "score", level, cut=cut)


def wilson(x: int, n: int, level: float) -> tuple[float, float]:
    """All lam with ``|x/n - lam| <= z sqrt(lam (1 - lam) / n)``.

    >>> [round(end, 4) for end in wilson(0, 10, 0.95)]
    [0.0, 0.2775]
    """
    from statistics import NormalDist

    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    centre, spread = x + z2 / 2, math.sqrt(z2 * (x * (n - x) / n + z2 / 4))
    low = 0.0 if x == 0 else (centre - spread) / (n + z2)  # at the ends the difference is zero but for rounding
    high = 1.0 if x == n else (centre + spread) / (n + z2)
    return low, high

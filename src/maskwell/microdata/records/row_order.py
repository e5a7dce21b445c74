"""Whether the order of rows reveals a column, because equal labels are together or apart: for warnings.

A finding proves that it does; none proves nothing, so a plan that keeps the order of keys has to accept it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from math import perm

import numpy as np

from maskwell.core.verdicts import at_least, at_most

SHARE = 0.25  # A smaller departure from what random order gives is no finding, however many rows show it
ALARMS = 1e-6  # Probability of a finding in random order, at most


@dataclass(frozen=True)
class Neighbours:
    """Counts of values whose rows are in random order, and how many pairs of neighbours there are among these rows.

    With ``(n)_r = n (n - 1) ... (n - r + 1)`` and ``s_r = sum_v (N_v)_r``, a pair is equal with probability
    ``s_2 / (n)_2``, two that share a row both with ``s_3 / (n)_3``, two that share none both with
    ``(s_4 + s_2^2 - sum_v (N_v)_2^2) / (n)_4``. All rows in one line give the variance of the number of runs (derived).
    """

    counts: Iterable[int]
    pairs: int

    def moments(self) -> tuple[float, float]:
        """Expected number of equal pairs, and its variance."""
        sizes = [(int(n), int(k)) for n, k in zip(*np.unique([*self.counts], return_counts=True), strict=True)]
        n, m = sum(size * k for size, k in sizes), self.pairs
        if n < 4 or m < 1:
            return 0.0, 0.0
        s2, s3, s4 = (sum(k * perm(size, r) for size, k in sizes) for r in (2, 3, 4))
        apart = s4 + s2**2 - sum(k * perm(size, 2) ** 2 for size, k in sizes)
        # all over (n)_2 (n)_4, so that nothing is rounded before the differences
        both, four = perm(n, 2), perm(n, 4)
        squares = m * s2 * four + 2 * (m - 1) * s3 * (n - 3) * both + (m - 1) * (m - 2) * apart * both
        return m * s2 / both, max(0.0, (squares * both - m * m * s2 * s2 * four) / (both * both * four))


def reveals_values(differ: int, groups: Iterable[Neighbours]) -> bool:
    """Whether ``differ`` pairs of unequal neighbours are too few, or too many, for random order within the groups.

    With mean ``e`` and variance ``s^2`` of that number, ``t = |differ - e|`` and ``u = 2 t / s^2``, it is a finding if

        t >= e / 4  (too few)   or   t >= (pairs - e) / 4  (too many),   and
        (s^2 / 4) ((1 + u) log(1 + u) - u) >= log 10^6

    the last being Bennett's bound, for a number that moves by 2 where a row moves: a false alarm in at most one of
    10^6 columns. For two values and up to 400 rows the exact probability is below 10^-8 (computed).
    """
    pairs, equal, variance = 0, 0.0, 0.0
    for one in groups:
        mean, spread = one.moments()
        pairs, equal, variance = pairs + one.pairs, equal + mean, variance + spread
    away = differ - (pairs - equal)
    if variance <= 0 or not at_least(abs(away), SHARE * (pairs - equal if away < 0 else equal)):
        return False
    u = 2 * abs(away) / variance
    return at_most(math.log(1 / ALARMS), variance / 4 * ((1 + u) * math.log1p(u) - u))

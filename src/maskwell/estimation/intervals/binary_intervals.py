"""Score and exact intervals: an interval for the share of "yes", carried back to the true shares.

With two truths and two reports, ``lam = b + (a - b) pi`` where ``a`` and ``b`` are the chances of the first report for
the first and the second truth. An interval for lam, Wilson's or Clopper and Pearson's, becomes one for pi by
``(lam - b) / (a - b)``, which turns around when a < b, and is then cut to what can be: [0, 1].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arguments import Real
from maskwell.errors import ParameterError
from maskwell.estimation.intervals.interval_ends import Intervals, check_counted, is_of_categories, is_two_to_two

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.estimation.share_estimate import Estimate


INCONSISTENT = (
    "inconsistent_with_design: no share between 0 and 1 fits these reports at this level, so the nearest end stands "
    "for the interval; another design may have been used, or respondents did not follow the instructions"
)


def count_of_first(estimate: Estimate, method: str) -> tuple[int, int, Design]:
    """How often the first report was seen, among how many, and the design; an error unless it is two to two."""
    samples = check_counted(estimate, method)
    if not is_two_to_two(estimate):
        raise ParameterError(
            f"{method} intervals need one sample of a design with two categories and two reports",
            hint="ask for a profile interval: it does the same for any design"
            if is_of_categories(estimate)
            else "ask for a wald interval",
            method=method,
        )
    (sample,) = samples
    return int(sample.counts.values[0]), sample.n, sample.design


def carried_back(design: Design, lam: tuple[float, float], method: str, level: float, *, cut: bool) -> Intervals:
    """The interval for the share of the first report as intervals for both true shares."""
    (a, b), _ = design.matrix()
    low, high = sorted((end - b) / (a - b) for end in lam)
    flags: tuple[str, ...] = ()
    if cut:
        flags = (INCONSISTENT,) if high < 0 or low > 1 else ()
        low, high = np.clip([low, high], 0, 1).tolist()
    return Intervals(_both(low, 1 - high), _both(high, 1 - low), method, level, flags)


def _both(first: float, second: float) -> Real:
    return np.array([first, second], dtype=np.float64)


def score(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Score intervals for a design with two categories and two reports: all shares that a score test keeps.

    Cut to [0, 1] unless ``cut`` is false; where nothing is left, the nearest end with the flag
    ``inconsistent_with_design``. The default there. Source: Wilson's interval, standard; carried back by the map of
    [Adeshiyan2011, eq. (2.4)], derived.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([80, 420], Dense.of([["11/12", "1/6"], ["1/12", "5/6"]]))
    >>> intervals = score(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].round(4).tolist()   # at most one in twenty-six
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


def exact(estimate: Estimate, level: float, *, cut: bool = True) -> Intervals:
    """Intervals that cover with at least the chance stated, whatever the share and n; longer than score intervals.

    For a design with two categories and two reports; cut and flagged like :func:`score`. Source: Clopper and Pearson's
    interval, standard; carried back by the map of [Adeshiyan2011, eq. (2.4)], derived.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> sample = Sample.of([120, 180], Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]))
    >>> intervals = exact(estimate_by_moments(sample.counts, sample.design), 0.95)
    >>> intervals.to_array()[0].round(4).tolist()   # a quarter; between a tenth and four tenths
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

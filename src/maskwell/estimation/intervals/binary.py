"""What score and exact intervals share: an interval for the share of "yes", carried back to the true shares.

With two truths and two reports, ``lam = b + (a - b) pi`` where ``a`` and ``b`` are the chances of the first report for
the first and the second truth. An interval for lam becomes one for pi by ``(lam - b) / (a - b)``, which turns around
when a < b, and is then cut to what can be: [0, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import ParameterError
from maskwell.estimation.intervals.base import Intervals, check_counted, is_of_categories, is_two_to_two

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.estimation.result import Estimate

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

"""Wilson intervals with an effective number of records, for shares read off a released file."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import ParameterError
from maskwell.estimation.intervals.base import Intervals

if TYPE_CHECKING:
    from maskwell.estimation.result import Estimate


def wilson_effective(estimate: Estimate, level: float) -> Intervals:
    """All shares s with ``|p - s| <= z sqrt(s (1 - s) / n_e)``, where n_e is the effective number of records.

    They lie within [0, 1] and exist for categories that no released record has. Source: Wilson's interval, standard;
    with the effective number of records derived.

    >>> from maskwell.estimation.invariant_shares import estimate_unknown
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

"""What a survey estimate says about itself in words: its plan, its flags, a domain without rows."""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.cells import Cells
from maskwell.core.phrases import Printed
from maskwell.estimation.moments import flags_of_moments
from maskwell.estimation.sampling.recovery import Recovery, diagonal
from maskwell.estimation.sampling.result import SurveyEstimate
from maskwell.estimation.sampling.scheme import Scheme
from maskwell.estimation.sampling.stages import stages_of

DRAWN = {
    "with-replacement": "variance as for draws with replacement",
    "pps": "drawn with replacement with unequal chances",
    "poisson": "each drawn by its own chance (Poisson); randomization correction added",
    "hajek-deville": "unequal chances, Hajek-Deville approximation; randomization correction added",
    "syg": "unequal chances, Sen-Yates-Grundy variance; randomization correction added",
    "ht": "unequal chances, Horvitz-Thompson variance; randomization correction added",
}
FAR = 1e-3  # weights are often rounded: a sum that differs less from the population says nothing
NEGATIVE = (
    "a variance is estimated below zero, which can happen without replacement; the method with-replacement gives one "
    "that is never negative and on average not too small"
)


def plan_text(cells: Cells, scheme: Scheme) -> str:
    """One line: what was drawn, and what the variance accounts for."""
    parts = [f"{cells.rows:,} rows"]
    if cells.clusters and scheme.joint is None:
        parts.append(f"{int(stages_of(cells, with_replacement=True)[0].drawn.sum()):,} clusters")
    if (strata := len(np.unique(cells.stratum.codes))) > 1:
        parts.append(f"{strata:,} strata")
    weights = "calibrated weights, " if cells.auxiliary.labels.dtype.kind == "V" else ""
    return f"{', '.join(parts)}; {weights}{_drawn(cells, scheme)}"


def _drawn(cells: Cells, scheme: Scheme) -> str:
    if scheme.replicates is not None:
        added = "; randomization correction added" if scheme.replicates.finite else ""
        return f"{cells.replicates.shape[1]} replicate weights ({scheme.replicates.method}){added}"
    if scheme.method != "stages":
        return DRAWN[scheme.method]
    if cells.population.shape[1]:
        return "drawn without replacement from a known population; randomization correction added"
    unit = "clusters" if cells.clusters else "rows"
    return f"variance as for {unit} drawn with replacement"


def flags_of(
    share: Real,
    v_share: Real,
    randomization: Real,
    cells: Cells,
    *,
    size: float,
    base: float,
    error: Real | None = None,
    steps: Real | None = None,
) -> tuple[str, ...]:
    """What a reader should know; ``v_share`` is a covariance matrix or its diagonal.

    ``size`` is the sum of the weights, ``base`` what shares are divided by; estimates outside [0, 1] are judged by
    ``error`` where it is given, and by ``steps``, at most how much one report adds to each.
    """
    variance = diagonal(v_share)
    sampling, full = variance - randomization, v_share.ndim == 2
    flags = list(flags_of_moments(share, variance, sampling, full=full, error=error, steps=steps))
    if np.isnan(variance).any():
        flags.append("no variance: some replicate gives these rows no weight at all")
    if (variance < -1e-15).any():
        flags.append(NEGATIVE)
    if (cells.weight < 0).any():
        flags.append("calibration made some weights negative")
    if abs(size - base) > FAR * base:
        flags.append(
            f"the weights add up to {Printed(size):,.6g}, and shares are of {Printed(base):,.6g}: they do not sum to 1"
        )
    return tuple(flags)


def empty_domain(recovery: Recovery, text: str) -> SurveyEstimate:
    """No estimate: not a number, with a flag that says so."""
    k = recovery.k
    nothing = np.full(k, np.nan)
    matrix = np.full((k, k), np.nan) if recovery.full else None
    return SurveyEstimate(
        categories=recovery.readings[0].design.inputs.labels,
        pi_hat=nothing,
        variance=nothing,
        sampling_variance=nothing,
        randomization_variance=nothing,
        covariance=matrix,
        n=0,
        method="moments",
        fingerprint=recovery.fingerprint,
        flags=("no rows in this domain: there is no estimate",),
        total=np.zeros(k),
        total_variance=nothing,
        total_covariance=matrix,
        population=0.0,
        plan_text=text,
    )

"""Replicate weights with the data: ``V = scale sum_r rscale_r (theta_r - theta)(theta_r - theta)'``. Standard.

theta is the estimate with all rows or the mean of the theta_r. The spread holds the randomization, unless replicates
were scaled for a finite population. A replicate of a jackknife changes the weights of one stratum only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Flag, Real, RealNumber, as_floats, as_list, as_real, as_whole, check_kind
from maskwell.core.groups import Factor
from maskwell.core.row_sums import Cells
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.recovery import BLOCK, Recovery, square_of

METHODS = ("jk1", "jkn", "brr", "fay", "bootstrap", "other")


@dataclass(frozen=True)
class ReplicateRule:
    """How replicate estimates become a variance.

    Attributes
    ----------
    method
        ``jk1``, ``jkn``, ``brr``, ``fay``, ``bootstrap``, or ``other`` (with ``scale`` and ``rscales``).
    scale, rscales
        Factors of the whole sum and of each replicate; by default those of the method.
    rho
        Fay's factor, from 0 up to below 1.
    strata
        For ``jkn``: the stratum of the unit that each replicate leaves out. With n_h replicates in a stratum its factor
        is ``(n_h - 1) / n_h``.
    finite
        Whether the replicates were scaled for a finite population, so that the randomization correction is due.
    rank
        The rank of the replicate weights, where it is known: one more than their degrees of freedom.
    mse
        Whether deviations are from the estimate with all rows; else from the mean of the replicates.

    >>> ReplicateRule("jkn", strata=("a", "a", "b", "b")).factors(4).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    method: str
    scale: float | None = None
    rscales: tuple[float, ...] | None = None
    rho: float | None = None
    strata: tuple[Any, ...] | None = None
    finite: bool = False
    rank: int | None = None
    mse: bool = True

    def __post_init__(self) -> None:
        check_kind(str, method=self.method)
        if self.scale is not None:
            object.__setattr__(self, "scale", as_real(self.scale, "scale"))
        check_kind(RealNumber | None, rho=self.rho)
        check_kind(Flag, mse=self.mse)
        if self.method not in METHODS:
            raise ParameterError("no-replicate-method", methods=", ".join(METHODS), method=self.method)
        if self.rscales is not None:
            rscales = as_floats(as_list(self.rscales, "rscales"), "rscales", finite=False)
            object.__setattr__(self, "rscales", tuple(rscales.ravel().tolist()))
        if self.strata is not None:
            object.__setattr__(self, "strata", tuple(as_list(self.strata, "strata")))
        scaled = self.scale is not None or self.rscales is not None
        if self.method == "jkn" and self.strata is None and not scaled:
            raise ParameterError("jkn-needs-to-know-which-replicates")
        if self.method == "other" and not scaled:
            raise ParameterError("replicates-of-the-method-other-need")
        if (self.method == "fay") != (self.rho is not None):
            raise ParameterError("rho-with-the-method", rho=self.rho, method=self.method)
        if self.rho is not None and not 0 <= self.rho < 1:
            raise ParameterError("rho-is-not-from-0-up", rho=self.rho)
        numbers = [x for x in (self.scale, *(self.rscales or ())) if x is not None]
        if not all(np.isfinite(x) and x >= 0 for x in numbers):
            raise ParameterError("scale-and-rscales-must-be-numbers")

    def factors(self, count: int) -> Real:
        """``scale * rscale_r`` for each replicate."""
        count = as_whole(count, "count", high=10**6)
        if self.method == "jkn" and self.strata is not None:
            if len(self.strata) != count:
                raise ParameterError("strata-for-replicates", strata_count=len(self.strata), count=count)
            codes = Factor.of(list(self.strata), "strata of the replicates").codes
            n = np.bincount(codes)[codes]
            if (n < 2).any():
                raise ParameterError("a-stratum-of-the-jackknife")
            default_factors = np.asarray((n - 1) / n)
        else:
            scale = {"jk1": (count - 1) / count, "fay": 1 / (count * (1 - (self.rho or 0)) ** 2)}
            default_factors = np.full(count, scale.get(self.method, 1 / count))
        if self.rscales is not None and len(self.rscales) != count:
            raise ParameterError("rscales-for-replicates", rscales_count=len(self.rscales), count=count)
        if self.scale is None and self.rscales is None:
            return default_factors
        return (1.0 if self.scale is None else self.scale) * np.array(self.rscales or [1.0] * count)

    def degrees_of_freedom(self, count: int, strata: int = 1) -> float:
        """One less than the rank of the replicate weights: units minus strata for a jackknife, strata for half samples.

        Where the rank is not known, the same from what is: the strata of the replicates or their factors for a
        jackknife, the number of ``strata`` of the rows for half samples, which is at most that of the replicates.
        Domains have at most as many. Source: standard, as in R's survey package (degf).
        """
        count = as_whole(count, "count")
        if self.rank is not None:
            return float(self.rank - 1)
        if self.method in ("brr", "fay"):
            return float(min(strata, count) if strata > 1 else count)
        if self.strata is not None:
            return float(count - len(set(self.strata)))
        left_out = 1 - self.factors(count)  # a stratum of n_h has n_h factors 1 - 1 / n_h
        told = self.method == "jkn" and (left_out > 0).all() and (left_out <= 0.5 + ROUNDING).all()
        return float(count - (max(1, round(float(left_out.sum()))) if told else 1))

    def centre(self, estimates: Real, whole: Real) -> Real:
        """What the estimates of the replicates, shape (R, k), are compared with: the ``whole``, or their mean."""
        return whole if self.mse else np.asarray(estimates[self.factors(len(estimates)) > 0].mean(axis=0))

    def spread(self, estimates: Real, whole: Real, *, full: bool) -> Real:
        """``sum_r factor_r (theta_r - theta)(theta_r - theta)'``, or its diagonal."""
        return square_of(estimates - self.centre(estimates, whole), self.factors(len(estimates)), full=full)


def replicate_totals(recovery: Recovery, lines: Array) -> tuple[Real, Real]:
    """Totals and sums of weights of some lines under each set of replicate weights, shapes (R, k) and (R,)."""
    cells, weights = recovery.cells, recovery.cells.weighting.replicates
    totals = np.zeros((weights.shape[1], recovery.k))
    sample = cells.sample.codes[lines]
    for code in np.unique(sample):
        own, reading = lines[sample == code], recovery.readings[code]
        step = max(1, BLOCK // reading.size)
        for start in range(0, len(totals), step):
            columns = weights[own, start : start + step].T
            sums = [np.bincount(cells.report[own], column, minlength=reading.size) for column in columns]
            totals[start : start + step] += reading.sums(np.array(sums, dtype=np.float64))
    return totals, weights[lines[cells.is_row[lines]]].sum(axis=0)


ALONE = 1e-8  # replicates whose square is this part of the largest in a direction of their own differ by rounding there
ROUNDING = 1e-6  # replicate weights in files are often rounded; a left-out unit changes sums far more than that
NEAR = 0.05  # how far from a whole number, as a share of it, the number of units may lie that rounded weights tell


def rank_of_replicates(products: Real) -> int:
    """The rank of replicate weights, from :func:`maskwell.core.row_sums.products_of_replicates`."""
    values = np.linalg.eigvalsh(products)
    return int((values > ALONE * values[-1]).sum())


def strata_of_replicates(cells: Cells) -> tuple[Any, ...]:
    """The label of the stratum of each replicate."""
    apart = np.abs(cells.weighting.replicates - cells.weight[:, None]) > ROUNDING * cells.weight[:, None]
    changed = np.zeros((cells.stratum.size, apart.shape[1]), dtype=np.int64)
    np.add.at(changed, cells.stratum.codes, apart.astype(np.int64))
    wrong = np.flatnonzero((changed > 0).sum(axis=0) != 1)
    if len(wrong):
        strata = int((changed[:, wrong[0]] > 0).sum())
        raise ParameterError(
            "replicate-changes-the-weights-of-strata",
            wrong_number=int(wrong[0]) + 1,
            strata=strata,
            replicates=wrong[:10].tolist(),
        )
    return tuple(cells.stratum.labels[changed.argmax(axis=0)].tolist())


def factors_of_replicates(ratios: Real) -> tuple[float, ...]:
    """``(n_h - 1) / n_h`` of each replicate, which raises the weights in its stratum by ``n_h / (n_h - 1)``."""
    units = np.divide(ratios[1], ratios[1] - 1, out=np.zeros(ratios.shape[1]), where=ratios[1] > 1 + ROUNDING)
    whole = np.round(units)
    wrong = np.flatnonzero((whole < 2) | (np.abs(units - whole) > NEAR * units))
    if len(wrong):
        raise ParameterError(
            "replicate-raises-weights-by-which",
            wrong_number=int(wrong[0]) + 1,
            ratio=ratios[1, wrong[0]],
            replicates=wrong[:10].tolist(),
        )
    return tuple(((whole - 1) / whole).tolist())


def fay_factor(ratios: Real) -> float:
    """Fay's rho from the ratios of weights, shape (2, R): ``2 - rho`` in one half of the rows, ``rho`` in the other."""
    low, high = float(ratios[0].min()), float(ratios[1].max())
    rho = round(2 - high, 6)
    even = np.ptp(ratios[1]) <= NEAR * high and (rho < ROUNDING or abs(low - rho) <= NEAR)
    if not even or not 0 <= rho < 1:
        raise ParameterError("replicates-change-weights-by-factors", low=low, high=high)
    return rho

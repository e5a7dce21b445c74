"""Replicate weights that came with the data: jackknife, balanced half samples, Fay, bootstrap.

    V = scale sum_r rscale_r (theta_r - theta)(theta_r - theta)'

where theta_r is the estimate with the r-th set of weights, applied to the same reports; nothing is randomized anew. The
spread between replicates holds the randomization, so there is no correction, unless the replicates were scaled for a
finite population. Standard; for totals jackknife, balanced half samples and ultimate clusters coincide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import RealNumber, as_floats, as_list, as_real, as_whole, check_kind
from maskwell.core.arrays import Real
from maskwell.core.factors import Factor
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

    >>> ReplicateRule("jkn", strata=("a", "a", "b", "b")).factors(4).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    method: str
    scale: float | None = None
    rscales: tuple[float, ...] | None = None
    rho: float | None = None
    strata: tuple[Any, ...] | None = None
    finite: bool = False

    def __post_init__(self) -> None:
        check_kind(str, method=self.method)
        if self.scale is not None:
            object.__setattr__(self, "scale", as_real(self.scale, "scale"))
        check_kind(RealNumber | None, rho=self.rho)
        if self.method not in METHODS:
            raise ParameterError(
                f"no replicate method {self.method!r}", hint=f"choose one of {', '.join(METHODS)}", method=self.method
            )
        if self.rscales is not None:
            object.__setattr__(
                self,
                "rscales",
                tuple(as_floats(as_list(self.rscales, "rscales"), "rscales", finite=False).ravel().tolist()),
            )
        if self.strata is not None:
            object.__setattr__(self, "strata", tuple(as_list(self.strata, "strata")))
        self._check_needs()

    def _check_needs(self) -> None:
        given = self.scale is not None or self.rscales is not None
        if self.method == "jkn" and self.strata is None and not given:
            raise ParameterError(
                "jkn needs to know which replicates belong to one stratum",
                hint="give strata (one for each replicate), or scale and rscales as your data provider states them",
            )
        if self.method == "other" and not given:
            raise ParameterError('replicates of the method "other" need scale', hint="give scale, rscales or both")
        if (self.method == "fay") != (self.rho is not None):
            raise ParameterError(
                f"rho = {self.rho} with the method {self.method!r}", hint="rho goes with fay, and fay needs it"
            )
        if self.rho is not None and not 0 <= self.rho < 1:
            raise ParameterError(f"rho = {self.rho} is not from 0 up to below 1", hint="0.3 and 0.5 are usual")
        numbers = [x for x in (self.scale, *(self.rscales or ())) if x is not None]
        if not all(np.isfinite(x) and x >= 0 for x in numbers):
            raise ParameterError("scale and rscales must be numbers of 0 or more", hint="take those of your data")

    def factors(self, count: int) -> Real:
        """``scale * rscale_r`` for each replicate."""
        count = as_whole(count, "count", high=10**6)
        own = self._own(count)
        if self.rscales is not None and len(self.rscales) != count:
            raise ParameterError(f"{len(self.rscales)} rscales for {count} replicates", hint="give one for each")
        if self.scale is None and self.rscales is None:
            return own
        return (1.0 if self.scale is None else self.scale) * np.array(self.rscales or [1.0] * count)

    def _own(self, count: int) -> Real:
        if self.method == "jkn" and self.strata is not None:
            return _jackknife_factors(self.strata, count)
        scale = {"jk1": (count - 1) / count, "fay": 1 / (count * (1 - (self.rho or 0)) ** 2)}
        return np.full(count, scale.get(self.method, 1 / count))

    def degrees_of_freedom(self, count: int) -> float:
        """Replicates minus strata for the jackknife, one less than the replicates for the others, all for brr, fay.

        For half samples this is an upper bound: they have one degree of freedom for each stratum, which the weights do
        not tell, and the replicates are rounded up from the strata. Domains have at most as many.
        """
        count = as_whole(count, "count")
        if self.method in ("brr", "fay"):
            return float(count)
        return float(count - (len(set(self.strata)) if self.strata is not None else 1))


def _jackknife_factors(strata: Sequence[Any], count: int) -> Real:
    if len(strata) != count:
        raise ParameterError(f"{len(strata)} strata for {count} replicates", hint="give one for each replicate")
    found = Factor.of(list(strata), "strata of the replicates")
    n = np.bincount(found.codes)[found.codes]
    if (n < 2).any():
        raise ParameterError(
            "a stratum of the jackknife has one replicate", hint="every stratum has one replicate for each of its units"
        )
    return np.asarray((n - 1) / n)


@dataclass(frozen=True, eq=False)
class ReplicateTotals:
    """Totals and sums of weights under each set of replicate weights, shapes (R, k) and (R,)."""

    totals: Real
    sizes: Real

    @classmethod
    def of(cls, recovery: Recovery, lines: Any) -> ReplicateTotals:
        """From the sums of replicate weights of some lines."""
        weights = recovery.cells.replicates
        totals = np.zeros((weights.shape[1], recovery.k))
        step = max(1, BLOCK // max(r.size for r in recovery.readings))
        for start in range(0, weights.shape[1], step):
            columns = range(start, min(weights.shape[1], start + step))
            parts: dict[int, list[Real]] = {}
            for r in columns:
                for place, (_, sums) in enumerate(recovery.by_sample(weights[:, r], lines)):
                    parts.setdefault(place, []).append(sums)
            readings = [reading for reading, _ in recovery.by_sample(weights[:, start], lines)]
            for place, reading in enumerate(readings):
                totals[columns.start : columns.stop] += reading.sums(np.stack(parts[place]))
        inside = lines[recovery.cells.is_row[lines]]
        return cls(totals, weights[inside].sum(axis=0))

    def spread(self, estimates: Real, around: Real, factors: Real, *, full: bool) -> Real:
        """``sum_r factor_r (theta_r - theta)(theta_r - theta)'``, or its diagonal."""
        return square_of(estimates - around, factors, full=full)

"""Variance: what a way of drawing rows knows about the spread of weighted sums; one class for each way."""

from __future__ import annotations

from typing import Protocol

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import Cells
from maskwell.estimation.sampling.multistage import MultistageVariance
from maskwell.estimation.sampling.pairwise import PairwiseVariance
from maskwell.estimation.sampling.recovery import Scores
from maskwell.estimation.sampling.scheme import Scheme
from maskwell.estimation.sampling.unequal import HajekDevilleVariance, PoissonVariance


class Variance(Protocol):
    """What a sampling method knows about the spread of sums."""

    def degrees_of_freedom(self, lines: Array) -> float | None:
        """Of the distribution of estimates from some lines over their errors; None where the normal one serves."""

    @property
    def kept(self) -> Real:
        """Squared weights left to the randomization correction, by line."""

    def open(self, scores: Scores) -> Real:
        """``V_open`` of the weighted sum of the scores, shape (k, k), or its diagonal."""


def variance_of(cells: Cells, scheme: Scheme, g: Real) -> Variance | None:
    """The variance of a scheme, ``None`` where replicate weights tell it; ``g`` are the factors of calibration."""
    if scheme.method == "replicates":
        return None
    if scheme.method == "poisson":
        return PoissonVariance.of(cells, g)
    if scheme.method == "hajek-deville":
        return HajekDevilleVariance.of(cells, g, scheme.lonely)
    if scheme.joint is not None:
        return PairwiseVariance(cells, scheme.joint, scheme.method, g)
    return MultistageVariance.of(cells, with_replacement=scheme.method != "stages", lonely=scheme.lonely)

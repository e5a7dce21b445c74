"""Scheme: how the rows were drawn and how the variance is to be estimated, without the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.arrays import Real
from maskwell.core.cells import Cells
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.replicates import ReplicateRule
from maskwell.estimation.sampling.stages import LONELY, Lonely

METHODS = {
    "stages": "drawn in stages; without replacement where the population is known",
    "with-replacement": "draws with replacement, or as if: never too small on average",
    "pps": "draws with replacement, weights are 1 / (probability of one draw)",
    "poisson": "each unit by its own chance, independently; weights are 1 / chance",
    "hajek-deville": "unequal chances, fixed size, pairwise chances approximated",
    "syg": "unequal chances, fixed size, pairwise chances known (Sen-Yates-Grundy)",
    "ht": "unequal chances, pairwise chances known (Horvitz-Thompson)",
    "replicates": "replicate weights that came with the data",
}
ROWS_ONLY = ("poisson", "pps", "hajek-deville")


@dataclass(frozen=True, eq=False)
class Scheme:
    """How a sample was drawn.

    Attributes
    ----------
    method
        One of the names of ``METHODS``.
    lonely
        What to do with a stratum (or cluster) of which one unit was drawn and not all: ``"error"``; ``"certainty"``: it
        was sure to be drawn and adds no sampling variance, only randomization; ``"centre"``: compare it with the mean
        of all strata.
    replicates
        For ``replicates``: how they become a variance.
    joint
        For ``syg`` and ``ht``: pairwise inclusion probabilities, shape (n, n).

    >>> Scheme("poisson").method
    'poisson'
    """

    method: str = "stages"
    lonely: Lonely = "error"
    replicates: ReplicateRule | None = None
    joint: Real | None = None

    def __post_init__(self) -> None:
        check_kind(str, method=self.method, lonely=self.lonely)
        if self.method not in METHODS:
            raise ParameterError(
                f"no sampling method {self.method!r}", hint=f"choose one of {', '.join(METHODS)}", method=self.method
            )
        if self.lonely not in LONELY:
            raise ParameterError(
                f"lonely = {self.lonely!r}", hint=f"choose one of {', '.join(LONELY)}", lonely=self.lonely
            )
        self._check_parts()

    def _check_parts(self) -> None:
        if (self.method == "replicates") != (self.replicates is not None):
            raise ParameterError(
                f"the method {self.method!r} {'needs' if self.replicates is None else 'has no use for'} a rule for "
                "replicates",
                hint='give replicate weights and their rule together, such as ReplicateRule("brr")',
            )
        if (self.method in ("syg", "ht")) != (self.joint is not None):
            raise ParameterError(
                f"the method {self.method!r} {'needs' if self.joint is None else 'has no use for'} pairwise "
                "probabilities",
                hint='give joint_inclusion with "syg" or "ht", and with no other method',
            )

    def check(self, cells: Cells) -> None:
        """Raise unless the cells hold what the method needs."""
        if self.method in ROWS_ONLY and cells.clusters:
            raise ParameterError(
                f"the method {self.method!r} is for samples of rows, and these have clusters",
                hint='leave out the clusters, or take "with-replacement" for clusters drawn with unequal chances',
            )
        if self.method in ("poisson", "pps", "hajek-deville") and not cells.weighted:
            raise ParameterError(
                f"the method {self.method!r} needs the chance of every row",
                hint="give draw_probabilities" if self.method == "pps" else "give inclusion probabilities",
            )
        if self.method == "hajek-deville" and not cells.chance.shape[1]:
            raise ParameterError("hajek-deville needs inclusion probabilities", hint="give inclusion, not weights")
        if self.method == "hajek-deville" and self.lonely == "centre":
            raise ParameterError(
                'hajek-deville has no lonely="centre"', hint='merge strata, or lonely="certainty"', lonely=self.lonely
            )
        if self.replicates is not None and not cells.replicates.shape[1]:
            raise ParameterError("there are no replicate weights", hint="give their columns")
        low = cells.weight / np.maximum(cells.n, 1)
        if self.method == "poisson" and (low < 1 - 1e-12).any() and cells.auxiliary.size == 1:
            raise ParameterError(
                "a weight below 1 is no 1 / chance", hint="poisson needs inclusion probabilities up to 1"
            )

"""Open variance of rows drawn with unequal probabilities, from sums alone.

Poisson sampling takes each unit with its own chance ``pi_i``, independently of the others:

    V_open = sum (1 - pi_i) w_i^2 e_i e_i'

The Hajek-Deville approximation serves samples of fixed size with large entropy, when pairwise probabilities are unknown
or too many:

    V_open = sum c_i (w_i e_i - A)(w_i e_i - A)',   c_i = (1 - pi_i) n / (n - 1),   A = sum c_i w_i e_i / sum c_i

Both leave ``pi_i w_i^2`` of each squared weight to the randomization correction. Source: Poisson sampling as a case of
[Adeshiyan2011, Theorem 3.2 corrected]; the approximation is standard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import Cells
from maskwell.estimation.sampling.recovery import Scores, square_of
from maskwell.estimation.sampling.stages import Lonely, Stage, check_lonely, stages_of

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class PoissonVariance:
    """Variance under Poisson sampling; weights are 1 / pi, times ``g`` where they were calibrated."""

    cells: Cells
    kept: Real

    @classmethod
    def of(cls, cells: Cells, g: Real) -> PoissonVariance:
        """From the cells and the factor by which calibration changed the weights of each line."""
        return cls(cells, cells.weight * g)

    def degrees_of_freedom(self, lines: Array) -> None:
        """The normal distribution serves."""

    def open(self, scores: Scores) -> Real:
        """``V_open`` of the weighted sum of the scores."""
        return scores.squares(self.cells.square - self.kept)


@dataclass(frozen=True, eq=False)
class HajekDevilleVariance:
    """The approximation by Hajek and Deville, stratum by stratum."""

    cells: Cells
    stage: Stage
    scale: Real
    g: Real

    @classmethod
    def of(cls, cells: Cells, g: Real, lonely: Lonely = "error") -> HajekDevilleVariance:
        """From the cells and the factor by which calibration changed the weights of each line."""
        (stage,) = stages_of(cells, with_replacement=True)
        chance = np.bincount(stage.parent.of_line, weights=cells.chance[:, 0], minlength=stage.parent.count)
        certain = stage.drawn - chance < ROUNDING  # all units of the stratum were sure to be drawn
        alone = check_lonely(cells, replace(stage, population=np.where(certain, stage.drawn, np.inf)), 0, lonely)
        scale = stage.drawn / np.maximum(stage.drawn - 1, 1)
        return cls(cells, stage, np.where(alone | certain, 0.0, scale), g)

    @property
    def kept(self) -> Real:
        """``sum pi_i w_i^2``, which is ``sum g_i w_i``; all of the squared weight where no spread is counted."""
        counted = self.scale[self.stage.parent.of_line] > 0
        return np.where(counted, self._chance_weight, self.cells.square)

    @property
    def _chance_weight(self) -> Real:
        return np.asarray(self.cells.weight * self.g)

    def degrees_of_freedom(self, lines: Array) -> None:
        """The normal distribution serves."""

    def open(self, scores: Scores) -> Real:
        """``V_open`` of the weighted sum of the scores."""
        cells, strata = self.cells, self.stage.parent
        scale = self.scale[strata.of_line]
        c = np.bincount(strata.of_line, weights=scale * (cells.n - cells.chance[:, 0]), minlength=strata.count)
        sums = scores.sums(scale * (cells.weight - self.g * cells.n), strata.of_line, strata.count)
        inverse = np.divide(1, c, out=np.zeros_like(c), where=c > 0)
        squares = scores.squares(scale * (cells.square - self._chance_weight))
        return np.asarray(squares - square_of(sums, inverse, full=scores.recovery.full))

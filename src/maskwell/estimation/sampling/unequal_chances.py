"""Open variance of rows drawn with unequal chances.

Poisson sampling takes each unit with its own chance ``pi_i``, independently of the others:

    V_open = sum (1 - pi_i) w_i^2 e_i e_i'

The Hajek-Deville approximation serves samples of fixed size with large entropy, when pairwise probabilities are unknown
or too many:

    V_open = sum c_i (w_i e_i - A)(w_i e_i - A)',   c_i = (1 - pi_i) n / (n - 1),   A = sum c_i w_i e_i / sum c_i

Where they are known, there are the forms of Horvitz-Thompson and Sen-Yates-Grundy, worked out block by block:

    HT:   sum_i sum_j (pi_ij - pi_i pi_j) / pi_ij  y_i y_j'            y_i = w_i e_i,  pi_ii = pi_i
    SYG:  sum_{i<j} (pi_i pi_j - pi_ij) / pi_ij (y_i - y_j)(y_i - y_j)'

The last needs a sample of fixed size, and is then the steadier one. All leave ``pi_i w_i^2`` of each squared weight to
the randomization correction.

Source: [Adeshiyan2011, Theorem 3.2 corrected], Poisson sampling as a case of it; the approximation is standard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats
from maskwell.core.cells import Cells
from maskwell.core.verdicts import at_most
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.sampling.recovery import Scores, square_of
from maskwell.estimation.sampling.sample_stages import Lonely, Stage, check_lonely, stages_of

ROWS = 256  # rows of the matrix that are worked on at once
FORMS = ("syg", "ht")


@dataclass(frozen=True, eq=False)
class PairwiseVariance:
    """Variance from pairwise probabilities; every line of the cells is one row, in the order of the matrix."""

    cells: Cells
    joint: Real
    form: str
    g: Real

    @property
    def kept(self) -> Real:
        """``pi_i w_i^2``."""
        return np.asarray(self.cells.weight * self.g)

    def degrees_of_freedom(self, lines: Array) -> None:
        """The normal distribution serves."""

    def open(self, scores: Scores) -> Real:
        """``V_open`` of the weighted sum of the scores."""
        if not scores.recovery.full:
            raise TooLargeError("pairwise-probabilities-with-categories", k=scores.recovery.k)
        y = np.zeros((len(self.cells), scores.recovery.k))
        y[scores.lines] = scores.of_lines(scores.lines) * self.cells.weight[scores.lines, None]
        total = np.zeros((y.shape[1], y.shape[1]))
        for start in range(0, len(y), ROWS):
            rows = slice(start, start + ROWS)
            total += self._part(y, rows)
        return np.asarray((total + total.T) / 2)

    def _part(self, y: Real, rows: slice) -> Real:
        """The rows of one block against all rows."""
        single = np.diagonal(self.joint)
        share = 1 - np.outer(single[rows], single) / self.joint[rows]
        if self.form == "ht":
            return np.asarray(y[rows].T @ (share @ y))
        positions = np.arange(len(y))[rows]
        share[np.arange(len(positions)), positions] = 0
        return np.asarray(y[rows].T @ (share @ y) - (y[rows].T * share.sum(axis=1)) @ y[rows])


def check_joint(joint: Any, n: int) -> Real:
    """A matrix of pairwise inclusion probabilities with the single ones on its diagonal, or an error."""
    pairwise = as_floats(joint, "joint inclusion probabilities", finite=False)
    if pairwise.shape != (n, n):
        raise ParameterError("pairwise-probabilities-of-shape-for-rows", shape=pairwise.shape, n=n)
    if not np.isfinite(pairwise).all() or (pairwise <= 0).any() or (pairwise > 1).any():
        raise ParameterError(
            "pairwise-inclusion-probabilities-must-be-above",
            where=np.argwhere(~((pairwise > 0) & (pairwise <= 1)))[:5].tolist(),
        )
    single: Array = np.diagonal(pairwise)
    if np.abs(pairwise - pairwise.T).max() > 1e-9 or (pairwise > np.minimum.outer(single, single) + 1e-9).any():
        raise ParameterError("pairwise-inclusion-probabilities-are-not-symmetric")
    return pairwise


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
        certain = at_most(stage.drawn, chance)  # all units of the stratum were sure to be drawn
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

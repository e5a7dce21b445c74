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
from maskwell.core.row_sums import Cells
from maskwell.core.verdicts import at_most
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.sampling.recovery import LineScores, square_of
from maskwell.estimation.sampling.sample_stages import (
    Lonely,
    MultistageVariance,
    Scheme,
    Stage,
    Variance,
    check_lonely,
    stages_of,
    weight_factor,
)

ROWS = 256  # rows of the matrix that are worked on at once


@dataclass(frozen=True, eq=False)
class RowVariance:
    """What methods for rows of unequal chances share; ``g`` are the factors by which weights were calibrated."""

    cells: Cells
    g: Real

    @property
    def kept(self) -> Real:
        """``pi_i w_i^2``: weights are 1 / pi, times ``g``."""
        return np.asarray(self.cells.weight * self.g)

    def degrees_of_freedom(self, lines: Array) -> None:
        """The normal distribution serves."""


@dataclass(frozen=True, eq=False)
class PairwiseVariance(RowVariance):
    """Variance from pairwise probabilities; every line of the cells is one row, in the order of the matrix."""

    joint: Real
    form: str

    def open(self, scores: LineScores) -> Real:
        """``V_open`` of the weighted sum of the scores."""
        if not scores.full:
            raise TooLargeError("pairwise-probabilities-with-categories", k=scores.k)
        y = np.zeros((len(self.cells), scores.k))
        y[scores.lines] = scores.of_lines(scores.lines) * self.cells.weight[scores.lines, None]
        total, single = np.zeros((scores.k, scores.k)), np.diagonal(self.joint)
        for start in range(0, len(y), ROWS):
            rows = np.arange(start, min(start + ROWS, len(y)))
            share = 1 - np.outer(single[rows], single) / self.joint[rows]
            if self.form == "ht":
                total += y[rows].T @ (share @ y)
            else:
                share[np.arange(len(rows)), rows] = 0
                total += y[rows].T @ (share @ y) - (y[rows].T * share.sum(axis=1)) @ y[rows]
        return np.asarray((total + total.T) / 2)


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


class PoissonVariance(RowVariance):
    """Variance under Poisson sampling."""

    def open(self, scores: LineScores) -> Real:
        """``V_open`` of the weighted sum of the scores."""
        return scores.squares(self.cells.square - self.kept)


@dataclass(frozen=True, eq=False)
class HajekDevilleVariance(RowVariance):
    """The approximation by Hajek and Deville, stratum by stratum."""

    stage: Stage
    scale: Real

    @classmethod
    def of(cls, cells: Cells, g: Real, lonely: Lonely = "error") -> HajekDevilleVariance:
        """From the cells and the factor by which calibration changed the weights of each line."""
        (stage,) = stages_of(cells, with_replacement=True)
        chance = np.bincount(stage.parent.of_line, weights=cells.chance[:, 0], minlength=stage.parent.count)
        certain = at_most(stage.drawn, chance)  # all units of the stratum were sure to be drawn
        alone = check_lonely(cells, replace(stage, population=np.where(certain, stage.drawn, np.inf)), 0, lonely)
        scale = stage.drawn / np.maximum(stage.drawn - 1, 1)
        return cls(cells, g, stage, np.where(alone | certain, 0.0, scale))

    @property
    def kept(self) -> Real:
        """``sum pi_i w_i^2``, which is ``sum g_i w_i``; all of the squared weight where no spread is counted."""
        counted = self.scale[self.stage.parent.of_line] > 0
        return np.where(counted, super().kept, self.cells.square)

    def open(self, scores: LineScores) -> Real:
        """``V_open`` of the weighted sum of the scores."""
        cells, strata = self.cells, self.stage.parent
        scale = self.scale[strata.of_line]
        c = np.bincount(strata.of_line, weights=scale * (cells.n - cells.chance[:, 0]), minlength=strata.count)
        sums = scores.sums(scale * (cells.weight - self.g * cells.n), strata.of_line, strata.count)
        inverse = np.divide(1, c, out=np.zeros_like(c), where=c > 0)
        squares = scores.squares(scale * (cells.square - cells.weight * self.g))
        return np.asarray(squares - square_of(sums, inverse, full=scores.full))


# ---- the variance of any scheme


def weighted_cells(cells: Cells, scheme: Scheme) -> Cells:
    """The cells with the weights that follow from populations, or that the method calls for."""
    if scheme.method == "pps":
        (stage,) = stages_of(cells, with_replacement=True)
        factor = 1 / stage.drawn[stage.parent.of_line]
    elif not cells.weighted and cells.population.shape[1]:
        factor = weight_factor(cells)
    else:
        return cells
    return replace(cells, weight=cells.weight * factor, square=cells.square * factor**2)


def variance_of(cells: Cells, scheme: Scheme, g: Real) -> Variance | None:
    """The variance of a scheme, ``None`` where replicate weights tell it; ``g`` are the factors of calibration."""
    if scheme.method == "replicates":
        return None
    if scheme.method == "poisson":
        return PoissonVariance(cells, g)
    if scheme.method == "hajek-deville":
        return HajekDevilleVariance.of(cells, g, scheme.lonely)
    if scheme.joint is not None:
        return PairwiseVariance(cells, g, scheme.joint, scheme.method)
    return MultistageVariance.of(cells, with_replacement=scheme.method != "stages", lonely=scheme.lonely)

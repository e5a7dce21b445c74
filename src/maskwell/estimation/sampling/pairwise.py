"""Open variance from pairwise inclusion probabilities: Horvitz-Thompson and Sen-Yates-Grundy, block by block.

    HT:   sum_i sum_j (pi_ij - pi_i pi_j) / pi_ij  y_i y_j'            y_i = w_i e_i,  pi_ii = pi_i
    SYG:  sum_{i<j} (pi_i pi_j - pi_ij) / pi_ij (y_i - y_j)(y_i - y_j)'

The second form needs a sample of fixed size, and is then the steadier one. Both leave ``pi_i w_i^2`` of each squared
weight to the randomization correction. Source: [Adeshiyan2011, Theorem 3.2 corrected].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Array, Real
from maskwell.core.cells import Cells
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation.sampling.recovery import Scores

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
            raise TooLargeError(
                f"pairwise probabilities with {scores.recovery.k:,} categories",
                hint='use fewer categories, or method="hajek-deville"',
            )
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
        own = np.arange(len(y))[rows]
        share[np.arange(len(own)), own] = 0
        return np.asarray(y[rows].T @ (share @ y) - (y[rows].T * share.sum(axis=1)) @ y[rows])


def check_joint(joint: Any, n: int) -> Real:
    """A matrix of pairwise inclusion probabilities with the single ones on its diagonal, or an error.

    >>> check_joint([[0.5, 0.2], [0.2, 0.5]], 2).shape
    (2, 2)
    """
    found = as_floats(joint, "joint inclusion probabilities", finite=False)
    if found.shape != (n, n):
        raise ParameterError(
            f"pairwise probabilities of shape {found.shape} for {n:,} rows", hint=f"give a matrix of shape ({n}, {n})"
        )
    if not np.isfinite(found).all() or (found <= 0).any() or (found > 1).any():
        raise ParameterError(
            "pairwise inclusion probabilities must be above 0 and up to 1",
            hint="a pair that is never drawn together leaves the variance without an unbiased estimate",
            where=np.argwhere(~((found > 0) & (found <= 1)))[:5].tolist(),
        )
    single: Array = np.diagonal(found)
    if np.abs(found - found.T).max() > 1e-9 or (found > np.minimum.outer(single, single) + 1e-9).any():
        raise ParameterError(
            "pairwise inclusion probabilities are not symmetric, or above those of their units",
            hint="the entry of a pair is the chance that both are drawn; the diagonal holds the single chances",
        )
    return found

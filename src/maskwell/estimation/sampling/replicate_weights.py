"""What replicate weights tell about how they were made: the strata of a jackknife, and Fay's factor.

A replicate leaves out one unit of one stratum and raises the weights of the others there; in every other stratum the
weights stay as they are. So the stratum of a replicate is the only one whose sums of weights differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.cells import Cells
from maskwell.errors import ParameterError

ROUNDING = 1e-6
"""Replicate weights in files are often rounded; a left-out unit changes sums far more than that."""
NEAR = 0.05
"""How far from a whole number, as a share of it, the number of units may lie that rounded weights tell."""


def strata_of_replicates(cells: Cells) -> tuple[Any, ...]:
    """The label of the stratum of each replicate.

    >>> weights = [[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]]
    >>> cells = Cells.of([0, 1, 0, 1], weight=[1.0] * 4, stratum=["a", "a", "b", "b"], replicates=weights)
    >>> strata_of_replicates(cells)
    ('a', 'a', 'b', 'b')
    """
    apart = np.abs(cells.replicates - cells.weight[:, None]) > ROUNDING * cells.weight[:, None]
    changed = np.zeros((cells.stratum.size, apart.shape[1]), dtype=np.int64)
    np.add.at(changed, cells.stratum.codes, apart.astype(np.int64))
    wrong = np.flatnonzero((changed > 0).sum(axis=0) != 1)
    if len(wrong):
        strata = int((changed[:, wrong[0]] > 0).sum())
        raise ParameterError(
            f"replicate {int(wrong[0]) + 1} changes the weights of {strata} strata; a jackknife replicate changes one",
            hint="check the strata and the method of the replicates; brr, fay and bootstrap change many strata",
            replicates=wrong[:10].tolist(),
        )
    return tuple(cells.stratum.labels[changed.argmax(axis=0)].tolist())


def factors_of_replicates(ratios: Real) -> tuple[float, ...]:
    """The factor ``(n_h - 1) / n_h`` of each replicate, where strata are not known, from how it raises weights.

    Parameters
    ----------
    ratios
        The smallest and the largest ratio of replicate weights above zero to the weights, shape (2, R).

    A replicate raises the weights that it changes by ``n_h / (n_h - 1)``, n_h the units of its stratum: of all rows
    where there is one stratum, of some where there are several.

    >>> factors_of_replicates(np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]))   # two strata of two units
    (0.5, 0.5, 0.5, 0.5)
    """
    units = np.divide(ratios[1], ratios[1] - 1, out=np.zeros(ratios.shape[1]), where=ratios[1] > 1 + ROUNDING)
    whole = np.round(units)
    wrong = np.flatnonzero((whole < 2) | (np.abs(units - whole) > NEAR * units))
    if len(wrong):
        raise ParameterError(
            f"replicate {int(wrong[0]) + 1} raises weights by {ratios[1, wrong[0]]:.6g}, which is no n / (n - 1)",
            hint="name the strata of the rows, or check the method of the replicates",
            replicates=wrong[:10].tolist(),
        )
    return tuple(((whole - 1) / whole).tolist())


def fay_factor(ratios: Real) -> float:
    """Fay's rho, from the smallest and the largest ratio of replicate weights to the weights, shape (2, R).

    A replicate multiplies the weights of one half by ``2 - rho`` and of the other by ``rho``.

    >>> fay_factor(np.array([[0.3, 0.3], [1.7, 1.7]]))
    0.3
    """
    low, high = float(ratios[0].min()), float(ratios[1].max())
    rho = round(2 - high, 6)
    even = np.ptp(ratios[1]) <= NEAR * high and (rho < ROUNDING or abs(low - rho) <= NEAR)
    if not even or not 0 <= rho < 1:
        raise ParameterError(
            f"replicates change weights by factors from {low:.6g} to {high:.6g}: not by rho and 2 - rho, as Fay's do",
            hint="give the factor of your data, such as 0.3 or 0.5",
        )
    return rho

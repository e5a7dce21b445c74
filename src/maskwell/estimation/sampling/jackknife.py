"""Which stratum each replicate of a stratified jackknife belongs to, seen from the weights themselves.

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


def check_unstratified(ratios: Real) -> None:
    """Raise unless each replicate raises the weights of all rows that it keeps by the same factor.

    Parameters
    ----------
    ratios
        The smallest and the largest ratio of replicate weights above zero to the weights, shape (2, R).

    Without strata a replicate of R leaves out one unit and raises all others by ``R / (R - 1)``; with strata it leaves
    the other strata as they are. Half of that difference is allowed for rounding.

    >>> check_unstratified(np.array([[4 / 3] * 4, [4 / 3] * 4]))
    """
    allowed = 0.5 / max(ratios.shape[1] - 1, 1)
    wrong = np.flatnonzero(ratios[1] - ratios[0] > allowed)
    if len(wrong):
        raise ParameterError(
            f"replicate {int(wrong[0]) + 1} changes the weights of some rows only, as in a stratified jackknife",
            hint="name the strata of the rows, each of which has replicates of its own",
            replicates=wrong[:10].tolist(),
        )

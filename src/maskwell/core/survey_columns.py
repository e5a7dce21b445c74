"""Numbers that a sampling plan brings: weights, inclusion probabilities, populations; checked, never mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Array, Real
from maskwell.core.joint_keys import Groups
from maskwell.errors import InputError, ParameterError

LARGEST = 1e150


def numbers(values: Any, name: str, n: int, *, columns: bool = False) -> Real:
    """A column of n floats (or, with ``columns``, a table of n rows); one number stands for all rows."""
    found = as_floats(values, name, finite=False)
    if ((found > LARGEST) & (found < np.inf)).any():
        raise ParameterError(f"{name} are too large to be squared", hint="measure them in larger units")
    if found.ndim == 0 and not columns:
        return np.full(n, float(found))
    if found.ndim != 1 + columns or len(found) != n:
        what = f"{len(found):,} {name}" if found.ndim == 1 + columns else f"{name} of shape {found.shape}"
        raise InputError(f"{what} for {n:,} rows", hint="give one for each row", shape=found.shape, rows=n)
    return found


def check_weights(values: Any, n: int, *, name: str = "weights", row: int = 0) -> Real:
    """Weights: finite and above zero. ``row`` is the number of rows before these, for the message.

    >>> check_weights([1.5, 2], 2)
    array([1.5, 2. ])
    """
    found = numbers(values, name, n)
    bad = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if len(bad):
        raise ParameterError(
            f"{name}: the value in row {row + int(bad[0]) + 1} is not a number above 0 ({len(bad):,} such)",
            hint="leave rows out that are not in the sample, and give every other row its weight",
            values=f"{found[bad[0]]:g}",
            rows=bad[:10].tolist(),
        )
    return found


def check_inclusion(values: Any, n: int, *, name: str = "inclusion probabilities", row: int = 0) -> Real:
    """Probabilities above 0 and up to 1, with a hint for percentages and for weights.

    >>> check_inclusion([0.25, 1], 2)
    array([0.25, 1.  ])
    """
    found = numbers(values, name, n)
    bad = np.flatnonzero(~((found > 0) & (found <= 1)))
    if len(bad):
        high = np.nanmax(found)
        percent = " (percentages? divide by 100)" if 1 < high <= 100 else ""
        raise ParameterError(
            f"{name}: the value in row {row + int(bad[0]) + 1} is not above 0 and up to 1{percent}",
            hint="give probabilities such as 0.25; a weight of 4 is the probability 1/4",
            values=f"{found[bad[0]]:g}",
            rows=bad[:10].tolist(),
        )
    return found


def check_population(values: Any, n: int, *, stage: int = 1, row: int = 0) -> Real:
    """Numbers of units that a stage was drawn from: finite, at least 1.

    >>> check_population(802, 2)
    array([802., 802.])
    """
    name = f"population of stage {stage}"
    found = numbers(values, name, n)
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 1)))
    if len(bad):
        fraction = "a sampling fraction f of n units means a population of n / f" if found[bad[0]] > 0 else ""
        raise ParameterError(
            f"{name}: the value in row {row + int(bad[0]) + 1} is not a number of units",
            hint=fraction or "give how many units there were to draw from, 1 or more",
            values=f"{found[bad[0]]:g}",
            rows=bad[:10].tolist(),
        )
    return found


def check_replicates(values: Any, n: int, *, row: int = 0) -> Real:
    """Replicate weights, shape (n, R): finite, 0 or more, at least two columns.

    >>> check_replicates([[2, 0], [0, 2]], 2).shape
    (2, 2)
    """
    found = numbers(values, "replicate weights", n, columns=True)
    if found.shape[1] < 2:
        raise ParameterError(
            f"{found.shape[1]} replicate weights for each row", hint="give two columns or more", shape=found.shape
        )
    bad = np.argwhere(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        i, r = bad[0].tolist()
        raise ParameterError(
            f"replicate weights: row {row + i + 1}, column {r + 1}, is not a number of 0 or more",
            hint="a unit that a replicate leaves out has the weight 0 there",
            values=f"{found[i, r]:g}",
        )
    return found


def check_constant(sizes: Array, groups: Groups, stage: int) -> None:
    """Raise unless the population of a stage is one number within each group."""
    rows = groups.varying(sizes)
    if len(rows):
        others = sizes[groups.key == groups.key[rows[0]]]
        what = "stratum" if stage == 1 else "cluster of the stage above"
        raise InputError(
            f"population of stage {stage}: different numbers within one {what}",
            hint=f"every row of a {what} has the same number of units to draw from",
            values=f"{others.min():g} to {others.max():g}",
            stage=stage,
        )

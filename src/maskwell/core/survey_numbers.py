"""Numbers that come with data: counts, weights, inclusion probabilities, populations; checked, never mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Array, Real
from maskwell.core.joint_keys import Groups
from maskwell.errors import CountsError, InputError, ParameterError

LARGEST = 1e150


def check_counts(values: Any, *, weighted: bool = False, name: str = "counts") -> Real:
    """Counts as one column of floats; finite, 0 or more, not all 0, and whole unless ``weighted``.

    >>> check_counts([12, 8, 3]).tolist()
    [12.0, 8.0, 3.0]
    """
    try:
        counts = as_floats(values, name, finite=False)
    except (TypeError, ValueError, OverflowError):
        counts = np.empty((0, 0))
    if counts.ndim != 1 or not len(counts):
        raise CountsError(f"{name} must be one column of numbers", hint="give one number for each category")
    for wrong, what in _faults(counts, weighted=weighted):
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise CountsError(
                f"{name}[{place}] = {counts[place]:g} {what}", hint=_hint(weighted=weighted), **{name: values}
            )
    if not counts.sum() > 0:
        raise CountsError(f"{name} are all zero", hint="there must be at least one record", **{name: values})
    return counts


def _faults(counts: Real, *, weighted: bool) -> list[tuple[Any, str]]:
    finite = np.isfinite(counts)
    kept = np.where(finite, counts, 0)
    broken = [] if weighted else [(kept != np.floor(kept), "is no whole number")]
    return [(~finite, "is no finite number"), (kept < 0, "is negative"), *broken]


def _hint(*, weighted: bool) -> str:
    return "sums of weights are 0 or more" if weighted else "counts are whole numbers of 0 or more"


def check_weights(values: Any, n: int, *, name: str = "weights", row: int = 0) -> Real:
    """Weights: finite and above zero. ``row`` is the number of rows before these, for the message.

    >>> check_weights([1.5, 2], 2)
    array([1.5, 2. ])
    """
    weights = numbers(values, name, n)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        raise ParameterError(
            f"{name}: the value in row {row + int(bad[0]) + 1} is not a number above 0 ({len(bad):,} such)",
            hint="leave rows out that are not in the sample, and give every other row its weight",
            values=f"{weights[bad[0]]:g}",
            rows=bad[:10].tolist(),
        )
    return weights


def check_inclusion(values: Any, n: int, *, name: str = "inclusion probabilities", row: int = 0) -> Real:
    """Probabilities above 0 and up to 1, with a hint for percentages and for weights.

    >>> check_inclusion([0.25, 1], 2)
    array([0.25, 1.  ])
    """
    chances = numbers(values, name, n)
    bad = np.flatnonzero(~((chances > 0) & (chances <= 1)))
    if len(bad):
        high = np.nanmax(chances)
        percent = " (percentages? divide by 100)" if 1 < high <= 100 else ""
        raise ParameterError(
            f"{name}: the value in row {row + int(bad[0]) + 1} is not above 0 and up to 1{percent}",
            hint="give probabilities such as 0.25; a weight of 4 is the probability 1/4",
            values=f"{chances[bad[0]]:g}",
            rows=bad[:10].tolist(),
        )
    return chances


def check_population(values: Any, n: int, *, stage: int = 1, row: int = 0) -> Real:
    """Numbers of units that a stage was drawn from: finite, at least 1.

    >>> check_population(802, 2)
    array([802., 802.])
    """
    name = f"population of stage {stage}"
    sizes = numbers(values, name, n)
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes >= 1)))
    if len(bad):
        fraction = "a sampling fraction f of n units means a population of n / f" if sizes[bad[0]] > 0 else ""
        raise ParameterError(
            f"{name}: the value in row {row + int(bad[0]) + 1} is not a number of units",
            hint=fraction or "give how many units there were to draw from, 1 or more",
            values=f"{sizes[bad[0]]:g}",
            rows=bad[:10].tolist(),
        )
    return sizes


def check_replicates(values: Any, n: int, *, row: int = 0) -> Real:
    """Replicate weights, shape (n, R): finite, 0 or more, at least two columns.

    >>> check_replicates([[2, 0], [0, 2]], 2).shape
    (2, 2)
    """
    replicates = numbers(values, "replicate weights", n, columns=True)
    if replicates.shape[1] < 2:
        raise ParameterError(
            f"{replicates.shape[1]} replicate weights for each row",
            hint="give two columns or more",
            shape=replicates.shape,
        )
    bad = np.argwhere(~(np.isfinite(replicates) & (replicates >= 0)))
    if len(bad):
        i, r = bad[0].tolist()
        raise ParameterError(
            f"replicate weights: row {row + i + 1}, column {r + 1}, is not a number of 0 or more",
            hint="a unit that a replicate leaves out has the weight 0 there",
            values=f"{replicates[i, r]:g}",
        )
    return replicates


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


def numbers(values: Any, name: str, n: int, *, columns: bool = False) -> Real:
    """A column of n floats (or, with ``columns``, a table of n rows); one number stands for all rows."""
    floats = as_floats(values, name, finite=False)
    if ((floats > LARGEST) & (floats < np.inf)).any():
        raise ParameterError(f"{name} are too large to be squared", hint="measure them in larger units")
    if floats.ndim == 0 and not columns:
        return np.full(n, float(floats))
    if floats.ndim != 1 + columns or len(floats) != n:
        what = f"{len(floats):,} {name}" if floats.ndim == 1 + columns else f"{name} of shape {floats.shape}"
        raise InputError(f"{what} for {n:,} rows", hint="give one for each row", shape=floats.shape, rows=n)
    return floats

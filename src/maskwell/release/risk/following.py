"""Large entries of a product of matrices, found by following those of each matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.risk.components import expanded


def followed(matrices: Sequence[Real], columns: Array, least: Real) -> tuple[Array, Array, Real]:
    """Entries above the least of their column in the product of matrices: place of the column, row as a number, p.

    ``columns`` has shape (columns, matrices). Only large entries of each matrix are followed.
    """
    of, row, p = np.arange(len(columns)), np.zeros(len(columns), dtype=np.int64), np.ones(len(columns))
    for P, states in zip(matrices, columns.T, strict=True):
        part, state = np.nonzero(least.min(initial=1.0) < P)
        order = np.argsort(state, kind="stable")
        starts = np.searchsorted(state[order], np.arange(P.shape[1] + 1))
        taken, entry = expanded(starts, states[of])
        entry = order[entry]
        q = p[taken] * P[part[entry], state[entry]]
        kept = q > least[of[taken]]
        of, row, p = of[taken][kept], (row[taken] * len(P) + part[entry])[kept], q[kept]
    return of, row, p


def highest_along(values: Real, P: Real, axis: int) -> Real:
    """``max_j P_ij value_j`` along one axis."""
    moved = np.moveaxis(values, axis, -1)
    return np.moveaxis(np.stack([(moved * row).max(axis=-1) for row in P], axis=-1), -1, axis)


def highest_from(values: Real, P: Real, axis: int, origin: Array) -> tuple[Real, Array]:
    """The same, and from which cell each comes: ``origin`` numbers the cells that the values belong to."""
    moved, cells = np.moveaxis(values, axis, -1), np.moveaxis(origin, axis, -1)
    best = [(moved * row).argmax(axis=-1)[..., None] for row in P]
    highest = [np.take_along_axis(moved * row, at, -1)[..., 0] for row, at in zip(P, best, strict=True)]
    first = [np.take_along_axis(cells, at, -1)[..., 0] for at in best]
    return tuple(np.moveaxis(np.stack(each, axis=-1), -1, axis) for each in (highest, first))  # type: ignore[return-value]

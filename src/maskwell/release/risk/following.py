"""Large entries of a product of matrices, found by following those of each matrix, and how large they must be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.risk.components import expanded
from maskwell.release.risk.summands import SMALL

LEAST_TOLD = 0.05
"""A chance of a correct match under another value than one's own is looked for where it may be above this."""


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


def least_probability(risk: Real, level: float) -> Real:
    """Releases no likelier than this cannot give a chance of a correct match above ``risk``, in the likely range.

    For t in the range Pr(T >= t) is above q = (1 - level) / 2. The distribution of T' (T without the target) has
    falling ratios r(t) = Pr(T' = t) / Pr(T' = t - 1), so Pr(T' >= t) <= Pr(T' = t - 1) r / (1 - r), and r / (1 - r) is
    above q - p. Then

        Pr(correct | T = t) <= p / (p + (1 - p) r),    r >= (q - p) / (1 + q - p)

    which rises with p; the least p is found by bisection. Derived.

    >>> least_probability(np.array([0.3]), 0.95).round(3).tolist()   # of rarer releases the target is no such share
    [0.007]
    """
    q = (1 - level) / 2
    low, high = np.zeros(len(risk)), np.full(len(risk), min(q, SMALL))
    for _ in range(40):
        p = (low + high) / 2
        r = (q - p) / (1 + q - p)
        enough = p <= risk * (p + (1 - p) * r)
        low, high = np.where(enough, p, low), np.where(enough, high, p)
    return low

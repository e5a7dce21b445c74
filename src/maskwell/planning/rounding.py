"""Whole numbers of respondents from shares of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Real

Counts = tuple[int, ...]


def whole_numbers(shares: Real, n: int, *, least: Sequence[int]) -> Counts:
    """N split by the method of the largest remainder, each part having at least its ``least``.

    Parts whose share would give less are fixed at it, and the rest is split again among the others.

    >>> whole_numbers(np.array([0.687, 0.312, 0.001]), 500, least=[2, 2, 2])   # nobody is left with a single one
    (342, 156, 2)
    """
    found, free = list(least), [share > 0 for share in shares.tolist()]
    left = n - sum(x for x, is_free in zip(least, free, strict=True) if not is_free)
    while True:
        weights = np.where(free, shares, 0.0)
        wanted = weights / weights.sum() * left
        short = [i for i, is_free in enumerate(free) if is_free and wanted[i] < least[i]]
        if not short:
            break
        for i in short:
            free[i] = False
            left -= least[i]
    for i, part in enumerate(_largest_remainder(wanted, left)):
        found[i] = part if free[i] else found[i]
    return tuple(found)


def _largest_remainder(wanted: Real, n: int) -> list[int]:
    """Rounded down, and one more for the largest remainders, the first of equals first."""
    floors = np.floor(wanted + 1e-9).astype(int)
    order = np.argsort(-(wanted - floors), kind="stable")
    floors[order[: n - int(floors.sum())]] += 1
    return [int(x) for x in floors]

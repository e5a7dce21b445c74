"""Which state may be released for which, and at what cost, as the pairs of a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats, pairs_of, shown_short
from maskwell.core.arrays import Array, Real
from maskwell.core.phrases import shorten
from maskwell.errors import ParameterError
from maskwell.release.matrices.program import Pairs


def cost_matrix(cost: Any, k: int) -> Real | None:
    """Costs of releasing i for j, shape (k, k); None where the records that stay are counted instead.

    >>> cost_matrix("ordinal", 3).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    if cost is None:
        return None
    if isinstance(cost, str):
        if cost != "ordinal":
            raise ParameterError(f"there is no cost {shorten(cost)!r}", hint='give "ordinal", or a matrix of costs')
        place = np.arange(k)
        return np.asarray(np.abs(np.subtract.outer(place, place)), dtype=np.float64)
    try:
        given = as_floats(cost, "cost", finite=False)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (k, k) or not np.isfinite(given).all():
        raise ParameterError(
            f"the costs are no {k} by {k} matrix of finite numbers",
            hint="give the cost of releasing category i (row) for category j (column)",
            cost=cost,
        )
    return given


def allowed_pairs(
    places: Sequence[Array], k: int, forbidden: Iterable[tuple[int, int]], band: int | None, costs: Real | None
) -> list[Pairs]:
    """For each block, given by the places of its states, the pairs that may have a flow; sorted by released state.

    >>> pairs, = allowed_pairs([np.array([0, 2, 5])], 6, [(0, 5)], None, None)
    >>> list(zip(pairs.released.tolist(), pairs.true.tolist()))   # state 5 is never released as state 0
    [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    """
    never = _keys(forbidden, k)
    if band is not None and not (_is_whole(band) and band >= 0):
        raise ParameterError(
            f"band = {shown_short(band)} is no number of places", hint="give a whole number of 0 or more"
        )
    return [_pairs(own, k, never, band, costs) for own in places]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _keys(forbidden: Iterable[tuple[int, int]], k: int) -> Array:
    pairs = pairs_of(forbidden, "forbidden")
    for pair in pairs:
        if not all(_is_whole(x) and 0 <= x < k for x in pair):
            raise ParameterError(
                f"the forbidden pair {pair!r} names a state that is none of 0 to {k - 1}",
                hint="give pairs (released, true) by the places of the categories",
                pair=pair,
            )
    return np.array([i * k + j for i, j in pairs], dtype=np.int64)


def _pairs(own: Array, k: int, never: Array, band: int | None, costs: Real | None) -> Pairs:
    i, j = _near(own, band)
    kept = ~np.isin(own[i] * k + own[j], never)
    i, j = i[kept], j[kept]
    cost = -(i == j).astype(np.float64) if costs is None else costs[own[i], own[j]]
    return Pairs(released=i, true=j, cost=cost)


def _near(own: Array, band: int | None) -> tuple[Array, Array]:
    """All pairs of states of a block, or those at most ``band`` places apart."""
    size = len(own)
    if band is None:
        i, j = np.divmod(np.arange(size * size), size)
        return i, j
    band = min(band, int(own.max(initial=0)) + 1)
    first, last = np.searchsorted(own, own - band), np.searchsorted(own, own + band, side="right")
    i = np.repeat(np.arange(size), last - first)
    starts = np.cumsum(last - first) - (last - first)
    return i, np.arange(len(i)) - starts[i] + first[i]

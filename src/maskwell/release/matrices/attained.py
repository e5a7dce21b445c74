"""What integer flows attain, in the terms of the bounds that can be asked of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array
from maskwell.release.matrices.program import Program

_FROM_BELOW = ("least_kept",)


def attained(program: Program, units: Array) -> dict[str, float]:
    """The value of every bound that the flows of one block reach.

    A factor and a parity are infinite where some value never becomes some other.

    >>> from maskwell.release.matrices.allowed import allowed_pairs
    >>> from maskwell.release.matrices.bounds import Bounds
    >>> from maskwell.release.matrices.program import program_of
    >>> pairs, = allowed_pairs([np.arange(2)], 2, (), None, None)
    >>> program = program_of([30, 20], pairs, Bounds())
    >>> reached = attained(program, np.array([20, 10, 10, 10]) * program.scale)
    >>> reached["guess"], reached["least_kept"]   # of fifty records thirty are guessed; half of the twenty stay
    (0.6, 0.5)
    """
    i, j = program.pairs.released, program.pairs.true
    v = program.v.astype(np.float64)
    flow = np.asarray(units / program.scale, dtype=np.float64)
    posterior, p, n = flow / v[i], flow / v[j], v.sum()
    stay = np.zeros(len(v))
    stay[i[program.pairs.own]] = posterior[program.pairs.own]
    own = float(stay.max())
    changed = float(1 - (stay * v).sum() / n)
    return {
        "posterior": float(posterior.max()),
        "posterior_own": own,
        "odds": own / (1 - own) if own < 1 else math.inf,
        "guess": float(_by_row(np.maximum, flow, i).sum() / n),
        "factor": _factor(p * n / v[i], len(v)),
        "parity": _parity(p, i, len(v)),
        "least_kept": float(stay.min()),
        "changed": changed,
    }


def _by_row(ufunc: np.ufunc, values: Array, i: Array) -> Array:
    return np.asarray(ufunc.reduceat(values, np.flatnonzero(np.diff(i, prepend=-1))))


def _factor(ratio: Array, states: int) -> float:
    if len(ratio) < states**2 or not ratio.all():
        return math.inf
    return float(np.maximum(ratio, 1 / ratio).max())


def _parity(p: Array, i: Array, states: int) -> float:
    if len(p) < states**2 or not p.all():
        return math.inf
    return float((_by_row(np.maximum, p, i) / _by_row(np.minimum, p, i)).max())


def worst_of(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    """The worst value of each bound over several blocks; nothing without blocks."""
    if not parts:
        return {}
    return {name: (min if name in _FROM_BELOW else max)(part[name] for part in parts) for name in parts[0]}

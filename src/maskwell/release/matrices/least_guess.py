"""Sequential uniformity as the flows of a program: the best answer where the smallest possible guess is asked for."""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array
from maskwell.release.matrices.program import Program


def has_least_guess(program: Program) -> bool:
    """Whether no smaller guess could be asked for, every pair is allowed, and as few changes as possible are wanted."""
    pairs = program.pairs
    every = len(pairs) == len(program.v) ** 2
    agreement = bool(np.array_equal(pairs.cost, -pairs.own.astype(np.float64)))
    return every and agreement and program.guess == int(program.v.max()) * program.scale


def least_guess_flows(program: Program) -> Array:
    """Integer flows ``F_(r)(t) = c_max(r, t)`` with ``c_r = sum_{s >= r} (v_(s) - v_(s+1)) / s``, shape (N,).

    Exact where the scale of the program is a multiple of all s; otherwise the sums of rows are off, which is checked.

    Source: derived from [Adeshiyan2011, Example 4.4]; see :mod:`maskwell.release.matrices.sequential`.
    """
    order = np.argsort([-int(x) for x in program.v], kind="stable")
    falling = program.sums[order]
    gaps = falling - np.append(falling[1:], 0)
    levels = np.cumsum((gaps // np.arange(1, len(gaps) + 1))[::-1])[::-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(levels[np.maximum(rank[program.pairs.released], rank[program.pairs.true])], dtype=object)

"""Large problems by columns: only the categories that matter are written out, the others are asked by operators.

A table with a million cells and fewer reports has a most likely distribution with few cells above zero. SQUAREM finds
about which; Newton settles their shares; one product ``P' x`` over all cells then either certifies the answer or names
the cells that were missing. Source: derived.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.estimation.climb import Climbed, certificate, newton
from maskwell.estimation.em import squarem
from maskwell.estimation.log_likelihood import Operators, Written

FIRST_STEPS = 60
ROUNDS = 60
_AT_ONCE = 200
LAST_STEPS = 300
COLUMN_LIMIT = 2 * 10**7
"""Entries of the columns that are written out at once."""


def generate(f: Operators, pi: Real, movable: Array, gap: float) -> tuple[Climbed, str]:
    """Climb from ``pi``; returns where the climb ended and by which algorithm."""
    found = squarem(f, pi, movable, gap, most=FIRST_STEPS)
    steps = found.steps
    for _ in range(ROUNDS):
        if found.gap <= gap:
            return _with_steps(found, steps), "SQUAREM and Newton on columns" if steps > FIRST_STEPS else "SQUAREM"
        chosen = _columns_worth(f, found, movable)
        if chosen is None:
            break
        found, more = _settle(f, found, movable, chosen, gap)
        steps += more
    last = squarem(f, found.pi, movable, gap, most=LAST_STEPS)
    return _with_steps(last, steps + last.steps), "SQUAREM"


def _with_steps(found: Climbed, steps: int) -> Climbed:
    return Climbed(found.pi, found.lam, found.slope, found.gap, steps)


def _columns_worth(f: Operators, found: Climbed, movable: Array) -> Array | None:
    """Categories with a share worth keeping or a slope that calls them in; None when they are too many."""
    room = COLUMN_LIMIT // len(f.share)
    kept = np.flatnonzero((found.pi > _floor(found, movable)) | ~movable)
    level = float(found.pi @ found.slope)
    calling = np.flatnonzero(movable & (found.slope > level))
    if len(calling) > _AT_ONCE:
        calling = calling[np.argpartition(-found.slope[calling], _AT_ONCE)[:_AT_ONCE]]
    chosen = np.union1d(kept, calling)
    return chosen if len(chosen) <= room else None


def _floor(found: Climbed, movable: Array) -> float:
    """Shares below this, all together, weigh next to nothing: what they are needed for calls them in again."""
    return 1e-9 / int(movable.sum())


def _settle(f: Operators, found: Climbed, movable: Array, chosen: Array, gap: float) -> tuple[Climbed, int]:
    """The most likely shares of the chosen categories alone, judged among all."""
    part = Written(f.columns(chosen), f.share, f.total)
    own = found.pi[chosen]
    inner = newton(part, own / own.sum(), movable[chosen], gap / 2)
    pi = np.zeros(f.k)
    pi[chosen] = inner.pi
    lam = f.lam(pi)
    slope = f.slope(lam)
    return Climbed(pi, lam, slope, certificate(pi, slope, movable), 0), inner.steps

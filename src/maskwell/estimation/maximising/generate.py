"""Large problems by columns: only the categories that matter are written out, the others are asked by operators.

A table with a million cells and fewer reports has a most likely distribution with few cells above zero. SQUAREM finds
about which; Newton settles their shares; one product ``P' x`` over all cells then either certifies the answer or names
the cells that were missing. Source: derived.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.estimation.maximising.climb import Climbed, certificate, newton
from maskwell.estimation.maximising.em import squarem
from maskwell.estimation.maximising.log_likelihood import Operators, Written

FIRST_STEPS = 60
ROUNDS = 60
_AT_ONCE = 200
_WORTH = 0.01  # shares below this part of the mean are left out at first; what is missing calls
LAST_STEPS, LAST_WORK = (300, 10_000), 5 * 10**7
"""Steps of the last resort: from so many to so many, as the work on k categories allows."""
COLUMN_LIMIT = 4 * 10**7
"""Entries of the columns that are written out at once."""


def generate(f: Operators, pi: Real, movable: Array, gap: float) -> tuple[Climbed, str]:
    """Climb from ``pi``; returns where the climb ended and by which algorithm."""
    found = squarem(f, pi, movable, gap, most=FIRST_STEPS)
    floor = _WORTH * float(pi[movable].mean())
    for _ in range(ROUNDS):
        if found.gap <= gap:
            return found, "SQUAREM" if floor else "SQUAREM, then Newton on columns"
        chosen = _columns_worth(f, found, movable, floor)
        if chosen is None:
            break
        found, floor = _settle(f, found, movable, chosen, gap), 0.0
    slow = squarem(f, _opened(found.pi, movable), movable, gap, most=int(np.clip(LAST_WORK // f.k, *LAST_STEPS)))
    return (slow if slow.gap < found.gap else found), "SQUAREM"


def _columns_worth(f: Operators, found: Climbed, movable: Array, floor: float) -> Array | None:
    """Categories with a share above the floor or a slope that calls them in; None when they are too many."""
    kept = np.flatnonzero((found.pi > floor) | ~movable)
    level = float(found.pi[movable] @ found.slope[movable]) / float(found.pi[movable].sum())
    calling = np.flatnonzero(movable & (found.slope > level))
    if len(calling) > _AT_ONCE:
        calling = calling[np.argpartition(-found.slope[calling], _AT_ONCE)[:_AT_ONCE]]
    chosen = np.union1d(kept, calling)
    return chosen if len(chosen) * len(f.share) <= COLUMN_LIMIT else None


def _settle(f: Operators, found: Climbed, movable: Array, chosen: Array, gap: float) -> Climbed:
    """The most likely shares of the chosen categories alone, judged among all."""
    part = Written(rows=f.columns(chosen), share=f.share, total=f.total)
    own, moving = found.pi[chosen], movable[chosen]
    own[moving] *= float(found.pi[movable].sum()) / float(own[moving].sum())
    inner = newton(part, own, moving, gap / 2)
    pi = np.zeros(f.k)
    pi[chosen] = inner.pi
    lam = f.lam(pi)
    slope = f.slope(lam)
    return Climbed(pi, lam, slope, certificate(pi, slope, movable), found.steps + inner.steps)


def _opened(pi: Real, movable: Array) -> Real:
    """A little of everything: EM never leaves a zero."""
    return np.where(movable, (1 - _WORTH) * pi + _WORTH * float(pi[movable].mean()), pi)

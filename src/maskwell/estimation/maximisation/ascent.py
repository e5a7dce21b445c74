"""Ways up a concave log-likelihood on the simplex: active-set Newton, EM with strides, and both for large problems.

Newton: ``H_F d + nu 1 = g_F``, ``sum d = 0`` on the free categories F (above zero, or called in by their slope); what
would fall below zero is brought to zero and the rest solved again, then a line search. Where that does not lead
upwards, part of EM's curvature ``1 / pi`` is added, and if that fails too the step goes towards the steepest category.
The certificate is ``f* - f(pi) <= mass max_j g_j - sum_j pi_j g_j`` over the movable categories, by concavity.

EM, ``pi_j <- pi_j g_j``, never lowers the likelihood; SQUAREM strides along two EM steps and takes what EM gives
whenever the stride leads outside or downwards. Of large problems SQUAREM finds about which cells matter, Newton settles
the shares of these columns alone, and one product ``P' x`` certifies the answer or names the cells that were missing.

Source: [Adeshiyan2011, section 3.3.1] for the equations; method and certificate derived; SQUAREM is standard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.estimation.maximisation.log_likelihood import Curvature, LogLikelihood, Operators, Written, value

MOST_STEPS = 200
_PIVOTS = 50
_LITTLE, _STALLED = 1e-9, 0.9  # a certificate this small that falls no faster has met rounding
_LEANS = (0.0, 0.01, 1.0)  # how much of EM's curvature is added, in units of the certificate
_FLOOR = 1e-4  # shares below this part of the mean lean no further
_ARMIJO = 1e-4
_SLACK = 1e-14  # without it the last steps stall in rounding
_RIDGE = 1e-11  # keeps flat directions, along which the likelihood does not change, from being solved for


@dataclass(frozen=True)
class Climbed:
    """Where a climb ended. ``gap`` bounds how much the mean log-likelihood can still rise."""

    pi: Real
    lam: Real
    slope: Real
    gap: float
    steps: int


def certificate(pi: Real, slope: Real, movable: Array) -> float:
    """How much the mean log-likelihood can rise at most, moving only the ``movable`` categories (a mask)."""
    shares, g = pi[movable], slope[movable]
    return float(shares.sum() * g.max() - shares @ g) if len(shares) else 0.0


def newton(f: LogLikelihood, pi: Real, movable: Array, gap: float, most: int = MOST_STEPS) -> Climbed:
    """Climb from ``pi`` until the certificate is at most ``gap``, or no step leads higher."""
    steps, before = 0, np.inf
    while True:
        lam = f.lam(pi)
        slope = f.slope(lam)
        reached = certificate(pi, slope, movable)
        if reached <= gap or steps >= most or before * _STALLED <= reached < _LITTLE:
            break
        before = reached
        onward = _step(f, pi, lam, slope, movable, reached)
        if onward is None:
            break
        pi, steps = onward, steps + 1
    return Climbed(pi, lam, slope, reached, steps)


def _step(f: LogLikelihood, pi: Real, lam: Real, slope: Real, movable: Array, reached: float) -> Real | None:
    for d in _directions(f, pi, lam, slope, movable, reached):
        moved = _line_search(f, pi, lam, d, slope)
        if moved is not None:
            return moved
    return None


def _directions(f: LogLikelihood, pi: Real, lam: Real, slope: Real, movable: Array, reached: float) -> Iterator[Real]:
    """What to try: the model's step, steps that lean towards that of EM, and the steepest category."""
    level = float(pi[movable] @ slope[movable]) / float(pi[movable].sum())
    free = np.flatnonzero(movable & ((pi > 0) | (slope > level)))
    H = f.curvature(lam, free)
    for lean in _LEANS:
        d = np.zeros(f.k)
        d[free] = _pruned(_leaning(H, pi[free], lean * reached), slope[free], pi[free])
        yield d
    yield _towards(pi, slope, movable)


def _leaning(H: Curvature, pi: Real, weight: float) -> Curvature:
    """``H + weight / pi``: EM's step is that of the curvature ``1 / pi`` alone, and moves no share below zero."""
    if weight == 0:
        return H
    extra = weight / np.maximum(pi, _FLOOR * pi.mean())
    return H + extra if H.ndim == 1 else H + np.diag(extra)


def _pruned(H: Curvature, g: Real, pi: Real) -> Real:
    """The step of the model, with everything that would fall below zero brought to zero exactly."""
    inside, d = np.ones(len(g), dtype=bool), np.zeros(len(g))
    for _ in range(_PIVOTS):
        d[~inside] = -pi[~inside]
        d[inside] = _solve(H, g, d, inside)
        below = inside & (pi + d < 0)
        if not below.any():
            return d
        inside &= ~below
        if not inside.any():
            break
    return np.zeros(len(g))


def _solve(H: Curvature, g: Real, d: Real, inside: Array) -> Real:
    """``d[inside]`` given the rest of d, so that d sums to zero."""
    total = -float(d[~inside].sum())
    if H.ndim == 1:
        weight = 1 / (H[inside] + _RIDGE * (H.max() or 1.0))
        return np.asarray(weight * (g[inside] - (weight @ g[inside] - total) / weight.sum()))
    block = H[np.ix_(inside, inside)]
    right = g[inside] - H[np.ix_(inside, ~inside)] @ d[~inside]
    scale = float(block.diagonal().mean())
    block = block + scale  # adds the same everywhere for directions of a given sum, and makes the model regular
    block.flat[:: len(block) + 1] += _RIDGE * scale
    both, one = np.linalg.solve(block, np.column_stack([right, np.ones(len(right))])).T
    return np.asarray(both + (total - both.sum()) / one.sum() * one)


def _towards(pi: Real, slope: Real, movable: Array) -> Real:
    """From ``pi`` to the movable category with the steepest slope: always upwards at first."""
    d = np.where(movable, -pi, 0.0)
    best = int(np.flatnonzero(movable)[slope[movable].argmax()])
    d[best] += float(pi[movable].sum())
    return d


def _line_search(f: LogLikelihood, pi: Real, lam: Real, d: Real, slope: Real) -> Real | None:
    """The first of the steps 1, 1/2, 1/4, ... that rises enough, or None."""
    rise = float(slope @ d)
    if not np.isfinite(rise) or rise <= 0:
        return None
    here, change, step = value(f, lam), f.lam(d), 1.0
    slack = _SLACK * (1 + abs(here))
    while step > 1e-12:
        if value(f, lam + step * change) >= here + _ARMIJO * step * rise - slack:
            return _moved(pi, step * d)
        step /= 2
    return None


def _moved(pi: Real, d: Real) -> Real:
    """``pi + d`` without last bits below zero or changes of the sum; what does not move stays as it is."""
    moved, moving = np.maximum(pi + d, 0), d != 0
    moved[moving] *= pi[moving].sum() / moved[moving].sum()
    return np.asarray(moved)


def em_step(pi: Real, slope: Real, movable: Array) -> Real:
    """One EM step from ``pi``, whose slope is given; categories that are not movable stay."""
    unscaled = pi[movable] * slope[movable]
    out = pi.copy()
    out[movable] = unscaled * (pi[movable].sum() / unscaled.sum())
    return out


def squarem(f: LogLikelihood, pi: Real, movable: Array, gap: float, most: int) -> Climbed:
    """SQUAREM from ``pi`` until the certificate is at most ``gap`` or ``most`` EM steps were taken."""
    steps = 0
    while True:
        lam = f.lam(pi)
        slope = f.slope(lam)
        reached = certificate(pi, slope, movable)
        if reached <= gap or steps >= most:
            return Climbed(pi, lam, slope, reached, steps)
        once = em_step(pi, slope, movable)
        twice = em_step(once, f.slope(f.lam(once)), movable)
        further = _stride(pi, once, twice)
        if further is not None:
            at = f.lam(further)
            if value(f, at) >= value(f, lam):
                pi, steps = em_step(further, f.slope(at), movable), steps + 3
                continue
        pi, steps = twice, steps + 2


def _stride(pi: Real, once: Real, twice: Real) -> Real | None:
    """Where the path of two EM steps leads, or None where that is not a distribution."""
    r = once - pi
    v = twice - once - r
    size = float(np.linalg.norm(v))
    if size == 0:
        return None
    alpha = min(-float(np.linalg.norm(r)) / size, -1.0)
    further = pi - 2 * alpha * r + alpha**2 * v
    return None if (further < 0).any() else np.asarray(further)


FIRST_STEPS = 60
ROUNDS = 60
_AT_ONCE = 200
_WORTH = 0.01  # shares below this part of the mean are left out at first; what is missing calls
LAST_STEPS, LAST_WORK = (300, 10_000), 5 * 10**7  # steps of the last resort, from and to, and the work they may cost
COLUMN_LIMIT = 4 * 10**7  # entries of the columns that are written out at once


def generate(f: Operators, pi: Real, movable: Array, gap: float) -> tuple[Climbed, str]:
    """Climb from ``pi``; returns where the climb ended and by which algorithm."""
    climbed = squarem(f, pi, movable, gap, most=FIRST_STEPS)
    floor = _WORTH * float(pi[movable].mean())
    for _ in range(ROUNDS):
        if climbed.gap <= gap:
            return climbed, "SQUAREM" if floor else "SQUAREM, then Newton on columns"
        chosen = _columns_worth(f, climbed, movable, floor)
        if chosen is None:
            break
        climbed, floor = _settle(f, climbed, movable, chosen, gap), 0.0
    slow = squarem(f, _opened(climbed.pi, movable), movable, gap, most=int(np.clip(LAST_WORK // f.k, *LAST_STEPS)))
    return (slow if slow.gap < climbed.gap else climbed), "SQUAREM"


def _columns_worth(f: Operators, climbed: Climbed, movable: Array, floor: float) -> Array | None:
    """Categories with a share above the floor or a slope that calls them in; None when they are too many."""
    kept = np.flatnonzero((climbed.pi > floor) | ~movable)
    level = float(climbed.pi[movable] @ climbed.slope[movable]) / float(climbed.pi[movable].sum())
    calling = np.flatnonzero(movable & (climbed.slope > level))
    if len(calling) > _AT_ONCE:
        calling = calling[np.argpartition(-climbed.slope[calling], _AT_ONCE)[:_AT_ONCE]]
    chosen = np.union1d(kept, calling)
    return chosen if len(chosen) * len(f.share) <= COLUMN_LIMIT else None


def _settle(f: Operators, climbed: Climbed, movable: Array, chosen: Array, gap: float) -> Climbed:
    """The most likely shares of the chosen categories alone, judged among all."""
    part = Written(rows=f.columns(chosen), share=f.share, total=f.total)
    shares, moving = climbed.pi[chosen], movable[chosen]
    shares[moving] *= float(climbed.pi[movable].sum()) / float(shares[moving].sum())
    inner = newton(part, shares, moving, gap / 2)
    pi = np.zeros(f.k)
    pi[chosen] = inner.pi
    lam = f.lam(pi)
    slope = f.slope(lam)
    return Climbed(pi, lam, slope, certificate(pi, slope, movable), climbed.steps + inner.steps)


def _opened(pi: Real, movable: Array) -> Real:
    """A little of everything: EM never leaves a zero."""
    return np.where(movable, (1 - _WORTH) * pi + _WORTH * float(pi[movable].mean()), pi)

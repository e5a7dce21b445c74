"""Maximum likelihood: ``maximise sum_g sum_i x_gi ln (P_g pi)_i`` over all distributions pi, with a certificate.

At the optimum ``g_j <= 1`` for all j, with equality where ``pi_j > 0``; elsewhere the mean log-likelihood can rise by
``mass max_j g_j - sum_j pi_j g_j`` over the movable categories at most, by concavity.
Active-set Newton solves ``H_F d + nu 1 = g_F``, ``sum d = 0`` on the free categories F (above zero, or called in by
their slope); where that does not lead upwards part of EM's curvature ``1 / pi`` is added, then the step goes towards
the steepest category. Of large problems SQUAREM, along two EM steps ``pi_j <- pi_j g_j``, finds which cells matter.
Source: [Adeshiyan2011, section 3.3.1 and eq. (3.3)], corrected; method and certificate derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array, Real, as_list, as_real, as_whole, list_of, pairs_of
from maskwell.core.verdicts import is_inside
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.estimation.maximisation.log_likelihood import (
    Curvature,
    LogLikelihood,
    Operators,
    Written,
    checked_counts,
    log_likelihood,
    no_reports,
    value,
)

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
    """Upwards by the model, by steps that lean towards that of EM, or towards the steepest category."""
    level = float(pi[movable] @ slope[movable]) / float(pi[movable].sum())
    free = np.flatnonzero(movable & ((pi > 0) | (slope > level)))
    H = f.curvature(lam, free)
    for lean in _LEANS:
        d, extra = np.zeros(f.k), lean * reached / np.maximum(pi[free], _FLOOR * pi[free].mean())
        leaning = H if lean * reached == 0 else H + (extra if H.ndim == 1 else np.diag(extra))
        d[free] = _pruned(leaning, slope[free], pi[free])
        moved = _line_search(f, pi, lam, d, slope)
        if moved is not None:
            return moved
    d = np.where(movable, -pi, 0.0)
    d[int(np.flatnonzero(movable)[slope[movable].argmax()])] += float(pi[movable].sum())
    return _line_search(f, pi, lam, d, slope)


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


def _line_search(f: LogLikelihood, pi: Real, lam: Real, d: Real, slope: Real) -> Real | None:
    """The first of the steps 1, 1/2, 1/4, ... that rises enough, or None."""
    rise = float(slope @ d)
    if not np.isfinite(rise) or rise <= 0:
        return None
    here, change, step = value(f, lam), f.lam(d), 1.0
    slack = _SLACK * (1 + abs(here))
    while step > 1e-12:
        if value(f, lam + step * change) >= here + _ARMIJO * step * rise - slack:
            moved, moving = np.maximum(pi + step * d, 0), d != 0  # no last bits below zero, no changes of the sum
            moved[moving] *= pi[moving].sum() / moved[moving].sum()
            return np.asarray(moved)
        step /= 2
    return None


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
        r, v = once - pi, twice - once - (once - pi)
        size = float(np.linalg.norm(v))
        alpha = min(-float(np.linalg.norm(r)) / size, -1.0) if size else 0.0
        further = pi - 2 * alpha * r + alpha**2 * v
        if size and not (further < 0).any():
            at = f.lam(further)
            if value(f, at) >= value(f, lam):
                pi, steps = em_step(further, f.slope(at), movable), steps + 3
                continue
        pi, steps = twice, steps + 2


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
    mean = float(climbed.pi[movable].mean())  # EM never leaves a zero: begin with a little of everything
    opened = np.where(movable, (1 - _WORTH) * climbed.pi + _WORTH * mean, climbed.pi)
    slow = squarem(f, opened, movable, gap, most=int(np.clip(LAST_WORK // f.k, *LAST_STEPS)))
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


INTERIOR = 0.1  # share of the uniform distribution in a start that would otherwise lie outside the simplex


def begin(
    f: LogLikelihood,
    designs: Sequence[Design],
    counts: Sequence[Array],
    start: Real | None,
    fixed: tuple[int, float] | None,
) -> tuple[Real, Array]:
    """Proportions to start from, and a mask of those that may move."""
    movable, held = np.ones(f.k, dtype=bool), 0.0
    if fixed is not None:
        j, t = pairs_of([fixed], "fixed")[0]
        j, held = as_whole(j, "category of fixed"), as_real(t, "share of fixed")
        if not 0 <= j < f.k or not 0 <= held <= 1:
            raise ParameterError("fixed-category-of-held", j=j, t=held, k=f.k, k_sub=f.k - 1)
        movable[j] = False
    first = None if start is None else designs[0].check_distribution(start, "start")
    if first is None and movable.all():
        first = _from_moments(designs, counts)
    pi = _hold(_spread(f, movable) if first is None else first, movable, held)
    if value(f, f.lam(pi)) == -np.inf:
        pi = (1 - INTERIOR) * pi + INTERIOR * _hold(uniform(movable, 1.0), movable, held)
    return pi, movable


def _from_moments(designs: Sequence[Design], counts: Sequence[Array]) -> Real | None:
    """The moment estimate of a single sample, which is the answer when it lies in the simplex and P is square."""
    design = designs[0]
    if len(designs) > 1 or not isinstance(design, CodedDesign) or not design.identifiable:
        return None
    share = np.asarray(counts[0], dtype=np.float64)
    pi = design.solve(share / share.sum())
    if (pi >= 0).all():
        return np.asarray(pi / pi.sum())
    inside = np.maximum(pi, 0)
    return np.asarray((1 - INTERIOR) * inside / inside.sum() + INTERIOR / design.k)


def _spread(f: LogLikelihood, movable: Array) -> Real:
    """Equal shares; where report j speaks for category j alone, only for categories that were reported."""
    named = np.zeros(f.k, dtype=bool)
    if isinstance(f, Operators) and f.diagonal:
        named[np.concatenate(f.seen)] = True
    named &= movable
    return uniform(named if named.any() else movable, 1.0)


def uniform(chosen: Array, mass: float) -> Real:
    """``mass`` in equal parts on the chosen categories (a mask)."""
    return np.asarray(chosen * (mass / chosen.sum()))


def _hold(pi: Real, movable: Array, held: float) -> Real:
    """The movable part scaled to what is left beside the held share."""
    free = np.where(movable, pi, 0.0)
    free = free if free.sum() > 0 else uniform(movable, 1.0)
    return np.where(movable, free * ((1 - held) / free.sum()), held)


GAP = 1e-10
_TIED = 1e-7  # slopes this close to the largest may belong to another solution
_TRACE = 1e-9  # a share that a search may have left behind on its way to zero
_MOST_USED = 2000  # columns whose independence is worked out
_SETTLED = 1e-9  # below this, what is left is rounding, and slower steps would not help


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the likelihood is largest."""

    pi: Real  # The proportions, shape (k,)
    log_likelihood: float  # `sum x ln lam` there
    gap: float  # A bound on how much higher the log-likelihood of one report could be: the certificate
    # How it was found
    iterations: int
    algorithm: str
    unique: bool  # Whether it was shown that no other proportions do as well
    at_boundary: Array  # Which proportions are 0 or 1, shape (k,)


def maximise(
    designs: Sequence[Design],
    counts: Sequence[Array],
    *,
    gap: float = GAP,
    start: Real | None = None,
    fixed: tuple[int, float] | None = None,
) -> Maximum:
    """The most likely proportions of one or several samples."""
    designs, counts = list_of(Design, designs, "designs"), as_list(counts, "counts")
    gap = as_real(gap, "gap", low=0)
    if start is None and fixed is None and len(designs) == 1 and len(_separate(designs[0])) > 1:
        return _by_part(_separate(designs[0]), checked_counts(designs, counts)[0], gap)
    f = log_likelihood(designs, counts)
    pi, movable = begin(f, designs, counts, start, fixed)
    if value(f, f.lam(pi)) == -np.inf:
        return Maximum(pi, -np.inf, 0.0, 0, "none", False, _edges(pi))
    climbed, algorithm = _climb(f, pi, movable, gap)
    climbed = _without_traces(f, climbed, movable, gap)
    return Maximum(
        pi=climbed.pi,
        log_likelihood=f.total * value(f, climbed.lam),
        gap=max(climbed.gap, 0.0),
        iterations=climbed.steps,
        algorithm=algorithm,
        unique=_told_apart(designs, counts) or _is_unique(f, climbed, movable),
        at_boundary=_edges(climbed.pi),
    )


def _separate(design: Design) -> tuple[CodedDesign, ...]:
    return design.separate() if isinstance(design, CodedDesign) else ()


def _by_part(parts: Sequence[CodedDesign], counts: Real, gap: float) -> Maximum:
    """Parts whose reports never meet: each on its own, and its whole share is that of its reports."""
    n, stretches = float(counts.sum()), np.split(counts, np.cumsum([part.m for part in parts])[:-1])
    if n <= 0:
        raise no_reports()
    maxima = [
        (x.sum() / n, maximise([part], [x], gap=gap)) if x.any() else (0.0, None)
        for part, x in zip(parts, stretches, strict=True)
    ]
    pi = [np.zeros(part.k) if top is None else w * top.pi for part, (w, top) in zip(parts, maxima, strict=True)]
    solved = [(w, top) for w, top in maxima if top is not None]
    return Maximum(
        pi=np.concatenate(pi),
        log_likelihood=sum(top.log_likelihood + n * w * float(np.log(w)) for w, top in solved),
        gap=max(top.gap for _, top in solved),
        iterations=max(top.iterations for _, top in solved),
        algorithm=solved[0][1].algorithm,
        unique=all(top.unique for _, top in solved),
        at_boundary=_edges(np.concatenate(pi)),
    )


def _climb(f: LogLikelihood, pi: Real, movable: Array, gap: float) -> tuple[Climbed, str]:
    if isinstance(f, Operators) and not f.diagonal:
        return generate(f, pi, movable, gap)
    climbed = newton(f, pi, movable, gap)
    if climbed.gap <= max(gap, _SETTLED):
        return climbed, "active-set Newton"
    interior = INTERIOR * uniform(movable, float(climbed.pi[movable].sum())) + (1 - INTERIOR) * climbed.pi
    interior[~movable] = pi[~movable]
    slower = squarem(f, interior, movable, gap, most=10_000)
    return (slower, "SQUAREM") if slower.gap < climbed.gap else (climbed, "active-set Newton")


def _without_traces(f: LogLikelihood, climbed: Climbed, movable: Array, gap: float) -> Climbed:
    """Shares next to nothing are put to zero where the certificate allows it: at the bound they have no error."""
    small = movable & (climbed.pi > 0) & (climbed.pi < _TRACE)
    pi = np.where(small, 0.0, climbed.pi)
    if not small.any() or not pi[movable].any():
        return climbed
    pi[movable] *= float(climbed.pi[movable].sum()) / float(pi[movable].sum())
    lam = f.lam(pi)
    if value(f, lam) == -np.inf:
        return climbed
    slope = f.slope(lam)
    reached = certificate(pi, slope, movable)
    return Climbed(pi, lam, slope, reached, climbed.steps) if reached <= max(gap, climbed.gap) else climbed


def _edges(pi: Real) -> Array:
    return np.asarray(~is_inside(pi))


def _told_apart(designs: Sequence[Design], counts: Sequence[Array]) -> bool:
    """Whether one sample distinguishes all categories by itself, with every report of it observed."""
    return any(
        design.identifiable and bool((np.asarray(x) > 0).all()) for design, x in zip(designs, counts, strict=True)
    )


def _is_unique(f: LogLikelihood, climbed: Climbed, movable: Array) -> bool:
    """Whether the columns that a solution may use are independent on the reports that were seen."""
    if climbed.gap > _SETTLED:
        return False
    steepest = float(climbed.slope[movable].max(initial=0.0))
    used = np.flatnonzero(movable & (climbed.slope >= steepest * (1 - _TIED)))
    if len(used) <= 1:
        return True
    if f.diagonal:
        return int((f.curvature(climbed.lam, used) <= 0).sum()) <= 1
    if len(used) > min(len(f.share), _MOST_USED):
        return False
    corner = np.abs(np.diagonal(np.asarray(np.linalg.qr(f.columns(used), mode="r"))))
    return bool(corner.min() > 1e-10 * corner.max())

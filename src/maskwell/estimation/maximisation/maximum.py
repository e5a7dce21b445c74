"""Maximum likelihood: ``maximise sum_g sum_i x_gi ln (P_g pi)_i`` over all distributions pi, with a certificate.

At the optimum ``g_j <= 1`` for all j, with equality where ``pi_j > 0``. The search begins where the data say, so that
the answer is the same each time. Source: [Adeshiyan2011, eq. (3.3)], with the indices put right; certificate derived.
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
from maskwell.estimation.maximisation.ascent import Climbed, certificate, generate, newton, squarem
from maskwell.estimation.maximisation.log_likelihood import (
    LogLikelihood,
    Operators,
    checked_counts,
    log_likelihood,
    no_reports,
    value,
)

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
        j, held = _check_fixed(fixed, f.k)
        movable[j] = False
    pi = _hold(_first(f, designs, counts, start, movable), movable, held)
    if value(f, f.lam(pi)) == -np.inf:
        pi = (1 - INTERIOR) * pi + INTERIOR * _hold(uniform(movable, 1.0), movable, held)
    return pi, movable


def _first(
    f: LogLikelihood, designs: Sequence[Design], counts: Sequence[Array], start: Real | None, movable: Array
) -> Real:
    if start is not None:
        return designs[0].check_distribution(start, "start")
    by_moments = _from_moments(designs, counts) if movable.all() else None
    return _spread(f, movable) if by_moments is None else by_moments


def _check_fixed(fixed: tuple[int, float], k: int) -> tuple[int, float]:
    j, t = pairs_of([fixed], "fixed")[0]
    j, t = as_whole(j, "category of fixed"), as_real(t, "share of fixed")
    if not 0 <= j < k or not 0 <= t <= 1:
        raise ParameterError("fixed-category-of-held", j=j, t=t, k=k, k_sub=k - 1)
    return int(j), float(t)


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


# ---- what is known about the answer


def _edges(pi: Real) -> Array:
    return np.asarray(~is_inside(pi))


def _told_apart(designs: Sequence[Design], counts: Sequence[Array]) -> bool:
    """Whether one sample alone tells all categories apart, every report of it having been seen."""
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

"""Maximum likelihood: the proportions under which the reports are most likely.

    maximise  l(pi) = sum_g sum_i x_gi ln (P_g pi)_i     over pi >= 0, sum pi = 1

for one sample or several that share their proportions. The answer carries a certificate: how much the log-likelihood
of one report could still rise. At the optimum ``g_j <= 1`` for all j, with equality where ``pi_j > 0``.

Source: [Adeshiyan2011, eq. (3.3)], with the indices put right; certificate derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.designs.base import Design
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError
from maskwell.estimation.climb import Climbed, newton
from maskwell.estimation.em import squarem
from maskwell.estimation.generate import generate
from maskwell.estimation.log_likelihood import Operators, Written, log_likelihood, value

GAP = 1e-10
_TIED = 1e-7  # slopes this close to the largest may belong to another solution
_ROUNDING = 1e-12
_INTERIOR = 0.1  # share of the uniform distribution in a start that lies outside the simplex


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the likelihood is largest.

    Attributes
    ----------
    pi
        The proportions, shape (k,).
    log_likelihood
        ``sum x ln lam`` there.
    gap
        A bound on how much higher the log-likelihood of one report could be: the certificate.
    iterations, algorithm
        How it was found.
    unique
        Whether it was shown that no other proportions do as well.
    at_boundary
        Which proportions are 0 or 1, shape (k,).
    """

    pi: Real
    log_likelihood: float
    gap: float
    iterations: int
    algorithm: str
    unique: bool
    at_boundary: Array


def maximise(
    designs: Sequence[Design],
    counts: Sequence[Array],
    *,
    gap: float = GAP,
    start: Real | None = None,
    fixed: tuple[int, float] | None = None,
) -> Maximum:
    """The most likely proportions of one or several samples.

    Parameters
    ----------
    designs, counts
        For each sample its design and the counts of its m possible reports.
    gap
        Stop when the log-likelihood of one report can rise by no more than this.
    start
        Proportions to begin with; found from the data unless given. The same data give the same answer.
    fixed
        ``(j, t)`` keeps ``pi[j] = t`` and maximises over the rest, as profile intervals need it.

    >>> from maskwell.designs.dense import Dense
    >>> P = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
    >>> found = maximise([P], [np.array([5, 60, 35])])
    >>> found.pi.round(4).tolist()   # the first category is at its bound
    [0.0, 0.6416, 0.3584]
    """
    f = log_likelihood(designs, counts)
    pi, movable = _begin(f, designs, counts, start, fixed)
    if value(f, f.lam(pi)) == -np.inf:
        return Maximum(pi, -np.inf, 0.0, 0, "none", False, _edges(pi))
    climbed, algorithm = _climb(f, pi, movable, gap)
    return Maximum(
        pi=climbed.pi,
        log_likelihood=f.total * value(f, climbed.lam),
        gap=max(climbed.gap, 0.0),
        iterations=climbed.steps,
        algorithm=algorithm,
        unique=_is_unique(f, climbed, movable),
        at_boundary=_edges(climbed.pi),
    )


def _climb(f: Written | Operators, pi: Real, movable: Array, gap: float) -> tuple[Climbed, str]:
    if isinstance(f, Operators) and not f.diagonal:
        return generate(f, pi, movable, gap)
    found = newton(f, pi, movable, gap)
    if found.gap <= gap:
        return found, "active-set Newton"
    interior = _INTERIOR * _uniform(movable, float(found.pi[movable].sum())) + (1 - _INTERIOR) * found.pi
    interior[~movable] = pi[~movable]
    slower = squarem(f, interior, movable, gap, most=10_000)
    return (slower, "SQUAREM") if slower.gap < found.gap else (found, "active-set Newton")


# ---- where to begin


def _begin(
    f: Written | Operators,
    designs: Sequence[Design],
    counts: Sequence[Array],
    start: Real | None,
    fixed: tuple[int, float] | None,
) -> tuple[Real, Array]:
    """Proportions to start from, and a mask of those that may move."""
    movable = np.ones(f.k, dtype=bool)
    held = 0.0
    if fixed is not None:
        j, held = _check_fixed(fixed, f.k)
        movable[j] = False
    if start is not None:
        pi = designs[0].check_distribution(start, "start").copy()
    else:
        pi = _from_moments(designs, counts) if fixed is None else None
        pi = _spread(f, movable) if pi is None else pi
    if fixed is not None:
        pi = _hold(pi, movable, held)
    if value(f, f.lam(pi)) == -np.inf:
        pi = (1 - _INTERIOR) * pi + _INTERIOR * _hold(_uniform(movable, 1.0), movable, held)
    return pi, movable


def _check_fixed(fixed: tuple[int, float], k: int) -> tuple[int, float]:
    j, t = fixed
    if not 0 <= j < k or not 0 <= t <= 1:
        raise ParameterError(
            f"fixed = ({j}, {t}): category {j} of {k} held at {t}",
            hint=f"give a category from 0 to {k - 1} and a share from 0 to 1",
        )
    return int(j), float(t)


def _from_moments(designs: Sequence[Design], counts: Sequence[Array]) -> Real | None:
    """The moment estimate of a single sample, which is the answer when it lies in the simplex and P is square."""
    design = designs[0]
    if len(designs) > 1 or not isinstance(design, CodedDesign) or not design.identifiable:
        return None
    share = np.asarray(counts[0], dtype=np.float64)
    pi = design.solve(share / share.sum())
    if (pi >= 0).all():
        return pi / pi.sum()
    inside = np.maximum(pi, 0)
    return (1 - _INTERIOR) * inside / inside.sum() + _INTERIOR / design.k


def _spread(f: Written | Operators, movable: Array) -> Real:
    """Equal shares; where report j speaks for category j alone, only for categories that were reported."""
    named = np.zeros(f.k, dtype=bool)
    if isinstance(f, Operators) and f.diagonal:
        named[np.concatenate(f.seen)] = True
    named &= movable
    return _uniform(named if named.any() else movable, 1.0)


def _uniform(chosen: Array, mass: float) -> Real:
    return np.asarray(chosen * (mass / chosen.sum()))


def _hold(pi: Real, movable: Array, held: float) -> Real:
    """The movable part scaled to what is left beside the held share."""
    own = np.where(movable, pi, 0.0)
    own = own if own.sum() > 0 else _uniform(movable, 1.0)
    return np.where(movable, own * ((1 - held) / own.sum()), held)


# ---- what is known about the answer


def _edges(pi: Real) -> Array:
    return np.asarray((pi <= 0) | (pi >= 1 - _ROUNDING))


def _is_unique(f: Written | Operators, climbed: Climbed, movable: Array) -> bool:
    """Whether the columns that a solution may use are independent on the reports that were seen.

    ``P pi`` is the same at every solution, and a solution uses only categories of the steepest slope.
    """
    steepest = float(climbed.slope[movable].max(initial=0.0))
    used = np.flatnonzero(movable & (climbed.slope >= steepest * (1 - _TIED)))
    if len(used) <= 1:
        return True
    if isinstance(f, Operators) and f.diagonal:
        return int((f.curvature(climbed.lam, used) <= 0).sum()) <= 1
    if len(used) > len(f.share) or len(used) * len(f.share) > 2 * 10**7:
        return False
    rows = f.rows[:, used] if isinstance(f, Written) else f.columns(used)
    corner = np.abs(np.linalg.qr(rows, mode="r").diagonal())
    return bool(corner.min() > 1e-10 * corner.max())

"""Where the search for the most likely proportions begins: found from the data, so that the answer is the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arguments import as_real, as_whole, pairs_of
from maskwell.core.arrays import Array, Real
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.estimation.maximising.log_likelihood import LogLikelihood, Operators, value

INTERIOR = 0.1
"""Share of the uniform distribution in a start that would otherwise lie outside the simplex."""


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
    found = _from_moments(designs, counts) if movable.all() else None
    return _spread(f, movable) if found is None else found


def _check_fixed(fixed: tuple[int, float], k: int) -> tuple[int, float]:
    j, t = pairs_of([fixed], "fixed")[0]
    j, t = as_whole(j, "category of fixed"), as_real(t, "share of fixed")
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
    own = np.where(movable, pi, 0.0)
    own = own if own.sum() > 0 else uniform(movable, 1.0)
    return np.where(movable, own * ((1 - held) / own.sum()), held)

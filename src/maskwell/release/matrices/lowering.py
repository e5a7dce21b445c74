"""Lowering what stays as it is until every record is hard enough to match.

Source: the threshold rule of [Adeshiyan2011, section 4.7.4], with its formula (4.24) corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability, to_decimal
from maskwell.core.phrases import MESSAGE, shorten
from maskwell.designs.sparse import Sparse
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.counts import check_counts
from maskwell.release.matrices.method1 import method1
from maskwell.release.matrices.optimal import optimal
from maskwell.release.risk.cell_risks import cell_risks

STEP = Fraction(1, 20)
GRID = 1 << 20
SLACK = 1e-12

Risk = Callable[[Sparse], Real]


@dataclass(frozen=True, eq=False)
class Lowered:
    """A matrix under which no record is matched too easily.

    Attributes
    ----------
    design
        The matrix.
    caps
        By state, the largest chance to stay as it is that was allowed; only where it is below one.
    rounds
        How many matrices were tried.
    risk
        Shape (states that occur,): the risk of the records of each, ``risk.max()`` is at most the threshold.
    """

    design: Sparse
    caps: dict[int, Fraction]
    rounds: int
    risk: Real


def match_risks(counts: Any, design: Sparse) -> Real:
    """The largest chance of a correct match over the numbers of records that turn up in 95 of 100 releases."""
    found = cell_risks(counts, design)
    risk = np.zeros(design.k)
    risk[found.cells] = found.in_range
    return risk


def lower_until(
    v: Any,
    nu: Number,
    *,
    bounds: Bounds | None = None,
    forbidden: Iterable[tuple[int, int]] = (),
    cost: Any = None,
    band: int | None = None,
    categories: Categories | None = None,
    risk: Risk | None = None,
    step: Number = STEP,
) -> Lowered:
    """The optimal matrix, with diagonals lowered step by step until no record has a risk above ``nu``.

    Caps start at one. The linear program of :func:`~maskwell.release.matrices.optimal.optimal` is solved with them,
    the risk of every state worked out, and the cap of each state with a risk above ``nu`` lowered by ``step``; changing
    one state changes the arrivals of others, so that all are looked at again. States with ``1 / nu`` records or more
    are safe whatever the matrix is.

    Parameters
    ----------
    v
        Counts of the states.
    nu
        The largest chance of a correct match.
    bounds, forbidden, cost, band
        What else the matrix must keep to.
    risk
        From a matrix to the risk of each state; the match within these states by default.

    >>> found = lower_until([1, 2, 4, 10, 30], "0.4")
    >>> round(float(found.risk.max()), 3) <= 0.4, {state: float(cap) for state, cap in found.caps.items()}
    (True, {0: 0.35, 1: 0.6})
    """
    amounts, bound = check_counts(v), _threshold(nu)
    asked, down = bounds or Bounds(), Fraction(step)
    caps: dict[int, Fraction] = {}
    risks = risk or (lambda design: match_risks(amounts.integers, design))
    pairs = list(forbidden)
    for rounds in range(1, int(1 / down) * len(amounts) + 2):
        held = replace(asked, caps={**asked.caps, **{i: min(c, asked.caps.get(i, c)) for i, c in caps.items()}})
        design = optimal(amounts.integers, held, cost=cost, forbidden=pairs, band=band, categories=categories).design
        found = risks(design)
        above = np.flatnonzero(found > float(bound) + SLACK)
        if not above.size:
            return Lowered(design, caps, rounds, found)
        _lower(caps, above, down, found, bound, categories)
    raise AssertionError("caps only fall, and end at zero")


def _lower(
    caps: dict[int, Fraction],
    above: Array,
    step: Fraction,
    risk: Real,
    bound: Fraction,
    categories: Categories | None,
) -> None:
    for state in above.tolist():
        caps[state] = caps.get(state, Fraction(1)) - step
        if caps[state] <= 0:
            raise _not_reached(state, risk, bound, categories)


def _not_reached(state: int, risk: Real, bound: Fraction, categories: Categories | None) -> InfeasibleError:
    label = state if categories is None else categories.labels[state]
    end = f" keeps a chance of {risk[state]:.3g} of a correct match; {to_decimal(bound)} is not reached"
    return InfeasibleError(
        f"category {shorten(str(label), MESSAGE - len(end) - 10)}{end}",
        hint="merge small categories, allow more transitions or a larger match, or use inverse-frequency",
        state=state,
        nearest=float(risk.max()),
    )


def method1_for_match(v: Any, nu: Number, *, categories: Categories | None = None) -> Lowered:
    """Method 1 with the smallest theta under which no record has a risk above ``nu``, to 2^-20 and never below.

    The risk fell with theta in all trials; the theta that is returned is checked in any case.

    >>> found = method1_for_match([1, 2, 4, 10, 30], "0.4")
    >>> float(round(1 - found.design.columns_exact(0)[0], 4))   # theta: the smallest category has one record
    0.7589
    """
    amounts, bound = check_counts(v), _threshold(nu)

    def tried(theta: int) -> tuple[Sparse, Real]:
        design = method1(amounts.integers, Fraction(theta, GRID), categories=categories)
        return design, match_risks(amounts.integers, design)

    low, high, rounds = -1, GRID, 1
    design, risk = tried(high)
    if risk.max() > float(bound) + SLACK:
        raise _not_reached(int(risk.argmax()), risk, bound, categories)
    while high - low > 1:
        middle, rounds = (low + high) // 2, rounds + 1
        found = tried(middle)
        if found[1].max() <= float(bound) + SLACK:
            high, (design, risk) = middle, found
        else:
            low = middle
    return Lowered(design, {}, rounds, risk)


def _threshold(nu: Number) -> Fraction:
    bound = check_probability(nu, "match")
    if not bound:
        raise ParameterError("match = 0 cannot be reached", hint="give a chance above 0, such as 0.5", match=nu)
    return bound

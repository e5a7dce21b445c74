"""Diagonals lowered until no record is matched correctly with more than the chance that was allowed.

The chance of a correct match is no linear function of the matrix. Cells are therefore given caps on the chance that
their records stay, which are lowered, a step at a time, where the risk of the optimal matrix is still too high.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, percent_meant, to_decimal
from maskwell.core.phrases import VALUES, listed
from maskwell.designs.sparse import Sparse
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.counts import Amounts, check_length, read_amounts
from maskwell.release.matrices.infeasible import named
from maskwell.release.matrices.method1 import method1
from maskwell.release.matrices.optimal import OptimalMatrix, optimal_matrix

STEP = Fraction(1, 20)
"""By how much a cap is lowered at a time."""

_SLACK = 1e-12

BITS = 20
"""The theta of Method 1 is a multiple of two to minus this power."""

_FIRST = 4
"""It is first looked for in sixteen steps, as the risk need not fall all the way."""

Risk = Callable[[Sparse], Real]
"""The risk of every state under a design, shape (k,)."""


@dataclass(frozen=True, eq=False)
class Lowered:
    """A matrix under which no record is matched correctly with more than a chance nu.

    Attributes
    ----------
    design
        The matrix, in exact fractions.
    caps
        The bounds on the chance to stay that were needed, by state; empty where a single theta was looked for.
    risk
        Shape (k,): the chance of a correct match of a record of each state; 0 for states that are safe by their number.
    rounds
        How many matrices were tried.
    theta
        The strength of Method 1 where that was used.
    found
        The last optimal matrix with all it achieves, where one was.
    notes
        What a reader should know, in words.
    """

    design: Sparse
    caps: Mapping[int, Fraction]
    risk: Real
    rounds: int
    theta: Fraction | None = None
    found: OptimalMatrix | None = None
    notes: tuple[str, ...] = ()


def lower_until(
    v: Any,
    nu: Number,
    *,
    bounds: Bounds | None = None,
    risk: Risk | None = None,
    step: Number = STEP,
    categories: Categories | None = None,
    **options: Any,
) -> Lowered:
    """The optimal matrix with the diagonals of risky cells lowered until every risk is at most nu.

    A cell of ``1 / nu`` records or more is safe whatever the matrix: a match is right with at most one over the number
    of records. Only the others are looked at.

    Parameters
    ----------
    v
        Counts of the k states.
    nu
        The chance of a correct match that is allowed, above 0 and at most 1.
    bounds
        What else is asked of the matrix.
    risk
        The risk of every state under a design; left out, the largest chance of a correct match over the range that
        holds the number of candidates with 95 %.
    step
        By how much a cap is lowered at a time.
    options
        ``cost``, ``forbidden``, ``band`` and ``blocks`` of :func:`~maskwell.release.matrices.optimal.optimal_matrix`.

    Raises
    ------
    InfeasibleError
        Where a cell would have to be left by all its records, or no matrix keeps to the caps; names the cell.

    Source: after [Adeshiyan2011, section 4.7.4]; the iteration is derived.

    >>> found = lower_until([1, 2, 4, 10, 30], 0.4)
    >>> float(found.risk.max()) <= 0.4, found.caps[0], found.caps[1]   # the unique record stays with 35 % at most
    (True, Fraction(7, 20), Fraction(3, 5))
    """
    allowed, by = _allowed(nu), as_fraction(step, "step")
    amounts = read_amounts(v)
    labels = check_length(amounts, categories)
    asked, small = (bounds or Bounds()).with_bound("match", None), _small(amounts, allowed)
    measure = risk or match_risks(amounts, small, every_release=False)
    caps: dict[int, Fraction] = {}
    rounds = 0
    while True:  # each round lowers a cap, and none goes below 0
        rounds += 1
        found = _solved(v, asked, caps, labels, allowed, {**options, "categories": categories})
        risks = measure(found.design)
        risky = small[risks[small] > float(allowed) + _SLACK]
        if not len(risky):
            notes = *found.notes, *_elsewhere(found.design, amounts, small, allowed)
            design = found.design.with_provenance(method="lowered", match=to_decimal(allowed), notes=list(notes))
            return Lowered(design, caps, risks, rounds, found=found, notes=notes)
        caps = _lowered(caps, risky, by, asked, labels, allowed)


def method1_for_match(v: Any, nu: Number, *, risk: Risk | None = None, categories: Categories | None = None) -> Lowered:
    """Method 1 with the smallest theta, to six digits, under which every risk is at most nu.

    Whoever looks for a record is taken to look at the released value that serves best: at a theta of 1 a unique record
    never keeps its value, but of two categories it then surely has the other one.

    >>> found = method1_for_match([1, 2, 4, 10, 30], "0.4")
    >>> round(float(found.theta), 4)   # three quarters of a record leave each category on average
    0.7589
    """
    allowed = _allowed(nu)
    amounts = read_amounts(v)
    labels = check_length(amounts, categories)
    small = _small(amounts, allowed)
    measure = risk or match_risks(amounts, small, every_release=True)

    trials: list[int] = []

    def risks_at(step: int) -> Real:
        trials.append(step)
        return measure(method1(v, Fraction(step, 1 << BITS), categories=categories))

    def is_safe(step: int) -> bool:
        return bool((risks_at(step)[small] <= float(allowed) + _SLACK).all())

    tried = [n << (BITS - _FIRST) for n in range((1 << _FIRST) + 1)]
    high = next((step for step in tried if is_safe(step)), None)
    if high is None:
        raise _too_risky(risks_at(1 << BITS), small, labels, allowed)
    low = high - (1 << (BITS - _FIRST)) if high else -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_safe(middle) else (middle, high)
    theta = Fraction(high, 1 << BITS)
    design = method1(v, theta, categories=categories)
    return Lowered(design, {}, measure(design), len(trials), theta=theta, notes=tuple(design.provenance["notes"]))


def match_risks(amounts: Amounts, cells: Array, *, every_release: bool) -> Risk:
    """The largest chance of a correct match, over the range that holds the number of candidates with 95 %.

    Candidates are the records released with the value of the target, or, with ``every_release``, with the value that
    serves best.
    """
    from maskwell.release.risk.cell_risks import cell_risks

    def risks(design: Sparse) -> Real:
        every = np.zeros(len(amounts))
        if len(cells):
            found = cell_risks(amounts.integers, design, cells=cells, every_release=every_release)
            every[found.cells] = found.any_release if every_release else found.in_range
        return every

    return risks


def _elsewhere(design: Sparse, amounts: Amounts, small: Array, allowed: Fraction) -> list[str]:
    """That some records are easier to find under another value than their own, where that is so."""
    risks = match_risks(amounts, small, every_release=True)(design)
    more = risks > float(allowed) + _SLACK
    if not more.any():
        return []
    return [
        f"records of {int(more.sum()):,} categories are matched with up to {risks.max():.3g} by someone who knows the"
        " matrix and looks under another value than theirs"
    ]


def _allowed(nu: Number) -> Fraction:
    allowed = as_fraction(nu, "nu")
    if not 0 < allowed <= 1:
        raise ParameterError(
            f"nu = {to_decimal(allowed)} is out of range", hint=f"give a number above 0, at most 1{percent_meant(nu)}"
        )
    return allowed


def _small(amounts: Amounts, allowed: Fraction) -> Array:
    """The states whose records may be at risk: they occur, and less often than ``1 / nu`` times."""
    counts = amounts.integers
    return np.flatnonzero(amounts.support & np.asarray(counts * allowed.numerator < allowed.denominator, dtype=bool))


def _solved(
    v: Any, bounds: Bounds, caps: Mapping[int, Fraction], labels: Categories, allowed: Fraction, options: dict[str, Any]
) -> OptimalMatrix:
    """The best matrix under the caps; where there is none, an error that says which cells they were needed for."""
    try:
        return optimal_matrix(v, _capped(bounds, caps), **options)
    except InfeasibleError as error:
        if not caps:
            raise
        cells = listed((str(x + 1) for x in caps), len(caps), 24)
        many = "category" if len(caps) == 1 else "categories"
        raise InfeasibleError(
            f"a match of at most {to_decimal(allowed)} needs more changes of {many} {cells} than are allowed",
            hint="allow a larger chance, other bounds or more moves, or merge these categories",
            values=listed((f"{x + 1}: {named(labels.labels[x])!r}" for x in caps), len(caps), VALUES),
            states=tuple(caps),
            caps=caps,
        ) from error


def _capped(bounds: Bounds, caps: Mapping[int, Fraction]) -> Bounds:
    """The bounds with these caps, where they are tighter than what is asked already."""
    tighter = {place: min(cap, bounds.own(place)) for place, cap in caps.items()}
    return bounds.with_caps({**bounds.caps, **tighter})


def _lowered(
    caps: Mapping[int, Fraction], risky: Array, step: Fraction, bounds: Bounds, labels: Categories, allowed: Fraction
) -> dict[int, Fraction]:
    lower = dict(caps)
    for place in risky.tolist():
        lower[place] = min(lower.get(place, Fraction(1)), bounds.own(place)) - step
        if lower[place] <= 0:
            raise InfeasibleError(
                f"even if all records of category {place + 1} change, the chance that one is matched is above"
                f" {to_decimal(allowed)}",
                hint="allow a larger chance, merge it with other categories, or use larger blocks",
                values=repr(named(labels.labels[place])),
                state=place,
            )
    return lower


def _too_risky(risks: Real, small: Array, labels: Categories, allowed: Fraction) -> InfeasibleError:
    worst = int(small[np.argmax(risks[small])])
    return InfeasibleError(
        f"Method 1 at its strongest leaves category {worst + 1} a risk of {risks[worst]:.3f},"
        f" more than {to_decimal(allowed)}",
        hint="use lower_until (method = lowered), allow a larger chance, or merge categories",
        values=repr(named(labels.labels[worst])),
        state=worst,
    )

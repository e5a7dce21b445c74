"""Diagonals lowered until no record is matched correctly with more than the chance that was allowed.

The chance of a correct match is no linear function of the matrix. Cells are therefore given caps on the chance that
their records stay, which are lowered, a step at a time, where the risk of the optimal matrix is still too high.

Caps alone may drive two small cells into swapping their records, which hides nobody. Where they do not suffice, it is
also bounded how much a risky cell exchanges with each other one: ever more evenly, until a release says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, percent_meant, to_decimal
from maskwell.core.phrases import listed, shorten
from maskwell.core.printed import round_up
from maskwell.designs.sparse import Sparse
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.release.matrices.assembling import block_numbers
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.counts import Amounts, check_length, read_amounts
from maskwell.release.matrices.infeasible import named
from maskwell.release.matrices.method1 import method1
from maskwell.release.matrices.nearest import upwards
from maskwell.release.matrices.optimal import OptimalMatrix, optimal_matrix

STEP = Fraction(1, 20)
"""By how much a cap is lowered at a time."""

OUTSIDE = Fraction(1, 20)
"""The chance of the numbers of candidates that the range of 95 % leaves out."""

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
        Where no matrix was found; names the cell that is at risk, and a chance that works. It says that there is none
        only where that is proved: a record stays with at most ``nu`` times the count of its cell, plus 5 % that the
        range leaves out, and the other bounds do not allow that.

    Source: after [Adeshiyan2011, section 4.7.4]; the iteration is derived.

    >>> found = lower_until([1, 2, 4, 10, 30], 0.4)
    >>> float(found.risk.max()) <= 0.4, found.caps[0], found.caps[1]   # the unique record stays with 35 % at most
    (True, Fraction(7, 20), Fraction(3, 5))
    >>> float(lower_until([1, 1, 40, 60], 0.2).risk.max()) <= 0.2   # two unique records that swap would not be safe
    True
    """
    allowed, by = _allowed(nu), as_fraction(step, "step")
    amounts = read_amounts(v)
    labels = check_length(amounts, categories)
    asked, small = (bounds or Bounds()).with_bound("match", None), _small(amounts, allowed)
    measure = risk or match_risks(amounts, small, every_release=False)
    best = partial(optimal_matrix, v, categories=categories, **options)
    search = _Search(amounts, _block_counts(amounts, options.get("blocks")), asked, small, by, measure, best)
    found, rounds = search.least_risky(allowed)
    if not found.is_safe:
        raise _not_found(search, found, labels, allowed, provable=risk is None)
    notes = *found.matrix.notes, *_elsewhere(found.matrix.design, amounts, small, allowed)
    design = found.matrix.design.with_provenance(method="lowered", match=to_decimal(allowed), notes=list(notes))
    return Lowered(design, found.caps, found.risks, rounds, found=found.matrix, notes=notes)


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
        f"records of {int(more.sum()):,} categories are matched with up to {round_up(risks.max(), 3):g} by someone"
        " who knows the matrix and looks under another value than theirs"
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


def _block_counts(amounts: Amounts, blocks: Any) -> Array:
    """The records in the block of each state, shape (k,)."""
    numbers = block_numbers(blocks, len(amounts))
    totals = np.array([0] * (int(numbers.max()) + 1), dtype=object)
    np.add.at(totals, numbers, amounts.integers.astype(object))
    return np.asarray(totals[numbers])


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A matrix that was tried under some caps, and the risks that it leaves, shape (k,)."""

    caps: Mapping[int, Fraction]
    matrix: OptimalMatrix
    risks: Real
    risky: list[int]

    @property
    def is_safe(self) -> bool:
        return not self.risky


@dataclass(frozen=True, eq=False)
class _Search:
    """Looks for a matrix under which no state in ``small`` has too high a risk; ``best`` solves for bounds."""

    amounts: Amounts
    block_counts: Array
    asked: Bounds
    small: Array
    step: Fraction
    measure: Risk
    best: Callable[[Bounds], OptimalMatrix]

    def least_risky(self, allowed: Fraction) -> tuple[_Attempt, int]:
        """The first matrix that is safe, or else the one whose largest risk is least; and how many were tried."""
        rounds, least = 0, None
        for attempt in self._attempts(allowed):
            rounds += 1
            if least is None or attempt.is_safe or self.worst(attempt) < self.worst(least):
                least = attempt
            if attempt.is_safe:
                break
        assert least is not None  # the first attempt has no caps: it is there, or has raised
        return least, rounds

    def worst(self, attempt: _Attempt) -> float:
        """The largest risk of a state that is looked at."""
        return float(attempt.risks[self.small].max())

    def _attempts(self, allowed: Fraction) -> Iterator[_Attempt]:
        """First caps alone; then records also hide among ``1 / nu`` of their block, ever twice as many, and all."""
        yield from self._with_lower_caps(allowed, None)
        size = math.ceil(1 / allowed)
        while size < max(self.block_counts):
            yield from self._with_lower_caps(allowed, np.minimum(self.block_counts, size))
            size *= 2
        yield from self._with_lower_caps(allowed, self.block_counts)

    def _with_lower_caps(self, allowed: Fraction, sizes: Array | None) -> Iterator[_Attempt]:
        caps: dict[int, Fraction] = {}
        while True:  # each round lowers a cap, and none reaches 0
            try:
                matrix = self.best(self._bounds(caps, sizes))
            except InfeasibleError:
                if not caps:
                    raise
                return
            risks = self.measure(matrix.design)
            risky = self.small[risks[self.small] > float(allowed) + _SLACK].tolist()
            yield _Attempt(caps, matrix, risks, risky)
            caps = caps | {place: self._lower_cap(place, caps, sizes) for place in risky}
            if any(cap <= 0 for cap in caps.values()):  # records that surely leave are found where they go
                return

    def _bounds(self, caps: Mapping[int, Fraction], sizes: Array | None) -> Bounds:
        """What is asked, with the caps, and with exchanges of these states spread so that they hide among ``sizes``."""
        bounds = self.asked.with_caps({**self.asked.caps, **caps})
        if sizes is None:
            return bounds
        return bounds.with_spread({place: Fraction(self.block_counts[place], sizes[place]) for place in caps})

    def _lower_cap(self, place: int, caps: Mapping[int, Fraction], sizes: Array | None) -> Fraction:
        """A step below the cap until now; a state that is spread starts with its share of those among whom it hides."""
        own = self.asked.own(place)
        if sizes is not None and place not in caps:
            return min(own, Fraction(int(self.amounts.integers[place]), sizes[place]))
        return caps.get(place, own) - self.step


def _not_found(
    search: _Search, least: _Attempt, labels: Categories, allowed: Fraction, *, provable: bool
) -> InfeasibleError:
    """The error where no matrix was safe: that there is none, if that is proved, or a chance that works."""
    if provable and (states := _impossible(search, allowed)):
        cells = listed((repr(named(labels.labels[x])) for x in states), len(states), 30)
        return InfeasibleError(
            f"a match of at most {to_decimal(allowed)} needs more changes of {cells} than are allowed",
            hint="allow a larger chance, other bounds or more moves, or merge these categories",
            states=states,
        )
    worst = least.risky[int(np.argmax(least.risks[least.risky]))]
    chance = upwards(search.worst(least))
    works = chance < 1 and search.least_risky(as_fraction(chance, "nu"))[0].is_safe
    return InfeasibleError(
        f"no matrix was found with a match of at most {to_decimal(allowed)}: the best leaves"
        f" {shorten(named(labels.labels[worst]), 24)!r} a chance of {chance:g}",
        hint=f"allow {chance:g}, or merge categories" if works else "allow a larger chance, or merge categories",
        state=worst,
        chance=chance if works else None,
    )


def _impossible(search: _Search, allowed: Fraction) -> tuple[int, ...]:
    """The risky states, where no matrix lets enough of their records change; empty where that is not proved.

    With T records released as x, ``Pr(in, T = t) <= nu t Pr(T = t)`` for every t that counts, summed over t: a record
    stays with at most ``nu`` times the count of its cell, plus the chance of the t that the range leaves out.
    """
    most = {x: allowed * int(search.amounts.integers[x]) + OUTSIDE for x in search.small.tolist()}
    caps = {x: min(cap, search.asked.own(x)) for x, cap in most.items() if cap < 1}
    try:
        search.best(search.asked.with_caps({**search.asked.caps, **caps}))
    except InfeasibleError:
        return tuple(caps)
    return ()


def _too_risky(risks: Real, small: Array, labels: Categories, allowed: Fraction) -> InfeasibleError:
    worst = int(small[np.argmax(risks[small])])
    category, risk = shorten(named(labels.labels[worst]), 24), round_up(risks[worst], 3)
    return InfeasibleError(
        f"Method 1 at its strongest leaves {category!r} a risk of {risk:g}, more than {to_decimal(allowed)}",
        hint="use lower_until (method = lowered), allow a larger chance, or merge categories",
        state=worst,
    )

"""Diagonals lowered until no record is matched correctly with more than the chance that was allowed.

That probability is not linear in the matrix, so caps on staying and on moves are lowered in steps. As two small
cells may then only swap their records, it is also bounded how much a risky cell exchanges with each other one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, percent_meant, to_decimal
from maskwell.core.phrases import VALUES, Printed, listed
from maskwell.core.verdicts import SLACK, above, at_most, below, largest
from maskwell.designs.sparse import Sparse
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.microdata.matrices.bounds import Amounts, Bounds, Exchanges, labels_for, read_amounts
from maskwell.microdata.matrices.closed_forms import method1
from maskwell.microdata.matrices.infeasibility import label_text, upwards
from maskwell.microdata.matrices.matrix_patterns import block_numbers
from maskwell.microdata.matrices.optimal_flows import OptimalMatrix, optimal_matrix
from maskwell.microdata.risk.intruders import ANY_LOOK, OWN_KEY, Intruder, intruder_named

STEP = Fraction(1, 20)  # By how much a cap is lowered at a time
OUTSIDE = Fraction(1, 20)  # The chance of the numbers of candidates that the range of 95 % leaves out
BITS = 20  # The theta of Method 1 is a multiple of two to minus this power
_FIRST = 4  # It is first looked for in sixteen steps, as the risk need not fall all the way
Risk = Callable[[Sparse], Real]  # The risk of every state under a design, shape (k,)
Move = tuple[int, int]  # A released state and a true one


@dataclass(frozen=True, eq=False)
class Lowered:
    """A matrix under which no record is matched correctly with more than a chance nu."""

    design: Sparse  # the matrix, in exact fractions
    # the bounds on the chance to stay that were needed, by state; empty where a single theta was looked for
    caps: Mapping[int, Fraction]
    # shape (k,): the chance of a correct match of a record of each state; 0 for states that are safe by their number
    risk: Real
    rounds: int  # how many matrices were tried
    theta: Fraction | None = None  # the strength of Method 1 where that was used
    found: OptimalMatrix | None = None  # the last optimal matrix with all it achieves, where one was
    notes: tuple[str, ...] = ()  # what a reader should know, in words


def lower_until(
    v: Any,
    nu: Number,
    *,
    bounds: Bounds | None = None,
    risk: Risk | None = None,
    intruder: str = ANY_LOOK.name,
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
        The risk of every state under a design; left out, the largest chance of a correct match by the intruder.
    intruder
        Whom the bound is for: one of :data:`~maskwell.microdata.risk.intruders.INTRUDERS`.
    step
        By how much a cap is lowered at a time.
    options
        ``cost``, ``forbidden``, ``band``, ``blocks`` and ``kept`` of
        :func:`~maskwell.microdata.matrices.optimal_flows.optimal_matrix`.

    Raises
    ------
    InfeasibleError
        Where no matrix was found; names the cell that is at risk, and a chance that works. It says that there is none
        only where that is proved.

    Source: after [Adeshiyan2011, section 4.7.4]; the iteration is derived.

    >>> lowered = lower_until([1, 2, 4, 10, 30], 0.4)
    >>> float(lowered.risk.max()) <= 0.4, lowered.caps[0], lowered.caps[1]   # the unique record stays with 35 % at most
    (True, Fraction(7, 20), Fraction(13, 20))
    >>> float(lower_until([1, 1, 40, 60], 0.2).risk.max()) <= 0.2   # two unique records that swap would not be safe
    True
    """
    check_kind(Bounds | None, bounds=bounds)
    check_kind(str, intruder=intruder)
    check_kind(Callable | None, risk=risk)
    allowed, by = _allowed(nu), as_fraction(step, "step")
    amounts = read_amounts(v)
    labels = labels_for(amounts, categories)
    asked, small = (bounds or Bounds()).with_bound("match", None), _small(amounts, allowed)
    best = partial(optimal_matrix, v, categories=categories, **options)
    numbers = block_numbers(options.get("blocks"), len(amounts))
    totals = np.array([0] * (int(numbers.max()) + 1), dtype=object)
    np.add.at(totals, numbers, amounts.integers.astype(object))
    judge = _judge(risk, intruder_named(intruder), amounts, small)
    search = _Search(amounts, np.asarray(totals[numbers]), asked, small, by, judge, best)
    attempt, rounds = search.least_risky(allowed)
    if not attempt.is_safe:
        raise _not_found(search, attempt, labels, allowed, provable=risk is None)
    matrix = attempt.matrix
    design = matrix.design.with_provenance(method="lowered", match=to_decimal(allowed), notes=list(matrix.notes))
    return Lowered(design, attempt.caps, attempt.risks, rounds, found=matrix, notes=matrix.notes)


def method1_for_match(
    v: Any, nu: Number, *, risk: Risk | None = None, intruder: str = ANY_LOOK.name, categories: Categories | None = None
) -> Lowered:
    """Method 1 with the smallest theta, to six digits, under which every risk is at most nu."""
    check_kind(str, intruder=intruder)
    check_kind(Callable | None, risk=risk)
    allowed = _allowed(nu)
    amounts = read_amounts(v)
    labels = labels_for(amounts, categories)
    small = _small(amounts, allowed)
    measure = _judge(risk, intruder_named(intruder), amounts, small).worst
    trials: list[int] = []

    def risks_at(step: int) -> Real:
        trials.append(step)
        return measure(method1(v, Fraction(step, 1 << BITS), categories=categories))

    def is_safe(step: int) -> bool:
        return bool(at_most(risks_at(step)[small], allowed, scale=1).all())

    tried = [n << (BITS - _FIRST) for n in range((1 << _FIRST) + 1)]
    high = next((step for step in tried if is_safe(step)), None)
    if high is None:
        risks = risks_at(1 << BITS)
        worst = int(small[largest(risks[small])])
        raise InfeasibleError(
            "method-1-at-its-strongest-leaves",
            worst_number=worst + 1,
            risk=Printed(risks[worst]),
            allowed=to_decimal(allowed),
            values=repr(label_text(labels.labels[worst])),
            state=worst,
        )
    low = high - (1 << (BITS - _FIRST)) if high else -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_safe(middle) else (middle, high)
    theta = Fraction(high, 1 << BITS)
    design = method1(v, theta, categories=categories)
    return Lowered(design, {}, measure(design), len(trials), theta=theta, notes=tuple(design.provenance["notes"]))


def match_risks(amounts: Amounts, cells: Array, intruder: Intruder = ANY_LOOK) -> Risk:
    """The largest chance of a correct match by an intruder."""
    from maskwell.microdata.risk.identity_disclosure import cell_risks

    def risks(design: Sparse) -> Real:
        every = np.zeros(len(amounts))
        if len(cells):
            by_cell = cell_risks(amounts.integers, design, cells=cells, every_release=intruder.looks_anywhere)
            every[by_cell.cells] = intruder.chances(vars(by_cell))
        return every

    return risks


@dataclass(frozen=True, eq=False)
class _Judge:
    own: Risk  # the risk that a lower chance to stay can mend
    # moves by which records are found with more than an allowed chance, each with its own chance
    easy: Callable[[Sparse, Fraction], dict[Move, Fraction]]
    worst: Risk  # the risk that the bound is for


def _judge(risk: Risk | None, intruder: Intruder, amounts: Amounts, small: Array) -> _Judge:
    """By a risk that was given, whose values are checked, or by the largest chance of a match by an intruder."""

    def given(design: Sparse) -> Real:
        values = as_floats(risk(design), "the values of risk(design)") if risk else np.zeros(0)
        if values.shape != (len(amounts),):
            raise ParameterError("risk-design-has-shape-for-states", shape=values.shape, k=len(amounts))
        return values

    def easy(design: Sparse, allowed: Fraction) -> dict[Move, Fraction]:
        from maskwell.microdata.risk.arrivals import SparseArrivals

        true, released, _ = SparseArrivals.from_design(amounts.integers, design).above(small, float(allowed) + SLACK)
        columns = {j: design.columns_exact(j) for j in set(true.tolist())}
        return {(i, j): columns[j][i] for i, j in zip(released.tolist(), true.tolist(), strict=True)}

    worst = given if risk else match_risks(amounts, small, intruder)
    if risk or not intruder.looks_anywhere:
        return _Judge(worst, lambda *_: {}, worst)
    return _Judge(match_risks(amounts, small, OWN_KEY), easy, worst)


def _allowed(nu: Number) -> Fraction:
    allowed = as_fraction(nu, "nu")
    if not 0 < allowed <= 1:
        raise ParameterError("nu-is-out-of-range", allowed=to_decimal(allowed), percent_meant=percent_meant(nu))
    return allowed


def _small(amounts: Amounts, allowed: Fraction) -> Array:
    """The states whose records may be at risk: they occur, and less often than ``1 / nu`` times."""
    return np.flatnonzero(amounts.support & np.asarray(amounts.integers < math.ceil(1 / allowed), dtype=bool))


@dataclass(frozen=True, eq=False)
class _Attempt:
    caps: Mapping[int, Fraction]
    matrix: OptimalMatrix
    risks: Real
    risky: list[int]
    easy: Mapping[Move, Fraction]

    @property
    def is_safe(self) -> bool:
        return not self.risky and not self.easy


@dataclass(frozen=True, eq=False)
class _Search:
    """Looks for a matrix under which no state in ``small`` has too high a risk; ``best`` solves for bounds."""

    amounts: Amounts
    block_counts: Array
    asked: Bounds
    small: Array
    step: Fraction
    judge: _Judge
    best: Callable[[Bounds], OptimalMatrix]

    def least_risky(self, allowed: Fraction) -> tuple[_Attempt, int]:
        """The first matrix that is safe, or else the one whose largest risk is least; and how many were tried."""
        rounds, least = 0, None
        for attempt in self._attempts(allowed):
            rounds += 1
            if least is None or attempt.is_safe or below(self.worst(attempt), self.worst(least)):
                least = attempt
            if attempt.is_safe:
                break
        assert least is not None  # the first attempt has no caps: it is there, or has raised
        return least, rounds

    def worst(self, attempt: _Attempt) -> float:
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
        moves: dict[Move, Fraction] = {}
        while True:  # each round lowers a cap, and none goes below 0
            try:
                matrix = self.best(self._bounds(caps, moves, sizes))
            except InfeasibleError:
                if not caps and not moves:
                    raise
                return
            design, judge = matrix.design, self.judge
            risky = self.small[above(judge.own(design)[self.small], allowed, scale=1)].tolist()
            attempt = _Attempt(caps, matrix, judge.worst(design), risky, judge.easy(design, allowed))
            yield attempt
            for place in risky:  # a step lower; spread states start with their share of those they hide among
                own = self.asked.own(place)
                if sizes is not None and place not in caps:
                    lower = min(own, Fraction(int(self.amounts.integers[place]), sizes[place]))
                else:
                    lower = caps.get(place, own) - self.step
                caps = caps | {place: lower}
            moves = moves | {move: max(chance - self.step, Fraction(0)) for move, chance in attempt.easy.items()}
            if any(cap <= 0 for cap in caps.values()):  # records that surely leave are found where they go
                return

    def _bounds(self, caps: Mapping[int, Fraction], moves: Mapping[Move, Fraction], sizes: Array | None) -> Bounds:
        """What is asked, with the caps, and with exchanges of these states spread so that they hide among ``sizes``."""
        bounds = replace(self.asked, caps={**self.asked.caps, **caps}, exchanges=Exchanges(moves=moves))
        if sizes is None:
            return bounds
        hidden = {*caps, *(true for _, true in moves)}
        spread = {place: Fraction(self.block_counts[place], sizes[place]) for place in hidden}
        return replace(bounds, exchanges=Exchanges(spread=spread, moves=moves))


def _not_found(
    search: _Search, least: _Attempt, labels: Categories, allowed: Fraction, *, provable: bool
) -> InfeasibleError:
    """The error where no matrix was safe: that there is none, if that is proved, or a chance that works."""
    if provable and (states := _impossible(search, allowed)):
        cells = listed((str(x + 1) for x in states), len(states), 24)
        many = "category" if len(states) == 1 else "categories"
        return InfeasibleError(
            "a-match-of-at-most-needs",
            allowed=to_decimal(allowed),
            many=many,
            cells=cells,
            values=listed((f"{x + 1}: {label_text(labels.labels[x])!r}" for x in states), len(states), VALUES),
            states=states,
        )
    worst = int(search.small[largest(least.risks[search.small])])
    chance = upwards(search.worst(least))
    works = chance < 1 and search.least_risky(as_fraction(chance, "nu"))[0].is_safe
    return InfeasibleError(
        "no-matrix-was-found",
        allowed=to_decimal(allowed),
        worst_number=worst + 1,
        chance_shown=Printed(chance),
        chance_2=f"{Printed(chance):g}" if works else "a larger probability",
        values=repr(label_text(labels.labels[worst])),
        state=worst,
        chance=chance if works else None,
    )


def _impossible(search: _Search, allowed: Fraction) -> tuple[int, ...]:
    """The risky states, if proved that no matrix lets enough records change: ``nu N`` at most stay."""
    most = {x: allowed * int(search.amounts.integers[x]) + OUTSIDE for x in search.small.tolist()}
    caps = {x: min(cap, search.asked.own(x)) for x, cap in most.items() if cap < 1}
    try:
        search.best(replace(search.asked, caps={**search.asked.caps, **caps}))
    except InfeasibleError:
        return tuple(caps)
    return ()

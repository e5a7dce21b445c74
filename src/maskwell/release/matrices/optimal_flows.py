"""optimal_matrix: the matrix with ``P v = v`` that keeps to all bounds and changes as little as possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.errors import ParameterError
from maskwell.release.matrices.bounds import Amounts, Bounds, labels_for, read_amounts
from maskwell.release.matrices.flow_program import Pairs, Program, allowed_pairs, attained, cost_matrix, worst_of
from maskwell.release.matrices.flow_rounding import (
    corner,
    has_least_guess,
    keeps_bounds,
    least_guess_flows,
    round_flows,
)
from maskwell.release.matrices.flow_solver import TIGHT, Solution, goes_inside, solve, solve_evenly
from maskwell.release.matrices.infeasibility import States, at_limits, checked_program, explained, label_text
from maskwell.release.matrices.matrix_patterns import block_numbers, from_entries, with_notes

EVEN_PAIRS = 2500
"""Programs of up to so many pairs are solved a second time, for the optimum with the smallest other posteriors."""


@dataclass(frozen=True, eq=False)
class OptimalMatrix:
    """The best matrix under some bounds, and what it achieves.

    Attributes
    ----------
    design
        The matrix, in exact fractions.
    optimum
        The share of the records that stay, or the mean cost where a cost was given.
    objective
        ``"agreement"`` or ``"cost"``.
    achieved
        What the matrix reaches, by the names of the bounds, in the worst block; exact bounds were checked exactly.
    notes
        What a reader should know, in words.
    invariance_error
        ``max_i |(P v)_i - v_i| / sum(v)``: the rounding leaves none.
    """

    design: Sparse
    optimum: float
    objective: str
    achieved: dict[str, float]
    notes: tuple[str, ...] = ()
    invariance_error: float = 0.0


def optimal_matrix(
    v: Any,
    bounds: Bounds,
    *,
    cost: Any = None,
    forbidden: Iterable[tuple[int, int]] = (),
    band: int | None = None,
    blocks: Any = None,
    categories: Categories | None = None,
) -> OptimalMatrix:
    """The invariant matrix that changes the fewest records, or at the least cost, under any combination of bounds.

        max sum_i f_ii   or   min sum_ij c_ij f_ij     with   sum_i f_ij = pi_j,  sum_j f_ij = pi_i,  f >= 0

    where ``f_ij = p_ij pi_j`` is the share of the records that go from j to i, ``pi = v / sum(v)``, and the bounds are
    those of :class:`~maskwell.release.matrices.bounds.Bounds`. A linear program is solved in floats and its answer
    rounded once, to integers that keep the counts and every bound exactly.

    Parameters
    ----------
    v
        Counts or weighted counts of the k states; a state without any keeps its value.
    bounds
        What is asked. Within blocks each bound is asked of every block by itself.
    cost
        ``"ordinal"`` for ``|i - j|``, or a k by k matrix: what it costs to release i (row) for j (column).
    forbidden
        Pairs ``(released, true)`` that must never happen.
    band
        A state may move by at most so many places.
    blocks
        One label for each state: no state leaves its block.

    Raises
    ------
    InfeasibleError
        Where no matrix keeps to all bounds; names the categories in the way and the nearest bound that works.

    Source: derived; the solution set is that of [Adeshiyan2011, section 4.5].

    >>> best = optimal_matrix([12, 8, 3], Bounds.of(posterior_own="0.6"))
    >>> round(best.optimum, 6)   # 58 % of the records stay as they are
    0.582609
    >>> best.achieved["posterior_own"], best.invariance_error
    (0.6, 0.0)
    """
    check_kind(Bounds, bounds=bounds)
    _check_linear(bounds)
    amounts = read_amounts(v, weighted=True)
    inputs = labels_for(amounts, categories)
    costs = cost_matrix(cost, len(amounts))
    places = [np.flatnonzero(own) for own in _members(amounts, blocks)]
    pairs = allowed_pairs(places, len(amounts), forbidden, band, costs)
    parts = [_part(amounts, place, own, bounds, inputs) for place, own in zip(places, pairs, strict=True)]
    return _joined(amounts, inputs, bounds, costs, parts)


def _check_linear(bounds: Bounds) -> None:
    if bounds.match is not None:
        raise ParameterError(
            "a bound on correct matches is no linear one", hint="use lower_until, which lowers diagonals until it holds"
        )


def _members(amounts: Amounts, blocks: Any) -> list[Array]:
    """For each block which states it has that occur."""
    numbers = block_numbers(blocks, len(amounts))
    occurring = amounts.support
    every = [(numbers == block) & occurring for block in range(int(numbers.max()) + 1)]
    return [own for own in every if own.any()]


# ---- one block


@dataclass(frozen=True, eq=False)
class Part:
    """One block solved: the places of its states, its program, and the flows in units of that."""

    places: Array
    program: Program
    units: Array
    notes: tuple[str, ...] = ()

    @property
    def flows(self) -> Real:
        """The flows in counts, shape (N,)."""
        return np.asarray(self.units / self.program.scale, dtype=np.float64)


def _part(amounts: Amounts, places: Array, pairs: Pairs, bounds: Bounds, inputs: Categories) -> Part:
    counts = amounts.integers[places].astype(object)
    states = States(counts, [label_text(inputs.labels[i]) for i in places.tolist()])
    if len(places) == 1:
        program = checked_program(Bounds(), states, pairs)
        return Part(places, program, program.sums)
    asked, notes = at_limits(_of_places(bounds, places), states)
    program = checked_program(asked, states, pairs)
    solution = _exact_flows(program)
    if solution is None:
        raise explained(asked, states, pairs)
    return Part(places, *solution, tuple(notes))


def _of_places(bounds: Bounds, places: Array) -> Bounds:
    """The bounds with those of single states and moves by the place among these states."""
    here = {old: new for new, old in enumerate(places.tolist())}
    return replace(
        bounds,
        caps={here[old]: cap for old, cap in bounds.caps.items() if old in here},
        spread={here[old]: factor for old, factor in bounds.spread.items() if old in here},
        moves={(here[i], here[j]): cap for (i, j), cap in bounds.moves.items() if i in here and j in here},
    )


def _exact_flows(program: Program) -> tuple[Program, Array] | None:
    """The program with its best flows in integers; None where the bounds contradict each other.

    The smallest guess has a closed form, which changes the fewest records. Tied bounds are first taken as they are,
    then a little tighter, which leaves room for the rounding; a parity needs that room as a rule. Where there is no
    room, the corner that was found is worked out in fractions.
    """
    if has_least_guess(program) and keeps_bounds(program, units := least_guess_flows(program)):
        return program, units
    for tight in (TIGHT, 0.0) if program.parity is not None else (0.0, TIGHT):
        best = solve(program, tight=tight)
        rounded = None if best is None else round_flows(program, _evened(program, best, tight), tight=tight)
        if rounded is not None:
            return program, rounded
    return _at_corner(program)


def _at_corner(program: Program) -> tuple[Program, Array] | None:
    best = solve(program)
    exact = None if best is None else corner(program, best.flows)
    return exact if exact is not None and keeps_bounds(*exact) else None


def _evened(program: Program, best: Solution, tight: float) -> Real:
    evened = len(program.pairs) <= EVEN_PAIRS and not goes_inside(program)
    return solve_evenly(program, best, tight=tight).flows if evened else best.flows


# ---- all blocks together


def _joined(
    amounts: Amounts, inputs: Categories, bounds: Bounds, costs: Real | None, parts: list[Part]
) -> OptimalMatrix:
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    design = with_notes(_design(amounts, inputs, parts), amounts, "optimal", *notes, bounds=bounds.to_dict())
    reached = [attained(part.program, part.units) for part in parts]
    return OptimalMatrix(
        design=design,
        optimum=_objective(parts, costs),
        objective="agreement" if costs is None else "cost",
        achieved=worst_of(reached),
        notes=tuple(design.provenance["notes"]),
    )


def _design(amounts: Amounts, inputs: Categories, parts: list[Part]) -> Sparse:
    """The matrix: flows divided by their columns; states without records keep their value."""
    empty = np.flatnonzero(~amounts.support)
    rows = [part.places[part.program.pairs.released] for part in parts]
    columns = [part.places[part.program.pairs.true] for part in parts]
    numerators = [_reduced(part) for part in parts]
    return from_entries(
        np.concatenate([*columns, empty]),
        np.concatenate([*rows, empty]),
        np.concatenate([*numerators, np.ones(len(empty), dtype=object)]),
        inputs,
    )


def _reduced(part: Part) -> Array:
    """The flows in the smallest integers that have the same ratios in every column."""
    true = part.program.pairs.true
    divisor = np.zeros(len(part.places), dtype=object)
    np.gcd.at(divisor, true, part.units)
    return np.asarray(part.units // divisor[true])


def _objective(parts: list[Part], costs: Real | None) -> float:
    """The mean of the costs over all records, or the share that stays."""
    total = sum(part.program.total / part.program.scale for part in parts)
    sums = [float((part.flows * part.program.pairs.cost).sum()) for part in parts]
    return (-1 if costs is None else 1) * sum(sums) / total + 0.0  # never minus zero

"""optimal_matrix: the matrix with ``P v = v`` that keeps to all bounds and changes as little as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind, list_of
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.microdata.matrices import flow_program
from maskwell.microdata.matrices import flow_rounding as rounding
from maskwell.microdata.matrices.bounds import Amounts, Bounds, Exchanges, labels_for, read_amounts
from maskwell.microdata.matrices.flow_program import Pairs, Program
from maskwell.microdata.matrices.flow_solver import TIGHT, Solution, solve
from maskwell.microdata.matrices.infeasibility import Asked, label_text
from maskwell.microdata.matrices.kept_cells import KeptCells
from maskwell.microdata.matrices.matrix_patterns import block_numbers, from_entries, with_notes
from maskwell.microdata.matrices.settled_flows import least_dependent

UNSETTLED = "the bounds leave several best matrices, and another version of the solver may find another one"
# Programs of up to so many pairs are given to HiGHS where the interior-point method leaves open what is tight.
CORNERED_PAIRS = 2500


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
    kept: Sequence[KeptCells] = (),
) -> OptimalMatrix:
    """The invariant matrix that changes the fewest records, or at the least cost, under any combination of bounds.

        max sum_i f_ii   or   min sum_ij c_ij f_ij     with   sum_i f_ij = pi_j,  sum_j f_ij = pi_i,  f >= 0

    where ``f_ij = p_ij pi_j`` is the share of the records that go from j to i, ``pi = v / sum(v)``, and the bounds are
    those of :class:`~maskwell.microdata.matrices.bounds.Bounds`. A linear program is solved in floats and its answer
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
    kept
        Tables with other columns that are kept within a tolerance in each block.

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
    kept = list_of(KeptCells, kept, "kept")
    if bounds.match is not None:
        raise ParameterError("a-bound-on-correct-matches")
    amounts = read_amounts(v, weighted=True)
    inputs = labels_for(amounts, categories)
    costs = flow_program.cost_matrix(cost, len(amounts))
    numbers = block_numbers(blocks, len(amounts))
    every = [np.flatnonzero((numbers == block) & amounts.support) for block in range(int(numbers.max()) + 1)]
    places = [own for own in every if len(own)]
    pairs = flow_program.allowed_pairs(places, len(amounts), forbidden, band, costs)
    parts = [_part(amounts, place, own, bounds, inputs, kept) for place, own in zip(places, pairs, strict=True)]
    return _joined(amounts, inputs, bounds, costs, parts)


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


def _part(
    amounts: Amounts, places: Array, pairs: Pairs, bounds: Bounds, inputs: Categories, kept: Sequence[KeptCells]
) -> Part:
    counts = amounts.integers[places].astype(object)
    names = [label_text(inputs.labels[i]) for i in places.tolist()]
    if len(places) == 1:
        program = Asked(Bounds(), pairs, counts, names).program()
        return Part(places, program, program.sums)
    asked, notes = Asked(_of_places(bounds, places), pairs, counts, names).at_limits()
    solution = _exact_flows(asked.program().keeping([one.part(places) for one in kept]))
    if solution is None and kept:
        raise InfeasibleError("no-matrix-keeps-the-tables")
    if solution is None:
        raise asked.explained()
    program, units, settled = solution
    return Part(places, program, units, (*notes, *([] if settled else [UNSETTLED])))


def _of_places(bounds: Bounds, places: Array) -> Bounds:
    """The bounds with those of single states and moves by the place among these states."""
    here = {old: new for new, old in enumerate(places.tolist())}
    caps = {here[old]: cap for old, cap in bounds.caps.items() if old in here}
    given = bounds.exchanges
    moves = {(here[i], here[j]): cap for (i, j), cap in given.moves.items() if i in here and j in here}
    spread = {here[i]: factor for i, factor in given.spread.items() if i in here}
    return replace(bounds, caps=caps, exchanges=Exchanges(spread=spread, moves=moves))


def _exact_flows(program: Program) -> tuple[Program, Array, bool] | None:
    """The program, its best integer flows, and whether no solver decides them; tied bounds tighter if need be."""
    if rounding.has_least_guess(program) and rounding.keeps_bounds(
        program, units := rounding.least_guess_flows(program)
    ):
        return program, units, True
    for tight in (TIGHT, 0.0) if program.parity is not None else (0.0, TIGHT):
        best = solve(program, tight=tight)
        if best is not None:
            settled = _settled(program, best, tight)
            suggested = rounding.to_grid(program, best.flows) if settled is None else settled
            rounded = rounding.round_units(program, suggested, tight=tight)
            if rounded is not None:
                return program, rounded, settled is not None
    best = solve(program)
    exact = None if best is None else rounding.corner(program, best.flows)
    return (*exact, False) if exact is not None and rounding.keeps_bounds(*exact) else None


def _settled(program: Program, best: Solution, tight: float) -> Array | None:
    """The one answer that no solver decides, before sums are made right; None where it is not found."""
    units = least_dependent(program, best, tight=tight)
    if units is None and best.inside and len(program.pairs) <= CORNERED_PAIRS:
        other = solve(program, tight=tight, inside=False)
        units = None if other is None else least_dependent(program, other, tight=tight)
    return units


def _joined(
    amounts: Amounts, inputs: Categories, bounds: Bounds, costs: Real | None, parts: list[Part]
) -> OptimalMatrix:
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    design = with_notes(_design(amounts, inputs, parts), amounts, "optimal", *notes, bounds=bounds.to_dict())
    total = sum(part.program.total / part.program.scale for part in parts)
    spent = sum(float((part.flows * part.program.pairs.cost).sum()) for part in parts)
    return OptimalMatrix(
        design=design,
        optimum=(-1 if costs is None else 1) * spent / total + 0.0,  # never minus zero
        objective="agreement" if costs is None else "cost",
        achieved=flow_program.worst_of([flow_program.attained(part.program, part.units) for part in parts]),
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

"""optimal_matrix: the matrix with ``P v = v`` that keeps to all bounds and changes as little as possible.

A solver suggests flows in floats; one rounding makes them integer flows that keep the counts and every bound exactly.
They are rounded to the grid of the program and to within their bounds. What the sums of rows and columns are then off
by, a few units, is sent through the flows that have room for it, along shortest paths in a network [derived]: an
integer solution is found wherever there is one, and which one no library decides. Guess and parity are first given a
share for each row, which makes them bounds of single flows. The result is checked in integers; nothing that fails is
returned.

Two answers need no rounding. The smallest possible guess has a closed form. And where bounds can only be met with
equality, no grid may hold the answer: a small program is then solved exactly at the corner that the solver found. What
the floats say is met with equality is taken as equations, which a corner of the program solves alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import common_denominator
from maskwell.designs.rational import Equation, solve_sparse
from maskwell.designs.sparse import Sparse
from maskwell.errors import ParameterError
from maskwell.microdata.matrices.bounds import Amounts, Bounds, labels_for, read_amounts
from maskwell.microdata.matrices.flow_program import (
    Pairs,
    Program,
    allowed_pairs,
    attained,
    cost_matrix,
    parity_holds,
    row_largest,
    row_starts,
    worst_of,
)
from maskwell.microdata.matrices.flow_solver import TIGHT, Solution, least_dependent, solve
from maskwell.microdata.matrices.infeasibility import States, at_limits, checked_program, explained, label_text
from maskwell.microdata.matrices.matrix_patterns import block_numbers, from_entries, with_notes
from maskwell.microdata.matrices.swap_flows import spanning_tree

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
        raise ParameterError("a-bound-on-correct-matches")


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
    program, units, settled = solution
    return Part(places, program, units, (*notes, *([] if settled else [UNSETTLED])))


def _of_places(bounds: Bounds, places: Array) -> Bounds:
    """The bounds with those of single states and moves by the place among these states."""
    here = {old: new for new, old in enumerate(places.tolist())}
    return replace(
        bounds,
        caps={here[old]: cap for old, cap in bounds.caps.items() if old in here},
        spread={here[old]: factor for old, factor in bounds.spread.items() if old in here},
        moves={(here[i], here[j]): cap for (i, j), cap in bounds.moves.items() if i in here and j in here},
    )


def _exact_flows(program: Program) -> tuple[Program, Array, bool] | None:
    """The program, its best flows in integers, and whether no solver decides them; None where bounds contradict.

    Tied bounds are first taken as they are, then a little tighter, to leave room for the rounding, which a parity needs
    as a rule. Where there is none, the corner that was found is worked out in fractions.
    """
    if has_least_guess(program) and keeps_bounds(program, units := least_guess_flows(program)):
        return program, units, True
    for tight in (TIGHT, 0.0) if program.parity is not None else (0.0, TIGHT):
        best = solve(program, tight=tight)
        if best is not None:
            settled = _settled(program, best, tight)
            suggested = _to_grid(program, best.flows) if settled is None else settled
            rounded = round_units(program, suggested, tight=tight)
            if rounded is not None:
                return program, rounded, settled is not None
    corner_found = _at_corner(program)
    return None if corner_found is None else (*corner_found, False)


def _at_corner(program: Program) -> tuple[Program, Array] | None:
    best = solve(program)
    exact = None if best is None else corner(program, best.flows)
    return exact if exact is not None and keeps_bounds(*exact) else None


def _settled(program: Program, best: Solution, tight: float) -> Array | None:
    """The one answer that no solver decides, before sums are made right; None where it is not found."""
    units = least_dependent(program, best, tight=tight)
    if units is None and best.inside and len(program.pairs) <= CORNERED_PAIRS:
        other = solve(program, tight=tight, inside=False)
        units = None if other is None else least_dependent(program, other, tight=tight)
    return units


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


# ---- the one rounding

_NEAR = 1e-10  # Flows that are nearer to a bound than this part of the smaller of their two counts are put on it
_SPARE = Fraction(9, 10)  # Of what a bound was tightened by, this part may be used up by the rounding
_SHARE_BITS = 200


def round_flows(program: Program, flows: Real, *, tight: float) -> Array | None:
    """Integer flows near ``flows`` that keep everything exactly, in units of the program; None where none is found."""
    return round_units(program, _to_grid(program, flows), tight=tight)


def round_units(program: Program, units: Array, *, tight: float) -> Array | None:
    """The same for flows that are integers already, but keep neither sums nor bounds exactly."""
    bounded = _tied_to_rows(program, units, tight)
    rounded = _repaired(program, bounded, units)
    if rounded is None and program.kept != (None, None) and not tight:
        return _repaired(program, _frozen(bounded, units), units)
    return rounded


def keeps_bounds(program: Program, units: Array) -> bool:
    """Whether integer flows keep the counts and every bound of the program; exact."""
    if any(np.any(off != 0) for off in _missing(program, units)):
        return False
    if np.any(units < program.least) or np.any(units > program.most):
        return False
    kept = int(units[program.pairs.own].sum())
    low, high = program.kept
    if (low is not None and kept < low) or (high is not None and kept > high):
        return False
    if program.guess is not None and sum(row_largest(program, units)) > program.guess:
        return False
    return program.parity is None or parity_holds(program, units, units, program.parity)


def _repaired(program: Program, bounded: Program, units: Array) -> Array | None:
    """Integer flows within the tighter bounds that keep all those of the program."""
    if np.any(bounded.least > bounded.most):
        return None
    units = np.minimum(np.maximum(units, bounded.least), bounded.most)
    for attempt, start in _attempts(bounded, units):
        balanced = _balanced(attempt, start)
        if balanced is not None and keeps_bounds(program, balanced):
            return balanced
    return None


def _attempts(program: Program, units: Array) -> Iterator[tuple[Program, Array]]:
    """Bounds for the repair, and where it starts: with flows near a bound held on it, then those of zero, then none."""
    near = np.array([int(x) for x in np.minimum(*_margins(program)) * _NEAR], dtype=object)
    low, high = units - program.least <= near, program.most - units <= near
    held = np.where(low, program.least, np.where(high, program.most, units))
    fixed = np.asarray(low | high, dtype=bool)
    least, most = np.where(fixed, held, program.least), np.where(fixed, held, program.most)
    yield replace(program, least=least, most=most), held
    zero = np.asarray(low & (program.least == 0), dtype=bool)
    yield replace(program, most=np.where(zero, 0, program.most)), np.where(zero, 0, units)
    yield program, units


def _margins(program: Program) -> tuple[Real, Real]:
    """The sums of the row and of the column of each flow, in units."""
    sums = np.array([float(x) for x in program.sums])
    return sums[program.pairs.released], sums[program.pairs.true]


def _to_grid(program: Program, flows: Real) -> Array:
    return np.array([int(x) for x in np.rint(flows * float(program.scale)).tolist()], dtype=object)


def _tied_to_rows(program: Program, units: Array, tight: float) -> Program:
    least, most = program.least, program.most
    if program.guess is not None:
        most = np.minimum(most, _row_limits(program, units, program.guess, tight)[program.pairs.released])
    if program.parity is not None:
        low, high = _row_shares(program, units, program.parity, tight)
        least, most = np.maximum(least, low), np.minimum(most, high)
    return replace(program, least=least, most=most)


def _row_limits(program: Program, units: Array, guess: int, tight: float) -> Array:
    """The largest flow that each row may have; together no more than the guess allows."""
    largest = row_largest(program, units)
    spare = guess - sum(largest)
    if spare < 0 or not tight:
        return _trimmed(largest, spare)
    total = max(1, sum(largest))
    return np.array([x + int(spare * _SPARE * Fraction(x, total)) for x in largest], dtype=object)


def _trimmed(largest: list[int], spare: int) -> Array:
    """Limits that sum to what is allowed exactly; the difference goes to the largest rows, a unit each time around."""
    each, rest = divmod(spare, len(largest))
    order = np.argsort([-x for x in largest], kind="stable")
    limits = np.array(largest, dtype=object) + each
    limits[order[:rest]] += 1
    return np.asarray(limits)


def _row_shares(program: Program, units: Array, eta: Fraction, tight: float) -> tuple[Array, Array]:
    """Bounds ``m_i v_j`` and ``eta m_i v_j`` of each flow, m_i a little below the least share of row i."""
    i, v = program.pairs.released, program.v[program.pairs.true]
    share = (units << _SHARE_BITS) // v
    least = np.array([int(x) for x in np.minimum.reduceat(share, row_starts(program))], dtype=object)
    lowered = np.array([x - int(x * Fraction(tight) / 2) for x in least], dtype=object)
    below = lowered[i] * v
    return -((-below) >> _SHARE_BITS), (below * eta.numerator // eta.denominator) >> _SHARE_BITS


def _frozen(program: Program, units: Array) -> Program:
    """What stays is settled first, for a sum that must be met exactly; only the other flows then change."""
    diagonal, least, most = np.flatnonzero(program.pairs.own), program.least.copy(), program.most.copy()
    stay = np.minimum(np.maximum(units[diagonal], least[diagonal]), most[diagonal])
    low, high = program.kept
    kept = int(stay.sum())
    total = max(kept, low or 0) if high is None else min(max(kept, low or 0), high)
    for place in np.argsort(-stay.astype(np.float64), kind="stable").tolist():
        room = min(max(stay[place] + total - kept, least[diagonal[place]]), most[diagonal[place]])
        kept, stay[place] = kept + room - stay[place], room
    least[diagonal] = most[diagonal] = stay
    return replace(program, least=least, most=most)


def _missing(program: Program, units: Array) -> tuple[Array, Array]:
    """What rows and columns lack to their sums, in units."""
    rows, columns = program.sums.copy(), program.sums.copy()
    np.subtract.at(rows, program.pairs.released, units)
    np.subtract.at(columns, program.pairs.true, units)
    return rows, columns


def _balanced(program: Program, units: Array) -> Array | None:
    """Flows within the bounds whose rows and columns sum to the counts; None where the network does not let them."""
    shifted = _shifted(program, units)
    return _sent(program, units) if shifted is None else shifted


def _shifted(program: Program, units: Array) -> Array | None:
    """What is lacking sent along a tree of the flows with most room; None where they have too little."""
    i, j = program.pairs.released.tolist(), program.pairs.true.tolist()
    room = np.minimum(units - program.least, program.most - units)
    open_flows = {(i[e], j[e]): room[e] for e in np.flatnonzero(np.asarray(room > 0, dtype=bool)).tolist()}
    lacking = [part.tolist() for part in _missing(program, units)]
    sent: dict[tuple[int, int], int] = {}
    for node, parent in reversed(list(spanning_tree(open_flows))):
        (side, at), (other, to) = node, parent
        amount, lacking[side][at] = lacking[side][at], 0
        sent[(at, to) if side == 0 else (to, at)] = amount
        lacking[other][to] -= amount
    if any(map(any, lacking)) or any(abs(amount) > open_flows[place] for place, amount in sent.items()):
        return None
    places = zip(i, j, strict=True)
    return np.array([x + sent.get(place, 0) for x, place in zip(units.tolist(), places, strict=True)], dtype=object)


def _sent(program: Program, units: Array) -> Array | None:
    """What is lacking sent along shortest paths, one after the other; None where a state finds none with room.

    Of several paths the one with the first pairs is taken, so that no library decides.
    """
    row, column, pairs = program.pairs.released, len(program.v) + program.pairs.true, len(units)
    tails, heads = np.concatenate([row, column]), np.concatenate([column, row])
    room = np.concatenate([program.most - units, units - program.least])
    is_open = np.asarray(room > 0, dtype=bool)
    rows, columns = _missing(program, units)
    needs = np.concatenate([rows, -columns])
    for giver in np.flatnonzero(np.asarray(needs > 0, dtype=bool)).tolist():
        while needs[giver] > 0:
            path = _path(tails, heads, is_open, giver, np.asarray(needs < 0, dtype=bool))
            if path is None:
                return None
            taker, back = heads[path[0]], (path + pairs) % (2 * pairs)
            amount = min(needs[giver], -needs[taker], *room[path].tolist())
            needs[giver], needs[taker] = needs[giver] - amount, needs[taker] + amount
            room[path], room[back] = room[path] - amount, room[back] + amount
            is_open[path], is_open[back] = np.asarray(room[path] > 0, dtype=bool), True
    return np.asarray(program.most - room[:pairs])


def _path(tails: Array, heads: Array, is_open: Array, start: int, ends: Array) -> Array | None:
    """The edges of a shortest path from a node to one of the ends, the last edge first; None where there is none."""
    by = np.full(len(ends), -1)
    frontier = np.zeros(len(ends), dtype=bool)
    frontier[start], seen = True, np.arange(len(ends)) == start
    while not (frontier & ends).any():
        edges = np.flatnonzero(is_open & frontier[tails] & ~seen[heads])
        if not edges.size:
            return None
        reached, first = np.unique(heads[edges], return_index=True)
        frontier[:] = False
        by[reached], frontier[reached], seen[reached] = edges[first], True, True
    path, node = [], int(np.flatnonzero(frontier & ends)[0])
    while node != start:
        path.append(int(by[node]))
        node = int(tails[path[-1]])
    return np.array(path)


# ---- answers that need no rounding

CORNER_FLOWS = 400  # Programs with more flows are not solved in fractions: it would take minutes
_SAME = 1e-8
_ONE = Fraction(1)


def corner(program: Program, flows: Real) -> tuple[Program, Array] | None:
    """The exact corner near some flows, in counts, as integers of the program on a finer grid; None if it is none."""
    if len(flows) > CORNER_FLOWS:
        return None
    solution = solve_sparse(_equations(program, flows))
    if solution is None:
        return None
    exact = [solution[e] for e in range(len(flows))]
    finer = common_denominator(exact)
    units = np.array([int(x * finer) for x in exact], dtype=object)
    return _on_finer_grid(program, finer), units


def _on_finer_grid(program: Program, times: int) -> Program:
    kept = [None if bound is None else bound * times for bound in program.kept]
    return replace(
        program,
        scale=program.scale * times,
        least=program.least * times,
        most=program.most * times,
        guess=None if program.guess is None else program.guess * times,
        kept=(kept[0], kept[1]),
    )


def _equations(program: Program, flows: Real) -> Iterator[Equation]:
    """All that is met with equality. Unknowns: the flows in units, then the largest and the least share of each row."""
    units = flows * float(program.scale)
    close = _SAME * np.minimum(*(program.v.astype(np.float64)[x] for x in (program.pairs.released, program.pairs.true)))
    close = close * float(program.scale)
    yield from _sums(program)
    yield from _on_bounds(program, units, close)
    if program.guess is not None:
        yield from _guess(program, units, close, program.guess)
    if program.parity is not None:
        yield from _parity(program, units, close, program.parity)
    diagonal = np.flatnonzero(program.pairs.own)
    for bound in program.kept:
        if bound is not None and abs(units[diagonal].sum() - float(bound)) <= _SAME * float(program.total):
            yield dict.fromkeys(diagonal.tolist(), _ONE), Fraction(bound)


def _sums(program: Program) -> Iterator[Equation]:
    for places in (program.pairs.released, program.pairs.true):
        for state, total in enumerate(program.sums.tolist()):
            yield dict.fromkeys(np.flatnonzero(places == state).tolist(), _ONE), Fraction(total)


def _on_bounds(program: Program, units: Real, close: Real) -> Iterator[Equation]:
    for bound in (program.least, program.most):
        for e in np.flatnonzero(np.abs(units - bound.astype(np.float64)) <= close).tolist():
            yield {e: _ONE}, Fraction(int(bound[e]))


def _guess(program: Program, units: Real, close: Real, guess: int) -> Iterator[Equation]:
    i, first = program.pairs.released, len(units)
    largest = np.zeros(len(program.v))
    np.maximum.at(largest, i, units)
    if abs(largest.sum() - float(guess)) > _SAME * float(program.total):
        return
    yield {first + state: _ONE for state in range(len(largest))}, Fraction(guess)
    for e in np.flatnonzero(largest[i] - units <= close).tolist():
        yield {e: _ONE, first + int(i[e]): -_ONE}, Fraction(0)


def _parity(program: Program, units: Real, close: Real, eta: Fraction) -> Iterator[Equation]:
    i, v, first = program.pairs.released, program.v[program.pairs.true], len(units) + len(program.v)
    counts = v.astype(np.float64)
    least = np.full(len(program.v), math.inf)
    np.minimum.at(least, i, units / counts)
    for ratio in (_ONE, eta):
        level = float(ratio) * least[i] * counts
        for e in np.flatnonzero(np.abs(units - level) <= close).tolist():
            yield {e: _ONE, first + int(i[e]): -ratio * int(v[e])}, Fraction(0)


def has_least_guess(program: Program) -> bool:
    """Whether no smaller guess could be asked for, every pair is allowed, and as few changes as possible are wanted."""
    pairs = program.pairs
    every = len(pairs) == len(program.v) ** 2
    agreement = bool(np.array_equal(pairs.cost, -pairs.own.astype(np.float64)))
    return every and agreement and program.guess == int(program.v.max()) * program.scale


def least_guess_flows(program: Program) -> Array:
    """Integer flows ``F_(r)(t) = c_max(r, t)`` with ``c_r = sum_{s >= r} (v_(s) - v_(s+1)) / s``, shape (N,).

    Exact where the scale is a multiple of all s; else sums are off, which is checked. Source: as sequential_uniform.
    """
    order = np.argsort([-int(x) for x in program.v], kind="stable")
    falling = program.sums[order]
    gaps = falling - np.append(falling[1:], 0)
    levels = np.cumsum((gaps // np.arange(1, len(gaps) + 1))[::-1])[::-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(levels[np.maximum(rank[program.pairs.released], rank[program.pairs.true])], dtype=object)

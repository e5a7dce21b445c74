"""From suggested flows to integers that keep the counts and every bound of a program exactly.

Rounded to the grid and within bounds; what sums are then off by is sent along shortest paths with room [derived]: an
integer solution is found wherever there is one, and which one no library decides. Guess and parity first become bounds
of single flows. The smallest guess has a closed form; where bounds are met with equality, a corner is solved exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.exact import common_denominator
from maskwell.designs.rational import Equation, solve_sparse
from maskwell.microdata.matrices.flow_program import Program, parity_holds, row_largest, row_starts
from maskwell.microdata.matrices.swap_flows import spanning_tree

_NEAR = 1e-10  # Flows that are nearer to a bound than this part of the smaller of their two counts are put on it
_SPARE = Fraction(9, 10)  # Of what a bound was tightened by, this part may be used up by the rounding
_SHARE_BITS = 200


def round_units(program: Program, units: Array, *, tight: float) -> Array | None:
    """Integer flows near these that keep sums and bounds exactly, in units of the program; None if none is found."""
    least, most = program.least, program.most
    if program.guess is not None:
        most = np.minimum(most, _row_limits(program, units, program.guess, tight)[program.pairs.released])
    if program.parity is not None:
        low, high = _row_shares(program, units, program.parity, tight)
        least, most = np.maximum(least, low), np.minimum(most, high)
    bounded = replace(program, least=least, most=most)
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
    if any(int((row.astype(object) * units).sum()) > limit for row, limit in program.ties):
        return False
    return program.parity is None or parity_holds(program, units, units, program.parity)


def _repaired(program: Program, bounded: Program, units: Array) -> Array | None:
    """Integer flows within the tighter bounds that keep all those of the program."""
    if np.any(bounded.least > bounded.most):
        return None
    units = np.minimum(np.maximum(units, bounded.least), bounded.most)
    for attempt, start in _attempts(bounded, units):
        shifted = _shifted(attempt, start)
        balanced = _sent(attempt, start) if shifted is None else shifted
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
    sums = np.array([float(x) for x in program.sums])
    return sums[program.pairs.released], sums[program.pairs.true]


def to_grid(program: Program, flows: Real) -> Array:
    """Flows in counts to the nearest units of the program."""
    return np.array([int(x) for x in np.rint(flows * float(program.scale)).tolist()], dtype=object)


def _row_limits(program: Program, units: Array, guess: int, tight: float) -> Array:
    """The largest flow that each row may have; together no more than the guess allows."""
    largest = row_largest(program, units)
    spare = guess - sum(largest)
    if spare < 0 or not tight:  # the difference goes to the largest rows, a unit each time around
        each, rest = divmod(spare, len(largest))
        limits = np.array(largest, dtype=object) + each
        limits[np.argsort([-x for x in largest], kind="stable")[:rest]] += 1
        return np.asarray(limits)
    total = max(1, sum(largest))
    return np.array([x + int(spare * _SPARE * Fraction(x, total)) for x in largest], dtype=object)


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
    rows, columns = program.sums.copy(), program.sums.copy()
    np.subtract.at(rows, program.pairs.released, units)
    np.subtract.at(columns, program.pairs.true, units)
    return rows, columns


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
    """What is lacking sent along shortest paths, the first pairs first; None where a state finds none with room."""
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
    least, most = (None if bound is None else bound * finer for bound in program.kept)
    guess = None if program.guess is None else program.guess * finer
    scale, lowest, highest = program.scale * finer, program.least * finer, program.most * finer
    ties = [(row, limit * finer) for row, limit in program.ties]
    changes: dict[str, Any] = {
        "scale": scale,
        "least": lowest,
        "most": highest,
        "guess": guess,
        "kept": (least, most),
        "ties": ties,
    }
    return replace(program, **changes), units


def _equations(program: Program, flows: Real) -> Iterator[Equation]:
    """All that is met with equality. Unknowns: the flows in units, then the largest and the least share of each row."""
    units = flows * float(program.scale)
    close = _SAME * np.minimum(*(program.v.astype(np.float64)[x] for x in (program.pairs.released, program.pairs.true)))
    close = close * float(program.scale)
    yield from _sums(program)
    for limits in (program.least, program.most):
        for e in np.flatnonzero(np.abs(units - limits.astype(np.float64)) <= close).tolist():
            yield {e: _ONE}, Fraction(int(limits[e]))
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
    """Integer flows of `sequential_uniform`, shape (N,): exact where the scale is a multiple of all s, else checked."""
    order = np.argsort([-int(x) for x in program.v], kind="stable")
    falling = program.sums[order]
    gaps = falling - np.append(falling[1:], 0)
    levels = np.cumsum((gaps // np.arange(1, len(gaps) + 1))[::-1])[::-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(levels[np.maximum(rank[program.pairs.released], rank[program.pairs.true])], dtype=object)

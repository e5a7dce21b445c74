"""Why no matrix keeps to all bounds: which categories are in the way, and the nearest bound that works.

Three reasons, looked for in turn. One category is too large: a share ``pi_1`` of the records leaves room for at most
``1 - pi_1`` of them elsewhere. The pairs that are allowed do not let some categories exchange enough: the smallest
cut of the network names them. Or bounds contradict each other: then each is freed in turn and the smallest value
found that goes with the others. All bounds but factor and parity are linear in the flows and in themselves, so that
the smallest value is the solution of one more program; those two are tried in steps.

Source: derived.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.exact import to_decimal
from maskwell.core.percentages import tenths
from maskwell.core.phrases import HINT, MESSAGE, VALUES, listed, shorten
from maskwell.core.verdicts import above, below
from maskwell.errors import InfeasibleError
from maskwell.microdata.matrices.bounds import FROM_BELOW, Bounds
from maskwell.microdata.matrices.flow_program import Pairs, Program, program_of
from maskwell.microdata.matrices.flow_solver import TIED_FLOWS, Model, solve

STEPS = 10_000  # Bounds that are suggested have four decimals, and are rounded so that they work
# A bound that lies below a limit by no more than this is taken for the limit: the digits of a float end there.
AT_LIMIT = Fraction(1, 10**12)
_RATIOS = ("factor", "parity")
_WAY_OUT = "merge categories, or do not keep the counts"


@dataclass(frozen=True, eq=False)
class States:
    """The states of one program: counts (l,), and how people call them."""

    counts: Array
    names: Sequence[str]

    def share(self, place: int) -> Fraction:
        """The share of the records in one state."""
        return Fraction(int(self.counts[place]), int(self.counts.sum()))

    @property
    def largest(self) -> int:
        """The place of the state with most records."""
        return int(np.argmax(self.counts))

    def numbered(self, places: Sequence[int], width: int = 34) -> str:
        """States in a sentence, by their places counted from 1: labels of a file are not for messages."""
        what = "category" if len(places) == 1 else "categories"
        return f"{what} {listed((str(i + 1) for i in places), len(places), width)}"

    def named(self, places: Sequence[int]) -> str:
        """The same states with their labels, for those who ask to see them."""
        return listed((f"{i + 1}: {self.names[i]!r}" for i in places), len(places), VALUES)


def label_text(label: object) -> str:
    """A state as people call it; several columns joined by a stroke."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def checked_program(bounds: Bounds, states: States, pairs: Pairs) -> Program:
    """The program for these bounds, or the reason why there is no solution, where it is a simple one."""
    check_largest(bounds, states, pairs)
    every = set(range(len(states.counts)))
    if set(pairs.released.tolist()) != every or set(pairs.true.tolist()) != every:
        raise _error(
            "a state may neither stay nor change: every pair with it is forbidden",
            "allow that it stays as it is",
            bounds,
            {},
        )
    program = program_of(states.counts, pairs, bounds)
    check_every_flow(bounds, states, pairs, program)
    return program


# ---- the largest category alone


def at_limits(bounds: Bounds, states: States) -> tuple[Bounds, list[str]]:
    """Bounds with those that lie at a limit, but for the last digit of a float, set to it; and notes that say so."""
    limit = states.share(states.largest)
    changes: dict[str, Fraction] = {}
    for name in ("posterior", "guess"):
        asked = getattr(bounds, name)
        if asked is not None and limit - AT_LIMIT <= asked < limit:
            changes[name] = limit
    notes = [f"{name} is the smallest that any matrix reaches, {to_decimal(limit)}" for name in changes]
    for name, value in changes.items():
        bounds = bounds.with_bound(name, value)
    return bounds, notes


def check_largest(bounds: Bounds, states: States, pairs: Pairs) -> None:
    """Raise where the largest category alone makes the bounds impossible, whatever else is allowed."""
    place = states.largest
    share, name = states.share(place), states.numbered([place])
    for asked in ("posterior", "guess"):
        bound = getattr(bounds, asked)
        if bound is not None and bound < share:
            raise _too_large(
                f"{name} holds {tenths(share, up=False)} of the records: no matrix has {asked} = {to_decimal(bound)}",
                (asked, share, "merge categories, or protect within other cells"),
                (bounds, states, pairs),
                place,
            )
    for i in range(len(states.counts)):
        least = 2 - 1 / states.share(i)
        if bounds.own(i) < least:
            by_name = {"posterior": bounds.posterior, "posterior_own": bounds.posterior_own}
            asked = next((name for name, value in by_name.items() if value == bounds.own(i)), "odds")
            asked = "caps" if bounds.caps.get(i) == bounds.own(i) else asked
            raise _too_large(
                f"{states.numbered([i])} holds {tenths(states.share(i), up=False)} of the records:"
                f" at least {tenths(least, up=False)} must stay",
                (asked, least / (1 - least) if asked == "odds" else least, f"a cap for it, {_WAY_OUT}"),
                (bounds, states, pairs),
                i,
            )


def _too_large(
    message: str, way_out: tuple[str, Fraction, str], asked: tuple[Bounds, States, Pairs], place: int
) -> InfeasibleError:
    """One category is too large for a bound: what that must be at least, and whether the other bounds go with it."""
    (name, limit, other), bounds = way_out, asked[0]
    alone = len(bounds.asked()) + len(bounds.caps) == 1
    value = upwards(limit) if alone or name == "caps" else nearest_of(name, bounds, asked[1].counts, asked[2])
    if value is None:
        hint = f"{name} must be at least {upwards(limit):g}, and another bound must be loosened too"
        return _error(message, hint, bounds, {}, values=asked[1].named([place]))
    near = {} if name == "caps" else {name: value}
    return _error(message, f"give {name} = {value:g} or more, {other}", bounds, near, values=asked[1].named([place]))


# ---- pairs that are allowed, and single flows


def check_every_flow(bounds: Bounds, states: States, pairs: Pairs, program: Program) -> None:
    """Raise where every entry must be positive but some pair is forbidden, or one flow cannot keep to its bounds."""
    every = "factor" if bounds.factor is not None else "parity"
    if (bounds.factor, bounds.parity) != (None, None) and len(pairs) < len(states.counts) ** 2:
        raise _error(
            f"{every} asks that every value may become every other, but some pairs are forbidden",
            f"leave out {every}, or the rules; or use blocks within which every pair is allowed",
            bounds,
            {},
        )
    wrong = np.flatnonzero(np.asarray(program.least > program.most, dtype=bool))
    if len(wrong):
        _raise_single(bounds, states, pairs, int(wrong[0]))


def _raise_single(bounds: Bounds, states: States, pairs: Pairs, pair: int) -> None:
    names = ("least_kept", "factor", "parity", "posterior", "posterior_own", "odds")
    asked = [name for name in names if getattr(bounds, name) is not None]
    near, place = nearest(bounds, states.counts, pairs), int(pairs.released[pair])
    raise _error(
        f"for {states.numbered([place])} the bounds contradict each other: {', '.join(asked)}",
        _in_words(near) or "leave out one of them",
        bounds,
        near,
        values=states.named([place]),
    )


def _cut_error(bounds: Bounds, states: States, pairs: Pairs, program: Program) -> InfeasibleError | None:
    """Some states may not exchange enough with those that they may exchange with."""
    cut = short_states(program)
    if cut is None:
        return None
    senders, receivers = cut
    stuck = states.numbered(senders.tolist())
    partners = states.numbered(receivers.tolist(), 24) if len(receivers) else "no other"
    near = nearest(bounds, states.counts, pairs)
    return _error(
        f"{stuck} may only be exchanged with {partners}: too few records for the bounds",
        _in_words(near) or "allow more pairs, or larger bounds",
        bounds,
        near,
        values=states.named([*senders.tolist(), *receivers.tolist()]),
        senders=senders.tolist(),
        receivers=receivers.tolist(),
    )


# ---- states that cannot exchange enough: a smallest cut of the network of flows, in integers
#
# Every state must send v_j records less those that are certain, and may send at most most - least through each pair.
# The most that can be sent together is computed exactly. If records are left over, the states that they can reach
# through flows with room make a cut. Of all cuts with the largest shortage this one has the fewest senders, and every
# largest flow gives the same ones [derived].

_WORD_BITS = 29  # Largest flows are found in machine words of 32 bits


def short_states(program: Program) -> tuple[Array, Array] | None:
    """States whose records find no place, and the other states that they may become; None where all find one."""
    i, j, room = program.pairs.released, program.pairs.true, program.most - program.least
    places, records = (_less(program.sums, at, program.least) for at in (i, j))
    if min(room.min(), places.min(), records.min()) < 0:
        return None
    flows = _most_sent(i, j, room, places, records)
    left = np.asarray(_less(records, j, flows) > 0, dtype=bool)
    if not left.any():
        return None
    senders = np.flatnonzero(_reached(left, i, j, room, flows))
    partners = np.unique(i[np.isin(j, senders) & np.asarray(program.most > 0, dtype=bool)])
    return senders, np.setdiff1d(partners, senders)


def _less(sums: Array, at: Array, flows: Array) -> Array:
    """What is left of the sums of rows or columns."""
    rest = sums.copy()
    np.subtract.at(rest, at, flows)
    return rest


def _most_sent(i: Array, j: Array, room: Array, places: Array, records: Array) -> Array:
    """Flows of the largest sum, in units: in coarse steps first, then in finer ones."""
    flows = np.array([0] * len(room), dtype=object)
    shift = max(0, int(records.max()).bit_length() - _WORD_BITS)
    while True:
        rest = room - flows, flows, _less(places, i, flows), _less(records, j, flows)
        words = [np.asarray(np.minimum(part >> shift, 1 << _WORD_BITS), dtype=np.int32) for part in rest]
        sent = _sent(i, j, words)
        flows = flows + (sent.astype(object) << shift)
        if not sent.any():
            if not shift:
                return np.asarray(flows)
            shift = max(0, shift - _WORD_BITS // 2)


def _sent(i: Array, j: Array, rest: list[Array]) -> Array:
    """By how much each flow grows, in steps, where as much as possible is sent; shape (N,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    states = len(rest[2])
    node = np.arange(states)
    source, sink = np.full(states, 2 * states), np.full(states, 2 * states + 1)
    grows, shrinks, places, records = rest
    tails, heads = [j, states + i, states + node, source], [states + i, j, sink, node]
    graph = csr_array(
        (np.concatenate([grows, shrinks, places, records]), (np.concatenate(tails), np.concatenate(heads))),
        shape=(2 * states + 2, 2 * states + 2),
    )
    graph.indices, graph.indptr = (np.asarray(part, dtype=np.int32) for part in (graph.indices, graph.indptr))
    flow: Any = maximum_flow(graph, 2 * states, 2 * states + 1, method="dinic").flow
    return np.asarray(csr_array(flow)[j, states + i]).ravel().astype(np.int64)


def _reached(left: Array, i: Array, j: Array, room: Array, flows: Array) -> Array:
    """States whose records can take the places of those that are left over, which are among them; shape (l,)."""
    grows, shrinks = (np.asarray(part > 0, dtype=bool) for part in (room - flows, flows))
    senders = left
    while True:
        receivers = np.zeros(len(left), dtype=bool)
        receivers[i[grows & senders[j]]] = True
        wider = senders.copy()
        wider[j[shrinks & receivers[i]]] = True
        if np.array_equal(wider, senders):
            return senders
        senders = wider


# ---- bounds that contradict each other together


def explained(bounds: Bounds, states: States, pairs: Pairs) -> InfeasibleError:
    """The error for bounds that contradict each other only together, with the nearest value of each that would work."""
    program = program_of(states.counts, pairs, bounds)
    cut = _cut_error(bounds, states, pairs, program)
    if cut is not None:
        return cut
    near = nearest(bounds, states.counts, pairs)
    looser = {
        name: value
        for name, value in near.items()
        if (below if name in FROM_BELOW else above)(value, float(bounds.asked()[name]))
    }
    asked = [f"{name} = {to_decimal(value)}" for name, value in bounds.asked().items()]
    asked += ["caps"] if bounds.caps else []
    bounds_text = listed(asked, len(asked), MESSAGE - 40)
    if len(looser) < len(near) or solve(program) is not None:  # something would do as it is: there is a solution
        hint = _in_words(looser) or f"loosen one of them by {1 / STEPS:g}"
        return _error(f"{bounds_text}: met only at the very limit, if at all", hint, bounds, looser)
    return _error(
        f"no matrix keeps to {bounds_text}",
        _in_words(near) or "no single bound is in the way: loosen two",
        bounds,
        near,
    )


# ---- the nearest value of a bound: one freed at a time


def nearest(bounds: Bounds, v: Array, pairs: Pairs) -> dict[str, float]:
    """The nearest value of each bound that goes with all the others, rounded so that it works."""
    plain = [name for name in bounds.asked() if name not in _RATIOS]
    values = {name: nearest_of(name, bounds, v, pairs) for name in plain}
    if len(pairs) <= TIED_FLOWS or not any(value is not None for value in values.values()):
        values |= {name: _by_halving(name, bounds, v, pairs) for name in bounds.asked() if name in _RATIOS}
    return {name: value for name, value in values.items() if value is not None}


def nearest_of(name: str, bounds: Bounds, v: Array, pairs: Pairs) -> float | None:
    """The nearest value of one bound, neither a factor nor a parity; None where the others alone are too much."""
    others = bounds.with_bound(name, None)
    program = program_of(v, pairs, others)
    if np.any(program.least > program.most):
        return None
    model = Model(replace(program, guess=program.total) if name == "guess" else program)
    value = _freed(name, model, np.array([*bounds.caps], dtype=np.int64))
    if value is None or (name == "odds" and value >= 1 - 1 / STEPS):
        return None
    room = 0.0 if bounds.parity is None else 1 / STEPS  # a parity cannot be met without any
    if name in FROM_BELOW:
        return downwards(-value - room)
    return upwards((value / (1 - value) if name == "odds" else max(value, 0.0)) + room)


def _freed(name: str, model: Model, capped: Array) -> float | None:
    """The smallest value of one bound in a program without it; its negative where the bound is one from below."""
    free = model.unknowns(np.array([-1.0]), np.array([1.0]))
    diagonal, share = model.staying()
    none = np.zeros(1)
    if name == "guess":
        model.rows.add(none, (model.largest * 0, model.largest, model.v / model.n), (free * 0, free, -1.0))
    elif name in ("changed_at_most", "changed_at_least"):
        sign = -1.0 if name == "changed_at_most" else 1.0
        model.rows.add(none + sign, (diagonal * 0, diagonal, sign * share), (free * 0, free, -1.0))
    else:
        which = model.flows if name == "posterior" else diagonal
        if name in ("posterior_own", "odds"):
            which = which[~np.isin(model.i[which], capped)]
        per = (-1.0 if name == "least_kept" else 1.0) * (model.unit / model.v[model.i])[which]
        each = np.arange(len(which))
        model.rows.add(np.zeros(len(which)), (each, which, per), (each, np.repeat(free, len(which)), -1.0))
    costs = np.zeros(model.count)
    costs[free] = 1
    optimum = model.minimise(costs)
    return None if optimum is None else optimum.value


def _by_halving(name: str, bounds: Bounds, v: Array, pairs: Pairs) -> float | None:
    """A bound that is no unknown of a linear program: tried, in geometric steps, to one per cent."""

    def works(value: Fraction) -> bool:
        return solve(program_of(v, pairs, bounds.with_bound(name, value))) is not None

    low, high = float(getattr(bounds, name)), 1e6
    if not works(Fraction(int(high))):
        return None
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(Fraction(middle)) else (middle, high)
    return math.ceil(high * 100) / 100


def upwards(value: Fraction | float) -> float:
    """The next number of four decimals that is not smaller."""
    return math.ceil(float(value) * STEPS - 1e-6) / STEPS


def downwards(value: Fraction | float) -> float:
    """The next number of four decimals that is not larger."""
    return math.floor(float(value) * STEPS + 1e-6) / STEPS


# ---- words


def _in_words(near: Mapping[str, float]) -> str:
    parts = [f"{name} at {'most' if name in FROM_BELOW else 'least'} {value:g}" for name, value in near.items()]
    while len(parts) > 1 and len(f"give {'; or '.join(parts)}") > HINT:  # numbers are left out, never cut
        parts.pop()
    return f"give {'; or '.join(parts)}" if parts else ""


def _error(
    message: str, hint: str, bounds: Bounds, near: Mapping[str, Any], *, values: str = "", **objects: object
) -> InfeasibleError:
    nearest_values = {name: float(value) for name, value in near.items()}
    return InfeasibleError(
        shorten(message, MESSAGE),
        hint=shorten(hint, HINT),
        values=values,
        bounds=bounds,
        nearest=nearest_values,
        **objects,
    )

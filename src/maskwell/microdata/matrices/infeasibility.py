"""Why no matrix satisfies all bounds: which categories are in the way, and the nearest bound that works.

One category is too large; pairs that are allowed do not let some exchange enough (the smallest cut names them); or
bounds contradict each other, and each is freed in turn by one more linear program, factor and parity in steps. Derived.
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


def label_text(label: object) -> str:
    """A state as people call it; several columns joined by a stroke."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of the matrix of one block: bounds, pairs that may have a flow, counts and names of its states."""

    bounds: Bounds
    pairs: Pairs
    counts: Array
    names: Sequence[str]

    def share(self, place: int) -> Fraction:
        """The share of the records in one state."""
        return Fraction(int(self.counts[place]), int(self.counts.sum()))

    def at_limits(self) -> tuple[Asked, list[str]]:
        """With bounds that lie at a limit, but for the last digit of a float, set to it; and notes that say so."""
        limit, near = self.share(int(np.argmax(self.counts))), []
        for name in ("posterior", "guess"):
            asked = getattr(self.bounds, name)
            if asked is not None and limit - AT_LIMIT <= asked < limit:
                near.append(name)
        notes = [f"{name} is the smallest that any matrix reaches, {to_decimal(limit)}" for name in near]
        changes: dict[str, Any] = dict.fromkeys(near, limit)
        return replace(self, bounds=replace(self.bounds, **changes)), notes

    def program(self) -> Program:
        """The program for these bounds, or the reason why it has no solution, where that is a simple one."""
        bounds, pairs = self.bounds, self.pairs
        self._check_largest()
        every = set(range(len(self.counts)))
        if set(pairs.released.tolist()) != every or set(pairs.true.tolist()) != every:
            said = "a state may neither stay nor change: every pair with it is forbidden"
            raise self._error(said, "allow that it stays unchanged", {})
        program = program_of(self.counts, pairs, bounds)
        ratio = "factor" if bounds.factor is not None else "parity"
        if (bounds.factor, bounds.parity) != (None, None) and len(pairs) < len(self.counts) ** 2:
            raise self._error(
                f"{ratio} asks that every value may become every other, but some pairs are forbidden",
                f"leave out {ratio}, or the rules; or use blocks within which every pair is allowed",
                {},
            )
        wrong = np.flatnonzero(np.asarray(program.least > program.most, dtype=bool))
        if len(wrong):
            names = ("least_kept", "factor", "parity", "posterior", "posterior_own", "odds")
            asked = [name for name in names if getattr(bounds, name) is not None]
            near, place = self._nearest(), int(pairs.released[wrong[0]])
            said = f"for {_numbered([place])} the bounds contradict each other: {', '.join(asked)}"
            raise self._error(said, _in_words(near) or "leave out one of them", near, [place])
        return program

    def _check_largest(self) -> None:
        """Raise where the largest category alone makes the bounds impossible, whatever else is allowed."""
        place, bounds = int(np.argmax(self.counts)), self.bounds
        share, name = self.share(place), _numbered([place])
        for asked in ("posterior", "guess"):
            bound = getattr(bounds, asked)
            if bound is not None and bound < share:
                said = f"{name} holds {tenths(share, up=False)} of the records: no matrix has"
                other = "merge categories, or protect within other cells"
                raise self._too_large(f"{said} {asked} = {to_decimal(bound)}", asked, share, other, place)
        for i in range(len(self.counts)):
            least = 2 - 1 / self.share(i)
            if bounds.own(i) < least:
                by_name = {"posterior": bounds.posterior, "posterior_own": bounds.posterior_own}
                asked = next((name for name, value in by_name.items() if value == bounds.own(i)), "odds")
                asked = "caps" if bounds.caps.get(i) == bounds.own(i) else asked
                said = f"{_numbered([i])} holds {tenths(self.share(i), up=False)} of the records:"
                limit = least / (1 - least) if asked == "odds" else least
                said = f"{said} at least {tenths(least, up=False)} must stay"
                raise self._too_large(said, asked, limit, f"a cap for it, {_WAY_OUT}", i)

    def _too_large(self, said: str, name: str, limit: Fraction, other: str, place: int) -> InfeasibleError:
        """One category is too large for a bound: what that must be at least, and whether the others go with it."""
        alone = len(self.bounds.asked()) + len(self.bounds.caps) == 1
        value = upwards(limit) if alone or name == "caps" else self._nearest_of(name)
        if value is None:
            hint = f"{name} must be at least {upwards(limit):g}, and another bound must be loosened too"
            return self._error(said, hint, {}, [place])
        near = {} if name == "caps" else {name: value}
        return self._error(said, f"give {name} = {value:g} or more, {other}", near, [place])

    def explained(self) -> InfeasibleError:
        """The error for bounds that contradict each other only together, with the nearest value of each that works."""
        bounds, program = self.bounds, program_of(self.counts, self.pairs, self.bounds)
        cut, near = short_states(program), self._nearest()
        if cut is not None:
            senders, receivers = (part.tolist() for part in cut)
            partners = _numbered(receivers, 24) if receivers else "no other"
            said = f"{_numbered(senders)} may only be exchanged with {partners}: too few records for the bounds"
            hint = _in_words(near) or "allow more pairs, or larger bounds"
            return self._error(said, hint, near, [*senders, *receivers], senders=senders, receivers=receivers)
        looser = {
            name: value
            for name, value in near.items()
            if (below if name in FROM_BELOW else above)(value, float(bounds.asked()[name]))
        }
        asked = [f"{name} = {to_decimal(value)}" for name, value in bounds.asked().items()]
        asked += ["caps"] if bounds.caps else []
        text = listed(asked, len(asked), MESSAGE - 40)
        if len(looser) < len(near) or solve(program) is not None:  # something would do as it is: there is a solution
            hint = _in_words(looser) or f"loosen one of them by {1 / STEPS:g}"
            return self._error(f"{text}: met only at the very limit, if at all", hint, looser)
        hint = _in_words(near) or "no single bound is in the way: loosen two"
        return self._error(f"no matrix satisfies {text}", hint, near)

    def _nearest(self) -> dict[str, float]:
        asked = self.bounds.asked()
        values = {name: self._nearest_of(name) for name in asked if name not in _RATIOS}
        if len(self.pairs) <= TIED_FLOWS or not any(value is not None for value in values.values()):
            values |= {name: self._by_halving(name) for name in asked if name in _RATIOS}
        return {name: value for name, value in values.items() if value is not None}

    def _nearest_of(self, name: str) -> float | None:
        """The nearest value of one bound, neither a factor nor a parity; None where the others alone are too much."""
        program = program_of(self.counts, self.pairs, self.bounds.with_bound(name, None))
        if np.any(program.least > program.most):
            return None
        model = Model(replace(program, guess=program.total) if name == "guess" else program)
        value = _freed(name, model, np.array([*self.bounds.caps], dtype=np.int64))
        if value is None or (name == "odds" and value >= 1 - 1 / STEPS):
            return None
        room = 0.0 if self.bounds.parity is None else 1 / STEPS  # a parity cannot be met without any
        if name in FROM_BELOW:
            return downwards(-value - room)
        return upwards((value / (1 - value) if name == "odds" else max(value, 0.0)) + room)

    def _by_halving(self, name: str) -> float | None:
        """A bound that is not an unknown of a linear program: tried, in geometric steps, to one per cent."""

        def works(value: Fraction) -> bool:
            return solve(program_of(self.counts, self.pairs, self.bounds.with_bound(name, value))) is not None

        low, high = float(getattr(self.bounds, name)), 1e6
        if not works(Fraction(int(high))):
            return None
        while high > low * 1.01:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if works(Fraction(middle)) else (middle, high)
        return math.ceil(high * 100) / 100

    def _error(
        self, message: str, hint: str, near: Mapping[str, float], places: Sequence[int] = (), **objects: object
    ) -> InfeasibleError:
        told = (f"{i + 1}: {self.names[i]!r}" for i in places)
        return InfeasibleError(
            shorten(message, MESSAGE),
            hint=shorten(hint, HINT),
            values=listed(told, len(places), VALUES) if places else "",
            bounds=self.bounds,
            nearest=dict(near),
            **objects,
        )


def _numbered(places: Sequence[int], width: int = 34) -> str:
    """States in a sentence, by their places counted from 1: labels of a file are not for messages."""
    what = "category" if len(places) == 1 else "categories"
    return f"{what} {listed((str(i + 1) for i in places), len(places), width)}"


def _in_words(near: Mapping[str, float]) -> str:
    parts = [f"{name} at {'most' if name in FROM_BELOW else 'least'} {value:g}" for name, value in near.items()]
    while len(parts) > 1 and len(f"give {'; or '.join(parts)}") > HINT:  # numbers are left out, never cut
        parts.pop()
    return f"give {'; or '.join(parts)}" if parts else ""


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


def upwards(value: Fraction | float) -> float:
    """The next number of four decimals that is not smaller."""
    return math.ceil(float(value) * STEPS - 1e-6) / STEPS


def downwards(value: Fraction | float) -> float:
    """The next number of four decimals that is not larger."""
    return math.floor(float(value) * STEPS + 1e-6) / STEPS


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

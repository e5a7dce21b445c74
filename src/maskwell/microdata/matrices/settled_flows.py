"""The one answer of a program, whatever the solver: of all best flows those that depend least on the truth.

Where few records change it is mostly open where those go that do. So ``mean cost + delta sum_ij F_ij^2 / (v_i v_j)``
is least, which is strictly convex (docs/adr/0049-matrices-no-solver-decides.md). The solver says which bounds are met
with equality, ``A F = b``; with ``w_ij = v_i v_j`` and y from iterative refinement in integers over a power of two,
the answer is

    F_e = w_e ((A' y)_e - c_e / delta)

All bounds and the signs of all multipliers are checked with the same digits, and the equations changed until they
hold. Flows are rounded up above a fraction of 0.618..., the golden ratio, which no fraction with a small denominator
comes near. Derived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.designs.integer_systems import Coefficients, WeightedSystem, largest_of, summed
from maskwell.microdata.matrices.flow_program import Program
from maskwell.microdata.matrices.flow_solver import TIE_SPARE, Optimum, Rows, Solution
from maskwell.microdata.matrices.kept_cells import SHARE_BITS

SPARE_BITS = 140  # Binary digits of the multipliers beyond those of the counts
ACCURATE_BITS = 80  # Sums are off by less than two to minus this power of a unit in the end
_NOISE_BITS = 40  # Last digits of multipliers that say nothing about their signs
TIES_BITS = 36  # The dependence counts at most half of two to minus this power of the largest cost
# Changes of the equations that are tried: of all that is wrong, then of one at a time; of fewer with many flows.
ROUNDS, CAREFUL_ROUNDS, CAREFUL_FLOWS = 15, 60, 30_000
GOLDEN = (math.isqrt(5 << 2 * 200) - (1 << 200)) // 2  # 0.618... over two to the power of 200


def least_dependent(program: Program, best: Solution, *, tight: float) -> Array | None:
    """The best flows with the least dependence in units of the program, shape (N,); None where they are not found."""
    equations = _Equations(program, Fraction(tight).limit_denominator(10**12))
    start = equations.started(best.optimum, best.model.least_dependent(best.optimum))
    patience = 0 if best.inside else min(CAREFUL_ROUNDS, CAREFUL_FLOWS // len(program.pairs))
    for careful, rounds in ((False, ROUNDS), (True, patience)):
        flows = _settled(equations, start, rounds, careful=careful)
        if flows is not None:
            up = (1 << equations.bits) - (GOLDEN << equations.bits >> 200)
            return np.asarray((flows + up) >> equations.bits, dtype=object)  # up from a fraction of 0.618... on
    return None


def _settled(equations: _Equations, active: _Active, rounds: int, *, careful: bool) -> Array | None:
    """The flows when nothing is left to change in what is met with equality: all at once, or one thing at a time."""
    for _ in range(rounds):
        answer = equations.solved(active)
        if answer is None:
            return None
        add, drop = equations.faults(active, answer)
        if not add.any() and not drop.any():
            return answer.flows
        active = active.changed(add, drop, answer.prices, careful=careful)
    return None


@dataclass(frozen=True, eq=False)
class _Active:
    """What is met with equality: least flows, most flows, then rows; and multipliers over a power of two."""

    on: Array
    prices: Array
    flows: int

    @property
    def low(self) -> Array:
        return self.on[: self.flows]

    @property
    def high(self) -> Array:
        return self.on[self.flows : 2 * self.flows]

    @property
    def tight(self) -> Array:
        return self.on[2 * self.flows :]

    def changed(self, add: Real, drop: Real, prices: Array, *, careful: bool) -> _Active:
        """With all faults mended, or with the largest: what is not kept comes before signs that are wrong."""
        on = self.on.copy()
        if not careful:
            on = (on | (add > 0)) & ~(drop > 0)
        elif add.any():
            on[np.argmax(add)] = True
        else:
            on[np.argmax(drop)] = False
        return _Active(on, prices, self.flows)


@dataclass(frozen=True, eq=False)
class _Answer:
    """Flows, further unknowns and multipliers over a power of two, and what the multipliers would make of each flow."""

    flows: Array
    further: Array
    prices: Array
    pull: Array


class _Equations:
    """All sums and rows of a program in integers, the rows in the order of the model of the solver."""

    def __init__(self, program: Program, tight: Fraction) -> None:
        self.program = program
        self.i, self.j = program.pairs.released, program.pairs.true
        self.flows = np.arange(len(self.i))
        self.weights = program.v[self.i] * program.v[self.j]
        self.bits = 2 * int(max(program.v)).bit_length() + SPARE_BITS
        self.factor, self.costs = _costs(program, self.bits)
        self.stuck = np.asarray(program.least == program.most, dtype=bool)
        self.count = len(self.flows)
        self.equal, self.rows = Rows(), Rows()
        self.equal.add(program.sums, (self.i, self.flows, 1))
        self.equal.add(program.sums, (self.j, self.flows, 1))
        self.sizes = self._add_rows(tight)
        self.least_count = np.minimum(program.v[self.i], program.v[self.j]).astype(np.float64)

    def _add_rows(self, tight: Fraction) -> Real:
        """Guess, parity and what stays; by how much these are larger than the solver's, but for the scale."""
        program, i, rows, flows = self.program, self.i, self.rows, self.flows
        v, none = program.v.astype(np.float64), np.array([0] * len(i), dtype=object)
        sizes, n = [np.array([])], v.sum()
        if program.guess is not None:
            largest, limit = self._unknowns(), program.guess - math.ceil(program.guess * tight)
            rows.add(none, (flows, flows, 1), (flows, largest[i], -1))
            rows.add(np.array([limit], dtype=object), (largest * 0, largest, 1))
            sizes += [v[i], np.array([n])]
        if program.parity is not None:
            least, eta, counts = self._unknowns()[i], program.parity * (1 - tight), program.v[self.j]
            rows.add(none, (flows, flows, -1), (flows, least, counts * eta.denominator))
            rows.add(none, (flows, flows, 1), (flows, least, -counts * eta.numerator))
            sizes += [v[i] * v[self.j] / n] * 2
        own, (low, high) = np.flatnonzero(program.pairs.own), program.kept
        if low is not None:
            rows.add(np.array([-math.ceil(low * (1 + tight))], dtype=object), (own * 0, own, -1))
        if high is not None:
            rows.add(np.array([math.floor(high * (1 - tight))], dtype=object), (own * 0, own, 1))
        for row, limit in program.ties:
            where = np.flatnonzero(row)
            right = np.array([limit - int(limit * Fraction(TIE_SPARE))], dtype=object)
            rows.add(right, (where * 0, where, row[where].astype(object)))
        ties = [np.array([n * (1 << SHARE_BITS)])] * len(program.ties)
        return np.concatenate([*sizes, *[np.array([n])] * sum(bound is not None for bound in program.kept), *ties])

    def _unknowns(self) -> Array:
        first, self.count = self.count, self.count + len(self.program.v)
        return np.arange(first, self.count)

    def started(self, best: Optimum, even: Optimum | None) -> _Active:
        """What the floats say is met with equality, and its multipliers: those of the costs and of the dependence."""
        start, count, scale = even or best, len(self.flows), float(self.program.scale)
        low = start.low[:count] | self.stuck
        by_cost = self.factor / (1 << self.bits) * scale * float(self.program.v.sum())
        prices = best.prices * float(by_cost) + (0 if even is None else even.prices * scale**2)
        sizes = np.concatenate([np.tile(self.program.v.astype(np.float64), 2), self.sizes]) * scale
        exact = [int(Fraction(x) * (1 << self.bits)) for x in (prices / sizes).tolist()]
        on = np.concatenate([low, start.high[:count] & ~low, start.tight])
        return _Active(on, np.array(exact, dtype=object), count)

    def solved(self, active: _Active) -> _Answer | None:
        """Flows that meet these with equality and depend least; None where they contradict each other."""
        free = ~(active.low | active.high)
        held = np.where(active.low, self.program.least, self.program.most) << self.bits
        row, unknown, value, right = self._taken(active.tight)
        flows = np.where(free, 0, held)
        inside = unknown < len(self.flows)
        fixed = inside & ~free[np.where(inside, unknown, 0)]
        right = (right << self.bits) - summed(row[fixed], value[fixed] * flows[unknown[fixed]], len(right))
        A = Coefficients(row[inside & ~fixed], unknown[inside & ~fixed], value[inside & ~fixed], len(self.flows))
        further = Coefficients(
            row[~inside], unknown[~inside] - len(self.flows), value[~inside], self.count - len(self.flows)
        )
        costs = self.weights * self.costs
        right = right + A.times(costs, len(right))
        taken = np.concatenate([np.ones(self.equal.count, dtype=bool), active.tight])
        found = WeightedSystem(A, further, self.weights, len(right)).solve(right, active.prices[taken])
        if found is None or largest_of(found[2]) >> (self.bits - ACCURATE_BITS):
            return None
        prices, more, _ = found
        every_price = np.array([0] * len(taken), dtype=object)
        every_price[taken] = prices
        every = Coefficients(row[inside], unknown[inside], value[inside], len(self.flows))
        pull = self.weights * every.transposed(prices) - costs
        flows = np.where(free, pull, flows)
        return _Answer(flows, self._settled(more, further, flows), every_price, pull)

    def _taken(self, tight: Array) -> tuple[Array, Array, Array, Array]:
        """The equations, then the rows that are tight: entries and right sides."""
        row, unknown, value, right = self.equal.entries()
        if not self.rows.count or not tight.any():
            return row, unknown, value, right
        number = np.cumsum(tight) - 1 + len(right)
        more, unknowns, values, rights = self.rows.entries()
        kept = tight[more]
        return (
            np.concatenate([row, number[more[kept]]]),
            np.concatenate([unknown, unknowns[kept]]),
            np.concatenate([value, values[kept]]),
            np.concatenate([right, rights[tight]]),
        )

    def _settled(self, more: Array, taken: Coefficients, flows: Array) -> Array:
        """Further unknowns; those in no equation are as small as the rows let them be."""
        loose = np.ones(self.count - len(self.flows), dtype=bool)
        loose[taken.unknown] = False
        if not loose.any():
            return more
        more = more.copy()
        row, unknown, value, _ = self.rows.entries()
        inside = unknown < len(self.flows)
        flow = np.full(self.rows.count, -1)
        flow[row[inside]] = unknown[inside]
        above = np.flatnonzero(~inside & (value < 0))
        above = above[loose[unknown[above] - len(self.flows)]]
        for entry in above.tolist():
            at = unknown[entry] - len(self.flows)
            more[at] = max(more[at], -(-int(flows[flow[row[entry]]]) // -int(value[entry])))
        return more

    def faults(self, active: _Active, answer: _Answer) -> tuple[Real, Real]:
        """By how much each bound is not kept, and each multiplier has the wrong sign; 0 where all is well."""
        tiny, free = 1 << (self.bits - _NOISE_BITS // 2), ~(active.low | active.high)
        least, most = self.program.least << self.bits, self.program.most << self.bits
        spare, size = answer.flows - answer.pull, self.least_count
        prices, over = answer.prices[self.equal.count :], np.array([], dtype=object)
        if self.rows.count:
            row, unknown, value, right = self.rows.entries()
            x = np.concatenate([answer.flows, answer.further])
            over = np.asarray(summed(row, value * x[unknown], len(right)) - (right << self.bits))
        add = [_excess(least - answer.flows, tiny, free) / size, _excess(answer.flows - most, tiny, free) / size]
        drop = [
            _excess(-spare, tiny, active.low & ~self.stuck) / size,
            _excess(spare, tiny, active.high) / size,
            _excess(prices, 1 << _NOISE_BITS, active.tight) * self.sizes,
        ]
        return np.concatenate([*add, _excess(over, tiny, ~active.tight) / self.sizes]), np.concatenate(drop)


def _costs(program: Program, bits: int) -> tuple[Fraction, Array]:
    """What a cost of 1 is beside ``F^2 / (2 w)``, and the costs of all flows, over two to the power of ``bits``."""
    exact = [Fraction(x) for x in program.pairs.cost.tolist()]
    largest = max(map(abs, exact)) or Fraction(1)
    factor = Fraction(program.scale * len(program.v) << (TIES_BITS + bits), int(program.v.sum())) / largest
    return factor, np.array([math.floor(cost * factor) for cost in exact], dtype=object)


def _excess(values: Array, tiny: int, where: Array) -> Real:
    return np.where(where & np.asarray(values > tiny, dtype=bool), values, 0).astype(np.float64)

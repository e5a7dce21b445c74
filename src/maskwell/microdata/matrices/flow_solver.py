"""The program solved in floats: a suggestion, which is made exact afterwards.

Unknowns are the flows in units of ``s_ij``, so that all of them, all coefficients and all right sides are of ordinary
size: ``s_ij = min(v_i, v_j)``, or ``v_i v_j / n`` where every flow must be positive. After them come, where they are
asked for, ``t_i = max_j F_ij / v_i`` and ``m_i = n min_j p_ij / v_i``, and one bound that is itself looked for.

HiGHS solves it, but for large programs in which bounds tie many flows together: they add one or two rows for each flow,
with which the simplex method takes minutes. These go to the interior-point method of PIQP, whose limit is the centre of
all optimal solutions and depends on no pivoting (docs/adr/0021-interior-point.md).

**One answer, whatever the solver.** A linear program seldom has one optimum: where few records change, it is mostly
open where those go that do. Of all best flows those are taken under which the release depends least on the truth:

    min  mean cost + delta sum_ij F_ij^2 / (v_i v_j),

where the sum is Pearson's mean square contingency plus one, and delta is :data:`TIES_BITS` binary digits smaller than
the costs. This is strictly convex, so that there is exactly one answer (docs/adr/0049-matrices-no-solver-decides.md).

The solver says which bounds the best flows meet with equality, by its multipliers, and a second program, again in
floats, which further ones the answer does. With these as equations ``A F = b`` the answer is

    F_e = w_e ((A' y)_e - c_e / delta),    w_ij = v_i v_j,

where c are the costs and y solves a linear system with whole coefficients. It is solved in integers over a power of two
by iterative refinement: floats only suggest corrections, residuals have no error. All bounds and the signs of all
multipliers are then checked with the same digits, and the equations changed until they hold. The
residual of the auxiliary equations (``B' y = 0``) is refined with them but not checked by itself.

Flows are rounded up where their fraction of a unit exceeds 0.618..., the golden ratio, which no fraction with a small
denominator comes near: the digits that are left cannot change a rounding.

Source: derived; iterative refinement with exact residuals is classical.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.designs.integer_systems import Coefficients, WeightedSystem, largest_of, summed
from maskwell.errors import MaskwellError
from maskwell.microdata.matrices.flow_program import Program

# Guess, parity and shares changed are asked for this much stricter, relatively, to leave room for the rounding.
TIGHT = 1e-9
TIED_FLOWS = 900  # Programs with more flows, and bounds that tie them together, go to the interior-point method
_PRICED = 1e-12  # Multipliers below this count as zero
# The largest coefficient of an objective for HiGHS, whose tolerance is then small for the smallest ones, too.
_STEEP = 1000.0
_OPTIONS = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-9,
    "presolve": False,  # finds nothing in these programs, and at times searches for minutes
    "time_limit": 600,
}
_SOLVED, _INFEASIBLE = 0, 2


class Optimum(NamedTuple):
    """The unknowns where the objective is least, its value, and what has a multiplier there.

    ``low`` and ``high`` mark unknowns on a bound, ``tight`` rows met with equality: every best solution has these, as
    the multipliers of one prove the others to be best. ``prices`` are those of the equations, then those of the rows.
    """

    x: Real
    value: float
    low: Array
    high: Array
    tight: Array
    prices: Real


# How the interior-point method works: residuals and gap at which it stops are small enough for the rounding.
_INTERIOR = {
    "eps_abs": 1e-10,
    "eps_rel": 1e-10,
    "eps_duality_gap_abs": 1e-11,
    "eps_duality_gap_rel": 1e-11,
    "max_iter": 120,  # Newton steps after which it gives up, as in an infeasible program; forty are common
}
# What is taken where the rounding of floats does not let it come closer: flows are made exact anyway.
_CLOSE_ENOUGH = {"primal_res": 1e-7, "duality_gap": 1e-6, "dual_res": 1e-5}
_ON_BOUND = 1e-6  # Unknowns that are farther from a bound than this are never put on it


class SolverError(MaskwellError):
    """The solver gave up; nothing is known to be wrong with what was given."""

    code = "solver"


@dataclass(frozen=True, eq=False)
class Solution:
    """Flows in counts, shape (N,), the model, its optimum, and whether it is one of the interior-point method."""

    flows: Real
    model: Model
    optimum: Optimum
    inside: bool


class Rows:
    """Rows ``A x <= b`` (or ``= b``) as they are collected."""

    def __init__(self) -> None:
        self._parts: list[tuple[Array, Array, Array]] = []
        self._right: list[Array] = []
        self.count = 0

    def add(self, right: Array, *terms: tuple[Array, Array, Array | float]) -> None:
        """More rows with these right sides, of terms (row among them, unknown, coefficient)."""
        self._parts += [(self.count + row, unknown, np.broadcast_to(value, row.shape)) for row, unknown, value in terms]
        self._right.append(right)
        self.count += len(right)

    def entries(self) -> tuple[Array, Array, Array, Array]:
        """Row, unknown and coefficient of all terms, and the right sides."""
        row, unknown, value = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return row, unknown, value, np.concatenate(self._right)

    def matrix(self, unknowns: int) -> tuple[Any, Any]:
        """A and b for the solver; None where there are no rows."""
        from scipy.sparse import csr_array

        if not self.count:
            return None, None
        row, unknown, value, right = self.entries()
        return csr_array((value, (row, unknown)), shape=(self.count, unknowns)), right


class Model:
    """A program in floats; ``tight`` tightens the bounds that tie flows together."""

    def __init__(self, program: Program, tight: float = 0.0) -> None:
        self.program, self.tight = program, tight
        self.i, self.j = program.pairs.released, program.pairs.true
        self.v = program.v.astype(np.float64)
        self.n = float(self.v.sum())
        positive = bool(np.all(program.least > 0))
        self.unit = self.v[self.i] * self.v[self.j] / self.n if positive else np.minimum(self.v[self.i], self.v[self.j])
        self.flows = np.arange(len(self.unit))
        self.lower = [_shares(program.least, program.scale) / self.unit]
        self.upper = [_shares(program.most, program.scale) / self.unit]
        self.equal, self.rows = Rows(), Rows()
        self._sums()
        if program.guess is not None:
            self._guess(program.guess)
        if program.parity is not None:
            self._parity(float(program.parity) * (1 - tight))
        self._kept()

    def unknowns(self, lower: Array, upper: Array) -> Array:
        """The numbers of new unknowns with these bounds."""
        before = self.count
        self.lower.append(lower)
        self.upper.append(upper)
        return np.arange(before, before + len(lower))

    @property
    def count(self) -> int:
        """How many unknowns there are."""
        return sum(map(len, self.lower))

    def _sums(self) -> None:
        one = np.ones(len(self.v))
        self.equal.add(one, (self.i, self.flows, self.unit / self.v[self.i]))
        self.equal.add(one, (self.j, self.flows, self.unit / self.v[self.j]))

    def _guess(self, guess: int) -> None:
        rows = np.zeros(len(self.v), dtype=np.int64)
        self.largest = self.unknowns(np.zeros(len(rows)), np.ones(len(rows)))
        into = self.unit / self.v[self.i]
        self.rows.add(np.zeros(len(self.i)), (self.flows, self.flows, into), (self.flows, self.largest[self.i], -1.0))
        limit = guess / self.program.total * (1 - self.tight)
        self.rows.add(np.array([limit]), (rows, self.largest, self.v / self.n))

    def _parity(self, eta: float) -> None:
        even = self.unit * self.n / (self.v[self.i] * self.v[self.j])
        shares = self.unknowns(np.full(len(self.v), 1 / eta), np.ones(len(self.v)))
        least = shares[self.i]
        none = np.zeros(len(self.i))
        self.rows.add(none, (self.flows, self.flows, -even), (self.flows, least, 1.0))
        self.rows.add(none, (self.flows, self.flows, even), (self.flows, least, -eta))

    def _kept(self) -> None:
        low, high = self.program.kept
        where, share = self.staying()
        if low is not None:
            self.rows.add(np.array([-low / self.program.total * (1 + self.tight)]), (where * 0, where, -share))
        if high is not None:
            self.rows.add(np.array([high / self.program.total * (1 - self.tight)]), (where * 0, where, share))

    def staying(self) -> tuple[Array, Real]:
        """The unknowns of records that stay, and what each adds to the share of these."""
        where = np.flatnonzero(self.program.pairs.own)
        return where, self.unit[where] / self.n

    def costs(self) -> Real:
        """The objective: the mean cost of a record."""
        return np.asarray(self.program.pairs.cost * self.unit / self.n)

    def minimise(self, costs: Real, *, inside: bool = True) -> Optimum | None:
        """Where the objective is least; None where there is no solution, or where it is not found ``inside``."""
        objective = np.concatenate([costs, np.zeros(self.count - len(costs))])
        lower, upper = np.concatenate(self.lower), np.concatenate(self.upper)
        matrices = *self.rows.matrix(self.count), *self.equal.matrix(self.count)
        if inside and goes_inside(self.program) and np.all(lower < upper):
            return _by_interior_point(objective, matrices, lower, upper)
        return _by_highs(objective, matrices, np.column_stack([lower, upper]))

    def least_dependent(self, best: Optimum) -> Optimum | None:
        """Of all best solutions nearly the one with the smallest ``sum_ij F_ij^2 / (v_i v_j)``; None where it fails."""
        lower, upper = np.concatenate(self.lower), np.concatenate(self.upper)
        x = np.where(best.low, lower, upper)
        free = ~(best.low | best.high) & (lower < upper)
        curved = np.zeros(self.count)
        curved[self.flows] = self.unit**2 / (self.v[self.i] * self.v[self.j])
        A, b, E, e = *self.rows.matrix(self.count), *self.equal.matrix(self.count)
        x[free] = 0
        right, equal = (None if A is None else b - A @ x), e - E @ x
        tight = best.tight
        matrices = _with_equal(None if A is None else A[:, free], right, E[:, free], equal, tight)
        found = _by_interior_point(np.zeros(free.sum()), matrices, lower[free], upper[free], curved[free])
        return None if found is None else _completed(found, x, free, best)


def goes_inside(program: Program) -> bool:
    """Whether a program is solved by the interior-point method, which gives the centre of all solutions."""
    tied = program.guess is not None or program.parity is not None
    return tied and len(program.pairs) > TIED_FLOWS


def _by_highs(objective: Real, matrices: tuple[Any, ...], bounds: Real) -> Optimum | None:
    from scipy.optimize import linprog

    steep = _STEEP / (float(np.abs(objective).max()) or 1.0)
    for method in ("highs-ds", "highs-ipm"):
        result = linprog(objective * steep, *matrices, bounds, method=method, options=_OPTIONS)
        if result.status == _SOLVED:
            return _of_highs(result, steep)
        if result.status == _INFEASIBLE:
            return None
    raise SolverError("the-solver-gave-up", objective_count=len(objective), problem=result.message[:40])


def _of_highs(result: Any, steep: float) -> Optimum:
    low, high, rows = (part.marginals / steep for part in (result.lower, result.upper, result.ineqlin))
    prices = np.concatenate([result.eqlin.marginals / steep, rows])
    value = float(result.fun / steep)
    return Optimum(result.x, value, low > _PRICED, high < -_PRICED, rows < -_PRICED, prices)


def _by_interior_point(
    objective: Real, matrices: tuple[Any, ...], lower: Real, upper: Real, curved: Real | None = None
) -> Optimum | None:
    """None also where the method does not come close: nothing is claimed of the program then."""
    import piqp
    from scipy.sparse import csc_matrix, diags

    G, h, A, b, wide = _with_slacks(*matrices)
    slacks = A.shape[1] - len(objective)
    costs, low = (np.concatenate([part, np.zeros(slacks)]) for part in (objective, lower))
    high = np.concatenate([upper, np.full(slacks, np.inf)])
    squares = np.zeros(len(costs))
    squares[: len(objective)] = 0 if curved is None else curved
    solver = piqp.SparseSolver()
    solver.settings.kkt_solver = piqp.KKTSolver.sparse_ldlt_ineq_cond  # rows of G are folded into its diagonal
    for name, value in _INTERIOR.items():
        setattr(solver.settings, name, value)
    solver.setup(csc_matrix(diags(squares)), costs, A, b, G, np.full(len(h), -np.inf), h, low, high)
    solver.solve()
    if not _is_close(solver.result.info):
        return None
    return _read(solver.result, low, high, len(objective), wide, float(costs @ solver.result.x))


def _with_slacks(A_ub: Any, b_ub: Real, A_eq: Any, b_eq: Real) -> tuple[Any, Real, Any, Real, Array]:
    """Rows of more than two unknowns become equations with a slack of their own: all that is left to fold is sparse."""
    from scipy.sparse import bmat, csc_matrix, identity

    if A_ub is None:
        A_ub, b_ub = csc_matrix((0, A_eq.shape[1])).tocsr(), np.zeros(0)
    wide = np.diff(A_ub.indptr) > 2
    count = int(wide.sum())
    equal = bmat([[A_eq, None], [A_ub[wide], identity(count)]]) if count else A_eq
    rows = bmat([[A_ub[~wide], csc_matrix((len(wide) - count, count))]])
    return csc_matrix(rows), b_ub[~wide], csc_matrix(equal), np.concatenate([b_eq, b_ub[wide]]), wide


def _is_close(info: Any) -> bool:
    return all(abs(getattr(info, name)) < most for name, most in _CLOSE_ENOUGH.items())


def _read(result: Any, lower: Real, upper: Real, count: int, wide: Array, value: float) -> Optimum:
    """What is nearer to a bound than its multiplier is to zero is on it."""
    below, above = result.x - lower, upper - result.x
    low, high = below < result.z_bl, above < result.z_bu
    x = np.where(low & (below < _ON_BOUND), lower, np.where(high & (above < _ON_BOUND), upper, result.x))
    tight = np.zeros(len(wide), dtype=bool)
    tight[wide], tight[~wide] = low[count:], result.s_u < result.z_u
    equal = len(result.y) - int(wide.sum())
    rows = np.zeros(len(wide))
    rows[wide], rows[~wide] = -result.y[equal:], -result.z_u
    return Optimum(x[:count], value, low[:count], high[:count], tight, np.concatenate([-result.y[:equal], rows]))


def _with_equal(A: Any, b: Any, E: Any, e: Real, tight: Array) -> tuple[Any, ...]:
    """Rows that are met with equality become equations."""
    from scipy.sparse import vstack

    if A is None:
        return None, None, E, e
    return A[~tight], b[~tight], vstack([E, A[tight]]).tocsr(), np.concatenate([e, b[tight]])


def _completed(found: Optimum, x: Real, free: Array, best: Optimum) -> Optimum:
    """The optimum of the free unknowns and of the rows that were left, with all others as they were."""
    low, high, tight = best.low.copy(), best.high.copy(), best.tight.copy()
    x[free], low[free], high[free] = found.x, found.low, found.high
    tight[~best.tight] = found.tight
    equal, prices = len(best.prices) - len(tight), found.prices.copy()
    rows = prices[equal:]
    rows[np.argsort(~best.tight, kind="stable")] = rows.copy()
    return Optimum(x, best.value, low, high, tight, prices)


def _shares(units: Array, scale: int) -> Real:
    """Units of the grid as counts: floats of integers that may be longer than a float holds."""
    return np.asarray(units / scale, dtype=np.float64)


def solve(program: Program, *, tight: float = 0.0, inside: bool = True) -> Solution | None:
    """The best flows, or None where the bounds contradict each other."""
    if np.any(program.least > program.most):
        return None
    model = Model(program, tight)
    optimum = model.minimise(model.costs(), inside=inside)
    if optimum is None:
        return None
    return Solution(optimum.x[: len(model.unit)] * model.unit, model, optimum, inside and goes_inside(program))


# ---- the one answer

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
            return round_golden(flows, equations.bits)
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


def round_golden(values: Array, bits: int) -> Array:
    """Integers over two to the power of ``bits`` as whole numbers: up from a fraction of 0.618... on."""
    up = (1 << bits) - (GOLDEN << bits >> 200)
    return np.asarray((values + up) >> bits, dtype=object)


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

    @property
    def free(self) -> Array:
        return ~(self.low | self.high)

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
        if program.guess is not None:
            self._guess(program.guess - math.ceil(program.guess * tight))
        if program.parity is not None:
            self._parity(program.parity * (1 - tight))
        self._kept(tight)
        self.sizes = self._sizes()
        self.least_count = np.minimum(program.v[self.i], program.v[self.j]).astype(np.float64)

    def _unknowns(self) -> Array:
        first, self.count = self.count, self.count + len(self.program.v)
        return np.arange(first, self.count)

    def _guess(self, limit: int) -> None:
        largest, none = self._unknowns(), np.array([0] * len(self.i), dtype=object)
        self.rows.add(none, (self.flows, self.flows, 1), (self.flows, largest[self.i], -1))
        self.rows.add(np.array([limit], dtype=object), (largest * 0, largest, 1))

    def _parity(self, eta: Fraction) -> None:
        least, none = self._unknowns()[self.i], np.array([0] * len(self.i), dtype=object)
        counts = self.program.v[self.j]
        self.rows.add(none, (self.flows, self.flows, -1), (self.flows, least, counts * eta.denominator))
        self.rows.add(none, (self.flows, self.flows, 1), (self.flows, least, -counts * eta.numerator))

    def _kept(self, tight: Fraction) -> None:
        low, high = self.program.kept
        where = np.flatnonzero(self.program.pairs.own)
        if low is not None:
            self.rows.add(np.array([-math.ceil(low * (1 + tight))], dtype=object), (where * 0, where, -1))
        if high is not None:
            self.rows.add(np.array([math.floor(high * (1 - tight))], dtype=object), (where * 0, where, 1))

    # ---- what the solver says

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

    def _sizes(self) -> Real:
        """By how much rows are larger than those of the model of the solver, apart from the scale."""
        v = self.program.v.astype(np.float64)
        parts, n = [np.array([])], v.sum()
        if self.program.guess is not None:
            parts += [v[self.i], np.array([n])]
        if self.program.parity is not None:
            parts += [v[self.i] * v[self.j] / n] * 2
        parts += [np.array([n])] * sum(bound is not None for bound in self.program.kept)
        return np.concatenate(parts)

    # ---- solved for what is met with equality

    def solved(self, active: _Active) -> _Answer | None:
        """Flows that meet these with equality and depend least; None where they contradict each other."""
        held = np.where(active.low, self.program.least, self.program.most) << self.bits
        row, unknown, value, right = self._taken(active.tight)
        flows = np.where(active.free, 0, held)
        inside = unknown < len(self.flows)
        fixed = inside & ~active.free[np.where(inside, unknown, 0)]
        right = (right << self.bits) - summed(row[fixed], value[fixed] * flows[unknown[fixed]], len(right))
        A = Coefficients(row[inside & ~fixed], unknown[inside & ~fixed], value[inside & ~fixed], len(self.flows))
        further = Coefficients(row[~inside], unknown[~inside] - len(self.flows), value[~inside], self._further)
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
        flows = np.where(active.free, pull, flows)
        return _Answer(flows, self._settled(more, further, flows), every_price, pull)

    @property
    def _further(self) -> int:
        return self.count - len(self.flows)

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
        loose = np.ones(self._further, dtype=bool)
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

    # ---- whether it is the answer

    def faults(self, active: _Active, answer: _Answer) -> tuple[Real, Real]:
        """By how much each bound is not kept, and each multiplier has the wrong sign; 0 where all is well."""
        tiny, free = 1 << (self.bits - _NOISE_BITS // 2), active.free
        least, most = self.program.least << self.bits, self.program.most << self.bits
        spare, size = answer.flows - answer.pull, self.least_count
        over, prices = self._over(answer), answer.prices[self.equal.count :]
        add = [_excess(least - answer.flows, tiny, free) / size, _excess(answer.flows - most, tiny, free) / size]
        drop = [
            _excess(-spare, tiny, active.low & ~self.stuck) / size,
            _excess(spare, tiny, active.high) / size,
            _excess(prices, 1 << _NOISE_BITS, active.tight) * self.sizes,
        ]
        return np.concatenate([*add, _excess(over, tiny, ~active.tight) / self.sizes]), np.concatenate(drop)

    def _over(self, answer: _Answer) -> Array:
        if not self.rows.count:
            return np.array([], dtype=object)
        row, unknown, value, right = self.rows.entries()
        x = np.concatenate([answer.flows, answer.further])
        return np.asarray(summed(row, value * x[unknown], len(right)) - (right << self.bits))


def _costs(program: Program, bits: int) -> tuple[Fraction, Array]:
    """What a cost of 1 is beside ``F^2 / (2 w)``, and the costs of all flows, over two to the power of ``bits``."""
    exact = [Fraction(x) for x in program.pairs.cost.tolist()]
    largest = max(map(abs, exact)) or Fraction(1)
    factor = Fraction(program.scale * len(program.v) << (TIES_BITS + bits), int(program.v.sum())) / largest
    return factor, np.array([math.floor(cost * factor) for cost in exact], dtype=object)


def _excess(values: Array, tiny: int, where: Array) -> Real:
    return np.where(where & np.asarray(values > tiny, dtype=bool), values, 0).astype(np.float64)

"""The program solved in floats: a suggestion, which is made exact afterwards.

Unknowns are flows in units of ``min(v_i, v_j)``, or ``v_i v_j / n`` where all must be positive, so that all numbers
are of ordinary size; then ``t_i = max_j F_ij / v_i``, ``m_i = n min_j p_ij / v_i`` and one bound that is looked for,
where asked. HiGHS solves it, but large programs with tied bounds go to PIQP (docs/adr/0021-interior-point.md).
Source: derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.errors import MaskwellError
from maskwell.microdata.matrices.flow_program import Program
from maskwell.microdata.matrices.kept_cells import SHARE_BITS

# Guess, parity and shares changed are asked for this much stricter, relatively, to leave room for the rounding.
TIGHT = 1e-9
# Tables are kept within a tolerance that is smaller by this part, which the rounding may use up.
TIE_SPARE = 1e-6
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
    """The best unknowns, those on a bound (``low``, ``high``), rows met with equality, and multipliers (``prices``)."""

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
        """A and b for the solver; None without rows."""
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
        self.lower = [np.asarray(program.least / program.scale, dtype=np.float64) / self.unit]
        self.upper = [np.asarray(program.most / program.scale, dtype=np.float64) / self.unit]
        self.equal, self.rows = Rows(), Rows()
        self._sums()
        if program.guess is not None:
            self._guess(program.guess)
        if program.parity is not None:
            self._parity(float(program.parity) * (1 - tight))
        self._kept()
        for row, limit in program.ties:
            where, total = np.flatnonzero(row), self.n * (1 << SHARE_BITS)
            right = np.array([limit * (1 - TIE_SPARE) / program.scale / total])
            self.rows.add(right, (where * 0, where, row[where] * self.unit[where] / total))

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
        """Where the objective is least; None without a solution, or if it is not found ``inside``."""
        objective = np.concatenate([costs, np.zeros(self.count - len(costs))])
        lower, upper = np.concatenate(self.lower), np.concatenate(self.upper)
        matrices = *self.rows.matrix(self.count), *self.equal.matrix(self.count)
        if inside and goes_inside(self.program) and np.all(lower < upper):
            return _by_interior_point(objective, matrices, lower, upper)
        return _by_highs(objective, matrices, np.column_stack([lower, upper]))

    def least_dependent(self, best: Optimum) -> Optimum | None:
        """Of all best solutions nearly the one with the smallest ``sum_ij F_ij^2 / (v_i v_j)``; None where it fails."""
        from scipy.sparse import vstack

        lower, upper = np.concatenate(self.lower), np.concatenate(self.upper)
        x, tight = np.where(best.low, lower, upper), best.tight.copy()
        free = ~(best.low | best.high) & (lower < upper)
        curved = np.zeros(self.count)
        curved[self.flows] = self.unit**2 / (self.v[self.i] * self.v[self.j])
        A, b, E, e = *self.rows.matrix(self.count), *self.equal.matrix(self.count)
        x[free] = 0
        right, E, e = (None if A is None else b - A @ x), E[:, free], e - E @ x
        if A is not None and right is not None:  # rows that are met with equality become equations
            A = A[:, free]
            E, e = vstack([E, A[tight]]).tocsr(), np.concatenate([e, right[tight]])
            A, right = A[~tight], right[~tight]
        found = _by_interior_point(np.zeros(free.sum()), (A, right, E, e), lower[free], upper[free], curved[free])
        if found is None:
            return None
        low, high = best.low.copy(), best.high.copy()
        x[free], low[free], high[free] = found.x, found.low, found.high
        rows = found.prices[len(best.prices) - len(tight) :]
        rows[np.argsort(~best.tight, kind="stable")] = rows.copy()
        tight[~best.tight] = found.tight
        return Optimum(x, best.value, low, high, tight, found.prices)


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
            low, high, rows = (part.marginals / steep for part in (result.lower, result.upper, result.ineqlin))
            prices = np.concatenate([result.eqlin.marginals / steep, rows])
            value = float(result.fun / steep)
            return Optimum(result.x, value, low > _PRICED, high < -_PRICED, rows < -_PRICED, prices)
        if result.status == _INFEASIBLE:
            return None
    raise SolverError("the-solver-gave-up", objective_count=len(objective), problem=result.message[:40])


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
    if not all(abs(getattr(solver.result.info, name)) < most for name, most in _CLOSE_ENOUGH.items()):
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


def solve(program: Program, *, tight: float = 0.0, inside: bool = True) -> Solution | None:
    """The best flows, or None where the bounds contradict each other."""
    if np.any(program.least > program.most):
        return None
    model = Model(program, tight)
    optimum = model.minimise(model.costs(), inside=inside)
    if optimum is None:
        return None
    return Solution(optimum.x[: len(model.unit)] * model.unit, model, optimum, inside and goes_inside(program))

"""The program solved in floats, as a rule by HiGHS: a suggestion, which is made exact afterwards.

Unknowns are the flows in units of ``s_ij``, so that all of them, all coefficients and all right sides are of ordinary
size: ``s_ij = min(v_i, v_j)``, or ``v_i v_j / n`` where every flow must be positive. After them come, where they are
asked for, ``t_i = max_j F_ij / v_i`` and ``m_i = n min_j p_ij / v_i``, and one bound that is itself looked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.errors import MaskwellError
from maskwell.release.matrices.interior import minimise
from maskwell.release.matrices.interior_form import Layout, standard
from maskwell.release.matrices.program import Program

TIGHT = 1e-9
"""Guess, parity and shares changed are asked for this much stricter, relatively, to leave room for the rounding."""

TIED_FLOWS = 900
"""Programs with more flows, and bounds that tie them together, go to the interior-point method."""

_STRICT = 1000.0
"""The row that holds the objective is given this weight, so that the solver's tolerance takes less from it."""

_OPTIONS = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-9,
    "presolve": False,  # finds nothing in these programs, and at times searches for minutes
    "time_limit": 600,
}
_SOLVED, _INFEASIBLE = 0, 2


class SolverError(MaskwellError):
    """The solver gave up; nothing is known to be wrong with what was given."""

    code = "solver"


@dataclass(frozen=True, eq=False)
class Solution:
    """Flows in counts, shape (N,), the value of the objective, and that of the bound that was looked for."""

    flows: Real
    objective: float
    smallest: float | None = None


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

    def matrix(self, unknowns: int) -> tuple[Any, Any]:
        """A and b for the solver; None where there are no rows."""
        from scipy.sparse import csr_array

        if not self.count:
            return None, None
        row, unknown, value = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return csr_array((value, (row, unknown)), shape=(self.count, unknowns)), np.concatenate(self._right)


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
        self.by_state: list[Array] = []
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
        self.by_state.append(self.largest)
        into = self.unit / self.v[self.i]
        self.rows.add(np.zeros(len(self.i)), (self.flows, self.flows, into), (self.flows, self.largest[self.i], -1.0))
        limit = guess / self.program.total * (1 - self.tight)
        self.rows.add(np.array([limit]), (rows, self.largest, self.v / self.n))

    def _parity(self, eta: float) -> None:
        even = self.unit * self.n / (self.v[self.i] * self.v[self.j])
        shares = self.unknowns(np.full(len(self.v), 1 / eta), np.ones(len(self.v)))
        self.by_state.append(shares)
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

    def minimise(self, costs: Real) -> tuple[Real, float] | None:
        """The unknowns where the objective is least, and its value; None where there is no solution."""
        objective = np.concatenate([costs, np.zeros(self.count - len(costs))])
        lower, upper = np.concatenate(self.lower), np.concatenate(self.upper)
        matrices = *self.rows.matrix(self.count), *self.equal.matrix(self.count)
        if goes_inside(self.program) and np.all(lower < upper):
            even = self.v[self.i] * self.v[self.j] / (self.n * self.unit)
            layout = Layout(self.i, self.j, len(self.v), tuple(self.by_state), even)
            return minimise(standard(objective, *matrices, lower, upper, layout))
        return _by_highs(objective, matrices, np.column_stack([lower, upper]))


def goes_inside(program: Program) -> bool:
    """Whether a program is solved by the interior-point method, which gives the centre of all solutions."""
    tied = program.guess is not None or program.parity is not None
    return tied and len(program.pairs) > TIED_FLOWS


def _by_highs(objective: Real, matrices: tuple[Any, ...], bounds: Real) -> tuple[Real, float] | None:
    from scipy.optimize import linprog

    for method in ("highs-ds", "highs-ipm"):
        found = linprog(objective, *matrices, bounds, method=method, options=_OPTIONS)
        if found.status == _SOLVED:
            return found.x, float(found.fun)
        if found.status == _INFEASIBLE:
            return None
    raise SolverError(
        f"the solver gave up on a program of {len(objective):,} unknowns: {found.message[:40]}",
        hint="use fewer categories in a block, or fewer bounds at a time",
    )


def _shares(units: Array, scale: int) -> Real:
    """Units of the grid as counts: floats of integers that may be longer than a float holds."""
    return np.asarray(units / scale, dtype=np.float64)


def solve(program: Program, *, tight: float = 0.0) -> Solution | None:
    """The best flows, or None where the bounds contradict each other."""
    if np.any(program.least > program.most):
        return None
    model = Model(program, tight)
    found = model.minimise(model.costs())
    return None if found is None else Solution(found[0][: len(model.unit)] * model.unit, found[1])


def solve_evenly(program: Program, best: Solution, *, tight: float = 0.0) -> Solution:
    """Among the best flows those with the smallest posterior of a value that is not the released one.

    This makes the answer depend less on the solver: an optimum is seldom the only one.
    """
    model = Model(program, tight)
    model.rows.add(np.array([_STRICT * best.objective]), (model.flows * 0, model.flows, _STRICT * model.costs()))
    largest = model.unknowns(np.zeros(1), np.ones(1))
    other = np.flatnonzero(~program.pairs.own)
    into, each = (model.unit / model.v[model.i])[other], np.arange(len(other))
    model.rows.add(np.zeros(len(other)), (each, other, into), (each, np.repeat(largest, len(other)), -1.0))
    costs = np.zeros(model.count)
    costs[largest] = 1
    found = model.minimise(costs)
    return best if found is None else Solution(found[0][: len(model.unit)] * model.unit, best.objective)

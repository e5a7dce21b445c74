"""Is ``A = C P`` for some transition matrix C? A linear program finds a candidate for the proof, fractions check it.

What the program asks, and why its answer is enough: docs/theory/order.md. Source: [ChaiNayak2018, Definition 4.1].
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskwell.core.arguments import Real
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.designs.proofs import gain_margin, verify_garbling
from maskwell.designs.rational import Equation, Frame, Matrix, Rows, product, solve_sparse

SIZE_LIMIT = 400_000
"""Coefficients of the program, ``r m rank(P)``, beyond which it is not tried: at the limit it takes up to a minute."""

SUPPORT_LIMIT = 600
"""Positive entries of a garbling beyond which its equations are not solved in fractions; at the limit some seconds."""

_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": 120}
_BITS = 52
SMALLEST = 1e-290  # chances below this are not brought to the size of others in floats
POSITIVE = 1e-9  # unknowns of the program below this are taken for zeros
_GRIDS = (12, 2520)  # denominators tried for gains, simple ones first


@dataclass(frozen=True)
class Answer:
    """What the program says, in floats: s, a garbling (r, m), where its part D is not zero (r, m), and gains (r, k)."""

    slack: float
    C: Real
    positive: NDArray[np.bool_]
    G: Real


def ask(P: Rows, A: Rows, frame: Frame) -> Answer | None:
    """Solve the program; None where the solver gives up."""
    (p, q), (scaled, a) = _shapes(P, frame), _shapes(A, frame)
    for method in ("highs-ipm", "highs-ds"):
        result = _solve(p, q, scaled, a, method)
        if result.status == 0:
            return _answer(result, q, a, len(A[0]), list(frame.columns))
    return None


def _shapes(rows: Rows, frame: Frame) -> tuple[Real, Real]:
    """Rows divided by their means, and the means."""
    means = [sum(row, Fraction(0)) / len(row) for row in rows]
    scaled = [[row[j] / mean for j in frame.columns] for row, mean in zip(rows, means, strict=True)]
    return _floats(scaled), _floats([means])[0]


def _solve(p: Real, q: Real, scaled: Real, a: Real, method: str) -> Any:
    """Unknowns are ``x_iu = D_iu q_u / a_i``, between 0 and 1 - s, and s; q and a are the means of the rows."""
    from scipy import sparse
    from scipy.optimize import linprog

    (m, rank), r = p.shape, len(scaled)
    rows = sparse.hstack([sparse.kron(sparse.eye(r - 1), p.T), sparse.csr_matrix(((r - 1) * rank, m))])
    sums = sparse.kron(a[None, :], sparse.eye(m))
    chance = np.concatenate([np.ones((r - 1) * rank), q])
    left = sparse.hstack([sparse.vstack([rows, sums]), chance[:, None]]).tocsc()
    right = np.concatenate([scaled[:-1].ravel(), q])
    cost, lower = np.zeros(r * m + 1), np.zeros(r * m + 1)
    cost[-1], lower[-1] = -1, -np.inf
    bounds = np.column_stack([lower, np.full(r * m + 1, np.inf)])
    return linprog(cost, A_eq=left, b_eq=right, bounds=bounds, method=method, options=_OPTIONS)


def _answer(result: Any, q: Real, a: Real, k: int, columns: list[int]) -> Answer:
    r, slack = len(a), float(result.x[-1])
    x = np.maximum(result.x[:-1], 0).reshape(r, -1)
    D = np.divide(x * a[:, None], q, where=q > 0, out=np.zeros_like(x))
    C = D + slack * a[:, None] if slack > 0 else D / (1 - slack)
    G = np.zeros((r, k))
    multipliers = np.reshape(result.eqlin.marginals[: (r - 1) * len(columns)], (r - 1, -1))
    G[:-1, columns] = np.divide(multipliers, a[:-1, None], where=a[:-1, None] > 0, out=np.zeros_like(multipliers))
    return Answer(slack, C, x > POSITIVE, G / (np.abs(G).max() or 1))


def _floats(rows: Rows) -> Real:
    return np.array([[to_float(p) for p in row] for row in rows])


def nearest(P: Rows, A: Rows) -> tuple[Real, Real] | None:
    """A garbling (r, m) whose product is as near to A as any, and gains (r, k) that show it; None where none is found.

    least t  with  |C P - A|_ij <= t max_j a_ij,   C >= 0,  columns of C sum to one
    """
    from scipy import sparse
    from scipy.optimize import linprog

    most = [max(row) for row in A]
    if min(map(to_float, most)) < SMALLEST:
        return None
    p, target = _floats(P), _floats([[x / top for x in row] for row, top in zip(A, most, strict=True)])
    (m, k), r = p.shape, len(A)
    made = sparse.kron(sparse.diags([1 / to_float(top) for top in most]), p.T)
    off = np.ones((r * k, 1))
    left = sparse.vstack([sparse.hstack([made, -off]), sparse.hstack([-made, -off])])
    sums = sparse.hstack([sparse.kron(np.ones((1, r)), sparse.eye(m)), sparse.csr_matrix((m, 1))])
    cost = np.append(np.zeros(r * m), 1.0)
    right = np.concatenate([target.ravel(), -target.ravel()])
    result = linprog(
        cost, A_ub=left.tocsc(), b_ub=right, A_eq=sums.tocsc(), b_eq=np.ones(m), method="highs", options=_OPTIONS
    )
    if result.status != 0:
        return None
    weights = np.reshape(result.ineqlin.marginals[: r * k] - result.ineqlin.marginals[r * k :], (r, k))
    G = -weights / np.array([to_float(top) for top in most])[:, None]
    return result.x[:-1].reshape(r, m), G / (np.abs(G).max() or 1)


def good_order(P: Rows) -> list[int]:
    """Rows of P, those first that are far from depending on each other."""
    from scipy.linalg import qr

    return [int(u) for u in qr(_floats(P).T, mode="r", pivoting=True)[1]]


def nearest_transition(C: Real) -> Matrix:
    """Fractions near C that are 0 or more and sum to one in every column; the largest entry takes the difference."""
    inside = np.clip(C, 0, 1)
    shares = inside / np.maximum(inside.sum(axis=0), np.finfo(float).tiny)
    scaled = np.floor(shares * 2**_BITS).astype(np.int64)
    largest = scaled.argmax(axis=0)
    numbers = scaled.tolist()
    for u, i in enumerate(largest.tolist()):
        numbers[i][u] += 2**_BITS - int(scaled[:, u].sum())
    return [[Fraction(n, 2**_BITS) for n in row] for row in numbers]


def corrected(C: Matrix, P: Rows, A: Rows, frame: Frame) -> Matrix | None:
    """C with its error put right on the rows of the frame: exact, or None where an entry would become negative.

        C + (A - C P) L,    L = the inverse of P on the frame

    The columns still sum to one, because those of ``A - C P`` sum to zero.
    """
    made = product(C, [[row[j] for j in frame.columns] for row in P])
    error = [[row[j] - x for j, x in zip(frame.columns, got, strict=True)] for row, got in zip(A, made, strict=True)]
    change = product(error, frame.inverse)
    exact = [list(row) for row in C]
    for row, moves in zip(exact, change, strict=True):
        for u, move in zip(frame.rows, moves, strict=True):
            row[u] += move
    return exact if verify_garbling(exact, P, A) else None


def on_support(positive: NDArray[np.bool_], P: Rows, A: Rows, frame: Frame) -> Matrix | None:
    """The exact garbling that is positive there, shape (r, m); None where there is none, or too much to solve."""
    if positive.sum() > SUPPORT_LIMIT:
        return None
    entries = solve_sparse(_equations(positive, P, A, frame))
    if entries is None or min(entries.values()) < 0:
        return None
    m = len(P)
    C = [[entries.get(i * m + u, Fraction(0)) for u in range(m)] for i in range(len(A))]
    return C if verify_garbling(C, P, A) else None


def _equations(positive: NDArray[np.bool_], P: Rows, A: Rows, frame: Frame) -> Iterator[Equation]:
    m = len(P)
    for i, row in enumerate(A):
        chosen = np.flatnonzero(positive[i]).tolist()
        for j in frame.columns:
            yield {i * m + u: P[u][j] for u in chosen if P[u][j]}, row[j]
    for u in range(m):
        yield {i * m + u: Fraction(1) for i in np.flatnonzero(positive[:, u]).tolist()}, Fraction(1)


def rounded_gain(G: Real, P: Rows, A: Rows) -> tuple[Matrix, Fraction] | None:
    """Gains in fractions as simple as keeps half of the margin, and the margin; None where it is not positive."""
    finest = [[Fraction(value) for value in row] for row in G.tolist()]
    best = gain_margin(finest, P, A)
    if best <= 0:
        return None
    for grid in _GRIDS:
        simple = [[Fraction(round(value * grid), grid) for value in row] for row in G.tolist()]
        margin = gain_margin(simple, P, A)
        if 2 * margin >= best:
            return simple, margin
    return finest, best


@dataclass(frozen=True, repr=False, kw_only=True)
class Sufficiency:
    """Whether design P is sufficient for design A, and why."""

    holds: bool | None  # None where it could not be settled
    how: str  # same, structure, admissible, parity, rank, inverse or program settled it; or "nothing" did
    reason: str  # why, in words for people; "it" is P, "the other design" is A
    exact: bool = True  # whether the answer is proved in fractions, by what is kept here
    garbling: Rows | None = None  # C with ``A = C P`` up to ``residual``; shape (reports of A, reports of P)
    keep: Fraction | None = None  # C unwritten: the chance to keep the report, else any of them is drawn
    residual: Fraction | None = None  # the largest entry of ``|A - C P|``, or a bound on it; 0 when exact
    gain: Rows | None = None  # a gain matrix in which A wins more than P, shape (reports of A, k)
    margin: Fraction | None = None  # by how much
    parities: tuple[Parity, Parity] | None = None  # the parities of P and A: no garbling can raise parity

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers, and beside them the exact fractions as text."""
        content: dict[str, Any] = {"holds": self.holds, "how": self.how, "exact": self.exact, "reason": self.reason}
        for name in ("garbling", "gain"):
            rows = getattr(self, name)
            if rows is not None:
                content[name] = [[to_float(x) for x in row] for row in rows]
                content[f"{name}_exact"] = [[to_text(x) for x in row] for row in rows]
        for name in ("keep", "residual", "margin"):
            value = getattr(self, name)
            if value is not None:
                content |= {name: to_float(value), f"{name}_exact": to_text(value)}
        if self.parities is not None:
            content["parities"] = ["inf" if eta == math.inf else to_float(eta) for eta in self.parities]
        return content

    def __repr__(self) -> str:
        return f"Sufficiency(holds={self.holds}, how={self.how!r}, exact={self.exact})"


def yes(how: str, reason: str, garbling: Rows) -> Sufficiency:
    """Proved by a garbling."""
    return Sufficiency(holds=True, how=how, reason=reason, garbling=garbling, residual=Fraction(0))


def nearly(reason: str, garbling: Rows, residual: Fraction) -> Sufficiency:
    """Shown by a garbling up to a small residual."""
    return Sufficiency(holds=True, how="program", reason=reason, exact=False, garbling=garbling, residual=residual)


def no(how: str, reason: str, gain: Rows, margin: Fraction) -> Sufficiency:
    """Proved by a gain matrix."""
    return Sufficiency(holds=False, how=how, reason=reason, gain=gain, margin=margin)


def unsettled(reason: str, parities: tuple[Parity, Parity] | None = None) -> Sufficiency:
    """Neither proof was found."""
    return Sufficiency(holds=None, how="nothing", reason=reason, exact=False, parities=parities)

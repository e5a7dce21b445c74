"""The linear system of a step of the interior-point method, with everything eliminated that belongs to one state.

    H dx + A' dy = r,    A dx = q,    H = diag(own) + G' diag(weight) G

Flows are eliminated first, as H is diagonal in them. What is left are *nodes*, the other unknowns and the equations.
Each flow (i, j) meets the nodes of its released state i (the sum of the row and what is tied to it), one of its true
state j (the sum of the column), and the few *wide* nodes that meet all. The nodes of the released states are
eliminated state by state; a dense system over the true states and the wide nodes remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.matrices.interior_form import Standard

_RIDGE = 1e-13
"""Relative shift of the diagonal: the sums of rows and of columns say one thing twice."""


class System:
    """What stays the same from step to step."""

    def __init__(self, program: Standard) -> None:
        layout, flows = program.layout, program.flows
        self.i, self.j, self.k = layout.released, layout.true, layout.states
        self.flows, self.others = flows, program.G.shape[1] - flows
        self.K = program.A[:, :flows].tocsr()
        sums = self.others + np.arange(self.k)
        self.groups = [*(own - flows for own in layout.by_state), sums]
        self.column = sums + self.k
        taken = np.concatenate([*self.groups, self.column])
        self.wide = np.setdiff1d(np.arange(self.others + program.A.shape[0]), taken)
        self.coupling = _coupling(program.A[:, flows:], self.others)
        entries = program.G[:, :flows].tocoo()
        self.row_flow, self.row, self.coefficient = entries.col, entries.row, entries.data
        self.ties = [self._tie(program, node) for node in (*self.groups, self.column)]
        self.wide_ties = [self._tie(program, np.array([node])) for node in self.wide.tolist()]

    def _tie(self, program: Standard, nodes: Array) -> Tie:
        """How the flows meet some nodes, which are all equations or all other unknowns."""
        if nodes[0] >= self.others:
            return Tie(constant=np.asarray(self.K[nodes - self.others].sum(axis=0), dtype=np.float64).ravel())
        other = np.zeros(program.G.shape[1])
        other[self.flows + nodes] = 1
        unknown = (program.G @ other)[self.row]
        some = np.flatnonzero(unknown)
        some = some[np.argsort(self.row_flow[some], kind="stable")]
        flow = self.row_flow[some]
        turn = np.arange(len(flow)) - np.searchsorted(flow, flow)
        layers = [some[turn == t] for t in range(int(turn.max(initial=-1)) + 1)]
        return Tie(layers=[(self.row_flow[x], self.row[x], self.coefficient[x], unknown[x]) for x in layers])

    def solver(self, weight: Real, own: Real) -> Any:
        """A function of r and q that gives dx and dy; None where the numbers have become too large."""
        flows = self.flows
        met = [tie.met(weight, flows) for tie in (*self.ties, *self.wide_ties)]
        D = own[:flows] + np.bincount(self.row_flow, weight[self.row] * self.coefficient**2, flows)
        rest = [own[:flows] + sum(other.pull for other in met if other is not one) for one in met]
        stiff = [one.stiffness(others, D) for one, others in zip(met, rest, strict=True)]
        diagonal = np.concatenate([own[flows:], np.zeros(self.K.shape[0])])
        nodes = _Nodes(self, 1 / D, met, stiff, diagonal)
        return nodes.solve if nodes.fine else None


@dataclass(frozen=True, eq=False)
class Met:
    """What the flows have to do with one kind of node at the present weights, all of shape (flows,).

    ``force`` is the entry of H or A between flow and node, ``pull`` what the rows of the node add to the diagonal of
    the flow, ``push`` what they add to that of the node, and ``cross`` is ``pull push - force^2``, without rounding.
    """

    force: Real
    pull: Real
    push: Real
    cross: Real

    def stiffness(self, rest: Real, D: Real) -> Real:
        """``push - force^2 / D`` with ``D = pull + rest``, as a sum of terms that are not negative.

        For an equation, which adds nothing to any diagonal, this is ``-force^2 / D``.
        """
        return np.asarray((self.push * rest + self.cross) / D)


@dataclass(frozen=True, eq=False)
class Tie:
    """Coefficients of the flows in equations, or layers of rows of G with at most one row for each flow."""

    constant: Real | None = None
    layers: Sequence[tuple[Array, Array, Real, Real]] = ()

    def met(self, weight: Real, flows: int) -> Met:
        """The coefficients at the present weights of the rows of G."""
        none = np.zeros(flows)
        if self.constant is not None:
            return Met(self.constant, none, none, -(self.constant**2))
        parts = [_spread(layer, weight, flows) for layer in self.layers]
        cross = none
        for n, (w, c, a) in enumerate(parts):
            for w2, c2, a2 in parts[:n]:
                cross = cross + w * w2 * (a * c2 - a2 * c) ** 2
        force = sum((w * c * a for w, c, a in parts), none)
        return Met(
            force, sum((w * c * c for w, c, _ in parts), none), sum((w * a * a for w, _, a in parts), none), cross
        )


def _spread(layer: tuple[Array, Array, Real, Real], weight: Real, flows: int) -> tuple[Real, Real, Real]:
    flow, row, coefficient, unknown = layer
    w, c, a = np.zeros(flows), np.zeros(flows), np.zeros(flows)
    w[flow], c[flow], a[flow] = weight[row], coefficient, unknown
    return w, c, a


def _coupling(A: Any, others: int) -> Any:
    """Which equations hold which other unknowns, as a symmetric matrix over all nodes."""
    from scipy.sparse import bmat, csr_matrix

    if not others:
        return csr_matrix((A.shape[0], A.shape[0]))
    return csr_matrix(bmat([[csr_matrix((others, others)), A.T], [A, None]]))


class _Nodes:
    """The system over the nodes, factored."""

    def __init__(self, system: System, inverse: Real, met: list[Met], stiff: list[Real], diagonal: Real) -> None:
        k, T = system.k, len(system.groups)
        self.s, self.inverse = system, inverse
        self.V, self.column, self.W = [m.force for m in met[:T]], met[T].force, [m.force for m in met[T + 1 :]]
        B, R = np.empty((k, T, T)), np.zeros((k, T, k + len(self.W)))
        for a, rows in enumerate(self.V):
            scaled = rows * inverse
            for b, others in enumerate(self.V):
                B[:, a, b] = -np.bincount(system.i, scaled * others, k)
            B[:, a, a] = diagonal[system.groups[a]] + np.bincount(system.i, stiff[a], k)
            R[system.i, a, system.j] = -scaled * self.column
            for b, others in enumerate(self.W):
                R[:, a, k + b] = -np.bincount(system.i, scaled * others, k)
            R[:, a, k:] += system.coupling[system.groups[a]][:, system.wide].toarray()
        self._eliminate(B, R, self._rest(diagonal, stiff[T:]))

    def _rest(self, diagonal: Real, stiff: list[Real]) -> Real:
        """The system over true states and wide nodes, before anything of the released states is eliminated."""
        s, k = self.s, self.s.k
        size = k + len(self.W)
        M = np.zeros((size, size))
        own = self.column * self.inverse
        M[np.arange(k), np.arange(k)] = np.bincount(s.j, stiff[0], k)
        for a, one in enumerate(self.W):
            M[:k, k + a] = M[k + a, :k] = -np.bincount(s.j, own * one, k)
            for b, two in enumerate(self.W):
                M[k + a, k + b] = -float((one * self.inverse) @ two)
            M[k + a, k + a] = float(stiff[1 + a].sum())
        M[k:, k:] += s.coupling[s.wide][:, s.wide].toarray() + np.diag(diagonal[s.wide])
        return M

    def _eliminate(self, B: Real, R: Real, M: Real) -> None:
        from scipy.linalg import lu_factor

        k, T, size = R.shape
        scale = 1 / np.sqrt(np.abs(np.einsum("iaa->ia", B)))
        both = scale[:, :, None] * scale[:, None, :]
        self.R, self.B_inverse = R, np.linalg.inv(B * both) * both
        M = M - R.reshape(k * T, size).T @ np.matmul(self.B_inverse, R).reshape(k * T, size)
        self.scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(M)), np.finfo(float).tiny))
        M = M * self.scale[:, None] * self.scale
        M[np.diag_indices(size)] *= 1 + _RIDGE
        self.fine = bool(np.isfinite(M).all())
        self.factors = lu_factor(M, check_finite=False) if self.fine else None

    def solve(self, r: Real, q: Real) -> tuple[Real, Real]:
        """Dx and dy for the right sides r and q."""
        s = self.s
        flow = r[: s.flows] * self.inverse
        right = np.concatenate([r[s.flows :], q])
        groups = zip(s.groups, self.V, strict=True)
        at_state = np.stack([right[own] - np.bincount(s.i, flow * v, s.k) for own, v in groups], axis=1)
        true = right[s.column] - np.bincount(s.j, flow * self.column, s.k)
        wide = right[s.wide] - np.array([float(flow @ w) for w in self.W])
        states, rest = self._inner(at_state, np.concatenate([true, wide]))
        inner = np.empty(len(right))
        inner[s.column], inner[s.wide] = rest[: s.k], rest[s.k :]
        back = rest[: s.k][s.j] * self.column
        for a, own in enumerate(s.groups):
            inner[own] = states[:, a]
            back = back + states[:, a][s.i] * self.V[a]
        for value, w in zip(rest[s.k :].tolist(), self.W, strict=True):
            back = back + value * w
        x = flow - back * self.inverse
        return np.concatenate([x, inner[: s.others]]), inner[s.others :]

    def _inner(self, states: Real, rest: Real) -> tuple[Real, Real]:
        from scipy.linalg import lu_solve

        held = np.einsum("iab,ib->ia", self.B_inverse, states)
        right = rest - np.einsum("iac,ia->c", self.R, held)
        found = self.scale * lu_solve(self.factors, self.scale * right, check_finite=False)
        return held - np.einsum("iab,ib->ia", self.B_inverse, np.einsum("iac,c->ia", self.R, found)), found

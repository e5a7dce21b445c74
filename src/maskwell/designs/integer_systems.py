"""Large linear systems of integers, solved by refinement: floats suggest corrections, residuals have no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real

_STEPS = 60
_DENSE = 1500  # unknowns of systems that are solved without looking for zeros
_EPSILON = 1e-11  # keeps the system of floats regular where equations depend on each other


class Coefficients:
    """Entries of a matrix with whole numbers, rows by unknowns."""

    def __init__(self, row: Array, unknown: Array, value: Array, unknowns: int) -> None:
        self.row, self.unknown, self.value, self.unknowns = row, unknown, value, unknowns

    def times(self, x: Array, rows: int) -> Array:
        """The product with a vector, of so many rows."""
        return summed(self.row, self.value * x[self.unknown], rows)

    def transposed(self, y: Array) -> Array:
        """The product of the transposed matrix with a vector."""
        return summed(self.unknown, self.value * y[self.row], self.unknowns)

    def floats(self, rows: int) -> Any:
        """The matrix of so many rows in floats, for SciPy."""
        from scipy.sparse import csr_array

        return csr_array((self.value.astype(np.float64), (self.row, self.unknown)), shape=(rows, self.unknowns))


class WeightedSystem:
    """``A W A' y + B p = b`` and ``B' y = 0`` for y and p in integers over a power of two."""

    def __init__(self, A: Coefficients, B: Coefficients, weights: Array, rows: int) -> None:
        self.A, self.B, self.weights, self.rows = A, B, weights, rows
        self.scale, self.solver = self._factored()

    def _factored(self) -> tuple[Real, Callable[[Real], Real]]:
        from scipy.sparse import bmat, csr_array, diags, identity

        A, B = self.A.floats(self.rows), self.B.floats(self.rows)
        S = csr_array(A @ diags(self.weights.astype(np.float64)) @ A.T)
        size = np.sqrt(S.diagonal())
        size = np.where(size > 0, 1 / np.where(size > 0, size, 1), 0)
        columns = np.sqrt(np.asarray((diags(size) @ B).power(2).sum(axis=0))).ravel()
        columns = 1 / np.where(columns > 0, columns, 1)
        rows = np.sqrt(np.asarray((B @ diags(columns)).power(2).sum(axis=1))).ravel()
        size = np.where(size > 0, size, 1 / np.where(rows > 0, rows, 1))
        scale = np.concatenate([size, columns])
        K = bmat([[S, B], [-B.T, None]]) if self.B.unknowns else S
        K = diags(scale) @ K @ diags(scale) + _EPSILON * identity(len(scale))
        return scale, _factors(K)

    def solve(self, right: Array, start: Array) -> tuple[Array, Array, Array] | None:
        """The unknowns y and p over the power of two that b is over, and what the equations are then off by."""
        z = np.concatenate([start, np.array([0] * self.B.unknowns, dtype=object)])
        best = None
        for _ in range(_STEPS):
            off = self._residual(z, right)
            size = largest_of(off[: self.rows])
            if best is not None and size >= best[0] // 4:
                break
            best = size, z, off
            shift = max(0, largest_of(off).bit_length() - 500)
            change = self.solver((off >> shift).astype(np.float64) * self.scale) * self.scale
            z = z + np.array([int(x) << shift for x in np.rint(change).tolist()], dtype=object)
        return None if best is None else (best[1][: self.rows], best[1][self.rows :], best[2][: self.rows])

    def _residual(self, z: Array, right: Array) -> Array:
        y, p = z[: self.rows], z[self.rows :]
        off = right - self.A.times(self.weights * self.A.transposed(y), self.rows) - self.B.times(p, self.rows)
        return np.concatenate([off, self.B.transposed(y)])


def _factors(K: Any) -> Callable[[Real], Real]:
    if K.shape[0] <= _DENSE:
        from scipy.linalg import lu_factor, lu_solve

        factors = lu_factor(K.toarray())
        return lambda right: np.asarray(lu_solve(factors, right))
    from scipy.sparse.linalg import splu

    solve: Callable[[Real], Real] = splu(K.tocsc(), "MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
    return solve


def summed(index: Array, values: Array, size: int) -> Array:
    """Integers summed by their index, shape (size,)."""
    total = np.array([0] * size, dtype=object)
    np.add.at(total, index, values)
    return total


def largest_of(values: Array) -> int:
    """The largest of the integers without their signs; 0 where there are none."""
    return max((abs(int(x)) for x in values), default=0)

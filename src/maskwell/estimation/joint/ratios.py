"""Ratios of two unbiased estimates: delta-method errors, and Fieller's interval where the lower one may be zero.

    r = a / b,     Var(r) = (Var a - 2 r Cov(a, b) + r^2 Var b) / b^2

Fieller's set holds every r for which a - r b may be zero: ``(a - r b)^2 <= z^2 Var(a - r b)``. It has no end where b is
not clearly different from zero.

Source: standard; [Adeshiyan2011, section 3.3] for the covariances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arrays import Array, Real

NO_ERROR = "a share of the table is most likely 0 or 1, or a variance is estimated below zero"
UNSTABLE = 2
"""A denominator within so many standard errors of zero makes a ratio unstable."""


@dataclass(frozen=True, eq=False)
class Ratios:
    """Estimates ``a / b`` cell by cell.

    Attributes
    ----------
    a, b
        Numerators and denominators, shapes that broadcast.
    var_a, cov_ab, var_b
        Their variances and covariances.

    >>> r = Ratios(*map(np.array, (0.2, 0.5, 1e-4, 5e-5, 1e-4)))
    >>> float(r.value), round(float(r.standard_error), 4)
    (0.4, 0.0174)
    """

    a: Real
    b: Real
    var_a: Real
    cov_ab: Real
    var_b: Real

    @property
    def value(self) -> Real:
        """Numerator over denominator, NaN where b is zero (which is then unstable)."""
        return _divided(self.a, self.b)

    @property
    def standard_error(self) -> Real:
        """By the delta method; NaN where the estimated variance is below zero or b is zero."""
        r = self.value
        variance = self.var_a - 2 * r * self.cov_ab + r**2 * self.var_b
        root = np.sqrt(variance, out=np.full(np.shape(r), np.nan), where=variance >= 0)
        return _divided(root, np.abs(self.b))

    @property
    def unstable(self) -> Array:
        """Where b is zero or less, or within two standard errors of zero."""
        near = (self.b <= 0) | (self.b <= UNSTABLE * np.sqrt(np.maximum(self.var_b, 0)))  # the error may be NaN
        return np.asarray(np.broadcast_to(near, np.shape(self.a)))

    def wald(self, z: float) -> Real:
        """``r - z SE`` and ``r + z SE``, shape (..., 2)."""
        half = z * self.standard_error
        return np.stack([self.value - half, self.value + half], axis=-1)

    def fieller(self, z: float) -> Real:
        """The smallest interval that holds Fieller's set, shape (..., 2); the whole line where it has no end."""
        A = self.b**2 - z**2 * self.var_b
        B = self.a * self.b - z**2 * self.cov_ab
        C = self.a**2 - z**2 * self.var_a
        bounded = np.broadcast_to(A > 0, np.shape(self.a))
        root = np.sqrt(np.maximum(B**2 - A * C, 0))
        ends = [
            np.divide(B - root, A, out=np.full(np.shape(self.a), -np.inf), where=bounded),
            np.divide(B + root, A, out=np.full(np.shape(self.a), np.inf), where=bounded),
        ]
        return np.stack(ends, axis=-1)


def _divided(a: Real, b: Real) -> Real:
    return np.asarray(np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b != 0))

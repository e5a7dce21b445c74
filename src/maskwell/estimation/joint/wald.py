"""Wald test of independence: whether the cells are what their margins make of them.

    h = Pi - pi_1 x pi_2 x ...,      W = h' (H V H')^-1 h

over the cells outside the last category of at least two variables, where H is the slope of h in all cells and V their
covariance. Valid for any devices, shared ones too, and for weighted tables. Source: standard.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.errors import ParameterError
from maskwell.estimation.joint.collapse import known_covariance_of
from maskwell.estimation.joint.observed import degrees_of_freedom, outer
from maskwell.estimation.joint.results import IndependenceTest
from maskwell.estimation.joint.tails import chi_square_tail, f_tail
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.result import Estimate

SINGULAR = 1e-12


def wald_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The test, by chi-square or, for a sample of few clusters, by F."""
    pi, V = estimate.pi_hat.reshape(layout.shape), known_covariance_of(estimate)
    chosen = free_cells(layout.shape)
    h = (pi - outer(_margins(pi))).ravel()[chosen]
    H = slopes(pi)[chosen]
    spread = H @ V @ H.T
    _check_regular(spread)
    statistic, df = float(h @ np.linalg.solve(spread, h)), degrees_of_freedom(layout.shape)
    freedom = getattr(estimate, "degrees_of_freedom", None)
    if freedom is None or not np.isfinite(freedom):
        return IndependenceTest(layout.names, "wald", statistic, df, chi_square_tail(statistic, df), estimate.n)
    return _by_f(layout, statistic, df, float(freedom), estimate.n)


def free_cells(shape: Sequence[int]) -> Array:
    """Cells that independence ties down: those outside the last category of at least two variables.

    >>> free_cells((2, 3)).tolist()
    [0, 1]
    """
    inside = [np.arange(size) < size - 1 for size in shape]
    many = sum(
        np.asarray(i, dtype=int).reshape([-1 if a == t else 1 for a in range(len(shape))]) for t, i in enumerate(inside)
    )
    return np.flatnonzero(np.asarray(many).ravel() >= 2)


def slopes(pi: Real) -> Real:
    """Slopes of ``Pi - prod of margins`` in every cell, shape (cells, cells)."""
    margins = _margins(pi)
    found = np.eye(pi.size)
    for t, size in enumerate(pi.shape):
        factors = [
            np.eye(size) if s == t else np.outer(margin, np.ones(len(margin))) for s, margin in enumerate(margins)
        ]
        found -= _kron(factors)
    return found


def _kron(factors: Sequence[Real]) -> Real:
    found = factors[0]
    for factor in factors[1:]:
        found = np.asarray(np.kron(found, factor), dtype=np.float64)
    return found


def _margins(pi: Real) -> list[Real]:
    return [pi.sum(axis=tuple(other for other in range(pi.ndim) if other != axis)) for axis in range(pi.ndim)]


def _check_regular(spread: Real) -> None:
    values = np.linalg.eigvalsh(spread)
    if values[0] <= SINGULAR * max(values[-1], 0):
        raise ParameterError(
            "the covariance of the table is singular: too few reports or clusters for a Wald test",
            hint="merge categories, or test on the reports with method='pearson'",
        )


def _by_f(layout: Layout, statistic: float, df: int, freedom: float, n: int) -> IndependenceTest:
    """``W (f - df + 1) / (f df)`` is about F with df and f - df + 1 degrees of freedom."""
    rest = freedom - df + 1
    if rest <= 0:
        raise ParameterError(
            f"a Wald test of {df} cells needs more than {df - 1} degrees of freedom; the sample has {freedom:g}",
            hint="merge categories, or use method='rao-scott'",
        )
    f = statistic * rest / (freedom * df)
    return IndependenceTest(layout.names, "wald", f, df, f_tail(f, df, rest), n, denominator=rest)

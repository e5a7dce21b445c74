"""Tests of independence on the table of reports, valid when every variable has a device of its own.

    X2 = sum (x - e)^2 / e,     G2 = 2 sum x ln(x / e),     e = n prod_t (share of the report of variable t)

with ``prod m_t - 1 - sum (m_t - 1)`` degrees of freedom, (m_1 - 1)(m_2 - 1) for two variables; reports that never occur
do not count. Source: derived (independence.py); the statistics are standard.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.errors import ParameterError
from maskwell.estimation.joint.results import IndependenceTest
from maskwell.estimation.joint.tails import chi_square_tail
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.result import Estimate

SMALL = 5
"""Expected counts below this make the chi-square distribution doubtful."""


def pearson_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """Pearson's chi-square of the reports."""
    x, flags = _counted(estimate, layout, "pearson")
    e = expected(x)
    return _result(layout, "pearson", float(((x - e) ** 2 / e).sum()), x, flags)


def observed_ratio_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The likelihood ratio of the reports."""
    x, flags = _counted(estimate, layout, "observed-likelihood-ratio")
    ratio = np.divide(x, expected(x), out=np.ones_like(x), where=x > 0)
    return _result(layout, "observed-likelihood-ratio", float(2 * (x * np.log(ratio)).sum()), x, flags)


def expected(x: Real) -> Real:
    """Counts that independence would give, from the margins.

    >>> expected(np.array([[60.0, 90.0, 50.0], [100.0, 150.0, 50.0]])).round(6).tolist()
    [[64.0, 96.0, 40.0], [96.0, 144.0, 60.0]]
    """
    n, axes = float(x.sum()), range(x.ndim)
    shares = [x.sum(axis=tuple(other for other in axes if other != axis)) / n for axis in axes]
    return np.asarray(n * outer(shares))


def outer(shares: Sequence[Real]) -> Real:
    """The table of independent variables with these shares."""
    return reduce(np.multiply.outer, shares)


def degrees_of_freedom(shape: Sequence[int]) -> int:
    """``prod s_t - 1 - sum (s_t - 1)``: free cells beyond the margins.

    >>> degrees_of_freedom((2, 3)), degrees_of_freedom((2, 2, 2))
    (2, 4)
    """
    return int(np.prod(shape)) - 1 - sum(size - 1 for size in shape)


def check_own_devices(layout: Layout, method: str) -> None:
    """Raise where two of the variables share a device."""
    if layout.shares_devices():
        raise ParameterError(
            f"{' and '.join(layout.names)} share a device: their reports depend on each other whatever the truth",
            hint=f"method={method!r} is not valid then; use method='wald', which knows the device",
        )


def counted(estimate: Estimate, layout: Layout, method: str) -> Array:
    """The table of reports, or an error where there is none."""
    if len(estimate.samples) != 1:
        raise ParameterError(
            f"method={method!r} needs plain counts of reports, which this estimate does not rest on",
            hint="use method='rao-scott' or 'wald' for weighted tables",
        )
    return estimate.samples[0].counts.values.reshape(layout.report_shape)


def _counted(estimate: Estimate, layout: Layout, method: str) -> tuple[Real, list[str]]:
    """Counts without the reports that never occurred, and what is to be said about them."""
    check_own_devices(layout, method)
    x, flags = counted(estimate, layout, method).astype(np.float64), []
    for axis in range(x.ndim):
        occurs = x.sum(axis=tuple(other for other in range(x.ndim) if other != axis)) > 0
        if not occurs.all():
            flags.append(f"reports of {layout.names[axis]} that never occurred are left out of the degrees of freedom")
            x = np.compress(occurs, x, axis=axis)
    if (expected(x) < SMALL).any():
        flags.append(f"some expected counts are below {SMALL}: for a small table, confirm with the bootstrap test")
    return x, flags


def _result(layout: Layout, method: str, statistic: float, x: Real, flags: list[str]) -> IndependenceTest:
    df = degrees_of_freedom(x.shape)
    if df == 0:
        flags = [*flags, "one variable has a single report only: there is nothing to test"]
    p = chi_square_tail(statistic, df) if df else 1.0
    return IndependenceTest(layout.names, method, statistic, df, p, int(x.sum()), flags=tuple(flags))

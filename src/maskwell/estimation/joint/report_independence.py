"""Tests of independence on the table of reports, valid when every variable has a device of its own.

    X2 = sum (x - e)^2 / e,     G2 = 2 sum x ln(x / e),     e = n prod_t (share of the report of variable t)

with ``prod m_t - 1 - sum (m_t - 1)`` degrees of freedom, (m_1 - 1)(m_2 - 1) for two variables; reports that never occur
do not count. Source: derived (independence.py); the statistics are standard.

On a weighted table of reports the chi-square is too large by generalised design effects (Rao and Scott), the
eigenvalues of

    (C' D^-1 C / n)^-1  C' D^-1 V D^-1 C

where D holds the shares of the reports, V their covariance under the sampling plan, and C all contrasts between cells
that the margins leave free. With their sum T and the sum of their squares S, ``X2 / T`` is about F with ``T^2 / S`` and
``f T^2 / S`` degrees of freedom (f: of the sampling plan), or ``X2 T / S`` about chi-square.

Source: the second-order correction of Rao and Scott, standard; on the reports it is valid because independent devices
keep independence (independence.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.display import number_or_none
from maskwell.core.phrases import Printed, p_equals
from maskwell.errors import ParameterError
from maskwell.estimation.joint.collapse import known_covariance_of
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.share_estimate import Estimate

SPOKEN = {
    "pearson": "Pearson chi-square of the reports",
    "observed-likelihood-ratio": "likelihood ratio of the reports",
    "likelihood-ratio": "likelihood ratio",
    "wald": "Wald",
    "rao-scott": "Rao-Scott",
    "bootstrap": "bootstrapped likelihood ratio",
}


@dataclass(frozen=True, repr=False)
class IndependenceTest:
    """A test that variables are independent of each other.

    Attributes
    ----------
    names
        The variables.
    method
        Which test it is.
    statistic, degrees_of_freedom, p_value
        What it found. ``degrees_of_freedom`` is NaN for a bootstrap, which needs none.
    n
        Number of reports.
    denominator
        Second degrees of freedom, for an F statistic.
    boundary
        Whether a most likely table has empty cells, so that the chi-square distribution does not hold.
    flags
        What a reader should know, in words.
    """

    names: tuple[str, ...]
    method: str
    statistic: float
    degrees_of_freedom: float
    p_value: float
    n: int
    denominator: float | None = None
    boundary: bool = False
    flags: tuple[str, ...] = ()

    def with_flag(self, flag: str) -> IndependenceTest:
        """The same with one more remark."""
        return replace(self, flags=(*self.flags, flag))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        values: dict[str, Any] = {
            "variables": list(self.names),
            "method": self.method,
            "statistic": self.statistic,
            "degrees_of_freedom": number_or_none(self.degrees_of_freedom),
            "p_value": self.p_value,
            "n": self.n,
            "flags": list(self.flags),
        }
        return values if self.denominator is None else {**values, "denominator_degrees_of_freedom": self.denominator}

    def sentence(self) -> str:
        """The test in one line."""
        return f"Independence of {' and '.join(self.names)}: {p_equals(self.p_value)} ({self._statistic()})"

    def _statistic(self) -> str:
        said = f"{self._spoken()} {Printed(self.statistic):.4g}"
        if math.isnan(self.degrees_of_freedom):
            return said
        rest = "" if self.denominator is None else f" and {Printed(self.denominator):.6g}"
        unit = "degree" if self.degrees_of_freedom == 1 and not rest else "degrees"
        return f"{said}, {Printed(self.degrees_of_freedom):.6g}{rest} {unit} of freedom"

    def _spoken(self) -> str:
        return SPOKEN[self.method] + ("" if self.denominator is None else " F")

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"  note: {flag}" for flag in self.flags)])


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
    from scipy import special

    p = float(special.chdtrc(df, statistic)) if df else 1.0
    return IndependenceTest(layout.names, method, statistic, df, p, int(x.sum()), flags=tuple(flags))


ABSENT = 1e-12
"""Shares of reports at or below this are zero but for rounding."""


def rao_scott_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The test from an estimate with its covariance; the reports come back as ``P pi_hat``."""
    check_own_devices(layout, "rao-scott")
    if not gives_back_reports(estimate, layout):
        raise ParameterError(
            "the shares of the reports cannot be told from the estimate: more reports than categories, or several "
            "designs for one variable",
            hint="use method='wald'",
        )
    design = layout.design
    lam = design.forward(estimate.pi_hat)
    V = design.forward(design.forward(known_covariance_of(estimate)).T)
    freedom = getattr(estimate, "degrees_of_freedom", None)
    return corrected(layout.names, lam.reshape(layout.report_shape), V, estimate.n, freedom)


def gives_back_reports(estimate: Estimate, layout: Layout) -> bool:
    """Whether all rows used one design, with as many reports as categories."""
    return layout.shape == layout.report_shape and estimate.fingerprint == layout.design.fingerprint


def corrected(names: tuple[str, ...], lam: Real, V: Real, n: int, freedom: float | None) -> IndependenceTest:
    """Pearson's statistic of weighted shares with the second-order correction."""
    from scipy import special

    if (lam <= ABSENT).any():
        raise ParameterError(
            "a combination of reports never occurs: the correction needs every cell of the table",
            hint="merge categories, or use method='wald'",
        )
    e = expected(lam)
    statistic = float(n * ((lam - e) ** 2 / e).sum())
    effects = design_effects(lam, V, n)
    total, squares = float(effects.sum()), float((effects**2).sum())
    df = total**2 / squares
    if freedom is None or not np.isfinite(freedom):
        scaled = statistic * total / squares
        return IndependenceTest(names, "rao-scott", scaled, df, float(special.chdtrc(df, scaled)), n)
    f, rest = statistic / total, df * freedom
    return IndependenceTest(names, "rao-scott", f, df, float(special.fdtrc(df, rest, f)), n, denominator=rest)


def design_effects(lam: Real, V: Real, n: int) -> Real:
    """Generalised design effects: all one for a plain random sample.

    >>> lam = np.array([[0.1, 0.2], [0.3, 0.4]])
    >>> plain = (np.diag(lam.ravel()) - np.outer(lam, lam)) / 500
    >>> design_effects(lam, 2 * plain, 500).round(6).tolist()
    [2.0]
    """
    C = interactions(lam.shape)
    D = lam.ravel()
    plain = C.T @ (C / D[:, None]) / n
    actual = (C / D[:, None]).T @ V @ (C / D[:, None])
    return np.linalg.eigvals(np.linalg.solve(plain, actual)).real


def interactions(shape: Sequence[int]) -> Real:
    """Contrasts between cells that are orthogonal to every margin, shape (cells, degrees of freedom)."""
    size = int(np.prod(shape))
    codes = np.unravel_index(np.arange(size), tuple(shape))
    margins = np.column_stack([np.eye(s)[code] for s, code in zip(shape, codes, strict=True)])
    u, values, _ = np.linalg.svd(margins, full_matrices=True)
    return u[:, int((values > 1e-9).sum()) :]

"""Tests that variables are independent of each other: of the *reports* where devices are independent (derived).

    X2 = sum (x - e)^2 / e,     G2 = 2 sum x ln(x / e),     e = n prod_t (share of the report of variable t)
with ``prod m_t - 1 - sum (m_t - 1)`` degrees of freedom. Weighted reports need the second-order correction of Rao and
Scott by the eigenvalues of ``(C' D^-1 C / n)^-1  C' D^-1 V D^-1 C``, with the shares D, their covariance V and all
contrasts C that the margins leave free: with their sum T and sum of squares S, ``X2 / T`` is about F with ``T^2 / S``
and ``f T^2 / S`` degrees of freedom (f: of the plan), or ``X2 T / S`` about chi-square. Of the true table
``G2 = 2 (l(Pi_hat) - l(pi_1_hat x pi_2_hat x ...))``, with a bootstrap at the bounds. By Wald, for any devices,
    h = Pi - pi_1 x pi_2 x ...,      W = h' (H V H')^-1 h,      H the slope of h in all cells, V their covariance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.display import Result, entries, number_or_none
from maskwell.core.phrases import Printed, p_equals
from maskwell.core.verdicts import at_least, below
from maskwell.errors import ParameterError
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.share_estimate import Estimate
from maskwell.estimation.summed_shares import known_covariance_of
from maskwell.notes import Note

SPOKEN = {
    "pearson": "Pearson chi-square of the reports",
    "observed-likelihood-ratio": "likelihood ratio of the reports",
    "likelihood-ratio": "likelihood ratio",
    "wald": "Wald",
    "rao-scott": "Rao-Scott",
    "bootstrap": "bootstrapped likelihood ratio",
}
SMALL = 5  # expected counts below this make the chi-square distribution doubtful
ABSENT = 1e-12  # shares of reports at or below this are zero but for rounding
SINGULAR = 1e-12
FEWEST = 99  # replicates of a bootstrap


@dataclass(frozen=True, repr=False)
class IndependenceTest(Result):
    """A test that variables are independent of each other."""

    names: tuple[str, ...]  # The variables
    method: str  # Which test it is
    # What it found. `degrees_of_freedom` is NaN for a bootstrap, which needs none
    statistic: float
    degrees_of_freedom: float
    p_value: float
    n: int  # Number of reports
    denominator: float | None = None  # Second degrees of freedom, for an F statistic
    # Whether a most likely table has empty cells, so that the chi-square distribution does not hold
    boundary: bool = False
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    @classmethod
    def by_chi_square(
        cls, names: tuple[str, ...], method: str, statistic: float, df: float, n: int, **more: Any
    ) -> IndependenceTest:
        """With the p value of the chi-square distribution; 1 where there is nothing to test."""
        from scipy.special import chdtrc

        p = float(chdtrc(df, statistic)) if df else 1.0
        return cls(names, method, statistic, df, p, n, **more)

    @classmethod
    def by_f(
        cls, names: tuple[str, ...], method: str, statistic: float, df: float, denominator: float, n: int
    ) -> IndependenceTest:
        """With the p value of the F distribution."""
        from scipy.special import fdtrc

        p = float(fdtrc(df, denominator, statistic))
        return cls(names, method, statistic, df, p, n, denominator=denominator)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        values: dict[str, Any] = {
            "variables": list(self.names),
            **entries(self, "method statistic"),
            "degrees_of_freedom": number_or_none(self.degrees_of_freedom),
            **entries(self, "p_value n flags"),
        }
        return values if self.denominator is None else {**values, "denominator_degrees_of_freedom": self.denominator}

    def sentence(self) -> str:
        """The test in one line."""
        by_f = self.denominator is not None
        said = f"{SPOKEN[self.method]}{' F' * by_f} {Printed(self.statistic):.4g}"
        if not math.isnan(self.degrees_of_freedom):
            rest = "" if self.denominator is None else f" and {Printed(self.denominator):.6g}"
            unit = "degree" if self.degrees_of_freedom == 1 and not by_f else "degrees"
            said += f", {Printed(self.degrees_of_freedom):.6g}{rest} {unit} of freedom"
        return f"Independence of {' and '.join(self.names)}: {p_equals(self.p_value)} ({said})"

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"  note: {flag}" for flag in self.flags)])


def margins_of(x: Real) -> list[Real]:
    """The sums of a table along all axes but one, for each."""
    return [x.sum(axis=tuple(other for other in range(x.ndim) if other != axis)) for axis in range(x.ndim)]


def outer(shares: Sequence[Real]) -> Real:
    """The table of independent variables with these shares."""
    return reduce(np.multiply.outer, shares)


def expected(x: Real) -> Real:
    """Counts that independence would give, from the margins."""
    n = float(x.sum())
    return np.asarray(n * outer([margin / n for margin in margins_of(x)]))


def degrees_of_freedom(shape: Sequence[int]) -> int:
    """``prod s_t - 1 - sum (s_t - 1)``: free cells beyond the margins."""
    return int(np.prod(shape)) - 1 - sum(size - 1 for size in shape)


def reports_test(estimate: Estimate, layout: Layout, method: str = "pearson") -> IndependenceTest:
    """Pearson's chi-square of the reports that occur, or their likelihood ratio."""
    x, flags = counted(estimate, layout, method).astype(np.float64), list[str]()
    for axis, margin in enumerate(margins_of(x)):
        if not margin.all():
            flags.append(Note("reports-of-that-never-occurred", name=layout.names[axis]))
            x = np.compress(margin > 0, x, axis=axis)
    e, df = expected(x), degrees_of_freedom(x.shape)
    if below(e, SMALL).any():
        flags.append(Note("some-expected-counts-are-below", small=SMALL))
    if df == 0:
        flags.append(Note("one-variable-has-a-single-report"))
    if method == "pearson":
        statistic = float(((x - e) ** 2 / e).sum())
    else:
        statistic = float(2 * (x * np.log(np.divide(x, e, out=np.ones_like(x), where=x > 0))).sum())
    return IndependenceTest.by_chi_square(layout.names, method, statistic, df, int(x.sum()), flags=tuple(flags))


def counted(estimate: Estimate, layout: Layout, method: str) -> Array:
    """The table of reports of variables with devices of their own, or an error where there is none."""
    _check_own_devices(layout, method)
    if len(estimate.samples) != 1:
        raise ParameterError("method-needs-plain-counts-of-reports", method=method)
    return estimate.samples[0].counts.values.reshape(layout.report_shape)


def _check_own_devices(layout: Layout, method: str) -> None:
    if layout.shares_devices():
        raise ParameterError("share-a-device-their-reports-depend", names=" and ".join(layout.names), method=method)


def rao_scott_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The test from an estimate with its covariance; the reports come back as ``P pi_hat``."""
    _check_own_devices(layout, "rao-scott")
    if not gives_back_reports(estimate, layout):
        raise ParameterError("the-shares-of-the-reports-cannot")
    design = layout.design
    lam = design.forward(estimate.pi_hat)
    V = design.forward(design.forward(known_covariance_of(estimate)).T)
    return corrected(layout.names, lam.reshape(layout.report_shape), V, estimate.n, estimate.degrees_of_freedom)


def gives_back_reports(estimate: Estimate, layout: Layout) -> bool:
    """Whether all rows used one design, with as many reports as categories."""
    return layout.shape == layout.report_shape and estimate.fingerprint == layout.design.fingerprint


def corrected(names: tuple[str, ...], lam: Real, V: Real, n: int, freedom: float | None) -> IndependenceTest:
    """Pearson's statistic of weighted shares with the second-order correction."""
    if (lam <= ABSENT).any():
        raise ParameterError("a-combination-of-reports-never-occurs")
    e = expected(lam)
    statistic = float(n * ((lam - e) ** 2 / e).sum())
    effects = design_effects(lam, V, n)
    total, squares = float(effects.sum()), float((effects**2).sum())
    df = total**2 / squares
    if freedom is None or not np.isfinite(freedom):
        return IndependenceTest.by_chi_square(names, "rao-scott", statistic * total / squares, df, n)
    return IndependenceTest.by_f(names, "rao-scott", statistic / total, df, df * freedom, n)


def design_effects(lam: Real, V: Real, n: int) -> Real:
    """Generalised design effects: all one for a plain random sample."""
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


def likelihood_ratio_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """By chi-square; flagged where a share is at its bound."""
    x = counted(estimate, layout, "likelihood-ratio")
    statistic, _, boundary = _fit(layout, x)
    flags = (Note("a-most-likely-table-has-empty"),) if boundary else ()
    named, df = (layout.names, "likelihood-ratio"), degrees_of_freedom(layout.shape)
    return IndependenceTest.by_chi_square(*named, statistic, df, int(x.sum()), boundary=boundary, flags=flags)


def bootstrap_test(estimate: Estimate, layout: Layout, seed: int | None, replicates: int) -> IndependenceTest:
    """Tables drawn under independence from ``seed``; p is the share of them that are at least as far from it."""
    _check_own_devices(layout, "bootstrap")
    if seed is None:
        raise ParameterError("a-bootstrap-without-a-seed-could")
    if seed < 0:
        raise ParameterError("seed-seed", seed=seed)
    if replicates < FEWEST:
        raise ParameterError("replicates-too-few-for-a-p", replicates=replicates, fewest=FEWEST)
    x = counted(estimate, layout, "bootstrap")
    n = int(x.sum())
    statistic, margins, boundary = _fit(layout, x)
    lam = outer([device.forward(pi) for device, pi in zip(layout.devices, margins, strict=True)])
    draws = np.random.default_rng(seed).multinomial(n, lam.ravel() / lam.sum(), size=replicates)
    as_far = sum(at_least(_fit(layout, draw.reshape(x.shape))[0], statistic) for draw in draws)
    p = (1 + as_far) / (replicates + 1)
    return IndependenceTest(layout.names, "bootstrap", statistic, math.nan, p, n, boundary=boundary)


def _fit(layout: Layout, x: Array) -> tuple[float, list[Real], bool]:
    """The likelihood ratio, the margins under independence, and whether a share is at its bound."""
    joint = maximise([layout.design], [x.ravel()])
    alone = [maximise([device], [margin]) for device, margin in zip(layout.devices, margins_of(x), strict=True)]
    statistic = 2 * (joint.log_likelihood - sum(one.log_likelihood for one in alone))
    boundary = any(bool(one.at_boundary.any()) for one in (joint, *alone))
    return max(0.0, statistic), [one.pi for one in alone], boundary


def wald_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The test, by chi-square or, for a sample of few clusters, by F."""
    pi, V = estimate.pi_hat.reshape(layout.shape), known_covariance_of(estimate)
    codes, last = np.indices(layout.shape), np.reshape(np.array(layout.shape) - 1, (-1, *(1 for _ in layout.shape)))
    chosen = np.flatnonzero((codes < last).sum(axis=0).ravel() >= 2)  # outside the last category of two variables
    h = (pi - outer(margins_of(pi))).ravel()[chosen]
    H = slopes(pi)[chosen]
    spread = H @ V @ H.T
    values = np.linalg.eigvalsh(spread)
    if values[0] <= SINGULAR * max(values[-1], 0):
        raise ParameterError("the-covariance-of-the-table")
    statistic, df = float(h @ np.linalg.solve(spread, h)), degrees_of_freedom(layout.shape)
    freedom = estimate.degrees_of_freedom
    if freedom is None or not np.isfinite(freedom):
        return IndependenceTest.by_chi_square(layout.names, "wald", statistic, df, estimate.n)
    rest = float(freedom) - df + 1  # W (f - df + 1) / (f df) is about F with df and f - df + 1 degrees of freedom
    if rest <= 0:
        raise ParameterError("a-wald-test-of-cells-needs", df=df, df_sub=df - 1, freedom=freedom)
    return IndependenceTest.by_f(layout.names, "wald", statistic * rest / (float(freedom) * df), df, rest, estimate.n)


def slopes(pi: Real) -> Real:
    """Slopes of ``Pi - prod of margins`` in every cell, shape (cells, cells)."""
    margins = margins_of(pi)
    jacobian = np.eye(pi.size)
    for t, size in enumerate(pi.shape):
        rows = [np.eye(size) if s == t else np.outer(margin, np.ones(len(margin))) for s, margin in enumerate(margins)]
        jacobian -= reduce(lambda a, b: np.asarray(np.kron(a, b), dtype=np.float64), rows)
    return jacobian


TESTS: dict[str, Callable[[Estimate, Layout], IndependenceTest]] = {
    "pearson": reports_test,
    "observed-likelihood-ratio": partial(reports_test, method="observed-likelihood-ratio"),
    "likelihood-ratio": likelihood_ratio_test,
    "wald": wald_test,
    "rao-scott": rao_scott_test,
}
METHODS = (*TESTS, "bootstrap")


def independence_of(
    estimate: Estimate, layout: Layout, method: str | None, seed: int | None, replicates: int
) -> IndependenceTest:
    """The test of that name, or the one that fits."""
    if len(layout.variables) < 2:
        raise ParameterError("independence-of-one-variable", name=layout.names[0])
    if method is not None and method not in METHODS:
        raise ParameterError("no-test-of-independence-is-called", method=method, methods=", ".join(METHODS))
    if method == "bootstrap":
        return bootstrap_test(estimate, layout, seed, replicates)
    return TESTS[method](estimate, layout) if method is not None else _fitting(estimate, layout)


def _fitting(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """Pearson on the reports; the likelihood ratio where there are more reports than categories; else by covariance."""
    if len(estimate.samples) != 1:
        known = not layout.shares_devices() and gives_back_reports(estimate, layout)
        return (rao_scott_test if known else wald_test)(estimate, layout)
    if layout.shares_devices() or layout.shape == layout.report_shape:
        return reports_test(estimate, layout)
    test = likelihood_ratio_test(estimate, layout)
    if not test.boundary:
        return test
    by_reports = reports_test(estimate, layout)
    sharper = "the most likely table has empty cells, so that the sharper likelihood-ratio test needs the bootstrap"
    return replace(by_reports, flags=(*by_reports.flags, sharper))

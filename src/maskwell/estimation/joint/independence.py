"""Tests that variables are independent of each other.

With independent devices the reports are independent exactly when the truths are: ``Lam = P_1 Pi P_2'``, so
``Lam = lam_1 lam_2'`` if and only if ``Pi = pi_1 pi_2'`` (for designs of full column rank). The ordinary test on the
table of *reports* is therefore valid (report_independence.py); randomization only costs power. A chi-square of the
*recovered* table, as if it held counts, would be wrong and is not offered. With a shared device the reports depend on
each other whatever the truth, and only tests that know the device are valid. Source: derived.

By the likelihood of the true table:

    G2 = 2 (l(Pi_hat) - l(pi_1_hat x pi_2_hat x ...))

both maximised over what is possible, which is sharper than the table of reports where a design has more reports than
categories. Its distribution is chi-square with ``prod k_t - 1 - sum (k_t - 1)`` degrees of freedom while no share is
at its bound; else tables are drawn under independence and judged the same way (parametric bootstrap). Source: standard.

By Wald, whether the cells are what their margins make of them:

    h = Pi - pi_1 x pi_2 x ...,      W = h' (H V H')^-1 h

over the cells outside the last category of at least two variables, where H is the slope of h in all cells and V their
covariance. Valid for any devices, shared ones too, and for weighted tables. Source: standard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError
from maskwell.estimation.joint.collapse import known_covariance_of
from maskwell.estimation.joint.report_independence import (
    IndependenceTest,
    check_own_devices,
    counted,
    degrees_of_freedom,
    gives_back_reports,
    observed_ratio_test,
    outer,
    pearson_test,
    rao_scott_test,
)
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.maximum_likelihood import maximise
from maskwell.estimation.share_estimate import Estimate

FEWEST = 99
BOUNDARY = (
    "a most likely table has empty cells, where the chi-square distribution does not hold: "
    "confirm with the bootstrap test"
)


@dataclass(frozen=True)
class _Fit:
    """The likelihood ratio, the margins under independence, and whether a share is at its bound."""

    statistic: float
    margins: tuple[Real, ...]
    boundary: bool


def likelihood_ratio_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """By chi-square; flagged where a share is at its bound."""
    from scipy import special

    check_own_devices(layout, "likelihood-ratio")
    x = counted(estimate, layout, "likelihood-ratio")
    fit = _fit(layout.devices, layout.design, x)
    df = degrees_of_freedom(layout.shape)
    return IndependenceTest(
        layout.names,
        "likelihood-ratio",
        fit.statistic,
        df,
        float(special.chdtrc(df, fit.statistic)),
        int(x.sum()),
        boundary=fit.boundary,
        flags=(BOUNDARY,) if fit.boundary else (),
    )


def bootstrap_test(estimate: Estimate, layout: Layout, seed: int | None, replicates: int) -> IndependenceTest:
    """Tables drawn under independence from ``seed``; p is the share of them that are at least as far from it."""
    check_own_devices(layout, "bootstrap")
    _check_draws(seed, replicates)
    x = counted(estimate, layout, "bootstrap")
    n, design = int(x.sum()), layout.design
    fit = _fit(layout.devices, design, x)
    lam = outer([d.forward(pi) for d, pi in zip(layout.devices, fit.margins, strict=True)])
    draws = np.random.default_rng(seed).multinomial(n, lam.ravel() / lam.sum(), size=replicates)
    statistics = [_fit(layout.devices, design, draw.reshape(x.shape)).statistic for draw in draws]
    as_far = sum(one >= fit.statistic * (1 - 1e-9) for one in statistics)
    p = (1 + as_far) / (replicates + 1)
    return IndependenceTest(layout.names, "bootstrap", fit.statistic, math.nan, p, n, boundary=fit.boundary)


def _fit(devices: tuple[CodedDesign, ...], design: CodedDesign, x: Array) -> _Fit:
    joint = maximise([design], [x.ravel()])
    axes = range(x.ndim)
    alone = [
        maximise([d], [x.sum(axis=tuple(other for other in axes if other != axis))]) for axis, d in enumerate(devices)
    ]
    statistic = 2 * (joint.log_likelihood - sum(one.log_likelihood for one in alone))
    boundary = bool(joint.at_boundary.any() or any(one.at_boundary.any() for one in alone))
    return _Fit(max(0.0, statistic), tuple(one.pi for one in alone), boundary)


def _check_draws(seed: int | None, replicates: int) -> None:
    if seed is None:
        raise ParameterError("a bootstrap without a seed could not be repeated", hint="give seed=1, or another number")
    if seed < 0:
        raise ParameterError(f"seed = {seed}", hint="give a whole number of 0 or more", seed=seed)
    if replicates < FEWEST:
        raise ParameterError(
            f"replicates = {replicates}: too few for a p-value", hint=f"give {FEWEST} or more; 999 is usual"
        )


SINGULAR = 1e-12


def wald_test(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """The test, by chi-square or, for a sample of few clusters, by F."""
    from scipy import special

    pi, V = estimate.pi_hat.reshape(layout.shape), known_covariance_of(estimate)
    chosen = free_cells(layout.shape)
    h = (pi - outer(_margins(pi))).ravel()[chosen]
    H = slopes(pi)[chosen]
    spread = H @ V @ H.T
    _check_regular(spread)
    statistic, df = float(h @ np.linalg.solve(spread, h)), degrees_of_freedom(layout.shape)
    freedom = getattr(estimate, "degrees_of_freedom", None)
    if freedom is None or not np.isfinite(freedom):
        return IndependenceTest(layout.names, "wald", statistic, df, float(special.chdtrc(df, statistic)), estimate.n)
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
    jacobian = np.eye(pi.size)
    for t, size in enumerate(pi.shape):
        factors = [
            np.eye(size) if s == t else np.outer(margin, np.ones(len(margin))) for s, margin in enumerate(margins)
        ]
        jacobian -= _kron(factors)
    return jacobian


def _kron(factors: Sequence[Real]) -> Real:
    product = factors[0]
    for factor in factors[1:]:
        product = np.asarray(np.kron(product, factor), dtype=np.float64)
    return product


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
    from scipy import special

    rest = freedom - df + 1
    if rest <= 0:
        raise ParameterError(
            f"a Wald test of {df} cells needs more than {df - 1} degrees of freedom; the sample has {freedom:g}",
            hint="merge categories, or use method='rao-scott'",
        )
    f = statistic * rest / (freedom * df)
    return IndependenceTest(layout.names, "wald", f, df, float(special.fdtrc(df, rest, f)), n, denominator=rest)


Test = Callable[[Estimate, Layout], IndependenceTest]

TESTS: dict[str, Test] = {
    "pearson": pearson_test,
    "observed-likelihood-ratio": observed_ratio_test,
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
        raise ParameterError(
            f"independence of one variable, {layout.names[0]}", hint="name two variables or more of a table"
        )
    if method is not None and method not in METHODS:
        raise ParameterError(
            f"no test of independence is called {method!r}", hint=f"choose one of {', '.join(METHODS)}"
        )
    if method == "bootstrap":
        return bootstrap_test(estimate, layout, seed, replicates)
    return TESTS[method](estimate, layout) if method is not None else _fitting(estimate, layout)


def _fitting(estimate: Estimate, layout: Layout) -> IndependenceTest:
    """Pearson on the reports; the likelihood ratio where there are more reports than categories; else by covariance."""
    if len(estimate.samples) != 1:
        return (rao_scott_test if _reports_are_known(estimate, layout) else wald_test)(estimate, layout)
    if layout.shares_devices() or layout.shape == layout.report_shape:
        return pearson_test(estimate, layout)
    test = likelihood_ratio_test(estimate, layout)
    if not test.boundary:
        return test
    return pearson_test(estimate, layout).with_flag(
        "the most likely table has empty cells, so that the sharper likelihood-ratio test needs the bootstrap"
    )


def _reports_are_known(estimate: Estimate, layout: Layout) -> bool:
    """Whether ``P pi_hat`` gives back the shares of the reports, for devices that are not shared."""
    return not layout.shares_devices() and gives_back_reports(estimate, layout)

"""Tests that variables are independent of each other.

With independent devices the reports are independent exactly when the truths are: ``Lam = P_1 Pi P_2'``, so
``Lam = lam_1 lam_2'`` if and only if ``Pi = pi_1 pi_2'`` (for designs of full column rank). The ordinary test on the
table of *reports* is therefore valid; randomization only costs power. A chi-square of the *recovered* table, as if it
held counts, would be wrong and is not offered. With a shared device the reports depend on each other whatever the
truth, and only tests that know the device are valid.

Source: derived.
"""

from __future__ import annotations

from collections.abc import Callable

from maskwell.errors import ParameterError
from maskwell.estimation.joint.fitted import bootstrap_test, likelihood_ratio_test
from maskwell.estimation.joint.observed import observed_ratio_test, pearson_test
from maskwell.estimation.joint.rao_scott import gives_back_reports, rao_scott_test
from maskwell.estimation.joint.results import IndependenceTest
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.joint.wald import wald_test
from maskwell.estimation.result import Estimate

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
    found = likelihood_ratio_test(estimate, layout)
    if not found.boundary:
        return found
    return pearson_test(estimate, layout).with_flag(
        "the most likely table has empty cells, so that the sharper likelihood-ratio test needs the bootstrap"
    )


def _reports_are_known(estimate: Estimate, layout: Layout) -> bool:
    """Whether ``P pi_hat`` gives back the shares of the reports, for devices that are not shared."""
    return not layout.shares_devices() and gives_back_reports(estimate, layout)

"""Tests of independence: against scipy, finite differences and known answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import maskwell as mw
from maskwell.errors import ParameterError
from maskwell.estimation.joint import independence

WARNER = mw.design("warner", p="4/5")
FORCED = mw.design("forced", truth="3/4", yes="1/6", no="1/12")
THREE = mw.designs.Uniform.from_gamma(6, mw.Categories.of(["a", "b", "c"]))
KUK = mw.design("kuk", theta1="7/10", theta2="1/5", draws=3)
X = np.array([[60, 90, 50], [100, 150, 50]])


def _table(x=X, designs=(WARNER, THREE)):
    return mw.estimation.cross_tabulate_counts(x, {f"x{i}": d for i, d in enumerate(designs)})


def test_on_the_reports():
    """And the likelihood of a square table inside the simplex is that of its reports."""
    three = np.random.default_rng(1).integers(20, 60, size=(2, 3, 2))
    cube = _table(three, (WARNER, THREE, FORCED))
    cases = [
        (_table().independence(method="pearson"), X, 1),
        (_table().independence(method="observed-likelihood-ratio"), X, 0),
        (_table().independence(method="likelihood-ratio"), X, 0),
        (cube.independence(), three, 1),
        (cube.independence("x0", "x2"), three.sum(axis=1), 1),
    ]
    for found, x, power in cases:
        expected = stats.chi2_contingency(x, correction=False, lambda_=power)
        assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-6)
        assert (found.degrees_of_freedom, found.n, found.boundary) == (expected.dof, x.sum(), False)


def test_more_reports_than_categories_take_the_likelihood_ratio():
    """Kuk with three draws has four reports for two categories: one degree of freedom instead of three."""
    x = np.array([[70, 40], [60, 80], [50, 110], [20, 70]])
    found = _table(x, (KUK, WARNER)).independence()
    assert found.method == "likelihood-ratio" and found.degrees_of_freedom == 1
    wasteful = _table(x, (KUK, WARNER)).independence(method="pearson")
    assert wasteful.degrees_of_freedom == 3 and found.p_value < wasteful.p_value
    x = np.array([[70, 4], [60, 3], [50, 110], [20, 270]])
    found = _table(x, (KUK, WARNER)).independence(method="likelihood-ratio")
    assert found.boundary and "bootstrap" in found.flags[0]
    default = _table(x, (KUK, WARNER)).independence()  # a table at its bound is flagged
    assert default.method == "pearson" and "bootstrap" in default.flags[-1]


def test_the_bootstrap_can_be_repeated_and_agrees():
    table = _table()
    first, again = (table.independence(method="bootstrap", seed=7, replicates=199) for _ in range(2))
    assert first == again
    assert first.p_value == pytest.approx(table.independence(method="likelihood-ratio").p_value, abs=0.08)
    assert first.to_dict()["degrees_of_freedom"] is None


def test_wald_is_near_the_others_and_zero_at_independence():
    table = _table()
    found = table.independence(method="wald")
    assert found.statistic == pytest.approx(table.independence().statistic, rel=0.15)
    even = _table(np.outer([30, 60], [10, 20, 30]))
    assert even.independence(method="wald").statistic == pytest.approx(0, abs=1e-12)
    assert even.independence().p_value == pytest.approx(1)


def test_weighted_tables_take_rao_scott():
    """With the covariance of a plain random sample the design effects are one and the correction does nothing."""
    table = _table()
    lam, n = X / X.sum(), 500
    V = (np.diag(lam.ravel()) - np.outer(lam, lam)) / n
    assert np.allclose(independence.design_effects(lam, V, n), 1)
    plain = independence.corrected(("a", "b"), lam, V, n, None)
    assert plain.statistic == pytest.approx(table.independence().statistic)
    assert plain.p_value == pytest.approx(table.independence().p_value)
    twice = independence.corrected(("a", "b"), lam, 2 * V, n, None)
    assert twice.statistic == pytest.approx(plain.statistic / 2)
    few = independence.corrected(("a", "b"), lam, V, n, 12.0)
    assert few.p_value == pytest.approx(stats.f.sf(plain.statistic / 2, 2, 24))
    assert repr(few).endswith("(Rao-Scott F 2.604, 2 and 24 degrees of freedom)")


def test_rao_scott_from_an_estimate():
    """The reports come back from the estimate: the same test as on the reports, up to n - 1 for n."""
    table = _table()
    weighted = mw.estimation.Table(replace(table.estimate, basis=()), table.layout)
    found = weighted.independence()
    assert found.method == "rao-scott"
    assert found.statistic == pytest.approx(table.independence().statistic * 499 / 500)
    with pytest.raises(ParameterError, match="needs plain counts"):
        weighted.independence(method="pearson")
    kuk = _table(np.full((4, 2), 50), (KUK, WARNER))
    with pytest.raises(ParameterError, match="more reports than categories"):
        mw.estimation.Table(replace(kuk.estimate, basis=()), kuk.layout).independence(method="rao-scott")


def test_uneven_design_effects():
    """Satterthwaite: with effects 1 and 3 the degrees of freedom are (1 + 3)^2 / (1 + 9)."""
    lam, n = np.full((2, 3), 1 / 6), 600
    C = independence.interactions((2, 3))
    V = C @ np.diag([1.0, 3.0]) @ C.T / 6 / n
    assert sorted(independence.design_effects(lam, V, n).round(9)) == [1.0, 3.0]
    assert independence.corrected(("a", "b"), lam, V, n, None).degrees_of_freedom == pytest.approx(1.6)


def test_shared_devices_are_refused():
    """One card for both questions makes the reports agree more often than chance, whatever the truth."""
    labels = mw.Categories.of([(a, b) for a in ("yes", "no") for b in ("yes", "no")])
    rows = [[".7", 0, 0, ".3"], [0, ".7", ".3", 0], [0, ".3", ".7", 0], [".3", 0, 0, ".7"]]
    shared = mw.designs.Dense.of(rows, labels)
    pi = np.outer([0.2, 0.8], [0.3, 0.7])
    x = np.rint(10000 * (shared.matrix() @ pi.ravel())).astype(int).reshape(2, 2)
    table = mw.estimation.cross_tabulate_counts(x, {("smokes", "drinks"): shared})
    for method in (None, "pearson", "observed-likelihood-ratio", "likelihood-ratio", "rao-scott"):
        with pytest.raises(ParameterError, match="share a device"):
            table.independence(method=method)
    with pytest.raises(ParameterError, match="share a device"):
        table.independence(method="bootstrap", seed=1)
    assert table.independence(method="wald").p_value > 0.9
    assert stats.chi2_contingency(x, correction=False).pvalue < 1e-6


def test_reports_that_never_occur_and_small_counts():
    found = _table(np.array([[3, 0, 9], [4, 0, 8]])).independence()
    assert found.degrees_of_freedom == 1
    assert "never occurred" in found.flags[0] and "below 5" in found.flags[1]
    alone = _table(np.array([[0, 0, 0], [40, 30, 8]])).independence()
    assert alone.p_value == 1 and "nothing to test" in alone.flags[-1]


@pytest.mark.parametrize("method", ["wald", "rao-scott"])
def test_tests_by_covariance_are_refused_where_there_is_none(method):
    table = mw.estimation.cross_tabulate_counts([[0, 0], [13, 37]], {"a": WARNER, "b": WARNER}, method="ml")
    with pytest.raises(ParameterError, match="no covariance"):
        table.independence(method=method)


def test_reports_that_never_occur_are_found_in_spite_of_rounding():
    with pytest.raises(ParameterError, match="never occurs"):
        _table([[3, 4], [3, 0]], (FORCED, WARNER)).independence(method="rao-scott")

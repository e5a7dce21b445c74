"""Odds ratios, conditional shares and their ratios, and tests of independence of the variables of a table."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime
from scipy.special import chdtri

import maskwell as mw
from maskwell.errors import ParameterError
from maskwell.estimation.joint import independence
from maskwell.estimation.joint.conditionals import Ratios
from maskwell.estimation.joint.odds import OddsProfile, TableLikelihood, two_by_two
from maskwell.estimation.maximisation.maximum import maximise

WARNER = mw.design("warner", p="4/5")
FORCED = mw.design("forced", truth="3/4", yes="1/6", no="1/12")
THREE = mw.designs.Uniform.from_gamma(6, mw.Categories.of(["a", "b", "c"]))


def test_a_part_of_a_larger_table():
    x = np.array([[90, 40, 60], [50, 80, 30], [70, 60, 90]])
    table = mw.estimation.cross_tabulate_counts(x, {"a": THREE, "b": THREE})
    found = table.odds_ratio(rows=("c", "a"), columns=("a", "b"))

    def log_odds(flat):
        pi = flat.reshape(3, 3)
        return np.array([np.log(pi[2, 0] * pi[0, 1] / (pi[2, 1] * pi[0, 0]))])

    slope = np.ravel(approx_fprime(table.estimate.pi_hat, log_odds, 1e-7))
    assert found.log_odds_ratio == pytest.approx(log_odds(table.estimate.pi_hat)[0])
    assert found.standard_error == pytest.approx(math.sqrt(slope @ table.estimate.covariance @ slope), rel=1e-5)
    assert found.interval_method == "wald"
    low, high = found.confidence_interval()
    assert math.log(high) - math.log(low) == pytest.approx(2 * 1.959964 * found.standard_error, rel=1e-6)
    every = table.odds_ratios()
    assert [(one.rows, one.columns) for one in every] == [((r, "c"), (c, "c")) for r in "ab" for c in "ab"]


def _empty_cell():
    """Reports whose unbiased estimate has a cell below zero, in the middle of the range of what may happen."""
    return mw.estimation.cross_tabulate_counts([[120, 90], [55, 235]], {"a": WARNER, "b": FORCED})


def _profile_by_em(P, x, k, cells, phi, steps=3000):
    """The same maximum by EM: expected counts of the cells, then the four of them with their odds ratio held."""
    pi = np.full(k, 1 / k)
    for _ in range(steps):
        expected = pi * ((x / x.sum() / (P @ pi)) @ P)
        expected[cells] = two_by_two(expected[cells], phi)
        pi = expected / expected.sum()
    return float(x @ np.log(P @ pi))


@pytest.mark.parametrize("phi", [-3.0, 0.0, 2.0])
def test_the_profile_is_that_of_em(phi):
    """And its slope and curvature are those by differences."""
    for designs, x, cells in (
        ([WARNER, FORCED], [120, 90, 55, 235], (0, 1, 2, 3)),
        ([THREE, THREE], [30, 14, 20, 17, 26, 10, 23, 20, 31], (0, 2, 6, 8)),
    ):
        design, counts = mw.designs.Kronecker.of(designs), np.array(x)
        profile = OddsProfile(TableLikelihood(design, counts), cells, 0.0)
        expected = _profile_by_em(design.matrix(), counts, len(x), list(cells), phi)
        assert profile.log_likelihood(phi) == pytest.approx(expected, abs=1e-5)
    alpha = np.random.default_rng(1).normal(size=7)
    assert np.allclose(profile._slope(alpha, 0.7), approx_fprime(alpha, profile._value, 1e-7, 0.7), atol=1e-6)
    numeric = approx_fprime(alpha, profile._slope, 1e-7, 0.7)
    assert np.allclose(profile._curvature(alpha, 0.7), numeric, atol=1e-6)


def test_an_odds_ratio_without_a_finite_estimate_says_so():
    table = _empty_cell()
    assert (table.pi_hat <= 0).any()
    found = table.odds_ratio()
    assert found.method == "ml" and found.interval_method == "profile"
    assert found.value == math.inf and math.isnan(found.standard_error)
    low, high = found.confidence_interval()
    assert 1 < low < math.inf and high == math.inf
    assert any("zero or less" in flag for flag in found.flags) and any("infinite" in flag for flag in found.flags)
    assert found.to_dict()["standard_error"] is None
    swapped = mw.estimation.cross_tabulate_counts([[55, 235], [120, 90]], {"a": WARNER, "b": FORCED}).odds_ratio()
    assert swapped.value == 0 and swapped.confidence_interval()[0] == 0
    assert swapped.confidence_interval()[1] == pytest.approx(1 / low, rel=1e-4)
    table = _empty_cell()
    found = mw.estimation.Table(replace(table.estimate, basis=()), table.layout).odds_ratio()
    assert found.method == "none" and math.isnan(found.value) and math.isnan(found.confidence_interval()[0])
    assert "a maximum likelihood table would need plain counts" in found.flags[0]
    # No one says yes to the first question: every odds ratio is as likely as any other.
    table = mw.estimation.cross_tabulate_counts([[20, 30], [200, 250]], {"a": WARNER, "b": FORCED})
    found = table.odds_ratio()
    assert math.isnan(found.log_odds_ratio) and found.confidence_interval() == (0.0, math.inf)
    assert any("not defined" in flag for flag in found.flags)


@pytest.mark.parametrize(("shape", "n"), [((6, 15), 300), ((2, 60), 60), ((10, 10), 1000)])
def test_all_odds_ratios_of_a_sparse_table_are_quick(shape, n):
    """Searches for all intervals took 117 and 25 s of CPU time in the first two tables."""
    first, second = (mw.designs.Uniform.from_gamma(9, mw.Categories.numbered(k)) for k in shape)
    x = np.bincount(np.random.default_rng(1).integers(0, math.prod(shape), n), minlength=math.prod(shape))
    table = mw.estimation.cross_tabulate_counts(x.reshape(shape), {"a": first, "b": second})
    start = time.process_time()
    every = [one.to_dict() for one in table.odds_ratios()]
    assert time.process_time() - start < 1 and "profile" not in {one["interval_method"] for one in every}
    alone = table.odds_ratio((0, shape[0] - 1), (0, shape[1] - 1))
    assert alone.interval_method == ("wald" if every[0]["interval_method"] == "wald" else "profile")


def test_ends_of_a_profile_lie_on_the_bound_or_need_no_search(monkeypatch):
    x = np.array([250, 190, 180, 380])
    design = mw.designs.Kronecker.of([FORCED, WARNER])
    best = maximise([design], [x])
    value = float(np.log(best.pi) @ [1, -1, -1, 1])
    profile = OddsProfile(TableLikelihood(design, x), (0, 1, 2, 3), value)
    assert profile.log_likelihood(value) == pytest.approx(best.log_likelihood, abs=1e-7)
    for end in profile.interval(0.95):
        assert 2 * (best.log_likelihood - profile.log_likelihood(end)) == pytest.approx(chdtri(1, 0.05), abs=1e-4)
    # Where nobody in one cell is nearly as likely as the best table, the odds ratio may be zero or infinite.
    design, x = mw.designs.Kronecker.of([WARNER, WARNER]), np.array([3, 2, 2, 4])
    value = float(np.array([1, -1, -1, 1]) @ np.log(maximise([design], [x]).pi))
    profile = OddsProfile(TableLikelihood(design, x), (0, 1, 2, 3), value)
    searched = [profile.log_likelihood(phi) for phi in (-38.0, 38.0)]
    limits = [max(map(profile.table.without, cells)) for cells in ((0, 3), (1, 2))]
    assert limits == pytest.approx(searched, abs=1e-6)
    monkeypatch.setattr(OddsProfile, "_climb", None)
    assert profile.interval(0.95) == (-math.inf, math.inf)


def _three_way(seed=2):
    x = np.random.default_rng(seed).integers(20, 90, size=(2, 3, 2))
    return mw.estimation.cross_tabulate_counts(x, {"a": WARNER, "b": THREE, "c": FORCED})


def _delta(table, function):
    slopes = np.atleast_2d(approx_fprime(table.estimate.pi_hat, function, 1e-7))
    return np.sqrt(np.einsum("ij,jk,ik->i", slopes, table.estimate.covariance, slopes))


@pytest.mark.parametrize("given", [("a",), ("b",), ("c", "a"), ("b", "c")])
def test_shares_and_errors(given):
    """By finite differences; the errors by operators are those by the covariance."""
    table = _three_way()
    found = table.conditional(given=given)
    axes = [table.names.index(name) for name in (*given, *(n for n in table.names if n not in given))]

    def shares(flat):
        pi = flat.reshape(table.shape).transpose(axes)
        rest = tuple(range(len(given), pi.ndim))
        return (pi / pi.sum(axis=rest, keepdims=True)).ravel()

    assert found.share.shape == tuple(table.shape[axis] for axis in axes)
    assert np.allclose(found.share.ravel(), shares(table.estimate.pi_hat))
    assert np.allclose(found.standard_error.ravel(), _delta(table, shares), rtol=1e-5)
    assert np.allclose(found.share.sum(axis=tuple(range(len(given), found.share.ndim))), 1)
    large = mw.estimation.Table(replace(table.estimate, covariance=None), table.layout)
    for name in ("a", "b", "var_a", "cov_ab", "var_b"):
        got, expected = (getattr(t.conditional(given=given).ratios, name) for t in (large, table))
        assert np.allclose(got, expected, rtol=1e-9, atol=1e-15)


def test_fieller_is_where_the_difference_may_be_zero():
    """At its ends ``(a - r b)^2 = z^2 Var(a - r b)``; with a certain denominator it is the Wald interval."""
    r, z = Ratios(*map(np.array, (0.2, 0.5, 4e-3, 1e-3, 5e-3))), 1.96
    for end in r.fieller(z):
        assert (0.2 - end * 0.5) ** 2 == pytest.approx(z**2 * (4e-3 - 2 * end * 1e-3 + end**2 * 5e-3))
    assert r.fieller(z)[0] < r.value < r.fieller(z)[1]
    certain = Ratios(*map(np.array, (0.2, 0.5, 4e-3, 0.0, 0.0)))
    assert np.allclose(certain.fieller(z), certain.wald(z))
    assert np.isinf(Ratios(*map(np.array, (0.2, 0.1, 4e-3, 1e-3, 5e-3))).fieller(z)).all()


def test_a_difference_between_groups():
    table = _three_way()
    found = table.difference({"b": "c"}, given="a", between=("yes", "no"))

    def difference(flat):
        pi = flat.reshape(table.shape)
        return np.array([pi[0, 2].sum() / pi[0].sum() - pi[1, 2].sum() / pi[1].sum()])

    assert found.value == pytest.approx(difference(table.estimate.pi_hat)[0])
    assert found.standard_error == pytest.approx(_delta(table, difference)[0], rel=1e-5)
    low, high = found.confidence_interval(0.9)
    assert high - low == pytest.approx(2 * stats.norm.ppf(0.95) * found.standard_error)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(found.value / found.standard_error)))
    both = table.difference({"b": "c", "c": "yes"}, given="a", between=("yes", "no"))
    pi = table.pi_hat
    assert both.value == pytest.approx(pi[0, 2, 0] / pi[0].sum() - pi[1, 2, 0] / pi[1].sum())
    assert found.to_dict()["shares"] == list(found.shares)
    assert repr(found).startswith("b = c among a = yes against no: difference")


def test_rare_or_empty_given_categories_are_unstable():
    table = mw.estimation.cross_tabulate_counts([[108, 100], [392, 400]], {"a": WARNER, "b": FORCED})
    found = table.conditional(given="a")
    assert found.unstable.tolist() == [[True, True], [False, False]]
    assert "unstable: the share of a = yes" in found.flags[0]
    assert np.isinf(found.confidence_interval(method="fieller")[0]).all()
    assert found.to_dict()["shares"][0]["unstable"] is True and "note: unstable" in repr(found)
    # Nobody reported yes to the first question: the most likely table has an empty row.
    table = mw.estimation.cross_tabulate_counts([[0, 0], [13, 37]], {"a": WARNER, "b": WARNER}, method="ml")
    found = table.conditional(given="a")
    assert np.isnan(found.standard_error).any()
    assert any("have no standard error" in flag for flag in found.flags) and found.unstable[0].all()
    assert any("unstable" in flag for flag in found.flags)


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


def test_bootstrap_wald_and_rao_scott_agree_with_the_others():
    """The reports come back from the estimate: the same test as on the reports, up to n - 1 for n."""
    table = _table()
    first, again = (table.independence(method="bootstrap", seed=7, replicates=199) for _ in range(2))
    assert first == again
    assert first.p_value == pytest.approx(table.independence(method="likelihood-ratio").p_value, abs=0.08)
    assert first.to_dict()["degrees_of_freedom"] is None
    table = _table()
    found = table.independence(method="wald")
    assert found.statistic == pytest.approx(table.independence().statistic, rel=0.15)
    even = _table(np.outer([30, 60], [10, 20, 30]))
    assert even.independence(method="wald").statistic == pytest.approx(0, abs=1e-12)
    assert even.independence().p_value == pytest.approx(1)
    weighted = mw.estimation.Table(replace(table.estimate, basis=()), table.layout)
    found = weighted.independence()
    assert found.method == "rao-scott"
    assert found.statistic == pytest.approx(table.independence().statistic * 499 / 500)
    with pytest.raises(ParameterError, match="needs plain counts"):
        weighted.independence(method="pearson")
    kuk = _table(np.full((4, 2), 50), (KUK, WARNER))
    with pytest.raises(ParameterError, match="more reports than categories"):
        mw.estimation.Table(replace(kuk.estimate, basis=()), kuk.layout).independence(method="rao-scott")


def test_weighted_tables_take_rao_scott_with_their_design_effects():
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
    # Satterthwaite: with effects 1 and 3 the degrees of freedom are (1 + 3)^2 / (1 + 9).
    lam, n = np.full((2, 3), 1 / 6), 600
    C = independence.interactions((2, 3))
    V = C @ np.diag([1.0, 3.0]) @ C.T / 6 / n
    assert sorted(independence.design_effects(lam, V, n).round(9)) == [1.0, 3.0]
    assert independence.corrected(("a", "b"), lam, V, n, None).degrees_of_freedom == pytest.approx(1.6)


def test_shared_devices_and_empty_reports_are_told_or_refused() -> None:
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
    found = _table(np.array([[3, 0, 9], [4, 0, 8]])).independence()
    assert found.degrees_of_freedom == 1
    assert "never occur" in found.flags[0] and "below 5" in found.flags[1]
    alone = _table(np.array([[0, 0, 0], [40, 30, 8]])).independence()
    assert alone.p_value == 1 and "nothing can be tested" in alone.flags[-1]
    with pytest.raises(ParameterError, match="never occurs"):
        _table([[3, 4], [3, 0]], (FORCED, WARNER)).independence(method="rao-scott")
    for method in ["wald", "rao-scott"]:
        table = mw.estimation.cross_tabulate_counts([[0, 0], [13, 37]], {"a": WARNER, "b": WARNER}, method="ml")
        with pytest.raises(ParameterError, match="no covariance"):
            table.independence(method=method)

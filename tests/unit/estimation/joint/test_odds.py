"""Odds ratios and the profile of their likelihood."""

import math
import time

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import chdtri

import maskwell as mw
from maskwell.errors import ParameterError
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


def test_a_cell_below_zero_takes_the_most_likely_table():
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


def test_no_odds_ratio_without_counts():
    table = _empty_cell()
    weighted = mw.estimation.Table(mw.estimation.Estimate(**{**vars(table.estimate), "samples": ()}), table.layout)
    found = weighted.odds_ratio()
    assert found.method == "none" and math.isnan(found.value) and math.isnan(found.confidence_interval()[0])
    assert "no plain counts" in found.flags[0]


def _profile_by_em(P, x, k, cells, phi, steps=20000):
    """The same maximum by EM: expected counts of the cells, then the four of them with their odds ratio held."""
    pi = np.full(k, 1 / k)
    for _ in range(steps):
        expected = pi * ((x / x.sum() / (P @ pi)) @ P)
        expected[cells] = two_by_two(expected[cells], phi)
        pi = expected / expected.sum()
    return float(x @ np.log(P @ pi))


@pytest.mark.parametrize("phi", [-3.0, 0.0, 2.0])
def test_the_profile_is_that_of_em(phi):
    x = np.array([120, 90, 55, 235])
    design = mw.designs.Kronecker.of([WARNER, FORCED])
    profile = OddsProfile(TableLikelihood(design, x), (0, 1, 2, 3), 0.0)
    got = profile.log_likelihood(phi)
    assert got == pytest.approx(_profile_by_em(design.matrix(), x, 4, [0, 1, 2, 3], phi, 3000), abs=1e-5)
    x = np.array([30, 14, 20, 17, 26, 10, 23, 20, 31])
    design = mw.designs.Kronecker.of([THREE, THREE])
    profile = OddsProfile(TableLikelihood(design, x), (0, 2, 6, 8), 0.0)
    got = profile.log_likelihood(phi)
    assert got == pytest.approx(_profile_by_em(design.matrix(), x, 9, [0, 2, 6, 8], phi, 3000), abs=1e-5)


def test_slope_and_curvature_of_the_profile():
    x = np.array([30, 14, 20, 17, 26, 10, 23, 20, 31])
    design = mw.designs.Kronecker.of([THREE, THREE])
    profile = OddsProfile(TableLikelihood(design, x), (0, 2, 6, 8), 0.0)
    alpha = np.random.default_rng(1).normal(size=7)
    assert np.allclose(profile._slope(alpha, 0.7), approx_fprime(alpha, profile._value, 1e-7, 0.7), atol=1e-6)
    numeric = approx_fprime(alpha, profile._slope, 1e-7, 0.7)
    assert np.allclose(profile._curvature(alpha, 0.7), numeric, atol=1e-6)


def test_the_ends_of_a_profile_interval_lie_on_the_bound():
    x = np.array([250, 190, 180, 380])
    design = mw.designs.Kronecker.of([FORCED, WARNER])
    best = maximise([design], [x])
    value = float(np.log(best.pi) @ [1, -1, -1, 1])
    profile = OddsProfile(TableLikelihood(design, x), (0, 1, 2, 3), value)
    assert profile.log_likelihood(value) == pytest.approx(best.log_likelihood, abs=1e-7)
    for end in profile.interval(0.95):
        assert 2 * (best.log_likelihood - profile.log_likelihood(end)) == pytest.approx(chdtri(1, 0.05), abs=1e-4)


def test_an_undefined_odds_ratio_says_so():
    """No one says yes to the first question: every odds ratio is as likely as any other."""
    table = mw.estimation.cross_tabulate_counts([[20, 30], [200, 250]], {"a": WARNER, "b": FORCED})
    found = table.odds_ratio()
    assert math.isnan(found.log_odds_ratio)
    assert found.confidence_interval() == (0.0, math.inf)
    assert any("not defined" in flag for flag in found.flags)


def test_what_is_asked_is_checked():
    table = mw.estimation.cross_tabulate_counts(np.full((3, 3), 9), {"a": THREE, "b": THREE})
    with pytest.raises(ParameterError, match="a has 3 categories"):
        table.odds_ratio()
    with pytest.raises(ParameterError, match="compares two"):
        table.odds_ratio(rows=("a", "a"), columns=("a", "b"))
    with pytest.raises(ParameterError, match="of two variables, not of 3"):
        mw.estimation.cross_tabulate_counts(np.full((2, 2, 2), 9), dict.fromkeys("abc", WARNER)).odds_ratio()


@pytest.mark.parametrize("phi", [-30.0, -1.0, 0.0, 5.0, 35.0])
def test_a_table_of_given_sums_and_odds(phi):
    cells = np.array([0.1, 0.2, 0.3, 0.4])
    found = two_by_two(cells, phi)
    assert (found > 0).all()
    assert np.allclose([found[:2].sum(), found[::2].sum(), found.sum()], [0.3, 0.4, 1.0])
    assert np.log(found) @ [1, -1, -1, 1] == pytest.approx(phi, abs=1e-8)


@pytest.mark.parametrize(("shape", "n"), [((6, 15), 300), ((2, 60), 60), ((10, 10), 1000)])
def test_all_odds_ratios_of_a_sparse_table_are_quick(shape, n):
    """Searches for all intervals took 117 and 25 s of CPU time in the first two tables."""
    first, second = (mw.designs.Uniform.from_gamma(9, mw.Categories.numbered(k)) for k in shape)
    x = np.bincount(np.random.default_rng(1).integers(0, math.prod(shape), n), minlength=math.prod(shape))
    table = mw.estimation.cross_tabulate_counts(x.reshape(shape), {"a": first, "b": second})
    start = time.process_time()
    every = [one.to_dict() for one in table.odds_ratios()]
    assert time.process_time() - start < 1
    assert "profile" not in {one["interval_method"] for one in every}
    alone = table.odds_ratio((0, shape[0] - 1), (0, shape[1] - 1))
    assert alone.interval_method == ("wald" if every[0]["interval_method"] == "wald" else "profile")


def test_an_interval_without_end_needs_no_search(monkeypatch):
    """Where nobody in one cell is nearly as likely as the best table, the odds ratio may be zero or infinite."""
    design, x = mw.designs.Kronecker.of([WARNER, WARNER]), np.array([3, 2, 2, 4])
    value = float(np.array([1, -1, -1, 1]) @ np.log(maximise([design], [x]).pi))
    profile = OddsProfile(TableLikelihood(design, x), (0, 1, 2, 3), value)
    searched = [profile.log_likelihood(phi) for phi in (-38.0, 38.0)]
    limits = [max(map(profile.table.without, cells)) for cells in ((0, 3), (1, 2))]
    assert limits == pytest.approx(searched, abs=1e-6)
    monkeypatch.setattr(OddsProfile, "_climb", None)
    assert profile.interval(0.95) == (-math.inf, math.inf)

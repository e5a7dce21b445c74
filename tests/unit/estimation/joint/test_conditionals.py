"""Conditional shares, differences, and ratios of two estimates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

import maskwell as mw
from maskwell.errors import ParameterError
from maskwell.estimation.joint.conditionals import Ratios

WARNER = mw.design("warner", p="4/5")
FORCED = mw.design("forced", truth="3/4", yes="1/6", no="1/12")
THREE = mw.designs.Uniform.from_gamma(6, mw.Categories.of(["a", "b", "c"]))


def _table(seed=2):
    x = np.random.default_rng(seed).integers(20, 90, size=(2, 3, 2))
    return mw.estimation.cross_tabulate_counts(x, {"a": WARNER, "b": THREE, "c": FORCED})


def _delta(table, function):
    """Standard errors of a function of the cells, by finite differences."""
    slopes = np.atleast_2d(approx_fprime(table.estimate.pi_hat, function, 1e-7))
    return np.sqrt(np.einsum("ij,jk,ik->i", slopes, table.estimate.covariance, slopes))


@pytest.mark.parametrize("given", [("a",), ("b",), ("c", "a"), ("b", "c")])
def test_shares_and_errors(given):
    table = _table()
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


@pytest.mark.parametrize("given", [("a",), ("c", "a"), ("b",)])
def test_errors_by_operators_are_those_by_the_covariance(given):
    table = _table()
    large = mw.estimation.Table(replace(table.estimate, covariance=None), table.layout)
    for name in ("a", "b", "var_a", "cov_ab", "var_b"):
        got, expected = (getattr(t.conditional(given=given).ratios, name) for t in (large, table))
        assert np.allclose(got, expected, rtol=1e-9, atol=1e-15)


def test_a_rare_given_category_is_unstable():
    table = mw.estimation.cross_tabulate_counts([[108, 100], [392, 400]], {"a": WARNER, "b": FORCED})
    found = table.conditional(given="a")
    assert found.unstable.tolist() == [[True, True], [False, False]]
    assert "unstable: the share of a = yes" in found.flags[0]
    assert np.isinf(found.confidence_interval(method="fieller")[0]).all()
    assert found.to_dict()["shares"][0]["unstable"] is True
    assert "note: unstable" in repr(found)


def test_fieller_is_where_the_difference_may_be_zero():
    """At its ends ``(a - r b)^2 = z^2 Var(a - r b)``; with a certain denominator it is the Wald interval."""
    r, z = Ratios(*map(np.array, (0.2, 0.5, 4e-3, 1e-3, 5e-3))), 1.96
    for end in r.fieller(z):
        assert (0.2 - end * 0.5) ** 2 == pytest.approx(z**2 * (4e-3 - 2 * end * 1e-3 + end**2 * 5e-3))
    assert r.fieller(z)[0] < r.value < r.fieller(z)[1]
    certain = Ratios(*map(np.array, (0.2, 0.5, 4e-3, 0.0, 0.0)))
    assert np.allclose(certain.fieller(z), certain.wald(z))
    assert np.isinf(Ratios(*map(np.array, (0.2, 0.1, 4e-3, 1e-3, 5e-3))).fieller(z)).all()


def test_a_ratio_over_zero_is_flagged_not_hidden():
    r = Ratios(*map(np.array, (0.1, 0.0, 1e-3, 0.0, 1e-3)))
    assert np.isnan(r.value) and np.isnan(r.standard_error) and r.unstable
    assert np.isnan(Ratios(*map(np.array, (0.1, 0.5, -1.0, 0.0, 0.0))).standard_error)


def test_a_difference_between_groups():
    table = _table()
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


def test_what_is_asked_is_checked():
    table = _table()
    with pytest.raises(ParameterError, match="given a, b, c"):
        table.conditional(given=("a", "b", "c"))
    with pytest.raises(ParameterError, match="no variable 'd'"):
        table.conditional(given="d")
    with pytest.raises(ParameterError, match="method"):
        table.conditional(given="a").confidence_interval(method="bayes")
    with pytest.raises(ParameterError, match="level"):
        table.conditional(given="a").confidence_interval(1.5)
    with pytest.raises(ParameterError, match="given 'a'"):
        table.difference({"a": "yes"}, given="a", between=("yes", "no"))
    with pytest.raises(mw.MaskwellError, match="'maybe'"):
        table.difference({"b": "a"}, given="a", between=("yes", "maybe"))


def test_frames():
    pytest.importorskip("pandas")
    frame = _table().conditional(given="a").to_frame()
    assert frame.index.names == ["a", "b", "c"]
    assert {"share", "standard_error", "low", "high", "unstable"} == set(frame.columns)


def test_shares_without_a_standard_error_say_so():
    """Nobody reported yes to the first question: the most likely table has an empty row."""
    table = mw.estimation.cross_tabulate_counts([[0, 0], [13, 37]], {"a": WARNER, "b": WARNER}, method="ml")
    found = table.conditional(given="a")
    assert np.isnan(found.standard_error).any()
    assert any("have no standard error" in flag for flag in found.flags)
    assert found.unstable[0].all()
    assert any("unstable" in flag for flag in found.flags)

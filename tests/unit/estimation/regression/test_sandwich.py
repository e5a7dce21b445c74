import numpy as np
import pytest
from tests.support.regression import WARNER, draw, logistic_data

from maskwell import Sampling
from maskwell.errors import InputError, MissingValueError, ParameterError
from maskwell.estimation.regression import fit_logistic
from maskwell.estimation.regression.row_sampling import RowSampling


@pytest.fixture
def clustered():
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(40), 50)
    x = rng.normal(size=2000) + rng.normal(size=40)[cluster]
    yes = rng.random(2000) < 1 / (1 + np.exp(-(-0.3 + 0.6 * x + rng.normal(size=40)[cluster])))
    weights = rng.uniform(0.5, 3, 2000)
    return x[:, None], draw(WARNER.matrix(), np.where(yes, 0, 1), rng), cluster, weights


def scores(found, X, z, P):
    ones = np.column_stack([np.ones(len(X)), X])
    s = 1 / (1 + np.exp(-ones @ found.estimates))
    lam = P[z, 0] * s + P[z, 1] * (1 - s)
    return (P[z, 0] * s / lam - s)[:, None] * ones, ones, s, lam


def by_formula(found, X, z, P, weights, cluster, stratum):
    """A^-1 B A^-1 written out."""
    u, ones, s, lam = scores(found, X, z, P)
    tau = P[z, 0] * s / lam
    A = (ones * (weights * (s * (1 - s) - tau * (1 - tau)))[:, None]).T @ ones
    B = np.zeros_like(A)
    for h in np.unique(stratum):
        of = np.unique(cluster[stratum == h])
        totals = np.array([(u * weights[:, None])[(cluster == c) & (stratum == h)].sum(axis=0) for c in of])
        away = totals - totals.mean(axis=0)
        B += len(of) / (len(of) - 1) * away.T @ away
    return np.linalg.inv(A) @ B @ np.linalg.inv(A)


def test_formula_and_brute_jackknife_over_clusters_agree(clustered):
    X, z, cluster, weights = clustered
    stratum = cluster // 10
    found = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(weights=weights, strata=stratum, clusters=cluster))
    expected = by_formula(found, X, z, WARNER.matrix(), weights, cluster, stratum)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-6)
    assert found.degrees_of_freedom == 36 and found.variance == "sandwich (weights, 4 strata, 40 clusters)"
    X, z, cluster, weights = clustered
    found = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(weights=weights, clusters=cluster))
    left = [
        fit_logistic(X[cluster != c], z[cluster != c], WARNER, codes=True, plan=Sampling(weights=weights[cluster != c]))
        for c in range(40)
    ]
    away = np.array([one.estimates for one in left]) - found.estimates
    jackknife = 39 / 40 * away.T @ away
    np.testing.assert_allclose(found.standard_error, np.sqrt(np.diag(jackknife)), rtol=0.08)
    plain = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(weights=weights))
    assert found.standard_error[0] > 1.5 * plain.standard_error[0]  # clusters matter here, so the test can fail


@pytest.mark.statistical
def test_a_census_has_the_spread_of_its_randomization():
    """One population, randomized afresh 300 times: mean estimated variance against observed variance.

    The ratio has a standard error of about sqrt(2 / 300) = 8 %; a bar of 40 % is five of them: below 1e-6.
    """
    rng = np.random.default_rng(11)
    x = rng.normal(size=800)
    truth = np.where(rng.random(800) < 1 / (1 + np.exp(-0.3 - 0.8 * x)), 0, 1)
    fits = [
        fit_logistic(x[:, None], draw(WARNER.matrix(), truth, rng), WARNER, codes=True, plan=Sampling(population=800))
        for _ in range(300)
    ]
    seen = np.var([one.estimates for one in fits], axis=0)
    said = np.mean([np.diag(one.covariance) for one in fits], axis=0)
    assert (np.abs(said / seen - 1) < 0.4).all(), said / seen
    endless = fit_logistic(x[:, None], draw(WARNER.matrix(), truth, rng), WARNER, codes=True)
    assert endless.covariance[0, 0] > 1.2 * said[0]  # an ordinary error would be too large


def test_strata_with_a_single_cluster_need_a_word():
    X, z = logistic_data(300, [0.0, 0.5])
    cluster, stratum = np.arange(300) // 10, np.where(np.arange(300) < 10, "lonely", "rest")
    with pytest.raises(InputError, match="1 of 2 strata have a single cluster"):
        fit_logistic(X, z, WARNER, codes=True, plan=Sampling(strata=stratum, clusters=cluster))
    plans = (Sampling(strata=stratum, clusters=cluster, lonely=how) for how in ("certainty", "centre"))
    certain, centred = (fit_logistic(X, z, WARNER, codes=True, plan=plan) for plan in plans)
    assert (centred.standard_error > certain.standard_error).all()
    with pytest.raises(ParameterError, match="lonely must be one of error, certainty, centre, not 'average'"):
        fit_logistic(X, z, WARNER, codes=True, plan=Sampling(lonely="average"))


def test_bad_sampling_is_refused():
    with pytest.raises(InputError, match="3 weights were given for 4 rows"):
        RowSampling.of(4, weights=[1, 2, 3])
    with pytest.raises(InputError, match="weights: the value in row 3 is not a number above 0"):
        RowSampling.of(4, weights=[1, 2, -1, 1])
    with pytest.raises(InputError, match="weights: the value in row 2"):
        RowSampling.of(2, weights=[1, np.nan])
    with pytest.raises(InputError, match=r"strata has shape \(3,\)"):
        RowSampling.of(4, strata=["a", "b", "a"])
    with pytest.raises(MissingValueError, match="clusters: 1 of 3 rows have no value"):
        RowSampling.of(3, clusters=["a", None, "b"])
    with pytest.raises(InputError, match="one population size was given for 2 strata"):
        RowSampling.of(4, strata=[1, 1, 2, 2], population=100)
    with pytest.raises(InputError, match="stratum 1 of 2 has several population sizes"):
        RowSampling.of(4, strata=[1, 1, 2, 2], population=[10, 11, 12, 12])
    with pytest.raises(InputError, match="stratum 1 of 2 has fewer units than were sampled"):
        RowSampling.of(4, strata=[1, 1, 2, 2], population=[1, 1, 12, 12])
    X, z = logistic_data(50, [0.0, 1.0])
    with pytest.raises(ParameterError, match="ignores clusters and population"):
        fit_logistic(X, z, WARNER, variance="observed", codes=True, plan=Sampling(clusters=np.arange(50) // 5))
    with pytest.raises(ParameterError, match=r"variance must be one of .*, not 'hc3'"):
        fit_logistic(X, z, WARNER, variance="hc3", codes=True)


def test_populations_and_chances_make_weights_and_take_off_sampling_alone(clustered):
    """A census: all that is left is the randomization."""
    X, z = logistic_data(1500, [-0.3, 0.7])
    endless = fit_logistic(X, z, WARNER, variance="sandwich", codes=True)
    census = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(population=1500))
    huge = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(population=10**9))
    np.testing.assert_allclose(huge.covariance, endless.covariance, rtol=1e-5)
    assert (census.standard_error < endless.standard_error).all()
    assert (census.standard_error > 0.6 * endless.standard_error).all()
    assert census.variance == "sandwich (finite population)"
    X, z = logistic_data(400, [0.1, 0.5])
    stratum = np.repeat([0, 1], 200)
    sizes = np.where(stratum == 0, 2000, 400)
    follow = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(strata=stratum, population=sizes))
    given = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(strata=stratum, population=sizes, weights=sizes / 200))
    np.testing.assert_allclose(follow.estimates, given.estimates)
    np.testing.assert_allclose(follow.covariance, given.covariance)
    alike = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(strata=stratum, population=np.full(400, 800)))
    np.testing.assert_allclose(alike.estimates, fit_logistic(X, z, WARNER, codes=True).estimates, atol=1e-9)
    X, z, _, weights = clustered
    inclusion = fit_logistic(X, z, WARNER, plan=Sampling(inclusion=1 / (4 * weights)), codes=True)
    weighted = fit_logistic(X, z, WARNER, codes=True, plan=Sampling(weights=weights))
    np.testing.assert_allclose(inclusion.estimates, weighted.estimates, atol=1e-8)
    with pytest.raises(TypeError, match=r"fit_logistic.*weihgts"):
        fit_logistic(X, z, WARNER, weihgts=weights, codes=True)
    with pytest.raises(ParameterError, match="cannot use independent draws"):
        fit_logistic(X, z, WARNER, plan=Sampling(inclusion=1 / (4 * weights), poisson=True), codes=True)

"""Maxima at infinity, recognised by the likelihood; and tests between models of which one is a special case."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import binom, chi2
from tests.support.regression import DIRECT, KUK, THREE, WARNER, draw, log_likelihood, logistic_data
from tests.support.surveys import regress_with
from tests.support.together import together

import maskwell as mw
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression import Anchor, RandomizedPredictor, fit_logistic, fit_predictor, fit_with_anchor
from maskwell.estimation.regression.nested_models import compare_nested

CUT = chi2.ppf(0.95, 1)
TWO = np.repeat([0.0, 1.0], 40)[:, None]


def reports(*counts):
    return np.concatenate([np.repeat([0, 1], [yes, n - yes]) for yes, n in counts])


def fall(yes, n, eta, p=0.8):
    """Twice the fall of the log-likelihood of one group at a log odds."""
    lam, best = (1 - p) + (2 * p - 1) / (1 + math.exp(-eta)), min(max(yes / n, 1 - p), p)
    return 2 * (yes * math.log(best / lam) + (n - yes) * math.log((1 - best) / (1 - lam)))


def test_exactly_as_many_reports_as_the_design_makes_give_no_standard_error():
    found = fit_logistic(TWO, reports((8, 40), (20, 40)), WARNER, codes=True)
    assert not found.converged and found.shown.tolist() == [-math.inf, math.inf]
    assert np.isnan(found.standard_error).all() and "Intercept runs to minus infinity" in found.flags[0]
    (low, high), (other, end) = found.confidence_interval()
    assert low == -math.inf and high == pytest.approx(brentq(lambda e: fall(8, 40, e) - CUT, -9, 2), abs=1e-5)

    def profile(slope):
        return min(fall(8, 40, e) + fall(20, 40, e + slope) for e in np.linspace(-12, 2, 1401))

    assert end == math.inf and profile(other) == pytest.approx(CUT, abs=2e-3)
    assert found.p_values[1] == pytest.approx(chi2.sf(profile(0.0), 1), rel=1e-3)
    assert found.rows()[0]["interval_method"] == "profile" and "nan" not in str(found)


@pytest.mark.parametrize("p", ["0.8", "0.80000000000000016", "0.79999999999999984", "0.80001"])
def test_the_verdict_does_not_hang_on_the_last_bit(p):
    """With 0.80001 there is a maximum at -11; the limit is as high, up to 1e-9 of the log-likelihood."""
    found = fit_logistic(TWO, reports((8, 40), (20, 40)), mw.design("warner", p=p), codes=True)
    assert found.shown.tolist() == [-math.inf, math.inf]


def test_no_survey_with_a_fitted_chance_of_zero_passes_as_finite():
    """The counts say which of two groups has no finite log odds; 0.02 and 0.3 are the true shares."""
    rng, x = np.random.default_rng(1), np.repeat([0.0, 1.0], 50)[:, None]
    seen = set()
    for counts in zip(rng.binomial(50, 0.212, 80), rng.binomial(50, 0.38, 80), strict=True):
        if counts in seen:
            continue
        seen.add(counts)
        found = fit_logistic(x, reports(*((k, 50) for k in counts)), WARNER, codes=True)
        out = [not 10 < k < 40 for k in counts]
        assert (found.infinite != 0).tolist() == [out[0], any(out)]
        lacking = np.isnan(np.diag(found.covariance))
        assert bool(found.flags) == any(out) and lacking.tolist() == [out[0], any(out)]
        assert np.isnan(found.standard_error).tolist() == (lacking | found.flat()).tolist()
        if all(out):
            assert math.isnan(found.shown[1])  # the ratio of two odds of zero


def test_finite_maxima_and_signs_only_where_the_data_give_them():
    found = fit_logistic(TWO, reports((9, 40), (20, 40)), WARNER, codes=True)
    assert found.converged and found.flags == () and np.isfinite(found.covariance).all()
    assert found.flat().all() and np.isnan(found.standard_error).all()  # its interval still has no end
    found = fit_logistic(TWO, reports((16, 40), (20, 40)), WARNER, codes=True)
    assert found.notes() == () and np.isfinite(found.standard_error).all()
    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 60)
    found = fit_logistic(np.column_stack([x, rng.normal(size=60)]), (x < 0).astype(int), DIRECT, codes=True)
    assert np.isnan(found.shown[[0, 2]]).all() and found.shown[1] == math.inf
    assert found.confidence_interval()[2].tolist() == [-math.inf, math.inf]
    overlapping = (x < 0) ^ (np.arange(60) == 10)
    assert fit_logistic(x, overlapping.astype(int), DIRECT, codes=True).converged


@pytest.mark.parametrize(
    ("counts", "infinite"), [((40, 140, 120), "never|once"), ((120, 140, 40), "once|often"), ((150, 40, 110), "")]
)
def test_an_ordered_category_that_nobody_is_in(counts, infinite):
    table = {"y": np.repeat(["never", "once", "often"], counts), "x": np.tile([0.0, 1.0, 2.0], 100)}
    found = mw.regress(table, "y ~ x", {"y": THREE}, model="ordinal")
    lost = [term for term, error in zip(found.terms, found.standard_error, strict=True) if np.isnan(error)]
    assert lost == ([infinite] if infinite else []) and "nan" not in str(found)
    assert np.isfinite(found.standard_error[0]) and found.standard_error[0] < 1


def test_every_family_says_so():
    z = reports((8, 40), (20, 40))
    table = {"y": np.where(z == 0, "yes", "no"), "x": TWO[:, 0], "g": np.tile(np.arange(8), 10)}
    mixed = mw.regress(table, "y ~ x + (1 | g)", {"y": WARNER})
    predictor = fit_predictor(np.tile([0, 1], 40), RandomizedPredictor(reports((16, 80)), WARNER, codes=True))
    anchor = fit_with_anchor(TWO, z, WARNER, Anchor(reports((16, 80)), WARNER), codes=True, attention_predictors=False)
    for found in (mixed, predictor, anchor):
        parts = [found] if found.latent is None else [found, found.latent]
        assert any("no finite estimate" in flag for flag in found.flags)
        assert any(np.isnan(part.standard_error).any() for part in parts)
        assert all(np.nan_to_num(part.standard_error).max() < 50 for part in parts) and "nan" not in str(found)


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e100])
def test_weights_have_no_unit(factor):
    rng = np.random.default_rng(4)
    x, z, w = rng.normal(size=300), rng.integers(0, 2, 300), rng.uniform(1, 5, 300)
    one, other = (
        fit_logistic(x, z, WARNER, codes=True, plan=mw.Sampling(weights=weights)) for weights in (w, w * factor)
    )
    np.testing.assert_allclose(other.estimates, one.estimates, rtol=1e-9)
    np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=1e-9)
    assert other.log_likelihood == pytest.approx(one.log_likelihood)


def test_the_profile_of_a_plain_sample_is_the_likelihood_ratio_and_scaled_under_weights():
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    table = {"y": np.where(rng.random(400) < 0.4, "yes", "no"), "x": x, "w": np.ones(400), "v": rng.uniform(1, 9, 400)}
    full = mw.regress(table, "y ~ x", {"y": WARNER}, interval="profile")
    assert full.p_values[1] == pytest.approx(full.compare(mw.regress(table, "y ~ 1", {"y": WARNER})).p_value, rel=1e-6)
    ones = regress_with(table, "y ~ x", {"y": WARNER}, weights="w", variance="observed", interval="profile")
    np.testing.assert_allclose(ones.confidence_interval(), full.confidence_interval(), atol=1e-5)
    weighted = mw.regress(table, "y ~ x", {"y": WARNER}, sampling=mw.Sampling(weights="v"), interval="profile")
    wald = mw.regress(table, "y ~ x", {"y": WARNER}, sampling=mw.Sampling(weights="v"), interval="wald")
    widths = [np.diff(one.confidence_interval())[1, 0] for one in (weighted, wald)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_the_default_interval_of_a_rare_answer_covers():
    """An intercept of -3.5, 200 reports by crosswise questions: coverage summed over all counts."""
    crosswise, eta = mw.design("crosswise", q="0.15"), -3.5
    chance = 0.15 + 0.7 / (1 + math.exp(-eta))
    first = 0 if crosswise.matrix()[0, 0] > 0.5 else 1
    covered = {"wald": 0.0, None: 0.0}
    for k in range(20, 56):
        z = np.repeat([first, 1 - first], [k, 200 - k])
        found = fit_logistic(np.empty((200, 0)), z, crosswise, codes=True)
        for method in covered:
            low, high = mw.estimation.regression.Regression.confidence_interval(replace(found, asked=method))[0]
            covered[method] += float(binom.pmf(k, 200, chance)) * bool(low <= eta <= high)
    assert covered[None] > 0.96 and covered["wald"] < 0.7


X, CODES = logistic_data(1500, [-0.4, 0.5, 0.0, 0.2])


def fit(columns, **more):
    return fit_logistic(X[:, columns], CODES, WARNER, codes=True, plan=mw.Sampling(**more) if more else None)


def test_likelihood_ratio_and_wald_of_smaller_models():
    larger, smaller = fit([0, 1, 2]), fit([0])
    test = larger.compare(smaller)
    ones = np.ones((1500, 1))
    P = WARNER.matrix()
    high = log_likelihood(larger.estimates, np.hstack([ones, X]), CODES, P)
    low = log_likelihood(smaller.estimates, np.hstack([ones, X[:, :1]]), CODES, P)
    assert test.statistic == pytest.approx(2 * (high - low), abs=1e-6)
    assert (test.df, test.df_denominator, test.method, test.reason) == (2, None, "likelihood-ratio", "")
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, 2))
    assert compare_nested(larger, smaller) == test and "likelihood ratio test, chi2(2) = " in repr(test)
    # One slope for the sum of two predictors: the larger model has two slopes, and they are tested to be equal.
    larger = fit([0, 1])
    smaller = fit_logistic(X[:, 0] + X[:, 1], CODES, WARNER, codes=True)
    by_hand = larger.wald_test(np.array([[0.0, 1.0, -1.0]]))
    assert larger.compare(smaller, method="wald").statistic == pytest.approx(by_hand.statistic)
    assert larger.compare(smaller).df == 1
    far = fit_logistic(1e6 + 1e3 * X[:, [0, 1]], CODES, WARNER, codes=True)  # the same model in other units
    assert far.compare(smaller, method="wald").statistic == pytest.approx(by_hand.statistic, rel=1e-6)


@together(
    ("more", "words"),
    [
        ({"weights": np.arange(1500) % 3 + 1.0}, "counts rows by their weights"),
        ({"clusters": np.arange(1500) // 50}, "takes rows for independent draws"),
        ({"strata": np.arange(1500) % 2}, "takes rows for independent draws"),
    ],
)
def test_under_a_sampling_plan_only_wald_has_a_meaning(more, words):
    larger, smaller = fit([0, 1], **more), fit([0], **more)
    test = larger.compare(smaller)
    assert test.method == "wald" and words in test.reason and test.reason in larger.flags
    assert test.df_denominator == (29 if "clusters" in more else None)
    with pytest.raises(InputError, match="a likelihood ratio test is not available"):
        larger.compare(smaller, method="likelihood-ratio")
    assert larger.to_dict()["aic"] is None and larger.to_dict()["bic"] is None
    assert next(line for line in larger.summary().splitlines() if "AIC:" in line).endswith("n/a")
    assert fit([0]).incomparable == "" and fit([0]).to_dict()["aic"] == pytest.approx(fit([0]).aic)


def test_what_is_not_nested_is_refused():
    rng = np.random.default_rng(5)
    kuk = fit_logistic(X[:, [0]], draw(KUK.matrix(), rng.integers(0, 2, 1500), rng), KUK, codes=True)
    fewer = fit_logistic(X[:900, [0]], CODES[:900], WARNER, codes=True)
    turned = fit_logistic(X[:, [0]], np.roll(CODES, 1) ** 2 * (CODES + 1) // 2, WARNER, codes=True)
    cases = [
        (fit([0]), fit([0, 1]), "the larger model does not include"),
        (fit([0, 1]), fit([2]), "the larger model does not include"),
        (fit([0, 1]), fit([0, 1]), "both models are the same"),
        (fit([0, 1]), fewer, "different rows: 1,500 and 900"),
        (fit([0, 1]), kuk, "different reports"),
        (fit([0, 1]), turned, "different reports"),
    ]
    for larger, smaller, saying in cases:
        with pytest.raises(InputError, match=saying):
            larger.compare(smaller)
    with pytest.raises(ParameterError, match="method must be one of likelihood-ratio, wald, not 'score'"):
        fit([0, 1]).compare(fit([0]), method="score")


def test_randomized_predictors_are_compared_with_the_same_latent_model():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(9)
    table = pd.DataFrame({"age": rng.normal(size=900), "z": rng.normal(size=900)})
    for name, seed in (("y", 1), ("x", 2)):
        true = np.where(rng.random(900) < 0.4, "yes", "no").tolist()
        table[name] = WARNER.randomize(true, random=mw.SeededRandom(seed))
    both = {"y": WARNER, "x": WARNER}
    larger = mw.regress(table, "y ~ x + age + z", both)
    test = larger.compare(mw.regress(table, "y ~ x + age", both))
    assert test.method == "wald" and "same latent" in test.reason
    assert test.statistic == pytest.approx(larger.wald_test("z").statistic)
    alike = larger.compare(mw.regress(table, "y ~ x + age", both, latent="~ age + z"))
    assert alike.method == "likelihood-ratio" and alike.df == 1 and alike.smaller == "y ~ x + age"
    without = larger.compare(mw.regress(table, "y ~ age + z", {"y": WARNER}))
    assert without.method == "wald" and without.statistic == pytest.approx(larger.wald_test("x[T.yes]").statistic)
    with pytest.raises(InputError, match="need the true values of all predictors"):
        larger.marginal_effects()


def test_each_printed_test_belongs_to_its_statistic():
    """Where p is that of the likelihood ratio there is no z; elsewhere p is the normal tail of the z beside it."""
    x = np.repeat([0.0, 0.0, 1.0], 30)[:, None]
    found, seen = fit_logistic(x, np.repeat([0, 1, 0, 1], [15, 45, 17, 13]), WARNER, codes=True), set()
    lines = [line.split() for line in found.summary().splitlines()]
    assert "P>|z|" not in found.summary() and "p values: " in found.summary()
    for term, profile, p in zip(found.terms, found.by_profile, found.p_values, strict=True):
        row = next(line for line in lines if line[:1] == [term])
        seen.add(bool(profile))
        if profile:
            assert row[3] == "—"
        else:
            assert 2 * NormalDist().cdf(-abs(float(row[3]))) == pytest.approx(p, abs=5e-4)
    assert True in seen
    said = found.to_dict()
    assert "likelihood ratio" in said["p_values"]
    named = [(row["interval_method"], row["p_value_method"]) for row in said["coefficients"]]
    assert {*named} <= {("profile", "likelihood ratio"), ("wald", "wald")}
    assert "P>|z|" in replace(found, asked="wald").summary()
    assert "p values" not in replace(found, asked="wald").summary()

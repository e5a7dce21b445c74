"""Tests between models of which one is a special case of the other, and what must not be compared."""

import numpy as np
import pytest
from scipy import stats
from tests.support.regression import KUK, WARNER, draw, log_likelihood, logistic_data
from tests.support.together import together

import maskwell as mw
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression import fit_logistic
from maskwell.estimation.regression.nested_models import compare_nested

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
    with pytest.raises(InputError, match="no likelihood ratio test"):
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
        (fit([0]), fit([0, 1]), "does not hold"),
        (fit([0, 1]), fit([2]), "does not hold"),
        (fit([0, 1]), fit([0, 1]), "both models are the same"),
        (fit([0, 1]), fewer, "different rows: 1,500 and 900"),
        (fit([0, 1]), kuk, "different reports"),
        (fit([0, 1]), turned, "different reports"),
    ]
    for larger, smaller, saying in cases:
        with pytest.raises(InputError, match=saying):
            larger.compare(smaller)
    with pytest.raises(ParameterError, match="method = 'score'"):
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

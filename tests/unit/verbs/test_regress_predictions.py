"""Predictions with intervals, and the lie detector with one chance of honesty for all carriers."""

import numpy as np
import pytest
from scipy import optimize, stats
from tests.support.quiet import refused
from tests.support.regression import gradient_of, hessian_of
from tests.support.together import together

import maskwell as mw
from maskwell.errors import InputError, ParameterError

pytest.importorskip("pandas")

WARNER = mw.design("warner", p="0.8")
RNG = np.random.default_rng(7)
AGE, PLACE = RNG.uniform(20, 70, 600), np.where(RNG.random(600) < 0.5, "town", "country")
YES = RNG.random(600) < 1 / (1 + np.exp(-(-1 + 0.03 * (AGE - 45) + 0.5 * (PLACE == "town"))))
TABLE = {"y": np.where(YES ^ (RNG.random(600) < 0.2), "yes", "no"), "cov.age": AGE, "place": PLACE}
MODEL = mw.regress(TABLE, "y ~ log(cov.age) + place", {"y": WARNER})


def test_predictions_at_values_are_means_over_all_rows():
    made = MODEL.predictions(at={"cov.age": [30, 60], "place": "town"})
    assert made.terms == ("cov.age=30, place=town", "cov.age=60, place=town")

    def chance(beta, age):
        return 1 / (1 + np.exp(-(beta[0] + beta[1] * np.log(age) + beta[2])))

    beta = MODEL.params[["Intercept", "log(cov.age)", "place[T.town]"]].to_numpy()
    V = MODEL.cov_params().loc[*[["Intercept", "log(cov.age)", "place[T.town]"]] * 2].to_numpy()
    assert made.estimates == pytest.approx([chance(beta, 30), chance(beta, 60)])
    slope = gradient_of(lambda b: chance(b, 60), beta)
    assert made.standard_error[1] == pytest.approx(np.sqrt(slope @ V @ slope), rel=1e-6)
    # with all values given, the interval is that of the linear predictor
    row = np.array([1, np.log(60), 1])
    ends = row @ beta + np.array([-1, 1]) * stats.norm.ppf(0.95) * np.sqrt(row @ V @ row)
    assert made.confidence_interval(0.9)[1] == pytest.approx(1 / (1 + np.exp(-ends)), rel=1e-6)
    average = MODEL.predictions(at={"place": "country"}).estimates[0]
    assert average == pytest.approx(MODEL.predict({"cov.age": AGE, "place": ["country"] * 600}).mean())


def test_predictions_for_rows_are_those_of_predict():
    new = {"cov.age": [25.0, 50.0], "place": ["town", "country"]}
    made = MODEL.predictions(new)
    assert made.terms == ("row 1", "row 2") and made.estimates == pytest.approx(MODEL.predict(new))
    assert list(made.to_frame().columns) == ["estimate", "standard_error", "low", "high"]
    assert ((made.confidence_interval(0.999999) > 0) & (made.confidence_interval(0.999999) < 1)).all()
    rows = mw.estimation.regression.fit_logistic(AGE[:, None], TABLE["y"], WARNER)
    assert rows.predictions([[25.0], [50.0]]).estimates == pytest.approx(rows.predict([[25.0], [50.0]]))


@together(
    ("given", "said"),
    [
        ({}, "either data or at"),
        ({"at": {"age": [30]}}, "which is not a column"),
        ({"at": {"place": ["village"]}}, "is not a category of"),
        ({"at": {"cov.age": ["old"]}}, "must be a number, not"),
        ({"at": {"cov.age": range(20_000)}}, "20,000 predictions"),
    ],
)
def test_what_is_refused(given, said):
    refused((InputError, ParameterError), said, MODEL.predictions, **given)


# ---- the lie detector

DECKS = [mw.design("lie-detector", p=p) for p in ("2/12", "10/12")]
CHOICE = {"y": [mw.When({"deck": 0}, DECKS[0]), mw.When({"deck": 1}, DECKS[1])]}


def carriers(seed, n, t):
    rng = np.random.default_rng(seed)
    x, deck = rng.normal(size=n), np.arange(n) % 2
    carrier = rng.random(n) < 1 / (1 + np.exp(-(0.3 + 0.9 * x)))
    other = rng.random(n) < np.where(deck == 0, 10 / 12, 2 / 12)
    yes = np.where(carrier, rng.random(n) < t, other)
    return {"y": np.where(yes, "yes", "no"), "x": x, "deck": deck}


def honesty_twin(table):
    says = np.where(table["deck"] == 0, 10 / 12, 2 / 12)

    def likelihood(theta):
        share = 1 / (1 + np.exp(-(theta[0] + theta[1] * table["x"])))
        yes = share * theta[2] + (1 - share) * says
        return float(np.log(np.where(table["y"] == "yes", yes, 1 - yes)).sum())

    return likelihood


def test_carriers_and_honesty_are_estimated_together():
    table = carriers(3, 1500, 0.7)
    model, likelihood = mw.regress(table, "y ~ x", CHOICE, model="lie-detector"), honesty_twin(table)
    t = model.parameters[0]
    theta = np.append(model.estimates, t.estimate)
    assert model.log_likelihood == pytest.approx(likelihood(theta))
    assert np.abs(gradient_of(likelihood, theta)).max() < 1e-3
    covariance = np.linalg.inv(-hessian_of(likelihood, theta, 1e-4))
    assert [*model.standard_error, t.standard_error] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-3)
    for end in t.confidence_interval():
        best = optimize.minimize(lambda b, e=end: -likelihood([*b, e]), theta[:2], method="BFGS", tol=1e-4)
        assert 2 * (model.log_likelihood + best.fun) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-3)
    assert model.aic == pytest.approx(6 - 2 * model.log_likelihood)
    assert model.categories == ("carrier", "non-carrier")


def test_where_all_seem_honest_it_is_said():
    table = carriers(5, 1500, 1.0)
    model = mw.regress(table, "y ~ x", CHOICE, model="lie-detector")
    t, likelihood = model.parameters[0], honesty_twin(table)
    low, high = t.confidence_interval()
    assert (t.estimate, t.standard_error, high) == (1, None, 1)
    best = optimize.minimize(lambda b: -likelihood([*b, low]), model.estimates, method="BFGS", tol=1e-4)
    assert 2 * (model.log_likelihood + best.fun) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=1e-3)
    assert "t = 1" in model.flags[0]
    held = optimize.minimize(lambda b: -likelihood([*b, 1.0]), model.estimates, method="BFGS", tol=1e-5)
    assert model.estimates == pytest.approx(held.x, abs=1e-3)
    covariance = np.linalg.inv(-hessian_of(lambda b: likelihood([*b, 1.0]), model.estimates))
    assert model.standard_error == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-3)
    clustered = mw.regress(
        table, "y ~ x", CHOICE, model="lie-detector", sampling=mw.Sampling(clusters=np.arange(1500) // 10)
    )
    assert clustered.parameters[0].confidence_interval() == (0, 1)

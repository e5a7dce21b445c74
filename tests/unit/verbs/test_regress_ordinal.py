"""Ordered outcomes behind a device: ``model="ordinal"`` against the formulas written out."""

import numpy as np
import pytest
from scipy import optimize, stats
from tests.support.quiet import refused
from tests.support.regression import THREE, draw, gradient_of, hessian_of, log_likelihood
from tests.support.surveys import regress_with
from tests.support.together import together

import maskwell as mw
from maskwell.errors import InputError, ParameterError

pytest.importorskip("pandas")

LABELS = np.array(["never", "once", "often"])


def table_of(seed, n, design=THREE, thresholds=(0.2, 1.1), slopes=(0.8, -0.4)):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.integers(0, 2, n)
    true = np.digitize(x * slopes[0] + g * slopes[1] + rng.logistic(size=n), thresholds)
    return {"y": LABELS[draw(design.matrix(), true, rng)], "x": x, "g": g, "true": true}


def twin(table, P):
    """Slopes and thresholds written out: chances of categories by differences, then of the reports."""
    X = np.column_stack([table["x"], table["g"]])
    codes = np.array([LABELS.tolist().index(label) for label in table["y"]])

    def likelihood(theta):
        below = 1 / (1 + np.exp(-(theta[2:] - (X @ theta[:2])[:, None])))
        pi = np.diff(np.column_stack([np.zeros(len(X)), below, np.ones(len(X))]), axis=1)
        return float(np.log((P[codes] * pi).sum(axis=1)).sum())

    return likelihood


TABLE = table_of(1, 900)
MODEL = mw.regress(TABLE, "y ~ x + g", {"y": THREE}, model="ordinal")


def test_estimates_and_errors_are_those_of_the_formulas():
    likelihood = twin(TABLE, THREE.matrix())
    assert MODEL.terms == ("x", "g", "never|once", "once|often")
    assert MODEL.log_likelihood == pytest.approx(likelihood(MODEL.estimates), abs=1e-8)
    assert np.abs(gradient_of(likelihood, MODEL.estimates)).max() < 1e-4
    best = optimize.minimize(lambda theta: -likelihood(theta), [0, 0, -0.5, 0.5], method="BFGS", tol=1e-5)
    assert MODEL.estimates == pytest.approx(best.x, abs=1e-3)
    covariance = np.linalg.inv(-hessian_of(likelihood, MODEL.estimates))
    assert MODEL.covariance == pytest.approx(covariance, rel=1e-4, abs=1e-7)
    assert MODEL.aic == pytest.approx(8 - 2 * MODEL.log_likelihood)
    expected = regress_with(TABLE, "y ~ x + g", {"y": THREE}, model="ordinal", variance="expected")
    assert expected.standard_error == pytest.approx(MODEL.standard_error, rel=0.1)


def test_behind_a_device_that_changes_nothing_it_is_the_textbook_fit():
    plain = mw.designs.Dense.of(np.eye(3, dtype=int).tolist(), mw.Categories.of([*LABELS]))
    table = {**TABLE, "y": LABELS[TABLE["true"]]}
    model = mw.regress(table, "y ~ x + g", {"y": plain}, model="ordinal")
    assert np.abs(gradient_of(twin(table, np.eye(3)), model.estimates)).max() < 1e-4
    empty = mw.regress(table, "y ~ 1", {"y": plain}, model="ordinal")
    shares = np.cumsum(np.bincount(TABLE["true"]) / 900)[:2]
    assert empty.estimates == pytest.approx(np.log(shares / (1 - shares)))


def test_coefficients_are_recovered():
    """3,000 people, one fixed seed; each of the four within 4.5 standard errors (false alarms: 3e-5)."""
    model = mw.regress(table_of(5, 3000), "y ~ x + g", {"y": THREE}, model="ordinal")
    away = (model.estimates - [0.8, -0.4, 0.2, 1.1]) / model.standard_error
    assert np.abs(away).max() < 4.5
    wrong = (model.estimates - [0.0, -0.4, 0.2, 1.1]) / model.standard_error
    assert np.abs(wrong).max() > 4.5


def test_effects_and_predictions_follow_from_the_thresholds():
    x, g, (b, c, low, high) = TABLE["x"], TABLE["g"], MODEL.estimates

    def chances(theta, x):
        below = 1 / (1 + np.exp(-(theta[2:] - (theta[0] * x + theta[1] * g)[:, None])))
        return np.diff(np.column_stack([np.zeros(len(x)), below, np.ones(len(x))]), axis=1)

    def effect(theta):
        return ((chances(theta, x + 1e-5) - chances(theta, x - 1e-5)) / 2e-5).mean(axis=0)

    effects = MODEL.marginal_effects()
    assert effects.terms == tuple(f"{label}: {name}" for label in LABELS for name in ("x", "g"))
    assert effects.estimates[::2] == pytest.approx(effect(MODEL.estimates), abs=1e-8)
    assert effects.estimates[::2].sum() == pytest.approx(0)
    slope = gradient_of(lambda theta: effect(theta)[2], MODEL.estimates, 1e-4)
    assert effects.standard_error[4] == pytest.approx(np.sqrt(slope @ MODEL.covariance @ slope), rel=1e-4)
    predicted = MODEL.predictions(at={"x": [0.5]})
    assert predicted.estimates == pytest.approx(chances(MODEL.estimates, np.full(900, 0.5)).mean(axis=0))
    one = MODEL.predict({"x": [1.0], "g": [1]})[0]
    assert one[0] == pytest.approx(1 / (1 + np.exp(-(low - b - c))))
    assert one[2] == pytest.approx(1 - 1 / (1 + np.exp(-(high - b - c))))


def test_odds_that_are_not_proportional_are_noticed():
    """The score test: p is spread evenly where they are, and small where a predictor acts at one threshold only."""
    values = [
        mw.regress(table_of(seed, 300), "y ~ x + g", {"y": THREE}, model="ordinal").checks[0].p_value
        for seed in range(10)
    ]
    assert stats.kstest(values, "uniform").pvalue > 1e-4
    rng = np.random.default_rng(3)
    x = rng.normal(size=2000)
    true = np.where(rng.random(2000) < 0.4, 0, np.where(rng.random(2000) < 1 / (1 + np.exp(-2 * x)), 2, 1))
    table = {"y": LABELS[draw(THREE.matrix(), true, rng)], "x": x}
    check = mw.regress(table, "y ~ x", {"y": THREE}, model="ordinal").checks[0]
    assert check.p_value < 1e-4 and check.sentence().startswith("of proportional odds: score test, chi2(1) = ")


def test_a_category_that_nobody_seems_to_be_in():
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    true = np.where(rng.random(400) < 1 / (1 + np.exp(-x)), 2, 0)
    reports = draw(THREE.matrix(), true, rng)
    keep = (reports != 1) | (rng.random(400) < 0.5)  # fewer reports of "once" than chance alone makes
    model = mw.regress({"y": LABELS[reports][keep], "x": x[keep]}, "y ~ x", {"y": THREE}, model="ordinal")
    assert model.converged
    assert model.flags == ("nobody is estimated to be in once: its two thresholds are the same",)
    assert model.estimates[1] == pytest.approx(model.estimates[2], abs=1e-3)
    assert np.isfinite(model.standard_error).all()


def test_smaller_models_and_weights():
    smaller = mw.regress(TABLE, "y ~ x", {"y": THREE}, model="ordinal")
    ratio, wald = MODEL.compare(smaller), MODEL.compare(smaller, method="wald")
    assert (ratio.df, wald.p_value) == (1, pytest.approx(MODEL.p_values[1]))
    assert ratio.statistic == pytest.approx(2 * (MODEL.llf - smaller.llf))
    weighted = mw.regress(
        TABLE, "y ~ x + g", {"y": THREE}, model="ordinal", sampling=mw.Sampling(weights=np.full(900, 2.0))
    )
    assert weighted.estimates == pytest.approx(MODEL.estimates, abs=1e-6) and weighted.checks == ()
    assert MODEL.llnull == pytest.approx(
        max(log_likelihood(np.array([a, b]), np.ones((900, 1)), _codes(), THREE.matrix()) for a, b in [_null()])
    )


def _codes():
    return np.array([LABELS.tolist().index(label) for label in TABLE["y"]])


def _null():
    shares = THREE.solve(np.bincount(_codes()) / 900)
    return np.log(shares[0] / shares[2]), np.log(shares[1] / shares[2])


@together(
    ("formula", "design", "more", "kind", "said"),
    [
        ("y ~ 0 + x", THREE, {}, InputError, "an ordinal regression needs its intercept"),
        ("y ~ x", THREE, {"reference": "never"}, ParameterError, "reference"),
        ("y ~ x + (1 | g)", THREE, {}, ParameterError, "random intercept"),
        ("y ~ x", THREE, {"model": "probit"}, ParameterError, "probit"),
        (
            "y ~ x",
            THREE,
            {"model": "lie-detector"},
            ParameterError,
            "the lie detector model needs lie-detector designs",
        ),
    ],
)
def test_what_is_refused(formula, design, more, kind, said):
    refused(kind, said, regress_with, TABLE, formula, {"y": design}, **{"model": "ordinal", **more})

import pydoc

import numpy as np
import pytest
from tests.support.regression import (
    DIRECT,
    FORCED,
    KUK,
    THREE,
    WARNER,
    draw,
    gradient_of,
    log_likelihood,
    logistic_data,
    plain_newton,
)

import maskwell as mw
from maskwell.errors import InputError, MissingValueError, NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation.regression import fit_logistic, fit_multinomial
from maskwell.estimation.regression.likelihood_search import climb
from maskwell.estimation.regression.model_matrix import ModelMatrix
from maskwell.estimation.regression.regression_likelihood import Likelihood
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_likelihoods import Logit, Softmax


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def test_a_direct_question_gives_ordinary_logistic_regression():
    """Frozen numbers of an ordinary logistic regression (another library, same data)."""
    x = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0])
    y = np.array([0, 0, 1, 0, 1, 0, 1, 1, 0, 1])
    found = fit_logistic(x, 1 - y, DIRECT, codes=True)
    np.testing.assert_allclose(found.estimates, [-1.61490934, 0.58723976], atol=1e-7)
    np.testing.assert_allclose(found.standard_error, [1.5588859, 0.50925324], atol=1e-7)
    assert found.llf == pytest.approx(-6.162975401238) and found.llnull == pytest.approx(-6.931471805599)
    assert found.aic == pytest.approx(16.3259508) and found.bic == pytest.approx(16.931120988)
    assert found.prsquared == pytest.approx(0.11087059515)
    effect = found.marginal_effects()
    assert effect.estimates[0] == pytest.approx(0.1252444, abs=1e-7)
    assert effect.standard_error[0] == pytest.approx(0.07770956, abs=1e-7)


@pytest.mark.parametrize(("design", "model"), [(WARNER, Logit), (KUK, Softmax), (THREE, Softmax)])
def test_gradient_and_information_are_derivatives(design, model):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2)) * [1, 20] + [0, 50]
    z = rng.integers(0, design.m, 200)
    weights = rng.uniform(0.5, 2, 200)
    matrix = ModelMatrix.of([X], ("Intercept", "a", "b"), with_ones=True)
    likelihood = Likelihood.shared(model(Evidence.of(z, design, codes=True)), matrix, weights)
    theta = rng.normal(size=likelihood.p) * 0.5
    at = likelihood.derivatives(theta)
    assert at.value == pytest.approx(
        log_likelihood(likelihood.back @ theta, with_ones(X), z, design.matrix(), weights), abs=1e-9
    )
    np.testing.assert_allclose(at.gradient, gradient_of(likelihood.value, theta), rtol=1e-6, atol=1e-6)
    bend = -np.array(gradient_of(lambda t: likelihood.derivatives(t).gradient, theta))
    np.testing.assert_allclose(at.information, bend, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("design", [WARNER, KUK, THREE])
def test_expected_information_is_the_mean_of_the_observed_one(design):
    rng = np.random.default_rng(4)
    X, k = rng.normal(size=(6, 1)), design.k
    matrix = ModelMatrix.of([X], ("Intercept", "a"), with_ones=True)
    model = Logit if k == 2 else Softmax
    theta = rng.normal(size=2 * (k - 1)) * 0.5
    eta = np.column_stack([with_ones(X) @ (np.reshape(matrix.back @ theta[:2], 2)), np.zeros(6)])
    likelihood = Likelihood.shared(model(Evidence.of(np.zeros(6, dtype=int), design, codes=True)), matrix, None)
    full = likelihood.back @ theta
    eta = np.column_stack([with_ones(X) @ full.reshape(k - 1, 2).T, np.zeros(6)])
    pi = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    lam = pi @ design.matrix().T
    mean = sum(
        Likelihood.shared(model(Evidence.of(np.full(6, z), design, codes=True)), matrix, lam[:, z])
        .derivatives(theta)
        .information
        for z in range(design.m)
    )
    np.testing.assert_allclose(likelihood.expected(theta), mean, rtol=1e-9, atol=1e-12)


def test_weights_count_like_repeated_rows():
    X, z = logistic_data(500, [-0.2, 0.5])
    times = np.random.default_rng(0).integers(1, 5, 500)
    weighted = fit_logistic(X, z, WARNER, variance="observed", codes=True, plan=mw.Sampling(weights=times))
    repeated = fit_logistic(np.repeat(X, times, axis=0), np.repeat(z, times), WARNER, codes=True)
    np.testing.assert_allclose(weighted.estimates, repeated.estimates, atol=1e-9)
    smaller = repeated.standard_error * np.sqrt(times.mean())  # weights have no unit: there are still 500 rows
    np.testing.assert_allclose(weighted.standard_error, smaller, rtol=1e-7)
    assert weighted.llf == pytest.approx(repeated.llf / times.mean())
    assert weighted.llnull == pytest.approx(repeated.llnull / times.mean())


def test_rows_may_be_many_have_different_designs_or_an_intercept_alone():
    X, z = logistic_data(4000, [-0.5, 0.7], WARNER, seed=5)
    Y, u = logistic_data(4000, [-0.5, 0.7], DIRECT, seed=6)
    both = fit_logistic(
        np.vstack([X, Y]), np.concatenate([z, u]), [WARNER, DIRECT], groups=np.repeat([0, 1], 4000), codes=True
    )
    P = np.concatenate([WARNER.matrix(), DIRECT.matrix()])
    beta, _ = plain_newton(with_ones(np.vstack([X, Y])), np.concatenate([z, u + 2]), P)
    np.testing.assert_allclose(both.estimates, beta, atol=1e-9)
    assert (both.standard_error < fit_logistic(Y, u, DIRECT, codes=True).standard_error).all()
    X, z = logistic_data(80_000, [-0.4, 0.8])
    found = fit_logistic(X, z, WARNER, codes=True)
    np.testing.assert_allclose(found.estimates, plain_newton(with_ones(X), z, WARNER.matrix())[0], atol=1e-9)
    z = np.repeat([0, 1], [120, 180])
    found = fit_logistic(np.empty((300, 0)), z, WARNER, codes=True)
    assert found.predict()[0] == pytest.approx((0.4 - 0.2) / 0.6) and found.llf == pytest.approx(found.llnull)


def test_a_saturated_table_is_recovered_and_fisher_climbs_where_newton_would_go_down():
    rng = np.random.default_rng(8)
    x = rng.integers(0, 2, 20_000)
    truth = np.where(rng.random(20_000) < 0.3, 0, np.where(rng.random(20_000) < 0.5 + 0.2 * x, 1, 2))
    z = draw(THREE.matrix(), truth, rng)
    found = fit_multinomial(x[:, None], z, THREE, names=["x"], codes=True)
    shares = np.array([np.bincount(z[x == g], minlength=3) / (x == g).sum() for g in (0, 1)])
    moments = (shares - 1 / 6) / 0.5
    np.testing.assert_allclose(found.predict([[0.0], [1.0]]), moments, atol=1e-8)
    assert found.terms == ("never: Intercept", "never: x", "once: Intercept", "once: x")
    assert found.family == "multinomial"
    X, z = logistic_data(1000, [-0.4, 0.8])
    matrix = ModelMatrix.of([X], ("Intercept", "a"), with_ones=True)
    likelihood = Likelihood.shared(Logit(Evidence.of(z, WARNER, codes=True)), matrix, None)
    far = np.array([3.0, -3.0])
    assert np.linalg.eigvalsh(likelihood.derivatives(far).information)[0] < 0  # not concave there
    found = climb(likelihood, far)
    assert found.converged
    np.testing.assert_allclose(matrix.back @ found.theta, fit_logistic(X, z, WARNER, codes=True).estimates, atol=1e-8)


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 2, 900)])
    z = draw(THREE.matrix(), rng.integers(0, 3, 900), rng)
    return X, fit_multinomial(
        X, z, THREE, names=["a", "b"], codes=True, plan=mw.Sampling(weights=rng.uniform(1, 3, 900))
    )


def chances(found, X, beta):
    return found.margins.at(beta, np.column_stack([np.ones(len(X)), X])).reshape(len(X), -1)


@pytest.mark.parametrize("dummy", [False, True])
def test_effects_of_several_categories_are_mean_derivatives(several, dummy):
    X, found = several
    weights = found.margins.weights / found.margins.weights.sum()

    def effects(beta):
        step, out = 1e-6, []
        for j in range(2):
            up, down = X.copy(), X.copy()
            up[:, j], down[:, j] = (1.0, 0.0) if dummy and j == 1 else (up[:, j] + step, down[:, j] - step)
            width = 1.0 if dummy and j == 1 else 2 * step
            out.append(weights @ (chances(found, up, beta) - chances(found, down, beta)) / width)
        return np.array(out).T.ravel()

    effect = found.marginal_effects(dummy=dummy)
    assert effect.terms == ("never: a", "never: b", "once: a", "once: b", "often: a", "often: b")
    np.testing.assert_allclose(effect.estimates, effects(found.estimates), atol=1e-8)
    J = gradient_of(effects, found.estimates, 1e-4).T
    np.testing.assert_allclose(effect.covariance, J @ found.covariance @ J.T, rtol=1e-3, atol=1e-9)
    assert np.allclose(effect.estimates.reshape(3, 2).sum(axis=0), 0)


def test_what_cannot_be_fitted_is_refused():
    X, z = logistic_data(50, [0.0, 1.0])
    wide, codes = logistic_data(100, [0.0, 1.0, 1.0])
    coin = mw.designs.Dense.of([["0.5", "0.5"], ["0.5", "0.5"]])
    sets = mw.designs.Subset.from_gamma(3, mw.Categories.numbered(4), size=2)
    triangular = mw.designs.Dense.of([["1", "0.5"], ["0", "0.5"], ["0", "0"]])
    gap = np.where(np.arange(50)[:, None] == 7, np.nan, X)
    summed, flat = np.column_stack([wide, wide.sum(axis=1)]), np.column_stack([wide, np.full(100, 3.0)])
    for error, said, columns, reports, design in (
        (InputError, r"column 'c' is a combination of the columns 'a', 'b'", summed, codes, WARNER),
        (InputError, "column 'c' is a combination of the columns 'Intercept'", flat, codes, WARNER),
        (InputError, "is zero in every row", np.column_stack([wide, np.zeros(100)]), codes, WARNER),
        (NotIdentifiableError, "this design cannot distinguish 2 categories", X, z, coin),
        (ParameterError, "two categories; this design has 3", X, z, THREE),
        (ReportError, "all 50 reports are the same", X, np.zeros(50, dtype=int), WARNER),
        (ReportError, "49 reports for 50 rows", X, z[1:], WARNER),
        (InputError, "2 rows are too few for 2 coefficients", X[:2], [0, 1], WARNER),
        (MissingValueError, "'a': 1 of 50 values are missing", gap, z, WARNER),
        (ReportError, r"not within 0\.\.m-1", X, z + 1, WARNER),
        (ReportError, "not from", X, FORCED.sample(z), WARNER),
        (ReportError, "reports sets", X, z, sets),
        (ReportError, "impossible under the stated design", np.arange(4.0), [0, 1, 2, 0], triangular),
    ):
        with pytest.raises(error, match=said):
            fit_logistic(columns, reports, design, names=["a", "b", "c"][: np.shape(columns[:1])[-1]], codes=True)
    with pytest.raises(InputError, match="the model has 2 columns"):
        fit_logistic(wide, codes, WARNER, codes=True).predict(np.ones((3, 5)))


def test_help_says_what_the_attributes_of_a_regression_are() -> None:
    said = pydoc.plain(pydoc.render_doc(mw.estimation.regression.Regression))
    for name, words in (
        ("bse", "Standard errors of the coefficients."),
        ("llf", "The log-likelihood at the estimates."),
    ):
        assert f" |  {name}\n |      {words}\n" in said

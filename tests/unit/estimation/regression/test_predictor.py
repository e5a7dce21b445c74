import numpy as np
import pytest
from tests.support.regression import DIRECT, KUK, THREE, WARNER, draw, gradient_of

import maskwell as mw
from maskwell.errors import InputError, MissingValueError, NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation.regression import (
    Anchor,
    RandomizedPredictor,
    estimate_with_anchor,
    fit_predictor,
    fit_with_anchor,
)
from maskwell.estimation.regression.anchor_models import AnchorRows
from maskwell.estimation.regression.model_matrix import ModelMatrix
from maskwell.estimation.regression.regression_likelihood import Likelihood, Predictor
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_likelihoods import MixtureRows


def mixture(outcome, predictor, seed=0, n=60):
    rng = np.random.default_rng(seed)
    y, z = rng.integers(0, outcome.m, n), rng.integers(0, predictor.m, n)
    w, k = rng.normal(size=n), predictor.k
    versions = [np.column_stack([np.ones(n), *(np.full(n, j == c) for c in range(k - 1)), w]) for j in range(k)]
    matrix = ModelMatrix.of(versions, [f"x{i}" for i in range(k + 1)])
    latent = ModelMatrix.of([w[:, None]], ("Intercept", "w"), with_ones=True)
    width = outcome.k - 1
    predictors = [Predictor(0, j, a * matrix.p) for j in range(k) for a in range(width)]
    predictors += [Predictor(1, 0, width * matrix.p + c * 2) for c in range(k - 1)]
    rows = MixtureRows(Evidence.of(y, outcome, codes=True), Evidence.of(z, predictor, codes=True))
    return Likelihood(rows, (matrix, latent), tuple(predictors), rng.uniform(0.5, 2, n))


@pytest.mark.parametrize(("outcome", "predictor"), [(DIRECT, WARNER), (WARNER, KUK), (THREE, THREE), (DIRECT, THREE)])
def test_louis_information_is_the_derivative_of_the_gradient(outcome, predictor):
    likelihood = mixture(outcome, predictor)
    theta = np.random.default_rng(1).normal(size=likelihood.p) * 0.5
    at = likelihood.derivatives(theta)
    np.testing.assert_allclose(at.gradient, gradient_of(likelihood.value, theta), rtol=1e-6, atol=1e-6)
    bend = -np.array(gradient_of(lambda t: likelihood.derivatives(t).gradient, theta))
    np.testing.assert_allclose(at.information, bend, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_attention_has_the_right_derivatives(shared):
    rng = np.random.default_rng(2)
    n = 50
    rows = AnchorRows(rng.integers(0, 2, n) * 1.0, rng.integers(0, 2, n) * 1.0, (0.15, 0.85), 0.9, shared)
    matrix = ModelMatrix.of([rng.normal(size=(n, 1))], ("Intercept", "a"), with_ones=True)
    likelihood = Likelihood(rows, (matrix, matrix), (Predictor(0, 0, 0), Predictor(1, 0, 2)), None)
    theta = rng.normal(size=4) * 0.5
    at = likelihood.derivatives(theta)
    np.testing.assert_allclose(at.gradient, gradient_of(likelihood.value, theta), rtol=1e-6, atol=1e-7)
    bend = -np.array(gradient_of(lambda t: likelihood.derivatives(t).gradient, theta))
    np.testing.assert_allclose(at.information, bend, rtol=1e-5, atol=1e-6)
    assert np.linalg.eigvalsh(likelihood.expected(theta))[0] > 0


def test_expected_information_of_a_mixture_is_the_mean_over_all_reports():
    likelihood = mixture(WARNER, KUK, n=5)
    theta = np.random.default_rng(1).normal(size=likelihood.p) * 0.5
    mean = np.zeros((likelihood.p, likelihood.p))
    for y in range(WARNER.m):
        for z in range(KUK.m):
            first, second = ((y, WARNER), (z, KUK))
            rows = MixtureRows(*(Evidence.of(np.full(5, one), d, codes=True) for one, d in (first, second)))
            for i in range(5):
                alone = np.eye(5)[i]
                one = Likelihood(rows, likelihood.matrices, likelihood.predictors, alone)
                chance = np.exp(one.value(theta))
                mean += chance * likelihood.weights[i] * one.derivatives(theta).information
    np.testing.assert_allclose(likelihood.expected(theta), mean, rtol=1e-8, atol=1e-10)


CROSSWISE = mw.design("crosswise", q="0.15")


def inattentive(n, share, gamma, rng):
    """Reports and anchor reports of n respondents, of whom some answer both at random."""
    z = draw(CROSSWISE.matrix(), np.where(rng.random(n) < share, 0, 1), rng)
    anchor = draw(CROSSWISE.matrix(), np.ones(n, dtype=int), rng)
    lost = rng.random(n) >= gamma
    return np.where(lost, rng.integers(0, 2, n), z), np.where(lost, rng.integers(0, 2, n), anchor)


@pytest.mark.statistical
def test_a_regression_recovers_its_coefficients():
    """Six standard errors: a false alarm in 5e8 for each coefficient."""
    rng = np.random.default_rng(2)
    n = 30_000
    x = rng.normal(size=n)
    z = draw(CROSSWISE.matrix(), np.where(rng.random(n) < 1 / (1 + np.exp(-(-1 + 0.7 * x))), 0, 1), rng)
    anchor = draw(CROSSWISE.matrix(), np.ones(n, dtype=int), rng)
    lost = rng.random(n) >= 1 / (1 + np.exp(-(1.2 + 0.5 * x)))
    z, anchor = np.where(lost, rng.integers(0, 2, n), z), np.where(lost, rng.integers(0, 2, n), anchor)
    for attention in ("separate", "shared"):
        found = fit_with_anchor(x, z, CROSSWISE, Anchor(anchor, CROSSWISE), attention=attention, codes=True)
        assert (np.abs(found.estimates - [-1, 0.7]) < 6 * found.standard_error).all()
        assert (np.abs(found.latent.estimates - [1.2, 0.5]) < 6 * found.latent.standard_error).all()
    naive = mw.estimation.regression.fit_logistic(x, z, CROSSWISE, codes=True)
    assert abs(naive.estimates[1] - 0.7) > 6 * naive.standard_error[1]


def test_attention_may_be_the_same_for_all():
    rng = np.random.default_rng(3)
    z, anchor = inattentive(4000, 0.3, 0.7, rng)
    how = {"attention_predictors": False, "variance": "sandwich", "codes": True}
    found = fit_with_anchor(np.empty((4000, 0)), z, CROSSWISE, Anchor(anchor, CROSSWISE), **how)
    shares = estimate_with_anchor(z, CROSSWISE, Anchor(anchor, CROSSWISE), codes=True)
    assert found.predict()[0] == pytest.approx(shares.corrected, abs=1e-8)
    assert 1 / (1 + np.exp(-found.latent.estimates[0])) == pytest.approx(shares.attentive, abs=1e-8)
    slope = shares.corrected * (1 - shares.corrected)
    assert found.standard_error[0] * slope == pytest.approx(shares.standard_error[1], rel=1e-3)


def test_what_does_not_fit_is_refused_or_flagged():
    z, y = np.array([0, 1] * 20), np.array([0, 0, 1, 1] * 10)
    x, gap = RandomizedPredictor(z, WARNER, codes=True), np.where(np.arange(40) == 3, np.nan, y)
    w = np.array([0, 1] * 50)
    for error, said, call in (
        (InputError, "zeros and ones", lambda: fit_predictor(y + 1, x)),
        (
            InputError,
            "family must be logistic, multinomial or linear, not 'probit'",
            lambda: fit_predictor(y, x, family="probit"),
        ),
        (MissingValueError, "1 of 40 values are missing", lambda: fit_predictor(gap, x, family="linear")),
        (InputError, "the outcome has shape", lambda: fit_predictor(y[1:], x, family="linear")),
        (ReportError, "100 reports and 99 anchor reports", lambda: anchored(w, CROSSWISE, w[1:])),
        (ParameterError, "has 4 for 2", lambda: anchored(w, KUK, w)),
        (NotIdentifiableError, "like a fair coin", lambda: anchored(w, CROSSWISE, w, 0.5)),
        (ParameterError, r"anchor_share must be between 0 and 1, not 20", lambda: anchored(w, CROSSWISE, w, 20)),
        (ReportError, r"not within 0\.\.m-1", lambda: anchored(w + 1, CROSSWISE, w)),
    ):
        with pytest.raises(error, match=said):
            call()
    with pytest.raises(ParameterError, match="attention must be 'separate' or 'shared', not 'half'"):
        fit_with_anchor(w * 1.0, w, CROSSWISE, Anchor(w, CROSSWISE), attention="half", codes=True)
    odd = anchored(np.zeros(100, int), CROSSWISE, np.r_[np.zeros(99, int), 1])
    assert any("outside (0, 1]" in flag for flag in odd.flags)


def anchored(reports, design, anchor, *share):
    return estimate_with_anchor(reports, design, Anchor(anchor, CROSSWISE, *share), codes=True)

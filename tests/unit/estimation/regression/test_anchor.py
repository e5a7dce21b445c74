import numpy as np
import pytest
from tests.support.regression import KUK, draw

import maskwell as mw
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError
from maskwell.estimation.regression import estimate_with_anchor, fit_with_anchor

CROSSWISE = mw.design("crosswise", q="0.15")


def inattentive(n, share, gamma, rng):
    """Reports and anchor reports of n respondents, of whom some answer both at random."""
    z = draw(CROSSWISE.matrix(), np.where(rng.random(n) < share, 0, 1), rng)
    anchor = draw(CROSSWISE.matrix(), np.ones(n, dtype=int), rng)
    lost = rng.random(n) >= gamma
    return np.where(lost, rng.integers(0, 2, n), z), np.where(lost, rng.integers(0, 2, n), anchor)


@pytest.mark.statistical
def test_shares_and_their_errors_over_many_surveys():
    """400 surveys: means within 6 errors of the truth, variances within 45 % (six times sqrt(2 / 400))."""
    rng = np.random.default_rng(1)
    found = [
        estimate_with_anchor(*inattentive(1500, 0.2, 0.8, rng), CROSSWISE, CROSSWISE, codes=True) for _ in range(400)
    ]
    values = np.array([one.estimates for one in found])
    mean, spread = values.mean(axis=0), values.var(axis=0)
    assert (np.abs(mean[1:] - [0.2, 0.8]) < 6 * np.sqrt(spread[1:] / 400) + 0.002).all(), mean
    assert mean[0] - 0.2 > 10 * np.sqrt(spread[0] / 400)  # the naive share is biased upwards
    said = np.mean([np.diag(one.covariance) for one in found], axis=0)
    assert (np.abs(said / spread - 1) < 0.45).all(), said / spread


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
        found = fit_with_anchor(x, z, anchor, CROSSWISE, CROSSWISE, attention=attention, codes=True)
        assert (np.abs(found.estimates - [-1, 0.7]) < 6 * found.standard_error).all()
        assert (np.abs(found.latent.estimates - [1.2, 0.5]) < 6 * found.latent.standard_error).all()
    naive = mw.estimation.regression.fit_logistic(x, z, CROSSWISE, codes=True)
    assert abs(naive.estimates[1] - 0.7) > 6 * naive.standard_error[1]


def test_attention_may_be_the_same_for_all():
    rng = np.random.default_rng(3)
    z, anchor = inattentive(4000, 0.3, 0.7, rng)
    found = fit_with_anchor(
        np.empty((4000, 0)),
        z,
        anchor,
        CROSSWISE,
        CROSSWISE,
        attention_predictors=False,
        variance="sandwich",
        codes=True,
    )
    shares = estimate_with_anchor(z, anchor, CROSSWISE, CROSSWISE, codes=True)
    assert found.predict()[0] == pytest.approx(shares.corrected, abs=1e-8)
    assert 1 / (1 + np.exp(-found.latent.estimates[0])) == pytest.approx(shares.attentive, abs=1e-8)
    slope = shares.corrected * (1 - shares.corrected)
    assert found.standard_error[0] * slope == pytest.approx(shares.standard_error[1], rel=1e-3)


def test_what_does_not_fit_is_refused_or_flagged():
    z = np.array([0, 1] * 50)
    with pytest.raises(ReportError, match="100 reports and 99 anchor reports"):
        estimate_with_anchor(z, z[1:], CROSSWISE, CROSSWISE, codes=True)
    with pytest.raises(ParameterError, match="4 reports for 2 categories"):
        estimate_with_anchor(z, z, KUK, CROSSWISE, codes=True)
    with pytest.raises(NotIdentifiableError, match="like a coin"):
        estimate_with_anchor(z, z, CROSSWISE, CROSSWISE, anchor_share=0.5, codes=True)
    with pytest.raises(ParameterError, match=r"anchor_share = 20"):
        estimate_with_anchor(z, z, CROSSWISE, CROSSWISE, anchor_share=20, codes=True)
    with pytest.raises(ReportError, match=r"outside 0\.\.m-1"):
        estimate_with_anchor(z + 1, z, CROSSWISE, CROSSWISE, codes=True)
    with pytest.raises(ParameterError, match="attention = 'half'"):
        fit_with_anchor(z * 1.0, z, z, CROSSWISE, CROSSWISE, attention="half", codes=True)
    odd = estimate_with_anchor(np.zeros(100, int), np.r_[np.zeros(99, int), 1], CROSSWISE, CROSSWISE, codes=True)
    assert any("outside (0, 1]" in flag for flag in odd.flags)

"""Intervals of regressions cover what made the data, at their level; what forgets the randomization does not.

200 made-up surveys each. Hits are judged by the binomial distribution, and errors over their standard errors by the
chi-square distribution of their squares, each with a false alarm in 100,000 over all coefficients and seeds where
coverage is within a point and variances within a twentieth. The squares find a variance that is two fifths too small or
three quarters too large, which hits alone would need 400 surveys for, and never find if too large. Seeds are fixed.
"""

import numpy as np
import pytest
from tests.support.coverage import Coverage, Errors
from tests.support.regression import DIRECT, KUK, THREE, WARNER, draw

from maskwell import Sampling
from maskwell.estimation.regression import RandomizedPredictor, fit_logistic, fit_multinomial, fit_predictor

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
SURVEYS, RATE = 200, 1e-5


def coverage_of(fits, truth):
    ends = np.array([fit.confidence_interval() for fit in fits])
    return Coverage(((ends[..., 0] <= truth) & (truth <= ends[..., 1])).sum(axis=0), len(fits))


def errors_of(fits, truth):
    return Errors(sum(((fit.estimates - truth) / fit.standard_error) ** 2 for fit in fits), len(fits))


def check(fits, truth, *, points=0.01, variance=0.05):
    """Coverage within so many points of 95 %, variances within such a share of the right ones."""
    coverage, errors = coverage_of(fits, truth), errors_of(fits, truth)
    assert coverage.is_nominal(0.95, slack=points, rate=RATE), coverage.shares
    assert errors.are_as_stated(slack=variance, rate=RATE), errors.squares / SURVEYS


@pytest.mark.parametrize("design", [WARNER, KUK], ids=["warner", "kuk"])
def test_logistic_intervals_cover(design):
    rng, truth, fits, naive = np.random.default_rng(1), np.array([-0.4, 0.7]), [], []
    for _ in range(SURVEYS):
        x = rng.normal(size=700)
        yes = rng.random(700) < 1 / (1 + np.exp(-(truth[0] + truth[1] * x)))
        z = draw(design.matrix(), np.where(yes, 0, 1), rng)
        fits.append(fit_logistic(x, z, design, codes=True))
        if design.m == 2:
            naive.append(fit_logistic(x, z, DIRECT, codes=True))
    check(fits, truth)
    assert not naive or coverage_of(naive, truth).shares[1] < 0.7  # reports taken for the truth


def test_clustered_intervals_cover():
    """Forty clusters that differ, weights that go with the predictor."""
    rng, fits, simple = np.random.default_rng(2), [], []
    truth = np.array([0.0, 0.3 / np.sqrt(1 + 0.346)])  # averaged over the clusters, to a good approximation
    cluster = np.repeat(np.arange(40), 20)
    for _ in range(SURVEYS):
        x, shift = rng.normal(size=40)[cluster], rng.normal(size=40)[cluster]
        yes = rng.random(800) < 1 / (1 + np.exp(-(0.3 * x + shift)))
        z = draw(WARNER.matrix(), np.where(yes, 0, 1), rng)
        fits.append(fit_logistic(x, z, WARNER, codes=True, plan=Sampling(clusters=cluster)))
        simple.append(fit_logistic(x, z, WARNER, codes=True))
    check(fits, truth, points=0.025, variance=0.2)  # forty clusters are few: up to 1.5 points below
    assert (coverage_of(simple, truth).shares < 0.9).all()  # forgetting the clusters shows
    assert not errors_of(simple, truth).are_as_stated(slack=0.2, rate=RATE)


def test_multinomial_intervals_cover():
    rng, truth, fits = np.random.default_rng(3), np.array([0.3, 0.5, -0.2, -0.4]), []
    for _ in range(SURVEYS):
        x = rng.normal(size=1500)
        eta = np.column_stack([truth[0] + truth[1] * x, truth[2] + truth[3] * x, np.zeros(1500)])
        chance = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        category = (rng.random(1500)[:, None] >= np.cumsum(chance, axis=1)).sum(axis=1)
        fits.append(fit_multinomial(x, draw(THREE.matrix(), category, rng), THREE, codes=True))
    check(fits, truth)


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_intervals_for_a_randomized_predictor_cover(family):
    rng, truth, fits = np.random.default_rng(4), np.array([-0.5, 0.9, 0.4]), []
    for _ in range(SURVEYS):
        w = rng.normal(size=1200)
        x = np.where(rng.random(1200) < 0.45, 0, 1)
        mean = truth[0] + truth[1] * (x == 0) + truth[2] * w
        y = mean + rng.normal(size=1200)
        if family == "logistic":
            y = (rng.random(1200) < 1 / (1 + np.exp(-mean))).astype(int)
        z = draw(WARNER.matrix(), x, rng)
        fits.append(fit_predictor(y, RandomizedPredictor(z, WARNER, codes=True), w, family=family))
    check(fits, truth)

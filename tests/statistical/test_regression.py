"""Intervals of regressions cover what made the data, at their level; what forgets the randomization does not.

400 made-up surveys each: the share of intervals that cover has a standard error of 1.1 points at 95 %, and a bar of 5.5
points is five of them: by the binomial distribution a false alarm in 160,000 for each coefficient. Seeds are fixed.
"""

import numpy as np
import pytest
from tests.support.regression import DIRECT, FORCED, KUK, THREE, WARNER, draw

from maskwell.estimation.regression import fit_logistic, fit_multinomial, fit_predictor

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
SURVEYS = 400
BAR = 0.055


def covered(found, truth):
    low, high = found.confidence_interval().T
    return (low <= truth) & (truth <= high)


@pytest.mark.parametrize("design", [WARNER, FORCED, KUK], ids=["warner", "forced", "kuk"])
def test_logistic_intervals_cover(design):
    rng, truth, hits, naive = np.random.default_rng(1), np.array([-0.4, 0.7]), [], []
    for _ in range(SURVEYS):
        x = rng.normal(size=700)
        yes = rng.random(700) < 1 / (1 + np.exp(-(truth[0] + truth[1] * x)))
        z = draw(design.matrix(), np.where(yes, 0, 1), rng)
        hits.append(covered(fit_logistic(x, z, design, codes=True), truth))
        if design.m == 2:
            naive.append(covered(fit_logistic(x, z, DIRECT, codes=True), truth))
    assert (np.abs(np.mean(hits, axis=0) - 0.95) < BAR).all(), np.mean(hits, axis=0)
    assert not naive or np.mean(naive, axis=0)[1] < 0.7  # reports taken for the truth


def test_clustered_intervals_cover():
    """Forty clusters that differ, weights that go with the predictor."""
    rng, hits, simple = np.random.default_rng(2), [], []
    cluster = np.repeat(np.arange(40), 20)
    for _ in range(SURVEYS):
        x, shift = rng.normal(size=40)[cluster], rng.normal(size=40)[cluster]
        yes = rng.random(800) < 1 / (1 + np.exp(-(0.3 * x + shift)))
        z = draw(WARNER.matrix(), np.where(yes, 0, 1), rng)
        truth = np.array([0.0, 0.3 / np.sqrt(1 + 0.346)])  # averaged over the clusters, to a good approximation
        hits.append(covered(fit_logistic(x, z, WARNER, clusters=cluster, codes=True), truth))
        simple.append(covered(fit_logistic(x, z, WARNER, codes=True), truth))
    share = np.mean(hits, axis=0)
    assert (np.abs(share - 0.95) < BAR + 0.015).all(), share  # forty clusters are few: up to 1.5 points below
    assert (np.mean(simple, axis=0) < 0.9).all()  # forgetting the clusters shows


def test_multinomial_intervals_cover():
    rng, truth, hits = np.random.default_rng(3), np.array([0.3, 0.5, -0.2, -0.4]), []
    for _ in range(SURVEYS):
        x = rng.normal(size=1500)
        eta = np.column_stack([truth[0] + truth[1] * x, truth[2] + truth[3] * x, np.zeros(1500)])
        chance = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        category = (rng.random(1500)[:, None] >= np.cumsum(chance, axis=1)).sum(axis=1)
        hits.append(covered(fit_multinomial(x, draw(THREE.matrix(), category, rng), THREE, codes=True), truth))
    assert (np.abs(np.mean(hits, axis=0) - 0.95) < BAR).all(), np.mean(hits, axis=0)


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_intervals_for_a_randomized_predictor_cover(family):
    rng, truth, hits = np.random.default_rng(4), np.array([-0.5, 0.9, 0.4]), []
    for _ in range(SURVEYS):
        w = rng.normal(size=1200)
        x = np.where(rng.random(1200) < 0.45, 0, 1)
        mean = truth[0] + truth[1] * (x == 0) + truth[2] * w
        y = mean + rng.normal(size=1200)
        if family == "logistic":
            y = (rng.random(1200) < 1 / (1 + np.exp(-mean))).astype(int)
        z = draw(WARNER.matrix(), x, rng)
        hits.append(covered(fit_predictor(y, z, WARNER, w, family=family, codes=True), truth))
    assert (np.abs(np.mean(hits, axis=0) - 0.95) < BAR).all(), np.mean(hits, axis=0)

"""Estimate and variance estimate are unbiased: every sample and every randomization of a small population, summed."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from maskwell.designs import Dense
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation import mean_scores
from maskwell.estimation.left_inverse import ScoreRecovery, optimal_scores, optimal_scores_for_weights, score_recovery
from maskwell.estimation.sampling.enumerated_plan import ListedSamples

THREE = Dense.of([["0.1", "0.5"], ["0.3", "0.3"], ["0.6", "0.2"]])
OTHER = Dense.of([["0.2", "0.6"], ["0.2", "0.3"], ["0.6", "0.1"]])
TRUTH = np.array([1, 0, 1, 0])
PAIRS = list(combinations(range(4), 2))
UNEQUAL = np.array([0.1, 0.2, 0.15, 0.25, 0.1, 0.2])


def difference_estimator() -> ListedSamples:
    """Known guesses of everybody, and the sampled differences weighted up: a constant that is not zero."""
    guess = np.array([0.8, 0.1, 0.6, 0.3])
    plain = ListedSamples.of(4, PAIRS, UNEQUAL)
    constant = [guess.sum() - sum(guess[i] / plain.inclusion[i] for i in s) for s in PAIRS]
    return ListedSamples.of(4, PAIRS, UNEQUAL, constant=constant)


PLANS = {
    "simple": ListedSamples.of(4, PAIRS, np.full(6, 1 / 6)),
    "unequal": ListedSamples.of(4, PAIRS, UNEQUAL),
    "differences": difference_estimator(),
}
SCORES = {
    "optimal": [score_recovery(THREE, optimal_scores(THREE, pi_0=0.4))] * 4,
    "mean": [score_recovery(THREE, mean_scores(THREE))] * 4,
    "several devices": [score_recovery(d, [0, 1, 5]) for d in (THREE, OTHER, OTHER, THREE)],
}


def moments(plan: ListedSamples, recoveries: list[ScoreRecovery], designs: list[Dense]) -> tuple[float, float, float]:
    """Expectation and variance of the estimate, and expectation of the variance estimate."""
    mean = square = variance = 0.0
    for s, units in enumerate(PAIRS):
        for reports in product(range(3), repeat=len(units)):
            own = [designs[i].matrix()[z, 1 - TRUTH[i]] for i, z in zip(units, reports, strict=True)]
            chance = float(plan.probability[s] * np.prod(own))
            found = plan.total(s, reports, recoveries)
            mean += chance * found.value
            square += chance * found.value**2
            variance += chance * found.variance
    return mean, square - mean**2, variance


@pytest.mark.parametrize("plan", list(PLANS))
@pytest.mark.parametrize("scores", list(SCORES))
def test_estimate_and_variance_are_unbiased(plan: str, scores: str) -> None:
    designs = [THREE, OTHER, OTHER, THREE] if scores == "several devices" else [THREE] * 4
    mean, variance, estimated = moments(PLANS[plan], SCORES[scores], designs)
    assert mean == pytest.approx(TRUTH.sum(), abs=1e-12)
    assert estimated == pytest.approx(variance, abs=1e-10)


def test_the_optimal_scores_for_the_weights_have_the_smallest_variance() -> None:
    plan, random = PLANS["unequal"], np.random.default_rng(1)
    a = plan.squared_weights
    best = optimal_scores_for_weights(THREE, inside=float(a @ TRUTH), outside=float(a @ (1 - TRUTH)))
    _, smallest, _ = moments(plan, [score_recovery(THREE, best)] * 4, [THREE] * 4)
    for _ in range(40):
        other = score_recovery(THREE, random.normal(size=3))
        assert moments(plan, [other] * 4, [THREE] * 4)[1] >= smallest - 1e-10


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="sum to 1"):
        ListedSamples.of(3, [(0, 1), (1, 2)], [0.5, 0.4])
    with pytest.raises(ParameterError, match="unbiased estimator"):
        ListedSamples.of(3, [(0, 1), (1, 2)], [0.5, 0.5], weights=[[1, 1], [1, 1]])
    apart = ListedSamples.of(3, [(0, 1), (1, 2)], [0.5, 0.5])
    recovery = score_recovery(THREE, [0, 1, 2])
    with pytest.raises(ParameterError, match="never sampled together"):
        apart.total(0, [1, 1], [recovery] * 3)
    with pytest.raises(ParameterError, match="1 reports for 2 units"):
        PLANS["simple"].total(0, [1], [recovery] * 4)


@pytest.mark.parametrize(
    ("samples", "probability", "weights", "message"),
    [
        ([(0, 1), (1, 2)], [float("nan"), 0.5], None, "sum to 1"),
        ([(0, 1), (1, 5)], [0.5, 0.5], None, "population of 3"),
        ([(0, 1), (1, 2)], [0.5, 0.5], [[1, 1]], "do not match"),
        ([(0, 1), (1, 2)], [0.5, 0.5], [[2, float("nan")], [1, 2]], "unbiased estimator"),
    ],
)
def test_plans_that_cannot_be_are_refused(
    samples: list[tuple[int, int]], probability: list[float], weights: list[list[float]] | None, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        ListedSamples.of(3, samples, probability, weights=weights)


def test_samples_reports_and_recoveries_that_are_not_there_are_refused() -> None:
    recovery, plan = score_recovery(THREE, [0, 1, 2]), PLANS["simple"]
    with pytest.raises(ParameterError, match="no sample has the number 99"):
        plan.total(99, [1, 1], [recovery] * 4)
    with pytest.raises(ReportError, match="no report"):
        plan.total(0, [1, 7], [recovery] * 4)
    with pytest.raises(ParameterError, match="1 recoveries for 4 units"):
        plan.total(0, [1, 1], [recovery])

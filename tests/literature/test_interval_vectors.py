"""Intervals, left inverses and scores against worked-out numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array

from maskwell import design as make_design
from maskwell.designs import Dense
from maskwell.estimation import Estimate, LeftInverse, Sample, estimate_by_moments

Cases = dict[str, dict[str, Any]]


def close(got: Any, expected: Any, tol: float) -> bool:
    wanted: Array = np.asarray(expected, dtype=float)
    return bool(np.abs(np.asarray(got) - wanted).max() <= tol * max(1, np.abs(wanted).max()))


def estimate_of(case: dict[str, Any]) -> Estimate:
    design = Dense.of(case["input"]["P"])
    return estimate_by_moments(Sample.of(case["input"]["counts"], design).counts, design)


@pytest.mark.parametrize("name", ["C01", "C02", "C03"])
def test_binary_intervals(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    estimate, level, tol = estimate_of(case), case["input"]["level"], case["tol"]
    assert close(estimate.confidence_interval(level, "wald")[0], case["expected"]["wald"], tol)
    assert close(estimate.confidence_interval(level, "score", cut=False)[0], case["expected"]["score"], tol)
    assert close(estimate.confidence_interval(level)[0], case["expected"]["score_clipped"], tol)
    assert close(1 - estimate.confidence_interval(level)[1, ::-1], case["expected"]["score_clipped"], tol)


@pytest.mark.parametrize("name", ["C04", "C05"])
def test_profile_intervals(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    found = estimate_of(case).confidence_interval(case["input"]["level"], "profile")
    assert close(found[case["input"]["index"]], case["expected"]["interval"], case["tol"])


@pytest.mark.parametrize("method", ["bonferroni", "scheffe"])
def test_simultaneous_intervals(rr_vectors: Cases, method: str) -> None:
    case = rr_vectors["C06"]
    found = estimate_of(case).confidence_interval(case["input"]["level"], method)
    assert close(found, case["expected"][method], case["tol"])


def test_the_best_left_inverse_at_a_guess(rr_vectors: Cases) -> None:
    case = rr_vectors["M06"]
    design = Dense.of(case["input"]["P"])
    inverse = LeftInverse.best(design, case["input"]["pi0"])
    found = estimate_by_moments(Sample.of(case["input"]["counts"], design).counts, design, inverse=inverse)
    assert close(inverse.L, case["expected"]["L"], case["tol"])
    assert close(found.pi_hat, case["expected"]["pi"], case["tol"])
    assert close(found.covariance, case["expected"]["cov"], case["tol"])


@pytest.mark.parametrize("name", ["X01", "X02"])
def test_minimax_left_inverses(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    found = LeftInverse.minimax(Dense.of(case["input"]["P"]), criterion=case["input"]["criterion"])
    assert close(found.pi, case["expected"]["pi_star"], case["tol"])
    assert close(found.value, case["expected"]["value"], case["tol"])
    assert close(found.L, case["expected"]["L"], case["tol"])
    assert found.gap is not None
    assert found.gap <= 1e-6


@pytest.mark.parametrize("name", ["O01", "O02"])
def test_optimal_scores(rr_vectors: Cases, name: str) -> None:
    given, expected, tol = rr_vectors[name]["input"], rr_vectors[name]["expected"], rr_vectors[name]["tol"]
    design = Dense.of(np.column_stack([given["alpha"], given["beta"]]))
    guess = given["A1"] / (given["A1"] + given["A2"])
    assert close(LeftInverse.best(design, [guess, 1 - guess]).L[0], expected["scores"], tol)


@pytest.mark.parametrize("name", ["I07", "I08"])
def test_what_the_mean_score_of_christofides_adds(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    design = make_design("christofides", probabilities=[str(p) for p in case["input"]["p"]])
    for pi in (0.0, 0.2, 1.0):
        added = LeftInverse.of_scores(design, range(design.m)).covariance([pi, 1 - pi], design)[0, 0] - pi * (1 - pi)
        assert close(added, case["expected"]["extra"], case["tol"])


def test_the_mean_of_kuk_against_the_information_bound() -> None:
    """The mean estimator has .443333 at a share of .3, the bound is .418483 [Adeshiyan2011, section 2.5]."""
    kuk = make_design("kuk", theta1="0.7", theta2="0.2", draws=3)
    by_mean, best = LeftInverse.of_scores(kuk, range(4)), LeftInverse.best(kuk, [0.3, 0.7])
    found = [one.covariance([0.3, 0.7], kuk)[0, 0] for one in (by_mean, best)]
    assert found == pytest.approx([0.443333, 0.418483], abs=5e-7)


@pytest.mark.parametrize("name", ["V05", "V06", "V07", "V08"])
def test_true_variances_of_two_categories(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    design, pi = Dense.of(case["input"]["P"]), case["input"]["pi"]
    found = design.covariance(np.array([pi, 1 - pi]))[0, 0] / case["input"]["n"]
    assert close(found, case["expected"]["var"], case["tol"])


def test_the_parts_of_a_true_covariance(rr_vectors: Cases) -> None:
    case = rr_vectors["M07"]
    design, pi, n = Dense.of(case["input"]["P"]), np.array(case["input"]["pi"]), case["input"]["n"]
    sampling = (np.diag(pi) - np.outer(pi, pi)) / n
    assert close(sampling, case["expected"]["sampling"], case["tol"])
    assert close(design.covariance(pi) / n, case["expected"]["total"], case["tol"])
    assert close(design.covariance(pi) / n - sampling, case["expected"]["randomization"], case["tol"])

"""Moment estimates, tables, intervals, left inverses and scores against worked-out numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array

from maskwell.designs import Dense
from maskwell.estimation import Estimate, LeftInverse, Sample, Table, cross_tabulate_counts, estimate_by_moments

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


def test_the_parts_of_a_true_covariance(rr_vectors: Cases) -> None:
    case = rr_vectors["M07"]
    design, pi, n = Dense.of(case["input"]["P"]), np.array(case["input"]["pi"]), case["input"]["n"]
    sampling = (np.diag(pi) - np.outer(pi, pi)) / n
    assert close(sampling, case["expected"]["sampling"], case["tol"])
    assert close(design.covariance(pi) / n, case["expected"]["total"], case["tol"])
    assert close(design.covariance(pi) / n - sampling, case["expected"]["randomization"], case["tol"])


def of_kind(cases: Cases, kind: str) -> list[dict[str, Any]]:
    found = [case for case in cases.values() if case["kind"] == kind]
    assert found
    return found


def test_moment_estimates_and_the_parts_of_their_covariance(rr_vectors: Cases) -> None:
    for case in of_kind(rr_vectors, "moment"):
        found, expected, tol = estimate_of(case), case["expected"], case["tol"]
        assert close(found.pi_hat, expected["pi"], tol)
        assert close(found.covariance, expected["cov"], tol)
        assert close(found.standard_error, expected["se"], tol)
        assert close(found.randomization_variance, np.diag(expected["cov_randomization"]), tol)
        assert close(found.sampling_variance, np.diag(expected["cov_sampling"]), tol)


def table_of(case: dict[str, Any]) -> Table:
    designs = {f"x{t}": Dense.of(P) for t, P in enumerate(case["input"]["P"])}
    return cross_tabulate_counts(np.array(case["input"]["counts"]), designs)


def test_joint_tables(rr_vectors: Cases) -> None:
    for case in of_kind(rr_vectors, "joint"):
        table, expected, tol = table_of(case), case["expected"], case["tol"]
        assert close(table.pi_hat, expected["pi"], tol)
        assert close(table.estimate.covariance, expected["cov"], tol)
        assert close(table.standard_error, expected["se"], tol)
        assert close(table.conditional(given="x0").share, expected["conditional_given_first"], tol)


def test_independence(rr_vectors: Cases) -> None:
    for case in of_kind(rr_vectors, "independence_chi2"):
        found, expected = table_of(case).independence(), case["expected"]
        assert (found.method, found.degrees_of_freedom) == ("pearson", expected["df"])
        assert close([found.statistic, found.p_value], [expected["X2"], expected["p"]], case["tol"])


def test_odds_ratios(rr_vectors: Cases) -> None:
    for case in of_kind(rr_vectors, "odds_ratio"):
        found, expected = table_of(case).odds_ratio(), case["expected"]
        assert close(
            [found.log_odds_ratio, found.standard_error], [expected["log_or"], expected["se_log_or"]], case["tol"]
        )

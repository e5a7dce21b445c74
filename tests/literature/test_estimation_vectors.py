"""Estimates, tables, intervals, information, fit and several samples against worked-out numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array

import maskwell as mw
from maskwell.designs import Dense
from maskwell.estimation import Estimate, LeftInverse, Sample, Table, cross_tabulate_counts, estimate_by_moments
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood, fisher_information
from maskwell.procedures.category_cards import abul_ela
from maskwell.procedures.forced_answers import cheating
from maskwell.procedures.unrelated_questions import simmons

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


def sample_of(case: dict[str, Any]) -> mw.estimation.Sample:
    return mw.estimation.Sample.of(case["input"]["counts"], mw.designs.Dense.of(case["input"]["P"]))


def near(got: Any, expected: Any, tol: float) -> None:
    assert close(got, expected, tol)


@pytest.mark.parametrize("name", [f"L0{i}" for i in range(1, 9)])
def test_most_likely_proportions(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    sample, expected = sample_of(case), case["expected"]
    top = maximise([sample.design], [sample.counts.values])
    near(top.pi, expected["pi"], case["tol"])
    near(top.log_likelihood, expected["loglik"], case["tol"])
    assert top.gap <= 1e-10
    near(estimate_by_likelihood(sample.counts, sample.design).pi_hat, expected["pi"], case["tol"])


@pytest.mark.parametrize("name", ["F01", "F02"])
def test_fisher_information(rr_vectors: Cases, name: str) -> None:
    case = rr_vectors[name]
    design, pi = mw.designs.Dense.of(case["input"]["P"]), np.array(case["input"]["pi"])
    information = fisher_information(design, pi)
    near(information, case["expected"]["info"], case["tol"])
    J = np.column_stack([np.eye(design.k - 1), -np.ones(design.k - 1)])
    near(J.T @ np.linalg.inv(information) @ J, case["expected"]["cov"], case["tol"])


def test_information_of_all_reports_at_the_estimate(rr_vectors: Cases) -> None:
    """With as many reports as categories and an estimate inside the simplex, the observed information is n times it."""
    case = rr_vectors["F03"]
    sample = sample_of(case)
    at = estimate_by_likelihood(sample.counts, sample.design).pi_hat
    near(sample.n * fisher_information(sample.design, at), case["expected"]["info"], case["tol"])


def test_goodness_of_fit(rr_vectors: Cases) -> None:
    case = rr_vectors["G01"]
    sample, expected = sample_of(case), case["expected"]
    found = mw.estimation.goodness_of_fit(sample.counts, sample.design)
    near(found.pearson, expected["X2"], case["tol"])
    near(found.likelihood_ratio, expected["G2"], case["tol"])
    near(found.p_pearson, expected["p_X2"], case["tol"])
    assert found.degrees_of_freedom == expected["df"]
    assert found.reference == "chi-square"


def test_boundary_of_two_categories(rr_vectors: Cases) -> None:
    case = rr_vectors["G02"]
    sample, expected = sample_of(case), case["expected"]
    found = mw.estimation.goodness_of_fit(sample.counts, sample.design)
    near(found.likelihood_ratio, expected["G2"], case["tol"])
    near(found.p_likelihood_ratio, expected["p"], case["tol"])
    estimate = estimate_by_likelihood(sample.counts, sample.design)
    near(estimate.pi_hat[0], expected["pi_mle"], case["tol"])
    assert estimate.moments is not None
    near(estimate.moments[0], expected["pi_moment"], case["tol"])
    raw = mw.estimation.estimate_by_moments(sample.counts, sample.design)
    assert any("boundary test: G2 = 8.53, p = 0.0017" in flag for flag in raw.flags)


def test_several_samples_by_likelihood(rr_vectors: Cases) -> None:
    case = rr_vectors["X03"]
    given = zip(case["input"]["P"], case["input"]["counts"], strict=True)
    samples = [mw.estimation.Sample.of(counts, mw.designs.Dense.of(P)) for P, counts in given]
    found = mw.estimation.estimate_samples(samples, method="ml")
    near(found.pi_hat, case["expected"]["pi"], case["tol"])
    near(found.standard_error[0], case["expected"]["se"], case["tol"])


def yes_samples(given: dict[str, Any], designs: list[mw.designs.Dense]) -> list[mw.estimation.Sample]:
    rows = zip(given["yes"], given["n"], designs, strict=True)
    return [mw.estimation.Sample.of([yes, n - yes], design) for yes, n, design in rows]


def test_unrelated_question_with_unknown_share(rr_vectors: Cases) -> None:
    case = rr_vectors["S01"]
    samples = yes_samples(case["input"], [simmons(str(p)) for p in case["input"]["p"]])
    found = mw.estimation.estimate_samples(samples)
    assert found.categories[0] == ("own answer", "yes")
    assert found.categories[2] == ("unrelated answer", "yes")
    near(found.pi_hat[0], case["expected"]["pi"], case["tol"])
    near(found.pi_hat[2], case["expected"]["beta"], case["tol"])
    near(found.variance[0], case["expected"]["var"], case["tol"])
    near(mw.estimation.estimate_samples(samples, method="ml").pi_hat, found.pi_hat, case["tol"])


def test_statements_of_abul_ela(rr_vectors: Cases) -> None:
    case = rr_vectors["S03"]
    labels = mw.Categories.of(["a", "b", "c"])
    designs = [abul_ela(labels, [str(p) for p in shares]) for shares in case["input"]["p"]]
    found = mw.estimation.estimate_samples(yes_samples(case["input"], designs))
    near(found.pi_hat, case["expected"]["pi"], case["tol"])
    assert found.covariance is not None
    near(found.covariance[:2, :2], case["expected"]["cov_first"], case["tol"])


def test_cheating(rr_vectors: Cases) -> None:
    case = rr_vectors["S06"]
    given, expected = case["input"], case["expected"]
    found = mw.estimation.estimate_samples(yes_samples(given, [cheating(str(p)) for p in given["p_forced_yes"]]))
    near(found.pi_hat, [expected["honest_yes"], expected["honest_no"], expected["cheaters"]], case["tol"])
    (p1, p2), n = given["p_forced_yes"], np.array(given["n"])
    v1, v2 = (x * (1 - x) / (size - 1) for x, size in zip(np.array(given["yes"]) / n, n, strict=True))
    near(found.variance[0], (p2**2 * v1 + p1**2 * v2) / (p1 - p2) ** 2, 1e-9)
    assert any("from 0.1300 to 0.3500" in flag for flag in found.flags)

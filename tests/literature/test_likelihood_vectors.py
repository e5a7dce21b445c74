"""Maximum likelihood, information, goodness of fit and several samples against worked-out cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood, fisher_information
from maskwell.procedures.category_cards import abul_ela
from maskwell.procedures.forced_answers import cheating
from maskwell.procedures.unrelated_questions import simmons

Vectors = dict[str, dict[str, Any]]


def sample_of(case: dict[str, Any]) -> mw.estimation.Sample:
    return mw.estimation.Sample.of(case["input"]["counts"], mw.designs.Dense.of(case["input"]["P"]))


def close(got: Any, expected: Any, tol: float) -> None:
    wanted = np.asarray(expected, dtype=float)
    assert np.max(np.abs(np.asarray(got) - wanted)) <= tol * max(1, np.max(np.abs(wanted)))


@pytest.mark.parametrize("name", [f"L0{i}" for i in range(1, 9)])
def test_most_likely_proportions(rr_vectors: Vectors, name: str) -> None:
    case = rr_vectors[name]
    sample, expected = sample_of(case), case["expected"]
    top = maximise([sample.design], [sample.counts.values])
    close(top.pi, expected["pi"], case["tol"])
    close(top.log_likelihood, expected["loglik"], case["tol"])
    assert top.gap <= 1e-10
    close(estimate_by_likelihood(sample.counts, sample.design).pi_hat, expected["pi"], case["tol"])


@pytest.mark.parametrize("name", ["F01", "F02"])
def test_fisher_information(rr_vectors: Vectors, name: str) -> None:
    case = rr_vectors[name]
    design, pi = mw.designs.Dense.of(case["input"]["P"]), np.array(case["input"]["pi"])
    information = fisher_information(design, pi)
    close(information, case["expected"]["info"], case["tol"])
    J = np.column_stack([np.eye(design.k - 1), -np.ones(design.k - 1)])
    close(J.T @ np.linalg.inv(information) @ J, case["expected"]["cov"], case["tol"])


def test_information_of_all_reports_at_the_estimate(rr_vectors: Vectors) -> None:
    """With as many reports as categories and an estimate inside the simplex, the observed information is n times it."""
    case = rr_vectors["F03"]
    sample = sample_of(case)
    at = estimate_by_likelihood(sample.counts, sample.design).pi_hat
    close(sample.n * fisher_information(sample.design, at), case["expected"]["info"], case["tol"])


def test_goodness_of_fit(rr_vectors: Vectors) -> None:
    case = rr_vectors["G01"]
    sample, expected = sample_of(case), case["expected"]
    found = mw.estimation.goodness_of_fit(sample.counts, sample.design)
    close(found.pearson, expected["X2"], case["tol"])
    close(found.likelihood_ratio, expected["G2"], case["tol"])
    close(found.p_pearson, expected["p_X2"], case["tol"])
    assert found.degrees_of_freedom == expected["df"]
    assert found.reference == "chi-square"


def test_boundary_of_two_categories(rr_vectors: Vectors) -> None:
    case = rr_vectors["G02"]
    sample, expected = sample_of(case), case["expected"]
    found = mw.estimation.goodness_of_fit(sample.counts, sample.design)
    close(found.likelihood_ratio, expected["G2"], case["tol"])
    close(found.p_likelihood_ratio, expected["p"], case["tol"])
    estimate = estimate_by_likelihood(sample.counts, sample.design)
    close(estimate.pi_hat[0], expected["pi_mle"], case["tol"])
    assert estimate.moments is not None
    close(estimate.moments[0], expected["pi_moment"], case["tol"])
    raw = mw.estimation.estimate_by_moments(sample.counts, sample.design)
    assert any("boundary test: G2 = 8.53, p = 0.0017" in flag for flag in raw.flags)


def test_several_samples_by_likelihood(rr_vectors: Vectors) -> None:
    case = rr_vectors["X03"]
    given = zip(case["input"]["P"], case["input"]["counts"], strict=True)
    samples = [mw.estimation.Sample.of(counts, mw.designs.Dense.of(P)) for P, counts in given]
    found = mw.estimation.estimate_samples(samples, method="ml")
    close(found.pi_hat, case["expected"]["pi"], case["tol"])
    close(found.standard_error[0], case["expected"]["se"], case["tol"])


def yes_samples(given: dict[str, Any], designs: list[mw.designs.Dense]) -> list[mw.estimation.Sample]:
    rows = zip(given["yes"], given["n"], designs, strict=True)
    return [mw.estimation.Sample.of([yes, n - yes], design) for yes, n, design in rows]


def test_unrelated_question_with_unknown_share(rr_vectors: Vectors) -> None:
    case = rr_vectors["S01"]
    samples = yes_samples(case["input"], [simmons(str(p)) for p in case["input"]["p"]])
    found = mw.estimation.estimate_samples(samples)
    assert found.categories[0] == ("own answer", "yes")
    assert found.categories[2] == ("unrelated answer", "yes")
    close(found.pi_hat[0], case["expected"]["pi"], case["tol"])
    close(found.pi_hat[2], case["expected"]["beta"], case["tol"])
    close(found.variance[0], case["expected"]["var"], case["tol"])
    close(mw.estimation.estimate_samples(samples, method="ml").pi_hat, found.pi_hat, case["tol"])


def test_statements_of_abul_ela(rr_vectors: Vectors) -> None:
    case = rr_vectors["S03"]
    labels = mw.Categories.of(["a", "b", "c"])
    designs = [abul_ela(labels, [str(p) for p in shares]) for shares in case["input"]["p"]]
    found = mw.estimation.estimate_samples(yes_samples(case["input"], designs))
    close(found.pi_hat, case["expected"]["pi"], case["tol"])
    assert found.covariance is not None
    close(found.covariance[:2, :2], case["expected"]["cov_first"], case["tol"])


def test_cheating(rr_vectors: Vectors) -> None:
    case = rr_vectors["S06"]
    given, expected = case["input"], case["expected"]
    found = mw.estimation.estimate_samples(yes_samples(given, [cheating(str(p)) for p in given["p_forced_yes"]]))
    close(found.pi_hat, [expected["honest_yes"], expected["honest_no"], expected["cheaters"]], case["tol"])
    (p1, p2), n = given["p_forced_yes"], np.array(given["n"])
    v1, v2 = (x * (1 - x) / (size - 1) for x, size in zip(np.array(given["yes"]) / n, n, strict=True))
    close(found.variance[0], (p2**2 * v1 + p1**2 * v2) / (p1 - p2) ** 2, 1e-9)
    assert any("from 0.1300 to 0.3500" in flag for flag in found.flags)

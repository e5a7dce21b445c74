"""Estimates, tables, intervals, fit, several samples and surveys against worked-out numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array

import maskwell as mw
from maskwell import Categories, Sampling
from maskwell.designs import Dense
from maskwell.estimation import (
    Estimate,
    LeftInverse,
    Sample,
    Table,
    cross_tabulate_counts,
    estimate_by_moments,
    estimate_survey,
)
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.maximum_likelihood import estimate_by_likelihood, fisher_information
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
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


def test_published_intervals(rr_vectors: Cases) -> None:
    for name in ["C01", "C02", "C03"]:
        case = rr_vectors[name]
        estimate, level, tol = estimate_of(case), case["input"]["level"], case["tol"]
        assert close(estimate.confidence_interval(level, "wald")[0], case["expected"]["wald"], tol)
        assert close(estimate.confidence_interval(level, "score", cut=False)[0], case["expected"]["score"], tol)
        assert close(estimate.confidence_interval(level)[0], case["expected"]["score_clipped"], tol)
        assert close(1 - estimate.confidence_interval(level)[1, ::-1], case["expected"]["score_clipped"], tol)
    for name in ["C04", "C05"]:
        case = rr_vectors[name]
        found = estimate_of(case).confidence_interval(case["input"]["level"], "profile")
        assert close(found[case["input"]["index"]], case["expected"]["interval"], case["tol"])
    for method in ["bonferroni", "scheffe"]:
        case = rr_vectors["C06"]
        found = estimate_of(case).confidence_interval(case["input"]["level"], method)
        assert close(found, case["expected"][method], case["tol"])


def test_minimax_left_inverses_and_optimal_scores(rr_vectors: Cases) -> None:
    for name in ["X01", "X02"]:
        case = rr_vectors[name]
        found = LeftInverse.minimax(Dense.of(case["input"]["P"]), criterion=case["input"]["criterion"])
        assert close(found.pi, case["expected"]["pi_star"], case["tol"])
        assert close(found.value, case["expected"]["value"], case["tol"])
        assert close(found.L, case["expected"]["L"], case["tol"]) and found.gap <= 1e-6
    for name in ["O01", "O02"]:
        given, expected, tol = rr_vectors[name]["input"], rr_vectors[name]["expected"], rr_vectors[name]["tol"]
        design = Dense.of(np.column_stack([given["alpha"], given["beta"]]))
        guess = given["A1"] / (given["A1"] + given["A2"])
        assert close(LeftInverse.best(design, [guess, 1 - guess]).L[0], expected["scores"], tol)


def of_kind(cases: Cases, kind: str) -> list[dict[str, Any]]:
    found = [case for case in cases.values() if case["kind"] == kind]
    assert found
    return found


def test_the_best_left_inverse_and_the_parts_of_covariances(rr_vectors: Cases) -> None:
    case = rr_vectors["M06"]
    design = Dense.of(case["input"]["P"])
    inverse = LeftInverse.best(design, case["input"]["pi0"])
    found = estimate_by_moments(Sample.of(case["input"]["counts"], design).counts, design, inverse=inverse)
    assert close(inverse.L, case["expected"]["L"], case["tol"])
    assert close(found.pi_hat, case["expected"]["pi"], case["tol"])
    assert close(found.covariance, case["expected"]["cov"], case["tol"])
    case = rr_vectors["M07"]
    design, pi, n = Dense.of(case["input"]["P"]), np.array(case["input"]["pi"]), case["input"]["n"]
    sampling = (np.diag(pi) - np.outer(pi, pi)) / n
    assert close(sampling, case["expected"]["sampling"], case["tol"])
    assert close(design.covariance(pi) / n, case["expected"]["total"], case["tol"])
    assert close(design.covariance(pi) / n - sampling, case["expected"]["randomization"], case["tol"])
    for case in of_kind(rr_vectors, "moment"):
        found, expected, tol = estimate_of(case), case["expected"], case["tol"]
        assert close(found.pi_hat, expected["pi"], tol) and close(found.covariance, expected["cov"], tol)
        assert close(found.standard_error, expected["se"], tol)
        assert close(found.randomization_variance, np.diag(expected["cov_randomization"]), tol)
        assert close(found.sampling_variance, np.diag(expected["cov_sampling"]), tol)


def table_of(case: dict[str, Any]) -> Table:
    designs = {f"x{t}": Dense.of(P) for t, P in enumerate(case["input"]["P"])}
    return cross_tabulate_counts(np.array(case["input"]["counts"]), designs)


def test_joint_tables_their_independence_and_odds_ratios(rr_vectors: Cases) -> None:
    for case in of_kind(rr_vectors, "joint"):
        table, expected, tol = table_of(case), case["expected"], case["tol"]
        assert close(table.pi_hat, expected["pi"], tol)
        assert close(table.estimate.covariance, expected["cov"], tol)
        assert close(table.standard_error, expected["se"], tol)
        assert close(table.conditional(given="x0").share, expected["conditional_given_first"], tol)
    for case in of_kind(rr_vectors, "independence_chi2"):
        found, expected = table_of(case).independence(), case["expected"]
        assert (found.method, found.degrees_of_freedom) == ("pearson", expected["df"])
        assert close([found.statistic, found.p_value], [expected["X2"], expected["p"]], case["tol"])
    for case in of_kind(rr_vectors, "odds_ratio"):
        found, expected = table_of(case).odds_ratio(), case["expected"]
        assert close(
            [found.log_odds_ratio, found.standard_error], [expected["log_or"], expected["se_log_or"]], case["tol"]
        )


def sample_of(case: dict[str, Any]) -> mw.estimation.Sample:
    return mw.estimation.Sample.of(case["input"]["counts"], mw.designs.Dense.of(case["input"]["P"]))


def near(got: Any, expected: Any, tol: float) -> None:
    assert close(got, expected, tol)


def test_most_likely_proportions_and_their_information(rr_vectors: Cases) -> None:
    for name in [f"L0{i}" for i in range(1, 9)]:
        case = rr_vectors[name]
        sample, expected = sample_of(case), case["expected"]
        top = maximise([sample.design], [sample.counts.values])
        near(top.pi, expected["pi"], case["tol"])
        near(top.log_likelihood, expected["loglik"], case["tol"])
        assert top.gap <= 1e-10
        near(estimate_by_likelihood(sample.counts, sample.design).pi_hat, expected["pi"], case["tol"])
    for name in ["F01", "F02"]:
        case = rr_vectors[name]
        design, pi = mw.designs.Dense.of(case["input"]["P"]), np.array(case["input"]["pi"])
        information = fisher_information(design, pi)
        near(information, case["expected"]["info"], case["tol"])
        J = np.column_stack([np.eye(design.k - 1), -np.ones(design.k - 1)])
        near(J.T @ np.linalg.inv(information) @ J, case["expected"]["cov"], case["tol"])
    # With as many reports as categories and an estimate inside the simplex, the observed information is n times it.
    case = rr_vectors["F03"]
    sample = sample_of(case)
    at = estimate_by_likelihood(sample.counts, sample.design).pi_hat
    near(sample.n * fisher_information(sample.design, at), case["expected"]["info"], case["tol"])


def test_goodness_of_fit_also_at_the_boundary_of_two_categories(rr_vectors: Cases) -> None:
    case = rr_vectors["G01"]
    sample, expected = sample_of(case), case["expected"]
    found = mw.estimation.goodness_of_fit(sample.counts, sample.design)
    near(found.pearson, expected["X2"], case["tol"])
    near(found.likelihood_ratio, expected["G2"], case["tol"])
    near(found.p_pearson, expected["p_X2"], case["tol"])
    assert found.degrees_of_freedom == expected["df"] and found.reference == "chi-square"
    case = rr_vectors["G02"]
    sample, expected = sample_of(case), case["expected"]
    found = mw.estimation.goodness_of_fit(sample.counts, sample.design)
    near(found.likelihood_ratio, expected["G2"], case["tol"])
    near(found.p_likelihood_ratio, expected["p"], case["tol"])
    estimate = estimate_by_likelihood(sample.counts, sample.design)
    near(estimate.pi_hat[0], expected["pi_mle"], case["tol"])
    near(estimate.moments[0], expected["pi_moment"], case["tol"])
    raw = mw.estimation.estimate_by_moments(sample.counts, sample.design)
    assert any("boundary test: G2 = 8.53, p = 0.0017" in flag for flag in raw.flags)


def yes_samples(given: dict[str, Any], designs: list[mw.designs.Dense]) -> list[mw.estimation.Sample]:
    rows = zip(given["yes"], given["n"], designs, strict=True)
    return [mw.estimation.Sample.of([yes, n - yes], design) for yes, n, design in rows]


def test_several_samples_of_published_procedures(rr_vectors: Cases) -> None:
    case = rr_vectors["X03"]
    given = zip(case["input"]["P"], case["input"]["counts"], strict=True)
    samples = [mw.estimation.Sample.of(counts, mw.designs.Dense.of(P)) for P, counts in given]
    found = mw.estimation.estimate_samples(samples, method="ml")
    near(found.pi_hat, case["expected"]["pi"], case["tol"])
    near(found.standard_error[0], case["expected"]["se"], case["tol"])
    case = rr_vectors["S01"]
    samples = yes_samples(case["input"], [simmons(str(p)) for p in case["input"]["p"]])
    found = mw.estimation.estimate_samples(samples)
    assert found.categories[0] == ("own answer", "yes") and found.categories[2] == ("unrelated answer", "yes")
    near(found.pi_hat[0], case["expected"]["pi"], case["tol"])
    near(found.pi_hat[2], case["expected"]["beta"], case["tol"])
    near(found.variance[0], case["expected"]["var"], case["tol"])
    near(mw.estimation.estimate_samples(samples, method="ml").pi_hat, found.pi_hat, case["tol"])
    case = rr_vectors["S03"]
    labels = mw.Categories.of(["a", "b", "c"])
    designs = [abul_ela(labels, [str(p) for p in shares]) for shares in case["input"]["p"]]
    found = mw.estimation.estimate_samples(yes_samples(case["input"], designs))
    near(found.pi_hat, case["expected"]["pi"], case["tol"])
    near(found.covariance[:2, :2], case["expected"]["cov_first"], case["tol"])
    case = rr_vectors["S06"]
    given, expected = case["input"], case["expected"]
    found = mw.estimation.estimate_samples(yes_samples(given, [cheating(str(p)) for p in given["p_forced_yes"]]))
    near(found.pi_hat, [expected["honest_yes"], expected["honest_no"], expected["cheaters"]], case["tol"])
    (p1, p2), n = given["p_forced_yes"], np.array(given["n"])
    v1, v2 = (x * (1 - x) / (size - 1) for x, size in zip(np.array(given["yes"]) / n, n, strict=True))
    near(found.variance[0], (p2**2 * v1 + p1**2 * v2) / (p1 - p2) ** 2, 1e-9)
    assert any("between 0.1300 and 0.3500" in flag for flag in found.flags)


def is_told(got: Any, case: dict[str, Any], field: str) -> None:
    expected = np.array(case["expected"][field], dtype=float)
    assert np.abs(np.array(got) - expected).max() <= case["tol"] * max(1.0, np.abs(expected).max()), field


def estimated(given: dict[str, Any], plan: Sampling, **more: Any) -> SurveyEstimate:
    return estimate_survey(given["z"], Dense.of(given["P"]), plan, **more)


def check_totals(found: SurveyEstimate, case: dict[str, Any]) -> None:
    is_told(found.total, case, "total")
    is_told(found.total_covariance, case, "cov_total")
    for field in ("proportion", "hajek"):
        if field in case["expected"]:
            is_told(found.pi_hat, case, field)


def stratified(given: dict[str, Any]) -> Sampling:
    return Sampling(strata=given["stratum"], population=[given["N_h"][h] for h in given["stratum"]])


def clustered(given: dict[str, Any]) -> Sampling:
    return Sampling(weights=given["weights"], strata=given["stratum"], clusters=given["psu"])


PLANS: dict[str, Callable[[dict[str, Any]], Sampling]] = {
    "D01": lambda given: Sampling(population=given["N"]),
    "D02": lambda given: Sampling(inclusion=given["inclusion"], method="poisson"),
    "D03": stratified,
    "D04": clustered,
    "D06": lambda given: Sampling(draw_probabilities=given["draw_prob"]),
}


@pytest.mark.parametrize("name", list(PLANS))
def test_totals_under_a_plan(rr_vectors: dict[str, Any], name: str) -> None:
    case = rr_vectors[name]
    check_totals(estimated(case["input"], PLANS[name](case["input"])), case)


def test_every_survey_vector_is_used_for_domains_rows_calibration_and_strata(rr_vectors: dict[str, Any]) -> None:
    kinds = {"srswor", "poisson", "stratified_srs", "ultimate_cluster", "domain", "hansen_hurwitz"}
    kinds |= {"poisson_varying_P", "calibrated_stratified", "kim_warde"}
    found = sorted(name for name, case in rr_vectors.items() if case["kind"] in kinds)
    assert found == ["D01", "D02", "D03", "D04", "D05", "D06", "D07", "S04", "X04"]
    assert pytest.approx(rr_vectors["D01"]["tol"]) == 1e-9
    case = rr_vectors["D05"]
    found = estimated(case["input"], clustered(case["input"]), domains=case["input"]["domain"]).domains[1.0]
    is_told(found.pi_hat, case, "proportion")
    is_told(found.covariance, case, "cov")
    case = rr_vectors["D07"]
    given = case["input"]
    designs = {i: Dense.of(P) for i, P in enumerate(given["P"])}
    plan = Sampling(inclusion=given["inclusion"], method="poisson")
    check_totals(estimate_survey(given["z"], designs, plan, samples=range(len(given["z"]))), case)
    case = rr_vectors["X04"]
    plan = stratified(case["input"]).calibrated(case["input"]["x"], case["input"]["x_totals"])
    is_told(plan.weights, case, "weights")
    check_totals(estimated(case["input"], plan), case)
    # Kim and Warde: a Warner device in each stratum; samples with replacement, weights from known shares.
    case = rr_vectors["S04"]
    given = case["input"]
    designs, reports, strata, weights = {}, [], [], []
    for h, (share, p, n, yes) in enumerate(zip(given["W"], given["p"], given["n"], given["yes"], strict=True)):
        designs[h] = Dense.of([[p, 1 - p], [1 - p, p]])
        reports += [0] * yes + [1] * (n - yes)
        strata += [h] * n
        weights += [share / n] * n
    found = estimate_survey(reports, designs, Sampling(weights=weights, strata=strata), samples=strata, domains=strata)
    is_told(found.pi_hat[0], case, "pi")
    is_told(found.variance[0], case, "var")
    is_told([found.domains[h].pi_hat[0] for h in range(len(given["W"]))], case, "pi_h")


def together(given: dict[str, Any], designs: list[Any]) -> SurveyEstimate:
    """Two samples that tell the shares only together; each is a stratum, and every row has the weight one."""
    group = np.repeat([0, 1], given["n"])
    counted = zip(given["yes"], given["n"], strict=True)
    labels = [label for yes, n in counted for label in ["yes"] * yes + ["no"] * (n - yes)]
    plan = Sampling(weights=np.ones(len(labels)), strata=group)
    return estimate_survey(labels, dict(enumerate(designs)), plan, samples=group)


def test_samples_that_tell_the_shares_only_together(rr_vectors: dict[str, Any]) -> None:
    unrelated, statements, liars = (rr_vectors[name] for name in ("S01", "S03", "S06"))
    found = together(unrelated["input"], [simmons(str(p)) for p in unrelated["input"]["p"]])
    is_told(found.pi_hat[0], unrelated, "pi")
    is_told(found.pi_hat[2], unrelated, "beta")
    is_told(found.variance[0], unrelated, "var")
    labels = Categories.of(["a", "b", "c"])
    found = together(
        statements["input"], [abul_ela(labels, [str(p) for p in shares]) for shares in statements["input"]["p"]]
    )
    is_told(found.pi_hat, statements, "pi")
    is_told(found.covariance[:2, :2], statements, "cov_first")
    found = together(liars["input"], [cheating(str(p)) for p in liars["input"]["p_forced_yes"]])
    is_told(found.pi_hat[0], liars, "honest_yes")
    is_told(found.pi_hat[2], liars, "cheaters")
    assert any("between 0.1300 and 0.3500" in flag for flag in found.flags)

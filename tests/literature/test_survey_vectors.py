"""Worked-out survey estimates, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maskwell import Sampling
from maskwell.core import Categories
from maskwell.designs import Dense
from maskwell.estimation import estimate_survey
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.procedures.category_cards import abul_ela
from maskwell.procedures.forced_answers import cheating
from maskwell.procedures.unrelated_questions import simmons


def close(got: Any, case: dict[str, Any], field: str) -> None:
    expected = np.array(case["expected"][field], dtype=float)
    assert np.abs(np.array(got) - expected).max() <= case["tol"] * max(1.0, np.abs(expected).max()), field


def estimated(given: dict[str, Any], plan: Sampling, **more: Any) -> SurveyEstimate:
    return estimate_survey(given["z"], Dense.of(given["P"]), plan, **more)


def check_totals(found: SurveyEstimate, case: dict[str, Any]) -> None:
    close(found.total, case, "total")
    close(found.total_covariance, case, "cov_total")
    for field in ("proportion", "hajek"):
        if field in case["expected"]:
            close(found.pi_hat, case, field)


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


def test_domain(rr_vectors: dict[str, Any]) -> None:
    case = rr_vectors["D05"]
    found = estimated(case["input"], clustered(case["input"]), domains=case["input"]["domain"]).domains[1.0]
    close(found.pi_hat, case, "proportion")
    close(found.covariance, case, "cov")


def test_a_design_for_each_row(rr_vectors: dict[str, Any]) -> None:
    case = rr_vectors["D07"]
    given = case["input"]
    designs = {i: Dense.of(P) for i, P in enumerate(given["P"])}
    plan = Sampling(inclusion=given["inclusion"], method="poisson")
    check_totals(estimate_survey(given["z"], designs, plan, samples=range(len(given["z"]))), case)


def test_calibrated(rr_vectors: dict[str, Any]) -> None:
    case = rr_vectors["X04"]
    plan = stratified(case["input"]).calibrated(case["input"]["x"], case["input"]["x_totals"])
    close(plan.weights, case, "weights")
    check_totals(estimated(case["input"], plan), case)


def test_warner_in_strata(rr_vectors: dict[str, Any]) -> None:
    """Kim and Warde: a Warner device in each stratum; samples with replacement, weights from known shares."""
    case = rr_vectors["S04"]
    given = case["input"]
    designs, reports, strata, weights = {}, [], [], []
    for h, (share, p, n, yes) in enumerate(zip(given["W"], given["p"], given["n"], given["yes"], strict=True)):
        designs[h] = Dense.of([[p, 1 - p], [1 - p, p]])
        reports += [0] * yes + [1] * (n - yes)
        strata += [h] * n
        weights += [share / n] * n
    found = estimate_survey(reports, designs, Sampling(weights=weights, strata=strata), samples=strata, domains=strata)
    close(found.pi_hat[0], case, "pi")
    close(found.variance[0], case, "var")
    close([found.domains[h].pi_hat[0] for h in range(len(given["W"]))], case, "pi_h")


def test_every_survey_vector_is_used(rr_vectors: dict[str, Any]) -> None:
    kinds = {"srswor", "poisson", "stratified_srs", "ultimate_cluster", "domain", "hansen_hurwitz"}
    kinds |= {"poisson_varying_P", "calibrated_stratified", "kim_warde"}
    found = sorted(name for name, case in rr_vectors.items() if case["kind"] in kinds)
    assert found == ["D01", "D02", "D03", "D04", "D05", "D06", "D07", "S04", "X04"]
    assert pytest.approx(rr_vectors["D01"]["tol"]) == 1e-9


def together(given: dict[str, Any], designs: list[Any]) -> SurveyEstimate:
    """Two samples that tell the shares only together; each is a stratum, and every row has the weight one."""
    group = np.repeat([0, 1], given["n"])
    labels = [label for yes, n in zip(given["yes"], given["n"], strict=True) for label in _yes_no(yes, n)]
    plan = Sampling(weights=np.ones(len(labels)), strata=group)
    return estimate_survey(labels, dict(enumerate(designs)), plan, samples=group)


def _yes_no(yes: int, n: int) -> list[str]:
    return ["yes"] * yes + ["no"] * (n - yes)


def test_samples_that_tell_the_shares_only_together(rr_vectors: dict[str, Any]) -> None:
    unrelated, statements, liars = (rr_vectors[name] for name in ("S01", "S03", "S06"))
    found = together(unrelated["input"], [simmons(str(p)) for p in unrelated["input"]["p"]])
    close(found.pi_hat[0], unrelated, "pi")
    close(found.pi_hat[2], unrelated, "beta")
    close(found.variance[0], unrelated, "var")
    labels = Categories.of(["a", "b", "c"])
    found = together(
        statements["input"], [abul_ela(labels, [str(p) for p in shares]) for shares in statements["input"]["p"]]
    )
    close(found.pi_hat, statements, "pi")
    assert found.covariance is not None
    close(found.covariance[:2, :2], statements, "cov_first")
    found = together(liars["input"], [cheating(str(p)) for p in liars["input"]["p_forced_yes"]])
    close(found.pi_hat[0], liars, "honest_yes")
    close(found.pi_hat[2], liars, "cheaters")
    assert any("from 0.1300 to 0.3500" in flag for flag in found.flags)

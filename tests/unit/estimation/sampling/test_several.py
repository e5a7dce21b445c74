"""Samples that tell the shares only together, under a sampling plan, and domains of samples without one."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.support.estimates import JAR, estimate_of, likeliest

from maskwell import Sampling
from maskwell import design as make_design
from maskwell.core import Cells
from maskwell.designs import Dense
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.estimation import ReplicateRule, Sample, estimate_samples, estimate_survey
from maskwell.estimation.sampling.report_shares import estimate_simple
from maskwell.estimation.sampling.weighted_survey import estimate_cells

PAIRS = {1: make_design("simmons", p="3/4"), 2: make_design("simmons", p="1/4")}
COUNTS = ([200, 400], [140, 260])
REPORTS = ["yes"] * 200 + ["no"] * 400 + ["yes"] * 140 + ["no"] * 260
GROUP = np.repeat([1, 2], [600, 400])


def plainly() -> Any:
    return estimate_samples([Sample.of(n, design) for n, design in zip(COUNTS, PAIRS.values(), strict=True)])


def surveyed(plan: Sampling, **more: Any) -> Any:
    return estimate_survey(REPORTS, PAIRS, plan, samples=GROUP, **more)


def test_strata_and_a_jackknife_of_rows_agree_with_counts() -> None:
    found, counts = surveyed(Sampling(strata=GROUP, weights=np.full(1000, 3.0))), plainly()
    assert found.categories == counts.categories and found.pi_hat == pytest.approx(counts.pi_hat)
    assert found.covariance == pytest.approx(counts.covariance)
    assert found.total == pytest.approx(3000 * counts.pi_hat)
    assert found.total_covariance == pytest.approx(3000**2 * counts.covariance)  # strata fix the sum of the weights
    rows = [0, 1, 0, 1, 1, 0, 0, 1, 1, 1]
    group = np.repeat(["a", "b"], 5)
    designs = dict(zip("ab", PAIRS.values(), strict=True))
    labels = ["yes" if row == 0 else "no" for row in rows]
    left = np.ones((10, 10)) + (group[:, None] == group) / 4
    np.fill_diagonal(left, 0)
    rule = ReplicateRule("jkn", strata=tuple(group))
    jackknife = estimate_survey(labels, designs, Sampling(replicates=left, replicate_method=rule), samples=group)
    strata = estimate_survey(labels, designs, Sampling(strata=group), samples=group)
    assert jackknife.covariance == pytest.approx(strata.covariance) and jackknife.degrees_of_freedom == 8


def test_the_estimate_is_unbiased_over_all_reports() -> None:
    truth = [("yes", "yes"), ("no", "yes"), ("no", "no")] * 2  # the same in both samples
    w, group = [1.0, 2.0, 1.5] * 2, ["a"] * 3 + ["b"] * 3
    designs = dict(zip("ab", PAIRS.values(), strict=True))
    chance = [designs[g].matrix()[:, designs[g].inputs.code(t)] for g, t in zip(group, truth, strict=True)]
    mean = np.zeros(4)
    for codes in product([0, 1], repeat=6):
        labels = [designs["a"].outputs.labels[code] for code in codes]
        found = estimate_survey(labels, designs, Sampling(weights=w), samples=group)
        mean += float(np.prod([p[code] for p, code in zip(chance, codes, strict=True)])) * found.pi_hat
    assert mean == pytest.approx([1 / 4.5, 3.5 / 4.5, 3 / 4.5, 1.5 / 4.5])


def test_spare_reports_are_weighed_as_without_a_plan() -> None:
    columns = [[["0.6", "0.2", "0.2"], ["0.4", "0.8", "0.8"]], [["0.1", "0.7", "0.2"], ["0.9", "0.3", "0.8"]]]
    columns.append([["0.3", "0.3", "0.9"], ["0.7", "0.7", "0.1"]])
    designs = {g: Dense.of(one) for g, one in enumerate(columns)}
    counts = [[150, 350], [250, 350], [230, 170]]
    plain = estimate_samples([Sample.of(n, d) for n, d in zip(counts, designs.values(), strict=True)])
    codes = [code for pair in counts for code, n in enumerate(pair) for _ in range(n)]
    group = np.repeat([0, 1, 2], [500, 600, 400])
    found = estimate_survey(codes, designs, Sampling(strata=group), samples=group)
    assert found.pi_hat == pytest.approx(plain.pi_hat) and found.covariance == pytest.approx(plain.covariance)
    assert "two steps" in found.flags[0]


@pytest.mark.parametrize(
    "plan",
    [
        Sampling(population=5000),
        Sampling(inclusion=np.full(1000, 0.5), poisson=True),
        Sampling(strata=[0] + [1] * 999, lonely="certainty"),
    ],
)
def test_plans_that_need_the_randomization_correction_are_refused(plan: Sampling) -> None:
    with pytest.raises(ParameterError, match="never too small"):
        surveyed(plan)


def test_a_denominator_is_refused_and_so_are_samples_that_tell_nothing_together() -> None:
    with pytest.raises(ParameterError, match="leave it out"):
        surveyed(Sampling(weights=np.ones(1000)), denominator=2000)
    with pytest.raises(NotIdentifiableError):
        estimate_survey(REPORTS, {1: PAIRS[1], 2: PAIRS[1]}, Sampling(), samples=GROUP)


COIN, OTHER = (Dense.of([[p, 1 - p], [1 - p, p]]) for p in (Fraction(7, 10), Fraction(4, 5)))


def test_whole_and_domains_are_plain_estimates() -> None:
    cells = Cells.of([0, 1, 0, 1], count=[60, 90, 30, 120], domain=["f", "f", "m", "m"])
    for method, alone in (("moments", estimate_of), ("ml", likeliest)):
        found = estimate_simple(cells, [COIN], method=method)
        for one, counts in ((found, [90, 210]), (found.domains["f"], [60, 90]), (found.domains["m"], [30, 120])):
            plain = alone(counts, COIN)
            assert one.pi_hat == pytest.approx(plain.pi_hat)
            assert one.standard_error == pytest.approx(plain.standard_error, nan_ok=True)
            assert one.default_interval == plain.default_interval
            for interval in ("exact", "score", None):
                ends = plain.confidence_interval(0.9, interval)
                assert one.confidence_interval(0.9, interval) == pytest.approx(ends, nan_ok=True)


def test_totals_are_those_of_a_sample_with_replacement() -> None:
    rng = np.random.default_rng(5)
    cells = Cells.of(rng.integers(0, 3, 400), domain=rng.integers(0, 3, 400).tolist())
    found, survey = estimate_simple(cells, [JAR]), estimate_cells(cells, JAR)
    assert found.total_covariance == pytest.approx(survey.total_covariance)
    for label, one in found.domains.items():
        assert one.total == pytest.approx(survey.domains[label].total)
        assert one.total_covariance == pytest.approx(survey.domains[label].total_covariance)


def test_domains_and_samples_that_tell_too_little_say_so() -> None:
    found = surveyed(Sampling(), domains=np.where(np.arange(1000) < 300, "first", "rest"))
    assert np.isnan(found.domains["first"].pi_hat).all() and "no estimate" in found.domains["first"].flags[0]
    assert np.isfinite(found.domains["rest"].pi_hat).all()
    labels, group = ["yes"] * 3 + ["no"] * 3, [1] * 3 + [2] * 3
    found = estimate_survey(labels, PAIRS, Sampling(), samples=group)
    assert found.pi_hat[0] == pytest.approx(1.5) and any("do not cut them" in flag for flag in found.flags)
    assert not any("do not fit" in flag for flag in found.flags)
    found = estimate_simple(Cells.of([0, 1, 0], domain=["f", "f", "m"]), [COIN])
    assert np.isnan(found.domains["m"].pi_hat).all() and "too few" in found.domains["m"].flags[0]
    assert found.domains["m"].n == 1

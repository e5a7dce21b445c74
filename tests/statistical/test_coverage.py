"""Intervals cover as often as they say, under simple random sampling.

Each test draws its estimates with a fixed seed. Over all seeds, a test of intervals whose coverage is within one point
of the nominal level fails with a chance of at most 1e-6. The negative controls show that wrong errors are found.
"""

from functools import cache

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.coverage import Coverage, coverage_of, from_simple_samples

from maskwell import Categories, Design
from maskwell import design as make_design
from maskwell.designs import Uniform
from maskwell.estimation import Estimate
from maskwell.estimation.share_estimate import Intervals

pytestmark = pytest.mark.statistical

LEVEL, RUNS = 0.95, 4000
PROCEDURES: dict[str, tuple[Design, Real]] = {
    "warner": (make_design("warner", p="0.75"), np.array([0.15, 0.85])),
    "forced": (make_design("forced", truth="3/4", yes="1/6", no="1/12"), np.array([0.08, 0.92])),
    "k-ary": (Uniform.from_gamma(6, Categories.of(["a", "b", "c"])), np.array([0.2, 0.3, 0.5])),
}


@cache
def estimates(name: str) -> list[Estimate]:
    """From samples of 600 people: the same for all tests of the default number of runs."""
    return from_simple_samples(*PROCEDURES[name], 600, runs=RUNS, seed=11)


@pytest.mark.parametrize("name", list(PROCEDURES))
def test_the_default_interval_covers_at_its_level(name: str) -> None:
    coverage = coverage_of(estimates(name), PROCEDURES[name][1])
    assert coverage.is_nominal(LEVEL), coverage.shares


@pytest.mark.parametrize(("method", "runs"), [("profile", 100), ("wald", RUNS)])  # a profile needs forty maximisations
def test_the_other_intervals_cover_at_their_level(method: str, runs: int) -> None:
    coverage = coverage_of(estimates("k-ary")[:runs], PROCEDURES["k-ary"][1], level=0.9, method=method)
    assert coverage.is_nominal(0.9), coverage.shares


def test_bootstrap_intervals_cover_at_their_level() -> None:
    def make(estimate: Estimate) -> Intervals:
        return estimate.intervals(LEVEL, "bootstrap", seed=5, replicates=400)

    coverage = coverage_of(estimates("k-ary")[:1500], PROCEDURES["k-ary"][1], make=make)
    assert coverage.is_nominal(LEVEL, slack=0.015), coverage.shares


@pytest.mark.parametrize("name", list(PROCEDURES))
def test_forgetting_the_randomization_is_found(name: str) -> None:
    """Negative control: standard errors of open answers, which is what naive software gives."""

    def naive(estimate: Estimate) -> Intervals:
        half = 1.96 * np.sqrt(np.maximum(estimate.sampling_variance, 0))
        return Intervals(estimate.pi_hat - half, estimate.pi_hat + half, "naive", LEVEL)

    coverage = coverage_of(estimates(name), PROCEDURES[name][1], make=naive)
    assert not coverage.is_nominal(LEVEL) and coverage.shares.max() < 0.9


@pytest.mark.parametrize(("p", "finds"), [("0.75", True), ("0.72", False)])
def test_another_design_than_the_one_used_is_found(p: str, finds: bool) -> None:
    """Negative control: the deck had 75 percent of its cards, the analyst believes 72."""
    used, pi = PROCEDURES["warner"]
    drawn = from_simple_samples(used, pi, 600, runs=RUNS, seed=14, believed=make_design("warner", p=p))
    assert coverage_of(drawn, pi).is_nominal(LEVEL) is finds


def test_the_judge_knows_right_from_wrong() -> None:
    right, low = Coverage(np.array([3800, 3790]), 4000), Coverage(np.array([3800, 3600]), 4000)
    assert right.is_nominal(0.95) and not low.is_nominal(0.95)
    assert not Coverage(np.array([4000]), 4000).is_nominal(0.95)

"""Intervals cover as often as they say, under simple random sampling.

Each test draws its estimates with a fixed seed. Over all seeds, a test of intervals whose coverage is within one point
of the nominal level fails with a chance of at most 1e-6. The negative controls show that wrong errors are found.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.coverage import Coverage, from_simple_sample, simulated_coverage

from maskwell import Categories, Design, Estimate, make_design
from maskwell.designs import Uniform
from maskwell.estimation import Intervals, Sample, estimate_by_moments

pytestmark = pytest.mark.statistical

LEVEL, RUNS = 0.95, 4000
PROCEDURES: dict[str, tuple[Design, Real]] = {
    "warner": (make_design("warner", p="0.75"), np.array([0.15, 0.85])),
    "forced": (make_design("forced", truth="3/4", yes="1/6", no="1/12"), np.array([0.08, 0.92])),
    "k-ary": (Uniform.from_gamma(6, Categories.of(["a", "b", "c"])), np.array([0.2, 0.3, 0.5])),
}


@pytest.mark.parametrize("name", list(PROCEDURES))
def test_the_default_interval_covers_at_its_level(name: str) -> None:
    design, pi = PROCEDURES[name]
    found = simulated_coverage(from_simple_sample(design, pi, 600), pi, runs=RUNS, seed=11)
    assert found.is_nominal(LEVEL), found.shares


@pytest.mark.parametrize("method", ["profile", "wald"])
def test_the_other_intervals_cover_at_their_level(method: str) -> None:
    design, pi = PROCEDURES["k-ary"]
    runs = 300 if method == "profile" else RUNS  # each needs forty maximisations
    found = simulated_coverage(from_simple_sample(design, pi, 600), pi, runs=runs, seed=12, level=0.9, method=method)
    assert found.is_nominal(0.9), found.shares


def test_bootstrap_intervals_cover_at_their_level() -> None:
    design, pi = PROCEDURES["k-ary"]

    def make(estimate: Estimate) -> Intervals:
        return estimate.intervals(LEVEL, "bootstrap", seed=5, replicates=400)

    found = simulated_coverage(from_simple_sample(design, pi, 600), pi, runs=1500, seed=13, make=make)
    assert found.is_nominal(LEVEL, slack=0.015), found.shares


@pytest.mark.parametrize("name", list(PROCEDURES))
def test_forgetting_the_randomization_is_found(name: str) -> None:
    """Negative control: standard errors of open answers, which is what naive software gives."""
    design, pi = PROCEDURES[name]

    def naive(estimate: Estimate) -> Intervals:
        half = 1.96 * np.sqrt(np.maximum(estimate.sampling_variance, 0))
        return Intervals(estimate.pi_hat - half, estimate.pi_hat + half, "naive", LEVEL)

    found = simulated_coverage(from_simple_sample(design, pi, 600), pi, runs=RUNS, seed=11, make=naive)
    assert not found.is_nominal(LEVEL)
    assert found.shares.max() < 0.9


@pytest.mark.parametrize(("p", "finds"), [("0.75", True), ("0.72", False)])
def test_another_design_than_the_one_used_is_found(p: str, finds: bool) -> None:
    """Negative control: the deck had 75 percent of its cards, the analyst believes 72."""
    used, pi = PROCEDURES["warner"]
    believed = make_design("warner", p=p)

    def draw(random: np.random.Generator) -> Estimate:
        sample = Sample.of(random.multinomial(600, used.apply(pi)), believed)
        return estimate_by_moments(sample.counts, believed)

    assert simulated_coverage(draw, pi, runs=RUNS, seed=14).is_nominal(LEVEL) is finds


def test_the_judge_knows_right_from_wrong() -> None:
    right, low = Coverage(np.array([3800, 3790]), 4000), Coverage(np.array([3800, 3600]), 4000)
    assert right.is_nominal(0.95)
    assert not low.is_nominal(0.95)
    assert not Coverage(np.array([4000]), 4000).is_nominal(0.95)

"""Intervals of maximum likelihood estimates: at the boundary, and for several samples."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import chi2

from maskwell import Counts, Design
from maskwell import design as make_design
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.estimation import Estimate, Sample, estimate_by_likelihood, estimate_by_moments
from maskwell.estimation.maximum_likelihood import likelihood_of

P3 = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
FORCED = make_design("forced", truth="3/4", yes="1/6", no="1/12")


def estimate_of(counts: list[int], design: Design) -> Estimate:
    return estimate_by_likelihood(Sample.of(counts, design).counts, design)


def two_warners() -> Estimate:
    samples = [
        Sample.of([120, 180], make_design("warner", p="0.7")),
        Sample.of([60, 140], make_design("warner", p="0.8")),
    ]
    return likelihood_of(samples, None)


def test_at_the_boundary_the_default_is_profile() -> None:
    estimate = estimate_of([5, 60, 35], P3)
    assert estimate.default_interval == "profile"
    said = estimate.to_dict()
    assert said["interval_method"] == "profile"
    assert said["estimates"][0]["standard_error"] is None
    assert said["estimates"][0]["interval"] == pytest.approx([0, 0.0463], abs=5e-5)
    json.dumps(said, allow_nan=False)
    assert said["covariance"][0] == [None] * 3
    assert said["moments"][0] == pytest.approx(-0.1181, abs=5e-5)
    assert "profile intervals" in repr(estimate)


def test_inside_the_default_is_that_of_moments() -> None:
    estimate = estimate_of([30, 50, 20], P3)
    assert estimate.default_interval == "score"
    np.testing.assert_allclose(
        estimate.confidence_interval(), estimate_by_moments(*_of(estimate)).confidence_interval(), atol=1e-9
    )


def _of(estimate: Estimate) -> tuple[Counts, Design]:
    return estimate.samples[0].counts, estimate.samples[0].design


def test_two_to_two_keeps_its_score_interval() -> None:
    estimate = estimate_of([80, 420], FORCED)
    assert estimate.pi_hat[0] == 0
    assert estimate.default_interval == "score"
    np.testing.assert_allclose(estimate.confidence_interval()[0], [0, 0.0374], atol=5e-5)


def test_what_does_not_work_there_says_so() -> None:
    estimate = estimate_of([5, 60, 35], P3)
    assert any("not defined" in flag for flag in estimate.intervals(0.95, "wald").flags)
    found = estimate.intervals(0.95, "bootstrap", seed=1, replicates=200)
    assert any("not valid: prefer profile" in flag for flag in found.flags)
    assert (found.low >= 0).all()
    with pytest.raises(ParameterError, match="no bca interval for an estimate by ml"):
        estimate.intervals(0.95, "bootstrap", seed=1, ends="bca")


def test_profile_intervals_of_two_samples() -> None:
    estimate = two_warners()
    low, high = estimate.confidence_interval(0.95, "profile")[0]

    def value(t: float) -> float:
        first, second = 0.3 + 0.4 * t, 0.2 + 0.6 * t
        return float(120 * np.log(first) + 180 * np.log(1 - first) + 60 * np.log(second) + 140 * np.log(1 - second))

    best = value(float(estimate.pi_hat[0]))
    assert [2 * (best - value(t)) for t in (low, high)] == pytest.approx([chi2.ppf(0.95, 1)] * 2, abs=1e-6)
    wald = estimate.confidence_interval(0.95, "wald")[0]
    np.testing.assert_allclose([low, high], wald, atol=0.01)


@pytest.mark.parametrize("source", ["reports", "model"])
def test_bootstrap_intervals_of_two_samples(source: str) -> None:
    estimate = two_warners()
    found = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=1000, source=source)
    np.testing.assert_allclose(found, estimate.confidence_interval(0.95, "wald"), atol=0.015)


def test_several_samples_have_score_intervals() -> None:
    """Near the Wald interval in a sample of five hundred, and no nearer to it than it should be."""
    estimate = two_warners()
    assert estimate.default_interval == "score"
    score, wald = (estimate.confidence_interval(0.95, method) for method in ("score", "wald"))
    np.testing.assert_allclose(score, wald, atol=0.01)
    assert np.abs(score - wald).max() > 1e-4


def simmons(method: str) -> Estimate:
    """Two samples with an unrelated question of unknown share: only sums of the categories can be told."""
    from maskwell.estimation import estimate_samples

    designs = [make_design("simmons", p=p) for p in ("0.75", "0.25")]
    return estimate_samples([Sample.of([200, 400], designs[0]), Sample.of([140, 260], designs[1])], method=method)


@pytest.mark.parametrize("method", ["moments", "ml"])
def test_sums_of_categories_have_score_and_bootstrap_intervals(method: str) -> None:
    estimate = simmons(method)
    assert len(estimate.categories) == 4
    assert estimate.default_interval == "score"
    found = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=300)
    np.testing.assert_allclose(found, estimate.confidence_interval(), atol=0.03)
    with pytest.raises(ParameterError, match="sums of the categories"):
        estimate.intervals(0.95, "profile")

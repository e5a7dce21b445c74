"""Moment estimates: unbiasedness by enumeration, honest flags, and errors."""

import json
from itertools import product

import numpy as np
import pytest

from maskwell import Categories, Counts
from maskwell.designs import Dense, LocalDiversity, Subset, Unary, Uniform
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError, WrongTypeError
from maskwell.estimation import Sample, estimate_by_moments

P3 = [["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]]


def _statistic(design, report):
    if design.reports_are_sets:
        return np.unpackbits(report, count=design.k, bitorder="little").astype(int)
    return np.eye(design.m, dtype=int)[report]


@pytest.mark.parametrize(
    "design",
    [
        Dense.of(P3),
        Dense.of([["0.5", "0.25"], ["0.25", "0.25"], ["0.25", "0.5"]]),
        Uniform.from_gamma(3, Categories.numbered(3)),
        Subset.from_gamma(2, Categories.numbered(4), size=2),
        LocalDiversity.of(2, Categories.numbered(3)),
        Unary.oue_from_gamma(3, Categories.numbered(2)),
    ],
    ids=lambda d: f"{d.kind}-{d.m}x{d.k}",
)
def test_estimates_and_variances_are_unbiased_over_all_samples_of_three(design):
    pi = np.arange(1, design.k + 1) / np.arange(1, design.k + 1).sum()
    lam, space, n = design.matrix() @ pi, design.report_space(), 3
    mean, total, randomization = np.zeros(design.k), np.zeros((design.k, design.k)), np.zeros(design.k)
    for sample in product(range(design.m), repeat=n):
        chance = lam[list(sample)].prod()
        counts = sum(_statistic(design, space[i]) for i in sample)
        result = estimate_by_moments(Counts(counts, n, design.fingerprint), design)
        mean += chance * result.pi_hat
        total += chance * result.covariance
        randomization += chance * result.randomization_variance
    whole = design.covariance(pi) / n
    assert np.allclose(mean, pi, atol=1e-12)
    assert np.allclose(total, whole, atol=1e-12)
    assert np.allclose(randomization, np.diag(whole) - pi * (1 - pi) / n, atol=1e-12)


def test_variance_is_the_diagonal_of_the_covariance():
    design = Subset.from_epsilon(1, Categories.numbered(6), size=2)
    reports = design.sample(np.arange(600) % 6)
    result = estimate_by_moments(design.tally(reports), design)
    assert np.allclose(result.variance, np.diag(result.covariance))
    assert np.allclose(result.sampling_variance + result.randomization_variance, result.variance)


def test_outside_estimates_are_kept_and_flagged():
    design = Dense.of(P3)
    result = estimate_by_moments(Counts(np.array([5, 60, 35]), 100, design.fingerprint), design)
    assert result.pi_hat[0] == pytest.approx(-0.1180555555555)
    assert any("outside" in flag for flag in result.flags)
    assert any("estimated below zero" in flag for flag in result.flags)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "note:" in repr(result)


def test_reports_that_do_not_fit_the_design_are_called_so():
    """Warner with p = 0.7 and not one yes in three hundred: the yes rate cannot be below 0.3."""
    warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    result = estimate_by_moments(Counts(np.array([0, 300]), 300, warner.fingerprint), warner)
    assert any("do not fit the design" in flag for flag in result.flags)
    assert any("standard error is zero" in flag for flag in result.flags)
    assert not any("do not cut" in flag for flag in result.flags)


def test_good_reports_have_no_flags():
    warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    assert estimate_by_moments(Counts(np.array([120, 180]), 300, warner.fingerprint), warner).flags == ()


def test_many_categories_have_variances_but_no_covariance():
    design = Uniform.from_epsilon(2, Categories.numbered(5000))
    result = estimate_by_moments(design.tally(design.sample(np.zeros(100, dtype=int))), design)
    assert result.covariance is None and result.variance.shape == (5000,)
    assert "... and 4,980 more" in repr(result)


def test_intervals_widen_with_the_level_and_stay_uncut():
    design = Dense.of(P3)
    result = estimate_by_moments(Counts(np.array([5, 60, 35]), 100, design.fingerprint), design)
    narrow, wide = result.confidence_interval(0.5, "wald"), result.confidence_interval(0.99, "wald")
    assert (wide[:, 0] < narrow[:, 0]).all() and (wide[:, 1] > narrow[:, 1]).all() and wide[0, 0] < 0
    half = result.confidence_interval(0.95, "wald")[:, 1] - result.pi_hat
    assert np.allclose(half, 1.959963984540054 * result.standard_error)
    for level in (0, 1, 95):
        with pytest.raises(ParameterError, match=f"level = {level}"):
            result.confidence_interval(level)


def test_frame():
    frame = estimate_by_moments(Counts(np.array([30, 50, 20]), 100, Dense.of(P3).fingerprint), Dense.of(P3)).to_frame()
    assert list(frame.columns) == ["category", "estimate", "standard_error", "low", "high"] and len(frame) == 3


def test_refusals():
    design = Dense.of(P3)
    with pytest.raises(WrongTypeError, match="must be a Counts"):
        estimate_by_moments([30, 50, 20], design)
    with pytest.raises(ReportError, match="at least two reports"):
        estimate_by_moments(Counts(np.array([1, 0, 0]), 1, design.fingerprint), design)
    with pytest.raises(ReportError, match="another design"):
        estimate_by_moments(Counts(np.array([1, 1, 1]), 3, "sha256:other"), design)
    never = Dense.of([[0.5, 0.25], [0, 0], [0.5, 0.75]])
    with pytest.raises(ReportError, match="impossible"):
        estimate_by_moments(Counts(np.array([1, 1, 1]), 3, never.fingerprint), never)
    flat = Dense.of([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(NotIdentifiableError, match="cannot be estimated"):
        estimate_by_moments(Counts(np.array([1, 1]), 2, flat.fingerprint), flat)


def test_few_reports_that_happen_to_be_rare_are_no_misfit():
    """The standard error estimated from three equal reports is zero, but at a share of zero it is 0.66."""
    warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
    result = estimate_by_moments(Sample.of([0, 3], warner).counts, warner)
    assert not any("do not fit the design" in flag for flag in result.flags)


def test_the_farthest_of_many_rare_categories_is_no_misfit():
    """Among a thousand categories some are seen twice where ten reports are expected by chance alone."""
    design = Uniform.from_gamma(20, Categories.numbered(1000))
    truth = np.r_[np.full(100, 0.01), np.zeros(900)]
    counts = np.random.default_rng(1).multinomial(10_000, design.apply(truth))
    result = estimate_by_moments(Sample.of(counts, design).counts, design)
    estimated = result.pi_hat < -4 * result.standard_error
    assert estimated.any()
    assert not any("do not fit the design" in flag for flag in result.flags)


def test_sets_that_do_not_fit_the_design_are_called_so():
    design = Subset.from_gamma(9, Categories.numbered(4), size=1)
    counts = Counts(np.array([2000, 0, 0, 0]), 2000, design.fingerprint)
    assert any("do not fit the design" in flag for flag in estimate_by_moments(counts, design).flags)


def test_small_errors_of_many_reports_are_not_called_zero():
    design = Uniform.of(1, Categories.numbered(3))
    result = estimate_by_moments(Sample.of([10**3, 10**8, 10**8], design).counts, design)
    assert 0 < result.variance[0] < 1e-12
    assert result.flags == ()

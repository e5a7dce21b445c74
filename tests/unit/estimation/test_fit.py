"""Goodness of fit: which law it refers to, and what it says."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement
from statistics import NormalDist

import numpy as np
import pytest

from maskwell.core import Categories, Counts
from maskwell.designs import Dense, Subset
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation import Sample, estimate_by_moments, goodness_of_fit
from maskwell.estimation.goodness import goodness_of_samples

WARNER = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]])
THREE = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
KUK = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])


def fit(counts: list[int], design: Dense, **options: int) -> object:
    return goodness_of_fit(Sample.of(counts, design).counts, design, **options)


def test_inside_the_simplex_a_square_design_fits_everything() -> None:
    found = goodness_of_fit(Sample.of([120, 180], WARNER).counts, WARNER)
    assert (found.likelihood_ratio, found.p_likelihood_ratio, found.degrees_of_freedom) == (0, 1, 0)
    assert "cannot detect cheating" in found.flags[0]


def test_both_ends_of_two_categories() -> None:
    low = goodness_of_fit(Sample.of([80, 320], WARNER).counts, WARNER)
    high = goodness_of_fit(Sample.of([320, 80], WARNER).counts, WARNER)
    assert low.reference == "half chi-square at the boundary"
    np.testing.assert_allclose(low.likelihood_ratio, high.likelihood_ratio)
    np.testing.assert_allclose(low.likelihood_ratio, 2 * (80 * np.log(0.2 / 0.3) + 320 * np.log(0.8 / 0.7)))
    root = np.sqrt(low.likelihood_ratio)
    np.testing.assert_allclose(low.p_likelihood_ratio, NormalDist().cdf(-root), rtol=1e-9)  # one side of a normal


def test_more_categories_at_the_boundary_need_a_seed() -> None:
    found = goodness_of_fit(Sample.of([5, 60, 35], THREE).counts, THREE)
    assert np.isnan(found.p_likelihood_ratio)
    assert "give a seed" in found.flags[0]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["p_pearson"] is None
    assert "no p value" in repr(found)
    drawn = goodness_of_fit(Sample.of([5, 60, 35], THREE).counts, THREE, seed=1, replicates=400)
    assert (drawn.reference, drawn.replicates) == ("parametric bootstrap", 400)
    assert 1 / 401 <= drawn.p_likelihood_ratio < 0.05
    again = goodness_of_fit(Sample.of([5, 60, 35], THREE).counts, THREE, seed=1, replicates=400)
    assert again.p_likelihood_ratio == drawn.p_likelihood_ratio


def test_size_of_the_test_with_more_reports_than_categories() -> None:
    """1000 fits at the 5 % level: 50 rejections, give or take 4 standard deviations (28)."""
    generator = np.random.default_rng(11)
    draws = generator.multinomial(400, KUK.matrix() @ [0.3, 0.7], size=1000)
    rejected = sum(goodness_of_fit(Counts(x, 400, KUK.fingerprint), KUK).p_likelihood_ratio < 0.05 for x in draws)
    assert 22 < rejected < 78


def test_reports_from_another_design_do_not_fit() -> None:
    swapped = Sample.of([10, 10, 200, 10], KUK)
    assert goodness_of_fit(swapped.counts, KUK).p_pearson < 1e-6


def test_a_report_that_cannot_occur_takes_no_degree_of_freedom() -> None:
    holes = Dense.of([["1/2", "1/8"], [0, 0], ["1/4", "1/4"], ["1/4", "5/8"]], outputs=Categories.numbered(4))
    assert goodness_of_fit(Sample.of([30, 0, 30, 40], holes).counts, holes).degrees_of_freedom == 1


def test_several_samples_test_that_they_agree() -> None:
    agree = goodness_of_samples([Sample.of([150, 150], WARNER), Sample.of([150, 150], WARNER)])
    assert (agree.degrees_of_freedom, agree.flags) == (1, ())
    assert agree.p_likelihood_ratio > 0.99
    apart = goodness_of_samples([Sample.of([210, 90], WARNER), Sample.of([110, 190], WARNER)])
    assert apart.p_likelihood_ratio < 1e-6


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="no samples"):
        goodness_of_samples([])
    with pytest.raises(ParameterError, match="replicates = 0"):
        fit([5, 60, 35], THREE, seed=1, replicates=0)
    sets = Subset.from_gamma(3, Categories.numbered(4), size=2)
    with pytest.raises(ReportError, match="tally of sets"):
        goodness_of_fit(Counts(np.array([3, 3, 3, 3]), 6, sets.fingerprint), sets)


def test_moment_estimates_outside_carry_the_test() -> None:
    doubtful = estimate_by_moments(Sample.of([12, 620, 368], THREE).counts, THREE)
    assert any("boundary test: p is at most" in f and "not followed" in f for f in doubtful.flags)
    harmless = estimate_by_moments(Sample.of([28, 72], WARNER).counts, WARNER)
    assert harmless.pi_hat[0] < 0
    (said,) = [flag for flag in harmless.flags if "boundary test" in flag]
    assert "not followed" not in said
    inside = estimate_by_moments(Sample.of([120, 180], WARNER).counts, WARNER)
    assert not any("boundary" in flag for flag in inside.flags)


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match="seed = -1"):
        fit([5, 60, 35], THREE, seed=-1)


def test_sparse_reports_have_no_chi_square_law() -> None:
    """With 200 kinds of reports and 30 of them, right reports had p below 0.05 in 17 of 100 cases."""
    generator = np.random.default_rng(2)
    weights = generator.integers(1, 30, (200, 2))
    design = Dense.of(
        [[Fraction(int(x), int(total)) for x, total in zip(row, weights.sum(0), strict=True)] for row in weights]
    )
    counts = generator.multinomial(30, design.apply(np.array([0.5, 0.5])))
    found = goodness_of_fit(Sample.of(counts, design).counts, design)
    assert np.isnan(found.p_pearson)
    assert any("too few of some reports are expected" in flag for flag in found.flags)
    by_bootstrap = goodness_of_fit(Sample.of(counts, design).counts, design, seed=1, replicates=60)
    assert by_bootstrap.reference == "parametric bootstrap"
    assert by_bootstrap.p_pearson > 0.01
    many = generator.multinomial(20_000, design.apply(np.array([0.5, 0.5])))
    assert goodness_of_fit(Sample.of(many, design).counts, design).reference == "chi-square"


def test_expected_counts_of_exactly_five_are_not_sparse() -> None:
    """Both categories are as frequent, so that each of five reports is expected five times; floats are off by a bit."""
    steps = [Fraction(i, 20) for i in range(1, 8)]
    rows = [(*four, 1 - sum(four)) for four in combinations_with_replacement(steps, 4)]
    rows = [one for one in rows if Fraction(1, 20) <= one[-1] <= Fraction(7, 20) and len(set(one)) > 1]
    assert len(rows) > 50
    for row in rows:
        design = Dense.of([[p, Fraction(2, 5) - p] for p in row])
        found = goodness_of_fit(Sample.of([5] * 5, design).counts, design)
        assert (found.reference, round(found.p_pearson, 9)) == ("chi-square", 1), row
    fewer = goodness_of_fit(Sample.of([4] * 5, design).counts, design)
    assert np.isnan(fewer.p_pearson)

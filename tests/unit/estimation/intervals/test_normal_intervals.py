"""Wald, logit and simultaneous intervals, defaults, and what is said where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm
from tests.support.together import together

from maskwell import Categories, Counts, Design
from maskwell import design as make_design
from maskwell.designs import Subset, Uniform
from maskwell.errors import ParameterError
from maskwell.estimation import Estimate, Sample, Sampling, estimate_by_moments, estimate_samples, estimate_survey
from maskwell.estimation.share_intervals import METHODS

KARY = Uniform.from_gamma(5, Categories.of(["a", "b", "c"]))
WARNER = make_design("warner", p="0.7")


def estimate_of(counts: list[int], design: Design) -> Estimate:
    return estimate_by_moments(Sample.of(counts, design).counts, design)


def test_the_default_is_score_for_counts_and_exact_or_matched_for_small_ones() -> None:
    kuk = make_design("kuk", theta1="0.7", theta2="0.05", draws=2)
    assert estimate_of([120, 180], WARNER).default_interval == "score"
    assert estimate_of([9, 11], WARNER).default_interval == "score"  # chance alone makes six of twenty say yes
    assert estimate_of([50, 30, 20], KARY).default_interval == "score"
    assert estimate_of([15, 3, 2], KARY).default_interval == "exact"
    assert estimate_of([250, 30, 20], kuk).default_interval == "score"
    assert estimate_of([25, 3, 2], kuk).default_interval == "matched"
    pair = Subset.from_gamma(3, Categories.numbered(4), size=2)
    assert estimate_by_moments(pair.tally(pair.sample(np.arange(400) % 4)), pair).default_interval == "score"
    without = replace(estimate_of([120, 180], WARNER), samples=())
    assert without.default_interval == "wald"
    assert without.to_dict()["interval_method"] == "wald"


def test_wald() -> None:
    estimate = estimate_of([500, 300, 200], KARY)
    half = norm.ppf(0.975) * estimate.standard_error
    np.testing.assert_allclose(estimate.confidence_interval(0.95, "wald")[:, 1], estimate.pi_hat + half)
    np.testing.assert_allclose(estimate.intervals(method="wald").half_width, half)
    still = estimate_of([18, 2, 0], Uniform.from_gamma(9, Categories.numbered(3))).intervals(method="wald")
    assert np.isnan(still.low[2])  # the reports do not vary there, which is no reason to be sure
    assert any("zero or not defined" in flag for flag in still.flags)


def test_logit_stays_inside_and_is_wald_on_the_log_odds() -> None:
    estimate = estimate_of([240, 20, 240], KARY)
    found = estimate.confidence_interval(0.95, "logit")
    inside = (estimate.pi_hat > 0) & (estimate.pi_hat < 1)
    assert inside.sum() == 2
    odds = np.log(found / (1 - found))[inside]
    share = estimate.pi_hat[inside]
    centre = np.log(share / (1 - share))
    np.testing.assert_allclose(odds.mean(axis=1), centre)
    spread = estimate.standard_error[inside] / (share * (1 - share))
    np.testing.assert_allclose(odds[:, 1] - centre, norm.ppf(0.975) * spread)


def test_logit_is_not_available_outside_and_says_so() -> None:
    found = estimate_of([240, 20, 240], KARY).intervals(0.95, "logit")
    assert np.isnan(found.low[1])
    assert found.flags == ("no logit interval for 1 of 3 categories: it needs an estimate between 0 and 1",)
    said = estimate_of([240, 20, 240], KARY).to_dict(interval="logit")
    assert said["estimates"][1]["interval"] == [None, None]
    assert said["interval_method"] == "logit"
    assert found.flags[0] in said["flags"]
    json.dumps(said, allow_nan=False)
    json.dumps(found.to_dict(), allow_nan=False)


def test_simultaneous_intervals_are_wider_and_in_order() -> None:
    estimate = estimate_of([500, 300, 200], KARY)
    ratio = {
        m: float(estimate.intervals(0.95, m).half_width[0] / estimate.standard_error[0])
        for m in METHODS
        if m in ("wald", "bonferroni", "scheffe")
    }
    assert ratio["wald"] == pytest.approx(norm.ppf(0.975))
    assert ratio["bonferroni"] == pytest.approx(norm.ppf(1 - 0.05 / 6))
    assert ratio["scheffe"] == pytest.approx(np.sqrt(chi2.ppf(0.95, 2)))


def test_an_error_that_is_not_defined_leaves_no_interval_but_a_word() -> None:
    estimate = replace(estimate_of([50, 30, 20], KARY), variance=np.array([np.nan, 0.01, 0.01]))
    for method in ("wald", "logit", "bonferroni", "scheffe"):
        found = estimate.intervals(0.95, method)
        assert np.isnan(found.low[0])
        assert any("not defined" in flag for flag in found.flags)


def test_an_estimate_that_forgot_its_counts_has_no_likelihood_intervals() -> None:
    estimate = replace(estimate_of([120, 180], WARNER), samples=())
    for method in ("score", "exact", "profile", "bootstrap"):
        with pytest.raises(ParameterError, match="without the counts of reports"):
            estimate.intervals(0.95, method)


def test_bad_names_and_levels() -> None:
    estimate = estimate_of([120, 180], WARNER)
    with pytest.raises(ParameterError, match="no interval is called 'agresti'") as raised:
        estimate.intervals(0.95, "agresti")
    assert all(name in raised.value.hint for name in METHODS)
    for level in (0, 1, 95, float("nan")):
        with pytest.raises(ParameterError, match="level"):
            estimate.intervals(level)


def test_what_people_see() -> None:
    found = estimate_of([500, 300, 200], KARY).intervals(method="wald")
    assert found.name == "Wald"
    assert repr(found).startswith("Intervals(wald, level 0.95): [")
    many = Uniform.from_epsilon(2, Categories.numbered(12))
    assert repr(estimate_of([5] * 12, many).intervals()).endswith("... (12 in all)")
    assert "95 % score intervals" in repr(estimate_of([120, 180], WARNER))
    frame = estimate_of([120, 180], WARNER).to_frame(interval="wald")
    assert frame["low"][0] == pytest.approx(0.1112, abs=5e-5)


def test_sets_have_intervals_of_their_counts() -> None:
    sets = Subset.from_gamma(3, Categories.numbered(4), size=2)
    counts = sets.tally(sets.sample(np.arange(400) % 4))
    assert isinstance(counts, Counts)
    estimate = estimate_by_moments(counts, sets)
    found, p, r = estimate.binomial_counts, float(sets.include), float(sets.other)
    assert found is not None
    np.testing.assert_array_equal(found.x, counts.values)
    for method, scipy_name in (("score", "wilson"), ("exact", "exact")):
        ends = [binomtest(int(x), 400).proportion_ci(0.95, method=scipy_name) for x in counts.values]
        expected = np.clip([[(e.low - r) / (p - r), (e.high - r) / (p - r)] for e in ends], 0, 1)
        np.testing.assert_allclose(estimate.confidence_interval(0.95, method), expected, atol=1e-12)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "bootstrap"])
@pytest.mark.parametrize("level", [1 - 2**-53, 1 - 1e-13])
def test_levels_beyond_all_quantiles_are_refused(method: str, level: float) -> None:
    with pytest.raises(ParameterError, match="too near to 1"):
        estimate_of([120, 180], WARNER).intervals(level, method)


def test_bonferroni_of_many_categories_at_the_highest_level_has_ends() -> None:
    many = Uniform.from_gamma(400, Categories.numbered(20_000))
    found = estimate_of([2] * 20_000, many).intervals(1 - 1e-12, "bonferroni")
    assert np.isfinite(found.to_array()).all()


def test_sums_of_categories_are_referred_to_an_interval_that_they_have() -> None:
    samples = [Sample.of([20, 40], make_design("simmons", p="3/4")), Sample.of([10, 30], make_design("simmons", p=0))]
    with pytest.raises(ParameterError, match="ask for a matched interval"):
        estimate_samples(samples).intervals(method="exact")
    with pytest.raises(ParameterError, match="ask for a wald interval"):
        estimate_samples(samples).intervals(method="profile")


def test_logit_says_when_there_is_no_quantile() -> None:
    """A domain within one cluster has no degrees of freedom."""
    reports, place = ["yes", "no", "no", "yes", "no", "no"], np.array(["a", "a", "a", "b", "b", "b"])
    plan = Sampling(weights=np.ones(6), clusters=[place])
    found = estimate_survey(reports, WARNER, plan, domains=place).domains["a"].intervals(method="logit")
    assert np.isnan(found.to_array()).all()
    assert found.flags


@together("p", ["0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95"])
def test_logit_says_the_same_of_both_categories_at_exactly_0_and_1(p: str) -> None:
    """With as many yes as chance alone makes, the estimates are 0 and 1 but for the last bits."""
    yes = int(600 * (1 - Fraction(p)))
    for counts in ([yes, 600 - yes], [600 - yes, yes]):
        estimate = estimate_of(counts, make_design("warner", p=p))
        assert sorted(abs(estimate.pi_hat.round(12))) == [0, 1]
        found = estimate.intervals(0.95, "logit")
        assert np.isnan(found.to_array()).all()
        assert found.flags == ("no logit interval for 2 of 2 categories: it needs an estimate between 0 and 1",)
        assert not any("outside" in flag for flag in estimate.flags)
    assert not np.isnan(
        estimate_of([yes + 1, 599 - yes], make_design("warner", p=p)).intervals(0.95, "logit").to_array()
    ).any()

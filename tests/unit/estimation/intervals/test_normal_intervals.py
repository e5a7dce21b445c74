"""Wald, logit and simultaneous intervals, and what is said where there is none."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, norm
from tests.support.estimates import WARNER, estimate_of
from tests.support.together import together

from maskwell import Categories, Sampling
from maskwell import design as make_design
from maskwell.designs import Uniform
from maskwell.errors import ParameterError
from maskwell.estimation import estimate_survey

KARY = Uniform.from_gamma(5, Categories.of(["a", "b", "c"]))


def test_wald_and_simultaneous_intervals() -> None:
    estimate = estimate_of([500, 300, 200], KARY)
    factors = {"wald": norm.ppf(0.975), "bonferroni": norm.ppf(1 - 0.05 / 6), "scheffe": np.sqrt(chi2.ppf(0.95, 2))}
    for method, factor in factors.items():
        found = estimate.intervals(0.95, method)
        np.testing.assert_allclose(found.half_width, factor * estimate.standard_error)
        np.testing.assert_allclose(found.low, estimate.pi_hat - factor * estimate.standard_error)
    still = estimate_of([18, 2, 0], Uniform.from_gamma(9, Categories.numbered(3))).intervals(method="wald")
    assert np.isnan(still.low[2])  # the reports do not vary there, which is no reason to be sure
    assert any("zero or not defined" in flag for flag in still.flags)
    many = estimate_of([2] * 20_000, Uniform.from_gamma(400, Categories.numbered(20_000)))
    assert np.isfinite(many.intervals(1 - 1e-12, "bonferroni").to_array()).all()


def test_logit_stays_inside_is_wald_on_the_log_odds_and_says_where_there_is_none() -> None:
    estimate = estimate_of([240, 20, 240], KARY)
    found, inside = estimate.intervals(0.95, "logit"), [0, 2]
    odds = np.log(found.to_array() / (1 - found.to_array()))[inside]
    share = estimate.pi_hat[inside]
    np.testing.assert_allclose(odds.mean(axis=1), np.log(share / (1 - share)))
    spread = estimate.standard_error[inside] / (share * (1 - share))
    np.testing.assert_allclose(odds[:, 1] - odds.mean(axis=1), norm.ppf(0.975) * spread)
    assert np.isnan(found.low[1])
    assert found.flags == ("no logit interval for 1 of 3 categories: it needs an estimate between 0 and 1",)
    said = estimate.to_dict(interval="logit")
    assert (said["estimates"][1]["interval"], said["interval_method"]) == ([None, None], "logit")
    assert found.flags[0] in said["flags"]
    json.dumps([said, found.to_dict()], allow_nan=False)


def test_what_an_interval_lacks_is_said_also_without_a_quantile() -> None:
    estimate = replace(estimate_of([50, 30, 20], KARY), variance=np.array([np.nan, 0.01, 0.01]))
    for method in ("wald", "logit", "bonferroni", "scheffe"):
        found = estimate.intervals(0.95, method)
        assert np.isnan(found.low[0]) and any("not defined" in flag for flag in found.flags)
    estimate = replace(estimate_of([120, 180], WARNER), basis=())
    assert (estimate.default_interval, estimate.to_dict()["interval_method"]) == ("wald", "wald")
    for method in ("score", "exact", "profile", "bootstrap"):
        with pytest.raises(ParameterError, match="without the counts of reports"):
            estimate.intervals(0.95, method)
    # A domain within one cluster has no degrees of freedom.
    place = np.array(["a", "a", "a", "b", "b", "b"])
    plan = Sampling(weights=np.ones(6), clusters=[place])
    found = estimate_survey(["yes", "no", "no"] * 2, WARNER, plan, domains=place).domains["a"].intervals(method="logit")
    assert np.isnan(found.to_array()).all() and found.flags


@together("p", ["0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95"])
def test_logit_says_the_same_of_both_categories_at_exactly_0_and_1(p: str) -> None:
    """With as many yes as chance alone makes, the estimates are 0 and 1 but for the last bits."""
    yes, design = int(600 * (1 - Fraction(p))), make_design("warner", p=p)
    for counts in ([yes, 600 - yes], [600 - yes, yes]):
        estimate = estimate_of(counts, design)
        assert sorted(abs(estimate.pi_hat.round(12))) == [0, 1]
        found = estimate.intervals(0.95, "logit")
        assert np.isnan(found.to_array()).all()
        assert found.flags == ("no logit interval for 2 of 2 categories: it needs an estimate between 0 and 1",)
        assert not any("outside" in flag for flag in estimate.flags)
    assert not np.isnan(estimate_of([yes + 1, 599 - yes], design).intervals(0.95, "logit").to_array()).any()

"""Profile, bootstrap, Wald, logit and simultaneous intervals: against brute force, at the boundary, and where none."""

import json
from dataclasses import replace
from fractions import Fraction
from inspect import signature

import numpy as np
import pytest
from scipy.stats import bootstrap as reference
from scipy.stats import chi2, norm
from tests.support.estimates import FORCED, JAR, WARNER, estimate_of, likeliest
from tests.support.together import together

from maskwell import Categories, Sampling
from maskwell import design as make_design
from maskwell.designs import Dense, Uniform
from maskwell.errors import ParameterError
from maskwell.estimation import Estimate, LeftInverse, Sample, estimate_samples, estimate_survey, share_intervals
from maskwell.estimation.maximum_likelihood import likelihood_of

KUK = make_design("kuk", theta1="0.7", theta2="0.2", draws=2)
KARY = Uniform.from_gamma(5, Categories.of(["a", "b", "c"]))


def two_warners() -> Estimate:
    return likelihood_of([Sample.of([120, 180], WARNER), Sample.of([60, 140], make_design("warner", p="0.8"))], None)


@pytest.mark.parametrize("counts", [[30, 50, 20], [5, 60, 35], [0, 40, 60], [1, 98, 1]])
def test_against_all_points_of_a_grid(counts: list[int]) -> None:
    """Every share in the interval belongs to some point of the simplex that is likely enough, and no other does."""
    step = 200
    grid = np.array([(i, j, step - i - j) for i in range(step + 1) for j in range(step + 1 - i)]) / step
    values = np.log(grid @ JAR.matrix().T) @ np.array(counts, dtype=float)
    found = estimate_of(counts, JAR).confidence_interval(0.95, "profile")
    kept = grid[2 * (values.max() - values) <= chi2.ppf(0.95, 1)]
    for j in range(3):
        assert found[j, 0] <= kept[:, j].min() + 1e-9 and found[j, 1] >= kept[:, j].max() - 1e-3
        assert found[j] == pytest.approx([kept[:, j].min(), kept[:, j].max()], abs=1.5 / step)


def test_the_ends_lose_exactly_what_chi_squared_allows() -> None:
    """Of one sample with more reports than categories, and of two samples; two categories are one interval."""
    two, x, P = two_warners(), np.array([120.0, 130.0, 90.0]), KUK.matrix()

    def of_kuk(t: float) -> float:
        return float(x @ np.log(P @ [t, 1 - t]))

    def of_two(t: float) -> float:
        first, second = 0.3 + 0.4 * t, 0.2 + 0.6 * t
        return float(120 * np.log(first) + 180 * np.log(1 - first) + 60 * np.log(second) + 140 * np.log(1 - second))

    for estimate, value in ((estimate_of([120, 130, 90], KUK), of_kuk), (two, of_two)):
        found = estimate.confidence_interval(0.9, "profile")
        best = max(value(t) for t in np.linspace(0.001, 0.999, 20001))
        assert [2 * (best - value(t)) for t in found[0]] == pytest.approx([chi2.ppf(0.9, 1)] * 2, abs=1e-4)
        np.testing.assert_allclose(found[1], 1 - found[0, ::-1])
    np.testing.assert_allclose(*(two.confidence_interval(0.95, m) for m in ("profile", "wald")), atol=0.01)


def test_at_the_boundary_the_default_is_profile() -> None:
    estimate = likeliest([5, 60, 35], JAR)
    said = estimate.to_dict()
    assert (estimate.default_interval, said["interval_method"]) == ("profile", "profile")
    assert said["estimates"][0]["standard_error"] is None
    assert said["estimates"][0]["interval"] == pytest.approx([0, 0.0463], abs=5e-5)
    assert said["covariance"][0] == [None] * 3 and said["moments"][0] == pytest.approx(-0.1181, abs=5e-5)
    json.dumps(said, allow_nan=False)
    assert "profile intervals" in repr(estimate)
    assert any("not defined" in flag for flag in estimate.intervals(0.95, "wald").flags)
    drawn = estimate.intervals(0.95, "bootstrap", seed=1, replicates=200)
    assert any("not valid: prefer profile" in flag for flag in drawn.flags) and (drawn.low >= 0).all()
    with pytest.raises(ParameterError, match="a bca interval is not available for an estimate by ml"):
        estimate.intervals(0.95, "bootstrap", seed=1, ends="bca")


def test_ends_and_defaults_inside_outside_and_at_zero() -> None:
    low, high = estimate_of([5, 60, 35], JAR).confidence_interval(0.95, "profile")[0]
    assert (low == 0, 0 < high < 0.1) == (True, True)
    direct, far = Dense.of([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.exp(-chi2.ppf(0.95, 1) / 200)
    found = estimate_of([40, 0, 60], direct).confidence_interval(0.95, "profile")
    assert found[1] == pytest.approx([0, 1 - far], abs=1e-6)
    assert estimate_of([0, 100, 0], direct).confidence_interval(0.95, "profile")[1] == pytest.approx([far, 1], abs=1e-6)
    alike = estimate_of([2, 0], WARNER).intervals(0.95, "profile")  # two reports, all the same, hardly speak
    assert (alike.low[0], alike.high[0]) == (0, 1)
    inside, outside = likeliest([30, 50, 20], JAR), likeliest([80, 420], FORCED)
    assert (inside.default_interval, outside.default_interval) == ("score", "score")
    plain = estimate_of([30, 50, 20], JAR).confidence_interval()
    np.testing.assert_allclose(inside.confidence_interval(), plain, atol=1e-9)
    assert outside.pi_hat[0] == 0
    np.testing.assert_allclose(outside.confidence_interval()[0], [0, 0.0374], atol=5e-5)


@pytest.mark.parametrize("method", ["moments", "ml"])
def test_sums_of_categories_have_intervals_of_their_own(method: str) -> None:
    """Two samples with an unrelated question of unknown share: only sums of the categories can be told."""
    counts = ([200, 400], [140, 260])
    designs = [make_design("simmons", p=p) for p in ("0.75", "0.25")]
    estimate = estimate_samples([Sample.of(x, d) for x, d in zip(counts, designs, strict=True)], method=method)
    assert (len(estimate.categories), estimate.default_interval) == (4, "score")
    found = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=300)
    np.testing.assert_allclose(found, estimate.confidence_interval(), atol=0.03)
    with pytest.raises(
        ParameterError,
        match="a profile interval is not available: these estimates are sums of categories of the design",
    ):
        estimate.intervals(method="profile")
    with pytest.raises(ParameterError, match="use a matched interval, which is nearly exact, or a score interval"):
        estimate.intervals(method="exact")


def test_the_same_seed_gives_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = estimate_of([500, 300, 200], KARY)
    one, again, other = (estimate.confidence_interval(0.95, "bootstrap", seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    monkeypatch.setattr(share_intervals, "CHUNK", 100)  # in small batches, and still the same
    np.testing.assert_array_equal(estimate.confidence_interval(0.95, "bootstrap", seed=7), one)


@pytest.mark.parametrize("source", ["reports", "model"])
def test_large_samples_give_wald_intervals(source: str) -> None:
    estimate, two = estimate_of([5000, 3000, 2000], KARY), two_warners()
    for ends in ("percentile", "bca"):
        found = estimate.intervals(0.95, "bootstrap", seed=1, replicates=20_000, source=source, ends=ends)
        off = (found.to_array() - estimate.confidence_interval(0.95, "wald")) / estimate.standard_error[:, None]
        assert np.abs(off).max() < 0.08
    found = two.intervals(0.95, "bootstrap", seed=1, replicates=1000, source=source)
    np.testing.assert_allclose(found.to_array(), two.confidence_interval(0.95, "wald"), atol=0.015)


def test_bca_ends_are_those_of_scipy_and_bootstraps_need_reports_that_vary() -> None:
    """scipy bootstraps the same statistic from rows: the mean of the recoveries of 400 reports."""
    counts = [330, 60, 10]  # skew, so that the correction matters
    estimate = estimate_of(counts, KUK)
    U = np.repeat(LeftInverse.best(KUK).L[0], counts)
    source = "rng" if "rng" in signature(reference).parameters else "random_state"  # before SciPy 1.15
    drawn = {source: np.random.default_rng(1)}
    wanted = reference((U,), np.mean, n_resamples=20_000, method="BCa", batch=500, **drawn)
    found = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=20_000, ends="bca")[0]
    plain = estimate.confidence_interval(0.95, "bootstrap", seed=1, replicates=20_000)[0]
    error = estimate.standard_error[0]
    assert np.abs(found - [*wanted.confidence_interval]).max() < 0.05 * error
    assert np.abs(found - plain).max() > 0.08 * error
    estimate = estimate_of([150, 150, 100], KUK, inverse=LeftInverse.best(KUK, [0.01, 0.99]))
    found = estimate.intervals(0.95, "bootstrap", seed=1, replicates=4000)
    assert ((found.low < estimate.pi_hat) & (estimate.pi_hat < found.high)).all()
    np.testing.assert_allclose(found.half_width, 1.96 * estimate.standard_error, rtol=0.08)
    estimate = estimate_of([0, 50], WARNER)
    flat = estimate.intervals(0.95, "bootstrap", seed=1)
    np.testing.assert_allclose(flat.low, flat.high)
    none = estimate.intervals(0.95, "bootstrap", seed=1, ends="bca")
    assert np.isnan(none.low).all() and none.flags == ("no bca interval where the reports do not vary",)


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
    assert found.flags == ("logit intervals are missing for 1 of 3 categories: they need estimates between 0 and 1",)
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
        with pytest.raises(ParameterError, match="estimate was made without counts of reports"):
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
        assert found.flags == (
            "logit intervals are missing for 2 of 2 categories: they need estimates between 0 and 1",
        )
        assert not any("outside" in flag for flag in estimate.flags)
    assert not np.isnan(estimate_of([yes + 1, 599 - yes], design).intervals(0.95, "logit").to_array()).any()

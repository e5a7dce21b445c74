"""Score and exact intervals for two categories and two reports: coverage summed over all counts, edges, flags."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm
from tests.support.coverage import exact_coverage

from maskwell import Design
from maskwell import design as make_design
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.estimation import Estimate, Sample, estimate_by_moments
from maskwell.estimation.share_intervals import clopper_pearson, wilson

Z = norm.ppf(0.975)
FORCED = make_design("forced", truth="3/4", yes="1/6", no="1/12")
WARNER = make_design("warner", p="0.7")
MIRROR = make_design("warner", p="0.3")
TRIANGULAR = make_design("triangular", q="1/4")


def estimate_of(counts: list[int], design: Design) -> Estimate:
    return estimate_by_moments(Sample.of(counts, design).counts, design)


@pytest.mark.parametrize(("x", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (95, 500)])
def test_both_are_those_of_scipy_for_open_answers(x: int, n: int) -> None:
    test = binomtest(x, n)
    for made, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        reference = test.proportion_ci(0.95, method=method)
        (low,), (high,) = made(np.array([float(x)]), np.array([float(n)]), Z)
        assert (low, high) == pytest.approx((reference.low, reference.high), abs=1e-12)


@pytest.mark.parametrize(
    "design", [FORCED, WARNER, MIRROR, TRIANGULAR], ids=["forced", "warner", "mirror", "triangular"]
)
@pytest.mark.parametrize("n", [7, 60])
def test_exact_intervals_never_cover_less_than_they_say(design: Design, n: int) -> None:
    for level in (0.8, 0.95):
        for share in np.linspace(0, 1, 21):
            coverage, there = exact_coverage(design, float(share), n, level=level, method="exact")
            assert coverage >= level - 1e-9
            assert there == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("share", "wald", "score", "logit", "available"),
    [(0.02, 0.942, 0.951, 0.887, 0.80), (0.1, 0.945, 0.947, 0.956, 1.0), (0.3, 0.952, 0.952, 0.952, 1.0)],
)
def test_coverage_for_forced_answers(share: float, wald: float, score: float, logit: float, available: float) -> None:
    """All counts of 500 respondents summed; the figures agree with a simulation of 100,000 surveys."""
    found = {m: exact_coverage(FORCED, share, 500, level=0.95, method=m) for m in ("wald", "score", "logit")}
    assert [found[m][0] for m in ("wald", "score", "logit")] == pytest.approx([wald, score, logit], abs=0.0025)
    assert found["logit"][1] == pytest.approx(available, abs=0.01)
    assert found["score"][1] == pytest.approx(1, abs=1e-9)


def test_score_coverage_is_close_to_nominal_over_all_shares() -> None:
    shares = np.linspace(0.01, 0.99, 25)
    for design in (FORCED, WARNER):
        covered = [exact_coverage(design, float(share), 200, level=0.95, method="score")[0] for share in shares]
        assert np.mean(covered) == pytest.approx(0.95, abs=0.004)
        assert min(covered) > 0.925


def test_no_yes_at_all_leaves_no_rounding_below_zero() -> None:
    n = np.arange(2.0, 400)
    assert (wilson(np.zeros(len(n)), n, 2.17)[0] == 0).all()
    assert (wilson(n, n, 2.17)[1] == 1).all()


def test_a_mirrored_deck_gives_the_same_intervals() -> None:
    """Warner with p and with 1 - p are one design with the reports swapped, so the order of the ends turns around."""
    for method in ("score", "exact"):
        one = estimate_of([120, 180], WARNER).confidence_interval(0.9, method)
        other = estimate_of([180, 120], MIRROR).confidence_interval(0.9, method)
        np.testing.assert_allclose(one, other, atol=1e-12)
        np.testing.assert_allclose(one[1], 1 - one[0, ::-1], atol=1e-12)


def test_the_score_interval_is_all_that_a_score_test_keeps() -> None:
    n, x, z = 300, 110, 1.959963984540054
    low, high = estimate_of([x, n - x], WARNER).confidence_interval(0.95, "score")[0]
    for share, kept in ((low + 1e-6, True), (high - 1e-6, True), (low - 1e-6, False), (high + 1e-6, False)):
        lam = 0.3 + 0.4 * share
        assert (abs(x / n - lam) <= z * np.sqrt(lam * (1 - lam) / n)) is np.bool_(kept)


def test_reports_that_no_share_can_explain_are_flagged() -> None:
    """Forced yes for one in six, and 20 of 500 say yes: the whole interval lies below zero.

    What is left are the shares that fit nearly as well as zero: with d standard errors from the reports to zero, up to
    ``sqrt(d^2 + z^2) - d`` of them.
    """
    error = np.sqrt(1 / 6 * 5 / 6 / 500)
    d = (1 / 6 - 20 / 500) / error
    reach = (np.sqrt(d**2 + Z**2) - d) * error / (3 / 4)
    for method in ("score", "exact"):
        found = estimate_of([20, 480], FORCED).intervals(0.95, method)
        np.testing.assert_allclose(found.to_array(), [[0, reach], [1 - reach, 1]])
        assert found.flags[0].startswith("inconsistent_with_design: ")
        low, high = estimate_of([499, 1], FORCED).intervals(0.95, method).to_array()[0]
        assert 0.9 < low < high == 1
        assert estimate_of([95, 405], FORCED).intervals(0.95, method).flags == ()
    uncut = estimate_of([20, 480], FORCED).intervals(0.95, "score", cut=False)
    assert uncut.high[0] < 0
    assert uncut.flags == ()
    said = estimate_of([20, 480], FORCED).to_dict()
    assert any(flag.startswith("inconsistent_with_design") for flag in said["flags"])


def test_no_reports_of_one_kind() -> None:
    for method in ("score", "exact"):
        low, high = estimate_of([0, 50], TRIANGULAR).confidence_interval(0.95, method)[0]
        assert 0 == low < high < 0.06  # one in four says yes whatever the truth: not one in fifty is no accident
        low, high = estimate_of([50, 0], TRIANGULAR).confidence_interval(0.95, method)[0]
        assert high == 1
        assert 0.9 < low < 1


def test_a_large_sample_is_no_trouble() -> None:
    n = 10**9
    score, exact = (
        estimate_of([n * 4 // 10, n * 6 // 10], WARNER).confidence_interval(0.95, m) for m in ("score", "exact")
    )
    np.testing.assert_allclose(score, exact, atol=1e-8)


@pytest.mark.parametrize("method", ["score", "exact"])
def test_refusals(method: str) -> None:
    with pytest.raises(ParameterError, match="no option of"):
        estimate_of([30, 50], WARNER).intervals(0.95, method, seed=3)
    if method == "exact":
        with pytest.raises(ParameterError, match="not told by one binomial count") as raised:
            estimate_of([30, 50, 20], make_design("kuk", theta1="0.7", theta2="0.2", draws=2)).intervals(0.95, method)
        assert "matched" in raised.value.hint


def test_the_sum_that_checks_coverage_is_right() -> None:
    """Open answers, two of them: the exact interval covers a half unless both answers are the same."""
    direct = Dense.of([[1, 0], [0, 1]])
    assert exact_coverage(direct, 0.5, 2, level=0.1, method="exact")[0] == pytest.approx(
        sum(
            binom.pmf(x, 2, 0.5)
            for x in range(3)
            if binomtest(x, 2).proportion_ci(0.1).low <= 0.5 <= binomtest(x, 2).proportion_ci(0.1).high
        )
    )

"""The default intervals keep their level: sums over all counts, against another way to make them, and the page."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from docs.coverage import ALL_COUNTS, INTERCEPTS, ONE_COUNT, SIMULATED, AllCounts, OneCount, all_line, one_line
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from maskwell import Categories
from maskwell import design as make_design
from maskwell.designs import Dense, Design, Kronecker, Subset, Uniform
from maskwell.estimation import (
    Estimate,
    Sample,
    Sampling,
    best_left_inverse,
    estimate_by_moments,
    estimate_samples,
    estimate_survey,
)

JAR = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
KUK = make_design("kuk", theta1="0.9", theta2="0.05", draws=2)


def estimate_of(counts: list[int], design: Design) -> Estimate:
    return estimate_by_moments(Sample.of(counts, design).counts, design)


# ---- level


def test_wald_fails_where_the_page_says_so() -> None:
    """Published figures: .83, .68."""
    assert ONE_COUNT[0].coverage("wald", 0.02) == pytest.approx(0.83, abs=0.005)
    assert ONE_COUNT[1].coverage("wald", 0.005) == pytest.approx(0.68, abs=0.005)


@pytest.mark.parametrize("design", [ONE_COUNT[0].design, KUK, JAR], ids=["k-ary", "kuk", "jar"])
@pytest.mark.parametrize("n", [8, 20])
def test_the_default_covers_at_least_93_percent(design: Design, n: int) -> None:
    """For the first category, whatever the ratio of the others, from nobody to everybody."""
    for others in ((0.5, 0.5), (0.99, 0.01), (0.01, 0.99)):
        rest = others[: design.k - 1] if design.k > 2 else (1.0,)
        every = AllCounts("", design, n, (0.0, *rest))
        for share in (0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9, 1):
            assert every.coverage(None, share) >= 0.93, (others, share)


def test_the_default_has_two_ends_for_any_counts() -> None:
    """All counts of twelve respondents, and designs of every kind: no point, no NaN, within [0, 1]."""
    for design in (JAR, KUK, ONE_COUNT[0].design, make_design("warner", p="0.7"), Dense.of([[1, 0], [0, 1]])):
        for line in AllCounts("", design, 12, ()).counts():
            intervals = estimate_of(line.tolist(), design).confidence_interval()
            assert ((intervals >= 0) & (intervals <= 1)).all()
            assert (intervals[:, 1] - intervals[:, 0] > 0.01).all(), line


def test_the_page_shows_what_the_sums_give(root: Path) -> None:
    """Some lines again; python -m docs.coverage makes all of them."""
    page = (root / "docs/theory/coverage.md").read_text(encoding="utf-8")
    for row in (ONE_COUNT[0], ONE_COUNT[1], ONE_COUNT[4]):
        assert one_line(row) in page
    assert all_line(ALL_COUNTS[1]) in page
    tables = (ONE_COUNT, ALL_COUNTS, INTERCEPTS, SIMULATED)
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == sum(map(len, tables)) + len(tables)


def test_the_sums_are_those_of_scipy() -> None:
    row = OneCount("", Dense.of([[1, 0], [0, 1]]), 9, 0.3)
    inside = [x for x in range(10) if row.ends("exact")[x, 0] <= 0.3 <= row.ends("exact")[x, 1]]
    assert row.coverage("exact", 0.3) == pytest.approx(binom.pmf(inside, 9, 0.3).sum())
    pair = AllCounts("", Dense.of([[1, 0], [0, 1]]), 9, (0.3, 0.7))
    assert pair.coverage("exact", 0.3) == pytest.approx(row.coverage("exact", 0.3))


# ---- the count behind a share


def _variance(L: np.ndarray, P: np.ndarray, j: int, pi: np.ndarray) -> float:
    """Of the recovery of category j from one report: the definition."""
    lam = P @ pi
    return float(lam @ L[j] ** 2 - (lam @ L[j]) ** 2)


@pytest.mark.parametrize("counts", [[30, 50, 20], [1, 0, 40], [100, 5, 3]])
def test_the_count_has_the_variance_of_the_estimate_at_every_share(counts: list[int]) -> None:
    """The dense twin: along the line from no one to everyone in category j, the others in ratios near the estimates."""
    P, L, n = JAR.matrix(), np.linalg.inv(JAR.matrix()), sum(counts)
    estimate = estimate_of(counts, JAR)
    behind = estimate.binomial_counts
    assert behind is not None
    near = np.clip(estimate.pi_hat, 0, 1)
    near = (n * near / near.sum() + 1 / 3) / (n + 1)
    for j in range(3):
        a, b = float(behind.a[j]), float(behind.b[j])
        rest = near * (np.arange(3) != j)
        for t in (0, 0.2, 0.7, 1):
            pi = (1 - t) * rest / rest.sum() + t * np.eye(3)[j]
            lam = b + (a - b) * t
            assert lam * (1 - lam) / (a - b) ** 2 == pytest.approx(_variance(L, P, j, pi))
        if 0 < behind.x[j] < n:
            assert (behind.x[j] / n - b) / (a - b) == pytest.approx(estimate.pi_hat[j])


def test_the_score_interval_is_all_that_a_test_with_that_variance_keeps() -> None:
    """Brute force on a grid: |estimate - t| <= z sqrt(V(t) / n)."""
    estimate, z = estimate_of([30, 50, 20], JAR), norm.ppf(0.975)
    P, L = JAR.matrix(), np.linalg.inv(JAR.matrix())
    near = (100 * estimate.pi_hat + 1 / 3) / 101
    found = estimate.confidence_interval(0.95, "score")
    for j in range(3):
        rest = near * (np.arange(3) != j)
        grid = np.linspace(0, 1, 4001)
        kept = [
            t
            for t in grid
            if abs(estimate.pi_hat[j] - t)
            <= z * np.sqrt(_variance(L, P, j, (1 - t) * rest / rest.sum() + t * np.eye(3)[j]) / 100)
        ]
        assert found[j] == pytest.approx([kept[0], kept[-1]], abs=3e-4)


def test_another_left_inverse_has_counts_of_its_own() -> None:
    inverse = best_left_inverse(KUK, np.array([0.1, 0.9]))
    sample = Sample.of([250, 30, 20], KUK)
    plain, other = (estimate_by_moments(sample.counts, KUK, inverse=one) for one in (None, inverse))
    for estimate, L in ((plain, KUK.left_inverse()), (other, inverse.L)):
        behind = estimate.binomial_counts
        assert behind is not None
        spread = behind.a * (1 - behind.a) / (behind.a - behind.b) ** 2
        assert spread[0] == pytest.approx(_variance(L, KUK.matrix(), 0, np.array([1.0, 0.0])))


def test_several_samples_have_the_variance_of_their_sum() -> None:
    """Two decks of Warner: the estimate weighs both, and so does the count."""
    samples = [
        Sample.of([120, 180], make_design("warner", p="0.7")),
        Sample.of([60, 140], make_design("warner", p="0.8")),
    ]
    estimate = estimate_samples(samples)
    behind = estimate.binomial_counts
    assert behind is not None
    pi = np.clip(estimate.pi_hat, 0, 1)[0]
    lam = behind.b[0] + (behind.a[0] - behind.b[0]) * pi
    spread = lam * (1 - lam) / (behind.a[0] - behind.b[0]) ** 2 / behind.n[0]
    assert spread == pytest.approx(estimate.variance[0], rel=0.01)


@pytest.mark.parametrize("family", ["lie-detector", "cheating-detection"])
def test_samples_that_tell_the_shares_only_together(family: str) -> None:
    """Large samples: score intervals are Wald intervals. Small ones: those of all counts cover."""
    designs = [make_design(family, p=p) for p in ("1/5", "4/5")]
    n, pi = 25, np.array([0.3, 0.1, 0.6])
    expected = [np.rint(100_000 * design.apply(pi)).astype(int).tolist() for design in designs]
    large = estimate_samples([Sample.of(x, design) for x, design in zip(expected, designs, strict=True)])
    np.testing.assert_allclose(
        large.confidence_interval(0.95, "score"), large.confidence_interval(0.95, "wald"), atol=3e-4
    )
    chances = [binom.pmf(np.arange(n + 1), n, design.apply(pi)[0]) for design in designs]
    covered = np.zeros(3)
    for x in range(n + 1):
        for y in range(n + 1):
            if (chance := chances[0][x] * chances[1][y]) > 1e-6:
                counts = zip(((x, n - x), (y, n - y)), designs, strict=True)
                found = estimate_samples([Sample.of(one, design) for one, design in counts]).intervals()
                covered += chance * ((found.low <= pi) & (pi <= found.high))
    assert covered.min() >= 0.93


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4).filter(lambda x: sum(x) > 2))
@settings(deadline=None, max_examples=25)
def test_matched_is_exact_where_one_count_tells_a_share(counts: list[int]) -> None:
    """A k-ary design, written out as a dense one whose rows are then told to be of any kind."""
    uniform = Uniform.from_gamma(7, Categories.numbered(4))
    estimate = estimate_of(counts, uniform)
    np.testing.assert_allclose(
        estimate.confidence_interval(0.9, "matched"), estimate.confidence_interval(0.9, "exact"), atol=1e-9
    )
    written = Dense.of(uniform.exact_matrix())
    assert written.count_chances() is not None
    np.testing.assert_allclose(
        estimate_of(counts, written).confidence_interval(0.9, "exact"), estimate.confidence_interval(0.9, "exact")
    )


def test_a_product_with_an_open_question_matches_counts() -> None:
    """Sex was asked openly: of its own margin every count is exact, of the cells none is."""
    cells = Kronecker.of([Dense.of([[1, 0], [0, 1]]), make_design("warner", p="0.8")])
    estimate = estimate_of([9, 3, 10, 8], cells)
    assert estimate.default_interval == "matched"
    assert cells.count_chances() is None


# ---- under a plan


def test_a_plan_keeps_wald_unless_counts_are_small_or_alike() -> None:
    three = Uniform.from_gamma(9, Categories.of(["a", "b", "c"]))
    weights = np.tile([1.0, 2.0], 100)
    plenty = estimate_survey(["a", "b", "c", "a"] * 100, three, Sampling(weights=np.tile(weights, 2)))
    assert plenty.default_interval == "wald"
    rare = estimate_survey(["a", "b", "b", "c"] * 40 + ["b", "c"] * 20, three, Sampling(weights=weights))
    assert rare.default_interval == "score"
    few = estimate_survey(["a"] * 18 + ["b"] * 2, three, Sampling(weights=weights[:20]))
    assert few.default_interval == "matched"
    assert (np.diff(few.confidence_interval(), axis=1) > 0.05).all()
    alike = estimate_survey(["yes"] * 20, make_design("warner", p="0.7"), Sampling(weights=weights[:20]))
    assert alike.default_interval == "matched"


def test_equal_weights_change_nothing_but_the_rule_for_the_variance() -> None:
    """With as many rows as reports the effective number is at most n; the interval is near that of plain counts."""
    reports = ["a"] * 180 + ["b"] * 90 + ["c"] * 30
    three = Uniform.from_gamma(9, Categories.of(["a", "b", "c"]))
    plain = estimate_of([180, 90, 30], three).confidence_interval(0.95, "score")
    planned = estimate_survey(reports, three, Sampling(weights=np.full(300, 2.0)))
    np.testing.assert_allclose(planned.confidence_interval(0.95, "score"), plain, atol=0.004)


def test_sets_have_counts_of_their_own() -> None:
    sets = Subset.from_gamma(20, Categories.numbered(6), size=2)
    tally = sets.tally(sets.sample(np.arange(60) % 6))
    assert estimate_by_moments(tally, sets).default_interval in ("score", "exact")


def test_last_bits_of_the_inverse_leave_chances_between_0_and_1() -> None:
    """Forced responses count for sure: rounding must not make that more than one, or less than zero."""
    L = np.linalg.inv([[1, 0.05], [0, 0.95]])
    for signs in product((-1, 1), repeat=4):
        design = Dense.of([[1, "1/20"], [0, "19/20"]])
        design.__dict__["_L"] = L * (1 + 1e-15 * np.reshape(signs, (2, 2)))
        chances = design.count_chances()
        assert chances is not None
        assert all(((one >= 0) & (one <= 1)).all() for one in chances)


def test_rare_categories_under_clusters_and_weights_are_covered() -> None:
    """Of 250 surveys with a fixed seed; Wald intervals, the negative control, cover .91 of them."""
    wald, default = SIMULATED[0].coverage(("wald", None), runs=250)
    assert default >= 0.94
    assert wald < 0.94

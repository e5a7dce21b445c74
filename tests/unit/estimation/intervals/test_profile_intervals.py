"""Profile intervals: against brute force, at the boundary, with several samples, and their coverage."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, multinomial
from tests.support.arrays import Real

from maskwell import Categories, Design
from maskwell import design as make_design
from maskwell.designs import Dense, Kronecker, Subset, Uniform
from maskwell.errors import ParameterError, TooLargeError
from maskwell.estimation import Estimate, Sample, estimate_by_moments

P3 = Dense.of([["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]])
KUK = make_design("kuk", theta1="0.7", theta2="0.2", draws=2)
WARNER = make_design("warner", p="0.7")


def estimate_of(counts: list[int], design: Design) -> Estimate:
    return estimate_by_moments(Sample.of(counts, design).counts, design)


def log_likelihood(P: Real, counts: Real, pi: Real) -> float:
    lam = P @ pi
    return float(counts[counts > 0] @ np.log(lam[counts > 0]))


@pytest.mark.parametrize("counts", [[30, 50, 20], [5, 60, 35], [0, 40, 60], [1, 98, 1]])
def test_against_all_points_of_a_grid(counts: list[int]) -> None:
    """Every share in the interval belongs to some point of the simplex that is likely enough, and no other does."""
    x, P, step = np.array(counts, dtype=float), P3.matrix(), 200
    grid = np.array([(i, j, step - i - j) for i in range(step + 1) for j in range(step + 1 - i)]) / step
    lam = grid @ P.T
    values = np.log(lam) @ x
    found = estimate_of(counts, P3).confidence_interval(0.95, "profile")
    kept = grid[2 * (values.max() - values) <= chi2.ppf(0.95, 1)]
    for j in range(3):
        assert found[j, 0] <= kept[:, j].min() + 1e-9
        assert found[j, 1] >= kept[:, j].max() - 1e-3
        assert found[j, 0] == pytest.approx(kept[:, j].min(), abs=1.5 / step)
        assert found[j, 1] == pytest.approx(kept[:, j].max(), abs=1.5 / step)


def test_the_ends_lose_exactly_what_chi_squared_allows() -> None:
    x, P = np.array([120.0, 130.0, 90.0]), KUK.matrix()
    low, high = estimate_of([120, 130, 90], KUK).confidence_interval(0.9, "profile")[0]
    best = max(log_likelihood(P, x, np.array([t, 1 - t])) for t in np.linspace(0, 1, 20001))
    for end in (low, high):
        fall = 2 * (best - log_likelihood(P, x, np.array([end, 1 - end])))
        assert fall == pytest.approx(chi2.ppf(0.9, 1), abs=1e-4)


def test_two_categories_are_one_interval_and_its_mirror() -> None:
    found = estimate_of([120, 130, 90], KUK).confidence_interval(0.95, "profile")
    np.testing.assert_allclose(found[1], 1 - found[0, ::-1])


def test_two_to_two_is_close_to_score() -> None:
    estimate = estimate_of([1200, 1800], WARNER)
    profile, score = (estimate.confidence_interval(0.95, m) for m in ("profile", "score"))
    np.testing.assert_allclose(profile, score, atol=2e-4)


def test_an_estimate_outside_gets_an_interval_that_starts_at_the_boundary() -> None:
    estimate = estimate_of([5, 60, 35], P3)
    assert estimate.pi_hat[0] < 0
    low, high = estimate.confidence_interval(0.95, "profile")[0]
    assert low == 0
    assert 0 < high < 0.1


def test_nothing_seen_of_a_report_that_is_certain_for_one_truth() -> None:
    """An end where the likelihood is zero: open answers, none of the second kind."""
    direct = Dense.of([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    found = estimate_of([40, 0, 60], direct).confidence_interval(0.95, "profile")
    assert found[1, 0] == 0
    assert found[1, 1] == pytest.approx(1 - np.exp(-chi2.ppf(0.95, 1) / 200), abs=1e-6)
    all_alike = estimate_of([0, 100, 0], direct).confidence_interval(0.95, "profile")
    assert all_alike[1, 1] == 1
    assert all_alike[1, 0] == pytest.approx(np.exp(-chi2.ppf(0.95, 1) / 200), abs=1e-6)


def test_one_report_only() -> None:
    """Two reports, all the same, hardly speak: the interval is long but there."""
    found = estimate_of([2, 0], WARNER).intervals(0.95, "profile")
    assert (found.low[0], found.high[0]) == (0, 1)


def test_coverage_summed_over_all_counts() -> None:
    n, truth = 60, np.array([0.25, 0.75])
    lam, covered = KUK.apply(truth), 0.0
    for x in product(range(n + 1), repeat=2):
        if sum(x) > n or (chance := multinomial.pmf([*x, n - sum(x)], n, lam)) < 1e-6:
            continue
        low, high = estimate_of([*x, n - sum(x)], KUK).confidence_interval(0.95, "profile")[0]
        covered += chance * (low <= truth[0] <= high)
    assert covered == pytest.approx(0.95, abs=0.012)


def test_tables_by_their_operators() -> None:
    coin = Uniform.from_gamma(3, Categories.numbered(2))
    table = Kronecker.of([coin, coin])
    counts = [300, 250, 240, 210]
    dense = Dense.of([[str(p) for p in row] for row in table.exact_matrix()])
    np.testing.assert_allclose(
        estimate_of(counts, table).confidence_interval(0.95, "profile"),
        estimate_of(counts, dense).confidence_interval(0.95, "profile"),
        atol=1e-7,
    )


def test_refusals() -> None:
    many = Uniform.from_epsilon(2, Categories.numbered(501))
    with pytest.raises(TooLargeError, match="501 categories"):
        estimate_of([1] * 501, many).intervals(0.95, "profile")
    sets = Subset.from_gamma(3, Categories.numbered(4), size=2)
    with pytest.raises(ParameterError, match="set reports"):
        estimate_by_moments(sets.tally(sets.sample(np.arange(40) % 4)), sets).intervals(0.95, "profile")


@pytest.mark.parametrize(("counts", "design"), [([1, 2], WARNER), ([30, 50, 20], P3), ([7, 5, 8], KUK)])
def test_a_level_next_to_zero_gives_hardly_more_than_the_estimate(counts: list[int], design: Design) -> None:
    low, high = estimate_of(counts, design).confidence_interval(1e-12, "profile").T
    assert ((low <= high) & (high - low < 1e-3)).all()

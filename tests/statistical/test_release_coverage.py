"""Intervals from released files cover the shares of the population, whatever matrix kept the counts.

Each test draws its files with a fixed seed. Over all seeds, a test of intervals whose coverage is at least the nominal
level less the stated slack fails with a chance of at most 1e-6. The negative control forgets the randomization.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.arrays import Real
from tests.support.chisquare import FALSE_ALARM
from tests.support.released import known_matrix

from maskwell.estimation.direct_estimate import Released, estimate_unknown

pytestmark = pytest.mark.statistical

N, RUNS, LEVEL, PI = 200, 4000, 0.95, np.array([0.55, 0.3, 0.15])
SLACK = 0.015
"""Conservative Wald intervals of small shares fall short by about a point at n = 200."""

Make = Callable[[Real], Real]


def constant(counts: Real) -> Real:
    """The matrix that reaches the bound: nothing is left of the true value."""
    return np.outer(counts / counts.sum(), np.ones(len(counts)))


def exchange(counts: Real) -> Real:
    """Method 1 with theta = 1."""
    least, k = counts.min(), len(counts)
    P = np.tile(least / ((k - 1) * counts), (k, 1))
    np.fill_diagonal(P, 1 - least / counts)
    return P


@cache
def releases(make: Make) -> list[tuple[Real, Real]]:
    """Released counts of so many samples, each with the matrix that was made from its own counts."""
    random, released = np.random.default_rng(21), []
    for _ in range(RUNS):
        counts = random.multinomial(N, PI)
        P = make(counts)
        released.append((sum(random.multinomial(n, P[:, j]) for j, n in enumerate(counts)), P))
    return released


@cache
def ends_without_matrix(counts: tuple[int, ...], method: str | None = None, target: str = "population") -> Real:
    return estimate_unknown(Released.of(np.array(counts)), target=target).confidence_interval(LEVEL, method)  # type: ignore[arg-type]


def covered(ends: list[Real]) -> Real:
    hits = sum(((one[:, 0] <= PI) & (one[:, 1] >= PI)).astype(int) for one in ends)
    return np.asarray(hits)


def is_enough(hits: Real, slack: float = SLACK) -> bool:
    return bool((binom.cdf(hits, RUNS, LEVEL - slack) >= FALSE_ALARM / len(hits)).all())


@pytest.mark.parametrize("method", ["wilson", "wald"])
@pytest.mark.parametrize("make", [constant, exchange])
def test_without_the_matrix_intervals_cover_whatever_it_was(make: Make, method: str) -> None:
    ends = [ends_without_matrix(tuple(m), method) for m, _ in releases(make)]
    assert is_enough(covered(ends)), covered(ends) / RUNS


@pytest.mark.parametrize("make", [constant, exchange])
def test_with_the_matrix_intervals_cover_at_their_level(make: Make) -> None:
    """Neither too seldom nor too often: the variance is estimated, not bounded."""
    drawn = releases(make)[: RUNS // 4]
    ends = [known_matrix(m, P).confidence_interval(LEVEL) for m, P in drawn]
    hits = covered(ends)
    assert (binom.cdf(hits, len(ends), LEVEL - SLACK) >= FALSE_ALARM / 6).all(), hits / len(ends)
    assert (binom.sf(hits - 1, len(ends), LEVEL + SLACK) >= FALSE_ALARM / 6).all(), hits / len(ends)


def test_the_file_itself_is_covered_too() -> None:
    random, counts = np.random.default_rng(23), np.array([110, 60, 30])
    P, truth = constant(counts), counts / N
    released = [sum(random.multinomial(n, P[:, j]) for j, n in enumerate(counts)) for _ in range(RUNS)]
    ends = [ends_without_matrix(tuple(m), target="file") for m in released]
    hits = sum(((one[:, 0] <= truth) & (one[:, 1] >= truth)).astype(int) for one in ends)
    assert is_enough(np.asarray(hits)), hits / RUNS


def test_forgetting_the_randomization_is_found() -> None:
    """Negative control: intervals of an open file cover only in about five of six releases."""

    def naive(m: Real) -> Real:
        share = m / N
        half = 1.96 * np.sqrt(share * (1 - share) / N)
        return np.column_stack([share - half, share + half])

    hits = covered([naive(m) for m, _ in releases(constant)])
    assert not is_enough(hits) and (hits / RUNS < 0.88).all()

"""Tiny populations whose samples and randomizations can all be listed: what an estimate is on average, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import comb, prod

import numpy as np
from tests.support.arrays import Real

from maskwell.estimation.sampling.survey_estimate import SurveyEstimate

Sample = tuple[int, ...]
Estimator = Callable[[Sample, tuple[int, ...]], SurveyEstimate]


def simple(size: int, n: int) -> Iterator[tuple[Sample, float]]:
    """All samples of n of so many units, equally likely."""
    return ((s, 1 / comb(size, n)) for s in combinations(range(size), n))


def poisson(chances: list[float]) -> Iterator[tuple[Sample, float]]:
    """All samples when each unit is drawn by its own chance."""
    for drawn in product((0, 1), repeat=len(chances)):
        sample = tuple(i for i, one in enumerate(drawn) if one)
        yield sample, prod(c if one else 1 - c for c, one in zip(chances, drawn, strict=True))


def ordered(chances: list[float], n: int) -> Iterator[tuple[Sample, float]]:
    """All sequences of n draws with replacement."""
    return ((s, prod(chances[i] for i in s)) for s in product(range(len(chances)), repeat=n))


def stratified(strata: list[list[int]], n: list[int]) -> Iterator[tuple[Sample, float]]:
    """All samples of n_h units from each stratum."""
    for parts in product(*(list(combinations(units, m)) for units, m in zip(strata, n, strict=True))):
        chance = prod(1 / comb(len(units), m) for units, m in zip(strata, n, strict=True))
        yield tuple(i for part in parts for i in part), chance


def two_stage(clusters: list[list[int]], n: int, m: int) -> Iterator[tuple[Sample, float]]:
    """All samples of n clusters and of m units from each of them."""
    for chosen in combinations(range(len(clusters)), n):
        for sample, chance in stratified([clusters[c] for c in chosen], [m] * n):
            yield sample, chance / comb(len(clusters), n)


def moments_of(
    samples: Iterator[tuple[Sample, float]],
    columns: list[Real],
    estimate: Estimator,
    *,
    part: Callable[[SurveyEstimate], Real] = lambda found: found.total,
    spread: Callable[[SurveyEstimate], Real | None] = lambda found: found.total_covariance,
) -> tuple[Real, Real, Real]:
    """Mean and variance of an estimate, and the mean of its estimated variance.

    ``columns[i][z]`` is the chance of report z for unit i. Every unit of a sample randomizes afresh.
    """
    first = second = guessed = np.zeros(1)
    for sample, chance in samples:
        if not sample:  # nobody was drawn: the total is zero, and so is its estimated variance
            continue
        for reports in product(*(range(len(columns[i])) for i in sample)):
            p = chance * float(prod(columns[i][z] for i, z in zip(sample, reports, strict=True)))
            if p == 0:
                continue
            found = estimate(sample, reports)
            value, own = part(found), spread(found)
            assert own is not None
            first, second = first + p * value, second + p * np.outer(value, value)
            guessed = guessed + p * own
    return np.asarray(first), np.asarray(second - np.outer(first, first)), np.asarray(guessed)

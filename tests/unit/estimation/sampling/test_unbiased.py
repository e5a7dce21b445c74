"""Every sample and every randomization of a tiny population: estimates and their variances are right on average.

Poisson samples may be empty; the estimate is then zero and is left out of the sums.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.estimates import JAR

from maskwell import Categories, Design, Sampling
from maskwell import design as make_design
from maskwell.core.row_sums import Cells
from maskwell.designs import Subset
from maskwell.estimation import estimate_survey
from maskwell.estimation.sampling.recovery import LineScores, RecoveredScores, Recovery, readings_of
from maskwell.estimation.sampling.sample_stages import MultistageVariance
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate

Sample = tuple[int, ...]
Estimator = Callable[[Sample, tuple[int, ...]], SurveyEstimate]


def simple(size: int, n: int) -> Iterator[tuple[Sample, float]]:
    return ((s, 1 / comb(size, n)) for s in combinations(range(size), n))


def poisson(chances: list[float]) -> Iterator[tuple[Sample, float]]:
    for drawn in product((0, 1), repeat=len(chances)):
        sample = tuple(i for i, one in enumerate(drawn) if one)
        yield sample, prod(c if one else 1 - c for c, one in zip(chances, drawn, strict=True))


def ordered(chances: list[float], n: int) -> Iterator[tuple[Sample, float]]:
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
            first, second = first + p * value, second + p * np.outer(value, value)
            guessed = guessed + p * own
    return np.asarray(first), np.asarray(second - np.outer(first, first)), np.asarray(guessed)


TRUTH = [0, 1, 2, 0, 1]
EXACT = 1e-12
WARNER = make_design("warner", p="3/4")
CLUSTERS = [[0, 1], [2, 3, 4], [5, 6]]
OF_SEVEN, YES_OF_SEVEN = [0, 1, 2, 0, 1, 1, 0], [0, 1, 1, 0, 1, 1, 0]
CHANCES, DRAWS, SIZES = [0.3, 0.9, 0.5, 1.0], [0.1, 0.3, 0.2, 0.25, 0.15], [2 / 7, 3 / 7, 2 / 7]
PAIRS = {(0, 1): 0.2, (0, 2): 0.1, (1, 3): 0.15, (0, 4): 0.05, (2, 3): 0.1, (3, 4): 0.1, (1, 2): 0.05}
PAIRS |= {(1, 4): 0.05, (2, 4): 0.1, (0, 3): 0.1}
JOINT = np.zeros((5, 5))
for (one, two), p in PAIRS.items():
    JOINT[[one, two], [two, one]] = p
np.fill_diagonal(JOINT, JOINT.sum(axis=1))


def of(sample: Sample) -> list[int]:
    return [next(c for c, units in enumerate(CLUSTERS) if unit in units) for unit in sample]


def pairs_from_two_clusters() -> list[tuple[Sample, float]]:
    """Two draws of a cluster, by its size; every draw takes two of its units and randomizes them afresh."""
    within = [[(0, 1)], [(2, 3), (2, 4), (3, 4)], [(5, 6)]]
    return [
        ((*first, *second), SIZES[a] * SIZES[b] / (len(within[a]) * len(within[b])))
        for a in range(3)
        for b in range(3)
        for first in within[a]
        for second in within[b]
    ]


CASES: dict[str, Any] = {
    "simple": (simple(5, 3), lambda _: {"population": 5}),
    "everybody": (simple(5, 5), lambda _: {"population": 5}),
    "strata": (
        stratified([[0, 1, 2], [3, 4]], [2, 2]),
        lambda _: {"strata": list("aabb"), "population": {"a": 3, "b": 2}},
    ),
    "a certain stratum of one unit": (
        stratified([[0, 1, 2, 3], [4]], [2, 1]),
        lambda _: {"strata": list("aab"), "population": {"a": 4, "b": 1}},
    ),
    "poisson": (poisson(CHANCES), lambda s: {"inclusion": [CHANCES[i] for i in s], "poisson": True}, JAR, TRUTH[:4]),
    "syg": (iter(PAIRS.items()), lambda s: {"joint_inclusion": JOINT[np.ix_(s, s)], "method": "syg"}),
    "ht": (iter(PAIRS.items()), lambda s: {"joint_inclusion": JOINT[np.ix_(s, s)], "method": "ht"}),
    "draws": (ordered(DRAWS, 2), lambda s: {"draw_probabilities": [DRAWS[i] for i in s]}),
    "two stages": (
        two_stage(CLUSTERS, 2, 2),
        lambda s: {"clusters": of(s), "population": (3, [len(CLUSTERS[c]) for c in of(s)])},
        JAR,
        OF_SEVEN,
    ),
    "whole clusters": (
        iter([(tuple(i for c in chosen for i in CLUSTERS[c]), 1 / 3) for chosen in ((0, 1), (0, 2), (1, 2))]),
        lambda s: {"clusters": of(s), "population": 3},
        WARNER,
        YES_OF_SEVEN,
    ),
    "clusters drawn with replacement": (
        iter(pairs_from_two_clusters()),
        lambda s: {"weights": [len(CLUSTERS[c]) / 2 / (2 * SIZES[c]) for c in of(s)], "clusters": [1, 1, 2, 2]},
        WARNER,
        YES_OF_SEVEN,
    ),
    "sets": (
        simple(4, 2),
        lambda _: {"population": 4},
        Subset.from_gamma(3, Categories.numbered(3), size=1),
        TRUTH[:4],
    ),
}


def labels_of(design: Design, reports: tuple[int, ...]) -> list[Any]:
    labels = ["100", "010", "001"] if design.reports_are_sets else design.outputs.labels
    return [labels[z] for z in reports]


def check(samples: Any, estimate: Any, columns: Any, total: Any) -> None:
    mean, variance, guessed = moments_of(samples, columns, estimate)
    assert np.abs(mean - total).max() < EXACT
    assert np.abs(guessed - variance).max() < EXACT * max(1.0, np.abs(variance).max())


@pytest.mark.parametrize("name", list(CASES))
def test_totals_and_their_variances_are_unbiased(name: str) -> None:
    samples, plan_of, design, truth = (*CASES[name], JAR, TRUTH)[:4]

    @cache
    def estimated(plan: str, reports: tuple[int, ...], sample: Sample) -> Any:
        return estimate_survey(labels_of(design, reports), design, Sampling(**plan_of(sample)))

    first: dict[str, Sample] = {}  # estimates depend on what is said of a sample, whoever is in it

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        plan = repr(plan_of(sample))
        return estimated(plan, reports, first.setdefault(plan, sample))

    matrix = design.matrix()
    check(samples, estimate, [matrix[:, t] for t in truth], np.bincount(truth, minlength=design.k))


def test_the_whole_population_leaves_the_randomization_and_forgetting_it_is_found() -> None:
    estimate = estimate_survey(TRUTH, JAR, Sampling(population=5))
    assert np.abs(estimate.sampling_variance).max() < 1e-15

    # Negative control: the open variance alone is too small.
    @cache
    def open_alone(reports: tuple[int, ...]) -> Any:
        estimate = estimate_survey(list(reports), JAR, Sampling(population=5))
        cells = Cells.of(list(reports), weight=[5 / 3] * 3, population=[5])
        scores = RecoveredScores.of(Recovery(cells, readings_of([JAR])), np.arange(len(cells)), np.zeros(3))
        object.__setattr__(estimate, "total_covariance", MultistageVariance.of(cells).open(scores))
        return estimate

    columns = [JAR.matrix()[:, t] for t in TRUTH]
    _, variance, guessed = moments_of(simple(5, 3), columns, lambda _, reports: open_alone(reports))
    assert (np.diag(guessed) < 0.7 * np.diag(variance)).all()


def test_any_numbers_of_rows_are_scores() -> None:
    """The variance of their weighted sum, over all samples of three of five rows; several at once, with covariances."""
    values = np.array([[3.0, -1], [0.5, 2], [7, 0], [-2, 1], [4, 4]])
    totals, guessed = [], np.zeros((2, 2))
    for sample, chance in simple(5, 3):
        own = values[list(sample)]
        cells = Cells.of(np.arange(3), weight=[5 / 3] * 3, population=[5])
        scores = LineScores(np.arange(len(cells)), 2, lambda lines, own=own, cells=cells: own[cells.report[lines]])
        guessed += chance * MultistageVariance.of(cells).open(scores)
        totals.append(5 / 3 * own.sum(axis=0))
    assert np.allclose(guessed, np.cov(np.array(totals).T, bias=True))


def test_designs_of_single_units_and_totals_of_a_domain() -> None:
    designs = {i: make_design("warner", p=f"{70 + 5 * i}/100") for i in range(4)}
    truth, chances = [0, 1, 1, 0], [0.4, 0.8, 0.5, 0.9]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        labels = [designs[i].outputs.labels[z] for i, z in zip(sample, reports, strict=True)]
        plan = Sampling(inclusion=[chances[i] for i in sample], poisson=True)
        return estimate_survey(labels, {i: designs[i] for i in sample}, plan, samples=list(sample))

    check(poisson(chances), estimate, [designs[i].matrix()[:, t] for i, t in enumerate(truth)], np.bincount(truth))

    @cache
    def estimate_of(inside: tuple[str, ...], reports: tuple[int, ...]) -> Any:
        return estimate_survey(list(reports), JAR, Sampling(population=5), domains=inside).domains["in"]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        return estimate_of(tuple("in" if i % 2 == 0 else "out" for i in sample), reports)

    check(simple(5, 3), estimate, [JAR.matrix()[:, t] for t in TRUTH], np.bincount(TRUTH[::2], minlength=3))

"""Every sample and every randomization of a tiny population: estimates and their variances are right on average.

Poisson samples may be empty; the estimate is then zero and is left out of the sums.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Real
from tests.support.finite import Estimator, Sample, moments_of, ordered, poisson, simple, stratified, two_stage

from maskwell import Sampling
from maskwell import design as make_design
from maskwell.designs import Dense
from maskwell.estimation import estimate_survey

TRUTH = [0, 1, 2, 0, 1]
P = np.array([[0.7, 0.1, 0.15], [0.2, 0.8, 0.15], [0.1, 0.1, 0.7]])
DESIGN = Dense.of(P.tolist())
COLUMNS = [P[:, t] for t in TRUTH]
TOTAL = np.bincount(TRUTH, minlength=3)
EXACT = 1e-12


def check(samples: Any, estimate: Estimator, columns: list[Real] = COLUMNS, total: Any = TOTAL, **more: Any) -> None:
    mean, variance, guessed = moments_of(samples, columns, estimate, **more)
    assert np.abs(mean - total).max() < EXACT
    assert np.abs(guessed - variance).max() < EXACT * max(1.0, np.abs(variance).max())


def planned(**plan: Any) -> Any:
    """Estimates that depend on the reports alone, whoever made them."""
    estimate = cache(lambda reports: estimate_survey(list(reports), DESIGN, Sampling(**plan)))
    return lambda _, reports: estimate(reports)


def test_simple_random_samples_without_replacement() -> None:
    check(simple(5, 3), planned(population=5))


def test_the_whole_population_leaves_the_randomization() -> None:
    check(simple(5, 5), planned(population=5))
    estimate = estimate_survey(TRUTH, DESIGN, Sampling(population=5))
    assert np.abs(estimate.sampling_variance).max() < 1e-15


def test_forgetting_the_correction_is_found() -> None:
    """Negative control: the open variance alone is too small."""
    from maskwell.core import Cells
    from maskwell.estimation.sampling.recovery import Recovery, Scores, reading_of
    from maskwell.estimation.sampling.sample_stages import MultistageVariance

    @cache
    def open_alone(reports: tuple[int, ...]) -> Any:
        estimate = estimate_survey(list(reports), DESIGN, Sampling(population=5))
        cells = Cells.of(list(reports), weight=[5 / 3] * 3, population=[5])
        scores = Scores(Recovery(cells, (reading_of(DESIGN),)), np.arange(len(cells)), np.zeros(3))
        object.__setattr__(estimate, "total_covariance", MultistageVariance.of(cells).open(scores))
        return estimate

    _, variance, guessed = moments_of(simple(5, 3), COLUMNS, lambda _, reports: open_alone(reports))
    assert (np.diag(guessed) < 0.7 * np.diag(variance)).all()


def test_stratified_samples() -> None:
    check(stratified([[0, 1, 2], [3, 4]], [2, 2]), planned(strata=["a", "a", "b", "b"], population={"a": 3, "b": 2}))


def test_a_certain_stratum_with_one_unit_is_fine() -> None:
    check(stratified([[0, 1, 2, 3], [4]], [2, 1]), planned(strata=["a", "a", "b"], population={"a": 4, "b": 1}))


def test_poisson_samples() -> None:
    chances = [0.3, 0.9, 0.5, 1.0]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        plan = Sampling(inclusion=[chances[i] for i in sample], poisson=True)
        return estimate_survey(list(reports), DESIGN, plan)

    check(poisson(chances), estimate, COLUMNS[:4], np.bincount(TRUTH[:4], minlength=3))


@pytest.mark.parametrize("form", ["syg", "ht"])
def test_samples_of_fixed_size_with_unequal_chances(form: str) -> None:
    chance_of = {(0, 1): 0.2, (0, 2): 0.1, (1, 3): 0.15, (0, 4): 0.05, (2, 3): 0.1, (3, 4): 0.1, (1, 2): 0.05}
    chance_of |= {(1, 4): 0.05, (2, 4): 0.1, (0, 3): 0.1}
    joint = np.zeros((5, 5))
    for (i, j), p in chance_of.items():
        joint[[i, j], [j, i]] = p
    np.fill_diagonal(joint, joint.sum(axis=1))

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        plan = Sampling(joint_inclusion=joint[np.ix_(sample, sample)], method=form)
        return estimate_survey(list(reports), DESIGN, plan)

    check(iter(chance_of.items()), estimate)


def test_draws_with_replacement() -> None:
    chances = [0.1, 0.3, 0.2, 0.25, 0.15]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        plan = Sampling(draw_probabilities=[chances[i] for i in sample])
        return estimate_survey(list(reports), DESIGN, plan)

    check(ordered(chances, 2), estimate)


CLUSTERS = [[0, 1], [2, 3, 4], [5, 6]]
OF_SEVEN = [0, 1, 2, 0, 1, 1, 0]


def cluster_of(unit: int) -> int:
    return next(c for c, units in enumerate(CLUSTERS) if unit in units)


def test_two_stages_without_replacement() -> None:
    @cache
    def estimate_of(drawn: tuple[int, ...], reports: tuple[int, ...]) -> Any:
        plan = Sampling(clusters=list(drawn), population=(3, [len(CLUSTERS[c]) for c in drawn]))
        return estimate_survey(list(reports), DESIGN, plan)

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        return estimate_of(tuple(cluster_of(i) for i in sample), reports)

    columns = [P[:, t] for t in OF_SEVEN]
    check(two_stage(CLUSTERS, 2, 2), estimate, columns, np.bincount(OF_SEVEN, minlength=3))


def test_whole_clusters_without_replacement() -> None:
    warner = make_design("warner", p="3/4")
    truth = [0, 1, 1, 0, 1, 1, 0]
    samples = [(tuple(i for c in chosen for i in CLUSTERS[c]), 1 / 3) for chosen in ((0, 1), (0, 2), (1, 2))]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        labels = [warner.outputs.labels[z] for z in reports]
        plan = Sampling(clusters=[cluster_of(i) for i in sample], population=3)
        return estimate_survey(labels, warner, plan)

    columns = [warner.matrix()[:, t] for t in truth]
    check(iter(samples), estimate, columns, np.bincount(truth))


def test_clusters_drawn_with_replacement() -> None:
    """Two draws of a cluster, by its size; every draw takes two of its units and randomizes them afresh."""
    warner = make_design("warner", p="3/4")
    truth, chances = [0, 1, 1, 0, 1, 1, 0], [2 / 7, 3 / 7, 2 / 7]
    pairs = [[(0, 1)], [(2, 3), (2, 4), (3, 4)], [(5, 6)]]
    samples = [
        ((*first, *second), chances[a] * chances[b] / (len(pairs[a]) * len(pairs[b])))
        for a in range(3)
        for b in range(3)
        for first in pairs[a]
        for second in pairs[b]
    ]

    @cache
    def estimate_of(of: tuple[int, ...], reports: tuple[int, ...]) -> Any:
        labels = [warner.outputs.labels[z] for z in reports]
        weights = [len(CLUSTERS[c]) / 2 / (2 * chances[c]) for c in of]
        return estimate_survey(labels, warner, Sampling(weights=weights, clusters=[1, 1, 2, 2]))

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        return estimate_of(tuple(cluster_of(i) for i in sample), reports)

    columns = [warner.matrix()[:, t] for t in truth]
    check(iter(samples), estimate, columns, np.bincount(truth))


def test_every_unit_with_its_own_design() -> None:
    designs = {i: make_design("warner", p=f"{70 + 5 * i}/100") for i in range(4)}
    truth, chances = [0, 1, 1, 0], [0.4, 0.8, 0.5, 0.9]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        labels = [designs[i].outputs.labels[z] for i, z in zip(sample, reports, strict=True)]
        plan = Sampling(inclusion=[chances[i] for i in sample], poisson=True)
        return estimate_survey(labels, {i: designs[i] for i in sample}, plan, samples=list(sample))

    columns = [designs[i].matrix()[:, t] for i, t in enumerate(truth)]
    check(poisson(chances), estimate, columns, np.bincount(truth))


def test_totals_of_a_domain() -> None:
    @cache
    def estimate_of(inside: tuple[str, ...], reports: tuple[int, ...]) -> Any:
        return estimate_survey(list(reports), DESIGN, Sampling(population=5), domains=inside).domains["in"]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        return estimate_of(tuple("in" if i % 2 == 0 else "out" for i in sample), reports)

    total = np.bincount([TRUTH[0], TRUTH[2], TRUTH[4]], minlength=3)
    check(simple(5, 3), estimate, COLUMNS, total)


def test_sets_are_unbiased_too() -> None:
    from maskwell import Categories
    from maskwell.designs import Subset

    design = Subset.from_gamma(3, Categories.numbered(3), size=1)
    matrix, texts = design.matrix(), ["100", "010", "001"]

    def estimate(sample: Sample, reports: tuple[int, ...]) -> Any:
        return estimate_survey([texts[z] for z in reports], design, Sampling(population=4))

    truth = [0, 1, 2, 0]
    check(simple(4, 2), estimate, [matrix[:, t] for t in truth], np.bincount(truth, minlength=3))

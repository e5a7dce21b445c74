"""Intervals cover as often as they say, under five ways to draw a sample and two procedures.

A fixed population of 3,000 people in 150 neighbourhoods; every run draws a sample, lets its members randomize, and
estimates. Seeds are fixed. Over all seeds, a test of intervals whose coverage is within one and a half points of the
nominal level, and of variances within a tenth, fails with a chance of at most 2e-6: half for the hits, half for the
squared errors, which find a variance that is two fifths too small or three quarters too large from 300 runs. The
negative controls show that a variance without the randomization correction, and one that takes clusters for rows, are
found.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array, Real
from tests.support.coverage import Errors, coverage_of, simulated

from maskwell import Categories, Design
from maskwell import design as make_design
from maskwell.core.row_sums import Cells
from maskwell.designs import Uniform
from maskwell.estimation import Estimate
from maskwell.estimation.sampling.sample_stages import Scheme
from maskwell.estimation.sampling.weighted_survey import estimate_cells

pytestmark = pytest.mark.statistical

LEVEL, RUNS, SLACK = 0.95, 300, 0.015
ERROR_SLACK = 0.1  # a variance is itself estimated, from 50 clusters at the least
SIZE, CLUSTERS = 3000, 150
PROCEDURES: dict[str, tuple[Design, Real]] = {
    "warner": (make_design("warner", p="0.75"), np.array([0.3, 0.7])),
    "k-ary": (Uniform.from_gamma(6, Categories.of(["a", "b", "c"])), np.array([0.2, 0.3, 0.5])),
}
NEIGHBOURHOOD = np.arange(SIZE) // (SIZE // CLUSTERS)
STRATUM = (NEIGHBOURHOOD >= 50).astype(int)
CHANCE = np.where(np.arange(SIZE) % 3 == 0, 0.5, 0.25)

Draw = Callable[[np.random.Generator], tuple[Array, dict[str, Any]]]


@cache
def population(procedure: str) -> tuple[Array, Real]:
    """True categories, alike within neighbourhoods and different between strata, and their shares."""
    pi = PROCEDURES[procedure][1]
    random = np.random.default_rng(77)
    mixed = random.dirichlet(pi * 12, CLUSTERS)
    mixed[:50] = 0.5 * mixed[:50] + 0.5 * np.eye(len(pi))[-1]
    truth = np.array([random.choice(len(pi), p=mixed[c]) for c in NEIGHBOURHOOD])
    return truth, np.bincount(truth, minlength=len(pi)) / SIZE


def in_strata(random: np.random.Generator) -> tuple[Array, dict[str, Any]]:
    parts = [random.permutation(np.flatnonzero(h == STRATUM))[:n] for h, n in ((0, 500), (1, 400))]
    rows = np.concatenate(parts)
    return rows, {"stratum": STRATUM[rows], "population": [np.where(STRATUM[rows] == 0, 1000, 2000)]}


def in_clusters(random: np.random.Generator) -> tuple[Array, dict[str, Any]]:
    """Whole neighbourhoods drawn with replacement in each stratum: who is drawn twice randomizes twice."""
    drawn = np.concatenate([random.integers(0, 50, 20), random.integers(50, CLUSTERS, 30)])
    rows = (drawn[:, None] * 20 + np.arange(20)).ravel()
    weights = np.where(STRATUM[rows] == 0, 50 / 20, 100 / 30)
    return rows, {"stratum": STRATUM[rows], "clusters": [np.repeat(np.arange(50), 20)], "weight": weights}


def by_chance(random: np.random.Generator) -> tuple[Array, dict[str, Any]]:
    rows = np.flatnonzero(random.random(SIZE) < CHANCE)
    return rows, {"weight": 1 / CHANCE[rows]}


PLANS: dict[str, tuple[Draw, Scheme]] = {
    "simple": (lambda random: (random.integers(0, SIZE, 600), {}), Scheme()),
    "finite": (lambda random: (random.permutation(SIZE)[:1500], {"population": [SIZE]}), Scheme()),
    "strata": (in_strata, Scheme()),
    "clusters": (in_clusters, Scheme()),
    "poisson": (by_chance, Scheme("poisson")),
}


def reported(truth: Array, P: Real, random: np.random.Generator) -> Array:
    return np.asarray((random.random(len(truth))[:, None] > np.cumsum(P, axis=0).T[truth]).sum(axis=1))


def drawn_with(plan, scheme, design, truth, without=()) -> Callable[[np.random.Generator], Estimate]:
    P = design.matrix()

    def draw(random: np.random.Generator) -> Estimate:
        rows, columns = plan(random)
        told = {name: column for name, column in columns.items() if name not in without}
        return estimate_cells(Cells.of(reported(truth[rows], P, random), **told), design, scheme)

    return draw


@cache
def estimates(plan: str, procedure: str) -> list[Estimate]:
    draw = drawn_with(*PLANS[plan], PROCEDURES[procedure][0], population(procedure)[0])
    return simulated(draw, runs=RUNS, seed=21)


@pytest.mark.parametrize("plan", list(PLANS))
@pytest.mark.parametrize("procedure", list(PROCEDURES))
def test_intervals_cover_at_their_level(plan: str, procedure: str) -> None:
    drawn, shares = estimates(plan, procedure), population(procedure)[1]
    coverage, errors = coverage_of(drawn, shares, level=LEVEL), Errors.of(drawn, shares)
    assert coverage.is_nominal(LEVEL, slack=SLACK), coverage.shares
    assert errors.are_as_stated(slack=ERROR_SLACK), errors.squares


@pytest.mark.parametrize("procedure", list(PROCEDURES))
def test_a_variance_without_the_randomization_correction_is_found(procedure: str) -> None:
    """Negative control: the finite population correction of open surveys, with half of the population asked."""

    def naive(estimate: Estimate) -> Estimate:
        share = 1500 / SIZE  # V_open = V - f times the randomization part
        return replace(estimate, variance=estimate.variance - share * estimate.randomization_variance)

    drawn = [naive(estimate) for estimate in estimates("finite", procedure)]
    shares = population(procedure)[1]
    assert not Errors.of(drawn, shares).are_as_stated(slack=ERROR_SLACK)
    assert coverage_of(drawn, shares, method="wald").shares.max() < 0.92


def test_clusters_taken_for_rows_are_found() -> None:
    """Negative control: people of one neighbourhood are alike, and forgetting that makes intervals too short."""
    design, (truth, shares) = Uniform.from_gamma(50, Categories.of(["a", "b", "c"])), population("k-ary")
    right = simulated(drawn_with(*PLANS["clusters"], design, truth), runs=RUNS, seed=22)
    wrong = simulated(drawn_with(*PLANS["clusters"], design, truth, without=("clusters",)), runs=RUNS, seed=22)
    assert coverage_of(right, shares).is_nominal(LEVEL, slack=SLACK)
    assert Errors.of(right, shares).are_as_stated(slack=ERROR_SLACK)
    assert not coverage_of(wrong, shares).is_nominal(LEVEL, slack=SLACK)
    assert not Errors.of(wrong, shares).are_as_stated(slack=ERROR_SLACK)

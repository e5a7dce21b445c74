"""Intervals of users who have only the public receipt: they cover as often as they say.

Each share is covered at least as often as 0.95 minus 4.9 standard errors of the simulation: a false alarm once in two
million for each of them. Intervals that forget the randomization do not pass.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.releases import drawn, stage_within

from maskwell import ReleasePlan
from maskwell.core.randomness import SeededRandom
from maskwell.microdata import Receipt
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.folder.receipt import Group
from maskwell.microdata.folder.receipt_contents import rounded_up
from maskwell.microdata.publication import release_table
from maskwell.microdata.utility.utility_measures import inflation_of

PI = {"straw": 0.5, "tile": 0.3, "tin": 0.2}
RUNS, N = 240, 300


def covered() -> np.ndarray:
    """How often the 95 % interval of each share covers that of the population: with the receipt, and with one that
    tells nothing of the randomization; shape (2, categories).
    """
    rng = np.random.default_rng(77)
    hits = np.zeros((2, len(PI)))
    for run in range(RUNS):
        rows = [(str(label),) for label in rng.choice(list(PI), size=N, p=list(PI.values()))]
        stage = stage_within(rows, ["roof"], ["roof"], theta="0.9")
        inflation = inflation_of(stage, "roof")
        released = {"roof": [roof for (roof,) in drawn(rows, ["roof"], [stage], seed=run)]}
        for told, factor in enumerate((rounded_up(inflation.worst), 1.0)):
            estimate = estimate_released(released, receipt_with(factor), ["roof"]).estimate
            true = np.array([PI[str(label)] for label in estimate.categories])
            low, high = estimate.confidence_interval().T
            hits[told] += (low <= true) & (true <= high)
    return hits / RUNS


def receipt_with(factor: float) -> Receipt:
    group = Group(
        variables=("roof",), within=(), linked=(), method="pram", invariance="counts", inflation={"roof": factor}
    )
    return Receipt(audience="public", groups=(group,), rows=N, weights=None, demonstration=True)


@pytest.mark.statistical
def test_users_of_the_public_receipt_are_right_as_often_as_they_say() -> None:
    least = 0.95 - 4.9 * (0.95 * 0.05 / RUNS) ** 0.5
    told, forgotten = covered()
    assert (told >= least).all()
    assert (forgotten < least).any()  # as if nothing had been randomized


@pytest.mark.statistical
def test_tables_of_a_randomized_and_an_unchanged_column_are_covered() -> None:
    """Every cell of a table that is not kept, with the bias that its receipt states; the control leaves it out.

    Where those who leave a category have one job and those who arrive have another, the bias is as large as it can be.
    """
    rng, runs, n = np.random.default_rng(11), 300, 600
    shares = {("f", "yes"): 0.1, ("f", "no"): 0.3, ("m", "yes"): 0.45, ("m", "no"): 0.15}
    plan = ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.3"}], demonstration=True)
    hits = np.zeros((2, len(shares)))
    for run in range(runs):
        cells = [[*shares][i] for i in rng.choice(4, size=n, p=[*shares.values()])]
        made = release_table(
            {"sex": [a for a, _ in cells], "job": [b for _, b in cells]}, plan, random=SeededRandom(run)
        )
        estimate = estimate_released(made.data, made.receipt(), ["sex", "job"]).estimate
        assert made.receipt().tables and estimate.bias is not None
        true = np.array([shares[cell] for cell in estimate.categories])  # type: ignore[index]
        order = np.argsort([[*shares].index(cell) for cell in estimate.categories])  # type: ignore[arg-type]
        for place, one in enumerate((estimate, replace(estimate, bias=None))):
            low, high = one.confidence_interval().T
            hits[place] += ((low <= true) & (true <= high))[order]
    least = 0.95 - 4.9 * (0.95 * 0.05 / runs) ** 0.5
    assert (hits[0] / runs >= 0.95).all()
    assert (hits[1] / runs < least).any()

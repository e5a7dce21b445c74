"""Intervals of users who have only the public receipt: they cover as often as they say.

Each share is covered at least as often as 0.95 minus 4.9 standard errors of the simulation: a false alarm once in two
million for each of them. Intervals that forget the randomization do not pass.
"""

import numpy as np
import pytest
from tests.support.releases import drawn, stage_within

from maskwell.microdata import Receipt
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.folder.receipt import Group
from maskwell.microdata.folder.receipt_contents import rounded_up
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

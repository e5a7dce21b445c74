"""Probabilities of parts of a key are sums of floats: what is certain stays certain."""

from __future__ import annotations

import numpy as np

from maskwell.core import CellTable
from maskwell.designs import Dense
from maskwell.microdata.risk import assess_risk
from maskwell.microdata.stages.stage import Stage

COLUMN = ["3/44", "11/44", "4/44", "13/44", "9/44", "4/44"]
"""As floats and added one by one: 1 + 2**-52."""


def test_a_key_that_never_changes_is_kept_for_sure() -> None:
    k = len(COLUMN)
    states = [("a", f"job {i}") for i in range(k)]
    stage = Stage(
        variables=("town", "job"),
        states=states,
        outputs=states,
        design=Dense.of([[p] * k for p in COLUMN]),
        counts=np.full(k, 3),
        cells=np.zeros(k, dtype=np.int64),
        method="fixed",
        invariance="none",
        derived=False,
    )
    table = CellTable.of(["town", "job"], dict.fromkeys(states, 3))
    after = assess_risk(table, ["town"], [stage]).after
    assert after is not None
    assert after.max_risk == 1 / (3 * k) and after.expected_uniques == 0

"""Risks of whole releases against their records in fractions: stages of all kinds, keys of all kinds."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.support.by_records import Record, risk_by_records

from maskwell.core import CellTable
from maskwell.designs import Sparse
from maskwell.microdata.risk import arrivals as module
from maskwell.microdata.risk import assess_risk
from maskwell.microdata.stages.stage import Stage, state_categories

COLUMNS = ("a", "b", "c", "d", "follows")
LEVELS = {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": ["c1", "c2", "c3"], "d": ["d1", "d2"]}
FOLLOWS = {"a1": "low", "a2": "high", "a3": "low"}
PLANS = {
    "one": [(("a",), ())],
    "apart": [(("a",), ()), (("b",), ())],
    "jointly with a column outside": [(("a", "c"), ()), (("b",), ())],
    "within each other": [(("a",), ("c",)), (("c",), ("a",))],
    "within columns that stay": [(("a",), ("c",)), (("b",), ("d",))],
    "within one column that stays": [(("a",), ("c",)), (("b",), ("c",))],
    "within a column that moves later": [(("a",), ("b",)), (("b",), ()), (("c",), ("a", "b"))],
}
KEYS = (("a", "b"), ("a",), ("a", "b", "c"), ("b", "c"), ("a", "follows"), ("a", "b", "c", "d"))


def records(rng: random.Random) -> list[Record]:
    found = []
    for _ in range(rng.choice([4, 6, 10])):
        own = [rng.choice([*LEVELS[name], *([None] if name == "a" and rng.random() < 0.2 else [])]) for name in "abcd"]
        found.append((*own, FOLLOWS.get(own[0])))
    return found


def stage(rng: random.Random, variables: tuple[str, ...], within: tuple[str, ...], file: list[Record]) -> Stage:
    """Random sparse columns, also of chances below 0.1, over the combinations that occur; missing values stay."""
    at = [COLUMNS.index(name) for name in (*within, *variables)]
    found = dict.fromkeys(tuple(record[i] for i in at) for record in file)
    states = [state for state in found if None not in state[len(within) :]]
    columns = []
    for state in states:
        near = [i for i, other in enumerate(states) if other[: len(within)] == state[: len(within)]]
        drawn = {i: rng.choice([0, 0, 1, 1, 2, 5, 30]) for i in near}
        drawn[near[0]] += not any(drawn.values())
        columns.append({i: Fraction(x, sum(drawn.values())) for i, x in drawn.items() if x})
    linked = {"follows": {(label,): group for label, group in FOLLOWS.items()}} if variables == ("a",) else {}
    return Stage(
        variables=variables,
        within=within,
        linked=linked,
        states=states,
        outputs=states,
        design=Sparse.of_columns(columns, state_categories(states)),
        counts=np.ones(len(states), dtype=np.int64),
        cells=np.zeros(len(states), dtype=np.int64),
        method="fixed",
        invariance="none",
        derived=False,
    )


@pytest.mark.parametrize("limit", [10**6, -1], ids=["listed", "product"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PLANS)
def test_every_number_follows_from_the_records(
    name: str, seed: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{name} {seed}")
    monkeypatch.setattr(module, "LISTED", limit)
    file, keys = records(rng), rng.choice(KEYS)
    stages = [stage(rng, *columns, file) for columns in PLANS[name]]
    found = assess_risk(CellTable.of(COLUMNS, Counter(file)), keys, stages, seen=())
    exact = risk_by_records(file, COLUMNS, keys, stages)
    cells = {label: place for place, label in enumerate(found.table.labels())}
    for record, told in zip(file, exact.records, strict=True):
        cell = cells[tuple(record[COLUMNS.index(column)] for column in found.table.columns)]
        for number, value in told.items():
            if limit < 0 and number in ("after", "any_release"):  # of a product, a bound from above
                assert found.per_cell[number][cell] >= float(value) - 1e-12, number
            else:
                assert found.per_cell[number][cell] == pytest.approx(float(value), abs=1e-12), number
    assert found.after is not None
    for number in ("expected_uniques", "expected_true_uniques", "guess_probability"):
        assert getattr(found.after, number) == pytest.approx(float(getattr(exact, number)), abs=1e-12), number

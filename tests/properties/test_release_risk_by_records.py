"""Risks of whole releases against their records in fractions: stages of all kinds, keys of all kinds."""

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from maskwell.core.cells import CellTable
from maskwell.designs import Sparse
from maskwell.microdata.risk import arrivals as module
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.stages.stage import Stage, state_categories

Record = tuple[Hashable, ...]
TAIL = Fraction(25, 1000)


@dataclass(frozen=True)
class ByRecords:
    """What :class:`~maskwell.microdata.risk.risk_report.RiskReport` tells, record by record and for the whole file."""

    records: list[dict[str, Fraction]]
    expected_uniques: Fraction
    expected_true_uniques: Fraction
    guess_probability: Fraction


def risk_by_records(
    records: Sequence[Record], columns: Sequence[str], keys: Sequence[str], stages: Sequence[Stage]
) -> ByRecords:
    """Every number of a release whose records are drawn independently."""
    at = [columns.index(name) for name in keys]
    own = [tuple(record[i] for i in at) for record in records]
    chances = [_keys(_released(record, columns, stages), at) for record in records]
    rows = {key for chance in chances for key in chance} | {*own}
    alone = Counter(own)
    uniques = sum(_number(chances, row)[1] for row in rows)
    true = sum(chances[i].get(x, Fraction(0)) * _number(chances, x, i)[0] for i, x in enumerate(own) if alone[x] == 1)
    guesses = sum(max(_sums(chances, own, row).values()) for row in rows)
    told = [_told(chances, i, key) for i, key in enumerate(own)]
    return ByRecords(told, Fraction(uniques), Fraction(true), guesses / len(records))


def _released(record: Record, columns: Sequence[str], stages: Sequence[Stage]) -> dict[Record, Fraction]:
    found = {record: Fraction(1)}
    for stage in stages:
        after: dict[Record, Fraction] = {}
        for now, p in found.items():
            for new, q in _drawn(now, columns, stage):
                after[new] = after.get(new, Fraction(0)) + p * q
        found = after
    return found


def _drawn(record: Record, columns: Sequence[str], stage: Stage) -> Iterable[tuple[Record, Fraction]]:
    assert isinstance(stage.design, Sparse)
    at = [columns.index(name) for name in stage.columns]
    state = tuple(record[i] for i in at)
    if state not in stage.states:
        return [(record, Fraction(1))]
    found = []
    for output, p in stage.design.columns_exact(list(stage.states).index(state)).items():
        new = dict(zip(stage.columns, stage.outputs[output], strict=True))
        variables = tuple(new[name] for name in stage.variables)
        new |= {name: follows[variables] for name, follows in stage.linked.items()}
        found.append((tuple(new.get(name, old) for name, old in zip(columns, record, strict=True)), p))
    return found


def _keys(released: dict[Record, Fraction], at: Sequence[int]) -> dict[Record, Fraction]:
    found: dict[Record, Fraction] = {}
    for record, p in released.items():
        key = tuple(record[i] for i in at)
        found[key] = found.get(key, Fraction(0)) + p
    return found


def _number(chances: Sequence[dict[Record, Fraction]], row: Record, without: int = -1) -> list[Fraction]:
    """How many records are released as a row."""
    found = [Fraction(1)]
    for i, chance in enumerate(chances):
        p = Fraction(0) if i == without else chance.get(row, Fraction(0))
        stays, comes = [x * (1 - p) for x in found], [x * p for x in found]
        found = [a + b for a, b in zip([*stays, Fraction(0)], [Fraction(0), *comes], strict=True)]
    return found


def _told(chances: Sequence[dict[Record, Fraction]], i: int, own: Record) -> dict[str, Fraction]:
    unconditional, in_range, strict = _risk(chances, i, own)
    every = max(_risk(chances, i, row)[2] for row in {*chances[i], own})
    kept = chances[i].get(own, Fraction(0))
    found = {"unconditional": unconditional, "after": every, "in_range": in_range, "strict": strict}
    return found | {"any_release": every, "kept": kept}


def _risk(chances: Sequence[dict[Record, Fraction]], i: int, row: Record) -> tuple[Fraction, Fraction, Fraction]:
    p, total, others = chances[i].get(row, Fraction(0)), _number(chances, row), _number(chances, row, i)
    given = {t: p * others[t - 1] / total[t] / t for t in range(1, len(total)) if total[t]}
    below = [sum(total[: t + 1]) for t in range(len(total))]
    low, high = (next(t for t, F in enumerate(below) if share <= F) for share in (TAIL, 1 - TAIL))
    inside = [risk for t, risk in given.items() if low <= t <= high]
    unconditional = sum((p * q / (t + 1) for t, q in enumerate(others)), Fraction(0))
    return unconditional, max(inside, default=Fraction(0)), max(given.values(), default=Fraction(0))


def _sums(chances: Sequence[dict[Record, Fraction]], own: Sequence[Record], row: Record) -> dict[Record, Fraction]:
    found: dict[Record, Fraction] = {}
    for key, chance in zip(own, chances, strict=True):
        found[key] = found.get(key, Fraction(0)) + chance.get(row, Fraction(0))
    return found


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

"""Local suppression: k-anonymity with few values left out, in tables, plans and released files."""

import csv
import json
import math
import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell.core.cells import CellTable
from maskwell.errors import PlanError, TooLargeError
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records.local_suppression import LocalSuppression, Suppression, suppressed

KEYS = ("town", "job", "age")


def people(number: int, n: int = 60) -> list[tuple[Any, ...]]:
    draw = random.Random(number)
    levels = [["A", "B", "C", None][: draw.randint(1, 4)], ["x", "y", "z"], [1, 2, 3, 4, 5][: draw.randint(2, 5)]]
    return [tuple(draw.choices(level, [9.0 / (i + 1) ** 2 for i in range(len(level))])[0] for level in levels)
            for _ in range(draw.randint(8, n))]  # fmt: skip


def patterns(found: Suppression) -> Counter[tuple[Any, ...]]:
    left: Counter[tuple[Any, ...]] = Counter()
    for label, gone, n in zip(found.table.labels(), found.lost.tolist(), found.table.counts.tolist(), strict=True):
        left[tuple(None if lost else one for one, lost in zip(label, gone, strict=True))] += n
    return left


def fewest(table: CellTable, k: int) -> int:
    """By trying everything: each cell with each set of keys."""
    sets = [*product([False, True], repeat=len(table.columns))]
    labels, counts = table.labels(), table.counts.tolist()
    best = table.n * len(table.columns)
    for choice in product(sets, repeat=len(labels)):
        left: Counter[tuple[Any, ...]] = Counter()
        cost = 0
        for label, gone, n in zip(labels, choice, counts, strict=True):
            left[tuple(None if lost else one for one, lost in zip(label, gone, strict=True))] += n
            cost += n * sum(lost and one is not None for one, lost in zip(label, gone, strict=True))
        if min(left.values()) >= k:
            best = min(best, cost)
    return best


@together("number", range(60))
def test_every_combination_has_k_records(number: int) -> None:
    table = CellTable.of(KEYS, dict(Counter(people(number))))
    for k in (2, 3, 5):
        found = suppressed(table, LocalSuppression(k=k, keys=KEYS))
        left = patterns(found)
        assert min(left.values()) >= k, (number, k)
        if table.counts.min() >= k:
            assert not sum(found.by_key.values()), "nothing is lost where nothing must be"


@together("number", range(8))
def test_the_integer_program_finds_the_fewest(number: int) -> None:
    draw = random.Random(number)
    cells = {(draw.choice("AB"), draw.choice("xy")): draw.randint(1, 4) for _ in range(4)} | {("A", "x"): 3}
    table = CellTable.of(["town", "job"], cells)
    exact = suppressed(table, LocalSuppression(k=3, keys=("town", "job"), exact=True))
    assert min(patterns(exact).values()) >= 3
    assert sum(exact.by_key.values()) == fewest(table, 3)


def test_the_heuristic_is_near_the_fewest() -> None:
    heuristic = exact = 0
    for number in range(12):
        table = CellTable.of(KEYS, dict(Counter(people(number, 40))))
        asked = LocalSuppression(k=2, keys=KEYS)
        values = sum(suppressed(table, asked).by_key.values())
        least = sum(suppressed(table, LocalSuppression(k=2, keys=KEYS, exact=True)).by_key.values())
        assert least <= values
        heuristic, exact = heuristic + values, exact + least
    assert heuristic <= 1.3 * exact


def test_the_least_important_key_goes_first() -> None:
    table = CellTable.of(["sex", "age"], {("m", 1): 5, ("m", 2): 1, ("m", 3): 1, ("w", 1): 5})
    by_size = suppressed(table, LocalSuppression(k=2, keys=("sex", "age")))
    assert by_size.by_key == {"sex": 0, "age": 2} and by_size.records == 2, "age has more categories"
    table = CellTable.of(["sex", "age"], {("m", 1): 5, ("m", 2): 1, ("w", 2): 1, ("w", 1): 5})
    asked = LocalSuppression(k=2, keys=("sex", "age"), importance=("age", "sex"))
    assert suppressed(table, asked).by_key == {"sex": 2, "age": 0}


def test_impossible_ones_are_refused() -> None:
    table = CellTable.of(["sex"], {("m",): 1, ("w",): 1})
    refused(PlanError, "2 records", suppressed, table, LocalSuppression(k=3, keys=("sex",)))
    wide = CellTable.of([f"key{i}" for i in range(13)], {("a",) * 13: 5})
    refused(PlanError, "13 key variables", suppressed, wide, LocalSuppression(k=3, keys=wide.columns))
    many = CellTable.of(["a", "b", "c"], {(i, i % 7, i % 5): 1 for i in range(3000)})
    refused(TooLargeError, "exact", suppressed, many, LocalSuppression(k=3, keys=many.columns, exact=True))


PROTECT = [{"variables": ["health"], "method": "sequential", "strength": 0.2}]


@together(["table", "what"], [
    ({"k": 1}, "2 or more"),
    ({"k": 3, "keys": []}, "no keys"),
    ({}, "k"),
    ({"k": 3, "importance": ["shoe"]}, "shoe"),
    ({"k": 3, "keys": ["pid"]}, "the id"),
    ({"k": 3, "kyes": ["town"]}, "kyes"),
    ({"k": 2.5}, "whole number"),
])  # fmt: skip
def test_wrong_tables_are_refused(table: dict[str, Any], what: str) -> None:
    refused(PlanError, what, ReleasePlan.of, PROTECT, suppress=table, keys=["town", "job"], id="pid")


def records(n: int = 400) -> dict[str, list[Any]]:
    draw = random.Random(5)
    rows = [(draw.choices("ABC", [60, 30, 3])[0], draw.choices("xyz", [50, 30, 4])[0], draw.choice(["ill", "well"]))
            for _ in range(n)]  # fmt: skip
    return {name: list(column) for name, column in zip(("town", "job", "health"), zip(*rows, strict=True), strict=True)}


def test_a_table_in_memory_is_suppressed_before_it_is_randomized() -> None:
    data = records(120)
    plan = ReleasePlan.of(
        PROTECT, keys=["town", "job"], suppress={"k": 4}, match=0.25, order="kept", accept=["record-order"]
    )
    assert ReleasePlan.from_dict(plan.to_dict()).suppress == plan.suppress
    released = mw.release(data, plan)
    assert released.release.risk is not None and released.release.risk.before.smallest >= 4
    given, made = ([*zip(one["town"], one["job"], strict=True)] for one in (data, released.data))
    assert min(Counter(made).values()) >= 4
    small = {cell for cell, n in Counter(given).items() if n < 4}
    assert small, "the made-up file has small cells"
    for before, after in zip(given, made, strict=True):
        assert all(b in (a, None) for a, b in zip(before, after, strict=True))
    lost = {name: sum(one is None for one in released.data[name]) for name in ("town", "job")}
    assert released.release.file.changes.suppressed == lost
    assert any("suppressed" in note for note in released.release.notes)


def test_a_released_file_tells_what_was_left_out(tmp_path: Path) -> None:
    source, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    data = records(120)
    source.write_text("\n".join([",".join(data), *map(",".join, zip(*data.values(), strict=True))]), encoding="utf-8")
    plan.write_text(
        '[release]\nkeys = ["town", "job"]\n[suppress]\nk = 4\n'
        '[[protect]]\nvariables = ["town"]\nmethod = "sequential"\nstrength = 0.2\n',
        encoding="utf-8",
    )
    done = mw.release(str(source), str(plan), str(tmp_path / "out"))
    public = tmp_path / "out" / "public"
    told = json.loads((public / "receipt.json").read_text(encoding="utf-8"))["recoded"]
    with (public / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    for name, n in done.file.changes.suppressed.items():
        assert sum(row[name] == "" for row in rows) == n
    assert [*done.file.changes.suppressed.values()] == [0, 6], "neither is published"
    assert told == dict.fromkeys(["town", "job"], "at most 24 values were suppressed, and are missing")
    assert "suppressed" in (public / "README.md").read_text(encoding="utf-8")
    assert "suppressed" in (public / "codebook.json").read_text(encoding="utf-8")
    assert "suppressed" in (tmp_path / "out" / "internal" / "report.html").read_text(encoding="utf-8")
    again = mw.risk(str(source), "town,job", receipt=str(tmp_path / "out" / "internal" / "receipt.json"))
    assert again.before.smallest >= 4, "the risk is that of the file as it was randomized"


@together("kind", [".sav", ".parquet"])
def test_every_kind_of_file_loses_values_and_shows_one_missing_value(tmp_path: Path, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    draw = random.Random(2)
    town = [float(one) for one in draw.choices([1, 2, 3], [60, 30, 3], k=150)]
    town[:12] = [4.0] * 2 + [math.nan] * 10
    data = {"town": town, "job": draw.choices("xyz", [50, 30, 2], k=150), "sick": draw.choices("ny", k=150)}
    source, frame = tmp_path / f"people{kind}", pandas.DataFrame(data)
    if kind == ".sav":
        labelled = pytest.importorskip("pyreadstat")
        labelled.write_sav(frame, source, missing_ranges={"town": [4]})
    else:
        frame.to_parquet(source)
    protect = [{"variables": ["sick"], "method": "sequential", "strength": 0.2}]
    plan = ReleasePlan.of(protect, keys=["town", "job"], suppress={"k": 5}, order="kept")
    done = mw.release(str(source), plan, str(tmp_path / "out"))
    written = tmp_path / "out" / "public" / f"data{kind}"
    back = pandas.read_parquet(written) if kind == ".parquet" else labelled.read_sav(written, user_missing=True)[0]
    made = [*zip(back["town"].tolist(), back["job"].replace("", None).tolist(), strict=True)]
    alike = Counter(tuple(None if pandas.isna(one) else one for one in row) for row in made)
    assert min(alike.values()) >= 5, "codes that are declared missing are seen, too"
    assert done.file.changes.suppressed["town"] >= 2


def matches(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return all(None in (x, y) or x == y for x, y in zip(a, b, strict=True))


@together("number", range(40))
def test_every_record_matches_k_where_a_missing_value_matches_any(number: int) -> None:
    """As sdcMicro counts."""
    table = CellTable.of(KEYS, dict(Counter(people(number, 40))))
    for k in (2, 3, 5):
        found = suppressed(table, LocalSuppression(k=k, keys=KEYS, any_value=True))
        left = patterns(found)
        assert all(sum(n for other, n in left.items() if matches(one, other)) >= k for one in left)
        assert not found.lost[table.counts >= k].any()


def test_a_plan_says_how_missing_values_match() -> None:
    data = {"town": [*"AAAABBBB"], "job": [*"xxxyxxxz"]}
    protect = [{"variables": ["job"], "method": "uniform", "gamma": 1000}]
    common: dict[str, Any] = {"keys": ["town", "job"], "missing": "category", "demonstration": True}
    plan = ReleasePlan.of(protect, suppress={"k": 3, "missing": "any"}, **common)
    assert ReleasePlan.from_dict(plan.to_dict()) == plan and plan.to_dict()["suppress"]["missing"] == "any"
    found = mw.release(data, plan, random=mw.SeededRandom(1)).release.assessment
    assert found.file.changes.suppressed == {"town": 0, "job": 2}
    assert "matching any other" in " ".join(map(str, found.found))
    refused(
        PlanError,
        "exact does not go",
        ReleasePlan.of,
        protect,
        suppress={"k": 3, "missing": "any", "exact": True},
        **common,
    )

"""What unchanged columns tell: counted in all rows, exactly where tables are small, in bounded memory where not."""

import datetime as dt
from collections import Counter
from decimal import Decimal
from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest
from tests.support.together import together

from maskwell.engines.column_codes import numbered_column
from maskwell.microdata.records import dependence
from maskwell.microdata.records.dependence import DependenceCounter
from maskwell.microdata.records.value_counts import ColumnFacts, Restored, ValueCounter

pa = pytest.importorskip("pyarrow")
RANDOM = np.random.default_rng(5)


def facts_of(column: list[Any], target: list[int], batch: int = 1000, **more: Any) -> ColumnFacts:
    also = more.pop("also", {})
    counter = DependenceCounter(["u", *more.get("together", [])], ["v"], **more)
    for start in range(0, len(column), batch):
        rows = slice(start, start + batch)
        columns = {"u": pa.array(column[rows])} | {k: pa.array(v[rows]) for k, v in also.items()}
        counter.add(columns, {"v": np.array(target[rows], dtype=np.int32)})
    return counter.facts()[0]


def restored(found: ColumnFacts, by: str = "value") -> Restored:
    return next(one for one in found.restored if one.by == by)


def right_by_hand(column: list[Any], target: list[int]) -> tuple[float, float]:
    """Leave every record out that shares its value, and guess its label from the others; and the best guess without."""
    groups = Counter(zip(column, target, strict=True))
    sizes = Counter(u for u, v in zip(column, target, strict=True) if v >= 0)
    there = [(u, v) for u, v in zip(column, target, strict=True) if v >= 0 and sizes[u] > 1]
    right = 0.0
    for u, v in there:
        others = {w: n - (w == v) for (x, w), n in groups.items() if x == u and w >= 0}
        best = max(others.values())
        if others[v] == best:
            right += 1.0 if sum(n == best for n in others.values()) == 1 else 0.5
    return right / len(there), max(Counter(v for _, v in there).values()) / len(there)


@together("values", [3, 20, 200])
def test_what_a_column_restores_is_what_leaving_each_record_out_gives(values: int) -> None:
    column = RANDOM.integers(0, values, 400).tolist()
    target = [(u % 3 if RANDOM.random() < 0.7 else int(RANDOM.integers(0, 3))) for u in column]
    target[7] = -1
    found = facts_of(column, target, batch=37)
    right, usual = right_by_hand(column, target)
    assert restored(found).share == pytest.approx(right, abs=1e-12)
    assert restored(found).without == pytest.approx(usual, abs=1e-12)
    assert found.values == len(set(column)) and found.rows == 400


def test_chance_is_no_dependence_and_rare_or_missing_values_are_seen() -> None:
    """Gain of unrelated columns: 0 but for chance, whose deviation is below 0.01 here; limit over ten of them."""
    target = RANDOM.integers(0, 4, 20_000).tolist()
    for values in (5, 500, 5_000, 10**9):
        found = facts_of(RANDOM.integers(0, values, 20_000).tolist(), target, batch=5_000)
        assert all(one.gain < 0.1 for one in found.restored), values
    target = [-1 if i % 3 == 0 else int(i % 4 == 0) for i in range(900)]
    column = [int(v == -1) for v in target]
    assert restored(facts_of(column, target)).gain < 0.1
    assert restored(facts_of(column, target, missing=True)).share == pytest.approx(5 / 6, abs=0.01)
    target = RANDOM.integers(0, 3, 5_000)
    target[:60] = 3
    column = np.where(target == 3, 9, RANDOM.integers(0, 5, 5_000)).tolist()
    found = restored(facts_of(column, target.tolist()))
    assert found.gain < 0.1 and found.rare == 1
    target[100:160] = 3
    assert restored(facts_of(column, target.tolist())).rare == pytest.approx(0.5)
    # Two fifths have an income of their own, and nobody else to be compared with.
    income = [i if i % 5 < 2 else -100 * (i % 50) for i in range(3_000)]
    found = facts_of(income, [int(abs(x) % 1000 > 500) for x in income])
    assert found.share_below(2) == pytest.approx(0.4, abs=0.01)
    assert restored(found).share == 1


def test_the_size_of_a_household_is_counted() -> None:
    sizes = RANDOM.integers(1, 6, 800)
    column = np.repeat(np.arange(800), sizes)
    target = np.repeat(sizes, sizes)
    order = RANDOM.permutation(len(column))
    found = facts_of(column[order].tolist(), target[order].tolist())
    assert restored(found, "size").share == 1 and restored(found).share == 1
    assert found.in_groups[1] == (sizes == 1).sum()
    assert found.share_below(5) == pytest.approx((sizes[sizes < 5]).sum() / sizes.sum())
    place = [i for size in sizes for i in range(size)]  # in the household, where the order of the file is kept
    assert restored(facts_of(column.tolist(), place, batch=64, ordered=True), "place").share == 1
    assert not [one for one in facts_of(column.tolist(), place).restored if one.by == "place"]


KINDS = [
    pa.array([i * 3 for i in range(300)]),
    pa.array([i / 7 for i in range(300)]),
    pa.array([f"P{i:04}" for i in range(300)]),
    pa.array([f"P{i:04}" for i in range(300)]).dictionary_encode(),
    pa.array([dt.date(1950, 1, 1) + dt.timedelta(days=i) for i in range(300)]),
    pa.array([dt.datetime(1950, 1, 1) + dt.timedelta(seconds=i) for i in range(300)]),
    pa.array([Decimal(i) / 100 for i in range(300)]),
    pa.array([bytes([i // 256, i % 256]) for i in range(300)]),
    pa.array([[i, i + 1] for i in range(300)]),
    pa.array([{"id": i} for i in range(300)]),
    pa.array([dt.time(i // 60, i % 60) for i in range(300)]),
    pa.array([-1 - i for i in range(300)], pa.int16()),
    pa.array([2**63 + i for i in range(300)], pa.uint64()),
    pa.array(["", "a", "aa", "\x00", *map(str, range(296))], pa.large_string()),
    pa.array(["x" * 2000 + str(i) + "y" * 2000 for i in range(300)]),
    pa.array([bytes([255, i // 256, i % 256]) for i in range(300)], pa.binary(3)),
    pa.array([bytes([255, i // 256, i % 256]) for i in range(300)], pa.large_binary()),
    pa.array([(0, i, -i) for i in range(300)], pa.month_day_nano_interval()),
]


@together("column", KINDS)
def test_values_of_every_kind_are_told_apart(column: Any) -> None:
    assert len(set(numbered_column(column).numbers.tolist())) == 301
    if pa.types.is_interval(column.type):
        return
    places, numbers = numbered_column(pa.concat_arrays([column, column]).take(pa.array([*range(600), None])))
    assert len(set(numbers[places].tolist())) == 301, "one for the missing value"
    assert (numbers[places][:300] == numbers[places][300:600]).all()


def test_a_copy_of_an_id_stands_for_it_and_records_without_a_value_are_left_out() -> None:
    pid = [i // 2 for i in range(2_000)]
    copy = [f"{9 * (i // 2) + 5:06x}" for i in range(2_000)]
    other = RANDOM.permutation(pid).tolist()
    target = [0, 1] * 1_000
    assert facts_of(copy, target, ids=["pid"], also={"pid": pid}).stands_for == ("pid",)
    assert facts_of(other, target, ids=["pid"], also={"pid": pid}).stands_for == ()
    nearly = copy.copy()
    nearly[5] = copy[90]
    assert facts_of(nearly, target, ids=["pid"], also={"pid": pid}).stands_for == ("pid",)
    found = facts_of([None if i % 3 else i for i in range(3_000)], [0, 1] * 1_500)
    assert (found.rows, found.values, found.share_below(2)) == (1_000, 1_000, 1)
    assert DependenceCounter(["u"], ["v"]).facts() == []
    assert ValueCounter().facts("u").rows == 0
    whole = pa.array([f"v{i % 17}" for i in range(100)])
    first, second = numbered_column(whole.slice(3, 40)), numbered_column(whole.slice(50))
    assert set(first.numbers.tolist()) == set(second.numbers.tolist())


@pytest.mark.parametrize("frequent", [False, True])
def test_long_columns_are_estimated_in_bounded_memory(monkeypatch: pytest.MonkeyPatch, frequent: bool) -> None:
    """200,000 values in a table of 4,096 cells; the standard error of a share is below 0.02, the limit five of them."""
    monkeypatch.setattr(dependence, "MOST_CELLS", 4_096)
    monkeypatch.setattr(dependence, "FEWEST_CELLS", 4_096)
    n = 400_000
    column = np.arange(n) // 2
    target = column % 4
    if frequent:
        column[RANDOM.random(n) < 0.4] = -1
        target[column == -1] = 0
    order = RANDOM.permutation(n)
    column, target = column[order], target[order]
    counter = DependenceCounter(["u"], ["v"])
    for start in range(0, n, 20_000):
        rows = slice(start, start + 20_000)
        counter.add({"u": pa.array(column[rows])}, {"v": target[rows].astype(np.int32)})
        assert all(table.kept <= 4_096 for table in counter._alone["u"].cells.values())
    (found,) = counter.facts()
    values, counts = np.unique(column, return_counts=True)
    assert not found.exact and found.values == pytest.approx(len(values), rel=0.1)
    assert found.share_below(3) == pytest.approx(counts[counts < 3].sum() / n, abs=0.1)
    assert restored(found).share == 1
    assert restored(found).without == pytest.approx(0.55 if frequent else 0.25, abs=0.1)


@together("seed", range(5))
def test_pairs_of_columns_come_in_the_order_of_their_combinations(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, 9, 30).tolist()
    every = sorted(
        (pair for pair in combinations(range(30), 2) if sizes[pair[0]] * sizes[pair[1]] <= 20),
        key=lambda pair: sizes[pair[0]] * sizes[pair[1]],
    )
    assert [*dependence.pairs_by_size(sizes, 20)] == every
    first = [*islice(dependence.pairs_by_size([3] * 100_000, 10**6), 2)]  # of five thousand million
    assert first == [(0, 1), (0, 2)]


def test_what_follows_from_two_targets_together_is_counted_pair_by_pair() -> None:
    """Of all pairs of records alike in both targets, the share alike in the column; a large error shows by chance."""
    random = np.random.default_rng(11)
    for noise, rows in [(0.0, 300), (0.2, 300), (1.0, 300), (0.0, 900)]:
        v, w = random.integers(-1, 9, rows), random.integers(-1, 12, rows)
        u = np.where(random.random(rows) < noise, random.integers(0, 20, rows), v + w)
        counter = DependenceCounter(["u"], ["v", "w"], joint=[["v", "w"]])
        for start in range(0, rows, 41):
            part = slice(start, start + 41)
            counter.add({"u": pa.array(u[part])}, {"v": v[part].astype(np.int32), "w": w[part].astype(np.int32)})
        ((group, found),) = counter.facts()[0].shown_together
        groups: dict[tuple[int, int], list[int]] = {}
        for a, b, c in zip(v.tolist(), w.tolist(), u.tolist(), strict=True):
            groups.setdefault((a, b), []).append(c)
        shared = [each for each in groups.values() if len(each) > 1]
        right = sum(len(each) * (max(Counter(each).values()) - 1) / (len(each) - 1) for each in shared)
        everyone = [one for each in shared for one in each]
        assert group == ("v", "w") and found.share == pytest.approx(right / len(everyone), abs=1e-12)
        assert found.without == pytest.approx(max(Counter(everyone).values()) / len(everyone), abs=1e-12)
        assert (found.gain > 0.99) == (noise == 0.0)


def test_nothing_follows_from_targets_together_where_few_records_share_their_labels() -> None:
    counter = DependenceCounter(["u"], ["v", "w"], joint=[["v", "w"]])
    labels = np.arange(40, dtype=np.int32)
    counter.add({"u": pa.array(labels)}, {"v": labels, "w": labels})
    assert counter.facts()[0].shown_together == ()

"""How well other columns go with keys, against the same counted row by row."""

from collections import Counter
from itertools import combinations, pairwise
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.together import together

from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import MemoryTable
from maskwell.microdata.records import column_fit

KEYS, OTHERS = ("a", "b", "c"), ("x", "y")
Rows = dict[str, list[Any]]


def made(n: int = 120) -> Rows:
    """Rows whose values go with their keys for a half."""
    random = np.random.default_rng(4)
    keys = {name: random.integers(size, size=n) for name, size in zip(KEYS, (3, 4, 2), strict=True)}
    usual = random.random(n) < 0.5
    others = {
        "x": np.where(usual, keys["a"] + keys["b"], random.integers(6, size=n)),
        "y": np.where(usual, keys["c"] * keys["a"], random.integers(4, size=n)),
    }
    return {name: [f"v{value}" for value in column.tolist()] for name, column in (keys | others).items()}


def fit_of(rows: Rows, keys: tuple[str, ...] = KEYS, below: float = 5.0) -> column_fit.ColumnFit:
    records = MemoryTable(pa.table(rows))
    table = count_tables(records, [keys])[0]
    return column_fit.read_column_fit(records, table, [name for name in rows if name not in keys], below)


def row_order(fit: column_fit.ColumnFit, rows: Rows) -> list[int]:
    """The row of each kept record: cells in turn, rows of a cell in order."""
    cell = {label: i for i, label in enumerate(fit.table.labels())}
    of_rows = [cell[row] for row in zip(*(rows[name] for name in fit.table.columns), strict=True)]
    return sorted(range(len(of_rows)), key=lambda row: of_rows[row])


def odds_by_hand(rows: Rows, names: tuple[str, ...], labels: tuple[str, ...], record: int, other: str) -> float:
    """``log(P(v | l) / P(v))`` of the value of a record given labels, learned from all other records."""
    having = [*zip(*(rows[name] for name in names), strict=True)]
    value, n = rows[other][record], len(having)
    usual = Counter(rows[other])[value] / n
    rest = [i for i in range(n) if i != record or having[i] != labels]
    with_labels = [i for i in rest if having[i] == labels]
    both = sum(rows[other][i] == value for i in with_labels)
    return log((both + column_fit.PRIOR * usual) / (len(with_labels) + column_fit.PRIOR) / usual)


def by_hand(rows: Rows, labels: tuple[str, ...], record: int) -> tuple[float, float]:
    """How well a record goes with labels of all keys: by single keys, and by pairs of keys."""
    at = dict(zip(KEYS, labels, strict=True))
    single, pairs = (
        sum(
            odds_by_hand(rows, names, tuple(at[name] for name in names), record, other)
            for names in combinations(KEYS, size)
            for other in OTHERS
        )
        for size in (1, 2)
    )
    return single, pairs / (len(KEYS) - 1)


def test_fits_and_costs_are_learned_from_the_other_records_or_the_released_file() -> None:
    """As if the file with the keys that records show had been read."""
    rows = made()
    fit, cells, records = fit_of(rows), np.array([0, 5, 11]), np.array([0, 1, 40, 77, 119])
    order = row_order(fit, rows)
    expected = [[by_hand(rows, fit.table.label(int(cell)), order[record]) for record in records] for cell in cells]
    np.testing.assert_allclose(fit.fits(cells, records), np.moveaxis(expected, 2, 0), atol=1e-9)
    every, each = np.repeat(cells, len(records)), np.tile(records, len(cells))
    odds, ways = fit.odds_of_pairs(every, each), fit.fits(cells, records).reshape(2, -1)
    np.testing.assert_allclose(fit.labels.ways @ odds.by_labels[:6], ways, atol=1e-9)
    np.testing.assert_allclose(odds.by_column.sum(axis=0), ways[-1], atol=1e-9)
    whole = [
        sum(odds_by_hand(rows, KEYS, fit.table.label(int(c)), order[r], one) for one in OTHERS)
        for c in cells
        for r in records
    ]
    assert fit.labels.keys[6:] == ((0, 1, 2),)
    np.testing.assert_allclose(odds.by_labels[6], whole, atol=1e-9)
    rows = made()
    fit, cells = fit_of(rows), np.array([2, 7, 9])
    costs = fit.exchange_costs(cells)
    for i, j in combinations(range(3), 2):
        own, other = (np.array([fit.records_of(cells[[k]])]).ravel() for k in (i, j))
        fits = [fit.fits(cells[[i, j]], each).mean(axis=2) for each in (own, other)]
        lost = (fits[0][:, 0] - fits[0][:, 1]) + (fits[1][:, 1] - fits[1][:, 0])
        assert costs[i, j] / 1e6 == pytest.approx(np.abs(lost).mean(), abs=1e-6) and costs[i, j] == costs[j, i]
    rows = made()
    fit, order = fit_of(rows), row_order(fit_of(rows), rows)
    random = np.random.default_rng(1)
    records = random.permutation(len(order))[:50]
    cells = random.permutation(fit.cells)[:50]
    again = {name: [*column] for name, column in rows.items()}
    for record, cell in zip(records.tolist(), cells.tolist(), strict=True):
        for name, label in zip(KEYS, fit.table.label(int(cell)), strict=True):
            again[name][order[record]] = label
    found = fit.labels.ways @ fit.shown(records, cells).odds_of_pairs(np.arange(3), records[:3]).by_labels[:6]
    expected = [by_hand(again, fit.table.label(i), order[record]) for i, record in enumerate(records[:3].tolist())]
    np.testing.assert_allclose(found.T, expected, atol=1e-9)
    np.testing.assert_array_equal(fit.cells, fit_of(rows).cells)  # the first one is as it was


def test_pairs_of_many_labels_and_records_of_long_files_are_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made()
    whole = fit_of(rows)
    sizes, triple = sorted(whole.labels.sizes[3:6]), whole.labels.sizes[6]
    monkeypatch.setattr(column_fit, "MOST_OF_PAIRS", sizes[0] * column_fit.VALUES * len(OTHERS))
    fit = fit_of(rows)
    assert fit.labels.sizes[3:] == (sizes[0], triple)
    np.testing.assert_allclose(fit.labels.ways @ np.ones(4), [3, 2.5])  # a pair in place of two halves
    monkeypatch.setattr(column_fit, "MOST_OF_PAIRS", 0)
    monkeypatch.setattr(column_fit, "MOST_OF_TRIPLES", 0)
    assert fit_of(rows).labels.keys == ((0,), (1,), (2,))
    assert fit_of(rows).labels.ways.tolist() == [[1.0, 1.0, 1.0]]
    rows = made()
    monkeypatch.setattr(column_fit, "MOST_KEPT", 10)
    monkeypatch.setattr(column_fit, "LEARNED", 40)
    fit = fit_of(rows)
    few = fit.table.counts < 5
    np.testing.assert_array_equal(fit.kept, np.where(few, fit.table.counts, 0))
    assert int(fit.counts[0][0].sum()) == 40 and 0 < fit.counted.sum() < len(fit.counted)
    same = fit.shown(np.arange(len(fit.cells)), fit.cells[::-1].copy())
    assert all((counts >= 0).all() and counts.sum() == 40 for tables in same.counts for counts in tables)


@together("parts", [2, 7, 60])
def test_how_a_table_is_cut_into_batches_makes_no_difference(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of numbers, codes of texts and the rows that are counted are those of whole batches."""
    monkeypatch.setattr(column_fit, "TOGETHER", 90)
    monkeypatch.setattr(column_fit, "LEARNED", 60)
    rows = made()
    random = np.random.default_rng(3)
    rows |= {"z": random.permutation(120).tolist(), "t": [f"t{i}" for i in random.permutation(120).tolist()]}
    whole = pa.table(rows)
    bounds = np.linspace(0, whole.num_rows, parts + 1).astype(int).tolist()
    cut = pa.concat_tables([whole.slice(a, b - a) for a, b in pairwise(bounds)])
    table, others = count_tables(MemoryTable(cut), [KEYS])[0], [name for name in rows if name not in KEYS]
    found, expected = column_fit.read_column_fit(MemoryTable(cut), table, others, 5.0), fit_of(rows)
    assert len(cut["x"].chunks) == parts
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.fits(np.arange(5), np.arange(9)), expected.fits(np.arange(5), np.arange(9)))


def odd_columns(n: int) -> dict[str, pa.Array]:
    """Columns of every kind, with missing values."""
    days = pa.array([None if i % 7 == 0 else i for i in range(n)], pa.int32())
    return {
        "constant": pa.array(["same"] * n),
        "missing": pa.nulls(n),
        "nan": pa.array([float("nan") if i % 2 else float(i) for i in range(n)]),
        "all nan": pa.array([float("nan")] * n),
        "date": days.cast(pa.date32()),
        "time": days.cast(pa.time32("s")),
        "instant": days.cast(pa.int64()).cast(pa.timestamp("us", "UTC")),
        "duration": days.cast(pa.int64()).cast(pa.duration("s")),
        "decimal": days.cast(pa.decimal128(12, 2)),
        "logical": pa.array([None, True, False] * (n // 3)),
        "texts": pa.array([f"text {i}" for i in range(n)]),
        "coded": pa.array([None if i % 5 == 0 else f"{i}" for i in range(n)]).dictionary_encode(),
        "nested": pa.array([None if i % 4 == 0 else [i % 3, 1] for i in range(n)]),
        "records": pa.array([{"a": i % 3} for i in range(n)]),
        "bytes": pa.array([b"%d" % i for i in range(n)]),
        "infinite": pa.array([float("inf") if i % 3 else -float(i) for i in range(n)]),
        "large": pa.array([2**63 + i for i in range(n)], pa.uint64()),
    }


@together("name", [*odd_columns(3)])
def test_columns_of_every_kind_are_weighed(name: str) -> None:
    rows = made()
    records = MemoryTable(pa.table({**{key: rows[key] for key in KEYS}, name: odd_columns(120)[name]}))
    table = count_tables(records, [KEYS])[0]
    fit = column_fit.read_column_fit(records, table, [name], 5.0)
    assert len(fit.cells) == 120 and (fit.values < column_fit.VALUES).all()
    assert np.isfinite(fit.fits(np.arange(5), np.arange(120))).all()
    assert column_fit.read_column_fit(records, table, [], 5.0) is None

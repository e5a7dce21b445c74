"""Counting a file in the cells of several tables, against a dictionary."""

import math
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskwell.engines import cell_counts, column_codes
from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import Rows
from maskwell.errors import CountsError, MissingValueError, TooLargeError


def table_of(rows: list[tuple[str | None, str, int]]) -> pa.Table:
    a, b, w = zip(*rows, strict=True)
    return pa.table({"a": pa.array(a, pa.string()), "b": pa.array(b), "w": pa.array(w)})


def rows(n: int, seed: int = 5) -> list[tuple[str | None, str, int]]:
    draw = np.random.default_rng(seed)
    a = [None if x == 9 else str(x) for x in draw.integers(0, 12, n)]
    b = [f"b{x}" for x in draw.integers(0, 40, n)]
    return list(zip(a, b, draw.integers(1, 9, n).tolist(), strict=True))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("dense", [1 << 21, 4])
def test_cells_are_those_of_a_dictionary(tmp_path, ending, dense, monkeypatch) -> None:
    monkeypatch.setattr(cell_counts, "DENSE_CELLS", dense)
    monkeypatch.setattr(cell_counts, "KEPT_PIECES", 50)
    data = rows(3000)
    path = tmp_path / f"people.{ending}"
    if ending == "csv":
        path.write_text("a,b,w\n" + "".join(f"{a or ''},{b},{w}\n" for a, b, w in data))
    else:
        pq.write_table(table_of(data), path, row_group_size=700)
    joint, single = count_tables(str(path), [("a", "b"), ("b",)], weights="w")
    counts = Counter((a, b) for a, b, _ in data)
    assert dict(zip(joint.labels(), joint.counts.tolist(), strict=True)) == counts
    weights = {cell: sum(w for a, b, w in data if (a, b) == cell) for cell in counts}
    squares = {cell: sum(w * w for a, b, w in data if (a, b) == cell) for cell in counts}
    assert dict(zip(joint.labels(), joint.weights.tolist(), strict=True)) == pytest.approx(weights)
    assert dict(zip(joint.labels(), joint.squares.tolist(), strict=True)) == pytest.approx(squares)
    assert joint.project(["b"]).counts.tolist() == single.counts.tolist()


def test_a_table_of_very_many_cells_is_given_up_for_smaller_ones(tmp_path, monkeypatch) -> None:
    """What is counted in its place is right, also of the rows that came before."""
    for name, small in {"DENSE_CELLS": 4, "KEPT_PIECES": 50, "MOST_OPTIONAL": 100, "MERGED_CELLS": 8}.items():
        monkeypatch.setattr(cell_counts, name, small)
    data = rows(3000)
    path = tmp_path / "people.parquet"
    pq.write_table(table_of(data), path, row_group_size=200)
    asked = [("a",), ("a", "b"), ("a", "b", "w")]
    counted = count_tables(str(path), asked, instead={("a", "b", "w"): [("a", "w"), ("b", "w")]})
    assert [table.columns for table in counted] == [("a",), ("a", "b"), ("a", "w"), ("b", "w")]
    for table in counted:
        places = ["abw".index(name) for name in table.columns]
        expected = Counter(tuple(row[place] for place in places) for row in data)
        assert dict(zip(table.labels(), table.counts.tolist(), strict=True)) == expected
    whole = count_tables(str(path), asked, instead={("a", "b"): [("b",)]})
    assert [table.columns for table in whole] == [("a",), ("a", "b", "w"), ("b",)]


def test_many_labels_are_counted_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_counts, "MOST_LISTED", 20)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": pa.array(range(200)), "y": pa.array(["u", "v"] * 100)}), path)
    x, y = cell_counts.count_columns(Rows.of(path))
    assert (len(x), x.n, y.counts.tolist()) == (20, 200, [100, 100])
    monkeypatch.setattr(column_codes, "MOST_LEVELS", 50)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": pa.array(range(200))}), path)
    with pytest.raises(TooLargeError, match="'x' has more than 50 different values") as caught:
        count_tables(str(path), [("x",)])
    assert "classes" in caught.value.hint


@pytest.mark.parametrize(
    ("weights", "error"), [("-1", CountsError), ("", MissingValueError)], ids=["negative", "missing"]
)
def test_weights_that_cannot_be_any_are_refused(tmp_path: Path, weights: str, error: type[Exception]) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"x,w\na,1\nb,{weights}\n")
    with pytest.raises(error, match="data row 2"):
        count_tables(str(path), [("x",)], weights="w")


@pytest.mark.parametrize("weights", [None, "w"])
def test_tables_that_outgrow_each_other_are_counted_apart(tmp_path: Path, weights: str | None) -> None:
    """The first rows have one label each, so that all columns are counted as one table; the later ones have many."""
    draw, n = np.random.default_rng(3), 150_000
    columns = {f"c{i}": np.where(np.arange(n) < 140_000, 0, draw.integers(0, 5000, n)) for i in range(6)}
    pq.write_table(pa.table({**columns, "w": np.arange(n) % 3}), tmp_path / "grows.parquet", row_group_size=70_000)
    wanted = [("c0",), ("c1", "c2"), *((name,) for name in columns)]
    found = count_tables(str(tmp_path / "grows.parquet"), wanted, weights=weights)
    for name, table in zip(columns, found[2:], strict=True):
        values, counts = np.unique(columns[name], return_counts=True)
        assert ([label for (label,) in table.labels()], table.counts.tolist()) == (values.tolist(), counts.tolist())
        assert table.weights is None or table.weights[0] == (np.arange(n) % 3)[columns[name] == 0].sum()
    joint = Counter(zip(columns["c1"].tolist(), columns["c2"].tolist(), strict=True))
    assert dict(zip(found[1].labels(), found[1].counts.tolist(), strict=True)) == joint


def test_many_columns_need_no_room_and_too_many_combinations_are_refused(tmp_path, monkeypatch) -> None:
    names = [f"c{i}" for i in range(30)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["a"] * 30) + "\n")
    (table,) = count_tables(str(tmp_path / "wide.csv"), [names])
    assert table.counts.tolist() == [1]
    monkeypatch.setattr(cell_counts, "LARGEST_KEY", 100)
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(30)))
    with pytest.raises(TooLargeError, match="possible combinations"):
        count_tables(str(path), [("x", "y")])


def joined_one_by_one(tables: list[tuple[str, ...]], sizes: dict[str, int], most: int) -> list[tuple[str, ...]]:
    """Each table goes to the first one that holds it or has room for it."""
    larger: list[tuple[str, ...]] = []
    for table in sorted(tables, key=lambda columns: -len(columns)):
        for place, other in enumerate(larger):
            union = tuple(dict.fromkeys([*other, *table]))
            if len(union) == len(other) or math.prod(sizes[name] + 1 for name in union) <= most:
                larger[place] = union
                break
        else:
            larger.append(table)
    return larger


def test_tables_are_joined_as_one_by_one_into_few_possible_cells() -> None:
    random = Random(5)
    for _ in range(200):
        names = [f"c{i}" for i in range(random.randint(1, 12))]
        sizes = {name: random.choice([0, 1, 2, 3, 5, 10, 100, 10**6]) for name in names}
        tables = [tuple(random.sample(names, random.randint(1, min(4, len(names))))) for _ in range(15)]
        assert cell_counts.merged(tables, sizes) == joined_one_by_one(tables, sizes, cell_counts.MERGED_CELLS)
    names = [f"c{i}" for i in range(3000)]
    joined = cell_counts.merged([(name,) for name in names], dict.fromkeys(names, 3))
    assert sum(4 ** len(table) for table in joined) <= cell_counts.ALL_MERGED_CELLS
    assert sorted(name for table in joined for name in table) == sorted(names)

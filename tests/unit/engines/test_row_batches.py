"""Rows in random order: none lost, every order alike, memory bounded by buckets on disk."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest

from maskwell.core import SeededRandom
from maskwell.core.randomness import SECURE
from maskwell.engines import row_batches
from maskwell.engines.row_batches import ShuffledRows

pa = pytest.importorskip("pyarrow")
SCHEMA = pa.schema([("x", pa.int64()), ("y", pa.string())])


def shuffled(batches: list[list[int]], tmp_path: Path, random: object = SECURE) -> list[int]:
    n = sum(map(len, batches))
    rows = ShuffledRows(SCHEMA, n, 16, tmp_path, random)  # type: ignore[arg-type]
    for batch in batches:
        rows.write(pa.record_batch([pa.array(batch, pa.int64()), pa.array([f"t{x}" for x in batch])], schema=SCHEMA))
    out = [row for batch in rows.batches() for row in batch.to_pylist()]
    rows.close()
    assert all(row["y"] == f"t{row['x']}" for row in out)
    return [row["x"] for row in out]


@pytest.mark.parametrize("size", [1 << 26, 64], ids=["in memory", "in files"])
def test_every_row_comes_once(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_batches, "BUCKET_BYTES", size)
    found = shuffled([list(range(100)), list(range(100, 137)), []], tmp_path)
    assert sorted(found) == list(range(137))
    assert found != list(range(137))
    assert not list(tmp_path.iterdir()), "temporary files are gone"


@pytest.mark.parametrize(("size", "each"), [(1 << 26, 100), (16, 30)], ids=["in memory", "in files"])
def test_all_orders_are_equally_likely(tmp_path: Path, size: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chi-square over the 24 orders of four rows, each expected so often; the limit for a false alarm of 1e-6 at 23
    degrees is 72.2. Finds odds that are off by a fifth for every order, by a third in files.
    """
    monkeypatch.setattr(row_batches, "BUCKET_BYTES", size)
    random = SeededRandom(3)
    times = Counter(tuple(shuffled([[0, 1], [2, 3]], tmp_path, random)) for _ in range(24 * each))
    assert set(times) == set(permutations(range(4)))
    assert sum((n - each) ** 2 / each for n in times.values()) < 72.2


def test_dictionaries_that_change_from_batch_to_batch_wait_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row groups of a Parquet file have dictionaries of their own."""
    monkeypatch.setattr(row_batches, "BUCKET_BYTES", 1 << 10)
    schema = pa.schema([("g", pa.dictionary(pa.int32(), pa.string())), ("v", pa.int64())])
    rows = ShuffledRows(schema, 1000, 20, tmp_path, SECURE)
    for b in range(10):
        labels = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50, pa.int32()), pa.array([f"{b}a", f"{b}b"]))
        rows.write(pa.record_batch([labels, pa.array(range(100 * b, 100 * b + 100))], schema=schema))
    found = [row for batch in rows.batches() for row in batch.to_pylist()]
    rows.close()
    assert sorted(row["v"] for row in found) == list(range(1000))
    assert all(row["g"] == f"{row['v'] // 100}{'ab'[row['v'] % 2]}" for row in found)


def test_long_texts_go_to_files_though_they_were_not_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_batches, "BUCKET_BYTES", 1 << 16)
    rows = ShuffledRows(SCHEMA, 1000, 16, tmp_path, SECURE)
    rows.write(pa.record_batch([pa.array(range(1000)), pa.array(["long " * 200] * 1000)], schema=SCHEMA))
    assert sum(file.tell() for file, _ in rows._files.values()) > 10**6, "a million bytes do not wait in memory"
    assert not list(tmp_path.iterdir()), "nor in a file with a name, which a kill would leave"
    assert sorted(x for batch in rows.batches() for x in batch.column(0).to_pylist()) == list(range(1000))
    rows.close()

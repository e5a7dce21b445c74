"""Rows in random order: none lost, every order alike, memory bounded by buckets on disk; and a writer in a thread."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from threading import Event, Timer, get_ident
from threading import enumerate as enumerate_threads
from typing import Any

import numpy as np
import pytest

from maskwell.core import SeededRandom
from maskwell.core.randomness import SECURE
from maskwell.engines import row_batches
from maskwell.engines.row_batches import ShuffledRows, in_background

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
    assert sorted(found) == list(range(137)) and found != list(range(137))
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


def test_dictionaries_that_change_from_batch_to_batch_wait_in_files(tmp_path, monkeypatch) -> None:
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


class Recording:
    """A sink that writes down what comes, waits where it is told to, and fails at one of its batches."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.may_go, self.began, self.seen, self.fails_at = Event(), Event(), list[int](), fails_at
        self.threads = set[int]()

    def write(self, batch: Any) -> None:
        self.began.set()
        assert self.may_go.wait(60)
        self.threads.add(get_ident())
        number = batch.column(0)[0].as_py()
        if number == self.fails_at:
            raise OSError("no room")
        self.seen.append(number)


def batch_of(number: int, rows: int = 1) -> Any:
    return pa.record_batch([pa.array(np.full(rows, number))], ["x"])


def writers() -> list[str]:
    return [thread.name for thread in enumerate_threads() if thread.name.startswith("maskwell-writer")]


def test_batches_of_a_whole_group_may_wait_while_the_group_before_is_written() -> None:
    """Sixteen batches of 2^20 rows: with room for two only, whoever draws rows would stand still meanwhile."""
    sink = Recording()
    with in_background(sink) as behind:
        for number in range(16):
            behind.write(batch_of(number, row_batches.WAITING_BYTES // 8 // 16 - 1))  # bytes of all: just enough
        assert sink.seen == []
        sink.may_go.set()
    assert sink.seen == [*range(16)]


def test_what_waits_is_bounded_in_bytes() -> None:
    """The third of three batches that have more than all the bytes has to wait until the first is written."""
    sink = Recording()
    with in_background(sink) as behind, ThreadPoolExecutor(1) as pool:
        large = [batch_of(number, row_batches.WAITING_BYTES // 8) for number in range(3)]
        behind.write(large[0])
        behind.write(large[1])
        third = pool.submit(behind.write, large[2])
        with pytest.raises(TimeoutError):
            third.result(0.2)
        sink.may_go.set()
        third.result(60)
    assert sink.seen == [0, 1, 2]


def test_an_error_in_the_thread_is_raised_once_and_nothing_is_written_after_it() -> None:
    sink = Recording(fails_at=1)
    with pytest.raises(OSError, match="no room"), in_background(sink) as behind:  # noqa: PT012
        for number in range(100):
            behind.write(batch_of(number))
        sink.may_go.set()
    assert sink.seen == [0] and not writers()


def test_what_waits_is_not_written_when_the_rows_end_with_an_error() -> None:
    sink = Recording()

    def end_early() -> None:
        with in_background(sink) as behind:
            for number in range(5):
                behind.write(batch_of(number))
            assert sink.began.wait(60)
            Timer(0.1, sink.may_go.set).start()
            raise KeyError("row")

    with pytest.raises(KeyError, match="row"):
        end_early()
    assert sink.seen == [0], "the one that was being written"
    assert not writers()

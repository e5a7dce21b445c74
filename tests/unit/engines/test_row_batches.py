"""Rows in random order and a writer in a thread; kinds of files, atomic writing, reports as arrays, columns as code."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from itertools import permutations
from pathlib import Path
from threading import Event, Timer, get_ident
from threading import enumerate as enumerate_threads
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell import Categories, SeededRandom
from maskwell.core.atomic import atomic_file
from maskwell.core.randomness import SECURE
from maskwell.designs import Blocks, Subset, Uniform
from maskwell.engines import row_batches
from maskwell.engines.arrow_arrays import bits_from_array, masks_from_bits, texts_from_bits
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_randomizer import ColumnRandomizer, How
from maskwell.engines.randomized_data import randomize_file
from maskwell.engines.row_batches import ShuffledRows, in_background
from maskwell.engines.row_sources import ENGINES, ending_of, engine_of, open_sink, open_source
from maskwell.errors import DataFileError, ParameterError, ReportError

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


def test_changing_dictionaries_and_long_texts_wait_in_files(tmp_path, monkeypatch) -> None:
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


def test_what_waits_is_bounded_in_bytes_with_room_for_a_whole_group() -> None:
    """Sixteen batches of 2^20 rows: with room for two only, whoever draws rows would stand still meanwhile."""
    sink = Recording()
    with in_background(sink) as behind:
        for number in range(16):
            behind.write(batch_of(number, row_batches.WAITING_BYTES // 8 // 16 - 1))  # bytes of all: just enough
        assert sink.seen == []
        sink.may_go.set()
    assert sink.seen == [*range(16)]
    # The third of three batches that have more than all the bytes has to wait until the first is written.
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


def test_nothing_is_written_after_an_error_of_the_thread_or_of_the_rows() -> None:
    sink = Recording(fails_at=1)
    with pytest.raises(OSError, match="no room"), in_background(sink) as behind:  # noqa: PT012
        for number in range(100):
            behind.write(batch_of(number))
        sink.may_go.set()
    assert sink.seen == [0] and not writers()
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


ABC = Categories.of(["a", "b", "c"])
KARY = Uniform.from_gamma(3, ABC)


@pytest.mark.parametrize("name", ["a", "a.txt", "csv", "a.csv.zip", "a.parquet.gz", ""])
def test_an_ending_that_tells_nothing(name: str) -> None:
    with pytest.raises(DataFileError) as caught:
        ending_of(name)
    assert ".parquet" in caught.value.hint


@pytest.mark.parametrize("ending", [ending for ending in ENGINES if ending != ".sas7bdat"])  # which is read only
@pytest.mark.parametrize("rows", [0, 1, 70_000])
def test_rows_come_back(tmp_path: Path, ending: str, rows: int) -> None:
    if engine_of(f"a{ending}").holds_codes:
        pytest.importorskip("pyreadstat")
    path = str(tmp_path / f"t{ending}")
    numbers, gaps = [str(i) for i in range(rows)], [None if i % 2 else "x" for i in range(rows)]
    table = pa.table({"i": pa.array(numbers, pa.string()), "t": pa.array(gaps, pa.string())})
    with atomic_file(path) as file, open_sink(file, path, table.schema) as sink:
        for batch in table.to_batches(max_chunksize=1000):
            sink.write(batch)
    with open_source(path) as source:
        assert source.schema.names == ["i", "t"]
        batches = list(source.batches())
        assert rows == 0 or source.done() == pytest.approx(1)
    assert pa.Table.from_batches(batches, table.schema).equals(table)
    with open_source(path) as source:
        columns = [batch.schema.names for batch in source.batches([1])]
    assert all(names == ["t"] for names in columns)


def test_dictionaries_may_change_between_row_groups_and_a_folder_may_vanish(tmp_path: Path) -> None:
    path, schema = tmp_path / "d.parquet", pa.schema([("y", pa.dictionary(pa.int8(), pa.string()))])
    with pq.ParquetWriter(path, schema) as writer:
        for values in (["a", "b"], ["b", "c"], ["c", "a"]):
            writer.write_table(pa.table({"y": pa.array(values).cast(schema.field("y").type)}))
    for ending in (".arrow", ".parquet", ".csv"):
        done = randomize_file(str(path), str(tmp_path / f"o{ending}"), [Assignment.of("y", KARY)])
        assert done.rows == 6
    with pa.memory_map(str(tmp_path / "o.arrow")) as mapped:
        dictionary = pa.ipc.open_file(mapped).get_batch(0).column(0).dictionary
        assert dictionary.to_pylist() == ["a", "b", "c"], "the dictionary is the design's, whatever the truth was"
    folder = tmp_path / "f"
    folder.mkdir()
    with pytest.raises(DataFileError, match="cannot write"), atomic_file(str(folder / "o")) as file:  # noqa: PT012
        file.write(b"x")
        next(folder.iterdir()).unlink()
        folder.rmdir()


@given(st.integers(1, 40), st.integers(0, 30), st.integers(0, 5))
def test_bits_travel_as_masks_and_texts(k: int, n: int, skip: int) -> None:
    random = np.random.default_rng(k * 1000 + n)
    bits = np.packbits(random.integers(0, 2, (n, k), dtype=np.uint8), axis=1, bitorder="little")
    texts, masks = texts_from_bits(bits, k), masks_from_bits(bits)
    for column in (texts, masks, texts.cast(pa.large_string()), texts.dictionary_encode()):
        assert (bits_from_array(column.slice(skip), k) == bits[skip:]).all()


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["101", "1"]),
        pa.array(["10x"]),
        pa.array(["1012"]),
        pa.array([101]),
        pa.array([b"\x01\x00"], pa.binary(2)),
        pa.array([b"\x08"], pa.binary(1)),
    ],
)
def test_columns_that_are_no_sets_of_three(values: Any) -> None:
    with pytest.raises(ReportError):
        bits_from_array(values, 3)


def test_columns_of_one_design_and_batches_of_long_reports() -> None:
    assert Assignment.of("sex, drugs", KARY).columns == ("sex, drugs",)
    with pytest.raises(ParameterError, match="block design"):
        Assignment.of("y", Blocks.of({"north": KARY, "south": KARY}))
    design = Subset.from_gamma(3, Categories.numbered(10_000), size=10)
    schema = pa.schema([("y", pa.int64())])
    column = ColumnRandomizer(Assignment.of("y", design), schema, "f", SeededRandom(1), How(texts_only=True))
    assert column.rows_at_once * design.k < 5_000_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_no_missing_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(DataFileError, match="is a pipe or a device"), open_source(str(tmp_path / "pipe.csv")):
        pass
    with pytest.raises(DataFileError, match="does not exist"), open_source(str(tmp_path / "loop.csv")):
        pass


class _Asked:
    """A schema that counts how often its names are listed: Arrow makes a new list of all of them each time."""

    def __init__(self, schema: Any) -> None:
        self._schema, self.times = schema, 0

    @property
    def names(self) -> list[str]:
        self.times += 1
        return list(self._schema.names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schema, name)

    def __len__(self) -> int:
        return len(self._schema)

    def __iter__(self) -> Any:
        return iter(self._schema)


def _lists_of_names(path: Path, columns: int) -> int:
    table = pa.table({f"c{i}": ["a", "b", "a"] for i in range(columns)})
    with atomic_file(str(path), force=True) as file, open_sink(file, str(path), table.schema, style=None) as sink:
        sink.write(table.to_batches()[0])
    asked = 0
    for only in (None, range(0, columns, 2)):
        with ExitStack() as stack:
            source: Any
            if path.parent.name == "g=1":
                source = stack.enter_context(open_source(str(path.parent.parent / "*" / "*.csv")))
            else:
                source = engine_of(str(path)).open_source(str(path), path.suffix, coded={}, exact=False, copied=True)
                stack.enter_context(closing(source))
            source.schema = counted = _Asked(source.schema)
            assert sum(len(batch) for batch in source.batches(only)) == 3
        asked += counted.times
    return asked


@pytest.mark.parametrize("name", ["wide.csv", "wide.parquet", "wide.arrow", "g=1/wide.csv"])
def test_names_are_listed_as_often_for_many_columns_as_for_few(tmp_path: Path, name: str) -> None:
    """One list for each column made a pass over 10,000 columns of CSV take 7 seconds in place of 0.1."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    assert _lists_of_names(tmp_path / name, 60) == _lists_of_names(tmp_path / name, 6)

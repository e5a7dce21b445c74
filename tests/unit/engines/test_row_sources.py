"""Files: kinds, atomic writing, reports as Arrow arrays, columns as codes."""

import os
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskwell.core import Categories, SeededRandom
from maskwell.designs import Blocks, Subset, Uniform
from maskwell.errors import DataFileError, ParameterError, ReportError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from maskwell.core.atomic import atomic_file
from maskwell.engines.arrow_arrays import bits_from_array, masks_from_bits, texts_from_bits
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_randomizer import ColumnRandomizer, How
from maskwell.engines.randomized_data import randomize_file
from maskwell.engines.row_sources import ENGINES, ending_of, engine_of, open_sink, open_source

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


def test_dictionaries_that_change_between_row_groups(tmp_path: Path) -> None:
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


def test_a_link_is_followed_and_a_folder_may_vanish(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_file(str(tmp_path / "link"), force=True) as file:
        file.write(b"after")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text(encoding="utf-8") == "after"
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

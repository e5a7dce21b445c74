"""What binary files claim is checked before anything touches their rows."""

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import maskwell as mw
from maskwell import Categories
from maskwell.designs import Uniform
from maskwell.engines import arrow_arrays, arrow_checks
from maskwell.engines.arrow_arrays import describe, without_traces
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_tables import open_table
from maskwell.engines.randomized_data import randomize_file
from maskwell.engines.row_sources import open_source
from maskwell.engines.rows import MemoryRows, Rows
from maskwell.errors import DataFileError, MaskwellError, WrongTypeError

COIN = Uniform.from_gamma(3, Categories.of(["yes", "no"]))


def _stored(table: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def _refused(path: Path, *, output: str = "o.parquet") -> MaskwellError:
    """The error of every way to read the file; nothing is written."""
    with pytest.raises(MaskwellError) as caught, open_source(str(path)) as source:
        list(source.batches())
    with pytest.raises(MaskwellError):
        randomize_file(str(path), str(path.parent / output), [Assignment.of("y", COIN)])
    assert not (path.parent / output).exists() and len(caught.value.message) - len(str(path)) < 93 - 20
    return caught.value


def _int64(*values: int) -> bytes:
    return np.array(values, dtype=np.int64).tobytes()


def _int32(*values: int) -> bytes:
    return np.array(values, dtype=np.int32).tobytes()


TEXTS = pa.table({"y": ["yes", "no", "yes", "no"], "t": ["north", "south", "east", "west"]})
OFFSETS = _int32(0, 5, 10, 14, 18)
"""Where the texts of the second column begin."""


@pytest.mark.parametrize(
    "offsets", [(0, 5, 10, 14, 1 << 20), (0, 1 << 30, 10, 14, 18), (0, -(1 << 20), 10, 14, 18), (-4, 5, 10, 14, 18)]
)
def test_offsets_that_point_elsewhere(tmp_path: Path, offsets: tuple[int, ...]) -> None:
    """The reader of the second one copied a gigabyte of the process, or crashed."""
    path = tmp_path / "a.arrow"
    path.write_bytes(_stored(TEXTS).replace(OFFSETS, _int32(*offsets)))
    error = _refused(path)
    assert error.message == f"{path} is damaged: column 't' points outside its own data"
    assert "again" in error.hint


def _parquet(table: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, compression="none", use_dictionary=False, write_statistics=False, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("values", "old", "new"),
    [
        (pa.array([[1, 2], [3], [4]], pa.list_(pa.int32())), _int32(0, 2, 3, 4), _int32(0, 900, 3, 4)),
        (pa.array([{"t": "ab"}, {"t": "c"}, {"t": "d"}]), _int32(0, 2, 3, 4), _int32(0, 900, 3, 4)),
        (pa.array(["a text that is long enough"] * 3, pa.string_view()), _int32(26), _int32(1 << 30)),
        (pa.array([[1, 2], [3], [4]], pa.list_view(pa.int32())), _int32(2, 1, 1), _int32(2, 900, 1)),
        (
            pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["a", "b"])),
            _int32(1, 3),
            _int32(3, 1),
        ),
        (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), ["a", "b", "c"]), _int64(0, 1, 2), _int64(0, 1, 77)),
        (pa.array([1, 2, 3], pa.time32("s")), _int32(1, 2, 3), _int32(1, 1 << 30, 3)),
    ],
    ids=lambda value: str(value.type)[:12] if isinstance(value, pa.Array) else "",
)
def test_every_type_is_looked_at(tmp_path: Path, values: Any, old: bytes, new: bytes) -> None:
    data = _stored(pa.table({"y": ["yes", "no", "no"], "x": values}))
    assert old in data
    path = tmp_path / "a.arrow"
    path.write_bytes(data.replace(old, new))
    assert "is damaged: column 'x'" in _refused(path).message


@pytest.mark.parametrize("kind", [pa.null(), pa.binary(0), pa.struct([])])
def test_rows_that_no_file_could_hold(tmp_path: Path, kind: Any) -> None:
    """They take no bytes, so that a loop over them would not end for years."""
    rows = 1 << 50
    nothing = [pa.Array.from_buffers(kind, rows, [None] if kind != pa.binary(0) else [None, pa.py_buffer(b"")])]
    path = tmp_path / "a.arrow"
    path.write_bytes(_stored(pa.Table.from_arrays(nothing, ["y"]), allow_64bit=True))
    assert f"claims {rows:,} rows" in _refused(path).message


@pytest.mark.parametrize("ending", [".arrow", ".parquet"])
def test_a_file_that_unpacks_to_much_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(arrow_checks, "LARGE", 1 << 20)
    path, zeros = tmp_path / f"a{ending}", "0" * 30_000_000
    table = pa.table({"y": ["yes", "no"], "t": [zeros, zeros]})
    if ending == ".arrow":
        path.write_bytes(_stored(table, compression="zstd"))
    else:
        pq.write_table(table, path, compression="zstd", write_statistics=False)
    assert "unpacks to" in _refused(path).message


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    """Mapped into memory, it would end the process."""
    path = tmp_path / "a.arrow"
    table = pa.table({"y": ["yes", "no"] * 200_000})
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=50_000)
    path.write_bytes(out.getvalue())
    with open_source(str(path)) as source:
        batches = source.batches()
        first = next(batches)
        with path.open("r+b") as file:
            file.truncate(5000)
        assert first.column(0).to_pylist()[-1] == "no"
        with pytest.raises(DataFileError, match="cannot read"):
            list(batches)


def readers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("maskwell-reader")]


def test_rows_before_a_damaged_page_come_first(tmp_path: Path) -> None:
    """The next rows are read while those before are used; what is wrong with them is said when they are asked for."""
    path, rows = tmp_path / "a.parquet", 1 << 16
    table = pa.table({"y": ["yes"] * (2 * rows) + ["north"] * rows})
    path.write_bytes(_parquet(table, row_group_size=rows, write_page_checksum=True).replace(b"north", b"forth"))
    seen = []
    with open_source(str(path)) as source:
        with pytest.raises(DataFileError, match="cannot read"):
            seen.extend(len(batch) for batch in source.batches())
        assert seen == [rows, rows] and readers()
    assert not readers()


@pytest.mark.parametrize("late", [3, 5000, 69_999], ids=["at once", "later", "in the last row"])
@pytest.mark.parametrize("lost", [False, True], ids=["all there", "some missing"])
def test_dictionaries_hold_what_occurs_in_its_order(late: int, lost: bool) -> None:
    places = np.tile(np.array([2, 0], dtype=np.int16), 35_000)
    places[late] = 4
    missing = np.arange(len(places)) < 2 if lost else None
    array = pa.DictionaryArray.from_arrays(pa.array(places, mask=missing), pa.array(["a", "b", "c", "d", "e"]))
    found = arrow_arrays.first_used(array)
    assert found.type == array.type and found.to_pylist() == array.to_pylist()
    assert found.dictionary.to_pylist() == [*dict.fromkeys(value for value in array.to_pylist() if value is not None)]


@pytest.mark.parametrize("store", [_stored, lambda table: _parquet(table, store_schema=False)])
@pytest.mark.parametrize("name", ["flat", "nested"])
def test_names_that_are_not_utf8(tmp_path: Path, store: Callable[[Any], bytes], name: str) -> None:
    values = ["yes", "no"] if name == "flat" else [{"nested": 1}, {"nested": 2}]
    path = tmp_path / ("a.arrow" if store is _stored else "a.parquet")
    path.write_bytes(store(pa.table({"y": ["yes", "no"], "flat": values})).replace(name.encode(), b"\xff" * len(name)))
    assert "not UTF-8" in _refused(path).message


def test_texts_that_are_not_utf8_and_types_within_types(tmp_path: Path) -> None:
    for ending, data in ((".arrow", _stored(TEXTS)), (".parquet", _parquet(TEXTS))):
        path = tmp_path / f"a{ending}"
        path.write_bytes(data.replace(b"east", b"e\xff\xfet"))
        assert _refused(path).message == f"{path}: some texts of column 't' are not UTF-8"
    values = pa.array([1, 2])
    for _ in range(90):
        values = pa.StructArray.from_arrays([values], ["s"])
    path = tmp_path / "a.parquet"
    path.write_bytes(_parquet(pa.table({"y": ["yes", "no"], "s": values})))
    assert "levels deep" in _refused(path).message


@pytest.mark.parametrize(
    "note",
    [
        b"[" * 100_000,
        b'{"columns": [{"name": ["y"]}], "index_columns": 5}',
        b'{"columns": [{"name": {"a": 1}}], "index_columns": [["x"]]}',
        b"\xff\xfe",
        b'{"columns": [{"name": "\\ud800"}]}',
        b'{"columns": 5}',
    ],
)
def test_notes_that_are_not_what_they_should_be(note: bytes) -> None:
    schema = pa.schema([pa.field("y", pa.string(), metadata={b"maskwell": note})], metadata={b"pandas": note})
    assert without_traces(schema, ["y"], ["x"]).names == ["y"]
    assert describe(schema.field(0)) is None or note.startswith(b"{")


OUTSIDE = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(_int32(0, 900, 3, 5)), pa.py_buffer(b"yesno")])


@pytest.mark.parametrize(
    "column",
    [
        OUTSIDE,
        pa.chunked_array([OUTSIDE, OUTSIDE]),
        pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), ["yes"], safe=False),
        pa.DictionaryArray.from_arrays(pa.array([0, -1], pa.int8()), ["yes"], safe=False),
        pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), OUTSIDE, safe=False),
    ],
    ids=["texts", "chunks", "beyond", "negative", "values"],
)
def test_columns_made_by_a_caller(column: Any) -> None:
    with pytest.raises(WrongTypeError, match="points outside"):
        COIN.randomize(column)
    table = pa.table({"y": column})
    with pytest.raises(WrongTypeError, match="points outside"):
        MemoryRows(table)
    with open_table(Rows.of(table)) as opened, pytest.raises(WrongTypeError, match="points outside"):
        opened.columns(["y"])


def test_labels_that_a_dictionary_repeats_are_one(tmp_path: Path) -> None:
    """Reports and groups from memory, in chunks and from a file, and a predictor, against the same texts."""
    places = pa.array([0, 1, 2, 1, 0, 2, 0] * 20, pa.int8())
    repeated = pa.DictionaryArray.from_arrays(places, pa.array(["no", "yes", "no"]))
    plain = pa.table({"x": repeated.cast(pa.string()), "y": repeated.cast(pa.string())})
    whole = pa.table({"x": repeated, "y": repeated})
    chunked = pa.concat_tables([whole.slice(0, 50), whole.slice(50)])
    with pa.ipc.new_file(tmp_path / "a.arrow", whole.schema) as file:
        file.write_table(whole)
    design = mw.design("warner", p="0.8")

    def groups(table: Any) -> Any:
        return mw.estimate(table, {"x": design}, by="y").to_dict()

    for table in (whole, chunked, str(tmp_path / "a.arrow")):
        assert groups(table) == groups(plain), table
    fits = [mw.regress("x ~ y", table, {"x": design}).params for table in (whole, plain)]
    assert fits[0].equals(fits[1])

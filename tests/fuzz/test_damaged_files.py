"""Damaged Arrow, Parquet, SPSS, Stata and SAS files: no crash, and no byte in an output that is not in the file."""

import csv
import datetime as dt
import decimal
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from tests.support.fuzzing import check_ended, files_in, numbers, run_command

WORDS = ["yes", "no", "maybe", "a text that is too long to be kept within a view", "não"]
NOT_IN_PARQUET = {"run ends", "sparse union", "dense union", "interval", "list view"}
DAY = dt.date(2020, 1, 1)

NUMBERS = (0, 1, 2, 3, 7, 8, 127, 128, 255, (1 << 15) - 1, (1 << 16) - 1, 1 << 20, 1 << 30)
NUMBERS += ((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 60, (1 << 63) - 1, 1 << 63, (1 << 64) - 8)
"""What damaged lengths, offsets and counts become."""


def arrow_table(rng: random.Random, kind: str) -> pa.Table:
    """A column ``y`` of answers, and some others of any type that the kind of file holds."""
    rows = rng.choice([3, 20, 64, 200])
    makers = _columns(rng, rows)
    names = [name for name in makers if kind == ".arrow" or name not in NOT_IN_PARQUET]
    answers = pa.array([rng.choice(["yes", "no"]) for _ in range(rows)])
    others = {name: makers[name]() for name in rng.sample(names, rng.randrange(1, 5))}
    notes = {"pandas": '{"columns": [{"name": "t"}]}'} if rng.random() < 0.2 else None
    return pa.table({"y": answers, **others}, metadata=notes)


def _columns(rng: random.Random, rows: int) -> dict[str, Callable[[], Any]]:
    """How to make a column of each type."""

    def column(make: Callable[[], Any], kind: Any = None) -> Any:
        return pa.array([None if rng.random() < 0.15 else make() for _ in range(rows)], kind)

    def text() -> str:
        return rng.choice(WORDS)

    def few() -> int:
        return rng.randrange(5)

    def day() -> dt.date:
        return DAY + dt.timedelta(rng.randrange(400))

    def money() -> decimal.Decimal:
        return decimal.Decimal(rng.randrange(999)) / 100

    def some(make: Callable[[], Any]) -> Callable[[], list[Any]]:
        return lambda: [make() for _ in range(rng.randrange(3))]

    integers = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    codes = [i % 2 for i in range(rows)]
    parts = [pa.array(range(rows)), pa.array(["x"] * rows)]
    halves = pa.array([i // 2 for i in range(rows)], pa.int32())
    return {
        **{name: lambda name=name: column(few, getattr(pa, name)()) for name in integers},
        "text": lambda: column(text),
        "large text": lambda: column(text, pa.large_string()),
        "text view": lambda: column(text, pa.string_view()),
        "bytes view": lambda: column(lambda: text().encode(), pa.binary_view()),
        "dictionary": lambda: column(text).dictionary_encode(),
        "small dictionary": lambda: column(text).cast(pa.dictionary(pa.int8(), pa.string())),
        "dictionary of numbers": lambda: column(few).dictionary_encode(),
        "float16": lambda: column(lambda: np.float16(rng.random()), pa.float16()),
        "float32": lambda: column(rng.random, pa.float32()),
        "float64": lambda: column(rng.random),
        "truth": lambda: column(lambda: rng.random() < 0.5),
        "date": lambda: column(day),
        "date64": lambda: column(day, pa.date64()),
        "timestamp": lambda: column(day, pa.date32()).cast(pa.timestamp("us", tz="UTC")),
        "time": lambda: column(few, pa.time32("s")),
        "duration": lambda: column(few, pa.duration("s")),
        "decimal": lambda: column(money, pa.decimal128(5, 2)),
        "long decimal": lambda: column(money, pa.decimal256(50, 2)),
        "nothing": lambda: pa.nulls(rows),
        "list": lambda: column(some(text), pa.list_(pa.string())),
        "large list": lambda: column(some(few), pa.large_list(pa.int32())),
        "list view": lambda: column(some(few), pa.list_view(pa.int32())),
        "pairs": lambda: column(lambda: [1, 2], pa.list_(pa.int32(), 2)),
        "struct": lambda: column(lambda: {"a": few(), "b": text()}),
        "map": lambda: column(lambda: [(text(), few())], pa.map_(pa.string(), pa.int32())),
        "bytes": lambda: column(lambda: rng.randbytes(few())),
        "three bytes": lambda: column(lambda: rng.randbytes(3), pa.binary(3)),
        "run ends": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([1, rows], pa.int32()), pa.array(["a", "b"])),
        "sparse union": lambda: pa.UnionArray.from_sparse(pa.array(codes, pa.int8()), parts),
        "dense union": lambda: pa.UnionArray.from_dense(pa.array(codes, pa.int8()), halves, parts),
        "interval": lambda: column(lambda: (1, 2, 3), pa.month_day_nano_interval()),
        "list of dictionaries": lambda: pa.ListArray.from_arrays(
            pa.array(range(rows + 1), pa.int32()), column(text).dictionary_encode()
        ),
    }


def good_file(rng: random.Random, kind: str) -> bytes:
    """A good file, ``.arrow`` or ``.parquet``: of one or several batches, packed or not."""
    table, out = arrow_table(rng, kind), io.BytesIO()
    at_once = rng.choice([len(table), len(table) // 2 + 1])
    if kind == ".arrow":
        packing, streamed = rng.choice([None, None, "lz4", "zstd"]), rng.random() < 0.4
        options = ipc.IpcWriteOptions(compression=packing, emit_dictionary_deltas=True)
        with (ipc.new_stream if streamed else ipc.new_file)(out, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=at_once)
            if streamed and rng.random() < 0.5:
                writer.write_table(_with_more_words(table))
        return out.getvalue()
    try:
        pq.write_table(
            table,
            out,
            compression=rng.choice(["none", "none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
            row_group_size=at_once,
            use_dictionary=rng.random() < 0.6,
            data_page_version=rng.choice(["1.0", "2.0"]),
            data_page_size=rng.choice([64, 1 << 20]),
            write_statistics=rng.random() < 0.5,
            store_schema=rng.random() < 0.6,
            write_page_checksum=rng.random() < 0.2,
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return good_file(rng, kind)
    return out.getvalue()


def _with_more_words(table: pa.Table) -> pa.Table:
    """The table with a longer dictionary, of which a stream holds what is new."""
    if "dictionary" not in table.column_names:
        return table
    old = table["dictionary"].chunk(0)
    words = pa.array([*old.dictionary.to_pylist(), "new", "newer"])
    longer = pa.DictionaryArray.from_arrays(old.indices, words)
    return table.set_column(table.column_names.index("dictionary"), table.schema.field("dictionary"), longer)


def labelled_file(rng: random.Random, kind: str, folder: Path) -> bytes:
    """A good SPSS, Stata or SAS transport file; ``.zsav`` is SPSS, packed."""
    import pandas as pd
    import pyreadstat as prs

    rows, path = rng.choice([3, 30, 100]), folder / f"good{kind}"
    frame = pd.DataFrame(
        {
            "y": [float(rng.randrange(2)) for _ in range(rows)],
            "t": [rng.choice(["yes", "no", "", "longer text"]) for _ in range(rows)],
            "x": [rng.random() * rng.choice([1, 1e6]) for _ in range(rows)],
            "wide": ["z" * rng.choice([3, 150]) for _ in range(rows)],
        }
    )
    about: dict[str, Any] = {"column_labels": {"y": "Drugs?"}}
    if kind != ".xpt":
        about["variable_value_labels"] = {"y": {0.0: "no", 1.0: "yes"}}
    if kind == ".dta":
        prs.write_dta(frame, path, version=rng.choice([13, 14, 15]), **about)
    elif kind == ".xpt":
        prs.write_xport(frame, path, file_format_version=rng.choice([5, 8]), **about)
    else:
        packed = {"compress": True} if kind == ".zsav" else {"row_compress": rng.random() < 0.5}
        prs.write_sav(frame, path, missing_ranges={"y": [9]}, note="a note", **packed, **about)
    data = path.read_bytes()
    path.unlink()
    return data


def damage(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The bytes after some accidents: bits, words, cuts, repetitions, zeros, parts of another file."""
    damaged = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        if damaged:
            _struck(rng, damaged, _place(rng, len(damaged)), other)
    return bytes(damaged)


def _place(rng: random.Random, length: int) -> int:
    """Anywhere, or near the end, where both kinds of file describe themselves."""
    return rng.randrange(length) if rng.random() < 0.6 else length - 1 - rng.randrange(min(length, 800))


ACCIDENTS = ("flip", "flip", "flip", "overwrite", "overwrite", "shift", "cut", "repeat", "zero", "splice")


def _struck(rng: random.Random, data: bytearray, place: int, other: bytes) -> None:
    kind, size = rng.choice(ACCIDENTS), rng.choice([1, 2, 4, 8])
    at, start, stop = place - place % size, rng.randrange(len(data)), place + rng.choice([4, 8, 64, 512])
    if kind == "flip":
        data[place] ^= 1 << rng.randrange(8)
    elif kind in ("overwrite", "shift"):
        old = int.from_bytes(data[at : at + size], "little") + rng.choice([-1000, -8, -1, 1, 8, 64, 1000])
        number = rng.choice(NUMBERS) if kind == "overwrite" else old
        data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")[: len(data) - at]
    elif kind == "cut":
        del data[place if rng.random() < 0.5 else len(data) :]
    elif kind == "repeat":
        data[place:place] = data[start : start + rng.randrange(1, 64)]
    elif kind == "zero":
        data[place:stop] = bytes(min(len(data), stop) - place)
    else:
        begin = rng.randrange(len(other))
        data[place : place + 64] = other[begin : begin + 64]


DESIGN = "y=d.json"
OUTPUTS = ("o.csv", "o.parquet", "o.arrow")
WHOLE = 8
"""One case in so many lets the interpreter end as it always does; see ``run_command``."""


def _commands(rng: random.Random, path: str) -> list[str]:
    return rng.choice(
        [
            *(["randomize", path, "--design", DESIGN, "-o", output] for output in OUTPUTS),
            ["estimate", path, "--design", DESIGN],
            ["risk", path, "--keys", "y"],
        ]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("damaged")
    for name, categories in (("d.json", "yes,no"), ("numbers.json", "0,1")):
        words = ["design", "k-ary", "--categories", categories, "--gamma", "3", "-o", name]
        assert run_command(words, place).status == 0
    return place


@pytest.mark.parametrize("kind", [".arrow", ".parquet"])
def test_damaged_columns(folder: Path, kind: str) -> None:
    done = {0: 0, 1: 0, 2: 0}
    for number in numbers(16):
        rng = random.Random(f"{kind} {number}")
        path = folder / f"{number}{kind}"
        path.write_bytes(damage(rng, good_file(rng, kind), good_file(rng, kind)))
        ended = _run(_commands(rng, path.name), folder, quick=number % WHOLE != 0)
        done[ended] += 1
        for output in OUTPUTS:
            if (written := folder / output).exists():
                _check_same(path, written)
                written.unlink()
        path.unlink()
    assert min(done[0], done[2]) > 0, done  # some damage is in places that nobody reads


def _run(words: list[str], folder: Path, *, quick: bool) -> int:
    before = files_in(folder)
    ended = run_command(words, folder, quick=quick)
    check_ended(ended, folder, before)
    if ended.status == 2:
        first, second = ended.err.decode().splitlines()
        assert first.startswith("error: ") and second.startswith("hint: ") and max(len(first), len(second)) <= 107
    return ended.status


def _check_same(path: Path, output: Path) -> None:
    """What was copied is what a strict reader finds, and the reports are categories of the design."""
    true = _read(path)
    answers = true.column_names.index("y")  # others may have one name after an accident
    if output.suffix == ".csv":
        with output.open(encoding="utf-8", newline="") as file:
            _, *rows = csv.reader(file)
        columns = [*zip(*rows, strict=True)]
        for place, field in enumerate(true.schema):
            if field.type in (pa.string(), pa.large_string()) and place != answers:
                assert list(columns[place]) == [value or "" for value in true.column(place).to_pylist()], field.name
        reports = set(columns[answers])
    else:
        found = _read(output)
        reports = set(found.column(answers).to_pylist())
        for place in range(true.num_columns):
            if place != answers:
                _check_equal(true.column(place), found.column(place))
    assert reports <= {"yes", "no"}


def _check_equal(true: Any, found: Any) -> None:
    true, found = (_plain(one) for one in (true, found))
    if true.type != found.type:
        true = true.cast(found.type)
    if pa.types.is_dictionary(true.type):  # the same values may be in other places
        true, found = (one.cast(one.type.value_type) for one in (true, found))
    if pa.types.is_nested(true.type):
        assert repr(true.to_pylist()) == repr(found.to_pylist())
        return
    if pa.types.is_floating(true.type):  # NaN is not equal to itself
        whole = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[true.type.bit_width]
        true, found = (pa.concat_arrays([chunk.view(whole) for chunk in one.chunks]) for one in (true, found))
    assert true.equals(found)


def _plain(column: Any) -> Any:
    """The values one by one, where they are kept as runs: Arrow casts no runs."""
    return compute.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column


def _read(path: Path) -> Any:
    """A strict reading by Arrow alone."""
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        batches, schema = list(file.iter_batches()), file.schema_arrow
    else:
        with path.open("rb") as raw:
            data = pa.py_buffer(raw.read())
        try:
            reader = ipc.open_file(data)
            batches, schema = [reader.get_batch(i) for i in range(reader.num_record_batches)], reader.schema
        except pa.ArrowInvalid:
            reader = ipc.open_stream(data)
            batches, schema = list(reader), reader.schema
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, schema)


@pytest.mark.parametrize("kind", [".sav", ".zsav", ".dta", ".xpt"])
def test_damaged_labelled_files(folder: Path, kind: str) -> None:
    pytest.importorskip("pyreadstat")
    ending = ".sav" if kind == ".zsav" else kind
    for number in numbers(2):
        rng = random.Random(f"{kind} {number}")
        path = folder / f"{number}{ending}"
        path.write_bytes(damage(rng, *(labelled_file(rng, kind, folder) for _ in range(2))))
        output = rng.choice(["o.csv", "o.parquet", f"o{ending}"])
        randomize = ["randomize", path.name, "--design", "y=numbers.json", "--missing", "drop", "-o", output]
        _run(rng.choice([randomize, ["estimate", path.name, "--design", "y=numbers.json"]]), folder, quick=number != 0)
        (folder / output).unlink(missing_ok=True)
        path.unlink()


def test_damaged_workbooks(folder: Path) -> None:
    """Parts of an Excel file are damaged before they are packed again, since the archive detects all other damage."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    for number in numbers(8):
        rng, path = random.Random(f"workbook {number}"), folder / f"{number}.xlsx"
        with xlsxwriter.Workbook(str(path)) as book:
            sheet = book.add_worksheet()
            for row in range(rng.choice([2, 30])):
                sheet.write_row(
                    row, 0, [rng.choice(["y", "yes", "no"]) if row else "y", rng.random(), rng.choice(WORDS)]
                )
        with zipfile.ZipFile(path) as parts:
            held = {name: parts.read(name) for name in parts.namelist()}
        struck = rng.choice([*held, "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"])
        held[struck] = damage(rng, held[struck], rng.choice([*held.values()]))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
            for name, content in held.items():
                parts.writestr(name, content)
        output = rng.choice(["o.csv", "o.xlsx"])
        randomize = ["randomize", path.name, "--design", "y=d.json", "--missing", "drop", "-o", output]
        _run(rng.choice([randomize, ["estimate", path.name, "--design", "y=d.json"]]), folder, quick=number != 0)
        (folder / output).unlink(missing_ok=True)
        path.unlink()

"""Small data files of every shape, and ways to damage them; each made from a source of random numbers alone."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

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
            rng.choice(_ACCIDENTS)(rng, damaged, _place(rng, len(damaged)), other)
    return bytes(damaged)


def _place(rng: random.Random, length: int) -> int:
    """Anywhere, or near the end, where both kinds of file describe themselves."""
    return rng.randrange(length) if rng.random() < 0.6 else length - 1 - rng.randrange(min(length, 800))


def _flip(rng: random.Random, data: bytearray, place: int, _: bytes) -> None:
    data[place] ^= 1 << rng.randrange(8)


def _overwrite(rng: random.Random, data: bytearray, place: int, _: bytes) -> None:
    size = rng.choice([1, 2, 4, 8])
    _put(data, place, size, rng.choice(NUMBERS))


def _shift(rng: random.Random, data: bytearray, place: int, _: bytes) -> None:
    size = rng.choice([4, 8])
    start = place - place % size
    old = int.from_bytes(data[start : start + size], "little")
    _put(data, place, size, old + rng.choice([-1000, -8, -1, 1, 8, 64, 1000]))


def _put(data: bytearray, place: int, size: int, number: int) -> None:
    start = place - place % size
    data[start : start + size] = (number % (1 << 8 * size)).to_bytes(size, "little")[: len(data) - start]


def _cut(rng: random.Random, data: bytearray, place: int, _: bytes) -> None:
    if rng.random() < 0.5:
        del data[place:]


def _repeat(rng: random.Random, data: bytearray, place: int, _: bytes) -> None:
    start = rng.randrange(len(data))
    data[place:place] = data[start : start + rng.randrange(1, 64)]


def _zero(rng: random.Random, data: bytearray, place: int, _: bytes) -> None:
    stop = min(len(data), place + rng.choice([4, 8, 64, 512]))
    data[place:stop] = bytes(stop - place)


def _splice(rng: random.Random, data: bytearray, place: int, other: bytes) -> None:
    start = rng.randrange(len(other))
    data[place : place + 64] = other[start : start + 64]


_ACCIDENTS = (_flip, _flip, _flip, _overwrite, _overwrite, _shift, _cut, _repeat, _zero, _splice)

"""Blocks of whole records: what Arrow reads from them is what it reads from the file as a whole."""

import gzip
import io
import itertools
import random
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import nullcontext
from csv import reader
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv
from tests.support.fuzzing import numbers

from maskwell.engines import delimited, record_reader
from maskwell.engines.delimited import DelimitedSource
from maskwell.engines.record_reader import first_end, is_open, last_end
from maskwell.errors import DataFileError


def read(path: str | Path, ending: str = ".csv", only: list[int] | None = None) -> list[tuple[Any, ...]]:
    source = DelimitedSource(str(path), ending)
    try:
        return [row for batch in source.batches(only) for row in zip(*batch.to_pydict().values(), strict=True)]
    finally:
        source.close()


def made(number: int, signs: bytes = b'a"",\n\r\x00') -> bytes:
    draw = random.Random(number)
    return bytes(draw.choice(signs) for _ in range(draw.randrange(1, 40)))


def open_at_end(data: bytes) -> bool:
    """By the letter: a quote opens at the start of a field only, and two within one are one."""
    state = "start"
    for sign in data:
        if state == "quoted":
            state = "maybe" if sign == ord('"') else "quoted"
        elif sign == ord('"') and state in ("start", "maybe"):
            state = "quoted"
        else:
            state = "start" if sign in b",\r\n" else "plain"
    return state == "quoted"


@pytest.mark.parametrize("tail", [1, 3, 9, 1 << 9])
def test_records_end_where_no_quote_is_open(tail: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "_TAIL", tail)
    for number in numbers(400):
        data = made(number)
        ends = [i + 1 for i, sign in enumerate(data) if sign == ord("\n") and not open_at_end(data[:i])]
        assert first_end(data, b",") == (ends[0] if ends else 0), data
        assert last_end(data, b",") == (ends[-1] if ends else 0), data
        assert is_open(data, b",") == open_at_end(data), data


def whole(data: bytes, columns: Sequence[str] = ("0", "1")) -> list[tuple[Any, ...]]:
    """What Arrow makes of all rows at once."""
    table = csv.read_csv(
        pa.BufferReader(data),
        read_options=csv.ReadOptions(column_names=list(columns), use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(columns) > 1),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=True, null_values=[""],
            quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip
    return list(zip(*table.to_pydict().values(), strict=True))


PROPER = ["a", "", '""', '"x,y"', '"x\r\ny"', '"he said ""no"""', '"\n"', '""""', '"""\n"', "ü"]
FIELDS = [*PROPER, 'in"ch', '"a"b"c', '""a', 'a""b', '"""x"y']


@pytest.mark.parametrize(("size", "tail"), [(1, 1), (7, 2), (64, 5), (64, 20), (1 << 20, 1 << 9)])
def test_the_size_of_blocks_changes_nothing(size, tail, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", size)
    monkeypatch.setattr(record_reader, "_TAIL", tail)
    path = tmp_path / "a.csv"
    for number in numbers(30):
        draw = random.Random(number)
        fields = [draw.choice(PROPER if number % 2 else FIELDS) for _ in range(40)]
        body = "".join(f"{a},{b}\n" for a, b in zip(fields[::2], fields[1::2], strict=True)).encode()
        path.write_bytes(b"first,second\n" + body)
        rows = read(path)
        assert rows == whole(body), body
        if number % 2:
            by_python = reader(io.StringIO(body.decode(), newline=""), strict=True)
            assert [[a or "", b or ""] for a, b in rows] == list(by_python), body


@pytest.mark.parametrize("size", [1, 9, 1 << 20])
def test_a_mark_of_byte_order_within_the_rows_is_part_of_a_value(size, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", size)
    path = tmp_path / "a.csv"
    path.write_text("\ufefffirst,second\n\ufeff,a\n\ufeffb,\ufeff\nc,d\n\ufeff\ufeff,e\n\ufeff", encoding="utf-8")
    with pytest.raises(DataFileError, match="data row 5 has 1 fields"):
        read(path)
    path.write_text(path.read_text(encoding="utf-8").removesuffix("\n\ufeff"), encoding="utf-8")
    assert read(path) == [("\ufeff", "a"), ("\ufeffb", "\ufeff"), ("c", "d"), ("\ufeff\ufeff", "e")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n" + b"x" * 5000, "data row 2 is longer than"),
        (b'a,b\n1,2\n3,"' + b"x\n" * 5000, "data row 2 is longer than"),
        (b"x" * 5000, "the first line is longer than"),
        (b'"' + b"x\n" * 5000, "the first line is longer than"),
    ],
)
def test_a_row_without_an_end_is_refused(content, said, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(record_reader, "LONGEST_RECORD", 1 << 10)
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 8)
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataFileError, match=said):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2\n".encode("utf-16-le"), "it is not UTF-8; it may be UTF-16"),
        ("a,b\n1,2\n".encode("utf-32"), "it is not UTF-8; it may be UTF-16"),
        (b"a,\xc3\xa4\xc3\n1,2\n", "some bytes are not UTF-8"),
        (b"a,b\r1,2\r3,4\r", "the first line contains a carriage return"),
        (b'a,"b"c\n1,2\n', "the column names in the first line cannot be read"),
        (b"a," + b"b" * 200_000 + b"\n1,2\n", "the column names in the first line cannot be read"),
        (b"\xef\xbb\xbf\n1,2\n", "is empty"),
    ],
)
def test_headers_that_cannot_be_read(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataFileError, match=said):
        read(tmp_path / "a.csv")


def test_quotes_and_bytes_that_are_no_text_matter_where_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\n1,2\n3,"4\n5,6\n')
    with pytest.raises(DataFileError, match="a quote that begins in data row 2 is never closed"):
        read(path)
    path.write_bytes(b'a,"b\n1,2\n')
    with pytest.raises(DataFileError, match="a quote in the first line is never closed"):
        read(path)
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,\xc3\xa4\xc3\n")  # UTF-8 for the most part
    assert read(tmp_path / "a.csv", only=[0]) == [("1",)]
    with pytest.raises(DataFileError, match="UTF8"):
        read(tmp_path / "a.csv")


def test_blocks_that_are_parsed_at_once_come_in_order_and_rows_keep_their_numbers(tmp_path, monkeypatch) -> None:
    """Every other block takes longer to parse than the one behind it."""
    blocks, parsed = itertools.count(), delimited._parsed

    def parsed_late(block: memoryview, options: dict[str, Any]) -> Any:
        time.sleep(0.002 * (next(blocks) % 2))
        return parsed(block, options)

    monkeypatch.setattr(delimited, "_parsed", parsed_late)
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 64)
    rows = [(str(number), "x") for number in range(1000)]
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rows)
    for end, fault in {
        "": None,
        "1,2,3\n4\n": "data row 1001 has 3 fields",
        '\n\n1,"2\n3,4\n': "a quote that begins in data row 1,001 is",
    }.items():
        (tmp_path / "a.csv").write_text(text + end, encoding="utf-8")
        with nullcontext() if fault is None else pytest.raises(DataFileError, match=fault):
            assert read(tmp_path / "a.csv") == rows
    assert next(blocks) > 60


def test_no_block_is_parsed_in_the_main_thread_where_arrow_may_lose_a_signal(tmp_path, monkeypatch) -> None:
    threads, parsed = list[threading.Thread](), delimited._parsed

    def parsed_there(block: memoryview, options: dict[str, Any]) -> Any:
        threads.append(threading.current_thread())
        return parsed(block, options)

    monkeypatch.setattr(delimited, "_parsed", parsed_there)
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 64)
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 100, encoding="utf-8")
    assert read(tmp_path / "a.csv") == [("1", "2")] * 100 and len(threads) > 2
    assert threading.main_thread() not in threads


def test_standard_input_is_read_in_what_arrives_and_closing_does_not_wait_for_it(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n3,4\n")))
    assert read("-") == [("1", "2"), ("3", "4")]
    import os

    end, start = os.pipe()
    with os.fdopen(end, "rb") as file, os.fdopen(start, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        pipe.write(b"a,b\n1,2\n3,4,5\n")
        with pytest.raises(DataFileError, match="data row 2 has 3 fields"):
            read("-")
        pipe.write(b"a,b\n1,2\n")
        source = DelimitedSource("-", ".csv")
        assert next(source.batches()).to_pydict() == {"a": ["1"], "b": ["2"]}
        source.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("maskwell-reader")]


@pytest.mark.parametrize("stdin", [None, io.StringIO("a,b\n")])
def test_without_standard_input(stdin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(DataFileError, match="standard input is closed"):
        read("-")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-8] + bytes(4) + data[-4:],
        lambda data: data + b"more",
        lambda data: data[:100] + bytes(50) + data[150:],
    ],
)
def test_damaged_gzip(spoil: Any, tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i % 1009}\n" for i in range(20_000)).encode()
    (tmp_path / "a.csv.gz").write_bytes(spoil(gzip.compress(b"a,b\n" + rows, 1)))
    with pytest.raises(DataFileError, match="cannot read"):
        read(tmp_path / "a.csv.gz", ".csv.gz")


def test_gzip_members_are_one_file_and_a_zipped_row_without_an_end_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,") + gzip.compress(b"2\n3,4\n") + bytes(10))
    assert read(tmp_path / "a.csv.gz", ".csv.gz") == [("1", "2"), ("3", "4")]
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,b\n")
        for _ in range(64):
            file.write(bytes(1 << 20))
    with pytest.raises(DataFileError, match="data row 1 is longer than 16 MiB"):
        read(path, ".csv.gz")

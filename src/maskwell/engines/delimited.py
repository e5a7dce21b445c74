"""CSV and TSV, plain or gzipped: every column is read as text, so that nothing but the randomized columns can change.

An empty field is a missing value, an empty field in quotes an empty text, and both are written as they were read.
Quotes are written only where they are needed. The line ends of the input are kept.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from maskwell.engines.arrow import file_errors, require
from maskwell.engines.base import Coded
from maskwell.errors import DataFileError

TEXTS_ONLY = True
HOLDS_BYTES = False
BLOCK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Style:
    """What a CSV file keeps besides its rows."""

    newline: bytes = b"\n"


class DelimitedSource:
    """Rows of a CSV or TSV file, all as text."""

    def __init__(self, path: str, ending: str) -> None:
        arrow = require()
        self._path, self._ending, self._separator = path, ending, separator(ending)
        self._raw, self._file, self._size = _open(path, ending)
        self._reader: Any = None
        try:
            header = self._read_header()
            self.style = Style(b"\r\n" if header.endswith(b"\r\n") else b"\n")
            self.schema = arrow.schema([(name, arrow.string()) for name in self._parse_header(header)])
        except BaseException:
            self.close()
            raise

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches of about a megabyte of the file."""
        arrow, kept = require(), list(range(len(self.schema))) if only is None else sorted(only)
        schema = arrow.schema([self.schema.field(i) for i in kept])
        self._reader = self._open_reader([str(i) for i in kept])
        while self._reader is not None:
            with file_errors("read", self._path), self._row_errors():
                try:
                    batch = self._reader.read_next_batch()
                except StopIteration:
                    return
            yield arrow.RecordBatch.from_arrays(batch.columns, schema=schema)

    def done(self) -> float | None:
        """Share of the bytes read so far."""
        return min(1.0, self._raw.tell() / self._size) if self._size else None

    def close(self) -> None:
        """Give back the file; standard input stays open."""
        if self._reader is not None:
            self._reader.close()
        if self._path == "-":
            self._file.detach()
        else:
            self._file.close()
            self._raw.close()

    def _read_header(self) -> bytes:
        with file_errors("read", self._path):
            header = self._file.readline()
            while header.count(b'"') % 2 and (more := self._file.readline()):
                header += more
        if not header.removeprefix(_BOM).strip():
            raise DataFileError(
                f"{self._path} is empty", hint="give a file with column names in the first line and rows below"
            )
        return header

    def _parse_header(self, header: bytes) -> list[str]:
        with file_errors("read", self._path):
            text = header.removeprefix(_BOM).decode("utf-8")
            (names,) = csv.reader(io.StringIO(text, newline=""), delimiter=self._separator, strict=True)
        return names

    def _open_reader(self, kept: list[str]) -> Any:
        arrow, options = require(), require("pyarrow.csv")
        columns = [str(i) for i in range(len(self.schema))]  # numbers, because names may repeat
        with file_errors("read", self._path), self._row_errors():
            if not self._file.peek(1):
                return None
            return options.open_csv(
                self._file,
                read_options=options.ReadOptions(column_names=columns, block_size=BLOCK_BYTES),
                parse_options=options.ParseOptions(
                    delimiter=self._separator, newlines_in_values=True, ignore_empty_lines=len(columns) > 1
                ),
                convert_options=options.ConvertOptions(
                    include_columns=kept,
                    column_types=dict.fromkeys(columns, arrow.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )

    @contextmanager
    def _row_errors(self) -> Iterator[None]:
        """Say which row has too many or too few fields; Arrow would print the row itself."""
        try:
            yield
        except require().ArrowInvalid as error:
            found = _RAGGED.search(str(error))
            if found is None:
                raise
            fields, got = int(found.group(1)), int(found.group(2))
            where = _first_ragged(self._path, self._ending, fields)
            raise DataFileError(
                f"{self._path}: {where} has {got} fields, and the first line has {fields}",
                hint=f"put values that hold {_NAMES[self._separator]} or a line end in quotes",
                values=str(error),
                path=self._path,
            ) from None


_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")
_NAMES = {",": "a comma", "\t": "a tab"}


def _first_ragged(path: str, ending: str, fields: int) -> str:
    """The first row with another number of fields, counted from 1 below the column names, in words."""
    if path == "-":
        return "a row"  # standard input cannot be read again
    raw, file, _ = _open(path, ending)
    with raw, suppress(csv.Error), io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="") as text:
        rows = (row for row in csv.reader(text, delimiter=separator(ending)) if row)
        next(rows, None)
        for number, row in enumerate(rows, start=1):
            if len(row) != fields:
                return f"data row {number}"
    return "a row"


class DelimitedSink:
    """Writes rows as CSV or TSV."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, style: Style) -> None:
        # No name and no time in it, so that equal rows make equal files; level 1, because level 9 is ten times slower.
        self._zipped = gzip.GzipFile("", "wb", 1, file, mtime=0) if ending.endswith(".gz") else None
        self._file: Any = self._zipped or file
        self._separator, self._newline = separator(ending), style.newline.decode()
        names = self._separator.join(map(self._quoted_name, schema.names))
        self._file.write(f"{names}{self._newline}".encode())

    def write(self, batch: Any) -> None:
        """Add rows."""
        if len(batch) == 0:
            return
        with file_errors("write", "the output"):
            columns = [_as_text(column) for column in batch.columns]
            lines = self._join(columns)
            if any(map(_has_empty, columns)) or not self._is_plain(lines, len(batch), len(columns)):
                lines = self._join([self._quoted(column) for column in columns])
        self._file.write(lines)

    def close(self) -> None:
        """Write what is left; the file itself stays open."""
        if self._zipped is not None:
            self._zipped.close()

    def abandon(self) -> None:
        """Give up: the file will be thrown away."""
        with suppress(Exception):
            self.close()

    def _join(self, columns: list[Any]) -> bytes:
        """Glue the columns together: the texts of an Arrow array lie one after the other, as in the file."""
        join = require("pyarrow.compute").binary_join_element_wise
        options = {"null_handling": "replace", "null_replacement": ""}
        last = join(columns[-1], "", self._newline, **options)
        lines = join(*columns[:-1], last, self._separator, **options)
        return bytes(lines.buffers()[2])

    def _is_plain(self, lines: bytes, rows: int, columns: int) -> bool:
        """Whether no value holds a separator, quote or line end: there are just as many as rows and columns need."""
        characters = np.frombuffer(lines, dtype=np.uint8)  # counts frequent characters five times faster than bytes do

        def times(character: str) -> int:
            return int(np.count_nonzero(characters == ord(character)))

        return (
            b'"' not in lines
            and times("\n") == rows
            and lines.count(b"\r") == (rows if self._newline == "\r\n" else 0)
            and times(self._separator) == rows * (columns - 1)
        )

    def _quoted_name(self, name: str) -> str:
        needed = any(character in name for character in (self._separator, '"', "\r", "\n"))
        return '"' + name.replace('"', '""') + '"' if needed else name

    def _quoted(self, column: Any) -> Any:
        compute = require("pyarrow.compute")
        doubled = compute.replace_substring(column, '"', '""')
        quoted = compute.binary_join_element_wise('"', doubled, '"', "")
        needed = compute.match_substring_regex(column, f'[{self._separator}"\r\n]|^$')
        return compute.if_else(needed, quoted, column)


def open_source(path: str, ending: str, *, coded: Coded, exact: bool) -> DelimitedSource:  # noqa: ARG001
    """Open a CSV or TSV file, or standard input (``-``), for reading; every column is text."""
    return DelimitedSource(path, ending)


def open_sink(file: BinaryIO, ending: str, schema: Any, *, style: Any) -> DelimitedSink:
    """Start a CSV or TSV file in the style of the source, if that was one."""
    return DelimitedSink(file, ending, schema, style if isinstance(style, Style) else Style())


def separator(ending: str) -> str:
    """What stands between two fields.

    >>> separator(".csv.gz")
    ','
    """
    return "\t" if ending.startswith(".tsv") else ","


def _open(path: str, ending: str) -> tuple[BinaryIO, io.BufferedReader, int | None]:
    """The file itself, the bytes in it after unzipping, and its size."""
    with file_errors("read", path):
        if path == "-":
            return sys.stdin.buffer, io.BufferedReader(cast(Any, sys.stdin.buffer), BLOCK_BYTES), None
        raw = Path(path).open("rb")  # noqa: SIM115 (closed by the source)
        size = Path(path).stat().st_size
        data: Any = gzip.GzipFile(fileobj=raw, mode="rb") if ending.endswith(".gz") else raw
        return raw, io.BufferedReader(data, BLOCK_BYTES), size


def _as_text(column: Any) -> Any:
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if column.type == arrow.string() else column.cast(arrow.string())


def _has_empty(column: Any) -> bool:
    compute = require("pyarrow.compute")
    return bool(compute.any(compute.equal(compute.binary_length(column), 0)).as_py())

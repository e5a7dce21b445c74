"""CSV and TSV, plain or gzipped: every column is read as text, so that nothing but the randomized columns can change.

An empty field is a missing value, an empty field in quotes an empty text, and both are written as they were read.
Quotes are written only where they are needed. The line ends of the input are kept.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from maskwell.engines.arrow import file_errors, require
from maskwell.engines.base import Coded
from maskwell.engines.records import LONGEST_RECORD, RecordReader
from maskwell.errors import DataFileError

TEXTS_ONLY = True
HOLDS_BYTES = False
_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


@dataclass(frozen=True)
class Style:
    """What a CSV file keeps besides its rows."""

    newline: bytes = b"\n"


class DelimitedSource:
    """Rows of a CSV or TSV file, all as text."""

    def __init__(self, path: str, ending: str) -> None:
        arrow = require()
        self._path, self._separator, self._rows = path, separator(ending), 0
        self._pool: ThreadPoolExecutor | None = None
        self._records = RecordReader(path, ending, self._separator)
        try:
            header = self._records.header()
            self.style = Style(b"\r\n" if header.endswith(b"\r\n") else b"\n")
            self.schema = arrow.schema([(name, arrow.string()) for name in self._parse_header(header)])
        except BaseException:
            self.close()
            raise

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches of about a megabyte of the file; the next is read while one is used."""
        arrow, kept = require(), list(range(len(self.schema))) if only is None else sorted(only)
        schema = arrow.schema([self.schema.field(i) for i in kept])
        options = self._options([str(i) for i in kept])
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="maskwell-reader")
        coming = self._pool.submit(self._next, options)
        while (columns := coming.result()) is not None:
            coming = self._pool.submit(self._next, options)
            yield arrow.RecordBatch.from_arrays(columns, schema=schema)

    def done(self) -> float | None:
        """Share of the bytes read so far."""
        return self._records.done()

    def close(self) -> None:
        """Give back the file; standard input stays open."""
        self._records.stop()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._records.close()

    def _parse_header(self, header: bytes) -> list[str]:
        text = header.removeprefix(_BOM)
        if not text.strip():
            raise DataFileError(
                f"{self._path} is empty", hint="give a file with column names in the first line and rows below"
            )
        if text.startswith(_OTHER_BOMS) or b"\0" in text:
            raise DataFileError(
                f"cannot read {self._path}: it is not UTF-8, perhaps UTF-16", hint="save the file as UTF-8"
            )
        with file_errors("read", self._path):
            rows = csv.reader(io.StringIO(text.decode("utf-8"), newline=""), delimiter=self._separator, strict=True)
            try:
                (names,) = rows
            except (csv.Error, ValueError):
                raise self._bad_header(text) from None
        return names

    def _bad_header(self, header: bytes) -> DataFileError:
        if b"\r" in header.removesuffix(b"\n").removesuffix(b"\r"):
            return DataFileError(
                f"{self._path}: the first line holds a carriage return",
                hint="save the file with Unix or Windows line ends, which have a line feed",
            )
        return DataFileError(
            f"{self._path}: the column names in the first line cannot be read",
            hint=f"put names that hold {_NAMES[self._separator]} in quotes, and double the quotes within them",
        )

    def _options(self, kept: list[str]) -> dict[str, Any]:
        arrow, options = require(), require("pyarrow.csv")
        columns = [str(i) for i in range(len(self.schema))]  # numbers, because names may repeat
        return {
            # Larger than any block of records, so that Arrow does not cut again.
            "read_options": options.ReadOptions(column_names=columns, block_size=4 * LONGEST_RECORD, use_threads=False),
            "parse_options": options.ParseOptions(
                delimiter=self._separator, newlines_in_values=True, ignore_empty_lines=len(columns) > 1
            ),
            "convert_options": options.ConvertOptions(
                include_columns=kept,
                column_types=dict.fromkeys(kept, arrow.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        }

    def _next(self, options: dict[str, Any]) -> list[Any] | None:
        """The columns of the next rows, None at the end."""
        arrow, read_csv = require(), require("pyarrow.csv").read_csv
        while block := self._records.block(self._rows):
            # Arrow takes a mark of byte order at the beginning away; this one belongs to a value.
            whole = _BOM + bytes(block) if block[: len(_BOM)] == _BOM else block
            with file_errors("read", self._path), self._row_errors():
                table = read_csv(arrow.BufferReader(whole), **options)
            self._rows += len(table)
            if len(table):
                return [column.combine_chunks() for column in table.columns]
        return None

    @contextmanager
    def _row_errors(self) -> Iterator[None]:
        """Say which row has too many or too few fields; Arrow would print the row itself."""
        try:
            yield
        except require().ArrowInvalid as error:
            found = _RAGGED.search(str(error))
            if found is None:
                raise
            row, fields, got = map(int, found.groups())
            raise DataFileError(
                f"{self._path}: data row {self._rows + row} has {got} fields, and the first line has {fields}",
                hint=f"put values that hold {_NAMES[self._separator]} or a line end in quotes",
                values=str(error),
                path=self._path,
            ) from None


_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_NAMES = {",": "a comma", "\t": "a tab"}


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


def _as_text(column: Any) -> Any:
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if column.type == arrow.string() else column.cast(arrow.string())


def _has_empty(column: Any) -> bool:
    compute = require("pyarrow.compute")
    return bool(compute.any(compute.equal(compute.binary_length(column), 0)).as_py())

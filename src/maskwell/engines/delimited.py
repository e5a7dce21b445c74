"""CSV and TSV, plain or compressed: every column is read as text, so that only the randomized columns can change.

An empty field is a missing value, an empty field in quotes an empty text. The bytes are cut here into blocks of whole
records for Arrow's parser: a thread of Arrow that read a Python file could still be at it while Python ends, which
aborts the process or leaves it hanging. One thread cuts, some parse, and rows come in the order of the file.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from maskwell.core.phrases import named_encoding
from maskwell.engines.arrow_arrays import file_errors, require
from maskwell.engines.input_file import POINT, SEPARATORS, UTF8, DecimalCommas, InputFile, TextForm
from maskwell.engines.record_reader import BOM, LONGEST_RECORD, TAB, BrokenRecordError, RecordReader, usual_separator
from maskwell.engines.row_sources import Engine
from maskwell.errors import DataFileError

_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
FEW_LABELS = 1 << 8  # labels of a column that comes as a dictionary however few its rows are
EVEN_BYTES = 1 << 18
LINES_AT_ONCE = 1 << 13  # eight times as many as Arrow makes at a time by default, which takes a third less time
PARSERS = 2  # blocks that are parsed at a time: parsing takes twice as long as writing, which is done in one thread


@dataclass(frozen=True)
class Style:
    """What a CSV file keeps besides its rows."""

    newline: bytes = b"\n"
    separator: str | None = None  # of a .csv file (None: a comma); in a .tsv file it is always a tab
    encoding: str = UTF8
    commas: Collection[str] = ()  # columns whose numbers have decimal commas; more of them may come while rows are read

    @property
    def form(self) -> TextForm:
        """The form in which all of it is written."""
        return TextForm(self.separator, self.encoding, "," if self.commas else None)


class DelimitedSource:
    """Rows of a CSV or TSV file, all as text; columns that hold categories come as dictionaries."""

    def __init__(
        self, path: str, ending: str, *, coded: Collection[str] = (), exact: bool = False, copied: bool = False
    ) -> None:
        arrow, form = require(), InputFile.of(path).form
        self._coded = coded
        self._path, self._rows = path, 0
        self._share: float | None = None
        self._threads: list[ThreadPoolExecutor] = []
        self._ahead: deque[_Coming] = deque()
        self._records = RecordReader(path, ending, form)
        try:
            header = self._records.header()
            self._separator = self._records.separator
            # Decimal commas are looked for where they are asked for, or do not stand between fields.
            looked_for = form.decimal != "." and (form.decimal is not None or self._separator != ",")
            self._commas = DecimalCommas(path, asked=form.decimal is not None) if looked_for else None
            self.style = Style(
                b"\r\n" if header.endswith(b"\r\n") else b"\n",
                None if usual_separator(ending) == TAB else self._separator,
                UTF8 if self._records.encoding == "utf-16" else self._records.encoding,
                () if self._commas is None else self._commas.columns,
            )
            self.schema = arrow.schema([(name, arrow.string()) for name in self._parse_header(header)])
        except BaseException:
            self.close()
            raise

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches of some megabytes of the file; the next are read while one is used."""
        arrow, kept = require(), list(range(len(self.schema))) if only is None else sorted(only)
        listed = self.schema.names  # a new list each time it is asked for
        names, places = [listed[i] for i in kept], [str(i) for i in kept]
        self._threads = [ThreadPoolExecutor(n, thread_name_prefix="maskwell-reader") for n in (1, PARSERS)]
        first = self._next(partial(self._parsed_first, self._options(dict.fromkeys(places, arrow.string()))))
        if first is None:
            return
        for place, column in enumerate(first):  # a dictionary, here and in all further rows, of few categories
            coded = column.dictionary_encode() if names[place] in self._coded else column
            if names[place] in self._coded and len(coded.dictionary) <= max(FEW_LABELS, len(column) // 4):
                first[place] = coded
        columns: list[Any] | None = first
        options = self._options({place: column.type for place, column in zip(places, first, strict=True)})
        self._read_ahead(options)
        while columns is not None:
            if self._commas is not None:
                columns = [self._commas.converted(*pair) for pair in zip(names, columns, strict=True)]
                self._commas.say()
            yield arrow.RecordBatch.from_arrays(columns, names)
            columns = self._next(partial(self._parsed_ahead, options))

    def done(self) -> float | None:
        """Share of the file up to the end of the rows at hand; what is read ahead does not count."""
        return self._share

    def close(self) -> None:
        """Give back the file; standard input stays open."""
        self._records.stop()
        for threads in self._threads:
            threads.shutdown(cancel_futures=True)
        self._records.close()

    def _parse_header(self, header: bytes) -> list[str]:
        text = header.removeprefix(BOM)
        if not text.strip():
            raise DataFileError("path-is-empty-give", path=self._path)
        if text.startswith(_OTHER_BOMS) or b"\0" in text:
            raise DataFileError(
                "cannot-read-it-is-not-utf", path=self._path, named_encoding=named_encoding("utf-16-le")
            )
        with file_errors("read", self._path):
            rows = csv.reader(io.StringIO(text.decode("utf-8"), newline=""), delimiter=self._separator, strict=True)
            try:
                (names,) = rows
            except (csv.Error, ValueError):
                if b"\r" in text.removesuffix(b"\n").removesuffix(b"\r"):
                    raise DataFileError("the-first-line-holds-a-carriage", path=self._path) from None
                named = SEPARATORS[self._separator]
                raise DataFileError("the-column-names-in-the-first", path=self._path, separators=named) from None
        return names

    def _options(self, types: dict[str, Any]) -> dict[str, Any]:
        options = require("pyarrow.csv")
        columns = [str(i) for i in range(len(self.schema))]  # numbers, because names may repeat
        return {
            # Larger than any block of records, so that Arrow does not cut again.
            "read_options": options.ReadOptions(column_names=columns, block_size=4 * LONGEST_RECORD, use_threads=False),
            "parse_options": options.ParseOptions(
                delimiter=self._separator, newlines_in_values=True, ignore_empty_lines=len(columns) > 1
            ),
            "convert_options": options.ConvertOptions(
                include_columns=[*types],
                column_types=types,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        }

    def _next(self, parsed: Callable[[], Any]) -> list[Any] | None:
        """The columns of the next rows, None at the end; ``parsed`` gives tables, and None behind the last."""
        while True:
            with file_errors("read", self._path), self._row_errors():
                table = parsed()
            if table is None:
                return None
            self._rows += len(table)
            if len(table):
                return [column.combine_chunks() for column in table.columns]

    def _parsed_first(self, options: dict[str, Any]) -> Any:
        """The first block. Only the first one is parsed before the types of the columns are known.

        Arrow's CSV reader takes over SIGINT and SIGTERM in the main thread and loses one that arrives as it ends, so
        that a command ran on after Ctrl-C. In a thread of ours it leaves signals alone.
        """
        block, self._share = self._records.block(), self._records.done()
        return self._threads[1].submit(_parsed, block, options).result() if block else None

    def _parsed_ahead(self, options: dict[str, Any]) -> Any:
        """The next of the blocks that are on their way; another one follows them."""
        coming = self._ahead.popleft()
        self._read_ahead(options)
        table, self._share = coming.result()
        return None if table is None else table.result()

    def _read_ahead(self, options: dict[str, Any]) -> None:
        """Have as many blocks on their way as can be parsed at a time."""
        cutter, parsers = self._threads

        def cut() -> tuple[Future[Any] | None, float | None]:
            block = self._records.block()
            return parsers.submit(_parsed, block, options) if block else None, self._records.done()

        while len(self._ahead) < PARSERS:
            self._ahead.append(cutter.submit(copy_context().run, cut))  # its errors speak as others do

    @contextmanager
    def _row_errors(self) -> Iterator[None]:
        """Say which row cannot be cut off or has too many or too few fields; Arrow would print the row itself."""
        try:
            yield
        except BrokenRecordError as error:
            raise self._records.fault(f"{error.before}data row {self._rows + 1:,}{error.behind}") from None
        except require().ArrowInvalid as error:
            ragged = _RAGGED.search(str(error))
            if ragged is None:
                raise
            row, fields, got = map(int, ragged.groups())
            told = {"separators": SEPARATORS[self._separator], "values": str(error), "path": self._path}
            raise DataFileError(
                "data-row-has-fields-and-the", rows_plus_row=self._rows + row, got=got, fields=fields, **told
            ) from None


_Coming: TypeAlias = Future[tuple[Future[Any] | None, float | None]]
"""A block that is being cut off, and then parsed, None behind the last; with the share of the file up to its end."""


def _parsed(block: memoryview, options: dict[str, Any]) -> Any:
    # Arrow takes a mark of byte order at the beginning away; this one belongs to a value.
    whole = BOM + bytes(block) if block[: len(BOM)] == BOM else block
    return require("pyarrow.csv").read_csv(require().BufferReader(whole), **options)


_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


class _DelimitedSink:
    """Writes rows as CSV or TSV."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any = None) -> None:
        style = style if isinstance(style, Style) else Style()
        self._file: Any = _compressed(file, ending)
        usual = usual_separator(ending)
        self._separator = usual if usual == TAB else style.separator or usual
        self._newline = style.newline.decode()
        self._encoding, self._commas = style.encoding, style.commas
        self._options = require("pyarrow.csv").WriteOptions(
            include_header=False, batch_size=LINES_AT_ONCE, delimiter=self._separator, quoting_style="none"
        )
        special = (self._separator, '"', "\r", "\n")
        doubled = {name: '"' + name.replace('"', '""') + '"' for name in schema.names}
        quoted = (doubled[name] if any(sign in name for sign in special) else name for name in schema.names)
        names = self._separator.join(quoted)
        self._file.write(self._encoded(f"{names}{self._newline}".encode()))

    def write(self, batch: Any) -> None:
        if len(batch) == 0:
            return
        compute = require("pyarrow.compute")
        with file_errors("write", "the output"):
            columns = batch.columns
            for place, name in enumerate(batch.schema.names):
                if name in self._commas:  # decimal commas, as they were when the column was read
                    columns[place] = compute.replace_substring_regex(_as_text(columns[place]), POINT, r"\1,\2")
            lines = self._plain_lines([*map(_plain_column, columns)])
            if lines is None:
                lines = self._join([self._quoted(_as_text(column)) for column in columns])
        self._file.write(self._encoded(lines))

    def _encoded(self, lines: Any) -> Any:
        """Bytes of the output for bytes of UTF-8."""
        if self._encoding == UTF8:
            return lines
        try:
            return bytes(lines).decode(UTF8).encode(self._encoding)
        except UnicodeEncodeError as error:
            raise DataFileError(
                "a-value-to-be-written", encoding=self._encoding, values=repr(error.object[error.start : error.end])
            ) from None

    def close(self) -> None:
        """Write what is left; the file itself stays open."""
        if isinstance(self._file, _EvenBytes):
            self._file.close()

    def abandon(self) -> None:
        if isinstance(self._file, _EvenBytes):
            with suppress(Exception):
                self._file.abandon()

    def _plain_lines(self, columns: list[Any]) -> Any:
        """The lines where no value needs quotes, None where one does, as an empty text."""
        length, is_dictionary = require("pyarrow.compute").binary_length, require().types.is_dictionary
        for column in columns:
            texts = column.dictionary if is_dictionary(column.type) else column
            if require("pyarrow.compute").min(length(texts)).as_py() == 0:
                return None
        if self._newline != "\n":
            columns = [*map(_as_text, columns)]
            lines = self._join(columns)
            return lines if self._is_plain(lines, len(columns[0]), len(columns)) else None
        arrow, options = require(), require("pyarrow.csv")
        batch = arrow.RecordBatch.from_arrays(columns, [str(i) for i in range(len(columns))])
        lines = arrow.BufferOutputStream()
        try:
            options.write_csv(batch, lines, self._options)
        except arrow.ArrowInvalid:  # the writer of Arrow refuses values that need quotes
            return None
        return lines.getvalue()

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

    def _quoted(self, column: Any) -> Any:
        compute = require("pyarrow.compute")
        doubled = compute.replace_substring(column, '"', '""')
        quoted = compute.binary_join_element_wise('"', doubled, '"', "")
        needed = compute.match_substring_regex(column, f'[{self._separator}"\r\n]|^$')
        return compute.if_else(needed, quoted, column)


def _compressed(file: BinaryIO, ending: str) -> Any:
    """Where the bytes of a file go; no name and no time is added, so that equal rows make equal files."""
    behind: Any = _Behind(file)
    if ending.endswith(".gz"):
        return _EvenBytes(gzip.GzipFile("", "wb", 1, behind, mtime=0), behind)  # level 9: ten times slower
    if ending.endswith(".bz2"):
        return _EvenBytes(bz2.BZ2File(behind, "wb"), behind)
    if ending.endswith(".zst"):
        return _EvenBytes(require().CompressedOutputStream(require().PythonFile(behind, "w"), "zstd"), behind)
    return file


class _Behind:
    """The file behind a compressor, which stays open; once it is given up, nothing more is written to it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file

    def write(self, data: Any) -> int:
        return len(data) if self._file is None else self._file.write(data)

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Leave it open."""

    def abandon(self) -> None:
        self._file = None


class _EvenBytes:
    """Hands bytes to a compressor in pieces of one length: its output must not reveal how they arrived."""

    def __init__(self, file: Any, behind: _Behind) -> None:
        self._file, self._behind, self._held = file, behind, bytearray()

    def write(self, data: Any) -> None:
        self._held += memoryview(data)
        whole = len(self._held) - len(self._held) % EVEN_BYTES
        for start in range(0, whole, EVEN_BYTES):
            self._file.write(bytes(self._held[start : start + EVEN_BYTES]))
        del self._held[:whole]

    def close(self) -> None:
        self._file.write(bytes(self._held))
        self._file.close()

    def abandon(self) -> None:
        self._behind.abandon()
        self._file.close()


def _as_text(column: Any) -> Any:
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if column.type == arrow.string() else column.cast(arrow.string())


def _plain_column(column: Any) -> Any:
    """Texts, or a dictionary of them; anything else becomes text."""
    arrow = require()
    is_coded = arrow.types.is_dictionary(column.type) and column.type.value_type == arrow.string()
    return column if is_coded and not column.dictionary.null_count else _as_text(column)


DELIMITED = Engine(DelimitedSource, _DelimitedSink, texts_only=True, shows_cuts=False, takes_dictionaries=True)

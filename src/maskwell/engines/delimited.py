"""CSV and TSV, plain or compressed: every column is read as text, so that only the randomized columns can change.

An empty field is a missing value, an empty field in quotes an empty text, and both are written as they were read.
Quotes are written only where they are needed. The line ends of the input are kept, and so are its separator, its
encoding and its decimal commas, which are points for all who use the rows.

The bytes are cut here into blocks of whole records, which are handed to Arrow's parser in memory. A thread of Arrow
that read a Python file by itself could still be at it while the file is closed or Python ends, which aborts the process
or leaves it hanging. One thread cuts, some parse (which takes longer than all the rest), and the rows come in the order
of the file.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import os
import re
import select
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np

from maskwell.core.documents import standard_input
from maskwell.core.phrases import named_encoding
from maskwell.engines.arrow_arrays import file_errors, require
from maskwell.engines.input_file import (
    POINT,
    SEPARATORS,
    UTF8,
    DecimalCommas,
    InputFile,
    TextForm,
    encoding_of,
    named_separator,
    say_form,
    separator_of,
)
from maskwell.engines.row_sources import Engine
from maskwell.errors import DataFileError

TAB = "\t"
_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


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
            self._commas = _decimal_commas(path, form, self._separator)
            self.style = Style(
                b"\r\n" if header.endswith(b"\r\n") else b"\n",
                None if separator(ending) == TAB else self._separator,
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
        columns: list[Any] | None = [self._as_read(*pair) for pair in zip(names, first, strict=True)]
        options = self._options({place: column.type for place, column in zip(places, columns or (), strict=True)})
        self._read_ahead(options)
        while columns is not None:
            yield arrow.RecordBatch.from_arrays(self._with_points(names, columns), names)
            columns = self._next(partial(self._parsed_ahead, options))

    def _with_points(self, names: Sequence[str], columns: list[Any]) -> list[Any]:
        """The columns with points in place of decimal commas."""
        if self._commas is None:
            return columns
        columns = [self._commas.converted(*pair) for pair in zip(names, columns, strict=True)]
        self._commas.say()
        return columns

    def _as_read(self, name: str, column: Any) -> Any:
        """A column of the first rows as all further rows will be read: a dictionary where it has few categories."""
        if name not in self._coded:
            return column
        coded = column.dictionary_encode()
        return coded if len(coded.dictionary) <= max(FEW_LABELS, len(column) // 4) else column

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
        text = header.removeprefix(_BOM)
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
                raise self._bad_header(text) from None
        return names

    def _bad_header(self, header: bytes) -> DataFileError:
        if b"\r" in header.removesuffix(b"\n").removesuffix(b"\r"):
            return DataFileError("the-first-line-holds-a-carriage", path=self._path)
        return DataFileError("the-column-names-in-the-first", path=self._path, separators=SEPARATORS[self._separator])

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
            raise DataFileError(
                "data-row-has-fields-and-the",
                rows_plus_row=self._rows + row,
                got=got,
                fields=fields,
                separators=SEPARATORS[self._separator],
                values=str(error),
                path=self._path,
            ) from None


_Coming: TypeAlias = Future[tuple[Future[Any] | None, float | None]]
"""A block that is being cut off, and then parsed, None behind the last; with the share of the file up to its end."""


def _parsed(block: memoryview, options: dict[str, Any]) -> Any:
    # Arrow takes a mark of byte order at the beginning away; this one belongs to a value.
    whole = _BOM + bytes(block) if block[: len(_BOM)] == _BOM else block
    return require("pyarrow.csv").read_csv(require().BufferReader(whole), **options)


_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def _decimal_commas(path: str, form: TextForm, separator: str) -> DecimalCommas | None:
    """Whether decimal commas are looked for: where they are asked for, or do not stand between fields."""
    if form.decimal == "." or (form.decimal is None and separator == ","):
        return None
    return DecimalCommas(path, asked=form.decimal is not None)


class DelimitedSink:
    """Writes rows as CSV or TSV."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any = None) -> None:
        style = style if isinstance(style, Style) else Style()
        self._file: Any = _compressed(file, ending)
        usual = separator(ending)
        self._separator = usual if usual == TAB else style.separator or usual
        self._newline = style.newline.decode()
        self._encoding, self._commas = style.encoding, style.commas
        self._options = require("pyarrow.csv").WriteOptions(
            include_header=False, batch_size=LINES_AT_ONCE, delimiter=self._separator, quoting_style="none"
        )
        names = self._separator.join(map(self._quoted_name, schema.names))
        self._file.write(self._encoded(f"{names}{self._newline}".encode()))

    def write(self, batch: Any) -> None:
        """Add rows."""
        if len(batch) == 0:
            return
        with file_errors("write", "the output"):
            columns = [self._with_commas(*pair) for pair in zip(batch.schema.names, batch.columns, strict=True)]
            lines = self._plain_lines([*map(_plain_column, columns)])
            if lines is None:
                lines = self._join([self._quoted(_as_text(column)) for column in columns])
        self._file.write(self._encoded(lines))

    def _with_commas(self, name: str, column: Any) -> Any:
        """A column with the decimal commas that it had when it was read."""
        if name not in self._commas:
            return column
        return require("pyarrow.compute").replace_substring_regex(_as_text(column), POINT, r"\1,\2")

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
        if isinstance(self._file, EvenBytes):
            self._file.close()

    def abandon(self) -> None:
        """Give up: the file will be thrown away."""
        if isinstance(self._file, EvenBytes):
            with suppress(Exception):
                self._file.abandon()

    def _plain_lines(self, columns: list[Any]) -> Any:
        """The lines where no value needs quotes, None where one does."""
        if any(map(_has_empty, columns)):
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

    def _quoted_name(self, name: str) -> str:
        needed = any(character in name for character in (self._separator, '"', "\r", "\n"))
        return '"' + name.replace('"', '""') + '"' if needed else name

    def _quoted(self, column: Any) -> Any:
        compute = require("pyarrow.compute")
        doubled = compute.replace_substring(column, '"', '""')
        quoted = compute.binary_join_element_wise('"', doubled, '"', "")
        needed = compute.match_substring_regex(column, f'[{self._separator}"\r\n]|^$')
        return compute.if_else(needed, quoted, column)


def _uncompressed(raw: BinaryIO, ending: str) -> Any:
    """The bytes of a file as they were before somebody compressed them."""
    if ending.endswith(".gz"):
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if ending.endswith(".bz2"):
        return bz2.BZ2File(raw, "rb")
    return require().CompressedInputStream(require().PythonFile(raw), "zstd") if ending.endswith(".zst") else raw


def _compressed(file: BinaryIO, ending: str) -> Any:
    """Where the bytes of a file go; no name and no time is added, so that equal rows make equal files."""
    behind = _Behind(file)
    if ending.endswith(".gz"):
        return EvenBytes(
            gzip.GzipFile("", "wb", 1, cast(BinaryIO, behind), mtime=0), behind
        )  # level 9: ten times slower
    if ending.endswith(".bz2"):
        return EvenBytes(bz2.BZ2File(cast(BinaryIO, behind), "wb"), behind)
    if ending.endswith(".zst"):
        return EvenBytes(require().CompressedOutputStream(require().PythonFile(behind, "w"), "zstd"), behind)
    return file


class _Behind:
    """The file behind a compressor, which stays open; once it is given up, nothing more is written to it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file

    def write(self, data: Any) -> int:
        """Add bytes."""
        return len(data) if self._file is None else self._file.write(data)

    def flush(self) -> None:
        """Hand on what waits."""

    def close(self) -> None:
        """Leave it open."""

    def abandon(self) -> None:
        """Take no more."""
        self._file = None


class EvenBytes:
    """Hands bytes to a compressor in pieces of one length: what it makes of them must not tell how they came."""

    def __init__(self, file: Any, behind: _Behind) -> None:
        self._file, self._behind, self._held = file, behind, bytearray()

    def write(self, data: Any) -> None:
        """Add bytes."""
        self._held += memoryview(data)
        whole = len(self._held) - len(self._held) % EVEN_BYTES
        for start in range(0, whole, EVEN_BYTES):
            self._file.write(bytes(self._held[start : start + EVEN_BYTES]))
        del self._held[:whole]

    def close(self) -> None:
        """Write what is left, and end the compressed data."""
        self._file.write(bytes(self._held))
        self._file.close()

    def abandon(self) -> None:
        """Give up: what the compressor still writes goes nowhere."""
        self._behind.abandon()
        self._file.close()


def separator(ending: str) -> str:
    """What stands between two fields."""
    return TAB if ending.startswith(".tsv") else ","


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


def _has_empty(column: Any) -> bool:
    compute = require("pyarrow.compute")
    if require().types.is_dictionary(column.type):
        column = column.dictionary
    return bool(compute.min(compute.binary_length(column)).as_py() == 0)


DELIMITED = Engine(DelimitedSource, DelimitedSink, texts_only=True, shows_cuts=False, takes_dictionaries=True)


# ---- bytes in blocks of whole records

FEW_LABELS = 1 << 8  # labels of a column that comes as a dictionary however few its rows are
EVEN_BYTES = 1 << 18
LINES_AT_ONCE = 1 << 13
"""Lines that Arrow makes at a time: eight times as many as by default, which takes a third less time."""

PARSERS = 2  # blocks that are parsed at a time: parsing takes twice as long as writing, which is done in one thread
BLOCK_BYTES = 1 << 22
LONGEST_RECORD = 1 << 24  # bytes that a row, or the column names, may take: memory stays bounded whatever a file holds
PAUSE = 0.05  # seconds without a byte on standard input after which the rows that are there are read
_QUOTES = re.compile(rb'""*')  # much faster than "+, which is not sought as a letter
_TAIL = 1 << 9  # bytes at the end of a block in which the end of its last record is sought first
_LONG = f" is longer than {LONGEST_RECORD >> 20} MiB"


class BrokenRecordError(Exception):
    """A record without an end: words before and behind its row, which only those who count rows can name."""

    def __init__(self, before: str, behind: str) -> None:
        super().__init__(before, behind)
        self.before, self.behind = before, behind


class RecordReader:
    """Reads whole records; may be stopped from another thread."""

    def __init__(self, path: str, ending: str, form: TextForm) -> None:
        self._path, self._form, self._usual = path, form, separator(ending)
        self.separator, self.encoding = form.separator or self._usual, form.encoding or UTF8
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held, self._ended, self._stopped, self._block = b"", False, Event(), BLOCK_BYTES
        self._raw: Any
        with file_errors("read", path):
            if path == "-":
                self._raw = self._file = standard_input()
                self._size, self._handle = 0, _handle_of(self._raw)
                return
            self._raw = Path(path).open("rb")  # noqa: SIM115 (closed below)
            self._size, self._handle = os.fstat(self._raw.fileno()).st_size, None
            self._file = _uncompressed(self._raw, ending)

    def header(self) -> bytes:
        """The first record, with its line end; how the text is written is found out from what comes with it."""
        self._begin()
        while not (end := first_end(self._held, self._separator)) and not self._ended:
            if self._is_long():
                raise self.fault(f"the first line{_LONG}")
            self._fill()
        end = end or len(self._held)
        header, self._held = self._held[:end], self._held[end:]
        if is_open(header, self._separator):
            raise self.fault("a quote in the first line is never closed")
        self._block = min(LONGEST_RECORD, max(BLOCK_BYTES, 64 * end))  # wide rows: many of them at once
        return header

    def _begin(self) -> None:
        """Find out the encoding and the separator, and say so where they are not the usual ones."""
        self._fill()
        while b"\n" not in self._held and not self._ended and len(self._held) <= LONGEST_RECORD:
            self._fill()  # standard input may pause within the first line
        self.encoding = self._form.encoding or encoding_of(self._held)
        if self.encoding != UTF8:
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
            self._held = self._in_utf8(self._held) + (self._in_utf8(b"") if self._ended else b"")
        named, self._held = named_separator(self._held.removeprefix(_BOM), self._path)
        if self._form.separator is None and self._usual == ",":
            self.separator = named or separator_of(self._held, self._path)
        self._separator = self.separator.encode()
        say_form(
            self._path,
            None if self._form.separator or self.separator in (self._usual, named) else self.separator,
            None if self._form.encoding or self.encoding == UTF8 else self.encoding,
        )

    def _in_utf8(self, read: bytes) -> bytes:
        if self._decoder is None:
            return read
        try:
            return self._decoder.decode(read, final=not read).encode()
        except UnicodeDecodeError:
            raise DataFileError(
                "cannot-read-some-bytes-are-not",
                encoding=self.encoding,
                named_encoding=named_encoding("windows-1252"),
                path=self._path,
            ) from None

    def block(self) -> memoryview:
        """The next records, empty at the end."""
        while not (end := last_end(self._held, self._separator)):
            if self._ended:
                return memoryview(self._last())
            if self._is_long():
                raise BrokenRecordError("", _LONG)
            self._fill()
        block, self._held = memoryview(self._held)[:end], self._held[end:]
        return block

    def done(self) -> float | None:
        """Share of the bytes read so far."""
        return min(1.0, self._raw.tell() / self._size) if self._size else None

    def stop(self) -> None:
        """Make another thread that waits for bytes give up."""
        self._stopped.set()

    def close(self) -> None:
        """Give back the file; standard input stays open."""
        if self._path != "-":
            self._file.close()
            self._raw.close()

    def fault(self, words: str) -> DataFileError:
        """The error for a record that cannot be cut off."""
        return DataFileError("path-words", words=words, path=self._path)

    def _last(self) -> bytes:
        """What follows the last line end."""
        last, self._held = self._held, b""
        if is_open(last, self._separator):
            raise BrokenRecordError("a quote that begins in ", " is never closed")
        return last

    def _is_long(self) -> bool:
        """Whether what is held is more than a record may take."""
        return len(self._held) > LONGEST_RECORD

    def _fill(self) -> None:
        """Hold more bytes: at least as many again, so that what is looked at twice stays in proportion."""
        size = min(max(self._block, len(self._held)), LONGEST_RECORD)
        with file_errors("read", self._path):
            read = self._file.read(size) if self._path != "-" else b"".join(self._from_standard_input(size))
        self._ended = not read
        read = self._in_utf8(read)
        self._held = self._held + read if self._held else read

    def _from_standard_input(self, size: int) -> Iterator[bytes]:
        """What arrives until there is enough, the end, or a pause."""
        while size > 0 and self._wait_for_bytes() and (read := self._file.read1(size)):
            size -= len(read)
            yield read
            if self._handle is not None and not _is_ready(self._handle):
                return

    def _wait_for_bytes(self) -> bool:
        while self._handle is not None and not self._stopped.is_set():
            if _is_ready(self._handle):
                return True
        return not self._stopped.is_set()


def _handle_of(file: Any) -> int | None:
    """What the operating system can be asked about; None where a read simply waits."""
    if os.name == "nt":
        return None
    try:
        return int(file.fileno())
    except OSError:
        return None


def _is_ready(handle: int) -> bool:
    return bool(select.select([handle], [], [], PAUSE)[0])


# ---- where records end
#
# As Arrow reads them: a quote opens only at the start of a field, and two quotes within a quoted field are one.


def first_end(data: bytes, separator: bytes) -> int:
    r"""Where the second record begins, 0 where the first has no end yet."""
    at = 0
    for start, stop in _quoted_parts(data, separator):
        if end := data.find(b"\n", at, start) + 1:
            return end
        at = stop
    return data.find(b"\n", at) + 1


def last_end(data: bytes, separator: bytes) -> int:
    r"""Where the last record ends that has an end, 0 without one."""
    last = data.rfind(b"\n")
    if last < 0 or b'"' not in data:
        return last + 1
    tail = _TAIL
    while start := data.rfind(b"\n", 0, max(0, len(data) - tail)) + 1:
        # Behind a line end, a record begins or a quoted field goes on: where both give the same end, it is right.
        end = _last_end_from(data, start, separator)
        if end and end == _last_end_from(data, _closing(data, start), separator):
            return end
        tail *= 16
    return _last_end_from(data, 0, separator)


def _last_end_from(data: bytes, at: int, separator: bytes) -> int:
    """Where the last record ends if no quoted field is open at a place; 0 where none ends behind that place."""
    end = 0
    for start, stop in _quoted_parts(data, separator, at):
        end = data.rfind(b"\n", at, start) + 1 or end
        at = stop
    return data.rfind(b"\n", at) + 1 or end


def is_open(data: bytes, separator: bytes) -> bool:
    """Whether a quoted field has no end."""
    return any(stop > len(data) for _, stop in _quoted_parts(data, separator))


def _quoted_parts(data: bytes, separator: bytes, at: int = 0) -> Iterator[tuple[int, int]]:
    """Where each quoted field starts and stops; one without an end stops beyond the data."""
    before = b"\r\n" + separator
    while (quotes := _QUOTES.search(data, at)) is not None:
        start, at = quotes.span()
        if start == 0 or data[start - 1] in before:
            at = _closing(data, start + 1)
            yield start, at


def _closing(data: bytes, at: int) -> int:
    """Behind the quote that closes a field: the last of an odd number of quotes in a row."""
    for quotes in _QUOTES.finditer(data, at):
        start, stop = quotes.span()
        if (stop - start) % 2:
            return stop
    return len(data) + 1

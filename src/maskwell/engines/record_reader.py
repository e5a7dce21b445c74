"""The bytes of a text file in blocks of whole records, in UTF-8; quotes open only fields, as for Arrow."""

from __future__ import annotations

import bz2
import codecs
import gzip
import os
import re
import select
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

from maskwell.core.documents import standard_input
from maskwell.core.phrases import named_encoding
from maskwell.engines.arrow_arrays import file_errors, require
from maskwell.engines.input_file import UTF8, TextForm, encoding_of, named_separator, say_form, separator_of
from maskwell.errors import DataFileError

TAB = "\t"
BOM = b"\xef\xbb\xbf"
BLOCK_BYTES = 1 << 22
LONGEST_RECORD = 1 << 24  # bytes that a row, or the column names, may take: memory stays bounded whatever a file holds
PAUSE = 0.05  # seconds without a byte on standard input after which the rows that are there are read
_QUOTES = re.compile(rb'""*')  # much faster than "+, which is not sought as a letter
_TAIL = 1 << 9  # bytes at the end of a block in which the end of its last record is sought first
_LONG = f" is longer than {LONGEST_RECORD >> 20} MiB"


def usual_separator(ending: str) -> str:
    """The field separator."""
    return TAB if ending.startswith(".tsv") else ","


class BrokenRecordError(Exception):
    """A record without an end: words before and behind its row, which only those who count rows can name."""

    def __init__(self, before: str, behind: str) -> None:
        super().__init__(before, behind)
        self.before, self.behind = before, behind


class RecordReader:
    """Reads whole records; may be stopped from another thread."""

    def __init__(self, path: str, ending: str, form: TextForm) -> None:
        self._path, self._form, self._usual = path, form, usual_separator(ending)
        self.separator, self.encoding = form.separator or self._usual, form.encoding or UTF8
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held, self._ended, self._stopped, self._block = b"", False, Event(), BLOCK_BYTES
        self._raw: Any
        self._file: Any
        self._handle: int | None = None  # what the operating system can be asked about
        with file_errors("read", path):
            if path == "-":
                self._raw = self._file = standard_input()
                self._size = 0
                with suppress(OSError):  # else a read simply waits, as on Windows
                    self._handle = None if os.name == "nt" else int(self._raw.fileno())
                return
            self._raw = Path(path).open("rb")  # noqa: SIM115 (closed below)
            self._size = os.fstat(self._raw.fileno()).st_size
            if ending.endswith(".gz"):
                self._file = gzip.GzipFile(fileobj=self._raw, mode="rb")
            elif ending.endswith(".bz2"):
                self._file = bz2.BZ2File(self._raw, "rb")
            elif ending.endswith(".zst"):
                self._file = require().CompressedInputStream(require().PythonFile(self._raw), "zstd")
            else:
                self._file = self._raw

    def header(self) -> bytes:
        """The first record, with its line end; how the text is written is detected from what comes with it."""
        self._begin()
        while not (end := first_end(self._held, self._separator)) and not self._ended:
            if len(self._held) > LONGEST_RECORD:
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
        named, self._held = named_separator(self._held.removeprefix(BOM), self._path)
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
                last, self._held = self._held, b""
                if is_open(last, self._separator):
                    raise BrokenRecordError("a quote that begins in ", " is never closed")
                return memoryview(last)
            if len(self._held) > LONGEST_RECORD:
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


def _is_ready(handle: int) -> bool:
    return bool(select.select([handle], [], [], PAUSE)[0])


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

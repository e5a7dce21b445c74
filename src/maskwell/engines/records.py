"""The bytes of a CSV or TSV file, plain or gzipped or on standard input, in blocks of whole records.

The blocks are cut here and handed to Arrow's parser one by one, in memory. A thread of Arrow that read a Python file by
itself could still be at it while the file is closed or Python ends, which aborts the process or leaves it hanging.
"""

from __future__ import annotations

import gzip
import os
import re
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

from maskwell.engines.arrow import file_errors
from maskwell.errors import DataFileError

BLOCK_BYTES = 1 << 20
LONGEST_RECORD = 1 << 24
"""Bytes that a row, or the column names, may take: memory stays bounded whatever a file holds."""

PAUSE = 0.05
"""Seconds without a byte on standard input after which the rows that are there are read."""

_QUOTES = re.compile(rb'""*')  # much faster than "+, which is not sought as a letter
_TAIL = 1 << 9
"""Bytes at the end of a block in which the end of its last record is sought first."""

CLOSE_QUOTES = "close every quote, and double the quotes within values"


class RecordReader:
    """Reads whole records; may be stopped from another thread."""

    def __init__(self, path: str, ending: str, separator: str) -> None:
        self._path, self._separator = path, separator.encode()
        self._held, self._ended, self._stopped, self._block = b"", False, Event(), BLOCK_BYTES
        self._raw: Any
        with file_errors("read", path):
            if path == "-":
                self._raw = self._file = _standard_input()
                self._size, self._handle = 0, _handle(self._raw)
                return
            self._raw = Path(path).open("rb")  # noqa: SIM115 (closed below)
            self._size, self._handle = os.fstat(self._raw.fileno()).st_size, None
            self._file = gzip.GzipFile(fileobj=self._raw, mode="rb") if ending.endswith(".gz") else self._raw

    def header(self) -> bytes:
        """The first record, with its line end."""
        while not (end := first_end(self._held, self._separator)) and not self._ended:
            self._check_length("the first line")
            self._fill()
        end = end or len(self._held)
        header, self._held = self._held[:end], self._held[end:]
        if is_open(header, self._separator):
            raise DataFileError(f"{self._path}: a quote in the first line is never closed", hint=CLOSE_QUOTES)
        self._block = min(LONGEST_RECORD, max(BLOCK_BYTES, 64 * end))  # wide rows: many of them at once
        return header

    def block(self, rows: int) -> memoryview:
        """The next records, empty at the end; ``rows`` is how many came before."""
        while not (end := last_end(self._held, self._separator)):
            if self._ended:
                return memoryview(self._last(rows))
            self._check_length(f"data row {rows + 1:,}")
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

    def _last(self, rows: int) -> bytes:
        """What follows the last line end."""
        last, self._held = self._held, b""
        if is_open(last, self._separator):
            raise DataFileError(
                f"{self._path}: a quote that begins in data row {rows + 1:,} is never closed",
                hint=CLOSE_QUOTES,
                path=self._path,
            )
        return last

    def _check_length(self, what: str) -> None:
        if len(self._held) > LONGEST_RECORD:
            raise DataFileError(
                f"{self._path}: {what} is longer than {LONGEST_RECORD >> 20} MiB", hint=CLOSE_QUOTES, path=self._path
            )

    def _fill(self) -> None:
        """Hold more bytes: at least as many again, so that what is looked at twice stays in proportion."""
        size = min(max(self._block, len(self._held)), LONGEST_RECORD)
        with file_errors("read", self._path):
            read = self._file.read(size) if self._path != "-" else b"".join(self._from_standard_input(size))
        self._ended = not read
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


def _standard_input() -> Any:
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is None or buffer.closed:
        raise DataFileError("standard input is closed", hint="give the path of a file in place of -")
    return buffer


def _handle(file: Any) -> int | None:
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
    r"""Where the second record begins, 0 where the first has no end yet.

    >>> first_end(b'a,"b\n"\n1,2\n', b",")
    7
    """
    at = 0
    for start, stop in _quoted_parts(data, separator):
        if end := data.find(b"\n", at, start) + 1:
            return end
        at = stop
    return data.find(b"\n", at) + 1


def last_end(data: bytes, separator: bytes) -> int:
    r"""Where the last record ends that has an end, 0 without one.

    >>> last_end(b'1,2\n3,"4\n', b",")
    4
    """
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
    """Whether a quoted field has no end.

    >>> is_open(b'a,"b', b","), is_open(b'a,"b"', b","), is_open(b'a,b"', b",")
    (True, False, False)
    """
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

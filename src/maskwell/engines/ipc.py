"""Arrow's own file format (also known as Feather 2), and its stream format for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from maskwell.engines.arrow import exact_batch, file_errors, in_schema, require, schema_without_views
from maskwell.engines.base import BATCH_ROWS, Coded
from maskwell.engines.validation import check_rows, check_schema, check_unpacked, validated
from maskwell.errors import DataFileError

TEXTS_ONLY = False
HOLDS_BYTES = True
MAGIC = b"ARROW1"
"""How a file begins that is not a stream."""


class IpcSource:
    """Rows of an Arrow file, one stored batch after another.

    The file is read, not mapped into memory: a mapped file that somebody cuts short ends the process, and one that
    somebody changes is no longer what was checked.
    """

    style = None

    def __init__(self, path: str) -> None:
        self._path, self._done = path, 0.0
        if path == "-":
            raise DataFileError("Arrow files cannot be read from standard input", hint="give the path of the file")
        with file_errors("read", path):
            self._file = require().OSFile(path)
            stored = self._open().schema
            check_schema(stored, path)
            self.schema = schema_without_views(stored)

    def _open(self, only: Sequence[int] | None = None) -> Any:
        ipc = require("pyarrow.ipc")
        self._file.seek(0)
        is_stream = self._file.read(len(MAGIC)) != MAGIC
        self._file.seek(0)
        options = ipc.IpcReadOptions(included_fields=only)
        return (ipc.open_stream if is_stream else ipc.open_file)(self._file, options=options)

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        places = range(len(self.schema)) if only is None else sorted(only)
        schema = require().schema([self.schema.field(place) for place in places], metadata=self.schema.metadata)
        with file_errors("read", self._path):
            found, size = self._stored_batches([*places]), self._file.size()
        while True:
            with file_errors("read", self._path):
                batch = next(found, None)
            if batch is None:
                return
            check_rows(len(batch), size, self._path)
            check_unpacked(batch.get_total_buffer_size(), size, self._path)
            batch = validated(batch, self._path)
            for start in range(0, len(batch), BATCH_ROWS):
                with file_errors("read", self._path):
                    piece = in_schema(batch.slice(start, BATCH_ROWS), schema)
                yield piece

    def _stored_batches(self, only: Sequence[int]) -> Iterator[Any]:
        reader = self._open(only)
        if not hasattr(reader, "num_record_batches"):
            yield from reader
            return
        count = reader.num_record_batches
        for i in range(count):
            yield reader.get_batch(i)
            self._done = (i + 1) / count

    def done(self) -> float | None:
        """Share of the stored batches read so far."""
        return self._done or None

    def close(self) -> None:
        """Give back the file."""
        self._file.close()


class IpcSink:
    """Writes rows as an Arrow file."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._schema = schema_without_views(schema)
        with file_errors("write", "the output"):
            self._writer = require("pyarrow.ipc").new_file(file, self._schema)

    def write(self, batch: Any) -> None:
        """Add rows."""
        with file_errors("write", "the output"):
            self._writer.write_batch(exact_batch(batch, self._schema))

    def close(self) -> None:
        """Write what is left; the file itself stays open."""
        with file_errors("write", "the output"):
            self._writer.close()

    def abandon(self) -> None:
        """Give up: the file will be thrown away."""
        with suppress(Exception):
            self._writer.close()


def open_source(path: str, ending: str, *, coded: Coded, exact: bool) -> IpcSource:  # noqa: ARG001
    """Open an Arrow file for reading."""
    return IpcSource(path)


def open_sink(file: BinaryIO, ending: str, schema: Any, *, style: Any) -> IpcSink:  # noqa: ARG001
    """Start an Arrow file."""
    return IpcSink(file, schema)

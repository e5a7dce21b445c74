"""Arrow's own file format (also known as Feather 2), and its stream format for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from maskwell.engines.arrow import exact_batch, file_errors, in_schema, require, schema_without_views
from maskwell.engines.base import BATCH_ROWS, Coded
from maskwell.errors import DataFileError

TEXTS_ONLY = False
HOLDS_BYTES = True


class IpcSource:
    """Rows of an Arrow file, mapped into memory instead of read."""

    style = None

    def __init__(self, path: str) -> None:
        self._path, self._done = path, 0.0
        arrow, ipc = require(), require("pyarrow.ipc")
        if path == "-":
            raise DataFileError("Arrow files cannot be read from standard input", hint="give the path of the file")
        with file_errors("read", path):
            self._map = arrow.memory_map(path)
            try:
                self._reader = ipc.open_file(self._map)
            except arrow.ArrowInvalid:
                self._map.seek(0)
                self._reader = ipc.open_stream(self._map)
            self.schema = schema_without_views(self._reader.schema)

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        found = self._stored_batches()
        while True:
            with file_errors("read", self._path):
                batch = next(found, None)
            if batch is None:
                return
            places = range(len(self.schema)) if only is None else sorted(only)
            schema = require().schema([self.schema.field(place) for place in places], metadata=self.schema.metadata)
            batch = batch.select(list(places))
            for start in range(0, len(batch), BATCH_ROWS):
                yield in_schema(batch.slice(start, BATCH_ROWS), schema)

    def _stored_batches(self) -> Iterator[Any]:
        if not hasattr(self._reader, "num_record_batches"):
            yield from self._reader
            return
        count = self._reader.num_record_batches
        for i in range(count):
            yield self._reader.get_batch(i)
            self._done = (i + 1) / count

    def done(self) -> float | None:
        """Share of the stored batches read so far."""
        return self._done or None

    def close(self) -> None:
        """Give back the file."""
        self._map.close()


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

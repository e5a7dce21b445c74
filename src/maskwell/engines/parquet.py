"""Parquet: read and written row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from maskwell.engines.arrow import batch_without_views, exact_batch, file_errors, require, schema_without_views
from maskwell.engines.base import BATCH_ROWS, Coded, rows_of_cells
from maskwell.engines.validation import check_rows, check_schema, check_unpacked, validated
from maskwell.errors import DataFileError

TEXTS_ONLY = False
HOLDS_BYTES = True
READ_BYTES = 1 << 20
GROUP_ROWS = 1 << 20
GROUP_BYTES = 1 << 24
"""A row group is written when it has so many rows or bytes: what a writer must hold in memory."""


class ParquetSource:
    """Rows of a Parquet file."""

    style = None

    def __init__(self, path: str, coded: Sequence[str]) -> None:
        self._path, parquet = path, require("pyarrow.parquet")
        if path == "-":
            raise DataFileError("Parquet cannot be read from standard input", hint="give the path of the file")
        with file_errors("read", path):
            stored = require().OSFile(path)  # read, not mapped, and opened once: what was checked is what is used
            file = parquet.ParquetFile(stored)
            self.schema, about = file.schema_arrow, file.metadata
            check_schema(self.schema, path)
            self.schema = schema_without_views(self.schema)
            self._size = stored.size()
            check_rows(about.num_rows, self._size, path)
            for i in range(about.num_row_groups):
                check_unpacked(about.row_group(i).total_byte_size, self._size, path)
            leaves = {about.schema.column(i).path for i in range(about.num_columns)}
            # Texts of coded columns stay dictionaries; pages are read when they are needed, not whole row groups.
            self._file = parquet.ParquetFile(
                stored,
                metadata=about,
                read_dictionary=[name for name in coded if name in leaves],
                pre_buffer=False,
                buffer_size=READ_BYTES,
                page_checksum_verification=True,
            )
        self._stored, self._rows, self._seen = stored, about.num_rows, 0

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        names = None if only is None else [self.schema.names[i] for i in sorted(only)]
        rows = min(BATCH_ROWS, rows_of_cells(len(self.schema if only is None else only)))
        batches = self._file.iter_batches(batch_size=rows, columns=names)
        while True:
            with file_errors("read", self._path):
                batch = next(batches, None)
            if batch is None:
                return
            check_unpacked(batch.get_total_buffer_size(), self._size, self._path)
            self._seen += len(batch)
            yield batch_without_views(self._selected(validated(batch, self._path), names))

    def _selected(self, batch: Any, names: list[str] | None) -> Any:
        """The columns that were asked for: Arrow also reads part b of column a where a.b is the name of a column."""
        held = batch.schema.names
        if names is None or held == names:
            return batch
        if any(held.count(name) != 1 for name in names):
            raise DataFileError(
                f"{self._path}: a column cannot be told from another of the same name",
                hint="give every column, and every part of a nested one, a name of its own without a dot",
                path=self._path,
            )
        return batch.select([held.index(name) for name in names])

    def done(self) -> float | None:
        """Share of the rows read so far."""
        return min(1.0, self._seen / self._rows) if self._rows else None

    def close(self) -> None:
        """Give back the file."""
        self._file.close()
        self._stored.close()


class ParquetSink:
    """Writes rows as Parquet."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._schema, self._rows, self._bytes = schema_without_views(schema), 0, 0
        self._waiting: list[Any] = []
        with file_errors("write", "the output"):
            self._writer = require("pyarrow.parquet").ParquetWriter(file, self._schema)

    def write(self, batch: Any) -> None:
        """Add rows."""
        with file_errors("write", "the output"):
            batch = exact_batch(batch, self._schema)
        self._waiting.append(batch)
        self._rows, self._bytes = self._rows + len(batch), self._bytes + batch.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        with file_errors("write", "the output"):
            self._writer.write_table(require().Table.from_batches(self._waiting, self._schema))
        self._waiting, self._rows, self._bytes = [], 0, 0

    def close(self) -> None:
        """Write what is left; the file itself stays open."""
        if self._waiting:
            self._flush()
        with file_errors("write", "the output"):
            self._writer.close()

    def abandon(self) -> None:
        """Give up: the file will be thrown away."""
        with suppress(Exception):
            self._writer.close()
        self._writer.is_open = False  # or it would try again, on a closed file, when it is collected


def open_source(path: str, ending: str, *, coded: Coded, exact: bool) -> ParquetSource:  # noqa: ARG001
    """Open a Parquet file for reading."""
    return ParquetSource(path, list(coded))


def open_sink(file: BinaryIO, ending: str, schema: Any, *, style: Any) -> ParquetSink:  # noqa: ARG001
    """Start a Parquet file."""
    return ParquetSink(file, schema)

"""Parquet, by row groups, and Arrow's own formats: files (also known as Feather 2) and streams."""

from __future__ import annotations

import base64
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from maskwell.engines.arrow_arrays import (
    batch_without_views,
    coming_schema,
    exact_batch,
    file_errors,
    first_used,
    in_schema,
    require,
    schema_without_views,
    size_of,
    with_dictionary,
)
from maskwell.engines.arrow_checks import check_rows, check_schema, check_unpacked, validated
from maskwell.engines.row_sources import BATCH_ROWS, Coded, Engine, rows_of_cells
from maskwell.errors import DataFileError

READ_BYTES = 1 << 20
GROUP_ROWS = 1 << 20
GROUP_BYTES = 1 << 24  # a row group is written when it has so many rows or bytes: what a writer must hold in memory


class _ParquetSource:
    """Rows of a Parquet file."""

    style = None

    def __init__(self, path: str, ending: str, *, coded: Coded, exact: bool, copied: bool) -> None:
        self._path, parquet = path, require("pyarrow.parquet")
        if path == "-":
            raise DataFileError("parquet-cannot-be-read-from-standard")
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
            leaves = [about.schema.column(i).path for i in range(about.num_columns)]
            asked = {*coded} - {one.name for one in self.schema if require().types.is_dictionary(one.type)}
            times = Counter(self.schema.names)
            kept = [
                name
                for i, name in enumerate(leaves)
                if name in asked or (copied and times[name] == 1 and self._is_coded(about, i))
            ]
            # Texts of coded columns stay dictionaries; pages are read when they are needed, not whole row groups.
            self._file = parquet.ParquetFile(
                stored,
                metadata=about,
                read_dictionary=kept,
                pre_buffer=False,
                buffer_size=READ_BYTES,
                page_checksum_verification=True,
            )
        self._stored, self._rows, self._seen = stored, about.num_rows, 0
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="maskwell-reader")

    def _is_coded(self, about: Any, place: int) -> bool:
        """Whether texts are stored as places in dictionaries: as texts, each takes more than four bytes."""
        name = about.schema.column(place).path
        if str(self.schema.field(name).type) not in ("string", "large_string"):
            return False
        groups = [about.row_group(i).column(place) for i in range(about.num_row_groups)]
        return all(group.total_uncompressed_size < 3 * group.num_values for group in groups)

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches; the next one is read while one is used."""
        if not self._file.num_row_groups:  # Arrow 18 and 19 look for the last one
            return
        listed = self.schema.names  # a new list each time it is asked for
        names = None if only is None else [listed[i] for i in sorted(only)]
        rows = min(BATCH_ROWS, rows_of_cells(len(self.schema if only is None else only)))
        batches = self._file.iter_batches(batch_size=rows, columns=names)
        coming = self._reader.submit(next, batches, None)
        while True:
            with file_errors("read", self._path):
                batch = coming.result()
            if batch is None:
                return
            coming = self._reader.submit(next, batches, None)
            check_unpacked(batch.get_total_buffer_size(), self._size, self._path)
            self._seen += len(batch)
            yield batch_without_views(self._selected(validated(batch, self._path), names))

    def _selected(self, batch: Any, names: list[str] | None) -> Any:
        """The columns that were asked for: Arrow also reads part b of column a where a.b is the name of a column."""
        held = batch.schema.names
        if names is None or held == names:
            return batch
        times = Counter(held)
        if any(times[name] != 1 for name in names):
            raise DataFileError("a-column-cannot-be-told", path=self._path)
        places = {name: place for place, name in enumerate(held)}
        return batch.select([places[name] for name in names])

    def done(self) -> float | None:
        """Share of the rows read so far."""
        return min(1.0, self._seen / self._rows) if self._rows else None

    def close(self) -> None:
        self._reader.shutdown(cancel_futures=True)
        self._file.close()
        self._stored.close()


class _ParquetSink:
    """Writes rows as Parquet; dictionaries of texts are faster than texts, and make the same file."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any) -> None:
        self._file, self._schema, self._rows, self._bytes = file, schema_without_views(schema), 0, 0
        self._waiting: list[Any] = []
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        with file_errors("write", "the output"):
            coming = coming_schema(batch.schema, self._schema) if _takes_dictionaries() else self._schema
            batch = exact_batch(batch, coming)
        self._waiting.append(batch)
        # How long a dictionary is does not count, since it depends on how the input was cut.
        is_dictionary = require().types.is_dictionary
        self._bytes += sum(size_of(one.indices if is_dictionary(one.type) else one) for one in batch.columns)
        self._rows += len(batch)
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what is left; the file itself stays open."""
        if self._waiting:
            self._flush()
        with file_errors("write", "the output"):
            self._started(self._schema).close()

    def abandon(self) -> None:
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()
            self._writer.is_open = False  # or it would try again, on a closed file, when it is collected

    def _flush(self) -> None:
        with file_errors("write", "the output"):
            table = require().Table.from_batches(self._waiting).unify_dictionaries()
            is_dictionary = require().types.is_dictionary
            columns = [first_used(one.combine_chunks()) if is_dictionary(one.type) else one for one in table.columns]
            self._started(table.schema).write_table(require().table(columns, schema=table.schema))
        self._waiting, self._rows, self._bytes = [], 0, 0

    def _started(self, coming: Any) -> Any:
        """The writer; it takes columns as they come, and the file says what the schema of the sink says."""
        if self._writer is None:
            as_given = coming.equals(self._schema)
            self._writer = require("pyarrow.parquet").ParquetWriter(self._file, coming, store_schema=as_given)
            if not as_given:
                stored = base64.b64encode(self._schema.serialize())
                self._writer.add_key_value_metadata({**(self._schema.metadata or {}), b"ARROW:schema": stored})
        return self._writer


def _takes_dictionaries() -> bool:
    """Whether Parquet can be written from dictionaries while the file says texts; older versions of pyarrow cannot."""
    return hasattr(require("pyarrow.parquet").ParquetWriter, "add_key_value_metadata")


MAGIC = b"ARROW1"  # how a file begins that is not a stream


class _StandardInput:
    """A stream of Arrow on standard input: it can be read once, and its size is what came so far."""

    def __init__(self) -> None:
        self._read = 0
        self.closed = False
        self.stream = require("pyarrow.ipc").open_stream(require().PythonFile(self, "r"))

    def read(self, size: int = -1) -> bytes:
        data = bytes(sys.stdin.buffer.read(size))
        self._read += len(data)
        return data

    def size(self) -> int:
        return self._read

    def close(self) -> None:
        """Standard input stays open."""


class _IpcSource:
    """Rows of an Arrow file, one stored batch after another.

    It is read, not mapped: a mapped file that is cut short ends the process, and a changed one is not what was checked.
    """

    style = None

    def __init__(self, path: str, ending: str, *, coded: Coded, exact: bool, copied: bool) -> None:
        self._path, self._done = path, 0.0
        with file_errors("read", path):
            self._file = _StandardInput() if path == "-" else require().OSFile(path)
            stored = self._open().schema
            check_schema(stored, path)
            self.schema = schema_without_views(stored)

    def _open(self, only: Sequence[int] | None = None) -> Any:
        ipc = require("pyarrow.ipc")
        if isinstance(self._file, _StandardInput):
            return self._file.stream
        self._file.seek(0)
        is_stream = self._file.read(len(MAGIC)) != MAGIC
        self._file.seek(0)
        options = ipc.IpcReadOptions(included_fields=only)
        return (ipc.open_stream if is_stream else ipc.open_file)(self._file, options=options)

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        places = range(len(self.schema)) if only is None else sorted(only)
        schema = require().schema([self.schema.field(place) for place in places], metadata=self.schema.metadata)
        stored = self._stored_batches([*places])
        while True:
            with file_errors("read", self._path):
                batch, size = next(stored, None), self._file.size()
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
        if isinstance(self._file, _StandardInput):
            yield from (batch.select(only) for batch in reader)
            return
        if not hasattr(reader, "num_record_batches"):
            for batch in reader:
                yield batch
                self._done = self._file.tell() / self._file.size()
            self._done = 1.0
            return
        count = reader.num_record_batches
        for i in range(count):
            yield reader.get_batch(i)
            self._done = (i + 1) / count

    def done(self) -> float | None:
        """Share of the stored batches, or of the bytes of a stream, read so far."""
        return self._done or None

    def close(self) -> None:
        self._file.close()


class _IpcSink:
    """Writes rows as an Arrow file, or as a stream, which can be read from its beginning on before it is whole."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any) -> None:
        self._file, self._schema, self._stream = file, schema_without_views(schema), ending == ".arrows"
        self._used: dict[int, _UsedValues] = {}
        self._waiting: BinaryIO | None = None
        self._started: Any = None

    def leave_out_unused(self) -> None:
        """Write only what rows hold in dictionaries; rows of an Arrow file wait for that, in one without a name."""
        is_dictionary = require().types.is_dictionary
        self._used = {i: _UsedValues() for i, field in enumerate(self._schema) if is_dictionary(field.type)}
        with file_errors("write", "the output"):
            if self._used and not self._stream:
                name = getattr(self._file, "name", None)
                beside = Path(name).parent if isinstance(name, str) else None
                self._waiting = cast("BinaryIO", tempfile.TemporaryFile(dir=beside))  # noqa: SIM115 (closed with the rows)

    @property
    def _writer(self) -> Any:
        if self._started is None:
            self._started = self._opened(self._file if self._waiting is None else self._waiting)
        return self._started

    def write(self, batch: Any) -> None:
        with file_errors("write", "the output"):
            batch = exact_batch(batch, self._schema)
            columns = batch.columns
            for place, used in self._used.items():
                used.add(columns[place])
                columns[place] = first_used(columns[place])
            self._writer.write_batch(
                require().RecordBatch.from_arrays(columns, schema=self._schema) if self._used else batch
            )

    def close(self) -> None:
        """Write what is left; the file itself stays open."""
        with file_errors("write", "the output"):
            self._writer.close()
            if self._waiting is not None:
                self._write_waiting(self._waiting)

    def abandon(self) -> None:
        with suppress(Exception):
            self._writer.close()
        if self._waiting is not None:
            self._waiting.close()

    def _opened(self, file: Any) -> Any:
        ipc = require("pyarrow.ipc")
        return (ipc.new_stream if self._stream or file is not self._file else ipc.new_file)(file, self._schema)

    def _write_waiting(self, waiting: BinaryIO) -> None:
        """The rows that wait, with one dictionary for each column."""
        waiting.seek(0)
        dictionaries = {place: used.in_order() for place, used in self._used.items()}
        with waiting, require("pyarrow.ipc").open_stream(waiting) as rows, self._opened(self._file) as writer:
            for batch in rows:
                columns = batch.columns
                for place, values in dictionaries.items():
                    columns[place] = with_dictionary(columns[place], values)
                writer.write_batch(require().RecordBatch.from_arrays(columns, schema=self._schema))


class _UsedValues:
    """The values of a dictionary that rows have, in the order that it has: later batches may add some."""

    def __init__(self) -> None:
        self._listed: Any = None
        self._used: Any = None

    def add(self, column: Any) -> None:
        compute = require("pyarrow.compute")
        found = column.dictionary.take(compute.drop_null(compute.unique(column.indices)))
        if self._listed is None:
            self._listed, self._used = column.dictionary, found
        else:
            self._listed = compute.unique(require().concat_arrays([self._listed, column.dictionary]))
            self._used = compute.unique(require().concat_arrays([self._used, found]))

    def in_order(self) -> Any:
        if self._listed is None:
            return None
        return self._listed.filter(require("pyarrow.compute").is_in(self._listed, value_set=self._used))


PARQUET = Engine(_ParquetSource, _ParquetSink, holds_bytes=True, takes_dictionaries=True)
IPC = Engine(_IpcSource, _IpcSink, holds_bytes=True)

"""Rows that are read where they are once; whoever looks again reads what was kept of them, in a file without a name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import IO, Any

from maskwell.engines.arrow_arrays import file_errors, require
from maskwell.engines.row_sources import Coded, Source
from maskwell.engines.rows import Rows

IN_MEMORY = 1 << 25  # packed bytes that are kept without a file


@contextmanager
def kept_rows(
    rows: Rows, stored: Sequence[str], wanted: Callable[[Sequence[str]], Collection[str]]
) -> Iterator[Rows]:
    """Rows of a file whose first pass keeps the columns ``wanted`` of all for the next ones; of a table as they are.

    The columns ``stored`` come as :meth:`Rows.open_stored` gives them, in every pass.
    """
    if rows.path is None:
        yield rows
        return
    with ExitStack() as opened, tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        source = opened.enter_context(rows.open_stored(stored))
        yield _KeptRows(rows, _PassingRows(source, file, wanted(source.schema.names)), opened.close)


class _KeptRows(Rows):
    """Rows of an open source, which is closed behind them, and then what was kept; messages call them as before."""

    def __init__(self, rows: Rows, passing: _PassingRows, close: Callable[[], None]) -> None:
        self.path, self.view, self._name = rows.path, rows.view, str(rows)
        self._passing, self._close = passing, close

    def __str__(self) -> str:
        return self._name

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self._source.schema

    @property
    def _source(self) -> Source:
        if self._passing.kept is None:
            return self._passing
        self._close()
        return self._passing.kept

    def open(self, *, coded: Sequence[str] | Coded = (), exact: bool = False) -> AbstractContextManager[Source]:
        """The rows: they are open already."""
        return nullcontext(self._source)

    def with_view(self, view: Any) -> Rows:
        """Nobody sees them otherwise."""
        raise NotImplementedError


class _PassingRows:
    """Rows of a source, some columns of which are kept as they pass, in streams of batches that are alike."""

    kept: Source | None = None  # once all of them have passed

    def __init__(self, source: Source, file: IO[bytes], wanted: Collection[str]) -> None:
        self._source, self._file, self._wanted = source, file, wanted
        self.schema, self.style, self.done, self.close = source.schema, source.style, source.done, source.close

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        ipc, arrow, writer, alike = require("pyarrow.ipc"), require(), None, None
        packed = "lz4" if arrow.Codec.is_available("lz4") else None
        asked = range(len(self.schema)) if only is None else sorted(only)
        schema = arrow.schema([self.schema.field(place) for place in asked])
        places = [place for place, name in enumerate(schema.names) if name in self._wanted]
        for batch in self._source.batches(only):
            if places:
                some = batch.select(places)
                with file_errors("write", "temporary rows"):
                    if writer is None or some.schema != alike:
                        if writer is not None:
                            writer.close()
                        alike, options = some.schema, ipc.IpcWriteOptions(compression=packed)
                        writer = ipc.new_stream(self._file, alike, options=options)
                    writer.write_batch(some)
            yield batch
        if writer is not None:
            writer.close()
        fields = [schema.field(place) for place in places]
        self.kept = _SpooledRows(self._file, arrow.schema(fields), self.style)


class _SpooledRows:
    """What was kept of rows that passed."""

    def __init__(self, file: IO[bytes], schema: Any, style: Any) -> None:
        self._file, self.schema, self.style = file, schema, style

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        ipc, end = require("pyarrow.ipc"), self._file.seek(0, 2)
        self._file.seek(0)
        with file_errors("read", "temporary rows"):
            while self._file.tell() < end:
                for batch in ipc.open_stream(self._file):
                    yield batch if only is None else batch.select(sorted(only))

    def done(self) -> float | None:
        """Nobody waits for them."""
        return None

    def close(self) -> None:
        """The file is closed with the rows."""

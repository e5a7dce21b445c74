"""Rows that are read once where they are; later passes read a copy of what was kept, in a file without a name."""

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
def kept_rows(rows: Rows, stored: Sequence[str], wanted: Callable[[Sequence[str]], Collection[str]]) -> Iterator[Rows]:
    """Rows of a file whose first pass keeps the columns ``wanted`` of all for the next ones; of a table as they are.

    The columns ``stored`` come as :meth:`Rows.open_stored` gives them, in every pass.
    """
    if rows.path is None:
        yield rows
        return
    with ExitStack() as opened, tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        source = opened.enter_context(rows.open_stored(stored))
        yield _KeptRows(rows, source, opened.close, file, wanted(source.schema.names))


class _KeptRows(Rows):
    """Rows of an open source, which is closed behind them; then what is in the file, in streams of batches alike."""

    def __init__(
        self, rows: Rows, source: Source, passed: Callable[[], None], file: IO[bytes], wanted: Collection[str]
    ) -> None:
        self.path, self.view, self._name = rows.path, rows.view, str(rows)
        self._source, self._passed, self._file, self._wanted = source, passed, file, wanted
        self._schema, self.style, self.done, self._end = source.schema, source.style, source.done, 0

    def __str__(self) -> str:
        return self._name

    @property
    def schema(self) -> Any:
        """Names and types of the columns; once the rows have passed, of those that were kept."""
        return self._schema

    def open(self, *, coded: Sequence[str] | Coded = (), exact: bool = False) -> AbstractContextManager[Source]:
        """The rows: they are open already."""
        return nullcontext(self)

    def close(self) -> None:
        """The file is closed with the rows."""

    def with_view(self, view: Any) -> Rows:
        """Nobody sees them otherwise."""
        raise NotImplementedError

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        if not self._end:
            yield from self._passing(range(len(self._schema)) if only is None else sorted(only))
            return
        self._file.seek(0)
        with file_errors("read", "temporary rows"):
            while self._file.tell() < self._end:
                for batch in require("pyarrow.ipc").open_stream(self._file):
                    yield batch if only is None else batch.select(sorted(only))

    def _passing(self, asked: Sequence[int]) -> Iterator[Any]:
        arrow, ipc, writer, alike = require(), require("pyarrow.ipc"), None, None
        options = ipc.IpcWriteOptions(compression="lz4" if arrow.Codec.is_available("lz4") else None)
        places = [place for place, i in enumerate(asked) if self._schema.field(i).name in self._wanted]
        for batch in self._source.batches(asked):
            kept = batch.select(places)
            with file_errors("write", "temporary rows"):
                if writer is None or kept.schema != alike:
                    if writer is not None:
                        writer.close()
                    writer, alike = ipc.new_stream(self._file, kept.schema, options=options), kept.schema
                if places:
                    writer.write_batch(kept)
            yield batch
        if writer is not None:
            writer.close()
        self._schema, self._end = arrow.schema([self._schema.field(asked[i]) for i in places]), self._file.tell()
        self._passed()

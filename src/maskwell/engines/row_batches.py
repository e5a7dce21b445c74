"""Rows on their way out, batch after batch: in even lengths, by a writer in a thread, in a random order."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.freed_memory import give_back_memory
from maskwell.core.randomness import RandomSource, random_order
from maskwell.engines.arrow_arrays import file_errors, numbers_array, require, size_of

MOST_TEXT = 1 << 26  # bytes of texts that wait to be written together
TEXTS = ("string", "large_string", "binary", "large_binary")


class Writes(Protocol):
    """Anything that takes rows."""

    def write(self, batch: Any) -> None:
        """Add rows."""


class EvenRows:
    """Hands rows on in pieces of one length, where texts are short: pieces cut by bytes reveal true values."""

    def __init__(self, sink: Writes, rows: int) -> None:
        self._sink, self._rows, self._count, self._bytes = sink, rows, 0, 0
        self._waiting: list[Any] = []

    def write(self, batch: Any) -> None:
        """Add rows."""
        if not self._waiting and len(batch) == self._rows and size_of(batch) < MOST_TEXT:
            self._sink.write(batch)
            return
        self._waiting.append(batch)
        self._count, self._bytes = self._count + len(batch), self._bytes + size_of(batch)
        while self._count >= (rows := min(self._rows, self._rows_of_long_texts())):
            self._pass_on(rows)

    def finish(self) -> None:
        """Hand on what is left."""
        if self._count:
            self._pass_on(self._count)

    def _rows_of_long_texts(self) -> int:
        """How many of the waiting rows have texts of so many bytes; more than there are where none have."""
        if self._bytes < MOST_TEXT:
            return self._count + 1
        length = require("pyarrow.compute").binary_length
        lengths = []
        for batch in self._waiting:
            lengths.append(total := np.zeros(len(batch), dtype=np.int64))
            for column in batch.columns:
                if str(column.type) in TEXTS:
                    total += np.asarray(length(column).cast(require().int64()).fill_null(0))
        return int(np.searchsorted(np.cumsum(np.concatenate(lengths)), MOST_TEXT)) + 1

    def _pass_on(self, rows: int) -> None:
        table = require().Table.from_batches(self._waiting)
        for batch in table.slice(0, rows).unify_dictionaries().combine_chunks().to_batches():
            self._sink.write(batch)
        self._waiting, self._count = table.slice(rows).to_batches(), self._count - rows
        self._bytes = sum(size_of(batch) for batch in self._waiting)


WAITING_BATCHES, WAITING_BYTES = 2, 1 << 24
"""What may wait to be written: so many batches, or as many as have these bytes. A sink that writes a group of rows at
once takes that long for one of its batches; meanwhile there must be room for those of the next group."""


class BackgroundSink:
    """Hands rows to another sink, in their order, from a thread; what goes wrong there is raised at the next call."""

    def __init__(self, sink: Writes, pool: ThreadPoolExecutor) -> None:
        self._sink, self._pool = sink, pool
        self._waiting: deque[tuple[Future[None], int]] = deque()
        self._bytes, self._failed = 0, False

    def write(self, batch: Any) -> None:
        """Add rows."""
        while self._waiting and (
            self._waiting[0][0].done() or (len(self._waiting) >= WAITING_BATCHES and self._bytes >= WAITING_BYTES)
        ):
            self._await_first()
        self._waiting.append((self._pool.submit(self._hand_over, batch), size_of(batch)))
        self._bytes += size_of(batch)

    def finish(self) -> None:
        """Wait until everything is written."""
        while self._waiting:
            self._await_first()

    def _hand_over(self, batch: Any) -> None:
        if self._failed:
            return
        try:
            self._sink.write(batch)
        except BaseException:
            self._failed = True
            raise

    def _await_first(self) -> None:
        written, size = self._waiting.popleft()
        self._bytes -= size
        written.result()


@contextmanager
def in_background(sink: Writes) -> Iterator[BackgroundSink]:
    """Write in a thread until the block ends; then everything is written, or the first error is raised."""
    with ThreadPoolExecutor(1, thread_name_prefix="maskwell-writer") as pool:
        behind = BackgroundSink(sink, pool)
        try:
            yield behind
            behind.finish()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what waits is not wanted any more
            raise


# ---- rows in random order, in memory that does not grow with the file
#
# Every row goes to a random bucket, the rows of each bucket are put in random order, and the buckets follow one
# another: then all orders of all rows are equally likely (derived: given the sizes of the buckets, who is where is a
# fair draw).

BUCKET_BYTES = 1 << 25
MOST_BUCKETS = 256


class ShuffledRows:
    """Gives rows back in random order; what waits is in files without a name: nothing of it is left."""

    def __init__(self, schema: Any, rows: int, bytes_of_a_row: float, folder: Path, random: RandomSource) -> None:
        self._schema = schema
        self._stream, self._row = random.stream(), 0
        self._rows, self._bytes_of_a_row, self._beside = rows, bytes_of_a_row, folder
        self._count = 0
        self._waiting: list[list[Any]] = []
        self._bytes = 0
        self._files: dict[int, tuple[IO[bytes], Any]] = {}

    def _open(self, batch: Any) -> None:
        needed = int(self._rows * max(self._bytes_of_a_row, size_of(batch) / len(batch)) // BUCKET_BYTES) + 1
        self._count = min(MOST_BUCKETS, 1 << (needed - 1).bit_length())
        self._waiting = [[] for _ in range(self._count)]

    def write(self, batch: Any) -> None:
        """Add rows."""
        if not len(batch):
            return
        if not self._count:
            self._open(batch)
        if self._count == 1:
            self._waiting[0].append(batch)
            return
        buckets = (self._numbers(len(batch)) % np.uint64(self._count)).astype(np.uint16)  # few bits: sorted by counting
        order = np.argsort(buckets, kind="stable")
        sorted_ = batch.take(numbers_array(order))
        ends = np.searchsorted(buckets[order], np.arange(self._count + 1, dtype=np.uint16))
        for bucket in range(self._count):
            start, end = int(ends[bucket]), int(ends[bucket + 1])
            if end > start:
                self._waiting[bucket].append(sorted_.slice(start, end - start))
        self._bytes += size_of(batch)
        if self._bytes >= BUCKET_BYTES:
            self._spill()

    def batches(self) -> Iterator[Any]:
        """All rows, in random order."""
        arrow = require()
        for bucket in range(self._count):
            give_back_memory()
            table = arrow.Table.from_batches([*self._spilled(bucket), *self._waiting[bucket]], self._schema)
            self._waiting[bucket] = []
            if len(table):
                yield from table.combine_chunks().take(numbers_array(self._order(len(table)))).to_batches()

    def close(self) -> None:
        """Throw away the temporary files."""
        for file, _ in self._files.values():
            file.close()
        self._files = {}

    def _numbers(self, rows: int) -> Array:
        first, self._row = self._row, self._row + rows
        return self._stream.words(first, rows, 2).copy().view("<u8").reshape(rows)

    def _order(self, rows: int) -> Array:
        first, self._row = self._row, self._row + rows
        return random_order(self._stream, first, rows)

    def _spill(self) -> None:
        arrow = require()
        with file_errors("write", "temporary rows"):
            for bucket, waiting in enumerate(self._waiting):
                if not waiting:
                    continue
                whole = arrow.Table.from_batches(waiting, self._schema).combine_chunks()
                for batch in whole.unify_dictionaries().to_batches():
                    self._writer(bucket).write_batch(batch)
                self._waiting[bucket] = []
        self._bytes = 0

    def _writer(self, bucket: int) -> Any:
        if bucket not in self._files:
            file = tempfile.TemporaryFile(dir=self._beside)  # noqa: SIM115 (closed with the rows)
            self._files[bucket] = file, require("pyarrow.ipc").new_stream(file, self._schema)
        return self._files[bucket][1]

    def _spilled(self, bucket: int) -> list[Any]:
        if bucket not in self._files:
            return []
        file, writer = self._files.pop(bucket)
        with file, file_errors("read", "temporary rows"):
            writer.close()
            file.seek(0)
            return [*require("pyarrow.ipc").open_stream(file.read())]  # in a stream, dictionaries may change on the way

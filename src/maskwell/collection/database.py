"""One database, SQLite or PostgreSQL, through SQLAlchemy: connections, turns of writers, and leaves by their places."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote

with suppress(ImportError):  # not on Windows: there, processes take turns as SQLite lets them
    import fcntl

import sqlalchemy as sa
from sqlalchemy import event

from maskwell.collection.leaves import ROOM, leaf_text
from maskwell.collection.tables import holdings, invitations, reports, tallies
from maskwell.core.phrases import visible
from maskwell.errors import DataFileError, InputError

T = TypeVar("T")
BUSY = 30_000  # milliseconds that SQLite waits for other processes
MOST_KEYS = 1_000
_CAN_LOCK = sys.platform != "win32"
# What is raised where the database does not answer, its disk is full or it has no connection to give.
AWAY = (
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.InternalError,
    sa.exc.TimeoutError,
    sqlite3.OperationalError,
)
OWNER_ONLY = 0o600
_BEAT = "UPDATE pulse SET beat = 1 - beat"
_AT = {
    table: sa.select(table).where(table.c.place.in_(sa.bindparam("places", expanding=True)))
    for table in (reports, tallies)
}
# For PostgreSQL: an array has the same words however many it holds, so that they are read and planned once.
_AT_PLACES = {
    table: sa.text(f"SELECT place, lines FROM {table.name} WHERE place = ANY(CAST(:places AS bigint[]))")  # noqa: S608
    for table in (reports, tallies)
}
_PUT_ROWS = {
    table: sa.text(
        f"INSERT INTO {table.name} (place, lines) VALUES (:place, :lines) "  # noqa: S608 (one of two names)
        "ON CONFLICT (place) DO UPDATE SET lines = excluded.lines"
    )
    for table in (reports, tallies)
}
_PUT_LEAVES = {
    table: sa.text(
        f"INSERT INTO {table.name} (place, lines) "  # noqa: S608 (one of two names)
        "SELECT * FROM unnest(CAST(:places AS bigint[]), CAST(:leaves AS text[])) "
        "ON CONFLICT (place) DO UPDATE SET lines = excluded.lines"
    )
    for table in (reports, tallies)
}


class NoDatabaseError(InputError):
    """The file of the database is not there."""

    code = "no-database"


def sqlite_url(path: str | Path, **query: str) -> str:
    """The address of a file, whatever characters its name has; with words for SQLite, that of its URI."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise DataFileError("the-path-is-not-utf-8", path=visible(str(path))) from None
    name = f"file:{quote(str(path))}" if query else str(path)
    more = {**query, "uri": "true"} if query else {}
    return sa.engine.URL.create("sqlite", database=name, query=more).render_as_string()


class Database:
    """One database, without what its tables mean."""

    def __init__(self, url: str) -> None:
        self.url = url
        options: dict[str, Any] = {"pool_pre_ping": True}
        if url.startswith("sqlite"):
            options = {"connect_args": {"timeout": 30, "check_same_thread": False}}
        # an error goes to the log: it must hold no report
        self.engine = sa.create_engine(url, pool_size=8, hide_parameters=True, **options)
        self.reader = self.engine.execution_options(readonly=True)
        self._at = _AT if self.is_sqlite else _AT_PLACES
        if self.is_sqlite:
            only_reads = self.engine.url.query.get("mode") == "ro"
            event.listen(self.engine, "connect", _set_up_reading if only_reads else _set_up_sqlite)
            event.listen(self.engine, "begin", _begin_at_once)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of this machine."""
        return self.engine.dialect.name == "sqlite"

    @property
    def path(self) -> str | None:
        """The file of the database, if it is one."""
        path = self.engine.url.database if self.is_sqlite else None
        return None if path in ("", ":memory:") else path

    @property
    def is_there(self) -> bool:
        """Whether its file exists; a server is taken to know its databases."""
        return self.path is None or Path(self.path).exists()

    def create(self) -> None:
        """Make the tables, or bring those of an earlier version up to date."""
        from maskwell.collection.migrations import upgrade

        with suppress(FileExistsError):
            if self.path is not None:  # other users of the machine have no business with it
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        if upgrade(self.engine):
            for end in ("", "-wal", "-shm"):  # earlier versions let others read the file
                with suppress(OSError):
                    Path(f"{self.path}{end}").chmod(OWNER_ONLY)
            self.compact()  # no trace of what stood elsewhere before
        elif self.path is not None:
            self._run("PRAGMA wal_checkpoint(PASSIVE)")  # nor where a process was killed before it came to that

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    def check(self) -> None:
        """Raise where the database does not answer, or takes nothing: a row is written that holds nothing."""
        if not self.is_sqlite:
            with self.engine.begin() as connection:
                connection.exec_driver_sql(_BEAT)
            return
        raw = self.engine.raw_connection()
        try:
            cursor = raw.cursor()
            for statement in ("PRAGMA busy_timeout=500", "BEGIN IMMEDIATE", _BEAT, "COMMIT"):
                cursor.execute(statement)
        except sqlite3.OperationalError as error:
            raw.rollback()
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # else another is writing, so it can be done
                raise
        finally:
            raw.cursor().execute(f"PRAGMA busy_timeout={BUSY}")
            raw.close()

    def compact(self) -> None:
        """Give back the room of what was deleted, so that no trace of it or of the order of changes is left."""
        if self.is_sqlite:
            self._run("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        else:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as autocommit:
                for table in (reports, invitations, tallies, holdings):
                    autocommit.exec_driver_sql(f"VACUUM {table.name}")

    def _run(self, *statements: str) -> None:
        """Carry out statements of SQLite that belong to no transaction."""
        connection = self.engine.raw_connection()
        try:
            for statement in statements:
                connection.cursor().execute(statement)
        finally:
            connection.close()

    def _empty_log(self) -> bool:
        connection = self.engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA busy_timeout=20")  # whoever reads for longer is not waited for
            is_busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            cursor.execute(f"PRAGMA busy_timeout={BUSY}")
            return not is_busy
        finally:
            connection.close()

    @contextmanager
    def _taking_turns(self) -> Iterator[None]:
        """Wait for other processes by a lock of the system, which wakes the next at once; SQLite has its own, too."""
        turn = self._turn_file()
        with nullcontext() if turn is None else turn:
            if turn is not None:
                fcntl.flock(turn, fcntl.LOCK_EX)  # given back when the file is closed
            yield

    def _turn_file(self) -> IO[bytes] | None:
        if not _CAN_LOCK or not self.is_sqlite or not self.engine.url.database:
            return None
        with suppress(OSError):  # a full disk: SQLite will tell
            handle = os.open(f"{self.engine.url.database}-turn", os.O_CREAT | os.O_WRONLY, OWNER_ONLY)
            return os.fdopen(handle, "wb")
        return None

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """One state of the database for several reads."""
        with self.reader.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def read(self, connection: sa.Connection, table: sa.Table, places: Collection[int]) -> dict[int, str]:
        """The leaves that stand at these places."""
        leaves: dict[int, str] = {}
        for some in _parts(places, MOST_KEYS):
            leaves |= {row.place: row.lines for row in connection.execute(self._at[table], {"places": some})}
        return leaves

    def put(
        self, connection: sa.Connection, table: sa.Table, leaves: Mapping[int, Iterable[str]], room: int = ROOM
    ) -> None:
        """Write leaves, in the order of their places."""
        for some in _parts(sorted(leaves.items()), MOST_KEYS):
            places, texts = [place for place, _ in some], [leaf_text(lines, room) for _, lines in some]
            if self.is_sqlite:
                rows = [{"place": place, "lines": text} for place, text in zip(places, texts, strict=True)]
                connection.execute(_PUT_ROWS[table], rows)
            else:
                connection.execute(_PUT_LEAVES[table], {"places": places, "leaves": texts})


def _parts(things: Iterable[T], most: int) -> Iterator[list[T]]:
    rest = iter(things)
    while some := list(islice(rest, most)):
        yield some


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by us, below
    cursor = connection.cursor()
    words = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", f"busy_timeout={BUSY}")
    for pragma in words:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _set_up_reading(connection: Any, _: Any) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY}")


def _begin_at_once(connection: sa.Connection) -> None:
    """Readers do not wait; a transaction that may write takes the lock when it begins, so that none fails half way."""
    mode = "DEFERRED" if connection.get_execution_options().get("readonly") else "IMMEDIATE"
    connection.exec_driver_sql(f"BEGIN {mode}")

"""Opening a database, if need be for reading only, and saying in one sentence what is wrong where that fails."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from maskwell.collection.database import AWAY, NoDatabaseError, sqlite_url
from maskwell.collection.store import Store
from maskwell.core.extras import lacking_extra
from maskwell.core.phrases import shorten, visible
from maskwell.errors import InputError, MaskwellError, ParameterError

_DAMAGED = (
    "the file of the database is damaged",
    "keep a copy of it, and restore a backup into a new file: maskwell survey restore",
)
_FAULTS = {  # what SQLite and PostgreSQL say, and what a user reads
    "readonly": ("the database can be read but not written", "run the command as the user who owns the file"),
    "is full": ("nothing can be written: the disk is full", "free some space, and run the command again"),
    "disk I/O": ("nothing can be written: the disk is full or damaged", "check the disk, and run the command again"),
    "malformed": _DAMAGED,
    "decode to UTF-8": _DAMAGED,
    "file format": _DAMAGED,
    "not a database": ("the file is not a database", "name another: --database URL"),
    "locked": ("another program is writing to the database", "run the command again later"),
    "read-only transaction": ("the database can be read but not written", "name the one that takes writes, not a copy"),
    "InsufficientPrivilege": (
        "the role of the database may read but not write",
        "name a role that owns the tables: --database URL",
    ),
    "No space left": ("nothing can be written: the disk is full", "free some space, and run the command again"),
}


class NoAnswerError(InputError):
    """The database does not answer, or takes nothing."""

    code = "database"


def open_store(url: str, *, new: bool = False, reads: bool = False) -> Store:
    """A database that is there, or ``new``, brought up to date; an unwritable one where a command ``reads``."""
    try:
        store = Store(url)
        if not (new or store.is_there):
            raise NoDatabaseError("there-is-no-database", database=shorten(visible(str(store.engine.url.database)), 40))
        return _prepared(store, reads=reads)
    except MaskwellError:
        raise
    except PermissionError as error:
        raise NoAnswerError("the-database-cannot-be-opened-permission") from error
    except (sa.exc.SQLAlchemyError, ImportError, OSError, ValueError) as error:
        if (lacking := lacking_extra(error, "this database")) is not None:
            raise lacking from error
        if is_damaged(error) or is_refused(error):
            raise trouble(error) from error
        raise ParameterError("the-database-cannot-be-opened-it") from error


def is_damaged(error: BaseException) -> bool:
    """Whether SQLite says that its file is damaged, or not its own."""
    return any(mark in _said(error) for mark in ("malformed", "decode to UTF-8", "not a database", "file format"))


def is_refused(error: BaseException) -> bool:
    """Whether PostgreSQL says that the role may not do this."""
    return "InsufficientPrivilege" in _said(error)


def _said(error: BaseException) -> str:
    """What the database says: its words, also where they hold stray bytes of a damaged file."""
    return repr(getattr(error, "orig", error))


def _prepared(store: Store, *, reads: bool) -> Store:
    was_there = store.path is not None and store.is_there
    try:
        store.create()
    except AWAY as error:
        store.close()
        if is_damaged(error) or not (was_there and is_sqlite(Path(str(store.path)))):
            raise
        if reads:
            return _for_reading(Path(str(store.path)))
        raise trouble(error, "the database can be read but not written") from error
    return store


def is_sqlite(path: Path) -> bool:
    """Whether a file is a database of SQLite."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def _for_reading(path: Path) -> Store:
    """A database that is only read; without its log where it has none and the folder cannot be written either."""
    from maskwell.collection.migrations import is_current

    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    queries: list[dict[str, str]] = [{"mode": "ro"}, {"mode": "ro", "immutable": "1"}]
    for query in queries[: 1 if has_log else 2]:
        store = Store(sqlite_url(path, **query))
        try:
            if is_current(store.reader):
                return store
        except AWAY:
            store.close()
            continue
        raise NoAnswerError("the-database-is-of-an-earlier")
    raise NoAnswerError("the-database-has-a-log-beside")


def trouble(error: BaseException, otherwise: str = "the database does not answer") -> NoAnswerError:
    """What an error of the database means, without what it holds."""
    found = next((words for mark, words in _FAULTS.items() if mark in _said(error)), None)
    message, hint = found or (otherwise, "check its address, permissions and free space")
    return NoAnswerError(message, hint=hint)

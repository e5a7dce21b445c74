"""Where surveys and reports are kept: SQLite or PostgreSQL, through SQLAlchemy.

What is kept about a respondent is the report and nothing else: no time, no address, no invitation. A report's key is
the random id that the respondent's page made; tables with such keys are stored in the order of the key (SQLite) or have
no column that tells an order (PostgreSQL). An invitation is kept as a hash and deleted by the transaction that takes
its report, so that afterwards no row says which report it was used for. docs/reference/threat-model.md says what
somebody who watches the running database could still see.

Reports are counted as they come, in the same transaction: a live estimate reads the counts, never the rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

with suppress(ImportError):  # not on Windows: there, processes take turns as SQLite lets them
    import fcntl

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql, sqlite

from maskwell.collection.report_cells import Parts
from maskwell.collection.survey import Survey, document_text
from maskwell.errors import InputError

State: TypeAlias = Literal["draft", "open", "closed"]
Verdict: TypeAlias = Literal["accepted", "closed", "invitation", "conflict"]
TOKEN_BYTES = 16
ID_BYTES = 16
EXPORT_ROWS = 10_000
MOST_KEYS = 1_000
_CAN_LOCK = sys.platform != "win32"
RACES = 100
AWAY = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.InternalError, sa.exc.TimeoutError)
"""What is raised where the database does not answer, its disk is full or it has no connection to give."""

metadata = sa.MetaData()
accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("password", sa.String(200), nullable=False),
)
sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token", sa.LargeBinary(32), primary_key=True),
    sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    sa.Column("csrf", sa.String(64), nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
)
links = sa.Table(
    "links",
    metadata,
    sa.Column("token", sa.LargeBinary(32), primary_key=True),
    sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE")),
)
surveys = sa.Table(
    "surveys",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("code", sa.String(32), nullable=False, unique=True),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("fingerprint", sa.String(80), nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("made", sa.Date, nullable=False),
    sqlite_autoincrement=True,  # the number of a deleted survey is not given again: another process may remember it
)
members = sa.Table(
    "members",
    metadata,
    sa.Column("survey", sa.Integer, sa.ForeignKey("surveys.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("account", sa.Integer, sa.ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("role", sa.String(10), nullable=False),
)
invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True),
    sa.Column("token", sa.LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)
reports = sa.Table(
    "reports",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True),
    sa.Column("id", sa.LargeBinary(ID_BYTES), primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
tallies = sa.Table(
    "tallies",
    metadata,
    sa.Column("survey", sa.Integer, primary_key=True),
    sa.Column("shard", sa.SmallInteger, primary_key=True),
    sa.Column("part", sa.String(100), primary_key=True),
    sa.Column("cell", sa.String(200), primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

_OPEN = sa.select(surveys).where(surveys.c.id.in_(sa.bindparam("ids", expanding=True)), surveys.c.state == "open")
_OPEN_SHARED = _OPEN.with_for_update(read=True)  # a survey that is being closed waits for reports on their way
_KNOWN = sa.select(reports.c.id, reports.c.content).where(
    reports.c.survey == sa.bindparam("of"), reports.c.id.in_(sa.bindparam("ids", expanding=True))
)


class NoSurveyError(InputError):
    """There is no survey of this code."""

    code = "no-survey"


class StateError(InputError):
    """The survey is not in a state in which this can be done."""

    code = "survey-state"


class _RacedError(Exception):
    """Another process has taken a report of this batch."""


@dataclass(frozen=True)
class StoredSurvey:
    """A survey with its public code and its state."""

    id: int
    code: str
    state: State
    survey: Survey
    source: str
    made: date

    @cached_property
    def parts(self) -> Parts:
        """What is counted as reports come."""
        return Parts.of(self.survey)


@dataclass(frozen=True)
class Submission:
    """The reports of one person, checked: the id that the page made, the content, and the invitation's hash."""

    survey: int
    id: bytes
    content: str
    invitation: bytes | None = None


def token_hash(token: str) -> bytes:
    """What is kept of an invitation or a session: tokens are random, so that a plain hash hides them."""
    return hashlib.sha256(token.encode()).digest()


class Store:
    """One database.

    Parameters
    ----------
    url
        Of SQLAlchemy: ``sqlite:///surveys.db``, ``postgresql+psycopg://user@host/name``.
    shard
        The number of this process among those that share the database, so that no two wait for the same counts.
    """

    def __init__(self, url: str, *, shard: int = 0) -> None:
        self.url = url
        self.shard = shard
        self.engine = sa.create_engine(url, **_engine_options(url))
        self.reader = self.engine.execution_options(readonly=True)
        self._surveys: dict[int, Survey] = {}
        insert = (sqlite if self.is_sqlite else postgresql).insert
        self._insert_reports = insert(reports).on_conflict_do_nothing().returning(reports.c.id)
        self._add_tallies = _adding(insert(tallies))
        if self.is_sqlite:
            event.listen(self.engine, "connect", _set_up_sqlite)
            event.listen(self.engine, "begin", _begin_at_once)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file of this machine."""
        return self.engine.dialect.name == "sqlite"

    def create(self) -> None:
        """Make the tables, or bring those of an earlier version up to date."""
        from maskwell.collection.migrations import upgrade

        path = self.engine.url.database if self.is_sqlite else None
        with suppress(FileExistsError):
            if path and path != ":memory:":  # other users of the machine have no business with it
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        upgrade(self.engine)

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    def check(self) -> None:
        """Raise where the database does not answer."""
        with self.reader.connect() as connection:
            connection.execute(sa.select(sa.literal(1)))

    # ---- surveys

    def add_survey(self, survey: Survey, source: str = "", *, owner: int | None = None) -> str:
        """Keep a survey as a draft; its public code."""
        code = secrets.token_hex(5)
        with self.engine.begin() as connection:
            row = {"code": code, "state": "draft", "source": source, "made": datetime.now(UTC).date()}
            key = connection.execute(sa.insert(surveys).values(**row, **_document(survey))).inserted_primary_key
            assert key is not None
            if owner is not None:
                connection.execute(sa.insert(members).values(survey=key[0], account=owner, role="owner"))
        return code

    def replace_survey(self, code: str, survey: Survey, source: str = "") -> None:
        """Change a draft; a survey that was opened is frozen."""
        with self.engine.begin() as connection:
            stored = self._read(connection, code)
            _need(stored, "draft")
            change = sa.update(surveys).where(surveys.c.id == stored.id)
            connection.execute(change.values(source=source, **_document(survey)))
        self._surveys.pop(stored.id, None)

    def survey(self, code: str) -> StoredSurvey:
        """The survey of a code."""
        with self.reader.connect() as connection:
            return self._read(connection, code)

    def surveys(self, account: int | None = None) -> list[StoredSurvey]:
        """All surveys, or those that an account may see; the newest first."""
        chosen = sa.select(surveys).order_by(surveys.c.id.desc())
        if account is not None:
            chosen = chosen.join(members, members.c.survey == surveys.c.id).where(members.c.account == account)
        with self.reader.connect() as connection:
            return [self._stored(row) for row in connection.execute(chosen)]

    def open(self, code: str) -> StoredSurvey:
        """Take reports from now on; the survey and its designs cannot be changed any more."""
        return self._move(code, ("draft", "closed"), "open")

    def close_survey(self, code: str) -> StoredSurvey:
        """Take no more reports, and forget in which order and with which others they came."""
        stored = self._move(code, ("open",), "closed")
        if not self.is_sqlite:
            self._write_anew(stored)
        self.compact()
        return stored

    def _write_anew(self, stored: StoredSurvey) -> None:
        """Write all reports in one transaction, by their random ids: PostgreSQL keeps the number of the last one."""
        kept = sa.select(reports).where(reports.c.survey == stored.id).subquery("kept")
        anew = sa.table("anew", *(sa.column(column.name) for column in reports.columns))
        with self.engine.begin() as connection:
            connection.execute(sa.text("CREATE TEMP TABLE anew ON COMMIT DROP AS SELECT * FROM reports WHERE false"))
            connection.execute(sa.insert(anew).from_select(list(kept.columns.keys()), sa.select(kept)))
            connection.execute(sa.delete(reports).where(reports.c.survey == stored.id))
            ordered = sa.select(anew).order_by(anew.c.id)
            connection.execute(sa.insert(reports).from_select(list(reports.columns.keys()), ordered))
            touched = sa.update(tallies).where(tallies.c.survey == stored.id)
            connection.execute(touched.values(count=tallies.c.count))  # else the cells of the last report stand out

    def delete(self, code: str) -> None:
        """Remove a survey with its reports, counts and invitations, and overwrite where they stood."""
        with self.engine.begin() as connection:
            stored = self._read(connection, code)
            for table in (reports, tallies, invitations):
                connection.execute(sa.delete(table).where(table.c.survey == stored.id))
            connection.execute(sa.delete(members).where(members.c.survey == stored.id))
            connection.execute(sa.delete(surveys).where(surveys.c.id == stored.id))
        self._surveys.pop(stored.id, None)
        self.compact()

    def compact(self) -> None:
        """Give back the room of what was deleted, so that no trace of it or of the order of changes is left."""
        if self.is_sqlite:
            connection = self.engine.raw_connection()
            try:
                for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    connection.cursor().execute(statement)
            finally:
                connection.close()
        else:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as autocommit:
                for table in (reports, invitations, tallies):
                    autocommit.exec_driver_sql(f"VACUUM {table.name}")

    def _move(self, code: str, before: tuple[State, ...], after: State) -> StoredSurvey:
        with self.engine.begin() as connection:
            stored = self._read(connection, code)
            _need(stored, *before)
            connection.execute(sa.update(surveys).where(surveys.c.id == stored.id).values(state=after))
            return self._read(connection, code)

    def _read(self, connection: sa.Connection, code: str) -> StoredSurvey:
        known = code.isascii() and code.isalnum()  # PostgreSQL fails on some other characters
        row = connection.execute(sa.select(surveys).where(surveys.c.code == code)).one_or_none() if known else None
        if row is None:
            raise NoSurveyError("there is no survey of this code", hint="see: maskwell survey list", code=code)
        return self._stored(row)

    def _stored(self, row: Any) -> StoredSurvey:
        cached = self._surveys.get(row.id)
        if cached is None or cached.fingerprint != row.fingerprint:
            cached = self._surveys[row.id] = Survey.from_dict(json.loads(row.document))
        return StoredSurvey(row.id, row.code, row.state, cached, row.source, row.made)

    # ---- invitations

    def invite(self, code: str, count: int) -> list[str]:
        """Make single-use tokens; they are told here and never again."""
        tokens = [secrets.token_urlsafe(TOKEN_BYTES) for _ in range(count)]
        with self.engine.begin() as connection:
            stored = self._read(connection, code)
            if stored.survey.access != "invitations":
                raise StateError(
                    "this survey has an open link", hint='write access = "invitations" in its file before opening it'
                )
            rows = [{"survey": stored.id, "token": hashed} for hashed in sorted(map(token_hash, tokens))]
            for at in range(0, count, EXPORT_ROWS):
                connection.execute(sa.insert(invitations), rows[at : at + EXPORT_ROWS])
        return tokens

    def unused_invitations(self, code: str) -> int:
        """How many invitations have brought no report yet."""
        with self.reader.connect() as connection:
            stored = self._read(connection, code)
            chosen = sa.select(sa.func.count()).select_from(invitations).where(invitations.c.survey == stored.id)
            return int(connection.execute(chosen).scalar_one())

    def is_invited(self, stored: StoredSurvey, token: str) -> bool:
        """Whether an invitation is there and unused."""
        with self.reader.connect() as connection:
            key = (invitations.c.survey == stored.id) & (invitations.c.token == token_hash(token))
            return connection.execute(sa.select(invitations.c.survey).where(key)).first() is not None

    # ---- reports

    def accept(self, batch: Sequence[Submission]) -> list[Verdict]:
        """Take many submissions in one transaction: all are on disk when this returns.

        A submission that is already there with the same content is accepted again and changes nothing.
        """
        for _ in range(RACES):
            with self._taking_turns(), suppress(_RacedError), self.engine.begin() as connection:
                return self._accept(connection, batch)
        raise RuntimeError("the same reports are being sent to several processes without an end")

    @contextmanager
    def _taking_turns(self) -> Iterator[None]:
        """Wait for the other processes that write into the same file.

        SQLite would let a process sleep, for up to a tenth of a second, and ask again; a lock of the system wakes the
        next at once. Where it is missed, SQLite's own lock still holds.
        """
        turn = self._turn_file()
        with nullcontext() if turn is None else turn:
            if turn is not None:
                fcntl.flock(turn, fcntl.LOCK_EX)  # given back when the file is closed
            yield

    def _turn_file(self) -> IO[bytes] | None:
        if not _CAN_LOCK or not self.is_sqlite or not self.engine.url.database:
            return None
        with suppress(OSError):  # a full disk: SQLite will tell
            return Path(f"{self.engine.url.database}-turn").open("ab")
        return None

    def _accept(self, connection: sa.Connection, batch: Sequence[Submission]) -> list[Verdict]:
        known = self._known(connection, batch)
        open_surveys = self._open(connection, {one.survey for one in batch})
        verdicts: list[Verdict] = []
        fresh: dict[tuple[int, bytes], Submission] = {}
        spent: set[tuple[int, bytes]] = set()
        for one in batch:
            key = (one.survey, one.id)
            before = known.get(key)
            if before is not None:
                verdicts.append("accepted" if before == one.content else "conflict")
            elif one.survey not in open_surveys:
                verdicts.append("closed")
            elif not self._spend(connection, one, open_surveys[one.survey], spent):
                verdicts.append("invitation")
            else:
                fresh[key] = one
                known[key] = one.content
                verdicts.append("accepted")
        self._insert(connection, [*fresh.values()], open_surveys)
        return verdicts

    def _known(self, connection: sa.Connection, batch: Sequence[Submission]) -> dict[tuple[int, bytes], str]:
        known: dict[tuple[int, bytes], str] = {}
        for survey in {one.survey for one in batch}:
            there = _contents(connection, survey, [one.id for one in batch if one.survey == survey])
            known |= {(survey, key): content for key, content in there.items()}
        return known

    def _open(self, connection: sa.Connection, ids: Iterable[int]) -> dict[int, StoredSurvey]:
        rows = connection.execute(_OPEN if self.is_sqlite else _OPEN_SHARED, {"ids": [*ids]})
        return {row.id: self._stored(row) for row in rows}

    def _spend(
        self, connection: sa.Connection, one: Submission, stored: StoredSurvey, spent: set[tuple[int, bytes]]
    ) -> bool:
        if stored.survey.access == "open":
            return True
        if one.invitation is None or (one.survey, one.invitation) in spent:
            return False
        key = (invitations.c.survey == one.survey) & (invitations.c.token == one.invitation)
        if connection.execute(sa.delete(invitations).where(key)).rowcount != 1:
            return False
        spent.add((one.survey, one.invitation))
        return True

    def _insert(self, connection: sa.Connection, fresh: list[Submission], stored: Mapping[int, StoredSurvey]) -> None:
        if not fresh:
            return
        fresh.sort(key=lambda one: (one.survey, one.id))  # by the random id: not in the order in which they came
        rows = [{"survey": one.survey, "id": one.id, "content": one.content} for one in fresh]
        if len(connection.execute(self._insert_reports, rows).all()) != len(rows):
            raise _RacedError  # another process has just taken one of them: begin again, and find it there
        counted: Counter[tuple[int, str, str]] = Counter()
        for one in fresh:
            for part, cell in stored[one.survey].parts.cells(one.content):
                counted[one.survey, part, cell] += 1
        self._add_counts(connection, counted)

    def _add_counts(self, connection: sa.Connection, counted: Mapping[tuple[int, str, str], int]) -> None:
        rows = [
            {"survey": survey, "shard": self.shard, "part": part, "cell": cell, "count": count}
            for (survey, part, cell), count in sorted(counted.items())
        ]
        connection.execute(self._add_tallies, rows).close()

    # ---- what was collected

    def size(self, stored: StoredSurvey) -> int:
        """How many people have sent their reports."""
        names = stored.parts.names
        counted = self.tally(stored, names[0])
        return sum(counted.get(key, 0) for key in ("n", "")) if names[0].endswith("bits") else sum(counted.values())

    def tally(self, stored: StoredSurvey, part: str) -> dict[str, int]:
        """The counts of one part: how often each of its cells was reported."""
        total = sa.func.sum(tallies.c.count)
        chosen = (
            sa.select(tallies.c.cell, total)
            .where(tallies.c.survey == stored.id, tallies.c.part == part)
            .group_by(tallies.c.cell)
        )
        with self.reader.connect() as connection:
            return {cell: int(count) for cell, count in connection.execute(chosen)}

    def contents(self, stored: StoredSurvey) -> Iterator[str]:
        """The contents of all reports, in the order of their random ids."""
        chosen = sa.select(reports.c.content).where(reports.c.survey == stored.id).order_by(reports.c.id)
        with self.reader.connect().execution_options(stream_results=True) as connection:
            for rows in connection.execute(chosen).partitions(EXPORT_ROWS):
                yield from (row[0] for row in rows)

    def contents_of(self, stored: StoredSurvey, ids: Sequence[bytes]) -> dict[bytes, str]:
        """The contents of those of these submissions that are there."""
        with self.reader.connect() as connection:
            return _contents(connection, stored.id, ids)

    def recount(self, stored: StoredSurvey) -> dict[str, Counter[str]]:
        """The counts of every part from the reports themselves: what the running counts must equal."""
        counted: dict[str, Counter[str]] = {part: Counter() for part in stored.parts.names}
        for content in self.contents(stored):
            for part, cell in stored.parts.cells(content):
                counted[part][cell] += 1
        return counted

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """One state of the database for several reads."""
        with self.reader.connect() as connection, connection.begin():
            yield connection


def _contents(connection: sa.Connection, survey: int, ids: Sequence[bytes]) -> dict[bytes, str]:
    """The contents of those of these submissions that are there."""
    contents: dict[bytes, str] = {}
    for at in range(0, len(ids), MOST_KEYS):
        rows = connection.execute(_KNOWN, {"of": survey, "ids": ids[at : at + MOST_KEYS]})
        contents |= {bytes(key): content for key, content in rows}
    return contents


def _adding(insert: Any) -> sa.Executable:
    """Add to counts that are there, or make them; what it returns makes SQLAlchemy send all rows at once."""
    upsert = insert.on_conflict_do_update(
        index_elements=["survey", "shard", "part", "cell"], set_={"count": tallies.c.count + insert.excluded.count}
    ).returning(tallies.c.count)
    assert isinstance(upsert, sa.Executable)
    return upsert


def _document(survey: Survey) -> dict[str, str]:
    return {"document": document_text(survey), "fingerprint": survey.fingerprint}


def _need(stored: StoredSurvey, *states: State) -> None:
    if stored.state not in states:
        raise StateError(
            f"the survey is {stored.state}; this needs one that is {' or '.join(states)}",
            hint="see: maskwell survey list",
        )


def _engine_options(url: str) -> dict[str, Any]:
    common = {"pool_size": 8, "hide_parameters": True}  # an error goes to the log: it must hold no report
    if url.startswith("sqlite"):
        return {**common, "connect_args": {"timeout": 30, "check_same_thread": False}}
    return {**common, "pool_pre_ping": True}


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by us, below
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_at_once(connection: sa.Connection) -> None:
    """Readers do not wait; a transaction that may write takes the lock when it begins, so that none fails half way."""
    mode = "DEFERRED" if connection.get_execution_options().get("readonly") else "IMMEDIATE"
    connection.exec_driver_sql(f"BEGIN {mode}")

"""Where surveys and reports are kept: what is kept about a respondent is the report and nothing else.

Reports and counts are in leaves, which are the same whichever way the reports came. An invitation is kept as a hash
and deleted by the transaction that takes its report, which also counts it: a live estimate reads the counts alone.
Where results are shown in steps, reports wait to be counted until a step is full, and nothing is shown of them before.
docs/reference/threat-model.md describes what an observer of the running database could still see.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from maskwell.collection.database import Database
from maskwell.collection.leaves import (
    SPAN,
    content_at,
    counts_of,
    id_of,
    leaf_text,
    lines_of,
    record_lines,
    records_of,
    room_of,
)
from maskwell.collection.report_cells import longest_content
from maskwell.collection.stored_survey import (
    Holding,
    NoSurveyError,
    State,
    StateError,
    StoredSurvey,
    Submission,
    Verdict,
    token_hash,
)
from maskwell.collection.survey import Survey
from maskwell.collection.tables import (
    SALT_BYTES,
    accounts,
    holdings,
    imports,
    invitations,
    members,
    reports,
    surveys,
    tallies,
)

TOKEN_BYTES = 16
EXPORT_ROWS = 10_000
READ_AT_ONCE = 1_000
WRITTEN_AT_ONCE = 1_000  # leaves that are written anew by one transaction, for which reports on their way wait
_HELD = (
    sa.select(surveys.c.id, surveys.c.code, surveys.c.state, surveys.c.fingerprint, holdings)
    .join(holdings, holdings.c.survey == surveys.c.id)
    .where(surveys.c.id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(surveys.c.id)
)
_IN_TURN = _HELD.with_for_update(key_share=True)  # both rows: whoever waited for them gets what they are by then
_HOLDING = sa.select(holdings).where(holdings.c.survey == sa.bindparam("of"))
_SET_HOLDING = (
    sa.update(holdings)
    .where(holdings.c.survey == sa.bindparam("of"))
    .values(size=sa.bindparam("total"), waiting=sa.bindparam("held"))
)


class Store(Database):
    """The surveys of one database, and their reports."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._surveys: dict[int, Survey] = {}
        self._taken: dict[int, StoredSurvey] = {}
        self._untidy: set[int] = set()

    def add_survey(self, survey: Survey, source: str = "", *, owner: int | None = None) -> str:
        """Keep a survey as a draft; its public code."""
        code = secrets.token_hex(5)
        with self.engine.begin() as connection:
            row = {"code": code, "state": "draft", "source": source, "made": datetime.now(UTC).date()}
            key = connection.execute(sa.insert(surveys).values(**row, **_document(survey))).inserted_primary_key
            assert key is not None
            held = {"salt": secrets.token_bytes(SALT_BYTES), "size": 0, "waiting": leaf_text([])}
            held["room"] = room_of(longest_content(survey))
            connection.execute(sa.insert(holdings).values(survey=key[0], **held))
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
            holding = sa.update(holdings).where(holdings.c.survey == stored.id)
            connection.execute(holding.values(room=room_of(longest_content(survey))))
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

    def owners(self, stored: StoredSurvey) -> list[str]:
        """The names of the accounts that own a survey."""
        key = (members.c.survey == stored.id) & (members.c.role == "owner")
        chosen = sa.select(accounts.c.name).join(members, members.c.account == accounts.c.id).where(key)
        with self.reader.connect() as connection:
            return [*connection.execute(chosen.order_by(accounts.c.name)).scalars()]

    def open(self, code: str) -> StoredSurvey:
        """Take reports from now on; the survey and its designs cannot be changed any more."""
        with self.engine.begin() as connection:
            stored = self.locked(connection, code)
            _need(stored, "draft", "closed")
            if stored.state == "closed" and stored.survey.results == "after closing":
                raise StateError("this-survey-shows-its-results-after-closing")
            return self._moved(connection, stored, "open")

    def close_survey(self, code: str) -> StoredSurvey:
        """Take no more reports, count those that wait, and forget which came last."""
        with self.engine.begin() as connection:
            stored = self.locked(connection, code)
            _need(stored, "open")
            # Those that wait are counted; fewer than a step go on waiting where others were told.
            holding, step = self.held(connection, stored), stored.survey.results
            if isinstance(step, int) and (len(holding.waiting) >= step or len(holding.waiting) == holding.size):
                self.add_counts(connection, stored, Counter(holding.waiting.values()))
                connection.execute(_SET_HOLDING, {"of": stored.id, "total": holding.size, "held": leaf_text([])})
            stored = self._moved(connection, stored, "closed")
        self._untidy.add(stored.id)
        self.tidy()
        self.compact()
        return stored

    def _moved(self, connection: sa.Connection, stored: StoredSurvey, after: State) -> StoredSurvey:
        connection.execute(sa.update(surveys).where(surveys.c.id == stored.id).values(state=after))
        return replace(stored, state=after)

    def locked(self, connection: sa.Connection, code: str) -> StoredSurvey:
        """A survey that nobody else changes, nor takes reports for, until the transaction ends."""
        self._in_turn(connection, [self._read(connection, code).id])
        return self._read(connection, code)

    def tidy(self) -> bool:
        """Remove traces of which reports came last, of the surveys that took some; False where others are reading.

        In SQLite this is the log of transactions. PostgreSQL keeps the number of the transaction with every row: leaves
        are written anew, some at a time, and what they replace is given free.
        """
        if self.is_sqlite:
            with self._taking_turns():
                return self._empty_log()
        touched = sorted(self._untidy)
        # before they are tidied: whoever takes reports meanwhile adds them again
        self._untidy.difference_update(touched)
        for survey in touched:
            for table in (reports, tallies):
                self._write_anew(table, survey)
        if touched:
            self.compact()
        return True

    def suspect(self) -> None:
        """Take all open surveys for untidy: a process before this one may have ended before it tidied up."""
        with self.reader.connect() as connection:
            self._untidy.update(connection.execute(sa.select(surveys.c.id).where(surveys.c.state == "open")).scalars())

    @property
    def rest(self) -> float:
        """Seconds between two times of tidying: an empty log costs little, leaves that are written anew cost more."""
        return 0.25 if self.is_sqlite else 60

    def _write_anew(self, table: sa.Table, survey: int) -> None:
        """Write all leaves of a survey in the order of their places, so many in one transaction."""
        end = (survey + 1) * SPAN
        chosen = sa.select(table).where(table.c.place >= sa.bindparam("at"), table.c.place < end)
        ordered, at = chosen.order_by(table.c.place).limit(WRITTEN_AT_ONCE), survey * SPAN
        while at < end:
            with self.engine.begin() as connection:
                self._in_turn(connection, [survey])
                rows = [dict(row) for row in connection.execute(ordered, {"at": at}).mappings()]
                if not rows:
                    return
                last = rows[-1]["place"]
                connection.execute(sa.delete(table).where(table.c.place >= at, table.c.place <= last))
                connection.execute(sa.insert(table), rows)
                at = last + 1

    def delete(self, code: str) -> None:
        """Remove a survey with its reports, counts and invitations, and overwrite where they stood."""
        with self.engine.begin() as connection:
            stored = self.locked(connection, code)
            for table in (reports, tallies):
                at = (table.c.place >= stored.places.start) & (table.c.place < stored.places.stop)
                connection.execute(sa.delete(table).where(at))
            for table in (holdings, invitations, imports):
                connection.execute(sa.delete(table).where(table.c.survey == stored.id))
            connection.execute(sa.delete(members).where(members.c.survey == stored.id))
            connection.execute(sa.delete(surveys).where(surveys.c.id == stored.id))
        self._surveys.pop(stored.id, None)
        self.compact()

    def _read(self, connection: sa.Connection, code: str) -> StoredSurvey:
        known = code.isascii() and code.isalnum()  # PostgreSQL fails on some other characters
        row = connection.execute(sa.select(surveys).where(surveys.c.code == code)).one_or_none() if known else None
        if row is None:
            raise NoSurveyError("there-is-no-survey-of-this-code", code=code)
        return self._stored(row)

    def _stored(self, row: Any) -> StoredSurvey:
        cached = self._surveys.get(row.id)
        if cached is None or cached.fingerprint != row.fingerprint:
            cached = self._surveys[row.id] = Survey.from_dict(json.loads(row.document))
        return StoredSurvey(row.id, row.code, row.state, cached, row.source, row.made)

    def invite(self, code: str, count: int) -> list[str]:
        """Make single-use tokens; they are returned here and never again."""
        tokens = [secrets.token_urlsafe(TOKEN_BYTES) for _ in range(count)]
        with self.engine.begin() as connection:
            stored = self._read(connection, code)
            if stored.survey.access != "invitations":
                raise StateError("this-survey-has-an-open-link")
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

    def accept(self, batch: Sequence[Submission]) -> list[Verdict]:
        """Take many submissions in one transaction: all are on disk when this returns."""
        with self.writing(*{one.survey for one in batch}) as connection:
            return self.take(connection, batch)

    @contextmanager
    def writing(self, *ids: int) -> Iterator[sa.Connection]:
        """One transaction that takes reports of these surveys; what it took is on disk when it ends."""
        with self._taking_turns(), self.engine.begin() as connection:
            yield connection
        self._untidy.update(ids)

    def take(self, connection: sa.Connection, batch: Sequence[Submission]) -> list[Verdict]:
        """Take submissions within a transaction that others belong to, too."""
        rows = self._in_turn(connection, {one.survey for one in batch})
        takings: dict[int, _Taking] = {}
        for row in rows:  # a document is read once, for it is long and frozen once the survey was open
            stored = self._taken.get(row.id)
            if stored is None or (stored.survey.fingerprint, stored.state) != (row.fingerprint, row.state):
                stored = self._taken[row.id] = self._read(connection, row.code)
            takings[row.id] = _Taking(self, connection, stored, Holding.of(row))
        for key, taking in takings.items():
            taking.look([one.id for one in batch if one.survey == key])
        spent: set[tuple[int, bytes]] = set()
        verdicts: list[Verdict] = []
        for one in batch:
            of_survey = takings.get(one.survey)
            before = None if of_survey is None else of_survey.known.get(one.id)
            if before is not None:
                verdicts.append("accepted" if before == one.content else "conflict")
            elif of_survey is None or of_survey.stored.state != "open":
                verdicts.append("closed")
            elif not self._spend(connection, one, of_survey.stored, spent):
                verdicts.append("invitation")
            else:
                of_survey.take(one)
                verdicts.append("accepted")
        for taking in takings.values():
            taking.write()
        return verdicts

    def _in_turn(self, connection: sa.Connection, ids: Iterable[int]) -> Sequence[Any]:
        """What is held of surveys, which no other transaction takes reports for until this one ends."""
        return connection.execute(_HELD if self.is_sqlite else _IN_TURN, {"ids": [*ids]}).all()

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

    def held(self, connection: sa.Connection, stored: StoredSurvey) -> Holding:
        """What is held of a survey."""
        return Holding.of(connection.execute(_HOLDING, {"of": stored.id}).one())

    def add_counts(self, connection: sa.Connection, stored: StoredSurvey, contents: Mapping[str, int]) -> None:
        """Count contents, each of which came so often."""
        added: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for (part, cell), count in _cells(stored, contents).items():
            added[stored.places.start + stored.parts.leaf(part, cell)][cell] += count
        before = self.read(connection, tallies, added)
        for place, leaf in before.items():
            added[place].update(counts_of(lines_of(leaf)))
        lines = {place: [f"{cell} {count}" for cell, count in cells.items()] for place, cells in added.items()}
        self.put(connection, tallies, lines)

    def size(self, stored: StoredSurvey) -> int:
        """How many people have sent their reports."""
        with self.reader.connect() as connection:
            chosen = sa.select(holdings.c.size).where(holdings.c.survey == stored.id)
            return int(connection.execute(chosen).scalar_one())

    def about(self, stored: StoredSurvey, **more: Any) -> dict[str, Any]:
        """What is said of a survey wherever it is listed."""
        survey = stored.survey
        return {
            "code": stored.code,
            "title": survey.title[survey.languages[0]],
            "state": stored.state,
            "reports": self.size(stored),
            **more,
            "fingerprint": survey.fingerprint,
        }

    def counted(self, stored: StoredSurvey) -> int:
        """How many of them are counted: all, or fewer where the survey shows its results in steps."""
        with self.reader.connect() as connection:
            holding = self.held(connection, stored)
        return holding.size - len(holding.waiting)

    def tally(self, stored: StoredSurvey, part: str) -> dict[str, int]:
        """The counts of one part: how often each of its cells was reported."""
        stored.check_told()
        with self.reader.connect() as connection:
            return self._tally(connection, stored, part)

    def _tally(self, connection: sa.Connection, stored: StoredSurvey, part: str) -> dict[str, int]:
        leaves = stored.parts.leaves[part]
        first, end = stored.places.start + leaves.start, stored.places.start + leaves.stop
        chosen = sa.select(tallies.c.lines).where(tallies.c.place >= first, tallies.c.place < end)
        rows = connection.execute(chosen).scalars()
        return {cell: count for leaf in rows for cell, count in counts_of(lines_of(leaf)).items()}

    def contents(self, stored: StoredSurvey) -> Iterator[str]:
        """The contents of all reports that are counted, in an order that reveals nothing."""
        stored.check_told()
        with self.snapshot() as connection:
            waiting = self.held(connection, stored).waiting
            for _, records in self._leaves(connection, stored):
                yield from (content for key, content in records.items() if key not in waiting)

    def records(self, stored: StoredSurvey) -> Iterator[tuple[bytes, str]]:
        """All reports with their ids."""
        with self.snapshot() as connection:
            for _, records in self._leaves(connection, stored):
                yield from records.items()

    def _leaves(self, connection: sa.Connection, stored: StoredSurvey) -> Iterator[tuple[int, dict[bytes, str]]]:
        at = (reports.c.place >= stored.places.start) & (reports.c.place < stored.places.stop)
        chosen = sa.select(reports).where(at).order_by(reports.c.place).execution_options(stream_results=True)
        for rows in connection.execute(chosen).partitions(READ_AT_ONCE):
            yield from ((row.place, records_of([row.lines])) for row in rows)

    def differences(self, stored: StoredSurvey) -> list[str]:
        """What is not as it must be, in words: where reports stand, how many there are, and how they are counted."""
        size = misplaced = 0
        contents: Counter[str] = Counter()
        with self.snapshot() as connection:
            holding = self.held(connection, stored)
            missing = len(holding.waiting)
            for place, records in self._leaves(connection, stored):
                size += len(records)
                misplaced += sum(holding.leaves.place(key, holding.count) != place for key in records)
                counted = [one for key, one in records.items() if holding.waiting.get(key) != one]
                missing -= len(records) - len(counted)
                contents.update(counted)
            parts = {part: self._tally(connection, stored, part) for part in stored.parts.names}
        kept = {(part, cell): count for part, counts in parts.items() for cell, count in counts.items()}
        cells = _cells(stored, contents)
        differing = sum(kept.get(pair, 0) != cells[pair] for pair in kept.keys() | cells)
        wrong = {
            f"{size:,} reports are there, and {holding.size:,} were taken": size != holding.size,
            f"{misplaced:,} reports are not where their ids belong": misplaced > 0,
            f"{missing:,} reports to be counted are missing": missing > 0,
            f"{differing:,} counts are not those of the reports": differing > 0,
        }
        return [words for words, is_wrong in wrong.items() if is_wrong]


class _Taking:
    """Reports of one survey that are taken by one transaction."""

    def __init__(self, store: Store, connection: sa.Connection, stored: StoredSurvey, holding: Holding) -> None:
        self.store, self.connection, self.stored, self.holding = store, connection, stored, holding
        self.known: dict[bytes, str] = {}
        self.fresh: dict[bytes, str] = {}
        self._places: dict[bytes, int] = {}
        self._leaves: dict[int, str] = {}

    def look(self, ids: Iterable[bytes]) -> None:
        """Read the leaves in which these ids would stand, and which of them stand there."""
        leaves, count = self.holding.leaves, self.holding.count
        self._places = {key: leaves.place(key, count) for key in ids}
        split = leaves.split(count, leaves.count(self.holding.size + len(self._places)))  # if all of them are taken
        self._leaves = self.store.read(self.connection, reports, {*self._places.values(), *split})
        for key, place in self._places.items():
            content = content_at(self._leaves.get(place, ""), key)
            if content is not None:
                self.known[key] = content

    def take(self, one: Submission) -> None:
        self.fresh[one.id] = self.known[one.id] = one.content

    def write(self) -> None:
        """Write what was taken: the leaves it belongs to, and the counts that may be shown."""
        if not self.fresh:
            return
        leaves, before, size = self.holding.leaves, self.holding.count, self.holding.size + len(self.fresh)
        after = leaves.count(size)
        split = leaves.split(before, after)
        kept = {self._places[key] for key in self.fresh} - split
        lines = {place: lines_of(self._leaves.get(place, "")) for place in kept}
        lines |= {place: [] for place in (*split, *range(leaves.first + before, leaves.first + after))}
        moved = [line for place in split for line in lines_of(self._leaves.get(place, ""))]
        for line in (*moved, *record_lines(self.fresh)):
            lines[leaves.place(id_of(line), after)].append(line)
        self.store.put(self.connection, reports, lines, leaves.room)
        self._count(size)

    def _count(self, size: int) -> None:
        waiting = {**self.holding.waiting, **self.fresh}
        told = _told(self.stored.survey.results, [*waiting])
        self.store.add_counts(self.connection, self.stored, Counter(waiting.pop(key) for key in told))
        held = leaf_text(record_lines(waiting))
        self.connection.execute(_SET_HOLDING, {"of": self.stored.id, "total": size, "held": held})


def _told(results: str | int, waiting: list[bytes]) -> list[bytes]:
    """Which of those that wait are counted now: whole steps, chosen by chance, and at least one step goes on waiting.

    So any two results that differ do so by a step or more, also the last one, when the survey is closed.
    """
    if not isinstance(results, int):
        return waiting
    return secrets.SystemRandom().sample(waiting, max(0, len(waiting) // results - 1) * results)


def _cells(stored: StoredSurvey, contents: Mapping[str, int]) -> Counter[tuple[str, str]]:
    """How often each cell of each part comes in contents that come so often."""
    cells: Counter[tuple[str, str]] = Counter()
    for content, count in contents.items():
        for pair in stored.parts.cells(content):
            cells[pair] += count
    return cells


def _document(survey: Survey) -> dict[str, str]:
    text = json.dumps(survey.to_dict(), ensure_ascii=False, separators=(",", ":"))
    return {"document": text, "fingerprint": survey.fingerprint}


def _need(stored: StoredSurvey, *states: State) -> None:
    if stored.state not in states:
        raise StateError("the-survey-is-this-needs-one", state=stored.state, states=" or ".join(states))

"""Reports from elsewhere: a file is checked row by row, then taken by one transaction: all of its rows, or none.

Of a file without ids a salted hash that is slow to compute is kept: a thief of the database pays for each guess.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, repeat
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from argon2.low_level import Type, hash_secret_raw

from maskwell.collection.database import AWAY
from maskwell.collection.foreign_exports import Entry, Export, check_no_export, read_export
from maskwell.collection.report_cells import content_of
from maskwell.collection.results import report_label
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey, Submission
from maskwell.collection.tables import ID_BYTES, imports
from maskwell.core.labels import texts
from maskwell.engines.arrow_arrays import require
from maskwell.engines.row_sources import open_source
from maskwell.errors import DataFileError, ReportError

MOST_ROWS = 10_000_000  # of one import: a small compressed file can hold billions
_BATCH = 5_000
_REMEMBERED = 100_000
_SLOW: Mapping[str, Any] = {"time_cost": 3, "memory_cost": 65536, "parallelism": 4, "hash_len": 32, "type": Type.ID}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ t]\d\d:.*)?", re.ASCII)
_LONGEST = 40


class ImportedBeforeError(ReportError):
    """A file without ids was imported before."""

    code = "imported-before"


@dataclass(frozen=True)
class Imported:
    """What came of an import: rows that were taken now, were known before, or were left out by the platform."""

    source: str
    taken: int
    known: int
    left_out: int
    has_ids: bool


def import_reports(
    store: Store, stored: StoredSurvey, path: str | Path, source: str | None = None, *, again: bool = False
) -> Imported:
    """Take all rows of a file, or none; ``again`` takes a file without ids that was imported before."""
    export = read_export(stored.survey, path, source)
    if export is None:
        export = Export("table", has_ids=False, entries=_plain_rows(stored, path, is_sure=source is not None))
    with tempfile.TemporaryFile("w+", encoding="ascii") as spool:
        count, left_out, hashed = _write_checked(spool, stored, export.entries)
        mark = None if export.has_ids else _mark(store, stored, hashed)
        with store.writing(stored.id) as connection:
            taken = _take(store, connection, stored, spool, mark, again=again)
    with suppress(*AWAY):  # the rows are counted; the service, or the next import, tidies up
        store.tidy()
    return Imported(export.kind, taken, count - taken, left_out, export.has_ids)


def _content(stored: StoredSurvey, row: Mapping[str, Any], codes: Mapping[str, Mapping[str, int]], number: int) -> str:
    given = {name: value for name, value in row.items() if value not in (None, "")}
    reports = {name: _report(stored, name, value, codes, number) for name, value in given.items()}
    if set(reports) != {question.name for question in stored.survey.asked(reports)}:
        raise ReportError("data-row-does-not-hold", number=number)
    return content_of(stored.survey, reports)


def _report(stored: StoredSurvey, name: str, value: Any, codes: Mapping[str, Mapping[str, int]], number: int) -> Any:
    question = stored.survey.by_name[name]
    if str(value) not in codes[name] and not question.check_report(value):
        raise ReportError("column-the-value-in-data-row", name=name, number=number, values=repr(value))
    return codes[name].get(str(value), value)


def _plain_rows(stored: StoredSurvey, path: str | Path, *, is_sure: bool) -> Iterator[Entry]:
    """The rows of a table, one batch after the other; a table that may be an export, packed, must be called one."""
    names = [question.name for question in stored.survey.questions]
    number = 0
    with open_source(path if isinstance(path, str) else str(path)) as source:
        if not is_sure:
            check_no_export(path, source.schema.names)
        header = source.schema.names
        at = [_place(path, header, name) for name in names]
        rest = sorted({*range(len(header))} - {*at}, key=lambda place: (header[place], place))
        others = [header[place] for place in rest]
        for batch in source.batches():
            asked = zip(*(batch.column(place).to_pylist() for place in at), strict=True)
            beside = zip(*(shown(batch.column(place)) for place in rest), strict=True) if rest else repeat(())
            for values, more in zip(asked, beside, strict=False):
                number += 1
                yield number, None, dict(zip(names, values, strict=True)), dict(zip(others, more, strict=True))


def _place(path: str | Path, header: list[str], name: str) -> int:
    if name not in header:
        raise DataFileError("path-has-no-column-name-give", path=path, name=name)
    if header.count(name) > 1:
        raise DataFileError("has-two-columns-named", path=path, name=name)
    return header.index(name)


def _write_checked(spool: IO[str], stored: StoredSurvey, entries: Iterable[Entry]) -> tuple[int, int, bytes]:
    """Keep rows until all are checked; how many there are, how many the platform leaves out, and their hash."""
    codes = {
        one.name: {texts(report_label(one, str(code)))[0]: code for code in range(one.reports or 0)}
        for one in stored.survey.questions
    }
    seen: dict[str, str] = {}
    count = left_out = 0
    hashed = RowHash()
    for number, key, row, others in entries:
        if row is None:
            left_out += 1
            continue
        count += 1
        if count > MOST_ROWS:
            raise DataFileError("the-file-has-more-than-rows-split", most_rows=MOST_ROWS)
        content = seen.get(given := repr(row)) or _content(stored, row, codes, number)
        if len(seen) < _REMEMBERED:
            seen[given] = content
        if key is None:
            hashed.add(content, others)
        spool.write(f"{number} {(key or secrets.token_bytes(ID_BYTES)).hex()} {content}\n")
    return count, left_out, hashed.digest()


def _blocks(stored: StoredSurvey, spool: IO[str]) -> Iterator[tuple[list[int], list[Submission]]]:
    spool.seek(0)
    while lines := list(islice(spool, _BATCH)):
        fields = [line.rstrip("\n").split(" ", 2) for line in lines]
        numbers = [int(number) for number, _, _ in fields]
        yield numbers, [Submission(stored.id, bytes.fromhex(key), content) for _, key, content in fields]


def _take(
    store: Store, connection: sa.Connection, stored: StoredSurvey, spool: IO[str], mark: bytes | None, *, again: bool
) -> int:
    """Take all rows within one transaction; how many were not there before."""
    check_taking(store.locked(connection, stored.code))
    if mark is not None:
        _note(connection, stored, mark, again=again)
    before = store.held(connection, stored).size
    for numbers, block in _blocks(stored, spool):
        for number, verdict in zip(numbers, store.take(connection, block), strict=True):
            if verdict == "conflict":
                raise ReportError("data-row-was-imported-before", number=number)
            assert verdict == "accepted", verdict  # the survey is open, has an open link, and is locked
    return store.held(connection, stored).size - before


def check_taking(stored: StoredSurvey) -> None:
    """Raise unless a survey takes reports without an invitation."""
    if stored.state != "open":
        raise ReportError("the-survey-is-state", state=stored.state, code=stored.code)
    if stored.survey.access != "open":
        raise ReportError("this-survey-needs-an-invitation-for")


def _mark(store: Store, stored: StoredSurvey, hashed: bytes) -> bytes:
    """What is kept of a file without ids: a slow hash of the hash of its rows, salted by the survey."""
    with store.reader.connect() as connection:
        salt = store.held(connection, stored).leaves.salt
    return hash_secret_raw(hashed, hashlib.sha256(b"import" + salt).digest(), **_SLOW)


def _note(connection: sa.Connection, stored: StoredSurvey, mark: bytes, *, again: bool) -> None:
    """Keep that a file was imported; an error where it was before, unless it is to be taken again."""
    key = (imports.c.survey == stored.id) & (imports.c.mark == mark)
    if connection.execute(sa.select(imports.c.survey).where(key)).first() is None:
        connection.execute(sa.insert(imports).values(survey=stored.id, mark=mark))
    elif not again:
        raise ImportedBeforeError("these-rows-were-imported-before")


class RowHash:
    """A hash of rows with all their columns, the same whatever the container: 1.50 in CSV is 1.5 in Parquet."""

    def __init__(self) -> None:
        self._hashed = hashlib.sha256()
        self._meant: dict[str, str] = {}

    def add(self, content: str, others: Mapping[str, Any]) -> None:
        """The next row: its reports, and its other columns by name; columns without a value do not count."""
        cells = sorted((name, meant) for name, value in others.items() if (meant := self._cell(value)))
        self._hashed.update(json.dumps([content, cells]).encode() + b"\n")

    def digest(self) -> bytes:
        """The hash of all rows so far."""
        return self._hashed.digest()

    def _cell(self, value: Any) -> str:
        if value is None or value == "":
            return ""
        is_nested = isinstance(value, Mapping | list)
        text = json.dumps(value, sort_keys=True, default=str) if is_nested else str(value)
        if text not in self._meant:
            if len(self._meant) >= _REMEMBERED:
                self._meant.clear()
            self._meant[text] = meant_by(text)
        return self._meant[text]


def meant_by(text: str) -> str:
    """What a value says, however a container writes it; nothing for a missing one.

    >>> [meant_by(text) for text in ("1.50", "7.0", "1e3", " True", "NaN", "2024-05-01 00:00:00", "2024-05-01T10:00Z")]
    ['1.5', '7', '1000', 'true', '', '2024-05-01', '2024-05-01T10:00:00']
    """
    plain = text.strip().lower()
    if plain == "nan":
        return ""
    if len(plain) <= _LONGEST and _NUMBER.fullmatch(plain):
        number = float(plain)
        whole = plain.lstrip("+-").isdecimal()
        return str(int(plain)) if whole else f"{number:.15g}" if math.isfinite(number) else plain
    if len(plain) <= _LONGEST and _MOMENT.fullmatch(plain):
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(plain.upper())
            moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
            return moment.isoformat().removesuffix("T00:00:00")
    return plain


def shown(column: Any) -> list[Any]:
    """The values of a column as texts: what Arrow has no text for as its parts, and what cannot be read as nothing."""
    arrow = require()
    for made in (lambda: column.cast(arrow.string()).to_pylist(), column.to_pylist):
        try:
            return list(made())
        except (arrow.ArrowException, ValueError, TypeError, OverflowError, ImportError):
            continue
    return [None] * len(column)

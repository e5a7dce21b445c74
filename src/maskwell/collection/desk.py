"""What somebody at the terminal does with surveys: each method is one command, and gives what ``--json`` prints.

It works on the database itself, beside the running service: whoever can read the database's file or has its password is
its owner.

A backup is a copy of the whole database in one SQLite file, which a database of either kind can take back.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from maskwell.collection.accounts import Accounts
from maskwell.collection.exports import estimate_command, export_folder
from maskwell.collection.foreign_exports import Export, read_export
from maskwell.collection.report_cells import content_of
from maskwell.collection.results import question_result, report_label
from maskwell.collection.settings import Settings
from maskwell.collection.store import NoDatabaseError, StateError, Store, StoredSurvey, Submission
from maskwell.collection.survey import LARGEST, Question, Survey
from maskwell.collection.tables import ID_BYTES, accounts, holdings, links, metadata, sessions, surveys
from maskwell.core.arguments import as_count
from maskwell.core.atomic import atomic_file
from maskwell.core.documents import json_form, read_document
from maskwell.core.labels import texts
from maskwell.core.phrases import Printed, shorten, visible
from maskwell.engines.row_sources import open_source
from maskwell.errors import DataFileError, MaskwellError, ParameterError, PlanError, ReportError

MOST_INVITATIONS = 1_000_000
_BATCH = 5_000


class Desk:
    """The commands of ``maskwell survey`` on one database."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, database: str | None = None, *, new: bool = True) -> Desk:
        """The desk of a database, by default that of the service in this folder; its tables are brought up to date.

        Unless a ``new`` one may be made, a database that is a file must be there.
        """
        url = Settings.load(database=database).database
        try:
            store = Store(url)
            if not (new or store.is_there):
                raise NoDatabaseError(
                    f"there is no database {shorten(visible(str(store.engine.url.database)), 40)}",
                    hint="start the service, keep a survey (maskwell survey add), or name another: --database URL",
                )
            store.create()
        except MaskwellError:
            raise
        except (sa.exc.SQLAlchemyError, ImportError, OSError, ValueError) as error:
            raise ParameterError(
                "the database cannot be opened: it is not there, or its address is wrong",
                hint="such as sqlite:///surveys.db or postgresql+psycopg://user@host/name",
            ) from error
        return cls(store)

    def add(self, path: str | Path) -> dict[str, Any]:
        """Keep a survey file as a draft."""
        survey, source = read_survey(path)
        return self._about(self.store.survey(self.store.add_survey(survey, source)))

    def surveys(self) -> list[dict[str, Any]]:
        """All surveys, the newest first."""
        return [self._about(stored) for stored in self.store.surveys()]

    def open_survey(self, code: str) -> dict[str, Any]:
        """Take reports from now on."""
        return self._about(self.store.open(code))

    def close_survey(self, code: str) -> dict[str, Any]:
        """Take no more reports."""
        return self._about(self.store.close_survey(code))

    def invite(self, code: str, count: Any, output: str | Path, address: str = "") -> dict[str, Any]:
        """Write single-use links to a new file."""
        number = as_count(count, "count")
        if not 1 <= number <= MOST_INVITATIONS:
            raise ParameterError(f"count = {number}", hint=f"give a whole number from 1 to {MOST_INVITATIONS}")
        with atomic_file(Path(output), force=False, again="another name") as file:
            tokens = self.store.invite(code, number)
            file.write("".join(f"{address.rstrip('/')}/s/{code}#{token}\n" for token in tokens).encode())
        return {"code": code, "invitations": number, "output": str(output)}

    def results(self, code: str) -> dict[str, Any]:
        """The shares of all questions so far."""
        stored = self.store.survey(code)
        questions = [question_result(self.store, stored, question.name) for question in stored.survey.questions]
        told = {"counted": self.store.counted(stored), "questions": [question.to_dict() for question in questions]}
        return {**self._about(stored), **json_form(told)}

    def result_lines(self, content: dict[str, Any]) -> list[str]:
        """The same for people."""
        lines = [f"{content['title']}: {content['reports']:,} respondents, {content['state']}"]
        if content["counted"] < content["reports"]:
            lines.append(f"{content['counted']:,} of them are counted so far: results are shown in steps")
        for question in content["questions"]:
            lines += ["", f"{question['name']}  ({question['n']:,} {'answers' if question['open'] else 'reports'})"]
            for one in question["estimates"]:
                low, high = one["interval"]
                share = f"{Printed(one['estimate']):8.4f}  [{Printed(low):.4f}, {Printed(high):.4f}]"
                lines.append(f"  {one['category']!s:<24} {share}")
            lines += [f"  note: {flag}" for flag in question["flags"]]
        return lines

    def export(self, code: str, output: str | Path, kind: str = "csv") -> dict[str, Any]:
        """Write everything into a new folder."""
        stored, folder = self.store.survey(code), Path(output)
        if folder.exists():
            raise DataFileError(f"{folder} exists", hint="give a folder that does not exist yet")
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as partial:
            made = Path(partial) / folder.name
            made.mkdir()
            files = export_folder(self.store, stored, kind, made)
            made.rename(folder)
        data = folder / f"reports.{kind}"
        commands = [f"next: {estimate_command(q, data)}" for q in stored.survey.sensitive]
        return {**self._about(stored), "rows": self.store.counted(stored), "files": files, "next": commands}

    def check(self, code: str) -> dict[str, Any]:
        """Count everything again from the reports, and say what differs."""
        stored = self.store.survey(code)
        differences = self.store.differences(stored)
        about = self._about(stored)
        return {**about, "counted": self.store.counted(stored), "equal": not differences, "differences": differences}

    def check_lines(self, content: dict[str, Any]) -> list[str]:
        """The same for people."""
        if content["equal"]:
            told = f"{content['reports']:,} reports, {content['counted']:,} of them counted"
            return [f"equal: {told}; a recount tells the same"]
        restore = "keep a copy of the database, and restore a backup: maskwell survey restore"
        return [*(f"differs: {one}" for one in content["differences"]), f"next: {restore}"]

    def delete(self, code: str, *, sure: bool) -> dict[str, Any]:
        """Delete for good."""
        about = self._about(self.store.survey(code))
        if not sure:
            raise ParameterError(
                f"{about['reports']:,} reports of this survey would be deleted for good", hint="add --yes to do it"
            )
        self.store.delete(code)
        return about

    def import_file(self, code: str, path: str | Path, source: str | None = None) -> dict[str, Any]:
        """Take reports from elsewhere: an export of a platform, of a tablet, or a table; all rows, or none.

        Rows that have ids are counted once, however often they are imported.
        """
        stored = self._taking(code)
        export = read_export(stored.survey, path, source)
        rows = _plain_rows(stored, path) if export is None else export.rows
        contents = list(_contents(stored, rows))
        if export is None or export.ids is None:
            fresh = [Submission(stored.id, secrets.token_bytes(ID_BYTES), content) for content in contents]
        else:
            fresh = self._fresh(stored, export, contents)
        waiting = iter(fresh)
        while block := list(islice(waiting, _BATCH)):
            self.store.accept(block)
        return {
            **self._about(stored),
            "source": "table" if export is None else export.kind,
            "imported": len(fresh),
            "known": len(contents) - len(fresh),
            "left_out": 0 if export is None else export.left_out,
            "doubles": export is None or export.ids is None,
        }

    def import_lines(self, content: dict[str, Any]) -> list[str]:
        """The same for people."""
        lines = [f"{content['imported']:,} rows imported"]
        if content["known"]:
            lines.append(f"{content['known']:,} rows were imported before and are counted once")
        if content["left_out"]:
            lines.append(f"{content['left_out']:,} rows left out: unfinished, rejected or a trial, says the platform")
        if content["doubles"]:
            lines.append("note: the rows have no ids; importing this file again would count them twice")
        return lines

    def _taking(self, code: str) -> StoredSurvey:
        """A survey that takes reports without an invitation."""
        stored = self.store.survey(code)
        if stored.state != "open":
            raise ReportError(f"the survey is {stored.state}", hint=f"open it: maskwell survey open {code}")
        if stored.survey.access != "open":
            raise ReportError(
                "this survey needs an invitation for each report", hint="import into one with an open link"
            )
        return stored

    def _fresh(self, stored: StoredSurvey, export: Export, contents: list[str]) -> list[Submission]:
        """The rows that are not there yet; an error where one is there with other reports."""
        assert export.ids is not None
        known = self.store.contents_of(stored, export.ids)
        for (number, _), key, content in zip(export.rows, export.ids, contents, strict=True):
            if known.get(key, content) != content:
                raise ReportError(
                    f"data row {number} was imported before with other reports",
                    hint="a report is drawn once: find out who changed the row, and remove it from the file",
                )
        pairs = zip(export.ids, contents, strict=True)
        return [Submission(stored.id, key, content) for key, content in pairs if key not in known]

    def embed(self, code: str, question: str, platform: str, output: str | Path) -> dict[str, Any]:
        """Write the snippet of one question for a platform to a new file."""
        from maskwell.collection.embeds import embed_text

        stored = self._asked_elsewhere(code)
        return self._written(stored, output, embed_text(stored.survey, question, platform).encode())

    def offline(self, code: str, output: str | Path) -> dict[str, Any]:
        """Write the survey as one page for tablets to a new file."""
        from maskwell.collection.offline import offline_page

        stored = self._asked_elsewhere(code)
        return self._written(stored, output, offline_page(stored.survey).encode())

    def form(self, code: str, device: str, output: str | Path) -> dict[str, Any]:
        """Write the survey as a form for ODK and KoBo to a new file."""
        from maskwell.collection.forms import form_bytes

        stored = self._asked_elsewhere(code)
        return self._written(stored, output, form_bytes(stored.survey, device))

    def _asked_elsewhere(self, code: str) -> StoredSurvey:
        stored = self.store.survey(code)
        check_elsewhere(stored)
        return stored

    def _written(self, stored: StoredSurvey, output: str | Path, content: bytes) -> dict[str, Any]:
        with atomic_file(Path(output), force=False, again="another name") as file:
            file.write(content)
        return {**self._about(stored), "output": str(output), "bytes": len(content)}

    def keys(self) -> dict[str, Any]:
        """All keys for programs, without the keys themselves."""
        return {"keys": [key.to_dict() for key in Accounts(self.store).list_keys()]}

    def revoke(self, handle: str) -> dict[str, Any]:
        """End one key."""
        return Accounts(self.store).revoke(handle).to_dict()

    def set_password(self, name: str, password: str) -> dict[str, Any]:
        """Give an account another password; its sessions and keys end."""
        return {"account": name, "ended": Accounts(self.store).reset_password(name, password)}

    def backup(self, output: str | Path) -> dict[str, Any]:
        """Write a copy of the whole database, one state of it, while the service runs."""
        return write_backup(self.store, Path(output))

    def restore(self, path: str | Path) -> dict[str, Any]:
        """Read a copy into a database without surveys."""
        return read_backup(self.store, Path(path))

    def _about(self, stored: StoredSurvey) -> dict[str, Any]:
        survey = stored.survey
        return {
            "code": stored.code,
            "title": survey.title[survey.languages[0]],
            "state": stored.state,
            "reports": self.store.size(stored),
            "fingerprint": survey.fingerprint,
            "path": f"/s/{stored.code}",
        }


def read_survey(path: str | Path) -> tuple[Survey, str]:
    """A survey, and the text of its file."""
    source = read_document(path, error=PlanError, hint="check the path of the survey file", largest=LARGEST)
    return Survey.from_toml(source, folder=Path(path).parent), source


def check_elsewhere(stored: StoredSurvey) -> None:
    """Raise where a survey cannot be asked elsewhere: it may still change, or needs the service for invitations."""
    if stored.state == "draft":
        raise StateError(
            "the survey is a draft, and its designs may still change",
            hint=f"open it first, which freezes it: maskwell survey open {stored.code}",
        )
    if stored.survey.access != "open":
        raise ParameterError(
            "this survey needs an invitation for each report, which only the service can check",
            hint="make a survey with an open link for people who are asked elsewhere",
        )


def _contents(stored: StoredSurvey, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[str]:
    """The contents of rows, checked; ReportError names the row and the column."""
    codes = {question.name: _codes(question) for question in stored.survey.questions}
    for number, row in rows:
        given = {name: value for name, value in row.items() if value not in (None, "")}
        reports = {name: _report(stored, name, value, codes, number) for name, value in given.items()}
        if set(reports) != {question.name for question in stored.survey.asked(reports)}:
            raise ReportError(
                f"data row {number} does not hold the questions that are asked after its open answers",
                hint="leave a field empty where, and only where, the question is not asked",
            )
        yield content_of(stored.survey, reports)


def _report(stored: StoredSurvey, name: str, value: Any, codes: Mapping[str, Mapping[str, int]], number: int) -> Any:
    """The code of a report, or a text of 0 and 1."""
    question = stored.survey.by_name[name]
    if str(value) not in codes[name] and not question.check_report(value):
        raise ReportError(
            f"column {name!r}: the value in data row {number} is no report of its design",
            hint="write the labels of the reports as they stand in the design",
            values=repr(value),
        )
    return codes[name].get(str(value), value)


def _plain_rows(stored: StoredSurvey, path: str | Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    names = [question.name for question in stored.survey.questions]
    for number, row in enumerate(zip(*_columns(path, names), strict=True), start=1):
        yield number, dict(zip(names, row, strict=True))


def _codes(question: Question) -> dict[str, int]:
    if question.reports is None:
        return {}
    return {texts(report_label(question, str(code)))[0]: code for code in range(question.reports)}


def _columns(path: str | Path, names: list[str]) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in names]
    with open_source(str(path)) as source:
        missing = [name for name in names if name not in source.schema.names]
        if missing:
            raise DataFileError(f"{path} has no column {missing[0]!r}", hint="give one column for each question")
        for batch in source.batches():
            for column, name in zip(columns, names, strict=True):
                column.extend(batch.column(source.schema.names.index(name)).to_pylist())
    return columns


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
    check_backup(path)
    with tempfile.TemporaryDirectory() as folder, store.engine.begin() as target:
        for table in (surveys, accounts):
            if target.execute(sa.select(table.c.id)).first() is not None:
                raise DataFileError(f"the database has {table.name} already", hint="restore into an empty database")
        copied = Path(shutil.copyfile(path, Path(folder) / "copy.db"))  # brought up to date; the backup stays as it is
        copy = Store(f"sqlite:///{copied}")
        try:
            copy.create()
            with copy.snapshot() as source:
                _copy(source, target)
        finally:
            copy.close()
        if not store.is_sqlite:
            _count_on(target)
        return _summary(target)


def check_backup(path: str | Path) -> None:
    """Raise for a file that is no copy of a database."""
    if not Path(path).is_file() or not _is_sqlite(Path(path)):
        raise DataFileError(f"{path} is no backup", hint="give a file that maskwell survey backup wrote")


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def _count_on(target: sa.Connection) -> None:
    """Let PostgreSQL number accounts and surveys from where those that were copied end."""
    for table in (accounts, surveys):
        last = sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0) + 1).scalar_subquery()
        target.execute(sa.select(sa.func.setval(sa.func.pg_get_serial_sequence(table.name, "id"), last, False)))


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        if table in (sessions, links):
            continue
        ordered = sa.select(table).order_by(*table.primary_key.columns)
        for rows in source.execution_options(stream_results=True).execute(ordered).mappings().partitions(_ROWS):
            target.execute(sa.insert(table), [dict(row) for row in rows])


def _summary(connection: sa.Connection) -> dict[str, Any]:
    chosen = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(holdings.c.size), 0)).select_from(holdings)
    surveys_there, reports_there = connection.execute(chosen).one()
    return {"surveys": int(surveys_there), "reports": int(reports_there)}

"""What somebody at the terminal does with surveys, on the database itself: a method for each command."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from maskwell.collection.accounts import Accounts
from maskwell.collection.database import sqlite_url
from maskwell.collection.exports import estimate_command, export_folder
from maskwell.collection.imports import check_taking, import_reports
from maskwell.collection.opening import is_sqlite, open_store
from maskwell.collection.results import question_result
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StateError, StoredSurvey
from maskwell.collection.survey import LARGEST, Survey
from maskwell.collection.tables import accounts, holdings, links, metadata, pulse, sessions, surveys
from maskwell.core.arguments import as_count
from maskwell.core.atomic import atomic_file
from maskwell.core.documents import json_form, read_document
from maskwell.core.phrases import Printed
from maskwell.errors import DataFileError, ParameterError, PlanError

MOST_INVITATIONS = 1_000_000


class Desk:
    """The commands of ``maskwell survey`` on one database."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, database: str | None = None, *, new: bool = True, reads: bool = False) -> Desk:
        """The desk of a database, by default that of the service in this folder, as :func:`open_store` opens it."""
        return cls(open_store(Settings.load(database=database).database, new=new, reads=reads))

    def add(self, path: str | Path, owner: str | None = None) -> dict[str, Any]:
        """Keep a survey file as a draft, of an account or of nobody yet."""
        account = None if owner is None else self.accounts.known(owner)
        survey, source = read_survey(path)
        return self._about(self.store.survey(self.store.add_survey(survey, source, owner=account)))

    def own(self, code: str, name: str) -> dict[str, Any]:
        """Make an account an owner of a survey: the studio shows it there."""
        stored = self.store.survey(code)
        self.accounts.known(name)
        self.accounts.share(stored, name, "owner")
        return self._about(stored)

    @property
    def accounts(self) -> Accounts:
        """Accounts and keys in the same database."""
        return Accounts(self.store)

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
            raise ParameterError("count-number", number=number, most_invitations=MOST_INVITATIONS)
        with atomic_file(Path(output), force=False, mode=0o600, again="another name") as file:
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
            raise DataFileError("folder-exists", folder=folder)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as partial:
            made = Path(partial) / folder.name
            made.mkdir()
            files = export_folder(self.store, stored, kind, made)
            made.rename(folder)
        data = folder / f"reports.{kind}"
        commands = [f"Next: {estimate_command(q, data)}" for q in stored.survey.sensitive]
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
            return [f"equal: {told}; recount matches"]
        restore = "keep a copy of the database, and restore a backup: maskwell survey restore"
        return [*(f"differs: {one}" for one in content["differences"]), f"Next: {restore}"]

    def delete(self, code: str, *, sure: bool) -> dict[str, Any]:
        """Delete permanently."""
        about = self._about(self.store.survey(code))
        if not sure:
            raise ParameterError("reports-of-this-survey-would", reports=about["reports"])
        self.store.delete(code)
        return about

    def import_file(
        self, code: str, path: str | Path, source: str | None = None, *, again: bool = False
    ) -> dict[str, Any]:
        """Take all rows of a file from elsewhere, or none; one without ids is taken twice only ``again``."""
        stored = self.store.survey(code)
        check_taking(stored)
        done = import_reports(self.store, stored, path, source, again=again)
        counts = {"imported": done.taken, "known": done.known, "left_out": done.left_out}
        return {**self._about(stored), "source": done.source, **counts, "ids": done.has_ids}

    def import_lines(self, content: dict[str, Any]) -> list[str]:
        """The same for people."""
        lines = [f"{content['imported']:,} rows imported"]
        if content["known"]:
            lines.append(f"{content['known']:,} rows were imported before and are counted once")
        if content["left_out"]:
            lines.append(
                f"{content['left_out']:,} rows left out: unfinished, rejected or a trial, according to the platform"
            )
        if not content["ids"]:
            lines.append("note: the rows have no ids; they are refused if they are imported again")
        return lines

    def embed(self, code: str, question: str, platform: str, output: str | Path) -> dict[str, Any]:
        """Write the snippet of one question for a platform to a new file."""
        from maskwell.collection.embeds import embed_text

        return self._written(code, output, lambda survey: embed_text(survey, question, platform).encode())

    def offline(self, code: str, output: str | Path) -> dict[str, Any]:
        """Write the survey as one page for tablets to a new file."""
        from maskwell.collection.embeds import offline_page

        return self._written(code, output, lambda survey: offline_page(survey).encode())

    def form(self, code: str, device: str, output: str | Path) -> dict[str, Any]:
        """Write the survey as a form for ODK and KoBo to a new file."""
        from maskwell.collection.forms import form_bytes

        return self._written(code, output, lambda survey: form_bytes(survey, device))

    def _written(self, code: str, output: str | Path, make: Callable[[Survey], bytes]) -> dict[str, Any]:
        """Write what a survey is asked with elsewhere."""
        stored = self.store.survey(code)
        check_elsewhere(stored)
        content = make(stored.survey)
        with atomic_file(Path(output), force=False, again="another name") as file:
            file.write(content)
        return {**self._about(stored), "output": str(output), "bytes": len(content)}

    def backup(self, output: str | Path) -> dict[str, Any]:
        """Write a copy of the whole database, one state of it, while the service runs; sessions are left out."""
        place = Path(output)
        if place.exists():
            raise DataFileError("output-exists", output=place)
        sqlite_url(place)  # refuses a path that is not UTF-8 before anything is written
        partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL, 0o600))
        try:
            copy = Store(sqlite_url(partial))
            copy.create()
            with self.store.snapshot() as source, copy.engine.begin() as target:
                _copy(source, target)
                summary = _summary(target)
            copy.compact()
            copy.close()
            os.link(partial, place)
        finally:
            for leftover in partial.parent.glob(f"{partial.name}*"):
                leftover.unlink()
        return {**summary, "output": str(place)}

    def restore(self, path: str | Path) -> dict[str, Any]:
        """Read a copy into a database that has no surveys."""
        check_backup(path)
        with tempfile.TemporaryDirectory() as folder, self.store.engine.begin() as target:
            for table in (surveys, accounts):
                if target.execute(sa.select(table.c.id)).first() is not None:
                    raise DataFileError("the-database-has-already", name=table.name)
            copied = Path(
                shutil.copyfile(path, Path(folder) / "copy.db")
            )  # brought up to date; the backup stays as it is
            copy = Store(sqlite_url(copied))
            try:
                copy.create()
                with copy.snapshot() as source:
                    _copy(source, target)
            finally:
                copy.close()
            for table in (
                () if self.store.is_sqlite else (accounts, surveys)
            ):  # PostgreSQL numbers on from where they end
                last = sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0) + 1).scalar_subquery()
                target.execute(sa.select(sa.func.setval(sa.func.pg_get_serial_sequence(table.name, "id"), last, False)))
            return _summary(target)

    def _about(self, stored: StoredSurvey) -> dict[str, Any]:
        return {**self.store.about(stored, owners=self.store.owners(stored)), "path": f"/s/{stored.code}"}


def read_survey(path: str | Path) -> tuple[Survey, str]:
    """A survey, and the text of its file."""
    source = read_document(path, error=PlanError, hint="check the path of the survey file", largest=LARGEST)
    return Survey.from_toml(source, folder=Path(path).parent), source


def check_elsewhere(stored: StoredSurvey) -> None:
    """Raise where a survey cannot be asked elsewhere: it may still change, or needs the service for invitations."""
    if stored.state == "draft":
        raise StateError("the-survey-is-a-draft", code=stored.code)
    if stored.survey.access != "open":
        raise ParameterError("this-survey-needs-an-invitation")


_ROWS = 10_000


def check_backup(path: str | Path) -> None:
    """Raise for a file that is not a copy of a database."""
    if not is_sqlite(Path(path)):
        raise DataFileError("path-is-no-backup", path=path)


def _copy(source: sa.Connection, target: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        if table in (sessions, links, pulse):
            continue
        ordered = sa.select(table).order_by(*table.primary_key.columns)
        for rows in source.execution_options(stream_results=True).execute(ordered).mappings().partitions(_ROWS):
            target.execute(sa.insert(table), [dict(row) for row in rows])


def _summary(connection: sa.Connection) -> dict[str, Any]:
    chosen = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(holdings.c.size), 0)).select_from(holdings)
    surveys_there, reports_there = connection.execute(chosen).one()
    return {"surveys": int(surveys_there), "reports": int(reports_there)}

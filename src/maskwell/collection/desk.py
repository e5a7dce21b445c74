"""What somebody at the terminal does with surveys: each method is one command, and gives what ``--json`` prints.

It works on the database itself, beside the running service: whoever can read the database's file or has its password is
its owner.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from maskwell.collection.cells import content_of
from maskwell.collection.exports import estimate_command, export_folder
from maskwell.collection.results import question_result, report_label
from maskwell.collection.settings import Settings
from maskwell.collection.store import ID_BYTES, Store, StoredSurvey, Submission
from maskwell.collection.survey import LARGEST, Question, Survey
from maskwell.core.arguments import as_count
from maskwell.core.atomic import atomic_file
from maskwell.core.documents import json_form, read_document
from maskwell.core.labels import texts
from maskwell.core.phrases import Printed
from maskwell.engines.row_sources import open_source
from maskwell.errors import DataFileError, ParameterError, PlanError, ReportError

MOST_INVITATIONS = 1_000_000
_BATCH = 5_000


class Desk:
    """The commands of ``maskwell survey`` on one database."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, database: str | None = None) -> Desk:
        """The desk of a database, by default that of the service in this folder; its tables are brought up to date."""
        store = Store(Settings.load(database=database).database)
        store.create()
        return cls(store)

    def add(self, path: str | Path) -> dict[str, Any]:
        """Keep a survey file as a draft."""
        source = read_document(path, error=PlanError, hint="check the path of the survey file", largest=LARGEST)
        survey = Survey.from_toml(source, folder=Path(path).parent)
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
        return {**self._about(stored), "questions": json_form([question.to_dict() for question in questions])}

    def result_lines(self, content: dict[str, Any]) -> list[str]:
        """The same for people."""
        lines = [f"{content['title']}: {content['reports']:,} respondents, {content['state']}"]
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
        return {**self._about(stored), "rows": self.store.size(stored), "files": files, "next": commands}

    def delete(self, code: str, *, sure: bool) -> dict[str, Any]:
        """Delete for good."""
        about = self._about(self.store.survey(code))
        if not sure:
            raise ParameterError(
                f"{about['reports']:,} reports of this survey would be deleted for good", hint="add --yes to do it"
            )
        self.store.delete(code)
        return about

    def import_file(self, code: str, path: str | Path) -> dict[str, Any]:
        """Take rows of reports that were drawn with cards or dice; all of them, or none where one is wrong."""
        stored = self.store.survey(code)
        if stored.state != "open":
            raise ReportError(f"the survey is {stored.state}", hint=f"open it: maskwell survey open {code}")
        if stored.survey.access != "open":
            raise ReportError(
                "this survey needs an invitation for each report", hint="import into one with an open link"
            )
        contents = list(_rows_of(stored, path))
        rows = iter(contents)
        while block := list(islice(rows, _BATCH)):
            self.store.accept([Submission(stored.id, secrets.token_bytes(ID_BYTES), content) for content in block])
        return {**self._about(stored), "imported": len(contents)}

    def backup(self, output: str | Path) -> dict[str, Any]:
        """Write a copy of the whole database, one state of it, while the service runs."""
        from maskwell.collection.backups import write_backup

        return write_backup(self.store, Path(output))

    def restore(self, path: str | Path) -> dict[str, Any]:
        """Read a copy into a database without surveys."""
        from maskwell.collection.backups import read_backup

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


def _rows_of(stored: StoredSurvey, path: str | Path) -> Iterator[str]:
    """The contents of the rows of a table, checked; ReportError names the row and the column."""
    table = _columns(path, [question.name for question in stored.survey.questions])
    codes = [_codes(question) for question in stored.survey.questions]
    for number, row in enumerate(zip(*table, strict=True), start=1):
        reports: dict[str, Any] = {}
        for question, known, value in zip(stored.survey.questions, codes, row, strict=True):
            if value in (None, ""):
                continue
            if str(value) not in known and not question.check_report(value):
                raise ReportError(
                    f"column {question.name!r}: the value in data row {number} is no report of its design",
                    hint="write the labels of the reports as they stand in the design",
                    values=repr(value),
                )
            reports[question.name] = known.get(str(value), value)
        if set(reports) != {question.name for question in stored.survey.asked(reports)}:
            raise ReportError(
                f"data row {number} does not hold the questions that are asked after its open answers",
                hint="leave a field empty where, and only where, the question is not asked",
            )
        yield content_of(stored.survey, reports)


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

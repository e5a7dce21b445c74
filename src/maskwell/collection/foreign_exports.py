"""Exports of the places where people were asked: the same row gets the same id; values are never in a message."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from maskwell.collection.embeds import field_name, limesurvey_code
from maskwell.collection.forms import choice_names, form_names, reports_of
from maskwell.collection.survey import Question, Survey
from maskwell.collection.tables import ID_BYTES
from maskwell.core.documents import from_json, read_document
from maskwell.engines.input_file import TextForm
from maskwell.errors import DataFileError, ParameterError, ReportError

LARGEST = 64 << 20  # bytes of an export in JSON, which is read at once; CSV is read row by row
MOST_IDS = 2_000_000  # rows with ids: those that were read are remembered, so that none comes twice
LONGEST_HEADER = 1 << 20
LONGEST_LINE = 16 << 20
_OWN_ID = re.compile(r"[0-9a-f]{32}")
_PREVIEWS = {"Survey Preview", "Survey Test"}
Line = Mapping[str, Any]  # one row of an export as it was read: values by the names of its columns


# A data row: its number, from 1; the id of its submission, if any; the value of each question, where the platform calls
# it an answer; other columns where there is no id, by which a file is known again.
Entry = tuple[int, bytes | None, Mapping[str, Any] | None, Line]


@dataclass(frozen=True)
class Export:
    """A file: where it comes from, whether its rows have ids, and its rows, which can be read once."""

    kind: str
    has_ids: bool
    entries: Iterator[Entry]


@dataclass(frozen=True)
class Format:
    """What an export looks like."""

    marks: tuple[frozenset[str], ...]  # columns by which it is known; all of one of these groups
    ids: tuple[str, ...]  # columns that can hold the id of a row; the first that is there is taken
    plain: Callable[[str], str] = str  # the name of a question within the name of its column
    is_left_out: Callable[[Line], bool] = lambda _: False  # whether the platform says that a row is no answer


def _unfinished_qualtrics(line: Line) -> bool:
    finished = str(line.get("Finished", "True")).lower() in ("true", "1")
    return not finished or line.get("Status") in _PREVIEWS or line.get("DistributionChannel") == "preview"


_SUBMITTED = ("submitdate", "Date submitted", "submitdate. Date submitted")
_NOT_APPROVED = ("validation_status_not_approved", "Not Approved")  # as an XML value, and as a label


def _marks(*groups: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.split("|")) for group in groups)


FORMATS: Mapping[str, Format] = {
    "offline": Format(marks=_marks("maskwell_id"), ids=("maskwell_id",)),
    "qualtrics": Format(
        marks=_marks("ResponseId|Finished", "StartDate|EndDate|RecordedDate"),
        ids=("ResponseId",),
        plain=lambda name: name.removeprefix("__js_"),
        is_left_out=_unfinished_qualtrics,
    ),
    "odk": Format(
        marks=_marks("SubmissionDate|KEY", "SubmissionDate|meta-instanceID", "SubmissionDate|SubmitterID"),
        ids=("KEY", "meta-instanceID", "instanceID"),
        plain=lambda name: name.rsplit("-", 1)[-1],
        is_left_out=lambda line: line.get("ReviewState") == "rejected",
    ),
    "kobo": Format(
        marks=_marks("_uuid", "_submission_time|_index"),
        ids=("_uuid", "_id"),
        plain=lambda name: name.rsplit("/", 1)[-1],
        is_left_out=lambda line: line.get("_validation_status") in _NOT_APPROVED,
    ),
    "limesurvey": Format(
        marks=_marks("submitdate", "lastpage|startlanguage", "Date submitted", "submitdate. Date submitted"),
        ids=("id", "Response ID", "id. Response ID"),
        plain=lambda name: name.split(".", 1)[0],
        is_left_out=lambda line: any(line.get(name) == "" for name in _SUBMITTED),
    ),
    "surveyjs": Format(marks=(), ids=("id", "_id", "Id", "instanceId", "responseId")),
}
SOURCES = (*FORMATS, "table")  # what ``--from`` takes; a table has a column of reports for each question, and no ids


def read_export(survey: Survey, path: str | Path, source: str | None = None) -> Export | None:
    """The rows of an export; None for a plain table of reports, which has no ids."""
    if source is not None and source not in SOURCES:
        raise ParameterError("nothing-is-read", source=source, sources=", ".join(SOURCES))
    if source == "table" or (source is None and not _is_export(path)):
        return None
    if getattr(path, "form", None) not in (None, TextForm()):
        raise ParameterError("separator-encoding-and-decimal")
    if _start(path)[:1] in ("{", "["):
        return _from_json(survey, path, source)
    header, lines = _lines(path)
    kind = source or _kind_of(header)
    return None if kind is None else _export(survey, path, kind, lines, header, is_sure=source is not None)


def _is_export(path: str | Path) -> bool:
    """Whether a file begins as an export does; a table that does not may be of any size and encoding."""
    if Path(path).suffix.lower() not in (".csv", ".json", ".txt"):
        return False
    try:
        start = _start(path)
    except DataFileError:
        return False  # whoever reads the table says what is wrong with it
    if start[:1] in ("{", "["):
        return True
    return _kind_of(next(_csv_rows([start.partition("\n")[0].rstrip("\r")], path), [])) is not None


def check_no_export(path: str | Path, header: Sequence[str]) -> None:
    """Raise where a table has the columns of an export, whose ids are read from text files only."""
    kind = _kind_of(header)
    if kind is not None:
        raise DataFileError("has-the-columns-of-an-export", path=path, kind=kind)


def _start(path: str | Path) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(LONGEST_HEADER).decode("utf-8-sig", errors="ignore").lstrip()
    except (OSError, ValueError) as error:
        raise _unreadable(path, getattr(error, "strerror", None) or type(error).__name__) from error


def _unreadable(path: str | Path, why: str) -> DataFileError:
    return DataFileError("cannot-read", path=path, why=why)


def _kind_of(header: Sequence[str]) -> str | None:
    names = set(header)
    return next((kind for kind, form in FORMATS.items() if any(mark <= names for mark in form.marks)), None)


def _csv_rows(lines: Iterable[str], path: str | Path) -> Iterator[list[str]]:
    """The rows of a CSV file, with the separator that finds the most columns in its first line."""
    rest = iter(lines)
    first = next(rest, "")
    try:
        comma = max(",;\t", key=lambda one: len(next(csv.reader([first], delimiter=one), [])))
        yield from (row for row in csv.reader(chain([first], rest), delimiter=comma) if row)
    except csv.Error as error:
        raise DataFileError("is-not-a-csv-file", path=path) from error


def _file_rows(path: str | Path) -> Iterator[list[str]]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            yield from _csv_rows(_text_lines(file, path), path)
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not text in UTF-8") from error


def _text_lines(file: TextIO, path: str | Path) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise DataFileError("has-a-line-of-more", path=path, longest_line=LONGEST_LINE >> 20)
        yield line


def _lines(path: str | Path) -> tuple[list[str], Iterator[tuple[int, Line]]]:
    """The header, and the data rows with their numbers; the two further header rows of Qualtrics are left away."""
    rows = _file_rows(path)
    top = list(islice(rows, 3))
    if not top:
        raise DataFileError("path-is-empty", path=path)
    header = top[0]
    twice = next((name for at, name in enumerate(header) if name and name in header[:at]), None)
    if twice is not None:
        raise DataFileError("has-two-columns", path=path, twice=twice)
    has_more = len(top) > 2 and any(one.startswith('{"ImportId"') for one in top[2])
    return header, _numbered(path, header, rows if has_more else chain(top[1:], rows))


def _numbered(path: str | Path, header: list[str], rows: Iterable[list[str]]) -> Iterator[tuple[int, Line]]:
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise DataFileError(
                "data-row-has-fields", path=path, number=number, row_count=len(row), header_count=len(header)
            )
        yield number, dict(zip(header, row, strict=True))


def _from_json(survey: Survey, path: str | Path, source: str | None) -> Export:
    content = read_document(path, error=DataFileError, hint="check the path; an export is UTF-8", largest=LARGEST)
    try:
        given = from_json(content)
    except (ValueError, RecursionError) as error:
        raise DataFileError("path-is-not-json", path=path) from error
    if isinstance(given, Mapping) and given.get("maskwell") == "reports":
        return _from_tablet(survey, path, given)
    listed = given if isinstance(given, list) else None
    if listed is None or not all(isinstance(one, Mapping) for one in listed):
        raise DataFileError("is-no-list-of-answers", path=path)
    header = list(dict.fromkeys(key for one in listed for key in one))
    return _export(survey, path, source or "surveyjs", enumerate(listed, start=1), header, is_sure=source is not None)


def _from_tablet(survey: Survey, path: str | Path, given: Mapping[str, Any]) -> Export:
    if given.get("survey") != survey.fingerprint:
        raise ReportError("holds-reports-of-another-survey", path=path)
    listed = given.get("reports")
    if given.get("version") != 1 or not isinstance(listed, list):
        raise DataFileError("is-no-file-of-reports", path=path)

    def entries() -> Iterator[Entry]:
        before: dict[bytes, int] = {}
        for number, one in enumerate(listed, start=1):
            if not isinstance(one, Mapping) or not isinstance(one.get("reports"), Mapping):
                raise DataFileError("entry-holds-no-reports", path=path, number=number)
            values = {name: _label(survey, name, code, number) for name, code in one["reports"].items()}
            yield number, _once(_own_id(number, one.get("id")), number, "id", before), values, {}

    return Export("offline", True, entries())


def _label(survey: Survey, name: str, code: Any, number: int) -> str:
    """The text of a report that the page for tablets wrote as a code, or as 0 and 1."""
    question = survey.by_name.get(name)
    if question is None:
        raise ReportError("entry-has-a-question", number=number, name=name)
    if not question.check_report(code):
        raise ReportError("question-entry-holds-no-report", name=name, number=number, values=repr(code))
    return str(code) if question.reports is None else reports_of(question)[code]


def _export(
    survey: Survey, path: str | Path, kind: str, lines: Iterable[tuple[int, Line]], header: list[str], *, is_sure: bool
) -> Export:
    columns = {question.name: _column(path, survey, question, kind, header) for question in survey.questions}
    ids = next((name for name in FORMATS[kind].ids if name in header), None)
    if ids is None and not is_sure:
        raise DataFileError("looks-like-an-export-of-without", path=path, kind=kind)
    return Export(kind, ids is not None, _entries(survey, kind, lines, columns, ids))


def _entries(
    survey: Survey, kind: str, lines: Iterable[tuple[int, Line]], columns: Mapping[str, str], ids: str | None
) -> Iterator[Entry]:
    known, asked = {question.name: _known_texts(question, survey) for question in survey.questions}, {*columns.values()}
    before: dict[bytes, int] = {}
    for number, line in lines:
        if FORMATS[kind].is_left_out(line):
            yield number, None, None, {}
            continue
        key = None
        if ids is not None:
            given = line.get(ids)
            own = _own_id(number, given) if kind == "offline" else _derived(kind, ids, number, given)
            key = _once(own, number, ids, before)
        values = {name: _value(line.get(column), known[name]) for name, column in columns.items()}
        yield number, key, values, {name: line[name] for name in line if name not in asked} if ids is None else {}


def _column(path: str | Path, survey: Survey, question: Question, kind: str, header: Sequence[str]) -> str:
    """The column of a question: its name, or the name that the platform takes for it."""
    if question.name in header:
        return question.name
    wanted = {question.name, form_names(survey)[question.name], field_name(question.name)}
    wanted |= {limesurvey_code(question.name)} if kind == "limesurvey" else set()
    found = [name for name in header if FORMATS[kind].plain(name) in wanted]
    if len(found) > 1:
        raise DataFileError("has-several-columns-for-question", path=path, name=question.name)
    if found or kind == "surveyjs":  # a list of objects leaves out what nobody was asked
        return found[0] if found else question.name
    raise DataFileError("path-has-no-column-name", path=path, name=question.name)


def _known_texts(question: Question, survey: Survey) -> dict[str, str]:
    """The label for each text that can only mean one report: labels, names of choices, texts in all languages."""
    labels = reports_of(question)
    meant: dict[str, set[str]] = {}
    for label, name in zip(labels, choice_names(labels), strict=True):
        spoken = question.answers.get(label, {})
        for text in {name, *(spoken.get(one, label) for one in survey.languages)}:
            meant.setdefault(text, set()).add(label)
    certain = {text: next(iter(which)) for text, which in meant.items() if len(which) == 1}
    return certain | {label: label for label in labels}


def _value(given: Any, known: Mapping[str, str]) -> Any:
    if given is None or given == "":
        return None
    return known.get(given, given) if isinstance(given, str) else given


def _derived(kind: str, column: str, number: int, given: Any) -> bytes:
    """The id of a submission from that of the row: the same every time, and no other row's."""
    if given is None or given == "" or isinstance(given, Mapping | list):
        raise _no_id(column, number)
    return hashlib.sha256(f"{kind}\0{given}".encode()).digest()[:ID_BYTES]


def _own_id(number: int, given: Any) -> bytes:
    if not isinstance(given, str) or not _OWN_ID.fullmatch(given):
        raise _no_id("maskwell_id", number)
    return bytes.fromhex(given)


def _no_id(column: str, number: int) -> ReportError:
    return ReportError("column-data-row-has-no-id", column=column, number=number)


def _once(one: bytes, number: int, column: str, before: dict[bytes, int]) -> bytes:
    if one in before:
        raise ReportError("column-data-rows", column=column, before=before[one], number=number)
    if len(before) >= MOST_IDS:
        raise DataFileError("the-file-has-more-than-rows", most_ids=MOST_IDS)
    before[one] = number
    return one

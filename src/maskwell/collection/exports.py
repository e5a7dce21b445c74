"""What a survey collected, as files; rows are in the order of their random ids, which reveals nothing."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Any

from maskwell.collection.page_texts import package_text
from maskwell.collection.results import report_label
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Question
from maskwell.core.documents import version_text
from maskwell.core.labels import texts
from maskwell.designs.wire import dumps
from maskwell.engines.arrow_arrays import require
from maskwell.engines.row_sources import open_sink

EXPORTS = ("csv", "parquet", "sav", "dta")
_ROWS = 50_000


def export_bytes(store: Store, stored: StoredSurvey, kind: str) -> bytes:
    """An archive with everything."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="maskwell-") as folder:
        export_folder(store, stored, kind, Path(folder))
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(folder).iterdir()):
                archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def export_folder(store: Store, stored: StoredSurvey, kind: str, folder: Path) -> list[str]:
    """Write the files into a folder; their names."""
    data = f"reports.{kind}"
    arrow: Any = require("pyarrow")
    schema = arrow.schema([(question.name, arrow.string()) for question in stored.survey.questions])
    path = folder / data
    with path.open("wb") as file, open_sink(file, str(path), schema) as sink:
        for columns in _batches(store, stored):
            sink.write(arrow.record_batch(columns, schema=schema))
    for question in stored.survey.sensitive:
        assert question.design is not None
        (folder / f"design-{question.name}.json").write_text(dumps(question.design), encoding="utf-8")
    document = json.dumps(stored.survey.to_dict(), indent=1, ensure_ascii=False)
    (folder / "survey.json").write_text(document + "\n", encoding="utf-8")
    (folder / "README.txt").write_text(_readme(stored, data), encoding="utf-8")
    return sorted(path.name for path in folder.iterdir())


def _batches(store: Store, stored: StoredSurvey) -> Iterator[list[list[str | None]]]:
    rows = store.contents(stored)
    tables = [_Texts(question) for question in stored.survey.questions]
    while block := list(islice(rows, _ROWS)):
        columns = zip(*(content.split(",") for content in block), strict=True)
        yield [[table[report] for report in column] for table, column in zip(tables, columns, strict=True)]


class _Texts(dict[str, "str | None"]):
    """The text of each report in an export, computed once for each."""

    def __init__(self, question: Question) -> None:
        super().__init__({"": None})
        self._question = question

    def __missing__(self, report: str) -> str:
        text = self[report] = str(texts(report_label(self._question, report))[0])
        return text


def _readme(stored: StoredSurvey, data: str) -> str:
    survey = stored.survey
    return package_text("templates", "export.txt").format(
        title=survey.title[survey.languages[0]],
        code=stored.code,
        fingerprint=survey.fingerprint,
        state=stored.state,
        version=version_text(),
        data=data,
        commands="\n".join(f"  {estimate_command(q, Path(data))}" for q in survey.sensitive),
    )


def estimate_command(question: Question, data: Path) -> str:
    """What to type for the shares of a question; names are quoted, so that a shell takes them as names."""
    design = data.with_name(f"design-{question.name}.json")
    asked = " --missing drop" if question.show_if else ""  # shares among those who were asked
    return f"maskwell estimate {quote(str(data))} --design {quote(f'{question.name}={design}')}{asked}"

"""Exports as the platforms write them become reports, once; what is wrong is said without a value."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from maskwell.collection.desk import Desk
from maskwell.collection.foreign_exports import SOURCES, read_export
from maskwell.collection.survey import Survey
from maskwell.errors import DataFileError, MaskwellError, ParameterError, ReportError

SURVEY = Survey.from_toml("""
survey = { title = "Asked elsewhere", results = "live", languages = ["en", "de"], demand = { gamma = 60 } }
question = [
  { name = "hours", ask = "Hours?", answers = ["full time", "part time"], open = true },
  { name = "cash pay", ask = "Cash?", answers = ["never", "once or twice", "more often"], design = { gamma = 4 } },
  { name = "tools", ask = "Tools?", answers = ["a", "b", "c"], design = { family = "oue", epsilon = 1 }, \
show_if = { hours = "full time" } },
]
[wording.de]
title = "Anderswo"
[wording.de.question]
hours = { ask = "Stunden?", answers = ["Vollzeit", "Teilzeit"] }
"cash pay" = { ask = "Bar?", answers = ["nie", "ein- oder zweimal", "öfter"] }
tools = { ask = "Werkzeug?", answers = ["A", "B", "C"] }
""")
CONTENTS = ["0,1,010", "1,0,"]
FIRST, SECOND = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
FILES = {
    "qualtrics": (
        "export.csv",
        "StartDate,EndDate,Status,Finished,RecordedDate,ResponseId,DistributionChannel,hours,__js_cash_pay,__js_tools\r\n"
        'Start Date,End Date,Response Type,Finished,Recorded,Response ID,Channel,"Hours,\nper week?",cash_pay,tools\r\n'
        + ",".join('"{""ImportId"":""x""}"' for _ in range(10))
        + "\r\n"
        "2026,2026,IP Address,True,2026,R_1,anonymous,full time,once or twice,010\r\n"
        "2026,2026,Survey Preview,True,2026,R_9,preview,full time,never,111\r\n"
        "2026,2026,IP Address,False,2026,R_8,anonymous,full time,,\r\n"
        "2026,2026,IP Address,True,2026,R_2,anonymous,part time,never,\r\n",
        2,
    ),
    "limesurvey": (
        "results-survey.csv",
        '\ufeff"id";"submitdate";"lastpage";"startlanguage";"seed";"hours";"cashpay";"tools"\n'
        '"1";"2026-01-01 10:00:00";"3";"de";"77";"Vollzeit";"once or twice";"010"\n'
        '"2";"";"1";"de";"78";"Vollzeit";"";""\n'
        '"3";"2026-01-01 11:00:00";"3";"de";"79";"Teilzeit";"never";""\n',
        1,
    ),
    "surveyjs": (
        "answers.json",
        json.dumps(
            [
                {"id": 11, "hours": "full time", "cash pay": "once or twice", "tools": "010"},
                {"id": 12, "hours": "part time", "cash pay": "never"},
            ]
        ),
        0,
    ),
    "odk": (
        "form.csv",
        "SubmissionDate,start,hours,cash_pay__asked-cash_pay,tools__asked-tools,meta-instanceID,KEY,SubmitterID,ReviewState\n"
        "2026,,full_time,once_or_twice,010,uuid:1,uuid:1,5,approved\n"
        "2026,,full_time,once_or_twice,110,uuid:7,uuid:7,5,rejected\n"
        "2026,,part_time,never,,uuid:2,uuid:2,5,\n",
        1,
    ),
    "kobo": (
        "kobo.csv",
        '"start";"hours";"g/cash_pay__asked/cash_pay";"g/tools";"_id";"_uuid";"_submission_time";"_index"\n'
        '"2026";"full_time";"once_or_twice";"010";"90";"u-1";"2026";"1"\n'
        '"2026";"Teilzeit";"nie";"";"91";"u-2";"2026";"2"\n',
        0,
    ),
    "offline": (
        "reports.csv",
        f"maskwell_id,hours,cash pay,tools\r\n{FIRST},full time,once or twice,010\r\n{SECOND},part time,never,\r\n",
        0,
    ),
}
TABLET = {
    "maskwell": "reports",
    "version": 1,
    "survey": SURVEY.fingerprint,
    "reports": [
        {"id": FIRST, "reports": {"hours": 0, "cash pay": 1, "tools": "010"}},
        {"id": SECOND, "reports": {"hours": 1, "cash pay": 0}},
    ],
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.open(f"sqlite:///{tmp_path / 'surveys.db'}")


@pytest.fixture
def code(desk: Desk) -> str:
    code = desk.store.add_survey(SURVEY)
    desk.open_survey(code)
    return code


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def kept(desk: Desk, code: str) -> list[str]:
    return sorted(desk.store.contents(desk.store.survey(code)))


@pytest.mark.parametrize("kind", FILES)
def test_each_export_becomes_the_same_reports_once(kind: str, desk: Desk, code: str, tmp_path: Path) -> None:
    name, text, left_out = FILES[kind]
    path = written(tmp_path, name, text)
    content = desk.import_file(code, path)
    assert (content["source"], content["imported"], content["left_out"]) == (kind, 2, left_out)
    assert kept(desk, code) == CONTENTS and content["ids"]
    content = desk.import_file(code, path, kind)
    assert (content["imported"], content["known"]) == (0, 2) and kept(desk, code) == CONTENTS
    assert "were imported before and are counted once" in "\n".join(desk.import_lines(content))
    assert desk.store.size(desk.store.survey(code)) == 2


def test_tablets_json_and_csv_are_the_same_rows_and_ids_of_platforms_do_not_meet(desk, code, tmp_path) -> None:
    desk.import_file(code, written(tmp_path, "reports.json", json.dumps(TABLET)))
    content = desk.import_file(code, written(tmp_path, FILES["offline"][0], FILES["offline"][1]))
    assert (content["imported"], content["known"]) == (0, 2)
    assert dict(desk.store.records(desk.store.survey(code)))[bytes.fromhex(FIRST)] == CONTENTS[0]
    exports = [read_export(SURVEY, written(tmp_path, name, text)) for name, text, _ in FILES.values()]
    ids = [one for export in exports if export is not None for _, one, _, _ in export.entries if one is not None]
    assert len(set(ids)) == 2 * len(FILES) and {len(one) for one in ids} == {16}


def test_a_row_that_changed_is_refused_and_nothing_is_taken(desk: Desk, code: str, tmp_path: Path) -> None:
    name, text, _ = FILES["kobo"]
    desk.import_file(code, written(tmp_path, name, text))
    changed = text.replace('"nie"', '"öfter"') + '"2026";"Teilzeit";"nie";"";"92";"u-3";"2026";"3"\n'
    with pytest.raises(ReportError, match="data row 2 was imported before with other reports"):
        desk.import_file(code, written(tmp_path, name, changed))
    assert kept(desk, code) == CONTENTS


SECRET = "sehr geheim"


def _replaced(kind: str, before: str, after: str) -> tuple[str, str]:
    name, text, _ = FILES[kind]
    assert before in text
    return name, text.replace(before, after)


WRONG: dict[str, tuple[tuple[str, str], str, str]] = {
    "value": (_replaced("qualtrics", "part time,never", f"part time,{SECRET}"), "'cash pay'", "data row 4"),
    "open value": (_replaced("kobo", "Teilzeit", SECRET), "'hours'", "data row 2"),
    "bits": (_replaced("odk", "once_or_twice,010", f"once_or_twice,{SECRET}"), "'tools'", "data row 1"),
    "asked": (_replaced("limesurvey", '"never";""', '"never";"011"'), "data row 3", "open answers lead to"),
    "no id": (_replaced("odk", "uuid:2,5", ",5"), "'KEY'", "data row 3"),
    "own id": (_replaced("offline", SECOND, SECRET), "'maskwell_id'", "data row 2"),
    "same id": (_replaced("kobo", '"u-2"', '"u-1"'), "'_uuid'", "data rows 1 and 2"),
    "column": (_replaced("kobo", "cash_pay__asked/cash_pay", "other"), "no column 'cash pay'", ""),
    "columns": (_replaced("kobo", '"start"', '"x/cash_pay"'), "several columns", "'cash pay'"),
    "twice": (_replaced("kobo", '"start"', '"_id"'), "two columns '_id'", ""),
    "short row": (_replaced("odk", ",uuid:2,uuid:2,5,", ""), "data row 3 has", "fields"),
    "json": (("x.json", "[{"), "is not valid JSON", ""),
    "list": (("x.json", "[1]"), "is not a list of answers", ""),
    "empty": (("x.csv", ""), "is empty", ""),
    "survey": (("x.json", json.dumps({**TABLET, "survey": "sha256:0"})), "another survey", ""),
    "version": (("x.json", json.dumps({**TABLET, "version": 2})), "of this version", ""),
    "entry": (("x.json", json.dumps({**TABLET, "reports": [SECRET]})), "entry 1", ""),
    "question": (
        ("x.json", json.dumps({**TABLET, "reports": [{"id": FIRST, "reports": {"other": 1}}]})),
        "entry 1",
        "'other'",
    ),
    "code": (
        ("x.json", json.dumps({**TABLET, "reports": [{"id": FIRST, "reports": {"hours": 7}}]})),
        "entry 1",
        "'hours'",
    ),
    "long field": (("x.csv", '_uuid,hours\n1,"' + "x" * 200_000 + '"\n'), "is not a CSV file", ""),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_without_its_value(what: str, desk: Desk, code: str, tmp_path: Path) -> None:
    (name, text), *said = WRONG[what]
    with pytest.raises(MaskwellError) as raised:
        desk.import_file(code, written(tmp_path, name, text))
    shown = f"{raised.value.message} {raised.value.hint}"
    assert all(part in shown for part in said), shown
    assert SECRET not in shown and len(raised.value.hint or "") <= 100 and kept(desk, code) == []


def test_values_are_there_for_who_asks(desk: Desk, code: str, tmp_path: Path) -> None:
    (name, text), *_ = WRONG["value"]
    with pytest.raises(ReportError) as raised:
        desk.import_file(code, written(tmp_path, name, text))
    assert raised.value.values == repr(SECRET)


def test_texts_of_two_meanings_are_refused_and_codes_never_taken_for_labels(tmp_path: Path, desk: Desk) -> None:
    survey = Survey.from_toml("""
question = [{ name = "q", ask = "?", answers = ["gift", "poison"], design = { gamma = 3 } }]
survey = { title = "x", languages = ["en", "de"], demand = { gamma = 3 } }
wording.de = { title = "x", question.q = { ask = "?", answers = ["Geschenk", "gift"] } }
""")
    path = written(tmp_path, "k.csv", "_uuid,q\n1,gift\n2,Geschenk\n3,poison\n")
    export = read_export(survey, path)
    # a label is always itself
    assert [row["q"] for _, _, row, _ in export.entries if row is not None] == ["gift", "gift", "poison"]
    survey = Survey.from_toml("""
question = [{ name = "q", ask = "?", answers = ["1", "0"], design = { gamma = 3 } }]
survey = { title = "x", results = "live", demand = { gamma = 3 } }
""")
    code = desk.store.add_survey(survey)
    desk.open_survey(code)
    rows = [{"id": FIRST, "reports": {"q": 1}}]
    given = {"maskwell": "reports", "version": 1, "survey": survey.fingerprint, "reports": rows}
    desk.import_file(code, written(tmp_path, "reports.json", json.dumps(given)))
    assert kept(desk, code) == ["1"]
    content = desk.import_file(code, written(tmp_path, "reports.csv", f"maskwell_id,q\n{FIRST},0\n"))
    assert content["known"] == 1  # the second answer is labelled 0


def test_what_is_no_known_export_is_refused(desk: Desk, code: str, tmp_path: Path) -> None:
    path = tmp_path / "kobo.xlsx"
    path.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(DataFileError):
        desk.import_file(code, path, "kobo")
    with pytest.raises(ParameterError, match="'paper'"):
        desk.import_file(code, written(tmp_path, "x.csv", "a\n"), "paper")
    assert set(FILES) | {"table"} == set(SOURCES)
    path = written(tmp_path, "a.json", json.dumps([{"hours": "part time", "cash pay": "never"}]))
    with pytest.raises(DataFileError, match="without a column of ids") as raised:
        desk.import_file(code, path)
    assert "--from surveyjs" in (raised.value.hint or "")
    assert not desk.import_file(code, path, "surveyjs")["ids"] and kept(desk, code) == CONTENTS[1:]


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, desk: Desk, code: str) -> None:
    from tests.support.command_line import run

    monkeypatch.chdir(tmp_path)
    database = ["--database", desk.store.url]
    name, text, _ = FILES["odk"]
    written(tmp_path, name, text)
    said = run("survey", "import", code, name, "--from", "odk", *database).out
    assert said == "2 rows imported\n1 rows left out: unfinished, rejected or a trial, according to the platform\n"
    assert run("survey", "import", code, name, "--json", *database).json()["known"] == 2
    run("survey", "embed", code, "--name", "cash pay", "--for", "qualtrics", "-o", "cash.js", *database)
    assert "setJSEmbeddedData" in Path("cash.js").read_text()
    said = run("survey", "offline", code, "-o", "survey.html", *database).out
    assert f"maskwell survey import {code} reports.json" in said
    refusal: Any = run("survey", "form", code, "--device", "dice", "-o", "form.xlsx", *database, status=2)
    assert "its reports are sets" in refusal.err and not Path("form.xlsx").exists()

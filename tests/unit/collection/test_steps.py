"""Results in steps: whatever is told about a survey, no two tellings differ by fewer reports than a step."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.support.collecting import REPORTS, SURVEY, new_store, opened, served, submission
from tests.support.command_line import run

from maskwell.collection.accounts import Accounts
from maskwell.collection.desk import Desk
from maskwell.collection.exports import export_bytes
from maskwell.collection.results import question_result, table_result
from maskwell.collection.store import Store, _told
from maskwell.collection.stored_survey import StateError, StoredSurvey
from maskwell.collection.survey import STEP, Survey
from maskwell.collection.tables import holdings, reports, tallies
from maskwell.errors import PlanError

IN_STEPS = SURVEY.replace('results = "live"', "results = 5")
AFTER_CLOSING = SURVEY.replace('results = "live"', 'results = "after closing"')


def counted(store: Store, stored: StoredSurvey) -> int:
    """How many reports the results tell of, by each of the ways that tell them; all must agree."""
    ways = {
        store.counted(stored),
        len([*store.contents(stored)]),
        question_result(store, stored, "tax").n,
        len(exported(store, stored)),
        *(sum(store.tally(stored, part).values()) for part in stored.parts.names[:1]),
    }
    table = table_result(store, stored, "region", "tax")
    ways.add(0 if table is None else int(table.to_dict()["n"]))
    assert len(ways) == 1, ways
    return ways.pop()


def exported(store: Store, stored: StoredSurvey) -> list[list[str]]:
    archive = zipfile.ZipFile(io.BytesIO(export_bytes(store, stored, "csv")))
    return [*csv.reader(io.StringIO(archive.read("reports.csv").decode()))][1:]


def test_results_follow_in_steps(store: Store) -> None:
    stored = opened(store, IN_STEPS)
    told = []
    for number in range(23):
        store.accept([submission(stored, {**REPORTS, "tax": number % 2})])
        told.append(store.counted(stored))
    assert told == [0] * 9 + [5] * 5 + [10] * 5 + [15] * 4
    assert counted(store, stored) == 15
    assert store.size(stored) == 23
    assert store.differences(stored) == []
    closed = store.close_survey(stored.code)
    assert counted(store, closed) == 23  # the last step has 8: nobody stands alone in it
    assert store.differences(closed) == []


def test_closing_and_opening_again_is_no_way_around(store: Store) -> None:
    stored = opened(store, IN_STEPS)
    store.accept([submission(stored) for _ in range(12)])
    assert counted(store, store.close_survey(stored.code)) == 12
    store.open(stored.code)
    store.accept([submission(stored)])
    closed = store.close_survey(stored.code)
    assert counted(store, closed) == 12
    assert store.size(closed) == 13
    store.open(stored.code)
    store.accept([submission(stored) for _ in range(4)])
    assert counted(store, store.close_survey(stored.code)) == 17
    assert store.differences(store.survey(stored.code)) == []


def test_a_survey_of_less_than_a_step_is_told_when_it_is_closed(store: Store) -> None:
    stored = opened(store, IN_STEPS)
    store.accept([submission(stored) for _ in range(3)])
    assert store.counted(stored) == 0
    assert counted(store, store.close_survey(stored.code)) == 3


@given(st.integers(2, 12), st.lists(st.integers(1, 40), max_size=12))
def test_every_step_is_whole(step: int, batches: list[int]) -> None:
    waiting: list[bytes] = []
    number = 0
    for batch in batches:
        waiting += [(number := number + 1).to_bytes(4) for _ in range(batch)]
        told = _told(step, waiting)
        assert len(told) % step == 0
        waiting = [one for one in waiting if one not in told]
        assert len(waiting) < 2 * step
        assert number < step or len(waiting) >= min(step, number)


def test_results_after_closing_are_told_by_nothing_before(store: Store) -> None:
    stored = opened(store, AFTER_CLOSING)
    store.accept([submission(stored) for _ in range(6)])
    for tell in (
        lambda: question_result(store, stored, "tax"),
        lambda: table_result(store, stored, "region", "tax"),
        lambda: export_bytes(store, stored, "csv"),
        lambda: Desk(store).results(stored.code),
    ):
        with pytest.raises(StateError, match="results after closing"):
            tell()
    assert store.size(stored) == 6
    assert counted(store, store.close_survey(stored.code)) == 6
    with pytest.raises(StateError, match="was closed"):
        store.open(stored.code)


def test_the_studio_and_programs_keep_to_it(tmp_path: Path) -> None:
    app = served(tmp_path)
    store: Store = app.state.service.store
    accounts = Accounts(store)
    ann = accounts.add("ann", "a long password")
    code = store.add_survey(Survey.from_toml(AFTER_CLOSING), AFTER_CLOSING, owner=ann)
    stored = store.open(code)
    store.accept([submission(stored) for _ in range(6)])
    with TestClient(app) as client:
        key = {"Authorization": f"Bearer {accounts.begin_session(ann)}"}
        for path in ("results.json", "results.csv", "table.json?first=tax&second=region", "export.csv"):
            answer = client.get(f"/studio/s/{code}/{path}", headers=key)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "survey-state"), path
        for path in ("results", "table?first=tax&second=region", "export"):
            answer = client.get(f"/api/admin/surveys/{code}/{path}", headers=key)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "survey-state"), path
        page = client.get(f"/studio/s/{code}", headers=key)
        assert "Results are shown after closing" in page.text
        assert "only after it is closed" in client.get(f"/s/{code}/check").text
        assert client.get(f"/s/{code}/survey.json").json()["survey"]["results"] == "after closing"


def test_a_survey_file_says_when_results_are_shown() -> None:
    plain = SURVEY.replace('results = "live"\n', "")
    assert Survey.from_toml(plain).results == STEP
    for text in (SURVEY, IN_STEPS, AFTER_CLOSING, plain):
        survey = Survey.from_toml(text)
        assert Survey.from_dict(survey.to_dict()) == survey
    assert "results" not in Survey.from_toml(SURVEY).to_dict()  # as documents were before, with the same fingerprint
    for wrong in ("1", "0", "true", "1001", '"never"', "2.5"):
        with pytest.raises(PlanError, match="neither live, after closing nor"):
            Survey.from_toml(SURVEY.replace('results = "live"', f"results = {wrong}"))


def damage(store: Store, stored: StoredSurvey, kind: str) -> None:
    with store.engine.begin() as connection:
        table = tallies if kind == "count" else reports
        place, lines = connection.execute(sa.select(table).where(table.c.place >= stored.places.start)).first() or (
            0,
            "",
        )
        if kind == "count":
            lines = lines.replace(" 4\n", " 5\n")
        elif kind == "content":
            lines = lines.replace(" 0,2", " 0,1", 1)
        if kind == "lost":
            connection.execute(sa.update(holdings).values(size=99))
        else:
            connection.execute(sa.update(table).where(table.c.place == place).values(lines=lines))


@pytest.mark.parametrize(
    ("kind", "words"), [("count", "counts are not"), ("content", "counts are not"), ("lost", "and 99 were taken")]
)
def test_a_check_tells_what_differs(store: Store, kind: str, words: str) -> None:
    stored = opened(store)
    store.accept([submission(stored) for _ in range(4)])
    desk = Desk(store)
    assert desk.check(stored.code)["equal"]
    assert desk.check_lines(desk.check(stored.code)) == [
        "equal: 4 reports, 4 of them counted; a recount tells the same"
    ]
    damage(store, stored, kind)
    content = desk.check(stored.code)
    assert not content["equal"]
    assert any(words in line for line in desk.check_lines(content)), content


def test_a_check_from_the_terminal(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'surveys.db'}"
    store = new_store(tmp_path)
    stored = opened(store)
    store.accept([submission(stored) for _ in range(4)])
    command = ["survey", "check", stored.code, "--database", url, "--json"]
    assert run(*command).json()["equal"] is True
    damage(store, stored, "count")
    store.close()
    assert run(*command, status=1).json()["differences"] == ["1 counts are not those of the reports"]

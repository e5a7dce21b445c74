"""Reports are kept once, counted in steps, and cannot be traced to an invitation or an order."""

import csv
import io
import secrets
import threading
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.support.collecting import BY_INVITATION, REPORTS, SURVEY, database, new_store, opened, served, submission
from tests.support.command_line import run

from maskwell.collection.accounts import Accounts
from maskwell.collection.desk import Desk
from maskwell.collection.exports import export_bytes
from maskwell.collection.report_cells import Parts
from maskwell.collection.results import question_result, table_result
from maskwell.collection.store import Store, _told
from maskwell.collection.stored_survey import NoSurveyError, StateError, StoredSurvey, token_hash
from maskwell.collection.survey import STEP, Survey
from maskwell.collection.tables import holdings, invitations, reports, tallies
from maskwell.errors import DataFileError, InputError, PlanError


def test_a_report_is_kept_once_and_running_counts_equal_a_recount(store: Store) -> None:
    stored = opened(store)
    one = submission(stored)
    assert store.accept([one]) == ["accepted"] and store.accept([one, one]) == ["accepted", "accepted"]
    assert store.size(stored) == 1 and store.differences(stored) == []
    stored = opened(store)
    one = submission(stored)
    other = submission(stored, {**REPORTS, "tax": 0}, id=one.id)
    assert store.accept([one, other]) == ["accepted", "conflict"] and store.accept([other]) == ["conflict"]
    assert list(store.contents(stored)) == [one.content]
    stored, second = opened(store), opened(store)
    for _ in range(5):
        batch = [
            submission(survey, {"region": 1, "tax": secrets.randbelow(2), "sources": "0110"})
            if secrets.randbelow(2)
            else submission(survey, {**REPORTS, "cash": secrets.randbelow(4)})
            for survey in (stored, second)
            for _ in range(20)
        ]
        store.accept(batch)
    assert store.size(stored) == 100 and store.differences(stored) == [] and store.differences(second) == []


def test_large_surveys_are_counted_by_pairs_and_bits() -> None:
    questions = "".join(
        f'[[question]]\nname = "q{i}"\nask = "?"\nanswers = ["a", "b", "c"]\ndesign = {{ gamma = "1.1" }}\n'
        for i in range(12)
    )
    many = ", ".join(f'"{i}"' for i in range(30))
    sets = (
        f'[[question]]\nname = "sets"\nask = "?"\nanswers = [{many}]\ndesign = {{ family = "rappor", epsilon = 1 }}\n'
    )
    survey = Survey.from_toml(
        f'[survey]\ntitle = "x"\ndemand = {{ epsilon = 9 }}\naccept_no_protection = true\n{questions}{sets}'
    )
    parts = Parts.of(survey)
    assert len(parts.groups) == 12 + 66 and parts.bits == (12,)
    cells = Counter(parts.cells(",".join(["1"] * 12 + ["1" + "0" * 28 + "1"])))
    assert cells["12:bits", "0"] == cells["12:bits", "29"] == cells["12:bits", "n"] == 1
    assert parts.holding((3, 5)) == (3, 5) and parts.holding((3, 12)) is None


def test_only_an_open_survey_takes_reports_and_it_is_frozen(store: Store) -> None:
    code = store.add_survey(Survey.from_toml(SURVEY))
    draft = store.survey(code)
    assert store.accept([submission(draft)]) == ["closed"]
    store.open(code)
    one = submission(draft)
    assert store.accept([one]) == ["accepted"]
    store.close_survey(code)
    assert store.accept([submission(draft), one]) == ["closed", "accepted"]  # a retry is still acknowledged
    assert store.size(draft) == 1
    stored = opened(store)
    with pytest.raises(StateError, match="the survey is open"):
        store.replace_survey(stored.code, stored.survey)
    store.close_survey(stored.code)
    with pytest.raises(StateError, match="the survey is closed"):
        store.replace_survey(stored.code, stored.survey)


def test_an_invitation_works_once_for_its_survey_and_leaves_no_trace(store: Store) -> None:
    stored = opened(store, BY_INVITATION)
    first, second = store.invite(stored.code, 2)
    one = submission(stored, invitation=token_hash(first))
    assert store.accept([one, submission(stored, invitation=token_hash(first))]) == ["accepted", "invitation"]
    assert store.accept([one]) == ["accepted"]  # lost on the way back, sent again
    assert store.accept([submission(stored, invitation=token_hash(first))]) == ["invitation"]
    assert store.accept([submission(stored)]) == ["invitation"]
    assert store.accept([submission(stored, invitation=token_hash("guess"))]) == ["invitation"]
    assert not store.is_invited(stored, first) and store.is_invited(stored, second)
    with store.engine.connect() as connection:
        kept = connection.execute(sa.select(invitations.c.token)).scalars().all()
    assert [bytes(token) for token in kept] == [token_hash(second)]
    stored, other = opened(store, BY_INVITATION), opened(store, BY_INVITATION)
    (token,) = store.invite(other.code, 1)
    assert store.accept([submission(stored, invitation=token_hash(token))]) == ["invitation"]
    assert store.unused_invitations(other.code) == 1


def test_the_tables_are_those_of_the_last_migration_and_keep_nothing_besides_the_report(store: Store) -> None:
    assert {column.name for column in reports.columns} == {"place", "lines"}
    assert {column.name for column in holdings.columns} == {"survey", "salt", "room", "size", "waiting"}
    assert {column.name for column in invitations.columns} == {"survey", "token"}
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from maskwell.collection.tables import metadata

    with store.engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection), metadata)
    assert [change for change in changes if "alembic_version" not in str(change)] == []
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="the database has table version 9999, which this maskwell does not support"):
        store.create()


def test_a_deleted_survey_is_gone_from_the_file(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    stored = opened(store, SURVEY.replace("Working life", "Zebra crossing"))
    made = [submission(stored) for _ in range(200)]
    store.accept(made)
    assert any(one.id.hex().encode() in (tmp_path / "surveys.db-wal").read_bytes() for one in made)
    store.delete(stored.code)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert b"Zebra crossing" not in content and not any(one.id.hex().encode() in content for one in made)
    with pytest.raises(NoSurveyError):
        store.survey(stored.code)


def test_the_same_report_from_two_processes_is_counted_once(store: Store) -> None:
    """Two stores on one database, sending the same ids in turn: what the two workers of a service do with a retry."""
    stored = opened(store)
    other = Store(store.url)
    made = [submission(stored) for _ in range(40)]
    verdicts: list[str] = []

    def send(target: Store) -> None:
        for one in made:
            verdicts.extend(target.accept([one]))

    threads = [threading.Thread(target=send, args=[target]) for target in (store, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.close()
    assert verdicts == ["accepted"] * 80 and store.size(stored) == 40 and store.differences(stored) == []


def test_closing_empties_the_log_of_transactions(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    stored = opened(store)
    store.accept([submission(stored)])
    assert (tmp_path / "surveys.db-wal").stat().st_size > 0
    store.close_survey(stored.code)
    assert (tmp_path / "surveys.db-wal").stat().st_size == 0


def test_a_backup_moves_from_one_kind_of_database_to_another(store: Store, tmp_path: Path) -> None:
    """What was numbered before is not numbered again; the backup itself stays as it is."""
    accounts = Accounts(store)
    accounts.add("ann", "a long password")
    stored = opened(store)
    store.accept([submission(stored) for _ in range(30)])
    kept = tmp_path / "kept.db"
    assert Desk(store).backup(kept)["reports"] == 30
    before = kept.read_bytes()
    for kind in ("sqlite", "postgresql"):
        folder = tmp_path / kind
        folder.mkdir()
        with database(kind, folder) as url:
            other = Store(url)
            other.create()
            assert Desk(other).restore(kept)["reports"] == 30
            moved = other.survey(stored.code)
            assert dict(other.records(moved)) == dict(store.records(stored))
            assert other.differences(moved) == []
            assert other.survey(other.add_survey(Survey.from_toml(SURVEY))).id > moved.id
            assert Accounts(other).add("bob", "a long password") > 1
            with pytest.raises(DataFileError, match="already"):
                Desk(other).restore(kept)
            other.close()
    assert kept.read_bytes() == before


def test_a_database_with_accounts_is_not_restored_into(store: Store, tmp_path: Path) -> None:
    Desk(store).backup(tmp_path / "kept.db")
    Accounts(store).add("ann", "a long password")
    with pytest.raises(DataFileError, match="the database already has accounts"):
        Desk(store).restore(tmp_path / "kept.db")


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


def test_results_follow_in_steps_also_after_closing_and_opening_again(store: Store) -> None:
    stored = opened(store, IN_STEPS)
    told = []
    for number in range(23):
        store.accept([submission(stored, {**REPORTS, "tax": number % 2})])
        told.append(store.counted(stored))
    assert told == [0] * 9 + [5] * 5 + [10] * 5 + [15] * 4 and counted(store, stored) == 15
    assert store.size(stored) == 23 and store.differences(stored) == []
    closed = store.close_survey(stored.code)
    assert counted(store, closed) == 23  # the last step has 8: nobody stands alone in it
    assert store.differences(closed) == []
    stored = opened(store, IN_STEPS)
    store.accept([submission(stored) for _ in range(12)])
    assert counted(store, store.close_survey(stored.code)) == 12
    store.open(stored.code)
    store.accept([submission(stored)])
    closed = store.close_survey(stored.code)
    assert counted(store, closed) == 12 and store.size(closed) == 13
    store.open(stored.code)
    store.accept([submission(stored) for _ in range(4)])
    assert counted(store, store.close_survey(stored.code)) == 17
    assert store.differences(store.survey(stored.code)) == []


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
    assert store.size(stored) == 6 and counted(store, store.close_survey(stored.code)) == 6
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
        with pytest.raises(PlanError, match='must be "live", "after closing" or a number of reports, not'):
            Survey.from_toml(SURVEY.replace('results = "live"', f"results = {wrong}"))


def damage(store: Store, stored: StoredSurvey, kind: str) -> None:
    with store.engine.begin() as connection:
        table = tallies if kind == "count" else reports
        rows = connection.execute(sa.select(table).where(table.c.place >= stored.places.start))
        place, lines = rows.first() or (0, "")
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
    told = "equal: 4 reports, 4 of them counted; recount matches"
    assert desk.check_lines(desk.check(stored.code)) == [told]
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

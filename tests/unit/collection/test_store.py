"""Reports are kept once, counted as they come, and cannot be traced to an invitation or an order."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.collecting import BY_INVITATION, REPORTS, SURVEY, database, new_store, opened, submission

from maskwell.collection.accounts import Accounts
from maskwell.collection.desk import Desk
from maskwell.collection.report_cells import Parts
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import NoSurveyError, StateError, StoredSurvey, token_hash
from maskwell.collection.survey import Survey
from maskwell.collection.tables import holdings, invitations, reports
from maskwell.errors import DataFileError, InputError


def counts_of(store: Store, stored: StoredSurvey) -> dict[str, dict[str, int]]:
    return {part: store.tally(stored, part) for part in stored.parts.names}


def check_counts(store: Store, stored: StoredSurvey) -> None:
    assert store.differences(stored) == []


def test_the_tables_are_those_of_the_last_migration(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from maskwell.collection.tables import metadata

    with store.engine.connect() as connection:
        changes = compare_metadata(MigrationContext.configure(connection), metadata)
    assert [change for change in changes if "alembic_version" not in str(change)] == []


def test_a_database_of_a_newer_version_is_refused(store: Store) -> None:
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="version 9999, which this maskwell does not know"):
        store.create()


def test_a_report_sent_twice_is_kept_once(store: Store) -> None:
    stored = opened(store)
    one = submission(stored)
    assert store.accept([one]) == ["accepted"]
    assert store.accept([one, one]) == ["accepted", "accepted"]
    assert store.size(stored) == 1
    check_counts(store, stored)


def test_another_content_under_the_same_id_is_a_conflict(store: Store) -> None:
    stored = opened(store)
    one = submission(stored)
    other = submission(stored, {**REPORTS, "tax": 0}, id=one.id)
    assert store.accept([one, other]) == ["accepted", "conflict"]
    assert store.accept([other]) == ["conflict"]
    assert list(store.contents(stored)) == [one.content]


def test_running_counts_equal_a_recount(store: Store) -> None:
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
    assert store.size(stored) == 100
    check_counts(store, stored)
    check_counts(store, second)


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
    assert len(parts.groups) == 12 + 66
    assert parts.bits == (12,)
    cells = Counter(parts.cells(",".join(["1"] * 12 + ["1" + "0" * 28 + "1"])))
    assert cells["12:bits", "0"] == cells["12:bits", "29"] == cells["12:bits", "n"] == 1
    assert parts.holding((3, 5)) == (3, 5)
    assert parts.holding((3, 12)) is None


def test_only_an_open_survey_takes_reports(store: Store) -> None:
    code = store.add_survey(Survey.from_toml(SURVEY))
    draft = store.survey(code)
    assert store.accept([submission(draft)]) == ["closed"]
    store.open(code)
    one = submission(draft)
    assert store.accept([one]) == ["accepted"]
    store.close_survey(code)
    assert store.accept([submission(draft), one]) == ["closed", "accepted"]  # a retry is still acknowledged
    assert store.size(draft) == 1


def test_an_opened_survey_is_frozen(store: Store) -> None:
    stored = opened(store)
    with pytest.raises(StateError, match="the survey is open"):
        store.replace_survey(stored.code, stored.survey)
    store.close_survey(stored.code)
    with pytest.raises(StateError, match="the survey is closed"):
        store.replace_survey(stored.code, stored.survey)


def test_an_invitation_works_once_and_leaves_no_trace(store: Store) -> None:
    stored = opened(store, BY_INVITATION)
    first, second = store.invite(stored.code, 2)
    one = submission(stored, invitation=token_hash(first))
    assert store.accept([one, submission(stored, invitation=token_hash(first))]) == ["accepted", "invitation"]
    assert store.accept([one]) == ["accepted"]  # lost on the way back, sent again
    assert store.accept([submission(stored, invitation=token_hash(first))]) == ["invitation"]
    assert store.accept([submission(stored)]) == ["invitation"]
    assert store.accept([submission(stored, invitation=token_hash("guess"))]) == ["invitation"]
    assert not store.is_invited(stored, first)
    assert store.is_invited(stored, second)
    with store.engine.connect() as connection:
        kept = connection.execute(sa.select(invitations.c.token)).scalars().all()
    assert [bytes(token) for token in kept] == [token_hash(second)]


def test_an_invitation_of_another_survey_does_not_work(store: Store) -> None:
    stored, other = opened(store, BY_INVITATION), opened(store, BY_INVITATION)
    (token,) = store.invite(other.code, 1)
    assert store.accept([submission(stored, invitation=token_hash(token))]) == ["invitation"]
    assert store.unused_invitations(other.code) == 1


def test_nothing_is_kept_besides_the_report() -> None:
    assert {column.name for column in reports.columns} == {"place", "lines"}
    assert {column.name for column in holdings.columns} == {"survey", "salt", "room", "size", "waiting"}
    assert {column.name for column in invitations.columns} == {"survey", "token"}


def test_a_deleted_survey_is_gone_from_the_file(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    stored = opened(store, SURVEY.replace("Working life", "Zebra crossing"))
    made = [submission(stored) for _ in range(200)]
    store.accept(made)
    assert any(one.id.hex().encode() in (tmp_path / "surveys.db-wal").read_bytes() for one in made)
    store.delete(stored.code)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert b"Zebra crossing" not in content
        assert not any(one.id.hex().encode() in content for one in made)
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
    assert verdicts == ["accepted"] * 80
    assert store.size(stored) == 40
    check_counts(store, stored)


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
    with pytest.raises(DataFileError, match="has accounts already"):
        Desk(store).restore(tmp_path / "kept.db")

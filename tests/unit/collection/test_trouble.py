"""A disk that is full or a database that is away: respondents are told to come back, and nothing is written half."""

from __future__ import annotations

import resource
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from tests.support.collecting import REPORTS, opened, served
from tests.support.command_line import run

from maskwell.collection import intake
from maskwell.collection.desk import Desk
from maskwell.collection.intake import Intake
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.errors import ParameterError


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[TestClient, Store, StoredSurvey]]:
    app = served(tmp_path)
    store: Store = app.state.service.store
    stored = opened(store)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client, store, stored


def send(client: TestClient, stored: StoredSurvey, key: str) -> Any:
    body = {"id": key, "survey": stored.survey.fingerprint, "reports": dict(REPORTS)}
    return client.post(f"/api/surveys/{stored.code}/reports", json=body)


def check_kept(store: Store, stored: StoredSurvey, count: int) -> None:
    assert store.size(stored) == count
    assert store.differences(stored) == []


def test_a_full_disk_is_told_and_the_service_goes_on_when_there_is_space(
    service: tuple[TestClient, Store, StoredSurvey], tmp_path: Path
) -> None:
    client, store, stored = service
    assert send(client, stored, secrets.token_hex(16)).status_code == 200
    key = secrets.token_hex(16)
    with no_file_beyond(0):  # not even the log that was emptied meanwhile has room
        answer = send(client, stored, key)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["error"]["code"] == "database"
    check_kept(store, stored, 1)
    assert send(client, stored, key).status_code == 200
    check_kept(store, stored, 2)


def test_a_database_that_is_away_is_told_everywhere(
    service: tuple[TestClient, Store, StoredSurvey], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, store, stored = service

    def away(*_: Any, **__: Any) -> Any:
        raise sa.exc.OperationalError("SELECT 1", {}, Exception("Zebra"))

    with monkeypatch.context() as patched:
        for name in ("accept", "check", "survey"):
            patched.setattr(store, name, away)
        answers = [send(client, stored, secrets.token_hex(16)), client.get("/health")]
        answers.append(client.get(f"/s/{stored.code}/survey.json"))
    for answer in answers:
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "Zebra" not in answer.text
    assert send(client, stored, secrets.token_hex(16)).status_code == 200
    assert client.get("/health").status_code == 200


def test_health_is_bad_where_reports_fail_though_something_smaller_can_be_written(
    service: tuple[TestClient, Store, StoredSurvey], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of SQLite may have room for one more page on a full disk, and a report needs several."""
    client, store, stored = service

    def full(*_: Any, **__: Any) -> Any:
        raise sa.exc.OperationalError("INSERT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr(store, "accept", full)
        assert send(client, stored, secrets.token_hex(16)).status_code == 503
        assert client.get("/health").status_code == 503
        patched.setattr(intake, "STILL_AWAY", 0)
        assert send(client, stored, secrets.token_hex(16)).status_code == 503
        # after a while without reports, what can be written decides
        assert client.get("/health").status_code == 200
    assert send(client, stored, secrets.token_hex(16)).status_code == 200
    assert client.get("/health").status_code == 200


def test_when_too_many_wait_respondents_are_told_to_come_back(
    service: tuple[TestClient, Store, StoredSurvey], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _, stored = service
    taking: Intake = client.app.state.service.intake  # type: ignore[attr-defined]
    monkeypatch.setattr(taking, "_most_waiting", 0)
    answer = send(client, stored, secrets.token_hex(16))
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "busy"
    assert answer.headers["retry-after"] == "5"


@pytest.mark.parametrize(
    "address", ["a,a", "", "sqlitex:///a.db", "mysql://a/b", "sqlite:///nowhere/a.db", "sqlite:///."]
)
def test_a_desk_without_a_database_says_so(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="the database cannot be opened"):
        Desk.open(address)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_refused_makes_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither does one that only looks: a database is made where something is kept in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.toml").write_text('title = "no survey"', encoding="utf-8")
    refused = ("add wrong.toml", "restore wrong.toml", "results 3f0c2a91d4", "keys", "backup -o copy.db")
    for line in refused:
        run("survey", *line.split(), status=2)
    assert run("survey", "list", "--json").json() == {"surveys": []}
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.toml"]

"""Requests that nobody thought of: from the OpenAPI document, malformed submissions, bodies that come slowly."""

import json
import os
import random
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("schemathesis", reason="no Schemathesis: pip install schemathesis")

import schemathesis
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient
from tests.support.collecting import REPORTS, SURVEY, served

from maskwell.collection import application
from maskwell.collection.accounts import Accounts
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Survey

EXAMPLES = int(os.environ.get("MASKWELL_EXAMPLES", "8"))
MALFORMED = int(os.environ.get("MASKWELL_MALFORMED", "300"))
"""How many; a hundred thousand were tried once."""


class Place:
    """A service with an open survey and a key."""

    def __init__(self, folder: Path) -> None:
        self.app = served(folder)
        self.store: Store = self.app.state.service.store
        accounts = Accounts(self.store)
        account = accounts.add("ada", "correct horse battery")
        self.key = {"Authorization": f"Bearer {accounts.begin_session(account)}"}
        code = self.store.add_survey(Survey.from_toml(SURVEY), SURVEY, owner=account)
        self.survey: StoredSurvey = self.store.open(code)
        self.address = f"/api/surveys/{code}/reports"

    def body(self) -> dict[str, Any]:
        return {"id": secrets.token_hex(16), "survey": self.survey.survey.fingerprint, "reports": dict(REPORTS)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("schema"))
    with TestClient(made.app) as client:
        made.client = client
        yield made


@pytest.mark.filterwarnings("ignore")
def test_no_request_of_the_document_is_a_fault_of_the_service(place: Place) -> None:
    client: TestClient = place.client
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            nonlocal tried
            case.path_parameters = {**(case.path_parameters or {}), **_code(case, place)}
            answer = _sent(client, case, place.key)
            assert answer.status_code < 500, (case.method, case.path, answer.status_code)
            tried += 1

        send()
    assert tried > 5 * EXAMPLES


def _code(case: Any, place: Place) -> dict[str, str]:
    """Every second request is about the survey that is there."""
    return {"code": place.survey.code} if "{code}" in case.path and random.random() < 0.5 else {}


def _sent(client: TestClient, case: Any, key: dict[str, str]) -> Any:
    words = case.as_transport_kwargs(base_url="http://testserver")
    headers = {**dict(words.get("headers") or {}), **key}
    body = {"json": words["json"]} if "json" in words else {"content": words.get("data") or b""}
    return client.request(words["method"], words["url"], params=words.get("params"), headers=headers, **body)


def _damaged(body: dict[str, Any], chance: random.Random) -> bytes:
    """A submission with one fault: a byte, a value, a key or an end that is not as it should be."""
    strange = [None, True, -1, 4, 10**30, 1.0, "", "x" * 33, [], {}, [0], "\u0000", "🙂", "1,0", "11110000"]
    kind = chance.randrange(5)
    if kind == 0:
        body["reports"][chance.choice(list(REPORTS))] = chance.choice(strange)
    elif kind == 1:
        body[chance.choice(list(body))] = chance.choice(strange)
    elif kind == 2:
        body["reports"].pop(chance.choice(list(REPORTS)))
    elif kind == 3:
        body[chance.choice(["Id", "answers", "truth", "reports "])] = chance.choice(strange)
    text = json.dumps(body).encode()
    return text[: chance.randrange(len(text))] if kind == 4 else text


def test_malformed_submissions_change_nothing(place: Place) -> None:
    chance = random.Random(28)
    client: TestClient = place.client
    before = place.store.tally(place.survey, place.survey.parts.names[0])
    for _ in range(MALFORMED):
        content = _damaged(place.body(), chance)
        answer = client.post(place.address, content=content, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500, (answer.status_code, content)
        assert set(answer.json()["error"]) == {"code", "message", "hint"}
    assert place.store.tally(place.survey, place.survey.parts.names[0]) == before


def test_a_body_in_pieces_is_read_up_to_its_limit(place: Place) -> None:
    client: TestClient = place.client
    kind = {"content-type": "application/json"}
    text = json.dumps(place.body()).encode()
    pieces = (text[at : at + 7] for at in range(0, len(text), 7))
    assert client.post(place.address, content=pieces, headers=kind).status_code == 200
    endless = (b" " * 1000 for _ in range(1000))
    assert client.post(place.address, content=endless, headers=kind).status_code == 413


def test_who_sends_a_body_too_slowly_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setattr(application, "BODY_SECONDS", 0.05)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": place.address, "headers": headers, "query_string": b""}
    asyncio.run(place.app(scope, receive, send))
    assert sent[0]["status"] == 408

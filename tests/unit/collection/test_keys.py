"""Keys, passwords, and who may watch the service."""

import asyncio
import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from tests.support.collecting import SURVEY, new_store, served, submission
from tests.support.command_line import run

from maskwell.collection import accounts as accounts_module
from maskwell.collection import studio
from maskwell.collection.accounts import AccessError, Accounts
from maskwell.collection.application import address_of
from maskwell.collection.results import question_result, results_csv
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.survey import Survey
from maskwell.errors import ParameterError, PlanError

PASSWORD, OTHER = "correct horse battery", "another horse battery"


@pytest.fixture
def accounts(store: Store) -> Accounts:
    made = Accounts(store)
    for name in ("ada", "bob"):
        made.add(name, PASSWORD)
    return made


def account(accounts: Accounts, name: str = "ada") -> int | None:
    return accounts.find(name)


def test_keys_are_listed_and_revoked_one_by_one(accounts: Accounts) -> None:
    ada, bob = account(accounts), account(accounts, "bob")
    first, second = accounts.make_key(ada, "laptop"), accounts.make_key(ada, "  nightly export ")
    other = accounts.make_key(bob, "bob's")
    accounts.begin_session(ada)
    today = datetime.now(UTC).date()
    assert [(key.name, key.made, key.used) for key in accounts.list_keys(ada)] == [
        ("laptop", today, None),
        ("nightly export", today, None),
    ]
    assert accounts.session(second) is not None
    listed = {key.name: key for key in accounts.list_keys(ada)}
    assert listed["nightly export"].used == today and (listed["laptop"].expires - today).days in (364, 365)
    assert not any(first[:8] in str(key) or second[:8] in str(key) for key in listed.values())
    with pytest.raises(AccessError, match="no access key has this handle"):
        accounts.revoke(listed["laptop"].handle, bob)
    for name in ("x" * 201, "a\x00b"):
        with pytest.raises(AccessError, match="visible characters"):
            accounts.make_key(ada, name)
    accounts.revoke(listed["laptop"].handle, ada)
    assert accounts.session(first) is None and accounts.session(second) is not None
    assert accounts.session(other) is not None and len(accounts.list_keys()) == 2


def test_another_password_ends_all_other_sessions_and_keys(accounts: Accounts) -> None:
    here, there, key = (accounts.sign_in("ada", PASSWORD) for _ in range(3))
    key, bobs = accounts.make_key(account(accounts), "laptop"), accounts.sign_in("bob", PASSWORD)
    session = accounts.session(here)
    with pytest.raises(AccessError, match="the current password is wrong"):
        accounts.change_password(session, here, OTHER, OTHER)
    with pytest.raises(AccessError, match="a password must have"):
        accounts.change_password(session, here, PASSWORD, "short")
    assert accounts.session(there) is not None
    assert accounts.change_password(session, here, PASSWORD, OTHER) == 3
    assert [accounts.session(one) is not None for one in (here, there, key, bobs)] == [True, False, False, True]
    with pytest.raises(AccessError):
        accounts.sign_in("ada", PASSWORD)
    assert accounts.sign_in("ada", OTHER)


def test_from_the_terminal(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'surveys.db'}"
    store = Store(url)
    store.create()
    accounts = Accounts(store)
    ada = accounts.add("ada", PASSWORD)
    key = accounts.make_key(ada, "laptop")
    words = ["--database", url]
    assert run("survey", "keys", *words).out.split()[1:3] == ["ada:", "laptop,"]
    (listed,) = run("survey", "keys", *words, "--json").json()["keys"]
    assert run("survey", "revoke", listed["handle"], *words).out == "revoked: laptop, of ada\n"
    assert accounts.session(key) is None
    assert "no access key has this handle" in run("survey", "revoke", "0" * 12, *words, status=2).err
    session = accounts.begin_session(ada)
    told = run("survey", "password", "ada", *words, stdin=f"{OTHER}\n{OTHER}\n".encode()).out
    assert "1 session or key ended" in told and OTHER not in told and accounts.session(session) is None
    assert accounts.sign_in("ada", OTHER)
    assert run("survey", "password", "eve", *words, stdin=f"{OTHER}\n{OTHER}\n".encode(), status=2)
    store.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = served(tmp_path)
    Accounts(app.state.service.store).add("ada", PASSWORD)
    with TestClient(app, follow_redirects=False) as made:
        yield made


def signed_in(client: TestClient) -> dict[str, str]:
    client.post("/studio/login", data={"name": "ada", "password": PASSWORD})
    session = Accounts(client.app.state.service.store).session(client.cookies["maskwell"])  # type: ignore[attr-defined]
    return {"csrf": session.csrf}


def test_the_page_of_an_account(client: TestClient) -> None:
    csrf = signed_in(client)
    key = client.post("/studio/key", data={**csrf, "name": "<laptop>"})
    assert key.status_code == 200
    page = client.get("/studio/account").text
    assert "&lt;laptop&gt;" in page
    accounts = Accounts(client.app.state.service.store)  # type: ignore[attr-defined]
    (listed,) = accounts.list_keys()
    revoke = {"wish": "revoke", "handle": listed.handle}
    assert client.post("/studio/account", data=revoke).status_code == 403  # without the token of the session
    assert "was revoked" in client.post("/studio/account", data={**csrf, **revoke}).text
    assert accounts.list_keys() == []
    assert client.post("/studio/account", data={**csrf, **revoke}).status_code == 404
    wrong = {**csrf, "wish": "password", "before": OTHER, "after": OTHER}
    assert client.post("/studio/account", data=wrong).status_code == 403
    right = {**csrf, "wish": "password", "before": PASSWORD, "after": OTHER}
    assert client.post("/studio/account", data=right).status_code == 200
    assert client.post("/studio/login", data={"name": "ada", "password": PASSWORD}).status_code == 403


def test_a_link_expires(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    session = accounts.session(accounts.begin_session(account(accounts)))
    token = accounts.account_link(session)
    monkeypatch.setattr(accounts_module, "LINK_HOURS", -1)
    late = accounts.account_link(session)
    with pytest.raises(AccessError, match="this link is no longer valid"):
        accounts.set_up(late, "eve", PASSWORD)
    assert accounts.set_up(token, "eve", PASSWORD)


def test_a_long_draft_does_not_keep_respondents_waiting(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in threads of their own, never in the one that answers everybody."""
    read = []

    def seen(text: str) -> None:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        read.append(text)

    monkeypatch.setattr(studio, "form_of", seen)
    csrf = signed_in(client)
    assert client.post("/studio/new", data={**csrf, "text": "[survey]"}).status_code == 422
    assert read == ["[survey]"]


def request(client: str, **headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": pairs, "client": (client, 1)})


@pytest.mark.parametrize(
    ("proxy", "client", "forwarded", "address"),
    [
        ("", "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("127.0.0.1", "127.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("127.0.0.1", "127.0.0.1", "", "127.0.0.1"),
        ("", "2001:db8::1:2:3:4", "", "2001:db8::/64"),
        ("127.0.0.1", "127.0.0.1", "x" * 500, "x" * 64),
    ],
)
def test_whom_a_request_comes_from(proxy: str, client: str, forwarded: str, address: str) -> None:
    headers = {"x_forwarded_for": forwarded} if forwarded else {}
    assert address_of(request(client, **headers), Settings(proxy=proxy)) == address


def test_the_setting_of_who_may_watch_is_one_of_two() -> None:
    with pytest.raises(ParameterError, match="the command: metrics must be one of local, open, not all"):
        Settings.load(environment={}, metrics="all")


@pytest.mark.parametrize(
    ("settings", "client", "headers", "status"),
    [
        ({}, "127.0.0.1", {}, 200),
        ({}, "::1", {}, 200),
        ({}, "192.0.2.1", {}, 403),
        ({}, "127.0.0.1", {"x-forwarded-for": "192.0.2.1"}, 403),
        ({"public_url": "https://survey.example.org"}, "127.0.0.1", {}, 403),
        ({"metrics": "open"}, "192.0.2.1", {}, 200),
        ({"metrics_token": "s3cret"}, "192.0.2.1", {"authorization": "Bearer s3cret"}, 200),
        ({"metrics_token": "s3cret"}, "127.0.0.1", {"authorization": "Bearer wrong"}, 403),
        ({}, "192.0.2.1", {"authorization": "Bearer "}, 403),
    ],
)
def test_who_may_watch(tmp_path, settings, client, headers, status) -> None:
    app = served(tmp_path, **settings)
    answer = TestClient(app, client=(client, 1)).get("/metrics", headers=headers)
    assert answer.status_code == status and ("maskwell_reports" in answer.text) == (status == 200)


@pytest.mark.parametrize("label", ["=1+1", "@SUM(A1)", "- none", "+cmd|' /C calc'!A0", " =1"])
def test_no_label_is_a_formula(label: str) -> None:
    with pytest.raises(PlanError, match=r"starts with =, \+, - or @, like a formula"):
        Survey.from_toml(SURVEY.replace('answers = ["north", "south"]', f'answers = ["north", "{label}"]'))


def test_numbers_are_labels_and_what_people_open_holds_no_formula(tmp_path: Path) -> None:
    """What is asked may begin as it likes: it stands only in the table for people."""
    text = SURVEY.replace('"north", "south"', '"-1", "+5"').replace('region = "north"', 'region = "-1"')
    survey = Survey.from_toml(text.replace('"Nord", "Süd"', '"a", "b"'))
    assert survey.questions[0].labels == ("-1", "+5")
    store = new_store(tmp_path)
    text = SURVEY.replace("Did you declare all of it?", "=HYPERLINK(1)")
    stored = store.open(store.add_survey(Survey.from_toml(text), text))
    store.accept([submission(stored) for _ in range(3)])
    rows = [*csv.reader(io.StringIO(results_csv([question_result(store, stored, "tax")], "en")))]
    assert {row[1] for row in rows[1:]} == {"'=HYPERLINK(1)"}
    store.close()


def test_the_last_owner_of_a_survey_stays_one(store: Store) -> None:
    accounts = Accounts(store)
    ann = accounts.add("ann", PASSWORD)
    accounts.add("bob", PASSWORD)
    stored = store.survey(store.add_survey(Survey.from_toml(SURVEY), owner=ann))
    with pytest.raises(AccessError, match="at least one owner"):
        accounts.share(stored, "ann", "analyst")
    with pytest.raises(AccessError, match="at least one owner"):
        accounts.unshare(stored, "ann")
    with pytest.raises(AccessError, match="nobody with this name has access to the survey"):
        accounts.unshare(stored, "ann\0")
    accounts.share(stored, "bob", "owner")
    accounts.share(stored, "ann", "analyst")
    assert accounts.names(stored) == [("ann", "analyst"), ("bob", "owner")]
    accounts.unshare(stored, "ann")
    assert accounts.names(stored) == [("bob", "owner")]

"""Attacks on the service: on what it keeps and logs, on those who are signed in, and by the texts of surveys."""

import json
import stat
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.collecting import BY_INVITATION, new_store, opened, served, submission

from maskwell.collection import accounts as accounts_module
from maskwell.collection.accounts import TRIES, AccessError, Accounts, Waits
from maskwell.collection.application import LARGEST_BODY
from maskwell.collection.drafts import consequences
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import NoSurveyError, token_hash
from maskwell.collection.survey import LONGEST_NAME, Survey
from maskwell.errors import PlanError

PASSWORD = "correct horse battery"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = served(tmp_path)
    with TestClient(app, follow_redirects=False, raise_server_exceptions=False) as made:
        Accounts(app.state.service.store).add("ada", PASSWORD)
        yield made


def store_of(client: TestClient) -> Store:
    store: Store = client.app.state.service.store  # type: ignore[attr-defined]
    return store


def sign_in(client: TestClient, name: str = "ada", password: str = PASSWORD, **headers: str) -> Any:
    return client.post("/studio/login", data={"name": name, "password": password}, headers=headers)


def survey_with(design: str, demand: str = "epsilon = 1", answers: str = 'answers = ["yes", "no"]') -> str:
    return (
        f'[survey]\ntitle = "x"\ndemand = {{ {demand} }}\n[[question]]\nname = "q"\nask = "?"\n{answers}\n'
        f"design = {design}\n"
    )


@pytest.mark.parametrize("answers", ['answers = ["yes", "no"]', ""])
@pytest.mark.parametrize(
    "design",
    [
        '"PATH"',
        '{ file = "PATH" }',
        '{ file = "../PATH" }',
        '{ curves = "PATH" }',
        '{ family = "matrix", matrix = "PATH" }',
        '{ family = "k-ary", curves = "PATH" }',
        '{ family = "kronecker", designs = ["PATH"] }',
        '{ family = "repeated", designs = ["PATH", "PATH"] }',
        '{ family = "shared", outcomes = [["1", ["PATH"]]] }',
    ],
)
def test_a_survey_from_elsewhere_reads_no_file(tmp_path: Path, design: str, answers: str) -> None:
    """Not even whether a file is there is told: both texts are answered alike."""
    there = tmp_path / "secret.csv"
    there.write_text("password,hunter2\n")
    told = [
        consequences(survey_with(design.replace("PATH", str(path)), answers=answers))["error"]
        for path in (there, tmp_path / "absent.csv")
    ]
    assert told[0] == told[1] and "names a file" in told[0]["message"]
    text = survey_with("{ gamma = 2 }", demand=f'curves = "{tmp_path / "absent.csv"}"')
    assert "names a file" in consequences(text)["error"]["message"]


@pytest.mark.parametrize("design", ["{ family = 'k-ary', k = 1000000000, gamma = 2 }", "{ gamma = 2 }"])
def test_too_many_answers_are_refused_before_a_design_is_made(design: str) -> None:
    many = "" if "family" in design else f"answers = {json.dumps([f'a{i}' for i in range(30_000)])}"
    with pytest.raises(PlanError, match="answers"):
        Survey.from_toml(survey_with(design, answers=many))


def test_names_that_are_none_are_refused_and_commands_in_an_export_safe_to_paste(client: TestClient) -> None:
    for name in ["a/b", "../../x", "a\\b", ".hidden", "x" * (LONGEST_NAME + 1), "a\u202eb", "a\nb"]:
        text = survey_with("{ gamma = 2 }").replace('name = "q"', f"name = {json.dumps(name)}")
        with pytest.raises(PlanError, match="name"):
            Survey.from_toml(text)
    for language in ["", "e", "english!", "__proto__", "constructor", "en_GB"]:
        with pytest.raises(PlanError):
            Survey.from_toml(survey_with("{ gamma = 2 }").replace("[survey]", f'[survey]\nlanguages = ["{language}"]'))
    store = store_of(client)
    name = "q; touch pwned $(id)"
    stored = opened(store, survey_with("{ gamma = 2 }").replace('name = "q"', f'name = "{name}"'))
    account = Accounts(store).add("eve", PASSWORD)
    Accounts(store).share(stored, "eve", "analyst")
    key = {"Authorization": f"Bearer {Accounts(store).begin_session(account)}"}
    store.accept([submission(stored, {name: 0})])
    answer = client.get(f"/api/admin/surveys/{stored.code}/export", headers=key)
    readme = zipfile.ZipFile(BytesIO(answer.content)).read("README.txt").decode()
    assert f"--design '{name}=design-{name}.json'" in readme


def test_the_database_is_for_its_user_only_and_its_errors_show_no_report(tmp_path: Path, store: Store) -> None:
    store = new_store(tmp_path)
    opened(store)
    for path in tmp_path.glob("surveys.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    stored = opened(store, BY_INVITATION)
    (token,) = store.invite(stored.code, 1)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE tallies")
    with pytest.raises(Exception, match="tallies") as raised:
        store.accept([submission(stored, invitation=token_hash(token), id=b"0123456789abcdef")])
    told = f"{raised.value!s} {raised.value!r}"
    assert "1010" not in told and "0123456789abcdef" not in told


def test_codes_names_and_invitations_of_strange_characters_are_refused(store: Store, client: TestClient) -> None:
    for code in ("\x00", "a\x00b", "%", "é", "' OR 1=1 --", ""):
        with pytest.raises(NoSurveyError):
            store.survey(code)
    for name in ("a\x00b", "x" * 201, ""):
        with pytest.raises(AccessError, match="wrong"):
            Accounts(store).sign_in(name, PASSWORD)
    stored = opened(store_of(client), BY_INVITATION)
    for token in ("\x00", "x" * 10_000, "", "a b"):
        answer = client.post(f"/api/surveys/{stored.code}/invitation", json={"invitation": token})
        assert answer.status_code == 422


def test_ids_are_of_one_survey_also_after_it_was_deleted(store: Store) -> None:
    """Somebody who knows an id learns nothing about it from another survey."""
    first, second = opened(store), opened(store)
    known = b"0123456789abcdef"
    assert store.accept([submission(first, id=known)]) == ["accepted"]
    assert store.accept([submission(second, {"region": 1, "tax": 0, "sources": "1100"}, id=known)]) == ["accepted"]
    # A process that has not heard of the deletion would put its reports into the new survey.
    first = opened(store)
    store.delete(first.code)
    second = opened(store)
    assert second.id != first.id and store.accept([submission(first)]) == ["closed"]


@pytest.mark.parametrize("name", ["ada ", " ada", "ada\t", "\u2003ada"])
def test_blanks_around_a_name_give_no_further_tries(client, name, monkeypatch) -> None:
    monkeypatch.setattr(accounts_module, "wait_after", long_wait)
    for _ in range(TRIES + 2):
        assert sign_in(client).status_code == 303  # right ones are no tries
    for _ in range(TRIES):
        assert sign_in(client, password="wrong password").status_code == 403
    assert sign_in(client, name, "wrong password").status_code == 429 and sign_in(client).status_code == 429


def test_a_wait_grows_and_ends(store: Store) -> None:
    now = [1000.0]
    accounts = Accounts(store)
    accounts._waits = Waits(lambda: now[0])
    accounts.add("ada", "a long password")
    for _ in range(TRIES):
        with pytest.raises(AccessError, match="the name or the password is wrong"):
            accounts.sign_in("ada", "wrong password", "192.0.2.1")
    for wait in (1, 2, 4, 8):
        with pytest.raises(AccessError, match="too many") as refused:
            accounts.sign_in("ada", "a long password", "192.0.2.1")
        assert refused.value.hint == f"wait {wait} second{'s' if wait > 1 else ''}"
        now[0] += wait
        with pytest.raises(AccessError, match="the name or the password is wrong"):
            accounts.sign_in("ada", "wrong password", "192.0.2.1")
    now[0] += 16
    assert accounts.session(accounts.sign_in("ada", "a long password", "192.0.2.1"))
    with pytest.raises(AccessError, match="the name or the password is wrong"):  # the right one begins anew
        accounts.sign_in("ada", "wrong password", "192.0.2.1")


def long_wait(wrong: int) -> int:
    """So that a slow machine changes nothing."""
    return 0 if wrong < TRIES else 1000


def test_a_stranger_keeps_nobody_waiting_but_themselves(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts_module, "wait_after", long_wait)
    accounts = Accounts(store)
    accounts.add("ada", "a long password")
    for _ in range(3 * TRIES):
        with pytest.raises(AccessError):
            accounts.sign_in("ada", "wrong password", "192.0.2.66")
    with pytest.raises(AccessError, match="too many"):
        accounts.sign_in("ada", "a long password", "192.0.2.66")
    assert accounts.session(accounts.sign_in("ada", "a long password", "192.0.2.1"))


def test_waits_do_not_fill_the_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts_module, "MOST_REMEMBERED", 20)
    accounts = Accounts(store)
    for number in range(50):
        with pytest.raises(AccessError):
            accounts.sign_in("ada", "wrong password", f"192.0.2.{number}")
    assert len(accounts._waits._wrong) <= 20


def test_tries_are_counted_before_the_password_is_looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a hundred at once are no way around the limit."""
    monkeypatch.setattr(accounts_module, "wait_after", long_wait)
    accounts = Accounts(store)
    seen: list[int] = []

    def slow(kept: str, password: str) -> bool:
        seen.append(1)
        if len(seen) < 3 * TRIES:
            with pytest.raises(AccessError):
                accounts.sign_in("ada", "wrong password")
        return False

    accounts._is_right = slow  # type: ignore[method-assign]
    with pytest.raises(AccessError):
        accounts.sign_in("ada", "wrong password")
    assert len(seen) == TRIES


def test_user_and_password_of_a_proxy_do_not_stand_for_the_token_of_the_form(client: TestClient) -> None:
    """A browser sends ``Authorization: Basic`` by itself, also with a form of another site."""
    sign_in(client)
    answer = client.post("/studio/key", headers={"Authorization": "Basic YTpi"})
    assert answer.status_code == 403 and "key" not in answer.text.lower().split("error")[0]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_can_sign_nobody_in(client: TestClient, site: str) -> None:
    answer = sign_in(client, **{"Sec-Fetch-Site": site})
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


@pytest.mark.parametrize("address", ["/studio/login", "/studio/setup"])
def test_a_form_of_somebody_unknown_has_a_largest_size(client: TestClient, address: str) -> None:
    assert client.post(address, data={"name": "x" * (LARGEST_BODY + 1)}).status_code == 413


def test_an_entry_link_ends_when_the_next_is_made(store: Store) -> None:
    accounts = Accounts(store)
    account = accounts.add("ada", PASSWORD)
    old, new = accounts.entry_link(account), accounts.entry_link(account)
    with pytest.raises(AccessError):
        accounts.enter(old)
    assert accounts.enter(new)
    with pytest.raises(AccessError):
        accounts.enter(new)


@pytest.mark.parametrize("path", ["..%2fstore.py", "%2e%2e%2fstore.py", "respond.js%00", "/etc/passwd", "__init__"])
def test_static_files_are_those_of_the_folder(client: TestClient, path: str) -> None:
    assert client.get(f"/static/{path}").status_code in (404, 307)

"""What strangers cannot do to the service, and what it never prints."""

import json
import logging
import secrets
import shlex
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient
from tests.support.collecting import REPORTS, SURVEY, database, opened, served, submission
from tests.support.command_line import run
from tests.unit.collection.test_reading import no_file_beyond

from maskwell.collection import application
from maskwell.collection.accounts import TRIES, TRIES_FOR_NAME, TRIES_IN_ALL, AccessError, Accounts, Waits
from maskwell.collection.client import padded
from maskwell.collection.desk import Desk
from maskwell.collection.server import OPTIONS, MaskedFormatter, prepare
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Survey

PASSWORD = "correct horse battery"
SECRET = "Zebra-s3cret"
HIDDEN = f"postgresql+psycopg://ann:{SECRET}@127.0.0.1:1/surveys"


def service(folder: Path, **settings: Any) -> tuple[TestClient, StoredSurvey]:
    app = served(folder, **settings)
    store: Store = app.state.service.store
    account = Accounts(store).add("ada", PASSWORD)
    return TestClient(app, follow_redirects=False, raise_server_exceptions=False), opened(store, owner=account)


def test_a_redirect_keeps_scheme_and_host(tmp_path: Path) -> None:
    client, stored = service(tmp_path)
    headers = {"Host": "evil.example"}
    for path in (f"/s/{stored.code}", f"/s/{stored.code}/check", "/studio/login"):
        sent = client.get(f"{path}/?x=1", headers=headers)
        assert (sent.status_code, sent.headers["location"]) == (307, f"{path}?x=1")
    for path in ("//evil.example/", "/nothing/", "/s/", "//evil.example/studio/"):
        assert client.get(f"http://testserver{path}", headers=headers).status_code == 404
    odd = client.get(f"//s//{stored.code}/", headers=headers)
    assert not odd.headers.get("location", "/").startswith(("//", "http"))


@pytest.mark.parametrize(("public", "is_told"), [("https://survey.example.org", True), ("", False)])
def test_browsers_are_told_to_keep_to_https(tmp_path: Path, public: str, is_told: bool) -> None:
    client, stored = service(tmp_path, public_url=public)
    for path in ("/health", f"/s/{stored.code}", "/nothing", f"/s/{stored.code}/"):
        assert ("strict-transport-security" in client.get(path).headers) == is_told


def test_health_is_bad_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "WELL_SECONDS", 0)
    client, stored = service(tmp_path)
    with client:
        assert client.get("/health").status_code == 200
        with no_file_beyond(0):
            assert client.get("/health").status_code == 503
            url = f"sqlite:///{tmp_path / 'surveys.db'}"
            refused = run("survey", "close", stored.code, "--database", url, status=2)
            assert "nothing can be written" in refused.err or "can be read but not written" in refused.err
            run("survey", "check", stored.code, "--database", url)
        assert client.get("/health").status_code == 200


def test_health_is_good_while_somebody_else_writes(store: Store) -> None:
    with store.engine.begin() as connection:
        if store.is_sqlite:
            began = time.monotonic()
            store.check()
            assert time.monotonic() - began < 5
        assert connection
    store.check()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, int]]:
    client, _ = service(tmp_path)
    server = uvicorn.Server(uvicorn.Config(client.app, host="127.0.0.1", port=0, **OPTIONS))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[:2]
    server.should_exit = True
    thread.join(20)


def answer_to(address: tuple[str, int], *parts: bytes, most: int = 1) -> tuple[bytes, int]:
    sent = 0
    with socket.create_connection(address, timeout=10) as connection:
        try:
            for _ in range(most):
                for part in parts:
                    connection.sendall(part)
                    sent += len(part)
        except OSError:
            return b"", sent
        try:
            return connection.recv(1000), sent
        except ConnectionError:
            return b"", sent


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    ],
)
def test_headers_that_are_too_many_or_too_long_get_431(address: tuple[str, int], request_: bytes) -> None:
    assert answer_to(address, request_)[0].split(b"\r\n")[0] == b"HTTP/1.1 431 Request Header Fields Too Large"


def test_web_sockets_and_several_requests_are_requests(address: tuple[str, int]) -> None:
    asked = b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert answer_to(address, asked)[0].startswith(b"HTTP/1.1 200")
    # A body of the largest size, again and again: what is counted is not the body.
    body = json.dumps({"x": "y" * 60_000}).encode()
    head = b"POST /api/surveys/a/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
    with socket.create_connection(address, timeout=10) as connection:
        for _ in range(5):
            connection.sendall(head + str(len(body)).encode() + b"\r\n\r\n" + body)
            assert connection.recv(5000).startswith(b"HTTP/1.1 404")
    megabyte = b"x" * (1 << 20)
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nX: ")
        sent, began = 0, time.monotonic()
        with suppress(OSError):  # reset, or a broken pipe
            while sent < 52:
                connection.sendall(megabyte)
                sent += 1
        assert sent < 20
    assert time.monotonic() - began < 5
    assert answer_to(address, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")[0].startswith(b"HTTP/1.1 200")
    head = b"POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(head)
        sent = 0
        with suppress(OSError):
            while sent < 50:
                connection.sendall(b"X: " + b"x" * (1 << 20))
                sent += 1
        assert sent < 20


def test_no_command_prints_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SURVEY, encoding="utf-8")
    Path("backup.db").write_bytes(b"SQLite format 3\0")
    Path("rows.csv").write_text("a\n1\n", encoding="utf-8")
    lines = """add s.toml; list; open X; close X; invite X --count 2 -o l; results X; import X rows.csv; check X; keys;
        embed X --name tax --for qualtrics -o e; offline X -o p; form X --device dice -o f; export X -o folder;
        delete X --confirm; revoke X; password ann --password abcdefghij; backup -o b; restore backup.db; owner X ann"""
    commands = [["survey", *line.split()] for line in lines.split(";")] + [["serve"]]
    strange = [HIDDEN.replace("+psycopg", ""), f"postgresql://ann:{SECRET}@x:y/z", f"mysql://a:p@{SECRET}@h/d"]
    strange += [f"postgresql+psycopg://127.0.0.1:1/x?user=ann&password={SECRET}"]
    for words in commands:
        for more in ([], ["--json"]):
            done = run(*words, "--database", HIDDEN, *more, status=2)
            assert SECRET not in done.out + done.err
    for url in strange:
        for words in (["survey", "list"], ["serve"], ["serve", "--port", url], ["serve", "--workers", url]):
            done = run(*words, *([] if len(words) > 2 else ["--database", url]), status=None)
            assert SECRET not in done.out + done.err, words
            assert done.status == 2


def test_the_start_names_the_database_without_its_password(tmp_path: Path) -> None:
    with database("postgresql", tmp_path) as url:
        named = url.replace("://postgres:", f"://postgres:{SECRET}").replace("://postgres@", f"://postgres:{SECRET}@")
        ready = prepare(Settings(database=named))
    assert SECRET in named and SECRET not in json.dumps(ready.to_dict()) + "\n".join(ready.lines())
    assert "***" in ready.lines()[-1]


def test_kept_tracebacks_and_the_log_have_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"cannot reach {HIDDEN}")

    monkeypatch.setattr(Desk, "open", fail)
    done = run("survey", "list", status=3)
    path = next(Path(word) for word in done.err.split() if word.endswith(".txt"))
    kept = path.read_text(encoding="utf-8")
    path.unlink()
    assert "cannot reach postgresql+psycopg://ann:***@127.0.0.1:1/surveys" in kept
    assert SECRET not in kept + done.err
    try:
        raise ValueError(HIDDEN)
    except ValueError:
        record = logging.LogRecord("x", 40, "x", 1, "no answer from %s", (HIDDEN,), sys.exc_info())
    assert SECRET not in MaskedFormatter().format(record)
    assert OPTIONS["log_config"]["formatters"]["plain"]["()"] is MaskedFormatter


def test_a_survey_of_the_terminal_gets_an_owner(tmp_path: Path) -> None:
    client, _ = service(tmp_path)
    url = ("--database", f"sqlite:///{tmp_path / 'surveys.db'}")
    (tmp_path / "s.toml").write_text(SURVEY.replace("Working life", "From here"), encoding="utf-8")
    code = run("survey", "add", tmp_path / "s.toml", *url, "--json").json()["code"]
    assert "no owner" in run("survey", "list", *url).out
    client.post("/studio/login", data={"name": "ada", "password": PASSWORD})
    assert client.get(f"/studio/s/{code}").status_code == 404
    assert "accounts: ada" in run("survey", "owner", code, "bob", *url, status=2).err
    assert run("survey", "owner", code, "ada", *url).out == "owners of From here: ada\n"
    assert client.get(f"/studio/s/{code}").status_code == 200
    assert run("survey", "owner", code, "ada", *url, "--json").json()["owners"] == ["ada"]
    second = run("survey", "add", tmp_path / "s.toml", "--owner", "ada", *url, "--json").json()
    assert second["owners"] == ["ada"] and "From here" in client.get("/studio").text
    assert "does not exist" in run("survey", "add", tmp_path / "s.toml", "--owner", "eve", *url, status=2).err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_lines_that_are_printed_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Also those of a question with a condition, which leaves fields empty."""
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY, encoding="utf-8")
    first = run("survey", "add", "survey.toml").out.splitlines()
    code = first[0].split()[1].rstrip(":")
    assert first[-1] == f"Next: maskwell survey open {code}"
    run(*shlex.split(first[-1])[2:])
    store = Store("sqlite:///maskwell-surveys.db")
    stored = store.survey(code)
    south = {"region": 1, "tax": 0, "sources": "1100"}
    store.accept([submission(stored, REPORTS if i % 3 else south) for i in range(60)])
    store.close()
    printed = run("survey", "export", code, "-o", "out folder", "--format", kind).out.splitlines()
    following = [line.removeprefix("Next: ") for line in printed if line.startswith("Next: ")]
    readme = (Path("out folder") / "README.txt").read_text(encoding="utf-8").splitlines()
    inside = [line.strip() for line in readme if line.startswith("  maskwell ")]
    assert (len(following), len(inside)) == (3, 3)
    for line in following:
        run(*shlex.split(line)[1:])
    monkeypatch.chdir(tmp_path / "out folder")
    for line in inside:
        run(*shlex.split(line)[1:])


def test_a_key_does_what_its_scope_says(tmp_path: Path) -> None:
    client, stored = service(tmp_path)
    accounts = Accounts(client.app.state.service.store)  # type: ignore[attr-defined]
    one = f"/api/admin/surveys/{stored.code}"
    asks = {"results": ("GET", f"{one}/results"), "export": ("GET", f"{one}/export"), "manage": ("DELETE", one)}
    allowed = {"results": ["results"], "export": ["results", "export"], "manage": ["results", "export", "manage"]}
    account = accounts.find("ada")
    for scope, able in allowed.items():
        key = accounts.make_key(account, "k", scope) if scope != "results" else accounts.make_key(account, "k")
        headers = {"Authorization": f"Bearer {key}"}
        done = [ask for ask, words in asks.items() if client.request(*words, headers=headers).status_code != 403]
        assert done == able
        for path in ("/studio", "/studio/account", f"/studio/s/{stored.code}/export.csv"):
            assert client.get(path, headers=headers).status_code == 403
        assert client.post("/studio/key", headers=headers).status_code == 403
    with pytest.raises(AccessError, match="must be one of results, export, manage"):
        accounts.make_key(account, "k", "everything")


def test_a_key_has_the_least_scope_and_who_has_to_wait_is_told_for_how_long(tmp_path: Path) -> None:
    client, _ = service(tmp_path)
    accounts = Accounts(client.app.state.service.store)  # type: ignore[attr-defined]
    client.post("/studio/login", data={"name": "ada", "password": PASSWORD})
    session = accounts.session(client.cookies["maskwell"])
    for scope in ({}, {"scope": "manage"}):
        client.post("/studio/key", data={"csrf": session.csrf, "name": f"k{len(scope)}", **scope})
    assert {key.name: key.scope for key in accounts.list_keys()} == {"k0": "results", "k1": "manage"}
    assert "manage" in client.get("/studio/account").text
    for _ in range(TRIES):
        assert client.post("/studio/login", data={"name": "ada", "password": "wrong"}).status_code == 403
    refused = client.post("/studio/login", data={"name": "ada", "password": PASSWORD})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def guesses(waits: Waits, clock: Clock, seconds: int, name: Any, address: Any) -> int:
    looked_at = 0
    for i in range(10 * seconds):
        clock.now += 0.1
        try:
            with waits.one_try(address(i), name(i)):
                looked_at += 1
        except AccessError:
            pass
    return looked_at


def test_many_addresses_or_many_names_together_guess_slowly() -> None:
    clock = Clock()
    waits = Waits(clock)
    with waits.one_try("home", "ada") as is_right:
        is_right()
    looked_at = guesses(waits, clock, 600, lambda _: "ada", lambda i: f"address {i}")
    assert looked_at <= TRIES_FOR_NAME + 600 / 10 + 1
    with waits.one_try("home", "ada") as is_right:  # the owner, from an address that was right before
        is_right()
    clock.now += 11
    with waits.one_try("elsewhere", "ada") as is_right:  # nobody is locked out: the wait ends
        is_right()
    with waits.one_try("elsewhere", "bob"):
        pass
    clock = Clock()
    looked_at = guesses(Waits(clock), clock, 600, lambda i: f"name {i}", lambda i: f"address {i}")
    assert looked_at <= TRIES_IN_ALL + 600 + 1


@pytest.mark.parametrize(
    ("stdin", "saying"),
    [(b"\xff\xfe\xff\xfe12345678\n", "UTF-8"), (b"", "first line"), (b"abcdefghij\nabcdefghik\n", "may repeat it")],
)
def test_a_password_that_cannot_be_read_is_refused(tmp_path: Path, stdin: bytes, saying: str) -> None:
    service(tmp_path)
    words = ("survey", "password", "ada", "--database", f"sqlite:///{tmp_path / 'surveys.db'}")
    refused = run(*words, stdin=stdin, status=2)
    assert saying in refused.err
    done = run(*words, stdin=b"another horse battery\n")
    assert "warning" not in (done.out + done.err).lower()


GROUPS = [f"group {i}" for i in range(12)]
LONG = f"""
survey = {{ title = "Ages", demand = {{ gamma = 3 }} }}
question = [
  {{ name = "age", ask = "How old are you?", answers = {GROUPS}, open = true }},
  {{ name = "sources", ask = "Where from?", answers = ["job", "trade", "rent", "other"], \
design = {{ family = "subset", gamma = 3, size = 2 }}, show_if = {{ age = {GROUPS[:11]} }} }},
]
"""


def test_all_submissions_of_a_survey_have_the_same_length(tmp_path: Path) -> None:
    text = LONG
    survey = Survey.from_toml(text)
    sent = [
        {"id": secrets.token_hex(16), "survey": survey.fingerprint, "reports": reports}
        for reports in ({"age": 9, "sources": "0101"}, {"age": 10, "sources": "1100"}, {"age": 11})
    ]
    assert len({len(json.dumps(one)) for one in sent}) == 3
    assert len({len(padded(survey, one)) for one in sent}) == 1
    app = served(tmp_path)
    stored = opened(app.state.service.store, text)
    with TestClient(app) as client:
        kind = {"Content-Type": "application/json"}

        def post(content: bytes) -> int:
            return client.post(f"/api/surveys/{stored.code}/reports", content=content, headers=kind).status_code

        assert [post(padded(survey, one)) for one in sent] == [200] * 3
        assert [post(json.dumps(one).encode()) for one in sent] == [200] * 3
        assert [post(padded(survey, sent[0]) + end) for end in (b"x", b"{}", b"\0", b"\xa0")] == [400] * 4


def test_printed_lines_name_the_database_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY, encoding="utf-8")
    url = ("--database", "sqlite:///other surveys.db")
    added = run("survey", "add", "survey.toml", *url).out.splitlines()
    run(*shlex.split(added[-1])[2:])
    code = added[0].split()[1].rstrip(":")
    assert "open" in run("survey", "list", *url).out
    assert run("survey", "offline", code, "-o", "page.html", *url).out.rstrip().endswith(shlex.join(url))
    assert not Path("maskwell-surveys.db").exists()

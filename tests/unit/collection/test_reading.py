"""Databases that cannot be read or written, or are away: refused in a line, told to respondents, and nothing half."""

import ctypes
import os
import resource
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from tests.support.collecting import BY_HAND, REPORTS, SURVEY, database, opened, served, submission
from tests.support.command_line import run

from maskwell.collection import intake
from maskwell.collection.desk import Desk
from maskwell.collection.intake import Intake
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.errors import ParameterError

URL = ("--database", "sqlite:///surveys.db")
READING = ("list", "results CODE", "check CODE", "export CODE -o {out}/folder", "backup -o {out}/copy.db", "keys")
READING += ("embed CODE --name tax --for qualtrics -o {out}/tax.js", "offline CODE -o {out}/page.html")
WRITING = ("close CODE", "open CODE", "delete CODE --confirm", "invite CODE --count 3 -o {out}/links.txt", "add s.toml")
WRITING += ("import CODE rows.csv", "owner CODE ada", "revoke 0123456789ab")


@contextmanager
def bound_by_permissions() -> Iterator[None]:
    """Root may write everything: for a while this thread gives that up (Linux: CAP_DAC_OVERRIDE)."""
    if os.geteuid() != 0:
        yield
        return
    system = ctypes.CDLL(None, use_errno=True)
    header, state = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert system.capget(header, state) == 0
    before = state[0]
    state[0] = before & ~0b110  # also CAP_DAC_READ_SEARCH
    assert system.capset(header, state) == 0
    try:
        yield
    finally:
        state[0] = before
        assert system.capset(header, state) == 0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A folder with a database that is not ours, a folder for outputs, and the code of the survey."""
    (tmp_path / "data").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    (tmp_path / "data" / "s.toml").write_text(SURVEY, encoding="utf-8")
    (tmp_path / "data" / "rows.csv").write_text("region,cash,tax,sources\nsouth,,yes,1010\n", encoding="utf-8")
    store = Store("sqlite:///surveys.db")
    store.create()
    stored = opened(store)
    store.accept([submission(stored) for _ in range(30)])
    store.close()
    yield tmp_path / "out", stored.code
    (tmp_path / "data").chmod(0o755)


def words(line: str, code: str) -> list[str]:
    return ["survey", *line.replace("CODE", code).replace("{out}", "../out").split(), *URL]


@pytest.mark.parametrize("folder", [0o777, 0o555])
def test_a_copy_that_cannot_be_written_is_read(place: tuple[Path, str], folder: int) -> None:
    out, code = place
    Path("surveys.db").chmod(0o444)
    Path.cwd().chmod(folder)
    before = Path("surveys.db").read_bytes()
    with bound_by_permissions():
        for line in READING:
            run(*words(line, code))
        assert run(*words("check CODE", code)).out.startswith("equal: 30 reports")
        for line in WRITING:
            refused = run(*words(line, code), status=2)
            assert "can be read but not written" in refused.err, refused.err
    assert Path("surveys.db").read_bytes() == before and (out / "folder" / "reports.csv").exists()


def test_what_cannot_be_served_or_read_says_so(place: tuple[Path, str]) -> None:
    Path("surveys.db").chmod(0o444)
    Path.cwd().chmod(0o555)
    with bound_by_permissions():
        refused = run("serve", *URL, status=2)
    assert "can be read but not written" in refused.err
    Path("surveys.db").chmod(0o000)
    with bound_by_permissions():
        for words in (["survey", "list"], ["survey", "keys"], ["serve"]):
            assert "permission denied" in run(*words, *URL, status=2).err


def test_a_copy_of_an_earlier_version_says_what_to_do(place: tuple[Path, str]) -> None:
    _, code = place
    engine = sa.create_engine("sqlite:///surveys.db")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0002'")
    engine.dispose()
    Path("surveys.db").chmod(0o444)
    Path.cwd().chmod(0o555)
    with bound_by_permissions():
        assert "earlier version" in run(*words("results CODE", code), status=2).err


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_files_with_secrets_are_for_their_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links of invitations; databases, also those that an earlier version made."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SURVEY.replace("[survey]", '[survey]\naccess = "invitations"'), encoding="utf-8")
    code = run("survey", "add", "s.toml", *URL, "--json").json()["code"]
    run("survey", "open", code, *URL)
    run("survey", "invite", code, "--count", 2, "-o", "links.txt", *URL)
    engine = sa.create_engine("sqlite:///surveys.db")
    with engine.begin() as connection:
        for line in BY_HAND:
            connection.exec_driver_sql(line)
    engine.dispose()
    Path("surveys.db").chmod(0o644)
    run("survey", "list", *URL)
    run("survey", "backup", "-o", "copy.db", *URL)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir() if path.name != "s.toml"}
    assert set(modes.values()) == {0o600}, modes


@pytest.mark.parametrize(
    ("table", "lines"),
    [("reports", "'zz' || substr(lines, 3)"), ("reports", "replace(lines, ',', '')"), ("tallies", "'0 x' || char(10)")],
)
def test_damaged_lines_are_named_in_one_line(place: tuple[Path, str], table: str, lines: str) -> None:
    _, code = place
    engine = sa.create_engine("sqlite:///surveys.db")
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET lines = {lines}")
    engine.dispose()
    assert "the database is damaged" in run(*words("check CODE", code), status=2).err


def test_a_damaged_file_is_not_called_missing(place: tuple[Path, str]) -> None:
    _, code = place
    whole = Path("surveys.db").read_bytes()
    for end in ("-wal", "-shm"):
        Path(f"surveys.db{end}").unlink(missing_ok=True)
    for content in (whole[:5000], whole[: len(whole) // 2], whole[:40] + b"\xff" * 8000 + whole[8040:]):
        Path("surveys.db").write_bytes(content)
        for line in ("list", "check CODE", "close CODE"):
            refused = run(*words(line, code), status=2)
            assert "is damaged" in refused.err, refused.err
    Path("surveys.db").write_bytes(b"no database at all")
    assert "the file is not a database" in run(*words("list", code), status=2).err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files that are not UTF-8")
def test_a_backup_needs_a_path_in_utf_8(place: tuple[Path, str]) -> None:
    out, _ = place
    refused = run("survey", "backup", "-o", f"{out}/\udcff.db", *URL, status=2)
    assert r"\udcff.db is not valid UTF-8" in refused.err and list(out.iterdir()) == []


def test_a_copy_is_read_whatever_its_folder_is_called(place: tuple[Path, str]) -> None:
    out, _ = place
    folder = out / "100% of? #1"
    folder.mkdir()
    run("survey", "backup", "-o", str(folder / "surveys.db"), *URL)
    (folder / "surveys.db").chmod(0o444)
    folder.chmod(0o555)
    address = sa.engine.URL.create("sqlite", database=str(folder / "surveys.db")).render_as_string()
    with bound_by_permissions():
        listed = run("survey", "list", "--database", address).out
        run("survey", "backup", "-o", str(out / "100%41?.db"), "--database", address)
    folder.chmod(0o755)
    assert "30 reports" in listed and (out / "100%41?.db").is_file()


def test_missing_databases_and_drivers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no survey yet" in run("survey", "list").out
    assert "does not exist" in run("survey", "list", *URL, status=2).err
    monkeypatch.setenv("MASKWELL_DATABASE", "sqlite:///mistyped.db")
    assert "mistyped.db" in run("survey", "list", status=2).err and list(tmp_path.iterdir()) == []
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused = run("survey", "list", "--database", "postgresql+psycopg://user@127.0.0.1:1/name", status=2)
    assert "needs psycopg, which is not installed" in refused.err


def test_what_a_command_wrote_is_in_the_file_of_the_database_itself(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SURVEY, encoding="utf-8")
    code = run("survey", "add", "s.toml", *URL).out.split()[1].rstrip(":")
    run("survey", "open", code, *URL)
    Path("copy.db").write_bytes(Path("surveys.db").read_bytes())
    assert f"{code}  open" in run("survey", "list", "--database", "sqlite:///copy.db").out
    assert not [*tmp_path.glob("*-wal")]


def test_a_database_of_a_server_that_only_reads_is_not_called_away(tmp_path: Path) -> None:
    with database("postgresql", tmp_path) as url:
        store = Store(url)
        store.create()
        stored = opened(store)
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            name = connection.exec_driver_sql("SELECT current_database()").scalar_one()
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        store.close()
        assert stored.code in run("survey", "list", "--database", url).out
        refused = run("survey", "close", stored.code, "--database", url, status=2)
        assert "the database can be read but not written" in refused.err


def test_a_role_that_may_only_read_is_told_so(tmp_path: Path) -> None:
    with database("postgresql", tmp_path) as url:
        store = Store(url)
        store.create()
        stored = opened(store)
        role = f"reader_{stored.code}"
        with store.engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN")
            connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        reader = sa.engine.make_url(url).set(username=role).render_as_string(hide_password=False)
        try:
            assert stored.code in run("survey", "list", "--database", reader).out
            run("survey", "check", stored.code, "--database", reader)
            refused = run("survey", "close", stored.code, "--database", reader, status=2)
            assert "the role of the database may read but not write" in refused.err
        finally:
            with store.engine.begin() as connection:
                connection.exec_driver_sql(f"DROP OWNED BY {role}")
                connection.exec_driver_sql(f"DROP ROLE {role}")
            store.close()


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
    assert store.size(stored) == count and store.differences(stored) == []


def test_a_full_disk_is_told_and_the_service_goes_on_when_there_is_space(service, tmp_path) -> None:
    client, store, stored = service
    assert send(client, stored, secrets.token_hex(16)).status_code == 200
    key = secrets.token_hex(16)
    with no_file_beyond(0):  # not even the log that was emptied meanwhile has room
        answer = send(client, stored, key)
    assert answer.status_code == 503 and answer.headers["retry-after"] == "5"
    assert answer.json()["error"]["code"] == "database"
    check_kept(store, stored, 1)
    assert send(client, stored, key).status_code == 200
    check_kept(store, stored, 2)


def test_a_database_that_is_away_is_told_everywhere(service, monkeypatch) -> None:
    client, store, stored = service

    def away(*_: Any, **__: Any) -> Any:
        raise sa.exc.OperationalError("SELECT 1", {}, Exception("Zebra"))

    with monkeypatch.context() as patched:
        for name in ("accept", "check", "survey"):
            patched.setattr(store, name, away)
        answers = [send(client, stored, secrets.token_hex(16)), client.get("/health")]
        answers.append(client.get(f"/s/{stored.code}/survey.json"))
    for answer in answers:
        assert answer.status_code == 503 and answer.headers["retry-after"] == "5"
        assert "Zebra" not in answer.text
    assert send(client, stored, secrets.token_hex(16)).status_code == 200
    assert client.get("/health").status_code == 200


def test_health_is_bad_where_reports_fail_though_something_smaller_can_be_written(service, monkeypatch) -> None:
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


def test_when_too_many_wait_respondents_are_told_to_come_back(service, monkeypatch) -> None:
    client, _, stored = service
    taking: Intake = client.app.state.service.intake  # type: ignore[attr-defined]
    monkeypatch.setattr(taking, "_most_waiting", 0)
    answer = send(client, stored, secrets.token_hex(16))
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "busy"
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

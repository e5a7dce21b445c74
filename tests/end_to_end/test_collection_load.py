"""A running service as the network sees it: many respondents at once, and clients that speak HTTP in unusual ways."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from bench.collection import Service, check_counts, opened_example, sending
from bench.submissions import Crowd

from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey

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
    assert told["failures"] == {}
    assert told["accepted"] == len(journal.read_text().split()) > 0
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

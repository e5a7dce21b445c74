"""Kills under load: no acknowledged report is lost, none is doubled, and the counts stay those of the reports.

    python -m bench.collection_kills [--kills 50] [--database sqlite|postgresql] [--target service|database]

Respondents send without an end; whoever gets no acknowledgement sends the same submission again, as the page does. The
processes of the service, or of PostgreSQL, are killed at random moments and started again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from bench.collection import Service, check_counts, database, opened_example, sending
from bench.submissions import CONTENTS
from maskwell.collection.application import create_app
from maskwell.collection.server import OPTIONS
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.studio import studio_routes


@dataclass(frozen=True)
class Kills:
    """What many kills told: submissions that were acknowledged, and those that were interrupted and sent again."""

    kills: int
    acknowledged: int
    interrupted: dict[str, int]


class ForkedService(Service):
    """The two workers of a service, forked from this process, which has loaded everything: they start at once."""

    def start(self) -> None:
        """Start them on the same address, and wait until they answer."""
        self.socket = socket.create_server(("127.0.0.1", self.port), backlog=512)
        context = multiprocessing.get_context("fork")
        words = (self.database, self.socket)
        self.processes = [context.Process(target=_work, args=words, daemon=True) for _ in range(self.workers)]
        for process in self.processes:
            process.start()
        self.socket.close()
        self.wait()

    def kill(self) -> None:
        """End all at once, without a chance to tidy up."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()

    def stop(self) -> int:
        """End them as a system does; the worst status."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join(30)
        return max(abs(process.exitcode or 0) for process in self.processes)


def _work(database: str, listening: socket.socket) -> None:
    app = create_app(Settings(database=database), more=studio_routes)
    uvicorn.Server(uvicorn.Config(app, **OPTIONS)).run(sockets=[listening])


def killed(kind: str, target: str, *, kills: int, seconds: float = 1.0, connections: int = 32) -> Kills:
    """Load while processes are killed; AssertionError where a report is lost or doubled or a count is wrong."""
    with tempfile.TemporaryDirectory() as name, database(kind, Path(name)) as (address, server):
        store = Store(address)
        store.create()
        stored = opened_example(store)
        store.close()  # no connection may be shared with those who are forked
        service = ForkedService(address, Path(name))
        journal = Path(name) / "journal"
        options = ["--persist", "--seconds", "100000", "--connections", str(connections), "--journal", str(journal)]
        crowd = sending(service, stored, *options)
        while not store.size(stored):  # on a busy machine they begin late, and a kill before that shows nothing
            assert crowd.poll() is None
        store.close()
        strike = _strike(service, None if target == "service" else server)
        try:
            for _ in range(kills):
                time.sleep(0.05 + seconds * secrets.randbelow(1000) / 1000)
                strike()
        finally:
            crowd.terminate()  # no new submissions; what has no answer is still sent again
        told = json.loads(crowd.communicate(timeout=120)[0])
        assert service.stop() in (0, signal.SIGTERM)
        check_journal(store, stored, journal.read_text().split())
        store.close()
        return Kills(kills, told["accepted"], told["failures"])


def _strike(service: Service, server: Any) -> Callable[[], None]:
    """Kills, and starts again."""

    def at_service() -> None:
        service.kill()
        service.start()

    def at_database() -> None:
        kill_all(server.get_pid())
        _start_again(server)
        service.wait()

    return at_service if server is None else at_database


def _start_again(server: Any) -> None:
    """Start PostgreSQL, once the last of its processes has noticed that the first is gone."""
    for _ in range(100):
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):  # a process that waits to be buried looks as if it ran
            (server.pgdata / name).unlink(missing_ok=True)
        with suppress(subprocess.SubprocessError):
            server.ensure_postgres_running()
            return
        time.sleep(0.1)
    raise AssertionError("PostgreSQL did not start again")


def kill_all(process: int) -> None:
    """End a process and its children at once, without a chance to tidy up."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for one in [process, *map(int, children)]:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    while Path(f"/proc/{process}/stat").exists() and " Z " not in Path(f"/proc/{process}/stat").read_text():
        time.sleep(0.01)


def rows_of(store: Store, stored: StoredSurvey) -> dict[str, str]:
    """What stands under each id."""
    return {key.hex(): content for key, content in store.records(stored)}


def check_journal(store: Store, stored: StoredSurvey, acknowledged: list[str]) -> None:
    """Every acknowledged report is there once, with its content, and none besides; counts equal a recount."""
    assert len(set(acknowledged)) == len(acknowledged)
    assert rows_of(store, stored) == {key: CONTENTS[int(key[0], 16)] for key in acknowledged}
    check_counts(store, stored, len(acknowledged))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--target", choices=["service", "database"], default="service")
    parser.add_argument("--kills", type=int, default=50)
    args = parser.parse_args()
    told = killed(args.database, args.target, kills=args.kills)
    print(f"{args.database}, {args.target} killed {told.kills} times: {told.acknowledged:,} acknowledged, ", end="")
    print(f"each there once; no answer at first: {told.interrupted}")


if __name__ == "__main__":
    main()

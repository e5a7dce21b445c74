"""The collection service under load, after kills, and over many stored reports.

    python -m bench.collection load [--database sqlite|postgresql] [--seconds 60] [--connections 64] [--workers 2]
    python -m bench.collection live [--reports 10000000]
    python -m bench.collection order [--database sqlite|postgresql] [--reports 2000]

The service runs as ``maskwell serve`` runs it, every write durable; respondents send from a process of their own
(`bench/submissions.py`). The rate moves with what else the machine does: the processor time of a thousand submissions
moves less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from bench import postgres
from bench.measure import best_seconds, on_all_cores
from bench.speed import Line
from bench.submissions import CONTENTS
from maskwell.collection.leaves import lines_of
from maskwell.collection.results import question_result, table_result
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey, Submission
from maskwell.collection.survey import Survey
from maskwell.collection.tables import holdings, reports

BARS = {"sqlite": 2000, "postgresql": 1200}
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """What a minute of submissions told."""

    accepted: int
    seconds: float
    p50: float
    p99: float
    longest: float
    failures: dict[str, int]
    cpu: float
    server_cpu: float
    database_cpu: float
    busy_elsewhere: float

    @property
    def rate(self) -> float:
        """Accepted submissions in a second."""
        return self.accepted / self.seconds

    @property
    def cpu_for_a_thousand(self) -> float:
        """Seconds of a processor that the service and its database took for a thousand submissions."""
        return 1000 * (self.server_cpu + self.database_cpu) / max(1, self.accepted)


class Service:
    """``maskwell serve`` in processes of its own, which can be killed and started again."""

    def __init__(self, database: str, folder: Path, workers: int = 2) -> None:
        self.database, self.folder, self.workers = database, folder, workers
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "maskwell", "serve", "--database", self.database, "--port", str(self.port)]
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workers", str(self.workers)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        self.wait()

    def wait(self) -> None:
        """Until it answers."""
        end = time.monotonic() + 60
        while not self.is_well():
            assert time.monotonic() < end, (self.folder / "service.log").read_text()
            time.sleep(0.05)

    def is_well(self) -> bool:
        """Whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.address}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """End all its processes at once, without a chance to tidy up."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """End it as a system does; its status."""
        self.process.terminate()
        return self.process.wait(30)


def opened_example(store: Store) -> StoredSurvey:
    """The example survey, open and without reports."""
    source = files("maskwell.collection").joinpath("example.toml").read_text(encoding="utf-8")
    return store.open(store.add_survey(Survey.from_toml(source), source))


@contextmanager
def database(kind: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """An empty database, and the server that holds it; None for SQLite."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'surveys.db'}", None
        return
    server = postgres.started(folder / "postgres")
    try:
        yield postgres.address_of(server), server
    finally:
        server.cleanup()


def sending(service: Service, stored: StoredSurvey, *options: str) -> subprocess.Popen[bytes]:
    """Respondents in a process of their own."""
    place = [service.address, stored.code, stored.survey.fingerprint]
    command = [sys.executable, "-m", "bench.submissions", *place, *options]
    root = Path(__file__).parents[1]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root)


def measured(kind: str, *, seconds: float, connections: int = 64, workers: int = 2) -> Load:
    """Load for some seconds on an empty database; the counts must equal a recount afterwards."""
    with tempfile.TemporaryDirectory() as name, database(kind, Path(name)) as (address, server):
        store = Store(address)
        store.create()
        stored = opened_example(store)
        check_durable(store)
        service = Service(address, Path(name), workers)
        holder = None if server is None else server.get_pid()
        before = _cpu(service.process.pid), _cpu(holder), _busy()
        crowd = sending(service, stored, "--seconds", str(seconds), "--connections", str(connections))
        time.sleep(0.9 * seconds)  # processes end and are forgotten: what they used is asked for while they run
        output, _ = crowd.communicate()
        after = _cpu(service.process.pid), _cpu(holder), _busy()
        told: dict[str, Any] = json.loads(output)
        assert service.stop() == 0
        check_counts(store, stored, told["accepted"])
        store.close()
        used, held, busy = (b - a for a, b in zip(before, after, strict=True))
        return Load(**told, server_cpu=used, database_cpu=held, busy_elsewhere=busy - used - held - told["cpu"])


def check_durable(store: Store) -> None:
    """Writes are flushed to the disk before they are acknowledged."""
    with store.engine.connect() as connection:
        if store.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        else:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                assert connection.exec_driver_sql(f"SHOW {setting}").scalar() == "on"


def check_counts(store: Store, stored: StoredSurvey, accepted: int) -> None:
    """The running counts are those of the reports, and none is missing or doubled."""
    assert store.differences(stored) == []
    assert store.size(stored) == accepted, (store.size(stored), accepted)


def _cpu(process: int | None) -> float:
    """Seconds of a processor that a process and its children have used."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return sum(map(int, fields[11:15])) / _TICKS + sum(_cpu(int(child)) for child in children)


def _busy() -> float:
    """Seconds of a processor that the whole machine has used."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / _TICKS


def load_line(kind: str, seconds: float, connections: int = 64, workers: int = 2) -> Line:
    """Submissions under load."""
    with on_all_cores():
        load = measured(kind, seconds=seconds, connections=connections, workers=workers)
    told = (
        f"{load.rate:,.0f} accepted/s, p50 {1000 * load.p50:.0f} ms, p99 {1000 * load.p99:.0f} ms, "
        f"longest {1000 * load.longest:.0f} ms, failures {load.failures or 'none'}"
    )
    used = (
        f"service {load.server_cpu / load.seconds:.2f}, database {load.database_cpu / load.seconds:.2f}, "
        f"respondents {load.cpu / load.seconds:.2f}, others {load.busy_elsewhere / load.seconds:.2f} processors; "
        f"{load.cpu_for_a_thousand:.2f} s for 1,000"
    )
    return Line(
        f"{workers} workers, {kind}, {connections} connections, {seconds:.0f} s",
        told,
        used,
        f"{BARS[kind]:,}/s, 150 ms, none",
    )


def live_line(count: int, bar: str = "100 ms, equal to a recount of 10,000,000") -> Line:
    """All shares and a table of two questions, over many stored reports, against reading the reports."""
    with tempfile.TemporaryDirectory() as name, database("sqlite", Path(name)) as (address, _):
        store = Store(address)
        store.create()
        stored = opened_example(store)
        fill(store, stored, count)
        names = [question.name for question in stored.survey.questions]
        jobs: dict[str, Callable[[], object]] = {
            "shares": lambda: [question_result(store, stored, one).to_dict() for one in names],
            "table": lambda: table_result(store, stored, "cash", "declared"),
        }
        seconds = best_seconds(jobs)
        began = time.perf_counter()
        check_counts(store, stored, count)
        recount = time.perf_counter() - began
        store.close()
    return Line(
        f"live estimates of {count:,} reports",
        f"three questions {1000 * seconds['shares']:.0f} ms, a table of two {1000 * seconds['table']:.0f} ms",
        f"a recount takes {recount:.1f} s and matches",
        bar,
    )


def order_line(kind: str, count: int) -> Line:
    """What the places of reports in an open survey tell about their order, for reports that come one by one."""
    with tempfile.TemporaryDirectory() as name, database(kind, Path(name)) as (address, _):
        store = Store(address)
        store.create()
        stored = opened_example(store)
        keys = [secrets.token_bytes(16) for _ in range(count)]
        for key in keys:
            store.accept([Submission(stored.id, key, CONTENTS[key[0] >> 4])])
        assert store.tidy()
        places = _places_in_file(Path(name)) if store.is_sqlite else _places_of_rows(store)
        log = Path(name) / "surveys.db-wal"
        left = f"{log.stat().st_size} bytes of log" if log.exists() else ""
        store.close()
    ranks = np.argsort(np.argsort([places[key.hex()] for key in keys]))
    correlation = np.corrcoef(ranks, np.arange(count))[0, 1]
    return Line(
        f"order of {count:,} reports, {kind}",
        f"rank correlation {correlation:.3f} {left}",
        f"by chance alone ± {1 / np.sqrt(count):.3f}",
        "none",
    )


def _places_in_file(folder: Path) -> dict[str, int]:
    raw = (folder / "surveys.db").read_bytes()
    return {found[1].decode(): found.start() for found in re.finditer(rb"([0-9a-f]{32}) [0-9,]+\n", raw)}


def _places_of_rows(store: Store) -> dict[str, int]:
    with store.reader.connect() as connection:
        leaves = connection.execute(sa.text("SELECT lines FROM reports ORDER BY reports.ctid")).scalars().all()
    return {line[:32]: at for at, leaf in enumerate(leaves) for line in lines_of(leaf)}


def fill(store: Store, stored: StoredSurvey, count: int) -> None:
    """Many reports at once, each leaf written once: quicker than sending them."""
    which = np.random.default_rng(1).integers(0, 16, count)
    keys = np.frombuffer(secrets.token_bytes(16 * count), dtype="S16")
    with store.engine.begin() as connection:
        leaves = store.held(connection, stored).leaves
        places = np.array([leaves.place(bytes(key).ljust(16, b"\0"), leaves.count(count)) for key in keys])
        order = np.argsort(places)
        for some in np.array_split(order, count // 10**5 + 1):
            _put_lines(store, connection, leaves.room, places[some], keys[some], which[some])
        cells = np.bincount(which, minlength=16).tolist()
        store.add_counts(connection, stored, {CONTENTS[i]: cells[i] for i in range(16)})
        sizes = sa.update(holdings).where(holdings.c.survey == stored.id)
        connection.execute(sizes.values(size=count))


def _put_lines(store: Store, connection: sa.Connection, room: int, places: Any, keys: Any, which: Any) -> None:
    """Lines into their leaves, which may hold some of those that were written before."""
    lines: dict[int, list[str]] = {}
    for place, key, i in zip(places.tolist(), keys, which.tolist(), strict=True):
        lines.setdefault(place, []).append(bytes(key).ljust(16, b"\0").hex() + " " + CONTENTS[i])
    edge = min(lines)
    for place, leaf in store.read(connection, reports, [edge]).items():
        lines[place] += lines_of(leaf)
    store.put(connection, reports, lines, room)


def lines() -> Iterator[Line]:
    """All lines, in order."""
    for kind in BARS:
        yield load_line(kind, 15)
    yield live_line(500_000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=["load", "live", "order"])
    parser.add_argument("--database", choices=list(BARS), default="sqlite")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--reports", type=int)
    args = parser.parse_args()
    if args.job == "live":
        line = live_line(args.reports or 10**7)
    elif args.job == "order":
        line = order_line(args.database, args.reports or 2000)
    else:
        line = load_line(args.database, args.seconds, args.connections, args.workers)
    print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |")


if __name__ == "__main__":
    main()

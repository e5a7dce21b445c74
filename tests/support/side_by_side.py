"""Tests in several processes, which are forked when all tests are collected.

    python -m tests.support.side_by_side 3 -q tests

is pytest with three. pytest-xdist collects all tests in each of its processes and tells of every step of every test,
which took some 40 s of processor time in a run. Here tests are collected once; the tests of a file run in one process,
and a process that is free takes the next file. Where processes cannot be forked, or not safely, pytest-xdist is used.
What is told back are reports: warnings that do not fail a test are not shown.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Any, NoReturn, TextIO

import pytest

NUMBER = 4
"""Bytes of the number of a file in the pipe that processes take files from; all of them fit into it."""

INTERRUPT = getattr(signal, "SIGUSR1", signal.SIGINT)
"""Not the one from the keyboard, which a shell lets its background ignore."""


def options(processes: int) -> list[str]:
    """What makes pytest run tests in so many processes."""
    if hasattr(os, "fork") and sys.platform != "darwin":
        return ["-p", "tests.support.side_by_side", "--processes", str(processes)]
    return ["--numprocesses", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many processes, and in which order."""
    parser.addoption("--processes", type=int, default=1, help="how many processes to fork for the tests")
    parser.addoption("--order", default="", help="a seed: files, and the tests of each, in a random order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Another order, if one is asked for: no test may need one that another has run."""
    seed = config.getoption("--order")
    if seed:
        items.sort(
            key=lambda item: [Random(f"{seed} {name}").random() for name in (item.nodeid.split("::")[0], item.nodeid)]
        )


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests; None leaves them to pytest, in this process."""
    processes = session.config.getoption("--processes")
    if processes < 2 or session.testsfailed or session.config.option.collectonly:
        return None
    files: dict[Path, list[pytest.Item]] = {}
    for item in session.items:
        files.setdefault(item.path, []).append(item)
    crew = Crew(session, list(files.values()), processes)
    try:
        crew.listen()
    finally:
        crew.end()
    if crew.finished != len(session.items) and not session.testsfailed:
        raise session.Failed(f"{len(session.items) - crew.finished} tests were not run")
    return True


class Crew:
    """The processes, seen from the one that forked them."""

    def __init__(self, session: pytest.Session, files: Sequence[Sequence[pytest.Item]], processes: int) -> None:
        self.session, self.finished = session, 0
        self._heard: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._running: dict[int, tuple[str, Any]] = {}
        self._all: list[int] = []
        self._folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        files_to_take, numbers = os.pipe()
        os.write(numbers, b"".join(number.to_bytes(NUMBER) for number in range(len(files))))
        os.close(numbers)
        told = [self._fork(files, files_to_take, number) for number in range(min(processes, len(files)))]
        os.close(files_to_take)
        for child, pipe in told:
            threading.Thread(target=self._hear, args=[child, pipe], daemon=True).start()

    def _fork(self, files: Sequence[Sequence[pytest.Item]], files_to_take: int, number: int) -> tuple[int, int]:
        told, telling = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # libraries have threads, which wait for nothing
            child = os.fork()
        if child == 0:
            os.close(told)
            work(self.session, files, files_to_take, telling, self._folder / f"process-{number}")
        os.close(telling)
        self._running[child] = ("", None)
        self._all.append(child)
        return child, told

    def _hear(self, child: int, pipe: int) -> None:
        with open(pipe, encoding="utf-8") as lines:
            for line in lines:
                self._heard.put((child, line))
        self._heard.put((child, json.dumps(["ended", "it ended before its tests did"])))

    def listen(self) -> None:
        """Tell pytest what the processes tell, until all have ended."""
        while self._running:
            child, line = self._heard.get()
            if child in self._running:
                kind, content = json.loads(line)
                getattr(self, f"_{kind}")(child, content)
            if self.session.shouldfail:
                raise self.session.Failed(self.session.shouldfail)

    def _began(self, child: int, content: Any) -> None:
        self._running[child] = nodeid, location = content
        self.session.config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)

    def _report(self, child: int, content: Any) -> None:
        hook = self.session.config.hook
        report = hook.pytest_report_from_serializable(config=self.session.config, data=content)
        hook.pytest_runtest_logreport(report=report)

    def _finished(self, child: int, content: Any) -> None:
        self.finished += 1
        nodeid, location = self._running[child]
        self.session.config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)

    def _done(self, child: int, content: Any) -> None:
        del self._running[child]

    def _ended(self, child: int, content: Any) -> None:
        """Where a process has ended early, or not as it should, its last test has failed."""
        nodeid, location = self._running.pop(child)
        where = location or ("the process", None, "before a test")
        report = pytest.TestReport(
            nodeid or where[0], where, {}, "failed", f"the process of this test: {content}", "call"
        )
        self.session.config.hook.pytest_runtest_logreport(report=report)

    def end(self) -> None:
        """Interrupt those that still run, as after the first failure with ``-x``; they take their fixtures down."""
        for child in self._running:
            os.kill(child, INTERRUPT)
        for child in self._all:
            os.waitpid(child, 0)


def work(
    session: pytest.Session, files: Sequence[Sequence[pytest.Item]], files_to_take: int, telling: int, folder: Path
) -> NoReturn:
    """Run the tests of file after file in this process, and leave."""
    try:
        with open(telling, "w", encoding="utf-8") as out:
            last = run(session, taken(files, files_to_take), out, folder)
            atexit._run_exitfuncs()
            tell(out, *last)
    finally:  # also where nobody listens any more
        os._exit(0)


def run(session: pytest.Session, items: Iterator[pytest.Item], out: TextIO, folder: Path) -> tuple[str, str | None]:
    """Run tests and take down what they share; what to tell at the end."""
    try:
        alone(session.config, out, folder)
        for item, following in pairwise(chain(items, [None])):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        session.config._ensure_unconfigure()  # which looks for files and sockets that nobody has closed
    except BaseException:  # noqa: BLE001  # whatever it is, the run has failed
        why = traceback.format_exc()
        with contextlib.suppress(Exception):
            session._setupstate.teardown_exact(None)
        return "ended", why
    return "done", None


def taken(files: Sequence[Sequence[pytest.Item]], files_to_take: int) -> Iterator[pytest.Item]:
    """Tests of the files that no other process has taken; a file is taken when its first test is asked for."""
    while number := os.read(files_to_take, NUMBER):
        yield from files[int.from_bytes(number)]


def alone(config: pytest.Config, out: TextIO, folder: Path) -> None:
    """Nothing of pytest is shared with other processes: not the files it captures output in, nor temporary folders."""
    signal.signal(INTERRUPT, signal.default_int_handler)
    config.pluginmanager.unregister(name="terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    folder.mkdir(mode=0o700)
    config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
    config.pluginmanager.register(Teller(config, out))


class Teller:
    """Tells the first process how tests go: of one that passes only that it did."""

    def __init__(self, config: pytest.Config, out: TextIO) -> None:
        self._config, self._out = config, out

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Which test comes now, to be named if the process ends."""
        tell(self._out, "began", [nodeid, location])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What is not usual, and the test itself."""
        if report.when == "call" or not report.passed:
            content: Mapping[str, Any] = self._config.hook.pytest_report_to_serializable(
                config=self._config, report=report
            )
            tell(self._out, "report", content)

    def pytest_runtest_logfinish(self) -> None:
        """The test is over."""
        tell(self._out, "finished")


def tell(out: TextIO, kind: str, content: Any = None) -> None:
    """One line."""
    out.write(json.dumps([kind, content]) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(pytest.main([*options(int(sys.argv[1])), *sys.argv[2:]]))

"""Tests that run in several processes: nothing of what they say is lost, and what was not run fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support import side_by_side

MANY = """
import os, pytest
from pathlib import Path

@pytest.fixture(scope="session")
def thing(tmp_path_factory):
    yield
    (Path(__file__).parent / "taken-down").touch()

@pytest.mark.parametrize("number", range(4))
def test_number(number, thing, tmp_path):
    print(f"says {number}")
    assert number != 2

def test_skipped():
    pytest.skip("not here")

def test_without_fixture(nothing):
    pass
"""
ENDS = """
import os

def test_before():
    pass

def test_ends():
    os._exit(0)

def test_after():
    pass
"""
LEAKS = """
import socket

def test_leaks():
    around = [socket.socket()]
    around.append(around)
"""
forking = pytest.mark.skipif("--processes" not in side_by_side.options(2), reason="processes are not forked here")


def run(root: Path, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "tests.support.side_by_side", "2", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@forking
def test_failures_skips_output_and_a_process_that_ends_are_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_many.py").write_text(MANY)
    (tmp_path / "test_ends.py").write_text(ENDS)
    status, told = run(root, str(tmp_path))
    assert status == 1
    assert "2 failed, 4 passed, 1 skipped, 1 error in" in told, told
    assert "fixture 'nothing' not found" in told
    assert "says 2" in told and "says 1" not in told
    assert "the process of this test: it ended before its tests did" in told and "test_ends.py::test_ends" in told
    assert (tmp_path / "taken-down").exists()


@forking
def test_what_is_left_open_at_the_end_fails(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_fine.py").write_text("def test_fine():\n    pass\n")
    (tmp_path / "test_leaks.py").write_text(LEAKS)
    status, told = run(root, "-W", "error", str(tmp_path))
    assert status == 1
    assert "1 failed, 2 passed in" in told and "ResourceWarning: unclosed <socket" in told, told


@forking
def test_the_first_failure_can_end_the_run(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_many.py").write_text(MANY)
    (tmp_path / "test_waits.py").write_text("import time\ndef test_waits():\n    time.sleep(600)\n")
    status, told = run(root, "-x", str(tmp_path))
    assert status != 0
    assert "1 failed, 2 passed in" in told, told


def test_tests_that_no_process_has_run_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    class Crew:
        finished = 1

        def __init__(self, *_: object) -> None: ...
        def listen(self) -> None: ...
        def end(self) -> None: ...

    items = [SimpleNamespace(path=Path("a.py")), SimpleNamespace(path=Path("b.py"))]
    config = SimpleNamespace(getoption=lambda _: 2, option=SimpleNamespace(collectonly=False))
    session: Any = SimpleNamespace(items=items, config=config, testsfailed=0, Failed=pytest.Session.Failed)
    monkeypatch.setattr(side_by_side, "Crew", Crew)
    with pytest.raises(pytest.Session.Failed, match="1 tests were not run"):
        side_by_side.pytest_runtestloop(session)
    Crew.finished = 2
    assert side_by_side.pytest_runtestloop(session)

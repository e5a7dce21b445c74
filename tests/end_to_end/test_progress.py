"""How far the work is: on a terminal in one line, in a log a line every now and then."""

from __future__ import annotations

import io
import time

import pytest
from tests.support.inside.cli import Progress, output


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def lines_of(stream: io.StringIO, count: int) -> list[str]:
    """The first lines of a log, as soon as they are there."""
    end = time.monotonic() + 20
    while stream.getvalue().count("\n") < count and time.monotonic() < end:
        time.sleep(0.01)
    return stream.getvalue().splitlines()[:count]


def test_a_log_hears_every_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(output, "LOG_SECONDS", 0.05)
    with Progress() as progress:
        progress(1_200_000, 0.125)
        first, second = lines_of(stream, 2)
    assert first.startswith("  1,200,000 rows   13 %  (")
    assert second.startswith("  1,200,000 rows   13 %, working  (")
    time.sleep(0.15)
    after = stream.getvalue()
    time.sleep(0.15)
    assert stream.getvalue() == after  # the work has ended


def test_a_log_hears_of_work_before_the_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(output, "LOG_SECONDS", 0.05)
    with Progress():
        assert lines_of(stream, 1)[0].startswith("  working  (")


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr("sys.stderr", stream)
        with Progress() as progress:
            progress(10, None)
        assert stream.getvalue() == ""


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, clock = Terminal(), iter([0.0, 2.0, 4.0])
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    with Progress() as progress:
        progress(10, 0.5)
        progress(20, None)
    assert stream.getvalue().startswith("\r  10 rows   50 %\r  20 rows")
    assert "\n" not in stream.getvalue()

"""How far the work is: on a terminal in one line, in a log a line every now and then."""

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import maskwell as mw
from maskwell.cli import output
from maskwell.cli.output import Progress
from maskwell.engines import record_reader
from maskwell.verbs import dry_run


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


def rising(told: list[tuple[int, float | None]]) -> bool:
    """Whether shares only grow, and the whole is not reached before the end."""
    shares = [share for _, share in told if share is not None]
    return shares == sorted(shares) and 1 not in shares[:-1]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 16)
    rows = (f"{'xyz'[i % 3]},{'uv'[i % 2]},{'yes' if i % 5 else 'no'},{i % 7}\n" for i in range(60_000))
    path = tmp_path / "people.csv"
    path.write_text("a,b,y,n\n" + "".join(rows), encoding="utf-8")
    return str(path)


def test_the_whole_is_reached_once_and_at_the_end(people: str, tmp_path: Path) -> None:
    told: dict[str, list[tuple[int, float | None]]] = {}

    def heard(name: str) -> Callable[[int, float | None], None]:
        told[name] = []
        return lambda rows, share: told[name].append((rows, share))

    design = {"y": mw.design("warner", p="0.7")}
    protect = {"variables": ["a", "b"], "method": "inverse-frequency", "xi": 0.5}
    plan = mw.ReleasePlan.from_dict({"release": {"keys": ["a", "b"], "match": 0.5}, "protect": [protect]})
    mw.tally(people, design, progress=heard("tally"))
    mw.risk(people, keys=["a", "b"], progress=heard("risk"))
    mw.release(people, plan, tmp_path / "released", progress=heard("publish"))
    dry_run(people, plan, progress=heard("dry run"))
    assert len(told["tally"]) > 2
    assert {name for name, heard in told.items() if not rising(heard)} == set()

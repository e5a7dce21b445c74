"""A reader in a process of its own: what it answers, refuses and does when it crashes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maskwell.core import Categories
from maskwell.designs import Uniform
from maskwell.engines import Rows
from maskwell.errors import DataFileError

prs = pytest.importorskip("pyreadstat")
pd = pytest.importorskip("pandas")

from maskwell.engines import labelled
from maskwell.engines.assignments import Assignment
from maskwell.engines.labelled import ReaderProcess
from maskwell.engines.report_counts import tally_file
from maskwell.engines.row_sources import open_source

COIN = Uniform.from_gamma(3, Categories.of([0, 1]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of several batches, which is only read."""
    place = tmp_path_factory.mktemp("reader") / "a.sav"
    prs.write_sav(pd.DataFrame({"y": [0.0, 1.0] * 100_000}), place)
    return str(place)


def test_a_crash_is_an_error(path: str) -> None:
    with open_source(path) as source:
        batches = source.batches()
        next(batches)
        os.kill(source._source._reader._process.pid, signal.SIGKILL)
        with pytest.raises(DataFileError, match="is damaged: its reader crashed"):
            list(batches)
    assert tally_file(Rows.of(path), [Assignment.of("y", COIN)]).rows == 200_000


def test_a_fork_starts_its_own(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    (waiting,) = labelled._IDLE
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not waiting.is_usable()


def test_faults_of_ours_are_not_called_damage(path: str) -> None:
    process = ReaderProcess(labelled.__name__)
    try:
        with pytest.raises(RuntimeError, match="KeyError"):
            list(process.ask({"called": path}))
        with pytest.raises(DataFileError, match="cannot read"):
            list(process.ask({"called": path, "path": __file__, "ending": ".sav", "read": "read_sav"}))
    finally:
        process.end()


def test_no_module_of_the_folder_is_run(path: str, tmp_path: Path) -> None:
    """A file of a stranger may come with a module named as one that the reader imports."""
    given = str(shutil.copy(path, tmp_path))
    for name in ("json.py", "pyreadstat.py", "struct.py"):
        (tmp_path / name).write_text("open('ran', 'w')\n", encoding="utf-8")
    asked = (
        f"from maskwell.engines.row_sources import open_source\nwith open_source({given!r}) as s: print(s.schema.names)"
    )
    program = tmp_path / "elsewhere" / "program.py"
    program.parent.mkdir()
    program.write_text(asked, encoding="utf-8")
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "['y']\n", done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("interpreter", [None, "", "/no/such/python"])
def test_without_an_interpreter_to_start(interpreter: str | None, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "_IDLE", [])
    monkeypatch.setattr(sys, "executable", interpreter)
    with pytest.raises(DataFileError, match="are read by a Python of their own, which cannot start"), open_source(path):
        pass


def test_a_process_is_used_again_unless_it_died_or_is_in_the_middle_of_a_file(path: str) -> None:
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    died = labelled._IDLE[-1]
    died._process.kill()
    died._process.wait()
    assert tally_file(Rows.of(path), [Assignment.of("y", COIN)]).rows == 200_000
    assert died not in labelled._IDLE
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    (waiting,) = labelled._IDLE
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    assert [waiting] == labelled._IDLE
    with open_source(path) as source:
        next(source.batches())
    assert labelled._IDLE == [] and not waiting.is_usable()

"""Imports that are stopped, killed or run twice: no report is lost, and none is counted twice."""

import gzip
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from tests.support.command_line import run

from maskwell.collection.desk import Desk
from maskwell.errors import ReportError

SURVEY = """
[survey]
title = "Pay"
demand = { gamma = 4 }
results = "live"
[[question]]
name = "cash"
ask = "Paid in cash?"
answers = ["yes", "no"]
design = { gamma = 4 }
"""
ROWS = 3_000
KILLS = 4
KILLER = """
import os, random, signal, sys
import pyarrow.compute, pyarrow.csv  # not in each child anew
from maskwell.collection import imports
from maskwell.collection.desk import Desk
url, code, path, kills, number = sys.argv[1:4] + [int(word) for word in sys.argv[4:]]
imports._BATCH = 100
take, seen = imports.Store.take, []
for blocks in sorted(random.Random(7).choices(range(1, 31), k=kills)):
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.close(here)
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        imports.Store.take = lambda *words: (take(*words), os.write(there, b"."))[0]
        try:
            Desk.open(url).import_file(code, path)
        finally:
            os._exit(0)
    os.close(there)
    while blocks and os.read(here, 1):
        blocks -= 1
    os.kill(child, number)
    os.waitpid(child, 0)
    os.close(here)
    desk = Desk.open(url)
    content = desk.check(code)
    desk.store.close()
    assert content["equal"], content
    seen.append(content["reports"])
print(*seen)
"""
"""Kills an import after so many blocks of its rows were taken."""


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, str]:
    """The address of a database and the code of an open survey."""
    url = f"sqlite:///{tmp_path / 'surveys.db'}"
    (tmp_path / "survey.toml").write_text(SURVEY, encoding="utf-8")
    desk = Desk.open(url)
    code = desk.add(tmp_path / "survey.toml")["code"]
    desk.open_survey(code)
    desk.store.close()
    return url, code


def table(path: Path, rows: int = ROWS, *, ids: bool = False) -> Path:
    lines = [f"{'no' if i % 3 else 'yes'}{f',k{i}' * ids}" for i in range(rows)]
    path.write_text("\n".join([f"cash{',_uuid' * ids}", *lines]) + "\n", encoding="utf-8")
    return path


def reports(url: str, code: str) -> int:
    content = run("survey", "check", code, "--database", url, "--json").json()
    assert content["equal"]
    return int(content["reports"])


@pytest.mark.parametrize(("number", "ids"), [(signal.SIGINT, False), (signal.SIGKILL, True)])
def test_an_import_that_is_killed_took_all_rows_or_none(
    place: tuple[str, str], tmp_path: Path, number: signal.Signals, ids: bool
) -> None:
    url, code = place
    path = table(tmp_path / "rows.csv", ids=ids)
    words = [sys.executable, "-c", KILLER, url, code, str(path), str(KILLS), str(int(number))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    seen = [int(word) for word in done.stdout.split()]
    assert set(seen) <= {0, ROWS}, seen
    assert seen == sorted(seen)
    run("survey", "import", code, path, "--database", url, status=None)
    assert reports(url, code) == ROWS


def test_a_file_without_ids_is_refused_the_second_time(place: tuple[str, str], tmp_path: Path) -> None:
    url, code = place
    words = ("survey", "import", code, table(tmp_path / "rows.csv", 40), "--database", url)
    assert "refused if they are imported again" in run(*words).out
    refused = run(*words, status=2)
    assert "imported before" in refused.err and "--again" in refused.err
    assert reports(url, code) == 40
    run(*words, "--again")
    assert reports(url, code) == 80
    other = f"sqlite:///{tmp_path / 'other.db'}"  # a backup knows the files that were imported
    run("survey", "backup", "-o", tmp_path / "backup.db", "--database", url)
    run("survey", "restore", tmp_path / "backup.db", "--database", other)
    run("survey", "import", code, tmp_path / "rows.csv", "--database", other, status=2)
    assert reports(other, code) == 80


def test_a_survey_that_is_closed_meanwhile_takes_nothing(
    place: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are not dropped one by one: the command says so."""
    url, code = place
    desk = Desk.open(url)
    taken = desk.store.writing

    def closed_before(*ids: int):
        monkeypatch.setattr(desk.store, "writing", taken)
        other = Desk.open(url)
        other.close_survey(code)
        other.store.close()
        return taken(*ids)

    monkeypatch.setattr(desk.store, "writing", closed_before)
    with pytest.raises(ReportError, match="the survey is closed"):
        desk.import_file(code, table(tmp_path / "rows.csv", 40))
    desk.store.close()
    assert reports(url, code) == 0


def test_columns_of_one_name_are_an_error_and_hints_name_options_that_exist(
    place: tuple[str, str], tmp_path: Path
) -> None:
    url, code = place
    for header in ("cash,cash", "cash,other,cash"):
        rows = f"{header}\n{','.join(['yes'] * len(header.split(',')))}\n"
        (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
        refused = run("survey", "import", code, tmp_path / "rows.csv", "--database", url, status=2)
        assert "two columns named 'cash'" in refused.err
    assert reports(url, code) == 0
    (tmp_path / "rows.csv").write_bytes("town;cash\nGörlitz;yes\n".encode("utf-16-le"))
    words = ("survey", "import", code, tmp_path / "rows.csv", "--database", url)
    refused = run(*words, status=2)
    assert "--encoding" in refused.err
    run(*words, "--encoding", "utf-16-le", "--separator", ";")
    assert reports(url, code) == 1
    export = table(tmp_path / "export.csv", 3, ids=True)
    words = ("survey", "import", code, export, "--database", url, "--encoding", "latin-1")
    assert "apply to tables" in run(*words, status=2).err


BOUNDED = """
import resource, sys
from maskwell.collection import imports
from maskwell.collection.desk import Desk
from maskwell.errors import MaskwellError
import pyarrow
imports.MOST_ROWS = 300_000
desk = Desk.open(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    desk.import_file(sys.argv[2], sys.argv[3])
except MaskwellError as error:
    print(error.message)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_small_file_that_unpacks_to_much_takes_little_memory(place: tuple[str, str], tmp_path: Path) -> None:
    url, code = place
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"cash\n" + b"no\n" * 8_000_000)
    assert path.stat().st_size < 300_000
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, url, code, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    message, kilobytes = done.stdout.splitlines()
    assert message == "the file has more than 300,000 rows"
    assert int(kilobytes) < 300_000
    assert reports(url, code) == 0

"""Terminals and pipes of every kind: what cannot be shown is spelled, and what cannot be written is told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import design_file

LABELS = ["é", "λ ≤ 1", "日本"]
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("terminals")
    design_file(made / "d.json", "k-ary", "--categories", ",".join(LABELS), "--gamma", "3")
    return made


def shell(folder: Path, line: str, **environment: str | None) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell in which ``maskwell`` is the command."""
    usual = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": None}  # streams hold back, as users have them
    changed = {**os.environ, **usual, **environment}
    return subprocess.run(
        ["sh", "-c", line.replace("maskwell", f"'{sys.executable}' -m maskwell")],
        cwd=folder,
        env={name: value for name, value in changed.items() if value is not None},
        capture_output=True,
        check=False,
        timeout=60,
    )


def check_told(done: subprocess.CompletedProcess[bytes], saying: bytes) -> None:
    assert done.returncode == 2, done
    error, hint = done.stderr.splitlines()
    assert error.startswith(b"error: ") and saying in error and hint.startswith(b"hint: ")
    assert max(len(error), len(hint)) <= 100


@FULL
@pytest.mark.parametrize("more", ["", " --json", " --help"])
def test_a_full_disk_behind_standard_output(folder: Path, more: str) -> None:
    check_told(shell(folder, f"maskwell audit d.json{more} > /dev/full"), b"No space left on device")


def test_standard_output_that_is_closed(folder: Path) -> None:
    check_told(shell(folder, "maskwell audit d.json --json >&-"), b"cannot write to standard output")


@pytest.mark.parametrize("more", ["", " --json", " --help"])
def test_nobody_reads(folder: Path, more: str) -> None:
    """All ends quietly, as it does for other programs before ``head``; status 1 would mean that the answer is no."""
    done = shell(folder, f"(maskwell audit d.json{more}; echo $? >&2) | true")
    assert done.stderr == b"2\n"


def test_somebody_reads_one_line_of_many(folder: Path) -> None:
    row = f"{'x' * 1000},{LABELS[0]}\n"
    (folder / "many.csv").write_text("id,answer\n" + 4000 * row, "utf-8")  # more than a pipe holds
    line = "(maskwell randomize many.csv --design answer=d.json -o -; echo $? >&2) | head -1"
    done = shell(folder, line)
    assert (done.stdout, done.stderr) == (b"id,answer\n", b"2\n")


@FULL
def test_standard_error_that_takes_nothing(folder: Path) -> None:
    done = shell(folder, "maskwell audit nowhere.json --json 2>/dev/full")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "bad_design_file")
    assert shell(folder, "maskwell audit nowhere.json 2>&-").returncode == 2


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_any_encoding_of_a_terminal(folder: Path, encoding: str) -> None:
    """Text is spelled or escaped; JSON stays JSON, and says the same."""
    done = shell(folder, "maskwell audit d.json", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode(encoding)
    made = shell(folder, "maskwell design k-ary --gamma 3 --categories é,日本 --json", PYTHONIOENCODING=encoding)
    assert json.loads(made.stdout.decode(encoding))["design"]["inputs"] == ["é", "日本"]


def test_what_a_plain_terminal_shows(folder: Path) -> None:
    done = shell(folder, "maskwell audit d.json", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert rb"\xe9, \u03bb <= 1, \u65e5\u672c" in done.stdout
    refused = shell(folder, "maskwell audit é.json", PYTHONIOENCODING="ascii")
    assert rb"cannot read \xe9.json" in refused.stderr


@pytest.mark.parametrize("more", ["", "--help"])
def test_an_odd_environment(folder: Path, more: str) -> None:
    odd: dict[str, Any] = {"COLUMNS": "1", "LINES": "-3", "TERM": None, "HOME": None, "LC_ALL": "xx_YY.UTF-8"}
    done = shell(folder, f"maskwell audit d.json {more}", **odd)
    assert done.returncode == 0, done.stderr


def test_a_folder_that_was_deleted_meanwhile(folder: Path) -> None:
    away = "mkdir gone && cd gone && rmdir ../gone && maskwell"
    assert shell(folder, f"{away} audit {folder / 'd.json'}").returncode == 0
    check_told(shell(folder, f"{away} audit d.json"), b"No such file")
    check_told(shell(folder, f"{away} design warner --p 0.7 -o d.json"), b"the working folder no longer exists")

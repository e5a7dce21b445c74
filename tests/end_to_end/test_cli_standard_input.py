"""A bad line ends the command with status 2 at once, also while standard input stays open and in zipped files."""

import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command_line import design_file
from tests.support.fuzzing import run_command

pytest.importorskip("pyarrow")

ROWS = 60_000
COMMAND = [sys.executable, "-m", "maskwell", "randomize"]
DESIGN = ["--design", "answer=w.json", "-o", "out.csv"]


@pytest.fixture(autouse=True)
def design(tmp_path: Path) -> None:
    design_file("w.json", "k-ary", "--categories", "yes,no", "--gamma", "3")


def bad(place: int) -> bytes:
    lines = [b"%d,%s\n" % (i, b"yes" if i % 3 else b"no") for i in range(ROWS)]
    return b"id,answer\n" + b"".join([*lines[:place], b"1,yes,3\n", *lines[place:]])


@pytest.mark.parametrize("place", [0, ROWS])
def test_a_bad_line_while_standard_input_stays_open(place: int) -> None:
    with subprocess.Popen([*COMMAND, "-", *DESIGN], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(bad(place))
        process.stdin.flush()
        assert process.wait(timeout=60) == 2  # the pipe is still open
        said = process.stderr.read().decode()
    assert f"data row {place + 1} has 3 fields, but the first line has 2" in said
    assert len(said.splitlines()) == 2
    assert not Path("out.csv").exists()


def test_a_bad_line_in_a_zipped_file() -> None:
    Path("in.csv.gz").write_bytes(gzip.compress(bad(ROWS // 2), 1))
    for _ in range(3):
        done = run_command(["randomize", "in.csv.gz", *DESIGN], Path())
        assert done.status == 2, done.err
        assert len(done.err.splitlines()) == 2, done.err


def test_design_files_are_read_from_standard_input() -> None:
    design = Path("w.json").read_bytes()
    Path("data.csv").write_text("answer\n" + "yes\nno\nyes\n" * 9, encoding="utf-8")
    for line in (
        "audit -",
        "device -",
        "improve -",
        "compare - w.json",
        "sample-size - --margin 0.05 --pi 0.1,0.9",
        "estimate data.csv --design answer=-",
        "design kronecker - w.json",
    ):
        ended = run_command(line.split(), Path(), stdin=design)
        assert ended.status == 0, ended.err
        assert not re.search(rb"Next: .*[ =]-( |$)", ended.out), ended.out  # it cannot be read again


def test_standard_input_is_one_file_that_is_open() -> None:
    design = Path("w.json").read_bytes()
    for line, said in (
        ("compare - -", b"standard input is empty, or was read already"),
        ("audit -", b"standard input is empty"),
        ("estimate - --design answer=-", b"standard input cannot hold both the rows and a design"),
    ):
        ended = run_command(line.split(), Path(), stdin=b"" if line == "audit -" else design)
        assert ended.status == 2
        assert said in ended.err, ended.err
    line = shlex.join([*COMMAND, "-", *DESIGN]) + " <&-"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False, timeout=60)
    assert done.returncode == 2 and b"standard input is closed" in done.stderr

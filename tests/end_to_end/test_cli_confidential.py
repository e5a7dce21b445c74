"""What a command must never print: values of the data, and signs that a terminal would obey."""

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import refused, run
from tests.support.signals import signals_as_usual

from maskwell.engines import randomized_data

pytest.importorskip("pyarrow")

SECRET = "Bob Jones"
FILES = {
    "too many fields": b"id,answer\n1,yes\n2,no,Bob Jones\n",
    "too few fields": b"id,answer\n1,yes\nBob Jones\n",
    "unknown answer": b"id,answer\n1,yes\n2,Bob Jones\n",
    "no number": b"id,answer,w\n1,yes,1\n2,no,Bob Jones\n",
    "not UTF-8": b"id,answer\n1,yes\n2,Bob Jones \xe9\n",
    "a quote that never ends": b'id,answer\n1,yes\n2,"Bob Jones\n3,no\n',
}
PLAN = """
[release]
keys = ["answer"]
[[protect]]
variables = ["answer"]
method = "sequential"
[codebook]
answer = ["yes", "no"]
"""


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    run("design", "warner", "--p", "0.7", "-o", "w.json")
    for name, content in FILES.items():
        Path(f"{name}.csv").write_bytes(content)
    Path("plan.toml").write_text(PLAN)


COMMANDS = {
    "randomize": ("--design", "answer=w.json", "-o", "out.csv"),
    "estimate": ("--design", "answer=w.json"),
    "weighted": ("--design", "answer=w.json", "--weights", "w"),
    "regress": ("--design", "answer=w.json", "--formula", "answer ~ id"),
    "release": ("--plan", "plan.toml", "-o", "out"),
    "risk": ("--keys", "answer", "--weights", "w"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", COMMANDS)
def test_errors_hold_no_value_of_the_file(command: str, name: str) -> None:
    verb = "estimate" if command == "weighted" else command
    for more in ((), ("--json",)):
        found = run(verb, f"{name}.csv", *COMMANDS[command], *more, status=None)
        assert SECRET not in found.err, found.err
        assert found.status == 0 or SECRET not in found.out, found.out


def test_the_row_is_told_and_the_value_if_asked_for() -> None:
    design = ("--design", "answer=w.json", "-o", "out.csv")
    said = refused("randomize", "too many fields.csv", *design, values=SECRET)
    assert "data row 2 has 3 fields, but the first line has 2" in said
    said = refused("randomize", "unknown answer.csv", *design, values=SECRET)
    assert "column 'answer': 1 of 2 values is not a category of the design, in data row 2" in said
    with gzip.open("a.csv.gz", "wb") as file:
        file.write(b'id,answer\n1,"yes\nyes"\n\n2,no\n3,no,Bob Jones\n')
    assert "data row 3 has 3 fields" in refused("randomize", "a.csv.gz", *design, values=SECRET)
    said = refused("estimate", "no number.csv", "--design", "answer=w.json", "--weights", "w", values=SECRET)
    assert "column 'w': the value in data row 2 is not a number" in said


def test_a_fault_keeps_its_text_to_itself(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr(randomized_data, "randomize_file", fail)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    found = run("randomize", "unknown answer.csv", "--design", "answer=w.json", "-o", "out.csv", status=3)
    assert SECRET not in found.err
    assert "a fault of maskwell itself: KeyError in test_cli_confidential.py" in found.err
    (kept,) = folder.glob("maskwell-fault-*.txt")
    assert SECRET in kept.read_text() and str(kept) in found.err
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


SPITEFUL = "y\x1b[2Jes\x9b31m\u202eon"


def test_labels_do_not_command_the_terminal() -> None:
    Path("labels.txt").write_text(f"{SPITEFUL}\nno\n", encoding="utf-8")
    run("design", "k-ary", "--categories", "@labels.txt", "--epsilon", "1", "-o", "d.json")
    Path("a.csv").write_text("an\x1bswer\n" + f"{SPITEFUL}\nno\n" * 50, encoding="utf-8")
    commands: list[tuple[str, ...]] = [
        ("estimate", "a.csv", "--design", "an\x1bswer=d.json"),
        ("estimate", "a.csv", "--design", "an\x1bswer=d.json", "--format", "csv"),
        ("estimate", "a.csv", "--design", "an\x1bswer=d.json", "--format", "md"),
        ("estimate", "a.csv", "--design", "an\x1bswer=d.json", "--format", "latex"),
        ("estimate", "a.csv", "--design", "an\x1bswer=d.json", "--json"),
        ("audit", "d.json"),
        ("audit", "d.json", "--json"),
        ("risk", "a.csv", "--keys", "an\x1bswer"),
        ("release", "a.csv", "--init"),
        ("estimate", "a.csv", "--design", "\x1b]0;x\x07=d.json"),
        ("estimate", "no\x1b[1m.csv", "--design", "x=d.json"),
    ]
    for args in commands:
        found = run(*args, status=None)
        for sign in "\x1b\x9b\u202e\x07\x7f":
            assert sign not in found.out + found.err, args
        assert "--json" not in args or json.loads(found.out)


def mode(path: str | Path) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow"])
def test_the_output_is_no_more_open_than_the_input(ending: str) -> None:
    Path("a.csv").write_text("answer\n" + "yes\nno\n" * 20)
    Path("a.csv").chmod(0o600)
    before = os.umask(0o022)
    try:
        run("randomize", "a.csv", "--design", "answer=w.json", "-o", f"out.{ending}")
        run("release", "a.csv", "--init", "-o", "first.toml")
        run("release", "a.csv", "--plan", "plan.toml", "-o", "out")
    finally:
        os.umask(before)
    assert mode(f"out.{ending}") == 0o600 and mode("first.toml") == 0o600
    assert mode("out/internal") == 0o700
    assert {mode(path) for path in Path("out/internal").iterdir()} == {0o600}
    assert mode("out") == mode("out/public") == 0o755
    assert {mode(path) for path in Path("out/public").iterdir()} == {0o644}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"])
def test_a_run_that_is_ended_leaves_nothing_or_is_named_by_the_next(name: str, folder: Path) -> None:
    args = [sys.executable, "-m", "maskwell", "randomize", "-", "--design", "answer=w.json", "-o", "out.csv"]
    before = set(folder.iterdir())
    with signals_as_usual():
        process = subprocess.Popen(args, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        process.stdin.write(b"answer\n" + b"yes\nno\n" * 300_000)
        process.stdin.flush()
        until = time.monotonic() + 60
        while set(folder.iterdir()) == before and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(getattr(signal, name))
        process.stdin.close()
        process.wait(60)
        said = process.stderr.read().decode()
    left = set(folder.iterdir()) - before
    if name != "SIGKILL":
        assert left == set(), said
        return
    (partial,) = left
    assert mode(partial) == 0o600 and partial.name.endswith(".partial")
    Path("a.csv").write_text("answer\nyes\nno\n")
    found = run("randomize", "a.csv", "--design", "answer=w.json", "-o", "out.csv")
    assert f"note: a run that was killed had left {partial}; it was deleted" in found.err
    assert not partial.exists()


FIXED = """
[[protect]]
variables = ["answer"]
method = "fixed"
matrix = [["0.82", "0.29"], ["0.18", "0.71"]]
orientation = "columns"
categories = ["yes", "no"]
publish = "included"
"""


def test_a_rounded_matrix_that_tells_the_counts_needs_a_clearance() -> None:
    """Made of 620 and 380 by method 1 elsewhere, and rounded to two digits."""
    Path("a.csv").write_text("answer\n" + "yes\n" * 620 + "no\n" * 380)
    Path("fixed.toml").write_text(FIXED)
    said = refused("release", "a.csv", "--plan", "fixed.toml", "-o", "out", kind="publish")
    assert "the matrix of answer reveals the true counts to within" in said
    assert "620" not in said and "380" not in said
    Path("b.csv").write_text("answer\n" + "yes\n" * 380 + "no\n" * 620)  # another file: it has nothing to do with it
    run("release", "b.csv", "--plan", "fixed.toml", "-o", "other")
    Path("cleared.toml").write_text(FIXED + 'clearance = "table 3 of the yearbook"\n')
    run("release", "a.csv", "--plan", "cleared.toml", "-o", "out")
    assert "design" in json.loads(Path("out/public/receipt.json").read_text())["groups"][0]


def test_files_for_people_hold_no_sign_that_is_obeyed(folder: Path) -> None:
    """Plans, designs, certificates and the documents of a release are read in terminals and editors."""
    Path("labels.txt").write_text(f"{SPITEFUL}\nno\n", encoding="utf-8")
    run("design", "k-ary", "--categories", "@labels.txt", "--epsilon", "1", "-o", "d.json")
    name = "answers\n[codebook]\n.csv"
    Path(name).write_text(f"an{SPITEFUL}swer,sex\n" + f"{SPITEFUL},f\nno,m\n" * 50, encoding="utf-8")
    run("release", name, "--init", "-o", "first.toml")
    assert "codebook" not in tomllib.loads(Path("first.toml").read_text(encoding="utf-8"))
    run("release", name, "--plan", "first.toml", "-o", "out")
    documents = [path for path in Path("out/public").iterdir() if path.suffix != ".csv"]
    for path in (Path("d.json"), Path("first.toml"), *documents, *Path("out/internal").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        assert not [sign for sign in "\x1b\x9b\u202e" if sign in text], path
    (column,) = (c for c in json.loads(Path("out/public/codebook.json").read_text())["columns"] if c["name"] != "sex")
    assert column["name"] == f"an{SPITEFUL}swer"
    assert {one["value"] for one in column["categories"]} == {SPITEFUL, "no"}

"""The command itself: help, version, completion, errors of usage, and what it loads."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from tests.support.command_line import design_file, refused, run
from tests.support.fuzzing import run_command

from maskwell import cli as commands
from maskwell.cli import COMMANDS
from maskwell.cli.main import cli
from maskwell.procedures.registry import PROCEDURES

MASKWELL = [sys.executable, "-c", "from maskwell.cli.main import main; main()"]
FAMILIES = [*PROCEDURES, "matrix", "kronecker", "repeated", "shared"]
OTHERS = ("demo", "design", "serve", "survey")
"""Commands whose examples are tried elsewhere: a service runs until it is stopped, a survey has a code of its own."""

WRITTEN = [["design", family] for family in FAMILIES] + [[name] for name in COMMANDS if name not in OTHERS]


def test_help_and_version() -> None:
    shown = run("--help").out
    assert all(name in shown for name in COMMANDS)
    assert re.fullmatch(r"maskwell \d+\.\d+\.\d+\S*\n", run("--version").out)


@pytest.mark.parametrize("group", [[], ["design"]], ids=["maskwell", "design"])
def test_a_group_alone_shows_its_help(group: list[str]) -> None:
    alone = run(*group)
    assert alone.out == run(*group, "--help").out
    assert alone.err == ""


def test_no_entry_of_the_help_is_cut() -> None:
    shown = " ".join(run("design", "--help").out.split())
    assert " kronecker several variables, each with a design of its own matrix any matrix, read from a file " in shown
    told = run("demo", "--help").out
    assert "\\b" not in told
    assert "    maskwell demo -o first-look --json\n" in told


def test_help_loads_nothing_heavy() -> None:
    probe = (
        "import sys\nfrom maskwell.cli.main import cli\n"
        "try: cli(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'cryptography', 'matplotlib', 'jinja2') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", [[], ["design"], *WRITTEN], ids=" ".join)
def test_every_help_fits_the_terminal(command: list[str]) -> None:
    shown = run(*command, "--help").out
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("command", WRITTEN, ids=" ".join)
def test_the_example_of_every_help_works(command: list[str]) -> None:
    shown = run(*command, "--help").out
    assert "--json" in shown
    lines = [line.strip() for line in shown.partition("Example:\n")[2].splitlines() if line.strip()]
    assert lines
    for line in lines:
        if line.startswith("printf"):
            text, _, name = line.removeprefix("printf ").rpartition(" > ")
            Path(name).write_text(shlex.split(text)[0].replace("\\n", "\n"), encoding="utf-8")
            continue
        words = shlex.split(line.partition(" > ")[0])
        assert words[0] == "maskwell"
        assert run(*words[1:]).out


def test_every_command_of_surveys_has_an_example() -> None:
    group = cli.get_command(click.Context(cli), "survey")
    assert isinstance(group, click.Group)
    for name in group.list_commands(click.Context(group)):
        shown = run("survey", name, "--help").out
        assert "--json" in shown
        assert f"maskwell survey {name}" in shown.partition("Example:\n")[2]
        assert max(map(len, shown.splitlines())) <= 100


def test_every_family_has_an_example() -> None:
    assert all(procedure.example.startswith("--") for procedure in PROCEDURES.values())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert "_MASKWELL_COMPLETE" in run("completion", shell).out
    assert run("completion", shell, "--json").json()["shell"] == shell


def completed(line: str, place: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a shell is told that completes a word of a line."""
    words = {"_MASKWELL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(place)}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    return run_command([], Path()).out.decode()


def test_completion_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "k-ary" in completed("maskwell design k-a", 2, monkeypatch)


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("audit ", "file"),
        ("randomize ", "file"),
        ("randomize a.csv -o ", "file"),
        ("estimate ", "file"),
        ("design matrix ", "file"),
        ("design kronecker a.json ", "file"),
        ("design k-ary -o ", "file"),
        ("demo -o ", "dir"),
    ],
)
def test_completion_of_file_names(typed: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"maskwell {typed}"
    told = completed(line, len(line.split()), monkeypatch)
    assert told.startswith(f"{kind},"), told


def test_the_help_of_completion_shows_every_shell() -> None:
    shown = run("completion", "--help").out
    assert all(f"    maskwell completion {shell} > " in shown for shell in ("bash", "zsh", "fish"))


@pytest.mark.parametrize(
    ("args", "saying"),
    [
        (["design", "warner", "--p", "70%"], "0.7 for 70 %"),
        (["design", "k-ary", "--k", "3", "--rho", "10%", "50%"], "0.1 for 10 %"),
        (["convert", "--rho", "10 %", "50 %"], "0.1 for 10 %"),
        (["design", "warner", "--p", "95"], "(95 for 95 %? write 0.95)"),
    ],
)
def test_percentages_are_recognised(args: list[str], saying: str) -> None:
    refused(*args, saying=saying, kind="bad_parameter")


@pytest.mark.parametrize(
    ("args", "saying"),
    [
        (["desing"], "did you mean 'design'?"),
        (["nothing-like-it"], "for a list of them: maskwell --help"),
        (["design", "k-arry"], "did you mean 'k-ary'?"),
        (["audit", "d.json", "--epsilonn", "1"], "did you mean --epsilon?"),
        (["audit"], "missing argument 'D'"),
        (["design", "warner"], "missing option '--p'"),
        (["randomize", "a.csv", "--design", "y=d.json"], "missing option '-o'"),
        (["randomize", "a.csv", "--design", "y=d.json", "-o", "b.csv", "--missing", "guess"], "'guess'"),
    ],
)
def test_errors_of_usage(args: list[str], saying: str) -> None:
    refused(*args, saying=saying, kind="usage")


@pytest.mark.parametrize(
    ("error", "status", "saying"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(13, "Permission denied", "x.csv"), 2, "x.csv: Permission denied"),
        (MemoryError(), 2, "memory"),
    ],
)
def test_no_traceback(error: BaseException, status: int, saying: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(design: str) -> None:
        raise error

    failing = click.Command("audit", callback=fail, params=[click.Argument(["design"])])
    monkeypatch.setattr(commands, "audit", failing)
    done = run("audit", "d.json", status=status)
    assert done.err.lstrip().startswith("error: ")
    assert saying in done.err
    assert "Traceback" not in done.err


@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
def test_a_terminated_run_leaves_nothing(folder: Path) -> None:
    design_file("d.json", "k-ary", "--categories", "a,b", "--gamma", "3")
    args = ["randomize", "-", "--design", "y=d.json", "-o", "out.csv"]
    process = subprocess.Popen(
        [*MASKWELL, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    )
    assert process.stdin is not None
    process.stdin.write(b"y\n" + b"a\n" * 2_000_000)
    process.stdin.flush()
    while process.poll() is None and not list(folder.glob(".out.csv.*")):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.stdin.close()
    assert process.wait(30) == 130
    assert process.stderr is not None
    assert process.stdout is not None
    shown = process.stderr.read()
    process.stderr.close()
    process.stdout.close()
    assert b"Traceback" not in shown
    assert [path.name for path in folder.iterdir()] == ["d.json"]


def test_commands_are_named_as_in_the_table() -> None:
    assert cli.name == "maskwell"
    with cli.make_context("maskwell", ["convert"]) as context:
        assert [cli.get_command(context, name) is not None for name in COMMANDS] == [True] * len(COMMANDS)

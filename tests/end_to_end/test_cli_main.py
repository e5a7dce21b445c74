"""The command itself: help, version, completion, errors of usage, and what it loads."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from tests.support.command_line import refused, run
from tests.support.fuzzing import run_command

from maskwell import cli as commands
from maskwell.cli import COMMANDS
from maskwell.cli.main import cli
from maskwell.procedures.registry import PROCEDURES

FAMILIES = [*PROCEDURES, "matrix", "kronecker", "repeated", "shared"]
OTHERS = ("demo", "design", "serve", "survey")
"""Commands whose examples are tried elsewhere: a service runs until it is stopped, a survey has a code of its own."""

WRITTEN = [["design", family] for family in FAMILIES] + [[name] for name in COMMANDS if name not in OTHERS]


def test_help_and_version() -> None:
    shown = run("--help").out
    assert all(name in shown for name in COMMANDS)
    assert re.fullmatch(r"maskwell \d+\.\d+\.\d+\S*\n", run("--version").out)
    assert run("-V").out == run("--version").out


def test_help_lists_options_by_section_after_an_example() -> None:
    shown = run("estimate", "--help").out
    titles = re.findall(r"^ {0,2}([A-Z][a-z]+:)$", shown, flags=re.MULTILINE)
    assert titles == ["Example:", "Options:", "Sampling:", "Randomness:", "Input:", "Output:"]
    sampling = shown.partition("Sampling:")[2].partition("Input:")[0]
    assert "--strata" in sampling and "--design" not in sampling
    assert "Documentation: https://" in shown.splitlines()[-1]
    assert "Privacy:" in run("design", "k-ary", "--help").out


def test_quiet_prints_errors_only_and_verbose_adds_time() -> None:
    quiet = run("convert", "--epsilon", "1", "-q")
    assert (quiet.out, quiet.err) == ("", "")
    assert run("-q", "convert", "--epsilon", "1").out == ""
    assert run("convert", "--epsilon", "1", "-q", "--json").json()["epsilon"] == 1
    assert "error: " in run("convert", "--epsilon", "-1", "-q", status=2).err
    assert re.search(r"note: \d+\.\d s", run("convert", "--epsilon", "1", "-v").err)
    assert run("convert", "--epsilon", "1").err == ""  # what one command was asked for does not last


def test_doctor_names_each_extra_of_the_package() -> None:
    found = run("doctor", "--json").json()
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert {*found["extras"]} == {*declared["project"]["optional-dependencies"]} - {"all"}
    assert found["kernels"] in ("compiled", "numpy")
    shown = run("doctor").out
    assert shown.startswith("maskwell ") and all(extra in shown for extra in found["extras"])


@pytest.mark.parametrize("group", [[], ["design"]], ids=["maskwell", "design"])
def test_a_group_alone_shows_its_help(group: list[str]) -> None:
    alone = run(*group)
    assert alone.out == run(*group, "--help").out and alone.err == ""


def test_the_help_is_not_cut_and_loads_nothing_heavy() -> None:
    shown = " ".join(run("design", "--help").out.split())
    assert " kronecker several variables, each with its own design matrix any matrix, read from a file " in shown
    told = run("demo", "--help").out
    assert "\\b" not in told and "    maskwell demo -o first-look --json\n" in told
    probe = (
        "import sys\nfrom maskwell.cli.main import cli\n"
        "try: cli(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'cryptography', 'matplotlib', 'jinja2') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", WRITTEN, ids=" ".join)
def test_the_example_of_every_help_works(command: list[str]) -> None:
    shown = run(*command, "--help").out
    assert "--json" in shown and max(map(len, shown.splitlines())) <= 100
    lines = [line.strip() for line in shown.partition("Example:\n")[2].partition("\n\n")[0].splitlines()]
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


FILES_TYPED = ["audit ", "randomize ", "randomize a.csv -o ", "estimate ", "design matrix ", "design kronecker a.json "]


@pytest.mark.parametrize("typed", [*FILES_TYPED, "design k-ary -o ", "demo -o "])
def test_completion_of_file_names(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"maskwell {typed}"
    told = completed(line, len(line.split()), monkeypatch)
    assert told.startswith("dir," if typed.startswith("demo") else "file,"), told


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

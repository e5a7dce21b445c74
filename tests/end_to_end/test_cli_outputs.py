"""Where commands write: options that have no value, keys, devices, and two outputs that appear together."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.support.command_line import refused, run
from tests.support.signals import signals_as_usual

from maskwell.cli.main import cli

posix = pytest.mark.skipif(os.name == "nt", reason="devices, pipes and signals of POSIX")


def commands(
    group: click.Group, context: click.Context, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, click.Context(command, parent=context), (*names, name))
        else:
            yield (*names, name), command


def test_no_option_takes_another_one_for_its_value(folder: Path) -> None:
    context = click.Context(cli, info_name="maskwell", help_option_names=["-h", "--help"])
    tried = 0
    for names, command in commands(cli, context, ()):
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag or option.count or option.nargs > 1:
                continue
            for name in option.opts:
                refused(*names, name, "--help", saying=f"{name} needs a value, but '--help' is an option")
                tried += 1
    assert tried > 200
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("value", ["--jsno", "-f", "--", "-x.json"])
def test_what_looks_like_an_option_is_no_file(value: str, folder: Path) -> None:
    design = ("design", "k-ary", "--k", "3", "--epsilon", "1")
    refused(*design, "-o", value, saying=f"--output {value}: {value} looks like an option")
    refused("release", "--new-key", value, saying="looks like an option")
    assert [*folder.iterdir()] == []
    run(*design, "-o", f"./{value}")
    assert [path.name for path in folder.iterdir()] == [value]


def test_a_new_key_is_all_that_is_made(folder: Path) -> None:
    for more in (["a.csv"], ["--plan", "p.toml"], ["-o", "out"], ["--init"], ["--dry-run"]):
        refused("release", "--new-key", "secret.key", *more, saying="makes a key file and does nothing else")
    refused("release", "--new-key", "-", saying="makes a key file")
    assert [*folder.iterdir()] == []
    assert '"key": "secret.key"' in run("release", "--new-key", "secret.key", "--json").out


@posix
def test_devices_and_pipes_stay_what_they_are(folder: Path) -> None:
    design = ("design", "k-ary", "--k", "3", "--epsilon", "1", "-o")
    run(*design, os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    os.mkfifo("pipe")
    for force in ([], ["--force"]):
        refused(*design, "pipe", *force, saying="nobody is reading from this pipe")
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
    assert [path.name for path in folder.iterdir()] == ["pipe"]


def test_two_outputs_that_are_the_same_file(folder: Path) -> None:
    run("design", "k-ary", "--k", "3", "--epsilon", "1", "-o", "d.json")
    refused("device", "d.json", "-o", "x", "--realised", "./x", saying="two outputs have the same name")
    refused("improve", "d.json", "-o", "x", "--certificate", "./x", saying="two outputs have the same name")
    assert [path.name for path in folder.iterdir()] == ["d.json"]


STOPPED = """
import os, signal, sys
from maskwell.cli import main
from maskwell.engines import randomized_data
def struck(*args, **options):
    for _ in range(3):
        os.kill(os.getpid(), number)
number = getattr(signal, sys.argv[1])
randomized_data.randomize_file = struck
sys.argv[1:] = ["randomize", "a.csv", "--design", "x=d.json", "-o", "out.csv"]
main.main()
"""


@posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_command_with_130_and_one_line_also_when_it_comes_again(name: str, folder: Path) -> None:
    run("design", "k-ary", "--k", "3", "--epsilon", "1", "-o", "d.json")
    with signals_as_usual():
        done = subprocess.run([sys.executable, "-c", STOPPED, name], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.strip().splitlines()[0] == "error: stopped before the end"
    assert len(done.stderr.strip().splitlines()) == 2
    assert [path.name for path in folder.iterdir()] == ["d.json"]


@posix
def test_what_nohup_ignores_is_ignored(folder: Path) -> None:
    run("design", "k-ary", "--k", "3", "--epsilon", "1", "-o", "d.json")
    words = ["randomize", "-", "--design", "x=d.json", "-o", "out.csv"]
    process = subprocess.Popen(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", sys.executable, "-m", "maskwell", *words],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    with process:
        process.stdin.write(b"x\n" + b"0\n" * 300_000)
        process.stdin.flush()
        until = time.monotonic() + 60
        while not [*folder.glob(".out*")] and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        process.stdin.close()
        assert process.wait(60) == 0
    assert Path("out.csv").exists()

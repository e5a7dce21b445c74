"""The judge of the fuzz tests is judged: what it must notice, and that its processes are those of the real command."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.fuzzing import Ended, Numbers, check_ended, files_in, numbers, run_apart, run_command

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are forked")

SECRETS = [b"maria"]
CAUGHT = [
    "crashes",
    "aborts",
    "raises",
    "prints a traceback",
    "has a fault",
    "leaves half a file",
    "writes and fails",
    "deletes and fails",
    "tells a secret",
    "leaves a temporary file",
    "takes all memory",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.joinpath("data.csv").write_text("name,vote\nmaria,yes\nzoe,no\n")
    return tmp_path


def misbehaving(what: str, folder: Path, seconds: float = 20, stdin: bytes = b"") -> Ended:
    return run_command([what], folder, stdin=stdin, seconds=seconds, entry="tests.support.misbehaving:main")


def test_what_behaves_passes(folder: Path) -> None:
    before = files_in(folder)
    check_ended(misbehaving("behaves", folder), folder, before, secrets=SECRETS)


@pytest.mark.parametrize("what", CAUGHT)
def test_what_misbehaves_is_caught(folder: Path, what: str) -> None:
    before = files_in(folder)
    ended = misbehaving(what, folder)
    with pytest.raises(AssertionError):
        check_ended(ended, folder, before, secrets=SECRETS)


def test_what_hangs_is_killed_and_caught(folder: Path) -> None:
    ended = misbehaving("hangs", folder, seconds=0.3)
    assert ended.status == -9 and 0.3 <= ended.seconds < 5
    with pytest.raises(AssertionError):
        check_ended(ended, folder, files_in(folder))


def test_what_a_command_leaves_running_ends_with_it(folder: Path) -> None:
    start = time.monotonic()
    assert misbehaving("leaves a process", folder).status == 0
    assert time.monotonic() - start < 20


def test_a_signal_is_told_by_its_number(folder: Path) -> None:
    assert misbehaving("crashes", folder).status == -11
    assert misbehaving("aborts", folder).status == -6


def test_memory_is_measured(folder: Path) -> None:
    assert misbehaving("behaves", folder).memory < 1 << 29
    ended = misbehaving("takes much memory", folder)
    assert ended.memory > 1 << 29
    check_ended(ended, folder, files_in(folder))
    with pytest.raises(AssertionError):
        check_ended(replace(ended, memory=5 << 30), folder, files_in(folder))


def test_standard_input_arrives_wholly(folder: Path) -> None:
    assert misbehaving("waits for its input", folder, stdin=b"x" * 17).status == 17
    assert misbehaving("waits for its input", folder, stdin=b"x" * (256 * 4096 + 5)).status == 5


def test_numbers_go_on_where_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(numbers(3)) == [0, 1, 2]
    monkeypatch.setenv("MASKWELL_FUZZ", "20")
    monkeypatch.setenv("MASKWELL_FUZZ_START", "1000")
    assert list(numbers(3)) == list(range(1000, 1060))
    assert list(numbers(3)[1::20]) == [1001, 1021, 1041]
    monkeypatch.setenv("MASKWELL_FUZZ_ONLY", "17")
    assert list(numbers(3)) == [17]
    assert Numbers.latest == 17


@pytest.mark.parametrize(
    "words, stdin",
    [
        (["--version"], b""),
        (["design", "warner", "--p", "0.7", "-o", "new.json"], b""),
        (["design", "warner", "--p", "0.7", "-o", "new.json", "--json"], b""),
        (["design", "warner", "--p", "7"], b""),
        (["audit", "design.json", "--rho1", "0.1", "--rho2", "0.11"], b""),
        (["randomize", "data.csv", "--design", "vote=design.json", "--seed", "7", "-o", "-"], b""),
        (["estimate", "-", "--no-such-option", "--json"], b"name,vote\nmaria,yes\nzoe,no\n"),
        (["estimate", "-", "--design", "vote=design.json", "--json"], b"name,vote\nmaria,yes\nzoe,no\n"),
        (["estimate", "-", "--design", "vote=design.json"], b"name,vote\nmaria,yes\nzoe,no,too many\n"),
        (["no-such-command", "\udcff", ""], b""),
    ],
)
def test_a_forked_command_ends_as_the_real_one(tmp_path: Path, words: list[str], stdin: bytes) -> None:
    folders = [tmp_path / "forked", tmp_path / "real"]
    for folder in folders:
        folder.mkdir()
        folder.joinpath("data.csv").write_text("name,vote\nmaria,yes\nzoe,no\n")
        assert run_command(["design", "warner", "--p", "0.7", "-o", "design.json"], folder).status == 0
    forked, real = run_command(words, folders[0], stdin=stdin), run_apart(words, folders[1], stdin=stdin)
    assert (forked.status, forked.out, forked.err, forked.left) == (real.status, real.out, real.err, real.left)
    assert files_in(folders[0]) == files_in(folders[1])

"""Every command with every option, given what no one should give it: the rule of ``tests.support.fuzzing`` holds."""

import contextlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_lines import Case, add_special_files, case, commands, good_cases, make_folder, secrets
from tests.support.fuzzing import Ended, check_ended, files_in, numbers, run_command

fcntl = pytest.importorskip("fcntl", reason="commands are forked")

FEW = 60
FEW_PLAIN = 16
PARTS = 3
WIDTH = 100
WHOLE = 8
"""One case in so many lets the interpreter end as it always does; see ``run_command``."""

STREAM = b"\xff\xff\xff\xff"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Signs that a terminal obeys."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    make_folder(folder)
    return folder


class Workplace:
    """A copy of the prepared folder, made anew after a case that changed it."""

    def __init__(self, prepared: Path, folder: Path) -> None:
        self._prepared, self.folder = prepared, folder / "case"
        self._reader: int | None = None
        self._renew()

    def run(self, one: Case, *, quick: bool = False, plain: bool = False) -> Ended:
        """Run it there, and hold it against the rule; a plain run has no extra installed."""
        ended = run_command(one.words, self.folder, stdin=one.stdin, quick=quick, plain=plain)
        self._drain()
        check_ended(ended, self.folder, self.before, secrets=[] if "--show-values" in one.words else secrets())
        check_printed(ended)
        assert special_files(self.folder) == self._special, ended.arguments
        if ended.status != 2:
            check_files(ended, self.before, files_in(self.folder))
            self._renew()
        return ended

    def close(self) -> None:
        """Stop reading from the pipe."""
        if self._reader is not None:
            os.close(self._reader)
            self._reader = None

    def _drain(self) -> None:
        """Take what was written into the pipe: somebody reads from it, or writers would wait for ever."""
        assert self._reader is not None
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 1 << 20):
                continue

    def _renew(self) -> None:
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._prepared, self.folder)
        add_special_files(self.folder)
        self._reader = os.open(self.folder / "pipe", os.O_RDWR | os.O_NONBLOCK)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.before, self._special = files_in(self.folder), special_files(self.folder)


def special_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Links, pipes and devices: no command may replace them, even with --force."""
    found = {path.name: path.lstat() for path in folder.iterdir()}
    return {name: (stat.S_IFMT(one.st_mode), one.st_rdev) for name, one in found.items() if not _is_plain(one.st_mode)}


def _is_plain(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


@pytest.fixture
def workplace(prepared: Path, tmp_path: Path) -> Iterator[Workplace]:
    made = Workplace(prepared, tmp_path)
    yield made
    made.close()
    shutil.rmtree(tmp_path)


def check_printed(ended: Ended) -> None:
    """Errors are two lines, or an object; JSON is one object; nothing that a terminal obeys."""
    shown = f"{ended.arguments}: {ended.out[:500]!r} {ended.err[:2000]!r}"
    table = ended.status == 0 and ended.out.startswith(STREAM)  # of Arrow, which no terminal gets: --format arrow
    err, out = ended.err.decode(), "" if table else ended.out.decode()
    assert not OBEYED.search(err) and not OBEYED.search(out), shown
    if ended.status == 2:
        lines = [line for line in err.splitlines() if not line.startswith(("note: ", "values: "))]
        assert [line.partition(": ")[0] for line in lines] == ["error", "hint"], shown
        assert max(map(len, lines)) <= WIDTH, shown
    if ended.status == 2:
        assert (json.loads(out).keys() == {"error"}) if "--json" in ended.arguments else (out == ""), shown
    elif "--json" in ended.arguments and not {"-h", "--help", "--version"} & set(ended.arguments):
        assert isinstance(json.loads(out, parse_constant=_refuse), dict), shown


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def check_files(ended: Ended, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Only what was named is written, and nothing is replaced without --force; lines are added to a ledger."""
    shown = f"{ended.arguments}"
    for name, content in before.items():
        longer = name.endswith(".ledger") and after.get(name, b"").startswith(content)
        assert after.get(name) == content or longer or "--force" in ended.arguments, (name, shown)
    for name in after.keys() - before.keys():
        first = name.split("/")[0].removesuffix(".ledger")
        first = "dangling" if name == "nowhere.json" else first  # what the link points to
        assert any(first in word for word in ended.arguments), (name, shown)


def test_every_command_has_a_good_line(prepared: Path) -> None:
    tried = {one.words[:2] for one in good_cases(prepared)} | {one.words[:1] for one in good_cases(prepared)}
    assert set(commands()) - tried == {("demo",)}


@pytest.mark.parametrize("number", numbers(2))
def test_good_lines_are_good(prepared: Path, workplace: Workplace, number: int) -> None:
    for one in good_cases(prepared)[number % 4 :: 4]:  # half of them in ``make test``
        assert workplace.run(one, quick=True).status in {0, 1}, one.words


@pytest.mark.parametrize("part", range(PARTS))
def test_any_command_line_ends_as_documented(prepared: Path, workplace: Workplace, part: int) -> None:
    for number in numbers(FEW)[part::PARTS]:
        workplace.run(case(number, prepared), quick=number % WHOLE != 0)


def test_good_lines_work_without_extras_or_name_the_one_that_is_missing(prepared: Path, workplace: Workplace) -> None:
    worked, first = set(), {(one.words[0], "".join(one.words[1:2])[:1]): one for one in reversed(good_cases(prepared))}
    for one in first.values():  # a few of each command
        ended = workplace.run(one, quick=True, plain=True)
        named = re.search(rb"^hint: pip install 'maskwell\[(\w+)\]'$", ended.err, re.MULTILINE)
        assert ended.status in {0, 1} or named, (one.words, ended.err)
        worked |= {one.words[0]} if ended.status in {0, 1} else set()
    needing = {"regress", "serve", "survey", "release"}
    assert {path[0] for path in commands()} - worked <= needing | {"demo"}


def test_any_command_line_ends_as_documented_without_extras(prepared: Path, workplace: Workplace) -> None:
    for number in numbers(FEW_PLAIN):
        workplace.run(case(number, prepared), quick=number % WHOLE != 0, plain=True)

"""Every command with every option, given what no one should give it: the rule of ``tests.support.fuzzing`` holds."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_lines import Case, add_special_files, case, commands, good_cases, make_folder, secrets
from tests.support.fuzzing import Ended, check_ended, files_in, numbers, run_command

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are forked")

FEW = 1200
PARTS = 24
WIDTH = 100
WHOLE = 8
"""One case in so many lets the interpreter end as it always does; see ``run_command``."""

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Signs that a terminal obeys."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    make_folder(folder)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path)


def run_case(one: Case, prepared: Path, folder: Path, *, quick: bool = False) -> Ended:
    """Run it in a copy of the prepared folder, and hold it against the rule."""
    own = folder / "case"
    shutil.copytree(prepared, own)
    add_special_files(own)
    before = files_in(own)
    ended = run_command(one.words, own, stdin=one.stdin, quick=quick)
    asked = "--show-values" in one.words
    check_ended(ended, own, before, secrets=[] if asked else secrets())
    check_printed(ended)
    check_files(ended, before, files_in(own))
    shutil.rmtree(own)
    return ended


def check_printed(ended: Ended) -> None:
    """Errors are two lines, or an object; JSON is one object; nothing that a terminal obeys."""
    shown = f"{ended.arguments}: {ended.out[:500]!r} {ended.err[:2000]!r}"
    err, out = ended.err.decode(), ended.out.decode()
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
    """Only what was named is written, and nothing is replaced without --force."""
    shown = f"{ended.arguments}"
    for name, content in before.items():
        assert after.get(name) == content or "--force" in ended.arguments, (name, shown)
    for name in after.keys() - before.keys():
        first = "dangling" if name == "nowhere.json" else name.split("/")[0]  # what the link points to
        assert any(first in word for word in ended.arguments), (name, shown)


def test_every_command_has_a_good_line(prepared: Path) -> None:
    tried = {one.words[:2] for one in good_cases(prepared)} | {one.words[:1] for one in good_cases(prepared)}
    assert set(commands()) - tried == {("demo",)}


@pytest.mark.parametrize("part", range(4))
def test_good_lines_are_good(prepared: Path, folder: Path, part: int) -> None:
    for one in good_cases(prepared)[part::4]:
        assert run_case(one, prepared, folder).status in {0, 1}, one.words


@pytest.mark.parametrize("part", range(PARTS))
def test_any_command_line_ends_as_documented(prepared: Path, folder: Path, part: int) -> None:
    for number in numbers(FEW)[part::PARTS]:
        run_case(case(number, prepared), prepared, folder, quick=number % WHOLE != 0)

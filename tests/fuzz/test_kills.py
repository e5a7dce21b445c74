"""Commands that are killed at any moment: the output is complete, the old one, or absent.

Every case is made from its number: a command, whether its output exists already, what strikes it, and when. The draws
come from a seed, so that a complete output is known to the byte. The next run names what was left over.
"""

import functools
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.support.fuzzing import Ended, files_in, numbers, run_command
from tests.support.together import together

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")

ENTRY = "tests.support.kills:main"
OLD = b"the old one"
STRIKES = ("SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "ENOSPC", "TWICE")

PLAN = """
[release]
keys = ["sex", "region"]
id = "pid"
demonstration = true

[[protect]]
variables = ["sex", "region"]
method = "inverse-frequency"
xi = 0.5
"""


@dataclass(frozen=True)
class Command:
    """What is typed, what it writes, and whether --force may replace that."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    forced: bool = True
    known: bool = True
    """Whether the content is the same in every run."""


def randomize(output: str) -> Command:
    return Command(("randomize", "in.csv", "--design", "x=d.json", "--seed", "7", "-o", output), (output,))


COMMANDS = {
    "csv": randomize("out.csv"),
    "gz": randomize("out.csv.gz"),
    "parquet": randomize("out.parquet"),
    "arrow": randomize("out.arrow"),
    "sav": randomize("out.sav"),
    "release": Command(
        ("release", "people.csv", "--plan", "p.toml", "--seed", "5", "--record-risks", "-o", "rel"),
        ("rel",),
        forced=False,
    ),
    "estimate": Command(("estimate", "in.csv", "--design", "x=d.json", "--plot", "e.svg"), ("e.svg",)),
    "device": Command(
        ("device", "d.json", "--deck", "20", "-o", "f.html", "--realised", "r.json"), ("f.html", "r.json")
    ),
    "design": Command(("design", "k-ary", "--k", "4", "--epsilon", "1", "-o", "k.json"), ("k.json",)),
    "choose": Command(("choose", "--k", "4", "--epsilon", "1", "-o", "k.json", "--plot", "p.svg"), ("k.json", "p.svg")),
    "audit": Command(("audit", "d.json", "--certificate", "c.json", "--plot", "a.svg"), ("c.json", "a.svg")),
    "init": Command(("release", "people.csv", "--init", "-o", "plan.toml"), ("plan.toml",)),
    "risk": Command(("risk", "people.csv", "--keys", "sex,region", "--records", "risk.csv"), ("risk.csv",)),
    "key": Command(("release", "--new-key", "secret.key"), ("secret.key",), forced=False, known=False),
}


SLOW = {"release", "estimate", "choose", "audit"}  # they draw pictures
NAMES = [*2 * [name for name in COMMANDS if name not in SLOW], *COMMANDS]


@functools.cache
def prepared() -> Path:
    """A folder with the inputs of all commands."""
    folder = Path(tempfile.mkdtemp(prefix="maskwell-kills-"))
    random = np.random.default_rng(3)
    rows = (f"{i},{'abc'[code]}\n" for i, code in enumerate(random.integers(3, size=8_000)))
    (folder / "in.csv").write_text("id,x\n" + "".join(rows))
    people = zip(random.integers(2, size=60), random.integers(3, size=60), strict=True)
    (folder / "people.csv").write_text(
        "pid,sex,region\n" + "".join(f"{i},{a},{b}\n" for i, (a, b) in enumerate(people))
    )
    (folder / "p.toml").write_text(PLAN)
    made = run_command(["design", "k-ary", "--categories", "a,b,c", "--epsilon", "1", "-o", "d.json"], folder)
    assert made.status == 0, made.err
    return folder


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    yield
    if prepared.cache_info().currsize:
        shutil.rmtree(prepared())
        prepared.cache_clear()  # a process may come back to this file after tests of another


@functools.cache
def whole(name: str) -> tuple[dict[str, bytes], int]:
    """What a command writes that nobody strikes, and in how many moments it does so."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "folder"
        shutil.copytree(prepared(), folder)
        done = struck(name, "NONE:0", folder)
        assert done.status in (0, 1), done.err
        found = re.search(rb"moments: (\d+)", done.err)
        assert found is not None
        return written(folder), int(found.group(1))


def struck(name: str, strike: str, folder: Path, *, force: bool = False) -> Ended:
    words = [strike, *COMMANDS[name].words, *(["--force"] if force else [])]
    return run_command(words, folder, entry=ENTRY)


def written(folder: Path) -> dict[str, bytes]:
    """All that was not there before, leftovers included."""
    before = files_in(prepared())
    now = {name: without_time(name, content) for name, content in files_in(folder).items()}
    assert {name: now.get(name) for name in before} == before  # no input is ever touched
    return {name: content for name, content in now.items() if name not in before}


def without_time(name: str, content: bytes) -> bytes:
    """A file without the moment at which it was written, which SPSS keeps."""
    return content[:92] + content[109:] if name.endswith(".sav") else content


def partial(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir() if place.name.endswith(".partial"))


def is_complete(name: str, outputs: dict[str, bytes], one: str) -> bool:
    """Whether one of the outputs of a command, a file or a folder, is there as it should be."""
    part = {path: content for path, content in outputs.items() if path == one or path.startswith(f"{one}/")}
    if not COMMANDS[name].known:
        return len(part) == 1 and all(re.fullmatch(rb"[0-9a-f]{64}\n", content) for content in part.values())
    wanted = {path: content for path, content in whole(name)[0].items() if path == one or path.startswith(f"{one}/")}
    return part == wanted


@together("number", numbers(20))
def test_whatever_strikes_an_output_is_complete_or_the_old_one_or_absent(number: int, tmp_path: Path) -> None:
    random = np.random.default_rng([20_260, number])
    name = NAMES[number % len(NAMES)]
    what = STRIKES[number % len(STRIKES)]
    force = COMMANDS[name].forced and bool(random.integers(2))
    moment = int(random.integers(1, whole(name)[1] + 1))
    folder = tmp_path / "folder"
    shutil.copytree(prepared(), folder)
    for one in COMMANDS[name].outputs if force else ():
        (folder / one).write_bytes(OLD)
    done = struck(name, f"{what}:{moment}", folder, force=force)
    check(name, done, folder, what, old=force)
    if partial(folder) or number % 5 == 0:
        next_run(name, folder)


@together("number", numbers(10))
def test_a_disk_that_is_full_leaves_everything_as_it_was(number: int, tmp_path: Path) -> None:
    random = np.random.default_rng([20_261, number])
    name = list(COMMANDS)[number % len(COMMANDS)]
    force = COMMANDS[name].forced and bool(random.integers(2))
    largest = max(map(len, whole(name)[0].values()))
    folder = tmp_path / "folder"
    shutil.copytree(prepared(), folder)
    for one in COMMANDS[name].outputs if force else ():
        (folder / one).write_bytes(OLD)
    done = struck(name, f"FSIZE:{int(largest ** random.random()) - 1}", folder, force=force)
    assert done.status == 2, done.err
    check(name, done, folder, "ENOSPC", old=force)


def test_standard_output_gets_nothing_where_temporary_files_have_no_room(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(prepared(), folder)
    words = ("FSIZE:1000", "randomize", "in.csv", "--design", "x=d.json", "-o", "-")
    done = run_command(words, folder, entry=ENTRY)
    assert (done.status, done.out, done.left, written(folder)) == (2, b"", {}, {})
    assert re.match(rb"error: cannot write standard output: File too large\nhint: [^\n]+\n$", done.err), done.err


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="elsewhere a folder of the owner is left")
def test_publishing_a_table_that_is_killed_leaves_no_record(tmp_path: Path) -> None:
    entry = "tests.support.kills:publish_table"
    killed = run_command(["killed"], tmp_path, entry=entry)
    assert (killed.status, killed.out.split()) == (-signal.SIGKILL, [b"True", b"True"]), killed.err  # they were there
    assert not killed.left
    assert files_in(tmp_path) == {}, "a folder with a link that leads nowhere, and no file"
    (left,) = tmp_path.rglob("table.parquet")
    assert left.is_symlink()
    done = run_command([], tmp_path, entry=entry)
    assert (done.status, b"had left" in done.err) == (0, True), done.err
    assert [path.name for path in tmp_path.iterdir()] == ["released"]


def check(name: str, done: Ended, folder: Path, what: str, *, old: bool) -> None:
    """What is true after a command was struck."""
    shown = (done.arguments, done.status, done.err.decode())
    found = written(folder)
    complete = [is_complete(name, found, one) for one in COMMANDS[name].outputs]
    for one, is_there in zip(COMMANDS[name].outputs, complete, strict=True):
        untouched = found.get(one) == OLD if old else not os.path.lexists(folder / one)
        assert is_there or untouched, (one, shown)
    assert b"Traceback" not in done.err, shown
    assert not done.left, (done.left, shown)  # nothing in the folder for temporary files
    if what == "SIGKILL":
        assert done.status in (-signal.SIGKILL, 0, 1), shown
        return
    assert not partial(folder), shown
    if done.status in (0, 1):
        assert all(complete), shown
        return
    assert done.status == (2 if what == "ENOSPC" else 130), shown
    assert re.fullmatch(rb"\n?(note: [^\n]+\n)*error: [^\n]+\nhint: [^\n]+\n", done.err), shown
    if what == "ENOSPC":
        assert not any(complete), shown


def next_run(name: str, folder: Path) -> None:
    """The next run ends well, names what was left, and leaves nothing."""
    left, there = partial(folder), any(os.path.lexists(folder / one) for one in COMMANDS[name].outputs)
    if there and not COMMANDS[name].forced:
        return
    done = struck(name, "NONE:0", folder, force=there)
    assert done.status in (0, 1), done.err
    assert all(f"had left {folder.resolve() / place}".encode() in done.err for place in left), (left, done.err)
    assert not partial(folder)
    found = written(folder)
    assert all(is_complete(name, found, one) for one in COMMANDS[name].outputs)

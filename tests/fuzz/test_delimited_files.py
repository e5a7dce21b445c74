"""Damaged CSV, TSV and gzip files through the commands that read them, also on standard input.

Every case follows the rule of ``tests/support/fuzzing.py``: a documented status, no traceback, nothing half-written and
no value of the file in a message.
"""

import gzip
import random
import shutil
from pathlib import Path

import pytest
from tests.support.command_line import design_file
from tests.support.fuzzing import check_ended, files_in, numbers, run_command

pytest.importorskip("pyarrow")

SECRETS = (b"secretlabel", b"hush4711")
WHOLE = 8
"""One case in so many lets the interpreter end as it always does; see ``run_command``."""

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", "-")
COMMANDS = (
    ("randomize", "{}", "--design", "answer=w.json", "-o", "out.csv"),
    ("randomize", "{}", "--design", "answer=w.json", "-o", "out.csv.gz", "--missing", "drop"),
    ("randomize", "{}", "--design", "answer=w.json", "-o", "-"),
    ("randomize", "{}", "--design", "answer=w.json", "-o", "out.parquet"),
    ("estimate", "{}", "--design", "answer=w.json", "--missing", "drop"),
    ("estimate", "{}", "--design", "answer=w.json", "--weights", "weight", "--by", "town"),
    ("estimate", "{}", "--design", "answer=w.json", "--strata", "town", "--json"),
    ("estimate", "{}", "--design", "answer=w.json", "--counts", "weight"),
    ("risk", "{}", "--keys", "town,answer"),
    ("regress", "{}", "--formula", "answer ~ weight", "--design", "answer=w.json"),
    ("release", "{}", "--init", "-o", "plan.toml"),
)
PIECES = (
    b'"', b'""', b",", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b'"\n',
    b"secretlabel", b"hush4711", b"answer", b"1e999", b"nan", b"-1", b"9" * 400, b"x" * 70_000, b"," * 3000, b"\x1b[2J",
    "\u202e".encode(), b"'", b"\\", b"#", b";", b" ",
)  # fmt: skip


def good(draw: random.Random, separator: str) -> bytes:
    rows = [("id", "answer", "town", "weight")]
    rows += [
        (f"hush{number}", draw.choice(("yes", "no", "no", "")), draw.choice(("a", '"b, c"', "secretlabel")), "1.5")
        for number in range(draw.choice((0, 1, 40)))
    ]
    newline = draw.choice(("\n", "\r\n"))
    return "".join(separator.join(row) + newline for row in rows).encode()


def damaged(draw: random.Random, data: bytes) -> bytes:
    """The data after a few changes: bytes replaced, pieces put in, parts left out or repeated."""
    for _ in range(draw.choice((0, 1, 1, 2, 5))):
        at, to = sorted((draw.randrange(len(data) + 1), draw.randrange(len(data) + 1)))
        data = draw.choice(
            (
                lambda data=data, at=at: data[:at] + draw.choice(PIECES) + data[at:],
                lambda data=data, at=at: data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :],
                lambda data=data, at=at, to=to: data[:at] + data[min(to, at + 9) :],
                lambda data=data, at=at, to=to: data[:to] + data[at:to] + data[to:],
                lambda data=data, at=at: data[:at],
            )
        )()
    return data


def case(number: int) -> tuple[str, bytes, tuple[str, ...], list[bytes]]:
    """The ending of the file, its bytes, the command, and what no message may hold."""
    draw = random.Random(number)
    ending = draw.choice(ENDINGS)
    data = damaged(draw, good(draw, "\t" if ending.startswith(".tsv") else ","))
    header = data[:200] if b"\n" not in data else data[: data.index(b"\n")]
    told = [secret for secret in SECRETS if secret not in header and b'"' not in header]
    if ending.endswith(".gz"):
        data = gzip.compress(data, 1, mtime=0)
        data = damaged(draw, data) if draw.random() < 0.5 else data
    elif draw.random() < 0.03:
        data = data.decode("latin-1").encode(draw.choice(("utf-16", "utf-32", "utf-16-be")))
    return ending, data, draw.choice(COMMANDS), told


@pytest.fixture(scope="module")
def design(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("design") / "w.json"
    design_file(path, "k-ary", "--categories", "yes,no", "--gamma", "3")
    return path


@pytest.mark.parametrize("start", [numbers(24)[i::2] for i in range(2)], ids=range(2))
def test_damaged_files(start: range, design: Path, tmp_path: Path) -> None:
    for number in start:
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(design, folder / "w.json")
        ending, data, command, told = case(number)
        name = "-" if ending == "-" else f"in{ending}"
        if name != "-":
            (folder / name).write_bytes(data)
        before = files_in(folder)
        stdin, quick = data if name == "-" else b"", number % WHOLE != 0
        ended = run_command([word.format(name) for word in command], folder, stdin=stdin, quick=quick)
        try:
            check_ended(ended, folder, before, secrets=told)
        except AssertionError as error:
            raise AssertionError(f"case {number}: {error}") from None
        shutil.rmtree(folder)

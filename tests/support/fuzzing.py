"""Hostile cases by number: the same ones everywhere, a few in every run of the tests, others for hours on request.

A case is made from its number alone, so that one that fails can be looked at again. ``MASKWELL_FUZZ=20`` runs twenty
times as many as usual, ``MASKWELL_FUZZ_START=1000000`` begins with another number.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

LONGEST = 30
"""Seconds that a command may take."""

MOST_MEMORY = 4 << 30
DOCUMENTED = {0, 1, 2}


def numbers(few: int) -> range:
    """The numbers of the cases to run: ``few`` of them, unless the environment asks for more."""
    start = int(os.environ.get("MASKWELL_FUZZ_START", "0"))
    return range(start, start + few * int(os.environ.get("MASKWELL_FUZZ", "1")))


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    arguments: tuple[str, ...]
    status: int
    out: bytes
    err: bytes
    seconds: float


def run_command(arguments: Iterable[object], folder: Path, *, stdin: bytes = b"") -> Ended:
    """Run ``maskwell arguments`` in a process of its own, with bounded memory and time."""
    words = tuple(map(str, arguments))
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "maskwell", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=4 * LONGEST,
        check=False,
    )
    return Ended(words, done.returncode, done.stdout, done.stderr, time.monotonic() - start)


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, to be compared afterwards."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_ended(ended: Ended, folder: Path, before: Mapping[str, bytes], *, secrets: Iterable[bytes] = ()) -> None:
    """The rule for every input: a documented status, no traceback, nothing half-written, no value of the data told.

    ``before`` are the files of the folder before the command, ``secrets`` values that no message may hold.
    """
    told = ended.err.decode(errors="replace")
    shown = f"{ended.arguments} ended with {ended.status} after {ended.seconds:.1f} s:\n{told}"
    assert ended.status in DOCUMENTED, shown
    assert b"Traceback" not in ended.err + ended.out, shown
    assert ended.seconds < LONGEST, shown
    for secret in secrets:
        assert not re.search(rb"(?<!\w)" + re.escape(secret) + rb"(?!\w)", ended.err), (secret, shown)
    after = files_in(folder)
    assert not [name for name in after if name.endswith(".partial")], shown
    if ended.status == 2:
        assert after == dict(before), shown

"""Run a command and strike it at a given moment: a signal, or a disk that is full from then on.

Moments are calls that change a file or its name, counted from the start of the command, so that each of them can be
tried and tried again. ``tests.support.fuzzing`` runs :func:`main` in place of the command line; the first word says
what happens and when, as in ``SIGKILL:7``. ``FSIZE:100`` lets no file grow beyond 100 bytes, in whatever library.
"""

import errno
import io
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from maskwell import release as publish
from maskwell.cli.main import main as command_line
from maskwell.core import atomic, renames

STEPS = ("rename", "replace", "link", "unlink", "mkdir", "rmdir", "fsync", "fchmod", "chmod")
NEED_SPACE = {"open", "write", "mkdir", "fsync", "link", "rename"}
NONE = "NONE:0"
SECRET = "a note about one person"


class Striker:
    """Counts the moments, and strikes at one of them; ``TWICE`` is SIGINT at this and at the next."""

    def __init__(self, what: str, moment: int) -> None:
        self.what, self.moment, self.count = what, moment, 0

    def __call__(self, step: str) -> None:
        """One moment."""
        self.count += 1
        if self.what == "ENOSPC" and self.count >= self.moment and step in NEED_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.what == "TWICE" and self.count in (self.moment, self.moment + 1):
            os.kill(os.getpid(), signal.SIGINT)
        elif self.what.startswith("SIG") and self.count == self.moment:
            os.kill(os.getpid(), getattr(signal, self.what))


def main() -> None:
    """The command line with somebody who strikes."""
    what, _, moment = sys.argv.pop(1).partition(":")
    strike = Striker(what, int(moment))
    for step in STEPS:
        setattr(os, step, _watched(step, getattr(os, step), strike))
    io.open = _watched_open(io.open, strike)  # type: ignore[assignment]  # what Path.open and Path.write_text call
    renames._is_renamed = _watched("rename", renames._is_renamed, strike)
    atomic._new_file = lambda place: _new_file(place, strike)
    try:
        with _no_file_beyond(int(moment)) if what == "FSIZE" else nullcontext():
            command_line()
    finally:
        if what == "NONE":
            sys.stderr.write(f"moments: {strike.count}\n")


@contextmanager
def _no_file_beyond(size: int) -> Iterator[None]:
    """Messages are kept meanwhile: whoever runs the tests may have them written to a file, too."""
    before, stream = resource.getrlimit(resource.RLIMIT_FSIZE), sys.stderr
    sys.stderr = io.StringIO()
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        kept, sys.stderr = sys.stderr.getvalue(), stream
        sys.stderr.write(kept)


def _watched(step: str, call: Callable[..., Any], strike: Striker) -> Callable[..., Any]:
    """Strikes come before a call and after it."""

    def watched(*args: Any, **options: Any) -> Any:
        strike(step)
        result = call(*args, **options)
        strike("after")
        return result

    return watched


def _watched_open(call: Callable[..., Any], strike: Striker) -> Callable[..., Any]:
    def watched(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if set(mode) & set("wxa"):
            strike("open")
        return call(file, mode, *args, **options)

    return watched


def _new_file(place: Path, strike: Striker) -> BinaryIO:
    class Raw(io.FileIO):
        def write(self, content: Any, /) -> int:
            strike("write")
            written = super().write(content)
            strike("after")
            return written

    strike("open")
    file = io.BufferedWriter(Raw(place, "xb", opener=atomic._for_owner))
    strike("after")
    return file


def publish_table() -> None:
    """Publish a table from memory and end by SIGKILL while its records are being counted; without the word, go on."""

    def at_work(*_: Any) -> None:
        (records,) = Path().glob(".released-records.*.partial/table.parquet")
        sys.stdout.write(f"{records.is_symlink()} {SECRET.encode() in records.read_bytes()}\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    people = {"sex": ["f", "f", "m", "m", "m"] * 8, "region": ["north", "south"] * 20, "note": [SECRET] * 40}
    protect = {"variables": ["sex"], "within": ["region"], "method": "method1", "theta": "1/2"}
    plan = {"release": {"drop": ["note"]}, "protect": [protect]}
    publish(people, plan, "released", progress=at_work if "killed" in sys.argv else None)
    sys.exit()

"""A command that does what no command may, to see that the judge of the fuzz tests notices."""

import ctypes
import os
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Do what the first argument says."""
    _DOES[sys.argv[1]]()


def _writes(name: str, status: int) -> None:
    Path(name).write_text("half of it")
    sys.exit(status)


def _says(text: str, status: int) -> None:
    sys.stderr.write(text)
    sys.exit(status)


def _leaves_a_process() -> None:
    if os.fork() == 0:
        time.sleep(60)
    sys.exit(0)


def _leaves_a_temporary_file() -> None:
    tempfile.mkstemp()
    sys.exit(0)


_DOES = {
    "behaves": lambda: _says("error: x\n", 2),
    "hangs": lambda: time.sleep(60),
    "waits for its input": lambda: sys.exit(len(sys.stdin.read())),
    "crashes": lambda: ctypes.string_at(0),
    "aborts": os.abort,
    "takes all memory": lambda: bytearray(8 << 30),
    "takes much memory": lambda: sys.exit(len(b"x" * (1 << 29)) >> 30),
    "raises": lambda: {}["private"],
    "prints a traceback": lambda: _says("Traceback (most recent call last):\n", 2),
    "has a fault": lambda: sys.exit(3),
    "leaves half a file": lambda: _writes("out.csv.partial", 0),
    "writes and fails": lambda: _writes("out.csv", 2),
    "deletes and fails": lambda: (Path("data.csv").unlink(), sys.exit(2)),
    "tells a secret": lambda: _says("error: 'maria' is no number\n", 2),
    "leaves a process": _leaves_a_process,
    "leaves a temporary file": _leaves_a_temporary_file,
}

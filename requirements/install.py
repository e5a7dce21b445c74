"""Install the lock into this environment and show how far it is: pip itself says nothing, or far too much.

    python requirements/install.py requirements/dev.txt

On a terminal one line is renewed; elsewhere a line comes every :data:`EVERY` seconds at most, so that a log stays short
and is never silent for long. The lock names every package, so pip need not look for more; Python compiles a module when
it is first imported, most never are.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

PIP = (
    "-u",
    "-m",
    "pip",
    "--disable-pip-version-check",
    "--no-input",
    "install",
    "--progress-bar",
    "off",
    "--no-compile",
    "--no-deps",
    "--require-hashes",
    "-r",
)
EVERY = 15.0
KEPT = 40
"""Last lines of pip that are shown when it fails."""


def count_of(lock: str) -> int:
    r"""How many packages a lock pins.

    >>> count_of("# all\na==1 --hash=sha256:0\nb-c==2 --hash=sha256:1\n")
    2
    """
    return len(re.findall(r"^[a-z0-9-]+==", lock, re.MULTILINE))


def step_of(line: str, done: int, total: int) -> tuple[int, str] | None:
    """How many packages pip has begun with, and what it does now; None for a line that says nothing new.

    >>> step_of("Collecting numpy==2.4.6 (from -r dev.txt (line 3))", 4, 70)
    (5, 'package 5 of 70: numpy')
    >>> step_of("  Downloading numpy-2.4.6-cp311-manylinux_x86_64.whl (16.8 MB)", 5, 70)
    (5, 'package 5 of 70: numpy, downloading 16.8 MB')
    >>> step_of("Installing collected packages: a, b", 70, 70)
    (70, 'unpacking 70 packages, about 19 seconds')
    """
    if found := re.match(r"(?:Collecting |Processing .*/)([\w.-]+?)(?:==|-\d)", line):
        return done + 1, f"package {done + 1} of {total}: {found[1]}"
    if found := re.match(r" +Downloading ([\w.]+)-.* \(([\d.]+ [kMG]?B)\)", line):
        return done, f"package {done} of {total}: {found[1]}, downloading {found[2]}"
    if line.startswith("Installing collected packages"):
        return done, f"unpacking {total} packages, about {5 + total // 5} seconds"
    return None


NO_ANSWER = re.compile(
    r"^WARNING: Retrying.*^ERROR: .*(No matching distribution|Max retries|timed out)", re.MULTILINE | re.DOTALL
)


def fault_of(said: str) -> str:
    r"""One line where the registry does not answer, else what pip said.

    >>> fault_of("WARNING: Retrying (...) after connection broken\nERROR: No matching distribution found for numpy\n")
    'error: the package registry does not answer; run the command again with a network connection\n'
    >>> fault_of("ERROR: No space left on device\n")
    'ERROR: No space left on device\n'
    """
    known = "error: the package registry does not answer; run the command again with a network connection\n"
    return known if NO_ANSWER.search(said) else said


def install(lock: Path) -> int:
    """Run pip and show its steps; the end of what it said where it fails."""
    total, done, shown, last = count_of(lock.read_text(encoding="utf-8")), 0, 0.0, deque[str](maxlen=KEPT)
    command = [sys.executable, *PIP, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        for line in pip.stdout or ():
            last.append(line)
            step = step_of(line, done, total)
            if step is None:
                continue
            done, now = step[0], time.monotonic()
            if sys.stdout.isatty():
                print(f"\r\033[K  {step[1]}", end="", flush=True)
            elif now - shown > EVERY or step[1].startswith("unpacking"):
                shown = now
                print(f"  {step[1]}", flush=True)
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)
    if pip.returncode:
        print(fault_of("".join(last)), end="", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(install(Path(sys.argv[1])))

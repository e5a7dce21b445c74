"""Timing that forgives a noisy machine: candidates take turns, and the best turn of each counts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROUNDS = 7
PEAK = """
import atexit, pathlib
lines = lambda: pathlib.Path("/proc/self/status").read_text().splitlines()
atexit.register(lambda: pathlib.Path("peak").write_text(next(x for x in lines() if x.startswith("VmHWM")).split()[1]))
"""


def python(code: str) -> list[str]:
    """The command that runs a program in a process of its own, which writes down its peak memory at the end."""
    return [sys.executable, "-c", PEAK + code]


def seconds_and_peak(command: list[str], folder: Path) -> tuple[float, float]:
    """Of such a command in a folder: seconds, and peak memory in megabytes as Linux counts it."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, int((folder / "peak").read_text()) / 1024


class Cost(NamedTuple):
    """What a command took: seconds by the clock, seconds of processors, and peak memory in megabytes."""

    seconds: float
    processor: float
    peak: float


def cost_of(command: list[str], folder: Path) -> Cost:
    """Of such a command in a folder."""
    before = os.times()
    seconds, peak = seconds_and_peak(command, folder)
    after = os.times()
    return Cost(seconds, sum(after[2:4]) - sum(before[2:4]), peak)


MASKWELL = python("from maskwell.__main__ import main; main()")


def on_one_core() -> None:
    """Pin this process to one core, where the system allows it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


@contextmanager
def on_all_cores() -> Iterator[None]:
    """Give back all cores for a while: to commands that are timed as users run them."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def best_seconds(candidates: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The shortest time of each candidate; they take turns, so that a slow moment hits all alike."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best

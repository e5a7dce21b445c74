"""``make fuzz``: the tests of ``tests/fuzz`` in rounds, each with numbers that nobody has tried, until time is up.

It goes on after a failure. A case is made from its number alone, so that each failure says how to run it again.
"""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMES = 16
"""How many times as many cases as ``make test`` a round has: some minutes."""

APART = 1_000_000
LAST = 1_000_000_000_000
PYTEST = ("-m", "pytest", "-q", "-rN", "--tb=short", "-p", "no:cacheprovider", "--numprocesses", "auto")
PROGRESS = re.compile(r"^[.sFE]*\s*(\[\s*\d+%\])?$")


def one_round(start: int, seconds: float) -> tuple[str, str]:
    """Run all fuzz tests with the numbers from ``start``: "passed", "failed" or "stopped", and what pytest printed."""
    env = os.environ | {
        "MASKWELL_FUZZ": str(TIMES),
        "MASKWELL_FUZZ_START": str(start),
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, *PYTEST, "--maxprocesses", "8", "tests/fuzz"]
    with subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=-1, stderr=subprocess.STDOUT) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate()
            return ("failed" if "___" in out else "stopped"), out
    return ("passed" if process.returncode == 0 else "failed"), out


def main(minutes: float, start: int | None) -> int:
    """Run rounds until the minutes are over; 1 if a case failed."""
    begin, failures, rounds = time.monotonic(), 0, 0
    first = secrets.randbelow(LAST) if start is None else start
    print(f"fuzz: {minutes:g} minutes, rounds of {TIMES} times as many cases as in make test", flush=True)
    while (left := 60 * minutes - (time.monotonic() - begin)) > 0:
        number = first + rounds * APART
        ended, out = one_round(number, left)
        rounds += 1
        failures += ended == "failed"
        if ended == "failed":
            print("\n".join(line for line in out.splitlines() if not PROGRESS.match(line)), flush=True)
        taken = (time.monotonic() - begin) / 60
        print(f"fuzz: round {rounds}, numbers from {number}: {ended}; {taken:.1f} of {minutes:g} minutes", flush=True)
    print(f"fuzz: {rounds} rounds, {failures} of them with failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else None))

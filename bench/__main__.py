"""`make bench`: every bar in one run, as a table for docs/reference/speed.md."""

from __future__ import annotations

import itertools
import platform
import sys
from datetime import UTC, datetime

from bench import intervals, likelihood, planning, proofs, regression, sampling, speed, tables
from bench.measure import on_one_core


def main() -> None:
    on_one_core()
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    machine = f"{platform.machine()}, Python {platform.python_version()}, one core"
    print(f"{when}, {machine}, {speed.kernel_name()} kernels\n")
    print("| job | measured | compared | bar |\n|---|---|---|---|")
    for line in itertools.chain(
        speed.lines(),
        proofs.lines(),
        planning.lines(),
        tables.lines(),
        intervals.lines(),
        likelihood.lines(),
        sampling.lines(),
        regression.lines(),
    ):
        print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

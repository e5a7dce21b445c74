"""`make bench`: every bar in one run, as the sections of docs/reference/speed.md."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime

from bench import (
    baskets,
    collection,
    files,
    intervals,
    likelihood,
    peers,
    planning,
    proofs,
    regression,
    release,
    release_matrices,
    release_risk,
    report_columns,
    sampling,
    scaling,
    spark,
    speed,
    tables,
)
from bench.measure import on_one_core

SECTIONS = {
    "Randomizing and tallying": speed,
    "Comparison with other libraries": peers,
    "Columns of labels and sets": report_columns,
    "Proofs": proofs,
    "Planning": planning,
    "Estimates": likelihood,
    "Intervals": intervals,
    "Tables": tables,
    "Baskets": baskets,
    "Sampling plans": sampling,
    "Regression": regression,
    "Files (two cores)": files,
    "Releases (two cores)": release,
    "Risk of a release": release_risk,
    "Optimal matrices": release_matrices,
    "Collecting (two cores)": collection,
    "Spark (two cores)": spark,
    "Growth (two cores)": scaling,
}


def main() -> None:
    on_one_core()
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    machine = f"{platform.machine()}, Python {platform.python_version()}, one core"
    print(f"{when}, {machine}, {speed.kernel_name()} kernels")
    for title, module in SECTIONS.items():
        print(f"\n## {title}\n\n| job | measured | compared | bar |\n|---|---|---|---|")
        for line in module.lines():
            print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Files in one streaming pass: rows a second and memory, for the same file short and long.

    python bench/files.py [--rows 2000000 10000000]

Each line is one run of the command line in a process of its own, start included. ``beside`` is the peak memory beyond
a process that has only loaded the libraries: block buffers of Arrow, and the working set. It must not grow with rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

LABELS = ["never", "once", "often", "no answer"]
PEAK = """
import atexit, pathlib
lines = lambda: pathlib.Path("/proc/self/status").read_text().splitlines()
atexit.register(lambda: pathlib.Path("peak").write_text(next(x for x in lines() if x.startswith("VmHWM")).split()[1]))
"""
COMMAND = [sys.executable, "-c", PEAK + "from maskwell.cli.main import main; main()"]
LIBRARIES = (
    "numpy, pyarrow.csv, pyarrow.parquet, pyarrow.compute, "
    "maskwell.engines.report_counts, maskwell.reports.text.design_report"
)
LOADED = [sys.executable, "-c", PEAK + f"import {LIBRARIES}"]


def make(folder: Path, rows: int) -> None:
    schema = pa.schema([("id", pa.int64()), ("y", pa.string()), ("age", pa.int32()), ("x", pa.float64())])
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with (folder / "a.csv").open("wb") as text, pyarrow.parquet.ParquetWriter(folder / "a.parquet", schema) as parquet:
        text.write(b"id,y,age,x\n")
        for start in range(0, rows, 10**6):
            n, random = min(10**6, rows - start), np.random.default_rng(start)
            answers = np.array(LABELS)[random.integers(0, 4, n)]
            values = [np.arange(start, start + n), answers, random.integers(16, 90, n), random.normal(size=n).round(4)]
            table = pa.table(dict(zip(schema.names, values, strict=True))).cast(schema)
            parquet.write_table(table)
            pyarrow.csv.write_csv(table, text, options)


def measured(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds, and peak memory in megabytes as Linux counts it."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, int((folder / "peak").read_text()) / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[2 * 10**6, 10**7])
    given = parser.parse_args()
    print("| job | rows | seconds | million rows/s | beside, MB |\n|---|---|---|---|---|")
    for rows in given.rows:
        with tempfile.TemporaryDirectory() as name:
            run(Path(name), rows)


def run(folder: Path, rows: int) -> None:
    make(folder, rows)
    _, loaded = measured(LOADED, folder)
    labels = ",".join(LABELS)
    for family, options in (("k-ary", []), ("subset", ["--size", "2"])):
        design = [
            *COMMAND,
            "design",
            family,
            "--categories",
            labels,
            "--epsilon",
            "1",
            *options,
            "-o",
            f"{family}.json",
        ]
        measured(design, folder)
        for kind in ("csv", "parquet"):
            column, made = ["--design", f"y={family}.json"], f"{family}.{kind}"
            jobs = {
                "randomize": [*COMMAND, "randomize", f"a.{kind}", *column, "-o", made],
                "estimate": [*COMMAND, "estimate", made, *column],
            }
            for job, command in jobs.items():
                seconds, memory = measured(command, folder)
                rate = rows / seconds / 1e6
                print(
                    f"| {job} {family} {kind} | {rows:,} | {seconds:.1f} | {rate:.1f} | {memory - loaded:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

"""Files in one streaming pass: rows a second and memory, for the same file short and long.

    python -m bench.files [--rows 2000000 10000000]

Each line is one run of the command line in a process of its own, start included. ``beside`` is the peak memory beyond
a process that has only loaded the libraries: block buffers of Arrow, and the working set. It must not grow with rows.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from bench.measure import MASKWELL, python, seconds_and_peak

LABELS = ["never", "once", "often", "no answer"]
LIBRARIES = (
    "numpy, pyarrow.csv, pyarrow.parquet, pyarrow.compute, "
    "maskwell.engines.report_counts, maskwell.reports.text.design_report"
)
LOADED = python(f"import {LIBRARIES}")


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[2 * 10**6, 10**7])
    sizes = parser.parse_args().rows
    print("| job | rows | seconds | million rows/s | beside, MB |\n|---|---|---|---|---|")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            run(Path(name), rows)


def run(folder: Path, rows: int) -> None:
    make(folder, rows)
    _, loaded = seconds_and_peak(LOADED, folder)
    labels = ",".join(LABELS)
    for family, options in (("k-ary", []), ("subset", ["--size", "2"])):
        demand = ["--categories", labels, "--epsilon", "1", *options]
        seconds_and_peak([*MASKWELL, "design", family, *demand, "-o", f"{family}.json"], folder)
        for kind in ("csv", "parquet"):
            column, made = ["--design", f"y={family}.json"], f"{family}.{kind}"
            jobs = {
                "randomize": [*MASKWELL, "randomize", f"a.{kind}", *column, "-o", made],
                "estimate": [*MASKWELL, "estimate", made, *column],
            }
            for job, command in jobs.items():
                seconds, memory = seconds_and_peak(command, folder)
                rate = rows / seconds / 1e6
                print(
                    f"| {job} {family} {kind} | {rows:,} | {seconds:.1f} | {rate:.1f} | {memory - loaded:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

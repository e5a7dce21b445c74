"""A whole release, Parquet to Parquet, against reading and writing the same file; each in a process of its own.

    python -m bench.release [--rows 10000000]

A release is timed with everything that it does to the file: both passes, matrices, utility, receipts, metadata and the
scan of what is published; and as the whole command, with the drawn report for the board, which takes the same seconds
however long the file is. Reading and writing is what a program of two lines does. Ratios are told by the clock and by
the time of the processors, which other programs disturb less. Memory is all of the process, libraries included.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bench import release_cells
from bench.measure import MASKWELL, Cost, best_seconds, cost_of, on_all_cores, python
from bench.speed import Line
from maskwell.microdata.matrices import method1

SIZES = (2, 5, 8, 12, 30)
COMMAND = [*MASKWELL, "release", "a.parquet"]
WITHOUT_REPORT = """
from maskwell.microdata.plans.release_plan import load_plan
from maskwell.microdata.publication import release_into
release_into("a.parquet", load_plan("{plan}"), "out")
"""
COPY = python("import pyarrow.parquet as pq; pq.write_table(pq.read_table('a.parquet'), 'copy.parquet')")
JOBS = {
    "kept": ("order kept, without the report", "at most 1.5 x; under 500 MB"),
    "shuffled": ("order shuffled, without the report", "at most 2 x"),
    "kept command": ("order kept, the whole command with its report", "at most 1.5 x"),
    "shuffled command": ("order shuffled, the whole command with its report", "at most 2 x"),
}
PEER = 0.15e6
"""Rows a second of sdcMicro's pram, as published for one column of ten categories."""


def make(folder: Path, rows: int) -> None:
    """Five columns of 2 to 30 categories, as texts."""
    random = np.random.default_rng(1)
    names = [f"v{i}" for i in range(len(SIZES))]
    schema = pa.schema([(name, pa.string()) for name in names])
    shares = [random.dirichlet(np.full(k, 2.0)) for k in SIZES]
    with pyarrow.parquet.ParquetWriter(folder / "a.parquet", schema) as parquet:
        for start in range(0, rows, 10**6):
            n = min(10**6, rows - start)
            codes = [random.choice(len(p), n, p=p).astype(np.int32) for p in shares]
            labels = [pa.array([f"category {i}-{j}" for j in range(k)]) for i, k in enumerate(SIZES)]
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(c), names) for c, names in zip(codes, labels, strict=True)
            ]
            parquet.write_table(pa.table([column.cast(pa.string()) for column in columns], schema=schema))


def plan(folder: Path, order: str) -> str:
    """Every column randomized alone, so that its counts are kept."""
    protect = [f'[[protect]]\nvariables = "v{i}"\nmethod = "sequential"\nstrength = 0.3\n' for i in range(len(SIZES))]
    name = f"{order}.toml"
    (folder / name).write_text(f'[release]\norder = "{order}"\n\n' + "\n".join(protect))
    return name


def measured(command: list[str], folder: Path) -> Cost:
    """What a command takes, without what an earlier turn left behind."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    return cost_of(command, folder)


def lines() -> Iterator[Line]:
    """Ten million rows."""
    yield from measured_lines(10**7, rounds=3)
    yield from release_cells.measured_lines(10**7)


def measured_lines(rows: int, rounds: int) -> Iterator[Line]:
    """The bar, with the order of the rows kept and with the rows shuffled; candidates take turns."""
    with on_all_cores(), tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, rows)
        commands = {"copy": COPY}
        for order in ("kept", "shuffled"):
            name = plan(folder, order)
            commands[order] = python(WITHOUT_REPORT.format(plan=name))
            commands[f"{order} command"] = [*COMMAND, "--plan", name, "-o", "out", "--json"]
        turns = [{key: measured(command, folder) for key, command in commands.items()} for _ in range(rounds)]
        runs = {key: [turn[key] for turn in turns] for key in commands}
    best = {key: Cost(*map(min, zip(*each, strict=True))) for key, each in runs.items()}
    copy = best["copy"]
    for key, (what, bar) in JOBS.items():
        took, peak = best[key], max(one.peak for one in runs[key])
        seconds, work = took.seconds / copy.seconds, took.processor / copy.processor
        yield Line(
            f"release of {rows:,} rows, 5 columns, Parquet to Parquet, {what}",
            f"{took.seconds:.1f} s, {peak:.0f} MB at most",
            f"{seconds:.2f} x reading and writing with pyarrow ({copy.seconds:.1f} s), {work:.2f} x its processor time",
            bar,
        )
    yield drawn()


def drawn(rows: int = 10**7) -> Line:
    """One column of ten categories in memory, from its counts to released codes: what sdcMicro's pram does."""
    random = np.random.default_rng(1)
    codes = random.choice(10, rows, p=random.dirichlet(np.full(10, 2.0))).astype(np.uint8)

    def release() -> None:
        method1(np.bincount(codes, minlength=10), "1/2").sample(codes, threads=1)

    seconds = best_seconds({"ours": release}, rounds=3)["ours"]
    return Line(
        f"one column of 10 categories, {rows:,} codes, matrix and draws",
        f"{rows / seconds / 1e6:.0f} M rows/s",
        f"{rows / seconds / PEER:,.0f} x sdcMicro's pram as published (0.15 M rows/s, labels included)",
        "500 x",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**7)
    for line in measured_lines(parser.parse_args().rows, rounds=3):
        print(f"{line.job}: {line.result}; {line.compared} (bar: {line.bar or 'none'})")


if __name__ == "__main__":
    main()

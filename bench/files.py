"""Files in one streaming pass, against pyarrow's own reading and writing; and the same file short and long.

    python -m bench.files [--rows 1000000 10000000]

Each measurement is one run of the command line in a process of its own, start included, in turns with programs of two
lines that read the file with pyarrow and write it again. Ratios are told by the clock and by the time of the
processors, which other programs disturb less. Memory is all of the process, libraries included. A folder of copies of
the longer file stands for ten times as many rows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from bench.measure import MASKWELL, Cost, cost_of, on_all_cores, python
from bench.speed import Line
from maskwell import Categories
from maskwell import design as make_design

SIZES = (4, 8, 12, 30, 100)
NAMES = [f"v{i}" for i in range(len(SIZES))]
LABELS = [[f"answer {j} of column {i}"[: 8 + 3 * (j % 5)] + f" {j}" for j in range(k)] for i, k in enumerate(SIZES)]
COPY = {
    "parquet": python("import pyarrow.parquet as pq; pq.write_table(pq.read_table('a.parquet'), 'copy.parquet')"),
    "csv": python("import pyarrow.csv as csv; csv.write_csv(csv.read_csv('a.csv'), 'copy.csv')"),
}
FEW = 1_000
BARS = {"parquet": "at most 1 x; under 300 MB", "csv": "at most 1.2 x; under 300 MB"}


def make(folder: Path, rows: int) -> None:
    """Five columns of 4 to 100 categories as texts, in Parquet and in CSV, and a design for each."""
    schema = pa.schema([(name, pa.string()) for name in NAMES])
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    with (folder / "a.csv").open("wb") as text, pyarrow.parquet.ParquetWriter(folder / "a.parquet", schema) as parquet:
        text.write((",".join(NAMES) + "\n").encode())
        for start in range(0, rows, 10**6):
            n, random = min(10**6, rows - start), np.random.default_rng(start)
            columns = [pa.array(labels).take(pa.array(random.integers(0, len(labels), n))) for labels in LABELS]
            table = pa.table(columns, schema=schema)
            parquet.write_table(table)
            pyarrow.csv.write_csv(table, text, options)
    for name, labels in zip(NAMES, LABELS, strict=True):
        make_design("k-ary", categories=Categories.of(labels), epsilon=2).save(folder / f"{name}.json")


def randomizing(path: str, kind: str) -> list[str]:
    """The command that randomizes all five columns."""
    designs = [word for name in NAMES for word in ("--design", f"{name}={name}.json")]
    return [*MASKWELL, "randomize", path, *designs, "-o", f"out.{kind}", "--force"]


def lines() -> Iterator[Line]:
    """Ten million rows against pyarrow, and a million to a hundred million against each other."""
    yield from measured_lines((10**6, 10**7), rounds=3)


def measured_lines(sizes: tuple[int, int], rounds: int) -> Iterator[Line]:
    """Both kinds of files: the bar for the longer file, then how time and memory grow."""
    with on_all_cores(), tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(rows) for rows in (FEW, *sizes)]
        for folder, rows in zip(folders, (FEW, *sizes), strict=True):
            folder.mkdir()
            make(folder, rows)
        for kind in COPY:
            yield against_pyarrow(folders[2], kind, sizes[1], rounds)
            yield growing(folders, kind, sizes, rounds)


def against_pyarrow(folder: Path, kind: str, rows: int, rounds: int) -> Line:
    """The command and the plain copy, taking turns."""
    jobs = {"copy": COPY[kind], "command": randomizing(f"a.{kind}", kind)}
    turns = [{job: cost_of(command, folder) for job, command in jobs.items()} for _ in range(rounds)]
    copy, command = ([turn[job] for turn in turns] for job in jobs)
    seconds, work = best(command).seconds / best(copy).seconds, best(command).processor / best(copy).processor
    ours, theirs = (max(one.peak for one in costs) for costs in (command, copy))
    return Line(
        f"randomize 5 columns of text, {rows:,} rows, {kind} to {kind}",
        f"{best(command).seconds:.1f} s, {ours:.0f} MB at most",
        f"{seconds:.2f} x reading and writing with pyarrow, {work:.2f} x its processor time; it takes {theirs:,.0f} MB",
        BARS[kind],
    )


def growing(folders: list[Path], kind: str, sizes: tuple[int, int], rounds: int) -> Line:
    """Processor time for a million rows of both files and of a folder of ten copies of the longer one.

    What a file of a few rows takes, which is the start of the command, is left out.
    """
    few, short, long = folders
    parts = long / kind
    parts.mkdir()
    for i in range(10):
        os.link(long / f"a.{kind}", parts / f"part-{i}.{kind}")
    commands = {sizes[0]: (short, f"a.{kind}"), sizes[1]: (long, f"a.{kind}"), 10 * sizes[1]: (long, kind)}
    started = best([cost_of(randomizing(f"a.{kind}", kind), few) for _ in range(rounds)]).processor
    each, peaks = [], []
    for rows, (folder, path) in commands.items():
        costs = [cost_of(randomizing(path, kind), folder) for _ in range(rounds if rows < 10 * sizes[1] else 1)]
        each.append(f"{(best(costs).processor - started) / rows * 1e6:.2f}")
        peaks.append(f"{max(one.peak for one in costs):.0f}")
    return Line(
        f"the same, {', '.join(f'{rows:,}' for rows in commands)} rows",
        f"{', '.join(each)} s of a processor a million rows",
        f"{', '.join(peaks)} MB at most",
        "the same within 10 %; flat",
    )


def best(costs: list[Cost]) -> Cost:
    """The least of each, over the turns."""
    return Cost(*(min(column) for column in zip(*costs, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs=2, default=[10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("| job | measured | compared | bar |\n|---|---|---|---|")
    for line in measured_lines(tuple(given.rows), given.rounds):
        print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |", flush=True)


if __name__ == "__main__":
    main()

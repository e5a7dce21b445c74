"""A release of a file whose keys have very many combinations: time and memory of a plan that must look at each of them.

    python -m bench.release_cells [--rows 10000000] [--make FOLDER]

Ten million records with five keys lie in some 770,000 cells, half of them in cells of a few records. The keys are
randomized together. Memory is all of the process and of those that it started, processor time likewise.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bench.measure import MASKWELL, on_all_cores
from bench.speed import Line

SIZES = {"region": 16, "sex": 2, "age": 60, "occupation": 52, "origin": 20}
SPREAD = 1.3
"""Standard deviation of the logarithm of the shares of a key."""

PLAN = """
[release]
keys = ["region", "sex", "age", "occupation", "origin"]
sensitive = ["income"]
match = {match}

[[protect]]
variables = ["sex", "age", "occupation", "origin"]
within = ["region"]
method = "{method}"
"""


class Cost(NamedTuple):
    """What a command took: seconds, processor seconds, and megabytes of memory at most in one of its processes."""

    seconds: float
    processor: float
    peak: float


def make(folder: Path, rows: int = 10**7) -> None:
    """Write ``many.parquet``: five keys as texts, and an income class; the same rows each time."""
    random = np.random.default_rng(15)
    shares = {}
    for name, size in SIZES.items():
        weights = random.lognormal(0, SPREAD if size > 2 else 0.1, size)
        shares[name] = weights / weights.sum()
    shares["income"] = np.full(12, 1 / 12)
    schema = pa.schema([(name, pa.string()) for name in shares])
    with pyarrow.parquet.ParquetWriter(folder / "many.parquet", schema) as parquet:
        for start in range(0, rows, 10**6):
            n = min(10**6, rows - start)
            columns = []
            for name, p in shares.items():
                codes = random.choice(len(p), n, p=p).astype(np.int32)
                labels = pa.array([f"{name} {code:03d}" for code in range(len(p))])
                columns.append(pa.DictionaryArray.from_arrays(pa.array(codes), labels).cast(pa.string()))
            parquet.write_table(pa.table(columns, schema=schema))


def cost(command: list[str], folder: Path) -> Cost:
    """Run a command and say what it and all its children took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, processor, int((folder / "peak").read_text()) / 1024)


def measured_lines(rows: int, method: str = "inverse-frequency", match: str = "0.4") -> Iterator[Line]:
    """The whole command, with its report."""
    with on_all_cores(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, rows)
        (folder / "plan.toml").write_text(PLAN.format(method=method, match=match))
        command = [*MASKWELL, "release", "many.parquet", "--plan", "plan.toml", "-o", "out", "--json"]
        took = cost(command, folder)
        shutil.rmtree(folder / "out")
    yield Line(
        f"release of {rows:,} rows, five keys in some 770,000 cells, {method}",
        f"{took.seconds:.0f} s, {took.processor:.0f} s of the processors, {took.peak:.0f} MB at most",
        "209 s of the processors and 4,350 MB when first tried",
        "under 1,000 MB",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--make", type=Path)
    options = parser.parse_args()
    if options.make is not None:
        make(options.make, options.rows)
        return
    for line in measured_lines(options.rows):
        print(f"{line.job}: {line.result} ({line.compared}; bar: {line.bar})")


if __name__ == "__main__":
    main()

"""Tables of Spark on two cores, against a function that hands its rows back as they are.

python -m bench.spark [--rows 2000000]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import maskwell as mw
from bench.measure import best_seconds, on_all_cores
from bench.speed import Line

ROWS, ROUNDS = 2 * 10**6, 5
LABELS = ["never", "once", "often", "no answer"]
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def make(path: Path, rows: int) -> None:
    """A file with ids, three columns of labels and two of numbers, in eight pieces."""
    random = np.random.default_rng(1)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    columns |= {name: np.array(LABELS)[random.integers(0, 4, rows)] for name in ("drugs", "cheats", "drinks")}
    columns |= {"age": random.integers(16, 90, rows), "x": random.normal(size=rows)}
    pq.write_table(pa.table(columns), path, row_group_size=rows // 8)


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def computed(frame: Any) -> None:
    """All rows, which then go nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def candidates(spark: Any, folder: Path) -> dict[str, Callable[[], object]]:
    design = mw.design("k-ary", categories=mw.Categories.of(LABELS), epsilon=1)
    designs = {"drugs": design, "cheats": design}
    people = spark.read.parquet(str(folder / "people.parquet"))
    as_they_are = people.mapInArrow(identity, people.schema)
    kept = mw.randomize(people, designs, key=mw.KeyedRandom.of(bytes(range(32)), "bench"), id="id")
    written, once = str(folder / "written.parquet"), str(folder / "once.parquet")
    return {
        "identity": lambda: computed(as_they_are),
        "kept": lambda: computed(kept),
        "identity, written": lambda: as_they_are.write.mode("overwrite").parquet(written),
        "once": lambda: mw.randomize(people, designs, once, force=True),
        "tally": lambda: mw.tally(people, designs),
        "group by": lambda: [people.groupBy(name).count().collect() for name in designs],
    }


def lines() -> Iterator[Line]:
    yield from measured(ROWS)


def measured(rows: int) -> Iterator[Line]:
    if find_spec("pyspark") is None:
        yield Line("Spark", "skipped: no PySpark", "", "")
        return
    with tempfile.TemporaryDirectory() as name, on_all_cores():
        make(Path(name) / "people.parquet", rows)
        spark = mw.engines.spark_session("local[2]", SETTINGS)
        seconds = best_seconds(candidates(spark, Path(name)), ROUNDS)
        spark.stop()
    jobs = (
        ("kept", "randomize 2 of 6 columns, kept by a key", "identity", "`mapInArrow` of the same rows", "1.5 x"),
        (
            "once",
            "randomize 2 of 6 columns, written once",
            "identity, written",
            "the same, written to Parquet",
            "1.5 x",
        ),
        ("tally", "tally of 2 columns", "group by", "`groupBy().count()` of each", ""),
    )
    for job, text, base, compared, bar in jobs:
        speed, ratio = rows / seconds[job] / 1e6, seconds[job] / seconds[base]
        yield Line(f"{text}, {rows:,} rows", f"{speed:.1f} M rows/s", f"{ratio:.2f} x {compared}", bar)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=ROWS)
    for line in measured(parser.parse_args().rows):
        print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |", flush=True)


if __name__ == "__main__":
    main()

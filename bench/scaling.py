"""How time and memory grow: with rows, categories, cores, files and partitions; a table, a JSON file and a picture.

    python -m bench.scaling [--rows 100000 1000000] [--categories 16 1000 1000000] [--cores 1 2] [--files 1 8 64]
                            [--partitions 1 2 8] [--rounds 3] [--output FOLDER]

Partitions are those of Spark; the curve is left out where PySpark or Java is not installed.

Every point is a process of its own, which tells the seconds of its job (the start of Python is left out) and the memory
of the whole process at its peak. The points of all curves take turns, and of each the best turn counts. Long files are
a folder in which one file of a million rows has many names, so that a hundred million rows take no more disk.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bench.measure import on_all_cores
from bench.speed import Line

if TYPE_CHECKING:
    from maskwell.reports.pictures.canvas import Picture
    from maskwell.reports.pictures.sheet import Sheet

ROWS, CATEGORIES, CORES, FILES = (10**5, 10**6, 10**7), (16, 10**3, 10**5, 10**6), (1, 2), (1, 4, 16, 64)
PARTITIONS = (1, 2, 8, 64)
USUAL: dict[str, Sequence[int]] = {
    "rows": ROWS,
    "categories": CATEGORIES,
    "cores": CORES,
    "files": FILES,
    "partitions": PARTITIONS,
}
IN_ONE_FILE = 10**6
LABELS = [f"answer {code:02d}" for code in range(16)]
CURVES = {
    "rows": "randomize a column of 16 labels, Parquet to Parquet",
    "categories": "randomize, tally and estimate a million codes",
    "cores": "randomize two million sets of 64 categories",
    "files": "randomize a million rows in so many Parquet files",
    "partitions": "tally a million rows in so many partitions of Spark",
}
BY_CLOCK = ("cores", "partitions")
"""Two cores take the same processor time, in half the time of the clock; Spark works in other processes."""


class Point(NamedTuple):
    """One point of a curve: seconds by the clock and of processors for a million rows, and megabytes at the peak."""

    curve: str
    at: int
    seconds: float
    processor: float
    peak: float


# ---- the jobs, each in a process of its own


def randomize_files(at: int) -> int:
    """Randomize the files of the folder in which the process runs."""
    import maskwell as mw

    design = mw.design("k-ary", categories=mw.Categories.of(LABELS), epsilon=2)
    return int(mw.randomize(str(at), {"answer": design}, f"out-{at}.parquet", force=True).rows)


def estimate_categories(at: int) -> int:
    """The whole way of a million codes of so many categories."""
    import maskwell as mw

    design = mw.design("k-ary", k=at, epsilon=2)
    codes = np.random.default_rng(1).integers(0, at, IN_ONE_FILE).astype(np.uint32)
    mw.estimate(design.tally(design.sample(codes)), design)
    return IN_ONE_FILE


def sample_on_cores(at: int) -> int:
    """Sets of 64 categories, on so many cores."""
    import maskwell as mw

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:at])
    design = mw.design("subset", k=64, epsilon=1)
    codes = np.random.default_rng(1).integers(0, 64, 2 * IN_ONE_FILE).astype(np.uint32)
    design.sample(codes)
    return len(codes)


def tally_partitions(at: int) -> int:
    """A million rows of Spark on two cores, which Spark makes itself."""
    import maskwell as mw
    from bench.spark import SETTINGS

    design = mw.design("k-ary", categories=mw.Categories.of(["0", "1", "2", "3"]), epsilon=1)
    session = mw.engines.spark_session("local[2]", SETTINGS)
    frame = session.range(0, IN_ONE_FILE, 1, at).selectExpr("cast(id % 4 as string) as answer")
    return int(mw.tally(frame, {"answer": design})["answer"].n)


JOBS: dict[str, Callable[[int], int]] = {
    "rows": randomize_files,
    "categories": estimate_categories,
    "cores": sample_on_cores,
    "files": randomize_files,
    "partitions": tally_partitions,
}
LOADED: dict[str, Callable[[int], int]] = {
    "rows": lambda _: randomize_files(0),
    "categories": lambda _: estimate_categories(2),
    "cores": lambda _: estimate_categories(2),
    "files": lambda _: randomize_files(0),
    "partitions": tally_partitions,
}
"""What loads all that a job needs, before its clock starts."""


def run_job(curve: str, at: int) -> None:
    """Do one job and print what it took; called in a process of its own."""
    LOADED[curve](at)
    clock, processor = time.perf_counter(), time.process_time()
    rows = JOBS[curve](at)
    took = time.perf_counter() - clock, time.process_time() - processor
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    print(json.dumps([*(seconds / rows * 1e6 for seconds in took), peak]))


def measured_point(curve: str, at: int, folder: Path) -> Point:
    code = f"from bench.scaling import run_job; run_job({curve!r}, {at})"
    place = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder / curve, env={**os.environ, **place}, stdout=subprocess.PIPE, text=True, check=True
    )
    return Point(curve, at, *json.loads(done.stdout))


# ---- files


def make_file(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    codes = pa.array(np.random.default_rng(rows).integers(0, len(LABELS), rows).astype(np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(LABELS)).cast(pa.string())
    pq.write_table(pa.table({"id": np.arange(rows), "answer": column}), path)


def make_folders(folder: Path, rows: Sequence[int], files: Sequence[int]) -> None:
    """For each number of rows, and for each number of files, a folder that is named by it."""
    for curve in CURVES:
        (folder / curve / "0").mkdir(parents=True)
        make_file(folder / curve / "0" / "0.parquet", 1_000)
    for n in rows:
        place, whole = folder / "rows" / str(n), min(n, IN_ONE_FILE)
        place.mkdir()
        make_file(place / "0.parquet", whole)
        for number in range(1, n // whole):
            os.link(place / "0.parquet", place / f"{number}.parquet")
    for count in files:
        place = folder / "files" / str(count)
        place.mkdir()
        for number in range(count):
            make_file(place / f"{number}.parquet", IN_ONE_FILE // count)


# ---- all points


def measured_points(xs: dict[str, Sequence[int]], rounds: int) -> list[Point]:
    """The best of some rounds for each point; in each round every point has its turn."""
    curves = [curve for curve in CURVES if curve != "partitions" or has_spark()]
    turns: dict[tuple[str, int], list[Point]] = {(curve, at): [] for curve in curves for at in xs[curve]}
    with on_all_cores(), tempfile.TemporaryDirectory() as name:
        make_folders(Path(name), xs["rows"], xs["files"])
        for _ in range(rounds):
            for (curve, at), points in turns.items():
                points.append(measured_point(curve, at, Path(name)))
    return [
        Point(curve, at, *(min(column) for column in list(zip(*points, strict=True))[2:]))
        for (curve, at), points in turns.items()
    ]


def has_spark() -> bool:
    """Whether Spark can be started here."""
    return find_spec("pyspark") is not None and shutil.which("java") is not None


def lines() -> Iterator[Line]:
    """A line for each curve, from points that take about a minute."""
    yield from lines_of(measured_points(USUAL, 1))


def lines_of(points: Sequence[Point]) -> Iterator[Line]:
    for curve, job in CURVES.items():
        here = [point for point in points if point.curve == curve]
        if not here:
            continue
        clock = curve in BY_CLOCK
        took = ", ".join(f"{(point.seconds if clock else point.processor):.2f}" for point in here)
        peaks = ", ".join(f"{point.peak:,.0f}" for point in here)
        bar = "the same within 10 %; flat" if curve == "rows" else ""
        at = ", ".join(f"{point.at:,}" for point in here)
        unit = "s" if clock else "s of a processor"
        yield Line(f"{job}; {curve}: {at}", f"{took} {unit} a million rows", f"{peaks} MB at most", bar)


STORED = Path(__file__).with_name("scaling.json")
"""The figures of docs/reference/speed.md, from a machine on which nothing else ran."""


def stored_points(path: Path = STORED) -> list[Point]:
    """Points of an earlier run, as it wrote them."""
    return [Point(**point) for point in json.loads(path.read_text(encoding="utf-8"))["points"]]


# ---- the picture

HEIGHT = 130


def picture_of(points: Sequence[Point]) -> Picture:
    """The curves side by side: above the time of a million rows, below the memory of the process."""
    from maskwell.reports.pictures.canvas import Picture

    return Picture(
        name="scaling",
        title="How time and memory grow",
        text=" ".join(f"{line.job}: {line.result}, {line.compared}." for line in lines_of(points)),
        data={curve: np.array([point[1:] for point in points if point.curve == curve]) for curve in _curves(points)},
        columns=("curve", "at", "seconds", "processor", "MB"),
        rows=[[point.curve, f"{point.at:,}", *(f"{value:.3g}" for value in point[2:])] for point in points],
        draw=lambda sheet: _draw(sheet, points),
    )


def _curves(points: Sequence[Point]) -> list[str]:
    return [curve for curve in CURVES if any(point.curve == curve for point in points)]


def _draw(sheet: Sheet, points: Sequence[Point]) -> None:
    """A row for each curve: on the left its seconds, on the right its memory."""
    from maskwell.reports.pictures.sheet import LegendEntry

    curves = _curves(points)
    frames = sheet.plots(*[HEIGHT] * len(curves), across=2)
    for place, (value, unit) in enumerate(((_seconds, "seconds"), (lambda point: point.peak, "MB"))):
        ends = min(map(value, points)) / 1.6, max(map(value, points)) * 1.6
        for curve, axes in zip(curves, frames[place::2], strict=True):
            _draw_curve(axes, [point for point in points if point.curve == curve], value, ends)
            axes.set_title(f"{curve} (clock), {unit}" if curve in BY_CLOCK else f"{curve}, {unit}")
    sheet.above.append(LegendEntry("Seconds for a million rows, and the memory of the whole process at its peak"))


def _seconds(point: Point) -> float:
    return point.seconds if point.curve in BY_CLOCK else point.processor


def _draw_curve(axes: Any, points: Sequence[Point], value: Callable[[Point], float], y: tuple[float, float]) -> None:
    from maskwell.reports.pictures.marks import log_scale, set_numbers
    from maskwell.reports.pictures.palette import colour

    at = [point.at for point in points]
    log_scale(axes, x=(min(at) / 1.5, max(at) * 1.5), y=y)
    set_numbers(axes.xaxis, sorted({at[0], at[-1]}) if max(at) > 100 else at)
    axes.plot(at, [value(point) for point in points], color=colour("truth"), marker="o", markersize=5, linewidth=1.8)


# ---- the command


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in USUAL.items():
        parser.add_argument(f"--{name}", type=int, nargs="+", default=default)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path())
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    points = measured_points({curve: getattr(options, curve) for curve in CURVES}, options.rounds)
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    told = {"date": when, "machine": machine, "points": [point._asdict() for point in points]}
    (options.output / "scaling.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    picture_of(points).save(options.output / "scaling.svg")
    print(f"{when}, {machine}\n\n| job | measured | compared | bar |\n|---|---|---|---|")
    for line in lines_of(points):
        print(f"| {line.job} | {line.result} | {line.compared} | {line.bar} |")


if __name__ == "__main__":
    main()

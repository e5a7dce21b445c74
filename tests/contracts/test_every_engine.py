"""One behaviour wherever the rows are: tables in memory, files of every kind, a cluster of Spark.

The same small table goes through every engine. Reports are drawn by a key, so that they must be equal, report for
report; counts must be equal, and estimates to the last digits of a sum of floats. What an engine does not do stands in
``GAPS``, is refused in the words that are promised there, and is listed on the page about Spark.
"""

import gzip
import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet
from tests.support.spark_cluster import spark_cluster
from tests.support.surveys import estimate_with, tabulate_with

import maskwell as mw
from maskwell.errors import (
    CountsError,
    DataFileError,
    LeftoverWarning,
    MissingValueError,
    ParameterError,
    ReportError,
    UnknownCategoryError,
)

pytestmark = [  # PySpark leaves the closing of its sockets to the collector
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N = 240
RANDOM = np.random.default_rng(15)
ITEMS = ["bread", "milk", "soap"]
ROWS: dict[str, list[Any]] = {
    "id": [f"p{i}" for i in range(N)],
    "drugs": RANDOM.choice(["never", "once", "often"], N, p=[0.6, 0.3, 0.1]).tolist(),
    "cheats": RANDOM.choice(["no", "yes"], N, p=[0.7, 0.3]).tolist(),
    "way": RANDOM.choice(["bus", "car", "foot", "train"], N).tolist(),
    "items": [" ".join(np.array(ITEMS)[RANDOM.random(3) < 0.5]) for _ in range(N)],
    "weight": RANDOM.integers(1, 6, N).tolist(),
    "region": RANDOM.choice(["east", "north", "south"], N).tolist(),
    "town": [f"t{i % 12}" for i in range(N)],
    "repw1": RANDOM.integers(0, 6, N).tolist(),
    "repw2": RANDOM.integers(0, 6, N).tolist(),
    "repw3": RANDOM.integers(0, 6, N).tolist(),
}
DESIGNS = {
    "drugs": mw.design("k-ary", categories=mw.Categories.of(["never", "once", "often"]), epsilon=1),
    "cheats": mw.design("warner", p="0.8"),
    "way": mw.design("subset", categories=mw.Categories.of(["bus", "car", "foot", "train"]), epsilon=1, size=2),
    "items": mw.design("bits", items=ITEMS, p="0.8"),
}
COUNTED = {name: design for name, design in DESIGNS.items() if name != "items"}
KEY = mw.KeyedRandom.of(bytes(range(32)), "every engine")
KEPT = {"key": KEY, "id": "id"}
LABELS = ("drugs", "cheats")
NEAR = 1e-12
"""Sums of floats come in another order where the rows are in parts."""

PLANS: dict[str, dict[str, Any]] = {
    "no plan": {},
    "weights": {"weights": "weight"},
    "strata and clusters": {"weights": "weight", "strata": "region", "clusters": "town"},
    "replicates": {"weights": "weight", "replicates": "repw", "replicate_method": "brr"},
    "domains": {"by": "region"},
    "domains of a survey": {"weights": "weight", "by": ["region"]},
}


class Engine:
    """Where the rows are: how they get there, and how reports are read back."""

    def __init__(
        self,
        place: Callable[[Any, Path], Any],
        ending: str = "",
        read: Callable[[Any], Any] | None = None,
        lacks: tuple[str, ...] = (),
    ):
        self.place, self.ending, self._read, self.lacks = place, ending, read, lacks

    def randomized(self, data: Any, folder: Path, designs: Any, **options: Any) -> Any:
        """Reports where the data are: a file beside a file, else a table of its kind."""
        if not self.ending:
            reports = mw.randomize(data, designs, **options)
            return reports.cache() if hasattr(reports, "cache") else reports  # of Spark, which computes it once
        output = str(folder / f"reports{self.ending}")
        mw.randomize(data, designs, output, **options)
        return output

    def columns(self, data: Any) -> dict[str, list[Any]]:
        """Columns of labels, as lists."""
        return {name: [*(data if self._read is None else self._read(data))[name]] for name in LABELS}


def written(name: str, write: Callable[[Any, str], Any]) -> Callable[[Any, Path], str]:
    def place(table: Any, folder: Path) -> str:
        write(table, str(folder / name))
        return str(folder / name)

    return place


def write_gzip(table: Any, path: str) -> None:
    with gzip.open(path, "wb") as file:
        pa_csv.write_csv(table, file)


def write_excel(table: Any, path: str) -> None:
    table.to_pandas().to_excel(path, index=False, engine="xlsxwriter")


def write_folder(table: Any, path: str) -> None:
    """Two files, which together are the table."""
    Path(path).mkdir()
    for number, rows in enumerate((table.slice(0, 100), table.slice(100))):
        pa_parquet.write_table(rows, f"{path}/part-{number}.parquet")


SESSIONS: list[Any] = []
ENGINES = {
    "dictionary of lists": Engine(lambda table, _: table.to_pydict()),
    "pandas": Engine(lambda table, _: table.to_pandas()),
    "polars": Engine(lambda table, _: pl.from_arrow(table)),
    "Arrow": Engine(lambda table, _: table, read=lambda table: table.to_pydict()),
    "CSV": Engine(written("rows.csv", pa_csv.write_csv), ".csv", pd.read_csv),
    "CSV, compressed": Engine(written("rows.csv.gz", write_gzip), ".csv.gz", pd.read_csv),
    "Parquet": Engine(written("rows.parquet", pa_parquet.write_table), ".parquet", pd.read_parquet),
    "Arrow file": Engine(written("rows.arrow", pa_feather.write_feather), ".arrow", pd.read_feather),
    "Excel": Engine(  # an empty text is an empty cell, so it holds no empty basket
        written("rows.xlsx", write_excel), ".xlsx", lambda path: pd.read_excel(path, engine="calamine"), ("items",)
    ),
    "folder of Parquet files": Engine(written("rows", write_folder), ".parquet", pd.read_parquet),
    "Spark": Engine(lambda table, _: SESSIONS[0].createDataFrame(table), read=lambda f: f.toArrow().to_pydict()),
}

PLAN = {
    "release": {"id": "id", "order": "kept", "dataset": "every engine", "drop": ["items", "town"]},
    "protect": [{"variables": ["drugs"], "method": "method1", "theta": "1/2"}],
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Any]:
    """Two workers of Spark, started once."""
    with spark_cluster(tmp_path_factory.mktemp("spark")) as session:
        SESSIONS[:] = [session]
        yield session
        SESSIONS.clear()


@pytest.fixture(params=ENGINES)
def engine(request) -> Engine:
    if request.param == "Spark":
        request.getfixturevalue("cluster")
    return ENGINES[request.param]


TABLE = pa.table(ROWS)
REPORTS = mw.randomize(TABLE, DESIGNS, **KEPT)


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, numbers up to the order in which they were added."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return bool(np.isclose(one, other, rtol=NEAR, atol=NEAR, equal_nan=True))
    return bool(one == other)


def test_every_verb_gives_the_same_everywhere(engine: Engine, tmp_path: Path) -> None:
    data = engine.place(TABLE, tmp_path)
    designs = {name: design for name, design in DESIGNS.items() if name not in engine.lacks}
    reports = engine.randomized(data, tmp_path, designs, **KEPT)
    assert engine.columns(reports) == {name: REPORTS.column(name).to_pylist() for name in LABELS}

    counted = mw.tally(reports, COUNTED)
    for name, counts in mw.tally(REPORTS, COUNTED).items():
        assert (counted[name].values.tolist(), counted[name].n) == (counts.values.tolist(), counts.n)

    drugs, both = {"drugs": DESIGNS["drugs"]}, {name: DESIGNS[name] for name in LABELS}
    for plan in PLANS.values():
        here, there = (estimate_with(one, drugs, **plan) for one in (REPORTS, reports))
        assert same(here.to_dict(), there.to_dict()), plan
    assert same(*(mw.tabulate(one, both).to_dict() for one in (REPORTS, reports)))
    assert same(*(tabulate_with(one, drugs, direct="region").to_dict() for one in (REPORTS, reports)))
    if "items" in designs:
        assert same(*(mw.mine(one, {"items": DESIGNS["items"]}).to_dict() for one in (REPORTS, reports)))
    risks = [mw.risk(one, ["region", "town"], weights="weight") for one in (TABLE, data)]
    assert same(*(one.to_dict() for one in risks))
    assert same(*({name: values.tolist() for name, values in one.record_risks().items()} for one in risks))
    cheats = {"cheats": DESIGNS["cheats"]}
    models = [
        mw.regress(one, "cheats ~ region + weight", cheats, sampling=mw.Sampling(strata="region"))
        for one in (REPORTS, reports)
    ]
    assert same(*(one.to_dict() for one in models))


def row(number: int) -> str:
    """A row by its number in the table, or in the second file of a folder."""
    return rf"(data row {number}|row {number - 100} of part-1\.parquet)"


def test_what_cannot_be_used_is_told_in_the_same_words(engine: Engine, tmp_path: Path) -> None:
    """A label that no design knows, late; a missing value; a weight that is none; a design that is not its own."""
    late = {**ROWS, "drugs": [*ROWS["drugs"][:-2], "sometimes", "never"], "weight": [*ROWS["weight"][:-1], -1]}
    late["cheats"] = [*ROWS["cheats"][:-5], None, *ROWS["cheats"][-4:]]
    data, one = engine.place(pa.table(late), tmp_path), {"drugs": DESIGNS["drugs"]}
    with pytest.raises(
        UnknownCategoryError, match=rf"1 of 240 values is not a category of the design, in {row(239)}\n"
    ) as told:
        mw.tally(data, one)
    assert told.value.values == "'sometimes' (1 time)" and "sometimes" not in str(told.value)
    with pytest.raises(MissingValueError, match=f"1 of 240 values is missing, the first in {row(236)}\n"):
        mw.tally(data, {"cheats": DESIGNS["cheats"]})
    with pytest.raises(CountsError, match=f"the weight in {row(240)} is negative\n"):
        mw.risk(data, ["region"], weights="weight")
    assert mw.tally(data, {"cheats": DESIGNS["cheats"]}, missing="drop")["cheats"].n == N - 1
    if engine.ending or engine is ENGINES["Spark"]:
        with pytest.raises(UnknownCategoryError, match=f"in {row(239)}\n"):
            mw.randomize(data, one, str(tmp_path / f"published{engine.ending or '.parquet'}"))
        assert not [*tmp_path.glob("*published*")] and not [*tmp_path.glob(".*published*")]


def touched(path: Path) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Rows as they are, from a task during which somebody writes to a file."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches
        os.utime(path, ns=(1, 1))

    return run


def test_files_behind_a_table_of_spark_have_the_same_columns_and_stay_as_they_are(cluster, tmp_path: Path) -> None:
    parts, one = tmp_path / "parts of a table", {"drugs": DESIGNS["drugs"]}
    for year, rows in {2025: TABLE, 2026: TABLE.drop_columns(["drugs"])}.items():
        (parts / f"year={year}").mkdir(parents=True)
        pa_parquet.write_table(rows, parts / f"year={year}" / f"{year}.parquet")
    frame = (
        cluster.read.option("basePath", str(parts)).schema(cluster.createDataFrame(TABLE).schema).parquet(str(parts))
    )
    lacks = r"/year=2026/2026\.parquet has no column 'drugs', but 2025\.parquet has\n"
    for verb in (mw.tally, lambda *given: mw.randomize(*given, **KEPT), lambda data, _: mw.risk(data, ["drugs"])):
        with pytest.raises(DataFileError, match=lacks):
            verb(frame, one)
    cheats = {"cheats": DESIGNS["cheats"]}
    assert mw.tally(frame, cheats)["cheats"].n == 2 * N  # nobody needs the column
    for name, rows in {"people": TABLE, "wave": pa.table({"wave": [1]})}.items():
        pa_parquet.write_table(rows, tmp_path / f"{name}.parquet")
    people, wave = (cluster.read.parquet(str(tmp_path / f"{name}.parquet")) for name in ("people", "wave"))
    assert mw.tally(people.crossJoin(wave), one)["drugs"].n == N  # another table in the same folder is no part of it
    busy = frame.mapInArrow(touched(parts / "year=2025" / "2025.parquet"), frame.schema)
    for verb in (mw.tally, lambda *given: mw.randomize(*given, tmp_path / "out.parquet")):
        os.utime(parts / "year=2025" / "2025.parquet")
        with pytest.raises(DataFileError, match=r"/2025\.parquet was changed while it was read\n"):
            verb(busy, cheats)
    assert not [*tmp_path.glob("*out.parquet*")]


def test_a_release_of_spark_is_that_of_the_same_rows_in_a_file(cluster, tmp_path: Path) -> None:
    """The same bytes for users, with draws of a key; nothing of the true records stays beside the folder."""
    file = ENGINES["Parquet"].place(TABLE, tmp_path)
    frame = ENGINES["Spark"].place(TABLE, tmp_path).repartitionByRange(3, "repw1").sortWithinPartitions("id")
    with pytest.raises(ParameterError, match="a table of Spark, a key, earlier matrices"):
        mw.release(frame, PLAN)
    pa_parquet.write_table(frame.toArrow(), file)
    for name, data in (("here", file), ("there", frame)):
        mw.release(data, PLAN, tmp_path / name, key=KEY)
    here, there = ({p.name: p.read_bytes() for p in (tmp_path / n / "public").iterdir()} for n in ("here", "there"))
    assert here == there
    ledgers = {path.name for path in tmp_path.glob("*.ledger")}  # of the key, beside the folders
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "here", "there", *ledgers} and len(
        ledgers
    ) == 1


def failing_once(how: Callable[[], None]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Rows as they are, from a task that does something terrible at its first attempt, after its first rows."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        for batch in batches:
            yield batch
            if TaskContext.get().attemptNumber() == 0 and TaskContext.get().partitionId() == 1:
                how()

    return run


def fail() -> None:
    raise RuntimeError("the first attempt fails")


def kill_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_executor() -> None:
    """The Python process was forked by another one, which the JVM of the executor started."""
    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)


def after(frame: Any, how: Callable[[], None]) -> Any:
    return frame.mapInArrow(failing_once(how), frame.schema)


def test_tasks_that_are_made_again_draw_nothing_anew(cluster, tmp_path: Path) -> None:
    """Retries after failures, after the death of a worker or an executor, and rows that are computed twice."""
    data, expected = ENGINES["Spark"].place(TABLE, tmp_path), REPORTS.select(LABELS)
    kept = mw.randomize(data, DESIGNS, **KEPT).select(*LABELS)
    for _ in range(2):  # nothing is cached: both times are computed
        assert kept.toArrow().equals(expected)
    for how in (fail, kill_worker):
        assert after(kept, how).toArrow().equals(expected), how

    one, output = {"drugs": DESIGNS["drugs"]}, tmp_path / "once"
    once = mw.randomize(after(data, kill_executor), one, str(output))
    assert sorted(once.select("id").toArrow().column(0).to_pylist()) == sorted(ROWS["id"]), "one report each"
    assert once.toArrow().equals(once.toArrow())
    assert {path.name[:5] for path in output.iterdir()} == {"part-", ".part", "_SUCC", "._SUC"}
    assert not [*tmp_path.glob(".*unfinished")]


def test_draws_that_nothing_keeps_would_be_made_anew(cluster) -> None:
    """The control: without a key two computations of one table differ, so that the tests above can fail."""
    from maskwell.engines.assignments import Assignment
    from maskwell.engines.spark_frames import SparkTable
    from maskwell.engines.spark_randomizer import _Randomizing

    table = SparkTable(ENGINES["Spark"].place(TABLE, Path()))
    columns = (Assignment(("drugs",), DESIGNS["drugs"]),)
    work = _Randomizing(columns, None, "error", texts_only=False, where="the table")
    frame = table.frame.mapInArrow(work.reports, work.spark_schema(table)).select("drugs")
    assert not frame.toArrow().equals(frame.toArrow())  # equal by chance: below 1e-40


def test_neither_kept_nor_written_is_refused(cluster, tmp_path: Path) -> None:
    data, one = ENGINES["Spark"].place(TABLE, tmp_path), {"drugs": DESIGNS["drugs"]}
    with pytest.raises(ParameterError, match="a second draw would reveal more") as told:
        mw.randomize(data, one)
    assert "key" in told.value.hint and "output" in told.value.hint
    with pytest.raises(ParameterError, match="row numbers, which tables of Spark do not have"):
        mw.randomize(data, one, random=mw.SeededRandom(1))
    late = pa.table({"id": ROWS["id"], "drugs": [*ROWS["drugs"][:-2], "sometimes", "never"]})
    lazy = mw.randomize(ENGINES["Spark"].place(late, tmp_path), one, **KEPT)
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    pa_parquet.write_table(TABLE, mixed / "1.parquet")
    pa_parquet.write_table(TABLE.set_column(1, "drugs", pa.array([1.5] * N)), mixed / "2.parquet")
    for data in (cluster.read.parquet(str(mixed)), str(mixed)):  # Spark's words for the types, or Arrow's
        with pytest.raises(
            DataFileError, match=r"/mixed/2\.parquet has (DOUBLE|double) in column 'drugs', and .* string"
        ):
            mw.tally(data, one)
    vanished = cluster.read.parquet(str(mixed / "1.parquet"))
    (mixed / "1.parquet").unlink()
    with pytest.raises(DataFileError, match=r"/mixed/1\.parquet was changed or deleted while Spark read it"):
        mw.tally(vanished, one)
    with pytest.raises(
        Exception, match=r"partition 1: .* 1 of 120 values is not a category of the design, in data row 119\n"
    ):
        lazy.count()


def test_what_a_killed_run_left_is_deleted_and_what_exists_is_kept(cluster, tmp_path: Path) -> None:
    data, one = ENGINES["Spark"].place(TABLE, tmp_path), {"drugs": DESIGNS["drugs"]}
    output = tmp_path / "reports.parquet"
    left = tmp_path / ".reports.parquet.unfinished"
    left.mkdir()
    pa_parquet.write_table(TABLE, left / "part-00000.parquet")
    with pytest.raises(Exception, match="UNABLE_TO_INFER_SCHEMA"):
        cluster.read.parquet(str(tmp_path))  # passed over by its dot
    assert not pa_dataset.dataset(tmp_path, format="parquet").files
    with pytest.warns(LeftoverWarning, match="a run that was killed had left"):
        mw.randomize(data, one, output)
    assert not left.exists() and (output / "_SUCCESS").exists()
    with pytest.raises(ParameterError, match=r"reports\.parquet already exists"):
        mw.randomize(data, one, output)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = mw.randomize(data, one, output, force=True, **KEPT)
    told = dict(zip(*(column.to_pylist() for column in again.select("id", "drugs").toArrow().columns), strict=True))
    assert [told[one] for one in ROWS["id"]] == REPORTS.column("drugs").to_pylist()
    assert mw.tally(again, one)["drugs"].values.tolist() == mw.tally(REPORTS, one)["drugs"].values.tolist()
    with pytest.raises(ParameterError, match="is an input, and inputs are not replaced"):
        mw.randomize(again, {"cheats": DESIGNS["cheats"]}, output, force=True)
    with pytest.raises(DataFileError, match="already holds reports of a design"):
        mw.randomize(again, one, tmp_path / "twice")
    with pytest.raises(ReportError, match="was randomized with another design"):
        mw.tally(
            again, {"drugs": mw.design("k-ary", categories=mw.Categories.of(["never", "once", "often"]), epsilon=2)}
        )


def test_the_ten_lines_of_the_page_run(cluster, root: Path) -> None:
    """The same lines on pandas, on a folder and on Spark, as the page has them; in the folder that Spark started in."""
    page = (root / "docs/how-to/spark.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/how-to/spark.md", "exec"), names)

"""Tables in parts, and what can be told of Spark without it: what is missing, what is refused, nothing is imported.

What parts give one by one and put together is what the whole gives, messages included. Parts are sent as Spark sends
them, pickled; one of them is empty. No cluster is needed for that.
"""

import pickle
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.surveys import tabulate_with

import maskwell as mw
from maskwell import errors
from maskwell.core.cells import CellTable
from maskwell.engines import spark_randomizer, spark_session
from maskwell.engines.assignments import Assignment
from maskwell.engines.cell_counts import count_tables
from maskwell.engines.column_randomizer import KeptDraws
from maskwell.engines.column_tables import TableInFile
from maskwell.engines.report_counts import tally_survey
from maskwell.engines.rows import MemoryRows, MemoryTable, Rows
from maskwell.engines.spark_frames import PartitionRows, SparkTable
from maskwell.engines.survey_columns import SamplingColumns

N = 300
RANDOM = np.random.default_rng(3)
ITEMS = ["bread", "milk", "soap"]
DRUGS = mw.design("k-ary", categories=mw.Categories.of(["never", "once", "often"]), epsilon=1)
CHEATS = mw.design("warner", p="0.8")
WAY = mw.design("subset", categories=mw.Categories.of(["bus", "car", "foot", "train"]), epsilon=1, size=2)
BITS = mw.design("bits", items=ITEMS, p="0.8")
ROWS: dict[str, Any] = {
    "drugs": RANDOM.choice(["never", "once", "often"], N).tolist(),
    "cheats": RANDOM.choice(["no", "yes"], N).tolist(),
    "way": RANDOM.choice(["1100", "1010", "0011"], N).tolist(),
    "items": [" ".join(np.array(ITEMS)[RANDOM.random(3) < 0.5]) for _ in range(N)],
    "n": RANDOM.integers(0, 4, N).tolist(),
    "weight": RANDOM.integers(1, 6, N).tolist(),
    "region": [*RANDOM.choice(["east", "north"], N - 10), *["south"] * 10],
    "town": [f"t{i % 12}" for i in range(N)],
    "repw1": RANDOM.integers(1, 6, N).tolist(),
    "repw2": RANDOM.integers(1, 6, N).tolist(),
}
CALLS = {
    "tally": lambda data: {
        name: (counts.values.tolist(), counts.n)
        for name, counts in mw.tally(data, {"drugs": DRUGS, "way": WAY}, counts="n", missing="drop").items()
    },
    "estimate": lambda data: mw.estimate(data, {"drugs": DRUGS}, missing="drop").to_dict(),
    "groups": lambda data: mw.estimate(
        data, {"cheats": [mw.When({"region": name}, CHEATS) for name in ("east", "north", "south")]}
    ).to_dict(),
    "survey": lambda data: mw.estimate(
        data, {"drugs": DRUGS}, sampling=mw.Sampling(weights="weight", strata="region", clusters="town"), missing="drop"
    ).to_dict(),
    "replicates": lambda data: mw.estimate(
        data, {"drugs": DRUGS}, sampling=mw.Sampling(weights="weight", replicates="repw", replicate_method="jackknife")
    ).to_dict(),
    "domains": lambda data: mw.estimate(data, {"drugs": DRUGS}, by=["region"], missing="drop").to_dict(),
    "tabulate": lambda data: tabulate_with(data, {"drugs": DRUGS}, direct="region").to_dict(),
    "mine": lambda data: mw.mine(data, {"items": BITS}, missing="drop").to_dict(),
    "risk": lambda data: mw.risk(data, ["region", "town"], weights="weight").to_dict(),
}


class InParts(MemoryTable):
    """A table whose parts are worked on one by one, each on its own copy of the work."""

    def in_parts(self, work: Any, **_: Any) -> list[Any]:
        sizes, before, parts = [100, 0, 1, len(self.data) - 101], 0, []
        for size in sizes:
            part = MemoryTable(self.data.slice(before, size)) if size else None
            copy = pickle.loads(pickle.dumps(work))
            source = Nothing(self.data.schema) if part is None else part.rows
            parts.append(pickle.loads(pickle.dumps(copy(source, 0, None))))
            before += size
        return parts


class Nothing:
    style = None

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def batches(self, only: Any = None) -> Any:
        return iter(())

    def done(self) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""


def told(call: Any, data: Any) -> Any:
    try:
        return call(data)
    except errors.MaskwellError as error:
        return type(error), str(error), error.values


def changed(**cells: tuple[int, Any]) -> Any:
    rows = {name: [*column] for name, column in ROWS.items()}
    for name, (row, value) in cells.items():
        rows[name][row] = value
    return pa.table(rows)


TABLES = {
    "good": pa.table(ROWS),
    "missing": changed(drugs=(7, None), items=(150, None), way=(299, None)),
    "unknown": changed(drugs=(250, "sometimes"), items=(180, "bread bread"), cheats=(299, "perhaps")),
    "a stratum without reports": pa.table({**ROWS, "drugs": [*ROWS["drugs"][:-10], *[None] * 10]}),
    "unknown in two parts": pa.concat_tables([changed(drugs=(99, "x"), items=(3, "x")), changed(drugs=(0, "y"))]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_parts_put_together_are_the_whole(kind: str) -> None:
    table = TABLES[kind]
    for name, call in CALLS.items():
        assert told(call, InParts(table)) == told(call, Rows.of(table)), name


def test_cells_and_ranges_of_parts_are_those_of_all() -> None:
    whole = count_tables(Rows.of(TABLES["missing"]), [["drugs", "region"]], weights="weight")[0]
    parts = count_tables(InParts(TABLES["missing"]), [["drugs", "region"]], weights="weight")[0]
    assert parts.labels() == whole.labels() and (parts.counts == whole.counts).all()
    assert (parts.weights == whole.weights).all() and (parts.squares == whole.squares).all()
    assert CellTable.total([whole]) is whole
    plan, columns = SamplingColumns(weights="weight", replicates="repw"), [Assignment(("drugs",), DRUGS)]
    extreme = changed(repw1=(5, 500), repw2=(250, 700))  # in the first part, and in the last
    whole, parts = (tally_survey(Rows.of(one), columns, plan) for one in (MemoryTable(extreme), InParts(extreme)))
    assert whole.ratios is not None and parts.ratios is not None
    assert (whole.ratios == parts.ratios).all() and whole.ratios[1].min() > 90
    assert np.allclose(whole.products, parts.products, rtol=1e-12, atol=0) and whole.products.max() > 0


PLAN = {"release": {"demonstration": True}, "protect": [{"variables": ["answer"], "method": "method1", "theta": "1/2"}]}
DESIGN = mw.design("warner", p="0.8")


class Frame:
    __module__ = "pyspark.sql.classic.dataframe"
    columns = ("id", "answer")

    def mapInArrow(self) -> None:  # noqa: N802 (as Spark has it)
        """Never called."""


def test_without_pyspark_or_java_one_line_says_what_to_install(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(errors.MissingExtraError, match="a Spark table needs pyspark, which is not installed") as told:
        spark_session()
    assert told.value.hint == "pip install 'maskwell[spark]'"
    pyspark: Any = ModuleType("pyspark")
    pyspark.sql = ModuleType("pyspark.sql")
    pyspark.sql.SparkSession = None
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    monkeypatch.setitem(sys.modules, "pyspark.sql", pyspark.sql)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(errors.MissingExtraError, match="Spark needs Java, which was not found") as told:
        spark_session()
    assert "install Java 17" in told.value.hint and len(told.value.hint) <= 100


@pytest.mark.parametrize("strange", [{"master": 2}, {"settings": "fast"}, {"settings": {"spark.ui.enabled": False}}])
def test_strange_arguments_start_nothing(strange: dict[str, Any]) -> None:
    with pytest.raises(errors.WrongTypeError, match=f"{next(iter(strange))} must be"):
        spark_session(**strange)


def test_what_is_not_done_on_spark_is_refused_and_rows_of_a_partition_have_one_schema(tmp_path) -> None:
    before = "pyspark" in sys.modules
    calls = [
        lambda frame: mw.release(frame, PLAN),
        lambda frame: mw.randomize(frame, {"answer": DESIGN}),
        lambda frame: mw.randomize(frame, {"answer": DESIGN}, random=mw.SeededRandom(1)),
    ]
    for call in calls:
        with pytest.raises(errors.ParameterError, match="Spark") as told:
            call(Frame())
        assert all(len(line) <= 106 for line in str(told.value).splitlines())
    assert ("pyspark" in sys.modules) == before
    arrow = pytest.importorskip("pyarrow")
    expected = arrow.schema([arrow.field("n", arrow.int64(), metadata={"maskwell": "{}"})])
    pieces = [arrow.RecordBatch.from_pydict({"n": column}) for column in ([1, 2], [3], ["four"])]
    rows = PartitionRows(iter(pieces[:2]), expected)
    assert rows.schema.field("n").metadata == {b"maskwell": b"{}"}
    assert [batch.to_pydict() for batch in rows.batches([0])] == [{"n": [1, 2]}, {"n": [3]}]
    with pytest.raises(errors.DataFileError, match="some rows have columns of different types"):
        [*PartitionRows(iter(pieces), expected).batches()]
    assert PartitionRows(iter([]), expected).empty


class Files:
    def __init__(self, *names: str) -> None:
        self.names = {*names}

    def exists(self, place: str) -> bool:
        return place in self.names

    def delete(self, place: str, _: bool) -> None:
        self.names.discard(place)

    def rename(self, place: str, other: str) -> bool:
        self.names = {*self.names - {place}, other}
        return True


@pytest.mark.parametrize("force", [False, True])
def test_what_got_the_name_while_spark_was_writing_is_replaced_by_force_only(force: bool) -> None:
    folder = object.__new__(spark_randomizer._Folder)
    folder._files = files = Files("new", "beside")
    folder._place, folder._beside, folder.output, folder.unfinished = "new", "beside", "new", "beside"
    if force:
        folder.finish(force=True)
    else:
        with pytest.raises(errors.ParameterError, match="new already exists"):
            folder.finish(force=False)
    assert files.names == {"new"}  # in any case no draws are left beside it


@pytest.mark.parametrize("steady", [False, True])
def test_persons_that_spark_may_number_anew_are_refused(steady: bool) -> None:
    """Draws that are kept by a key are kept for a person: a row number of Spark is none."""
    plan = SimpleNamespace(deterministic=lambda: steady)
    queries = SimpleNamespace(queryExecution=lambda: SimpleNamespace(optimizedPlan=lambda: plan))
    frame = SimpleNamespace(select=lambda _: SimpleNamespace(_jdf=queries))
    if steady:
        spark_randomizer._check_steady(frame, ["id", "answer"])
        return
    with pytest.raises(
        errors.ParameterError, match="Spark may produce different values of id or answer when it recomputes rows"
    ):
        spark_randomizer._check_steady(frame, ["id", "answer"])


def test_columns_that_are_too_large_or_not_there_are_named() -> None:
    rows = MemoryRows({"answer": ["yes"] * 100, "id": [*range(100)]})
    assert len(TableInFile("the table", rows, most_bytes=1_000).columns(["id"])["id"]) == 100
    with pytest.raises(errors.TooLargeError, match="the columns need more than 700 bytes on this machine") as told:
        TableInFile("the table", rows, most_bytes=700).columns(["id"])
    assert "sample" in told.value.hint
    arrow = pytest.importorskip("pyarrow")
    table = SparkTable(Frame())
    table.__dict__["schema"] = arrow.schema([("id", arrow.int64()), ("answer", arrow.string())])
    design = mw.design("warner", p="0.7")
    for columns, person in (("nope", "id"), ("answer", "nobody")):
        key = mw.KeyedRandom.of(bytes(range(32)), "survey")
        with pytest.raises(errors.DataFileError, match=r"has no column '(nope|nobody)'"):
            spark_randomizer.randomize_spark(table, [Assignment.of(columns, design)], random=KeptDraws(key, person))

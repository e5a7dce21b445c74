"""What can be told of Spark without it: what is missing, what is refused, and that it is not imported."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import maskwell as mw
from maskwell.engines import spark_randomizer, spark_session
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_randomizer import KeptDraws
from maskwell.engines.column_tables import TableInFile
from maskwell.engines.rows import MemoryRows
from maskwell.engines.spark_frames import PartitionRows, SparkTable
from maskwell.errors import DataFileError, MissingExtraError, ParameterError, TooLargeError, WrongTypeError

PLAN = {"release": {"demonstration": True}, "protect": [{"variables": ["answer"], "method": "method1", "theta": "1/2"}]}
DESIGN = mw.design("warner", p="0.8")


class Frame:
    """Looks like a table of Spark."""

    __module__ = "pyspark.sql.classic.dataframe"
    columns = ("id", "answer")

    def mapInArrow(self) -> None:  # noqa: N802 (as Spark has it)
        """Never called."""


def test_without_pyspark_or_java_one_line_says_what_to_install(monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match="a Spark table needs pyspark, which is not installed") as told:
        spark_session()
    assert told.value.hint == "pip install 'maskwell[spark]'"
    pyspark: Any = ModuleType("pyspark")
    pyspark.sql = ModuleType("pyspark.sql")
    pyspark.sql.SparkSession = None
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    monkeypatch.setitem(sys.modules, "pyspark.sql", pyspark.sql)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingExtraError, match="runs on Java, which is not on the path") as told:
        spark_session()
    assert "install Java 17" in told.value.hint and len(told.value.hint) <= 100


@pytest.mark.parametrize("strange", [{"master": 2}, {"settings": "fast"}, {"settings": {"spark.ui.enabled": False}}])
def test_strange_arguments_start_nothing(strange: dict[str, Any]) -> None:
    with pytest.raises(WrongTypeError, match=f"{next(iter(strange))} must be"):
        spark_session(**strange)


def test_what_is_not_done_on_spark_is_refused_before_anything_is_computed(tmp_path) -> None:
    before = "pyspark" in sys.modules
    calls = [
        lambda frame: mw.release(frame, PLAN),
        lambda frame: mw.randomize(frame, {"answer": DESIGN}),
        lambda frame: mw.randomize(frame, {"answer": DESIGN}, random=mw.SeededRandom(1)),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match="Spark") as told:
            call(Frame())
        assert all(len(line) <= 106 for line in str(told.value).splitlines())
    assert ("pyspark" in sys.modules) == before


def test_columns_that_are_too_large_do_not_come_to_this_machine() -> None:
    rows = MemoryRows({"answer": ["yes"] * 100, "id": [*range(100)]})
    assert len(TableInFile("the table", rows, most_bytes=1_000).columns(["id"])["id"]) == 100
    with pytest.raises(TooLargeError, match="take more than 700 bytes") as told:
        TableInFile("the table", rows, most_bytes=700).columns(["id"])
    assert "sample" in told.value.hint


def test_the_rows_of_a_partition_have_one_schema() -> None:
    arrow = pytest.importorskip("pyarrow")
    expected = arrow.schema([arrow.field("n", arrow.int64(), metadata={"maskwell": "{}"})])
    pieces = [arrow.RecordBatch.from_pydict({"n": column}) for column in ([1, 2], [3], ["four"])]
    rows = PartitionRows(iter(pieces[:2]), expected)
    assert rows.schema.field("n").metadata == {b"maskwell": b"{}"}
    assert [batch.to_pydict() for batch in rows.batches([0])] == [{"n": [1, 2]}, {"n": [3]}]
    with pytest.raises(DataFileError, match="some rows have columns of other types"):
        [*PartitionRows(iter(pieces), expected).batches()]
    assert PartitionRows(iter([]), expected).empty


class Files:
    """A file system of Hadoop, as far as a folder that is written once asks it."""

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
        with pytest.raises(ParameterError, match="new exists"):
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
    with pytest.raises(ParameterError, match="other values of id or answer"):
        spark_randomizer._check_steady(frame, ["id", "answer"])


def test_a_column_that_is_not_there_is_named_before_spark_is_asked() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = SparkTable(Frame())
    table.__dict__["schema"] = arrow.schema([("id", arrow.int64()), ("answer", arrow.string())])
    design = mw.design("warner", p="0.7")
    for columns, person in (("nope", "id"), ("answer", "nobody")):
        key = mw.KeyedRandom.of(bytes(range(32)), "survey")
        with pytest.raises(DataFileError, match=r"has no column '(nope|nobody)'"):
            spark_randomizer.randomize_spark(table, [Assignment.of(columns, design)], random=KeptDraws(key, person))

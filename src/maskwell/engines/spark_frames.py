"""Tables of Apache Spark: counted where their rows are, in all partitions at once; never a row is sent.

Parts are put together in the order of the partitions: results and messages are those of the same rows in one file.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from maskwell.core.arguments import as_mapping, check_kind
from maskwell.core.extras import require_library
from maskwell.core.phrases import shorten
from maskwell.engines.arrow_arrays import KEY, reason_of, require
from maskwell.engines.arrow_checks import validated_values
from maskwell.engines.file_parts import SAME_COLUMNS
from maskwell.engines.row_sources import Progress, Source, check_unchanged, file_state
from maskwell.engines.rows import PartT, Rows, Work, not_on_spark
from maskwell.errors import DataFileError, MaskwellError, MissingExtraError

_PARTS = "number int, content binary"
"""What each partition sends: its number, and what it counted as Spark sends Python's values."""


class SparkTable(Rows):
    """The rows of a table of Spark, which stay on the cluster."""

    at_hand = False

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def data(self) -> Any:
        """Not at hand: the rows are spread over a cluster."""
        raise not_on_spark()

    def __str__(self) -> str:
        return "the table"

    def open(self, *, coded: Any = (), exact: bool = False) -> AbstractContextManager[Source]:
        """Not at hand: the rows are spread over a cluster."""
        raise not_on_spark()

    def with_view(self, view: Any) -> Rows:
        """Not at hand: the rows are spread over a cluster."""
        raise not_on_spark()

    @property
    def gathered(self) -> _GatheredRows:
        """Its rows on this machine, a partition at a time; each reading computes them anew."""
        return _GatheredRows(self.frame, self.schema)

    @cached_property
    def schema(self) -> Any:
        """Names and types of its columns, and what they say about reports in them."""
        return require().schema([_arrow_field(field) for field in self.frame.schema.fields])

    def in_parts(
        self,
        work: Work[PartT],
        *,
        coded: Any = None,
        stored: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> list[PartT]:
        """Do some work on every partition, where it is; the parts in the order of the partitions."""
        needed = {*work.columns(self.schema)}
        fields = [field for field in self.schema if field.name in needed]
        chosen = self.frame.select([quoted(field.name) for field in fields])
        schema = require().schema(fields)
        with files_unchanged(self.frame, needed):
            done = _done_in_parts(chosen, schema, work, {})
            if any(isinstance(part, MaskwellError) for part in done.values()):  # say in which row of the table
                counts = _done_in_parts(chosen, schema, _rows_of, {})
                before = itertools.accumulate(counts.values(), initial=0)
                done = _done_in_parts(chosen, schema, work, dict(zip(counts, before, strict=False)))
        parts = []
        for part in done.values():
            if isinstance(part, MaskwellError):
                raise part
            parts.append(part)
        rows = sum(part.rows for part in parts)
        if not rows:
            raise DataFileError("the-table-has-no-rows")
        if progress is not None:
            progress(rows, 1.0)
        return parts


def _arrow_field(field: Any) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    arrow = require()
    try:
        kind = to_arrow_type(field.dataType)
    except PySparkException:
        kind = arrow.null()  # a type that Arrow does not know; only a verb that needs the column minds
    note = field.metadata.get(KEY.decode())
    return arrow.field(field.name, kind, metadata={KEY: note.encode()} if isinstance(note, str) else None)


def quoted(name: str) -> str:
    """The name of a column as Spark reads it anywhere."""
    return f"`{name.replace('`', '``')}`"


class _OnSpark:
    style = None

    def done(self) -> float | None:
        """Nobody knows how many rows will come."""
        return None

    def close(self) -> None:
        """Nothing is open."""


class PartitionRows(_OnSpark):
    """The rows of one partition, as they come from Spark."""

    def __init__(self, batches: Iterator[Any], expected: Any) -> None:
        self._batches, self._first = batches, next(batches, None)
        self.empty = self._first is None
        notes = {field.name: field.metadata for field in expected}
        there = expected if self._first is None else self._first.schema
        self.schema = require().schema([field.with_metadata(notes.get(field.name)) for field in there])

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        arrow, chosen = require(), None if only is None else sorted(only)
        for batch in self._all():
            columns = batch.columns if chosen is None else [batch.column(place) for place in chosen]
            fields = self.schema if chosen is None else arrow.schema([self.schema.field(place) for place in chosen])
            yield arrow.RecordBatch.from_arrays([*map(validated_values, columns)], schema=fields)

    def _all(self) -> Iterator[Any]:
        if self._first is not None:
            yield self._first
        for batch in self._batches:
            if batch.schema.types != self.schema.types:
                raise DataFileError("some-rows-have-columns-of-other")
            yield batch


class _GatheredRows(_OnSpark):
    """The rows of a table of Spark on this machine, as in ``frame.collect()``; one partition is in memory here."""

    def __init__(self, frame: Any, schema: Any) -> None:
        self._frame, self.schema = frame, schema

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        frame, schema = self._frame, self.schema
        if only is not None:
            schema = require().schema([schema.field(place) for place in sorted(only)])
            frame = frame.select([quoted(name) for name in schema.names])
        packed = frame.mapInArrow(_packed, "content binary")
        with files_unchanged(self._frame, schema.names), spark_errors():
            for row in packed.toLocalIterator(prefetchPartitions=True):
                stream = require("pyarrow.ipc").open_stream(bytes(row["content"]))
                for batch in PartitionRows(iter(stream), schema).batches():
                    yield batch if batch.schema.types == schema.types else batch.cast(schema)


def _packed(batches: Iterator[Any]) -> Iterator[Any]:
    arrow, ipc = require(), require("pyarrow.ipc")
    for batch in batches:
        stream = arrow.BufferOutputStream()
        with ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        yield arrow.RecordBatch.from_pydict({"content": arrow.array([stream.getvalue().to_pybytes()], arrow.binary())})


def _done_in_parts(frame: Any, schema: Any, work: Callable[..., Any], first_rows: dict[int, int]) -> dict[int, Any]:
    """What some work gives in each partition, or the error that it ends with, in the order of the partitions."""
    from pyspark.serializers import CPickleSerializer

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        number = partition_number()
        try:
            part: Any = work(PartitionRows(iter(batches), schema), first_rows.get(number, 0), None)
        except MaskwellError as error:
            part = error
        arrow, content = require(), CPickleSerializer().dumps(part)
        yield arrow.RecordBatch.from_pydict(
            {"number": arrow.array([number], arrow.int32()), "content": arrow.array([content], arrow.binary())}
        )

    with spark_errors():
        sent = {row["number"]: bytes(row["content"]) for row in frame.mapInArrow(run, _PARTS).collect()}
    return {number: CPickleSerializer().loads(sent[number]) for number in sorted(sent)}


def partition_number() -> int:
    """The number of the partition that this process is at work on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _rows_of(source: Source, first_row: int | None, progress: Any) -> int:  # noqa: ARG001 - as all work on parts
    return sum(map(len, source.batches()))


@contextmanager
def files_unchanged(frame: Any, needed: Collection[str]) -> Iterator[None]:
    """Raise where a Parquet file lacks a column of others, which Spark would fill, or a file changes in the block."""
    before = {path: file_state(path) for path in _files_here(frame)}
    for files in _files_by_table(frame):
        _check_same_columns(files, needed)
    yield
    for path, state in before.items():
        check_unchanged(path, state)


def _files_here(frame: Any) -> list[str]:
    """The files that a table is read from, as far as they are in the file system of this machine."""
    with spark_errors():
        return _paths_here(frame.inputFiles())


def _files_by_table(frame: Any) -> list[list[str]]:
    """The same files, grouped by the tables that Spark joins; in one list where Spark does not report these."""
    from py4j.protocol import Py4JError

    plans = getattr(frame, "_jdf", None)  # none through Spark Connect
    if plans is None:
        return [_files_here(frame)]
    with spark_errors():
        leaves, tables = plans.queryExecution().optimizedPlan().collectLeaves(), []
        for place in range(leaves.size()):
            with suppress(Py4JError):  # rows that come from no files
                tables.append(_paths_here(leaves.apply(place).relation().inputFiles()))
        return tables


def _paths_here(uris: Iterable[str]) -> list[str]:
    places = [urlsplit(uri) for uri in uris]
    return [unquote(place.path) for place in places if place.scheme in ("", "file") and not place.netloc]


def _check_same_columns(files: Sequence[str], needed: Collection[str]) -> None:
    """Raise for a Parquet file that lacks a needed column which another file of the same folder has."""
    holders: dict[tuple[str, str], str] = {}
    held = {path: _columns_of(path) for path in files if path.endswith(".parquet")}
    for path, names in held.items():
        for name in names or ():
            holders.setdefault((_root(path), name), path)
    for path, names in held.items():
        for column in needed:
            other = holders.get((_root(path), column.casefold()))
            if names is not None and other is not None and column.casefold() not in names:
                told = {"column_shown": shorten(column, 24), "path": path, "column": column}
                raise DataFileError("path-has-no-column-column-shown", name=Path(other).name, **told)


def _columns_of(path: str) -> set[str] | None:
    """The columns of a Parquet file, without regard to case, as Spark has them; None where it cannot be read here."""
    try:
        return {name.casefold() for name in require("pyarrow.parquet").read_schema(path).names}
    except (OSError, require().ArrowException):  # Spark says why
        return None


def _root(path: str) -> str:
    """The folder of a file above all folders of partitions, such as ``year=2025``."""
    folders = Path(path).parent.parts
    return str(Path(*itertools.takewhile(lambda name: "=" not in name, folders)))


@contextmanager
def spark_errors() -> Iterator[None]:
    """Say in one sentence that Spark stopped; its own words may hold values of the data."""
    from pyspark.errors import PySparkException

    try:
        yield
    except Exception as error:
        if not isinstance(error, PySparkException) and not type(error).__module__.startswith("py4j."):
            raise
        if (unreadable := _UNREADABLE.search(str(error))) is not None:
            raise _unreadable_file(*unreadable.groups()) from error
        why = error.getCondition() if isinstance(error, PySparkException) else None
        said = f" ({why})" if why else ""
        raise DataFileError("spark-could-not-compute-the-table", why=said, values=reason_of(error)) from error


_UNREADABLE = re.compile(
    r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (?:file:/*(?=/))?(.+?)\. "
    r"(?:Data type mismatches when reading Parquet column \[(.+?)\]\. "
    r"Expected Spark type (\w+), actual Parquet type (\w+))?"
)


def _unreadable_file(why: str, path: str, column: str | None, expected: str | None, kind: str | None) -> DataFileError:
    if column is not None:
        fault, hint = f"{path} has {kind} in column {shorten(repr(column), 24)}, and the table {expected}", SAME_COLUMNS
        return DataFileError(fault, hint=hint, path=path, column=column)
    if why == "FILE_NOT_EXIST":
        hint = "wait until nobody writes there, and make the table anew"
        return DataFileError("was-changed-or-deleted-while-spark", hint=hint, path=path)
    hint = "see whether it is whole; the error of Spark, from which this one was raised, says why"
    return DataFileError("spark-could-not-read", hint=hint, path=path)


def spark_session(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> Any:
    """A session of Spark with Arrow in use; where PySpark or Java is missing an error says what to install.

    Parameters
    ----------
    master
        Where Spark runs: ``"local[2]"`` is two threads on this machine, a URL names a cluster.
    settings
        Further settings of Spark by their names: ``{"spark.ui.enabled": "false"}``.
    """
    check_kind(str, master=master)
    further = {} if settings is None else as_mapping(settings, "settings")
    for name, value in further.items():
        check_kind(str, settings=name)
        check_kind(str, settings=value)
    session = require_library("pyspark.sql", "a Spark table").SparkSession
    home = os.environ.get("JAVA_HOME")
    if not (home and (Path(home) / "bin" / "java").exists()) and not shutil.which("java"):
        raise MissingExtraError("spark-runs-on-java-which")
    if master.startswith("local"):  # workers on this machine get this Python, not the first on the path
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = session.builder.master(master).config("spark.sql.execution.arrow.pyspark.enabled", "true")
    for name, value in further.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()

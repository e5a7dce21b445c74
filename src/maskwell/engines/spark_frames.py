"""Tables of Apache Spark: counted and randomized where their rows are, in all partitions at once.

Counting. Every partition does the work of a counting pass on its own rows (:class:`~maskwell.engines.row_sources.Work`)
and sends what it counted, never a row; here the parts are put together in the order of the partitions, so that results
and messages are those of the same rows in one file.

Randomizing. Spark may compute a partition twice: after a failure, by speculation, or because a result was not kept. A
second draw of one person's report would tell more than the first alone, so that rows are randomized in two ways only
(ADR 0027): by draws that a secret key keeps for each person, which come out the same however often they are made, or
written at once into files of which each partition has one.

PySpark is imported where a table of Spark is met, and by :func:`spark_session`, nowhere else.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from maskwell.core.arguments import as_mapping, check_kind, check_option
from maskwell.core.extras import require_library
from maskwell.core.keyed import KeyedRandom
from maskwell.core.phrases import shorten
from maskwell.core.randomness import RandomSource, SecureRandom
from maskwell.core.report_data import SETS
from maskwell.designs.sampler import variable_name
from maskwell.engines.arrow_arrays import KEY, reason_of, require
from maskwell.engines.arrow_checks import validated_values
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_codes import Problems, include_problems, raise_first
from maskwell.engines.column_randomizer import BatchRandomizer, ProductSampler, check_columns
from maskwell.engines.file_parts import SAME_COLUMNS
from maskwell.engines.row_sources import Progress, RowPass, Source, check_unchanged, file_state, find_column
from maskwell.engines.rows import PartT, Rows, Work, not_on_spark
from maskwell.errors import DataFileError, LeftoverWarning, MaskwellError, MissingExtraError, ParameterError

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

    def open(self, *, coded: Any = (), exact: bool = False, copied: bool = False) -> AbstractContextManager[Source]:
        """Not at hand: the rows are spread over a cluster."""
        raise not_on_spark()

    def with_view(self, view: Any) -> Rows:
        """Not at hand: the rows are spread over a cluster."""
        raise not_on_spark()

    @property
    def gathered(self) -> GatheredRows:
        """Its rows on this machine, a partition at a time; each reading computes them anew."""
        return GatheredRows(self.frame, self.schema)

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
        chosen = self.frame.select([_quoted(field.name) for field in fields])
        schema = require().schema(fields)
        with files_unchanged(self.frame, needed):
            done = _done_in_parts(chosen, schema, work, {})
            if any(isinstance(part, MaskwellError) for part in done.values()):
                done = _done_in_parts(chosen, schema, work, _first_rows(chosen, schema))
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


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# ---- work on partitions


class PartitionRows:
    """The rows of one partition, as they come from Spark."""

    style = None

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

    def done(self) -> float | None:
        """Nobody knows how many rows will come."""
        return None

    def close(self) -> None:
        """Nothing is open."""


class GatheredRows:
    """The rows of a table of Spark on this machine, as in ``frame.collect()``; one partition is in memory here."""

    style = None

    def __init__(self, frame: Any, schema: Any) -> None:
        self._frame, self.schema = frame, schema

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        frame, schema = self._frame, self.schema
        if only is not None:
            schema = require().schema([schema.field(place) for place in sorted(only)])
            frame = frame.select([_quoted(name) for name in schema.names])
        packed = frame.mapInArrow(_packed, "content binary")
        with files_unchanged(self._frame, schema.names), _spark_errors():
            for row in packed.toLocalIterator(prefetchPartitions=True):
                stream = require("pyarrow.ipc").open_stream(bytes(row["content"]))
                for batch in PartitionRows(iter(stream), schema).batches():
                    yield batch if batch.schema.types == schema.types else batch.cast(schema)

    def done(self) -> float | None:
        """Nobody knows how many rows will come."""
        return None

    def close(self) -> None:
        """Nothing is open."""


def _packed(batches: Iterator[Any]) -> Iterator[Any]:
    """Each batch of a partition as the bytes of a stream of Arrow."""
    arrow, ipc = require(), require("pyarrow.ipc")
    for batch in batches:
        stream = arrow.BufferOutputStream()
        with ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        yield arrow.RecordBatch.from_pydict({"content": arrow.array([stream.getvalue().to_pybytes()], arrow.binary())})


def _done_in_parts(frame: Any, schema: Any, work: Work[Any], first_rows: dict[int, int]) -> dict[int, Any]:
    """What some work gives in each partition, or the error that it ends with, in the order of the partitions."""
    from pyspark.serializers import CPickleSerializer

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        number = _partition()
        try:
            part: Any = work(PartitionRows(iter(batches), schema), first_rows.get(number, 0), None)
        except MaskwellError as error:
            part = error
        arrow, content = require(), CPickleSerializer().dumps(part)
        yield arrow.RecordBatch.from_pydict(
            {"number": arrow.array([number], arrow.int32()), "content": arrow.array([content], arrow.binary())}
        )

    with _spark_errors():
        sent = {row["number"]: bytes(row["content"]) for row in frame.mapInArrow(run, _PARTS).collect()}
    return {number: CPickleSerializer().loads(sent[number]) for number in sorted(sent)}


def _partition() -> int:
    """The number of the partition that this process is at work on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


@dataclass(frozen=True)
class _CountedRows:
    rows: int


@dataclass(frozen=True)
class _CountingRows:
    """Counts the rows of each partition."""

    def columns(self, schema: Any) -> list[str]:
        return []

    def __call__(self, source: Source, first_row: int | None, progress: Any) -> _CountedRows:
        return _CountedRows(sum(map(len, source.batches())))


def _first_rows(frame: Any, schema: Any) -> dict[int, int]:
    """How many rows come before those of each partition."""
    before, first_rows = 0, {}
    for number, part in _done_in_parts(frame, schema, _CountingRows(), {}).items():
        first_rows[number] = before
        before += part.rows
    return first_rows


# ---- the files behind a table


@contextmanager
def files_unchanged(frame: Any, needed: Collection[str]) -> Iterator[None]:
    """Raise where a Parquet file lacks a column that others have, or a file behind the table is changed in the block.

    Spark fills such a column with missing values, and reads whatever a file holds when its turn comes.
    """
    before = {path: file_state(path) for path in _files_here(frame)}
    for files in _files_by_table(frame):
        _check_same_columns(files, needed)
    yield
    for path, state in before.items():
        check_unchanged(path, state)


def _files_here(frame: Any) -> list[str]:
    """The files that a table is read from, as far as they are in the file system of this machine."""
    with _spark_errors():
        return _paths_here(frame.inputFiles())


def _files_by_table(frame: Any) -> list[list[str]]:
    """The same files, those of each table by themselves that Spark joins; in one list where it does not tell."""
    from py4j.protocol import Py4JError

    plans = getattr(frame, "_jdf", None)  # none through Spark Connect
    if plans is None:
        return [_files_here(frame)]
    with _spark_errors():
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
                raise DataFileError(
                    "path-has-no-column-column-shown",
                    column_shown=shorten(column, 24),
                    name=Path(other).name,
                    path=path,
                    column=column,
                )


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


# ---- errors


@contextmanager
def _spark_errors() -> Iterator[None]:
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
        raise DataFileError(
            "spark-could-not-compute-the-table", why=f" ({why})" if why else "", values=reason_of(error)
        ) from error


_UNREADABLE = re.compile(
    r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (?:file:/*(?=/))?(.+?)\. "
    r"(?:Data type mismatches when reading Parquet column \[(.+?)\]\. "
    r"Expected Spark type (\w+), actual Parquet type (\w+))?"
)
"""What Spark says of a file that it cannot read."""


def _unreadable_file(why: str, path: str, column: str | None, expected: str | None, kind: str | None) -> DataFileError:
    if column is not None:
        fault, hint = f"{path} has {kind} in column {shorten(repr(column), 24)}, and the table {expected}", SAME_COLUMNS
        return DataFileError(fault, hint=hint, path=path, column=column)
    if why == "FILE_NOT_EXIST":
        hint = "wait until nobody writes there, and make the table anew"
        return DataFileError("was-changed-or-deleted-while-spark", hint=hint, path=path)
    hint = "see whether it is whole; the error of Spark, from which this one was raised, says why"
    return DataFileError("spark-could-not-read", hint=hint, path=path)


# ---- randomizing


def randomize_spark(
    table: SparkTable,
    assignments: Sequence[Assignment],
    output: str | None = None,
    *,
    random: RandomSource | KeyedRandom | None = None,
    person: str | None = None,
    missing: str = "error",
    sets: str = "packed",
    force: bool = False,
) -> Any:
    """A table of Spark with reports in place of the truth; the other columns stay as they are."""
    check_columns(assignments, person)
    check_option("sets", sets, SETS)
    _check_no_second_draw(random, output)
    named = [*([] if person is None else [person]), *(name for one in assignments for name in one.columns)]
    for name in named:
        find_column(table.schema, name, str(table))
    keys = random.derived(_drawn_variables(assignments)) if isinstance(random, KeyedRandom) else None
    if output is None and person is not None:
        _check_steady(table.frame, named)
    work = _Randomizing(tuple(assignments), keys, person, missing, texts_only=sets == "texts", where=str(table))
    made = table.frame.mapInArrow(work.reports, work.spark_schema(table))
    watched = files_unchanged(table.frame, work.columns(table.schema))
    if output is None:
        with watched:  # the columns of the files; when Spark reads them nobody knows
            return made
    try:
        return _written_once(made, output, table.frame.inputFiles() if force else [], watched, force=force)
    except DataFileError:
        _check_values(table, work)
        raise


def _check_no_second_draw(random: RandomSource | KeyedRandom | None, output: str | None) -> None:
    if isinstance(random, KeyedRandom):
        return
    if random is not None and not isinstance(random, SecureRandom):
        raise ParameterError("draws-of-a-seed-go")
    if output is None:
        raise ParameterError("spark-may-compute-rows-twice")


def _check_steady(frame: Any, columns: Sequence[str]) -> None:
    """Raise where Spark may make other persons or values when it computes the rows again: they would be drawn anew."""
    plans = getattr(frame.select([_quoted(name) for name in columns]), "_jdf", None)  # none through Spark Connect
    if plans is not None and not plans.queryExecution().optimizedPlan().deterministic():
        raise ParameterError("spark-may-make-other-values", columns=shorten(" or ".join(columns), 40))


@dataclass(frozen=True)
class _CheckedPart:
    """Values of one part of the rows that cannot be randomized."""

    rows: int
    problems: list[Problems]


@dataclass(frozen=True)
class _Randomizing:
    """Randomizes the rows of a partition; as work on parts it only looks whether their values can be randomized."""

    assignments: tuple[Assignment, ...]
    keys: KeyedRandom | None
    person: str | None
    missing: str
    texts_only: bool
    where: str

    def reports(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Batches with reports for the batches of a partition, as Spark calls it."""
        source = PartitionRows(iter(batches), require().schema([]))
        if source.empty:
            return
        randomizer = self._randomizer(source.schema)
        rows = RowPass(source, self.where, rows_at_once=randomizer.rows_at_once, first_row=0)
        try:
            for batch in rows:
                changed = randomizer.randomize(batch, rows.rows)
                if changed is not None:
                    yield _as_spark_takes(changed)
            raise_first(randomizer.problems, rows.rows)
        except MaskwellError as error:
            raise type(error)(
                "partition-partition-problem", hint=error.hint, partition=_partition(), problem=error.message
            ) from None

    def columns(self, schema: Any) -> list[str]:
        return [*(name for one in self.assignments for name in one.columns), *([self.person] if self.person else [])]

    def __call__(self, source: Source, first_row: int | None, progress: Any) -> _CheckedPart:
        randomizer = self._randomizer(source.schema)
        check = randomizer.encode if self.keys is None else randomizer.randomize  # draws of a key are those made before
        rows = RowPass(source, self.where, first_row=first_row)
        for batch in rows:
            check(batch, rows.before)
        return _CheckedPart(rows.rows, randomizer.problems)

    def _randomizer(self, schema: Any) -> BatchRandomizer:
        how: dict[str, Any] = {"missing": self.missing, "texts_only": self.texts_only}
        return BatchRandomizer(self.assignments, schema, self.where, self.keys, self.person, **how)

    def spark_schema(self, table: SparkTable) -> Any:
        """The schema of the table with reports: columns of reports say so, the others are as they were."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import BinaryType, StructField, StructType

        arrow, changed = require(), {name for one in self.assignments for name in one.columns}
        fields = []
        for field, made in zip(table.frame.schema.fields, self._randomizer(table.schema).schema, strict=True):
            if field.name in changed:
                kind = BinaryType() if arrow.types.is_fixed_size_binary(made.type) else from_arrow_type(made.type)
                field = StructField(field.name, kind, True, {KEY.decode(): made.metadata[KEY].decode()})
            fields.append(field)
        return StructType(fields)


def _check_values(table: SparkTable, work: _Randomizing) -> None:
    """Raise for values that cannot be randomized, all of them in one error, with the row of the first in the table."""
    first, *others = table.in_parts(work)
    rows = first.rows
    for part in others:
        include_problems(first.problems, part.problems, rows)
        rows += part.rows
    raise_first(first.problems, rows)


def _drawn_variables(assignments: Sequence[Assignment]) -> list[tuple[str, str]]:
    """Everything that is drawn, by its name under the key, with the fingerprint of its design."""
    drawn = []
    for one in assignments:
        if one.baskets is None:
            drawn += ProductSampler.variables(one.design, one.columns)
        else:
            drawn += [*zip(one.leaves, one.baskets.variables(one.columns[0]), strict=True)]
    return [(variable_name(columns), design.fingerprint) for design, columns in drawn]


def _as_spark_takes(batch: Any) -> Any:
    """A batch with plain bytes in place of those of a fixed size, which Spark does not know."""
    arrow = require()
    fixed = arrow.types.is_fixed_size_binary
    columns = [c.cast(arrow.binary()) if fixed(c.type) else c for c in batch.columns]
    return arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


# ---- written once


def _written_once(
    frame: Any, output: str, inputs: Sequence[str], watched: AbstractContextManager[None], *, force: bool
) -> Any:
    """Write a table to a folder of Parquet files that gets its name when it is whole, and read it.

    Of every partition the files of one attempt are taken, however often Spark computes it: the first version of the
    commit protocol moves the files of an attempt when the driver has let it, and no other afterwards.
    """
    session = frame.sparkSession
    folder = _Folder(session, output)
    folder.check(inputs, force=force)
    folder.clear()
    with _spark_errors():
        writer = frame.write.option("mapreduce.fileoutputcommitter.algorithm.version", "1")
        try:
            with watched:
                writer.parquet(folder.unfinished)
        except BaseException:
            folder.clear(quietly=True)
            raise
        folder.finish(force=force)
        return session.read.schema(frame.schema).parquet(output)  # known, so that no job looks for it


class _Folder:
    """A folder in whatever file system Spark writes to, and the name that it has until it is whole."""

    def __init__(self, session: Any, output: str) -> None:
        try:
            java, configuration = session._jvm, session._jsc.hadoopConfiguration()  # noqa: SLF001 (no public way)
        except Exception as error:
            raise ParameterError("output-is-not-written-through-spark") from error
        self._java = java
        self._place = java.org.apache.hadoop.fs.Path(output)
        self._files = self._place.getFileSystem(configuration)
        self._beside = java.org.apache.hadoop.fs.Path(self._place.getParent(), f".{self._place.getName()}.unfinished")
        self.output, self.unfinished = output, self._beside.toString()

    def check(self, inputs: Sequence[str], *, force: bool) -> None:
        """Raise where the name is taken, or belongs to what is being read."""
        if not force and self._files.exists(self._place):
            raise self._taken()
        place = f"{self._files.makeQualified(self._place).toUri().getPath()}/"
        if any(f"{self._java.java.net.URI(one).getPath()}/".startswith(place) for one in inputs):
            raise ParameterError("is-being-read-and-is-not", output=self.output)

    def clear(self, *, quietly: bool = False) -> None:
        """Delete what a run that was killed has left: draws that would be the first of two."""
        if self._files.exists(self._beside):
            self._files.delete(self._beside, True)
            if not quietly:
                text = f"a run that was killed had left {self.unfinished}; it was deleted"
                warnings.warn(text, LeftoverWarning, stacklevel=4)

    def finish(self, *, force: bool) -> None:
        """Give the folder its name; what somebody else has put there meanwhile is replaced by ``force`` only."""
        if self._files.exists(self._place):
            if not force:
                self.clear(quietly=True)
                raise self._taken()
            self._files.delete(self._place, True)
        if not self._files.rename(self._beside, self._place):
            raise DataFileError("could-not-be-given-its-name", output=self.output)

    def _taken(self) -> ParameterError:
        return ParameterError("output-exists-give", output=self.output)


# ---- a session


def spark_session(master: str = "local[*]", settings: Mapping[str, str] | None = None) -> Any:
    """A session of Spark on this machine, or on the cluster that ``master`` names, with Arrow in use.

    Parameters
    ----------
    master
        Where Spark runs: ``"local[2]"`` is two threads on this machine, a URL names a cluster.
    settings
        Further settings of Spark by their names: ``{"spark.ui.enabled": "false"}``.

    Raises
    ------
    MissingExtraError
        Where PySpark or Java is not installed; in one line that says what to install.
    """
    check_kind(str, master=master)
    further = {} if settings is None else as_mapping(settings, "settings")
    for name, value in further.items():
        check_kind(str, settings=name)
        check_kind(str, settings=value)
    session = require_library("pyspark.sql", "a Spark table").SparkSession
    _check_java()
    if master.startswith("local"):  # workers on this machine get this Python, not the first on the path
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = session.builder.master(master).config("spark.sql.execution.arrow.pyspark.enabled", "true")
    for name, value in further.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise MissingExtraError("spark-runs-on-java-which")

"""Tables of Apache Spark are randomized where their rows are.

Spark may compute a partition twice: after a failure, by speculation, or because a result was not kept. A second draw of
one person's report would reveal more than the first, so that rows are randomized in two ways only (ADR 0027): by
draws that a secret key keeps for each person, which come out the same however often they are made, or written at once
into files of which each partition has one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from maskwell.core.arguments import check_option
from maskwell.core.phrases import shorten
from maskwell.core.randomness import SecureRandom
from maskwell.core.report_data import SETS
from maskwell.designs.design import Design
from maskwell.designs.sampler import variable_name
from maskwell.engines.arrow_arrays import KEY, require
from maskwell.engines.assignments import Assignment
from maskwell.engines.column_codes import Problems, include_problems, raise_first
from maskwell.engines.column_randomizer import BatchRandomizer, Draws, How, KeptDraws, ProductSampler, check_columns
from maskwell.engines.row_sources import RowPass, Source, find_column
from maskwell.engines.rows import Part
from maskwell.engines.spark_frames import (
    PartitionRows,
    SparkTable,
    files_unchanged,
    partition_number,
    quoted,
    spark_errors,
)
from maskwell.errors import DataFileError, LeftoverWarning, MaskwellError, ParameterError


def randomize_spark(
    table: SparkTable,
    assignments: Sequence[Assignment],
    output: str | None = None,
    *,
    random: Draws | None = None,
    missing: str = "error",
    sets: str = "packed",
    force: bool = False,
) -> Any:
    """A table of Spark with reports in place of the truth; the other columns stay as they are."""
    check_columns(assignments, random)
    check_option("sets", sets, SETS)
    if not isinstance(random, KeptDraws):  # rows that are computed twice must not be drawn twice
        if random is not None and not isinstance(random, SecureRandom):
            raise ParameterError("draws-of-a-seed-go")
        if output is None:
            raise ParameterError("spark-may-compute-rows-twice")
    named = [name for one in assignments for name in one.columns]
    named = [random.person, *named] if isinstance(random, KeptDraws) else named
    for name in named:
        find_column(table.schema, name, str(table))
    kept = None
    if isinstance(random, KeptDraws):  # the key knows everything that is drawn by its name, and the design
        drawn: list[tuple[Design, Sequence[str]]] = []
        for one in assignments:
            if one.baskets is None:
                drawn += ProductSampler.variables(one.design, one.columns)
            else:
                drawn += [*zip(one.leaves, one.baskets.variables(one.columns[0]), strict=True)]
        names = [(variable_name(columns), design.fingerprint) for design, columns in drawn]
        kept = KeptDraws(random.keys.derived(names), random.person)
    if output is None and kept is not None:
        _check_steady(table.frame, named)
    work = _Randomizing(tuple(assignments), kept, missing, texts_only=sets == "texts", where=str(table))
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


def _check_steady(frame: Any, columns: Sequence[str]) -> None:
    """Raise where Spark may make other persons or values when it computes the rows again: they would be drawn anew."""
    plans = getattr(frame.select([quoted(name) for name in columns]), "_jdf", None)  # none through Spark Connect
    if plans is not None and not plans.queryExecution().optimizedPlan().deterministic():
        raise ParameterError("spark-may-make-other-values", columns=shorten(" or ".join(columns), 40))


@dataclass(frozen=True)
class _Randomizing:
    """Randomizes the rows of a partition; as work on parts it only looks whether their values can be randomized."""

    assignments: tuple[Assignment, ...]
    kept: KeptDraws | None
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
                if changed is not None:  # Spark does not know bytes of a fixed size
                    arrow = require()
                    fixed = arrow.types.is_fixed_size_binary
                    columns = [c.cast(arrow.binary()) if fixed(c.type) else c for c in changed.columns]
                    yield arrow.RecordBatch.from_arrays(columns, names=changed.schema.names)
            raise_first(randomizer.problems, rows.rows)
        except MaskwellError as error:
            raise type(error)(
                "partition-partition-problem", hint=error.hint, partition=partition_number(), problem=error.message
            ) from None

    def columns(self, schema: Any) -> list[str]:
        names = [name for one in self.assignments for name in one.columns]
        return names if self.kept is None else [*names, self.kept.person]

    def __call__(self, source: Source, first_row: int | None, progress: Any) -> Part[list[Problems]]:
        randomizer = self._randomizer(source.schema)
        check = randomizer.encode if self.kept is None else randomizer.randomize  # draws of a key are those made before
        rows = RowPass(source, self.where, first_row=first_row)
        for batch in rows:
            check(batch, rows.before)
        return Part(rows.rows, randomizer.problems)

    def _randomizer(self, schema: Any) -> BatchRandomizer:
        return BatchRandomizer(self.assignments, schema, self.where, self.kept, How(self.missing, self.texts_only))

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
        include_problems(first.found, part.found, rows)
        rows += part.rows
    raise_first(first.found, rows)


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
    with spark_errors():
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

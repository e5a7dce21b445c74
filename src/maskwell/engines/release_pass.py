"""Carry out the stages of a release on a file: one pass over the rows, in memory that follows the cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.atomic import atomic_file
from maskwell.core.cells import CellTable
from maskwell.core.randomness import RandomSource
from maskwell.engines.arrow_arrays import require
from maskwell.engines.arrow_checks import ANY
from maskwell.engines.cell_counts import CellCounter, check_weights, coders_of, open_rows
from maskwell.engines.column_codes import LevelCoder
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.release_rows import Naming, RowReleaser, RowStage
from maskwell.engines.row_batches import EvenRows, Progress, ShuffledRows, in_background, pieces
from maskwell.engines.row_sources import BATCH_ROWS, Source, find_column, lost_in, open_sink, rows_of_cells
from maskwell.errors import DataFileError, MissingValueError, ParameterError


@dataclass(frozen=True, eq=False, kw_only=True)
class RowPlan:
    """What is to happen to the rows of a file.

    Attributes
    ----------
    levels
        Labels of every column that is randomized, counted or used to find a state, in order.
    stages
        In the order in which they are carried out.
    tables
        Columns of the tables in which the released rows are counted.
    weights
        Column with the weights of the records, if any.
    dropped
        Columns that are not published.
    identity, naming
        Column with the record ids that keyed draws use, if any, and what they become.
    declared
        Whether codes that the file declares missing count as missing values.
    shuffled
        Where random order comes from, ``None`` where the order is kept.
    """

    levels: Mapping[str, Sequence[Any]]
    stages: Sequence[RowStage]
    tables: Sequence[tuple[str, ...]]
    weights: str | None = None
    dropped: Sequence[str] = ()
    identity: str | None = None
    naming: Naming | None = None
    declared: bool = True
    shuffled: RandomSource | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsReleased:
    """What became of the rows: counts of the released file, records changed by column, and what could not be kept.

    ``breaks`` tells for each column how many rows had another true label than the row before.
    """

    rows: int
    tables: list[CellTable]
    changed: dict[str, int]
    breaks: dict[str, int]
    names: list[str]
    labels: Labels | None = None
    lost: tuple[str, ...] = ()


def release_rows(path: str, output: str, plan: RowPlan, *, rows: int, progress: Progress | None = None) -> RowsReleased:
    """Write the released rows of a file; ``rows`` is how many there are."""
    with open_rows(path, [*plan.levels]) as source:
        releaser, counter = _ready(source, path, plan)
        with (
            atomic_file(output, inputs=[path]) as file,
            open_sink(file, output, releaser.schema, style=_style(source.style, releaser.schema)) as sink,
            in_background(sink) as behind,
        ):
            even = EvenRows(behind, min(BATCH_ROWS, rows_of_cells(len(source.schema))))
            with _order(plan, releaser.schema, rows, Path(output).parent, even) as target:
                for batch in pieces(source.batches(), BATCH_ROWS):
                    target.write(counter.released(batch))
                    if progress is not None:
                        progress(counter.rows, source.done())
            even.finish()
        releaser.finish()
        if counter.rows != rows:
            raise DataFileError(
                f"{path} had {rows:,} rows when it was counted and {counter.rows:,} when it was released",
                hint="do not change the file while it is being released",
                path=path,
            )
        return RowsReleased(
            rows=counter.rows,
            tables=counter.tables(),
            changed=releaser.changed,
            breaks=releaser.breaks,
            names=releaser.schema.names,
            labels=source.style if isinstance(source.style, Labels) else None,
            lost=(*lost_in(source.style, output), *_left_out(source.style)),
        )


def release_batches(source: Source, name: str, plan: RowPlan) -> tuple[list[Any], Any, RowsReleased]:
    """The released rows of a source in memory, as batches in the order of the plan, with their schema."""
    releaser, counter = _ready(source, name, plan)
    kept: list[Any] = [counter.released(batch) for batch in source.batches()]
    releaser.finish()
    if plan.shuffled is not None and kept:
        shuffled = ShuffledRows(releaser.schema, 1, 1, Path(), plan.shuffled)
        for batch in kept:
            shuffled.write(batch)
        kept = [*shuffled.batches()]
    names = releaser.schema.names
    done = RowsReleased(
        rows=counter.rows,
        tables=counter.tables(),
        changed=releaser.changed,
        breaks=releaser.breaks,
        names=names,
    )
    return kept, releaser.schema, done


def _style(style: Any, schema: Any) -> Any:
    """What is known of the file, without the columns that are not published and without free text about its records."""
    if not isinstance(style, Labels):
        return style
    columns = {name: style.columns[name] for name in schema.names}
    return replace(style, columns=columns, file_label=None, notes=(), table_name=None)


def _left_out(style: Any) -> tuple[str, ...]:
    """What could have been kept and is not, because nobody knows what it tells."""
    told = isinstance(style, Labels) and bool(style.file_label or style.notes)
    return ("the label and the notes of the file are left out: they may tell of the true records",) if told else ()


@contextmanager
def _order(plan: RowPlan, schema: Any, rows: int, folder: Path, even: EvenRows) -> Iterator[Any]:
    """Where released rows go: straight on, or through a shuffle."""
    if plan.shuffled is None:
        yield even
        return
    shuffled = ShuffledRows(schema, rows, _row_bytes(schema), folder, plan.shuffled)
    try:
        yield shuffled
        for batch in shuffled.batches():
            even.write(batch)
    finally:
        shuffled.close()


def _row_bytes(schema: Any) -> float:
    """About what a row takes in memory."""
    arrow = require()
    return sum(16.0 if arrow.types.is_string(f.type) or arrow.types.is_large_string(f.type) else 8.0 for f in schema)


def _ready(source: Source, path: str, plan: RowPlan) -> tuple[RowReleaser, ReleaseCounter]:
    for name in (*plan.levels, *([plan.identity] if plan.identity else [])):
        find_column(source.schema, name, path)
    for name in plan.dropped:
        find_column(source.schema, name, path, ANY)
    known = coders_of(source, [*plan.levels], declared=plan.declared)
    coders = {name: LevelCoder(name, levels, known[name].about) for name, levels in plan.levels.items()}
    releaser = RowReleaser(
        source.schema, coders, plan.stages, dropped=plan.dropped, identity=plan.identity, naming=plan.naming
    )
    return releaser, ReleaseCounter(releaser, coders, plan, source, path)


class ReleaseCounter:
    """Releases batches and counts what was released."""

    def __init__(
        self, releaser: RowReleaser, coders: Mapping[str, LevelCoder], plan: RowPlan, source: Source, path: str
    ) -> None:
        self.rows = 0
        self._releaser, self._weights = releaser, plan.weights
        self._place = None if plan.weights is None else find_column(source.schema, plan.weights, path)
        self._counters = [
            CellCounter([coders[name] for name in table], plan.weights is not None) for table in plan.tables
        ]

    def released(self, batch: Any) -> Any:
        """The released batch."""
        released, _, after = self._releaser.release(batch)
        weights = self._weights_of(batch)
        for counter in self._counters:
            counter.add(after, len(batch), weights)
        self.rows += len(batch)
        return released

    def _weights_of(self, batch: Any) -> Real | None:
        if self._place is None or self._weights is None:
            return None
        return check_weights(batch.column(self._place), self._weights, self.rows)

    def tables(self) -> list[CellTable]:
        """Counts of the released rows."""
        return [counter.table() for counter in self._counters]


class FileColumn(NamedTuple):
    """A column of a file: its name, and whether it holds text, integers, numbers, dates, booleans or something else."""

    name: str
    kind: str


def file_columns(path: str) -> list[FileColumn]:
    """The columns of a file."""
    with open_rows(path, []) as source:
        return [FileColumn(field.name, _kind(field.type)) for field in source.schema]


def _kind(kind: Any) -> str:
    types = require().types
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    tests = {
        "text": (types.is_string, types.is_large_string),
        "boolean": (types.is_boolean,),
        "integer": (types.is_integer,),
        "number": (types.is_floating, types.is_decimal),
        "date": (types.is_temporal,),
    }
    return next((name for name, kind_tests in tests.items() if any(test(kind) for test in kind_tests)), "other")


def check_ids(path: str, name: str, progress: Progress | None = None) -> None:
    """Raise unless a column tells every record from every other: draws that are kept are found again by it."""
    numbers: list[Array] = []
    texts: set[Any] = set()
    rows = 0
    with open_rows(path, []) as source:
        place = find_column(source.schema, name, path)
        for batch in source.batches([place]):
            column = batch.column(0)
            if column.null_count:
                raise MissingValueError(
                    f"column {name!r}: {column.null_count:,} records have no id", hint="give every record an id"
                )
            values = column.to_numpy(zero_copy_only=False)
            if values.dtype.kind in "iu":
                numbers.append(values)
            else:
                texts.update(values.tolist())
            rows += len(batch)
            if progress is not None:
                progress(rows, source.done())
    distinct = len(np.unique(np.concatenate(numbers))) if numbers else len(texts)
    if distinct < rows:
        raise ParameterError(
            f"column {name!r} has {distinct:,} different ids for {rows:,} records",
            hint="name a column with a different id for every record",
            column=name,
        )

"""The rows of a release: one pass over a file or a table, with what became of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from maskwell.core.atomic import atomic_file
from maskwell.core.cells import CellTable, give_back_memory
from maskwell.engines.arrow_arrays import ANY, require
from maskwell.engines.cell_counts import coders_of
from maskwell.engines.column_codes import LevelCoder
from maskwell.engines.input_file import TextForm
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.row_batches import EvenRows, ShuffledRows, in_background
from maskwell.engines.row_sources import (
    BATCH_ROWS,
    Progress,
    Source,
    engine_of,
    find_column,
    lost_in,
    open_sink,
    pieces,
    rows_of_cells,
)
from maskwell.engines.rows import Rows
from maskwell.errors import DataFileError
from maskwell.microdata.records.column_values import ColumnValues, ValueSurvey
from maskwell.microdata.records.row_releaser import RowPlan, RowReleaser
from maskwell.notes import Note

# After so many batches memory that is free is given back: the arrays of a batch leave gaps, more with every batch
TIDY_BATCHES = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsReleased:
    """What became of the rows."""

    rows: int
    tables: list[CellTable]  # Counts of the released rows
    changed: dict[str, int]  # Records changed, by column
    breaks: dict[str, int]  # How many rows had another true label than the row before, by column
    names: list[str]
    labels: Labels | None = None
    lost: tuple[str, ...] = ()  # What could not be kept
    # How the text of a CSV file was written, and which columns have decimal commas there
    form: TextForm | None = None
    commas: frozenset[str] = frozenset()
    values: Mapping[str, ColumnValues] = field(default_factory=dict)  # Of columns neither randomized nor counted

    @classmethod
    def by(cls, releaser: RowReleaser, **more: Any) -> RowsReleased:
        """What a releaser that has met all rows made of them."""
        return cls(
            rows=releaser.rows,
            tables=releaser.tables(),
            changed=releaser.changed,
            breaks=releaser.breaks,
            names=releaser.schema.names,
            **more,
        )


def release_rows(path: str, output: str, plan: RowPlan, *, rows: int, progress: Progress | None = None) -> RowsReleased:
    """Write the released rows of a file; ``rows`` is how many there are."""
    with Rows.of(path).open_stored([*plan.levels]) as source:
        releaser = _releaser_of(source, path, plan)
        style = source.style
        if isinstance(style, Labels):  # no columns that are not published, and no free text about the records
            columns = {name: style.columns[name] for name in releaser.schema.names}
            style = replace(style, columns=columns, file_label=None, notes=(), table_name=None)
        takes_codes = engine_of(output).takes_dictionaries
        if takes_codes or plan.shuffled is not None:
            releaser.keep_codes()
        with (
            atomic_file(output, inputs=[path]) as file,
            open_sink(file, output, releaser.schema, style=style) as sink,
            in_background(sink) as behind,
        ):
            if hasattr(sink, "leave_out_unused"):  # dictionaries of texts are made anew by all other kinds of files
                sink.leave_out_unused()
            even = EvenRows(behind, min(BATCH_ROWS, rows_of_cells(len(source.schema))))
            survey = ValueSurvey([name for name in releaser.schema.names if name not in plan.levels], source.schema)
            with _order(plan, releaser, rows, Path(output).parent, even, takes_codes=takes_codes) as target:
                for place, batch in enumerate(pieces(source.batches(), BATCH_ROWS)):
                    survey.add(batch)
                    target.write(releaser.release(batch))
                    if place % TIDY_BATCHES == 0:
                        give_back_memory()
                    if progress is not None:
                        progress(releaser.rows, source.done())
                releaser.finish()
            even.finish()
        require().default_memory_pool().release_unused()  # the risk of the drawn file needs the room
        if releaser.rows != rows:
            raise DataFileError("had-rows-when-it-was-counted", rows=rows, counter_rows=releaser.rows, path=path)
        labels = source.style if isinstance(source.style, Labels) else None
        is_described = labels is not None and (labels.file_label or labels.notes)  # nobody knows what these tell
        return RowsReleased.by(
            releaser,
            labels=labels,
            lost=(*lost_in(source.style, output), *([Note("notes-of-the-file-left-out")] if is_described else [])),
            form=getattr(source.style, "form", None),
            commas=frozenset(getattr(source.style, "commas", ())),
            values=survey.values(),
        )


def release_batches(source: Source, name: str, plan: RowPlan) -> tuple[list[Any], Any, RowsReleased]:
    """The released rows of a source in memory, as batches in the order of the plan, with their schema."""
    releaser = _releaser_of(source, name, plan)
    kept: list[Any] = [releaser.release(batch) for batch in source.batches()]
    releaser.finish()
    if plan.shuffled is not None and kept:
        shuffled = ShuffledRows(releaser.schema, 1, 1, Path(), plan.shuffled)
        for batch in kept:
            shuffled.write(batch)
        kept = [*releaser.sorted_again(shuffled.batches())]
    return kept, releaser.schema, RowsReleased.by(releaser)


def _releaser_of(source: Source, path: str, plan: RowPlan) -> RowReleaser:
    for name in (*plan.levels, *filter(None, (plan.identity, plan.weights))):
        find_column(source.schema, name, path)
    for name in plan.dropped:
        find_column(source.schema, name, path, ANY)
    known = coders_of(source, [*plan.levels], declared=plan.declared)
    coders = {name: LevelCoder(name, levels, known[name].about) for name, levels in plan.levels.items()}
    return RowReleaser(source.schema, coders, plan)


@contextmanager
def _order(
    plan: RowPlan, releaser: RowReleaser, rows: int, folder: Path, even: EvenRows, *, takes_codes: bool
) -> Iterator[Any]:
    """Where released rows go: straight on, or through a shuffle, in which texts that were drawn are codes."""
    if plan.shuffled is None:
        yield even
        return
    types = require().types
    texts = [types.is_string(field.type) or types.is_large_string(field.type) for field in releaser.made]
    row_bytes = sum(16.0 if is_text else 8.0 for is_text in texts)  # about
    shuffled = ShuffledRows(releaser.made, rows, row_bytes, folder, plan.shuffled)
    try:
        with in_background(shuffled) as behind:
            yield behind
        for batch in releaser.sorted_again(shuffled.batches()):
            even.write(batch if takes_codes else releaser.without_codes(batch))
    finally:
        shuffled.close()

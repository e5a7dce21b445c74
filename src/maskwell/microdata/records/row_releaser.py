"""Each batch of the true file becomes one of the released file, stage after stage.

Rows without a value in a column of a stage, and rows whose state never occurred, stay as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.atomic import atomic_file
from maskwell.core.cells import CellTable
from maskwell.core.extras import require
from maskwell.core.freed_memory import give_back_memory
from maskwell.core.groups import LARGEST_KEY, KeyFinder, joint_keys, possible_cells
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import RandomSource
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sampler import KeyedSampler, Sampler, forget_tables, variable_name
from maskwell.designs.sparse import Sparse
from maskwell.engines.arrow_arrays import (
    ANY,
    SortedDictionary,
    in_schema,
    without_traces,
)
from maskwell.engines.cell_counts import CellCounter, check_weights, coders_of, merged
from maskwell.engines.column_codes import MISSING, LevelCoder, codes_of, ids_of
from maskwell.engines.input_file import TextForm
from maskwell.engines.label_columns import LabelColumns
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.row_batches import EvenRows, ShuffledRows, in_background
from maskwell.engines.row_sources import (
    BATCH_ROWS,
    Progress,
    Source,
    engine_of,
    find_columns,
    lost_in,
    open_sink,
    pieces,
    rows_of_cells,
)
from maskwell.engines.rows import Rows
from maskwell.errors import DataFileError, TooLargeError
from maskwell.microdata.matrices.swap_flows import SwapSampler, UnitDealer, whole_flows
from maskwell.microdata.records.column_values import ColumnValues, FileColumn, ValueSurvey, columns_of
from maskwell.microdata.release_values import Assessment
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.true_file import counted_tables
from maskwell.notes import Note

DENSE_STATES = 1 << 22  # states are found in a table up to so many combinations of labels, else by searching


@dataclass(frozen=True)
class Draws:
    """Released states for true ones and the ids of rows; ``finish`` raises where rows are missing."""

    draw: Callable[[Array, Array | None], Array]
    finish: Callable[[], object]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowPlan:
    """What is to happen to the rows of a file."""

    # Labels of every column that is randomized, counted or used to find a state, in order
    levels: Mapping[str, Sequence[Any]]
    # In the order in which they are carried out, each with where its released states come from
    stages: Sequence[tuple[Stage, Draws]]
    tables: Sequence[tuple[str, ...]] = ()  # Columns of the tables in which the released rows are counted
    weights: str | None = None  # Column with the weights of the records, if any
    dropped: Sequence[str] = ()  # Columns that are not published
    # Column with the ids that keyed draws use, and what makes names of them, worked out once for all stages
    identity: str | None = None
    naming: Callable[[Array], Array] | None = None
    declared: bool = True  # Whether codes that the file declares missing count as missing values
    shuffled: RandomSource | None = None  # Where random order comes from, None where the order is kept


def row_plan(assessed: Assessment, random: RandomSource, key: KeyedRandom | None) -> RowPlan:
    """The stages of a release with where their draws come from, ready for the rows."""
    plan = assessed.plan
    tables = [table for table in counted_tables(plan, assessed.tables) if set(table) & set(plan.randomized)]
    needed = {name for stage in assessed.stages for name in (*stage.columns, *stage.moved)}
    needed |= {name for table in tables for name in table}
    levels = {name: _all_levels(assessed, name) for name in sorted(needed)}
    return RowPlan(
        levels=levels,
        stages=[(stage, draws_of(stage, random, key if assessed.keeps(stage) else None)) for stage in assessed.stages],
        tables=merged(tables, {name: len(column_levels) for name, column_levels in levels.items()}),
        weights=plan.weights,
        dropped=[*plan.unpublished, *assessed.file.further],
        identity=plan.id if key is not None else None,
        naming=None if key is None or plan.id is None else key.names,
        declared=plan.missing != "category",
        shuffled=random if plan.order == "shuffled" else None,
    )


def _all_levels(assessed: Assessment, name: str) -> list[Any]:
    table = next(table for columns, table in assessed.tables.items() if name in columns)
    labels = [label for label in assessed.plan.levels_of(table, name) if label is not None]
    for stage in assessed.stages:
        if name in stage.linked:
            labels += [label for label in stage.linked[name].values() if label is not None]
        if name in stage.variables:
            place = stage.columns.index(name)
            labels += [label[place] for label in stage.outputs if label[place] is not None]
    return [*dict.fromkeys(labels)]


def draws_of(stage: Stage, random: RandomSource, key: KeyedRandom | None) -> Draws:
    """Where the released states of a stage come from; with a key, draws of its first step are kept by it."""
    if stage.exchanges and stage.unit is not None:
        dealer = UnitDealer(stage.cells, stage.draw_counts, stage.design.inputs, random)
        return Draws(lambda states, ids: dealer.sample(states, np.asarray(ids)), dealer.check_finished)
    if stage.exchanges:  # draws without replacement: only when every record has come are the counts kept
        assert isinstance(stage.design, Sparse)
        swap = SwapSampler(whole_flows(stage.design, stage.counts, random), random)
        return Draws(lambda states, _: swap.sample(states), swap.check_finished)
    if stage.unit is not None:  # one draw for all records of a unit, whose id and common state they have
        if key is None:  # one that is used once and kept nowhere: members get one draw, whatever their rows
            words = random.stream().words(0, 1, 8).tobytes()
            digest = hashlib.sha256(b"units of one release" + words).digest()
            key = KeyedRandom.of(digest, "units of one release")
        return _drawn_by(_keyed(stage, stage.design, key), key.names)
    if key is None:
        return _drawn_by(stage.design.sampler(random))
    if stage.kept_as is not None:
        return _by_state(stage, key)
    if stage.steps is None:
        return _drawn_by(_keyed(stage, stage.design, key))
    kept, again = _drawn_by(_keyed(stage, stage.steps[0], key)), _drawn_by(stage.steps[1].sampler(random))
    return Draws(lambda states, ids: again.draw(kept.draw(states, ids), ids), lambda: (kept.finish(), again.finish()))


def _keyed(stage: Stage, design: CodedDesign, key: KeyedRandom) -> KeyedSampler:
    """Draws that follow from a key, the id of the record, its true state and the design: the same in every release."""
    return KeyedSampler(design, key, variable_name(stage.variables), stage.fingerprint)


def _by_state(stage: Stage, key: KeyedRandom) -> Draws:
    """Draws of which some states repeat those of an earlier release: the same column under the same name."""
    names = [stage.drawn_as(state) for state in range(len(stage.states))]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    of_state = np.array([numbers[name] for name in names], dtype=np.int64)
    variable = variable_name(stage.variables)
    parts = [_drawn_by(KeyedSampler(stage.design, key, variable, name)) for name in numbers]

    def draw(states: Array, ids: Array | None) -> Array:
        drawn = np.zeros(len(states), dtype=np.int64)
        for number, part in enumerate(parts):
            rows = np.flatnonzero(of_state[states] == number)
            drawn[rows] = part.draw(states[rows], None if ids is None else ids[rows])
        return drawn

    return Draws(draw, parts[0].finish)


def _drawn_by(sampler: Sampler | KeyedSampler, naming: Callable[[Array], Array] | None = None) -> Draws:
    """Draws of a sampler: row after row, or by what each row is named, where the ids must be made names of."""

    def draw(states: Array, ids: Array | None) -> Array:
        names = ids if naming is None or ids is None else naming(ids)
        return np.asarray(sampler.sample_named(states, names).data)

    return Draws(draw, partial(forget_tables, sampler.design))  # the risk of the drawn file needs the room


class _CarriedOut:
    """A stage in the codes of a file: how the states of rows are found, and what columns become in each drawn one."""

    def __init__(self, stage: Stage, draws: Draws, coders: Mapping[str, LevelCoder]) -> None:
        def coded(name: str, codes: Array) -> Array:
            places = {label: code for code, label in enumerate(coders[name].labels)} | {None: MISSING}
            known: Array = np.array([places[label] for label in stage.levels[name]], dtype=np.int32)[codes]
            return known

        self.columns, self.draws, self.unit = stage.columns, draws, stage.unit
        self._sizes = [len(coders[name].labels) + 1 for name in stage.columns]  # one more for a missing value
        possible = possible_cells(self._sizes)
        if possible > LARGEST_KEY:
            raise TooLargeError("the-columns-of-a-protection", possible=possible)
        states = {name: coded(name, stage.state_codes[name]) for name in stage.columns}
        self._finder = KeyFinder(self._keys(states), possible, dense=DENSE_STATES)
        self.released = {name: coded(name, stage.output_codes[name]) for name in stage.moved}

    def _keys(self, codes: Mapping[str, Array]) -> Array:
        columns = [codes[name] for name in self.columns]
        return joint_keys(columns, self._sizes, len(columns[0]), first=MISSING)

    def carry_out(self, codes: dict[str, Array], ids: Array | None) -> None:
        """Replace the codes of the columns that it changes; rows without a state stay as they are."""
        states = self._finder.find(self._keys(codes))
        rows = None if not len(states) or int(states.min()) >= 0 else np.flatnonzero(states >= 0)
        if rows is not None:
            states, ids = states[rows], None if ids is None else ids[rows]
        drawn = self.draws.draw(states.astype(np.uint32), ids)
        for name, released in self.released.items():
            if rows is None:
                codes[name] = released[drawn]
            else:
                codes[name] = codes[name].copy()
                codes[name][rows] = released[drawn]


class RowReleaser:
    """Turns batches of true rows into released ones, and counts these."""

    def __init__(self, schema: Any, coders: Mapping[str, LevelCoder], plan: RowPlan) -> None:
        self._coders, self._plan = coders, plan
        self._stages = [_CarriedOut(stage, draws, coders) for stage, draws in plan.stages]
        self._moved = [*dict.fromkeys(name for stage in self._stages for name in stage.released)]
        can_be_lost = {
            name for stage in self._stages for name, codes in stage.released.items() if (codes == MISSING).any()
        }
        names, left_out = schema.names, {*plan.dropped}
        self._places = {name: place for place, name in enumerate(names)}
        self._labels = LabelColumns(schema, {name: coders[name].labels for name in self._moved}, can_be_lost)
        self._kept = [i for i, name in enumerate(names) if name not in left_out]
        is_dictionary, moved = require().types.is_dictionary, {*self._moved}
        open_ = [i for i in self._kept if is_dictionary(schema.field(i).type) and names[i] not in moved]
        self._dictionaries = {i: SortedDictionary() for i in open_}
        self._counters = [
            CellCounter([coders[name] for name in table], plan.weights is not None) for table in plan.tables
        ]
        self.rows = 0
        self.changed = dict.fromkeys(self._moved, 0)  # Rows with another code, by column
        self.breaks = dict.fromkeys(self._moved, 0)  # Rows with another true code than the row before
        self._before: dict[str, Array] = {}
        self.schema = self.made = self._released_schema(schema)

    def keep_codes(self) -> None:
        """Leave texts that were drawn in codes: the user of the batches can write these, or undo them."""
        self._labels.keep_codes({name for name in self._moved if self._coders[name].about is None})  # no missing marks
        self.made = self._labels.in_schema(self.schema)

    def without_codes(self, batch: Any) -> Any:
        """A batch that was made so, as it is released."""
        return batch if self.made is self.schema else in_schema(batch, self.schema)

    def sorted_again(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Shuffled rows with sorted dictionaries: until then, what only later rows of the file had stood at the end."""
        dictionaries = {self._kept.index(place): SortedDictionary() for place in self._dictionaries}
        for batch in batches:
            arrays = batch.columns
            for place, dictionary in dictionaries.items():
                if require().types.is_dictionary(arrays[place].type):
                    arrays[place] = dictionary.sorted(arrays[place])
            yield require().RecordBatch.from_arrays(arrays, schema=batch.schema) if dictionaries else batch

    def _released_schema(self, schema: Any) -> Any:
        arrow = require()
        kept = {*self._kept}
        dropped = [name for i, name in enumerate(schema.names) if i not in kept]
        clean = without_traces(schema, [*self._moved, *dropped], dropped, row_numbers=False)
        fields = [schema.field(i).remove_metadata() for i in self._kept]  # nobody knows what notes on columns tell
        return self._labels.in_schema(arrow.schema(fields, metadata=clean.metadata))

    def release(self, batch: Any) -> Any:
        """The released batch."""
        plan = self._plan
        before = codes_of(self._coders, batch)
        ids = None
        if plan.identity is not None and plan.naming is not None:
            ids = plan.naming(ids_of(batch.column(self._places[plan.identity]), plan.identity))
        after = dict(before)
        for stage in self._stages:
            unit = stage.unit
            stage.carry_out(after, ids if unit is None else ids_of(batch.column(self._places[unit]), unit))
        arrays = batch.columns
        for place, dictionary in self._dictionaries.items():
            arrays[place] = dictionary.sorted(arrays[place])
        for name in self._moved:
            self.changed[name] += int(np.count_nonzero(before[name] != after[name]))
            joined = np.concatenate([self._before.get(name, before[name][:1]), before[name]])
            self.breaks[name] += int(np.count_nonzero(joined[1:] != joined[:-1]))
            self._before[name] = joined[-1:]
        for name, column in self._labels.columns(after, batch).items():
            arrays[self._places[name]] = column
        kept = require().RecordBatch.from_arrays([arrays[i] for i in self._kept], self.schema.names)
        released = in_schema(kept, self.made)
        weights = None
        if plan.weights is not None:
            weights = check_weights(batch.column(self._places[plan.weights]), plan.weights, self.rows)
        for counter in self._counters:
            counter.add(after, len(batch), weights)
        self.rows += len(batch)
        return released

    def tables(self) -> list[CellTable]:
        """Counts of the released rows."""
        return [counter.table() for counter in self._counters]

    def finish(self) -> None:
        """Check that all rows came."""
        for stage in self._stages:
            stage.draws.finish()


# After so many batches memory that is free is given back: the arrays of a batch leave gaps, more with every batch
TIDY_BATCHES = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsReleased:
    """What became of the rows."""

    rows: int
    tables: list[CellTable]  # Counts of the released rows
    changed: dict[str, int]  # Records changed, by column
    breaks: dict[str, int]  # How many rows had another true label than the row before, by column
    columns: list[FileColumn]
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
            columns=columns_of(releaser.schema),
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
    find_columns(source.schema, [*plan.levels, *filter(None, (plan.identity, plan.weights))], path)
    find_columns(source.schema, plan.dropped, path, ANY)
    coders = coders_of(source, [*plan.levels], declared=plan.declared, levels=plan.levels)
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

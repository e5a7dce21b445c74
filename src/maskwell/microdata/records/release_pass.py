"""The rows of a release: one pass, in which each batch of the true file becomes one of the released file.

A stage reads the codes of its columns, finds the state of every row, draws the state that is released, and writes the
codes of its variables. Later stages see what earlier ones released. Rows without a value in a column of the stage, and
rows whose state never occurred in the true file, stay as they are. Memory follows the cells, not the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.atomic import atomic_file
from maskwell.core.cells import CellTable, give_back_memory
from maskwell.core.groups import KeyFinder
from maskwell.core.labels import sorted_levels
from maskwell.core.phrases import fault_of
from maskwell.core.randomness import RandomSource
from maskwell.engines.arrow_arrays import (
    ANY,
    SortedDictionary,
    first_used,
    has_values,
    numbers_array,
    require,
    texts_array,
    without_traces,
    without_views,
)
from maskwell.engines.cell_counts import CellCounter, check_weights, coders_of
from maskwell.engines.column_codes import MISSING, LevelCoder, ids_of
from maskwell.engines.input_file import TextForm
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.row_batches import TEXTS, EvenRows, ShuffledRows, in_background
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
from maskwell.errors import DataFileError, MissingValueError, ParameterError, TooLargeError, WrongTypeError

DENSE_STATES = 1 << 22
"""States are found in a table up to so many combinations of labels, else by searching."""

TIDY_BATCHES = 16
"""After so many batches memory that is free is given back: the arrays of a batch leave gaps, more with every batch."""

MOST_POSSIBLE = 1 << 62
"""Combinations of labels that have a number of 64 bits."""


Naming = Callable[[Array], Array]
"""From record ids to what keyed draws know a record by, worked out once for all stages."""


class Draws(Protocol):
    """Draws the released state for true states, row after row."""

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Codes of released states for codes of true ones."""

    def finish(self) -> None:
        """Raise where rows are missing that the draws were made for."""


class RowStage(Protocol):
    """What the rows must know of a randomization: its states, in codes for the labels that it has of each column."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns that tell the state."""

    @property
    def moved(self) -> Sequence[str]:
        """Columns that it changes."""

    @property
    def unit(self) -> str | None:
        """Column of the units that have one draw for all their records; ``None`` where each record has its own."""

    @property
    def levels(self) -> Mapping[str, Sequence[Hashable]]:
        """Labels behind the codes; ``None`` for a missing value that is a label like others."""

    @property
    def state_codes(self) -> Mapping[str, Array]:
        """Shape (k,) for each of its columns: the codes of each true state."""

    @property
    def output_codes(self) -> Mapping[str, Array]:
        """Shape (m,) for each column that it changes: the codes of each released state."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RowPlan:
    """What is to happen to the rows of a file."""

    # Labels of every column that is randomized, counted or used to find a state, in order
    levels: Mapping[str, Sequence[Any]]
    # In the order in which they are carried out, each with where its released states come from
    stages: Sequence[tuple[RowStage, Draws]]
    tables: Sequence[tuple[str, ...]]  # Columns of the tables in which the released rows are counted
    weights: str | None = None  # Column with the weights of the records, if any
    dropped: Sequence[str] = ()  # Columns that are not published
    # Column with the record ids that keyed draws use, if any, and what they become
    identity: str | None = None
    naming: Naming | None = None
    declared: bool = True  # Whether codes that the file declares missing count as missing values
    shuffled: RandomSource | None = None  # Where random order comes from, None where the order is kept


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsReleased:
    """What became of the rows: counts of the released file, records changed by column, and what could not be kept.

    ``breaks`` tells for each column how many rows had another true label than the row before, ``form`` how the text of
    a CSV file was written, ``commas`` which columns have decimal commas there, and ``values`` what the columns hold
    that were neither randomized nor counted.
    """

    rows: int
    tables: list[CellTable]
    changed: dict[str, int]
    breaks: dict[str, int]
    names: list[str]
    labels: Labels | None = None
    lost: tuple[str, ...] = ()
    form: TextForm | None = None
    commas: frozenset[str] = frozenset()
    values: Mapping[str, ColumnValues] = field(default_factory=dict)


def release_rows(path: str, output: str, plan: RowPlan, *, rows: int, progress: Progress | None = None) -> RowsReleased:
    """Write the released rows of a file; ``rows`` is how many there are."""
    with Rows.of(path).open_stored([*plan.levels]) as source:
        releaser, counter = _ready(source, path, plan)
        takes_codes = engine_of(output).takes_dictionaries
        if takes_codes or plan.shuffled is not None:
            releaser.keep_codes()
        with (
            atomic_file(output, inputs=[path]) as file,
            open_sink(file, output, releaser.schema, style=_style(source.style, releaser.schema)) as sink,
            in_background(sink) as behind,
        ):
            if hasattr(sink, "leave_out_unused"):  # dictionaries of texts are made anew by all other kinds of files
                sink.leave_out_unused()
            even = EvenRows(behind, min(BATCH_ROWS, rows_of_cells(len(source.schema))))
            survey = ValueSurvey([name for name in releaser.schema.names if name not in plan.levels], source.schema)
            with _order(plan, releaser, rows, Path(output).parent, even, takes_codes=takes_codes) as target:
                for place, batch in enumerate(pieces(source.batches(), BATCH_ROWS)):
                    survey.add(batch)
                    target.write(counter.released(batch))
                    if place % TIDY_BATCHES == 0:
                        give_back_memory()
                    if progress is not None:
                        progress(counter.rows, source.done())
                releaser.finish()
            even.finish()
        require().default_memory_pool().release_unused()  # the risk of the drawn file needs the room
        if counter.rows != rows:
            raise DataFileError("had-rows-when-it-was-counted", rows=rows, counter_rows=counter.rows, path=path)
        return RowsReleased(
            rows=counter.rows,
            tables=counter.tables(),
            changed=releaser.changed,
            breaks=releaser.breaks,
            names=releaser.schema.names,
            labels=source.style if isinstance(source.style, Labels) else None,
            lost=(*lost_in(source.style, output), *_left_out(source.style)),
            form=getattr(source.style, "form", None),
            commas=frozenset(getattr(source.style, "commas", ())),
            values=survey.values(),
        )


class ColumnValues(NamedTuple):
    """What a column holds: whole numbers, numbers or anything else as texts, and its values where they are few."""

    kind: str | None
    labels: tuple[Hashable, ...] | None


class ValueSurvey:
    """Looks at columns that are published as they are: which values they hold, and whether texts are numbers."""

    def __init__(self, names: Sequence[str], schema: Any) -> None:
        listed = {name: has_values(schema.field(name).type) for name in names}
        self._met: dict[str, dict[Hashable, None] | None] = {name: {} if listed[name] else None for name in names}
        self._kinds: dict[str, str | None] = {name: None if listed[name] else OTHER for name in names}
        self._given: dict[str, dict[Hashable, None]] = {
            name: {} for name in names if getattr(schema.field(name).type, "ordered", False)
        }

    def add(self, batch: Any) -> None:
        """Look at the next rows."""
        for name, met in self._met.items():
            if (met is None and self._kinds[name] in (TEXT, OTHER)) or not len(batch):
                continue
            column = batch.column(name)
            distinct = first_used(column).dictionary if _is_dictionary(column) else column.unique()
            if name in self._given:
                self._given[name].update(dict.fromkeys(column.dictionary.to_pylist()))
            self._kinds[name] = wider(self._kinds[name], text_kind(distinct))
            if met is not None:
                met.update(
                    dict.fromkeys(value for value in distinct.to_pylist() if value is not None and value == value)
                )
                self._met[name] = met if len(met) <= MOST_CATEGORIES and all(map(_is_label, met)) else None

    def values(self) -> dict[str, ColumnValues]:
        """What was met; labels are sorted, so that they do not tell whose came first, unless they have an order."""
        return {
            name: ColumnValues(
                self._kinds[name], None if met is None else tuple(sorted_levels(met, self._given.get(name, ())))
            )
            for name, met in self._met.items()
        }


def _is_dictionary(column: Any) -> bool:
    return bool(require().types.is_dictionary(column.type))


def _is_label(value: Hashable) -> bool:
    """Whether a value can stand in a codebook as it is."""
    return isinstance(value, str | int | date) or (isinstance(value, float) and math.isfinite(value))


MOST_CATEGORIES = 1000
"""Values of a column up to which they are listed."""

INTEGER, NUMBER, TEXT, OTHER = "integer", "number", "text", "other"
_WIDER = (INTEGER, NUMBER, TEXT, OTHER)
_KINDS_OF_TEXT = {INTEGER: r"^-?(0|[1-9]\d{0,17})$", NUMBER: r"^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$"}


def text_kind(texts: Any) -> str | None:
    """What kind of number texts are: whole ones, numbers, or none (as codes with zeros before them); None without any.

    >>> import pyarrow as pa
    >>> text_kind(pa.array(["1", "20", None])), text_kind(pa.array(["1.5", "2"])), text_kind(pa.array(["01", "2"]))
    ('integer', 'number', 'text')
    """
    if str(texts.type) not in ("string", "large_string"):
        return OTHER
    if texts.null_count == len(texts):
        return None
    compute = require("pyarrow.compute")
    fitting = (k for k, p in _KINDS_OF_TEXT.items() if compute.all(compute.match_substring_regex(texts, p)).as_py())
    return next(fitting, TEXT)


def wider(kind: str | None, other: str | None) -> str | None:
    """The kind that holds values of both."""
    return max((one for one in (kind, other) if one is not None), key=_WIDER.index, default=None)


def release_batches(source: Source, name: str, plan: RowPlan) -> tuple[list[Any], Any, RowsReleased]:
    """The released rows of a source in memory, as batches in the order of the plan, with their schema."""
    releaser, counter = _ready(source, name, plan)
    kept: list[Any] = [counter.released(batch) for batch in source.batches()]
    releaser.finish()
    if plan.shuffled is not None and kept:
        shuffled = ShuffledRows(releaser.schema, 1, 1, Path(), plan.shuffled)
        for batch in kept:
            shuffled.write(batch)
        kept = [*releaser.sorted_again(shuffled.batches())]
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
def _order(
    plan: RowPlan, releaser: RowReleaser, rows: int, folder: Path, even: EvenRows, *, takes_codes: bool
) -> Iterator[Any]:
    """Where released rows go: straight on, or through a shuffle, in which texts that were drawn are codes."""
    if plan.shuffled is None:
        yield even
        return
    shuffled = ShuffledRows(releaser.made, rows, _row_bytes(releaser.made), folder, plan.shuffled)
    try:
        with in_background(shuffled) as behind:
            yield behind
        for batch in releaser.sorted_again(shuffled.batches()):
            even.write(batch if takes_codes else releaser.without_codes(batch))
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


# ---- each batch of rows


class StateFinder:
    """Finds the state of rows from the codes of their columns.

    >>> finder = StateFinder(np.array([[0, 1], [1, 0]]), [2, 2])
    >>> finder.find([np.array([1, 0, 0]), np.array([0, 0, 1])]).tolist()
    [1, -1, 0]
    """

    def __init__(self, states: Array, sizes: Sequence[int]) -> None:
        self._sizes = [size + 1 for size in sizes]
        possible = math.prod(self._sizes)
        if possible > MOST_POSSIBLE:
            raise TooLargeError("the-columns-of-a-protection", possible=possible)
        self._finder = KeyFinder(self._joint(list(states.T), len(states)), possible, dense=DENSE_STATES)

    def find(self, codes: Sequence[Array]) -> Array:
        """The number of the state of each row, -1 where there is none."""
        return self._finder.find(self._joint(codes, len(codes[0])))

    def _joint(self, codes: Sequence[Array], rows: int) -> Array:
        joint = np.zeros(rows, dtype=np.int64)
        for column_codes, size in zip(codes, self._sizes, strict=True):
            joint *= size
            joint += column_codes
            joint += 1
        return joint


class _CarriedOut:
    """A stage in the codes of a file: how the states of rows are found, and what columns become in each drawn one."""

    def __init__(self, stage: RowStage, draws: Draws, coders: Mapping[str, LevelCoder]) -> None:
        def coded(name: str, codes: Array) -> Array:
            places = {label: code for code, label in enumerate(coders[name].labels)} | {None: MISSING}
            known: Array = np.array([places[label] for label in stage.levels[name]], dtype=np.int32)[codes]
            return known

        self.columns, self.draws, self.unit = stage.columns, draws, stage.unit
        states = [coded(name, stage.state_codes[name]) for name in stage.columns]
        self._finder = StateFinder(np.stack(states, axis=1), [len(coders[name].labels) for name in stage.columns])
        self.released = {name: coded(name, stage.output_codes[name]) for name in stage.moved}

    def carry_out(self, codes: dict[str, Array], ids: Array | None) -> None:
        """Replace the codes of the columns that it changes; rows without a state stay as they are."""
        states = self._finder.find([codes[name] for name in self.columns])
        rows = slice(None) if not len(states) or int(states.min()) >= 0 else np.flatnonzero(states >= 0)
        drawn = self.draws.draw(states[rows].astype(np.uint32), None if ids is None else ids[rows])
        for name, released in self.released.items():
            values = released[drawn]
            codes[name] = values if isinstance(rows, slice) else _replaced(codes[name], rows, values)


class RowReleaser:
    """Turns batches of true rows into released ones."""

    def __init__(
        self,
        schema: Any,
        coders: Mapping[str, LevelCoder],
        stages: Sequence[tuple[RowStage, Draws]],
        *,
        dropped: Sequence[str] = (),
        identity: str | None = None,
        naming: Naming | None = None,
    ) -> None:
        self._coders, self._identity, self._naming = coders, identity, naming
        self._stages = [_CarriedOut(stage, draws, coders) for stage, draws in stages]
        self._units = {one.unit: schema.get_field_index(one.unit) for one in self._stages if one.unit is not None}
        self._moved = [*dict.fromkeys(name for stage in self._stages for name in stage.released)]
        self._can_be_lost = {
            name for stage in self._stages for name, codes in stage.released.items() if (codes == MISSING).any()
        }
        self._places = {name: schema.get_field_index(name) for name in (*coders, *([identity] if identity else []))}
        self._labels = {name: _label_array(name, schema.field(name).type, coders[name].labels) for name in self._moved}
        self._kinds = {name: labels.type for name, labels in self._labels.items()}
        names, left_out = schema.names, {*dropped}
        self._kept = [i for i, name in enumerate(names) if name not in left_out]
        is_dictionary, moved = require().types.is_dictionary, {*self._moved}
        open_ = [i for i in self._kept if is_dictionary(schema.field(i).type) and names[i] not in moved]
        self._dictionaries = {i: SortedDictionary() for i in open_}
        self.changed = dict.fromkeys(self._moved, 0)
        self.breaks = dict.fromkeys(self._moved, 0)
        self._before: dict[str, Array] = {}
        self.schema = self.made = self._released_schema(schema)

    def keep_codes(self) -> None:
        """Leave texts that were drawn in codes: whoever takes the batches can write these, or undo them."""
        arrow = require()
        texts = {
            name
            for name in self._moved
            if str(self._labels[name].type) in TEXTS and self._coders[name].about is None  # no marks of missing values
        }
        for name in texts:
            labels = self._labels[name]
            positions = numbers_array(np.arange(len(labels), dtype=np.int16 if len(labels) < 1 << 15 else np.int32))
            self._labels[name] = arrow.DictionaryArray.from_arrays(positions, labels)
        fields = [f.with_type(self._labels[f.name].type) if f.name in texts else f for f in self.schema]
        self.made = arrow.schema(fields, metadata=self.schema.metadata)

    def without_codes(self, batch: Any) -> Any:
        """A batch that was made so, as it is released."""
        return batch if self.made is self.schema else _in_schema(batch.columns, self.schema)

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
        for name in self._moved:
            place = self._places[name]
            clean = clean.set(place, arrow.field(name, self._labels[name].type))
        fields = [clean.field(i).remove_metadata() for i in self._kept]  # nobody knows what notes on columns tell
        return arrow.schema([f.with_type(without_views(f.type)) for f in fields], metadata=clean.metadata)

    def release(self, batch: Any) -> tuple[Any, dict[str, Array], dict[str, Array]]:
        """The released batch, and the codes of all columns that matter, before and after."""
        before = {name: coder.codes(batch.column(self._places[name])) for name, coder in self._coders.items()}
        ids = self._ids(batch)
        after = dict(before)
        for stage in self._stages:
            unit = stage.unit
            stage.carry_out(after, ids if unit is None else ids_of(batch.column(self._units[unit]), unit))
        arrays = batch.columns
        for place, dictionary in self._dictionaries.items():
            arrays[place] = dictionary.sorted(arrays[place])
        for name in self._moved:
            self.changed[name] += int(np.count_nonzero(before[name] != after[name]))
            self.breaks[name] += self._breaks(name, before[name])
            arrays[self._places[name]] = self._column(name, after[name], arrays[self._places[name]])
        return _in_schema([arrays[i] for i in self._kept], self.made), before, after

    def _breaks(self, name: str, codes: Array) -> int:
        if not len(codes):
            return 0
        last, self._before[name] = self._before.get(name, codes[:1]), codes[-1:]
        joined = np.concatenate([last, codes])
        return int(np.count_nonzero(joined[1:] != joined[:-1]))

    def _ids(self, batch: Any) -> Array | None:
        if self._identity is None or self._naming is None:
            return None
        return self._naming(ids_of(batch.column(self._places[self._identity]), self._identity))

    def finish(self) -> None:
        """Check that all rows came."""
        for stage in self._stages:
            stage.draws.finish()

    def _column(self, name: str, codes: Array, original: Any) -> Any:
        """Labels of the codes; a value that stands for a missing one stays as it was.

        Where a missing value can be drawn, all of them become the same one: the true value stands in the rows that
        have drawn it, and a mark of its own, such as NaN or 99, would tell the others from them.
        """
        arrow, labels = require(), self._labels[name]
        if isinstance(labels, arrow.DictionaryArray) and int(codes.min(initial=0)) > MISSING:
            positions = codes.astype(labels.type.index_type.to_pandas_dtype())
            return arrow.DictionaryArray.from_arrays(numbers_array(positions), labels.dictionary)
        lost = codes == MISSING
        some = bool(lost.any())
        values = labels.take(numbers_array(codes, lost if some else None))
        if name not in self._can_be_lost and some and original.null_count < int(lost.sum()):
            kind = self._kinds[name]
            plain = original if original.type == kind else original.cast(kind)
            values = require("pyarrow.compute").if_else(arrow.array(lost), plain, values.cast(kind))
        return values


def _in_schema(columns: Sequence[Any], schema: Any) -> Any:
    """A batch of these columns, each in its type."""
    pairs = zip(columns, schema, strict=True)
    cast = [column if column.type == field.type else column.cast(field.type) for column, field in pairs]
    return require().RecordBatch.from_arrays(cast, schema=schema)


def _replaced(codes: Array, rows: Array, values: Array) -> Array:
    out = codes.copy()
    out[rows] = values
    return out


def _label_array(column: str, kind: Any, labels: Sequence[Hashable]) -> Any:
    """All labels of a column as an Arrow array of its own type.

    The labels of a dictionary that is marked as ordered come in its order, or in that of the codebook.
    """
    arrow = require()
    if not arrow.types.is_dictionary(kind):
        return _values(column, without_views(kind), labels)
    positions = arrow.int8() if len(labels) <= 2**7 else arrow.int16() if len(labels) <= 2**15 else arrow.int32()
    values = _values(column, kind.value_type, labels)
    places = numbers_array(np.arange(len(labels))).cast(positions)
    return arrow.DictionaryArray.from_arrays(places, values, ordered=kind.ordered)


def _values(column: str, kind: Any, labels: Sequence[Hashable]) -> Any:
    """Labels in the type of their column; an error for one that it cannot hold, which Arrow would cut to fit."""
    arrow = require()
    try:
        is_text = str(kind) in TEXTS[:2] and all(isinstance(label, str) for label in labels)
        values = texts_array([*map(str, labels)]).cast(kind) if is_text else arrow.array(labels, type=kind)
    except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise _misfit(column, kind, fault_of(error, 200)) from None
    wrong = (
        [a for a, b in zip(labels, values.to_pylist(), strict=True) if a != b] if arrow.types.is_integer(kind) else []
    )
    if wrong:
        raise _misfit(column, kind, repr(wrong[0]))
    return values


def _misfit(column: str, kind: Any, detail: str) -> WrongTypeError:
    return WrongTypeError("column-of-kind-cannot-hold-all", kind=kind, values=detail, column=column)


# ---- what a file must have


class FileColumn(NamedTuple):
    """A column of a file: its name, and whether it holds text, integers, numbers, dates, booleans or something else."""

    name: str
    kind: str


def file_columns(rows: Rows) -> list[FileColumn]:
    """The columns of a file, or of a table in memory."""
    with rows.open_stored([]) as source:
        return [FileColumn(field.name, _kind(field.type)) for field in source.schema]


@cache
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
    with Rows.of(path).open_stored([]) as source:
        place = find_column(source.schema, name, path)
        for batch in source.batches([place]):
            column = batch.column(0)
            if column.null_count:
                raise MissingValueError("column-records-have-no-id", name=name, null_count=column.null_count)
            values = ids_of(column, name)
            if values.dtype.kind in "iu":
                numbers.append(values)
            else:
                texts.update(values.tolist())
            rows += len(batch)
            if progress is not None:
                progress(rows, source.done())
    distinct = len(np.unique(np.concatenate(numbers))) if numbers else len(texts)
    if distinct < rows:
        raise ParameterError("column-has-different-ids-for-records", distinct=distinct, rows=rows, column=name)

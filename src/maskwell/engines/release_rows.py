"""Rows of a release: each batch of the true file becomes a batch of the released one, in one pass.

A stage reads the codes of its columns, finds the state of every row, draws the state that is released, and writes the
codes of its variables. Later stages see what earlier ones released. Rows without a value in a column of the stage, and
rows whose state never occurred in the true file, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.phrases import fault_of
from maskwell.engines.arrow_arrays import require, without_traces, without_views
from maskwell.engines.column_codes import MISSING, LevelCoder
from maskwell.errors import TooLargeError, WrongTypeError

DENSE_STATES = 1 << 22
"""States are found in a table up to so many combinations of labels, else by searching."""

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


@dataclass(frozen=True, eq=False)
class RowStage:
    """One randomization, in codes of the columns.

    Attributes
    ----------
    columns, variables
        Columns that tell the state, and those of them that are randomized.
    states
        Shape (k, columns): the codes of each state; -1 for a missing value that is a label like others.
    released
        Shape (m, variables): the codes of the variables in each released state.
    draws
        Where released states come from.
    linked
        Columns that follow: their codes in each released state, shape (m,).
    """

    columns: tuple[str, ...]
    variables: tuple[str, ...]
    states: Array
    released: Array
    draws: Draws
    linked: Mapping[str, Array] = field(default_factory=dict)


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
            raise TooLargeError(
                f"the columns of a protection have {possible:.1e} possible combinations",
                hint="protect fewer columns together, or take labels that do not occur out of the codebook",
            )
        keys = self._joint(list(states.T), len(states))
        self._table: Array | None = None
        if possible <= DENSE_STATES:
            self._table = np.full(possible, -1, dtype=np.int32)
            self._table[keys] = np.arange(len(keys), dtype=np.int32)
        else:
            self._order = np.argsort(keys)
            self._keys = keys[self._order]

    def find(self, codes: Sequence[Array]) -> Array:
        """The number of the state of each row, -1 where there is none."""
        joint = self._joint(codes, len(codes[0]))
        if self._table is not None:
            states: Array = self._table[joint]
            return states
        places = np.minimum(np.searchsorted(self._keys, joint), len(self._keys) - 1)
        return np.where(self._keys[places] == joint, self._order[places], -1)

    def _joint(self, codes: Sequence[Array], rows: int) -> Array:
        joint = np.zeros(rows, dtype=np.int64)
        for column_codes, size in zip(codes, self._sizes, strict=True):
            joint *= size
            joint += column_codes
            joint += 1
        return joint


class RowReleaser:
    """Turns batches of true rows into released ones.

    Attributes
    ----------
    schema
        Of the released rows.
    changed
        How many rows of each column were changed so far.
    breaks
        How many rows of each column have another true label than the row before.
    """

    def __init__(
        self,
        schema: Any,
        coders: Mapping[str, LevelCoder],
        stages: Sequence[RowStage],
        *,
        dropped: Sequence[str] = (),
        identity: str | None = None,
        naming: Naming | None = None,
    ) -> None:
        self._coders, self._stages, self._identity, self._naming = coders, stages, identity, naming
        self._finders = [StateFinder(s.states, [len(coders[c].labels) for c in s.columns]) for s in stages]
        self._moved = [*dict.fromkeys(name for s in stages for name in (*s.variables, *s.linked))]
        self._can_be_lost = {name for s in stages for name, codes in _released_codes(s) if (codes == MISSING).any()}
        self._places = {name: schema.get_field_index(name) for name in {*coders, *([identity] if identity else [])}}
        self._labels = {name: _label_array(name, schema.field(name).type, coders[name].labels) for name in self._moved}
        self._kept = [i for i, name in enumerate(schema.names) if name not in set(dropped)]
        self.changed = dict.fromkeys(self._moved, 0)
        self.breaks = dict.fromkeys(self._moved, 0)
        self._before: dict[str, Array] = {}
        self.schema = self._released_schema(schema)

    def _released_schema(self, schema: Any) -> Any:
        arrow = require()
        dropped = [schema.names[i] for i in range(len(schema)) if i not in self._kept]
        clean = without_traces(schema, [*self._moved, *dropped], dropped)
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
        for stage, finder in zip(self._stages, self._finders, strict=True):
            self._carry_out(stage, finder, after, ids)
        arrays = batch.columns
        for name in self._moved:
            self.changed[name] += int(np.count_nonzero(before[name] != after[name]))
            self.breaks[name] += self._breaks(name, before[name])
            arrays[self._places[name]] = self._column(name, after[name], arrays[self._places[name]])
        pairs = [(arrays[i], field.type) for i, field in zip(self._kept, self.schema, strict=True)]
        columns = [column if column.type == kind else column.cast(kind) for column, kind in pairs]
        return require().RecordBatch.from_arrays(columns, schema=self.schema), before, after

    def _breaks(self, name: str, codes: Array) -> int:
        if not len(codes):
            return 0
        last, self._before[name] = self._before.get(name, codes[:1]), codes[-1:]
        joined = np.concatenate([last, codes])
        return int(np.count_nonzero(joined[1:] != joined[:-1]))

    def _ids(self, batch: Any) -> Array | None:
        if self._identity is None or self._naming is None:
            return None
        return self._naming(_ids(batch.column(self._places[self._identity])))

    def finish(self) -> None:
        """Check that all rows came."""
        for stage in self._stages:
            stage.draws.finish()

    def _carry_out(self, stage: RowStage, finder: StateFinder, codes: dict[str, Array], ids: Array | None) -> None:
        states = finder.find([codes[name] for name in stage.columns])
        rows = slice(None) if not len(states) or int(states.min()) >= 0 else np.flatnonzero(states >= 0)
        known_states = states[rows]
        drawn = stage.draws.draw(known_states.astype(np.uint32), None if ids is None else ids[rows])
        new = {name: stage.released[drawn, place] for place, name in enumerate(stage.variables)}
        new |= {name: column[drawn] for name, column in stage.linked.items()}
        for name, values in new.items():
            codes[name] = values if isinstance(rows, slice) else _replaced(codes[name], rows, values)

    def _column(self, name: str, codes: Array, original: Any) -> Any:
        """Labels of the codes; a value that stands for a missing one stays as it was.

        Where a missing value can be drawn, all of them become the same one: the true value stands in the rows that
        have drawn it, and a mark of its own, such as NaN or 99, would tell the others from them.
        """
        arrow, labels = require(), self._labels[name]
        lost = codes == MISSING
        some = bool(lost.any())
        values = labels.take(arrow.array(codes, mask=lost) if some else arrow.array(codes))
        if name not in self._can_be_lost and some and original.null_count < int(lost.sum()):
            plain = original if original.type == values.type else original.cast(values.type)
            values = require("pyarrow.compute").if_else(arrow.array(lost), plain, values)
        return values


def _released_codes(stage: RowStage) -> list[tuple[str, Array]]:
    """The codes that each column of a stage can get."""
    return [*zip(stage.variables, stage.released.T, strict=True), *stage.linked.items()]


def _replaced(codes: Array, rows: Array, values: Array) -> Array:
    out = codes.copy()
    out[rows] = values
    return out


def _ids(column: Any) -> Array:
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ids: Array = column.to_numpy(zero_copy_only=False)
    return ids


def _label_array(column: str, kind: Any, labels: Sequence[Hashable]) -> Any:
    """All labels of a column as an Arrow array of its own type.

    A dictionary is not called ordered any more: its labels come sorted or as the codebook has them, not in the order
    that the column had.
    """
    arrow = require()
    if not arrow.types.is_dictionary(kind):
        return _values(column, without_views(kind), labels)
    positions = arrow.int8() if len(labels) <= 2**7 else arrow.int16() if len(labels) <= 2**15 else arrow.int32()
    values = _values(column, kind.value_type, labels)
    return arrow.DictionaryArray.from_arrays(arrow.array(np.arange(len(labels)), type=positions), values)


def _values(column: str, kind: Any, labels: Sequence[Hashable]) -> Any:
    """Labels in the type of their column; an error for one that it cannot hold, which Arrow would cut to fit."""
    arrow = require()
    try:
        values = arrow.array(labels, type=kind)
    except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise _misfit(column, kind, fault_of(error, 200)) from None
    wrong = (
        [a for a, b in zip(labels, values.to_pylist(), strict=True) if a != b] if arrow.types.is_integer(kind) else []
    )
    if wrong:
        raise _misfit(column, kind, repr(wrong[0]))
    return values


def _misfit(column: str, kind: Any, detail: str) -> WrongTypeError:
    return WrongTypeError(
        f"column {column!r}, of kind {kind}, cannot hold all its labels",
        hint="correct the labels that do not occur in the file: those of the codebook, or of the matrix",
        values=detail,
        column=column,
    )

"""What the columns of a file hold: their kinds, ids that differ for all records, and values that are published."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from datetime import date
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.extras import require
from maskwell.core.labels import sorted_levels
from maskwell.engines.arrow_arrays import columns_with_values, first_used
from maskwell.engines.column_codes import ids_of
from maskwell.engines.row_sources import find_column
from maskwell.engines.rows import Rows
from maskwell.errors import MissingValueError, ParameterError

MOST_CATEGORIES = 1000  # values of a column up to which they are listed
INTEGER, NUMBER, TEXT, OTHER = "integer", "number", "text", "other"
_WIDER = (INTEGER, NUMBER, TEXT, OTHER)
_KINDS_OF_TEXT = {INTEGER: r"^-?(0|[1-9]\d{0,17})$", NUMBER: r"^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$"}


class ColumnValues(NamedTuple):
    """What a column holds: whole numbers, numbers or anything else as texts, and its values where they are few."""

    kind: str | None
    labels: tuple[Hashable, ...] | None


class ValueSurvey:
    """Looks at columns that are published as they are: which values they hold, and whether texts are numbers."""

    def __init__(self, names: Sequence[str], schema: Any) -> None:
        listed = {*columns_with_values(schema)}
        self._met: dict[str, dict[Hashable, None] | None] = {name: {} if name in listed else None for name in names}
        self._kinds: dict[str, str | None] = {name: None if name in listed else OTHER for name in names}
        self._given: dict[str, dict[Hashable, None]] = {
            name: {} for name in names if getattr(schema.field(name).type, "ordered", False)
        }

    def add(self, batch: Any) -> None:
        """Look at the next rows."""
        is_dictionary = require().types.is_dictionary
        for name, met in self._met.items():
            if (met is None and self._kinds[name] in (TEXT, OTHER)) or not len(batch):
                continue
            column = batch.column(name)
            distinct = first_used(column).dictionary if is_dictionary(column.type) else column.unique()
            if name in self._given:
                self._given[name].update(dict.fromkeys(column.dictionary.to_pylist()))
            kinds = [kind for kind in (self._kinds[name], text_kind(distinct)) if kind is not None]
            self._kinds[name] = max(kinds, key=_WIDER.index, default=None)  # the one that holds values of both
            if met is not None:
                met |= dict.fromkeys(value for value in distinct.to_pylist() if value is not None and value == value)
                self._met[name] = met if len(met) <= MOST_CATEGORIES and all(map(_is_label, met)) else None

    def values(self) -> dict[str, ColumnValues]:
        """What was met; labels are sorted, so that they do not reveal whose came first, unless they have an order."""
        return {
            name: ColumnValues(
                self._kinds[name], None if met is None else tuple(sorted_levels(met, self._given.get(name, ())))
            )
            for name, met in self._met.items()
        }


def _is_label(value: Hashable) -> bool:
    """Whether a codebook can hold a value as it is."""
    return isinstance(value, str | int | date) or (isinstance(value, float) and math.isfinite(value))


def text_kind(texts: Any) -> str | None:
    """What texts are: "integer", "number", or "text" (as codes with zeros before them); None without any."""
    if str(texts.type) not in ("string", "large_string"):
        return OTHER
    if texts.null_count == len(texts):
        return None
    compute = require("pyarrow.compute")
    fitting = (k for k, p in _KINDS_OF_TEXT.items() if compute.all(compute.match_substring_regex(texts, p)).as_py())
    return next(fitting, TEXT)


class FileColumn(NamedTuple):
    """A column of a file: its name, and whether it holds text, integers, numbers, dates, booleans or something else."""

    name: str
    kind: str


def columns_of(schema: Any) -> list[FileColumn]:
    """The columns of a file or a table, from its Arrow schema."""
    return [FileColumn(field.name, _kind(field.type)) for field in schema]


@cache
def _kind(kind: Any) -> str:
    types = require().types
    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    tests = {
        TEXT: (types.is_string, types.is_large_string),
        "boolean": (types.is_boolean,),
        INTEGER: (types.is_integer,),
        NUMBER: (types.is_floating, types.is_decimal),
        "date": (types.is_temporal,),
    }
    return next((name for name, kind_tests in tests.items() if any(test(kind) for test in kind_tests)), OTHER)


def check_ids(records: Rows, name: str) -> None:
    """Raise unless a column distinguishes every record from every other: draws that are kept are found again by it."""
    numbers, texts, rows = list[Array](), set[Any](), 0
    with records.open_stored([]) as source:
        place = find_column(source.schema, name, records)
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
    distinct = len(np.unique(np.concatenate(numbers))) if numbers else len(texts)
    if distinct < rows:
        raise ParameterError("column-has-different-ids-for-records", distinct=distinct, rows=rows, column=name)

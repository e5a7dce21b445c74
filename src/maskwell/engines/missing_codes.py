"""Codes of missing values, such as ``NA`` or 99: the table is read with missing values in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, as_list, kind_of
from maskwell.core.categories import Categories
from maskwell.core.phrases import option, shorten
from maskwell.engines.arrow_arrays import require
from maskwell.engines.column_tables import TableInMemory
from maskwell.engines.row_sources import Source, find_column
from maskwell.engines.rows import Rows, with_columns
from maskwell.errors import ParameterError, UnknownCategoryError, WrongTypeError


@dataclass(frozen=True)
class MissingCodes:
    """Codes by their texts: those of all columns, and those of single columns."""

    everywhere: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, codes: Any) -> MissingCodes:
        """From a code, a text such as ``NA,99`` or ``age=98,99``, several of them, or codes by column."""
        if isinstance(codes, Mapping):
            columns = {str(name): tuple(_codes(some)) for name, some in codes.items()}
            return cls((), columns)
        everywhere: list[str] = []
        columns = {}
        for one in [codes] if isinstance(codes, str | int | float) else as_list(codes, "missing_codes"):
            name, sign, rest = one.partition("=") if isinstance(one, str) else ("", "", "")
            if sign:
                columns[name.strip()] = (*columns.get(name.strip(), ()), *_codes(rest))
            else:
                everywhere += _codes(one)
        return cls(tuple(everywhere), columns)

    def within(self, names: Sequence[str]) -> MissingCodes:
        """The same for these columns only."""
        other = next((name for name in self.columns if name not in names), None)
        if other is not None:
            named, known = shorten(repr(other), 30), shorten(", ".join(names), 60)
            raise ParameterError("missing-codes-for-the-column-which", other=named, names=known)
        return MissingCodes((), {name: (*self.everywhere, *self.columns.get(name, ())) for name in names})

    def check_no_category(self, held: Mapping[str, Categories | None]) -> None:
        """Raise where a code is a category of a column that a design is for: its rows would be left out by mistake."""
        for name, categories in held.items():
            code = next((one for one in self.codes_of(name) if _is_category(one, categories)), None)
            if code is not None:
                typed = option("missing_codes", f"COLUMN={shorten(code, 20)}")
                told = {"code": shorten(repr(code), 20), "name": shorten(repr(name), 24), "column": name}
                raise ParameterError("missing-codes-is-a-category", **told, option_name=typed)

    def codes_of(self, name: str) -> tuple[str, ...]:
        """The codes of one column."""
        return (*self.everywhere, *self.columns.get(name, ()))

    def __call__(self, source: Source, path: str) -> Source:
        """The rows of a source without the codes."""
        for name in self.columns:
            find_column(source.schema, name, path)
        return RowsWithoutCodes(source, self)


def _is_category(code: str, categories: Categories | None) -> bool:
    with suppress(UnknownCategoryError):
        return categories is not None and categories.find(code) >= 0
    return False


def _codes(some: Any) -> list[str]:
    """Texts of codes, several of which may be in one text."""
    if isinstance(some, str):
        return [code.strip() for code in some.split(",")]
    if isinstance(some, bool) or not isinstance(some, int | float | Sequence):
        raise WrongTypeError("missing-codes-a-code", some_kind=kind_of(some))
    if isinstance(some, int | float):
        return [str(int(some)) if float(some).is_integer() else str(some)]
    return [code for one in some for code in _codes(one)]


def without_codes(rows: Rows, codes: MissingCodes) -> Rows:
    """The rows of a file or of a table in memory, with no value where a code stands."""
    if rows.path is not None:
        return rows.with_view(codes)
    if not rows.at_hand:
        raise ParameterError("missing-codes-with-a-table")
    table = TableInMemory(rows.data)
    table.check([*codes.columns])
    changed: dict[str, Any] = {}
    for name in [name for name in table.names if codes.codes_of(name)]:
        is_code = _found(table.columns([name])[name], codes.codes_of(name))
        if is_code.any():
            changed[name] = _emptied(table.column(name), is_code)
    return Rows.of(with_columns(rows.data, changed)) if changed else rows


def _emptied(column: Any, where: Array) -> Any:
    kind = type(column).__module__.partition(".")[0]
    if kind == "pandas":
        wide = {"i": "Int64", "u": "UInt64", "b": "boolean"}.get(getattr(column.dtype, "kind", ""), "")
        return (column.astype(wide) if wide and isinstance(column.dtype, np.dtype) else column).mask(where)
    if kind == "polars":
        return column.set(type(column)(where), None)
    if kind == "pyarrow":
        return _nulled(column.combine_chunks() if hasattr(column, "combine_chunks") else column, where)
    return [None if empty else value for value, empty in zip(column, where.tolist(), strict=True)]


def _nulled(array: Any, where: Array) -> Any:
    arrow, compute = require(), require("pyarrow.compute")
    if arrow.types.is_dictionary(array.type):
        indices = compute.if_else(arrow.array(where), arrow.scalar(None, array.type.index_type), array.indices)
        return arrow.DictionaryArray.from_arrays(indices, array.dictionary, ordered=array.type.ordered)
    return compute.if_else(arrow.array(where), arrow.scalar(None, array.type), array)


def _found(array: Any, codes: Iterable[str]) -> Array:
    """Where one of the codes stands: texts as they are written, numbers by their value."""
    arrow, compute = require(), require("pyarrow.compute")
    kind = array.type
    if arrow.types.is_dictionary(kind):
        among = np.append(_found(array.dictionary, codes), False)
        places = array.indices.cast(arrow.int64()).fill_null(len(array.dictionary))
        return np.asarray(among[places.to_numpy(zero_copy_only=False)])
    if arrow.types.is_string(kind) or arrow.types.is_large_string(kind):
        is_code = compute.is_in(array, value_set=arrow.array([*codes], kind))
    elif arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_decimal(kind):
        numbers = arrow.array([number for code in codes for number in _numbers(code)], arrow.float64())
        is_code = compute.is_in(array.cast(arrow.float64(), safe=False), value_set=numbers)
    else:
        return np.zeros(len(array), dtype=np.bool_)
    return np.asarray(is_code.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _numbers(code: str) -> list[float]:
    try:
        return [float(code)]
    except ValueError:
        return []


class RowsWithoutCodes:
    """Rows of a ``source`` in which codes of missing values are replaced."""

    def __init__(self, source: Source, codes: MissingCodes) -> None:
        self.source, self._codes = source, codes
        self.style, self.done, self.close = source.style, source.done, source.close
        schema = source.schema
        for place, one in enumerate(schema):
            schema = schema.set(place, one.with_nullable(True)) if codes.codes_of(one.name) else schema
        self.schema = schema

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        arrow = require()
        for batch in self.source.batches(only):
            columns = [self._read(name, column) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
            fields = [
                one.with_nullable(True).with_type(column.type)
                for one, column in zip(batch.schema, columns, strict=True)
            ]
            yield arrow.RecordBatch.from_arrays(columns, schema=arrow.schema(fields, batch.schema.metadata))

    def _read(self, name: str, column: Any) -> Any:
        codes = self._codes.codes_of(name)
        is_code = _found(column, codes) if codes else np.zeros(0, dtype=np.bool_)
        return _nulled(column, is_code) if is_code.any() else column

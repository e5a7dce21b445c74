"""Tables in memory as rows to be read batch by batch, and back into the kind of table that was given.

Tables of any kind, by column: files, pandas, polars, Arrow, or a mapping from names to columns; as Arrow columns.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maskwell.core.phrases import fault_of
from maskwell.engines.arrow_arrays import reason_of, require
from maskwell.engines.arrow_checks import REPORTS, check_column_type, validated_values
from maskwell.engines.file_kinds import BATCH_ROWS, Coded, Source, engine_of, no_column, open_source
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.errors import DataFileError, MaskwellError, WrongTypeError


class MemoryRows:
    """The rows of a table of pandas, polars or Arrow, or of a mapping from names to columns."""

    style = None

    def __init__(self, data: Any) -> None:
        self._table = validated_values(_arrow(data))
        self._given = data
        self.schema = self._table.schema
        if not len(self._table):
            raise DataFileError("the table has no rows", hint="give a table with at least one row")

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        table = self._table if only is None else self._table.select(sorted(only))
        yield from table.to_batches(max_chunksize=BATCH_ROWS)

    def done(self) -> float | None:
        """Everything is at hand."""
        return 1.0

    def close(self) -> None:
        """Nothing is open."""

    def like_given(self, batches: Sequence[Any], schema: Any) -> Any:
        """Rows as a table of the kind that was given; an index of pandas starts anew."""
        table = require().Table.from_batches(batches, schema)
        kind = type(self._given).__module__.partition(".")[0]
        if kind == "pandas":
            return table.to_pandas()
        if kind == "polars":
            return importlib.import_module("polars").from_arrow(table)
        return table.to_pydict() if isinstance(self._given, Mapping) else table


def _arrow(data: Any) -> Any:
    arrow = require()
    try:
        if isinstance(data, arrow.Table):
            return data
        if isinstance(data, Mapping):
            return arrow.table(dict(data))
        if hasattr(data, "to_arrow"):
            return data.to_arrow()
        if type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
            return arrow.Table.from_pandas(data, preserve_index=False)
    except (arrow.ArrowException, TypeError, ValueError) as error:
        raise WrongTypeError(
            f"the table cannot be read: {reason_of(error)}",
            hint="give columns of one kind of value each",
            values=fault_of(error, 200),
        ) from None
    raise WrongTypeError(
        f"a table is needed, not a {type(data).__name__}",
        hint="give a DataFrame of pandas or polars, an Arrow table, or a dictionary of columns",
    )


class Table(ABC):
    """Columns by name.

    Attributes
    ----------
    names
        All columns there are.
    where
        What to call the table in messages.
    texts_only
        Whether numbers come as text, as in a CSV file.
    labels
        What a file says about its columns, such as labels of values; empty where it says nothing.
    """

    names: list[str]
    where: str
    texts_only: bool
    labels: Mapping[str, ColumnLabels]

    @abstractmethod
    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns, each one Arrow array."""

    def check(self, names: Sequence[str]) -> None:
        """Raise for the first name that is no column."""
        for name in names:
            if self.names.count(name) != 1:
                raise no_column(self.names, name, self.where)

    def _readable(self, name: str, column: Any, *, checked: bool) -> Any:
        """A column of a type that can be used, as one Arrow array."""
        array = _array(column, checked=checked)
        check_column_type(require().field(name, array.type), REPORTS)
        return array


class MemoryTable(Table):
    """A table that is in memory already."""

    texts_only = False

    def __init__(self, names: Sequence[str], pick: Any) -> None:
        self.names, self.where, self._pick = [*map(str, names)], "the table", pick
        self.labels = {}

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns, each one Arrow array."""
        self.check(names)
        arrow = require()
        try:
            return {name: self._readable(name, self._pick(name), checked=False) for name in names}
        except MaskwellError:
            raise
        except (arrow.ArrowException, TypeError, ValueError) as error:
            raise WrongTypeError(
                f"a column cannot be read: {reason_of(error)}",
                hint="give columns of one kind of value each",
                values=fault_of(error, 200),
            ) from None


class FileTable(Table):
    """A file that is open; only the columns that are asked for are read."""

    def __init__(self, path: str, source: Source) -> None:
        self.names, self.where = list(source.schema.names), path
        self._source, self.texts_only = source, engine_of(path).texts_only
        self.labels = source.style.columns if isinstance(source.style, Labels) else {}

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Some columns, each one Arrow array; a file is read once."""
        self.check(names)
        arrow = require()
        positions = sorted(self.names.index(name) for name in names)
        kept = [self.names[i] for i in positions]
        batches = list(self._source.batches(positions))
        if not sum(map(len, batches)):
            raise DataFileError(f"{self.where} has no rows", hint="give a file with at least one row", path=self.where)
        read = arrow.Table.from_batches(batches)
        return {name: self._readable(name, read.column(place), checked=True) for place, name in enumerate(kept)}


@contextmanager
def open_table(data: Any, coded: Coded | None = None) -> Iterator[Table]:
    """A table of any kind, or the path of a file; the columns ``coded`` hold these categories, maybe as labels."""
    if isinstance(data, str | Path):
        with open_source(str(data), coded=coded or {}) as source:
            yield FileTable(str(data), source)
        return
    if isinstance(data, Mapping):
        yield MemoryTable(list(data), data.__getitem__)
    elif hasattr(data, "column_names") and hasattr(data, "column"):
        yield MemoryTable(data.column_names, data.column)
    elif hasattr(data, "columns") and hasattr(data, "__getitem__"):
        yield MemoryTable(list(data.columns), data.__getitem__)
    else:
        raise WrongTypeError(
            f"a table is needed, not a {type(data).__name__}",
            hint="give a DataFrame of pandas or polars, an Arrow table, a dictionary of columns, or a path",
        )


def _array(values: Any, *, checked: bool = True) -> Any:
    """A column as one Arrow array; one that no file reader has checked is checked here."""
    arrow = require()
    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    if not isinstance(values, arrow.Array | arrow.ChunkedArray):
        values = arrow.array(values, from_pandas=True)
    if not checked:
        values = validated_values(values)
    return values.combine_chunks() if isinstance(values, arrow.ChunkedArray) else values

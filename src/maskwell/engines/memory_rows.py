"""Tables in memory as rows to be read batch by batch, and back into the kind of table that was given."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maskwell.core.phrases import fault_of
from maskwell.engines.arrow import reason_of, require
from maskwell.engines.base import BATCH_ROWS
from maskwell.engines.validation import validated_values
from maskwell.errors import DataFileError, WrongTypeError


class MemoryTable:
    """A table in memory where the path of a file could stand; messages call it "the table"."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __str__(self) -> str:
        return "the table"

    __repr__ = __str__


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

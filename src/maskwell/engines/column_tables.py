"""Tables of any kind, by column, as Arrow arrays; one in memory also gives and takes its own columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from maskwell.core.arguments import Array
from maskwell.core.phrases import fault_of
from maskwell.engines.arrow_arrays import (
    REPORTS,
    arrow_values,
    check_column_type,
    described,
    reason_of,
    require,
    size_of,
    table_without_views,
    without_traces,
)
from maskwell.engines.arrow_checks import validated_values
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.engines.row_sources import Coded, RowPass, Source, engine_of, no_column
from maskwell.engines.rows import Rows, is_spark, not_on_spark
from maskwell.errors import MaskwellError, TooLargeError, WrongTypeError

MOST_FROM_SPARK = 1 << 31  # bytes of a table of Spark that may be brought to this machine


class Table(ABC):
    """Columns by name."""

    names: list[str]  # all columns there are
    where: str  # what to call the table in messages
    texts_only: bool  # whether numbers come as text, as in a CSV file
    labels: Mapping[str, ColumnLabels]  # what a file says about its columns, such as labels of values

    @abstractmethod
    def columns(self, names: Sequence[str], use: str = REPORTS) -> dict[str, Any]:
        """Some columns that can be put to this use, each one Arrow array."""

    def check(self, names: Sequence[str]) -> None:
        """Raise for the first name that is not a column."""
        times = Counter(self.names)
        for name in names:
            if times[name] != 1:
                raise no_column(self.names, name, self.where)

    def _readable(self, name: str, column: Any, use: str, *, checked: bool) -> Any:
        """A column of a type that can be used, as one Arrow array."""
        array = arrow_values(column)
        array = array if checked else validated_values(array)  # a file reader has checked it
        array = array.combine_chunks() if isinstance(array, require().ChunkedArray) else array
        check_column_type(require().field(name, array.type), use)
        return array


class TableInMemory(Table):
    """A table of pandas, polars or Arrow, or a mapping from names to columns."""

    where = "the table"
    texts_only = False

    def __init__(self, data: Any) -> None:
        if is_spark(data):
            raise not_on_spark()
        data = table_without_views(data) if isinstance(data, require().Table) else data
        self.data, self.labels = data, {}
        if isinstance(data, Mapping):
            names, self.column = list(data), data.__getitem__
        elif hasattr(data, "column_names") and hasattr(data, "column"):
            names, self.column = data.column_names, data.column
        elif hasattr(data, "columns") and hasattr(data, "__getitem__"):
            names, self.column = list(data.columns), data.__getitem__
        else:
            raise WrongTypeError("a-table-is-needed-not", name=type(data).__name__)
        self.names = [*map(str, names)]

    @property
    def rows(self) -> int:
        """How many rows there are; columns of different lengths are refused."""
        if not isinstance(self.data, Mapping):
            return len(self.data)
        lengths = {len(column) for column in self.data.values()}
        if len(lengths) > 1:
            raise WrongTypeError("the-table-cannot-be-read")
        return max(lengths, default=0)

    def field(self, name: str) -> Any:
        """What an Arrow table says of a column, None for other tables."""
        return self.data.schema.field(name) if isinstance(self.data, require().Table) else None

    def with_columns(self, columns: Mapping[str, Any], kept: Array | None, notes: Mapping[str, dict[str, Any]]) -> Any:
        """The same table with other columns, described by ``notes`` in Arrow, and of the others the kept rows only."""
        data, kind = self.data, type(self.data).__module__.partition(".")[0]
        if kind == "pandas":
            return (data if kept is None else data[kept]).assign(**columns)
        if kind == "polars":
            return (data if kept is None else data.filter(kept)).with_columns(**columns)
        if not isinstance(data, require().Table):
            return {name: columns[name] if name in columns else _rows_of(data[name], kept) for name in data}
        table = data if kept is None else data.filter(require().array(kept))
        for name, column in columns.items():
            place = self.names.index(name)
            field = described(table.schema.field(place).with_type(column.type).with_nullable(True), notes[name])
            table = table.set_column(place, field, column)
        return table.replace_schema_metadata(without_traces(self.data.schema, [*columns]).metadata)

    def columns(self, names: Sequence[str], use: str = REPORTS) -> dict[str, Any]:
        """Some columns that can be put to this use, each one Arrow array."""
        self.check(names)
        arrow = require()
        try:
            return {name: self._readable(name, self.column(name), use, checked=False) for name in names}
        except MaskwellError:
            raise
        except (arrow.ArrowException, TypeError, ValueError) as error:
            raise WrongTypeError(
                "a-column-cannot-be-read", reason_of=reason_of(error), values=fault_of(error, 200)
            ) from None


class TableInFile(Table):
    """A file that is open, or a table of Spark, of which ``most_bytes`` may come here; only some columns are read."""

    def __init__(self, where: str, source: Source, *, texts_only: bool = False, most_bytes: int | None = None) -> None:
        self.names, self.where = list(source.schema.names), where
        self._source, self.texts_only, self._most_bytes = source, texts_only, most_bytes
        self.labels = source.style.columns if isinstance(source.style, Labels) else {}

    def columns(self, names: Sequence[str], use: str = REPORTS) -> dict[str, Any]:
        """Some columns that can be put to this use, each one Arrow array; a file is read once."""
        self.check(names)
        arrow = require()
        places = {name: place for place, name in enumerate(self.names)}
        positions = sorted(places[name] for name in names)
        kept = [self.names[i] for i in positions]
        read = arrow.Table.from_batches([*self._held(RowPass(self._source, self.where, only=positions))])
        return {name: self._readable(name, read.column(place), use, checked=True) for place, name in enumerate(kept)}

    def _held(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches, all of which will be in memory; an error as soon as they are too large."""
        held = 0
        for batch in batches:
            held += size_of(batch)
            if self._most_bytes is not None and held > self._most_bytes:
                raise TooLargeError("the-columns-take-more-than-bytes", most_bytes=self._most_bytes)
            yield batch


@contextmanager
def open_table(rows: Rows, coded: Coded | None = None) -> Iterator[Table]:
    """The columns of a table wherever it is; the columns ``coded`` hold these categories, maybe as labels."""
    if rows.path is not None:
        with rows.open(coded=coded or {}) as source:
            yield TableInFile(str(rows), source, texts_only=engine_of(rows.path).texts_only)
    elif rows.at_hand:
        yield TableInMemory(rows.data)
    else:
        yield TableInFile(str(rows), rows.gathered, most_bytes=MOST_FROM_SPARK)


def _rows_of(column: Any, kept: Array | None) -> Any:
    if kept is None:
        return column
    if isinstance(column, list | tuple):
        return type(column)(value for value, stays in zip(column, kept.tolist(), strict=True) if stays)
    if hasattr(column, "filter"):  # of polars, or of Arrow
        return column.filter(kept if hasattr(column, "to_arrow") else require().array(kept))
    return column[kept]

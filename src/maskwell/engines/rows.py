"""Rows: where the rows of a table are, in a file, in memory or on a cluster, and how they are read."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from maskwell.core.arguments import check_kind
from maskwell.core.phrases import fault_of
from maskwell.engines.arrow_arrays import arrow_values, reason_of, require, table_without_views
from maskwell.engines.arrow_checks import validated_values
from maskwell.engines.input_file import InputFile
from maskwell.engines.row_sources import BATCH_ROWS, Coded, Progress, Source, ending_of, engine_of, open_source
from maskwell.errors import DataFileError, MaskwellError, ParameterError, WrongTypeError

if TYPE_CHECKING:
    from maskwell.engines.input_file import View

WRITTEN_AS = {".sas7bdat": ".xpt"}  # kinds of file that can only be read, and the kind that takes their place


class OfPart(Protocol):
    """What some work made of one part of the rows of a table."""

    @property
    def rows(self) -> int:
        """How many rows the part has."""


FoundT = TypeVar("FoundT")
PartT_co = TypeVar("PartT_co", bound=OfPart, covariant=True)
PartT = TypeVar("PartT", bound=OfPart)


@dataclass(frozen=True)
class Part(Generic[FoundT]):
    """What was found in one part of the rows of a table, and how many there were."""

    rows: int
    found: FoundT


class Work(Protocol[PartT_co]):
    """Work on the rows of a table that can be done on parts of it, each by itself, and put together afterwards."""

    def columns(self, schema: Any) -> list[str]:
        """The columns that it needs, after a look whether they can be used."""

    def __call__(self, source: Source, first_row: int | None, progress: Callable[..., None] | None) -> PartT_co:
        """What the rows of a part give, behind so many others; in the only part (None), unusable values raise."""


class Rows(ABC):
    """Where the rows of a table are, and how they are read; messages call it by ``str(rows)``.

    Attributes
    ----------
    path
        The file, folder or pattern; None for a table in memory or of Spark.
    at_hand
        Whether the rows are on this machine.
    read_once
        Whether a second look at the rows is impossible, as for standard input.
    view
        What is made of the rows before anybody sees them, or None.
    """

    path: InputFile | None = None
    at_hand, read_once = True, False
    view: View | None = None

    @staticmethod
    def of(data: Any, missing_codes: Any = None, columns: Sequence[str] | None = None) -> Rows:
        """Where the rows are: the path of a file or folder, a table of pandas, polars, Arrow or Spark, or a dict.

        ``missing_codes`` are missing values in them, or in these ``columns`` of them.

        >>> str(Rows.of("survey.parquet")), str(Rows.of({"answer": ["yes"]}))
        ('survey.parquet', 'the table')
        """
        rows = _rows_of(data)
        if missing_codes is None:
            return rows
        from maskwell.engines.missing_codes import MissingCodes, without_codes

        codes = MissingCodes.of(missing_codes)
        return without_codes(rows, codes if columns is None else codes.within(columns))

    def __repr__(self) -> str:
        return str(self)

    @property
    @abstractmethod
    def schema(self) -> Any:
        """Names and types of the columns, as an Arrow schema."""

    @property
    def data(self) -> Any:
        """The table in memory, as it was given."""
        raise ParameterError("is-not-a-table-in-memory", rows=self)

    @property
    def gathered(self) -> Source:
        """The rows of a table on this machine, for work that needs them in one place."""
        raise ParameterError("is-not-a-table-in-memory", rows=self)

    @abstractmethod
    def open(self, *, coded: Sequence[str] | Coded = (), exact: bool = False) -> AbstractContextManager[Source]:
        """Open the rows; the arguments are those of :class:`OpensSource`, and matter for files."""

    def open_stored(self, names: Sequence[str]) -> AbstractContextManager[Source]:
        """Open rows whose columns hold categories; those of SPSS, Stata and SAS come as the codes that are stored."""
        return self.open(coded=names, exact=True)

    def in_parts(
        self,
        work: Work[PartT],
        *,
        coded: Coded | None = None,
        stored: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> list[PartT]:
        """Do some work on the rows where they are: one part, but for each partition of a table of Spark."""
        opened = self.open(coded=coded or {}) if stored is None else self.open_stored(stored)
        with opened as source:
            return [work(source, None, progress)]

    @abstractmethod
    def with_view(self, view: View) -> Rows:
        """The same rows, of which something else is made before anybody sees them."""

    def with_columns(self, columns: Mapping[str, Any]) -> Rows:
        """The same rows with further columns: arrays, lists or columns of any kind, one value for each row.

        >>> Rows.of({"answer": ["yes", "no"]}).with_columns({"weight": [1.5, 2]}).schema.names
        ['answer', 'weight']
        """
        check_kind(Mapping, columns=columns)
        arrays = {name: arrow_values(values) for name, values in columns.items()}
        chunked = require().ChunkedArray
        arrays = {name: one.combine_chunks() if isinstance(one, chunked) else one for name, one in arrays.items()}
        return self._with_columns(arrays) if arrays else self

    def _with_columns(self, columns: Mapping[str, Any]) -> Rows:
        return self.with_view(partial(_WiderRows, dict(columns), self.view))


def _rows_of(data: Any) -> Rows:
    if isinstance(data, Rows):
        return data
    if isinstance(data, str | os.PathLike):
        return FileRows(os.fspath(data))
    if is_spark(data):
        from maskwell.engines.spark_frames import SparkTable

        return SparkTable(data)
    return MemoryTable(data)


class FileRows(Rows):
    """The rows of a file of any known kind, of a folder of files, of files by a pattern, or of standard input."""

    path: InputFile

    def __init__(self, path: str) -> None:
        self.path = InputFile.of(path)
        self.view, self.read_once = self.path.view, path == "-"

    def __str__(self) -> str:
        return str(self.path)

    @property
    def schema(self) -> Any:
        """Names and types of the columns, from the file."""
        with self.open() as source:
            return source.schema

    def open(self, *, coded: Sequence[str] | Coded = (), exact: bool = False) -> AbstractContextManager[Source]:
        """Open the file."""
        return open_source(self.path, coded=coded, exact=exact)

    def open_stored(self, names: Sequence[str]) -> AbstractContextManager[Source]:
        """Open the file with the codes that it stores; a kind that cannot be written comes as that in its place."""
        stored, exact = engine_of(self.path).holds_codes, ending_of(self.path) not in WRITTEN_AS
        return self.open(coded=() if stored else names, exact=exact)

    def with_view(self, view: View) -> FileRows:
        """The same file, whose rows are seen otherwise."""
        return FileRows(InputFile.of(self.path, view=view))


class MemoryTable(Rows):
    """A table of pandas, polars or Arrow, or a mapping from names to columns; messages call it "the table"."""

    def __init__(self, data: Any, view: View | None = None) -> None:
        self._data, self.view = data, view

    def __str__(self) -> str:
        return "the table"

    @property
    def data(self) -> Any:
        """The table as it was given."""
        return self._data

    @cached_property
    def rows(self) -> MemoryRows:
        """Its rows, which can be read again and again."""
        rows = MemoryRows(self._data)
        if self.view is None:
            return rows
        seen = self.view(rows, str(self))
        return MemoryRows(self._data, require().Table.from_batches(seen.batches(), seen.schema))

    @property
    def gathered(self) -> Source:
        """Its rows."""
        return self.rows

    @property
    def schema(self) -> Any:
        """Names and types of its columns."""
        return self.rows.schema

    @contextmanager
    def open(self, *, coded: Sequence[str] | Coded = (), exact: bool = False) -> Iterator[Source]:
        """Its rows: nothing needs opening."""
        yield self.rows

    def with_view(self, view: View) -> MemoryTable:
        """The same table, whose rows are seen otherwise."""
        return MemoryTable(self._data, view)

    def _with_columns(self, columns: Mapping[str, Any]) -> MemoryTable:
        data = self._data
        rows = len(next(iter(data.values()), ())) if isinstance(data, Mapping) else len(data)
        for name, values in columns.items():
            if len(values) != rows:
                raise wrong_length(name, len(values), f"{rows:,} rows")
        if hasattr(data, "with_columns"):
            import polars as pl

            columns = {name: pl.Series(name, values) for name, values in columns.items()}
        elif hasattr(data, "assign"):
            columns = {name: values.to_pandas().to_numpy() for name, values in columns.items()}
        return MemoryTable(with_columns(data, columns), self.view)


def lists_categories(column: Any) -> bool:
    """Whether pandas or polars lists the categories of a column: somebody may have put them in order.

    Older versions of polars do not report to Arrow that those of an Enum are in order.
    """
    kind = getattr(column, "dtype", None)
    return (type(kind).__module__.partition(".")[0], type(kind).__name__) in (
        ("pandas", "CategoricalDtype"),
        ("polars", "Enum"),
    )


def is_spark(data: Any) -> bool:
    """Whether something is a table of Spark; nothing is imported for that."""
    return type(data).__module__.startswith("pyspark.") and hasattr(data, "mapInArrow")


def not_on_spark() -> ParameterError:
    """The error for what is not done where the rows of Spark are."""
    return ParameterError("this-is-not-done")


class MemoryRows:
    """The rows of a table of pandas, polars or Arrow, or of a mapping from names to columns."""

    style = None

    def __init__(self, data: Any, table: Any = None) -> None:
        self._given = data
        self._table = validated_values(_arrow(data)) if table is None else table
        self.schema = self._table.schema
        if not len(self._table):
            raise DataFileError("the-table-has-no-rows")

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        table = self._table if only is None else self._table.select(sorted(only))
        yield from table.to_batches(max_chunksize=BATCH_ROWS)

    def done(self) -> float | None:
        """Everything is at hand."""
        return 1.0

    def close(self) -> None:
        """Nothing is open."""

    def has_categories(self, name: str) -> bool:
        """Whether pandas or polars lists the categories of a column."""
        return not isinstance(self._given, Mapping) and lists_categories(self._given[name])

    def like_given(self, batches: Sequence[Any], schema: Any) -> Any:
        """Rows as a table of the kind that was given; an index of pandas starts anew."""
        table = require().Table.from_batches(batches, schema)
        kind = type(self._given).__module__.partition(".")[0]
        if kind == "pandas":
            return table.to_pandas()
        if kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return table.to_pydict() if isinstance(self._given, Mapping) else table


def _arrow(data: Any) -> Any:
    if is_spark(data):
        raise not_on_spark()
    arrow = require()
    try:
        if isinstance(data, arrow.Table):
            return table_without_views(data)
        if isinstance(data, Mapping):
            return arrow.table({name: arrow_values(column) for name, column in data.items()})
        if hasattr(data, "to_arrow"):
            return data.to_arrow()
        if type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
            return arrow.Table.from_pandas(data, preserve_index=False)
    except MaskwellError:
        raise
    except OverflowError as error:
        raise DataFileError("a-column-of-the-table-holds-whole") from error
    except (arrow.ArrowException, TypeError, ValueError) as error:
        raise WrongTypeError(
            "the-table-cannot-be-read-give", reason_of=reason_of(error), values=fault_of(error, 200)
        ) from None
    raise WrongTypeError("a-table-is-needed-not-a", name=type(data).__name__)


class _WiderRows:
    """Rows with further columns behind their own, from Arrow arrays with one value for each row."""

    def __init__(self, columns: Mapping[str, Any], before: View | None, source: Source, path: str) -> None:
        source = source if before is None else before(source, path)
        self._source, self._columns, self._path = source, [*columns.items()], path
        self.style, self.done, self.close = source.style, source.done, source.close
        self._own = len(source.schema)
        self.schema = source.schema
        for name, values in self._columns:
            self.schema = self.schema.append(require().field(name, values.type))

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        chosen = range(len(self.schema)) if only is None else sorted(only)
        own, first = [place for place in chosen if place < self._own], 0
        added = [self._columns[place - self._own] for place in chosen if place >= self._own]
        for batch in self._source.batches(own or [0]):
            columns = list(batch.columns) if own else []
            more = [values.slice(first, len(batch)) for _, values in added]
            first += len(batch)
            if any(first > len(values) for _, values in self._columns):
                raise wrong_length(self._columns[0][0], len(self._columns[0][1]), f"more rows of {self._path}")
            fields = [self.schema.field(place) for place in chosen]
            yield require().RecordBatch.from_arrays([*columns, *more], schema=require().schema(fields))
        if any(first < len(values) for _, values in self._columns):
            raise wrong_length(self._columns[0][0], len(self._columns[0][1]), f"{first:,} rows of {self._path}")


def wrong_length(name: str, given: int, rows: str) -> DataFileError:
    """The error for an array that does not have one value for each row."""
    return DataFileError("name-has-given-values-for-rows", name=name, given=given, rows=rows)


def with_columns(data: Any, columns: Mapping[str, Any]) -> Any:
    """A table in memory of the same kind with some columns in place of its own, or behind them."""
    if isinstance(data, require().Table):
        for name, column in columns.items():
            place = data.column_names.index(name) if name in data.column_names else None
            data = data.append_column(name, column) if place is None else data.set_column(place, name, column)
        return data
    if isinstance(data, Mapping):
        return {**data, **columns}
    return data.with_columns(**columns) if hasattr(data, "with_columns") else data.assign(**columns)

"""Engines: one module for each kind of file, which defines an :class:`Engine` and has its endings in ``ENGINES``.

A module is imported on first use. Rows travel as Arrow record batches, never as a whole table.
"""

from __future__ import annotations

import difflib
import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias

from maskwell.core.categories import Categories
from maskwell.core.phrases import HINT, listed
from maskwell.engines.arrow_arrays import VALUES, check_column_type
from maskwell.engines.file_parts import PartRows, parts_of
from maskwell.engines.input_file import InputFile
from maskwell.errors import DataFileError

Coded: TypeAlias = Mapping[str, Categories | None]
"""Columns that hold categories, with the categories that are looked for in them."""

BATCH_ROWS = 1 << 16  # rows at a time: small enough for the processor's cache, large enough that Python does not count
BATCH_CELLS = 1 << 22  # values at a time, so that memory stays flat in files of thousands of columns too
MOST_COLUMNS = 50_000  # columns that a file to be written may have


def rows_of_cells(columns: int) -> int:
    """Rows that so many columns allow at a time."""
    return max(1, BATCH_CELLS // max(1, columns))


class Source(Protocol):
    """Rows that are read once, batch after batch."""

    @property
    def schema(self) -> Any:
        """Names and types of the columns, as an Arrow schema."""

    @property
    def style(self) -> Any:
        """What a file of the same kind should keep besides the rows (such as line ends); None when there is nothing."""

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches of any length; ``only`` these columns, in the order of the file."""

    def done(self) -> float | None:
        """Share of the file read so far, None where it cannot be known."""

    def close(self) -> None:
        """Give back the file."""


class Sink(Protocol):
    """Takes rows, batch after batch."""

    def write(self, batch: Any) -> None:
        """Add rows."""

    def close(self) -> None:
        """Write what is left; the file itself stays open."""

    def abandon(self) -> None:
        """Give up: the file will be thrown away."""


class OpensSource(Protocol):
    """How an engine opens a file for reading."""

    def __call__(self, path: str, ending: str, *, coded: Coded, exact: bool, copied: bool) -> Source:
        """Open a file for reading.

        The columns ``coded`` may come as dictionaries, whatever their type, and as labels of their values where the
        categories that are looked for are labels (None: wherever there are labels). ``exact`` says that the rows go
        into a file of the same kind, so that dates and missing codes may come as they are stored. ``copied`` says that
        all columns of texts may come as dictionaries, where that is how they are stored: they are only copied.
        """


class OpensSink(Protocol):
    """How an engine starts a file."""

    def __call__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any) -> Sink:
        """Start writing rows of this schema; ``style`` comes from a source."""


@dataclass(frozen=True)
class Engine:
    """What the module of one kind of file offers."""

    open_source: OpensSource
    open_sink: OpensSink
    texts_only: bool = False  # whether it holds nothing but text
    holds_bytes: bool = False  # whether it can hold bytes; set reports are written as texts of 0 and 1 otherwise
    holds_codes: bool = False  # whether it holds codes with their labels, as the files of SPSS, Stata and SAS do
    shows_cuts: bool = True  # whether a file reveals in which pieces the sink received its rows
    takes_dictionaries: bool = False  # its sink writes a dictionary of texts as it writes texts


def _engine(kind: str) -> Engine:
    """The engine of a kind of file, which is loaded on first use."""
    if kind == "text":
        from maskwell.engines.delimited import DELIMITED

        return DELIMITED
    if kind == "labelled":
        from maskwell.engines.labelled import LABELLED

        return LABELLED
    if kind == "excel":
        from maskwell.engines.excel_files import EXCEL

        return EXCEL
    from maskwell.engines.arrow_files import IPC, PARQUET

    return PARQUET if kind == "parquet" else IPC


COMPRESSED = (".gz", ".bz2", ".zst")  # endings behind those of text files

ENGINES: Mapping[str, Callable[[], Engine]] = {
    **{kind + packed: partial(_engine, "text") for kind in (".csv", ".tsv") for packed in ("", *COMPRESSED)},
    ".parquet": partial(_engine, "parquet"),
    **dict.fromkeys((".arrow", ".arrows"), partial(_engine, "arrow")),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat", ".xpt"), partial(_engine, "labelled")),
    ".xlsx": partial(_engine, "excel"),
}

_OTHERS = [ending for ending in ENGINES if not ending.startswith((".csv", ".tsv")) and ending != ".arrows"]
KNOWN = f"known extensions: .csv .tsv (or {' '.join(COMPRESSED)}) {' '.join(_OTHERS)}"

STREAMS = {"csv": ".csv", "arrow": ".arrows"}
"""Kinds of rows on standard output, with the endings of files that hold the same."""

LONG_NAME = 200  # a longer name is not compared with those there are: that takes long, and helps nobody


def ending_of(path: str) -> str:
    """The ending that names the kind of a file, or of the files in a folder; ``-`` is CSV on standard streams."""
    if path == "-":
        return ".csv"
    name = Path(path).name.lower()
    for ending in sorted(ENGINES, key=len, reverse=True):
        if name.endswith(ending):
            return ending
    if is_several(path):
        return ending_of(parts_of(path)[0].path)
    if ending := Path(name).suffix:
        raise DataFileError("the-ending-is-not-known", ending=ending, known=KNOWN, path=path)
    raise DataFileError("has-no-ending-that-tells-what-it", hint=KNOWN, path=path)


def engine_of(path: str) -> Engine:
    """The engine for a file."""
    return ENGINES[ending_of(path)]()


@contextmanager
def open_source(
    path: str, *, coded: Sequence[str] | Coded = (), exact: bool = False, copied: bool = False
) -> Iterator[Source]:
    """Open a file of any known kind; the other arguments are those of :class:`OpensSource`."""
    asked = InputFile.of(path)
    ending, engine, expected = ending_of(path), _engine("arrow") if _is_arrow_stream(path) else engine_of(path), coded
    if not isinstance(expected, Mapping):
        expected = dict.fromkeys(expected)

    def open_part(file: str) -> Source:
        _check_part(file, ending, path)
        part = InputFile.of(file, asked.form)
        return _WatchedFile(file, partial(engine.open_source, part, ending, coded=expected, exact=exact, copied=copied))

    if not is_several(path):
        with closing(open_part(path)) as source:
            yield asked.seen(source)
        return
    if engine.holds_codes:
        raise DataFileError("several-files-each-with-labels", ending=ending, path=path)
    with closing(PartRows(parts_of(path), open_part, coded=expected, copied=copied)) as rows, rows.row_errors():
        yield asked.seen(rows)


def is_several(path: str) -> bool:
    """Whether a path names a folder, or files by a pattern."""
    if path == "-" or "\0" in path or os.path.isfile(path):  # noqa: PTH113 - False for names that cannot be
        return False
    return os.path.isdir(path) or glob.has_magic(path)  # noqa: PTH112


def input_files(path: str) -> list[str]:
    """The files that are read where a path is named."""
    return [part.path for part in parts_of(path)] if is_several(path) else [path]


class _WatchedFile:
    """A file that is refused at the end if it changed meanwhile: what was read is then unknown."""

    def __init__(self, path: str, opened: Callable[[], Source]) -> None:
        self._path, self._state = path, file_state(path)
        self._source = opened()
        self.schema, self.style = self._source.schema, self._source.style
        self.done, self.close = self._source.done, self._source.close

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        yield from self._source.batches(only)
        check_unchanged(self._path, self._state)


def check_unchanged(path: str, state: tuple[int, ...] | None) -> None:
    """Raise where a file is not as it was when it had this state."""
    if file_state(path) != state:
        raise DataFileError("was-changed-while-it-was-read", path=path)


def file_state(path: str) -> tuple[int, ...] | None:
    """What changes with a file; None for standard input and for a file that is gone."""
    try:
        status = None if path == "-" else os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return None if status is None else (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


_STREAM = b"\xff\xff\xff\xff"


def _is_arrow_stream(path: str) -> bool:
    """Whether standard input begins as a stream of Arrow does, and no text."""
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    if path != "-" or peek is None:
        return False
    try:
        start = bytes(peek(len(_STREAM))[: len(_STREAM)])
    except (OSError, ValueError):  # the reader reports what is wrong
        return False
    return bool(start) and _STREAM.startswith(start)


def _check_part(file: str, ending: str, path: str) -> None:
    """Raise for a file without rows or of an unknown kind, or of another kind than the rest of its folder."""
    if file == "-":
        return
    if not Path(file).is_file():
        hint = "CSV from a pipe is read with - in place of the path"
        if Path(file).exists():
            raise DataFileError("is-a-pipe-or-a-device", hint=hint, path=file)
        raise DataFileError("does-not-exist", hint="give the path of a data file", path=file)
    if not file.lower().endswith(ending):
        raise DataFileError("holds-which-is-no-file", path_shown=path, ending=ending, path=file)
    if Path(file).stat().st_size == 0:
        raise DataFileError("path-is-empty-give-a", path=file)


Progress = Callable[[int, float | None], None]
"""Called with the rows so far and, if known, the share of the work that is done."""


def steps(progress: Progress | None, count: int) -> list[Progress | None]:
    """What each of several passes reports to, so that together they are one work, each an equal part of it."""
    if progress is None:
        return [None] * count

    def step(place: int) -> Progress:
        return lambda rows, share: progress(rows, None if share is None else (place + share) / count)

    return [step(place) for place in range(count)]


PIECE_BYTES = 1 << 22  # bytes that what is made of the rows at hand may take


class RowPass:
    """One pass over rows in batches; a source without rows is refused, but as a part behind ``first_row`` others."""

    def __init__(
        self,
        source: Source,
        path: object,
        *,
        only: Sequence[int] | None = None,
        rows_at_once: int | None = None,
        progress: Progress | None = None,
        first_row: int | None = None,
    ) -> None:
        self._source, self._path, self._only = source, path, only
        self._rows_at_once, self._progress, self._first_row = rows_at_once, progress, first_row
        self.rows = 0

    @property
    def before(self) -> int:
        """How many rows of the whole table came before the batch at hand."""
        return self.rows + (self._first_row or 0)

    def __iter__(self) -> Iterator[Any]:
        batches = self._source.batches(self._only)
        for batch in batches if self._rows_at_once is None else pieces(batches, self._rows_at_once):
            yield batch
            self.rows += len(batch)
            if self._progress is not None:
                self._progress(self.rows, self._source.done())
        if self.rows == 0 and self._first_row is None:
            raise DataFileError("path-has-no-rows-give-a", path=self._path)


def pieces(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Batches of at most so many rows."""
    for batch in batches:
        for start in range(0, len(batch), rows):
            yield batch.slice(start, rows)


@contextmanager
def open_sink(file: BinaryIO, path: str, schema: Any, *, style: Any = None) -> Iterator[Sink]:
    """Write rows into an open file, in the kind that the ending of ``path`` names."""
    if len(schema) > MOST_COLUMNS:
        raise DataFileError("columns-a-file-that-is-written", schema_count=len(schema), most_columns=MOST_COLUMNS)
    sink = engine_of(path).open_sink(file, ending_of(path), schema, style=style)
    try:
        yield sink
        sink.close()
    except BaseException:
        sink.abandon()
        raise


def lost_in(style: Any, path: str) -> tuple[str, ...]:
    """What the style of a source holds and a file of this kind cannot, in words."""
    return tuple(style.lost_in(ending_of(path))) if hasattr(style, "lost_in") else ()


def find_column(schema: Any, name: str, path: object, use: str = VALUES) -> int:
    """The position of a column that can be put to this use, or an error that names those there are."""
    try:
        positions = schema.get_all_field_indices(name)
    except UnicodeEncodeError:  # half a character, which is in no name
        positions = []
    if len(positions) != 1:
        raise no_column(schema.names, name, str(path))
    check_column_type(schema.field(positions[0]), use)
    return int(positions[0])


def find_columns(schema: Any, names: Iterable[str], path: object, use: str = VALUES) -> list[int]:
    """The positions of several columns."""
    return [find_column(schema, name, path, use) for name in names]


def no_column(names: Sequence[str], name: str, where: str) -> DataFileError:
    """The error for a name without a column, or of several; ``where`` is the name of the table."""
    times = sum(one == name for one in names)
    if times > 1:
        return DataFileError("has-columns-named", where=where, times=times, column=name)
    close = difflib.get_close_matches(name, names, n=1) if len(name) <= LONG_NAME else []
    there = listed(names, len(names), HINT - len("its columns: "))
    hint = f"did you mean {close[0]!r}?" if close else f"its columns: {there}"
    if len(names) == 1 and ";" in names[0]:
        hint = "the columns seem to be separated by ';': save the file with commas"
    return DataFileError("where-has-no-column-column", hint=hint, where=where, column=name, columns=list(names))

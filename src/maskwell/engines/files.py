"""Files by their ending: which engine reads and writes them."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from maskwell.core.phrases import HINT, listed
from maskwell.engines.base import ENGINES, MOST_COLUMNS, Coded, Engine, Sink, Source
from maskwell.engines.kinds import VALUES, check_column_type
from maskwell.engines.memory_rows import MemoryRows, MemoryTable
from maskwell.errors import DataFileError

LONG_NAME = 200
"""A longer name is not compared with those there are: that takes long, and helps nobody."""


def ending_of(path: str) -> str:
    """The ending that tells what a file is; ``-`` stands for CSV on standard input or output.

    >>> ending_of("answers.csv.gz"), ending_of("Answers.PARQUET"), ending_of("-")
    ('.csv.gz', '.parquet', '.csv')
    """
    if path == "-":
        return ".csv"
    name = Path(path).name.lower()
    for ending in sorted(ENGINES, key=len, reverse=True):
        if name.endswith(ending):
            return ending
    known = f"known endings: {' '.join(ENGINES)}"
    if ending := Path(name).suffix:
        raise DataFileError(f"{path}: the ending {ending} is not known", hint=f"use CSV; {known}", path=path)
    raise DataFileError(f"{path} has no ending that tells what it is", hint=known, path=path)


def engine_of(path: str) -> Engine:
    """The engine for a file."""
    return cast(Engine, importlib.import_module(ENGINES[ending_of(path)]))


@contextmanager
def open_source(path: str | MemoryTable, *, coded: Sequence[str] | Coded = (), exact: bool = False) -> Iterator[Source]:
    """Open a file of any known kind, or a table in memory; ``coded`` and ``exact`` as in :class:`Engine`."""
    if isinstance(path, MemoryTable):
        yield MemoryRows(path.data)
        return
    engine = engine_of(path)
    if path != "-" and not Path(path).is_file():
        raise _no_file(path)
    if path != "-" and Path(path).stat().st_size == 0:
        raise DataFileError(f"{path} is empty", hint="give a file with at least one row", path=path)
    looked_for = coded if isinstance(coded, Mapping) else dict.fromkeys(coded)
    source = engine.open_source(path, ending_of(path), coded=looked_for, exact=exact)
    try:
        yield source
    finally:
        source.close()


def _no_file(path: str) -> DataFileError:
    place, hint = Path(path), "give the path of a data file"
    if place.is_dir():
        return DataFileError(f"{path} is a folder", hint=hint, path=path)
    if place.exists():
        hint = "CSV from a pipe is read with - in place of the path"
        return DataFileError(f"{path} is a pipe or a device, not a file", hint=hint, path=path)
    return DataFileError(f"{path} does not exist", hint=hint, path=path)


@contextmanager
def open_sink(file: BinaryIO, path: str, schema: Any, *, style: Any = None) -> Iterator[Sink]:
    """Write rows into an open file, in the kind that ``path`` tells."""
    if len(schema) > MOST_COLUMNS:
        raise DataFileError(
            f"{len(schema):,} columns: a file that is written has at most {MOST_COLUMNS:,}",
            hint="make a file with the columns that are needed, and give that",
        )
    sink = engine_of(path).open_sink(file, ending_of(path), schema, style=style)
    try:
        yield sink
        sink.close()
    except BaseException:
        sink.abandon()
        raise


def lost_in(style: Any, path: str) -> tuple[str, ...]:
    """What the style of a source tells that a file of this kind cannot hold, in words."""
    return tuple(style.lost_in(ending_of(path))) if hasattr(style, "lost_in") else ()


def find_column(schema: Any, name: str, path: object, wanted: str = VALUES) -> int:
    """The position of a column that can be used for what is wanted, or an error that names those there are."""
    try:
        found = schema.get_all_field_indices(name)
    except UnicodeEncodeError:  # half a character, which is in no name
        found = []
    if len(found) != 1:
        raise no_column(schema.names, name, str(path))
    check_column_type(schema.field(found[0]), wanted)
    return int(found[0])


def no_column(names: Sequence[str], name: str, where: str) -> DataFileError:
    """The error for a name that is no column, or that of several; ``where`` is what the table is called."""
    times = sum(one == name for one in names)
    if times > 1:
        return DataFileError(
            f"{where} has {times} columns named {name!r}", hint="rename all but one of them", column=name
        )
    close = difflib.get_close_matches(name, names, n=1) if len(name) <= LONG_NAME else []
    hint = (
        f"did you mean {close[0]!r}?"
        if close
        else f"its columns: {listed(names, len(names), HINT - len('its columns: '))}"
    )
    if len(names) == 1 and ";" in names[0]:
        hint = "the columns seem to be separated by ';': save the file with commas"
    return DataFileError(f"{where} has no column {name!r}", hint=hint, column=name, columns=list(names))

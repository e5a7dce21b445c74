"""Several files read as one: those of a folder with partitions as Spark and Hive write them, or of a pattern."""

from __future__ import annotations

import glob
import itertools
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from maskwell.core.atomic import allowed_mode, name_folder, partial_folder
from maskwell.core.phrases import shorten
from maskwell.engines.arrow_arrays import describe, require
from maskwell.errors import DataFileError, MaskwellError

if TYPE_CHECKING:
    from maskwell.engines.row_sources import Source

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the partition of rows without a value
SAME_COLUMNS = "write all files with the same columns, of the same types, in the same order"


@dataclass(frozen=True)
class Part:
    """One file, its name within the folder that is read, and what the folders on the way state of its rows."""

    path: str
    name: str
    keys: tuple[tuple[str, str | None], ...] = ()


def parts_of(path: str) -> list[Part]:
    """The files of a folder or a pattern, sorted by their names; at least one."""
    if os.path.isdir(path):  # noqa: PTH112
        root, files = path, []
        for place, folders, names in os.walk(path):
            folders[:] = [name for name in folders if not _is_passed_over(name)]
            files += [os.path.join(place, name) for name in names if not _is_passed_over(name)]  # noqa: PTH118
        files.sort(key=lambda file: Path(file).parts)
        missing = f"{path} holds no data files", "give a folder with files of one kind, such as .parquet"
    else:
        folders = [*itertools.takewhile(lambda part: not glob.has_magic(part), Path(path).parts)]
        root, files = str(Path(*folders)), sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))  # noqa: PTH207
        missing = f"no file name matches {path}", "check the pattern; * matches any characters"
    if not files:
        raise DataFileError(missing[0], hint=missing[1], path=path)
    parts = []
    for file in files:
        name = os.path.relpath(file, root)
        pairs = (folder.partition("=") for folder in Path(name).parts[:-1] if "=" in folder.strip("="))
        keys = ((unquote(key), None if value == NO_VALUE else unquote(value)) for key, _, value in pairs)
        parts.append(Part(file, name, tuple(keys)))
    return parts


def check_outside(output: str, path: str) -> None:
    """Raise for an output within the folder that is read: the next run would read it too."""
    if output == "-" or not os.path.isdir(path):  # noqa: PTH112
        return
    if Path(os.path.realpath(path)) in Path(os.path.realpath(output)).parents:
        raise DataFileError("the-output-lies-in-which", path_shown=path, path=output)


def _is_passed_over(name: str) -> bool:
    return name.startswith(("_", ".")) and "=" not in name


class PartRows:
    """The rows of several files, one after the other; columns ``coded``, or with ``copied`` all, may be coded."""

    def __init__(
        self, parts: Sequence[Part], open_part: Callable[[str], Source], *, coded: Collection[str], copied: bool
    ) -> None:
        self._parts, self._open_part, self._coded, self._copied = parts, open_part, coded, copied
        self.names = [part.name for part in parts]  # seen from the folder that is read
        self.paths = tuple(part.path for part in parts)
        self._sizes = [_size(part.path) for part in parts]
        self._starts: list[int] = []
        self._seen = 0
        self._first = self._current = open_part(parts[0].path)
        self.style = self._first.style
        self._stored = self._first.schema
        self.keys = [name for name, _ in parts[0].keys if name not in self._stored.names]
        self.schema = self._stored
        for name in self.keys:
            self.schema = self.schema.append(require().field(name, require().string()))

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        kinds: list[Any] | None = None
        self._seen, self._starts, stored = 0, [], only
        if only is not None and self.keys:  # one column of a file at least, so that its rows can be counted
            stored = [place for place in sorted(only) if place < len(self._stored)] or [0]
        for place, part in enumerate(self._parts):
            self._starts.append(self._seen)
            for batch in self._opened(place).batches(stored):
                self._seen += len(batch)
                if self.keys:
                    batch = self._with_keys(batch, part, only)
                kinds = kinds or [column.type for column in batch.columns]
                yield _in_kinds(batch, kinds)

    @property
    def place(self) -> int:
        """Which file the last batch came from."""
        return len(self._starts) - 1

    def done(self) -> float | None:
        """Share of the bytes read so far."""
        place, share = max(0, len(self._starts) - 1), self._current.done()
        total = sum(self._sizes)
        return min(1.0, (sum(self._sizes[:place]) + self._sizes[place] * (share or 0)) / total) if total else None

    def close(self) -> None:
        """Give back the files."""
        self._first.close()
        if self._current is not self._first:
            self._current.close()

    @contextmanager
    def row_errors(self) -> Iterator[None]:
        """Say in which of several files a row is that an error names."""
        try:
            yield
        except MaskwellError as error:
            row = _ROW.search(error.message)
            if row and self._starts and not error.message.startswith(self.paths):
                number = int(row.group(1).replace(",", ""))
                place = bisect_right(self._starts, number - 1) - 1
                rest, where = error.message[row.end() :], f"row {number - self._starts[place]:,} of "
                start, name = f"{error.message[: row.start()]}{where}", self.names[place]
                room = max(LINE - len(start + rest), LEAST)  # the last characters of a name distinguish it
                error.message = f"{start}{name if len(name) <= room else f'…{name[1 - room :]}'}{rest}"
                error.args = (error.message,)
                error.objects["path"] = self._parts[place].path
            raise

    def _opened(self, place: int) -> Source:
        if place == 0:
            self._current = self._first
            return self._first
        if self._current is not self._first:
            self._current.close()
        self._current = self._open_part(self._parts[place].path)
        self._check_alike(place)
        return self._current

    def _check_alike(self, place: int) -> None:
        part, first, schema = self._parts[place], self._parts[0].name, self._current.schema
        stored = {*schema.names}
        names = [name for name, _ in part.keys if name not in stored]
        if names != self.keys:
            lies, others = (", ".join(map(repr, some)) or "none" for some in (names, self.keys))
            fault = f"{part.path} lies in the partitions {lies}, and {first} in {others}"
            raise DataFileError(fault, hint="give one level of folders for each partition", path=part.path)
        fault, column = _difference(schema, self._stored, first)
        if fault:
            raise DataFileError("path-fault", fault=fault, path=part.path, column=column)

    def _with_keys(self, batch: Any, part: Part, only: Sequence[int] | None) -> Any:
        values = dict(part.keys)
        columns = [*batch.columns]
        if only is not None and not any(place < len(self._stored) for place in only):
            columns = []
        listed = self.schema.names  # a new list each time it is asked for
        names = listed if only is None else [listed[place] for place in sorted(only)]
        arrow = require()
        for name in names[len(columns) :]:
            column = arrow.array([values[name]], arrow.string()).dictionary_encode().take(arrow.repeat(0, len(batch)))
            columns.append(column if self._copied or name in self._coded else column.cast(arrow.string()))
        return arrow.RecordBatch.from_arrays(columns, names)


@contextmanager
def same_files(rows: PartRows, output: str, open_file: Callable[[str], AbstractContextManager[Any]]) -> Iterator[Any]:
    """Write rows into a new folder, into files of the names that they came from; it gets its name when it is whole."""
    target = _check_new(output)
    with partial_folder(target) as partial:
        with ExitStack() as stack:
            writer = _SameFiles(rows, lambda name: stack.enter_context(open_file(_placed(partial, name))), stack.close)
            yield writer
            writer.finish()
        # Nobody may look into the new folder who may not look into all of those that are read.
        mode, group = allowed_mode(0o777), partial.stat().st_gid
        for status in map(os.stat, {os.path.dirname(path) or "." for path in rows.paths}):  # noqa: PTH120
            mode &= status.st_mode if status.st_gid == group else status.st_mode & 0o707
        for folder in [partial, *(place for place in partial.rglob("*") if place.is_dir())]:
            folder.chmod(mode | 0o700)
        try:
            name_folder(partial, target)
        except FileExistsError as error:
            raise _taken(output) from error


class _SameFiles:
    """Writes each batch into the file that has the name of the one it came from."""

    def __init__(self, rows: PartRows, start: Callable[[str], Any], end: Callable[[], None]) -> None:
        self._rows, self._start, self._end = rows, start, end
        self._started, self._file = 0, None

    def write(self, batch: Any) -> None:
        self._go_to(self._rows.place).write(batch.select([*range(batch.num_columns - len(self._rows.keys))]))

    def finish(self) -> None:
        """Write the last files, also those without rows."""
        self._go_to(len(self._rows.names) - 1)
        self._end()

    def _go_to(self, place: int) -> Any:
        while self._started <= place:
            self._end()
            self._file = self._start(self._rows.names[self._started])
            self._started += 1
        return self._file


def _placed(folder: Path, name: str) -> str:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    return str(folder / name)


def _check_new(output: str) -> Path:
    target = Path(os.path.abspath(output))  # noqa: PTH100 - a link as the last part is an existing name
    if os.path.lexists(target):
        raise _taken(output)
    if not target.parent.is_dir():
        raise DataFileError("there-is-no-folder", parent=target.parent, path=output)
    return target


def _taken(output: str) -> DataFileError:
    return DataFileError("exists-folders-are-not-replaced", path=output)


_ROW = re.compile(r"\bdata row ([0-9][0-9,]*)")


LINE = 92  # characters that a line with an error has room for


LEAST = 16


def _size(path: str) -> int:
    """Bytes of a file; 0 for one that is gone, which the code that opens it reports."""
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def _difference(schema: Any, expected: Any, first: str) -> tuple[str, str]:
    """How the columns of a file differ from those of the first one, and in which column; empty where nothing does."""
    names, others = dict.fromkeys(schema.names), dict.fromkeys(expected.names)
    for name in others:
        if name not in names:
            return f"has no column {shorten(name)!r}, and {first} has", name
    for name in names:
        if name not in others:
            return f"has a column {shorten(name)!r}, and {first} has not", name
    for field, other in zip(schema, expected, strict=False):
        if field.name != other.name:
            return f"has the column {shorten(field.name)!r} in another place than {first}", field.name
        if field.type != other.type:
            kinds = shorten(str(field.type), 20), shorten(str(other.type), 20)
            return f"has {kinds[0]} in column {shorten(field.name)!r}, and {first} has {kinds[1]}", field.name
        if describe(field) != describe(other):
            return f"has other reports in column {shorten(field.name)!r} than {first}", field.name
    if len(schema) != len(expected):
        return f"has {len(schema)} columns, and {first} has {len(expected)}", ""
    return "", ""


def _in_kinds(batch: Any, kinds: Sequence[Any]) -> Any:
    """The batch with dictionaries and texts as in the first one: each file may be stored in its own way."""
    if [column.type for column in batch.columns] == kinds:
        return batch
    columns = []
    for column, kind in zip(batch.columns, kinds, strict=True):
        if require().types.is_dictionary(kind) and column.type == kind.value_type:
            column = column.dictionary_encode()
        columns.append(column if column.type == kind else column.cast(kind))
    return require().RecordBatch.from_arrays(columns, batch.schema.names)

"""SPSS, Stata and SAS files, with labels and missing codes kept, through pyreadstat.

A process of its own reads them, piece by piece, so that a damaged file which crashes the C library ends that process,
not ours; it takes modules from where ours come from, never from the folder of the data. Questions are lines of JSON,
answers a kind of one byte, a length, and the content. pyreadstat writes whole tables only.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

from maskwell.core.atomic import partial_folder
from maskwell.core.extras import is_installed, missing_extra, require_library
from maskwell.core.leftovers import target_of
from maskwell.core.phrases import fault_of
from maskwell.engines.arrow_arrays import column_errors, file_errors, in_schema, reason_of, require
from maskwell.engines.arrow_checks import validated
from maskwell.engines.labelled_columns import ColumnLabels, Labels, column_type, read_column, written_column
from maskwell.engines.row_sources import BATCH_ROWS, Coded, Engine
from maskwell.errors import DataFileError, MaskwellError

WHAT = "an SPSS, Stata or SAS file"
READERS = {".sav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}
_STATA_END = b"</stata_dta>"
_SAS_BLOCK = 80
SKIPS_SLOWLY = {".xpt"}
"""Kinds in which later rows are found by reading all before them, so that larger pieces are worth their memory."""


class _LabelledSource:
    """Rows of an SPSS, Stata or SAS file, read in a process of its own (:func:`serve`), which a damaged file may crash.

    Columns in ``coded`` come as the labels of their values where the categories asked for are labels. In an ``exact``
    copy the other columns come as they are stored: dates as numbers, missing codes as numbers or letters.
    """

    def __init__(self, path: str, ending: str, *, coded: Coded, exact: bool, copied: bool) -> None:
        if not is_installed("pyreadstat"):
            raise missing_extra("pyreadstat", WHAT)
        self._path, self._ending, self._exact = path, ending, exact
        self._seen, self._done, self._busy = 0, False, True
        place = str(Path(path).absolute())
        self._file = {"path": place, "called": path, "ending": ending, "read": READERS[ending]}
        self._reader = ReaderProcess.for_module(__name__)
        try:
            (about,) = self._reader.ask(self._file)
        except DataFileError:
            self._reader.keep()
            raise
        except BaseException:
            self._reader.end()
            raise
        self._busy = False
        told = json.loads(about)
        labels = {name: dict(pairs) for name, pairs in told["variable_value_labels"].items()}
        meta = SimpleNamespace(**{**told, "variable_value_labels": labels})
        self.style, self._rows = Labels.of(meta, ending), meta.number_rows
        columns = self.style.columns
        self._coded = {name: columns[name].speaks(held) for name, held in coded.items() if name in columns}
        kinds = {
            name: column_type(one, ending, spoken=self._coded.get(name, False), exact=self._is_exact(name))
            for name, one in columns.items()
        }
        self.schema = require().schema([*kinds.items()])

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        if self._done:
            return
        listed = [*self.style.columns]
        names = listed if only is None else [listed[i] for i in sorted(only)]
        schema = require().schema([self.schema.field(name) for name in names])
        columns = [(name, self._coded.get(name, False), self._is_exact(name)) for name in names]
        self._busy = True
        for answer in self._reader.ask({**self._file, "columns": columns}):
            with file_errors("read", self._path):
                (batch,) = require("pyarrow.ipc").open_stream(answer)
            self._seen += len(batch)
            yield in_schema(validated(batch, self._path), schema)
        self._busy, self._done = False, True

    def done(self) -> float | None:
        """Share of the rows read so far."""
        if self._done:
            return 1.0
        return min(1.0, self._seen / self._rows) if self._rows and self._rows > 0 else None

    def close(self) -> None:
        """Give back the process that reads, or end it in the middle of its work."""
        if self._busy:
            self._reader.end()
        else:
            self._reader.keep()

    def _is_exact(self, name: str) -> bool:
        return self._exact and name not in self._coded


def serve() -> None:
    """Answer questions of :class:`_LabelledSource`: the metadata of a file, or its rows."""
    answer_questions(_answers)


def _answers(question: dict[str, Any]) -> Iterator[bytes]:
    ending, called = question["ending"], question["called"]
    read = partial(_read, question)
    meta = read(metadataonly=True)[1]
    names = meta.column_names
    if len({*names}) < len(names) or not all(isinstance(name, str) and name for name in names):
        raise DataFileError("is-damaged-a-column-has-no", path=called)
    with labelled_errors("read", called, LookupError, AttributeError):
        labels = Labels.of(meta, ending)
    if "columns" not in question:
        # Labels of values go as pairs, since JSON has no mappings from numbers.
        pairs = {name: [*values.items()] for name, values in meta.variable_value_labels.items()}
        told = {**{name: getattr(meta, name) for name in _TOLD}, "variable_value_labels": pairs}
        yield json.dumps(told).encode()
        return
    names = [name for name, _, _ in question["columns"]]
    for piece in _pieces(read, names, ending):
        arrays = []
        for name, spoken, exact in question["columns"]:
            with file_errors("read", called), column_errors(name):
                arrays.append(read_column(piece[name], labels.columns[name], ending, spoken=spoken, exact=exact))
        arrow, out = require(), require().BufferOutputStream()
        batch = arrow.RecordBatch.from_arrays(arrays, names)
        with require("pyarrow.ipc").new_stream(out, batch.schema) as writer:
            writer.write_batch(batch)
        yield bytes(out.getvalue())


def _read(question: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    if question["ending"] != ".xpt":
        options["user_missing"] = True
    # What pyreadstat stumbles over where the descriptions in a file contradict each other is any of these.
    with labelled_errors("read", question["called"], LookupError, AttributeError):
        read = getattr(_library(), question["read"])
        options |= {"output_format": "dict", "disable_datetime_conversion": True}
        content: tuple[Any, Any] = read(question["path"], **options)
        return content


def _pieces(read: Any, names: Sequence[str], ending: str) -> Iterator[Any]:
    rows_at_once, seen = BATCH_ROWS * (8 if ending in SKIPS_SLOWLY else 1), 0
    while True:
        piece, _ = read(usecols=names, row_offset=seen, row_limit=rows_at_once)
        count = len(piece[names[0]])
        seen += count
        if count:
            yield piece
        if count < rows_at_once:
            return


_TOLD = (
    *("column_names", "readstat_variable_types", "original_variable_types", "column_names_to_labels"),
    *("missing_ranges", "missing_user_values", "variable_measure", "variable_display_width"),
    *("file_label", "notes", "table_name", "mr_sets", "number_rows"),
)
"""What :meth:`Labels.of` looks at, besides the labels of values."""


class _LabelledSink:
    """Writes rows as an SPSS, Stata or SAS transport file, all at the end."""

    def __init__(self, file: BinaryIO, ending: str, schema: Any, *, style: Any) -> None:
        if ending not in _WRITERS:
            raise DataFileError("files-can-be-read-not-written", ending=ending)
        self._file, self._ending, self._schema = file, ending, schema
        self._labels = style if isinstance(style, Labels) else Labels(ending, {})
        self._batches: list[Any] = []
        self._pandas = _library("pandas")

    def write(self, batch: Any) -> None:
        self._batches.append(batch)

    def close(self) -> None:
        """Write everything; the file itself stays open."""
        name = self._file.name  # what goes into a device or a pipe has only a number
        beside = Path(tempfile.gettempdir(), "output") if isinstance(name, int) else target_of(Path(name))
        with labelled_errors("write", "the output"), partial_folder(beside) as folder:
            path = folder / f"output{self._ending}"
            rows = sum(map(len, self._batches))
            table = require().Table.from_batches(self._batches, self._schema)
            same, about = self._ending == self._labels.kind, self._labels.columns
            columns = {
                f.name: written_column(table.column(f.name), f, about.get(f.name), self._ending, same=same)
                for f in self._schema
            }
            self._batches.clear()
            frame = self._pandas.DataFrame({name: series for name, (series, _) in columns.items()})
            told = {name: about for name, (_, about) in columns.items()}
            _write(frame, path, told, self._labels)
            _check_whole(path, rows)
            with path.open("rb") as written:
                shutil.copyfileobj(written, self._file, 1 << 20)

    def abandon(self) -> None:
        self._batches.clear()


def _check_whole(path: Path, rows: int) -> None:
    """Read the last row back: pyreadstat does not always notice when the disk is full, and leaves a part of a file."""
    library, ending = _library(), path.suffix
    try:
        frame, _ = getattr(library, READERS[ending])(str(path), row_offset=max(rows - 1, 0), row_limit=1)
    except (library.ReadstatError, library.PyreadstatError, ValueError):
        frame = ()
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - len(_STATA_END), 0))
        ends = file.read() == _STATA_END if ending == ".dta" else ending != ".xpt" or size % _SAS_BLOCK == 0
    if len(frame) < min(rows, 1) or not ends:
        raise DataFileError("cannot-write-the-output-only")


@contextmanager
def labelled_errors(what: str, path: str, *others: type[Exception]) -> Iterator[None]:
    """Say in one sentence why a file cannot be read or written; ``others`` are further errors of pyreadstat."""
    library = _library()
    try:
        with file_errors(what, path):
            yield
    except (library.ReadstatError, library.PyreadstatError, TypeError, *others) as error:
        damaged = "the file may be damaged or cut short, or of another kind than its ending says"
        hint = damaged if what == "read" else "choose another kind of file, or rename the column"
        told = {"reason_of": reason_of(error), "values": fault_of(error, 200), "path": path}
        raise DataFileError("cannot-what-path-reason", hint=hint, what=what, **told) from None


def _library(name: str = "pyreadstat") -> Any:
    return require_library(name, WHAT, extra="labelled")


_WRITERS = {".sav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}


def _write(frame: Any, path: Path, columns: Mapping[str, ColumnLabels], labels: Labels) -> None:
    """Write a file of the kind that its ending names, with all that this kind can hold."""
    options: dict[str, Any] = {"file_label": labels.file_label or "", "column_labels": _some(columns, "label")}
    options["variable_format"] = _some(columns, "format")
    if path.suffix != ".xpt":
        options["variable_value_labels"] = _some(columns, "values")
    if path.suffix == ".sav":
        ranges = {n: [{"lo": low, "hi": high} for low, high in c.missing] for n, c in columns.items() if c.missing}
        options |= {"row_compress": True, "note": list(labels.notes) or None, "missing_ranges": ranges or None}
        options["variable_measure"] = _some(columns, "measure")
        options["variable_display_width"] = _some(columns, "width")
    elif path.suffix == ".dta":
        options["missing_user_values"] = {n: list(c.tagged) for n, c in columns.items() if c.tagged} or None
    else:
        options["table_name"] = labels.table_name or "DATASET"
    getattr(_library(), _WRITERS[path.suffix])(frame, str(path), **options)


def _some(columns: Mapping[str, ColumnLabels], what: str) -> dict[str, Any] | None:
    return {name: getattr(about, what) for name, about in columns.items() if getattr(about, what)} or None


CONTENT, REFUSAL, FAULT, END = b"c", b"r", b"f", b"."
_HEAD = struct.Struct(">cQ")
_START = "import sys; module, sys.path[:] = sys.argv[1], sys.argv[2:]; __import__(module, fromlist=['serve']).serve()"
_IDLE: list[ReaderProcess] = []


class ReaderProcess:
    """The process in which a module answers: its function ``serve`` calls :func:`answer_questions`."""

    def __init__(self, module: str) -> None:
        self.module, self.owner = module, os.getpid()
        root = str(Path(__file__).parents[2])
        places = [root, *(place for place in sys.path if place and place != root)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable or "", "-I", "-c", _START, module, *places],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise DataFileError("files-of-this-kind-are-read", strerror=error.strerror) from error

    @classmethod
    def for_module(cls, module: str) -> ReaderProcess:
        """One that waits already, or a new one."""
        for waiting in [*_IDLE]:
            if waiting.module != module or waiting.owner != os.getpid():
                continue
            with suppress(ValueError):  # another thread took it
                _IDLE.remove(waiting)
                if waiting.is_usable():
                    return waiting
                waiting.end()
        return cls(module)

    def is_usable(self) -> bool:
        """Whether it is alive, and ours: a fork of this process must not share it."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, question: dict[str, Any]) -> Iterator[bytes]:
        """The answers to a question about a file, which messages call ``called``; a refusal there is raised here."""
        path, to, back = question["called"], self._process.stdin, self._process.stdout
        if to is None or back is None:
            raise RuntimeError("a process without pipes")
        try:
            to.write(json.dumps(question).encode() + b"\n")
            to.flush()
            while (answer := _receive(back))[0] == CONTENT:
                yield answer[1]
        except (OSError, EOFError):
            self.end()
            raise DataFileError("is-damaged-its-reader-crashed", path=path) from None
        if answer[0] == REFUSAL:
            raise DataFileError(**json.loads(answer[1]), path=path)
        if answer[0] == FAULT:
            raise RuntimeError(answer[1].decode(errors="replace"))

    def keep(self) -> None:
        """Let it wait for the next file."""
        if self.is_usable():
            _IDLE.append(self)

    def end(self) -> None:
        """End the process."""
        if self.owner == os.getpid():
            self._process.kill()
            self._process.communicate()


@atexit.register
def _end_all() -> None:
    while _IDLE:
        _IDLE.pop().end()


def answer_questions(answers: Callable[[dict[str, Any]], Iterator[bytes]]) -> None:
    """Answer every line on standard input on standard output, until there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side decides
    questions, out = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints does not mix with answers
    for question in questions:
        kind, last = _answer(json.loads(question), answers, out)
        _send(out, kind, last)
        out.flush()


def _answer(
    question: dict[str, Any], answers: Callable[[dict[str, Any]], Iterator[bytes]], out: BinaryIO
) -> tuple[bytes, bytes]:
    try:
        for answer in answers(question):
            _send(out, CONTENT, answer)
    except MaskwellError as error:
        about = {"message": error.message, "hint": error.hint, "values": error.values}
        return REFUSAL, json.dumps(about).encode()
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - a fault of ours is raised again on the other side
        return FAULT, repr(error).encode(errors="backslashreplace")
    return END, b""


def _send(out: BinaryIO, kind: bytes, content: bytes) -> None:
    out.write(_HEAD.pack(kind, len(content)))
    out.write(content)


def _receive(back: Any) -> tuple[bytes, bytes]:
    head = back.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    kind, length = _HEAD.unpack(head)
    content = back.read(length)
    if len(content) < length:
        raise EOFError
    return kind, content


LABELLED = Engine(_LabelledSource, _LabelledSink, holds_codes=True)

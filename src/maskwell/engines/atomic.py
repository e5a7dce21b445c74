"""Files that appear whole or not at all: written beside, then renamed."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from maskwell.errors import DataFileError


@contextmanager
def atomic_file(path: str, *, force: bool = False, inputs: Sequence[str] = ()) -> Iterator[BinaryIO]:
    """Open a new file that gets its name only when the block ends well; otherwise nothing is left.

    Parameters
    ----------
    path
        Where it goes; ``-`` is standard output, which also gets everything or nothing.
    force
        Whether a file of that name may be replaced.
    inputs
        Files that must not be replaced in any case, because they are being read.
    """
    check_output(path, force=force, inputs=inputs)
    if path == "-":
        with tempfile.TemporaryFile() as file:
            yield cast(BinaryIO, file)
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()
    partial = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.partial")
    try:
        with _create(partial, path) as file:
            yield file
        partial.replace(target)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def check_output(path: str, *, force: bool = False, inputs: Sequence[str] = ()) -> None:
    """Raise unless a file may be written there."""
    if path == "-":
        return
    target = Path(path)
    for given in inputs:
        if given != "-" and _is_same(target, Path(given)):
            raise DataFileError(f"the output {path} is also an input", hint="give the output another name", path=path)
    if target.is_dir():
        raise DataFileError(f"the output {path} is a folder", hint="give the name of a file in it", path=path)
    if target.exists() and not force:
        raise DataFileError(
            f"the output {path} exists", hint="give another name, or replace it with --force", path=path
        )
    if not target.resolve().parent.is_dir():
        raise DataFileError(f"there is no folder {target.parent}", hint="make the folder first", path=path)


def _is_same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except OSError:
        return a.resolve() == b.resolve()


def _create(partial: Path, path: str) -> BinaryIO:
    try:
        return os.fdopen(
            os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb"
        )
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: str, error: OSError) -> DataFileError:
    return DataFileError(
        f"cannot write {path}: {error.strerror or error}", hint="choose a place where files may be written", path=path
    )

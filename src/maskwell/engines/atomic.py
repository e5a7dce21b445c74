"""Files and folders that appear whole or not at all: written beside under another name, then renamed.

Until then only their owner may look into them. A run that is ended by a signal takes back what it began. What a run
leaves that was killed outright is found by the next one that writes to the same place, by its name; it is thrown away
if nobody is writing to it any more, and named in a :class:`LeftoverWarning` in any case.
"""

from __future__ import annotations

import importlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from maskwell.core.escaping import visible
from maskwell.errors import DataFileError, LeftoverWarning

fcntl: Any = None
with suppress(ImportError):  # on Windows nothing tells whether a file is still being written
    fcntl = importlib.import_module("fcntl")

TRIES = 10
OWNER_ONLY = 0o600
_LONGEST = 100


@contextmanager
def atomic_file(
    path: str, *, force: bool = False, inputs: Sequence[str] = (), like: str | None = None
) -> Iterator[BinaryIO]:
    """Open a new file that gets its name only when the block ends well; otherwise nothing is left.

    Parameters
    ----------
    path
        Where it goes; ``-`` is standard output, which also gets everything or nothing.
    force
        Whether a file of that name may be replaced.
    inputs
        Files that must not be replaced in any case, because they are being read.
    like
        The file that the rows come from: nobody may read the new one who may not read this one.
    """
    check_output(path, force=force, inputs=inputs)
    if path == "-":
        with tempfile.TemporaryFile() as spool:
            yield cast(BinaryIO, spool)
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()
    clear_leftovers(target)
    file: BinaryIO | None = None
    try:
        file = _new_file(target, path)
        yield file
        file.flush()
        _open_up(file, target, like)
        if os.name == "nt":
            file.close()  # an open file cannot be renamed there; elsewhere it keeps its lock until it has its name
        Path(file.name).replace(target)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        if file is not None:
            with suppress(OSError):
                Path(file.name).unlink(missing_ok=True)
            with suppress(OSError):
                file.close()


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """A new folder beside a target, open to its owner alone; thrown away in the end unless it was renamed."""
    clear_leftovers(target)
    place, handle = _new_folder(target)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def target_of(partial: Path) -> Path:
    """What a file or folder with the name of a partial one is to become.

    >>> target_of(Path("/data/.out.sav.0123456789abcdef0123456789abcdef.partial")).name
    'out.sav'
    """
    found = re.fullmatch(r"\.(.+)\.[0-9a-f]{32}\.partial", partial.name)
    return partial.with_name(found.group(1)) if found else partial


def allowed_mode(most: int) -> int:
    """The permissions among ``most`` that the user's umask leaves."""
    mask = os.umask(0o077)
    os.umask(mask)
    return most & ~mask


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


def _cannot_write(path: str, error: OSError) -> DataFileError:
    return DataFileError(
        f"cannot write {path}: {error.strerror or error}", hint="choose a place where files may be written", path=path
    )


# ---- making them


def _partial(target: Path) -> Path:
    """A name that nobody can guess, and that tells what it is to become."""
    return target.with_name(f".{_start(target)}.{secrets.token_hex(16)}.partial")


def _start(target: Path) -> str:
    return os.fsdecode(os.fsencode(target.name)[:_LONGEST])


def _new_file(target: Path, path: str) -> BinaryIO:
    try:
        for _ in range(TRIES):
            file = open(_partial(target), "xb", opener=_for_owner)  # noqa: SIM115 - closed by the caller
            if _is_locked(file.fileno()) and os.fstat(file.fileno()).st_nlink:
                return file
            file.close()  # somebody took it for a leftover in the moment before it was locked
        raise OSError("temporary files disappear")
    except OSError as error:
        raise _cannot_write(path, error) from error


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0), OWNER_ONLY)


def _new_folder(target: Path) -> tuple[Path, int | None]:
    for _ in range(TRIES):
        place = _partial(target)
        place.mkdir(mode=0o700)
        if fcntl is None:
            return place, None
        with suppress(OSError):
            handle = os.open(place, os.O_RDONLY)
            if _is_locked(handle) and place.is_dir():
                return place, handle
            os.close(handle)
    raise OSError("temporary folders disappear")


def _is_locked(handle: int) -> bool:
    """Lock it for as long as it is open, and say whether that went well; where there are no locks it did."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _open_up(file: BinaryIO, target: Path, like: str | None) -> None:
    """Permissions of the finished file: no more than the umask, the file that it replaces and the input leave."""
    if not hasattr(os, "fchmod"):
        return
    mode, group = allowed_mode(0o666), os.fstat(file.fileno()).st_gid
    for found in (_status(target), None if like is None else _status(like)):
        if found is not None:
            mode &= found.st_mode | OWNER_ONLY
            mode &= 0o666 if found.st_gid == group else 0o606  # what one group may read is not for another
    os.fchmod(file.fileno(), mode)


def _status(path: str | Path) -> os.stat_result | None:
    """What is known of a file, None where there is none or it is no file."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == "-" else Path(path).stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


# ---- what earlier runs left


def clear_leftovers(target: Path) -> None:
    """Look for what killed runs left that were to write this file or folder; throw it away if safe, and say so."""
    mine = re.compile(rf"\.{re.escape(_start(target))}\.(?P<number>[0-9a-f]{{8,32}}\.partial|partial-[0-9a-f]+)")
    with suppress(OSError):
        for name in sorted(os.listdir(target.parent)):  # noqa: PTH208 - names are enough
            found = mine.fullmatch(name)
            if found is not None:
                _clear(target.with_name(name), whole=len(found.group("number")) == len(".partial") + 32)


def _clear(place: Path, *, whole: bool) -> None:
    shown = visible(str(place))
    gone = whole and _is_abandoned(place)
    if gone and place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    elif gone:
        with suppress(OSError):
            place.unlink()
    if not os.path.lexists(place):
        if gone:
            warnings.warn(f"a run that was killed had left {shown}; it was deleted", LeftoverWarning, stacklevel=4)
        return
    if not gone and _is_being_written(place):
        return
    warnings.warn(
        f"an earlier run may have left {shown}, with data in it; delete it if no other run is writing there",
        LeftoverWarning,
        stacklevel=4,
    )


def _is_abandoned(place: Path) -> bool:
    """Whether it is a file or folder of this user that nobody holds a lock on."""
    found = place.lstat()
    plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return fcntl is not None and plain and found.st_uid == os.geteuid() and not _is_being_written(place)


def _is_being_written(place: Path) -> bool:
    if fcntl is None:
        return False
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return True  # without locks nobody can tell
    finally:
        os.close(handle)
    return False

"""Outputs that a killed run left unfinished: thrown away, each named in a :class:`LeftoverWarning`."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from maskwell.core.phrases import visible
from maskwell.errors import LeftoverWarning

locks: Any
try:
    import fcntl as locks
except ImportError:  # on Windows nothing tells whether a file is still being written
    locks = None

_LONGEST = 100


def partial_name(target: Path) -> Path:
    """A name that cannot be guessed, and that shows which file it will become."""
    return target.with_name(f".{_start(target)}.{secrets.token_hex(16)}.partial")


def _start(target: Path) -> str:
    return os.fsdecode(os.fsencode(target.name)[:_LONGEST])


def target_of(partial: Path) -> Path:
    """What a file or folder with the name of a partial one is to become."""
    match = re.fullmatch(r"\.(.+)\.[0-9a-f]{32}\.partial", partial.name)
    return partial.with_name(match.group(1)) if match else partial


def is_locked(handle: int) -> bool:
    """Lock it for as long as it is open, and return whether that succeeded; without locks it does."""
    if locks is None:
        return True
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def throw_away(places: Sequence[Path]) -> None:
    """Remove files and folders, also where a signal comes in between."""
    try:
        _remove(places)
    except BaseException:
        _remove(places)
        raise


def _remove(places: Sequence[Path]) -> None:
    for place in places:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            with suppress(OSError):
                place.unlink()


def clear_leftovers(target: Path) -> None:
    """Look for what killed runs left that were to write this file or folder; throw it away if safe, and say so."""
    mine = re.compile(rf"\.{re.escape(_start(target))}\.(?P<number>[0-9a-f]{{8,32}}\.partial|partial-[0-9a-f]+)")
    with suppress(OSError):
        for name in sorted(os.listdir(target.parent)):  # noqa: PTH208 - names are enough
            match = mine.fullmatch(name)
            if match is not None:
                _clear(target.with_name(name), whole=len(match.group("number")) == len(".partial") + 32)


def _clear(place: Path, *, whole: bool) -> None:
    path, gone = visible(str(place)), False
    if whole and locks is not None:  # and a file or folder of this user that nobody holds a lock on
        status = place.lstat()
        plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        gone = plain and status.st_uid == os.geteuid() and not _is_being_written(place)
    if gone:
        _remove([place])
    if not os.path.lexists(place):
        if gone:
            warnings.warn(f"a run that was killed had left {path}; it was deleted", LeftoverWarning, stacklevel=4)
        return
    if not gone and _is_being_written(place):
        return
    warnings.warn(
        f"an earlier run may have left {path}, with data in it; delete it if no other run is writing there",
        LeftoverWarning,
        stacklevel=4,
    )


def _is_being_written(place: Path) -> bool:
    if locks is None:
        return False
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except OSError:  # somebody holds it, or there are no locks, and nobody can tell
        return True
    finally:
        os.close(handle)
    return False

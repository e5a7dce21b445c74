"""One at a time for what is read and then replaced: a lock that threads and processes wait for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from maskwell.core.leftovers import locks

_PAUSE = 0.02  # seconds between two tries on Windows, where waiting for a lock ends after ten seconds


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Hold the lock of a file while it is read and replaced; on a file system without locks nothing is held.

    The lock is on a file of its own, since a replaced file is another one. That file is removed in the end.
    """
    target = Path(os.path.realpath(path))
    place = target.with_name(f".{target.name}.lock")
    handle = _taken(place)
    try:
        yield
    finally:
        with suppress(OSError):
            place.unlink()  # while it is locked; on Windows it stays where others wait for it
        os.close(handle)


def _taken(place: Path) -> int:
    """The lock file, open and locked; one that was removed while this waited for it is none any more."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except PermissionError:
            if os.name != "nt":
                raise
            time.sleep(_PAUSE)  # being removed
            continue
        try:
            _wait(handle)
            if os.path.samestat(os.fstat(handle), place.stat()):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _wait(handle: int) -> None:
    if locks is not None:
        with suppress(OSError):  # a file system without locks
            locks.flock(handle, locks.LOCK_EX)
        return
    import msvcrt

    while True:
        try:
            getattr(msvcrt, "locking")(handle, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009 - not there elsewhere
        except OSError:
            time.sleep(_PAUSE)
        else:
            return

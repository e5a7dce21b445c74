"""Names that files and folders get on the disk: without replacing anything, and to last."""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

_HERE = -100  # AT_FDCWD: paths start from the working folder
_NO_REPLACE = 1
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP}


def rename_new(place: Path, target: Path) -> None:
    """Give a file or folder its name; a FileExistsError where something has it, even since a moment ago."""
    if _is_renamed(place, target):
        return
    if os.name != "nt" and not place.is_dir():
        try:
            os.link(place, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            pass
        else:
            place.unlink()
            return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    place.rename(target)


def _is_renamed(place: Path, target: Path) -> bool:
    """Ask the system for what the standard library has no word for; False where it does not know it either."""
    call = _renameat2()
    if call is None or call(_HERE, os.fsencode(place), _HERE, os.fsencode(target), _NO_REPLACE) == 0:
        return call is not None
    import ctypes

    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(target))


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    try:
        import ctypes

        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, OSError, AttributeError, TypeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return cast(Callable[..., int], function)


def sync(place: Path) -> None:
    """Bring a file or folder to the disk."""
    if os.name == "nt" and place.is_dir():
        return  # Windows gives no handle of a folder
    handle = os.open(place, os.O_RDONLY if place.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(place: Path) -> None:
    """Bring a new name to the disk, where the system lets us; the output is complete in any case."""
    with suppress(OSError):
        sync(place)

"""Memory that is free and still held by the process."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def give_back_memory() -> None:
    """Give memory that is free back to the system, where its allocator can be asked to.

    Between two steps that each need much: arrays of some megabytes that were freed in one stay with the process, among
    others that are still in use, and the next step would ask for more. Does nothing but on Linux with glibc.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)

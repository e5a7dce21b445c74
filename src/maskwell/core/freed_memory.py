"""Memory that large tables took, given back to the system between two steps that each need much."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def give_back_memory() -> None:
    """Ask the allocator to give free memory back: freed arrays of some megabytes stay with the process otherwise."""
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    """The function of glibc; None on other systems."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None

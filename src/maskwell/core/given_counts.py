"""Counts that a person or a file gives, checked: whole numbers, or sums of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Real
from maskwell.errors import CountsError


def check_counts(values: Any, *, weighted: bool = False, name: str = "counts") -> Real:
    """Counts as one column of floats; finite, 0 or more, not all 0, and whole unless ``weighted``.

    >>> check_counts([12, 8, 3]).tolist()
    [12.0, 8.0, 3.0]
    """
    try:
        found = as_floats(values, name, finite=False)
    except (TypeError, ValueError, OverflowError):
        found = np.empty((0, 0))
    if found.ndim != 1 or not len(found):
        raise CountsError(f"{name} must be one column of numbers", hint="give one number for each category")
    for wrong, what in _faults(found, weighted=weighted):
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise CountsError(
                f"{name}[{place}] = {found[place]:g} {what}", hint=_hint(weighted=weighted), **{name: values}
            )
    if not found.sum() > 0:
        raise CountsError(f"{name} are all zero", hint="there must be at least one record", **{name: values})
    return found


def _faults(found: Real, *, weighted: bool) -> list[tuple[Any, str]]:
    finite = np.isfinite(found)
    kept = np.where(finite, found, 0)
    broken = [] if weighted else [(kept != np.floor(kept), "is no whole number")]
    return [(~finite, "is no finite number"), (kept < 0, "is negative"), *broken]


def _hint(*, weighted: bool) -> str:
    return "sums of weights are 0 or more" if weighted else "counts are whole numbers of 0 or more"

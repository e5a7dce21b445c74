"""Ids of records: whole numbers or texts, in one form whatever kind of column they were kept in."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import as_array, as_list
from maskwell.core.arrays import Array
from maskwell.core.labels import is_missing
from maskwell.errors import MissingValueError, WrongTypeError

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LOW, _HIGH = -(2**63), 2**63
_LARGEST_WHOLE_FLOAT = 2.0**53


class Records(NamedTuple):
    """A number for each record, shape (n,), and for those that are named by a text its row and the text."""

    numbers: Array
    rows: list[int]
    texts: list[str]


def read_ids(ids: Any) -> Records:
    """Ids as numbers of 64 bits where they are whole numbers, also in a text or a float, and as texts elsewhere.

    >>> read_ids(["12", 7, 3.0, "07", "b-1"])
    Records(numbers=array([12,  7,  3,  0,  0]), rows=[3, 4], texts=['07', 'b-1'])
    """
    array = _as_array(ids)
    if array.ndim != 1:
        raise WrongTypeError(f"ids of shape {array.shape}", hint="give one column of ids, one for each record")
    if array.dtype.kind in "iu" and not (array.dtype == np.uint64 and array.size and int(array.max()) >= _HIGH):
        return Records(array.astype(np.int64), [], [])
    if array.dtype.kind == "f" and _all_whole(array):
        return Records(array.astype(np.int64), [], [])
    return _one_by_one(array.tolist())


def _as_array(ids: Any) -> Array:
    """A column of another library by its own conversion; a list as it is, since NumPy would make all of one kind."""
    if hasattr(ids, "__array__"):
        return as_array(ids, "ids")
    values = as_list(ids, "ids")
    if values and set(map(type, values)) == {int} and min(values) >= _LOW and max(values) < _HIGH:
        return np.array(values, dtype=np.int64)
    return np.array([*values, None], dtype=object)[:-1]


def _all_whole(array: Array) -> bool:
    if not np.isfinite(array).all():
        return False
    return bool((np.abs(array) <= _LARGEST_WHOLE_FLOAT).all() and (array == np.rint(array)).all())


def _one_by_one(values: list[Any]) -> Records:
    numbers, rows, texts = np.zeros(len(values), dtype=np.int64), [], []
    for row, value in enumerate(values):
        found = _read(value, row)
        if isinstance(found, str):
            rows.append(row)
            texts.append(found)
        else:
            numbers[row] = found
    return Records(numbers, rows, texts)


def _read(value: Any, row: int) -> int | str:
    if isinstance(value, str) and value:
        return _within(int(value)) if _WHOLE.fullmatch(value) else value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return _within(int(value))
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_WHOLE_FLOAT:
        return int(value)
    if (isinstance(value, str) and not value) or is_missing(value):
        raise MissingValueError(
            f"the record in row {row} (counted from 0) has no id", hint="give every record an id of its own", row=row
        )
    raise WrongTypeError(
        f"the id in row {row} (counted from 0) is a {type(value).__name__}",
        hint="ids are whole numbers or texts",
        values=f"{value!r:.40}",
        row=row,
    )


def _within(number: int) -> int | str:
    """A number of 64 bits, or the digits of a longer one."""
    return number if _LOW <= number < _HIGH else str(number)

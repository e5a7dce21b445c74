"""Columns of a batch that hold no reports: numbers such as weights, and labels such as strata."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.factors import Factor
from maskwell.engines.arrow import missing_rows, require
from maskwell.engines.kinds import column_errors
from maskwell.errors import MissingValueError, ParameterError, ReportError

LARGEST = 2.0**53
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def numbers_of(column: Any, name: str, row: int) -> Real:
    """A column of numbers, shape (n,); a text, a missing or an infinite value is refused with its row.

    ``row`` is the number of rows before this batch.
    """
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    check_no_missing(column, name, row)
    _check_numbers(column.type, name)
    try:
        values = np.asarray(column.cast(arrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except arrow.ArrowException:
        raise _not_a_number(column.to_pylist(), name, row) from None
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        place = row + int(wrong[0]) + 1
        raise ParameterError(
            f"column {name!r}: the value in data row {place} is not a finite number",
            hint="give finite numbers",
            values=str(values[wrong[0]]),
            column=name,
        )
    return check_size(values, name, row)


def check_size(values: Real, name: str, row: int) -> Real:
    """Raise for numbers that are too large to be weights or populations; sums of their squares would be infinite."""
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        raise ParameterError(
            f"column {name!r}: the value in data row {row + int(wrong[0]) + 1} is too large to count people",
            hint="weights and populations are below 9e15 (2^53): check the column",
            values=str(values[wrong[0]]),
            column=name,
        )
    return values


def _check_numbers(kind: Any, name: str) -> None:
    """Raise for dates and times, which Arrow would take for numbers of days or seconds."""
    if require().types.is_temporal(kind):
        raise ParameterError(
            f"column {name!r} holds dates or times, not numbers", hint="give numbers in this column", column=name
        )


def _not_a_number(values: list[Any], name: str, row: int) -> ParameterError:
    for place, value in enumerate(values, start=row + 1):
        if not isinstance(value, int | float) and not _NUMBER.fullmatch(str(value)):
            return ParameterError(
                f"column {name!r}: the value in data row {place} is no number",
                hint="give numbers in this column",
                values=repr(str(value)),
                column=name,
            )
    return ParameterError(f"column {name!r} does not hold numbers", hint="give numbers in this column", column=name)


NEEDED = "the sampling plan must be known for every row; complete the column"


def check_no_missing(column: Any, name: str, row: int, needed: str = NEEDED) -> None:
    """Raise where a value is missing."""
    if column.null_count:
        lost = missing_rows(column)
        one, first = int(lost.sum()) == 1, row + int(np.argmax(lost)) + 1
        many = "1 value is missing, in" if one else f"{int(lost.sum()):,} values are missing, the first in"
        raise MissingValueError(
            f"column {name!r}: {many} data row {first}",
            hint=needed,
            column=name,
        )


def labels_of(column: Any, name: str, row: int, needed: str = NEEDED) -> Factor:
    """A column of labels as codes; a missing value is refused with its row.

    >>> import pyarrow as pa
    >>> labels_of(pa.array(["south", "north", "south"]), "region", 0).codes.tolist()
    [1, 0, 1]
    """
    check_no_missing(column, name, row, needed)
    coded = column if require().types.is_dictionary(column.type) else column.dictionary_encode()
    codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False))
    with column_errors(name):
        labels = coded.dictionary.to_pylist()
    return Factor.from_codes(codes, labels, f"column {name!r}")


def whole_numbers(column: Any, name: str, row: int) -> Array:
    """Counts of reports from a column of whole numbers of 0 or more."""
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    _check_numbers(column.type, name)
    try:
        numbers = column.cast(arrow.int64())
    except arrow.ArrowException:
        what, shown = _not_whole(column.to_pylist(), row)
        raise ReportError(
            f"column {name!r} {what}",
            hint="the counts column holds how many reports each row stands for: 0, 1, 2, ...",
            values=shown,
            column=name,
        ) from None
    values = np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False))
    wrong = np.flatnonzero(values < 0)
    if len(wrong):
        there = bool(numbers[int(wrong[0])].is_valid)
        raise ReportError(
            f"column {name!r} has {'a negative' if there else 'no'} count in row {row + int(wrong[0]) + 1}",
            hint="counts are 0 or more",
            values=str(values[wrong[0]]) if there else "",
            column=name,
        )
    return values


def _not_whole(values: list[Any], row: int) -> tuple[str, str]:
    """Where the first value is that is not a whole number, and the value.

    >>> _not_whole(["12", "a few"], 0)
    ('does not have a whole number in row 2', "'a few'")
    """
    for i, value in enumerate(values, start=row + 1):
        whole = value.is_integer() if isinstance(value, float) else re.fullmatch(r"[+-]?[0-9]{1,18}", str(value))
        if value is not None and not whole:
            return f"does not have a whole number in row {i}", repr(str(value))
    return "does not hold whole numbers", ""

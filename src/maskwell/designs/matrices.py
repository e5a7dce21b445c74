"""Reading a matrix that a person gave: checks, and the one place where its last bits are settled."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Real as RealNumber
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.exact import as_fraction, common_denominator
from maskwell.errors import MatrixError, OrientationError, TooLargeError, WrongTypeError

SUM_TOLERANCE = 1e-9
DENSE_LIMIT = 4 * 10**6
_SIMPLE = 10**6  # denominators up to this are tried as the fraction that a float stands for
_ROUNDING = Fraction(1, 2**50)  # how far a float may lie from the fraction that it stands for

Columns = list[list[Fraction]]


def exact_columns(P: Any) -> tuple[list[list[int]], int, float]:
    """Integers for each truth over one denominator, and the largest change that was needed, after all checks."""
    rows = _read(P)
    given = [list(column) for column in zip(*rows, strict=True)]
    check_columns(given)
    columns = given
    if any(sum(column) != 1 for column in given):
        columns = _simplest(given) or _settled(P, given)
    settled = max(
        float(abs(a - b)) for old, new in zip(given, columns, strict=True) for a, b in zip(old, new, strict=True)
    )
    denominator = common_denominator(p for column in columns for p in column)
    return [[int(p * denominator) for p in column] for column in columns], denominator, settled


def _read(P: Any) -> list[list[Fraction]]:
    rows = P.tolist() if isinstance(P, np.ndarray) else [list(row) if _is_row(row) else row for row in _as_list(P)]
    if not rows or not all(_is_row(row) for row in rows) or not all(rows):
        raise MatrixError("a matrix needs at least one row and one column of numbers", hint="give m rows of k numbers")
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise MatrixError(f"rows of different lengths: {lengths}", hint="give m rows of k numbers each")
    if len(rows) * lengths[0] > DENSE_LIMIT:
        raise TooLargeError(
            f"a dense matrix of {len(rows):,} x {lengths[0]:,} entries; at most {DENSE_LIMIT:,} are kept",
            hint="use a structured design (uniform, mixture, subset, kronecker, blocks)",
        )
    return [[_entry(value, i, j) for j, value in enumerate(row)] for i, row in enumerate(rows)]


def _as_list(P: Any) -> list[Any]:
    if isinstance(P, str) or not hasattr(P, "__iter__"):
        raise WrongTypeError(f"{type(P).__name__} is not a matrix", hint="give m rows of k numbers")
    return list(P)


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple | np.ndarray)


def _entry(value: Any, i: int, j: int) -> Fraction:
    try:
        return as_fraction(value, f"entry [{i}, {j}]")
    except ValueError as error:
        raise MatrixError(
            f"entry [{i}, {j}] = {value!r} is not a finite number", hint="give numbers or fractions"
        ) from error


def check_columns(columns: Columns) -> None:
    """Raise unless all entries are 0 or more and every column sums to one within 1e-9."""
    for j, column in enumerate(columns):
        for i, p in enumerate(column):
            if p < 0:
                raise MatrixError(
                    f"entry [{i}, {j}] = {float(p):g} is negative",
                    hint="probabilities are 0 or more; nothing is clipped for you",
                )
    sums = [sum(column, Fraction(0)) for column in columns]
    wrong = [j for j, total in enumerate(sums) if abs(total - 1) > SUM_TOLERANCE]
    if not wrong:
        return
    shown = ", ".join(f"column {j} sums to {float(sums[j]):.10g}" for j in wrong[:3])
    if all(abs(sum(row) - 1) <= SUM_TOLERANCE for row in zip(*columns, strict=True)):
        raise OrientationError(
            f"rows sum to 1, not columns ({shown})",
            hint="columns are truths here: transpose the matrix, or use from_rows (--rows on the command line)",
        )
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    raise MatrixError(
        f"{shown}{more}, not 1", hint="every column must sum to 1 within 1e-9; nothing is rescaled for you"
    )


def check_rows_shape(R: Any) -> None:
    """Raise unless the rows of R sum to one, pointing at the transposed reading."""
    rows = _read(R)
    sums = [sum(row, Fraction(0)) for row in rows]
    wrong = [i for i, total in enumerate(sums) if abs(total - 1) > SUM_TOLERANCE]
    if wrong:
        raise OrientationError(
            f"row {wrong[0]} sums to {float(sums[wrong[0]]):.10g}, not 1",
            hint="rows are truths in this form; if columns are truths, leave out --rows (Dense.of)",
        )


def _simplest(given: Columns) -> Columns | None:
    """The small fractions that floats such as 0.16666666666666666 stand for, if all columns then sum to one."""
    columns = [[p.limit_denominator(_SIMPLE) for p in column] for column in given]
    pairs = [(p, s) for old, new in zip(given, columns, strict=True) for p, s in zip(old, new, strict=True)]
    stands_for = all(abs(p - s) <= _ROUNDING and (s > 0) == (p > 0) for p, s in pairs)
    return columns if stands_for and all(sum(column) == 1 for column in columns) else None


def _settled(P: Any, given: Columns) -> Columns:
    """Binary values of the floats; what is missing to one, at most 1e-9, goes to the largest entry of the column."""
    columns = _binary_values(P, given)
    for column in columns:
        largest = max(range(len(column)), key=column.__getitem__)
        column[largest] += 1 - sum(column)
    return columns


def _binary_values(P: Any, given: Columns) -> Columns:
    rows: Array | Sequence[Any] = P if isinstance(P, np.ndarray) else [list(row) for row in P]
    values = [list(column) for column in zip(*rows, strict=True)]
    return [
        [
            Fraction(float(v)) if isinstance(v, RealNumber) and not isinstance(v, int | Fraction) else p
            for v, p in zip(col, ps, strict=True)
        ]
        for col, ps in zip(values, given, strict=True)
    ]

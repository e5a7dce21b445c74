"""Reading a matrix that a person gave: checks, and the one place where its last bits are settled."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_array, as_list
from maskwell.core.exact import Number, as_fraction, common_denominator, is_decimal, is_float, to_decimal, to_float
from maskwell.core.phrases import MESSAGE, in_language, listed
from maskwell.errors import MatrixError, OrientationError, ParameterError, TooLargeError

DECIMALS = "decimals"  # under ``given`` in a provenance: the numbers that define the design were decimals or floats

SUM_TOLERANCE = 1e-9
DENSE_LIMIT = 4 * 10**6
_SIMPLE = 10**6  # denominators up to this are tried as the fraction that a float stands for
_ROUNDING = Fraction(1, 2**50)  # how far a float may lie from the fraction that it stands for

Columns = list[list[Fraction]]


def exact_columns(P: Any) -> tuple[list[list[int]], dict[str, Any]]:
    """Integers for each truth in the ratio of its probabilities, and what to note of them."""
    values = _values(P)
    typed = _transposed([[_entry(value, i, j) for j, value in enumerate(row)] for i, row in enumerate(values)])
    check_columns(typed)
    columns = _exact(_transposed(values), typed)
    flat = zip(chain.from_iterable(typed), chain.from_iterable(columns), strict=True)
    settled = max(float(abs(old - new)) for old, new in flat)
    noted: dict[str, Any] = {"settled": settled} if settled else {}
    if any(map(is_decimal, chain.from_iterable(values))):
        noted |= {"given": DECIMALS}
    wholes = map(common_denominator, columns)
    return [[int(p * whole) for p in column] for column, whole in zip(columns, wholes, strict=True)], noted


def read_shares(shares: Sequence[Number], name: str, k: int) -> Real:
    """Shares of k categories, shape (k,), that were given one by one; they sum to 1, and nothing is rescaled."""
    if len(shares) != k:
        raise ParameterError(
            "has-share-for-categories", name=name, shares_count=len(shares), value="s" * (len(shares) != 1), k=k
        )
    exact, typed = [as_fraction(share, name) for share in shares], ",".join(map(str, shares))
    if min(exact) < 0:
        raise ParameterError("is-below-0", name=name, typed=typed, exact=to_decimal(min(exact)))
    total = sum(exact, start=Fraction(0))
    if abs(total - 1) > SUM_TOLERANCE:
        raise ParameterError("sums-to-not-1", name=name, typed=typed, total=to_float(total))
    return np.array([float(share) for share in exact])


def _transposed(rows: list[list[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _values(P: Any) -> list[list[Any]]:
    """The entries as they were given, row by row."""
    if hasattr(P, "columns"):  # a data frame: its rows, not the names of its columns
        P = as_array(P, "P")
    rows = P.tolist() if isinstance(P, np.ndarray) else as_list(P, "P")
    rows = [list(x) if isinstance(x, list | tuple | np.ndarray) else x for x in rows] if isinstance(rows, list) else []
    if not rows or not all(isinstance(row, list) for row in rows) or not all(rows):
        raise MatrixError("a-matrix-needs-at-least-one")
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise MatrixError("rows-of-different-lengths", lengths=lengths)
    if len(rows) * lengths[0] > DENSE_LIMIT:
        raise too_many_entries(len(rows), lengths[0])
    return rows


def too_many_entries(m: int, k: int) -> TooLargeError:
    """The error for a matrix that is not kept written out."""
    return TooLargeError("a-dense-matrix-of-x-entries", m=m, k=k, dense_limit=DENSE_LIMIT)


def _entry(value: Any, i: int, j: int) -> Fraction:
    try:
        return as_fraction(value, f"entry [{i}, {j}]")
    except ValueError as error:
        raise MatrixError("entry-is-not-a-finite-number", i=i, j=j, value=value) from error


def check_columns(columns: Columns) -> None:
    """Raise unless all entries are 0 or more and every column sums to one within 1e-9."""
    for j, column in enumerate(columns):
        for i, p in enumerate(column):
            if p < 0:
                raise MatrixError("entry-is-negative", i=i, j=j, p=to_float(p))
    sums = [sum(column, Fraction(0)) for column in columns]
    wrong = [j for j, total in enumerate(sums) if abs(total - 1) > SUM_TOLERANCE]
    if not wrong:
        return
    sums_text = listed((f"column {j} sums to {to_float(sums[j]):.10g}" for j in wrong), len(wrong), MESSAGE - 28)
    if all(abs(sum(row) - 1) <= SUM_TOLERANCE for row in zip(*columns, strict=True)):
        raise OrientationError("rows-sum-to-1-not-columns", sums_text=sums_text)
    raise MatrixError("not-1-sums-text", sums_text=sums_text)


def read_rows(R: Any) -> list[list[Any]]:
    """The entries of a matrix whose rows are truths, transposed; an error unless its rows sum to one."""
    values = _values(R)
    sums = [sum((_entry(v, i, j) for j, v in enumerate(row)), Fraction(0)) for i, row in enumerate(values)]
    wrong = [i for i, total in enumerate(sums) if abs(total - 1) > SUM_TOLERANCE]
    if wrong:
        instead = in_language("leave out --rows", "use Dense.of")
        raise OrientationError("row-sums-to-not-1", wrong=wrong[0], sum=to_float(sums[wrong[0]]), instead=instead)
    return _transposed(values)


def _exact(values: list[list[Any]], given: Columns) -> Columns:
    """Fractions that sum to one in every column: the simplest that floats represent, else as typed, else settled."""
    for columns in (_simplest(values, given), given):
        if all(sum(column) == 1 for column in columns):
            return columns
    return _settled(values, given)


def _simplest(values: list[list[Any]], given: Columns) -> Columns:
    """Small fractions in place of floats such as 0.16666666666666666, where they can represent them."""

    def simple(value: Any, p: Fraction) -> Fraction:
        near = p.limit_denominator(_SIMPLE)
        return near if is_float(value) and abs(p - near) <= _ROUNDING and (near > 0) == (p > 0) else p

    return [list(map(simple, as_given, exact)) for as_given, exact in zip(values, given, strict=True)]


def _settled(values: list[list[Any]], given: Columns) -> Columns:
    """Binary values of floats; what a column lacks to one, at most 1e-9, goes to its largest entry."""
    for j, (as_given, exact) in enumerate(zip(values, given, strict=True)):
        total = sum(exact, Fraction(0))
        if total != 1 and not any(map(is_decimal, as_given)):
            raise MatrixError("the-fractions-of-column-sum", j=j, total_sub=to_float(total - 1))
    columns = [
        [Fraction(float(v)) if is_float(v) else p for v, p in zip(as_given, exact, strict=True)]
        for as_given, exact in zip(values, given, strict=True)
    ]
    for column in columns:
        largest = max(range(len(column)), key=column.__getitem__)
        column[largest] += 1 - sum(column)
    return columns

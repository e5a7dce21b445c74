"""Columns of any library, seen as numpy arrays, and numpy arrays turned back into columns of that library.

Lists, tuples and numpy arrays are handled here. Other libraries have an adapter: a module with the two functions of
``Adapter``, named in ``ADAPTERS`` under the root package of its column type and imported on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from maskwell.core.labels import plain
from maskwell.errors import InputError, WrongTypeError

T = TypeVar("T")
Labels = Sequence[Hashable]
Versions = Sequence[Labels]  # the labels as they are and, when matching by text, as other types: the first that fits

ADAPTERS = {
    "pandas": "maskwell.engines.pandas_columns",
    "polars": "maskwell.engines.polars_columns",
    "pyarrow": "maskwell.engines.arrow_columns",
}


@dataclass(frozen=True)
class Column:
    """A column as numpy sees it.

    Parameters
    ----------
    data
        The values themselves (array or list), or, with ``distinct``, positions in it (negative: missing).
    distinct
        The distinct values of a dictionary-like column; they need not all occur.
    missing
        Rows without a value, where the array itself cannot say so.
    """

    data: Any
    distinct: Sequence[Any] | None = None
    missing: NDArray[np.bool_] | None = None

    def values_at(self, rows: NDArray[np.intp]) -> list[Any]:
        """Values at some rows, None where the library says that there is none."""
        values: list[Any]
        if isinstance(self.data, np.ndarray):
            values = self.data[rows].tolist()
        else:
            values = [self.data[row] for row in rows.tolist()]
        if self.distinct is not None:
            values = [self.distinct[position] if position >= 0 else None for position in values]
        if self.missing is not None:
            gone = self.missing[rows].tolist()
            values = [None if missing else value for value, missing in zip(values, gone, strict=True)]
        return values


class Adapter(Protocol):
    """What each library's module offers."""

    def split(self, values: Any) -> Column:
        """Column of the library, as numpy sees it."""

    def join(self, codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None) -> Any:
        """Column like ``like`` (only its rows ``kept``) that holds the labels with these codes."""


def split(values: Any) -> Column:
    """See a list, tuple, numpy array, or column of pandas, polars or Arrow as a ``Column``.

    >>> split(np.array([True, False])).distinct
    [False, True]
    """
    if isinstance(values, np.ndarray):
        return split_array(values)
    if isinstance(values, list | tuple):
        return Column(values)
    return _adapter(values).split(values)


def join(codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None = None) -> Any:
    """Labels with these codes, in a container of the same kind as ``like`` (None: a numpy array)."""
    if like is None or isinstance(like, np.ndarray):
        return label_array(versions, None if like is None else like.dtype)[codes]
    if isinstance(like, list | tuple):
        return type(like)(_object_array(versions[0])[codes].tolist())
    return _adapter(like).join(codes, versions, like, kept)


def _adapter(values: Any) -> Adapter:
    for kind in type(values).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in ADAPTERS:
            return cast(Adapter, importlib.import_module(ADAPTERS[root]))
    raise not_a_column(values)


def not_a_column(values: Any) -> WrongTypeError:
    """Error for something that is not one column of values."""
    return WrongTypeError(
        f"a column of values is needed, not a {type(values).__name__}",
        hint="give one list, numpy array, pandas or polars Series, or Arrow array; of a table, give one column",
        type=type(values),
    )


def split_array(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Column:
    """See a one-dimensional numpy array (masked or not) as a ``Column``."""
    if values.ndim != 1:
        raise InputError(
            f"a column has one dimension, this array has {values.ndim} (shape {values.shape})",
            hint="give one column at a time, for instance table[:, 0]",
            shape=values.shape,
        )
    if isinstance(values, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(values)
    data = np.asarray(values)
    if data.dtype.kind == "b":
        return Column(data.astype(np.uint8), [False, True], missing)
    if data.dtype.kind in "mM":
        found, positions = np.unique(data, return_inverse=True)
        return Column(positions, [plain(value) for value in found], missing)
    beyond_int64 = data.dtype == np.uint64 and data.size and data.max() > np.iinfo(np.int64).max
    return Column(data.astype(object) if beyond_int64 else data, None, missing)


def first_fit(versions: Versions, build: Callable[[Any], T], to_list: Callable[[T], list[Any]]) -> T | None:
    """Build a column of labels from the first version that the column's type holds unchanged; None if none does.

    For ``range`` labels only the ends are compared, so that a million of them cost nothing.
    """
    for labels in versions:
        numbered = isinstance(labels, range)
        ends = [labels[0], labels[-1]] if numbered else list(labels)
        try:
            if to_list(build(ends)) == ends:
                return build(np.arange(len(labels)) if numbered else ends)
        except Exception:  # noqa: BLE001, S112  (each library refuses values of the wrong type with errors of its own)
            continue
    return None


def label_array(versions: Versions, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Labels as an array of that type where it can hold them, else of the type natural to them.

    >>> label_array([("a", "b")], np.dtype("int64")).dtype.kind
    'U'
    """
    if dtype is not None and dtype.kind != "O":
        kind: Any = dtype.kind if dtype.kind in "US" else dtype
        fitting = first_fit(versions, lambda labels: np.array(labels, dtype=kind), lambda array: array.tolist())
        if fitting is not None:
            return fitting
    return _object_array(versions[0]) if dtype is not None and dtype.kind == "O" else natural_array(versions[0])


def natural_array(labels: Labels) -> NDArray[Any]:
    """Labels as a boolean, integer, float or text array if they are all of one such kind, else as objects."""
    if isinstance(labels, range):
        return np.arange(len(labels))
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64), (str, np.str_)):
        if all(type(label) is kind for label in labels):
            try:
                return np.array(labels, dtype=dtype)
            except OverflowError:
                break
    return _object_array(labels)


def _object_array(labels: Labels) -> NDArray[Any]:
    return np.fromiter(labels, dtype=object, count=len(labels))

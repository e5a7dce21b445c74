"""Factor: a column of strata, clusters or domains as codes into a short list of labels, and how two of them merge.

Labels come sorted, numbers before texts, so that the codes do not depend on the order of the rows or of the batches.
Integers, texts and objects of any kind are coded here; who has codes already (a dictionary column of Arrow, a pandas
categorical) gives them with :meth:`Factor.from_codes` and saves the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array, as_list
from maskwell.core.arrays import Array
from maskwell.core.labels import is_missing, plain
from maskwell.errors import LabelError, MissingValueError, WrongTypeError

TABLE_SLOTS = 1 << 20  # integers spread wider than this, and than the rows, are sorted instead of looked up


@dataclass(frozen=True, eq=False)
class Factor:
    """Codes into sorted distinct labels.

    Attributes
    ----------
    codes
        Shape (n,), type int64.
    labels
        Sorted and distinct. Labels that no row bears are allowed, and stay.

    >>> Factor.of(["south", "north", "south"])
    Factor(codes=array([1, 0, 1]), labels=array(['north', 'south'], dtype='<U5'))
    """

    codes: Array
    labels: Array

    @classmethod
    def of(cls, values: Any, name: str = "column") -> Factor:
        """From a column of labels: integers, floats, texts, or objects of any kind that can be a label."""
        column = as_array(values, name) if hasattr(values, "__array__") else _as_array(as_list(values, name))
        if column.ndim != 1:
            raise WrongTypeError(
                f"{name} has shape {column.shape}", hint="give one label for each row", shape=column.shape
            )
        if column.dtype.kind in "iu":
            return cls(*_coded_integers(column))
        if column.dtype.kind in "fM" and (lost := np.flatnonzero(column != column)).size:
            raise _missing(name, lost, len(column))
        if column.dtype.kind == "O":
            return cls(*_coded_objects(column, name))
        labels, codes = np.unique(column, return_inverse=True)
        return cls(codes.astype(np.int64, copy=False), labels)

    @classmethod
    def from_codes(cls, codes: Any, labels: Sequence[Any], name: str = "column") -> Factor:
        """From codes into labels in any order, such as a dictionary column; codes below 0 are missing values."""
        coded = Factor.of(_as_array(labels), name)
        if len(coded.labels) != len(coded.codes):
            raise LabelError(f"{name}: two labels are equal", hint="give distinct labels", labels=labels)
        positions = as_array(codes, name)
        if positions.dtype.kind not in "iu" or positions.ndim != 1:
            raise WrongTypeError(
                f"{name}: codes are {positions.dtype} of shape {positions.shape}", hint="give a column of integers"
            )
        if len(positions) and (lost := np.flatnonzero(positions < 0)).size:
            raise _missing(name, lost, len(positions))
        if len(positions) and int(positions.max()) >= len(coded.codes):
            raise LabelError(
                f"{name}: code {int(positions.max())} has no label", hint=f"there are {len(coded.codes)} labels"
            )
        return cls(coded.codes[positions], coded.labels)

    @classmethod
    def constant(cls, n: int) -> Factor:
        """One label, 0, for all n rows, where nothing was given (see :attr:`given`)."""
        return cls(np.zeros(n, dtype=np.int64), np.zeros(1, dtype=np.int8))

    @property
    def given(self) -> bool:
        """Whether there are labels of somebody's own: integers of one byte are those of :meth:`constant` only."""
        return self.labels.dtype != np.int8

    @property
    def size(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Array) -> Factor:
        """The same labels for some rows."""
        return Factor(self.codes[rows], self.labels)

    @staticmethod
    def joined(parts: Sequence[Factor], name: str = "column") -> Factor:
        """The rows of several factors one below the other, with the labels of all of them."""
        first = parts[0]
        if all(_same(part.labels, first.labels) for part in parts[1:]):
            return Factor(np.concatenate([part.codes for part in parts]), first.labels)
        kinds = {part.labels.dtype.kind for part in parts}
        alike = len(kinds) == 1 or kinds <= set("iuf")
        stacked = [label for part in parts for label in part.labels.tolist()]
        every = Factor.of(np.concatenate([part.labels for part in parts]) if alike else _as_array(stacked), name)
        starts = np.cumsum([0, *(part.size for part in parts[:-1])])
        codes = [every.codes[part.codes + start] for part, start in zip(parts, starts, strict=True)]
        return Factor(np.concatenate(codes), every.labels)


def _same(a: Array, b: Array) -> bool:
    return a is b or (a.dtype.kind == b.dtype.kind and len(a) == len(b) and bool((a == b).all()))


def _as_array(labels: Iterable[Any]) -> Array:
    """Labels as a plain array where they are all numbers or all texts, as objects otherwise."""
    plain_labels = [plain(label) for label in labels]
    kinds = {type(label) for label in plain_labels}
    if len(kinds) == 1 and kinds <= {int, float, str}:
        return np.array(plain_labels)
    column = np.empty(len(plain_labels), dtype=object)
    column[:] = plain_labels
    return column


def _coded_integers(column: Array) -> tuple[Array, Array]:
    if not len(column):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    low, high = int(column.min()), int(column.max())
    if high - low >= max(TABLE_SLOTS, len(column)):
        labels, codes = np.unique(column, return_inverse=True)
        return codes.astype(np.int64, copy=False), labels
    wide = column.astype(np.int64 if high < 2**63 else np.uint64, copy=False)  # differences of small types overflow
    shifted = wide if low == 0 else (wide - wide.dtype.type(low)).astype(np.int64, copy=False)
    used = np.bincount(shifted, minlength=high - low + 1) > 0
    labels = np.flatnonzero(used).astype(wide.dtype, copy=False) + wide.dtype.type(low)
    if len(labels) == high - low + 1:
        return shifted, labels
    return (np.cumsum(used) - 1)[shifted], labels


def _coded_objects(column: Array, name: str) -> tuple[Array, Array]:
    places: dict[Any, int] = {}
    try:
        codes = np.fromiter((places.setdefault(v, len(places)) for v in column.tolist()), np.int64, len(column))
    except TypeError as error:
        raise WrongTypeError(
            f"{name}: a value cannot be a label", hint="use numbers, texts or tuples", values=str(error)
        ) from None
    distinct = list(places)
    if lost := [place for place, label in enumerate(distinct) if is_missing(label)]:
        raise _missing(name, np.flatnonzero(np.isin(codes, lost)), len(column))
    order = sorted(range(len(distinct)), key=lambda i: _sort_key(distinct[i]))
    position = np.empty(len(distinct), dtype=np.int64)
    position[order] = np.arange(len(distinct))
    return position[codes], _as_array(distinct[i] for i in order)


def _sort_key(label: Any) -> tuple[Any, ...]:
    """Numbers first, then by the name of the type; tuples part by part."""
    if isinstance(label, bool | int | float):
        return (0, "", label)
    if isinstance(label, tuple):
        return (1, "tuple", tuple(_sort_key(part) for part in label))
    return (1, type(label).__name__, label if isinstance(label, str) else repr(label))


def _missing(name: str, rows: Array, n: int) -> MissingValueError:
    return MissingValueError(
        f"{name}: {len(rows):,} of {n:,} rows have no value, first in row {int(rows[0]) + 1}",
        hint="leave those rows out, or give their missing values a label of their own",
        rows=rows[:10].tolist(),
    )

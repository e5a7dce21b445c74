"""Rows put into groups: by the labels of one column (Factor), or by keys, one number for the codes of several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_list
from maskwell.core.labels import is_missing, plain
from maskwell.errors import LabelError, MissingValueError, WrongTypeError

TABLE_SLOTS = 1 << 20  # integers spread wider than this, and than the rows, are sorted instead of looked up


@dataclass(frozen=True, eq=False)
class Factor:
    """Codes into sorted distinct labels."""

    codes: Array  # shape (n,), type int64
    labels: Array  # sorted and distinct. Labels that no row bears are allowed, and stay

    @classmethod
    def of(cls, values: Any, name: str = "column") -> Factor:
        """From a column of labels: integers, floats, texts, or objects of any kind that can be a label."""
        column = as_array(values, name) if hasattr(values, "__array__") else _as_array(as_list(values, name))
        if column.ndim != 1:
            raise WrongTypeError("name-has-shape-shape", name=name, shape=column.shape)
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
            raise LabelError("two-labels-are-equal", name=name, labels=labels)
        positions = as_array(codes, name)
        if positions.dtype.kind not in "iu" or positions.ndim != 1:
            raise WrongTypeError("codes-are-of-shape", name=name, dtype=positions.dtype, shape=positions.shape)
        if len(positions) and (lost := np.flatnonzero(positions < 0)).size:
            raise _missing(name, lost, len(positions))
        if len(positions) and int(positions.max()) >= len(coded.codes):
            raise LabelError(
                "code-has-no-label", name=name, positions_max=int(positions.max()), codes_count=len(coded.codes)
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
        raise WrongTypeError("a-value-cannot-be-a-label", name=name, values=str(error)) from None
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
        "of-rows-have-no-value-first",
        name=name,
        rows_count=len(rows),
        n=n,
        row_number=int(rows[0]) + 1,
        rows=rows[:10].tolist(),
    )


# ---- keys of combinations

LARGEST_KEY = 1 << 62
DENSE = 1 << 20  # this many places are counted into, even for few rows
MARKED = 1 << 22  # this many places are marked, even for few keys


def possible_cells(sizes: Iterable[int]) -> int:
    """How many combinations columns with so many codes have; a column without codes counts as one."""
    return math.prod(max(1, size) for size in sizes)


def joint_keys(columns: Sequence[Array], sizes: Sequence[int], rows: int, *, first: int = 0) -> Array:
    """The key of each row; ``first`` is -1 where that code means a missing value, which ``sizes`` counts too."""
    keys = np.zeros(rows, dtype=np.int64 if possible_cells(sizes) <= LARGEST_KEY else object)
    for codes, size in zip(columns, sizes, strict=True):
        keys *= max(1, size)
        keys += codes
        if first:
            keys -= first
    return keys


def separate_codes(keys: Array, sizes: Sequence[int]) -> list[Array]:
    """The codes of each column back from keys."""
    codes = []
    for size in reversed(sizes):
        radix = max(1, size)
        keys, last = (keys // radix, keys % radix) if keys.dtype == object else np.divmod(keys, radix)
        codes.append(last)
    return codes[::-1]


def number_cells(sizes: Sequence[int], *tables: Array) -> list[Array]:
    """Numbers that rise with the combinations, first column slowest; equal in all tables where the codes are."""
    stacked = np.concatenate(tables)
    keys, _ = _word_keys(zip(stacked.T, sizes, strict=True), len(stacked))
    return _split_like(keys, tables)


def renumber(space: int, *keys: Array) -> tuple[list[Array], int]:
    """Numbers below ``space`` as 0, 1, 2, ... in their order, the same in all arrays, and how many there are."""
    if space > MARKED + 4 * sum(map(len, keys)):  # marking places would cost more than sorting
        distinct, place = np.unique(np.concatenate(keys), return_inverse=True)
        return _split_like(place.ravel(), keys), len(distinct)
    used = np.zeros(space, dtype=bool)
    for numbers in keys:
        used[numbers] = True
    place = np.cumsum(used) - 1
    return [place[numbers] for numbers in keys], int(used.sum())


class KeyFinder:
    """Finds where keys stand among known ones: the first place of each, -1 for a key that is not known."""

    def __init__(self, known: Array, space: int | None = None, *, dense: int = 0) -> None:
        self._table: Array | None = None
        if space is not None and space <= dense:
            self._table = np.full(space, -1, dtype=np.int32 if len(known) < 1 << 31 else np.int64)
            self._table[known[::-1]] = np.arange(len(known))[::-1]
        else:
            self._order = np.argsort(known, kind="stable")
            self._keys = known[self._order]

    def find(self, keys: Array) -> Array:
        """The place of each key among the known ones, or -1."""
        if self._table is not None:
            place: Array = self._table[keys]
            return place
        if not len(self._keys):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._order[at], -1)


def find_keys(known: Array, keys: Array) -> Array:
    """The place of each key among known ones, or -1, where one asks once."""
    return KeyFinder(known).find(keys)


def distinct_rows(columns: Sequence[Array], rows: int) -> tuple[Array, Array]:
    """The distinct rows of codes, in order, shape (groups, columns), and which of them each row is."""
    if not columns or not rows:
        return np.zeros((min(rows, 1), len(columns)), dtype=np.int64), np.zeros(rows, dtype=np.int64)
    sizes = [int(codes.max()) + 1 for codes in columns]
    if possible_cells(sizes) >= LARGEST_KEY:
        groups, of_row = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        return groups, of_row.reshape(-1)
    keys, of_row = np.unique(joint_keys(columns, sizes, rows), return_inverse=True)
    return np.column_stack(separate_codes(keys, sizes)), of_row.reshape(-1)


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows put together by a key: ``key`` (n,) below ``space``, of which only the values ``used`` occur."""

    key: Array
    space: int
    used: Array
    sizes: Array

    @classmethod
    def by(cls, columns: Iterable[tuple[Array, int]], n: int) -> Groups:
        """Groups of equal codes in all columns, each given with the number of its codes; first column slowest."""
        key, space = _word_keys(columns, n)
        if space > max(DENSE, 2 * n):
            key, space = _sorted_numbers(key)
        sizes = np.bincount(key, minlength=space)
        used = np.flatnonzero(sizes)
        return cls(key, space, used, sizes[used])

    def __len__(self) -> int:
        return len(self.used)

    def sums(self, values: Array) -> Real:
        """Sum of the values in each group, shape (groups,), or (groups, R) for values of shape (n, R)."""
        if values.ndim == 1:
            return np.asarray(np.bincount(self.key, weights=values, minlength=self.space)[self.used], dtype=np.float64)
        sums = [self.sums(column) for column in values.T]
        return np.stack(sums, axis=1) if sums else np.zeros((len(self), 0))

    def row_of_each(self) -> Array:
        """One row of each group."""
        rows = np.zeros(self.space, dtype=np.int64)
        rows[self.key] = np.arange(len(self.key))
        return rows[self.used]

    @property
    def codes(self) -> Array:
        """The number of its group for each row."""
        place = np.zeros(self.space, dtype=np.int64)
        place[self.used] = np.arange(len(self.used))
        return place[self.key]

    def varying(self, values: Array) -> Array:
        """Rows whose value differs from that of the row which represents their group."""
        chosen = np.zeros(self.space, dtype=values.dtype)
        chosen[self.key] = values
        return np.flatnonzero(chosen[self.key] != values)


def _word_keys(columns: Iterable[tuple[Array, int]], rows: int) -> tuple[Array, int]:
    """Numbers that rise with the combinations and below what they lie; renumbered where a word would not hold them."""
    keys, space = np.zeros(rows, dtype=np.int64), 1
    for codes, size in columns:
        if size <= 1:
            continue
        if space * size >= LARGEST_KEY:
            keys, space = _sorted_numbers(keys)
        keys = codes.astype(np.int64, copy=False) if space == 1 else keys * size + codes
        space *= size
    return keys, space


def _sorted_numbers(keys: Array) -> tuple[Array, int]:
    distinct, numbers = np.unique(keys, return_inverse=True)
    return numbers.astype(np.int64, copy=False).ravel(), max(1, len(distinct))


def _split_like(keys: Array, parts: Sequence[Array]) -> list[Array]:
    return np.split(keys, np.cumsum([len(part) for part in parts])[:-1])


MISSING_NUMBER = np.uint64(0x9E3779B97F4A7C15)  # the number of a missing value


class NumberedColumn(NamedTuple):
    """A column of a batch: for each row a place in ``numbers``, which represent the values; the last for none."""

    places: Array
    numbers: Array


def mixed(numbers: Array) -> Array:
    """Numbers of 64 bits spread over all of them, one to one."""
    with np.errstate(over="ignore"):
        spread = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        spread = (spread ^ (spread >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = spread ^ (spread >> np.uint64(31))
    return mixed


def joined_columns(first: NumberedColumn, second: NumberedColumn) -> NumberedColumn:
    """Two columns as one."""
    size = len(second.numbers)
    codes, possible = first.places * size + second.places, len(first.numbers) * size
    if possible <= len(codes):
        there = np.bincount(codes, minlength=possible) > 0
        cells, places = np.flatnonzero(there), (np.cumsum(there) - 1)[codes]
    else:
        cells, places = np.unique(codes, return_inverse=True)
    a, b = np.divmod(cells, size)
    numbers = mixed(first.numbers[a] + np.uint64(3) * mixed(second.numbers[b]))
    return NumberedColumn(places.astype(np.int64), np.append(numbers, MISSING_NUMBER))

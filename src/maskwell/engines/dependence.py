"""What a column that stays as it is tells: its own values and those of other columns, counted in all rows.

Every value is known by a number of 64 bits. Tables that stay small are exact; where a column has more values than its
table may hold, a part of the values is followed through all rows, chosen by their numbers, so that memory is bounded
whatever the file. A value that is followed is counted wholly. Figures of such columns are estimates, with a standard
error below ``1 / sqrt(followed values)``, one in a hundred at the very most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.engines.arrow import require
from maskwell.engines.levels import integers_of

CELLS = 1 << 22
"""Cells that all tables may hold together, some 100 megabytes."""

FEWEST_CELLS, MOST_CELLS = 1 << 14, 1 << 20
"""Cells that one table may hold at least and at most."""

OFTEN = 64
"""A value that occurred so often is followed to the end."""

SIZES = 1 << 10
"""Groups of so many rows or more are not told apart."""

PLACES = 50
"""Places in a group that are told apart."""

LIKE = 0.1
"""Columns that stand for each other have as many different values, to within this share, in every batch."""

FEWEST_VALUES = 10
"""Columns with fewer values are categories: they are no copies of ids."""

RARE, FEWEST_RARE = 0.1, 5
"""A label is rare with this share of the records or less; of fewer records nothing can be said."""

SURE, USUAL, BY_CHANCE = 0.99, 0.75, 1e-3
"""Share of the records with a value that have one label, where it is told for sure; how many have it anyway at most,
and how likely that may be by chance."""

RECORDS_PER_LABEL = 3
"""With fewer records to a label everything follows from it."""

MOST_TOGETHER = 5_000
"""A column with more values in its first rows is not looked at together with another one."""

_WORDS = np.random.Generator(np.random.PCG64(20_260)).integers(0, 1 << 63, 1 << 10, dtype=np.uint64) * np.uint64(2) + (
    np.uint64(1)
)
_ALL = np.uint64((1 << 64) - 1)
_MISSING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Restored:
    """How often a column restores the value of another one.

    Attributes
    ----------
    column
        Whose values are restored.
    share, without
        Share of the records whose value is guessed right from the other records with the same value, and by the best
        guess without them.
    by
        What tells: ``"value"``, ``"size"`` (how many records have the same value), ``"place"`` (which of them it is,
        in the order of the file), or the name of a column that is looked at together with this one.
    rare
        The same for the rare label that is told best: at least this share of its records is guessed right, and of the
        records that are guessed to have it.
    sure
        Share of the records whose value goes with one label, in 99 of 100 records and not by chance, where no more than
        three quarters of all records have it.
    """

    column: str
    share: float
    without: float
    by: str = "value"
    rare: float = 0.0
    sure: float = 0.0

    @property
    def gain(self) -> float:
        """Of the values that would be guessed wrong without the column, the share that it corrects.

        >>> round(Restored("sex", 0.9, 0.5).gain, 3), Restored("sex", 1.0, 1.0).gain
        (0.8, 0.0)
        """
        return max(0.0, (self.share - self.without) / (1 - self.without)) if self.without < 1 else 0.0


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What was found of one column that stays as it is.

    Attributes
    ----------
    column, rows, values
        Its name, the records that have a value, and how many different values there are.
    exact
        Whether all values were followed, or a part of them.
    in_groups
        Records that share their value with others, by the size of the group; larger ones come last.
    restored
        What it restores, and how.
    shown
        Columns that its value follows from, with the share of the records in which it does: a changed one disagrees.
    stands_for
        Columns that have one value for each of its values, and the other way round.
    """

    column: str
    rows: int
    values: float
    exact: bool
    in_groups: Real = field(repr=False)
    restored: tuple[Restored, ...] = ()
    shown: tuple[Restored, ...] = ()
    stands_for: tuple[str, ...] = ()

    def share_below(self, size: int) -> float:
        """Share of the records in groups of fewer than so many."""
        return float(self.in_groups[: max(0, min(size, SIZES))].sum()) / self.rows if self.rows else 0.0


class Encoded(NamedTuple):
    """A column of a batch: for each row a place in ``numbers``, which stand for the values; the last for none."""

    places: Array
    numbers: Array


def encode(column: Any) -> Encoded:
    """Values of any type as numbers of 64 bits; those of integers are all different.

    >>> import pyarrow as pa
    >>> places, numbers = encode(pa.array(["a", None, "b", "a"]))
    >>> places.tolist(), len(set(numbers.tolist()))
    ([0, 2, 1, 0], 3)
    """
    arrow = require()
    if not arrow.types.is_dictionary(column.type):
        column = _simple(column).dictionary_encode()
    indices = column.indices
    if indices.null_count:
        indices = indices.cast(arrow.int64()).fill_null(len(column.dictionary))
    values = column.dictionary
    numbers = np.append(_numbers(values), _MISSING)
    if values.null_count:
        numbers[:-1][np.array(values.is_null().to_pylist())] = _MISSING
    return Encoded(integers_of(indices).astype(np.int64), numbers)


def _simple(column: Any) -> Any:
    """Lists and other values with parts as texts."""
    arrow = require()
    if arrow.types.is_nested(column.type):
        return arrow.array([None if value is None else repr(value) for value in column.to_pylist()], arrow.string())
    return column


def _numbers(values: Any) -> Array:
    arrow = require()
    types, kind = arrow.types, values.type
    if types.is_temporal(kind) and not types.is_interval(kind):
        values = values.cast(arrow.int32() if kind.bit_width == 32 else arrow.int64())
        kind = values.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return _mixed(integers_of(values.cast(arrow.int64(), safe=False).fill_null(0)).view(np.uint64))
    if types.is_floating(kind):
        real = integers_of(values.cast(arrow.float64()).fill_null(0.0)) + 0.0
        return _mixed(real.view(np.uint64))
    if not (types.is_string(kind) or types.is_large_string(kind)):
        values = values.cast(arrow.string()) if not types.is_binary(kind) else values
    return _text_numbers(values.cast(arrow.large_binary()))


def _mixed(numbers: Array) -> Array:
    """Numbers of 64 bits spread over all of them, one to one."""
    with np.errstate(over="ignore"):
        found = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = found ^ (found >> np.uint64(31))
    return mixed


def _text_numbers(values: Any) -> Array:
    """A number for each text: the sum of its bytes, each times a fixed random number for its place."""
    if not len(values):
        return np.zeros(0, dtype=np.uint64)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(ends)
    signs = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    place = np.arange(len(signs), dtype=np.int64) - np.repeat(ends[:-1] - ends[0], lengths)
    factors = _WORDS[place % len(_WORDS)] + (place // len(_WORDS)).astype(np.uint64) * np.uint64(2)
    sums = np.append(np.uint64(0), np.cumsum((signs.astype(np.uint64) + np.uint64(1)) * factors, dtype=np.uint64))
    return _mixed(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]] + lengths.astype(np.uint64))


class Labels(NamedTuple):
    """Another column beside the values: codes from 0 to ``size - 1``, and numbers for them where they have some."""

    codes: Array
    size: int
    numbers: Array | None = None


class Guesses(NamedTuple):
    """By label, records that are guessed right and that are guessed to have it; and records that are told for sure.

    For sure means that the records with their value have one label, nearly all of them, and not by chance.
    """

    right: Real
    guessed: Real
    sure: float


class _Cells:
    """How often each value occurs with each label, in pieces that are added up when there are many."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Array, Array, Array]] = []
        self._sorted = True
        self.kept = 0

    def add(self, values: Array, labels: Array, counts: Array) -> None:
        self._pieces.append((values, labels, counts))
        self._sorted = False
        self.kept += len(values)

    def found(self) -> tuple[Array, Array, Array]:
        """Values, labels and counts, each cell once, in order."""
        if not self._sorted:
            values, labels, counts = (np.concatenate(part) for part in zip(*self._pieces, strict=True))
            order = np.lexsort((labels, values))
            values, labels = values[order], labels[order]
            new = np.flatnonzero(np.append(True, (values[1:] != values[:-1]) | (labels[1:] != labels[:-1])))
            self._pieces = [(values[new], labels[new], np.add.reduceat(counts[order], new))]
            self._sorted, self.kept = True, len(new)
        return self._pieces[0] if self._pieces else (np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, int))

    def keep(self, those: Array) -> None:
        """Only some of the cells, in the order of :meth:`found`."""
        values, labels, counts = self.found()
        self._pieces, self.kept = [(values[those], labels[those], counts[those])], int(those.sum())


class ValueCounter:
    """Counts the values of one column, each with the labels of others beside it, in bounded memory."""

    def __init__(self, limit: int = MOST_CELLS) -> None:
        self._limit = limit
        self._below = _ALL
        self._often = np.zeros(0, np.uint64), np.zeros(0)
        self.cells: dict[str, _Cells] = {}

    @property
    def exact(self) -> bool:
        """Whether every value is followed."""
        return bool(self._below == _ALL)

    def add(self, column: Encoded, beside: Mapping[str, Labels]) -> None:
        """Count the next rows."""
        places, numbers = column
        followed = None if self.exact else self._followed(numbers)
        rows = None if followed is None or followed.all() else np.flatnonzero(followed[places])
        if rows is not None:
            places = places[rows]
        for name, labels in beside.items():
            codes = labels.codes if rows is None else labels.codes[rows]
            cells, counts = _count(places * labels.size + codes, len(numbers) * labels.size)
            value, label = np.divmod(cells, labels.size)
            own = label.astype(np.uint64) if labels.numbers is None else labels.numbers[label]
            table = self.cells.setdefault(name, _Cells())
            table.add(numbers[value], own, counts)
        if any(table.kept > self._limit for table in self.cells.values()):
            self._make_room()

    def _followed(self, numbers: Array) -> Array:
        found: Array = (numbers <= self._below) | np.isin(numbers, self._often[0])
        return found

    def _make_room(self) -> None:
        """Add up what was counted; where that is too much, follow every second value only, and all frequent ones."""
        for table in self.cells.values():
            table.found()
        while any(table.kept > self._limit // 2 for table in self.cells.values()) and self._below > 1:
            values, counts = self._sizes()
            often = values[(counts >= OFTEN) & ~np.isin(values, self._often[0])]
            weight = np.append(self._often[1], np.full(len(often), self._weight()))
            self._often = np.append(self._often[0], often), weight
            self._below = self._below >> np.uint64(1)
            for table in self.cells.values():
                table.keep(self._followed(table.found()[0]))

    def _sizes(self) -> tuple[Array, Array]:
        values, _, counts = next(iter(self.cells.values())).found()
        start = _starts(values)
        return values[start], np.add.reduceat(counts, start) if len(start) else counts

    def _weight(self) -> float:
        return float(2**64) / (float(self._below) + 1.0)

    def _weights(self, values: Array) -> Real:
        """How many values each followed one stands for."""
        weights = np.full(len(values), self._weight())
        order = np.argsort(self._often[0])
        often, own = self._often[0][order], self._often[1][order]
        there = np.isin(values, often)
        weights[there] = _at(values[there], often, own)
        return weights

    def facts(self, name: str) -> ColumnFacts:
        """What the values of the column are like; records without one are left out."""
        values, counts = self._sizes() if self.cells else (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        there = values != _MISSING
        weights, counts = self._weights(values)[there], counts[there]
        groups = np.bincount(np.minimum(counts, SIZES), weights * counts, minlength=SIZES + 1).astype(float)
        return ColumnFacts(name, round(float(groups.sum())), float(weights.sum()), self.exact, groups)

    def restored(self, name: str, totals: Array) -> Guesses:
        """What is guessed right of a label from the value.

        The guess is the most frequent label of the other records with the same value; a tie is right one time in two.
        A record that is alone with its value gets the most frequent label of all. Label 0 stands for none, and does
        not count. ``totals`` has the records of each label.
        """
        values, labels, counts = _without_none(*self.cells[name].found())
        size = len(totals)
        start = _starts(values)
        if not len(start):
            return Guesses(np.zeros(size), np.zeros(size), 0.0)
        first, second, at = _two_largest(counts, start)
        weights, n = self._weights(values[start]), np.add.reduceat(counts, start)
        right = first * np.select([first - 1 > second, first - 1 == second], [1.0, 0.5], 0.0)
        guess = labels[at].astype(np.int64)
        alone = n == 1
        right[alone] = guess[alone] == _most_frequent(totals)
        guess[alone] = _most_frequent(totals)
        usual = totals[guess] / totals[1:].sum()
        sure = (first >= SURE * n) & (usual <= USUAL) & (n * np.log(usual) < np.log(BY_CHANCE))
        return Guesses(
            np.bincount(guess, right * weights, minlength=size).astype(float),
            np.bincount(guess, n * weights, minlength=size).astype(float),
            float((n * weights)[sure].sum()),
        )

    def restored_by_size(self, name: str, totals: Array) -> float:
        """The same where only the size of the group of a record is used, not its value."""
        values, labels, counts = _without_none(*self.cells[name].found())
        if not len(values):
            return 0.0
        size = _at(values, *self._sizes())
        k = int(labels.max()) + 1
        cells, place = np.unique(size * k + labels.astype(np.int64), return_inverse=True)
        sums = np.bincount(place, counts * self._weights(values))
        start = _starts(cells // k)
        group = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(cells))))
        usual = np.bincount(group, sums * (cells % k == _most_frequent(totals)), minlength=len(start))
        groups = np.bincount(np.searchsorted(cells[start] // k, size[_starts(values)]), minlength=len(start))
        return float(np.where(groups > 1, np.maximum.reduceat(sums, start), usual).sum())

    def restored_value(self, name: str) -> float:
        """Records whose value is the most frequent one among the records with their label; all values followed."""
        values, labels, counts = _without_none(*self.cells[name].found())
        order = np.lexsort((values, labels))
        start = _starts(labels[order])
        return float(np.maximum.reduceat(counts[order], start).sum()) if len(start) else 0.0

    def follows(self, name: str) -> float:
        """Share of the followed records whose label is the most frequent one of their value."""
        values, _, counts = self.cells[name].found()
        start = _starts(values)
        return float(np.maximum.reduceat(counts, start).sum() / counts.sum()) if len(start) else 0.0


def _without_none(values: Array, labels: Array, counts: Array) -> tuple[Array, Array, Array]:
    there = labels > 0
    return values[there], labels[there], counts[there]


def _at(values: Array, known: Array, own: Array) -> Array:
    """What belongs to each value, from sorted ones."""
    found: Array = own[np.searchsorted(known, values)]
    return found


def _most_frequent(totals: Array) -> int:
    """The label that most records have; label 0 stands for none."""
    return int(np.argmax(np.append(0, totals[1:])))


def _starts(values: Array) -> Array:
    """Where a new value begins in a sorted array."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, np.int64)


def _two_largest(counts: Array, start: Array) -> tuple[Array, Array, Array]:
    """The largest and the second largest count of each group, and where the largest is."""
    first = np.maximum.reduceat(counts, start)
    lengths = np.diff(np.append(start, len(counts)))
    group = np.repeat(np.arange(len(start)), lengths)
    at = np.flatnonzero(counts == first[group])
    once = at[_starts(group[at])]
    rest = counts.copy()
    rest[once] = 0
    return first, np.maximum.reduceat(rest, start), once


def _count(codes: Array, possible: int) -> tuple[Array, Array]:
    if possible <= 4 * len(codes):
        counts = np.bincount(codes, minlength=possible)
        cells = np.flatnonzero(counts)
        return cells, counts[cells]
    return np.unique(codes, return_counts=True)


class DependenceCounter:
    """Follows columns that stay as they are through all rows of a file.

    Parameters
    ----------
    columns
        Columns that stay as they are.
    targets
        Columns that are changed, and might be restored from them.
    together
        Columns that are looked at together with each other one.
    ids
        Columns that are not published; which other column stands for one of them?
    missing
        Whether a missing value of a target is a value like others.
    ordered
        Whether the order of the rows is kept, so that the place of a row in its group tells something.
    """

    def __init__(
        self,
        columns: Iterable[str],
        targets: Sequence[str],
        *,
        together: Sequence[str] = (),
        ids: Sequence[str] = (),
        missing: bool = False,
        ordered: bool = False,
    ) -> None:
        self.columns, self.targets = [*dict.fromkeys(columns)], [*targets]
        self._together, self._ids, self._ordered = [*together], [*ids], ordered
        self._shift = 2 if missing else 1
        tables = max(1, len(self.columns) * (1 + len(self._together))) * max(1, len(self.targets))
        limit = min(MOST_CELLS, max(FEWEST_CELLS, CELLS // tables))
        self._alone = {name: ValueCounter(limit) for name in self.columns}
        self._pairs: dict[tuple[str, str], ValueCounter] | None = None
        self._copies: dict[tuple[str, str], ValueCounter] = {}
        self._places = {name: ValueCounter(limit) for name in self.columns} if ordered else {}
        self._runs: dict[str, tuple[Any, int]] = {}
        self._limit, self.rows = limit, 0
        self._totals: dict[str, Array] = {}

    @property
    def names(self) -> list[str]:
        """All columns that have to be read as they are."""
        return [*dict.fromkeys([*self.columns, *self._ids])]

    def add(self, columns: Mapping[str, Any], codes: Mapping[str, Array]) -> None:
        """Count the next rows: columns as they are, and codes of the targets, -1 for none."""
        own = {name: encode(columns[name]) for name in self.columns}
        beside = {name: _labels(codes[name], self._shift) for name in self.targets}
        rows = len(next(iter(own.values())).places) if own else 0
        for name, labels in beside.items():
            self._count_totals(name, labels)
        for name, encoded in own.items():
            self._alone[name].add(encoded, beside or {"": Labels(np.zeros(rows, np.int64), 1)})
        self._add_pairs(own, beside)
        self._add_copies(own, columns, rows)
        if self._ordered:
            self._add_places(own, beside)
        self.rows += rows

    def _count_totals(self, name: str, labels: Labels) -> None:
        counts = np.bincount(labels.codes, minlength=labels.size)
        before = self._totals.get(name, np.zeros(0, np.int64))
        whole = np.zeros(max(len(counts), len(before)), np.int64)
        whole[: len(before)] += before
        whole[: len(counts)] += counts
        self._totals[name] = whole

    def _add_pairs(self, own: Mapping[str, Encoded], beside: Mapping[str, Labels]) -> None:
        """Columns together with another one, those that have few values in the first rows."""
        if self._pairs is None:
            few = [name for name, encoded in own.items() if len(encoded.numbers) <= MOST_TOGETHER]
            rest = [name for name in few if name not in self._together]
            second = [name for name in self._together if name in few]
            chosen = [*product(rest, second), *combinations(second, 2)]
            self._pairs = {pair: ValueCounter(self._limit) for pair in chosen}
        for (a, b), counter in self._pairs.items():
            counter.add(_joined(own[a], own[b]), beside)

    def _add_copies(self, own: Mapping[str, Encoded], columns: Mapping[str, Any], rows: int) -> None:
        """Columns with as many values as an id, in every batch."""
        if self.rows and not self._copies:
            return
        wanted = [*dict.fromkeys(b for _, b in self._copies)] if self.rows else self._ids
        ids = {name: encode(columns[name]) for name in wanted}
        if not self.rows:
            self._copies = {pair: ValueCounter(self._limit) for pair in product(own, ids)}
        for (a, b), counter in [*self._copies.items()]:
            if rows >= FEWEST_VALUES and not _alike(len(own[a].numbers), len(ids[b].numbers)):
                del self._copies[a, b]
            else:
                counter.add(own[a], {b: Labels(ids[b].places, len(ids[b].numbers), ids[b].numbers)})

    def _add_places(self, own: Mapping[str, Encoded], beside: Mapping[str, Labels]) -> None:
        """Where a row stands among neighbours with the same value."""
        for name, encoded in own.items():
            number = encoded.numbers[encoded.places]
            last, length = self._runs.get(name, (None, 0))
            start = np.append(last is None or number[0] != last, number[1:] != number[:-1]) if len(number) else number
            at = np.arange(len(number))
            began = np.maximum.accumulate(np.where(start, at, -length))
            place = np.minimum(at - began, PLACES)
            if len(number):
                self._runs[name] = number[-1], int(at[-1] - began[-1]) + 1
            self._places[name].add(Encoded(place, np.arange(PLACES + 2, dtype=np.uint64)), beside)

    def facts(self) -> list[ColumnFacts]:
        """What was found of each column."""
        return [self._facts(name) for name in self.columns] if self.rows else []

    def _facts(self, name: str) -> ColumnFacts:
        counter = self._alone[name]
        found = counter.facts(name)
        return replace(
            found,
            restored=tuple(self._restored(name)),
            shown=tuple(self._shown(name, counter, found.values)),
            stands_for=tuple(self._stands_for(name, found.values)),
        )

    def _restored(self, name: str) -> Iterator[Restored]:
        for target in self.targets:
            totals = self._totals[target]
            n = int(totals[1:].sum())
            if not n:
                continue
            usual = float(totals[1:].max()) / n
            by_size = self._alone[name].restored_by_size(target, totals)
            yield _restored(target, self._alone[name].restored(target, totals), totals)
            yield Restored(target, min(1.0, by_size / n), usual, "size")
            for (a, b), counter in (self._pairs or {}).items():
                if name == a:
                    yield _restored(target, counter.restored(target, totals), totals, b)
            if name in self._places:
                yield _restored(target, self._places[name].restored(target, totals), totals, "place")

    def _shown(self, name: str, counter: ValueCounter, values: float) -> Iterator[Restored]:
        """Whether the value of the column follows from a target."""
        if not counter.exact or values < 2:
            return
        for target in self.targets:
            n, labels = int(self._totals[target][1:].sum()), int((self._totals[target][1:] > 0).sum())
            if n >= RECORDS_PER_LABEL * labels > 0:
                numbers, _, counts = _without_none(*counter.cells[target].found())
                usual = float(np.add.reduceat(counts, _starts(numbers)).max()) / n
                yield Restored(target, counter.restored_value(target) / n, usual)

    def _stands_for(self, name: str, values: float) -> Iterator[str]:
        for (a, b), counter in self._copies.items():
            if a == name and values >= FEWEST_VALUES and counter.follows(b) > 1 - LIKE / 10:
                yield b


def _restored(target: str, found: Guesses, totals: Array, by: str = "value") -> Restored:
    right, guessed, sure = found
    n = int(totals[1:].sum())
    rare = np.flatnonzero((totals >= FEWEST_RARE) & (totals <= RARE * n) & (guessed > 0))
    rare = rare[rare > 0]
    best = np.minimum(right[rare] / totals[rare], right[rare] / guessed[rare])
    share = min(1.0, float(right.sum()) / n)
    usual = float(totals[1:].max()) / n
    return Restored(target, share, usual, by, min(1.0, float(best.max(initial=0.0))), min(1.0, sure / n))


def _alike(first: int, second: int) -> bool:
    return abs(first - second) <= LIKE * max(first, second)


def _labels(codes: Array, shift: int) -> Labels:
    """Codes from -1 as labels; label 0 is left out."""
    return Labels(codes.astype(np.int64) + shift, int(codes.max(initial=-1)) + shift + 1)


def _joined(first: Encoded, second: Encoded) -> Encoded:
    """Two columns as one."""
    size = len(second.numbers)
    cells, places = np.unique(first.places * size + second.places, return_inverse=True)
    a, b = np.divmod(cells, size)
    numbers = _mixed(first.numbers[a] + np.uint64(3) * _mixed(second.numbers[b]))
    return Encoded(places.astype(np.int64), np.append(numbers, _MISSING))

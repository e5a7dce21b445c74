"""What columns that stay as they are tell about others, counted in all rows of a file, in bounded memory.

The values of a column are counted with labels of other columns beside them. Tables that stay small are exact. Where a
column has more values than its table may hold, a part of the values is followed through all rows, chosen by their
numbers; a value that is followed is counted wholly. Figures of such columns are estimates, with a standard error below
``1 / sqrt(followed values)``, one in a hundred at the very most.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, product
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import above, at_least, at_most
from maskwell.engines.arrow_arrays import column_errors
from maskwell.engines.column_codes import MISSING_NUMBER, NumberedColumn, joined_columns, numbered_column

CELLS = 1 << 22
"""Cells that all tables may hold together, some 100 megabytes."""

FEWEST_CELLS, MOST_CELLS = 1 << 14, 1 << 20
"""Cells that one table may hold at least and at most."""

OFTEN = 64
"""A value that occurred so often is followed to the end."""

SIZES = 1 << 10
"""Groups of so many rows or more are not told apart."""

SURE, USUAL, BY_CHANCE = 0.99, 0.75, 1e-3
"""Share of the records with a value that have one label, where it is told for sure; how many have it anyway at most,
and how likely that may be by chance."""

_ALL = np.uint64((1 << 64) - 1)


@dataclass(frozen=True)
class Restored:
    """How often a column restores the value of another one."""

    column: str  # Whose values are restored
    # Share of the records whose value is guessed right from the other records with the same value, and by the best
    # guess without them; records that are alone with their value are left out
    share: float
    without: float
    # What tells: "value", "size" (how many records have the same value), "place" (which of them it is, in the order of
    # the file), or the name of a column that is looked at together with this one
    by: str = "value"
    # The same for the rare label that is told best: at least this share of its records is guessed right, and of the
    # records that are guessed to have it
    rare: float = 0.0
    # Share of the records whose value goes with one label, in 99 of 100 records and not by chance, where no more than
    # three quarters of all records have it
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
    """What was found of one column that stays as it is."""

    # Its name, the records that have a value, and how many different values there are
    column: str
    rows: int
    values: float
    exact: bool  # Whether all values were followed, or a part of them
    # Records that share their value with others, by the size of the group; larger ones come last
    in_groups: Real = field(repr=False)
    restored: tuple[Restored, ...] = ()  # What it restores, and how
    # Columns that its value follows from, with the share of the records in which it does: a changed one disagrees
    shown: tuple[Restored, ...] = ()
    stands_for: tuple[str, ...] = ()  # Columns that have one value for each of its values, and the other way round
    records: int = 0  # All records of the file

    def share_below(self, size: int) -> float:
        """Share of the records in groups of fewer than so many."""
        return float(self.in_groups[: max(0, min(size, SIZES))].sum()) / self.rows if self.rows else 0.0


@dataclass(frozen=True, eq=False)
class UnitFacts:
    """What is the same, and what differs, among the records of one unit, such as a household."""

    # Of the column that names the units, as if it were published: what whoever sees the units together restores
    facts: ColumnFacts
    # Share of the records whose value is the most frequent one of their unit, by column that stays as it is
    alike: Mapping[str, float]
    # Columns with a label that nearly every unit has exactly once, as a household has one head
    once: tuple[str, ...] = ()


class LabelCodes(NamedTuple):
    """Another column beside the values: codes from 0 to ``size - 1``, and numbers for them where they have some."""

    codes: Array
    size: int
    numbers: Array | None = None


class Guesses(NamedTuple):
    """By label, records that are guessed right, that are guessed to have it, and that have it.

    Beside them the share of records that are told for sure: those with their value have one label, nearly all of them,
    and not by chance.
    """

    right: Real
    guessed: Real
    totals: Real
    sure: float


class ValueCells:
    """How often each value occurs with each label, in pieces that are added up when there are many."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Array, Array, Array]] = []
        self._sorted = True
        self.kept = 0

    def add(self, values: Array, labels: Array, counts: Array) -> None:
        """Cells of the next rows."""
        self._pieces.append((values, labels, counts))
        self._sorted = False
        self.kept += len(values)

    def sums(self) -> tuple[Array, Array, Array]:
        """Values, labels and counts, each cell once, in order."""
        if not self._sorted:
            sums = _added_up(*(np.concatenate(part) for part in zip(*self._pieces, strict=True)))
            self._pieces = [sums]
            self._sorted, self.kept = True, len(sums[0])
        return self._pieces[0] if self._pieces else (np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, int))

    def keep(self, those: Array) -> None:
        """Only some of the cells, in the order of :meth:`sums`."""
        values, labels, counts = self.sums()
        self._pieces, self.kept = [(values[those], labels[those], counts[those])], int(those.sum())


class ValueCounter:
    """Counts the values of one column, each with the labels of others beside it, in bounded memory."""

    def __init__(self, limit: int = MOST_CELLS) -> None:
        self._limit = limit
        self._below = _ALL
        self._often = np.zeros(0, np.uint64), np.zeros(0)
        self.cells: dict[str, ValueCells] = {}

    @property
    def exact(self) -> bool:
        """Whether every value is followed."""
        return bool(self._below == _ALL)

    def add(self, column: NumberedColumn, beside: Mapping[str, LabelCodes]) -> None:
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
            beside_value = label.astype(np.uint64) if labels.numbers is None else labels.numbers[label]
            table = self.cells.setdefault(name, ValueCells())
            table.add(numbers[value], beside_value, counts)
        if any(table.kept > self._limit for table in self.cells.values()):
            self._make_room()

    def _followed(self, numbers: Array) -> Array:
        followed: Array = (numbers <= self._below) | np.isin(numbers, self._often[0])
        return followed

    def _make_room(self) -> None:
        """Add up what was counted; where that is too much, follow every second value only, and all frequent ones."""
        for table in self.cells.values():
            table.sums()
        while any(table.kept > self._limit // 2 for table in self.cells.values()) and self._below > 1:
            values, counts = self._sizes()
            often = values[(counts >= OFTEN) & ~np.isin(values, self._often[0])]
            weight = np.append(self._often[1], np.full(len(often), self._weight()))
            self._often = np.append(self._often[0], often), weight
            self._below = self._below >> np.uint64(1)
            for table in self.cells.values():
                table.keep(self._followed(table.sums()[0]))

    def _sizes(self) -> tuple[Array, Array]:
        values, _, counts = next(iter(self.cells.values())).sums()
        start = starts(values)
        return values[start], np.add.reduceat(counts, start) if len(start) else counts

    def _weight(self) -> float:
        return float(2**64) / (float(self._below) + 1.0)

    def _weights(self, values: Array) -> Real:
        """How many values each followed one stands for."""
        weights = np.full(len(values), self._weight())
        order = np.argsort(self._often[0])
        often, weight = self._often[0][order], self._often[1][order]
        there = np.isin(values, often)
        weights[there] = _at(values[there], often, weight)
        return weights

    def facts(self, name: str) -> ColumnFacts:
        """What the values of the column are like; records without one are left out."""
        values, counts = self._sizes() if self.cells else (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        there = values != MISSING_NUMBER
        weights, counts = self._weights(values)[there], counts[there]
        groups = np.bincount(np.minimum(counts, SIZES), weights * counts, minlength=SIZES + 1).astype(float)
        return ColumnFacts(name, round(float(groups.sum())), float(weights.sum()), self.exact, groups)

    def restored(self, name: str, totals: Array) -> Guesses:
        """What is guessed right of a label from the value.

        The guess is the most frequent label of the other records with the same value; a tie is right one time in two.
        Records that are alone with their value are left out: whether they are many is another question. Label 0 stands
        for none, and does not count. ``totals`` has the records of each label in the whole file.
        """
        values, labels, counts = without_none(*self.cells[name].sums())
        size, start = len(totals), starts(values)
        if not len(start):
            return Guesses(np.zeros(size), np.zeros(size), np.zeros(size), 0.0)
        first, second, at = _two_largest(counts, start)
        n = np.add.reduceat(counts, start)
        weights = self._weights(values[start]) * (n > 1)
        right = first * np.select([first - 1 > second, first - 1 == second], [1.0, 0.5], 0.0)
        guess = labels[at].astype(np.int64)
        usual = totals[guess] / totals[1:].sum()
        by_chance = at_least(n * np.log(usual), np.log(BY_CHANCE))
        sure = at_least(first, SURE * n) & at_most(usual, USUAL) & ~by_chance
        each = np.repeat(weights, np.diff(np.append(start, len(values))))
        return Guesses(
            np.bincount(guess, right * weights, minlength=size).astype(float),
            np.bincount(guess, n * weights, minlength=size).astype(float),
            np.bincount(labels.astype(np.int64), counts * each, minlength=size).astype(float),
            float((n * weights)[sure].sum() / totals[1:].sum()),
        )

    def restored_by_size(self, name: str, totals: Array) -> float:
        """The same where only the size of the group of a record is used, not its value."""
        values, labels, counts = without_none(*self.cells[name].sums())
        if not len(values):
            return 0.0
        size = _at(values, *self._sizes())
        k = int(labels.max()) + 1
        cells, place = np.unique(size * k + labels.astype(np.int64), return_inverse=True)
        sums = np.bincount(place, counts * self._weights(values))
        start = starts(cells // k)
        group = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(cells))))
        usual = np.bincount(group, sums * (cells % k == _most_frequent(totals)), minlength=len(start))
        groups = np.bincount(np.searchsorted(cells[start] // k, size[starts(values)]), minlength=len(start))
        return float(np.where(groups > 1, np.maximum.reduceat(sums, start), usual).sum())

    def restored_value(self, name: str) -> float:
        """Records whose value is the most frequent one among the records with their label; all values followed."""
        values, labels, counts = without_none(*self.cells[name].sums())
        order = np.lexsort((values, labels))
        start = starts(labels[order])
        return float(np.maximum.reduceat(counts[order], start).sum()) if len(start) else 0.0

    def once(self, name: str) -> float:
        """The largest share of the values that go with one label exactly once, over all labels."""
        values, labels, counts = without_none(*self.cells[name].sums())
        if not len(values):
            return 0.0
        single = labels[counts == 1].astype(np.int64)
        return float(np.bincount(single, minlength=1).max() / len(starts(values)))

    def follows(self, name: str) -> float:
        """Share of the followed records whose label is the most frequent one of their value."""
        values, _, counts = self.cells[name].sums()
        start = starts(values)
        return float(np.maximum.reduceat(counts, start).sum() / counts.sum()) if len(start) else 0.0


def _added_up(values: Array, labels: Array, counts: Array) -> tuple[Array, Array, Array]:
    """Each cell once, in order of values and labels."""
    order = np.argsort(values)
    first = starts(values[order])
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(values))))
    size = int(labels.max()) + 1
    if len(first) * size > 4 * len(values):
        order = np.lexsort((labels, values))
        values, labels = values[order], labels[order]
        new = np.flatnonzero(np.append(True, (values[1:] != values[:-1]) | (labels[1:] != labels[:-1])))
        return values[new], labels[new], np.add.reduceat(counts[order], new)
    sums = np.bincount(group * size + labels[order].astype(np.int64), counts[order], minlength=len(first) * size)
    cells = np.flatnonzero(sums)
    value, label = np.divmod(cells, size)
    return values[order][first][value], label.astype(np.uint64), sums[cells].astype(np.int64)


def without_none(values: Array, labels: Array, counts: Array) -> tuple[Array, Array, Array]:
    """Cells without those of label 0, which stands for none."""
    there = labels > 0
    return values[there], labels[there], counts[there]


def _at(values: Array, known: Array, belonging: Array) -> Array:
    """What belongs to each value, from sorted ones."""
    at: Array = belonging[np.searchsorted(known, values)]
    return at


def _most_frequent(totals: Array) -> int:
    """The label that most records have; label 0 stands for none."""
    return int(np.argmax(np.append(0, totals[1:])))


def starts(values: Array) -> Array:
    """Where a new value begins in a sorted array."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, np.int64)


def _two_largest(counts: Array, start: Array) -> tuple[Array, Array, Array]:
    """The largest and the second largest count of each group, and where the largest is."""
    first = np.maximum.reduceat(counts, start)
    lengths = np.diff(np.append(start, len(counts)))
    group = np.repeat(np.arange(len(start)), lengths)
    at = np.flatnonzero(counts == first[group])
    once = at[starts(group[at])]
    rest = counts.copy()
    rest[once] = 0
    return first, np.maximum.reduceat(rest, start), once


def _count(codes: Array, possible: int) -> tuple[Array, Array]:
    if possible <= 4 * len(codes):
        counts = np.bincount(codes, minlength=possible)
        cells = np.flatnonzero(counts)
        return cells, counts[cells]
    return np.unique(codes, return_counts=True)


# ---- all columns of a file

PLACES = 50
"""Places in a group that are told apart."""

LIKE = 0.1
"""Columns that stand for each other have as many different values, to within this share, in every batch."""

FEWEST_VALUES = 10
"""Columns with fewer values are categories: they are no copies of ids."""

RARE, FEWEST_RARE = 0.1, 5
"""A label is rare with this share of the records or less; of fewer records nothing can be said."""

FEWEST_SHARING = 20
"""Records that share their value with others, below which nothing is said of what they restore."""

RECORDS_PER_LABEL = 3
"""With fewer records to a label everything follows from it."""

MOST_TOGETHER = 5_000
"""A column with more values in its first rows is not looked at together with another one."""

EVERY_UNIT, SMALL_UNIT = 0.95, 1.5
"""Share of the units that have a label exactly once, from which on another number shows a change; and records that a
unit has on average at least."""

MOST_PAIRS, FEWEST_PAIRS = 256, 16
"""Pairs of columns that nobody named, for all targets together and for each; those with the fewest values go first."""


class DependenceCounter:
    """Follows columns that stay as they are through all rows of a file."""

    def __init__(
        self,
        columns: Iterable[str],  # Columns that stay as they are
        targets: Sequence[str],  # Columns that are changed, and might be restored from them
        *,
        # Columns that are looked at together with each other one. Other pairs are looked at where both have few values
        together: Sequence[str] = (),
        ids: Sequence[str] = (),  # Columns that are not published; which other column stands for one of them?
        missing: bool = False,  # Whether a missing value of a target is a value like others
        # Whether the order of the rows is kept, so that the place of a row in its group tells something
        ordered: bool = False,
        # A column that names the units that records belong to, such as households, if there is one
        unit: str | None = None,
    ) -> None:
        self.columns, self.targets = [*dict.fromkeys(columns)], [*targets]
        self._together, self._ids, self._ordered = [*together], [*ids], ordered
        self._shift = 2 if missing else 1
        tables = max(1, len(self.columns) * (1 + len(self._together))) * max(1, len(self.targets))
        limit = min(MOST_CELLS, max(FEWEST_CELLS, CELLS // tables))
        self._alone = {name: ValueCounter(limit) for name in self.columns}
        self._pairs: dict[tuple[str, str], ValueCounter] | None = None
        self._pairs_from: dict[str, list[tuple[str, ValueCounter]]] = {}
        self._copies: dict[tuple[str, str], ValueCounter] = {}
        self._places = {name: ValueCounter(limit) for name in self.columns} if ordered else {}
        self._runs: dict[str, tuple[Any, int]] = {}
        self._limit, self.rows = limit, 0
        self._totals: dict[str, Array] = {}
        self._units = None if unit is None else DependenceCounter([unit], targets, missing=missing, ordered=ordered)
        self._alike = ValueCounter(limit)

    @property
    def names(self) -> list[str]:
        """All columns that have to be read as they are."""
        units = [] if self._units is None else self._units.columns
        return [*dict.fromkeys([*self.columns, *self._ids, *units])]

    def add(self, columns: Mapping[str, Any], codes: Mapping[str, Array]) -> None:
        """Count the next rows: columns as they are, and codes of the targets, -1 for none."""
        numbered = _numbered(columns, self.columns)
        if self._units is not None:
            self._units.add(columns, codes)
            unit = _numbered(columns, self._units.columns)[self._units.columns[0]]
            self._alike.add(unit, {name: _as_labels(one) for name, one in numbered.items()})
        if not self.columns:
            return
        beside = {name: _labels(codes[name], self._shift) for name in self.targets}
        rows = len(next(iter(numbered.values())).places)
        for name, labels in beside.items():
            self._count_totals(name, labels)
        for name, encoded in numbered.items():
            self._alone[name].add(encoded, beside or {"": LabelCodes(np.zeros(rows, np.int64), 1)})
        self._add_pairs(numbered, beside)
        self._add_copies(numbered, columns, rows)
        if self._ordered:
            self._add_places(numbered, beside)
        self.rows += rows

    def _count_totals(self, name: str, labels: LabelCodes) -> None:
        counts = np.bincount(labels.codes, minlength=labels.size)
        before = self._totals.get(name, np.zeros(0, np.int64))
        whole = np.zeros(max(len(counts), len(before)), np.int64)
        whole[: len(before)] += before
        whole[: len(counts)] += counts
        self._totals[name] = whole

    def _add_pairs(self, numbered: Mapping[str, NumberedColumn], beside: Mapping[str, LabelCodes]) -> None:
        """Columns together with another one, those that have few values in the first rows."""
        if self._pairs is None:
            few = [name for name, encoded in numbered.items() if len(encoded.numbers) <= MOST_TOGETHER]
            rest = [name for name in few if name not in self._together]
            second = [name for name in self._together if name in few]
            chosen = [*product(rest, second), *combinations(second, 2), *self._other_pairs(numbered, rest)]
            self._pairs = {pair: ValueCounter(self._limit) for pair in chosen}
            for (a, b), counter in self._pairs.items():
                self._pairs_from.setdefault(a, []).append((b, counter))
        for (a, b), counter in self._pairs.items():
            counter.add(joined_columns(numbered[a], numbered[b]), beside)

    def _other_pairs(self, numbered: Mapping[str, NumberedColumn], names: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of columns with so few values that all combinations can be counted."""
        most = max(FEWEST_PAIRS, MOST_PAIRS // max(1, len(self.targets)))
        sizes = [max(1, len(numbered[name].numbers)) for name in names]
        return [(names[i], names[j]) for i, j in islice(pairs_by_size(sizes, FEWEST_CELLS), most)]

    def _add_copies(self, numbered: Mapping[str, NumberedColumn], columns: Mapping[str, Any], rows: int) -> None:
        """Columns with as many values as an id, in every batch."""
        if self.rows and not self._copies:
            return
        followed = [*dict.fromkeys(b for _, b in self._copies)] if self.rows else self._ids
        ids = _numbered(columns, followed)
        if not self.rows:
            self._copies = {pair: ValueCounter(self._limit) for pair in product(numbered, ids)}
        for (a, b), counter in [*self._copies.items()]:
            if rows >= FEWEST_VALUES and not _alike(len(numbered[a].numbers), len(ids[b].numbers)):
                del self._copies[a, b]
            else:
                counter.add(numbered[a], {b: _as_labels(ids[b])})

    def _add_places(self, numbered: Mapping[str, NumberedColumn], beside: Mapping[str, LabelCodes]) -> None:
        """Where a row stands among neighbours with the same value."""
        for name, encoded in numbered.items():
            number = encoded.numbers[encoded.places]
            last, length = self._runs.get(name, (None, 0))
            start = np.append(last is None or number[0] != last, number[1:] != number[:-1]) if len(number) else number
            at = np.arange(len(number))
            began = np.maximum.accumulate(np.where(start, at, -length))
            place = np.minimum(at - began, PLACES)
            if len(number):
                self._runs[name] = number[-1], int(at[-1] - began[-1]) + 1
            self._places[name].add(NumberedColumn(place, np.arange(PLACES + 2, dtype=np.uint64)), beside)

    def facts(self) -> list[ColumnFacts]:
        """What was found of each column."""
        return [self._facts(name) for name in self.columns] if self.rows else []

    def unit_facts(self) -> UnitFacts | None:
        """What was found of the units, if a column names them."""
        if self._units is None or not self._units.rows:
            return None
        (facts,) = self._units.facts()
        alike = {name: self._alike.follows(name) for name in self.columns if name not in self._units.columns}
        return UnitFacts(facts, alike, tuple(self._units.once(facts)))

    def once(self, facts: ColumnFacts) -> list[str]:
        """Targets with a label that nearly every value of a column has exactly once."""
        several = at_least(facts.rows, SMALL_UNIT * facts.values)
        return [name for name in self.targets if several and at_least(self._alone[facts.column].once(name), EVERY_UNIT)]

    def _facts(self, name: str) -> ColumnFacts:
        counter = self._alone[name]
        facts = counter.facts(name)
        return replace(
            facts,
            restored=tuple(self._restored(name)),
            shown=tuple(self._following(name, counter, facts.values + (facts.rows < self.rows))),
            stands_for=tuple(self._stands_for(name, facts.values)),
            records=self.rows,
        )

    def _restored(self, name: str) -> Iterator[Restored]:
        for target in self.targets:
            totals = self._totals[target]
            n = int(totals[1:].sum())
            if not n:
                continue
            usual = float(totals[1:].max()) / n
            by_size = self._alone[name].restored_by_size(target, totals)
            yield _restored(target, self._alone[name].restored(target, totals))
            yield Restored(target, min(1.0, by_size / n), usual, "size")
            for b, counter in self._pairs_from.get(name, ()):
                both = _restored(target, counter.restored(target, totals), b)
                yield both if {name, b} & {*self._together} else replace(both, rare=0.0, sure=0.0)  # many by chance
            if name in self._places:
                yield _restored(target, self._places[name].restored(target, totals), "place")

    def _following(self, name: str, counter: ValueCounter, values: float) -> Iterator[Restored]:
        """Whether the value of the column follows from a target."""
        if not counter.exact or values < 2:
            return
        for target in self.targets:
            n, labels = int(self._totals[target][1:].sum()), int((self._totals[target][1:] > 0).sum())
            if n >= RECORDS_PER_LABEL * labels > 0:
                numbers, _, counts = without_none(*counter.cells[target].sums())
                usual = float(np.add.reduceat(counts, starts(numbers)).max()) / n
                yield Restored(target, counter.restored_value(target) / n, usual)

    def _stands_for(self, name: str, values: float) -> Iterator[str]:
        for b in self._ids:
            copy = self._copies.get((name, b))
            if copy is not None and values >= FEWEST_VALUES and above(copy.follows(b), 1 - LIKE / 10):
                yield b


def pairs_by_size(sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Pairs of places in the order of the product of their sizes, up to ``most``, and then of the places.

    They come one by one: of ten thousand columns few of the fifty million pairs are wanted.

    >>> [*pairs_by_size([3, 2, 5, 2], 6)]
    [(1, 3), (0, 1), (0, 3)]
    """
    places: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        places.setdefault(size, []).append(place)
    for whole in sorted({a * b for a, b in product(places, repeat=2) if a * b <= most}):
        for first, size in enumerate(sizes):
            others = places.get(whole // size, []) if whole % size == 0 else []
            yield from ((first, second) for second in others[bisect_right(others, first) :])


def _numbered(columns: Mapping[str, Any], names: Iterable[str]) -> dict[str, NumberedColumn]:
    numbered = {}
    for name in names:
        with column_errors(name):
            numbered[name] = numbered_column(columns[name])
    return numbered


def _restored(target: str, guesses: Guesses, by: str = "value") -> Restored:
    right, guessed, totals, sure = guesses
    n = float(totals.sum())
    if n < FEWEST_SHARING:
        return Restored(target, 0.0, 1.0, by)
    rare = np.flatnonzero((totals >= FEWEST_RARE) & at_most(totals, RARE * n) & (guessed > 0))
    best = np.minimum(right[rare] / totals[rare], right[rare] / guessed[rare])
    most = min(1.0, float(best.max(initial=0.0)))
    return Restored(target, float(right.sum()) / n, float(totals.max()) / n, by, most, min(1.0, sure))


def _as_labels(column: NumberedColumn) -> LabelCodes:
    return LabelCodes(column.places, len(column.numbers), column.numbers)


def _alike(first: int, second: int) -> bool:
    return at_most(abs(first - second), LIKE * max(first, second))


def _labels(codes: Array, shift: int) -> LabelCodes:
    """Codes from -1 as labels; label 0 is left out."""
    return LabelCodes(codes.astype(np.int64) + shift, int(codes.max(initial=-1)) + shift + 1)

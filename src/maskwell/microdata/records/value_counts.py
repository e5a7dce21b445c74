"""How often values occur with labels of other columns: exact, or from a part of the values (error < 1 in 100)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.groups import MISSING_NUMBER, NumberedColumn
from maskwell.core.verdicts import at_least, at_most

MOST_CELLS = 1 << 20  # cells that one table may hold at most
OFTEN = 64  # a value that occurred so often is followed to the end
SIZES = 1 << 10  # groups of so many rows or more are not told apart
SURE, USUAL, BY_CHANCE = 0.99, 0.75, 1e-3
"""Share of the records with a value that have one label, where it is certain; how many have it anyway at most,
and how likely that may be by chance."""

# A label is rare with this share of the records or less; of fewer records nothing can be said
RARE, FEWEST_RARE = 0.1, 5
FEWEST_SHARING = 20  # records that share their value with others, below which nothing is said of what they restore
_ALL = np.uint64((1 << 64) - 1)


@dataclass(frozen=True)
class Restored:
    """How often a column restores the value of another one."""

    column: str  # Whose values are restored
    # Records, of those that share their value, that are guessed right by the others with it, and by the best guess
    share: float
    without: float
    # What tells: "value", "size" (of its group), "place" (in it, by the order of the file), or another column
    by: str = "value"
    # The same for the rare label that is told best: of its records, and of those that are guessed to have it
    rare: float = 0.0
    # Share of the records whose value goes with one label, in 99 of 100 records and neither by chance nor usually
    sure: float = 0.0

    @property
    def gain(self) -> float:
        """Of the values that would be guessed wrong without the column, the share that it corrects."""
        return gain_of(self.share, self.without)


def gain_of(share: float, without: float) -> float:
    """Of what is guessed wrong without a column, the share that it corrects."""
    return max(0.0, (share - without) / (1 - without)) if without < 1 else 0.0


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
    # The same of columns that are changed together, none of which tells the value alone
    shown_together: tuple[tuple[tuple[str, ...], Restored], ...] = ()
    # The same of original values of columns that are recoded, and of others that are changed together with these
    shown_before: tuple[tuple[tuple[str, ...], Restored], ...] = ()
    stands_for: tuple[str, ...] = ()  # Columns that have one value for each of its values, and the other way round
    records: int = 0  # All records of the file

    def share_below(self, size: int) -> float:
        """Share of the records in groups of fewer than so many."""
        return float(self.in_groups[: max(0, min(size, SIZES))].sum()) / self.rows if self.rows else 0.0


class LabelCodes(NamedTuple):
    """Another column beside the values: codes from 0 to ``size - 1``, and numbers for them where they have some."""

    codes: Array
    size: int
    numbers: Array | None = None


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

    def labelled(self) -> tuple[Array, Array, Array]:
        """The same without label 0, which means none."""
        values, labels, counts = self.sums()
        there = labels > 0
        return values[there], labels[there], counts[there]

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
            joint, possible = places * labels.size + codes, len(numbers) * labels.size
            if possible <= 4 * len(joint):
                counts = np.bincount(joint, minlength=possible)
                cells = np.flatnonzero(counts)
                counts = counts[cells]
            else:
                cells, counts = np.unique(joint, return_counts=True)
            value, label = np.divmod(cells, labels.size)
            beside_value = label.astype(np.uint64) if labels.numbers is None else labels.numbers[label]
            table = self.cells.setdefault(name, ValueCells())
            table.add(numbers[value], beside_value, counts)
        if any(table.kept > self._limit for table in self.cells.values()):
            self._make_room()

    def _followed(self, numbers: Array) -> Array:
        return np.asarray((numbers <= self._below) | np.isin(numbers, self._often[0]))

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
        """How many values each followed one represents."""
        weights = np.full(len(values), self._weight())
        order = np.argsort(self._often[0])
        often, weight = self._often[0][order], self._often[1][order]
        there = np.isin(values, often)
        weights[there] = weight[np.searchsorted(often, values[there])]
        return weights

    def facts(self, name: str) -> ColumnFacts:
        """What the values of the column are like; records without one are left out."""
        values, counts = self._sizes() if self.cells else (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        there = values != MISSING_NUMBER
        weights, counts = self._weights(values)[there], counts[there]
        groups = np.bincount(np.minimum(counts, SIZES), weights * counts, minlength=SIZES + 1).astype(float)
        return ColumnFacts(name, round(float(groups.sum())), float(weights.sum()), self.exact, groups)

    def restored(self, name: str, totals: Array, by: str = "value") -> Restored:
        """What is guessed right of a label from others with the value: ties half, neither those alone nor label 0."""
        values, labels, counts = self.cells[name].labelled()
        size, start = len(totals), starts(values)
        if not len(start):
            return Restored(name, 0.0, 1.0, by)
        first, second, at = _two_largest(counts, start)
        n = np.add.reduceat(counts, start)
        weights = self._weights(values[start]) * (n > 1)
        right = first * np.select([first - 1 > second, first - 1 == second], [1.0, 0.5], 0.0)
        guess = labels[at].astype(np.int64)
        usual = totals[guess] / totals[1:].sum()
        by_chance = at_least(n * np.log(usual), np.log(BY_CHANCE))
        sure = at_least(first, SURE * n) & at_most(usual, USUAL) & ~by_chance
        each = np.repeat(weights, np.diff(np.append(start, len(values))))
        having = np.bincount(labels.astype(np.int64), counts * each, minlength=size).astype(float)
        if (shared := float(having.sum())) < FEWEST_SHARING:
            return Restored(name, 0.0, 1.0, by)
        hits = np.bincount(guess, right * weights, minlength=size).astype(float)
        guessed = np.bincount(guess, n * weights, minlength=size).astype(float)
        rare = np.flatnonzero((having >= FEWEST_RARE) & at_most(having, RARE * shared) & (guessed > 0))
        best = min(1.0, float(np.minimum(hits[rare] / having[rare], hits[rare] / guessed[rare]).max(initial=0.0)))
        is_sure = min(1.0, float((n * weights)[sure].sum() / totals[1:].sum()))
        return Restored(name, float(hits.sum()) / shared, float(having.max()) / shared, by, best, is_sure)

    def restored_by_size(self, name: str, totals: Array) -> float:
        """The same where only the size of the group of a record is used, not its value."""
        values, labels, counts = self.cells[name].labelled()
        if not len(values):
            return 0.0
        known, sizes = self._sizes()
        size = sizes[np.searchsorted(known, values)]
        k = int(labels.max()) + 1
        cells, place = np.unique(size * k + labels.astype(np.int64), return_inverse=True)
        sums = np.bincount(place, counts * self._weights(values))
        start = starts(cells // k)
        group = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(cells))))
        most_frequent = int(np.argmax(np.append(0, totals[1:])))  # label 0 stands for none
        usual = np.bincount(group, sums * (cells % k == most_frequent), minlength=len(start))
        groups = np.bincount(np.searchsorted(cells[start] // k, size[starts(values)]), minlength=len(start))
        return float(np.where(groups > 1, np.maximum.reduceat(sums, start), usual).sum())

    def restored_value(self, name: str) -> float:
        """Records whose value is the most frequent one among the records with their label; all values followed."""
        values, labels, counts = self.cells[name].labelled()
        order = np.lexsort((values, labels))
        start = starts(labels[order])
        return float(np.maximum.reduceat(counts[order], start).sum()) if len(start) else 0.0

    def followed(self, name: str) -> tuple[float, float] | None:
        """Share of the records that have the usual label of their value, and of all; None where these are too few.

        Of ``n`` records with a value, of which ``m`` have its most frequent label, ``n (m - 1) / (n - 1)`` count, so
        that labels by chance count as little in small groups as in large ones. Records alone are left out.
        """
        values, labels, counts = self.cells[name].sums()
        start = starts(values)
        if not len(start):
            return None
        most, n = np.maximum.reduceat(counts, start), np.add.reduceat(counts, start)
        is_shared = n > 1
        shared = int(n[is_shared].sum())
        kept = np.repeat(is_shared, np.diff(np.append(start, len(values))))
        usual = int(np.bincount(np.unique(labels[kept], return_inverse=True)[1], counts[kept]).max(initial=0))
        if shared < FEWEST_SHARING or shared - usual < FEWEST_RARE:
            return None
        right = n[is_shared] @ ((most[is_shared] - 1) / (n[is_shared] - 1))
        return float(right / shared), usual / shared

    def once(self, name: str) -> float:
        """The largest share of the values that go with one label exactly once, over all labels."""
        values, labels, counts = self.cells[name].labelled()
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


def starts(values: Array) -> Array:
    """Where a new value begins in a sorted array."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, np.int64)


def _two_largest(counts: Array, start: Array) -> tuple[Array, Array, Array]:
    first, lengths = np.maximum.reduceat(counts, start), np.diff(np.append(start, len(counts)))
    group = np.repeat(np.arange(len(start)), lengths)
    at = np.flatnonzero(counts == first[group])
    once, rest = at[starts(group[at])], counts.copy()
    rest[once] = 0
    return first, np.maximum.reduceat(rest, start), once

"""What unchanged columns reveal about others, counted in all rows of a file, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.groups import NumberedColumn, joined_columns
from maskwell.core.verdicts import above, at_least
from maskwell.engines.column_codes import numbered_columns
from maskwell.microdata.records.value_counts import MOST_CELLS, ColumnFacts, LabelCodes, Restored, ValueCounter, starts

# Cells that all tables may hold together, some 100 megabytes, and that one table may hold at least
CELLS, FEWEST_CELLS = 1 << 22, 1 << 14
PLACES = 50  # places in a group that are told apart
LIKE = 0.1  # columns that stand for each other have as many different values, to within this share, in every batch
FEWEST_VALUES = 10  # columns with fewer values are categories: they are no copies of ids
RECORDS_PER_LABEL = 3  # with fewer records to a label everything follows from it
MOST_TOGETHER = 5_000  # a column with more values in its first rows is not looked at together with another one
EVERY_UNIT, SMALL_UNIT = 0.95, 1.5
"""Share of the units that have a label exactly once, above which another number shows a change; and records that a
unit has on average at least."""

# Pairs of columns that nobody named, for all targets together and for each; those with the fewest values go first
MOST_PAIRS, FEWEST_PAIRS = 256, 16


@dataclass(frozen=True, eq=False)
class UnitFacts:
    """What is the same, and what differs, among the records of one unit, such as a household."""

    # Of the column that names the units, as if it were published: what whoever sees the units together restores
    facts: ColumnFacts
    # Share of the records whose value is the most frequent one of their unit, by column that stays as it is
    alike: Mapping[str, float]
    # Columns with a label that nearly every unit has exactly once, as a household has one head
    once: tuple[str, ...] = ()


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
        joint: Sequence[Sequence[str]] = (),  # Targets that are changed together: what follows from all of them?
        # A column that names the units that records belong to, such as households, if there is one
        unit: str | None = None,
    ) -> None:
        self.columns, self.targets = [*dict.fromkeys(columns)], [*targets]
        self._together, self._ids, self._ordered = [*together], [*ids], ordered
        self._shift = 2 if missing else 1
        tables = max(1, len(self.columns) * (1 + len(self._together))) * max(1, len(self.targets))
        limit = min(MOST_CELLS, max(FEWEST_CELLS, CELLS // tables))
        self._alone = {name: ValueCounter(limit) for name in self.columns}
        self._pairs: dict[str, dict[str, ValueCounter]] | None = None
        self._copies: dict[tuple[str, str], ValueCounter] = {}
        self._places = {name: ValueCounter(limit) for name in self.columns} if ordered else {}
        self._runs: dict[str, tuple[Any, int]] = {}
        self._limit, self.rows = limit, 0
        self._totals: dict[str, Array] = {}
        self._units = None if unit is None else DependenceCounter([unit], targets, missing=missing, ordered=ordered)
        self._alike = ValueCounter(limit)
        self._joint = {tuple(group): ValueCounter(limit) for group in joint if len(group) > 1}

    @cached_property
    def names(self) -> list[str]:
        """All columns that have to be read as they are."""
        units = [] if self._units is None else self._units.columns
        return [*dict.fromkeys([*self.columns, *self._ids, *units])]

    def add(self, columns: Mapping[str, Any], codes: Mapping[str, Array]) -> None:
        """Count the next rows: columns as they are, and codes of the targets, -1 for none."""
        units = [] if self._units is None else self._units.columns
        followed = self._ids if self.columns and not self.rows else [*dict.fromkeys(b for _, b in self._copies)]
        numbered = numbered_columns({name: columns[name] for name in (*self.columns, *units, *followed)})
        if self._units is not None:
            self._units.count(numbered, codes)
            self._alike.add(numbered[units[0]], {name: _as_labels(numbered[name]) for name in self.columns})
        if self.columns:
            self.count(numbered, codes)

    def count(self, known: Mapping[str, NumberedColumn], codes: Mapping[str, Array]) -> None:
        """Count rows whose columns are known as numbers."""
        numbered, beside = {name: known[name] for name in self.columns}, {}
        for name in self.targets:  # label 0 is left out
            shifted = codes[name].astype(np.int64) + self._shift
            beside[name] = LabelCodes(shifted, int(shifted.max(initial=self._shift - 1)) + 1)
        rows = len(next(iter(numbered.values())).places)
        for name, labels in beside.items():
            before = self._totals.get(name, np.zeros(0, np.int64))
            self._totals[name] = np.bincount(labels.codes, minlength=max(labels.size, len(before)))
            self._totals[name][: len(before)] += before
        for name, encoded in numbered.items():
            self._alone[name].add(encoded, beside or {"": LabelCodes(np.zeros(rows, np.int64), 1)})
        self._add_joint(numbered, beside)
        self._add_pairs(numbered, beside)
        self._add_copies(numbered, known, rows)
        if self._ordered:
            self._add_places(numbered, beside)
        self.rows += rows

    def _add_joint(self, numbered: Mapping[str, NumberedColumn], beside: Mapping[str, LabelCodes]) -> None:
        """Targets that are changed together, as one column."""
        for group, counter in self._joint.items():
            targets = [
                NumberedColumn(one.codes, np.arange(one.size, dtype=np.uint64))
                for one in (beside[name] for name in group)
            ]
            counter.add(reduce(joined_columns, targets), {name: _as_labels(one) for name, one in numbered.items()})

    def _add_pairs(self, numbered: Mapping[str, NumberedColumn], beside: Mapping[str, LabelCodes]) -> None:
        """Columns together with another one, those that have few values in the first rows."""
        if self._pairs is None:
            few = [name for name, encoded in numbered.items() if len(encoded.numbers) <= MOST_TOGETHER]
            rest = [name for name in few if name not in self._together]
            second = [name for name in self._together if name in few]
            sizes = [max(1, len(numbered[name].numbers)) for name in rest]
            most = max(FEWEST_PAIRS, MOST_PAIRS // max(1, len(self.targets)))
            others = [(rest[i], rest[j]) for i, j in islice(pairs_by_size(sizes, FEWEST_CELLS), most)]
            self._pairs = {}
            for a, b in (*product(rest, second), *combinations(second, 2), *others):
                self._pairs.setdefault(a, {})[b] = ValueCounter(self._limit)
        for a, counters in self._pairs.items():
            for b, counter in counters.items():
                counter.add(joined_columns(numbered[a], numbered[b]), beside)

    def _add_copies(self, numbered: Mapping[str, NumberedColumn], ids: Mapping[str, NumberedColumn], rows: int) -> None:
        """Columns with as many values as an id, in every batch."""
        if not self.rows:
            self._copies = {pair: ValueCounter(self._limit) for pair in product(numbered, self._ids)}
        for (a, b), counter in [*self._copies.items()]:
            values, others = len(numbered[a].numbers), len(ids[b].numbers)
            if rows >= FEWEST_VALUES and above(abs(values - others), LIKE * max(values, others)):
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
        counted = {b: self._copies[name, b] for b in self._ids if (name, b) in self._copies}
        copies = [b for b, copy in counted.items() if above(copy.follows(b), 1 - LIKE / 10)]
        return replace(
            facts,
            restored=tuple(self._restored(name)),
            shown=tuple(self._following(name, counter, facts.values + (facts.rows < self.rows))),
            shown_together=tuple(self._following_several(name)),
            stands_for=tuple(copies) if facts.values >= FEWEST_VALUES else (),
            records=self.rows,
        )

    def _restored(self, name: str) -> Iterator[Restored]:
        for target in self.targets:
            totals = self._totals[target]
            n = int(totals[1:].sum())
            if not n:
                continue
            by_size = self._alone[name].restored_by_size(target, totals)
            yield self._alone[name].restored(target, totals)
            yield Restored(target, min(1.0, by_size / n), float(totals[1:].max()) / n, "size")
            for b, counter in (self._pairs or {}).get(name, {}).items():
                both = counter.restored(target, totals, b)
                yield both if {name, b} & {*self._together} else replace(both, rare=0.0, sure=0.0)  # many by chance
            if name in self._places:
                yield self._places[name].restored(target, totals, "place")

    def _following(self, name: str, counter: ValueCounter, values: float) -> Iterator[Restored]:
        """Whether the value of the column follows from a target."""
        if not counter.exact or values < 2:
            return
        for target in self.targets:
            n, labels = int(self._totals[target][1:].sum()), int((self._totals[target][1:] > 0).sum())
            if n >= RECORDS_PER_LABEL * labels > 0:
                numbers, _, counts = counter.cells[target].labelled()
                usual = float(np.add.reduceat(counts, starts(numbers)).max()) / n
                yield Restored(target, counter.restored_value(target) / n, usual)

    def _following_several(self, name: str) -> Iterator[tuple[tuple[str, ...], Restored]]:
        """Whether the value of the column follows from several targets together."""
        for group, counter in self._joint.items():
            if (found := counter.followed(name)) is not None:
                yield group, Restored(name, *found)


def pairs_by_size(sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Pairs of places by the product of their sizes, up to ``most``, one by one: few of many millions are wanted."""
    places: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        places.setdefault(size, []).append(place)
    for whole in sorted({a * b for a, b in product(places, repeat=2) if a * b <= most}):
        for first, size in enumerate(sizes):
            others = places.get(whole // size, []) if whole % size == 0 else []
            yield from ((first, second) for second in others[bisect_right(others, first) :])


def _as_labels(column: NumberedColumn) -> LabelCodes:
    return LabelCodes(column.places, len(column.numbers), column.numbers)

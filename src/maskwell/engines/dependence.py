"""What columns that stay as they are tell about others, counted in all rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.engines.arrow_checks import column_errors
from maskwell.engines.column_codes import NumberedColumn, joined_columns, numbered_column
from maskwell.engines.value_counts import (
    CELLS,
    FEWEST_CELLS,
    MOST_CELLS,
    ColumnFacts,
    Guesses,
    LabelCodes,
    Restored,
    ValueCounter,
    starts,
    without_none,
)

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

MOST_PAIRS, FEWEST_PAIRS = 256, 16
"""Pairs of columns that nobody named, for all targets together and for each; those with the fewest values go first."""


class DependenceCounter:
    """Follows columns that stay as they are through all rows of a file.

    Parameters
    ----------
    columns
        Columns that stay as they are.
    targets
        Columns that are changed, and might be restored from them.
    together
        Columns that are looked at together with each other one. Other pairs are looked at where both have few values.
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
        if not self.columns:
            return
        numbered = _numbered(columns, self.columns)
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
            counter.add(joined_columns(numbered[a], numbered[b]), beside)

    def _other_pairs(self, numbered: Mapping[str, NumberedColumn], names: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of columns with so few values that all combinations can be counted."""

        def size(pair: tuple[str, str]) -> int:
            return len(numbered[pair[0]].numbers) * len(numbered[pair[1]].numbers)

        pairs = sorted((pair for pair in combinations(names, 2) if size(pair) <= FEWEST_CELLS), key=size)
        return pairs[: max(FEWEST_PAIRS, MOST_PAIRS // max(1, len(self.targets)))]

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
                counter.add(numbered[a], {b: LabelCodes(ids[b].places, len(ids[b].numbers), ids[b].numbers)})

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
            for (a, b), counter in (self._pairs or {}).items():
                if name == a:
                    both = _restored(target, counter.restored(target, totals), b)
                    yield both if {a, b} & {*self._together} else replace(both, rare=0.0, sure=0.0)  # many by chance
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
        for (a, b), counter in self._copies.items():
            if a == name and values >= FEWEST_VALUES and counter.follows(b) > 1 - LIKE / 10:
                yield b


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
    rare = np.flatnonzero((totals >= FEWEST_RARE) & (totals <= RARE * n) & (guessed > 0))
    best = np.minimum(right[rare] / totals[rare], right[rare] / guessed[rare])
    most = min(1.0, float(best.max(initial=0.0)))
    return Restored(target, float(right.sum()) / n, float(totals.max()) / n, by, most, min(1.0, sure))


def _alike(first: int, second: int) -> bool:
    return abs(first - second) <= LIKE * max(first, second)


def _labels(codes: Array, shift: int) -> LabelCodes:
    """Codes from -1 as labels; label 0 is left out."""
    return LabelCodes(codes.astype(np.int64) + shift, int(codes.max(initial=-1)) + shift + 1)

"""Counts of the cells that occur in a file, over one or more of its columns, never of the empty ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import (
    Array,
    Real,
    as_array,
    as_mapping,
    as_whole_numbers,
    check_sum_of_counts,
    exact_sum,
    list_of,
)
from maskwell.core.groups import LARGEST_KEY, number_cells, possible_cells, renumber
from maskwell.core.labels import sorted_levels, texts
from maskwell.core.phrases import listed
from maskwell.errors import CountsError, InputError, LabelError, ParameterError, TooLargeError

GRID_LIMIT = 10**7


@dataclass(frozen=True, eq=False)
class CellTable:
    """Counts of the cells that occur in a file.

    Attributes
    ----------
    columns
        Names of the classifying columns; the first is the slowest.
    levels
        For each column its distinct labels, in natural or given order; ``None`` (a missing value) last.
    codes
        Shape (cells, columns): which label each cell has, in lexicographic order of the rows.
    counts
        Shape (cells,): records, all positive.
    weights, squares
        Shape (cells,): sums of the weights and of their squares, where there are weights.
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]
    codes: Array
    counts: Array
    weights: Real | None = None
    squares: Real | None = None

    @classmethod
    def of(cls, columns: Sequence[str], counts: dict[tuple[Hashable, ...], int]) -> CellTable:
        """From counts by label, as a person would type them."""
        columns = list_of(str, columns, "columns")
        for cell in as_mapping(counts, "counts"):
            if not isinstance(cell, tuple) or len(cell) != len(columns):
                raise LabelError("a-cell-of-counts-is-not", columns_count=len(columns))
        records = as_whole_numbers(list(counts.values()), "counts")
        if (records < 0).any():
            raise CountsError("counts-are-negative")
        check_sum_of_counts(exact_sum(records))
        levels = tuple(tuple(sorted_levels({cell[i] for cell in counts})) for i in range(len(columns)))
        places = [{label: code for code, label in enumerate(level)} for level in levels]
        kept = {cell: n for cell, n in counts.items() if n}
        codes = np.array([[p[x] for p, x in zip(places, cell, strict=True)] for cell in kept], dtype=np.int32)
        codes = codes.reshape(len(kept), len(columns))
        order = np.lexsort(codes.T[::-1])
        return cls(tuple(columns), levels, codes[order], np.array([*kept.values()], dtype=np.int64)[order])

    @classmethod
    def total(cls, parts: Sequence[CellTable]) -> CellTable:
        """The cells of several parts of a file together."""
        tables: list[CellTable] = list_of(CellTable, parts, "parts")
        if not tables or any(one.columns != tables[0].columns for one in tables):
            raise InputError("cells-of-several-parts-are-added")
        if len(tables) == 1:
            return tables[0]
        by_column = [*zip(*(part.levels for part in tables), strict=True)]
        levels = tuple(map(_joined_levels, by_column))
        codes = [
            np.stack([_recoded(part.codes[:, i], own, levels[i]) for i, own in enumerate(part.levels)], axis=1)
            for part in tables
        ]
        distinct, cell = np.unique(np.concatenate(codes), axis=0, return_inverse=True)
        sums = [
            _added([getattr(part, name) for part in tables], cell.reshape(-1), len(distinct))
            for name in ("counts", "weights", "squares")
        ]
        return cls(tables[0].columns, levels, distinct, *sums)

    def in_order(self, orders: Mapping[str, Sequence[str]]) -> CellTable:
        """The same cells, with the labels of some columns in an order that was given, as texts."""
        as_mapping(orders, "orders")
        if not any(name in orders for name in self.columns):
            return self
        levels = list(self.levels)
        for i, name in enumerate(self.columns):
            if name in orders:
                known = {text: label for label in levels[i] if label is not None for text in texts(label)}
                given = [known[text] for text in orders[name] if text in known]
                levels[i] = tuple(sorted_levels(levels[i], given))
        codes = np.stack([_recoded(self.codes[:, i], own, levels[i]) for i, own in enumerate(self.levels)], axis=1)
        order = np.lexsort(codes.T[::-1])
        weights, squares = (None if one is None else one[order] for one in (self.weights, self.squares))
        return CellTable(self.columns, tuple(levels), codes[order], self.counts[order], weights, squares)

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of labels of each column."""
        return tuple(map(len, self.levels))

    def __len__(self) -> int:
        return len(self.counts)

    def label(self, cell: int) -> tuple[Hashable, ...]:
        """The labels of one cell."""
        return tuple(level[code] for level, code in zip(self.levels, self.codes[cell].tolist(), strict=True))

    def labels(self) -> list[tuple[Hashable, ...]]:
        """The labels of all cells."""
        parts = [[level[code] for code in self.codes[:, i].tolist()] for i, level in enumerate(self.levels)]
        return list(zip(*parts, strict=True))

    def project(self, columns: Sequence[str]) -> CellTable:
        """The table of some of the columns, in the order given."""
        places = [self.place(name) for name in list_of(str, columns, "columns")]
        if not places:
            raise ParameterError("no-columns")
        if tuple(columns) == self.columns:
            return self
        sizes = [self.sizes[place] for place in places]
        (keys,) = number_cells(sizes, self.codes[:, places])
        (cell,), distinct = renumber(min(possible_cells(sizes), LARGEST_KEY), keys)
        codes = np.zeros((distinct, len(places)), dtype=self.codes.dtype)
        codes[cell] = self.codes[:, places]

        def summed(values: Array | None) -> Any:
            if values is None:
                return None
            return np.bincount(cell, values, minlength=distinct).astype(values.dtype, copy=False)

        levels = tuple(self.levels[i] for i in places)
        sums = (summed(values) for values in (self.counts, self.weights, self.squares))
        return CellTable(tuple(columns), levels, codes, *sums)

    def place(self, column: str) -> int:
        """The position of a column."""
        if column not in self.columns:
            raise ParameterError(
                "the-table-has-no-column", column=column, columns=listed(self.columns, len(self.columns), 80)
            )
        return self.columns.index(column)

    def grid(self, values: Array | None = None) -> Array:
        """Counts, or one value for each cell, as an array with one axis for each column; zero where no record is."""
        size = int(np.prod([max(1, s) for s in self.sizes], dtype=object))
        if size > GRID_LIMIT:
            raise TooLargeError("a-table-of-cells-is-too", size=size)
        amounts = self.counts if values is None else as_array(values, "values")
        if amounts.shape != self.counts.shape:
            raise ParameterError("values-of-shape-for-cells", shape=amounts.shape, self_count=len(self))
        out = np.zeros(self.sizes, dtype=amounts.dtype)
        out[tuple(self.codes.T)] = amounts
        return out

    @cached_property
    def mass(self) -> Real:
        """Weights where there are any, else counts, as floats: what a release keeps on average."""
        return np.asarray(self.counts if self.weights is None else self.weights, dtype=np.float64)


def _joined_levels(parts: Sequence[tuple[Hashable, ...]]) -> tuple[Hashable, ...]:
    """The labels of several parts together; an order of their own, which somebody gave them, is kept."""
    labels = [*dict.fromkeys(label for part in parts for label in part)]
    natural = all(list(part) == sorted_levels(part) for part in parts)
    return tuple(sorted_levels(labels, () if natural else [label for label in labels if label is not None]))


def _recoded(codes: Array, levels: Sequence[Hashable], others: Sequence[Hashable]) -> Array:
    """Codes in one list of labels as codes in another."""
    places = {label: code for code, label in enumerate(others)}
    return np.array([places[label] for label in levels], dtype=np.int32)[codes]


def _added(values: Sequence[Array | None], cell: Array, cells: int) -> Any:
    """Values of the cells of several tables, added up by cell; None where there are none."""
    there = [one for one in values if one is not None]
    if not there:
        return None
    joined = np.concatenate(there)
    total = np.zeros(cells, dtype=joined.dtype)
    np.add.at(total, cell, joined)
    return total

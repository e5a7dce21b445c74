"""CellTable: how many records lie in each cell that occurs, over one or more columns; never the empty cells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskwell.core.arguments import as_array, as_mapping, as_whole_numbers, list_of
from maskwell.core.arrays import Array, Real
from maskwell.core.labels import sorted_levels
from maskwell.core.phrases import listed
from maskwell.errors import CountsError, LabelError, ParameterError, TooLargeError

GRID_LIMIT = 10**7


@dataclass(frozen=True, eq=False)
class CellTable:
    """Counts of the cells that occur in a file.

    Attributes
    ----------
    columns
        Names of the classifying columns; the first is the slowest.
    levels
        For each column its distinct labels, sorted; ``None`` (a missing value) last where there is one.
    codes
        Shape (cells, columns): which label each cell has, in lexicographic order of the rows.
    counts
        Shape (cells,): records, all positive.
    weights, squares
        Shape (cells,): sums of the weights and of their squares, where there are weights.

    >>> table = CellTable.of(["sex", "smokes"], {("f", "no"): 3, ("m", "no"): 2, ("m", "yes"): 1})
    >>> table.labels(), table.counts.tolist()
    ([('f', 'no'), ('m', 'no'), ('m', 'yes')], [3, 2, 1])
    >>> table.project(["smokes"]).counts.tolist()   # five do not smoke
    [5, 1]
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
                raise LabelError(
                    f"a cell of counts is not a tuple of {len(columns)} labels", hint="give one label for each column"
                )
        records = as_whole_numbers(list(counts.values()), "counts")
        if (records < 0).any():
            raise CountsError("counts are negative", hint="counts are whole numbers of 0 or more")
        levels = tuple(tuple(sorted_levels({cell[i] for cell in counts})) for i in range(len(columns)))
        places = [{label: code for code, label in enumerate(level)} for level in levels]
        kept = {cell: n for cell, n in counts.items() if n}
        codes = np.array([[p[x] for p, x in zip(places, cell, strict=True)] for cell in kept], dtype=np.int32)
        codes = codes.reshape(len(kept), len(columns))
        order = np.lexsort(codes.T[::-1])
        return cls(tuple(columns), levels, codes[order], np.array([*kept.values()], dtype=np.int64)[order])

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
            raise ParameterError("no columns", hint="name at least one column of the table")
        codes = self.codes[:, places]
        order = np.lexsort(codes.T[::-1])
        codes = codes[order]
        first = np.concatenate([[True], (codes[1:] != codes[:-1]).any(axis=1)])[: len(codes)]
        starts = np.flatnonzero(first)

        def summed(values: Array) -> Array:
            return np.add.reduceat(values[order], starts) if len(starts) else values[:0]

        weights = None if self.weights is None else summed(self.weights)
        squares = None if self.squares is None else summed(self.squares)
        levels = tuple(self.levels[i] for i in places)
        return CellTable(tuple(columns), levels, codes[starts], summed(self.counts), weights, squares)

    def place(self, column: str) -> int:
        """The position of a column."""
        if column not in self.columns:
            raise ParameterError(
                f"the table has no column {column!r}",
                hint=f"its columns: {listed(self.columns, len(self.columns), 80)}",
            )
        return self.columns.index(column)

    def grid(self, values: Array | None = None) -> Array:
        """Counts, or one value for each cell, as an array with one axis for each column; zero where no record is."""
        size = int(np.prod([max(1, s) for s in self.sizes], dtype=object))
        if size > GRID_LIMIT:
            raise TooLargeError(
                f"a table of {size:,} cells is too large to write out", hint="tabulate fewer columns at a time"
            )
        own = self.counts if values is None else as_array(values, "values")
        if own.shape != self.counts.shape:
            raise ParameterError(f"values of shape {own.shape} for {len(self):,} cells", hint="give one for each cell")
        out = np.zeros(self.sizes, dtype=own.dtype)
        out[tuple(self.codes.T)] = own
        return out

    @cached_property
    def mass(self) -> Real:
        """Weights where there are any, else counts, as floats: what a release keeps on average."""
        return np.asarray(self.counts if self.weights is None else self.weights, dtype=np.float64)

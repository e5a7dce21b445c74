"""Whether the order of the records of a file reveals a column: equal labels stand together, or follow each other.

Of n records of which N_c have the label c, ``n - sum_c N_c^2 / n`` are expected to differ from the one before where
the order means nothing; as many steps lead up in the order of the labels as down, and rank and place are uncorrelated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.verdicts import at_least, at_most
from maskwell.engines.cell_counts import RowCells
from maskwell.engines.rows import Rows

FEWEST = 20  # in smaller files labels follow each other by chance
BREAKS = 0.75  # the order reveals a column with at most this part of the expected changes from one record to the next,
LEANING = 0.5  # or with a share of steps up, less that of steps down, or a correlation with the place, of this size
DEVIATIONS = 5  # and where that is so many standard errors away from what chance explains


def few_breaks(breaks: int, counts: Array) -> bool:
    """Whether records with the same label stand together, more than chance explains."""
    n = int(counts.sum())
    expected = n - sum(int(c) ** 2 for c in counts) / n
    return at_most(breaks, BREAKS * expected) and at_least(expected - breaks, DEVIATIONS * math.sqrt(n))


def columns_in_order(records: Rows, tables: Mapping[str, CellTable], *, declared: bool = True) -> Iterator[str]:
    """Columns that the order of the records reveals; ``tables`` are the counts of each."""
    found = {name: _Order() for name in tables}
    with records.open_stored([*tables]) as source:
        finders = {name: RowCells(source, str(records), table, declared=declared) for name, table in tables.items()}
        for batch in source.batches():
            for name, finder in finders.items():
                found[name].add(finder.find(batch).astype(np.int64))
    for name, order in found.items():
        if order.reveals(tables[name].counts):
            yield name


@dataclass(eq=False)
class _Order:
    """What was met of one column so far, by the ranks of its labels."""

    rows: int = 0
    breaks: int = 0
    rise: int = 0  # steps up less steps down
    last: int = -1
    # sums of rank, of its square, and of its product with the place
    ranks: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def add(self, ranks: Array) -> None:
        if not len(ranks):
            return
        steps = np.diff(ranks, prepend=ranks[:1] if self.last < 0 else np.array([self.last]))
        self.breaks += int(np.count_nonzero(steps))
        self.rise += int((steps > 0).sum()) - int((steps < 0).sum())
        self.ranks += float(ranks.sum())
        self.squares += float((ranks.astype(np.float64) ** 2).sum())
        self.products += float(ranks @ (self.rows + np.arange(len(ranks), dtype=np.float64)))
        self.rows, self.last = self.rows + len(ranks), int(ranks[-1])

    def reveals(self, counts: Array) -> bool:
        n = self.rows
        if n < FEWEST:
            return False
        leans = at_least(abs(self.rise), LEANING * self.breaks)
        if leans and at_least(abs(self.rise), DEVIATIONS * math.sqrt(max(self.breaks, 1) / 3)):
            return True
        correlated = at_least(self.correlation, LEANING) and at_least(self.correlation * math.sqrt(n), DEVIATIONS)
        return correlated or few_breaks(self.breaks, counts)

    @property
    def correlation(self) -> float:
        """Of rank and place, without its sign."""
        n = self.rows
        spread = (self.squares - self.ranks**2 / n) * (n * (n**2 - 1) / 12)
        return abs(self.products - self.ranks * (n - 1) / 2) / math.sqrt(spread) if spread > 0 else 0.0

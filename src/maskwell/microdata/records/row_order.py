"""Whether the order of rows reveals a column: equal labels are together or apart, lead one way, or follow the place.

Where the order means nothing, as many steps lead up in order of labels as down; rank and place are uncorrelated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import perm

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.verdicts import at_least, at_most
from maskwell.engines.cell_counts import RowCells
from maskwell.engines.rows import Rows

SHARE = 0.25  # A smaller departure from what random order gives is no finding, however many rows show it
ALARMS = 1e-6  # Probability of a finding in random order, at most
FEWEST = 20  # Keys of smaller files are not judged by their order
LEANING = 0.5  # Share of steps up, less that of steps down, or correlation with the place, that reveals a column,
DEVIATIONS = 5  # where it is so many standard errors away from what chance explains


@dataclass(frozen=True)
class Neighbours:
    """Counts of values whose rows are in random order, and how many pairs of neighbours there are among these rows.

    With ``(n)_r = n (n - 1) ... (n - r + 1)`` and ``s_r = sum_v (N_v)_r``, a pair is equal with probability
    ``s_2 / (n)_2``, two that share a row both with ``s_3 / (n)_3``, two that share none both with
    ``(s_4 + s_2^2 - sum_v (N_v)_2^2) / (n)_4``. All rows in one line give the variance of the number of runs (derived).
    """

    counts: Iterable[int]
    pairs: int

    def moments(self) -> tuple[float, float]:
        """Expected number of equal pairs, and its variance."""
        sizes = [(int(n), int(k)) for n, k in zip(*np.unique([*self.counts], return_counts=True), strict=True)]
        n, m = sum(size * k for size, k in sizes), self.pairs
        if n < 4 or m < 1:
            return 0.0, 0.0
        s2, s3, s4 = (sum(k * perm(size, r) for size, k in sizes) for r in (2, 3, 4))
        apart = s4 + s2**2 - sum(k * perm(size, 2) ** 2 for size, k in sizes)
        # all over (n)_2 (n)_4, so that nothing is rounded before the differences
        both, four = perm(n, 2), perm(n, 4)
        squares = m * s2 * four + 2 * (m - 1) * s3 * (n - 3) * both + (m - 1) * (m - 2) * apart * both
        return m * s2 / both, max(0.0, (squares * both - m * m * s2 * s2 * four) / (both * both * four))


def reveals_values(differ: int, groups: Iterable[Neighbours]) -> bool:
    """Whether ``differ`` pairs of unequal neighbours are too few, or too many, for random order within the groups.

    With mean ``e`` and variance ``s^2`` of that number, ``t = |differ - e|`` and ``u = 2 t / s^2``, it is a finding if

        t >= e / 4  (too few)   or   t >= (pairs - e) / 4  (too many),   and
        (s^2 / 4) ((1 + u) log(1 + u) - u) >= log 10^6

    the last being Bennett's bound, for a number that moves by 2 where a row moves: a false alarm in at most one of
    10^6 columns. For two values and up to 400 rows the exact probability is below 10^-8 (computed).
    """
    pairs, equal, variance = 0, 0.0, 0.0
    for one in groups:
        mean, spread = one.moments()
        pairs, equal, variance = pairs + one.pairs, equal + mean, variance + spread
    away = differ - (pairs - equal)
    if variance <= 0 or not at_least(abs(away), SHARE * (pairs - equal if away < 0 else equal)):
        return False
    u = 2 * abs(away) / variance
    return at_most(math.log(1 / ALARMS), variance / 4 * ((1 + u) * math.log1p(u) - u))


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
        return correlated or reveals_values(self.breaks, [Neighbours(counts, n - 1)])

    @property
    def correlation(self) -> float:
        """Of rank and place, without its sign."""
        n = self.rows
        spread = (self.squares - self.ranks**2 / n) * (n * (n**2 - 1) / 12)
        return abs(self.products - self.ranks * (n - 1) / 2) / math.sqrt(spread) if spread > 0 else 0.0

"""l-diversity: how many values of a sensitive column the records of a cell of the keys have, counted in three ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import below

LEVELS = (2, 3, 5)  # records in cells of a lower diversity are counted
RECURSIVE = Fraction(2)  # c of recursive (c, l)-diversity


@dataclass(frozen=True)
class DiversityOfRecords:
    """One kind of l-diversity, over all records: each has the diversity of its cell."""

    # Quantiles between two records are interpolated, as R does by default (type 7)
    minimum: float
    first_quartile: float
    median: float
    mean: float
    third_quartile: float
    maximum: float
    below: dict[str, int]  # records below each of :data:`LEVELS`

    @classmethod
    def of(cls, values: Real, sizes: Real) -> DiversityOfRecords:
        """From the diversity of each cell and how many records it has."""
        order = np.argsort(values, kind="stable")
        ends, n = np.cumsum(sizes[order]), sizes.sum()
        quantiles = [_quantile(values[order], ends, share) for share in (0, 0.25, 0.5, 0.75, 1)]
        least, first, middle, third, most = quantiles
        low = {str(level): round(float(sizes[below(values, level)].sum())) for level in LEVELS}
        return cls(least, first, middle, float(values @ sizes / n), third, most, low)


def _quantile(rising: Real, ends: Real, share: float) -> float:
    last = ends[-1] - 1
    place = last * share
    below_it = np.floor(place)
    low, high = (rising[np.searchsorted(ends, one, side="right")] for one in (below_it, min(below_it + 1, last)))
    return float(low + (high - low) * (place - below_it))


@dataclass(frozen=True)
class Diversity:
    """The l-diversity of a file, in three kinds; a cell is c, n_cv of its n_c records have the value v.

        distinct    the number of values v with n_cv > 0
        entropy     exp(-sum_v p_v log p_v),                       p_v = n_cv / n_c
        recursive   the largest l with r_1 < c (r_l + ... + r_m),  r the n_cv in falling order, c = 2; else 1

    Source: [Benschop2018, section on l-diversity], [Templ2026, ldiversity]; there a missing value counts as one more
    value, here records without a value are left out.
    """

    distinct: DiversityOfRecords
    entropy: DiversityOfRecords
    recursive: DiversityOfRecords

    @classmethod
    def of(cls, cell: Array, counts: Real) -> Diversity:
        """From the cell and the count of every pair of a cell and a value that occurs."""
        sizes = np.asarray(np.bincount(cell, counts), dtype=np.float64)
        entropy = np.log(sizes) - np.bincount(cell, counts * np.log(counts)) / sizes
        kinds = (np.bincount(cell), np.exp(np.maximum(entropy, 0)), recursive_diversity(cell, counts))
        return cls(*(DiversityOfRecords.of(values.astype(np.float64), sizes) for values in kinds))

    def kinds(self) -> Sequence[tuple[str, DiversityOfRecords]]:
        """Each kind with its name."""
        return [*vars(self).items()]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: dict(vars(one)) for name, one in self.kinds()}


def recursive_diversity(cell: Array, counts: Real, c: Fraction = RECURSIVE) -> Array:
    """The largest l of recursive (c, l)-diversity of every cell, compared in whole numbers."""
    order = np.lexsort((-counts, cell))
    sorted_cell, falling = cell[order], np.rint(counts[order]).astype(np.int64)
    first = np.flatnonzero(np.diff(sorted_cell, prepend=-1))
    before = np.cumsum(falling) - falling
    tail = np.bincount(cell, counts).round().astype(np.int64)[sorted_cell] - (before - before[first][sorted_cell])
    met = falling[first][sorted_cell] * c.denominator < tail * c.numerator
    met[first] = True
    return np.bincount(sorted_cell, met)

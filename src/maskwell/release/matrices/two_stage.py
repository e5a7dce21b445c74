"""Two stages: one variable within the categories of another, then the other within the released first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array
from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.core.cells import CellTable
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError
from maskwell.release.matrices.blockwise import Make, blockwise
from maskwell.release.matrices.mixing import chained


@dataclass(frozen=True, eq=False)
class TwoStage:
    """Both stages over the pairs of categories; X is the slower variable.

    ``first`` randomizes X within each y, ``second`` Y within each released x.
    """

    first: Sparse
    second: Sparse

    @cached_property
    def design(self) -> Sparse:
        """Both in one matrix, ``P = P_2 P_1``: invariant for the table."""
        return chained(self.first, self.second)


def two_stage(table: CellTable | Array, first: Make, second: Make) -> TwoStage:
    """X within each y, then Y within each released x, with matrices made from the original table.

        P = P_2 P_1

    where ``P_1`` is made from the columns of the table and ``P_2`` from its rows. Both are invariant for the table, so
    P is. After the first stage the counts of Y are as they were, after both neither margin is exact. To build the
    second stage from the table that the first one gave would be unbiased too, but not one matrix any more.

    Parameters
    ----------
    table
        Counts of X by Y, shape (k_x, k_y), or a table of two columns.
    first, second
        From the counts of a cell to its matrix, such as ``lambda v: method1(v, "1/2")``.

    Source: [Adeshiyan2011, Theorems 4.1 and 4.2].

    >>> from maskwell.release.matrices.method1 import method1
    >>> stages = two_stage(np.array([[6, 2, 1], [3, 5, 4]]), lambda v: method1(v, 0.6), lambda v: method1(v, 0.5))
    >>> stages.design.columns_exact(0)[0]   # chance that a record of the first cell is released unchanged
    Fraction(77, 120)
    """
    counts, labels = _read(table)
    rows, columns = np.indices(counts.shape)
    one = blockwise(columns.ravel(), counts.ravel(), first, categories=labels)
    two = blockwise(rows.ravel(), counts.ravel(), second, categories=labels)
    return TwoStage(one, two)


def _read(table: Any) -> tuple[Array, Categories]:
    if isinstance(table, CellTable):
        counts = table.grid()
        levels = table.levels
    else:
        counts = as_array(table, "table")
        levels = tuple(tuple(range(size)) for size in counts.shape)
    if counts.ndim != 2:
        raise CountsError(f"a table of {counts.ndim} variables", hint="two stages need a table of two variables")
    return counts, Categories.of([(x, y) for x in levels[0] for y in levels[1]])

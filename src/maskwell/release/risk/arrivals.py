"""Who arrives where after all stages of a release: listed one by one, or as a product of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.errors import TooLargeError
from maskwell.release.risk.cell_keys import compressed, numbered
from maskwell.release.risk.cell_risks import Arrivals
from maskwell.release.risk.components import ENTRIES, Component, components_of, expanded, needed_columns
from maskwell.release.risk.listed import Listed
from maskwell.release.risk.product import Product
from maskwell.release.stages.stage import Stage

LISTED = 4 * 10**6
"""Products with at most so many probabilities are listed."""


def arrivals_of(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> Arrivals:
    """How the records of a table are released as cells of a key.

    Parameters
    ----------
    stages
        The randomizations in their order; those that do not touch the key are left out.
    table
        Counts over (at least) the columns of :func:`needed_columns`. Its projection to them has the cells of the
        result.
    keys
        The columns that an intruder knows.

    The probability that a cell j is released as x is the product of those of the components,
    ``p_xj = prod_c P_c[x_c, j_c]`` [Adeshiyan2011, section 4.7.5].
    """
    table = table.project(needed_columns(stages, keys))
    parts = components_of(stages, table, keys)
    fixed, space = _numbered(table, [name for name in keys if not any(name in part.keys for part in parts)])
    entries = np.prod([part.lengths[part.state] for part in parts], axis=0, dtype=np.float64).sum()
    if len(parts) > 1 and entries > LISTED:
        try:
            return Product.of(table, parts, fixed)
        except TooLargeError:  # many cells of columns outside the key; perhaps few probabilities all the same
            if entries > ENTRIES:
                raise
    return _listed(table, parts, fixed, space)


def _numbered(table: CellTable, columns: Sequence[str]) -> tuple[Array, int]:
    """Each combination of some columns as 0, 1, 2, ..., and how many there are."""
    sizes = [table.sizes[table.place(name)] for name in columns]
    keys = numbered(sizes, table.codes[:, [table.place(name) for name in columns]])
    (place,), count = compressed(1 << 62, *keys)
    return place, count


def _listed(table: CellTable, parts: Sequence[Component], fixed: Array, space: int) -> Listed:
    cell, row, own = np.arange(len(table)), fixed, fixed
    p: Real = np.ones(len(table))
    for part in parts:
        taken, entry = expanded(part.starts, part.state[cell])
        cell, p = cell[taken], p[taken] * part.p[entry]
        row, own = row[taken] * part.parts + part.row[entry], own * part.parts + part.own
        (row, own), space = compressed(space * part.parts, row, own)
    return Listed.of(table.counts, own, space, row, cell, p)

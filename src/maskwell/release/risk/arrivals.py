"""Who arrives where after all stages of a release: listed one by one, or as a product of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import CellTable
from maskwell.errors import TooLargeError
from maskwell.release.risk.cell_keys import compressed, numbered
from maskwell.release.risk.cell_risks import Arrivals
from maskwell.release.risk.components import ENTRIES, Component, components_of, expanded, needed_columns
from maskwell.release.risk.listed import Listed
from maskwell.release.risk.product import Product
from maskwell.release.stages.stage import Stage

LISTED = 4 * 10**6
"""Products with at most so many probabilities are listed."""


def arrivals_of(
    stages: Sequence[Stage], table: CellTable, keys: Sequence[str], *, released: CellTable | None = None
) -> Arrivals:
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
    released
        Counts of the released file over the key, where it is drawn.

    The probability that a cell j is released as x is the product of those of the components,
    ``p_xj = prod_c P_c[x_c, j_c]`` [Adeshiyan2011, section 4.7.5].
    """
    true = table.project(needed_columns(stages, keys))
    table = true if released is None else _with_released(true, released)
    parts = components_of(stages, table, keys)
    fixed, space = _numbered(table, [name for name in keys if not any(name in part.keys for part in parts)])
    entries = np.prod([part.lengths[part.state] for part in parts], axis=0, dtype=np.float64).sum()
    if len(parts) > 1 and entries > LISTED:
        try:
            cells = len(true)
            return Product.of(
                true, [replace(p, state=p.state[:cells], own=p.own[:cells]) for p in parts], fixed[:cells]
            )
        except TooLargeError:  # many cells of columns outside the key; perhaps few probabilities all the same
            if entries > ENTRIES:
                raise
    listed = _listed(table, parts, fixed, space)
    return listed if released is None else _seen(listed, table, released, len(true))


def _with_released(table: CellTable, released: CellTable) -> CellTable:
    """The cells of a table, and without a record those of the key that occur only in the released file."""
    known = {*table.project(released.columns).labels()}
    new = [label for label in released.labels() if label not in known]
    if not new:
        return table
    levels = [list(own) for own in table.levels]
    codes = np.zeros((len(new), len(table.columns)), dtype=table.codes.dtype)
    for at, name in enumerate(released.columns):
        own = levels[table.place(name)]
        places = {label: code for code, label in enumerate(own)}
        codes[:, table.place(name)] = [places.setdefault(label[at], len(places)) for label in new]
        own.extend([*places][len(own) :])
    none = np.zeros(len(new), dtype=table.counts.dtype)
    return CellTable(
        table.columns, tuple(map(tuple, levels)), np.concatenate([table.codes, codes]), np.append(table.counts, none)
    )


def _seen(listed: Listed, table: CellTable, released: CellTable, cells: int) -> Listed:
    """The arrivals with the records that were released as each cell of the key; the cells after the first are empty."""
    at = [table.place(name) for name in released.columns]
    rows = {
        tuple(table.levels[c][code] for c, code in zip(at, codes, strict=True)): row
        for codes, row in zip(table.codes[:, at].tolist(), listed.own.tolist(), strict=True)
    }
    seen = np.zeros(listed.rows, dtype=np.int64)
    np.add.at(seen, [rows[label] for label in released.labels()], released.counts)
    return replace(listed, counts=listed.counts[:cells], own=listed.own[:cells], seen=seen)


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

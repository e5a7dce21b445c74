"""The share of records that a release is expected to change: exactly, from a table of all columns that matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maskwell.core.cell_table import CellTable
from maskwell.errors import TooLargeError
from maskwell.release.analysis.kept_tables import acting, needed_columns
from maskwell.release.risk.arrivals import arrivals_of
from maskwell.release.stages.stage import Stage


def expected_share(stages: Sequence[Stage], tables: Iterable[CellTable], columns: Sequence[str]) -> float | None:
    """The expected share of all records that are changed in at least one of some columns.

        1 - sum_c N_c Pr(all labels kept | c) / n

    over the cells c of the smallest table that has these columns and all that tell how they are randomized. Stages
    meet the same records, so shares of single stages do not multiply. Records without a value count among all. ``None``
    where no table has the columns, or where it is too large. Source: derived.

    >>> from maskwell.core.cell_table import CellTable
    >>> expected_share([], [CellTable.of(["x"], {("a",): 3})], ["x"])
    0.0
    """
    needed = {*needed_columns(stages, columns)}
    fits = [table for table in tables if needed <= {*table.columns} and table.n]
    table = min(fits, key=len, default=None)
    if table is None:
        return None
    if not acting(stages, columns):
        return 0.0
    try:
        found = arrivals_of(stages, table, columns)
    except TooLargeError:
        return None
    return max(0.0, 1 - float((found.counts * found.kept).sum()) / table.n)

"""Units that records belong to, such as households: which records are together, in which cells of a table they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.groups import joined_columns
from maskwell.engines.arrow_arrays import ANY
from maskwell.engines.cell_counts import RowCells
from maskwell.engines.column_codes import numbered_columns
from maskwell.engines.row_sources import find_columns
from maskwell.engines.rows import Rows
from maskwell.errors import MissingValueError


@dataclass(frozen=True, eq=False)
class UnitMembers:
    """The records of a file by their units."""

    column: str  # Which names the units
    # For each record the number of its unit, from 0, and its cell in the table that was given
    units: Array
    cells: Array
    seen: tuple[str, ...] = ()  # Columns that show together which records may belong to one unit
    # For each record the number of other units that look the same in these columns; None without any
    shown: Array | None = None

    @cached_property
    def sizes(self) -> Array:
        """Records of each unit."""
        return np.bincount(self.units)

    def sorted_by(self, values: Array) -> Iterator[tuple[Array, Array]]:
        """Units with equally many records, and these in the order of some values, shape (units, records)."""
        order = np.lexsort((values, self.units))
        first = np.cumsum(self.sizes) - self.sizes
        for size in np.unique(self.sizes).tolist():
            units = np.flatnonzero(self.sizes == size)
            yield units, order[first[units, None] + np.arange(size)]

    def share_shown(self, fewest: int) -> float:
        """Share of the records with others in their unit that look, in what is seen, like fewer than so many units."""
        if self.shown is None or not len(self.shown):
            return 0.0
        return float(((self.shown + 1 < fewest) & (self.sizes[self.units] > 1)).mean())


def read_units(
    records: Rows, unit: str, table: CellTable, *, seen: Sequence[str] = (), declared: bool = True
) -> UnitMembers:
    """The units of records and the cells of a table that they lie in; ``seen`` columns may show who is together."""
    units, cells, looks = list[Array](), list[Array](), list[Array]()
    with records.open_stored(table.columns) as source:
        finder = RowCells(source, str(records), table, declared=declared)
        names = [*dict.fromkeys((unit, *seen))]
        places = find_columns(source.schema, names, str(records), ANY)
        for batch in source.batches():
            if lost := batch.column(places[0]).null_count:
                raise MissingValueError(
                    "column-to-no-unit",
                    lost=lost,
                    words="record belongs" if lost == 1 else "records belong",
                    column=unit,
                )
            columns = {name: batch.column(place) for name, place in zip(names, places, strict=True)}
            numbered = numbered_columns(columns)
            units.append(numbered[unit].numbers[numbered[unit].places])
            cells.append(finder.find(batch).astype(np.int32))
            if seen:
                joined = reduce(joined_columns, (numbered[name] for name in seen))
                looks.append(joined.numbers[joined.places])
    number = np.unique(np.concatenate([np.zeros(0, np.uint64), *units]), return_inverse=True)[1].reshape(-1)
    shown = None
    if looks:
        look = np.unique(np.concatenate(looks), return_inverse=True)[1].reshape(-1).astype(np.int64)
        width = int(number.max(initial=0)) + 1
        units_with = np.bincount(np.unique(look * width + number) // width)
        shown = np.asarray(units_with[look] - 1)
    return UnitMembers(unit, number, np.concatenate([np.zeros(0, np.int32), *cells]), tuple(seen), shown)

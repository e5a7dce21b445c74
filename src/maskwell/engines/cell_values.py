"""Values of cells handed to the records that lie in them, written row by row in the order of the file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.atomic import atomic_file
from maskwell.core.cell_table import CellTable
from maskwell.engines.arrow_arrays import require
from maskwell.engines.cell_counting import coders_of, open_rows
from maskwell.engines.file_kinds import find_column, open_sink
from maskwell.engines.levels import LevelCoder
from maskwell.engines.release_rows import StateFinder


def write_cell_values(
    path: str,
    output: str,
    table: CellTable,
    values: Mapping[str, Array],
    *,
    identity: str | None = None,
    declared: bool = True,
    force: bool = False,
) -> None:
    """Write for each record of a file the values of its cell, with its id or else its number, from 1.

    Parameters
    ----------
    path, output
        The file, and where the values go.
    table
        The cells of the file.
    values
        Named values, one for each cell.
    identity
        Column with the ids of the records.
    declared
        Whether codes that the file declares missing count as missing values.
    force
        Whether a file of that name may be replaced.
    """
    arrow = require()
    with open_rows(path, table.columns) as source:
        places = [find_column(source.schema, name, path) for name in table.columns]
        coders = [
            LevelCoder(name, levels, coder.about)
            for (name, coder), levels in zip(
                coders_of(source, table.columns, declared=declared).items(), table.levels, strict=True
            )
        ]
        finder = StateFinder(_without_missing(table), [len(coder.labels) for coder in coders])
        named = arrow.field("record", arrow.int64()) if identity is None else source.schema.field(identity)
        schema = arrow.schema([named, *(arrow.field(name, arrow.float64()) for name in values)])
        rows = 0
        with (
            atomic_file(output, force=force, inputs=[path], like=path) as file,
            open_sink(file, output, schema) as sink,
        ):
            for batch in source.batches():
                cells = finder.find([c.codes(batch.column(i)) for c, i in zip(coders, places, strict=True)])
                ids = np.arange(rows + 1, rows + len(batch) + 1) if identity is None else batch.column(identity)
                columns = [arrow.array(own[cells], mask=cells < 0) for own in values.values()]
                sink.write(arrow.RecordBatch.from_arrays([arrow.array(ids), *columns], schema=schema))
                rows += len(batch)


def _without_missing(table: CellTable) -> Array:
    """Codes of the cells, where a missing value, the last label of its column, is -1."""
    codes = table.codes.astype(np.int64)
    for place, levels in enumerate(table.levels):
        if levels and levels[-1] is None:
            codes[codes[:, place] == len(levels) - 1, place] = -1
    return codes

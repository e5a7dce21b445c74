"""Counts as an Arrow table, one row for the counts of each part of the data.

So parts that were counted apart, by files, partitions or machines, are put together by whatever carries Arrow tables,
and ``sum`` adds them up::

    design   text           fingerprint of the design that made the reports
    n        int64          number of reports
    private  boolean        false where some reports were drawn from a seed
    values   list of int64  how often each report, or each category in a set report, was seen
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maskwell.core.arguments import kind_of, list_of
from maskwell.core.phrases import shorten
from maskwell.core.report_data import Counts
from maskwell.engines.arrow_arrays import require
from maskwell.engines.arrow_checks import validated_values
from maskwell.errors import ReportError, WrongTypeError

COLUMNS = ("design", "n", "private", "values")


def _schema() -> Any:
    arrow = require()
    kinds = (arrow.string(), arrow.int64(), arrow.bool_(), arrow.list_(arrow.int64()))
    return arrow.schema([arrow.field(name, kind, nullable=False) for name, kind in zip(COLUMNS, kinds, strict=True)])


def counts_to_arrow(counts: Counts | Iterable[Counts]) -> Any:
    """An Arrow table with one row for each of these counts, of one part of the data or of several.

    >>> part = Counts(np.array([3, 1]), 4, "sha256:1")
    >>> counts_to_arrow([part, part]).column("n").to_pylist()
    [4, 4]
    """
    arrow = require()
    parts = [counts] if isinstance(counts, Counts) else list_of(Counts, counts, "counts")
    values = [arrow.array(part.values) for part in parts]
    columns = [
        arrow.array([part.fingerprint for part in parts], arrow.string()),
        arrow.array([part.n for part in parts], arrow.int64()),
        arrow.array([bool(part.private) for part in parts], arrow.bool_()),
        arrow.ListArray.from_arrays(
            arrow.array(np.cumsum([0, *map(len, values)]), arrow.int32()),
            arrow.concat_arrays(values) if values else arrow.array([], arrow.int64()),
        ),
    ]
    return arrow.Table.from_arrays(columns, schema=_schema())


def counts_from_arrow(table: Any) -> list[Counts]:
    """The counts in a table that :func:`counts_to_arrow` made, or several put together; polars may hold it, too.

    >>> part = Counts(np.array([3, 1]), 4, "sha256:1", private=False)
    >>> total = sum(counts_from_arrow(counts_to_arrow([part, part])))
    >>> total.values.tolist(), total.n, total.private
    ([6, 2], 8, False)
    """
    arrow = require()
    if hasattr(table, "to_arrow"):
        table = table.to_arrow()
    if not isinstance(table, arrow.Table):
        raise WrongTypeError("counts-come-as-an-arrow-table", table_kind=kind_of(table))
    if not {*COLUMNS} <= {*table.column_names}:
        named = shorten(", ".join(table.column_names), 40)
        raise ReportError("a-table-with-the-columns-holds", column_names=named, columns=", ".join(COLUMNS))
    try:
        rows = validated_values(table.select([*COLUMNS])).cast(_schema())
    except (arrow.ArrowException, ValueError) as error:
        raise ReportError("a-column-of-the-table-holds") from error
    found = []
    for batch in rows.to_batches():
        lists = (batch.column(3)[row].values for row in range(len(batch)))
        told = (batch.column(place).to_pylist() for place in range(3))
        for design, n, private, values in zip(*told, lists, strict=True):
            if values is None or values.null_count or None in (design, n, private):
                raise ReportError("some-of-the-counts-are-missing")
            found.append(Counts(values.to_numpy(), n, design, private))
    return found

"""How well the other columns of a record go with its keys: learned from a file as naive Bayes does, in one pass.

For each other column and each key, the pass counts how often a value goes with a label. The log odds of a value v given
a label l, ``log(P(v | l) / P(v))``, added up over all columns and keys, tell how well a record goes with a combination
of keys: that is what somebody can weigh who looks for the record of a person among several. Of long files a part of the
rows is counted. The values of some records are kept, a byte for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.engines.arrow_arrays import ANY, column_errors, require
from maskwell.engines.cell_counts import RowCells, open_rows
from maskwell.engines.column_codes import MISSING_NUMBER, numbered_column
from maskwell.engines.row_sources import MemoryTable, find_column

VALUES, CLASSES = 64, 16
"""Values of a column that are told apart, and classes of a number that has more; further values are one."""

MOST_COLUMNS = 64
LEARNED, MOST_KEPT = 1 << 20, 1 << 19
"""Rows that are counted at most, and rows up to which the values of all are kept."""

MOST_ODDS = 1 << 24
"""Log odds that are kept at most: columns whose tables would need more are left out, the last first."""

PRIOR = 5.0
"""Records that speak for the whole file beside those with a label, so that few of them say little."""


@dataclass(frozen=True, eq=False)
class ColumnFit:
    """Log odds of the values of other columns given the labels of keys, and the values of some records.

    Attributes
    ----------
    table
        Cells of the keys.
    columns
        The other columns.
    cells, values
        Of the records that are kept, in order of their cells: the cell of each, and the codes of its values, shape
        (records, columns).
    log_odds, of_others
        For each other column and each key, shape (labels, values); and the same without one record that has both, so
        that what a record itself adds does not tell where it belongs.
    told
        Shape (keys,): how much the other columns tell of each key, as the sum of their mutual information.
    """

    table: CellTable
    columns: tuple[str, ...]
    cells: Array
    values: Array
    log_odds: Sequence[Sequence[Real]]
    of_others: Sequence[Sequence[Real]]
    told: Real

    @cached_property
    def _starts(self) -> Array:
        return np.searchsorted(self.cells, np.arange(len(self.table) + 1))

    @property
    def kept(self) -> Array:
        """Shape (cells,): records that are kept of each cell: all or none."""
        return np.diff(self._starts)

    def records_of(self, cells: Array) -> Array:
        """The places of the records of some cells, cell after cell."""
        first, count = self._starts[cells], self.kept[cells]
        ends = np.cumsum(count)
        return np.asarray(np.arange(int(count.sum())) + np.repeat(first - ends + count, count))

    def fits(self, cells: Array, records: Array) -> Real:
        """Shape (cells, records): how well each record goes with the keys of each cell, as a sum of log odds.

        They are learned from the other records.
        """
        codes, own, values = self.table.codes[cells], self.table.codes[self.cells[records]], self.values[records]
        sums, itself = np.zeros((len(cells), len(records))), np.zeros((own.shape[1], len(records)))
        for column, tables in enumerate(self.log_odds):
            of_cells = sum(odds[codes[:, key]] for key, odds in enumerate(tables))
            sums += np.asarray(of_cells)[:, values[:, column]]
            for key, (odds, others) in enumerate(zip(tables, self.of_others[column], strict=True)):
                at = own[:, key], values[:, column]
                itself[key] += others[at] - odds[at]
        for key, less in enumerate(itself):
            sums += np.where(codes[:, key, None] == own[None, :, key], less, 0.0)
        return sums

    def exchange_costs(self, cells: Array) -> Array:
        """Shape (cells, cells): how much it shows if the records of two cells exchange their keys.

        The size of the log odds that they did not: how much better the records go with their own keys than with those
        of each other, on average over the records of a cell. In whole millionths, so that sums do not depend on the
        processor.
        """
        records, count = self.records_of(cells), self.kept[cells]
        fits = self.fits(cells, records)
        owner = np.repeat(np.arange(len(cells)), count)
        sums = np.zeros((len(cells), len(cells)))
        np.add.at(sums, owner, fits.T)
        means = sums / np.maximum(count, 1)[:, None]
        lost = means.diagonal()[:, None] - means
        return np.rint(np.abs(lost + lost.T) * 1e6).astype(np.int64)


def read_column_fit(
    records: str | MemoryTable, table: CellTable, columns: Sequence[str], below: float, *, declared: bool = True
) -> ColumnFit | None:
    """What the other columns of a file or table tell of the keys of a table; None where there is none that tells.

    Parameters
    ----------
    records, table
        The file, and its cells.
    columns
        The other columns; of more than 64 the first.
    below
        Of long files, the values of records in cells of fewer records than this are kept.
    declared
        As where the table was counted.
    """
    columns = _affordable(table, columns)
    if not columns or not len(table):
        return None
    everything, step = table.n <= MOST_KEPT, max(1, table.n // LEARNED)
    wanted = np.full(len(table), everything) | (table.counts < below)
    learner = _Learner(table, columns)
    kept_cells, kept_values = [np.zeros(0, np.int32)], [np.zeros((0, len(columns)), np.uint8)]
    with open_rows(records, table.columns) as source:
        finder = RowCells(source, str(records), table, declared=declared)
        places = [find_column(source.schema, name, str(records), ANY) for name in columns]
        for batch in source.batches():
            cells = finder.find(batch)
            learned = np.zeros(len(cells), bool)
            learned[::step] = True
            rows = np.flatnonzero((cells >= 0) & (learned | wanted[cells]))
            cells, values = cells[rows], learner.codes([batch.column(place) for place in places], rows)
            learner.add(cells[learned[rows]], values[learned[rows]])
            keep = wanted[cells]
            kept_cells.append(cells[keep].astype(np.int32))
            kept_values.append(values[keep])
    cells, values = np.concatenate(kept_cells), np.concatenate(kept_values)
    order = np.argsort(cells, kind="stable")
    return ColumnFit(table, tuple(columns), cells[order], values[order], *learner.log_odds())


def _affordable(table: CellTable, columns: Sequence[str]) -> list[str]:
    labels = sum(len(levels) for levels in table.levels)
    return [*columns][: min(MOST_COLUMNS, MOST_ODDS // max(1, labels * VALUES))]


class _Learner:
    """Counts how often the values of other columns go with the labels of keys."""

    def __init__(self, table: CellTable, columns: Sequence[str]) -> None:
        self._table, self._columns = table, columns
        self._coders = [_ValueCoder() for _ in columns]
        self._counts = [[np.zeros((len(levels), VALUES), np.int64) for levels in table.levels] for _ in columns]

    def codes(self, columns: Sequence[Any], rows: Array) -> Array:
        """Codes of the values of some rows of a batch, shape (rows, columns)."""
        taken = require().array(rows)
        codes = np.zeros((len(rows), len(columns)), np.uint8)
        for place, (name, column) in enumerate(zip(self._columns, columns, strict=True)):
            with column_errors(name):
                codes[:, place] = self._coders[place].codes(column if len(rows) == len(column) else column.take(taken))
        return codes

    def add(self, cells: Array, values: Array) -> None:
        """Count records in these cells, with these values."""
        for key, labels in enumerate(self._table.codes[cells].T):
            for column, counts in enumerate(self._counts):
                counts[key] += np.bincount(
                    labels.astype(np.int64) * VALUES + values[:, column], minlength=counts[key].size
                ).reshape(counts[key].shape)

    def log_odds(self) -> tuple[list[list[Real]], list[list[Real]], Real]:
        """The log odds, those without one record, and how much is told of each key."""
        odds = [[_log_odds(counts) for counts in tables] for tables in self._counts]
        without = [[_log_odds(counts, less=1) for counts in tables] for tables in self._counts]
        rows = max(1, int(self._counts[0][0].sum()))
        pairs = zip(self._counts, odds, strict=True)
        told = [[(counts * one).sum() / rows for counts, one in zip(*both, strict=True)] for both in pairs]
        return odds, without, np.sum(told, axis=0)


def _log_odds(counts: Array, less: int = 0) -> Real:
    """``log(P(v | l) / P(v))`` of values given labels, where of each pair one record less is counted or not.

    >>> _log_odds(np.array([[1000, 0], [0, 1000]])).round(2).tolist()
    [[0.69, -5.3], [-5.3, 0.69]]
    """
    usual = np.maximum(counts.sum(axis=0), 0.5) / max(1, int(counts.sum()))
    having = np.maximum(counts.sum(axis=1, keepdims=True) - less, 0) + PRIOR
    return np.asarray(np.log((np.maximum(counts - less, 0) + PRIOR * usual) / having / usual))


class _ValueCoder:
    """Codes for the values of a column, below 64; numbers with more values in the first rows get those of classes."""

    def __init__(self) -> None:
        self._edges: Real | None = None
        self._known: dict[int, int] = {int(MISSING_NUMBER): 0}

    def codes(self, column: Any) -> Array:
        """A code for each row."""
        if self._edges is not None:
            return _classes(column, self._edges)
        places, numbers = numbered_column(column)
        if len(self._known) == 1 and len(numbers) > VALUES:
            self._edges = _edges(column)
            if self._edges is not None:
                return _classes(column, self._edges)
        known = [self._known.setdefault(number, min(len(self._known), VALUES - 1)) for number in numbers.tolist()]
        return np.array(known, dtype=np.uint8)[places]


def _edges(column: Any) -> Real | None:
    """Where classes of numbers begin, from the first rows; None where these are something else."""
    numbers = _as_numbers(column)
    if numbers is None or np.isnan(numbers).all():
        return None
    return np.unique(np.nanquantile(numbers, np.arange(1, CLASSES) / CLASSES))


def _classes(column: Any, edges: Real) -> Array:
    numbers = _as_numbers(column)
    if numbers is None:
        return np.full(len(column), VALUES - 1, np.uint8)
    return np.where(np.isnan(numbers), 0, 1 + np.searchsorted(edges, numbers)).astype(np.uint8)


def _as_numbers(column: Any) -> Real | None:
    """Numbers, times as numbers and texts that are numbers, NaN for none; None where a value is something else."""
    arrow = require()
    try:
        if arrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if arrow.types.is_temporal(column.type):
            column = column.cast(arrow.int64() if column.type.bit_width == 64 else arrow.int32())
        return np.asarray(column.cast(arrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
        return None

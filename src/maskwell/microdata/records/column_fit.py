"""How well other columns of a record go with its keys: as naive Bayes, one pass, a part of long files.

Log odds ``log(P(v; l) / P(v))`` are added up over columns and keys; of pairs of keys over the number of keys less one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.extras import require
from maskwell.core.groups import MISSING_NUMBER, NumberedColumn
from maskwell.core.verdicts import below as is_below
from maskwell.engines.arrow_arrays import ANY
from maskwell.engines.cell_counts import RowCells
from maskwell.engines.column_codes import numbered_columns
from maskwell.engines.row_sources import find_columns
from maskwell.engines.rows import Rows
from maskwell.microdata.records.near_records import ROOM, WEIGHTS, NearRecords
from maskwell.microdata.risk.binomial_sums import expanded

# Values of a column that are told apart, and classes of a number that has more; further values are one
VALUES, CLASSES = 64, 16
MOST_COLUMNS = 64
LEARNED, MOST_KEPT = 1 << 20, 1 << 19  # rows that are counted at most, and rows up to which the values of all are kept
TOGETHER = 1 << 16  # rows that are looked at together, however a file is read, so that codes do not depend on it
MOST_ODDS = 1 << 24  # log odds that are kept at most: columns whose tables would need more are left out, the last first
# The same for labels of two keys: of pairs with more the labels of either key count by themselves; and of three keys
MOST_OF_PAIRS = MOST_OF_TRIPLES = 1 << 23
BESIDE_NEAR = 2.0  # the same beside its nearest neighbours
PRIOR = 5.0  # records that speak for the whole file beside those with a label, so that few of them say little


@dataclass(frozen=True, eq=False)
class ColumnFit:
    """Log odds of the values of other columns given the labels of keys, and the values of some records."""

    table: CellTable  # Cells of the keys
    columns: tuple[str, ...]  # The other columns
    # Of the records that are kept, in order of their cells: the cell of each, and the codes of its values
    cells: Array
    values: Array  # shape: records, columns
    labels: CellLabels  # What log odds are learned of: the labels of each key, and of pairs of keys
    # By other column and labels: how many records have both, (labels, values); and which kept records are among them
    counts: Sequence[Sequence[Array]]
    counted: Array
    near: NearRecords  # The nearest of the kept records, by the other columns

    @cached_property
    def _odds(self) -> list[list[Real]]:
        """By other column, log odds with the labels below each other; and without one record that has both, its own."""
        used = self.labels.ways.shape[1]
        tables = [tables[:used] for tables in self.counts]
        return [[np.concatenate([_log_odds(one, less) for one in each]) for less in (0, 1)] for each in tables]

    @cached_property
    def told(self) -> Real:
        """Shape (keys,): how much the other columns reveal about each key, as the sum of their mutual information."""
        keys, rows = len(self.table.columns), max(1, int(self.counts[0][0].sum()))
        told = [[(one * _log_odds(one)).sum() / rows for one in tables[:keys]] for tables in self.counts]
        return np.asarray(np.sum(told, axis=0))

    def shown(self, records: Array, cells: Array) -> ColumnFit:
        """What is learned where some of the kept records show the keys of these cells; records keep their places."""
        moved = self.counted[records] & (self.cells[records] != cells)
        some, shown = records[moved], self.cells.copy()
        shown[records] = cells
        values = self.values[some]
        before, after = self.labels.tallies(self.cells[some], values), self.labels.tallies(shown[some], values)
        counts = [
            [one + more for one, more in zip(*each, strict=True)] for each in zip(self.counts, after, strict=True)
        ]
        counts = [[one - less for one, less in zip(*each, strict=True)] for each in zip(counts, before, strict=True)]
        return replace(self, cells=shown, counts=counts)

    @cached_property
    def _starts(self) -> Array:
        return np.searchsorted(self.cells, np.arange(len(self.table) + 1))

    @property
    def kept(self) -> Array:
        """Shape (cells,): records that are kept of each cell: all or none."""
        return np.asarray(np.diff(self._starts))

    def records_of(self, cells: Array) -> Array:
        """The places of the records of some cells, cell after cell."""
        return expanded(self._starts, cells)[1]

    def fits(self, cells: Array, records: Array) -> Real:
        """Shape (ways, cells, records): how well each record goes with each cell, learned from the others."""
        ways, values = self.labels.ways, self.values[records]
        starts, used = self.labels.starts[: ways.shape[1]], self.labels.codes[:, : ways.shape[1]]
        codes, own = used[cells], used[self.cells[records]]
        sums, itself = np.zeros((len(ways), len(cells), len(records))), np.zeros((own.shape[1], len(records)))
        of_cells, of_own = (codes + starts).T, (own + starts).T
        for column, (odds, others) in enumerate(self._odds):
            sums += np.tensordot(ways, odds[of_cells], 1)[:, :, values[:, column]]
            at = of_own, values[:, column]
            itself += others[at] - odds[at]
        same = np.where(codes.T[:, :, None] == own.T[:, None, :], itself[:, None, :], 0.0)
        return sums + np.tensordot(ways, same, 1)

    def odds_of_pairs(self, cells: Array, records: Array) -> PairOdds:
        """The same for one cell and one record at a time, by labels and by other columns."""
        values = self.values[records].T
        labels, owned = self.labels.codes[cells].T, self.labels.codes[self.cells[records]].T
        usual = [_usual(tables[0])[value] for tables, value in zip(self.counts, values, strict=True)]
        weights = np.zeros(len(labels))
        weights[: self.labels.ways.shape[1]] = self.labels.ways[-1]
        every, each = np.zeros((len(labels), len(cells))), np.zeros((len(values), len(cells)))
        odds = PairOdds(self, cells, records, every, each)
        for one, (codes, own) in enumerate(zip(labels, owned, strict=True)):
            itself = (codes == own).astype(np.int64)
            having = np.maximum(self.counts[0][one].sum(axis=1)[codes] - itself, 0) + PRIOR
            for column, (tables, value, share) in enumerate(zip(self.counts, values, usual, strict=True)):
                both = np.maximum(tables[one][codes, value] - itself, 0)
                found = np.log((both + PRIOR * share) / (having * share))
                odds.by_labels[one] += found
                odds.by_column[column] += weights[one] * found
        return odds

    def exchange_costs(self, cells: Array) -> Array:
        """Shape (cells, cells): the mean log odds that an exchange of keys shows, in whole millionths."""
        records, count = self.records_of(cells), self.kept[cells]
        fits, owner = self.fits(cells, records), np.repeat(np.arange(len(cells)), count)
        sums = np.zeros((len(cells), len(fits), len(cells)))
        np.add.at(sums, owner, fits.transpose(2, 0, 1))
        means = sums.transpose(1, 0, 2) / np.maximum(count, 1)[:, None]
        lost = means.diagonal(axis1=1, axis2=2)[:, :, None] - means
        return np.asarray(np.rint(np.abs(lost + lost.transpose(0, 2, 1)).mean(axis=0) * 1e6).astype(np.int64))


@dataclass(frozen=True, eq=False)
class PairOdds:
    """Log odds of the values of records given the labels of cells, one record and one cell at a time."""

    fit: ColumnFit
    cells: Array  # cells, records: shape (pairs,)
    records: Array
    by_labels: Real  # Shape (labels, pairs): added up over the other columns
    by_column: Real  # Shape (columns, pairs): added up over labels in the last of the ways

    @cached_property
    def by_neighbours(self) -> Real:
        """Shape (weights, keys, pairs): log odds of the labels of each cell among the nearest records, by `WEIGHTS`."""
        places, at = np.unique(self.records, return_inverse=True)
        near, keys = self.fit.near.of_records(places), len(self.fit.table.columns)
        weights = np.where(near >= 0, WEIGHTS[:, None, : near.shape[1]], 0.0)
        having, odds = weights.sum(axis=2)[:, at], np.zeros((len(weights), keys, len(at)))
        for key, size in enumerate(self.fit.labels.sizes[:keys]):
            labels, wanted = self.fit.labels.codes[:, key], self.fit.labels.codes[self.cells, key]
            usual = _usual(self.fit.counts[0][key].T)[wanted]
            both = _tallied(labels[self.fit.cells[near]], weights, size, at, wanted)
            odds[:, key] = np.log((both + BESIDE_NEAR * usual) / (having + BESIDE_NEAR) / usual)
        return odds


def _tallied(shown: Array, weights: Real, size: int, at: Array, wanted: Array) -> Real:
    """Shape (weights, pairs): what the wanted label weighs among those that are shown in the row of each pair."""
    both, step = np.zeros((len(weights), len(at))), max(1, ROOM // size)
    for first in range(0, len(shown), step):
        some = slice(first, first + step)
        cell = np.arange(len(shown[some]))[:, None] * size + shown[some]
        pairs = np.flatnonzero((at >= first) & (at < first + step))
        place = (at[pairs] - first) * size + wanted[pairs]
        for one, weight in zip(both, weights, strict=True):
            one[pairs] = np.bincount(cell.ravel(), weight[some].ravel(), len(cell) * size)[place]
    return both


@dataclass(frozen=True, eq=False)
class CellLabels:
    """The labels of each key and of several keys together, by cell, and how their log odds are added up."""

    codes: (
        Array  # Shape (cells, labels): by number, the label of each key, and those of pairs and of three keys in turn
    )
    sizes: tuple[int, ...]  # How many labels each of them has
    keys: tuple[tuple[int, ...], ...]  # Of which keys each of them is, by number
    # Shape (ways, labels): what each counts where single keys are added up, and, of three keys or more, pairs; the last
    # labels may count in none
    ways: Real

    @classmethod
    def of(cls, table: CellTable, columns: int) -> CellLabels:
        """Labels of the keys of a table, and of those pairs and triples with fewest labels that there is room for."""
        keys, room = len(table.columns), VALUES * max(1, columns)
        pairs = _labels_of(table, combinations(range(keys), 2), MOST_OF_PAIRS // room)
        triples = _labels_of(table, ((k, k + 1, k + 2) for k in range(keys - 2)), MOST_OF_TRIPLES // room)
        found = pairs if keys > 2 else []
        ways = np.zeros((2 if found else 1, keys + len(found)))
        ways[0, :keys] = ways[-1, :keys] = 1.0
        for place, (pair, _, _) in enumerate(found):
            ways[1, keys + place] = 1 / (keys - 1)
            ways[1, pair] -= 1 / (keys - 1)
        several = [*pairs, *triples]
        codes = np.column_stack([table.codes, *(cell for _, _, cell in several)]).astype(np.int32)
        sizes = (*map(len, table.levels), *(size for _, size, _ in several))
        return cls(codes, sizes, (*((key,) for key in range(keys)), *(keys for keys, _, _ in several)), ways.round(12))

    @cached_property
    def starts(self) -> Array:
        """Where each of them begins, where all are below each other."""
        return np.cumsum([0, *self.sizes[:-1]])

    def tallies(self, cells: Array, values: Array) -> list[list[Array]]:
        """By column of the values and by labels: how many records have both, shape (labels, values)."""
        found = list[list[Array]]([] for _ in values.T)
        for one, size in enumerate(self.sizes):
            first = self.codes[cells, one] * VALUES
            for column, tables in zip(values.T, found, strict=True):
                counts = np.bincount(first + column, minlength=size * VALUES)
                tables.append(counts.astype(np.int32).reshape(size, VALUES))
        return found


def _labels_of(
    table: CellTable, groups: Iterable[tuple[int, ...]], room: int
) -> list[tuple[tuple[int, ...], int, Array]]:
    """Groups of keys, how many labels each has, and the label of each cell: those with the fewest, as there is room."""
    found = []
    for group in groups:
        joined, size = np.zeros(len(table), dtype=np.int64), 0
        for key in group:
            labels, joined = np.unique(joined * len(table.levels[key]) + table.codes[:, key], return_inverse=True)
            size = len(labels)
        found.append((group, size, joined))
    found.sort(key=lambda one: one[1])
    return found[: int(np.searchsorted(np.cumsum([size for _, size, _ in found]), room, side="right"))]


def read_column_fit(
    records: Rows, table: CellTable, columns: Sequence[str], below: float, *, declared: bool = True
) -> ColumnFit | None:
    """What the other columns of a file or table reveal about the keys of a table; None where none does."""
    labels = sum(len(levels) for levels in table.levels)
    columns = [*columns][: min(MOST_COLUMNS, MOST_ODDS // max(1, labels * VALUES))]
    if not columns or not len(table):
        return None
    everything, step = table.n <= MOST_KEPT, max(1, table.n // LEARNED)
    wanted = np.full(len(table), everything) | is_below(table.counts, below)
    learner = _Learner(table, columns)
    kept = [(np.zeros(0, np.int32), np.zeros((0, len(columns)), np.uint8), np.zeros(0, bool))]
    with records.open_stored(table.columns) as source:
        finder = RowCells(source, str(records), table, declared=declared)
        places = find_columns(source.schema, columns, str(records), ANY)
        for batch in _even_batches(source.batches()):
            cells = finder.find(batch)
            learned = np.zeros(len(cells), bool)
            learned[::step] = True
            rows = np.flatnonzero((cells >= 0) & (learned | wanted[cells]))
            cells, values = cells[rows], learner.codes([batch.column(place) for place in places], rows)
            counted, keep = learned[rows], wanted[cells]
            learner.add(cells[counted], values[counted])
            kept.append((cells[keep].astype(np.int32), values[keep], counted[keep]))
    cells, values, counted = (np.concatenate(each) for each in zip(*kept, strict=True))
    order = np.argsort(cells, kind="stable")
    near = NearRecords.of(values[order], learner.shares, learner.numbers)
    return ColumnFit(
        table, tuple(columns), cells[order], values[order], learner.labels, learner.counts, counted[order], near
    )


def _even_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows in batches of one length, but for the last."""
    arrow, waiting, rows = require(), list[Any](), 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        if rows >= TOGETHER:
            table = arrow.Table.from_batches(waiting).combine_chunks()
            rows = table.num_rows % TOGETHER
            yield from table.slice(0, table.num_rows - rows).to_batches(max_chunksize=TOGETHER)
            waiting = table.slice(table.num_rows - rows).to_batches()
    if rows:
        yield from arrow.Table.from_batches(waiting).combine_chunks().to_batches()


class _Learner:
    def __init__(self, table: CellTable, columns: Sequence[str]) -> None:
        self.labels, self._columns = CellLabels.of(table, len(columns)), columns
        self._coders = [_ValueCoder() for _ in columns]
        self.counts = [[np.zeros((size, VALUES), np.int32) for size in self.labels.sizes] for _ in columns]

    @property
    def shares(self) -> list[Real]:
        """By column the share of each code."""
        return [tables[0].sum(axis=0) / max(1, int(tables[0].sum())) for tables in self.counts]

    @property
    def numbers(self) -> list[Real]:
        """By column the number that each code denotes, NaN for none."""
        return [coder.numbers for coder in self._coders]

    def codes(self, columns: Sequence[Any], rows: Array) -> Array:
        if len(rows) < len(columns[0]):
            taken = require().array(rows)
            columns = [column.take(taken) for column in columns]
        pairs = [*zip(self._columns, columns, self._coders, strict=True)]
        numbered = numbered_columns({name: column for name, column, coder in pairs if coder.by_number})
        codes = [coder.codes(column, numbered.get(name)) for name, column, coder in pairs]
        return np.stack(codes, axis=1)

    def add(self, cells: Array, values: Array) -> None:
        for counts, added in zip(self.counts, self.labels.tallies(cells, values), strict=True):
            for one, more in zip(counts, added, strict=True):
                one += more


def _log_odds(counts: Array, less: int = 0) -> Real:
    """``log(P(v | l) / P(v))`` of values given labels, where of each pair one record less is counted or not."""
    usual = _usual(counts)
    having = np.maximum(counts.sum(axis=1, keepdims=True) - less, 0) + PRIOR
    return np.asarray(np.log((np.maximum(counts - less, 0) + PRIOR * usual) / having / usual))


def _usual(counts: Array) -> Real:
    """The share of each value, where a value that no record has counts as half a record."""
    return np.asarray(np.maximum(counts.sum(axis=0), 0.5) / max(1, int(counts.sum())))


class _ValueCoder:
    def __init__(self) -> None:
        self._edges: Real | None = None
        self._known: dict[int, int] = {int(MISSING_NUMBER): 0}
        self.numbers = np.full(VALUES, np.nan)  # what codes stand for, where they are of numbers
        self._texts = False  # whether some value is no number

    @property
    def by_number(self) -> bool:
        """Whether values are distinguished one by one, and not in classes."""
        return self._edges is None

    def codes(self, column: Any, numbered: NumberedColumn | None) -> Array:
        if numbered is None:
            numbers = _as_numbers(column)
        else:
            places, values = numbered
            numbers = _as_numbers(column) if len(self._known) == 1 and len(values) > VALUES else None
            if numbers is None or np.isnan(numbers).all():
                known = [self._known.setdefault(one, min(len(self._known), VALUES - 1)) for one in values.tolist()]
                codes = np.array(known, dtype=np.uint8)[places]
                self._note_numbers(column, codes)
                return codes
            self._edges = np.unique(np.nanquantile(numbers, np.arange(1, CLASSES) / CLASSES))  # where classes begin
            self.numbers[1 : len(self._edges) + 2] = np.arange(len(self._edges) + 1)
        if numbers is None or self._edges is None:  # a value is no number
            return np.full(len(column), VALUES - 1, np.uint8)
        return np.where(np.isnan(numbers), 0, 1 + np.searchsorted(self._edges, numbers)).astype(np.uint8)

    def _note_numbers(self, column: Any, codes: Array) -> None:
        """Remember the number that each code denotes, unless a value is none."""
        numbers = None if self._texts else _as_numbers(column)
        if numbers is None:
            self._texts = True
            self.numbers[:] = np.nan
        else:
            self.numbers[codes] = numbers


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

"""Count the records of a table in the cells of several tables at once, in one pass; memory follows the cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from maskwell.core.arguments import Array, Flag, Real, as_list, check_kind, list_of
from maskwell.core.atomic import atomic_files
from maskwell.core.cells import CellTable
from maskwell.core.groups import LARGEST_KEY, KeyFinder, joint_keys, possible_cells, separate_codes
from maskwell.core.labels import sorted_levels
from maskwell.core.phrases import shorten
from maskwell.designs.coded import tally_codes
from maskwell.engines.arrow_arrays import ANY, columns_with_values, require
from maskwell.engines.column_codes import MISSING, LevelCoder, codes_of, numbers_of
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.row_sources import Progress, RowPass, Source, find_columns, open_sink
from maskwell.engines.rows import Part, Rows
from maskwell.errors import CountsError, DataFileError, InputError, TooLargeError

DENSE_CELLS, DENSE_SHARE = 1 << 21, 8
"""Tables with at most so many possible cells are counted in an array; others by the cells that occur. Where all labels
are known, an array also does with so many possible cells for each that occurs: adding up lists takes more memory."""

MERGED_CELLS = 1 << 17
ALL_MERGED_CELLS = 1 << 23  # tables are counted as one where together they have at most so many possible cells
MOST_LISTED = 20_000  # labels of a column that are told apart where all columns of a file are looked at
KEPT_PIECES = 1 << 20
MOST_OPTIONAL = 1 << 20  # cells of a table up to which it is counted where smaller ones can take its place
OPTIONAL_TABLE = 1 << 19  # cells of a table that may be left out, up to which it is counted
MOST_LABELS = 100  # labels of a column up to which it is counted in tables that may be left out
OPTIONAL_CELLS = 1 << 23  # cells of all tables together that may be left out; the last ones are


@runtime_checkable
class Follower(Protocol):
    """What follows further columns through the rows that are counted."""

    @property
    def names(self) -> list[str]:
        """Columns that it needs."""

    def add(self, columns: Mapping[str, Any], codes: Mapping[str, Array]) -> None:
        """The next rows: the columns that it named, and the codes of those that are counted, -1 where missing."""


def count_tables(
    data: Any,
    tables: Sequence[Sequence[str]],
    *,
    weights: str | None = None,
    beside: Follower | None = None,
    declared: bool = True,
    instead: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]] | None = None,
    optional: Sequence[tuple[str, ...]] = (),
    progress: Progress | None = None,
) -> list[CellTable]:
    """Count the cells of tables, with None for a missing value; ``instead`` is counted where a table has very many.

    Of tables that are ``optional``, those with many cells, or with a column of many labels, are left out.
    """
    check_kind(Flag, declared=declared)
    check_kind(Follower | None, beside=beside)
    check_kind(Callable | None, progress=progress)
    check_kind(str | None, weights=weights)
    tables = [list_of(str, columns, "tables") for columns in as_list(tables, "tables")]
    if not tables or not all(tables):
        what = "a table has no columns" if tables else "no tables"
        raise InputError(what, hint='give the columns of each table, for instance [["sex", "region"]]')
    rows = Rows.of(data)
    work = _CountingCells(tables, str(rows), weights, beside, declared, instead or {}, optional=optional)
    parts = rows.in_parts(work, stored=_names_in([*tables, *optional]), progress=progress)
    common = set.intersection(*({one.columns for one in part.found} for part in parts))
    found = ([one for one in part.found if one.columns in common] for part in parts)
    return [CellTable.total(one) for one in zip(*found, strict=True)]


@dataclass(frozen=True)
class _CountingCells:
    """Counts the cells of several tables in a source; ``where`` is what messages call the rows."""

    tables: Sequence[Sequence[str]]
    where: str
    weights: str | None = None
    beside: Follower | None = None
    declared: bool = True
    instead: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]] = field(default_factory=dict)
    most: int | None = None  # labels of a column that are told apart; else too many are an error
    optional: Sequence[tuple[str, ...]] = ()

    def columns(self, schema: Any) -> list[str]:
        names = [*_names_in([*self.tables, *self.optional]), *([] if self.weights is None else [self.weights])]
        find_columns(schema, names, self.where)
        return [*dict.fromkeys([*names, *([] if self.beside is None else self.beside.names)])]

    def __call__(self, source: Source, first_row: int | None, progress: Progress | None) -> Part[list[CellTable]]:
        counter = _TableCounter(source, self)
        rows = RowPass(source, self.where, only=counter.only, progress=progress, first_row=first_row)
        for batch in rows:
            counter.add(batch, rows.before)
        tables = counter.tables()
        return Part(tables[0].n if tables else 0, tables)


def count_rows(
    source: Source,
    name: str,
    tables: Sequence[Sequence[str]],
    *,
    weights: str | None = None,
    most: int | None = None,
    progress: Progress | None = None,
) -> list[CellTable]:
    """The same for rows that are open already; at most ``most`` labels of a column are distinguished, if given."""
    return _CountingCells(tables, name, weights, most=most)(source, None, progress).found


def count_columns(rows: Rows, *, progress: Progress | None = None) -> list[CellTable]:
    """Count every column separately, except lists and the like; of very many labels the first are distinguished."""
    with rows.open_stored([]) as source:
        names = columns_with_values(source.schema)
        twice = [name for name, times in Counter(source.schema.names).items() if times > 1]
        if twice:
            raise DataFileError("has-two-columns-named-rename", rows=rows, twice=twice[0], path=str(rows))
        return count_rows(source, str(rows), [(name,) for name in names], most=MOST_LISTED, progress=progress)


def _names_in(tables: Sequence[Sequence[str]]) -> list[str]:
    return [*dict.fromkeys(name for table in tables for name in table)]


def merged(tables: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Fewer tables that contain all of these, joined while they have few possible cells, each and together."""
    most = min(MERGED_CELLS, ALL_MERGED_CELLS // max(1, len(tables)))
    larger: list[tuple[str, ...]] = []
    cells = np.full(len(tables), np.inf)  # of each of these, so that thousands of columns take no search by hand
    holders: dict[str, list[int]] = {}

    def possible(columns: Iterable[str]) -> float:
        return float(min(math.prod(sizes[name] + 1 for name in columns), most + 1))

    for table in sorted(tables, key=lambda columns: -len(columns)):
        apart = np.flatnonzero(cells[: len(larger)] * possible(table) <= most)[:1].tolist()
        sharing = {place for name in table for place in holders.get(name, ())}
        joint = {place: dict.fromkeys([*larger[place], *table]) for place in sharing}
        has_room = (p for p, both in joint.items() if len(both) == len(larger[p]) or possible(both) <= most)
        fitting = [*apart, *has_room]
        place = min(fitting, default=len(larger))
        before = larger[place] if fitting else ()
        larger[place : place + 1] = [tuple(dict.fromkeys([*before, *table]))]
        cells[place] = possible(larger[place])
        for name in {*table} - {*before}:
            holders.setdefault(name, []).append(place)
    return larger


def parts_of(tables: Iterable[Sequence[str]], counted: Sequence[CellTable]) -> dict[tuple[str, ...], CellTable]:
    """Some tables from those that contain them."""
    return {(*table,): part_of(table, counted) for table in tables}


def part_of(table: Sequence[str], counted: Sequence[CellTable]) -> CellTable:
    """A table from the smallest of those that contain it."""
    holders = [one for one in counted if {*table} <= {*one.columns}]
    smallest = min(holders, key=len)
    return smallest if smallest.columns == tuple(table) else smallest.project(table)


def coders_of(
    source: Source,
    names: Sequence[str],
    *,
    declared: bool = True,
    levels: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, LevelCoder]:
    """A coder for each column, which knows what the file says about it, and its ``levels`` where they are given."""
    about = source.style.columns if isinstance(source.style, Labels) else {}
    if not declared:
        about = {name: replace(labels, missing=()) for name, labels in about.items()}
    levels = {} if levels is None else levels
    return {name: LevelCoder(name, levels.get(name), about.get(name)) for name in names}


def check_weights(column: Any, name: str, row: int) -> Real:
    """Weights as floats of 0 or more, or an error that names the first bad row."""
    values = numbers_of(column, name, row)
    bad = np.flatnonzero(values < 0)
    if bad.size:
        place, said = row + int(bad[0]) + 1, f"{values[bad[0]]:g}"
        raise CountsError("column-the-weight-in-data-row", row_plus_bad_number=place, values=said, column=name)
    return values


class _TableCounter:
    """Counts the cells of several tables, batch after batch."""

    def __init__(self, source: Source, asked: _CountingCells) -> None:
        required, names = {*_names_in(asked.tables)}, _names_in([*asked.tables, *asked.optional])
        self._coders = coders_of(source, names, declared=asked.declared)
        for name, coder in self._coders.items():
            coder.most = asked.most
            coder.gives_up = None if name in required else MOST_LABELS
        names = [*self._coders, *([] if asked.weights is None else [asked.weights])]
        followed = find_columns(source.schema, () if asked.beside is None else asked.beside.names, asked.where, ANY)
        self.only = sorted({*followed, *find_columns(source.schema, names, asked.where)})
        self._tables = [*(tuple(table) for table in asked.tables), *asked.optional]
        self._optional, self._rows = [*asked.optional], 0
        self._weights, self._beside, self._instead = asked.weights, asked.beside, asked.instead
        self._counters: list[CellCounter] | None = None

    def add(self, batch: Any, row: int) -> None:
        codes, weights = codes_of(self._coders, batch), None
        self._rows += len(batch)
        self._leave_out()
        if self._weights is not None:
            weights = check_weights(batch.column(self._weights), self._weights, row)
        for counter in self._ready():
            counter.add(codes, len(batch), weights)
        if self._beside is not None and len(batch):
            self._beside.add({name: batch.column(name) for name in self._beside.names}, codes)

    def _leave_out(self) -> None:
        """Drop optional tables with a column of too many labels, or with too many cells that can occur."""
        if not self._optional:
            return
        cells, kept = 0, []
        for table in self._optional:
            if any(self._coders[name].has_given_up for name in table):
                continue
            possible = math.prod(len(self._coders[name].labels) + 1 for name in table)
            occurring = possible if possible <= MERGED_CELLS else min(possible, self._rows)
            cells += occurring
            if occurring <= OPTIONAL_TABLE and cells <= OPTIONAL_CELLS:
                kept.append(table)
        if len(kept) < len(self._optional):
            gone = {*self._optional} - {*kept}
            self._optional, self._tables = kept, [one for one in self._tables if one not in gone]
            still = {*_names_in(self._tables)}
            self._coders = {name: one for name, one in self._coders.items() if name in still or not one.has_given_up}
            if self._counters is not None:
                self._counters = [part for one in self._counters for part in self._without_columns(one)]

    def _without_columns(self, counter: CellCounter) -> list[CellCounter]:
        """A counter, or those of its tables that are left, without columns that are no longer coded."""
        inside = [table for table in self._tables if {*table} <= {*counter.columns}]
        if not inside or {*counter.columns} <= {*self._coders}:
            return [counter] if inside else []
        sizes = {name: len(coder.labels) for name, coder in self._coders.items()}
        return [counter.part(table) for table in merged(inside, sizes)]

    def _ready(self) -> list[CellCounter]:
        """The counters, made when rows have shown how many labels there are; tables too large give way to smaller."""
        sizes = {name: len(coder.labels) for name, coder in self._coders.items()}
        for table in [one for one in self._instead if one in self._tables]:  # no number could tell its cells apart
            if possible_cells([1 << sizes[name].bit_length() for name in table]) > LARGEST_KEY:
                self._give_up(table)
        if self._counters is None:
            joined, weighted = merged(self._tables, sizes), self._weights is not None
            few = {frozenset(table) for table in self._optional}  # counted in lists, if they are large
            self._counters = [
                CellCounter([self._coders[name] for name in table], weighted, dense=most)
                for table, most in ((one, MERGED_CELLS if frozenset(one) in few else DENSE_CELLS) for one in joined)
            ]
        else:
            for counter in (one for one in self._counters if one.listed > MOST_OPTIONAL):
                for table in [one for one in self._instead if one in self._tables and {*one} <= {*counter.columns}]:
                    self._give_up(table)
            self._counters = [part for counter in self._counters for part in self._parts(counter, sizes)]
        return self._counters

    def _give_up(self, table: tuple[str, ...]) -> None:
        others = [one for one in self._tables if one != table]
        self._tables = [*dict.fromkeys([*others, *self._instead[table]])]

    def _parts(self, counter: CellCounter, sizes: Mapping[str, int]) -> list[CellCounter]:
        """A counter, or several where later rows have shown too many labels to count its tables together."""
        if math.prod(sizes[name] + 1 for name in counter.columns) <= MERGED_CELLS:
            return [counter]
        inside = [table for table in self._tables if {*table} <= {*counter.columns}]
        apart = merged(inside, sizes)
        alone = len(apart) == 1 and {*apart[0]} == {*counter.columns}
        return [counter] if alone else [counter.part(table) for table in apart]

    def tables(self) -> list[CellTable]:
        self._leave_out()
        counted = [counter.table() for counter in self._ready()]
        holders: dict[str, list[CellTable]] = {}
        for one in counted:
            for name in one.columns:
                holders.setdefault(name, []).append(one)
        return [part_of(table, holders[table[0]] if table else counted) for table in self._tables]


class CellCounter:
    """Counts the cells of one table: a cell is a number in mixed radix, and a radix that is too small is doubled."""

    def __init__(self, coders: Sequence[LevelCoder], weighted: bool, *, dense: int = DENSE_CELLS) -> None:  # noqa: FBT001
        self._coders, self._dense_cells = coders, dense
        self._sizes = [1] * len(coders)
        self._sums = ["counts", "weights", "squares"] if weighted else ["counts"]
        self._dense: list[Array] | None = [
            np.zeros(possible_cells(self._sizes), dtype=_kind(one)) for one in self._sums
        ]
        self._pieces: list[tuple[Array, ...]] = []
        self._kept = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the classifying columns."""
        return tuple(coder.column for coder in self._coders)

    def part(self, columns: Sequence[str]) -> CellCounter:
        """A counter of some of the columns, with what was counted so far."""
        cells, *sums = self._occurring()
        codes = dict(zip(self.columns, separate_codes(cells, self._sizes), strict=True))
        coders = {coder.column: coder for coder in self._coders}
        part = CellCounter([coders[name] for name in columns], len(sums) > 1, dense=self._dense_cells)
        part._grow()
        joint = joint_keys([codes[name] for name in columns], part._sizes, len(cells))
        distinct, place = np.unique(joint, return_inverse=True)
        part._start(distinct, [np.bincount(place, s, minlength=len(distinct)).astype(s.dtype) for s in sums])
        return part

    @property
    def listed(self) -> int:
        """Cells that were known when they were last put together, where they are listed one by one; else 0."""
        return len(self._pieces[0][0]) if self._pieces else 0

    def add(self, codes: dict[str, Array], rows: int, weights: Real | None) -> None:
        """Count the next rows, given as codes of all columns."""
        self._grow()
        joint = joint_keys([codes[name] for name in self.columns], self._sizes, rows, first=MISSING)
        if self._dense is not None:
            tally_codes(joint.view(np.uint64), self._dense[0])
            if weights is not None:
                for sums, values in zip(self._dense[1:], (weights, weights**2), strict=True):
                    sums += np.bincount(joint, values, minlength=len(sums))
            return
        cells, first, counts = np.unique(joint, return_inverse=True, return_counts=True)
        more = () if weights is None else (np.bincount(first, weights), np.bincount(first, weights**2))
        self._keep((cells, counts, *more))

    def table(self) -> CellTable:
        """What was counted, with sorted labels."""
        cells, counts, *sums = self._occurring()
        levels, columns = [], []
        for coder, codes in zip(self._coders, separate_codes(cells, self._sizes), strict=True):
            order, places = _sorted_labels(coder, codes)
            levels.append(order)
            columns.append(places)
        matrix = np.stack(columns, axis=1) if columns else np.zeros((len(cells), 0), dtype=np.int32)
        order_ = np.lexsort(matrix.T[::-1]) if columns else np.arange(len(cells))
        weights: list[Any] = [values[order_] for values in sums] or [None, None]
        return CellTable(self.columns, tuple(levels), matrix[order_], counts[order_], *weights)

    def _grow(self) -> None:
        needed = [len(coder.labels) + 1 for coder in self._coders]
        if all(have >= need for have, need in zip(self._sizes, needed, strict=True)):
            return
        cells, *sums = self._occurring()
        codes = separate_codes(cells, self._sizes)
        wanted = [
            n if coder.fixed else 1 << (n - 1).bit_length() for n, coder in zip(needed, self._coders, strict=True)
        ]
        self._sizes = [max(pair) for pair in zip(self._sizes, wanted, strict=True)]
        if possible_cells(self._sizes) > LARGEST_KEY:
            named = shorten(", ".join(coder.column for coder in self._coders), 60)
            raise TooLargeError("the-columns-have-more-than-possible", named=named, largest_key=LARGEST_KEY)
        self._start(joint_keys(codes, self._sizes, len(cells)), sums)

    def _start(self, cells: Array, sums: Sequence[Array]) -> None:
        """Go on from these counts, in an array where it is small enough."""
        self._pieces, self._kept = [(cells, *sums)], len(cells)
        self._dense = None
        known = all(coder.fixed for coder in self._coders)
        if (possible := possible_cells(self._sizes)) <= max(self._dense_cells, known * DENSE_SHARE * len(cells)):
            self._dense = [np.zeros(possible, dtype=_kind(one)) for one in self._sums]
            for total, values in zip(self._dense, sums, strict=True):
                total[cells] = values
            self._pieces, self._kept = [], 0

    def _keep(self, piece: tuple[Array, ...]) -> None:
        self._pieces.append(piece)
        self._kept += len(piece[0])
        if self._kept > KEPT_PIECES and len(self._pieces) > 1:
            cells, *sums = self._occurring()
            self._start(cells, sums)
            self._kept = 0  # counted anew, so that large tables are not merged each time

    def _occurring(self) -> tuple[Array, ...]:
        """Cells that occur, their counts and sums of weights."""
        if self._dense is not None:
            cells = np.flatnonzero(self._dense[0])
            return (cells, *(sums[cells] for sums in self._dense))
        cells, first = np.unique(np.concatenate([piece[0] for piece in self._pieces]), return_inverse=True)
        parts = zip(*(piece[1:] for piece in self._pieces), strict=True)
        sums = [np.bincount(first, np.concatenate(part), minlength=len(cells)) for part in parts]
        return (cells, sums[0].astype(np.int64), *sums[1:])


def _sorted_labels(coder: LevelCoder, codes: Array) -> tuple[tuple[Any, ...], Array]:
    """The labels of a column in order, and the codes (one above those of the coder, 0 for none) as places in it."""
    labels: list[Any] = [None, *coder.labels]
    used = np.full(len(labels), coder.fixed)
    used[0] = False
    used[np.unique(codes)] = True  # a dictionary may list what no record has; a missing value is one where it occurs
    occurring = [label for label, there in zip(labels, used, strict=True) if there]
    order = sorted_levels(occurring, [label for label in coder.given if label is not None])
    place = {label: i for i, label in enumerate(order)}
    to = np.array([place.get(label, -1) for label in labels], dtype=np.int32)
    return tuple(order), to[codes]


def _kind(what: str) -> type:
    return np.int64 if what == "counts" else np.float64


def write_cell_values(
    path: str,
    output: str,
    table: CellTable,
    values: Mapping[str, Array],
    *,
    identity: str | None = None,
    declared: bool = True,
    force: bool = False,
    beside: Mapping[str, bytes] | None = None,
) -> None:
    """Write for each record of a file the values of its cell, with its id or else its number, from 1.

    The files ``beside`` it are written with it, or none.
    """
    arrow = require()
    with Rows.of(path).open_stored(table.columns) as source:
        finder = RowCells(source, path, table, declared=declared)
        named = arrow.field("record", arrow.int64()) if identity is None else source.schema.field(identity)
        schema = arrow.schema([named, *(arrow.field(name, arrow.float64()) for name in values)])
        rows = 0
        with (
            atomic_files([output, *(beside or {})], force=force, inputs=[path], like=path) as (file, *others),
            open_sink(file, output, schema) as sink,
        ):
            for other, content in zip(others, (beside or {}).values(), strict=True):
                other.write(content)
            for batch in source.batches():
                cells = finder.find(batch)
                ids = np.arange(rows + 1, rows + len(batch) + 1) if identity is None else batch.column(identity)
                columns = [arrow.array(of_cells[cells], mask=cells < 0) for of_cells in values.values()]
                sink.write(arrow.RecordBatch.from_arrays([arrow.array(ids), *columns], schema=schema))
                rows += len(batch)


def cells_of_records(rows: Rows, table: CellTable) -> Array:
    """The cell of a table that each record lies in, in the order of the records, -1 where the table has none."""
    parts = rows.in_parts(_CellLookup(table, str(rows)), stored=table.columns)
    return np.concatenate([part.found for part in parts])


@dataclass(frozen=True)
class _CellLookup:
    """Finds the cell of each record of a source; ``where`` is what messages call the rows."""

    table: CellTable
    where: str

    def columns(self, schema: Any) -> list[str]:
        find_columns(schema, self.table.columns, self.where)
        return [*self.table.columns]

    def __call__(self, source: Source, first_row: int | None, progress: Progress | None) -> Part[Array]:
        finder = RowCells(source, self.where, self.table)
        found = [finder.find(batch).astype(np.int32) for batch in source.batches(finder.places)]
        cells = np.concatenate([np.zeros(0, dtype=np.int32), *found])
        return Part(len(cells), cells)


class RowCells:
    """Finds the cell of a table that each row of an open source lies in; ``places`` are the columns that it needs."""

    def __init__(self, source: Source, path: str, table: CellTable, *, declared: bool = True) -> None:
        self.places = find_columns(source.schema, table.columns, path)
        known = dict(zip(table.columns, table.levels, strict=True))
        self._coders = coders_of(source, table.columns, declared=declared, levels=known)
        self._sizes = [len(coder.labels) + 1 for coder in self._coders.values()]
        codes = table.codes.astype(np.int64)
        for place, levels in enumerate(table.levels):  # a missing value is the last label of its column, and here -1
            if levels and levels[-1] is None:
                codes[codes[:, place] == len(levels) - 1, place] = MISSING
        self._finder = KeyFinder(joint_keys([*codes.T], self._sizes, len(table), first=MISSING))

    def find(self, batch: Any) -> Array:
        """The cell of each row, -1 where the table has none."""
        codes = codes_of(self._coders, batch).values()
        return self._finder.find(joint_keys([*codes], self._sizes, len(batch), first=MISSING))

"""Count the records of a file in the cells of several tables at once, in one pass; memory follows the cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Flag, as_list, check_kind, check_path, list_of
from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.core.labels import sorted_levels
from maskwell.core.phrases import shorten
from maskwell.designs.coded import tally_codes
from maskwell.engines.arrow_checks import ANY, has_values
from maskwell.engines.dependence import DependenceCounter
from maskwell.engines.file_kinds import Source, ending_of, engine_of, find_column, open_source
from maskwell.engines.labelled_columns import Labels
from maskwell.engines.levels import LevelCoder
from maskwell.engines.plan_columns import numbers_of
from maskwell.engines.randomize import Progress
from maskwell.errors import CountsError, DataFileError, InputError, TooLargeError

DENSE_CELLS = 1 << 21
"""Tables with at most so many possible cells are counted in an array; others by the cells that occur."""

WRITTEN_AS = {".sas7bdat": ".xpt"}
"""Kinds of file that can only be read, and the kind that takes their place."""

MERGED_CELLS = 1 << 17
"""Tables are counted as one where together they have at most so many possible cells."""

MOST_LISTED = 20_000
"""Labels of a column that are told apart where all columns of a file are looked at."""

MOST_POSSIBLE = 1 << 62
KEPT_PIECES = 1 << 21


def count_tables(
    path: str,
    tables: Sequence[Sequence[str]],
    *,
    weights: str | None = None,
    beside: DependenceCounter | None = None,
    declared: bool = True,
    progress: Progress | None = None,
) -> list[CellTable]:
    """Count the cells of several tables.

    Parameters
    ----------
    path
        A file of any known kind.
    tables
        For each table its columns. A missing value is a label of its own, ``None``, last.
    weights
        A column with the weight of each record.
    beside
        What follows other columns through the same rows, if anything.
    declared
        Whether codes that an SPSS file declares missing count as missing values; else they are labels like others.
    progress
        Told how far it is.
    """
    check_kind(Flag, declared=declared)
    check_kind(DependenceCounter | None, beside=beside)
    check_kind(Callable | None, progress=progress)
    check_path(path=path)
    check_kind(str | None, weights=weights)
    tables = [list_of(str, columns, "tables") for columns in as_list(tables, "tables")]
    if not tables or not all(tables):
        what = "a table has no columns" if tables else "no tables"
        raise InputError(what, hint='give the columns of each table, for instance [["sex", "region"]]')
    coded = [*dict.fromkeys(name for table in tables for name in table)]
    with open_rows(path, coded) as source:
        return count_rows(source, path, tables, weights=weights, beside=beside, declared=declared, progress=progress)


def count_rows(
    source: Source,
    name: str,
    tables: Sequence[Sequence[str]],
    *,
    weights: str | None = None,
    beside: DependenceCounter | None = None,
    declared: bool = True,
    progress: Progress | None = None,
) -> list[CellTable]:
    """The same for rows that are open already; ``name`` is what messages call them."""
    names = [*dict.fromkeys(column for table in tables for column in table)]
    with counting(source, name, names, tables, weights, beside) as counter:
        if not declared:
            counter.coders.update(coders_of(source, names, declared=False))
        for batch in source.batches(counter.wanted):
            counter.add(batch)
            if progress is not None:
                progress(counter.rows, source.done())
    return counter.tables()


def merged(tables: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Fewer tables that contain all of these, joined while they have few possible cells.

    >>> merged([("a", "b"), ("b",), ("b", "c"), ("d",)], {"a": 2, "b": 3, "c": 5, "d": 10**6})
    [('a', 'b', 'c'), ('d',)]
    """
    found: list[tuple[str, ...]] = []
    for table in sorted(tables, key=lambda columns: -len(columns)):
        for place, other in enumerate(found):
            union = tuple(dict.fromkeys([*other, *table]))
            if len(union) == len(other) or math.prod(sizes[name] + 1 for name in union) <= MERGED_CELLS:
                found[place] = union
                break
        else:
            found.append(tuple(table))
    return found


def part_of(table: Sequence[str], counted: Sequence[CellTable]) -> CellTable:
    """A table from the smallest of those that contain it."""
    holders = [own for own in counted if {*table} <= {*own.columns}]
    smallest = min(holders, key=len)
    return smallest if smallest.columns == tuple(table) else smallest.project(table)


def count_columns(path: str, *, progress: Progress | None = None) -> list[CellTable]:
    """Count every column of a file alone; of one with very many labels only the first ones are told apart.

    Columns that hold neither texts nor numbers nor dates, such as lists, are passed over.
    """
    with open_rows(path, []) as source:
        names = [field.name for field in source.schema if has_values(field.type)]
        twice = [name for name, times in Counter(source.schema.names).items() if times > 1]
        if twice:
            raise DataFileError(f"{path} has two columns named {twice[0]!r}", hint="rename one of them", path=path)
        with counting(source, path, names, [(name,) for name in names], None) as counter:
            for coder in counter.coders.values():
                coder.most = MOST_LISTED
            for batch in source.batches(counter.wanted):
                counter.add(batch)
                if progress is not None:
                    progress(counter.rows, source.done())
        return counter.tables()


@contextmanager
def open_rows(path: str, names: Sequence[str]) -> Iterator[Source]:
    """Open a file whose columns hold categories; those of SPSS, Stata and SAS come as the codes that are stored."""
    ending = ending_of(path)
    stored = engine_of(path).holds_codes
    with open_source(path, coded=() if stored else names, exact=ending not in WRITTEN_AS) as source:
        yield source


@contextmanager
def counting(
    source: Source,
    path: str,
    names: Sequence[str],
    tables: Sequence[Sequence[str]],
    weights: str | None,
    beside: DependenceCounter | None = None,
) -> Iterator[FileCounter]:
    """A counter for the batches of a source; refuses a file without rows at the end."""
    counter = FileCounter(source, path, names, tables, weights, beside)
    yield counter
    if counter.rows == 0:
        raise DataFileError(f"{path} has no rows", hint="give a file with at least one row", path=path)


class FileCounter:
    """Counts cells of several tables, batch after batch."""

    def __init__(
        self,
        source: Source,
        path: str,
        names: Sequence[str],
        tables: Sequence[Sequence[str]],
        weights: str | None,
        beside: DependenceCounter | None = None,
    ) -> None:
        followed = () if beside is None else beside.names
        places = {name: find_column(source.schema, name, path, ANY) for name in followed}
        places.update({name: find_column(source.schema, name, path) for name in names})
        if weights is not None:
            places[weights] = find_column(source.schema, weights, path)
        self.wanted = sorted(set(places.values()))
        self.rows = 0
        self._read = {name: self.wanted.index(place) for name, place in places.items()}
        self._weights = weights
        self.coders = coders_of(source, names)
        self._wanted, self._beside = tables, beside
        self._counters: list[CellCounter] | None = None

    def add(self, batch: Any) -> None:
        """Count the next rows."""
        codes = {name: coder.codes(batch.column(self._read[name])) for name, coder in self.coders.items()}
        weights = None
        if self._weights is not None:
            weights = check_weights(batch.column(self._read[self._weights]), self._weights, self.rows)
        for counter in self._ready():
            counter.add(codes, len(batch), weights)
        if self._beside is not None and len(batch):
            self._beside.add({name: batch.column(self._read[name]) for name in self._beside.names}, codes)
        self.rows += len(batch)

    def _ready(self) -> list[CellCounter]:
        """The counters, made when the first rows have shown how many labels there are about."""
        sizes = {name: len(coder.labels) for name, coder in self.coders.items()}
        if self._counters is None:
            own = merged(self._wanted, sizes)
            self._counters = [CellCounter([self.coders[n] for n in t], self._weights is not None) for t in own]
        else:
            self._counters = [part for counter in self._counters for part in self._parts(counter, sizes)]
        return self._counters

    def _parts(self, counter: CellCounter, sizes: Mapping[str, int]) -> list[CellCounter]:
        """A counter, or several where later rows have shown too many labels to count its tables together."""
        if math.prod(sizes[name] + 1 for name in counter.columns) <= MERGED_CELLS:
            return [counter]
        own = merged([table for table in self._wanted if {*table} <= {*counter.columns}], sizes)
        return [counter] if len(own) == 1 else [counter.part(table) for table in own]

    def tables(self) -> list[CellTable]:
        """All tables so far."""
        counted = [counter.table() for counter in self._ready()]
        return [part_of(table, counted) for table in self._wanted]


def coders_of(source: Source, names: Sequence[str], *, declared: bool = True) -> dict[str, LevelCoder]:
    """A coder for each column, which knows what the file says about it."""
    about = source.style.columns if isinstance(source.style, Labels) else {}
    if not declared:
        about = {name: replace(own, missing=()) for name, own in about.items()}
    return {name: LevelCoder(name, about=about.get(name)) for name in names}


def check_weights(column: Any, name: str, row: int) -> Real:
    """Weights as floats of 0 or more, or an error that names the first bad row."""
    values = numbers_of(column, name, row)
    bad = np.flatnonzero(values < 0)
    if bad.size:
        raise CountsError(
            f"column {name!r}: the weight in data row {row + int(bad[0]) + 1} is negative",
            hint="weights are finite numbers of 0 or more",
            values=f"{values[bad[0]]:g}",
            column=name,
        )
    return values


class CellCounter:
    """Counts the cells of one table.

    A cell is one number in mixed radix; a radix that has become too small is doubled, and what was counted moves.
    """

    def __init__(self, coders: Sequence[LevelCoder], weighted: bool) -> None:  # noqa: FBT001
        self._coders = coders
        self._sizes = [1] * len(coders)
        self._sums = ["counts", "weights", "squares"] if weighted else ["counts"]
        self._dense: list[Array] | None = [np.zeros(self._possible, dtype=_kind(one)) for one in self._sums]
        self._pieces: list[tuple[Array, ...]] = []
        self._kept = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the classifying columns."""
        return tuple(coder.column for coder in self._coders)

    def part(self, columns: Sequence[str]) -> CellCounter:
        """A counter of some of the columns, with what was counted so far."""
        cells, *sums = self._found()
        codes = dict(zip(self.columns, self._separate(cells, self._sizes), strict=True))
        coders = {coder.column: coder for coder in self._coders}
        made = CellCounter([coders[name] for name in columns], len(sums) > 1)
        made._grow()
        joint = np.zeros(len(cells), dtype=np.int64)
        for name, size in zip(columns, made._sizes, strict=True):
            joint = joint * size + codes[name]
        found, first = np.unique(joint, return_inverse=True)
        totals = [np.bincount(first, own, minlength=len(found)).astype(own.dtype) for own in sums]
        made._start(found, totals)
        return made

    @property
    def _possible(self) -> int:
        return math.prod(self._sizes)

    def add(self, codes: dict[str, Array], rows: int, weights: Real | None) -> None:
        """Count the next rows, given as codes of all columns."""
        self._grow()
        joint = np.zeros(rows, dtype=np.int64)
        for coder, size in zip(self._coders, self._sizes, strict=True):
            joint *= size
            joint += codes[coder.column]
            joint += 1  # a missing value, -1, comes first
        if self._dense is not None:
            tally_codes(joint.view(np.uint64), self._dense[0])
            if weights is not None:
                for sums, own in zip(self._dense[1:], (weights, weights**2), strict=True):
                    sums += np.bincount(joint, own, minlength=len(sums))
            return
        cells, first, counts = np.unique(joint, return_inverse=True, return_counts=True)
        more = () if weights is None else (np.bincount(first, weights), np.bincount(first, weights**2))
        self._keep((cells, counts, *more))

    def table(self) -> CellTable:
        """What was counted, with sorted labels."""
        cells, counts, *sums = self._found()
        codes = self._separate(cells, self._sizes)
        levels, columns = [], []
        for coder, own in zip(self._coders, codes, strict=True):
            labels: list[Any] = [None, *coder.labels]
            used = np.zeros(len(labels), dtype=bool)
            used[1:] = True
            used[np.unique(own)] = True  # a missing value is a label where it occurs
            order = sorted_levels([label for label, there in zip(labels, used, strict=True) if there])
            place = {label: i for i, label in enumerate(order)}
            to = np.array([place.get(label, -1) for label in labels], dtype=np.int32)
            levels.append(tuple(order))
            columns.append(to[own])
        matrix = np.stack(columns, axis=1) if columns else np.zeros((len(cells), 0), dtype=np.int32)
        order_ = np.lexsort(matrix.T[::-1]) if columns else np.arange(len(cells))
        weights: list[Any] = [values[order_] for values in sums] or [None, None]
        return CellTable(self.columns, tuple(levels), matrix[order_], counts[order_], *weights)

    def _grow(self) -> None:
        """Make room for labels that were not there before."""
        needed = [len(coder.labels) + 1 for coder in self._coders]
        if all(have >= need for have, need in zip(self._sizes, needed, strict=True)):
            return
        found = self._found()
        old, self._sizes = (
            self._sizes,
            [max(s, 1 << (n - 1).bit_length()) for s, n in zip(self._sizes, needed, strict=True)],
        )
        if self._possible > MOST_POSSIBLE:
            named = shorten(", ".join(coder.column for coder in self._coders), 60)
            raise TooLargeError(
                f"the columns {named} have more than {MOST_POSSIBLE:.1e} possible combinations together",
                hint="use fewer columns together, or group their values",
            )
        moved = np.zeros(len(found[0]), dtype=np.int64)
        for own, size in zip(self._separate(found[0], old), self._sizes, strict=True):
            moved = moved * size + own
        self._start(moved, found[1:])

    def _start(self, cells: Array, sums: Sequence[Array]) -> None:
        """Go on from these counts, in an array where it is small enough."""
        self._pieces, self._kept = [(cells, *sums)], len(cells)
        self._dense = None
        if self._possible <= DENSE_CELLS:
            self._dense = [np.zeros(self._possible, dtype=_kind(one)) for one in self._sums]
            for total, own in zip(self._dense, sums, strict=True):
                total[cells] = own
            self._pieces, self._kept = [], 0

    @staticmethod
    def _separate(cells: Array, sizes: Sequence[int]) -> list[Array]:
        codes = []
        for size in reversed(sizes):
            cells, own = np.divmod(cells, size)
            codes.append(own)
        return codes[::-1]

    def _keep(self, piece: tuple[Array, ...]) -> None:
        self._pieces.append(piece)
        self._kept += len(piece[0])
        if self._kept > KEPT_PIECES and len(self._pieces) > 1:
            whole = self._found()
            self._pieces, self._kept = [whole], 0  # counted anew, so that large tables are not merged each time

    def _found(self) -> tuple[Array, ...]:
        """Cells that occur, their counts and sums of weights."""
        if self._dense is not None:
            cells = np.flatnonzero(self._dense[0])
            return (cells, *(sums[cells] for sums in self._dense))
        cells, first = np.unique(np.concatenate([piece[0] for piece in self._pieces]), return_inverse=True)
        parts = zip(*(piece[1:] for piece in self._pieces), strict=True)
        sums = [np.bincount(first, np.concatenate(part), minlength=len(cells)) for part in parts]
        return (cells, sums[0].astype(np.int64), *sums[1:])


def _kind(what: str) -> type:
    return np.int64 if what == "counts" else np.float64

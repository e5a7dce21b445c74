"""What is kept of rows in place of the rows: counts and sums of weights by cell, never the empty cells.

:class:`Cells` is the mergeable table of sums that a survey estimate needs of its rows: one line for each combination of
stratum, clusters, domain, sample and report that occurs. Numbers of rows are exact, sums of weights as exact as sums of
floats are. Without clusters a row is its own sampling unit and needs no line of its own. Clusters are nested: the same
label in two strata, or in two clusters of the stage above, names two clusters.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import (
    Array,
    Real,
    as_array,
    as_list,
    as_mapping,
    as_whole_numbers,
    check_sum_of_counts,
    exact_sum,
    list_of,
    numbers_of_rows,
)
from maskwell.core.groups import LARGEST_KEY, Factor, Groups, number_cells, possible_cells, renumber
from maskwell.core.labels import sorted_levels, texts
from maskwell.core.phrases import listed
from maskwell.errors import (
    CountsError,
    InputError,
    LabelError,
    ParameterError,
    ReportError,
    TooLargeError,
    WrongTypeError,
)

GRID_LIMIT = 10**7


@dataclass(frozen=True, eq=False)
class CellTable:
    """Counts of the cells that occur in a file.

    Attributes
    ----------
    columns
        Names of the classifying columns; the first is the slowest.
    levels
        For each column its distinct labels, in their natural order or in one that was given; ``None`` (a missing value)
        last where there is one.
    codes
        Shape (cells, columns): which label each cell has, in lexicographic order of the rows.
    counts
        Shape (cells,): records, all positive.
    weights, squares
        Shape (cells,): sums of the weights and of their squares, where there are weights.

    >>> table = CellTable.of(["sex", "smokes"], {("f", "no"): 3, ("m", "no"): 2, ("m", "yes"): 1})
    >>> table.labels(), table.counts.tolist()
    ([('f', 'no'), ('m', 'no'), ('m', 'yes')], [3, 2, 1])
    >>> table.project(["smokes"]).counts.tolist()   # five do not smoke
    [5, 1]
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]
    codes: Array
    counts: Array
    weights: Real | None = None
    squares: Real | None = None

    @classmethod
    def of(cls, columns: Sequence[str], counts: dict[tuple[Hashable, ...], int]) -> CellTable:
        """From counts by label, as a person would type them."""
        columns = list_of(str, columns, "columns")
        for cell in as_mapping(counts, "counts"):
            if not isinstance(cell, tuple) or len(cell) != len(columns):
                raise LabelError("a-cell-of-counts-is-not", columns_count=len(columns))
        records = as_whole_numbers(list(counts.values()), "counts")
        if (records < 0).any():
            raise CountsError("counts-are-negative")
        check_sum_of_counts(exact_sum(records))
        levels = tuple(tuple(sorted_levels({cell[i] for cell in counts})) for i in range(len(columns)))
        places = [{label: code for code, label in enumerate(level)} for level in levels]
        kept = {cell: n for cell, n in counts.items() if n}
        codes = np.array([[p[x] for p, x in zip(places, cell, strict=True)] for cell in kept], dtype=np.int32)
        codes = codes.reshape(len(kept), len(columns))
        order = np.lexsort(codes.T[::-1])
        return cls(tuple(columns), levels, codes[order], np.array([*kept.values()], dtype=np.int64)[order])

    @classmethod
    def total(cls, parts: Sequence[CellTable]) -> CellTable:
        """The cells of several parts of a file together."""
        tables: list[CellTable] = list_of(CellTable, parts, "parts")
        if not tables or any(one.columns != tables[0].columns for one in tables):
            raise InputError("cells-of-several-parts-are-added")
        if len(tables) == 1:
            return tables[0]
        by_column = [*zip(*(part.levels for part in tables), strict=True)]
        levels = tuple(_joined_levels(each) for each in by_column)
        places = [{label: code for code, label in enumerate(level)} for level in levels]
        codes = [
            np.stack([_recoded(part.codes[:, i], part.levels[i], places[i]) for i in range(len(levels))], axis=1)
            for part in tables
        ]
        distinct, cell = np.unique(np.concatenate(codes), axis=0, return_inverse=True)
        sums = [
            _added([getattr(part, name) for part in tables], cell.reshape(-1), len(distinct))
            for name in ("counts", "weights", "squares")
        ]
        return cls(tables[0].columns, levels, distinct, *sums)

    def in_order(self, orders: Mapping[str, Sequence[str]]) -> CellTable:
        """The same cells, with the labels of some columns in an order that was given, as texts."""
        as_mapping(orders, "orders")
        if not any(name in orders for name in self.columns):
            return self
        levels = tuple(
            tuple(_by_texts(own, orders[name])) if name in orders else own
            for name, own in zip(self.columns, self.levels, strict=True)
        )
        places = [{label: code for code, label in enumerate(level)} for level in levels]
        codes = np.stack([_recoded(self.codes[:, i], self.levels[i], places[i]) for i in range(len(levels))], axis=1)
        order = np.lexsort(codes.T[::-1])
        weights, squares = (None if one is None else one[order] for one in (self.weights, self.squares))
        return CellTable(self.columns, levels, codes[order], self.counts[order], weights, squares)

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of labels of each column."""
        return tuple(map(len, self.levels))

    def __len__(self) -> int:
        return len(self.counts)

    def label(self, cell: int) -> tuple[Hashable, ...]:
        """The labels of one cell."""
        return tuple(level[code] for level, code in zip(self.levels, self.codes[cell].tolist(), strict=True))

    def labels(self) -> list[tuple[Hashable, ...]]:
        """The labels of all cells."""
        parts = [[level[code] for code in self.codes[:, i].tolist()] for i, level in enumerate(self.levels)]
        return list(zip(*parts, strict=True))

    def project(self, columns: Sequence[str]) -> CellTable:
        """The table of some of the columns, in the order given."""
        places = [self.place(name) for name in list_of(str, columns, "columns")]
        if not places:
            raise ParameterError("no-columns")
        if tuple(columns) == self.columns:
            return self
        sizes = [self.sizes[place] for place in places]
        (cell,), distinct = renumber(*_keys(sizes, self.codes, places))
        codes = np.zeros((distinct, len(places)), dtype=self.codes.dtype)
        codes[cell] = self.codes[:, places]

        def summed(values: Array | None) -> Any:
            if values is None:
                return None
            return np.bincount(cell, values, minlength=distinct).astype(values.dtype, copy=False)

        levels = tuple(self.levels[i] for i in places)
        sums = (summed(values) for values in (self.counts, self.weights, self.squares))
        return CellTable(tuple(columns), levels, codes, *sums)

    def place(self, column: str) -> int:
        """The position of a column."""
        if column not in self.columns:
            raise ParameterError(
                "the-table-has-no-column", column=column, columns=listed(self.columns, len(self.columns), 80)
            )
        return self.columns.index(column)

    def grid(self, values: Array | None = None) -> Array:
        """Counts, or one value for each cell, as an array with one axis for each column; zero where no record is."""
        size = int(np.prod([max(1, s) for s in self.sizes], dtype=object))
        if size > GRID_LIMIT:
            raise TooLargeError("a-table-of-cells-is-too", size=size)
        amounts = self.counts if values is None else as_array(values, "values")
        if amounts.shape != self.counts.shape:
            raise ParameterError("values-of-shape-for-cells", shape=amounts.shape, self_count=len(self))
        out = np.zeros(self.sizes, dtype=amounts.dtype)
        out[tuple(self.codes.T)] = amounts
        return out

    @cached_property
    def mass(self) -> Real:
        """Weights where there are any, else counts, as floats: what a release keeps on average."""
        return np.asarray(self.counts if self.weights is None else self.weights, dtype=np.float64)


def _keys(sizes: Sequence[int], codes: Array, places: Sequence[int]) -> tuple[int, Array]:
    """How many numbers there may be, and one for each cell that rises with the combination of some of its columns."""
    (keys,) = number_cells(sizes, codes[:, places])
    return min(possible_cells(sizes), LARGEST_KEY), keys


def _joined_levels(parts: Sequence[tuple[Hashable, ...]]) -> tuple[Hashable, ...]:
    """The labels of several parts together; an order of their own, which somebody gave them, is kept."""
    labels = [*dict.fromkeys(label for part in parts for label in part)]
    natural = all(list(part) == sorted_levels(part) for part in parts)
    return tuple(sorted_levels(labels, () if natural else [label for label in labels if label is not None]))


def _by_texts(levels: Sequence[Hashable], texts_in_order: Sequence[str]) -> list[Hashable]:
    """Labels in the order of these texts."""
    known = {text: label for label in levels if label is not None for text in texts(label)}
    return sorted_levels(levels, [known[text] for text in texts_in_order if text in known])


def _recoded(codes: Array, levels: Sequence[Hashable], places: Mapping[Hashable, int]) -> Array:
    """Codes in one list of labels as codes in another."""
    return np.array([places[label] for label in levels], dtype=np.int32)[codes]


def _added(values: Sequence[Array | None], cell: Array, cells: int) -> Any:
    """Values of the cells of several tables, added up by cell; None where there are none."""
    there = [one for one in values if one is not None]
    if not there:
        return None
    joined = np.concatenate(there)
    total = np.zeros(cells, dtype=joined.dtype)
    np.add.at(total, cell, joined)
    return total


Labels: TypeAlias = Any
"""A column of labels, or a :class:`Factor` where codes are at hand."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums of rows by stratum, clusters, domain, sample and report.

    Attributes
    ----------
    stratum, domain, sample
        Codes of each line with their labels. One label, 0, where the survey has none.
    clusters
        One factor for each stage, the first stage first.
    report
        Codes of the reports, shape (lines,). For set reports: the code of a named category, and the number of
        categories for the line that counts the reports themselves (``sets``).
    n
        Rows of each line.
    weight, square
        Sums of the weights and of their squares; both equal to ``n`` without weights.
    chance
        Shape (lines, 1): sums of inclusion probabilities; (lines, 0) where they were not given.
    population
        Shape (lines, stages): how many units each stage was drawn from. No columns where that is not known.
    replicates
        Shape (lines, R): sums of replicate weights.
    auxiliary
        Which row of ``auxiliary.labels`` (raw bytes of p floats) each line has; one label where there is none.
    weighted
        Whether weights were given.
    sets
        Whether the reports are sets.
    exponent
        The power of two by which all weights are divided; 0 unless they are too small, or too large, to be squared.

    >>> batch = Cells.of([0, 1, 1], weight=[2.0, 1.0, 3.0], stratum=["a", "a", "b"])
    >>> both = batch + batch
    >>> both.stratum.labels.tolist(), both.n.tolist(), both.weight.tolist(), both.square.tolist()
    (['a', 'b'], [2, 2, 2], [4.0, 2.0, 6.0], [8.0, 2.0, 18.0])
    """

    stratum: Factor
    clusters: tuple[Factor, ...]
    domain: Factor
    sample: Factor
    auxiliary: Factor
    report: Array
    n: Array
    weight: Real
    square: Real
    chance: Real
    population: Real
    replicates: Real
    weighted: bool
    sets: bool = False
    exponent: int = 0

    @classmethod
    def of(
        cls,
        report: Any,
        *,
        weight: Any = None,
        stratum: Labels = None,
        clusters: Sequence[Labels] = (),
        domain: Labels = None,
        sample: Labels = None,
        population: Sequence[Any] = (),
        replicates: Any = None,
        count: Any = None,
        chance: Any = None,
        auxiliary: Any = None,
    ) -> Cells:
        """Group one batch of rows. Weights are taken as they are: see :mod:`maskwell.core.arguments` for checks.

        Parameters
        ----------
        report
            Codes of the reports, shape (n,).
        weight
            Shape (n,); 1 for each row by default.
        stratum, domain, sample
            A column of labels each, or a :class:`Factor`.
        clusters
            One such column for each stage, the first stage first.
        population
            For each stage how many units there were to draw from: a number, or one for each row that does not vary
            within what the stage is drawn from (the stratum; then the cluster of the stage above).
        replicates
            Replicate weights, shape (n, R).
        count
            How many reports each row stands for; 1 by default.
        chance
            Inclusion probabilities.
        auxiliary
            Values that the weights were calibrated with, shape (n, p).
        """
        codes = as_array(report, "report")
        if codes.ndim != 1 or codes.dtype.kind not in "iu" or (len(codes) and int(codes.min()) < 0):
            raise ReportError("reports-are-of-shape", dtype=codes.dtype, shape=codes.shape)
        n = len(codes)
        clusters, population = as_list(clusters, "clusters"), as_list(population, "population")
        w = None if weight is None else numbers_of_rows(weight, "weights", n)
        exponent = 0 if w is None else _exponent(w)
        w = np.ldexp(w, -exponent) if w is not None and exponent else w
        times = None if count is None else numbers_of_rows(as_whole_numbers(count, "counts"), "counts", n)
        sizes = [numbers_of_rows(p, f"population of stage {s}", n) for s, p in enumerate(population, start=1)]
        chances = None if chance is None else numbers_of_rows(chance, "inclusion probabilities", n)
        square = None if w is None else w * w
        lines = cls(
            stratum=_factor(stratum, "strata", n),
            clusters=tuple(_factor(c, f"clusters of stage {s}", n) for s, c in enumerate(clusters, start=1)),
            domain=_factor(domain, "domains", n),
            sample=_factor(sample, "samples", n),
            auxiliary=Factor.constant(n) if auxiliary is None else Factor.of(_as_bytes(auxiliary, n)),
            report=codes,
            n=np.broadcast_to(np.int64(1), n) if times is None else times.astype(np.int64),
            weight=np.empty(0) if w is None else _times(w, times),
            square=np.empty(0) if square is None else _times(square, times),
            chance=np.empty((n, 0)) if chances is None else _times(chances, times)[:, None],
            population=np.stack(sizes, axis=1) if sizes else np.empty((n, 0)),
            replicates=np.empty((n, 0))
            if replicates is None
            else np.ldexp(numbers_of_rows(replicates, "replicate weights", n, columns=True), -exponent),
            weighted=w is not None,
            exponent=exponent,
        )
        return lines.grouped(single=times is None)

    @classmethod
    def of_sets(cls, held: Array, **columns: Any) -> Cells:
        """Group reports that are sets, given as zeros and ones of shape (n, k), with the columns of :meth:`of`.

        Lines with report j < k count the rows that name category j; those with report k count the rows.

        >>> cells = Cells.of_sets(np.array([[1, 1, 0], [1, 0, 0]]), weight=[2.0, 3.0])
        >>> cells.report.tolist(), cells.weight.tolist()
        ([0, 1, 3], [5.0, 2.0, 5.0])
        """
        held = as_array(held, "held")
        if held.ndim != 2:
            raise ReportError("sets-of-shape", shape=held.shape)
        n, k = held.shape
        row, named = np.nonzero(held)
        rows = np.concatenate([np.arange(n), row])
        report = np.concatenate([np.full(n, k), named])
        several = ("clusters", "population")
        taken = {
            name: [_taken(c, rows) for c in column] if name in several else _taken(column, rows)
            for name, column in columns.items()
        }
        return replace(cls.of(report, **taken), sets=True)

    def __len__(self) -> int:
        return len(self.report)

    @property
    def is_row(self) -> Array:
        """Lines that count rows: all of them, or those that count the reports where reports are sets."""
        if not self.sets:
            return np.ones(len(self), dtype=bool)
        return np.asarray(self.report == self.report.max(initial=0))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.n[self.is_row].sum())

    def __add__(self, other: Cells) -> Cells:
        return Cells.total([self, other])

    @staticmethod
    def total(parts: Iterable[Cells]) -> Cells:
        """The sum of many batches, put together in one step: faster than adding one after the other."""
        batches = list(parts)
        if not batches:
            raise InputError("there-are-no-cells-to-add")
        _check_alike(batches)
        largest = max(batch.exponent for batch in batches)
        batches = [batch.with_exponent(largest) for batch in batches]
        fields: dict[str, Any] = {n: Factor.joined([getattr(c, n) for c in batches], n) for n in FACTORS}
        fields |= {name: np.concatenate([getattr(c, name) for c in batches]) for name in SUMS}
        stages = zip(*(c.clusters for c in batches), strict=True)
        clusters = tuple(Factor.joined(stage, f"clusters of stage {s}") for s, stage in enumerate(stages, start=1))
        return replace(batches[0], clusters=clusters, **fields).grouped()

    def with_exponent(self, exponent: int) -> Cells:
        """The same sums of weights, divided by another power of two."""
        shift = self.exponent - exponent
        if shift == 0 or not self.weighted:
            return self
        scaled = {name: np.ldexp(getattr(self, name), shift) for name in ("weight", "replicates")}
        return replace(self, **scaled, square=np.ldexp(self.square, 2 * shift), exponent=exponent)

    def take(self, lines: Array) -> Cells:
        """Some of the lines."""
        factors: dict[str, Any] = {name: getattr(self, name).take(lines) for name in FACTORS}
        sums: dict[str, Any] = {name: getattr(self, name)[lines] for name in SUMS}
        return replace(self, clusters=tuple(c.take(lines) for c in self.clusters), **factors, **sums)

    def grouped(self, *, single: bool = False) -> Cells:
        """Lines with the same codes put together; ``single`` where every line is one row."""
        columns = [self.stratum, *self.clusters, self.domain, self.sample, self.auxiliary]
        keys = [(c.codes, max(1, c.size)) for c in columns]
        groups = Groups.by([*keys, (self.report, int(self.report.max(initial=0)) + 1)], len(self))
        self._check_population(groups)
        one = groups.row_of_each()
        n = groups.sizes if single else _whole(groups.sums(self.n))
        weight = groups.sums(self.weight) if self.weighted else n.astype(np.float64)
        factors: dict[str, Any] = {name: getattr(self, name).take(one) for name in FACTORS}
        return replace(
            self,
            **factors,
            clusters=tuple(c.take(one) for c in self.clusters),
            report=self.report[one].astype(np.int64),
            n=n,
            weight=weight,
            square=groups.sums(self.square) if self.weighted else weight,
            chance=groups.sums(self.chance),
            population=self.population[one],
            replicates=groups.sums(self.replicates),
        )

    def _check_population(self, groups: Groups) -> None:
        above = [self.stratum]
        for stage, sizes in enumerate(self.population.T, start=1):
            _check_constant(sizes, groups, stage)
            _check_constant(sizes, Groups.by([(f.codes, max(1, f.size)) for f in above], len(self)), stage)
            above.extend(self.clusters[stage - 1 : stage])


FACTORS = ("stratum", "domain", "sample", "auxiliary")
SUMS = ("report", "n", "weight", "square", "chance", "population", "replicates")


def _factor(values: Labels, name: str, n: int) -> Factor:
    if values is None:
        return Factor.constant(n)
    factor = values if isinstance(values, Factor) else Factor.of(values, name)
    if len(factor) != n:
        raise WrongTypeError("given-name-for-n-rows", name=name, n=n, given=len(factor))
    return factor


def _as_bytes(values: Any, n: int) -> Array:
    """Rows of p floats as one column that can be sorted and compared."""
    rows = np.ascontiguousarray(numbers_of_rows(values, "auxiliary values", n, columns=True) + 0.0)  # -0.0 is 0.0
    return rows.view(np.dtype((np.void, rows.shape[1] * 8))).ravel()


def _whole(sums: Real) -> Array:
    """Numbers of rows, which floats hold exactly as long as there are not too many."""
    check_sum_of_counts(float(sums.sum()))
    return sums.astype(np.int64)


SCALE = 300
"""Weights are kept as they are unless the largest lies outside of 2^-300 to 2^300: squares of others are lost."""


def _exponent(weights: Real) -> int:
    """The power of two by which weights are divided: 0 but for very small and very large ones."""
    largest = float(np.max(np.abs(weights), initial=0.0))
    exponent = math.frexp(largest)[1] if 0 < largest < math.inf else 0
    return exponent if abs(exponent) > SCALE else 0


def _times(values: Real, times: Real | None) -> Real:
    return values if times is None else values * times


def _taken(column: Any, rows: Array) -> Any:
    if column is None or np.isscalar(column):
        return column
    return column.take(rows) if isinstance(column, Factor) else _rows_of(column, rows)


def _rows_of(column: Any, rows: Array) -> Array:
    array = as_array(column, "a column")
    if not array.ndim or len(array) != rows.max(initial=-1) + 1:
        raise InputError("a-column-of-shape-for-rows", shape=array.shape, rows_max_number=rows.max(initial=-1) + 1)
    return array[rows]


def _check_alike(parts: Sequence[Cells]) -> None:
    def form(cells: Cells) -> tuple[Any, ...]:
        shapes = (len(cells.clusters), *(t.shape[1] for t in (cells.chance, cells.population, cells.replicates)))
        return (*shapes, cells.weighted, cells.sets, cells.auxiliary.labels.dtype)

    if len({form(cells) for cells in parts}) > 1:
        raise InputError("these-batches-were-not-counted-alike")


def _check_constant(sizes: Array, groups: Groups, stage: int) -> None:
    """Raise unless the population of a stage is one number within each group."""
    rows = groups.varying(sizes)
    if len(rows):
        others = sizes[groups.key == groups.key[rows[0]]]
        what = "stratum" if stage == 1 else "cluster of the stage above"
        raise InputError(
            "population-of-stage-different-numbers-within",
            what=what,
            values=f"{others.min():g} to {others.max():g}",
            stage=stage,
        )


def products_of_replicates(replicates: Real, weight: Real | None) -> Real:
    """Sums over rows of products of the ratios of two replicate weights to the weight, shape (R, R)."""
    column = np.ones((len(replicates), 1)) if weight is None else np.asarray(weight)[:, None]
    ratio = np.divide(replicates, column, out=np.zeros(np.shape(replicates)), where=column > 0)
    return np.asarray(ratio.T @ ratio)


# ---- memory that tables took


def give_back_memory() -> None:
    """Give memory that is free back to the system, where its allocator can be asked to.

    Between two steps that each need much: arrays of some megabytes that were freed in one stay with the process, among
    others that are still in use, and the next step would ask for more. Does nothing but on Linux with glibc.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)

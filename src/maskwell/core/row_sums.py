"""What an estimate from a survey needs of its rows in place of the rows: one line for each combination that occurs.

Numbers of rows are exact, sums of weights as exact as sums of floats are. Without clusters a row is its own sampling
unit. Clusters are nested: the same label in two strata, or in two clusters of the stage above, names two clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import (
    Array,
    Real,
    as_array,
    as_list,
    as_whole_numbers,
    check_sum_of_counts,
    numbers_of_rows,
)
from maskwell.core.groups import Factor, Groups
from maskwell.errors import InputError, ReportError, WrongTypeError

Labels: TypeAlias = Any  # a column of labels, or a :class:`Factor` where codes are at hand


@dataclass(frozen=True, eq=False)
class Weighting:
    """How rows were weighted: whether weights were ``given``, and what else is summed of each line.

    All weights are divided by 2 to the ``exponent``, which is 0 unless they are too small or large to be squared.
    ``chance`` are sums of inclusion probabilities, shape (lines, 1), and ``replicates`` of replicate weights, shape
    (lines, R); no columns where they were not given.
    """

    given: bool
    exponent: int
    chance: Real
    replicates: Real

    def with_sums(self, of: Callable[[Real], Real]) -> Weighting:
        """The same with other lines, made ``of`` these."""
        return replace(self, chance=of(self.chance), replicates=of(self.replicates))


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
    weighting
        How the rows were weighted.
    population
        Shape (lines, stages): how many units each stage was drawn from. No columns where that is not known.
    auxiliary
        Which row of ``auxiliary.labels`` (raw bytes of p floats) each line has; one label where there is none.
    sets
        Whether the reports are sets.

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
    weighting: Weighting
    population: Real
    sets: bool = False

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
        weight, count, chance
            Shape (n,): weights, number of reports in each row (1 by default both), inclusion probabilities.
        stratum, domain, sample
            A column of labels each, or a :class:`Factor`.
        clusters
            One such column for each stage, the first stage first.
        population
            For each stage how many units there were to draw from: a number, or one for each row that does not vary
            within what the stage is drawn from (the stratum; then the cluster of the stage above).
        replicates
            Replicate weights, shape (n, R).
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
            weighting=Weighting(
                given=w is not None,
                exponent=exponent,
                chance=np.empty((n, 0)) if chances is None else _times(chances, times)[:, None],
                replicates=np.empty((n, 0))
                if replicates is None
                else np.ldexp(numbers_of_rows(replicates, "replicate weights", n, columns=True), -exponent),
            ),
            population=np.stack(sizes, axis=1) if sizes else np.empty((n, 0)),
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
        largest = max(batch.weighting.exponent for batch in batches)
        batches = [batch.with_exponent(largest) for batch in batches]
        fields: dict[str, Any] = {n: Factor.joined([getattr(c, n) for c in batches], n) for n in FACTORS}
        fields |= {name: np.concatenate([getattr(c, name) for c in batches]) for name in SUMS}
        chance, replicates = (
            np.concatenate([getattr(c.weighting, name) for c in batches]) for name in ("chance", "replicates")
        )
        fields["weighting"] = replace(batches[0].weighting, chance=chance, replicates=replicates)
        stages = zip(*(c.clusters for c in batches), strict=True)
        clusters = tuple(Factor.joined(stage, f"clusters of stage {s}") for s, stage in enumerate(stages, start=1))
        return replace(batches[0], clusters=clusters, **fields).grouped()

    def with_exponent(self, exponent: int) -> Cells:
        """The same sums of weights, divided by another power of two."""
        old = self.weighting
        shift = old.exponent - exponent
        if shift == 0 or not old.given:
            return self
        weighting = replace(old, exponent=exponent, replicates=np.ldexp(old.replicates, shift))
        weight, square = np.ldexp(self.weight, shift), np.ldexp(self.square, 2 * shift)
        return replace(self, weight=weight, square=square, weighting=weighting)

    def take(self, lines: Array) -> Cells:
        """Some of the lines."""
        factors: dict[str, Any] = {name: getattr(self, name).take(lines) for name in FACTORS}
        sums: dict[str, Any] = {name: getattr(self, name)[lines] for name in SUMS}
        weighting = self.weighting.with_sums(lambda values: values[lines])
        return replace(
            self, clusters=tuple(c.take(lines) for c in self.clusters), weighting=weighting, **factors, **sums
        )

    def grouped(self, *, single: bool = False) -> Cells:
        """Lines with the same codes put together; ``single`` where every line is one row."""
        columns = [self.stratum, *self.clusters, self.domain, self.sample, self.auxiliary]
        keys = [(c.codes, max(1, c.size)) for c in columns]
        groups = Groups.by([*keys, (self.report, int(self.report.max(initial=0)) + 1)], len(self))
        self._check_population(groups)
        one = groups.row_of_each()
        n = groups.sizes if single else _whole(groups.sums(self.n))
        weight = groups.sums(self.weight) if self.weighting.given else n.astype(np.float64)
        factors: dict[str, Any] = {name: getattr(self, name).take(one) for name in FACTORS}
        return replace(
            self,
            **factors,
            clusters=tuple(c.take(one) for c in self.clusters),
            report=self.report[one].astype(np.int64),
            n=n,
            weight=weight,
            square=groups.sums(self.square) if self.weighting.given else weight,
            weighting=self.weighting.with_sums(groups.sums),
            population=self.population[one],
        )

    def _check_population(self, groups: Groups) -> None:
        above = [self.stratum]
        for stage, sizes in enumerate(self.population.T, start=1):
            _check_constant(sizes, groups, stage)
            _check_constant(sizes, Groups.by([(f.codes, max(1, f.size)) for f in above], len(self)), stage)
            above.extend(self.clusters[stage - 1 : stage])


FACTORS = ("stratum", "domain", "sample", "auxiliary")
SUMS = ("report", "n", "weight", "square", "population")


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


SCALE = 300  # weights are kept unless the largest lies outside of 2^-300 to 2^300: squares of others are lost


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
    if isinstance(column, Factor):
        return column.take(rows)
    array = as_array(column, "a column")
    if not array.ndim or len(array) != rows.max(initial=-1) + 1:
        raise InputError("a-column-of-shape-for-rows", shape=array.shape, rows_max_number=rows.max(initial=-1) + 1)
    return array[rows]


def _check_alike(parts: Sequence[Cells]) -> None:
    def form(cells: Cells) -> tuple[Any, ...]:
        how = cells.weighting
        columns = (table.shape[1] for table in (how.chance, cells.population, how.replicates))
        return (len(cells.clusters), *columns, how.given, cells.sets, cells.auxiliary.labels.dtype)

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

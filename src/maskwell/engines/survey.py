"""Count the reports of a file by everything that a survey estimate must tell apart, in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cells import Cells
from maskwell.core.counts import Counts
from maskwell.core.factors import Factor
from maskwell.core.phrases import listed
from maskwell.designs.base import Design
from maskwell.designs.coded import tally_codes
from maskwell.engines.arrow_checks import REPORTS, VALUES
from maskwell.engines.columns import Assignment, raise_first
from maskwell.engines.file_kinds import find_column, open_source
from maskwell.engines.groups import SampleReader, Samples, variables_of
from maskwell.engines.plan_columns import PlanColumns, PlanReader, whole_numbers
from maskwell.engines.randomize import Progress, pieces
from maskwell.engines.tally import check_made_by
from maskwell.errors import DataFileError, MissingValueError, ParameterError

ROWS_AT_ONCE = 1 << 18
NEAR = 0.01
"""Weights are often rounded: their sum may differ from the population by this share of it."""

WAITING = 64  # batches whose cells are put together in one step


@dataclass(frozen=True)
class SampleTally:
    """The counts of one group of rows, with its design and what tells it (empty where there is one group)."""

    counts: Counts
    design: Design
    label: str


@dataclass(frozen=True)
class GroupTally:
    """Counted reports of each group of rows, and how many rows were left out."""

    samples: tuple[SampleTally, ...]
    rows: int
    dropped: int


@dataclass(frozen=True)
class SurveyTally:
    """Sums by stratum, cluster, domain, sample and report; the designs of the samples; how many rows were left out.

    ``ratios`` has the smallest and the largest ratio of a replicate weight above zero to the weight, shape (2, R): rows
    of one line may differ in that, and a line does not tell. ``empty_domains`` are those all of whose rows were left
    out.
    """

    cells: Cells
    designs: tuple[Design, ...]
    rows: int
    dropped: int
    ratios: Real | None = None
    empty_domains: tuple[Any, ...] = ()


def tally_groups(
    path: str,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> GroupTally:
    """Count the reports of each group of rows with the design it used."""
    samples = Samples(tuple(variables_of(assignments)))
    totals = [np.zeros(design.m, dtype=np.int64) for design in samples.designs]
    with _rows(path, samples, PlanColumns(), missing, counts, progress) as found:
        for batch in found:
            for sample in np.unique(batch.sample):
                own = batch.sample == sample
                if batch.count is None:
                    tally_codes(batch.report[own].astype(np.uint64), totals[sample])
                else:
                    np.add.at(totals[sample], batch.report[own], batch.count[own])
    samples.check_used([place for place, values in enumerate(totals) if values.any()])
    tallies = [
        SampleTally(Counts(values, int(values.sum()), design.fingerprint), design, label)
        for values, design, label in zip(totals, samples.designs, samples.labels, strict=True)
    ]
    return GroupTally(tuple(tallies), found.rows, found.dropped)


def tally_survey(
    path: str,
    assignments: Sequence[Assignment],
    plan: PlanColumns,
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> SurveyTally:
    """Sum the weights of the reports by everything that the plan tells apart."""
    samples = Samples(tuple(variables_of(assignments)))
    total: Cells | None = None
    waiting: list[Cells] = []
    ratios: Real | None = None
    with _rows(path, samples, plan, missing, counts, progress) as found:
        for batch in found:
            ratios = _ratios(batch.plan, ratios)
            sample = Factor(batch.sample, np.arange(len(samples)))
            waiting.append(Cells.of(batch.report, sample=sample, count=batch.count, **batch.plan))
            if len(waiting) == WAITING:
                total, waiting = _together(total, waiting), []
    cells = _together(total, waiting)
    if cells is None or cells.rows == 0:
        raise MissingValueError(f"{path} has no row with a report", hint="check the column and its missing values")
    seen = cells.n > 0
    samples.check_used(cells.sample.labels[np.unique(cells.sample.codes[seen])].tolist())
    _check_strata(cells.stratum.take(np.flatnonzero(seen)), found.strata_left_out, plan)
    empty = sorted(found.domains_left_out - _borne(cells.domain.take(np.flatnonzero(seen))), key=str)
    return SurveyTally(_sized(cells, plan), tuple(samples.designs), found.rows, found.dropped, ratios, tuple(empty))


def _borne(factor: Factor) -> set[Any]:
    return set(factor.labels[np.unique(factor.codes)].tolist())


def _check_strata(kept: Factor, left_out: set[Any], plan: PlanColumns) -> None:
    """Raise for a stratum all of whose rows were left out: the estimate would be one for the others."""
    empty = sorted(left_out - _borne(kept), key=str)
    if empty:
        raise MissingValueError(
            f"no row of {plan.strata} = {listed(map(str, empty), len(empty), 30)} has a report",
            hint="join this stratum with another one, or take its rows out of the file to estimate for the rest",
            strata=empty,
        )


def _ratios(plan: dict[str, Any], before: Real | None) -> Real | None:
    """The smallest and the largest ratio of replicate weights to weights among the rows that a replicate keeps."""
    if "replicates" not in plan:
        return None
    made = plan["replicates"]
    weight = plan.get("weight", np.ones(len(made)))[:, None]
    ratio = np.divide(made, weight, out=np.full(made.shape, np.nan), where=(made > 0) & (weight > 0))
    low, high = np.where(np.isnan(ratio), np.inf, ratio), np.where(np.isnan(ratio), -np.inf, ratio)
    now = np.stack([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])
    return now if before is None else np.stack([np.minimum(now[0], before[0]), np.maximum(now[1], before[1])])


def _sized(cells: Cells, plan: PlanColumns) -> Cells:
    """The cells with the sizes of the strata, where one number was given for the whole population.

    The size of a stratum is then the sum of its weights, and all of them must add up to the population.
    """
    numbers = [size for size in plan.population if not isinstance(size, str)]
    if plan.strata is None or not numbers or cells.stratum.size == 1:
        return cells
    if plan.clusters or not cells.weighted:
        raise ParameterError(
            f"one population of {numbers[0]:,.6g} for {cells.stratum.size:,} strata",
            hint="name a column with the size of each row's stratum: --population COL",
        )
    sizes: Real = np.bincount(cells.stratum.codes, weights=cells.weight, minlength=cells.stratum.size).astype(
        np.float64
    )
    if abs(sizes.sum() - numbers[0]) > NEAR * numbers[0]:
        raise ParameterError(
            f"the weights add up to {sizes.sum():,.6g}, not to the population of {numbers[0]:,.6g}",
            hint="name a column with the size of each row's stratum: --population COL",
        )
    return replace(cells, population=sizes[cells.stratum.codes][:, None])


def _together(total: Cells | None, waiting: Sequence[Cells]) -> Cells | None:
    parts = [*([] if total is None else [total]), *waiting]
    return Cells.total(parts) if parts else None


@dataclass(frozen=True)
class _Batch:
    """Rows that can be used: their samples, reports, counts and what the plan says about them."""

    sample: Any
    report: Any
    count: Any
    plan: dict[str, Any]


class _Rows:
    """The usable rows of a file, batch after batch; says afterwards how many there were."""

    def __init__(
        self, source: Any, path: str, samples: Samples, plan: PlanColumns, missing: str, counts: str | None
    ) -> None:
        schema = source.schema
        self._source, self._path, self._counts, self._missing = source, path, counts, missing
        self._reader, self._plan = SampleReader(samples, missing), PlanReader(plan, schema, path)
        names = [*samples.columns, *samples.group_columns, *plan.names(schema, path), *([counts] if counts else [])]
        self._names = [*dict.fromkeys(names)]
        reports = {*samples.columns}
        self._positions = [
            find_column(schema, name, path, REPORTS if name in reports else VALUES) for name in self._names
        ]
        for chosen in samples.choices if len(samples) == 1 else ():
            for assignment in chosen:
                for leaf, own in assignment.parts:
                    for name in own:
                        check_made_by(leaf, schema.field(find_column(schema, name, path, REPORTS)), name)
        self.rows = self.dropped = 0
        self.strata_left_out: set[Any] = set()
        self.domains_left_out: set[Any] = set()
        self.progress: Progress | None = None

    def __iter__(self) -> Iterator[_Batch]:
        read = sorted(self._positions)
        places = {n: read.index(p) for n, p in zip(self._names, self._positions, strict=True)}
        for batch in pieces(self._source.batches(read), ROWS_AT_ONCE):
            columns = {name: batch.column(place) for name, place in places.items()}
            usable = self._usable(columns, len(batch))
            self.rows += len(batch)
            if usable is not None:
                self.dropped += len(batch) - len(usable.report)
                yield usable
            if self.progress is not None:
                self.progress(self.rows, self._source.done())
        if self.rows == 0:
            raise DataFileError(f"{self._path} has no rows", hint="give a file with at least one row", path=self._path)
        raise_first(self._reader.problems, self.rows)

    def _usable(self, columns: dict[str, Any], rows: int) -> _Batch | None:
        kept, sample, report = self._reader.read(columns, rows, self.rows + 1)
        if any(self._reader.problems):
            return None
        if self._missing == "drop":
            told = self._plan.with_domain(columns, rows)
            sample, report, kept = sample[told[kept]], report[told[kept]], kept & told
            self._note_left_out(columns, ~kept)
        count = None if self._counts is None else whole_numbers(columns[self._counts], self._counts, self.rows)
        return _Batch(sample, report, None if count is None else count[kept], self._plan.read(columns, self.rows, kept))

    def _note_left_out(self, columns: dict[str, Any], rows: Array) -> None:
        if rows.any():
            strata, domains = self._plan.told_by(columns, self.rows, rows)
            self.strata_left_out |= strata
            self.domains_left_out |= domains


@contextmanager
def _rows(
    path: str, samples: Samples, plan: PlanColumns, missing: str, counts: str | None, progress: Progress | None
) -> Iterator[_Rows]:
    with open_source(path, coded={**dict.fromkeys(plan.labelled), **samples.looked_for()}) as source:
        found = _Rows(source, path, samples, plan, missing, counts)
        found.progress = progress
        yield found

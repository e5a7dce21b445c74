"""Count the reports of a table of any size, in one pass.

Jointly (:func:`tally_file`) or each column alone (:func:`tally_columns`), by the design that groups of rows used
(:func:`tally_groups`), or by everything that a survey estimate must tell apart (:func:`tally_survey`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.cells import Cells, products_of_replicates
from maskwell.core.groups import Factor
from maskwell.core.phrases import listed
from maskwell.core.report_data import Counts, Reports
from maskwell.designs.coded import tally_codes
from maskwell.designs.design import Design
from maskwell.engines.arrow_arrays import (
    REPORTS,
    VALUES,
    bits_from_array,
    describe,
    is_private,
    missing_rows,
    require,
)
from maskwell.engines.assignments import (
    Assignment,
    Samples,
    check_assignments,
    expected_categories,
    variables_of,
)
from maskwell.engines.column_codes import Problems, raise_first
from maskwell.engines.plan_columns import PlanColumns, PlanReader, whole_numbers
from maskwell.engines.report_reader import SampleReader
from maskwell.engines.row_batches import PIECE_BYTES, Progress, RowPass
from maskwell.engines.row_sources import MemoryTable, Source, find_column, open_source
from maskwell.errors import MissingValueError, ParameterError, ReportError

ROWS_AT_ONCE = 1 << 18
NEAR = 0.01
"""Weights are often rounded: their sum may differ from the population by this share of it."""

WAITING_CELLS = 64
"""Batches whose cells are put together in one step."""


@dataclass(frozen=True)
class Tally:
    """Counted reports, the design of all columns together, and how many rows were left out."""

    counts: Counts
    design: Design
    rows: int
    dropped: int


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
    of one line may differ in that, and a line does not tell. ``products`` has the sums over rows of products of two
    such ratios, shape (R, R). ``empty_domains`` are those all of whose rows were left out.
    """

    cells: Cells
    designs: tuple[Design, ...]
    rows: int
    dropped: int
    ratios: Real | None = None
    products: Real | None = None
    empty_domains: tuple[Any, ...] = ()


def tally_file(
    path: str | MemoryTable,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Count the reports of the assigned columns, jointly when there are several.

    ``counts`` names a column with the number of reports that each row stands for. ``missing`` is ``"error"``,
    ``"drop"`` the rows, or ``"category"``: count them as the report "missing" of the design.
    """
    check_assignments(assignments)
    counter = _counter_of(assignments, missing)
    rows = _count(path, [counter], counts, progress)
    return Tally(counter.totals[0], counter.designs[0], rows, counter.dropped)


def tally_columns(
    path: str | MemoryTable,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Counts]:
    """Count the reports of each assignment by itself, all in one pass, by the names of their columns."""
    check_assignments(assignments)
    counters = {",".join(one.columns): _counter_of([one], missing) for one in assignments}
    _count(path, [*counters.values()], counts, progress)
    return {columns: counter.totals[0] for columns, counter in counters.items()}


def tally_groups(
    path: str | MemoryTable,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> GroupTally:
    """Count the reports of each group of rows with the design it used."""
    samples = Samples(tuple(variables_of(assignments)))
    counter = _SampleCounter(samples, missing)
    rows = _count(path, [counter], counts, progress)
    samples.check_used([place for place, total in enumerate(counter.totals) if total.values.any()])
    return GroupTally(tuple(map(SampleTally, counter.totals, samples.designs, samples.labels)), rows, counter.dropped)


def tally_survey(
    path: str | MemoryTable,
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
    products: Real | None = None
    with _survey_rows(path, samples, plan, missing, counts, progress) as rows:
        for batch in rows:
            ratios, products = _ratios(batch.plan, ratios), _products(batch.plan, products)
            sample = Factor(batch.sample, np.arange(len(samples)))
            report = batch.report.astype(np.int64, copy=False)
            waiting.append(Cells.of(report, sample=sample, count=batch.count, **batch.plan))
            if len(waiting) == WAITING_CELLS:
                total, waiting = _together(total, waiting), []
    cells = _together(total, waiting)
    if cells is None or cells.rows == 0:
        raise MissingValueError(f"{path} has no row with a report", hint="check the column and its missing values")
    seen = cells.n > 0
    samples.check_used(cells.sample.labels[np.unique(cells.sample.codes[seen])].tolist())
    _check_strata(cells.stratum.take(np.flatnonzero(seen)), rows.strata_left_out, plan)
    empty = sorted(rows.domains_left_out - _occurring(cells.domain.take(np.flatnonzero(seen))), key=str)
    read = (rows.rows, rows.dropped, ratios, products, tuple(empty))
    return SurveyTally(_sized(cells, plan), tuple(samples.designs), *read)


# ---- counting


def _count(
    path: str | MemoryTable,
    counters: Sequence[_SampleCounter | _SetCounter],
    counts: str | None,
    progress: Progress | None,
) -> int:
    """Let counters see all rows, in one pass; how many there were."""
    expected = {name: held for counter in counters for name, held in counter.expected().items()}
    with open_source(path, coded=expected) as source:
        positions = {name: p for counter in counters for name, p in counter.positions(source.schema, path).items()}
        if counts is not None:
            positions[counts] = find_column(source.schema, counts, path)
        only = sorted({*positions.values()})
        places = {name: only.index(position) for name, position in positions.items()}
        at_once = min(counter.rows_at_once for counter in counters)
        rows = RowPass(source, path, only=only, rows_at_once=at_once, progress=progress)
        for batch in rows:
            columns = {name: batch.column(place) for name, place in places.items()}
            weights = None if counts is None else whole_numbers(columns[counts], counts, rows.rows)
            for counter in counters:
                counter.add(columns, len(batch), rows.rows, weights)
        raise_first((problems for counter in counters for problems in counter.problems), rows.rows)
    return rows.rows


def _counter_of(assignments: Sequence[Assignment], missing: str) -> _SampleCounter | _SetCounter:
    """What counts the reports of these columns jointly."""
    leaves = [leaf for assignment in assignments for leaf in assignment.leaves]
    if len(leaves) == 1 and leaves[0].reports_are_sets:
        return _SetCounter(assignments[0], missing)
    for leaf in leaves:
        if not isinstance(leaf.outputs, Categories):
            raise ReportError(
                f"a {leaf.kind} design reports sets, which cannot be counted with other columns",
                hint="estimate that column alone",
            )
    return _SampleCounter(Samples(tuple(variables_of(assignments))), missing)


class _SampleCounter:
    """Counts how often each report, or each combination of reports, occurs in each sample."""

    rows_at_once = ROWS_AT_ONCE

    def __init__(self, samples: Samples, missing: str) -> None:
        self._samples, self._reader, self.dropped = samples, SampleReader(samples, missing), 0
        self.designs: Sequence[Design] = samples.designs
        self._values = [_zeros(design) for design in self.designs]
        self._private = True

    @property
    def problems(self) -> list[Problems]:
        """Values that cannot be counted."""
        return self._reader.problems

    @property
    def totals(self) -> list[Counts]:
        """All rows so far, for each of the designs."""
        columns = zip(self._values, self.designs, strict=True)
        return [Counts(values, int(values.sum()), design.fingerprint, self._private) for values, design in columns]

    def expected(self) -> dict[str, Categories | None]:
        """The columns that must be read, with the categories that they hold."""
        return self._samples.looked_for()

    def positions(self, schema: Any, path: str | MemoryTable) -> dict[str, int]:
        """Where these columns are, after a look whether they say that another design made them."""
        positions = _sample_positions(self._samples, schema, path)
        self._private = all(is_private(schema.field(positions[name])) for name in self._samples.columns)
        return positions

    def add(self, columns: Mapping[str, Any], rows: int, row: int, weights: Array | None) -> None:
        """Count the next rows, each as often as its weight says; ``row`` of them came before."""
        kept, sample, report = self._reader.read(columns, rows, row + 1)
        if any(self.problems):
            return
        self.dropped += rows - len(report)
        weight = None if weights is None else weights[kept]
        if len(self._values) == 1:
            _add_reports(self._values[0], report, weight)
            return
        for place in np.unique(sample):
            chosen = sample == place
            _add_reports(self._values[place], report[chosen], None if weight is None else weight[chosen])


def _add_reports(values: Array, report: Array, weights: Array | None) -> None:
    if weights is None:
        tally_codes(report, values)
    else:
        np.add.at(values, report, weights)


def _zeros(design: Design) -> Array:
    """Zeros to count in, after checking that there is room for them."""
    nothing = Reports(design.fingerprint, design.k, design.encoding, design.empty_reports(0))
    return np.array(design.tally(nothing).values)


def _sample_positions(samples: Samples, schema: Any, path: str | MemoryTable) -> dict[str, int]:
    """Where the columns with reports are, and those that tell which design a row used."""
    positions = {name: find_column(schema, name, path, REPORTS) for name in samples.columns}
    for name in samples.group_columns:
        positions.setdefault(name, find_column(schema, name, path, VALUES))
    parts = [part for one in samples.choices[0] for part in one.parts] if len(samples) == 1 else []
    for leaf, names in parts:
        for name in names:
            check_made_by(leaf, schema.field(positions[name]), name)
    return positions


def check_made_by(design: Design, field: Any, name: str) -> None:
    """Raise where a column of a file says that another design made it."""
    about = describe(field)
    if about is not None and about.get("design") != design.fingerprint:
        raise ReportError(
            f"column {name!r} was made with another design than the one given",
            hint=f"estimate with the design that made the reports, {str(about.get('design'))[:19]}...",
            given=about.get("design"),
            expected=design.fingerprint,
        )


class _SetCounter:
    """Counts how many reports, which are sets, name each category."""

    def __init__(self, assignment: Assignment, missing: str) -> None:
        ((design, (name,)),) = assignment.parts
        self._assignment, self._name, self._missing, self.dropped = assignment, name, missing, 0
        self.designs: Sequence[Design] = [design]
        self.problems = [Problems(name, design.inputs)]
        self.rows_at_once = max(64, PIECE_BYTES // design.k)
        self.totals = [Counts(np.zeros(design.k, dtype=np.int64), 0, design.fingerprint)]

    def expected(self) -> dict[str, Categories | None]:
        return expected_categories([self._assignment], reports=True)

    def positions(self, schema: Any, path: str | MemoryTable) -> dict[str, int]:
        position = find_column(schema, self._name, path, REPORTS)
        check_made_by(self.designs[0], schema.field(position), self._name)
        self.totals = [replace(self.totals[0], private=is_private(schema.field(position)))]
        return {self._name: position}

    def add(self, columns: Mapping[str, Any], rows: int, row: int, weights: Array | None) -> None:
        values, design = columns[self._name], self.designs[0]
        if values.null_count:
            lost = missing_rows(values)
            if self._missing == "category":
                raise ReportError(
                    "set reports have no category for missing values", hint="leave such rows out: --missing drop"
                )
            if self._missing == "error":
                self.problems[0].note_missing(lost, row + 1)
                return
            self.dropped += int(lost.sum())
            values, weights = values.filter(require().array(~lost)), None if weights is None else weights[~lost]
        bits = bits_from_array(values, design.k)
        counts = design.tally(Reports(design.fingerprint, design.k, "bits", bits))
        if weights is not None:
            held = np.unpackbits(bits, axis=1, count=design.k, bitorder="little")
            counts = Counts(weights @ held.astype(np.int64), int(weights.sum()), counts.fingerprint)
        self.totals = [self.totals[0] + counts]


# ---- what a survey estimate needs


@dataclass(frozen=True)
class _SurveyBatch:
    """Rows that can be used: their samples, reports, counts and what the plan says about them."""

    sample: Array
    report: Array
    count: Array | None
    plan: dict[str, Any]


class _SurveyRows:
    """The usable rows of a survey, batch after batch; says afterwards how many there were."""

    def __init__(
        self,
        source: Source,
        path: str | MemoryTable,
        samples: Samples,
        plan: PlanColumns,
        missing: str,
        counts: str | None,
        progress: Progress | None,
    ) -> None:
        schema = source.schema
        self._counts, self._missing = counts, missing
        self._reader, self._plan = SampleReader(samples, missing), PlanReader(plan, schema, path)
        positions = _sample_positions(samples, schema, path)
        for name in [*plan.names(schema, path), *([counts] if counts else [])]:
            positions.setdefault(name, find_column(schema, name, path))
        only = sorted(positions.values())
        self._places = {name: only.index(position) for name, position in positions.items()}
        self._pass = RowPass(source, path, only=only, rows_at_once=ROWS_AT_ONCE, progress=progress)
        self.dropped = 0
        self.strata_left_out: set[Any] = set()
        self.domains_left_out: set[Any] = set()

    @property
    def rows(self) -> int:
        """How many were read before the batch at hand; in the end, all."""
        return self._pass.rows

    def __iter__(self) -> Iterator[_SurveyBatch]:
        for batch in self._pass:
            columns = {name: batch.column(place) for name, place in self._places.items()}
            usable = self._usable(columns, len(batch))
            if usable is not None:
                self.dropped += len(batch) - len(usable.report)
                yield usable
        raise_first(self._reader.problems, self.rows)

    def _usable(self, columns: Mapping[str, Any], rows: int) -> _SurveyBatch | None:
        kept, sample, report = self._reader.read(columns, rows, self.rows + 1)
        if any(self._reader.problems):
            return None
        if self._missing == "drop":
            told = self._plan.with_domain(columns, rows)
            sample, report, kept = sample[told[kept]], report[told[kept]], kept & told
            self._note_left_out(columns, ~kept)
        count = None if self._counts is None else whole_numbers(columns[self._counts], self._counts, self.rows)
        return _SurveyBatch(
            sample, report, None if count is None else count[kept], self._plan.read(columns, self.rows, kept)
        )

    def _note_left_out(self, columns: Mapping[str, Any], rows: Array) -> None:
        if rows.any():
            strata, domains = self._plan.told_by(columns, self.rows, rows)
            self.strata_left_out |= strata
            self.domains_left_out |= domains


@contextmanager
def _survey_rows(
    path: str | MemoryTable,
    samples: Samples,
    plan: PlanColumns,
    missing: str,
    counts: str | None,
    progress: Progress | None,
) -> Iterator[_SurveyRows]:
    with open_source(path, coded={**dict.fromkeys(plan.labelled), **samples.looked_for()}) as source:
        yield _SurveyRows(source, path, samples, plan, missing, counts, progress)


def _occurring(factor: Factor) -> set[Any]:
    return set(factor.labels[np.unique(factor.codes)].tolist())


def _check_strata(kept: Factor, left_out: set[Any], plan: PlanColumns) -> None:
    """Raise for a stratum all of whose rows were left out: the estimate would be one for the others."""
    empty = sorted(left_out - _occurring(kept), key=str)
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
    replicates = plan["replicates"]
    weight = plan.get("weight", np.ones(len(replicates)))[:, None]
    ratio = np.divide(replicates, weight, out=np.full(replicates.shape, np.nan), where=(replicates > 0) & (weight > 0))
    low, high = np.where(np.isnan(ratio), np.inf, ratio), np.where(np.isnan(ratio), -np.inf, ratio)
    now = np.stack([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])
    return now if before is None else np.stack([np.minimum(now[0], before[0]), np.maximum(now[1], before[1])])


def _products(plan: dict[str, Any], before: Real | None) -> Real | None:
    """Sums over rows of products of the ratios of two replicate weights to the weight, shape (R, R)."""
    if "replicates" not in plan:
        return None
    products = products_of_replicates(plan["replicates"], plan.get("weight"))
    return products if before is None else before + products


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

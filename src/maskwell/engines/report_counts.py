"""Count the reports of a table of any size, or sum weights by stratum, cluster and domain, in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_sum_of_counts, exact_sum
from maskwell.core.categories import Categories
from maskwell.core.display import Inside
from maskwell.core.groups import Factor
from maskwell.core.phrases import listed
from maskwell.core.report_data import Counts, Reports
from maskwell.core.row_sums import Cells, products_of_replicates
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
    without_nan,
)
from maskwell.engines.assignments import Assignment, Samples, check_assignments, expected_categories, variables_of
from maskwell.engines.column_codes import Problems, include_problems, raise_first
from maskwell.engines.row_sources import PIECE_BYTES, Progress, RowPass, Source, find_column
from maskwell.engines.rows import Part, Rows
from maskwell.engines.survey_columns import RoleReader, SampleReader, SamplingColumns, occurring_labels, whole_numbers
from maskwell.errors import MissingValueError, ParameterError, ReportError

ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class SampleTally:
    """The counts of one group of rows, with its design and the values that define it (empty for a single group)."""

    counts: Counts
    design: Design
    label: str


@dataclass(frozen=True)
class Tally:
    """Counted reports of each group of rows, or of the only one, and how many rows were left out."""

    samples: tuple[SampleTally, ...]
    rows: int
    dropped: int
    counts = Inside[Counts]("_only.counts", "Of the only group.")
    design = Inside[Design]("_only.design", "Of all columns of the only group together.")

    @property
    def _only(self) -> SampleTally:
        (one,) = self.samples
        return one


def tally_file(
    table: Rows,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Count the reports of the assigned columns, jointly if there are several, for each group of rows with its design.

    The column ``counts`` says how often a row counts.
    """
    if not any(one.when for one in assignments):
        check_assignments(assignments)
        rows, (counter,) = _count(table, [_counter_of(assignments, missing)], counts, progress)
        return Tally((SampleTally(counter.totals[0], counter.designs[0], ""),), rows, counter.dropped)
    samples = Samples(tuple(variables_of(assignments)))
    rows, (counter,) = _count(table, [_SampleCounter(samples, missing)], counts, progress)
    samples.check_used([place for place, total in enumerate(counter.totals) if total.values.any()])
    return Tally(tuple(map(SampleTally, counter.totals, samples.designs, samples.labels)), rows, counter.dropped)


def tally_columns(
    table: Rows,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Counts]:
    """Count the reports of each assignment by itself, all in one pass, by the names of their columns."""
    check_assignments(assignments)
    counters = [_counter_of([one], missing) for one in assignments]
    _, seen = _count(table, counters, counts, progress)
    return {",".join(one.columns): counter.totals[0] for one, counter in zip(assignments, seen, strict=True)}


@dataclass(frozen=True)
class _Counting:
    """Lets counters see all rows of a source, in one pass; the column ``counts`` says how often each counts."""

    counters: Sequence[Any]
    counts: str | None
    where: str

    def columns(self, schema: Any) -> list[str]:
        return [*self._positions(schema)]

    def _positions(self, schema: Any) -> dict[str, int]:
        positions = {name: p for counter in self.counters for name, p in counter.positions(schema, self.where).items()}
        if self.counts is not None:
            positions[self.counts] = find_column(schema, self.counts, self.where)
        return positions

    def __call__(self, source: Source, first_row: int | None, progress: Progress | None) -> Part[Sequence[Any]]:
        positions = self._positions(source.schema)
        only = sorted({*positions.values()})
        places = {name: only.index(position) for name, position in positions.items()}
        at_once = min(counter.rows_at_once for counter in self.counters)
        rows = RowPass(source, self.where, only=only, rows_at_once=at_once, progress=progress, first_row=first_row)
        total = 0
        for batch in rows:
            columns = {name: without_nan(batch.column(place)) for name, place in places.items()}
            weights = None if self.counts is None else whole_numbers(columns[self.counts], self.counts, rows.before)
            if weights is not None:
                total += exact_sum(weights)
                check_sum_of_counts(total, f"column {self.counts!r}: counts")
            for counter in self.counters:
                counter.add(columns, len(batch), rows.before, weights)
        if first_row is None:
            raise_first((problems for counter in self.counters for problems in counter.problems), rows.rows)
        return Part(rows.rows, self.counters)


def _count(
    table: Rows, counters: Sequence[Any], counts: str | None, progress: Progress | None
) -> tuple[int, list[Any]]:
    """Let counters see all rows, in one pass; how many there were, and the counters with what they saw."""
    expected = {name: held for counter in counters for name, held in counter.expected().items()}
    parts = table.in_parts(_Counting(counters, counts, str(table)), coded=expected, progress=progress)
    rows, seen = parts[0].rows, [*parts[0].found]
    for part in parts[1:]:
        for counter, later in zip(seen, part.found, strict=True):
            counter.include(later, rows)
        rows += part.rows
    raise_first((problems for counter in seen for problems in counter.problems), rows)
    return rows, seen


def _counter_of(assignments: Sequence[Assignment], missing: str) -> _SampleCounter | _SetCounter:
    leaves = [leaf for assignment in assignments for leaf in assignment.leaves]
    if len(leaves) == 1 and leaves[0].reports_are_sets:
        return _SetCounter(assignments[0], missing)
    for leaf in leaves:
        if not isinstance(leaf.outputs, Categories):
            raise ReportError("a-design-reports-sets-which-cannot-be", kind=leaf.kind)
    return _SampleCounter(Samples(tuple(variables_of(assignments))), missing)


class _SampleCounter:
    """Counts how often each report, or each combination of reports, occurs in each sample."""

    rows_at_once = ROWS_AT_ONCE

    def __init__(self, samples: Samples, missing: str) -> None:
        self._samples, self._reader, self.dropped = samples, SampleReader(samples, missing), 0
        self.designs: Sequence[Design] = samples.designs
        nothing = [Reports(one.fingerprint, one.k, one.encoding, one.empty_reports(0)) for one in self.designs]
        self._values = [np.array(design.tally(no).values) for design, no in zip(self.designs, nothing, strict=True)]
        self._private = True

    @property
    def problems(self) -> list[Problems]:
        return self._reader.problems

    @property
    def totals(self) -> list[Counts]:
        columns = zip(self._values, self.designs, strict=True)
        return [Counts(values, exact_sum(values), design.fingerprint, self._private) for values, design in columns]

    def expected(self) -> dict[str, Categories | None]:
        return self._samples.looked_for()

    def positions(self, schema: Any, path: object) -> dict[str, int]:
        """Where these columns are, after a look whether they say that another design made them."""
        positions = sample_positions(self._samples, schema, path)
        self._private = all(is_private(schema.field(positions[name])) for name in self._samples.columns)
        return positions

    def add(self, columns: Mapping[str, Any], rows: int, row: int, weights: Array | None) -> None:
        """Count the next rows, each as often as its weight says; ``row`` of them came before."""
        kept, sample, report = self._reader.read(columns, rows, row + 1)
        if any(self.problems):
            return
        self.dropped += rows - len(report)
        weight = None if weights is None else weights[kept]
        for place in [0] if len(self._values) == 1 else np.unique(sample):
            chosen = slice(None) if len(self._values) == 1 else sample == place
            if weight is None:
                tally_codes(report[chosen], self._values[place])
            else:
                np.add.at(self._values[place], report[chosen], weight[chosen])

    def include(self, later: _SampleCounter, rows: int) -> None:
        for values, more in zip(self._values, later._values, strict=True):
            values += more
        self._private, self.dropped = self._private and later._private, self.dropped + later.dropped
        include_problems(self.problems, later.problems, rows)


def sample_positions(samples: Samples, schema: Any, path: object) -> dict[str, int]:
    """Where the columns with reports are, and those that determine which design a row used."""
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
    if about is not None and (made_by := about.get("design")) != design.fingerprint:
        told = {"given": made_by, "expected": design.fingerprint}
        raise ReportError("column-was-made-with-another-design", name=name, design=str(made_by)[:19], **told)


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

    def positions(self, schema: Any, path: object) -> dict[str, int]:
        position = find_column(schema, self._name, path, REPORTS)
        check_made_by(self.designs[0], schema.field(position), self._name)
        self.totals = [replace(self.totals[0], private=is_private(schema.field(position)))]
        return {self._name: position}

    def add(self, columns: Mapping[str, Any], rows: int, row: int, weights: Array | None) -> None:
        values, design = columns[self._name], self.designs[0]
        if values.null_count:
            lost = missing_rows(values)
            if self._missing == "category":
                raise ReportError("set-reports-have-no-category")
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

    def include(self, later: _SetCounter, rows: int) -> None:
        self.totals = [self.totals[0] + later.totals[0]]
        self.dropped += later.dropped
        include_problems(self.problems, later.problems, rows)


NEAR = 0.01  # weights are often rounded: their sum may differ from the population by this share of it
WAITING_CELLS = 64  # batches whose cells are put together in one step


@dataclass(frozen=True)
class SurveyTally:
    """Sums by stratum, cluster, domain, sample and report; the designs of the samples; how many rows were left out.

    ``ratios`` has the smallest and the largest ratio of a replicate weight above zero to the weight, shape (2, R): rows
    of one line may differ in that, and a line does not show it. ``products`` has the sums over rows of products of two
    such ratios, shape (R, R). ``empty_domains`` are those all of whose rows were left out.
    """

    cells: Cells
    designs: tuple[Design, ...]
    rows: int
    dropped: int
    ratios: Real | None = None
    products: Real | None = None
    empty_domains: tuple[Any, ...] = ()


def tally_survey(
    table: Rows,
    assignments: Sequence[Assignment],
    roles: SamplingColumns,
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> SurveyTally:
    """Sum the weights of the reports by stratum, cluster, domain and what else the roles name."""
    samples = Samples(tuple(variables_of(assignments)))
    coded = {**dict.fromkeys(roles.labelled), **samples.looked_for()}
    parts = table.in_parts(_Surveying(samples, roles, missing, counts, str(table)), coded=coded, progress=progress)
    rows = parts[0]
    for part in parts[1:]:
        rows.include(part)
    raise_first(rows.problems, rows.rows)
    cells = _together(None, [part.cells for part in parts if part.cells is not None])
    if cells is None or cells.rows == 0:
        raise MissingValueError("has-no-row-with-a-report", table=table)
    seen = cells.n > 0
    samples.check_used(cells.sample.labels[np.unique(cells.sample.codes[seen])].tolist())
    lost = sorted(rows.strata_left_out - occurring_labels([cells.stratum.take(np.flatnonzero(seen))]), key=str)
    if lost:  # the estimate would be one for the other strata
        named = listed(map(str, lost), len(lost), 30)
        raise MissingValueError("no-row-of-has-a-report", plan_strata=roles.strata, empty=named, strata=lost)
    empty = sorted(rows.domains_left_out - occurring_labels([cells.domain.take(np.flatnonzero(seen))]), key=str)
    read = (rows.rows, rows.dropped, rows.ratios, rows.products, tuple(empty))
    return SurveyTally(_sized(cells, roles), tuple(samples.designs), *read)


@dataclass
class _SurveyPart:
    problems: list[Problems]
    rows: int = 0
    dropped: int = 0
    cells: Cells | None = None
    ratios: Real | None = None
    products: Real | None = None
    strata_left_out: set[Any] = field(default_factory=set)
    domains_left_out: set[Any] = field(default_factory=set)

    def include(self, later: _SurveyPart) -> None:
        """Add all of a later part but its cells, which are put together in one step."""
        include_problems(self.problems, later.problems, self.rows)
        if later.ratios is not None and later.products is not None:
            self.note_replicates(later.ratios, later.products)
        self.rows, self.dropped = self.rows + later.rows, self.dropped + later.dropped
        self.strata_left_out |= later.strata_left_out
        self.domains_left_out |= later.domains_left_out

    def note_replicates(self, ratios: Real, products: Real) -> None:
        """Widen the range of the ratios to those of further rows, and add their products."""
        if self.ratios is not None:
            ratios = np.stack([np.minimum(self.ratios[0], ratios[0]), np.maximum(self.ratios[1], ratios[1])])
        self.ratios, self.products = ratios, products if self.products is None else self.products + products


@dataclass(frozen=True)
class _Surveying:
    """Sums the weights of the reports of a source by stratum, cluster, domain and what else the roles name."""

    samples: Samples
    roles: SamplingColumns
    missing: str
    counts: str | None
    where: str

    def columns(self, schema: Any) -> list[str]:
        return [*self._positions(schema)]

    def _positions(self, schema: Any) -> dict[str, int]:
        positions = sample_positions(self.samples, schema, self.where)
        for name in [*self.roles.names(schema, self.where), *([self.counts] if self.counts else [])]:
            positions.setdefault(name, find_column(schema, name, self.where))
        return positions

    def __call__(self, source: Source, first_row: int | None, progress: Progress | None) -> _SurveyPart:
        positions, reader = self._positions(source.schema), SampleReader(self.samples, self.missing)
        only, sampling = sorted(positions.values()), RoleReader(self.roles, source.schema, self.where)
        how: dict[str, Any] = {"rows_at_once": ROWS_AT_ONCE, "progress": progress, "first_row": first_row}
        rows, part = RowPass(source, self.where, only=only, **how), _SurveyPart(reader.problems)
        waiting: list[Cells] = []
        for batch in rows:
            columns = {name: without_nan(batch.column(only.index(place))) for name, place in positions.items()}
            kept, sample, report = reader.read(columns, len(batch), rows.before + 1)
            if any(part.problems):
                continue
            if self.missing == "drop":
                told = sampling.with_domain(columns, len(batch))
                sample, report, kept = sample[told[kept]], report[told[kept]], kept & told
                if not kept.all():
                    strata, domains = sampling.told_by(columns, rows.before, ~kept)
                    part.strata_left_out |= strata
                    part.domains_left_out |= domains
            count = None if self.counts is None else whole_numbers(columns[self.counts], self.counts, rows.before)
            if count is not None:
                check_sum_of_counts(exact_sum(count), f"column {self.counts!r}: counts")
                count = count[kept]
            known = sampling.read(columns, rows.before, kept)
            part.dropped += len(batch) - len(report)
            if "replicates" in known:
                part.note_replicates(*_replicated(known["replicates"], known.get("weight")))
            factor = Factor(sample, np.arange(len(self.samples)))
            waiting.append(Cells.of(report.astype(np.int64, copy=False), sample=factor, count=count, **known))
            if len(waiting) == WAITING_CELLS:
                part.cells, waiting = _together(part.cells, waiting), []
        if first_row is None:
            raise_first(part.problems, rows.rows)
        part.rows, part.cells = rows.rows, _together(part.cells, waiting)
        return part


def _replicated(replicates: Real, given: Real | None) -> tuple[Real, Real]:
    """Of rows that a replicate keeps, the range of replicate weight / weight; and sums of products of two of these."""
    weight = np.ones(len(replicates))[:, None] if given is None else given[:, None]
    ratio = np.divide(replicates, weight, out=np.full(replicates.shape, np.nan), where=(replicates > 0) & (weight > 0))
    low, high = np.where(np.isnan(ratio), np.inf, ratio), np.where(np.isnan(ratio), -np.inf, ratio)
    ratios = np.stack([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])
    return ratios, products_of_replicates(replicates, given)


def _sized(cells: Cells, roles: SamplingColumns) -> Cells:
    """The cells with sizes of strata, sums of weights, where one number was given for the whole population."""
    numbers = [size for size in roles.population if not isinstance(size, str)]
    if roles.strata is None or not numbers or cells.stratum.size == 1:
        return cells
    if roles.clusters or not cells.weighting.given:
        raise ParameterError("one-population-of-for-strata", number=numbers[0], size=cells.stratum.size)
    sizes: Real = np.bincount(cells.stratum.codes, weights=cells.weight, minlength=cells.stratum.size).astype(
        np.float64
    )
    if abs(sizes.sum() - numbers[0]) > NEAR * numbers[0]:
        raise ParameterError("the-weights-add-up-to-not", sizes_sum=sizes.sum(), number=numbers[0])
    return replace(cells, population=sizes[cells.stratum.codes][:, None])


def _together(total: Cells | None, waiting: Sequence[Cells]) -> Cells | None:
    parts = [*([] if total is None else [total]), *waiting]
    return Cells.total(parts) if parts else None

"""Sum the weights of reports by everything that a survey estimate must tell apart, in one pass over a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, check_sum_of_counts, exact_sum
from maskwell.core.groups import Factor
from maskwell.core.phrases import listed
from maskwell.core.row_sums import Cells, products_of_replicates
from maskwell.designs.design import Design
from maskwell.engines.arrow_arrays import without_nan
from maskwell.engines.assignments import Assignment, Samples, variables_of
from maskwell.engines.column_codes import Problems, include_problems, raise_first
from maskwell.engines.report_counts import ROWS_AT_ONCE, sample_positions
from maskwell.engines.row_sources import Progress, RowPass, Source, find_column
from maskwell.engines.rows import Rows
from maskwell.engines.survey_columns import ColumnRoles, RoleReader, SampleReader, whole_numbers
from maskwell.errors import MissingValueError, ParameterError

NEAR = 0.01  # weights are often rounded: their sum may differ from the population by this share of it
WAITING_CELLS = 64  # batches whose cells are put together in one step


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


def tally_survey(
    table: Rows,
    assignments: Sequence[Assignment],
    plan: ColumnRoles,
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> SurveyTally:
    """Sum the weights of the reports by everything that the plan tells apart."""
    samples = Samples(tuple(variables_of(assignments)))
    coded = {**dict.fromkeys(plan.labelled), **samples.looked_for()}
    parts = table.in_parts(_Surveying(samples, plan, missing, counts, str(table)), coded=coded, progress=progress)
    rows = parts[0]
    for part in parts[1:]:
        rows.include(part)
    raise_first(rows.problems, rows.rows)
    cells = _together(None, [part.cells for part in parts if part.cells is not None])
    if cells is None or cells.rows == 0:
        raise MissingValueError("has-no-row-with-a-report", table=table)
    seen = cells.n > 0
    samples.check_used(cells.sample.labels[np.unique(cells.sample.codes[seen])].tolist())
    _check_strata(cells.stratum.take(np.flatnonzero(seen)), rows.strata_left_out, plan)
    empty = sorted(rows.domains_left_out - _occurring(cells.domain.take(np.flatnonzero(seen))), key=str)
    read = (rows.rows, rows.dropped, rows.ratios, rows.products, tuple(empty))
    return SurveyTally(_sized(cells, plan), tuple(samples.designs), *read)


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
    """Sums the weights of the reports of a source by everything that the plan tells apart."""

    samples: Samples
    plan: ColumnRoles
    missing: str
    counts: str | None
    where: str

    def columns(self, schema: Any) -> list[str]:
        return [*self._positions(schema)]

    def _positions(self, schema: Any) -> dict[str, int]:
        positions = sample_positions(self.samples, schema, self.where)
        for name in [*self.plan.names(schema, self.where), *([self.counts] if self.counts else [])]:
            positions.setdefault(name, find_column(schema, name, self.where))
        return positions

    def __call__(self, source: Source, first_row: int | None, progress: Progress | None) -> _SurveyPart:
        positions, reader = self._positions(source.schema), SampleReader(self.samples, self.missing)
        only, roles = sorted(positions.values()), RoleReader(self.plan, source.schema, self.where)
        how: dict[str, Any] = {"rows_at_once": ROWS_AT_ONCE, "progress": progress, "first_row": first_row}
        rows, part = RowPass(source, self.where, only=only, **how), _SurveyPart(reader.problems)
        waiting: list[Cells] = []
        for batch in rows:
            columns = {name: without_nan(batch.column(only.index(place))) for name, place in positions.items()}
            kept, sample, report = reader.read(columns, len(batch), rows.before + 1)
            if any(part.problems):
                continue
            if self.missing == "drop":
                told = roles.with_domain(columns, len(batch))
                sample, report, kept = sample[told[kept]], report[told[kept]], kept & told
                if not kept.all():
                    strata, domains = roles.told_by(columns, rows.before, ~kept)
                    part.strata_left_out |= strata
                    part.domains_left_out |= domains
            count = None if self.counts is None else whole_numbers(columns[self.counts], self.counts, rows.before)
            if count is not None:
                check_sum_of_counts(exact_sum(count), f"column {self.counts!r}: counts")
                count = count[kept]
            plan = roles.read(columns, rows.before, kept)
            part.dropped += len(batch) - len(report)
            if "replicates" in plan:
                part.note_replicates(*_replicated(plan["replicates"], plan.get("weight")))
            factor = Factor(sample, np.arange(len(self.samples)))
            waiting.append(Cells.of(report.astype(np.int64, copy=False), sample=factor, count=count, **plan))
            if len(waiting) == WAITING_CELLS:
                part.cells, waiting = _together(part.cells, waiting), []
        if first_row is None:
            raise_first(part.problems, rows.rows)
        part.rows, part.cells = rows.rows, _together(part.cells, waiting)
        return part


def _occurring(factor: Factor) -> set[Any]:
    return set(factor.labels[np.unique(factor.codes)].tolist())


def _check_strata(kept: Factor, left_out: set[Any], plan: ColumnRoles) -> None:
    """Raise for a stratum all of whose rows were left out: the estimate would be one for the others."""
    empty = sorted(left_out - _occurring(kept), key=str)
    if empty:
        named = listed(map(str, empty), len(empty), 30)
        raise MissingValueError("no-row-of-has-a-report", plan_strata=plan.strata, empty=named, strata=empty)


def _replicated(replicates: Real, given: Real | None) -> tuple[Real, Real]:
    """Of rows that a replicate keeps, the range of replicate weight / weight; and sums of products of two of these."""
    weight = np.ones(len(replicates))[:, None] if given is None else given[:, None]
    ratio = np.divide(replicates, weight, out=np.full(replicates.shape, np.nan), where=(replicates > 0) & (weight > 0))
    low, high = np.where(np.isnan(ratio), np.inf, ratio), np.where(np.isnan(ratio), -np.inf, ratio)
    ratios = np.stack([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])
    return ratios, products_of_replicates(replicates, given)


def _sized(cells: Cells, plan: ColumnRoles) -> Cells:
    """The cells with sizes of strata, sums of weights, where one number was given for the whole population."""
    numbers = [size for size in plan.population if not isinstance(size, str)]
    if plan.strata is None or not numbers or cells.stratum.size == 1:
        return cells
    if plan.clusters or not cells.weighted:
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

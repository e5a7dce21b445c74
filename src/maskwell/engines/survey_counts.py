"""Sum the weights of reports by everything that a survey estimate must tell apart, in one pass over a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_sum_of_counts, exact_sum
from maskwell.core.cells import Cells, products_of_replicates
from maskwell.core.groups import Factor
from maskwell.core.phrases import listed
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


@dataclass(frozen=True)
class _SurveyBatch:
    """Rows that can be used: their samples, reports, counts and what the plan says about them."""

    sample: Array
    report: Array
    count: Array | None
    plan: dict[str, Any]


@dataclass
class _SurveyPart:
    cells: Cells | None
    ratios: Real | None
    products: Real | None
    rows: int
    dropped: int
    problems: list[Problems]
    strata_left_out: set[Any]
    domains_left_out: set[Any]

    def include(self, later: _SurveyPart) -> None:
        """Add all of a later part but its cells, which are put together in one step."""
        include_problems(self.problems, later.problems, self.rows)
        both = [ratios for ratios in (self.ratios, later.ratios) if ratios is not None]
        self.ratios = _extremes(both) if both else None
        sums = [products for products in (self.products, later.products) if products is not None]
        self.products = np.sum(sums, axis=0) if sums else None
        self.rows, self.dropped = self.rows + later.rows, self.dropped + later.dropped
        self.strata_left_out |= later.strata_left_out
        self.domains_left_out |= later.domains_left_out


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
        rows = _SurveyRows(self, source, self._positions(source.schema), first_row, progress)
        total: Cells | None = None
        waiting: list[Cells] = []
        ratios: Real | None = None
        products: Real | None = None
        for batch in rows:
            ratios, products = _ratios(batch.plan, ratios), _products(batch.plan, products)
            sample = Factor(batch.sample, np.arange(len(self.samples)))
            report = batch.report.astype(np.int64, copy=False)
            waiting.append(Cells.of(report, sample=sample, count=batch.count, **batch.plan))
            if len(waiting) == WAITING_CELLS:
                total, waiting = _together(total, waiting), []
        if first_row is None:
            raise_first(rows.problems, rows.rows)
        left_out = rows.strata_left_out, rows.domains_left_out
        sums = _together(total, waiting), ratios, products
        return _SurveyPart(*sums, rows.rows, rows.dropped, rows.problems, *left_out)


class _SurveyRows:
    """The usable rows of a survey, batch after batch; says afterwards how many there were."""

    def __init__(
        self,
        survey: _Surveying,
        source: Source,
        positions: Mapping[str, int],
        first_row: int | None,
        progress: Progress | None,
    ) -> None:
        self._counts, self._missing = survey.counts, survey.missing
        self._reader = SampleReader(survey.samples, survey.missing)
        self._plan = RoleReader(survey.plan, source.schema, survey.where)
        only = sorted(positions.values())
        self._places = {name: only.index(position) for name, position in positions.items()}
        self._pass = RowPass(
            source, survey.where, only=only, rows_at_once=ROWS_AT_ONCE, progress=progress, first_row=first_row
        )
        self.dropped = 0
        self.strata_left_out: set[Any] = set()
        self.domains_left_out: set[Any] = set()

    @property
    def rows(self) -> int:
        return self._pass.rows

    @property
    def problems(self) -> list[Problems]:
        return self._reader.problems

    def __iter__(self) -> Iterator[_SurveyBatch]:
        for batch in self._pass:
            columns = {name: without_nan(batch.column(place)) for name, place in self._places.items()}
            usable = self._usable(columns, len(batch), self._pass.before)
            if usable is not None:
                self.dropped += len(batch) - len(usable.report)
                yield usable

    def _usable(self, columns: Mapping[str, Any], rows: int, before: int) -> _SurveyBatch | None:
        kept, sample, report = self._reader.read(columns, rows, before + 1)
        if any(self._reader.problems):
            return None
        if self._missing == "drop":
            told = self._plan.with_domain(columns, rows)
            sample, report, kept = sample[told[kept]], report[told[kept]], kept & told
            if not kept.all():
                strata, domains = self._plan.told_by(columns, before, ~kept)
                self.strata_left_out |= strata
                self.domains_left_out |= domains
        count = None if self._counts is None else whole_numbers(columns[self._counts], self._counts, before)
        if count is not None:
            check_sum_of_counts(exact_sum(count), f"column {self._counts!r}: counts")
        count = None if count is None else count[kept]
        return _SurveyBatch(sample, report, count, self._plan.read(columns, before, kept))


def _occurring(factor: Factor) -> set[Any]:
    return set(factor.labels[np.unique(factor.codes)].tolist())


def _check_strata(kept: Factor, left_out: set[Any], plan: ColumnRoles) -> None:
    """Raise for a stratum all of whose rows were left out: the estimate would be one for the others."""
    empty = sorted(left_out - _occurring(kept), key=str)
    if empty:
        named = listed(map(str, empty), len(empty), 30)
        raise MissingValueError("no-row-of-has-a-report", plan_strata=plan.strata, empty=named, strata=empty)


def _ratios(plan: dict[str, Any], before: Real | None) -> Real | None:
    """The smallest and the largest ratio of replicate weights to weights among the rows that a replicate keeps."""
    if "replicates" not in plan:
        return None
    replicates = plan["replicates"]
    weight = plan.get("weight", np.ones(len(replicates)))[:, None]
    ratio = np.divide(replicates, weight, out=np.full(replicates.shape, np.nan), where=(replicates > 0) & (weight > 0))
    low, high = np.where(np.isnan(ratio), np.inf, ratio), np.where(np.isnan(ratio), -np.inf, ratio)
    now = np.stack([low.min(axis=0, initial=np.inf), high.max(axis=0, initial=-np.inf)])
    return now if before is None else _extremes([now, before])


def _extremes(ratios: Sequence[Real]) -> Real:
    return np.stack([np.min([low for low, _ in ratios], axis=0), np.max([high for _, high in ratios], axis=0)])


def _products(plan: dict[str, Any], before: Real | None) -> Real | None:
    """Sums over rows of products of the ratios of two replicate weights to the weight, shape (R, R)."""
    if "replicates" not in plan:
        return None
    products = products_of_replicates(plan["replicates"], plan.get("weight"))
    return products if before is None else before + products


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

"""Estimates from a released file, as its receipt allows: the part of ``estimate`` that takes a receipt."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.core.display import Inside, data_frame
from maskwell.core.phrases import option
from maskwell.engines.cell_counts import count_rows
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.microdata.analysis import release_estimates as estimates
from maskwell.microdata.analysis.bias_bounds import COUNTS, Distortion, reach_of, under_plan
from maskwell.microdata.analysis.table_routes import (
    BOUNDED,
    SOLVED,
    bounded,
    check_release_sampling,
    has_plan,
    measure_of,
    measured,
    released_rows,
    route_of,
)
from maskwell.microdata.folder.receipt import Receipt, load_receipt
from maskwell.reports.pages.paper_tables import Table, document
from maskwell.reports.pictures.canvas import Picture, styled
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.report import GAP, Notes, Report
from maskwell.reports.text.estimate_report import after_analysis, analysis_report, analysis_table
from maskwell.verbs.inputs import names_of
from maskwell.verbs.questions import Question
from maskwell.verbs.sampled_rows import SampledRows
from maskwell.verbs.share_results import Shares


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedShares(Shares):
    """Shares of a released file whose receipt does not hold all designs: of one table, or of each column on its own."""

    # The tables, and columns that could not be estimated, with reasons
    columns: estimates.ReleasedColumns = field(kw_only=True)
    single: bool = field(kw_only=True)  # whether one table was asked for

    tables = Inside[Sequence[estimates.Analysis]]("columns.tables", "One for each table, in the order of the columns.")

    @classmethod
    def of(cls, columns: estimates.ReleasedColumns, question: Question) -> ReleasedShares:
        """With the level and the method of the question."""
        first, single = columns.tables[0], bool(question.columns)
        names = first.route.columns
        return cls(first.estimate, names, first.rows, first.dropped, question, columns=columns, single=single)

    def _more(self, what: str, content: Any) -> Shares:
        raise ParameterError("what-option-with-receipt", what_option=option(what))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell estimate --receipt --json`` gives it."""
        told: estimates.Analysis | estimates.ReleasedColumns = self.tables[0] if self.single else self.columns
        return told.to_dict(self.level, self.interval)

    def to_frame(self) -> Any:
        """A pandas table: a line for each category of each table, with the bound of its bias; 0 where it has none."""
        lines = [
            (", ".join(table.route.columns), *line)
            for table in self.tables
            for line in zip(
                table.estimate.categories,
                table.estimate.pi_hat,
                table.estimate.standard_error,
                np.zeros(len(table.estimate.pi_hat)) if table.estimate.bias is None else table.estimate.bias,
                *table.estimate.confidence_interval(self.level, self.interval).T,
                strict=True,
            )
        ]
        header = ["variable", "category", "estimate", "standard_error", "bias_bound", "low", "high"]
        return data_frame(dict(zip(header, map(list, zip(*lines, strict=True)), strict=True)))

    def plot(self, **options: Any) -> Picture:
        """The estimates of the one table with their intervals; ``options`` as for all pictures of estimates."""
        if len(self.tables) > 1:
            raise ParameterError("a-picture-shows-one-table")
        return styled(plot_learned, self.estimate, **{"level": self.level, "interval": self.interval, **options})

    def to_tables(  # type: ignore[override]  # its level is that of the result
        self, *, exact: bool = False
    ) -> list[Table]:
        """Tables for a paper; ``exact`` for programs: all digits."""
        return [analysis_table(table, self.level, self.interval, exact=exact) for table in self.tables]

    def lines(self, style: str) -> list[str]:
        """The tables below each other, in ``md``, ``latex``, ``html`` or ``csv``."""
        return document(self.to_tables(exact=style == "csv"), style)

    def to_report(  # type: ignore[override]  # the files of a release, in place of designs
        self, file: str = "FILE", receipt: str = "receipt.json", options: Any = None
    ) -> Report:
        """What it says to people; the names of the files and the options are for the hint at the end."""
        by = ",".join(self.by) or None
        reports = [
            analysis_report(table, self.level, self.interval, by=by, domains=table.domains) for table in self.tables
        ]
        first = self.tables[0].route.groups
        pair = first[0].columns if first and not self.single else ()
        following = after_analysis(file, receipt, options or {}, pair if len(pair) > 1 else ())
        further = [block for report in reports[1:] for block in (GAP, *report.blocks)]
        body = [*reports[0].body, *further, Notes(self.columns.not_estimated)]
        return Report(reports[0].headline, body, next_step=following)

    def __repr__(self) -> str:
        return "\n".join(self.to_report()[:-1])


def receipt_of(receipt: Receipt | str | os.PathLike[str]) -> Receipt:
    """A receipt, or the one that a file holds."""
    if isinstance(receipt, Receipt):
        return receipt
    check_kind(str | os.PathLike, receipt=receipt)
    return load_receipt(os.fspath(receipt))


def estimate_with_receipt(
    sampled: SampledRows, receipt: Receipt, question: Question, *, missing: str | None
) -> ReleasedShares:
    """One table of a released file, or every randomized column on its own where no columns are named."""
    rows, sampling, columns, by = sampled.rows, sampled.named, question.columns, question.by
    if has_plan(sampling):
        names = [columns] if columns else [(name,) for name in estimates.randomized_columns(receipt) if name not in by]
        tables = tuple(_under_plan(sampled, receipt, replace(question, columns=one), missing) for one in names)
        for one in tables:
            one.estimate.intervals(question.level, question.interval)
        return ReleasedShares.of(estimates.ReleasedColumns(tables), question)
    how: dict[str, Any] = {"target": question.target, "missing": missing, "progress": question.progress}
    how |= {"weights": sampling["weights"], "by": list(by)}
    if not columns:
        each = estimates.estimate_each_released(rows, receipt, level=question.level, interval=question.interval, **how)
        return ReleasedShares.of(each, question)
    table = estimates.estimate_released(rows, receipt, columns, **how)
    table.estimate.intervals(question.level, question.interval)  # refused before anything is written
    return ReleasedShares.of(estimates.ReleasedColumns((table,)), question)


def _under_plan(sampled: SampledRows, receipt: Receipt, question: Question, missing: str | None) -> estimates.Analysis:
    """One table under a sampling plan: as the survey of its released values, with what randomization did at most."""
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.estimate import answer

    if question.target == "file":
        raise ParameterError("target-with-a-sampling-plan")
    rows, sampling, columns, by = sampled.rows, sampled.named, question.columns, question.by
    routes = []
    for more in ((), by):
        one = measured(route_of(receipt, [*more, *columns]), receipt, sampling["weights"])
        check_release_sampling(sampling, receipt, one)
        routes.append(bounded(one) if one.kind == SOLVED else one)
    described = Survey(rows, {}, sampled.sampling, missing=receipt.missing if missing is None else missing)
    survey = answer(described, replace(question, interval=None))
    usual = survey.estimate
    assert isinstance(usual, SurveyEstimate)
    spread = estimates.weights_of(rows, receipt, sampling["weights"])
    # at most what was done to the table in this part of the released records; where it is kept, no bias
    done = [(one, Distortion.of(one.moves, spread, survey.rows / receipt.rows)) for one in routes]
    if survey.rows == receipt.rows and not routes[1].moved & {*by}:
        measure = COUNTS if sampling["weights"] is None else measure_of(receipt, sampling["weights"])
        tables = [receipt.tables.get((frozenset(route.columns), measure)) for route in routes]
        done = [(route, one.told(told, usual.n)) for (route, one), told in zip(done, tables, strict=True)]
    most, inner = (one if route.kind == BOUNDED else replace(one, bias=0.0) for route, one in done)
    reach = _reach(rows, receipt, sampling, survey.rows)
    share = usual.n / survey.rows if not spread.total else usual.population / spread.total  # of records with values
    shares = under_plan(usual, most.within(min(1.0, share)), reach / share)
    domains = {}
    for label, domain in usual.domains.items():
        part = domain.population / (usual.population / share) if domain.population > 0 else 1.0
        told = under_plan(domain, inner.within(min(1.0, part)), reach / part)
        domains[label if isinstance(label, tuple) else (label,)] = told
    other = [] if survey.rows == receipt.rows else [estimates.OTHER_ROWS.format(receipt.rows, survey.rows)]
    told = replace(shares, flags=(*shares.flags, f"sampling plan: {usual.plan_text}", *other), domains={})
    return estimates.Analysis(told, routes[0], survey.rows, survey.dropped, by=by, domains=domains)


def _reach(rows: Rows, receipt: Receipt, sampling: Mapping[str, Any], n: int) -> float:
    """How much of the weight one cluster has, with the factor of its stratum; infinite with replicates alone."""
    if sampling.get("replicates"):
        return math.inf
    clusters = [*names_of(sampling.get("clusters"), "clusters")][:1]
    strata = [sampling["strata"]] if sampling.get("strata") else []
    weights = sampling["weights"]
    if not clusters:
        fewest = 2.0 if strata else n / (n - 1)
        return estimates.weights_of(rows, receipt, weights).heaviest(1 / n) * fewest
    with released_rows(rows, [*strata, *clusters]) as (source, name):
        counted = count_rows(source, name, [(*strata, *clusters)], weights=weights)[0]
    return reach_of(counted, strata=bool(strata))

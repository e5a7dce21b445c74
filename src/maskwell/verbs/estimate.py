"""``estimate``: true shares behind the reports in a table, a file or counts, with standard errors and intervals."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, check_kind, check_option
from maskwell.core.categories import Categories
from maskwell.core.display import data_frame
from maskwell.core.exact import check_probability
from maskwell.core.phrases import listed, option
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.engines.assignments import Assignment, direct_design
from maskwell.errors import ParameterError, UnknownCategoryError
from maskwell.estimation.joint.collapse import of_sums, wanted_margin
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.sampling.sample_stages import Lonely
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Combination, Estimate, Sample
from maskwell.reports.report import Report
from maskwell.reports.text.crosstab_report import crosstab_content, crosstab_report, crosstab_table, table_in
from maskwell.reports.text.estimate_report import estimate_report, estimate_table
from maskwell.verbs.inputs import (
    Designs,
    Names,
    SurveyPlan,
    assignments_of,
    check_no_reports,
    check_progress,
    columns_of,
    names_of,
    rows_of,
)

if TYPE_CHECKING:
    from maskwell.engines.row_batches import Progress
    from maskwell.engines.row_sources import MemoryTable
    from maskwell.release.folder.receipt import Receipt
    from maskwell.reports.pages import paper_tables
    from maskwell.reports.pictures.canvas import Picture
    from maskwell.verbs.release_estimate import ReleaseEstimate


class ShareValues:
    """Values of the shares that a result is about, taken from its estimate."""

    estimate: Estimate
    level: float
    interval: str | None

    @property
    def categories(self) -> Sequence[Hashable]:
        """Labels of the shares."""
        return self.estimate.categories

    @property
    def pi_hat(self) -> Real:
        """Estimated shares, in the order of the categories."""
        return self.estimate.pi_hat

    @property
    def standard_error(self) -> Real:
        """Of the shares."""
        return self.estimate.standard_error

    @property
    def covariance(self) -> Real | None:
        """Of the shares; None where there are too many categories to hold it."""
        return self.estimate.covariance

    @property
    def n(self) -> int:
        """Number of reports."""
        return self.estimate.n

    @property
    def method(self) -> str:
        """How the shares were estimated."""
        return self.estimate.method

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        return self.estimate.flags

    def confidence_interval(self, level: float | None = None, method: str | None = None) -> Real:
        """Ends of the intervals, shape (k, 2)."""
        chosen = self.interval if method is None else method
        return self.estimate.confidence_interval(self.level if level is None else level, chosen)

    def contrast(self, coefficients: Any) -> Combination:
        """A sum of the shares with factors, and its standard error."""
        return self.estimate.contrast(coefficients)


@dataclass(frozen=True, eq=False, repr=False)
class EstimateResult(ShareValues):
    """Estimated true shares of the columns that were asked for.

    Attributes
    ----------
    estimate
        The shares with their errors: an :class:`Estimate`; a ``SurveyEstimate`` with totals and domains under a
        sampling plan. Its values and methods are at hand here too.
    variables
        The columns it is about.
    rows, dropped
        Rows that were read, and those left out because a value was missing.
    by
        The columns that tell the domains.
    answer
        Where the truths of a design are pairs: the variable that the question was about, and its shares.
    table
        The table of several columns, with margins, odds ratios and tests.
    level, interval
        Confidence level and method of the intervals that are shown.
    """

    estimate: Estimate
    variables: tuple[str, ...]
    rows: int
    dropped: int
    by: tuple[str, ...] = ()
    answer: tuple[str, Estimate] | None = None
    table: Table | None = None
    level: float = 0.95
    interval: str | None = None

    @property
    def domains(self) -> Mapping[Hashable, SurveyEstimate]:
        """An estimate for each domain, by its label."""
        return self.estimate.domains if isinstance(self.estimate, SurveyEstimate) else {}

    # ---- for people and programs

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell estimate --json`` gives it."""
        content, answer = self.estimate.to_dict(self.level, self.interval), {}
        if self.answer is not None:
            name, margin = self.answer
            answer = {"wanted": {"variable": name, **margin.to_dict(self.level, of_sums(self.interval))}}
        joint = {} if self.table is None else crosstab_content(self.table, self.level)
        rows = {"rows": self.rows, "dropped": self.dropped}
        return {"variables": list(self.variables), **content, **answer, **joint, **rows}

    def to_frame(self) -> Any:
        """A pandas table: a line for each category, for each domain where there are any."""
        if not self.domains:
            return self.estimate.to_frame(self.level, self.interval)
        lines = [
            (*(label if isinstance(label, tuple) and len(self.by) > 1 else (label,)), *line)
            for label, one in self.domains.items()
            for line in zip(
                one.categories,
                one.pi_hat,
                one.standard_error,
                *one.confidence_interval(self.level, self.interval).T,
                strict=True,
            )
        ]
        header = [*self.by, "category", "estimate", "standard_error", "low", "high"]
        return data_frame(dict(zip(header, map(list, zip(*lines, strict=True)), strict=True)))

    def plot(self) -> Picture:
        """The estimates with their intervals, those of the domains below each other."""
        from maskwell.plots import plot_learned

        shares, interval = (self.estimate, self.interval)
        if self.answer is not None:
            shares, interval = self.answer[1], of_sums(self.interval)
        return plot_learned(shares, level=self.level, interval=interval, by=",".join(self.by) or "group")

    def to_table(self, *, exact: bool = False) -> paper_tables.Table:
        """The table to paste into a paper; ``exact`` for programs: a line for each cell, all digits."""
        two = self.table is not None and len(self.table.names) == 2
        if self.table is not None and two and not self.by and self.interval is None and not exact:
            return crosstab_table(self.table, self.level)
        by = ",".join(self.by) or None
        if self.answer is not None:
            name, margin = self.answer
            return estimate_table(margin, [name], self.level, interval=of_sums(self.interval), by=by, exact=exact)
        return estimate_table(self.estimate, self.variables, self.level, interval=self.interval, by=by, exact=exact)

    def to_latex(self) -> str:
        """The table for a paper, in LaTeX with booktabs."""
        return "\n".join(self.to_table().lines("latex"))

    def to_markdown(self) -> str:
        """The table for a paper, in Markdown."""
        return "\n".join(self.to_table().lines("md"))

    def to_report(self, designs: Mapping[str, str] | None = None) -> Report:
        """What it says to people; ``designs`` names the design file of each column, for the hint at the end."""
        by = ",".join(self.by) or None
        report = estimate_report(
            self.estimate,
            self.variables,
            self.level,
            designs or {},
            interval=self.interval,
            by=by,
            wanted=self.answer,
            grid=None if self.table is None else crosstab_report(self.table, self.level),
        )
        if self.dropped:
            were = "was" if self.dropped == 1 else "were"
            what = "no report" if by is None else f"no report or no value of {by}"
            report = report.with_line(f"note: {self.dropped:,} of {self.rows:,} rows had {what} and {were} left out")
        return report

    def with_remarks(self, remarks: Sequence[str]) -> EstimateResult:
        """The same, with flags before those of the estimate."""
        return replace(self, estimate=replace(self.estimate, flags=(*remarks, *self.estimate.flags)))

    def __repr__(self) -> str:
        return repr(self.estimate)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.estimate._repr_html_()


def estimate(
    data: Any,
    designs: Designs | Design | None = None,
    *,
    direct: Names = None,
    receipt: Receipt | str | os.PathLike[str] | None = None,
    columns: Names = None,
    target: str = "population",
    by: Names = None,
    method: str = "moments",
    interval: str | None = None,
    level: Any = 0.95,
    counts: str | None = None,
    missing: str | None = None,
    weights: str | None = None,
    inclusion: str | None = None,
    strata: str | None = None,
    clusters: Names = None,
    population: Any = None,
    denominator: Any = None,
    replicates: str | None = None,
    replicate_method: str | None = None,
    fay: Any = None,
    poisson: bool = False,
    lonely: Lonely = "error",
    progress: Progress | None = None,
) -> EstimateResult | ReleaseEstimate:
    """Estimate the true shares behind randomized reports, as ``maskwell estimate`` does.

    Parameters
    ----------
    data
        A table of pandas, polars or Arrow, a dictionary of columns, or the path of a file; or counts of reports:
        ``Counts``, or a dictionary of numbers by report.
    designs
        The design, or its file, of each randomized column: ``{"answer": design}``. Several make the table of these
        columns. ``"answer[group=1]"`` names a group of rows that used a design of its own. For counts, the design.
    direct
        Columns that were asked directly, alone or with the others.
    receipt, columns, target
        In place of designs: the receipt of a released file, the columns of one table (every randomized column on its
        own where none are named), and whether shares are those of the ``"population"`` or of the original ``"file"``.
    by
        Columns whose values are domains: estimates for each of them too.
    method
        ``"moments"``, which are unbiased, or ``"ml"``, maximum likelihood, which stays within 0 and 1.
    interval, level
        Method and confidence level of the intervals.
    counts
        A column with the number of reports that each row stands for.
    missing
        Rows without a report: ``"error"``, ``"drop"`` them, or count them as the report ``"missing"``: ``"category"``.
        An error where nothing is said; with a receipt, as the receipt says.
    weights, inclusion, strata, clusters, population, denominator, replicates, replicate_method, fay, poisson, lonely
        How the rows were sampled: see :class:`maskwell.verbs.inputs.SurveyPlan`.
    progress
        Called with the rows read so far and the share of the file they are.

    >>> import maskwell as mw
    >>> warner = mw.make_design("warner", p="0.7")
    >>> shares = estimate({"answer": ["yes"] * 120 + ["no"] * 180}, {"answer": warner})
    >>> shares.pi_hat.round(3).tolist(), shares.standard_error.round(3).tolist()
    ([0.25, 0.75], [0.071, 0.071])
    >>> estimate({"yes": 120, "no": 180}, warner).pi_hat.round(3).tolist()   # counts tell the same
    [0.25, 0.75]
    """
    confidence = float(check_probability(level, "level", open_=True))
    check_progress(progress)
    check_option("method", method, ("moments", "ml"))
    check_option("target", target, ("population", "file"))
    check_option("missing", missing or "error", ("error", "drop", "category"))
    check_kind(str | None, counts=counts, interval=interval)
    plan = SurveyPlan(
        weights=weights,
        inclusion=inclusion,
        strata=strata,
        clusters=clusters,
        population=population,
        denominator=denominator,
        replicates=replicates,
        replicate_method=replicate_method,
        fay=fay,
        poisson=poisson,
        lonely=lonely,
    )
    domains = names_of(by, "by")
    _check_sources(receipt, columns, {"design": designs, "direct": direct, "counts": counts})
    reading = {"missing": missing, "counts": counts, "method": method, "by": domains, "progress": progress}
    shown: dict[str, Any] = {"level": confidence, "interval": interval}
    if receipt is not None:
        return _from_receipt(rows_of(data), receipt, columns_of(columns), target, plan, reading, shown)
    counted = counted_reports(data, designs)
    if counted is None:
        return _finished(_from_rows(rows_of(data), designs, direct, plan, reading), **shown)
    _check_counted({"direct": direct, "counts": counts, "missing": missing, "by": domains, **plan.named})
    return _finished(_from_counts(*counted, method), **shown)


def _finished(result: EstimateResult, *, level: float, interval: str | None) -> EstimateResult:
    """The result with its intervals, which are refused before anything is written."""
    result.estimate.intervals(level, interval)
    return replace(result, level=level, interval=interval)


def _from_rows(
    rows: str | MemoryTable, designs: Any, direct: Names, plan: SurveyPlan, reading: Mapping[str, Any]
) -> EstimateResult:
    randomized = () if isinstance(designs, Design) else assignments_of(designs)
    _check_columns(randomized, direct, designs)
    open_columns = [Assignment((name,), direct_design(rows, name)) for name in names_of(direct, "direct")]
    how = {**reading, "missing": reading["missing"] or "error"}
    return _answered(_Question(rows, tuple(randomized), tuple(open_columns), **how), plan)


def _from_receipt(
    rows: str | MemoryTable,
    receipt: Receipt | str | os.PathLike[str],
    columns: Sequence[str],
    target: str,
    plan: SurveyPlan,
    reading: Mapping[str, Any],
    shown: Mapping[str, Any],
) -> EstimateResult | ReleaseEstimate:
    """As a survey where the receipt holds the designs, else as the receipt allows."""
    from maskwell.release.analysis.table_routes import survey_of_release
    from maskwell.verbs.release_estimate import estimate_with_receipt, receipt_of

    told, asked = receipt_of(receipt), {"by": reading["by"], "target": target, "missing": reading["missing"]}
    sampling, method = vars(plan), reading["method"]
    survey = survey_of_release(rows, told, columns, sampling=sampling, method=method, **asked) if columns else None
    if survey is None:
        _check_moments(method)
        options = {**asked, **shown, "progress": reading["progress"]}
        return estimate_with_receipt(rows, told, columns, sampling=sampling, **options)
    weighted = replace(plan, weights=survey.weights)
    how = {**reading, "missing": survey.missing}
    result = _from_rows(rows, survey.assignments, survey.direct or None, weighted, how)
    return _finished(result.with_remarks(survey.remarks), **shown)


def _check_counted(others: Mapping[str, Any]) -> None:
    """Raise for what belongs to rows, where counts are given."""
    both = [name for name, value in others.items() if value]
    if both:
        raise ParameterError(
            f"{option(both[0])} with counts, which have no rows",
            hint="leave it out, or give the rows that were counted",
        )


def _check_sources(receipt: Any, columns: Any, others: Mapping[str, Any]) -> None:
    """Raise where what belongs to designs and to receipts is mixed."""
    if receipt is None and columns is not None:
        raise ParameterError(
            f"{option('columns')} without {option('receipt')}",
            hint=f"name the columns with {option('design')}, or give {option('receipt')}",
        )
    both = [name for name, value in others.items() if value]
    if receipt is not None and both:
        raise ParameterError(
            f"{option('receipt')} and {option(both[0])}",
            hint="a receipt says how every column was randomized: leave the other out",
        )


def _check_moments(method: str) -> None:
    if method == "ml":
        raise ParameterError(
            f"{option('method', 'ml')} with this receipt", hint="leave it out: its matrices are not all known"
        )


def counted_reports(data: Any, designs: Any) -> tuple[Counts, Design, str] | None:
    """Counts of reports with their design and the name of their column; None where the data are rows."""
    one = isinstance(data, Mapping) and bool(data) and all(_is_number(value) for value in data.values())
    if not isinstance(data, Counts) and not one:
        return None
    name, design = "answer", designs
    if isinstance(designs, Mapping) and len(designs) == 1:
        ((name, design),) = designs.items()
    if design is None or isinstance(design, Mapping):
        raise ParameterError(
            f"{0 if design is None else len(design)} designs for counts of one column", hint="give the one design"
        )
    design = read_design(design)
    return (data if isinstance(data, Counts) else _counts_by_report(data, design)), design, str(name)


def _counts_by_report(numbers: Mapping[Any, Any], design: Design) -> Counts:
    labels = [*design.outputs.labels] if isinstance(design.outputs, Categories) else []
    unknown = [label for label in numbers if label not in labels]
    if unknown:
        raise UnknownCategoryError(
            f"counts of {len(unknown)} reports that the design does not have",
            hint=f"its reports: {listed(map(str, labels), len(labels), 60)}",
            values=unknown,
        )
    return Sample.of([numbers.get(label, 0) for label in labels], design).counts


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _from_counts(counts: Counts, design: Design, name: str, method: str) -> EstimateResult:
    shares = _estimator(method)(counts, design)
    return EstimateResult(shares, (name,), counts.n, 0, answer=wanted_margin(shares, design))


def _check_columns(randomized: Sequence[Assignment], direct: Names, designs: Any) -> None:
    if isinstance(designs, Design):
        raise ParameterError("a design without its column", hint='name the column: {"answer": design}')
    if not randomized and direct is None:
        raise ParameterError(
            "no column to estimate", hint=f"name it with its design: {option('design', 'answer=design.json')}"
        )


@dataclass(frozen=True)
class _Question:
    """What is to be estimated from which rows."""

    rows: str | MemoryTable
    randomized: tuple[Assignment, ...]
    direct: tuple[Assignment, ...]
    missing: str
    counts: str | None
    method: str
    by: tuple[str, ...]
    progress: Progress | None

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """All columns, those that were asked directly last."""
        return (*self.randomized, *self.direct)

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns, each named once."""
        return tuple(dict.fromkeys(name for one in self.assignments for name in one.columns))

    @property
    def row_by_row(self) -> bool:
        """Whether rows used several designs, each of which tells the shares alone: then every row counts alike."""
        designs = [one.design for one in self.assignments if one.when]
        return bool(designs) and self.method == "moments" and all(design.identifiable for design in designs)

    @property
    def reading(self) -> dict[str, Any]:
        """How every counting pass reads the rows."""
        return {"missing": self.missing, "counts": self.counts, "progress": self.progress}


def _answered(question: _Question, plan: SurveyPlan) -> EstimateResult:
    result = _estimated_jointly(question, plan)
    if len({one.columns for one in question.assignments}) > 1:
        return replace(result, table=_table(result.estimate, question.assignments))
    design = question.assignments[0].design
    return result if design.wanted_place is None else replace(result, answer=wanted_margin(result.estimate, design))


def _table(shares: Estimate, assignments: Sequence[Assignment]) -> Table | None:
    """The table that several columns make, where all rows used one design for each."""
    if any(one.when for one in assignments):
        return None
    leaves = [(leaf, (name,)) for one in assignments for leaf, name in zip(one.leaves, one.columns, strict=True)]
    return table_in(shares, leaves)


def _estimated_jointly(question: _Question, plan: SurveyPlan) -> EstimateResult:
    columns = plan.columns(question.by)
    plan.check()
    check_no_reports(columns, [name for one in question.randomized for name in one.columns])
    if columns or question.row_by_row:
        return _by_plan(question, plan)
    if any(one.when for one in question.assignments):
        return _by_groups(question)
    return _by_counts(question)


def _estimator(method: str) -> Any:
    if method == "ml":
        from maskwell.estimation.maximum_likelihood import estimate_by_likelihood

        return estimate_by_likelihood
    from maskwell.estimation.moments import estimate_by_moments

    return estimate_by_moments


def _by_counts(question: _Question) -> EstimateResult:
    from maskwell.engines.report_counts import tally_file

    tally = tally_file(question.rows, question.assignments, **question.reading)
    shares = _estimator(question.method)(tally.counts, tally.design)
    return EstimateResult(shares, question.variables, tally.rows, tally.dropped)


def _by_groups(question: _Question) -> EstimateResult:
    from maskwell.engines.report_counts import tally_groups
    from maskwell.estimation.stacked_samples import estimate_samples

    tally = tally_groups(question.rows, question.assignments, **question.reading)
    samples = [Sample(one.counts, one.design) for one in tally.samples]
    shares = estimate_samples(samples, method=question.method)
    return EstimateResult(shares, question.variables, tally.rows, tally.dropped)


def _by_plan(question: _Question, plan: SurveyPlan) -> EstimateResult:
    from maskwell.engines.report_counts import tally_survey
    from maskwell.estimation.sampling.report_shares import estimate_simple
    from maskwell.estimation.sampling.weighted_survey import estimate_cells

    columns = plan.columns(question.by)
    if question.method == "ml" and not columns.only_domains:
        raise ParameterError(
            f"{option('method', 'ml')} with a sampling plan",
            hint="use moments: they are unbiased under any sampling plan",
        )
    tally = tally_survey(question.rows, question.assignments, columns, **question.reading)
    if columns.only_domains and not question.row_by_row:
        shares = estimate_simple(tally.cells, tally.designs, method=question.method)
        flags = *shares.flags, *_empty(tally.empty_domains, question.by)
    else:
        designs = dict(enumerate(tally.designs))
        shares = estimate_cells(tally.cells, designs, plan.scheme(tally), denominator=plan.size)
        flags = *shares.flags, *_empty(tally.empty_domains, question.by), *plan.assumed
    return EstimateResult(replace(shares, flags=flags), question.variables, tally.rows, tally.dropped, by=question.by)


def _empty(domains: Sequence[Any], by: Sequence[str]) -> tuple[str, ...]:
    """That some domains have no estimate, as none of their rows has a report."""
    labels = [" / ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in domains]
    names = listed(labels, len(labels), 40)
    return (f"no estimate for {','.join(by)} = {names}: none of its rows has a report",) * bool(labels)

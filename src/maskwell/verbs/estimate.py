"""``estimate``: true shares behind the reports in a table, a file or counts, with standard errors and intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwell.core.labels import in_one_type, level_key
from maskwell.core.phrases import design_of, listed, option
from maskwell.designs.design import Design
from maskwell.engines.assignments import Assignment, direct_design, label_orders
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.estimation.asked_quantities import Asked, QuantityTerms
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.sampling.row_conditions import OUTSIDE, Chosen
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate, with_device_noise
from maskwell.estimation.share_estimate import Estimate, Sample
from maskwell.estimation.summed_shares import wanted_margin
from maskwell.reports.text.crosstab_report import table_in
from maskwell.verbs.inputs import (
    Designs,
    Names,
    assignments_of,
    check_missing_codes,
    counted_reports,
    direct_columns,
)
from maskwell.verbs.questions import Question
from maskwell.verbs.sampled_rows import SampledRows, check_no_reports
from maskwell.verbs.share_results import Shares, with_quantities

if TYPE_CHECKING:
    from maskwell.core.row_sums import Cells
    from maskwell.engines.report_counts import SurveyTally
    from maskwell.engines.row_sources import Progress
    from maskwell.verbs.described_survey import Survey


def estimate(
    data: Any,
    designs: Designs | Design | None = None,
    sampling: Sampling | None = None,
    *,
    by: Names = None,
    where: str | Mapping[str, Any] | None = None,
    method: str = "moments",
    level: Any = 0.95,
    interval: str | None = None,
    missing: str | None = None,
    progress: Progress | None = None,
) -> Shares:
    """Estimate the true shares behind randomized reports, as ``maskwell estimate`` does.

    :class:`~maskwell.Survey`, which it asks, also takes codes of missing values, counts and released files.

    Parameters
    ----------
    data
        A table of pandas, polars, Arrow or Spark, a dictionary of columns, or the path of a file; or counts of reports:
        ``Counts``, or a dictionary of numbers by report.
    designs
        The design, or its file, of each randomized column: ``{"answer": design}``; None for a column that was asked
        directly. Several make the table of these columns. Where groups of rows used designs of their own:
        ``{"answer": [mw.When({"wave": 1}, first), mw.When({"wave": 2}, second)]}``. For counts, the design.
    sampling
        How the rows were drawn: :class:`~maskwell.Sampling`. A simple random sample by default.
    by
        Columns whose values are domains: estimates for each of them too.
    where
        Only rows that fit: ``{"region": "north"}``, or ``"region=north, age>=30"``. Under a sampling plan they are a
        domain of the whole sample.
    method
        ``"moments"``, which are unbiased, or ``"ml"``, maximum likelihood, which stays within 0 and 1.
    level, interval
        Confidence level and method of the intervals.
    missing
        Rows without a report: ``"error"``, ``"drop"`` them, or count them as the report ``"missing"``: ``"category"``.
    progress
        Called with the rows read so far and the share of the work that is done.

    >>> import maskwell as mw
    >>> warner = mw.design("warner", p="0.7")
    >>> shares = estimate({"answer": ["yes"] * 120 + ["no"] * 180}, {"answer": warner})
    >>> shares.pi_hat.round(3).tolist(), shares.standard_error.round(3).tolist()
    ([0.25, 0.75], [0.071, 0.071])
    >>> estimate({"yes": 120, "no": 180}, warner).pi_hat.round(3).tolist()   # the same from counts
    [0.25, 0.75]
    """
    from maskwell.verbs.described_survey import Survey

    survey = Survey(data, designs, Sampling() if sampling is None else sampling, missing=missing)
    return survey.shares(by=by, where=where, method=method, level=level, interval=interval, progress=progress)


def answer(survey: Survey, question: Question) -> Shares:
    """The shares that are asked for, from rows, counts or a released file."""
    if survey.receipt is not None:
        unread: dict[str, Any] = {"combine": question.asked or None, "where": question.where, "given": question.given}
        named = [name for name, value in unread.items() if value is not None]
        if named:
            raise ParameterError("named-option-with-receipt", named_option=option(named[0]))
        return _from_receipt(survey, question)
    counts_given = counted_reports(survey.data, survey.designs)
    if counts_given is None:
        assignments, direct = _chosen(survey, question.columns)
        result = _from_rows(survey, assignments, direct, question)
    else:
        unread = {"counts": survey.frequencies, "missing": survey.missing, "by": question.by, "where": question.where}
        unread |= {"missing_codes": survey.missing_codes is not None, "sampling": bool(survey.sampling)}
        both = [name for name, value in unread.items() if _is_given(value)]
        if both:
            raise ParameterError("with-counts-which-have-no-rows", both_option=option(both[0]))
        counts, design, name = counts_given
        _check_asked(question.asked, [Assignment((name,), design)], ())
        shares = with_device_noise(_estimator(question.method)(counts, design))
        shares.intervals(question.level, question.interval)  # refused before anything is written
        margin = wanted_margin(shares, design)
        result = Shares(shares, (name,), counts.n, 0, question, answer=margin, designs=((name, design),))
    names = () if result.table is None else result.table.names
    if question.given is not None and question.given not in names:
        known = f"one of {', '.join(names)}" if names else "it is for tables of several columns"
        raise ParameterError("given-is-no-variable", hint=known, given=question.given)

    def again(asked: tuple[Asked, ...]) -> Shares:
        """The same question with further quantities, such as sums of domains, which need the rows."""
        return answer(survey, replace(question, asked=asked))

    return replace(with_quantities(result, question.asked), again=again)


def _chosen(survey: Survey, columns: Sequence[str]) -> tuple[list[Assignment], tuple[str, ...]]:
    """The designs of the columns that are asked for, and those columns that were asked directly."""
    assignments, direct = assignments_of(survey.designs, survey.rows), direct_columns(survey.designs)
    if not columns:
        return assignments, direct
    chosen = [one for one in assignments if {*one.columns} & {*columns}]
    known = {name for one in chosen for name in one.columns}
    return chosen, tuple(name for name in columns if name not in known)


def _from_rows(survey: Survey, randomized: Sequence[Assignment], direct: Sequence[str], question: Question) -> Shares:
    if not randomized and not direct:
        raise ParameterError("no-column-to-estimate", design_of=design_of("answer"))
    check_missing_codes(survey.missing_codes, randomized)
    sampled = SampledRows.of(survey.rows, survey.sampling)
    open_columns = [Assignment((name,), direct_design(sampled.rows, name)) for name in direct]
    asked = _RowQuestion(
        question, sampled, tuple(randomized), tuple(open_columns), survey.missing or "error", survey.frequencies
    )
    if question.asked:
        _check_asked(question.asked, asked.assignments, question.by)
    return _answered(asked)


def _from_receipt(survey: Survey, question: Question) -> Shares:
    """As a survey where the receipt holds the designs, else as the receipt allows."""
    from maskwell.microdata.analysis.table_routes import survey_of_release
    from maskwell.verbs.release_estimate import estimate_with_receipt

    receipt, columns = survey.receipt, question.columns
    assert receipt is not None
    sampled = SampledRows.of(survey.rows, survey.sampling)
    asked: dict[str, Any] = {"by": question.by, "target": question.target, "missing": survey.missing}
    how: dict[str, Any] = {"sampling": sampled.named, "method": question.method}
    told = survey_of_release(sampled.rows, receipt, columns, **how, **asked) if columns else None
    if told is None:
        if question.method == "ml":
            raise ParameterError("method-with-this-receipt")
        return estimate_with_receipt(sampled, receipt, question, missing=survey.missing)
    weighted = replace(sampled.sampling, weights=told.weights)
    described = replace(survey, data=sampled.rows, sampling=weighted, missing=told.missing)
    shares = _from_rows(described, told.assignments, told.direct, question)
    return replace(shares, estimate=replace(shares.estimate, flags=(*told.remarks, *shares.flags)))


def _is_given(value: Any) -> bool:
    """Whether something was given; arrays and tables are, and have no truth value."""
    return bool(value) if value is None or isinstance(value, bool | str | Mapping | Sequence) else True


@dataclass(frozen=True)
class _RowQuestion:
    """A question with the rows it is asked of, and the columns that answer it."""

    question: Question
    sampled: SampledRows
    randomized: tuple[Assignment, ...]
    direct: tuple[Assignment, ...]
    missing: str
    counts: str | None

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """All columns, those that were asked directly last."""
        return (*self.randomized, *self.direct)

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns, each named once."""
        return tuple(dict.fromkeys(name for one in self.assignments for name in one.columns))

    @property
    def labelled(self) -> tuple[str, ...]:
        """The columns of conditions and domains."""
        where = self.question.where
        return tuple(dict.fromkeys((*(() if where is None else where.columns), *self.question.by)))

    @property
    def row_by_row(self) -> bool:
        """Whether rows used several designs, each of which identifies the shares: then every row counts equally."""
        designs = [one.design for one in self.assignments if one.when]
        return bool(designs) and self.question.method == "moments" and all(design.identifiable for design in designs)

    @property
    def reading(self) -> dict[str, Any]:
        """How every counting pass reads the rows."""
        return {"missing": self.missing, "counts": self.counts, "progress": self.question.progress}


def _answered(question: _RowQuestion) -> Shares:
    families = {one.design.provenance.get("family") for one in question.assignments}
    procedure = families.pop() if len(families) == 1 else None
    designs = tuple((",".join(one.columns), one.design) for one in question.randomized)
    raw = _estimated_jointly(question)
    result = replace(raw, estimate=with_device_noise(raw.estimate), procedure=procedure, designs=designs)
    result.estimate.intervals(result.level, result.interval)  # refused before anything is written
    if len({one.columns for one in question.assignments}) > 1:
        return replace(result, table=_table(result.estimate, question.assignments))
    design = question.assignments[0].design
    return result if design.wanted_place is None else replace(result, answer=wanted_margin(result.estimate, design))


def _table(shares: Estimate, assignments: Sequence[Assignment]) -> Table | None:
    """The table that several columns make; where groups of rows used designs of their own, from shares alone."""
    if any(one.when for one in assignments) and not isinstance(shares, SurveyEstimate):
        return None
    first = {one.columns: one for one in reversed(assignments)}
    columns = dict.fromkeys(one.columns for one in assignments)
    leaves = [(leaf, (name,)) for one in columns for leaf, name in zip(first[one].leaves, one, strict=True)]
    return table_in(shares, leaves)


def _estimated_jointly(question: _RowQuestion) -> Shares:
    from maskwell.engines.report_counts import tally_file
    from maskwell.estimation.stacked_samples import estimate_samples

    columns = question.sampled.columns(question.labelled)
    check_no_reports(columns, [name for one in question.randomized for name in one.columns])
    if columns or question.row_by_row:
        return _by_plan(question)
    method = question.question.method
    tally = tally_file(question.sampled.rows, question.assignments, **question.reading)
    if any(one.when for one in question.assignments):
        shares = estimate_samples([Sample(one.counts, one.design) for one in tally.samples], method=method)
    else:
        shares = _estimator(method)(tally.counts, tally.design)
    return Shares(shares, question.variables, tally.rows, tally.dropped, question.question)


def _estimator(method: str) -> Any:
    if method == "ml":
        from maskwell.estimation.maximum_likelihood import estimate_by_likelihood

        return estimate_by_likelihood
    from maskwell.estimation.moments import estimate_by_moments

    return estimate_by_moments


def _by_plan(question: _RowQuestion) -> Shares:
    from maskwell.engines.report_counts import tally_survey
    from maskwell.estimation.sampling.report_shares import estimate_simple

    sampled, where, by = question.sampled, question.question.where, question.question.by
    method = question.question.method
    columns = sampled.columns(question.labelled)
    if method == "ml" and not columns.only_domains:
        raise ParameterError("method-with-a-sampling-plan-use")
    tally = tally_survey(question.sampled.rows, question.assignments, columns, **question.reading)
    chosen = None if where is None else where.chosen(tally.cells, by)
    if columns.only_domains and not question.row_by_row:
        cells = tally.cells if chosen is None else chosen.alone(domains=bool(by))
        shares = estimate_simple(cells, tally.designs, method=method, between=_between(question, tally, cells))
        assumed: tuple[str, ...] = ()
    else:
        shares, assumed = _planned(tally, chosen, question), sampled.assumed
    flags = *shares.flags, *(() if chosen else _empty(tally.empty_domains, by)), *assumed
    shares = replace(shares, flags=flags, domains=_in_order(shares.domains, question.sampled.rows, by))
    return Shares(shares, question.variables, tally.rows, tally.dropped, question.question)


def _in_order(domains: Mapping[Any, Any], rows: Rows, by: Sequence[str]) -> dict[Any, Any]:
    """Domains in the order of the labels of their columns, whose types do not depend on the kind of the table."""
    keys = [level_key(given) for given in label_orders(rows, by)] if domains else []
    if len(keys) == 1:
        ordered = sorted(domains, key=keys[0])
        return dict(zip(in_one_type(ordered), map(domains.__getitem__, ordered), strict=True))
    tuples = sorted(domains, key=lambda one: [key(label) for key, label in zip(keys, one, strict=True)])
    typed = [_typed([one[place] for one in tuples]) for place in range(len(keys))]
    return dict(zip(zip(*typed, strict=True), map(domains.__getitem__, tuples), strict=True))


def _typed(labels: Sequence[Any]) -> list[Any]:
    """Labels, some of them several times, in the type that they have in every kind of table."""
    different = [*dict.fromkeys(labels)]
    types = dict(zip(different, in_one_type(different), strict=True))
    return [types[label] for label in labels]


def _planned(tally: SurveyTally, chosen: Chosen | None, question: _RowQuestion) -> SurveyEstimate:
    """Under a sampling plan; rows that were chosen are a domain, and their domains are domains of all rows."""
    from maskwell.estimation.sampling.weighted_survey import estimate_cells

    designs, scheme = dict(enumerate(tally.designs)), question.sampled.scheme(tally)
    if chosen is None:
        between = _between(question, tally, tally.cells)
        return estimate_cells(tally.cells, designs, scheme, denominator=question.sampled.sampling.size, between=between)
    whole = estimate_cells(chosen.as_domain(), designs, scheme).domains[True]
    if not question.question.by:
        return whole
    cells = chosen.with_domains()
    inner = estimate_cells(cells, designs, scheme, between=_between(question, tally, cells))
    domains = {label: one for label, one in inner.domains.items() if label is not OUTSIDE}
    return replace(whole, domains=domains, between=inner.between)


def _between(question: _RowQuestion, tally: SurveyTally, cells: Cells) -> list[Mapping[Hashable, float]]:
    """The sums of domains that were asked for, with the factor of each domain."""
    contrasts = [one for one in question.question.asked if one.what != "ratio"]
    if not contrasts or not question.question.by:
        return []
    domains = [label for label in cells.domain.labels.tolist() if label is not OUTSIDE]
    known = _labels_of(question.assignments)
    labels = tally.designs[0].inputs.labels if known is None else known  # of the design of all columns together
    return [one.groups for one in QuantityTerms.of(contrasts, labels, domains).groups] if domains else []


def _empty(domains: Sequence[Any], by: Sequence[str]) -> tuple[str, ...]:
    """That some domains have no estimate, as none of their rows has a report."""
    labels = [" / ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in domains]
    names = listed(labels, len(labels), 40)
    return (f"no estimate for {','.join(by)} = {names}: none of its rows has a report",) * bool(labels)


def _labels_of(assignments: Sequence[Assignment]) -> Sequence[Hashable] | None:
    """The categories of one question, which are known before its rows are read; None for several."""
    if len({one.columns for one in assignments}) > 1:
        return None
    design = assignments[0].design
    place, labels = design.wanted_place, design.inputs.labels
    if place is None:
        return labels
    return [*dict.fromkeys(label[place] for label in labels if isinstance(label, tuple))]


def _check_asked(asked: Sequence[Asked], assignments: Sequence[Assignment], by: Sequence[str]) -> None:
    """Raise for unknown labels, before any row is read; contrasts may be between domains, which rows define."""
    labels = _labels_of(assignments)
    if labels is not None:
        QuantityTerms.of([one for one in asked if one.what != "contrast" or not by], labels)

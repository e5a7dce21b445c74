"""``estimate``: true shares behind the reports in a table, a file or counts, with standard errors and intervals."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import check_kind, check_option
from maskwell.core.exact import check_probability
from maskwell.core.labels import in_one_type, level_key
from maskwell.core.phrases import design_of, listed, option
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.engines.assignments import Assignment, direct_design, label_orders
from maskwell.errors import ParameterError
from maskwell.estimation.device_noise import with_device_noise
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.named_quantities import (
    PARAMETERS,
    Asked,
    QuantityTerms,
    asked_of,
    parameters_of,
    quantities_of,
)
from maskwell.estimation.sampling.row_conditions import OUTSIDE, Chosen, RowConditions
from maskwell.estimation.sampling.sample_stages import Lonely
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate, Sample
from maskwell.estimation.share_intervals import with_seed
from maskwell.estimation.summed_shares import wanted_margin
from maskwell.reports.text.crosstab_report import table_in
from maskwell.verbs.inputs import (
    Designs,
    Names,
    SurveyPlan,
    assignments_of,
    check_missing_codes,
    check_no_reports,
    check_progress,
    columns_of,
    counted_reports,
    names_of,
    rows_of,
)
from maskwell.verbs.share_results import EstimateResult

if TYPE_CHECKING:
    from maskwell.core.cells import Cells
    from maskwell.engines.report_counts import SurveyTally
    from maskwell.engines.row_sources import MemoryTable, Progress
    from maskwell.release.folder.receipt import Receipt
    from maskwell.verbs.release_estimate import ReleaseEstimate


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
    seed: int | None = None,
    level: Any = 0.95,
    counts: str | None = None,
    missing: str | None = None,
    missing_codes: Any = None,
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
    combine: Any = None,
    contrast: Any = None,
    ratio: Any = None,
    where: str | Mapping[str, Any] | None = None,
    given: str | None = None,
    progress: Progress | None = None,
) -> EstimateResult | ReleaseEstimate:
    """Estimate the true shares behind randomized reports, as ``maskwell estimate`` does.

    Parameters
    ----------
    data
        A table of pandas, polars, Arrow or Spark, a dictionary of columns, or the path of a file; or counts of reports:
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
    interval, seed, level
        Method and confidence level of the intervals; ``"bootstrap"`` needs a seed, a whole number.
    counts
        A column with the number of reports that each row stands for.
    missing
        Rows without a report: ``"error"``, ``"drop"`` them, or count them as the report ``"missing"``: ``"category"``.
        An error where nothing is said; with a receipt, as the receipt says.
    missing_codes
        Values that stand for a missing one, as texts or numbers: ``["NA", 99]`` in every column that is read, or by
        column, ``{"age": [98, 99]}``.
    weights, inclusion, strata, clusters, population, denominator, replicates, replicate_method, fay, poisson, lonely
        How the rows were sampled: see :class:`maskwell.verbs.inputs.SurveyPlan`.
    combine
        Sums of categories by their labels: ``{"any": ["once", "often"]}``, or ``"any=once+often"``.
    contrast
        Sums with factors, of categories or combinations, or of domains: ``{"gap": {"often": 1, "never": -1}}``, a pair
        for a difference, or ``"gap=often-never"``.
    ratio
        One sum over another: ``{"heavy": ("often", ["once", "often"])}``, or ``"heavy=often/once+often"``.
    where
        Only rows that fit: ``{"region": "north"}``, or ``"region=north, age>=30"``. Under a sampling plan they are a
        domain of the whole sample.
    given
        For a table: the variable within whose categories shares are shown; the first by default.
    progress
        Called with the rows read so far and the share of the work that is done.

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
    check_option("missing", "error" if missing is None else missing, ("error", "drop", "category"))
    check_kind(str | None, counts=counts, interval=interval)
    interval = with_seed(interval, seed)
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
    quantities = {"combine": combine, "contrast": contrast, "ratio": ratio}
    asked = _asked(quantities)
    conditions = None if where is None else RowConditions.of(where)
    sources = {"design": designs, "direct": direct, "counts": counts, "missing_codes": missing_codes is not None}
    _check_sources(receipt, columns, sources)
    reading: dict[str, Any] = {"missing": missing, "counts": counts, "method": method, "by": domains}
    reading["progress"] = progress
    intervals: dict[str, Any] = {"level": confidence, "interval": interval}
    if receipt is not None:
        _check_no_quantities({**quantities, "where": where, "given": given})
        return _from_receipt(rows_of(data), receipt, columns_of(columns), target, plan, reading, intervals)
    counts_given = counted_reports(data, designs)
    if counts_given is None:
        reading |= {"asked": asked, "conditions": conditions}
        result = _from_rows(rows_of(data, missing_codes), designs, direct, plan, reading, missing_codes)
    else:
        unread = {"direct": direct, "counts": counts, "missing": missing, "by": domains, "where": where}
        _check_counted({**unread, "missing_codes": missing_codes is not None, **plan.named})
        result = _from_counts(*counts_given, method, asked)
    return _with_quantities(_with_given(_finished(result, **intervals), given), asked)


def _asked(quantities: Mapping[str, Any]) -> tuple[Asked, ...]:
    """What was asked for by name."""
    return tuple(one for what, content in quantities.items() if content is not None for one in asked_of(what, content))


def _with_quantities(result: EstimateResult, asked: tuple[Asked, ...]) -> EstimateResult:
    """The result with the quantities that were asked for; those that a procedure is there for come first."""
    base = result.estimate if result.answer is None else result.answer[1]
    if result.procedure in PARAMETERS:
        asked = *parameters_of(result.procedure, base.categories, [one.name for one in asked]), *asked
    if not asked:
        return result
    between = result.estimate.between if isinstance(result.estimate, SurveyEstimate) else ()
    quantities = quantities_of(base, between, asked, result.level, result.interval)
    return replace(result, quantities=quantities, asked=asked)


def _finished(result: EstimateResult, *, level: float, interval: str | None) -> EstimateResult:
    """The result with its intervals, which are refused before anything is written."""
    result.estimate.intervals(level, interval)
    return replace(result, level=level, interval=interval)


def _with_given(result: EstimateResult, given: str | None) -> EstimateResult:
    """The result with the direction in which its table is read."""
    if given is None:
        return result
    names = () if result.table is None else result.table.names
    if given not in names:
        known = f"one of {', '.join(names)}" if names else "it is for tables of several columns"
        raise ParameterError(f"{option('given')} {given} is no variable of the table", hint=known)
    return replace(result, given=given)


def _check_no_quantities(asked: Mapping[str, Any]) -> None:
    """Raise for what is not worked out from released files."""
    named = [name for name, value in asked.items() if value is not None]
    if named:
        raise ParameterError(
            f"{option(named[0])} with {option('receipt')}",
            hint="leave it out: a released file is estimated as its receipt allows",
        )


def _from_rows(
    rows: str | MemoryTable,
    designs: Any,
    direct: Names,
    plan: SurveyPlan,
    reading: Mapping[str, Any],
    missing_codes: Any = None,
) -> EstimateResult:
    randomized = assignments_of(designs, rows)
    if not randomized and not names_of(direct, "direct"):
        raise ParameterError("no column to estimate", hint=f"name it with its design: {design_of('answer')}")
    check_missing_codes(missing_codes, randomized)
    open_columns = [Assignment((name,), direct_design(rows, name)) for name in names_of(direct, "direct")]
    how = {**reading, "missing": reading["missing"] or "error"}
    question = _Question(rows, tuple(randomized), tuple(open_columns), **how)
    if question.asked:
        _check_asked(question.asked, question.assignments, question.by)
    return _answered(question, plan)


def _from_receipt(
    rows: str | MemoryTable,
    receipt: Receipt | str | os.PathLike[str],
    columns: Sequence[str],
    target: str,
    plan: SurveyPlan,
    reading: Mapping[str, Any],
    intervals: Mapping[str, Any],
) -> EstimateResult | ReleaseEstimate:
    """As a survey where the receipt holds the designs, else as the receipt allows."""
    from maskwell.release.analysis.table_routes import survey_of_release
    from maskwell.verbs.release_estimate import estimate_with_receipt, receipt_of

    told, asked = receipt_of(receipt), {"by": reading["by"], "target": target, "missing": reading["missing"]}
    sampling, method = vars(plan), reading["method"]
    survey = survey_of_release(rows, told, columns, sampling=sampling, method=method, **asked) if columns else None
    if survey is None:
        _check_moments(method)
        options = {**asked, **intervals, "progress": reading["progress"]}
        return estimate_with_receipt(rows, told, columns, sampling=sampling, **options)
    weighted = replace(plan, weights=survey.weights)
    how = {**reading, "missing": survey.missing}
    result = _from_rows(rows, survey.assignments, survey.direct or None, weighted, how)
    return _finished(result.with_remarks(survey.remarks), **intervals)


def _check_counted(others: Mapping[str, Any]) -> None:
    """Raise for what belongs to rows, where counts are given."""
    both = [name for name, value in others.items() if _is_given(value)]
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
    both = [name for name, value in others.items() if _is_given(value)]
    if receipt is not None and both:
        raise ParameterError(
            f"{option('receipt')} and {option(both[0])}",
            hint="a receipt says how every column was randomized: leave the other out",
        )


def _is_given(value: Any) -> bool:
    """Whether something was given; arrays and tables are, and have no truth value."""
    return bool(value) if value is None or isinstance(value, bool | str | Mapping | Sequence) else True


def _check_moments(method: str) -> None:
    if method == "ml":
        raise ParameterError(
            f"{option('method', 'ml')} with this receipt", hint="leave it out: its matrices are not all known"
        )


def _from_counts(counts: Counts, design: Design, name: str, method: str, asked: Sequence[Asked]) -> EstimateResult:
    _check_asked(asked, [Assignment((name,), design)], ())
    shares = with_device_noise(_estimator(method)(counts, design))
    margin = wanted_margin(shares, design)
    return EstimateResult(shares, (name,), counts.n, 0, answer=margin, designs=((name, design),))


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
    asked: tuple[Asked, ...] = ()
    conditions: RowConditions | None = None

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """All columns, those that were asked directly last."""
        return (*self.randomized, *self.direct)

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns, each named once."""
        return tuple(dict.fromkeys(name for one in self.assignments for name in one.columns))

    @property
    def told_by(self) -> tuple[str, ...]:
        """The columns that tell the domains and what rows are meant."""
        return tuple(dict.fromkeys((*(() if self.conditions is None else self.conditions.columns), *self.by)))

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
    families = {one.design.provenance.get("family") for one in question.assignments}
    procedure = families.pop() if len(families) == 1 else None
    designs = tuple((",".join(one.columns), one.design) for one in question.randomized)
    raw = _estimated_jointly(question, plan)
    result = replace(raw, estimate=with_device_noise(raw.estimate), procedure=procedure, designs=designs)
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
    columns = plan.columns(question.told_by)
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

    columns = plan.columns(question.told_by)
    if question.method == "ml" and not columns.only_domains:
        raise ParameterError(
            f"{option('method', 'ml')} with a sampling plan",
            hint="use moments: they are unbiased under any sampling plan",
        )
    tally = tally_survey(question.rows, question.assignments, columns, **question.reading)
    chosen = None if question.conditions is None else question.conditions.chosen(tally.cells, question.by)
    if columns.only_domains and not question.row_by_row:
        cells = tally.cells if chosen is None else chosen.alone(domains=bool(question.by))
        shares = estimate_simple(cells, tally.designs, method=question.method, between=_between(question, tally, cells))
        assumed: tuple[str, ...] = ()
    else:
        shares, assumed = _planned(tally, chosen, question, plan), plan.assumed
    flags = *shares.flags, *(() if chosen else _empty(tally.empty_domains, question.by)), *assumed
    return EstimateResult(
        replace(shares, flags=flags, domains=_in_order(shares.domains, question)),
        question.variables,
        tally.rows,
        tally.dropped,
        by=question.by,
        where=None if question.conditions is None else question.conditions.text,
    )


def _in_order(domains: Mapping[Any, Any], question: _Question) -> dict[Any, Any]:
    """Domains in the order of the labels of their columns, whose types do not depend on the kind of the table."""
    keys = [level_key(given) for given in label_orders(question.rows, question.by)] if domains else []
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


def _planned(tally: SurveyTally, chosen: Chosen | None, question: _Question, plan: SurveyPlan) -> SurveyEstimate:
    """Under a sampling plan; rows that were chosen are a domain, and their domains are domains of all rows."""
    from maskwell.estimation.sampling.weighted_survey import estimate_cells

    designs, scheme = dict(enumerate(tally.designs)), plan.scheme(tally)
    if chosen is None:
        between = _between(question, tally, tally.cells)
        return estimate_cells(tally.cells, designs, scheme, denominator=plan.size, between=between)
    whole = estimate_cells(chosen.as_domain(), designs, scheme).domains[True]
    if not question.by:
        return whole
    cells = chosen.with_domains()
    inner = estimate_cells(cells, designs, scheme, between=_between(question, tally, cells))
    domains = {label: one for label, one in inner.domains.items() if label is not OUTSIDE}
    return replace(whole, domains=domains, between=inner.between)


def _between(question: _Question, tally: SurveyTally, cells: Cells) -> list[Mapping[Hashable, float]]:
    """The sums of domains that were asked for, with the factor of each domain."""
    if not question.asked or not question.by:
        return []
    labels = [label for label in cells.domain.labels.tolist() if label is not OUTSIDE]
    return _sums_between(question.asked, question.assignments, tally.designs[0], labels)


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
    """Raise for labels that are none, before any row is read; contrasts may be between domains, which rows tell."""
    labels = _labels_of(assignments)
    if labels is not None:
        QuantityTerms.of([one for one in asked if one.what != "contrast" or not by], labels)


def _sums_between(
    asked: Sequence[Asked], assignments: Sequence[Assignment], design: Design, domains: Sequence[Hashable]
) -> list[Mapping[Hashable, float]]:
    """The sums of domains that were asked for, with the factor of each; ``design`` is that of all columns together."""
    contrasts = [one for one in asked if one.what != "ratio"]
    if not domains or not contrasts:
        return []
    known = _labels_of(assignments)
    terms = QuantityTerms.of(contrasts, design.inputs.labels if known is None else known, domains)
    return [one.groups for one in terms.groups if one.groups is not None]

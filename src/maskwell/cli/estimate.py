"""``maskwell estimate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.estimate_receipt import (
    AskedOfRelease,
    as_survey,
    check_options,
    estimate_release,
    receipt_options,
)
from maskwell.cli.options import (
    FilePath,
    check_one_form,
    designs_if_any_option,
    example,
    format_option,
    json_option,
    missing_option,
    read_assignments,
    show_values_option,
)
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.cli.pictures import check_plot, plot_content, plot_options, with_plot, write_plot
from maskwell.cli.sampling import (
    check_columns,
    check_plan,
    denominator_of,
    flags_of_options,
    in_options,
    plan_columns,
    sampling_options,
    scheme_of,
)
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwell.engines.columns import Assignment
    from maskwell.estimation.joint.joint_table import Table
    from maskwell.estimation.share_estimate import Estimate
    from maskwell.reports import publish
    from maskwell.reports.picture import Picture

INTERVALS = ["wald", "logit", "score", "exact", "profile", "bonferroni", "scheffe", "wilson"]


@click.command(
    epilog=example(
        "printf 'answer,n\\nyes,120\\nno,180\\n' > counts.csv",
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell estimate counts.csv --design answer=warner.json --counts n",
    )
)
@click.argument("file", type=FilePath())
@designs_if_any_option
@click.option("--direct", metavar="COL,...", help="Columns that were asked directly, alone or with the others.")
@receipt_options
@click.option("--by", metavar="COL,...", help="Estimate for each value of these columns, too.")
@click.option(
    "--method",
    type=click.Choice(["moments", "ml"]),
    default="moments",
    show_default=True,
    help="Unbiased moment estimates, or maximum likelihood, which stays within 0 and 1.",
)
@click.option(
    "--interval",
    type=click.Choice(INTERVALS),
    help="Method of the intervals; score for one yes-or-no question without a plan, else wald.",
)
@click.option("--level", default="0.95", show_default=True, metavar="LEVEL", help="Confidence level of the intervals.")
@sampling_options()
@click.option("--counts", metavar="COL", help="Column with the number of reports that each row stands for.")
@missing_option
@format_option
@plot_options("the estimates with their intervals")
@show_values_option
@json_option
def estimate(
    file: str,
    designs: tuple[str, ...],
    *,
    direct: str | None,
    receipt: str | None,
    columns: str | None,
    target: str,
    by: str | None,
    method: str,
    interval: str | None,
    level: str,
    counts: str | None,
    missing: str,
    style: str,
    plot: str | None,
    force: bool,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Estimate the true shares behind the reports in FILE, with standard errors and intervals.

    Several --design give the table of all these columns together. --weights, --strata, --clusters, --population and
    --replicates say how the rows were sampled; without them they are a simple random sample of a large population.

    --receipt in place of --design estimates from a released file, as its receipt allows.
    """
    from maskwell.core.exact import check_probability

    check_one_form(style, as_json=as_json)
    confidence = float(check_probability(level, "level", open_=True))
    check_options(receipt, columns, {"--design": designs, "--direct": direct, "--counts": counts})
    fixed = None
    if receipt is not None:
        how = missing if _is_given("missing") else None
        asked_of = AskedOfRelease(file, receipt, columns, by, target, how, confidence, interval, sampling)
        fixed = as_survey(asked_of, method)
        if fixed is None:
            _check_moments(method)
            estimate_release(asked_of, style=style, plot=plot, force=force, as_json=as_json)
            return
        missing, sampling = fixed.missing, fixed.sampling
    if fixed is None and not designs and direct is None:
        raise ParameterError("no column to estimate", hint="name it with its design: --design answer=design.json")
    check_plot(plot, force=force, inputs=[file])
    assignments, paths = read_assignments(designs) if fixed is None else (fixed.assignments, {})
    open_columns = _direct(file, direct) if fixed is None else _directly(file, fixed.direct)
    asked = _Asked(file, tuple(assignments), tuple(open_columns), missing, counts, method, by)
    with Progress() as progress:
        found = _estimated(asked, sampling, progress)
    if fixed is not None:
        found = found.with_remarks(fixed.remarks)
    found.estimate.intervals(confidence, interval)  # refused before anything is written
    drawn = write_plot(plot, plot_content(plot, lambda: found.picture(confidence, interval)), force=force)
    if as_json:
        print_json({**found.to_dict(confidence, interval), **drawn})
    elif style == "text":
        print_lines(with_plot(found.text(confidence, interval, paths), plot))
    else:
        print_lines(found.published(confidence, interval, exact=style == "csv").lines(style))


@dataclass(frozen=True)
class _Asked:
    """What is to be estimated from which file."""

    file: str
    randomized: tuple[Assignment, ...]
    direct: tuple[Assignment, ...]
    missing: str
    counts: str | None
    method: str
    by: str | None

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """All columns, those that were asked directly last."""
        return (*self.randomized, *self.direct)

    @property
    def row_by_row(self) -> bool:
        """Whether rows used several designs, each of which tells the shares alone: then every row counts alike."""
        designs = [one.design for one in self.assignments if one.when]
        return bool(designs) and self.method == "moments" and all(design.identifiable for design in designs)


@dataclass(frozen=True)
class _Found:
    """An estimate, the columns it is about, and how many rows it rests on."""

    estimate: Estimate
    variables: list[str]
    rows: int
    dropped: int
    by: str | None = None
    wanted: tuple[str, Estimate] | None = None
    table: Table | None = None

    def with_remarks(self, remarks: Sequence[str]) -> _Found:
        """The same, with flags before those of the estimate."""
        return replace(self, estimate=replace(self.estimate, flags=(*remarks, *self.estimate.flags)))

    def to_dict(self, level: float, interval: str | None) -> dict[str, Any]:
        """Plain values for JSON."""
        from maskwell.estimation.joint.collapse import of_sums
        from maskwell.reports.text_table import joint_content

        found, wanted = self.estimate.to_dict(level, interval), {}
        if self.wanted is not None:
            name, margin = self.wanted
            wanted = {"wanted": {"variable": name, **margin.to_dict(level, of_sums(interval))}}
        joint = {} if self.table is None else joint_content(self.table, level)
        return {"variables": self.variables, **found, **wanted, **joint, "rows": self.rows, "dropped": self.dropped}

    def text(self, level: float, interval: str | None, paths: dict[str, str]) -> list[str]:
        """Lines for people."""
        from maskwell.reports.text_estimate import estimate_text
        from maskwell.reports.text_table import joint_lines

        lines = estimate_text(
            self.estimate,
            self.variables,
            level,
            paths,
            interval=interval,
            by=self.by,
            wanted=self.wanted,
            grid=None if self.table is None else joint_lines(self.table, level),
        )
        if self.dropped:
            were = "was" if self.dropped == 1 else "were"
            what = "no report" if self.by is None else f"no report or no value of {self.by}"
            lines.insert(-1, f"note: {self.dropped:,} of {self.rows:,} rows had {what} and {were} left out")
        return lines

    def published(self, level: float, interval: str | None, *, exact: bool = False) -> publish.Table:
        """The table to paste into a paper; ``exact`` for programs: a line for each cell, all digits."""
        from maskwell.estimation.joint.collapse import of_sums
        from maskwell.reports.text_estimate import estimate_table
        from maskwell.reports.text_table import published

        two = self.table is not None and len(self.table.names) == 2
        if self.table is not None and two and self.by is None and interval is None and not exact:
            return published(self.table, level)
        if self.wanted is not None:
            name, margin = self.wanted
            return estimate_table(margin, [name], level, interval=of_sums(interval), by=self.by, exact=exact)
        return estimate_table(self.estimate, self.variables, level, interval=interval, by=self.by, exact=exact)

    def picture(self, level: float, interval: str | None) -> Picture:
        """The estimates with their intervals."""
        from maskwell.estimation.joint.collapse import of_sums
        from maskwell.reports.plots import plot_learned

        if self.wanted is not None:
            return plot_learned(self.wanted[1], level=level, interval=of_sums(interval), by=self.by or "group")
        return plot_learned(self.estimate, level=level, interval=interval, by=self.by or "group")


def _is_given(name: str) -> bool:
    """Whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _check_moments(method: str) -> None:
    if method == "ml":
        raise ParameterError("--method ml with this receipt", hint="leave it out: its matrices are not all known")


def _estimated(asked: _Asked, sampling: dict[str, Any], progress: Progress) -> _Found:
    from maskwell.estimation.joint.collapse import wanted_margin

    found = _estimated_jointly(asked, sampling, progress)
    if len({one.columns for one in asked.assignments}) > 1:
        return replace(found, table=_table(found, asked.assignments))
    return replace(found, wanted=wanted_margin(found.estimate, asked.assignments[0].design))


def _table(found: _Found, assignments: Sequence[Assignment]) -> Table | None:
    """The table that several columns make, where all rows used one design for each."""
    from maskwell.reports.text_table import table_in

    if any(one.when for one in assignments):
        return None
    leaves = [(leaf, (name,)) for one in assignments for leaf, name in zip(one.leaves, one.columns, strict=True)]
    return table_in(found.estimate, leaves)


def _estimated_jointly(asked: _Asked, sampling: dict[str, Any], progress: Progress) -> _Found:
    plan = plan_columns(sampling, asked.by)
    check_plan(sampling)
    check_columns(plan, [name for one in asked.randomized for name in one.columns])
    variables = [*dict.fromkeys(name for one in asked.assignments for name in one.columns)]
    if plan or asked.row_by_row:
        return _by_plan(asked, sampling, variables, progress)
    if any(one.when for one in asked.assignments):
        return _by_groups(asked, variables, progress)
    return _by_counts(asked, variables, progress)


def _by_counts(asked: _Asked, variables: list[str], progress: Progress) -> _Found:
    from maskwell.engines.tally import tally_file

    tally = tally_file(asked.file, asked.assignments, missing=asked.missing, counts=asked.counts, progress=progress)
    if asked.method == "ml":
        from maskwell.estimation.maximum_likelihood import estimate_by_likelihood as estimator
    else:
        from maskwell.estimation.moments import estimate_by_moments as estimator
    return _Found(estimator(tally.counts, tally.design), variables, tally.rows, tally.dropped)


def _by_groups(asked: _Asked, variables: list[str], progress: Progress) -> _Found:
    from maskwell.engines.survey import tally_groups
    from maskwell.estimation.share_estimate import Sample
    from maskwell.estimation.stacked_samples import estimate_samples

    tally = tally_groups(asked.file, asked.assignments, missing=asked.missing, counts=asked.counts, progress=progress)
    samples = [Sample(one.counts, one.design) for one in tally.samples]
    return _Found(estimate_samples(samples, method=asked.method), variables, tally.rows, tally.dropped)


def _by_plan(asked: _Asked, sampling: dict[str, Any], variables: list[str], progress: Progress) -> _Found:
    from maskwell.engines.survey import tally_survey
    from maskwell.estimation.sampling.report_shares import estimate_simple
    from maskwell.estimation.sampling.weighted_survey import estimate_cells

    columns = plan_columns(sampling, asked.by)
    if asked.method == "ml" and not columns.only_domains:
        raise ParameterError(
            "--method ml with a sampling plan", hint="use moments: they are unbiased under any sampling plan"
        )
    tally = tally_survey(
        asked.file, asked.assignments, columns, missing=asked.missing, counts=asked.counts, progress=progress
    )
    if columns.only_domains and not asked.row_by_row:
        found = estimate_simple(tally.cells, tally.designs, method=asked.method)
        found = replace(found, flags=(*found.flags, *_empty(tally.empty_domains, asked.by)))
        return _Found(found, variables, tally.rows, tally.dropped, by=asked.by)
    with in_options():
        scheme, size = scheme_of(sampling, tally), denominator_of(sampling)
        found = estimate_cells(tally.cells, dict(enumerate(tally.designs)), scheme, denominator=size)
    flags = *found.flags, *_empty(tally.empty_domains, asked.by), *flags_of_options(sampling)
    found = replace(found, flags=flags)
    return _Found(found, variables, tally.rows, tally.dropped, by=asked.by)


def _empty(domains: Sequence[Any], by: str | None) -> tuple[str, ...]:
    """That some domains have no estimate, as none of their rows has a report."""
    from maskwell.core.phrases import listed

    labels = [" / ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in domains]
    return (f"no estimate for {by} = {listed(labels, len(labels), 40)}: none of its rows has a report",) * bool(labels)


def _direct(file: str, names: str | None) -> Sequence[Assignment]:
    """Columns that were asked directly: the truth is reported, whatever it is."""
    from maskwell.cli.options import split_list

    return () if names is None else _directly(file, split_list(names, "--direct"))


def _directly(file: str, names: Sequence[str]) -> Sequence[Assignment]:
    from maskwell.engines.columns import Assignment
    from maskwell.engines.direct import direct_design

    return [Assignment((name,), direct_design(file, name)) for name in names]

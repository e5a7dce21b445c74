"""``maskwell estimate``."""

from __future__ import annotations

from typing import Any

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
from maskwell.cli.sampling import in_options, sampling_options
from maskwell.core.option_names import as_typed
from maskwell.errors import ParameterError

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
    from maskwell.verbs.estimate import estimate as estimate_shares

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
        missing, sampling = fixed.missing, {**sampling, "weights": fixed.weights}
    check_plot(plot, force=force, inputs=[file])
    assignments, paths = read_assignments(designs) if fixed is None else (fixed.assignments, {})
    open_columns = direct if fixed is None else fixed.direct or None
    with Progress() as progress, as_typed(), in_options():
        result = estimate_shares(
            file,
            assignments,
            direct=open_columns,
            by=by,
            method=method,
            interval=interval,
            level=confidence,
            counts=counts,
            missing=missing,
            progress=progress,
            **sampling,
        )
    if fixed is not None:
        result = result.with_remarks(fixed.remarks)
    drawn = write_plot(plot, plot_content(plot, result.plot), force=force)
    if as_json:
        print_json({**result.to_dict(), **drawn})
    elif style == "text":
        print_lines(with_plot(result.to_report(paths), plot))
    else:
        print_lines(result.to_table(exact=style == "csv").lines(style))


def _is_given(name: str) -> bool:
    """Whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _check_moments(method: str) -> None:
    if method == "ml":
        raise ParameterError("--method ml with this receipt", hint="leave it out: its matrices are not all known")

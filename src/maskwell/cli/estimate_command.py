"""``maskwell estimate``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import (
    FilePath,
    check_one_form,
    check_plot,
    designs_if_any_option,
    example,
    format_option,
    json_option,
    missing_codes_option,
    missing_option,
    plot_content,
    plot_options,
    read_assignments,
    sampling_options,
    show_values_option,
    text_form_options,
    with_plot,
    write_plot,
)
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.engines.assignments import Assignment
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.reports.report import Report
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.share_results import Shares

Command = Callable[..., Any]

LEVEL = 0.95


class IntervalName(click.Choice[str]):
    """The name of a method of intervals; which there are, the estimation knows, and is asked only then."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """All methods."""
        from maskwell.estimation.share_intervals import METHODS

        return tuple(METHODS)


def receipt_options(command: Command) -> Command:
    """Options about the receipt of a released file."""
    for option in reversed(
        [
            click.option("--receipt", metavar="R", help="receipt.json of a release, in place of designs."),
            click.option("--columns", metavar="COL,...", help="With --receipt: the columns of one table."),
            click.option(
                "--target",
                type=click.Choice(["population", "file"]),
                default="population",
                show_default=True,
                help="With --receipt: shares of the population, or of the original file itself.",
            ),
        ]
    ):
        command = option(command)
    return command


def quantity_options(command: Command) -> Command:
    """Options that ask for quantities by name, and for rows and directions of tables."""
    for option in reversed(
        [
            click.option("--combine", metavar="NAME=A+B", multiple=True, help="Sum of categories; A,B is the same."),
            click.option(
                "--contrast",
                metavar="NAME=A-B",
                multiple=True,
                help="Difference of categories or combinations, or of the groups of --by; factors as in A-0.5*B.",
            ),
            click.option("--ratio", metavar="NAME=A/B+C", multiple=True, help="One sum of categories over another."),
            click.option("--where", metavar="COND", help="Only rows that fit: region=north, age>=30, region=a|b."),
            click.option("--given", metavar="COL", help="In a table: show shares within the categories of COL."),
        ]
    ):
        command = option(command)
    return command


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
    type=IntervalName(),
    help="Method of the intervals (default: one that keeps its level: score, exact or matched where counts are small; "
    "wald under a sampling plan with at least 30 people inside and outside a category).",
)
@click.option("--seed", type=int, metavar="N", help="With --interval bootstrap: makes its draws repeatable.")
@click.option("--level", default="0.95", show_default=True, metavar="LEVEL", help="Confidence level of the intervals.")
@sampling_options()
@quantity_options
@click.option("--counts", metavar="COL", help="Column with the number of reports that each row stands for.")
@missing_option
@missing_codes_option
@format_option
@plot_options("the estimates with their intervals")
@text_form_options("file")
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
    seed: int | None,
    level: str,
    counts: str | None,
    combine: tuple[str, ...],
    contrast: tuple[str, ...],
    ratio: tuple[str, ...],
    where: str | None,
    given: str | None,
    missing: str,
    missing_codes: tuple[str, ...],
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
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.estimate import answer
    from maskwell.verbs.inputs import columns_of, names_of
    from maskwell.verbs.questions import Question, quantities

    check_one_form(style, as_json=as_json)
    confidence = float(check_probability(level, "level", open_=True))
    check_plot(plot, force=force, inputs=[file, receipt or "-"])
    if receipt is not None:
        _check_with_receipt(designs, plot, columns)
    assignments, paths = read_assignments(designs, file)
    open_columns = names_of(direct, "direct")
    _check_sources(receipt, columns, {"direct": direct, "counts": counts, "missing_codes": missing_codes})
    typed = missing if _is_typed("missing") or receipt is None else None
    survey = _survey(file, assignments, receipt, Sampling(**sampling), missing=typed, **_codes(missing_codes, counts))
    named = [name for one in assignments for name in one.columns] + [*open_columns] if open_columns else []
    asked: dict[str, Any] = {"columns": columns, "by": by, "target": target, "interval": interval, "level": confidence}
    with Progress() as progress:
        question = Question.of(
            columns_of(columns) if receipt is not None else [*dict.fromkeys(named)],
            by=by,
            seed=seed,
            level=level,
            target=target,
            interval=interval,
            method=method,
            where=where,
            given=given,
            progress=progress,
            asked=quantities(combine=combine or None, contrast=contrast or None, ratio=ratio or None),
        )
        result = answer(survey, question)
    drawn = write_plot(plot_content(plot, result.plot), force=force)
    if as_json:
        print_json({**result.to_dict(), **drawn})
    elif style != "text":
        print_lines(result.lines(style))
    elif receipt is None:
        print_lines(with_plot(result.to_report(paths), drawn))
    else:
        options = _as_options({**asked, "missing": typed}, sampling["weights"])
        print_lines(with_plot(_of_release(result, file, receipt, options), drawn))


def _of_release(result: Shares, file: str, receipt: str, options: dict[str, str | None]) -> Report:
    """What the shares of a released file say to people."""
    from maskwell.verbs.release_estimate import ReleasedShares

    return result.to_report(file, receipt, options) if isinstance(result, ReleasedShares) else result.to_report()


def _survey(
    file: str, assignments: Sequence[Assignment], receipt: str | None, sampling: Sampling, **reading: Any
) -> Survey:
    """What the options describe."""
    from maskwell.verbs.described_survey import Survey

    if receipt is None:
        return Survey(file, assignments, sampling, **reading)
    return Survey.from_release(file, receipt, sampling, missing=reading["missing"])


def _codes(missing_codes: tuple[str, ...], counts: str | None) -> dict[str, Any]:
    return {"missing_codes": missing_codes or None, "frequencies": counts}


def _check_sources(receipt: str | None, columns: str | None, others: Mapping[str, Any]) -> None:
    """Raise where what belongs to designs and to receipts is mixed."""
    if receipt is None and columns is not None:
        raise ParameterError("columns-without-receipt")
    both = [name.replace("_", "-") for name, value in others.items() if value]
    if receipt is not None and both:
        raise ParameterError("receipt-and-both", both=both[0])


def _check_with_receipt(designs: tuple[str, ...], plot: str | None, columns: str | None) -> None:
    """Raise for options that do not go with --receipt."""
    if plot is not None and columns is None:
        raise ParameterError("plot-draws-one-table")
    if designs:
        raise ParameterError("receipt-and-design")


def _is_typed(name: str) -> bool:
    """Whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def _as_options(asked: dict[str, Any], weights: str | None) -> dict[str, str | None]:
    """What was asked of a released file, as options of the command; None for what was not."""
    return {
        "--columns": asked["columns"],
        "--by": asked["by"],
        "--weights": weights,
        "--target": None if asked["target"] == "population" else asked["target"],
        "--missing": asked["missing"],
        "--interval": asked["interval"],
        "--level": None if asked["level"] == LEVEL else f"{Printed(asked['level']):g}",
    }

"""``maskwell regress``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import (
    BY_ROWS,
    FilePath,
    check_one_form,
    check_plot,
    example,
    format_option,
    json_option,
    plot_content,
    plot_options,
    read_assignments,
    sampling_options,
    show_values_option,
    with_plot,
    write_plot,
)
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.estimation.regression.regression_result import Regression

SAMPLING = ("--weights", "--inclusion", "--strata", "--clusters", "--population", "--lonely")


@click.command(
    epilog=example(
        "printf 'y,age\\nyes,61\\nno,35\\nyes,52\\nno,44\\nno,28\\nyes,39\\nno,57\\nno,31\\n' > answers.csv",
        "maskwell design warner --p 0.9 -o warner.json",
        "maskwell regress answers.csv --formula 'y ~ age' --design y=warner.json",
    )
)
@click.argument("file", type=FilePath())
@click.option(
    "--formula", required=True, metavar="'Y ~ A + B'", help="Outcome and predictors, such as 'y ~ age + C(region)'."
)
@click.option("--design", "designs", required=True, **BY_ROWS)
@click.option(
    "--latent", metavar="'~ A'", help="What the shares of a randomized predictor depend on; all others by default."
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="[COL=]LABEL",
    help="The category that the others are compared with: never, or region=north. Repeat for more.",
)
@click.option("--level", default="0.95", show_default=True, metavar="LEVEL", help="Confidence level of the intervals.")
@click.option(
    "--variance",
    type=click.Choice(["observed", "expected", "sandwich"]),
    help="What standard errors rest on; the sandwich where the sampling calls for it.",
)
@click.option("--exponentiate", is_flag=True, help="Odds ratios in place of their logarithms.")
@sampling_options(*SAMPLING)
@click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Rows without a value: refuse, or leave them out.",
)
@format_option
@plot_options("the coefficients with their intervals")
@show_values_option
@json_option
def regress(
    file: str,
    designs: tuple[str, ...],
    *,
    formula: str,
    latent: str | None,
    references: tuple[str, ...],
    level: str,
    variance: str | None,
    exponentiate: bool,
    missing: str,
    style: str,
    plot: str | None,
    force: bool,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Regression on the true answers behind the reports in FILE.

    The outcome, predictors or both may be randomized: give the design of each. Two categories of the outcome make a
    logistic, more a multinomial regression; numbers a linear one on a randomized predictor. The last category of a
    design is the reference, and the first one of a text column, unless --reference names another.
    """
    from maskwell.core.exact import check_probability

    check_one_form(style, as_json=as_json)
    confidence = float(check_probability(level, "level", open_=True))
    check_plot(plot, force=force, inputs=[file])
    assignments, paths = read_assignments(designs, file)
    from maskwell.engines.formula_references import References
    from maskwell.verbs.regress import regress as fit

    result = fit(
        file,
        formula,
        assignments,
        latent=latent,
        variance=variance,
        missing=missing,
        reference=References.typed(references),
        **sampling,
    )
    if exponentiate and result.family == "linear":
        raise ParameterError("--exponentiate for a linear regression", hint="leave it out: there are no odds")
    drawn = write_plot(
        plot, plot_content(plot, lambda: _picture(result, confidence, exponentiate=exponentiate)), force=force
    )
    if as_json:
        print_json({**result.to_dict(confidence, exponentiate=exponentiate), **drawn})
        return
    from maskwell.reports.text.regression_report import regression_report, regression_table

    if style == "text":
        print_lines(with_plot(regression_report(result, confidence, paths, exponentiate=exponentiate), plot))
    else:
        print_lines(regression_table(result, confidence, exponentiate=exponentiate, exact=style == "csv").lines(style))


def _picture(result: Regression, level: float, *, exponentiate: bool) -> Any:
    from maskwell.reports.pictures.forest_plot import plot_coefficients

    return plot_coefficients(result, level=level, exponentiate=exponentiate)

"""``maskwell regress``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import (
    BY_ROWS,
    ROW_SAMPLING,
    FilePath,
    check_one_form,
    check_plot,
    example,
    format_option,
    json_option,
    missing_codes_option,
    plot_content,
    plot_options,
    read_assignments,
    sampling_options,
    show_values_option,
    text_form_options,
    with_plot,
    write_plot,
)
from maskwell.cli.output import print_json, print_lines
from maskwell.core.phrases import shorten
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.estimation.regression.predicted_chances import Predictions
    from maskwell.estimation.regression.regression_result import Regression
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.regress import Model


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
@click.option("--design", "designs", **BY_ROWS)
@click.option("--receipt", type=FilePath(), metavar="R", help="receipt.json of a release, in place of designs.")
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
@click.option(
    "--combine", multiple=True, metavar="NAME=A+B", help="Categories of the outcome that count as one: any=once+often."
)
@click.option(
    "--model",
    type=click.Choice(["ordinal", "lie-detector"]),
    help="Ordered categories, or carriers who may lie; by default what the outcome calls for.",
)
@click.option("--level", default="0.95", show_default=True, metavar="LEVEL", help="Confidence level of the intervals.")
@click.option(
    "--interval",
    type=click.Choice(["wald", "profile"]),
    help="Method of the intervals (default: Wald, and the profile likelihood where Wald's have no meaning).",
)
@click.option(
    "--variance",
    type=click.Choice(["observed", "expected", "sandwich"]),
    help="What standard errors rest on; the sandwich where the sampling calls for it.",
)
@click.option(
    "--smaller-model", multiple=True, metavar="'Y ~ A'", help="Test the model against a smaller one. Repeat for more."
)
@click.option("--effects", is_flag=True, help="Average marginal effects: how much the chance of a category changes.")
@click.option(
    "--predict-at",
    "settings",
    multiple=True,
    metavar="COL=A,B",
    help="Predicted chances if everybody had these values: age=30,60. Repeat for more columns.",
)
@click.option("--predict", type=FilePath(), metavar="ROWS", help="Predicted chances for the rows of a file.")
@click.option("--exponentiate", is_flag=True, help="Odds ratios in place of their logarithms.")
@sampling_options(*ROW_SAMPLING)
@click.option(
    "--missing",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Rows without a value: refuse, or leave them out.",
)
@missing_codes_option
@format_option
@plot_options("the coefficients with their intervals")
@text_form_options("file")
@show_values_option
@json_option
def regress(
    file: str,
    designs: tuple[str, ...],
    *,
    formula: str,
    receipt: str | None,
    latent: str | None,
    references: tuple[str, ...],
    combine: tuple[str, ...],
    model: str | None,
    level: str,
    interval: str | None,
    variance: str | None,
    smaller_model: tuple[str, ...],
    effects: bool,
    settings: tuple[str, ...],
    predict: str | None,
    exponentiate: bool,
    missing: str,
    missing_codes: tuple[str, ...],
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

    --receipt in place of --design fits a released file, where its receipt allows it.
    """
    from maskwell.core.exact import check_probability

    check_one_form(style, as_json=as_json)
    confidence = float(check_probability(level, "level", open_=True))
    check_plot(plot, force=force, inputs=[file])
    assignments, paths = read_assignments(designs, file) if designs else (None, {})
    from maskwell.engines.formula_references import References
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.regress import Model, fit

    if (assignments is None) == (receipt is None):
        both = "neither --design nor --receipt" if receipt is None else "both --design and --receipt"
        raise ParameterError(both, hint="give one of them: it says how columns were randomized")
    read: dict[str, Any] = {"missing": missing, "missing_codes": missing_codes or None}
    survey = Survey(file, assignments, Sampling(**sampling), **read)
    if receipt is not None:
        survey = Survey.from_release(file, receipt, Sampling(**sampling), missing=missing)
    how: dict[str, Any] = {"model": model, "latent": latent, "variance": variance, "interval": interval}
    asked = Model(reference=References.typed(references), combine=combine or None, **how)
    result = fit(survey, formula, asked)
    tests = [result.compare(_smaller(result, survey, other, asked)) for other in smaller_model]
    average = result.marginal_effects() if effects else None
    predicted = _predicted(result, settings, predict)
    if exponentiate and result.family == "linear":
        raise ParameterError("exponentiate-for-a-linear-regression")
    drawn = write_plot(plot_content(plot, lambda: _picture(result, confidence, exponentiate=exponentiate)), force=force)
    if as_json:
        told: dict[str, Any] = {"tests": [test.to_dict() for test in tests]} if tests else {}
        told |= {} if average is None else {"marginal_effects": average.rows(confidence)}
        told |= {} if predicted is None else {"predictions": predicted.plain(confidence)}
        print_json({**result.to_dict(confidence, exponentiate=exponentiate), **told, **drawn})
        return
    from maskwell.reports.pages.paper_tables import document
    from maskwell.reports.text.regression_report import regression_report, regression_table

    more: dict[str, Any] = {"tests": tests, "effects": average, "predictions": predicted}
    if style == "text":
        report = regression_report(result, confidence, paths, exponentiate=exponentiate, **more)
        print_lines(with_plot(report, drawn))
        return
    exact = style == "csv"
    table = regression_table(result, confidence, exponentiate=exponentiate, exact=exact, **more)
    print_lines(document([table], style))


def _predicted(result: Regression, settings: tuple[str, ...], file: str | None) -> Predictions | None:
    """Predictions for chosen values, or for the rows of a file."""
    if settings and file is not None:
        raise ParameterError("both-at-and-predict")
    if file is not None:
        return result.predictions(file)
    at: dict[str, list[str]] = {}
    for text in settings:
        name, sign, values = text.partition("=")
        if not sign or not name.strip() or not values.strip():
            raise ParameterError("at-text", text=shorten(repr(text), 40))
        at.setdefault(name.strip(), []).extend(value.strip() for value in values.split(","))
    return result.predictions(at=at) if at else None


def _smaller(result: Regression, survey: Survey, formula: str, asked: Model) -> Regression:
    """A smaller model of the same outcome, with the designs of the columns that it names."""
    from maskwell.engines.formula import read_formula
    from maskwell.engines.formula_references import References
    from maskwell.verbs.regress import fit

    outcome = read_formula(formula, random=True).outcome
    chosen = result.categories and asked.model is None and outcome == result.outcome
    same = {outcome: result.categories[-1]} if chosen else {}
    return fit(survey, formula, replace(asked, reference=References(same)), every=False)


def _picture(result: Regression, level: float, *, exponentiate: bool) -> Any:
    from maskwell.reports.pictures.forest_plot import plot_coefficients

    return plot_coefficients(result, level=level, exponentiate=exponentiate)

"""``maskwell regress``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines
from maskwell.core.phrases import shorten
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.estimation.regression.predicted_chances import Predictions
    from maskwell.estimation.regression.regression_result import Regression
    from maskwell.verbs.described_survey import Survey
    from maskwell.verbs.regress import Model


class Asked(opt.OfRows):
    """The options of the command."""

    file: str = opt.argument(type=opt.FilePath())
    formula: str = opt.option(required=True, metavar="'Y ~ A + B'")
    designs: tuple[str, ...] = opt.option("--design", **opt.BY_ROWS)
    receipt: str | None = opt.option(type=opt.FilePath(), metavar="R")
    latent: str | None = opt.option(metavar="'~ A'")
    references: tuple[str, ...] = opt.option("--reference", multiple=True, metavar="[COL=]LABEL")
    combine: tuple[str, ...] = opt.option(multiple=True, metavar="NAME=A+B")
    model: str | None = opt.option(type=click.Choice(["ordinal", "lie-detector"]))
    level: str = opt.option(default="0.95", show_default=True, metavar="LEVEL")
    interval: str | None = opt.option(type=click.Choice(["wald", "profile"]))
    variance: str | None = opt.option(type=click.Choice(["observed", "expected", "sandwich"]))
    smaller_model: tuple[str, ...] = opt.option(multiple=True, metavar="'Y ~ A'")
    effects: bool = opt.option(is_flag=True)
    settings: tuple[str, ...] = opt.option("--predict-at", multiple=True, metavar="COL=A,B")
    predict: str | None = opt.option(type=opt.FilePath(), metavar="ROWS")
    exponentiate: bool = opt.option(is_flag=True)
    sampling: dict[str, Any] = opt.sampling_options(*opt.ROW_SAMPLING)
    missing: str = opt.option(type=click.Choice(["error", "drop"]), default="error", show_default=True)
    missing_codes: tuple[str, ...] = opt.shared(opt.missing_codes_option)
    style: str = opt.shared(opt.format_option)
    plot: str | None = opt.shared(opt.plot_option("the coefficients with their intervals"))
    force: bool = opt.shared(opt.force_option)


@opt.command(Asked)
def regress(asked: Asked) -> None:
    """Fit a regression of the true answers behind the reports in FILE.

    The outcome, predictors or both may be randomized: give the design of each. An outcome with two
    categories gives a logistic regression, with more a multinomial one; a numeric outcome gives a linear regression on
    a randomized predictor. The reference is the last category of a design, the first of a text column, or --reference.

    --receipt instead of --design fits a model to a released file, if its receipt allows it.
    """
    from maskwell.core.exact import check_probability
    from maskwell.engines.model_predictors import References
    from maskwell.verbs.regress import Model, fit

    opt.check_one_form(asked.style, as_json=asked.as_json)
    level = float(check_probability(asked.level, "level", open_=True))
    opt.check_plot(asked.plot, force=asked.force, inputs=[asked.file])
    survey, paths = _survey(asked)
    named: dict[str, Any] = {name: getattr(asked, name) for name in ("model", "latent", "variance", "interval")}
    model = Model(reference=References.typed(asked.references), combine=asked.combine or None, **named)
    result = fit(survey, asked.formula, model)
    tests = [result.compare(_smaller(result, survey, other, model)) for other in asked.smaller_model]
    average = result.marginal_effects() if asked.effects else None
    predicted = _predicted(result, asked.settings, asked.predict)
    if asked.exponentiate and result.family == "linear":
        raise ParameterError("exponentiate-for-a-linear-regression")
    how: dict[str, Any] = {"exponentiate": asked.exponentiate}
    picture = opt.plot_content(asked.plot, lambda: result.plot(level=level, **how))
    drawn = opt.write_plot(picture, force=asked.force)
    if asked.as_json:
        told: dict[str, Any] = {"tests": [test.to_dict() for test in tests]} if tests else {}
        told |= {} if average is None else {"marginal_effects": average.rows(level)}
        told |= {} if predicted is None else {"predictions": predicted.plain(level)}
        print_json({**result.to_dict(level, **how), **told, **drawn})
        return
    from maskwell.reports.pages.paper_tables import document
    from maskwell.reports.text.regression_report import regression_report, regression_table

    how |= {"tests": tests, "effects": average, "predictions": predicted}
    if asked.style == "text":
        print_lines(opt.with_plot(regression_report(result, level, paths, **how), drawn))
    else:
        print_lines(document([regression_table(result, level, exact=asked.style == "csv", **how)], asked.style))


def _survey(asked: Asked) -> tuple[Survey, dict[str, str]]:
    """The rows with their designs, or a released file; and the files of the designs."""
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.described_survey import Survey

    assignments, paths = opt.read_assignments(asked.designs, asked.file) if asked.designs else (None, {})
    if (assignments is None) == (asked.receipt is None):
        both = (
            "--design or --receipt must be given"
            if asked.receipt is None
            else "--design cannot be combined with --receipt"
        )
        raise ParameterError(both, hint="give one of them: it states how columns were randomized")
    sampling, codes = Sampling(**asked.sampling), asked.missing_codes or None
    survey = Survey(asked.file, assignments, sampling, missing=asked.missing, missing_codes=codes)
    if asked.receipt is not None:
        survey = Survey.from_release(asked.file, asked.receipt, sampling, missing=asked.missing)
    return survey, paths


def _model(asked: Asked) -> Model:
    from maskwell.engines.model_predictors import References
    from maskwell.verbs.regress import Model

    how: dict[str, Any] = {name: getattr(asked, name) for name in ("model", "latent", "variance", "interval")}
    return Model(reference=References.typed(asked.references), combine=asked.combine or None, **how)


def _picture(result: Regression, level: float, *, exponentiate: bool) -> Any:
    from maskwell.reports.pictures.forest_plot import plot_coefficients

    return plot_coefficients(result, level=level, exponentiate=exponentiate)


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
    from maskwell.engines.model_predictors import References
    from maskwell.verbs.regress import fit

    outcome = read_formula(formula, random=True).outcome
    chosen = result.categories and asked.model is None and outcome == result.outcome
    same = {outcome: result.categories[-1]} if chosen else {}
    return fit(survey, formula, replace(asked, reference=References(same)), every=False)

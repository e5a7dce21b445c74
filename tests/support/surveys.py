"""Surveys from one flat list of options, for tests that go through many of them."""

from dataclasses import fields
from typing import Any

import maskwell as mw
from maskwell.verbs.estimate import answer
from maskwell.verbs.questions import Question, quantities

SAMPLING = {one.name for one in fields(mw.Sampling)}
SURVEY = {"missing", "missing_codes", "frequencies"}
QUANTITIES = ("combine", "contrast", "ratio")


def described(data: Any, designs: Any, options: dict[str, Any]) -> mw.Survey:
    """The survey that some of the options describe; these are taken out of them."""
    sampling = mw.Sampling(**{name: options.pop(name) for name in [*options] if name in SAMPLING - {"method"}})
    reading = {name: options.pop(name) for name in [*options] if name in SURVEY}
    receipt = options.pop("receipt", None)
    if receipt is not None:
        return mw.Survey.from_release(data, receipt, sampling, **reading)
    direct = options.pop("direct", None) or ()
    open_columns = dict.fromkeys(direct.split(",") if isinstance(direct, str) else direct)
    return mw.Survey(data, {**(designs or {}), **open_columns} if open_columns else designs, sampling, **reading)


def estimate_with(data: Any, designs: Any = None, **options: Any) -> mw.Shares:
    """The shares of a survey, with the quantities that are asked for."""
    survey = described(data, designs, options)
    asked = quantities(**{name: options.pop(name, None) for name in QUANTITIES})
    columns = options.pop("columns", None) or ()
    return answer(
        survey, Question.of(columns.split(",") if isinstance(columns, str) else columns, asked=asked, **options)
    )


def regress_with(data: Any, formula: str, designs: Any = None, **options: Any) -> Any:
    """The regression of a survey."""
    return described(data, designs, options).regress(formula, **options)


def tabulate_with(data: Any, designs: Any = None, **options: Any) -> Any:
    """The table of a survey."""
    return described(data, designs, options).table(**options)

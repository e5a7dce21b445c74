"""Drafts of surveys in the builder: the file that a form stands for, and what follows from it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from maskwell.collection.survey import Question, Survey
from maskwell.core.exact import to_text
from maskwell.core.phrases import Printed, in_toml
from maskwell.errors import MaskwellError, PlanError
from maskwell.planning.sample_size import margin_of, needed_n, worst_share_variance
from maskwell.release.plans.plan_entries import label, table, tables, text
from maskwell.verbs.inputs import read_demand

PLANNED = 1000
MARGIN = 0.05
MOST_DRAWN = 12
"""Answers and reports up to which the picture of a design is drawn."""

_STEPS = 10**6


def survey_text(form: Mapping[str, Any]) -> str:
    """The file of a form: one demand for the whole survey, shared equally by its sensitive questions.

    >>> print(survey_text({"title": "Work", "demand": {"word": "gamma", "value": "4"}, "questions": [
    ...     {"ask": "Paid in cash?", "answers": ["yes", "no"], "sensitive": True},
    ...     {"ask": "All declared?", "answers": ["yes", "no"], "sensitive": True}]}))
    [survey]
    title = "Work"
    access = "open"
    demand = { gamma = "4" }
    <BLANKLINE>
    [[question]]
    name = "paid_in_cash"
    ask = "Paid in cash?"
    answers = ["yes", "no"]
    design = { gamma = "2" }
    <BLANKLINE>
    [[question]]
    name = "all_declared"
    ask = "All declared?"
    answers = ["yes", "no"]
    design = { gamma = "2" }
    <BLANKLINE>
    """
    questions = [table(one, "question") for one in tables(form.get("questions", []), "question")]
    word, value = _demand(form.get("demand"))
    gamma = _share_of_demand(word, value, sum(bool(one.get("sensitive")) for one in questions))
    head = [
        "[survey]",
        f"title = {in_toml(text(form.get('title'), 'title'))}",
        *(f"{key} = {in_toml(str(form[key]))}" for key in ("introduction", "contact") if form.get(key)),
        f"access = {in_toml('invitations' if form.get('access') == 'invitations' else 'open')}",
        f"demand = {{ {word} = {_toml_value(value)} }}",
    ]
    names: list[str] = []
    parts = ["\n".join(head) + "\n"]
    parts += ["\n".join(_question_lines(question, gamma, names)) + "\n" for question in questions]
    return "\n".join(parts)


def _demand(given: Any) -> tuple[str, str | list[str]]:
    stated = table(given or {}, "demand")
    word, value = str(stated.get("word", "epsilon")), str(stated.get("value", "1")).strip()
    return word, value.split() if word == "rho" else value


def _toml_value(value: str | list[str]) -> str:
    return in_toml(value) if isinstance(value, str) else f"[{', '.join(map(in_toml, value))}]"


def _share_of_demand(word: str, value: str | list[str], questions: int) -> str:
    """The bound gamma of each of so many questions: the root of the whole one, rounded toward more privacy."""
    try:
        demand = read_demand(None, {word: tuple(value) if isinstance(value, list) else value})
    except MaskwellError as error:
        raise PlanError(f"demand: {error.message}", hint=error.hint) from error
    assert demand is not None
    gamma = demand.gamma_exact
    if questions <= 1 or gamma == math.inf:
        return to_text(gamma)
    root = Fraction(math.floor(float(gamma) ** (1 / questions) * _STEPS), _STEPS)
    while root**questions > gamma:
        root -= Fraction(1, _STEPS)
    nearest = Fraction(round(root))
    return to_text(nearest if nearest**questions == gamma else max(root, Fraction(1)))


def _question_lines(question: Mapping[str, Any], gamma: str, names: list[str]) -> list[str]:
    ask = text(question.get("ask"), "ask")
    names.append(_name(str(question.get("name") or ask), names))
    answers = ", ".join(in_toml(label(one, "answers")) for one in question.get("answers", []))
    lines = ["[[question]]", f"name = {in_toml(names[-1])}", f"ask = {in_toml(ask)}", f"answers = [{answers}]"]
    if not question.get("sensitive"):
        return [*lines, "open = true"]
    declined = ["prefer_not_to_say = true"] if question.get("declined") else []
    return [*lines, *declined, f"design = {{ gamma = {in_toml(gamma)} }}"]


def _name(words: str, taken: list[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:24].strip("_") or "question"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def consequences(content: str, n: Any = None) -> dict[str, Any]:
    """What follows from a draft: what each question reveals, and how exact its shares will be; or what is wrong.

    >>> draft = survey_text({"title": "Work", "demand": {"word": "gamma", "value": "4"}, "questions": [
    ...     {"ask": "Paid in cash?", "answers": ["yes", "no"], "sensitive": True}]})
    >>> what = consequences(draft, 1000)
    >>> what["factor"], round(what["questions"][0]["margin"], 3)
    ('4', 0.052)
    """
    planned = n if isinstance(n, int) and 1 <= n <= 10**9 else PLANNED
    try:
        survey = Survey.from_toml(content)
    except MaskwellError as error:
        return {"text": content, "error": {"message": error.message, "hint": error.hint or ""}}
    return {
        "text": content,
        "n": planned,
        "factor": f"{Printed(survey.parity):.3g}",
        "questions": [_expected(question, planned) for question in survey.questions],
    }


def _expected(question: Question, n: int) -> dict[str, Any]:
    content: dict[str, Any] = {"name": question.name, "answers": list(question.labels)}
    if question.design is None:
        return {**content, "open": True, "margin": margin_of(0.25, n), "needed": needed_n(0.25, MARGIN)}
    design = question.design
    variance = worst_share_variance(design)
    drawn = max(design.k, question.reports or math.inf) <= MOST_DRAWN
    return {
        **content,
        "open": False,
        "factor": f"{Printed(design.parity_exact()):.3g}",
        "margin": margin_of(variance, n),
        "needed": needed_n(variance, MARGIN),
        "matrix": design.matrix().tolist() if drawn else None,
        "reports": [str(one) for one in design.outputs.labels] if drawn else None,  # type: ignore[union-attr]
    }

"""Drafts of surveys in the builder: the file that a form represents, and its consequences."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.collection.page_texts import factor_in, package_texts
from maskwell.collection.survey import DECLINED, MOST_QUESTIONS, Question, Survey
from maskwell.core.documents import from_toml
from maskwell.core.exact import to_text
from maskwell.core.phrases import in_toml
from maskwell.designs.set_reports import SetDesign
from maskwell.designs.uniform import Uniform
from maskwell.errors import MaskwellError, PlanError
from maskwell.microdata.plans.plan_entries import label, table, tables, text, unknown
from maskwell.planning.sample_size import margin_of, needed_n, plan_sample, worst_share_variance
from maskwell.verbs.inputs import DEMAND_WORDS, read_demand

PLANNED = 1000
MARGIN = 0.05
MOST_DRAWN = 12  # answers and reports up to which the picture of a design is drawn
_STEPS = 10**6
_LARGEST_LOG = 700


def survey_text(form: Mapping[str, Any]) -> str:
    """The file of a form: one demand for the whole survey, shared equally by its sensitive questions."""
    questions = [table(one, "question") for one in tables(form.get("questions", []), "question")]
    if len(questions) > MOST_QUESTIONS:
        raise PlanError("the-survey-has-questions", questions_count=len(questions), most_questions=MOST_QUESTIONS)
    languages = [text(one, "languages") for one in form.get("languages") or ["en"]]
    word, value = _demand(form.get("demand"))
    gamma = _share_of_demand(word, value, sum(bool(one.get("sensitive")) for one in questions))
    head = [
        "[survey]",
        f"title = {in_toml(text(form.get('title'), 'title'))}",
        *_filled(form, ("introduction", "thanks", "contact")),
        *([f"languages = {_listed(languages)}"] if languages != ["en"] else []),
        f"access = {in_toml('invitations' if form.get('access') == 'invitations' else 'open')}",
        f"demand = {{ {word} = {in_toml(value) if isinstance(value, str) else _listed(value)} }}",
        *(["accept_no_protection = true"] if form.get("accept") else []),
    ]
    names: list[str] = []
    parts = ["\n".join(head) + "\n"]
    parts += ["\n".join(_question_lines(question, gamma, names)) + "\n" for question in questions]
    wording = table(form.get("wording") or {}, "wording")
    for one in languages[1:]:
        parts.append("\n".join(_translation_lines(one, table(wording.get(one) or {}, f"wording.{one}"), names)) + "\n")
    return "\n".join(parts)


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(in_toml, texts))}]"


def _translation_lines(language: str, wording: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """What a form says in a further language; what is left empty is left out, and the survey says what it lacks."""
    where = f"wording.{in_toml(language)}"
    lines = [f"[{where}]", *_filled(wording, ("title", "introduction", "thanks"))]
    for name, given in zip(names, tables(wording.get("questions", []), f"wording.{language}"), strict=False):
        answers = [str(one) for one in given.get("answers") or []]
        said = [*_filled(given, ("ask", "help")), *([f"answers = {_listed(answers)}"] if answers else [])]
        lines += ["", f"[{where}.question.{in_toml(name)}]", *said] if said else []
    return lines


def _filled(given: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    return [f"{key} = {in_toml(str(given[key]))}" for key in keys if given.get(key)]


def _demand(given: Any) -> tuple[str, str | list[str]]:
    stated = table(given or {}, "demand")
    word, value = str(stated.get("word", "epsilon")), str(stated.get("value", "1")).strip()
    if word not in DEMAND_WORDS:
        raise unknown(word, "demand: unknown kind", [*DEMAND_WORDS])
    return word, value.split() if word == "rho" else value


def _share_of_demand(word: str, value: str | list[str], questions: int) -> str:
    """The bound gamma of each of so many questions: the root of the whole one, rounded toward more privacy."""
    try:
        demand = read_demand(None, {word: tuple(value) if isinstance(value, list) else value})
    except MaskwellError as error:
        raise PlanError("demand-problem", hint=error.hint, problem=error.message) from error
    assert demand is not None
    gamma = demand.gamma_exact
    if questions <= 1 or gamma == math.inf:
        return to_text(gamma)
    bound = Fraction(gamma)
    log = (math.log(bound.numerator) - math.log(bound.denominator)) / questions
    if log > _LARGEST_LOG:
        raise PlanError("demand-this-demand-protects-nothing")
    root = Fraction(math.floor(math.exp(log) * _STEPS), _STEPS)
    while root**questions > gamma:
        root -= max(Fraction(1, _STEPS), root / _STEPS)
    nearest = Fraction(round(root))
    return to_text(nearest if nearest**questions == gamma else max(root, Fraction(1)))


def _question_lines(question: Mapping[str, Any], gamma: str, names: list[str]) -> list[str]:
    ask = text(question.get("ask"), "ask")
    kept = str(question.get("name") or "")
    names.append(kept if kept and kept not in names else _name(ask, names))
    answers = _listed(label(one, "answers") for one in question.get("answers", []))
    lines = ["[[question]]", f"name = {in_toml(names[-1])}", f"ask = {in_toml(ask)}", *_filled(question, ("help",))]
    lines.append(f"answers = {answers}")
    if question.get("after"):  # after which answers to which earlier question this one is asked
        after = table(question["after"], "after")
        at, chosen = after.get("question"), [label(one, "after") for one in after.get("answers") or []]
        if not isinstance(at, int) or not 0 <= at < len(names) - 1 or not chosen:
            raise PlanError("question-no-answer-is-chosen-after", name=names[-1])
        lines.append(f"show_if = {{ {in_toml(names[at])} = {_listed(chosen)} }}")
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


def form_of(content: str) -> dict[str, Any] | None:
    """The form that represents a file; None where the form cannot represent all of it, such as single designs."""
    try:
        survey, written = Survey.from_toml(content), from_toml(content)
        form = _form(survey, written)
        is_same = Survey.from_toml(survey_text(form)).fingerprint == survey.fingerprint
    except (MaskwellError, ValueError):
        return None
    return form if is_same else None


def _form(survey: Survey, written: Mapping[str, Any]) -> dict[str, Any]:
    first = survey.languages[0]
    words = {key: getattr(survey, key).get(first, "") for key in ("title", "introduction", "thanks")}
    (word, value), *_ = [*survey.demand.items()] or [("epsilon", "1")]
    return {
        **words,
        "languages": list(survey.languages),
        "wording": {one: _form_words(survey, one) for one in survey.languages[1:]},
        "contact": survey.contact,
        "access": survey.access,
        "demand": {"word": word, "value": value},
        "accept": survey.accept_no_protection,
        "questions": [
            _form_question(survey, question, one, first)
            for question, one in zip(survey.questions, written["question"], strict=True)
        ],
    }


def _form_words(survey: Survey, language: str) -> dict[str, Any]:
    words = {key: getattr(survey, key).get(language, "") for key in ("title", "introduction", "thanks")}
    questions = [
        {
            "ask": one.ask[language],
            "help": one.help.get(language, ""),
            "answers": [one.answers[label][language] for label in one.labels],
        }
        for one in survey.questions
    ]
    return {**words, "questions": questions}


def _form_question(survey: Survey, question: Question, written: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The form has a condition on one question. Of several, it shows one, and the file needs the text editor."""
    is_declined, names = bool(written.get("prefer_not_to_say")), list(survey.by_name)
    conditions = [{"question": names.index(name), "answers": [*after]} for name, after in question.show_if.items()]
    return {
        "name": question.name,
        "ask": question.ask[language],
        "help": question.help.get(language, ""),
        "answers": [one for one in question.labels if not (is_declined and one == DECLINED)],
        "sensitive": question.design is not None,
        "declined": is_declined,
        "after": next(iter(conditions), None),
    }


def consequences(content: str, n: Any = None, share: Any = None, margin: Any = None) -> dict[str, Any]:
    """What follows from a draft: what each question reveals, and how exact its shares will be; or what is wrong."""
    planned = n if isinstance(n, int) and 1 <= n <= 10**9 else PLANNED
    at = share if isinstance(share, float) and 0 < share < 1 else None
    half = margin if isinstance(margin, float) and 0 < margin < 1 else MARGIN
    try:
        survey = Survey.from_toml(content)
    except MaskwellError as error:
        return {"text": content, "error": {"message": error.message, "hint": error.hint or ""}}
    return {
        "text": content,
        "n": planned,
        "share": at,
        "margin": half,
        "factor": factor_in(survey.parity, package_texts("page")["en"]),
        "strength": survey.strength,
        "protects": package_texts("page")["en"][f"how_protects_{survey.strength}"],
        "gamma": float(min(survey.parity, Fraction(sys.float_info.max))),
        "questions": [expected(question, planned, at, half) for question in survey.questions],
    }


def unit_variance(question: Question, share: float | None = None) -> float:
    """How exact a question is with one respondent: n times the variance of the least exact share, here or at worst."""
    if question.design is None:
        return direct_variance(share)
    design = question.design
    treats_alike = isinstance(design, Uniform | SetDesign)
    if share is None:
        return worst_share_variance(design) if treats_alike else plan_sample(design, n=1).variance.total
    variances = []  # where each answer in turn has this share and the others share the rest equally
    for j in range(1 if treats_alike else design.k):
        pi = np.full(design.k, (1 - share) / (design.k - 1))
        pi[j] = share
        variances.append(float(design.share_variance(pi)[j]))
    return max(variances)


def direct_variance(share: float | None = None) -> float:
    """The same if the question were asked openly."""
    return 0.25 if share is None else share * (1 - share)


def expected(
    question: Question, n: int = PLANNED, share: float | None = None, margin: float = MARGIN
) -> dict[str, Any]:
    """What a question reveals, its margin with n respondents, and how many a margin needs."""
    variance, direct = unit_variance(question, share), direct_variance(share)
    content: dict[str, Any] = {
        "name": question.name,
        "ask": next(iter(question.ask.values())),
        "answers": list(question.labels),
        "margin": margin_of(variance, n),
        "needed": needed_n(variance, margin),
        "directly": margin_of(direct, n),
    }
    design = question.design
    if design is None:
        return {**content, "open": True}
    is_drawn = max(design.k, question.reports or math.inf) <= MOST_DRAWN
    return {
        **content,
        "open": False,
        "factor": factor_in(design.parity_exact(), package_texts("page")["en"]),
        "matrix": design.matrix().tolist() if is_drawn else None,
        "reports": [str(one) for one in design.outputs.labels] if is_drawn else None,  # type: ignore[union-attr]
    }

"""A survey: its questions, the design of each sensitive one, and what all reports of one person may reveal together.

It is written as TOML, and is a document with a fingerprint from then on. True answers have no type here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from maskwell.collection.page_texts import Wording, factor_in, package_texts
from maskwell.core.categories import Categories
from maskwell.core.documents import fingerprint_of, from_toml
from maskwell.core.exact import Parity, to_text
from maskwell.core.labels import texts
from maskwell.core.languages import LANGUAGE
from maskwell.core.phrases import fault_of, is_formula, shorten
from maskwell.designs.design import Design
from maskwell.designs.set_reports import SetDesign
from maskwell.designs.wire import design_from_dict, read_design
from maskwell.errors import LabelError, MaskwellError, NotIdentifiableError, PlanError
from maskwell.microdata.plans.plan_entries import Entries, choice, flag, label, names, table, tables, text, unknown
from maskwell.privacy.criteria import Demand
from maskwell.privacy.strength import LIMITS, Strength, strength_of
from maskwell.reports.plain_words import factor_down, factor_up
from maskwell.verbs.choose import choose
from maskwell.verbs.design import design as make_design
from maskwell.verbs.inputs import DEMAND_WORDS, read_demand

VERSION = 1
ACCESS = ("open", "invitations")
MOST_QUESTIONS = 100
MOST_ANSWERS = 200
LARGEST = 4 << 20  # bytes of a survey file
# The label of the category for those who do not want to answer; it is randomized like every other.
DECLINED = "prefer not to say"
LONGEST_NAME = 80
_FROM_FILES = ("kronecker", "repeated", "shared")  # families that are made of design files
RESULTS = ("live", "after closing")
STEP = 10  # reports after which results are shown anew where a survey file says nothing else
LARGEST_STEP = 1000
_HEAD = (
    "title",
    "introduction",
    "thanks",
    "contact",
    "languages",
    "access",
    "demand",
    "accept_no_protection",
    "practice",
    "results",
)
_QUESTION = ("name", "ask", "help", "answers", "open", "design", "prefer_not_to_say", "show_if")
Texts = Mapping[str, str]  # one text in each language of the survey


@dataclass(frozen=True)
class Question:
    """One question; ``design`` is None where the answer is open and sent as it is."""

    name: str  # the column of its reports in exports
    ask: Texts  # ask, help: what is asked, and a line below it, in each language
    answers: Mapping[str, Texts]  # the labels of the answers, with their texts in each language
    design: Design | None = None
    help: Texts = field(default_factory=dict)
    # open questions by name, with the answers after which this question is asked
    show_if: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the answers, in order."""
        return tuple(self.answers)

    @cached_property
    def reports(self) -> int | None:
        """How many reports there can be, as codes from 0; None where a report is a text of 0 and 1."""
        if self.design is None:
            return len(self.answers)
        return None if isinstance(self.design, SetDesign) else self.design.m

    def check_report(self, report: Any) -> bool:
        """Whether a value can be a report: a code, or for sets a text of 0 and 1 of the right length and size."""
        if self.reports is not None:
            return type(report) is int and 0 <= report < self.reports
        assert isinstance(self.design, SetDesign)
        bits = report if isinstance(report, str) else ""
        size = self.design.outputs.size
        return len(bits) == self.design.k and set(bits) <= {"0", "1"} and size in (None, bits.count("1"))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; the design as its file, without how it came about."""
        design = None
        if self.design is not None:
            given = {key: value for key, value in self.design.provenance.items() if key == "given"}
            design = {**self.design.identity(), "provenance": given, "fingerprint": self.design.fingerprint}
        return {
            "name": self.name,
            "ask": dict(self.ask),
            "help": dict(self.help),
            "answers": [{"label": one, "text": dict(words)} for one, words in self.answers.items()],
            "design": design,
            "show_if": {name: list(after) for name, after in self.show_if.items()},
        }


@dataclass(frozen=True)
class Survey:
    """Questions that are asked together, and the demand that all reports of one person must keep."""

    title: Texts
    questions: tuple[Question, ...]
    languages: tuple[str, ...]
    access: str = "open"
    demand: Mapping[str, str] = field(default_factory=dict)
    introduction: Texts = field(default_factory=dict)
    thanks: Texts = field(default_factory=dict)
    contact: str = ""
    practice: bool = True
    results: str | int = "live"
    # whether the survey may be asked though reports can reveal answers; respondents are then informed of it
    accept_no_protection: bool = False
    # texts of the pages in languages that the package does not have, by language and group
    texts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, content: str, *, folder: Path | None = None) -> Survey:
        """A survey from the text of its file, or an error that names the table and the key.

        Without a folder the text came from elsewhere, such as over a network: it can name no file of this machine.
        """
        try:
            given = from_toml(content)
        except ValueError as error:
            raise PlanError("the-survey-is-not-toml", fault=fault_of(error)) from error
        return _read_survey(given, folder)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Survey:
        """A survey from its document, after checking its fingerprint and those of its designs."""
        if content.get("maskwell") != "survey" or content.get("version") != VERSION:
            raise PlanError("this-is-no-survey-document")
        covered = {key: value for key, value in content.items() if key != "fingerprint"}
        survey = _from_document(content)
        if not content.get("fingerprint") == survey.fingerprint == fingerprint_of(covered):
            raise PlanError("the-survey-was-changed-after-it")
        return survey

    @cached_property
    def by_name(self) -> Mapping[str, Question]:
        """The questions by their names."""
        return {question.name: question for question in self.questions}

    @cached_property
    def sensitive(self) -> tuple[Question, ...]:
        """The questions whose answers are randomized."""
        return tuple(question for question in self.questions if question.design is not None)

    @cached_property
    def parity(self) -> Parity:
        """By what factor the reports of one person, all together, can change the odds of any two sets of answers.

        Draws are independent, so that the parities of the questions are multiplied. A question that is not asked
        reveals only what the open answers say: the product over all questions is never below that of those asked.
        """
        product: Parity = Fraction(1)
        for question in self.sensitive:
            assert question.design is not None
            product = product * question.design.parity_exact()
        return product

    @cached_property
    def strength(self) -> Strength:
        """The step of protection that all texts for respondents follow."""
        return strength_of(self.parity)

    def to_dict(self) -> dict[str, Any]:
        """The document: all that the page, the database and an auditor need."""
        return {**self._covered(), "fingerprint": self.fingerprint}

    @cached_property
    def fingerprint(self) -> str:
        """Names the survey: equal exactly when every word, answer and design is."""
        return fingerprint_of(self._covered())

    def _covered(self) -> dict[str, Any]:
        return {
            "maskwell": "survey",
            "version": VERSION,
            "languages": list(self.languages),
            "title": dict(self.title),
            "introduction": dict(self.introduction),
            "thanks": dict(self.thanks),
            "contact": self.contact,
            "access": self.access,
            "practice": self.practice,
            **({} if self.results == "live" else {"results": self.results}),  # documents of before had live results
            "demand": dict(self.demand),
            **({"accept_no_protection": True} if self.accept_no_protection else {}),
            **({"texts": dict(self.texts)} if self.texts else {}),
            "joint": {"parity": to_text(self.parity)},
            "questions": [question.to_dict() for question in self.questions],
        }

    def asked(self, answers: Mapping[str, Any]) -> list[Question]:
        """The questions that are asked after these open answers (codes by name)."""

        def given(name: str) -> str | None:
            code, labels = answers.get(name), self.by_name[name].labels
            return labels[code] if type(code) is int and 0 <= code < len(labels) else None

        return [one for one in self.questions if all(given(name) in after for name, after in one.show_if.items())]


def _from_document(content: Mapping[str, Any]) -> Survey:
    try:
        questions = tuple(
            Question(
                name=one["name"],
                ask=one["ask"],
                help=one["help"],
                answers={answer["label"]: answer["text"] for answer in one["answers"]},
                design=None if one["design"] is None else design_from_dict(one["design"]),
                show_if={name: tuple(after) for name, after in one["show_if"].items()},
            )
            for one in content["questions"]
        )
        head = {key: content[key] for key in ("title", "introduction", "thanks", "contact", "access", "practice")}
        return Survey(
            questions=questions,
            languages=tuple(content["languages"]),
            demand=dict(content["demand"]),
            results=content.get("results", "live"),
            accept_no_protection=content.get("accept_no_protection", False),
            texts=content.get("texts", {}),
            **head,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise PlanError("this-survey-document-cannot-be-read") from error


def _read_survey(given: Mapping[str, Any], folder: Path | None) -> Survey:
    for key in given:
        if key not in ("survey", "question", "wording"):
            raise unknown(key, "unknown table", ["survey", "question", "wording"])
    head = _entries(given.get("survey", {}), "[survey]", _HEAD)
    languages = head.take("languages", names, ("en",))
    for one in languages:
        if not LANGUAGE.fullmatch(one):  # a browser refuses to write numbers in any other
            raise PlanError("is-no-code-of-a-language", name="[survey]: languages", one=shorten(one, 20))
    demand = given.get("survey", {}).get("demand")
    if folder is None and isinstance(demand, Mapping):
        _refuse_files(demand, "[survey]: demand")
    words = Wording(table(given.get("wording", {}), "wording"), languages)
    listed = tables(given.get("question", []), "question")
    if not 1 <= len(listed) <= MOST_QUESTIONS:
        raise PlanError("the-survey-has-questions-write", listed_count=len(listed), most_questions=MOST_QUESTIONS)
    questions: list[Question] = []
    for number, entry in enumerate(listed, start=1):
        questions.append(
            _read_question(_entries(entry, f"[[question]] number {number}", _QUESTION), questions, words, folder)
        )
    title = head.need("title", text, 'give title = "..."')
    survey = Survey(
        title=words.all("title", title),
        introduction=words.all("introduction", head.take("introduction", text)),
        thanks=words.all("thanks", head.take("thanks", text)),
        contact=head.take("contact", text, ""),
        languages=languages,
        access=head.take("access", choice(*ACCESS), "open"),
        practice=head.take("practice", flag, True),
        results=head.take("results", _results, STEP),
        demand=head.take("demand", _demand_words, {}),
        accept_no_protection=head.take("accept_no_protection", flag, False),
        texts=words.own,
        questions=tuple(questions),
    )
    words.finish(survey.by_name)
    _check_promise(survey)
    return survey


def _results(value: Any, name: str) -> str | int:
    if value in RESULTS and isinstance(value, str):
        return value
    if type(value) is not int or not 2 <= value <= LARGEST_STEP:
        raise PlanError(
            "is-neither-live-after-closing-nor", name=name, value=shorten(repr(value), 30), largest_step=LARGEST_STEP
        )
    return value


def _entries(given: Any, where: str, allowed: Sequence[str]) -> Entries:
    """The entries of a table; keys that do not belong there are refused first: a misspelt one changes the others."""
    for key in table(given, where):
        if key not in allowed:
            raise unknown(key, f"{where}: unknown setting", allowed)
    return Entries(given, where)


def _demand_words(value: Any, name: str) -> dict[str, str]:
    """A demand as it was stated, in words that can be read again; texts, so that no reader rounds them."""
    given = table(value, name).items()
    stated = {key: " ".join(map(str, one)) if isinstance(one, list) else str(one) for key, one in given}
    for key in stated:
        if key not in DEMAND_WORDS:
            raise unknown(key, f"{name}: a demand has no", [*DEMAND_WORDS])
    _read_demand(stated, name)
    return stated


def _read_demand(stated: Mapping[str, str], where: str) -> Demand | None:
    try:
        return read_demand(None, {key: value.split() if key == "rho" else value for key, value in stated.items()})
    except MaskwellError as error:
        raise PlanError(f"{where}: {error.message}", hint=error.hint) from error


def _check_promise(survey: Survey) -> None:
    """The promise of all questions together must be stated, and kept."""
    if not survey.sensitive:
        raise PlanError("no-question-of-the-survey")
    if survey.strength == "none" and not survey.accept_no_protection:
        ruling = (one.name for one in survey.sensitive if one.design and isinstance(one.design.parity_exact(), float))
        weakest = f"factor {factor_in(survey.parity, package_texts('page')['en'])}, above {LIMITS['weak']}"
        if (name := next(ruling, None)) is not None:
            weakest = f"one to {shorten(name, 20)!r} rules an answer out"
        raise PlanError("the-reports-of-one-person-can", weakest=weakest, parity=survey.parity)
    demand = _read_demand(survey.demand, "[survey]: demand") if survey.demand else None
    if demand is None and not survey.accept_no_protection:
        raise PlanError("survey-has-no-demand")
    if demand is not None and survey.parity > demand.gamma_exact:
        without = "leave the demand out: none allows a report that rules an answer out"
        raise PlanError(
            "all-questions-together-have-parity-above",
            hint=without
            if isinstance(survey.parity, float)
            else "ask fewer sensitive questions, protect each more, or state a weaker demand",
            survey_parity=factor_up(survey.parity),
            text=demand.text,
            gamma_exact=factor_down(demand.gamma_exact),
            parity=survey.parity,
        )


def _read_question(entries: Entries, before: Sequence[Question], words: Wording, folder: Path | None) -> Question:
    name = entries.need("name", _column, "name the column of its reports")
    where = f"question {name!r}"
    if name in {question.name for question in before}:
        raise PlanError("stands-twice", where=where)
    ask = entries.need("ask", text, "write what is asked")
    labels = entries.take("answers", _labels, ())
    is_open = entries.take("open", flag, False)
    declined = entries.take("prefer_not_to_say", flag, False)
    asked = entries.take(
        "design", lambda value, name: {"file": value} if isinstance(value, str) else table(value, name)
    )
    if is_open == (asked is not None):
        raise PlanError(
            "where-is-words", where=where, words="open and has a design" if is_open else "neither open nor has a design"
        )
    labels = (*labels, DECLINED) if declined and labels else labels
    _check_size(len(labels) or 2, where)
    design = None if is_open else _make_design(asked, labels, folder, where)
    _check_size(len(labels) if design is None else design.k, where)
    if design is not None:  # else reports would be collected for nothing
        try:
            design.check_identifiable()
        except NotIdentifiableError as error:
            raise PlanError(f"{where}: {error.message}", hint=error.hint) from error
    labels = labels if design is None else tuple(texts(one)[0] for one in design.inputs.labels)
    _check_cells(name, labels, design)
    if len(set(labels)) < len(labels):
        raise PlanError("two-answers-of-the-design", where=where)
    question = Question(
        name=name,
        ask=words.question(name, "ask", ask),
        help=words.question(name, "help", entries.take("help", text)),
        answers=words.answers(name, labels),
        design=design,
        show_if=entries.take("show_if", _show_if, {}),
    )
    _check_condition(question, before)
    return question


def _check_cells(name: str, labels: Sequence[str], design: Design | None) -> None:
    """Raise where a spreadsheet would work out a name or a label: exports hold them as they are."""
    reported = () if design is None or isinstance(design, SetDesign) else design.outputs.labels  # type: ignore[union-attr]
    for cell in (name, *labels, *(texts(one)[0] for one in reported)):
        if is_formula(cell):
            raise PlanError("question-begins-as-a-formula-does", name=name, cell=shorten(cell, 30))


def _check_size(k: int, where: str) -> None:
    if not 2 <= k <= MOST_ANSWERS:
        raise PlanError("where-has-k-answers", where=where, k=k, most_answers=MOST_ANSWERS)


def _column(value: Any, name: str) -> str:
    """The name of a question: a column, a part of the name of a file, and a part of an address."""
    column = text(value, name)
    if len(column) > LONGEST_NAME or not column.isprintable() or set(column) & set("/\\") or column.startswith("."):
        raise PlanError("has-over-characters-begins", name=name, longest_name=LONGEST_NAME)
    return column


def _labels(value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise PlanError("name-is-not-a-list", name=name)
    labels = tuple(label(one, name) for one in value)
    try:
        Categories.of(labels)
    except LabelError as error:
        raise PlanError(f"{name}: {error.message}", hint=error.hint) from error
    return labels


def _refuse_files(words: Mapping[str, Any], where: str) -> None:
    """A text from elsewhere must not make this machine read its files, nor reveal whether they exist."""
    family, matrix = words.get("family"), words.get("matrix", ())
    if {"file", "curves"} & set(words) or family in _FROM_FILES or not isinstance(matrix, list | tuple):
        raise PlanError("names-a-file-and-this-text", where=where)


def _make_design(asked: Mapping[str, Any], labels: Sequence[str], folder: Path | None, where: str) -> Design:
    if folder is None:
        _refuse_files(asked, where)
    if isinstance(k := asked.get("k", 2), int):
        _check_size(k, where)
    try:
        if folder is not None and "file" in asked:
            design = read_design(folder / str(asked["file"]))
            if labels and tuple(texts(one)[0] for one in design.inputs.labels) != tuple(labels):
                raise PlanError("the-answers-are-not-those", where=where)
            return design
        words: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()
        }
        if "family" in words:
            family = str(words.pop("family"))
            return make_design(family, categories=labels or None, **words)
        unknown_words = [key for key in words if key not in DEMAND_WORDS]
        if unknown_words:
            raise unknown(unknown_words[0], f"{where}: a design has no", ["file", "family", *DEMAND_WORDS])
        return choose(categories=labels, **words).design
    except MaskwellError as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"{where}: {error.message}", hint=error.hint, **error.objects) from error
    except TypeError as error:
        raise PlanError("where-error", where=where, error=shorten(str(error), 60)) from error


def _show_if(value: Any, name: str) -> dict[str, tuple[str, ...]]:
    return {
        key: tuple(label(one, name) for one in (after if isinstance(after, list) else [after]))
        for key, after in table(value, name).items()
    }


def _check_condition(question: Question, before: Iterable[Question]) -> None:
    """Whether a question is asked may follow only from open answers: else not being asked would reveal a truth."""
    earlier = {one.name: one for one in before}
    for name, after in question.show_if.items():
        where = f"question {question.name!r}: show_if"
        if name not in earlier:
            raise unknown(name, f"{where}: no earlier question is named", [*earlier] or ["(none)"])
        if earlier[name].design is not None:
            raise PlanError("is-randomized-and-its-true-answer", where=where, name=name)
        for one in after:
            if one not in earlier[name].labels:
                raise unknown(one, f"{where}: {name!r} has no answer", earlier[name].labels)

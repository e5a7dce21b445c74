"""Sheets to print: how to answer, what the interviewer does, the record of the device, and cards, table or spinner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.categories import Categories
from maskwell.core.documents import version_text
from maskwell.core.exact import Parity, common_denominator, to_decimal
from maskwell.core.languages import direction_of
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.privacy.strength import strength_of
from maskwell.procedures.decks import report_labels, truth_labels
from maskwell.procedures.design_builders import UNRELATED
from maskwell.procedures.procedure import single_answers
from maskwell.procedures.realisation import Device, Known
from maskwell.reports.device import device_words as told
from maskwell.reports.device import paper_cards as cards
from maskwell.reports.device.device_report import record_of
from maskwell.reports.device.device_words import Question, Words
from maskwell.reports.device.legend_sheets import explained, spinner_svg, throws_of
from maskwell.reports.device.paper_cards import CardSheet, Face
from maskwell.reports.pictures.palette import MONO_FONTS, TEXT_FONTS
from maskwell.reports.report import environment

PAPERS = {"a4": "A4", "letter": "letter"}
LINES = 20  # people on one form
TRUTHFUL = ("warner", "kim-warde", "abul-ela", "mangat-singh", "bourke-dalenius")  # everybody says what is true
NAMES = {
    "truth-or-fixed": "Cards: the truth, or a word that is named",
    "table": "Cards with a line for each true answer",
    "warner": "Warner's cards",
    "kim-warde": "Warner's cards for this stratum",
    "abul-ela": "Statements about each category",
    "mangat": "Mangat's cards",
    "mangat-singh": "Mangat and Singh's cards",
    "christofides": "Christofides' numbers",
    "bourke-dalenius": "Bourke and Dalenius' lists",
}


@dataclass(frozen=True, kw_only=True)
class SheetOptions:
    """What is printed besides the device.

    Attributes
    ----------
    question
        The sensitive question; a line to write on without one.
    innocuous
        The other question of procedures that have two.
    paper
        "a4" or "letter"; by default the printer's own, which may be either.
    design_file
        The design file to estimate with; None where the design that a rounded device realises was not kept.
    study
        The name of the survey, at the top of every sheet, beside a frame for a logo.
    forms
        Whether to print forms too: a practice sheet, a list of answers with boxes to tick, and a sheet for people who
        fill it in alone.
    all_reports
        The factor of all reports of one person, where a survey asks more than this question.
    texts
        Sentences in place of those of the sheets, by the English sentence, as :func:`device_texts` lists them.
    """

    question: str = ""
    innocuous: str | None = None
    paper: str | None = None
    design_file: str | None = "design.json"
    study: str = ""
    forms: bool = False
    all_reports: Parity = Fraction(1)
    texts: Mapping[str, str] = field(default_factory=dict)


def device_page(device: Device, options: SheetOptions | None = None) -> str:
    """The sheets as one HTML text, ready to be printed from a browser."""
    return _printed(device, options)[0]


def device_texts(device: Device, options: SheetOptions | None = None) -> dict[str, str]:
    """Every sentence that the sheets of a device hold, to be edited or translated and given back as ``texts``."""
    return _printed(device, options)[1]


@dataclass
class Wording:
    """What is printed for each English sentence: another text where there is one."""

    texts: Mapping[str, str]
    printed: dict[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """The text to print, which is remembered if it has more letters than the name of a kind or a question."""
        if sum(map(str.isalpha, text)) < 2:
            return text
        return self.printed.setdefault(text, self.texts.get(text, text))

    def all_of(self, value: Any) -> Any:
        """The same for every text in lists, tables, cards and questions; what is drawn or looked up stays."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list | tuple):
            return type(value)(map(self.all_of, value))
        if isinstance(value, Mapping):
            return {name: one if name == "kind" else self.all_of(one) for name, one in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{one.name: self.all_of(getattr(value, one.name)) for one in fields(value)})
        return value


def _printed(device: Device, options: SheetOptions | None) -> tuple[str, dict[str, str]]:
    """The page, and what was printed for each English sentence."""
    check_kind(Device, device=device)
    check_kind(SheetOptions | None, options=options)
    options = SheetOptions() if options is None else options
    if options.paper is not None and options.paper not in PAPERS:
        raise ParameterError("paper-paper", papers=", ".join(PAPERS), paper=options.paper)
    say = Wording(options.texts)
    page = (
        environment()
        .get_template("device.html")
        .render(
            css={"text": TEXT_FONTS, "mono": MONO_FONTS, "paper": PAPERS.get(options.paper or "", "")},
            version=version_text(),
            question=options.question,
            study=options.study,
            forms=options.forms,
            lines=LINES,
            say=say,
            direction=direction_of(say("en")),
            **_fitted(_content(device, options, say)),
        )
    )
    return page, say.printed


def _fitted(content: dict[str, Any]) -> dict[str, Any]:
    """The content, and whether the sheet for respondents is so full that it needs smaller type."""
    needed = cards.instruction_height(
        [(one.text, bool(one.answers)) for one in content["questions"]],
        content["steps"],
        [shown for shown, _, _ in content["direct"]["rows"]] if content["direct"] else [],
        [content["rule"], *content["protection"], content["together"]],
    )
    return {**content, "full": needed > cards.FULL}


def _content(device: Device, options: SheetOptions, say: Wording) -> dict[str, Any]:
    script, design = _script(device, options), device.deck.realised
    sheets = cards.sheets_of(cards.faces_of(device.deck)) if script is None and device.form == "cards" else []
    if script is not None:
        questions, sheets = script.questions, list(script.sheets)
    elif has_unrelated(device.deck.wish):
        questions = two_questions(device.deck.wish, options, other_question(None, options)[0])
    else:
        questions = (Question(options.question, answers=tuple(device.deck.truths)),)
    words = told.words_for(device) if script is None else script.words()
    strength = strength_of(max(design.parity_exact(), options.all_reports))
    promise = told.Sentences("promise")
    sentences = {
        "title": _title(device) if script is None else script.title,
        "steps": words.steps,
        "rules": words.rules,
        "rule": promise.text("rule", strength)
        if (device.procedure is None and device.deck.form not in TRUTHFUL)
        else "",
        "questions": questions,
        "most_listed": told.MOST_LISTED,
        "truths": truth_labels(design),
        "truth_heading": _heading(device.deck.wish),
        "protection": told.protection(device.deck, "chance" if script is None else script.hidden_by, strength),
        "together": promise.text("learned", strength),
        "reports": list(device.deck.reports) if script is None else report_labels(design),
        "sheets": sheets,
        "direct": throws_of(device.dice) if device.dice is not None and told.is_direct(device.dice) else None,
        "parts": explained(device),
    }
    spinner = None if device.spinner is None else spinner_svg(device.spinner)
    return {**say.all_of(sentences), "spinner": spinner, **record_of(device, options.design_file)}


def _heading(design: Design) -> str:
    """What is looked up on a card: the true answer, or the answers to several questions."""
    if has_unrelated(design):
        return "Answers to A, B"
    names = design.provenance.get("variables", design.provenance.get("items"))
    return ", ".join(map(str, names)).capitalize() if isinstance(names, list) else "True answer"


def _script(device: Device, options: SheetOptions) -> Script | None:
    if device.procedure is None:
        return None
    return SCRIPTS[device.procedure.family](device.procedure, device.realised, options)


def sheet_notes(device: Device, options: SheetOptions) -> list[str]:
    """What a person who prints the sheets must know, besides the warnings of the device."""
    script = _script(device, options)
    if script is not None:
        return list(script.notes)
    return list(other_question(None, options)[1]) if has_unrelated(device.deck.wish) else []


def _title(device: Device) -> str:
    kind = NAMES.get(device.deck.form, "Cards")
    if device.dice is not None:
        return "Coins" if device.dice.faces == 2 else "Dice"
    return kind if device.spinner is None else "Spinner"


YES_NO = ["yes", "no"]

MOST_BALLS = 200


@dataclass(frozen=True, kw_only=True)
class Script:
    """A procedure with what is said and printed."""

    title: str  # its name
    template: str  # template, facts: which sentences it has, and what stands in them
    facts: Mapping[str, Any]
    design: Design  # design, thing: what it realises, and what nobody but the respondent may see
    thing: str
    questions: tuple[Question, ...]  # what the respondent reads first
    sheets: tuple[CardSheet, ...] = ()  # what is printed besides
    notes: tuple[str, ...] = ()  # what whoever prints it must know
    hidden_by: str = "chance"  # what hides the answer: "chance" or "the_other_question"

    def words(self) -> Words:
        """What both sides read."""
        return told.words_of(self.template, self.facts, self.design, thing=self.thing)


def has_unrelated(design: Design) -> bool:
    """Whether truths are pairs of an own answer and one to an unrelated question."""
    names = design.provenance.get("variables")
    return isinstance(names, list) and len(names) == 2 and names[1] == UNRELATED


def own_labels(design: Design) -> list[str]:
    """Answers to the sensitive question alone, also where truths are pairs of it and an unrelated answer."""
    if not has_unrelated(design):
        return [str(label) for label in design.inputs.labels]
    return list(dict.fromkeys(str(label[0]) for label in design.inputs.labels if isinstance(label, tuple)))


def two_questions(design: Design, asked: SheetOptions, other: str) -> tuple[Question, ...]:
    """Both questions under their letters; the answers are listed where they are not yes and no."""
    answers = own_labels(design)
    listed = answers != YES_NO
    return (
        Question(asked.question, "A", tuple(answers) if listed else ()),
        Question(other, "B", tuple(YES_NO) if listed else ()),
    )


def other_question(share: Fraction | None, asked: SheetOptions) -> tuple[str, tuple[str, ...]]:
    """The innocuous question, and what to know of it; a line to write on where there is none."""
    if asked.innocuous:
        return asked.innocuous, ()
    if share is None:
        return "", ("the unrelated question is left blank on the sheet: --innocuous TEXT prints it",)
    share_text = to_decimal(share)
    question = told.months(share)
    if question is None:
        return "", (f"the other question is left blank; give one with a share {share_text} of yes: --innocuous TEXT",)
    return question, (
        f"the other question is about birth months, and about {share_text} of all people say yes to it: check that for "
        "your population, or give another one with --innocuous TEXT",
    )


def _at_once(known: Known, design: Design, asked: SheetOptions) -> Script:
    """Whether the answers to both questions are the same (crosswise), or any of both applies (triangular)."""
    share = known.parameters["q"]
    other, notes = other_question(share, asked)
    answers = own_labels(design)
    a, b = answers
    facts = {"model": known.family, "a": a, "b": b, "plain": answers == YES_NO, "share": to_decimal(share)}
    return Script(
        title=f"{known.family.capitalize()} model",
        template="both_at_once",
        facts=facts | {"reports": report_labels(design)},
        design=design,
        thing="",
        questions=two_questions(design, asked, other),
        notes=notes,
        hidden_by="the_other_question",
    )


def _two_questions(known: Known, design: Design, asked: SheetOptions) -> Script:
    """Cards that name one of two questions, in one deck or in a box for each of two answers."""
    answers, parameters = own_labels(design), known.parameters
    members = "mangat" in str(design.provenance["family"])  # they always say yes
    twice = "p" not in parameters
    assert isinstance(design.outputs, Categories)
    reports = [str(one) for one in single_answers(design.outputs)] if twice else report_labels(design)
    chances = [parameters[p] for p in (("p1", "p2") if twice else ("p",))]
    boxes = [_question_cards(p, answers, reports, members=members) for p in chances]
    share = None if twice else parameters.get("beta", parameters.get("alpha"))
    title = "Two questions, two boxes" if twice else "Two questions"
    return _with_cards(title, design, asked, boxes, share, reports, {"own": answers, "members": members})


def _question_cards(p: Fraction, answers: Sequence[str], reports: Sequence[str], *, members: bool) -> list[Face]:
    always = (
        f" But if your answer to A is {cards.quoted(answers[0])}, always say {cards.quoted(reports[0])}."
        if members
        else ""
    )
    return [
        Face(p.numerator, "Answer question A.", _said(answers, reports) + always),
        Face(p.denominator - p.numerator, "Answer question B.", _said(YES_NO, reports) + always),
    ]


def _said(answers: Sequence[str], reports: Sequence[str]) -> str:
    """In which words an answer is given."""
    return (
        f"Say {cards.either(reports)}." if list(answers) == list(reports) else f"Say {cards.matched(answers, reports)}."
    )


def _statements(known: Known, design: Design, asked: SheetOptions) -> Script:
    """Cards with a statement for each category, and cards that name the innocuous question."""
    reports, answers, parameters = report_labels(design), own_labels(design), known.parameters
    shares = [*parameters["statements"], parameters["unrelated"]]
    size = common_denominator(shares)
    texts = [*(f"“My true answer to A is: {name}.”" for name in answers), "Answer question B."]
    notes = [*[cards.if_right(reports)] * len(answers), _said(YES_NO, reports)]
    faces = [Face(int(share * size), text, note) for share, text, note in zip(shares, texts, notes, strict=True)]
    facts = {"own": answers, "statements": True}
    return _with_cards("Statements and a question", design, asked, [faces], parameters.get("beta"), reports, facts)


def _with_cards(
    title: str,
    design: Design,
    asked: SheetOptions,
    boxes: Sequence[Sequence[Face]],
    share: Fraction | None,
    reports: Sequence[str],
    facts: Mapping[str, Any],
) -> Script:
    """Two questions, and cards that say which of them to answer: in one deck, or in a box for each of two answers."""
    other, notes = other_question(share, asked)
    printed = [[face for face in faces if face.copies] for faces in boxes]
    names = [""] if len(boxes) == 1 else [f"Box {number + 1}" for number in range(len(boxes))]
    counted = {
        "boxes": [[f"{cards.cards_of(face)}: {face.text}" for face in faces] for faces in printed],
        "size": sum(face.copies for face in printed[0]),
        "share": None if share is None else to_decimal(share),
    }
    plain = list(facts["own"]) == list(reports) == YES_NO
    return Script(
        title=title,
        template="question_cards",
        facts={"members": False, "statements": False, "plain": plain, "reports": reports, **facts, **counted},
        design=design,
        thing="card",
        questions=two_questions(design, asked, other),
        sheets=tuple(
            sheet for name, faces in zip(names, printed, strict=True) for sheet in cards.sheets_of(faces, name=name)
        ),
        notes=notes,
    )


def _kuk(known: Known, design: Design, asked: SheetOptions) -> Script:
    parameters = known.parameters
    decks = [("Deck 1", parameters["theta1"]), ("Deck 2", parameters["theta2"])]
    facts = {
        "decks": [(name, t.numerator, t.denominator - t.numerator) for name, t in decks],
        "draws": parameters["draws"],
    }
    sheets = [
        s for name, t in decks for s in cards.sheets_of(_two_colours(t.numerator, t.denominator, "Black"), name=name)
    ]
    return _counted("Kuk's two decks", "kuk", facts, design, asked, sheets)


def _chow(known: Known, design: Design, asked: SheetOptions) -> Script:
    red, blue = known.parameters["red"], known.parameters["blue"]
    facts = {"red": red, "blue": blue, "draws": known.parameters["draws"]}
    few = red + blue <= MOST_BALLS
    return _counted(
        "Chow's urn",
        "chow",
        facts,
        design,
        asked,
        cards.sheets_of(_two_colours(red, red + blue, "Blue")) if few else [],
    )


def _counted(
    title: str,
    template: str,
    facts: Mapping[str, Any],
    design: Design,
    asked: SheetOptions,
    sheets: Sequence[CardSheet],
) -> Script:
    """One question, and cards or balls whose number is said."""
    (yes, no), reports = truth_labels(design), report_labels(design)
    numbers = [str(number) for number in range(len(reports))]
    as_said = f": {cards.either(numbers)}" if len(numbers) <= told.MOST_LISTED else ", as a number"
    if reports != numbers:  # they have other names
        as_said = f": {cards.matched(numbers, reports)}"
    return Script(
        title=title,
        template=template,
        facts={"yes": yes, "no": no, "as_said": as_said, **facts},
        design=design,
        thing="cards",
        questions=(Question(asked.question, answers=(yes, no)),),
        sheets=tuple(sheets),
    )


def _two_colours(red: int, total: int, other: str) -> list[Face]:
    faces = [Face(red, "Red"), Face(total - red, other)]
    return [face for face in faces if face.copies]


SCRIPTS: dict[str, Callable[[Known, Design, SheetOptions], Script]] = {
    **dict.fromkeys(("crosswise", "triangular"), _at_once),
    **dict.fromkeys(("simmons", "soberanis-cruz", "mangat-singh-singh"), _two_questions),
    **dict.fromkeys(("simmons-twice", "mangat-singh-singh-twice"), _two_questions),
    "greenberg-statements": _statements,
    "kuk": _kuk,
    "chow": _chow,
}

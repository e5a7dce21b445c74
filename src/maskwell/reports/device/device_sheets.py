"""Sheets to print: how to answer, what the interviewer does, the record of the device, and cards, table or spinner.

One file that needs no other, black on white, for A4 and Letter alike. Every label is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.documents import version_text
from maskwell.designs.design import Design
from maskwell.errors import ParameterError
from maskwell.procedures.decks import report_labels, truth_labels
from maskwell.procedures.realisation import Device
from maskwell.reports.device.device_report import record_of
from maskwell.reports.device.device_scripts import (
    Asked,
    Script,
    has_unrelated,
    other_question,
    script_for,
    two_questions,
)
from maskwell.reports.device.device_words import (
    MOST_LISTED,
    Question,
    is_direct,
    learned,
    protection,
    rule_by_chance,
    words_for,
)
from maskwell.reports.device.legend_sheets import explained, spinner_svg, throws_of
from maskwell.reports.device.paper_cards import FULL, CardSheet, faces_of, instruction_height, sheets_of
from maskwell.reports.pictures.canvas import MONO_FONTS, TEXT_FONTS
from maskwell.reports.report import environment

PAPERS = {"a4": "A4", "letter": "letter"}
LINES = 20
"""People on one form."""
TRUTHFUL = ("warner", "kim-warde", "abul-ela", "mangat-singh", "bourke-dalenius")
"""Forms in which everybody says what is true."""

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
    texts
        Sentences in place of those of the sheets, by the English sentence, as :func:`device_texts` lists them.
    """

    question: str = ""
    innocuous: str | None = None
    paper: str | None = None
    design_file: str | None = "design.json"
    study: str = ""
    forms: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)


def device_page(device: Device, options: SheetOptions | None = None) -> str:
    """The sheets as one HTML text, ready to be printed from a browser.

    >>> from maskwell.procedures import make_device
    >>> from maskwell.procedures import warner
    >>> page = device_page(make_device(warner("0.7")), SheetOptions(question="Have you ever evaded taxes?"))
    >>> page.count('<div class="face">')   # one for each of ten cards
    10
    """
    return _printed(device, options)[0]


def device_texts(device: Device, options: SheetOptions | None = None) -> dict[str, str]:
    """Every sentence that the sheets of a device hold, to be edited or translated and given back as ``texts``.

    Keys are the English sentences, values what is printed. A sentence that is about the device, such as how many cards
    there are, changes with it: then list the sentences again.

    >>> from maskwell.procedures import make_device
    >>> from maskwell.procedures import warner
    >>> texts = device_texts(make_device(warner("0.7")))
    >>> texts["How to answer"] = "So antworten Sie"
    >>> "So antworten Sie" in device_page(make_device(warner("0.7")), SheetOptions(texts=texts))
    True
    """
    return _printed(device, options)[1]


class Wording:
    """What is printed for each English sentence: another text where there is one."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.printed: dict[str, str] = {}

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
        raise ParameterError(f"paper = {options.paper!r}", hint=f"one of {', '.join(PAPERS)}", paper=options.paper)
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
            **_fitted(_content(device, options, say)),
        )
    )
    return page, say.printed


def _fitted(content: dict[str, Any]) -> dict[str, Any]:
    """The content, and whether the sheet for respondents is so full that it needs smaller type."""
    needed = instruction_height(
        [(one.text, bool(one.answers)) for one in content["questions"]],
        content["steps"],
        [shown for shown, _, _ in content["direct"]["rows"]] if content["direct"] else [],
        [content["rule"], *content["protection"], content["together"]],
    )
    return {**content, "full": needed > FULL}


def _content(device: Device, options: SheetOptions, say: Wording) -> dict[str, Any]:
    script, design = _script(device, options), device.deck.realised
    words = words_for(device) if script is None else script.words()
    sentences = {
        "title": _title(device) if script is None else script.title,
        "steps": words.steps,
        "rules": words.rules,
        "rule": rule_by_chance() if _is_by_chance(device) else "",
        "questions": _questions(device, options) if script is None else script.questions,
        "most_listed": MOST_LISTED,
        "truths": truth_labels(design),
        "truth_heading": _heading(device.deck.wish),
        "protection": protection(device.deck) if script is None else protection(device.deck, script.hidden_by),
        "together": learned(design),
        "reports": list(device.deck.reports) if script is None else report_labels(design),
        "sheets": _sheets(device, script),
        "direct": throws_of(device.dice) if device.dice is not None and is_direct(device.dice) else None,
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
    return script_for(device.procedure, device.realised, Asked(options.question, options.innocuous))


def _questions(device: Device, options: SheetOptions) -> tuple[Question, ...]:
    """The question, or two where truths are pairs of an own and an unrelated answer."""
    asked = Asked(options.question, options.innocuous)
    if has_unrelated(device.deck.wish):
        return two_questions(device.deck.wish, asked, other_question(None, asked)[0])
    return (Question(options.question, answers=tuple(device.deck.truths)),)


def sheet_notes(device: Device, options: SheetOptions) -> list[str]:
    """What whoever prints the sheets must know, besides the warnings of the device."""
    script = _script(device, options)
    if script is None:
        asked = Asked(options.question, options.innocuous)
        return list(other_question(None, asked)[1]) if has_unrelated(device.deck.wish) else []
    return list(script.notes)


def _is_by_chance(device: Device) -> bool:
    """Whether people may be told to say what is not true; two questions at once are always answered truthfully."""
    return device.procedure is None and device.deck.form not in TRUTHFUL


def _title(device: Device) -> str:
    kind = NAMES.get(device.deck.form, "Cards")
    if device.dice is not None:
        return "Coins" if device.dice.faces == 2 else "Dice"
    return kind if device.spinner is None else "Spinner"


def _sheets(device: Device, script: Script | None) -> list[CardSheet]:
    if script is not None:
        return list(script.sheets)
    return sheets_of(faces_of(device.deck)) if device.form == "cards" else []

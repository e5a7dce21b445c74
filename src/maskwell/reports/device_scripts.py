"""Procedures that are carried out in their own way: two questions at once, two decks, an urn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import common_denominator, to_decimal
from maskwell.designs.base import Design
from maskwell.procedures.classical import Known
from maskwell.procedures.decks import report_labels, truth_labels
from maskwell.reports.device_cards import CardSheet, Face, either, quoted, sheets_of
from maskwell.reports.device_words import ALONE, BACK, CARD_EACH, CHANCE, THINK, Words, rules_around

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
MOST_BALLS = 200


@dataclass(frozen=True)
class Script:
    """A procedure in words.

    Attributes
    ----------
    title
        Its name.
    words
        What both sides are told.
    questions
        What the respondent reads, under letters, where there are two questions.
    sheets
        What is printed besides.
    notes
        What whoever prints it must know.
    hidden
        What only the respondent knows.
    """

    title: str
    words: Words
    questions: tuple[tuple[str, str], ...] = ()
    sheets: tuple[CardSheet, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: str = CHANCE


def script_for(known: Known, design: Design, question: str, innocuous: str | None) -> Script:
    """The words and sheets of a procedure of :data:`~maskwell.procedures.realise.OWN_WAY`."""
    return SCRIPTS[known.family](known.parameters, design, question, innocuous)


def months(share: Fraction) -> str | None:
    """A question about birth months to which about this share says yes; None where no whole number of months does.

    >>> months(Fraction(1, 6)), months(Fraction(1, 12)), months(Fraction(1, 5))
    ('Was your mother born in January or February?', 'Was your mother born in January?', None)
    """
    count = 12 * share
    if count.denominator != 1 or not 0 < count < 12:
        return None
    last = MONTHS[int(count) - 1]
    when = {1: f"in {last}", 2: f"in {MONTHS[0]} or {last}"}.get(int(count), f"between {MONTHS[0]} and {last}")
    return f"Was your mother born {when}?"


def _other(share: Fraction | None, innocuous: str | None) -> tuple[str, tuple[str, ...]]:
    """The innocuous question, and what to know of it; a line to write on where there is none."""
    if innocuous:
        return innocuous, ()
    if share is None:
        return "", ("the unrelated question is left blank on the sheet: --innocuous TEXT prints it",)
    shown = to_decimal(share)
    found = months(share)
    if found is None:
        return "", (f"the other question, to which a share of {shown} says yes, is left blank: --innocuous TEXT",)
    return found, (
        f"the other question is about birth months, to which only about a share of {shown} says yes: check it for "
        "your population, or give another one with --innocuous TEXT",
    )


def _share_rule(share: Fraction | None) -> str:
    if share is None:
        return "The second question must have nothing to do with the first."
    return (
        f"The second question must have nothing to do with the first, and a share of {to_decimal(share)} of the people "
        "asked must say yes to it. A wrong share makes the results wrong."
    )


PAPER_EACH = (
    "The person answers both questions in thought, not aloud, and marks nothing on paper.",
    "Only the one answer to both together is said.",
)
OTHER = "Nobody but you knows your answer to the other question, so nobody can read yours from what you say."
NO_DEVICE = "Nothing is needed but this sheet. It works by mail and on the web too."


def _two_questions(
    title: str,
    design: Design,
    questions: tuple[str, str],
    rule: tuple[str, str],
    share: Fraction,
    notes: tuple[str, ...],
) -> Script:
    steps = (
        "Read both questions. Answer each of them in your thoughts. Say nothing yet.",
        f"{rule[0]} Say {quoted(report_labels(design)[0])}.",
        f"{rule[1]} Say {quoted(report_labels(design)[1])}.",
        ALONE,
    )
    rules = rules_around(design, (NO_DEVICE, _share_rule(share)), PAPER_EACH, thing="")
    return Script(title, Words(steps, rules), tuple(zip("AB", questions, strict=True)), notes=notes, hidden=OTHER)


def _crosswise(given: Any, design: Design, question: str, innocuous: str | None) -> Script:
    other, notes = _other(given["q"], innocuous)
    rule = ("Are your two answers the same, both yes or both no?", "Is one answer yes and the other no?")
    return _two_questions("Crosswise model", design, (question, other), rule, given["q"], notes)


def _triangular(given: Any, design: Design, question: str, innocuous: str | None) -> Script:
    other, notes = _other(given["q"], innocuous)
    rule = ("Is at least one of your answers yes?", "Are both answers no?")
    return _two_questions("Triangular model", design, (question, other), rule, given["q"], notes)


def _simmons(given: Any, design: Design, question: str, innocuous: str | None) -> Script:
    p, say = given["p"], f"Say {either(report_labels(design))}."
    faces = [
        Face(p.numerator, "Answer question A.", say),
        Face(p.denominator - p.numerator, "Answer question B.", say),
    ]
    share = given.get("beta", given.get("alpha"))
    follow = f"Answer the question that the card names, truthfully: {either(report_labels(design))}."
    return _with_cards("Two questions", design, (question, innocuous), faces, share, follow)


def _statements(given: Any, design: Design, question: str, innocuous: str | None) -> Script:
    reports, own = report_labels(design), _own_labels(design, len(given["statements"]))
    shares = [*given["statements"], given["unrelated"]]
    size = common_denominator(shares)
    texts = [*(f"“My true answer to A is: {name}.”" for name in own), "Answer question B."]
    notes = [*[f"Is this right for you? Say {either(reports)}."] * len(own), f"Say {either(reports)}."]
    faces = [Face(int(share * size), text, note) for share, text, note in zip(shares, texts, notes, strict=True)]
    follow = (
        f"Is it a statement? Say {quoted(reports[0])} if it is right for you, else {quoted(reports[1])}. Does it name "
    )
    follow += "question B? Then answer that one."
    return _with_cards("Statements and a question", design, (question, innocuous), faces, given.get("beta"), follow)


def _own_labels(design: Design, count: int) -> list[str]:
    """Labels of the sensitive question alone, where truths are pairs of it and an unrelated answer."""
    labels = design.inputs.labels
    return list(
        dict.fromkeys(str(one[0]) if len(labels) > count and isinstance(one, tuple) else str(one) for one in labels)
    )


def _with_cards(
    title: str,
    design: Design,
    asked: tuple[str, str | None],
    faces: list[Face],
    share: Fraction | None,
    follow: str,
) -> Script:
    """Two questions, and cards that say which of them to answer."""
    other, notes = _other(share, asked[1])
    kept = [face for face in faces if face.copies]
    steps = (
        "Read both questions and think of your true answers. Keep them to yourself.",
        "Mix the cards. Draw one and look at it. Let nobody else see it.",
        follow,
        f"{ALONE} Do not say what the card was about.",
        BACK,
    )
    counted = tuple(f"{face.copies} × {face.text}" for face in kept)
    size = sum(face.copies for face in kept)
    before = (f"Print and cut the cards, and count them: {size} in all.", *counted, _share_rule(share))
    rules = rules_around(design, before, CARD_EACH, thing="card")
    questions = tuple(zip("AB", (asked[0], other), strict=True))
    return Script(title, Words(steps, rules), questions, tuple(sheets_of(kept)), notes)


def _kuk(given: Any, design: Design, question: str, innocuous: str | None) -> Script:  # noqa: ARG001
    yes, no = map(quoted, truth_labels(design))
    draws = given["draws"]
    decks = [("Deck 1", given["theta1"]), ("Deck 2", given["theta2"])]
    cards = "a card" if draws == 1 else f"{draws} cards, one at a time: look, put it back, mix, draw again"
    steps = (
        THINK,
        f"Is it {yes}? Then use deck 1. Is it {no}? Then use deck 2. Let nobody see which one you use.",
        f"Draw {cards}. Count the red ones.",
        f"Say only how many were red: {either(report_labels(design))}.",
    )
    counted = tuple(f"{name}: {t.numerator} red, {t.denominator - t.numerator} black cards." for name, t in decks)
    before = ("Print and cut both decks and keep them in two boxes marked 1 and 2.", *counted)
    each = (
        "Put both boxes in front of the person, and shuffle both decks.",
        "Turn away. Never look which box is used or which cards are drawn.",
    )
    sheets = [s for name, t in decks for s in sheets_of(_two_colours(t.numerator, t.denominator, "Black"), name=name)]
    return Script("Kuk's two decks", Words(steps, rules_around(design, before, each, thing="cards")), (), tuple(sheets))


def _chow(given: Any, design: Design, question: str, innocuous: str | None) -> Script:  # noqa: ARG001
    yes, no = map(quoted, truth_labels(design))
    red, blue, draws = given["red"], given["blue"], given["draws"]
    steps = (
        THINK,
        f"Mix the cards. Draw {draws} of them and look. Let nobody else see them.",
        f"Is your true answer {yes}? Then count the red ones. Is it {no}? Then count the blue ones.",
        f"Say only that number: {either(report_labels(design))}.",
        "Put the cards back and mix them again.",
    )
    before = (f"Use {red} red and {blue} blue balls in a bag, or print and cut as many cards.",)
    few = red + blue <= MOST_BALLS
    sheets = sheets_of(_two_colours(red, red + blue, "Blue")) if few else []
    return Script("Chow's urn", Words(steps, rules_around(design, before, CARD_EACH, thing="cards")), (), tuple(sheets))


def _two_colours(red: int, total: int, other: str) -> list[Face]:
    faces = [Face(red, "Red"), Face(total - red, other)]
    return [face for face in faces if face.copies]


SCRIPTS: dict[str, Callable[[Any, Design, str, str | None], Script]] = {
    "crosswise": _crosswise,
    "triangular": _triangular,
    "simmons": _simmons,
    "soberanis-cruz": _simmons,
    "greenberg-statements": _statements,
    "kuk": _kuk,
    "chow": _chow,
}

"""Procedures with two questions, a sensitive and an innocuous one, in words.

Procedures that are carried out in their own way, all by name; here those that count cards or balls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import common_denominator, to_decimal
from maskwell.designs.base import Design
from maskwell.procedures.classical import Known
from maskwell.procedures.procedure import single_answers
from maskwell.procedures.samples import UNRELATED
from maskwell.procedures.spoken import report_labels, truth_labels
from maskwell.reports.device.device_words import (
    ALONE,
    BACK,
    CARD_EACH,
    CHANCE,
    MOST_LISTED,
    THINK,
    Question,
    Words,
    rules_around,
)
from maskwell.reports.device.paper_cards import CardSheet, Face, either, if_right, matched, quoted, sheets_of

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
YES_NO = ["yes", "no"]
READ = "Read both questions and think of your true answers. Keep them to yourself."
OTHER = "As long as nobody knows your answer to the other question, nobody can read yours from what you say."
NO_DEVICE = "Nothing is needed but this sheet. It works by mail and on the web too."
PAPER_EACH = (
    "The person answers both questions in thought, not aloud, and marks nothing on paper.",
    "Only the one answer to both together is said.",
)


@dataclass(frozen=True)
class Asked:
    """The sensitive question, and the innocuous one where it was given."""

    question: str
    innocuous: str | None


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
        What the respondent reads first.
    sheets
        What is printed besides.
    notes
        What whoever prints it must know.
    hidden
        What only the respondent knows.
    """

    title: str
    words: Words
    questions: tuple[Question, ...]
    sheets: tuple[CardSheet, ...] = ()
    notes: tuple[str, ...] = ()
    hidden: str = CHANCE


# ---- the two questions


def has_unrelated(design: Design) -> bool:
    """Whether truths are pairs of an own answer and one to an unrelated question."""
    names = design.provenance.get("variables")
    return isinstance(names, list) and len(names) == 2 and names[1] == UNRELATED


def own_labels(design: Design) -> list[str]:
    """Answers to the sensitive question alone, also where truths are pairs of it and an unrelated answer."""
    if not has_unrelated(design):
        return [str(label) for label in design.inputs.labels]
    return list(dict.fromkeys(str(label[0]) for label in design.inputs.labels if isinstance(label, tuple)))


def two_questions(design: Design, asked: Asked, other: str) -> tuple[Question, ...]:
    """Both questions under their letters; the answers are listed where they are not yes and no."""
    own = own_labels(design)
    listed = own != YES_NO
    return (
        Question(asked.question, "A", tuple(own) if listed else ()),
        Question(other, "B", tuple(YES_NO) if listed else ()),
    )


def other_question(share: Fraction | None, asked: Asked) -> tuple[str, tuple[str, ...]]:
    """The innocuous question, and what to know of it; a line to write on where there is none."""
    if asked.innocuous:
        return asked.innocuous, ()
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


def _share_rule(share: Fraction | None) -> str:
    if share is None:
        return "The second question must have nothing to do with the first."
    return (
        f"The second question must have nothing to do with the first, and a share of {to_decimal(share)} of the people "
        "asked must say yes to it. A wrong share makes the results wrong."
    )


# ---- both answered at once


def crosswise(given: Any, design: Design, asked: Asked) -> Script:
    """Whether the answers to both questions are the same."""
    a, b = map(quoted, own_labels(design))
    rule = (
        f"Is your answer to A {a} and to B “yes”, or to A {b} and to B “no”?",
        f"Is your answer to A {a} and to B “no”, or to A {b} and to B “yes”?",
    )
    if own_labels(design) == YES_NO:
        rule = "Are your two answers the same, both yes or both no?", "Is one answer yes and the other no?"
    return _at_once("Crosswise model", design, asked, rule, given["q"])


def triangular(given: Any, design: Design, asked: Asked) -> Script:
    """Whether any of both applies."""
    a, b = map(quoted, own_labels(design))
    rule = (
        f"Is your answer to A {a}, or your answer to B “yes”, or both?",
        f"Is your answer to A {b} and your answer to B “no”?",
    )
    if own_labels(design) == YES_NO:
        rule = "Is at least one of your answers yes?", "Are both answers no?"
    return _at_once("Triangular model", design, asked, rule, given["q"])


def _at_once(title: str, design: Design, asked: Asked, rule: tuple[str, str], share: Fraction) -> Script:
    other, notes = other_question(share, asked)
    reports = report_labels(design)
    steps = (
        "Read both questions. Answer each of them in your thoughts. Say nothing yet.",
        f"{rule[0]} Say {quoted(reports[0])}.",
        f"{rule[1]} Say {quoted(reports[1])}.",
        ALONE,
    )
    rules = rules_around(design, (NO_DEVICE, _share_rule(share)), PAPER_EACH, thing="")
    return Script(title, Words(steps, rules), two_questions(design, asked, other), notes=notes, hidden=OTHER)


# ---- cards that name one of them


def simmons(given: Any, design: Design, asked: Asked) -> Script:
    """Cards that name the one or the other question; in the form of Mangat and others members always say yes."""
    own, reports = own_labels(design), report_labels(design)
    members = "mangat" in str(design.provenance["family"])
    share = given.get("beta", given.get("alpha"))
    faces = _question_cards(given["p"], own, reports, members=members)
    follow = _follow(own, reports, "the card", members=members)
    return _with_cards("Two questions", design, asked, faces, share, follow)


def _question_cards(p: Fraction, own: Sequence[str], reports: Sequence[str], *, members: bool) -> list[Face]:
    always = f" But if your answer to A is {quoted(own[0])}, always say {quoted(reports[0])}." if members else ""
    return [
        Face(p.numerator, "Answer question A.", _said(own, reports) + always),
        Face(p.denominator - p.numerator, "Answer question B.", _said(YES_NO, reports) + always),
    ]


def _said(answers: Sequence[str], reports: Sequence[str]) -> str:
    """In which words an answer is given.

    >>> _said(["yes", "no"], ["yes", "no"]), _said(["evaded", "honest"], ["yes", "no"])
    ('Say “yes” or “no”.', 'Say “yes” for “evaded”, “no” for “honest”.')
    """
    return f"Say {either(reports)}." if list(answers) == list(reports) else f"Say {matched(answers, reports)}."


def _follow(own: Sequence[str], reports: Sequence[str], thing: str, *, members: bool) -> str:
    plain = list(own) == list(reports) == YES_NO
    words = f": {either(reports)}" if plain else f", in the words that {thing} gives you"
    truth = f"answer the question that {thing} names, truthfully{words}."
    if not members:
        return truth[0].upper() + truth[1:]
    return (
        f"Is your answer to A {quoted(own[0])}? Then say {quoted(reports[0])}, whatever {thing} says. If it is not, "
        f"{truth}"
    )


def statements(given: Any, design: Design, asked: Asked) -> Script:
    """Cards with a statement for each category, and cards that name the innocuous question."""
    reports, own = report_labels(design), own_labels(design)
    shares = [*given["statements"], given["unrelated"]]
    size = common_denominator(shares)
    texts = [*(f"“My true answer to A is: {name}.”" for name in own), "Answer question B."]
    notes = [*[if_right(reports)] * len(own), _said(YES_NO, reports)]
    faces = [Face(int(share * size), text, note) for share, text, note in zip(shares, texts, notes, strict=True)]
    follow = f"Is it a statement? {if_right(reports)} Does it name question B? Then answer that one: {either(reports)}."
    return _with_cards("Statements and a question", design, asked, faces, given.get("beta"), follow)


def _with_cards(
    title: str, design: Design, asked: Asked, faces: list[Face], share: Fraction | None, follow: str
) -> Script:
    """Two questions, and cards that say which of them to answer."""
    other, notes = other_question(share, asked)
    kept = [face for face in faces if face.copies]
    steps = (
        READ,
        "Mix the cards. Draw one and look at it. Let nobody else see it.",
        follow,
        f"{ALONE} Do not say what the card was about.",
        BACK,
    )
    size = sum(face.copies for face in kept)
    before = (f"Print and cut the cards, and count them: {size} in all.", *_counted(kept), _share_rule(share))
    rules = rules_around(design, before, CARD_EACH, thing="card")
    return Script(title, Words(steps, rules), two_questions(design, asked, other), tuple(sheets_of(kept)), notes)


def _counted(faces: Sequence[Face]) -> tuple[str, ...]:
    return tuple(f"{face.copies} × {face.text}" for face in faces)


def simmons_twice(given: Any, design: Design, asked: Asked) -> Script:
    """Two boxes of cards that name one of two questions; both answers are said."""
    own, members = own_labels(design), "mangat" in str(design.provenance["family"])
    assert isinstance(design.outputs, Categories)
    single = [str(answer) for answer in single_answers(design.outputs)]
    other, notes = other_question(None, asked)
    boxes = [
        (f"Box {box}", [face for face in _question_cards(given[p], own, single, members=members) if face.copies])
        for box, p in ((1, "p1"), (2, "p2"))
    ]
    steps = (
        READ,
        "Draw a card from box 1 and look at it. Let nobody else see it. Put it back.",
        f"{_follow(own, single, 'the card', members=members)} Say only that.",
        "Do the same once more with box 2.",
        "Do not explain your answers, and do not say what the cards were about.",
    )
    counted = tuple(f"{name}: {' '.join(_counted(faces))}" for name, faces in boxes)
    before = ("Print and cut the cards, and keep them in two boxes marked 1 and 2.", *counted, _share_rule(None))
    rules = rules_around(design, before, TWO_BOXES, thing="card")
    sheets = tuple(sheet for name, faces in boxes for sheet in sheets_of(faces, name=name))
    return Script("Two questions, two boxes", Words(steps, rules), two_questions(design, asked, other), sheets, notes)


TWO_BOXES = (
    "Shuffle the cards of both boxes in front of the person: at least seven times.",
    "The person draws one card from box 1, then one from box 2, and looks at each alone.",
    "Turn away. Never look at a card, and never ask what it said.",
)


MOST_BALLS = 200


def script_for(known: Known, design: Design, asked: Asked) -> Script:
    """The words and sheets of a procedure of :data:`~maskwell.procedures.realise.OWN_WAY`."""
    return SCRIPTS[known.family](known.parameters, design, asked)


def _kuk(given: Any, design: Design, asked: Asked) -> Script:
    yes, no = map(quoted, truth_labels(design))
    draws = given["draws"]
    decks = [("Deck 1", given["theta1"]), ("Deck 2", given["theta2"])]
    cards = "a card" if draws == 1 else f"{draws} cards, one at a time"
    steps = (
        THINK,
        f"Is it {yes}? Then use deck 1. Is it {no}? Then use deck 2. Let nobody see which one you use.",
        f"Draw {cards}: look, put it back, mix.{'' if draws == 1 else ' Count the red ones.'}",
        _said_count(report_labels(design), "how many were red"),
        "Leave both decks as you found them.",
    )
    counted = tuple(f"{name}: {t.numerator} red, {t.denominator - t.numerator} black cards." for name, t in decks)
    screen = "Bring a screen. Whoever sees which deck is used knows the true answer."
    before = ("Print and cut both decks and keep them in two boxes marked 1 and 2.", *counted, screen)
    each = (
        "Shuffle both decks and put both boxes in front of the person, who reaches into them unseen.",
        "Turn away. Never look which box is used or which cards are drawn.",
    )
    sheets = [s for name, t in decks for s in sheets_of(_two_colours(t.numerator, t.denominator, "Black"), name=name)]
    words = Words(steps, rules_around(design, before, each, thing="cards"))
    return Script("Kuk's two decks", words, _one(asked, design), tuple(sheets))


def _chow(given: Any, design: Design, asked: Asked) -> Script:
    yes, no = map(quoted, truth_labels(design))
    red, blue, draws = given["red"], given["blue"], given["draws"]
    them = "it" if draws == 1 else "them"
    steps = (
        THINK,
        f"Mix the cards. Draw {draws} of them, all at once, and look. Let nobody else see {them}.",
        f"Is your true answer {yes}? Then count the red ones. Is it {no}? Then count the blue ones.",
        _said_count(report_labels(design), "that number"),
        "Put the cards back and mix them again.",
    )
    before = (f"Use {red} red and {blue} blue balls in a bag, or print and cut as many cards.",)
    each = (
        f"Mix the balls or cards. The person draws {draws} of them unseen and looks at {them} alone.",
        f"Turn away. Never look at {them}, and never ask which colour was counted.",
        f"Let the person put {them} back, and mix again.",
    )
    few = red + blue <= MOST_BALLS
    sheets = sheets_of(_two_colours(red, red + blue, "Blue")) if few else []
    words = Words(steps, rules_around(design, before, each, thing="cards"))
    return Script("Chow's urn", words, _one(asked, design), tuple(sheets))


def _one(asked: Asked, design: Design) -> tuple[Question, ...]:
    return (Question(asked.question, answers=tuple(truth_labels(design))),)


def _said_count(reports: Sequence[str], what: str) -> str:
    """How a count is said: as a number, or in other words where reports have other names.

    >>> _said_count(["0", "1", "2"], "how many were red"), _said_count(["none", "one"], "that number")
    ('Say only how many were red: “0”, “1” or “2”.', 'Say only that number: “none” for “0”, “one” for “1”.')
    """
    numbers = [str(number) for number in range(len(reports))]
    if list(reports) != numbers:
        return f"Say only {what}: {matched(numbers, reports)}."
    return f"Say only {what}: {either(numbers)}." if len(numbers) <= MOST_LISTED else f"Say only {what}, as a number."


def _two_colours(red: int, total: int, other: str) -> list[Face]:
    faces = [Face(red, "Red"), Face(total - red, other)]
    return [face for face in faces if face.copies]


SCRIPTS: dict[str, Callable[[Any, Design, Asked], Script]] = {
    "crosswise": crosswise,
    "triangular": triangular,
    "simmons": simmons,
    "soberanis-cruz": simmons,
    "mangat-singh-singh": simmons,
    "greenberg-statements": statements,
    "simmons-twice": simmons_twice,
    "mangat-singh-singh-twice": simmons_twice,
    "kuk": _kuk,
    "chow": _chow,
}

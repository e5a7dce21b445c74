"""Procedures that are carried out in their own way, all by name; here those that count cards or balls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from maskwell.designs.design import Design
from maskwell.procedures.classical_cards import Known
from maskwell.procedures.decks import report_labels, truth_labels
from maskwell.reports.device_cards import Face, either, matched, quoted, sheets_of
from maskwell.reports.device_questions import Asked, Script, crosswise, simmons, simmons_twice, statements, triangular
from maskwell.reports.device_words import MOST_LISTED, THINK, Question, Words, rules_around

MOST_BALLS = 200


def script_for(known: Known, design: Design, asked: Asked) -> Script:
    """The words and sheets of a procedure of :data:`~maskwell.procedures.realisation.OWN_WAY`."""
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

"""What respondents and interviewers are told about a device, in plain words.

Respondents read short sentences that say what to do, what anyone could conclude and what we cannot know; interviewers
what to prepare, what to do with each person, and what to do when something goes wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maskwell.core.exact import to_decimal
from maskwell.designs.base import Design
from maskwell.procedures.decks import Deck, report_labels, truth_labels, written_reports
from maskwell.procedures.dice import DiceTable
from maskwell.procedures.realise import Device
from maskwell.reports.device_cards import either, faces_of, quoted
from maskwell.reports.words import concrete, promise, repetition

THINK = "Think of your true answer to the question. Keep it to yourself."
ALONE = "Say only that. Do not explain it."
BACK = "Put the card back and mix the cards again."
RULE = (
    "Please follow the rule every time, also when it makes you say something that is not true of you. That is not a "
    "lie: everyone knows that chance decides what is said."
)
TOGETHER = (
    "We add up what many people said. Because we know how often chance decides, we can work out how many people have "
    "each true answer. We cannot work out who."
)
SPOKEN = (Fraction(1, 10), Fraction(1, 2))
SHOWN, SHORT, DIRECT = 6, 72, 6
"""Kinds that are listed, letters of one that is, and lines of a table that holds instructions."""

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


@dataclass(frozen=True)
class Words:
    """What both sides are told: steps for the respondent, lists of rules under headings for the interviewer."""

    steps: tuple[str, ...]
    rules: tuple[tuple[str, tuple[str, ...]], ...]


def words_for(device: Device) -> Words:
    """The words for cards, dice or a spinner."""
    if device.dice is not None:
        return Words(_dice_steps(device.dice), _rules(device, _dice_before(device.dice), _dice_each(device.dice)))
    if device.spinner is not None:
        return Words(_spinner_steps(device.deck), _rules(device, SPINNER_BEFORE, SPINNER_EACH))
    return Words(_card_steps(device.deck), _rules(device, _card_before(device.deck), CARD_EACH))


# ---- the respondent


def _card_steps(deck: Deck) -> tuple[str, ...]:
    return (THINK, "Mix the cards. Draw one and look at it. Let nobody else see it.", said_by(deck), ALONE, BACK)


def said_by(deck: Deck, thing: str = "card") -> str:
    """How an instruction is followed, by the form of the cards; ``thing`` is what bears it."""
    reports, form = report_labels(deck.realised), deck.form
    if form == "bourke-dalenius":
        return "Find your true answer in the list. Say the number in front of it."
    if form in ("warner", "kim-warde", "abul-ela"):
        return f"The {thing} gives you a statement: {_right(reports)}."
    if form == "mangat-singh":
        return f"The {thing} asks for your true answer, or it gives you a statement: {_right(reports)}."
    if form == "mangat":
        sensitive = quoted(truth_labels(deck.realised)[0])
        always = f"Is your true answer {sensitive}? Then say {quoted(reports[0])}, whatever the {thing} says."
        return f"{always} If it is not, the {thing} gives you a statement: {_right(reports)}."
    if all(card.is_truth or card.is_fixed for card in deck.cards):
        return "Do what it says: give your true answer, or say the word that it names."
    return "Find your true answer in the list. Say what stands beside it."


def _right(reports: Sequence[str]) -> str:
    return f"say {quoted(reports[0])} if it is right for you, else {quoted(reports[1])}"


def is_direct(table: DiceTable) -> bool:
    """Whether the table can hold the instructions themselves: a short list of short ones."""
    short = all(not face.rows for face in faces_of(table.deck)) and len(table.runs()) <= DIRECT
    return short and (table.sums() is not None or table.faces == 2 or table.dice != 2)


def _dice_steps(table: DiceTable) -> tuple[str, ...]:
    coin, several = table.faces == 2, table.dice > 1
    number = NUMBERS.get(table.dice, str(table.dice))
    things = f"the {number} {'coins' if coin else 'dice'}" if several else "the coin" if coin else "the die"
    do, by_sum = "Toss" if coin else "Roll", table.sums() is not None
    order = " one after the other, and keep the order in mind" if several and not by_sum else ""
    return (
        THINK,
        f"{do} {things}{order}. Let nobody else see.",
        *_looked_up(table, "Add up the two numbers and find the sum" if by_sum else "Find what you see", do.lower()),
        f"{ALONE} Then move {things} so that nobody can read {'them' if several else 'it'}.",
    )


def _looked_up(table: DiceTable, read: str, do: str) -> tuple[str, ...]:
    again = f" If it says “again”, {do} again." if table.used < table.outcomes else ""
    if is_direct(table):
        return (f"{read} in the table below.{again} {said_by(table.deck, 'table')}",)
    return (
        f"{read} in the table on the next sheet. It gives you a letter.{again}",
        f"Look up the letter. {said_by(table.deck, 'letter')}",
    )


def _spinner_steps(deck: Deck) -> tuple[str, ...]:
    return (
        THINK,
        "Spin the pointer hard. Let nobody else see where it stops. If it stops on a line, spin again.",
        f"Look up the letter of the field. {said_by(deck, 'letter')}",
        ALONE,
        "Turn the pointer away.",
    )


CHANCE = "What you say depends on chance, and nobody but you knows what chance told you."


def protection(design: Design, hidden: str = CHANCE) -> list[str]:
    """What anyone could conclude from a report, for the respondent; ``hidden`` says what only the respondent knows."""
    parity = design.parity_exact()
    if isinstance(parity, float):
        return [promise(parity), *_ruled_out(design)]
    return [hidden, *(concrete(parity, belief) for belief in SPOKEN)]


def _ruled_out(design: Design) -> list[str]:
    """Which reports rule out which truths, the first of them."""
    truths, found = truth_labels(design), []
    for report, row in zip(report_labels(design), design.exact_matrix(), strict=True):
        out = [truth for truth, p in zip(truths, row, strict=True) if not p]
        if out and any(row):
            found.append(f"Who says {quoted(report)} cannot have the true answer {either(out)}.")
    more = len(found) - SHOWN
    return found if more <= 0 else [*found[:SHOWN], f"The same holds for {more} more answers."]


def once(design: Design) -> str:
    """Why the same person is asked once."""
    return repetition(design.parity_exact())


# ---- the interviewer

CARD_EACH = (
    "Shuffle the cards well in front of the person: at least seven times.",
    "Hold out all cards face down. The person draws one and looks at it alone.",
    "Turn away. Never look at the card, and never ask what it said.",
    "Take the card back face down, put it among the others and shuffle again.",
)
SPINNER_BEFORE = (
    "Print on strong paper at full size and check one angle with a protractor.",
    "Hold a paper clip at the centre with the tip of a pencil: the clip is the pointer. It must turn freely.",
    "Spin it twenty times. If it stops on one side again and again, use cards or dice instead.",
)
SPINNER_EACH = (
    "Give the person the spinner and the list of letters.",
    "Turn away. Never look at the pointer, and never ask where it stopped.",
)


def _card_before(deck: Deck) -> tuple[str, ...]:
    kinds = [f"{face.copies} × {face.in_short()}" for face in faces_of(deck)]
    few = len(kinds) <= SHOWN and max(map(len, kinds)) <= SHORT
    return (
        "Print on strong paper that no light shines through, and cut along the lines. The backs stay blank.",
        f"Count the cards: {deck.size} in all. A card too many or too few makes the results wrong.",
        *(kinds if few else ()),
    )


def _dice_before(table: DiceTable) -> tuple[str, ...]:
    if table.faces == 2:
        return (f"Bring {table.dice} ordinary coins, or one that is tossed {table.dice} times, and a screen.",)
    one = table.dice == 1
    things = f"one die of {table.faces} faces" if one else f"{table.dice} dice of {table.faces} faces"
    colours = "" if one or table.sums() is not None else " Dice of different colours help: say which comes first."
    rolls = to_decimal(Fraction(round(100 * table.expected_rolls), 100))
    again = "" if table.used == table.outcomes else f" On average people roll {rolls} times."
    return (f"Bring {things} and a cup or a screen.{colours}{again}",)


def _dice_each(table: DiceTable) -> tuple[str, ...]:
    things = "coins" if table.faces == 2 else "dice"
    return (
        f"Give the person the {things} and the table.",
        f"Turn away. Never look at the {things}, and never ask what they showed.",
    )


def _rules(device: Device, before: Sequence[str], each: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return rules_around(device.deck.realised, before, each, thing=_THING[device.form])


_THING = {"cards": "card", "dice": "dice", "coins": "coins", "spinner": "pointer"}


def rules_around(
    design: Design, before: Sequence[str], each: Sequence[str], *, thing: str
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The rules of a device between those that hold for every device."""
    opening = "Let the person read the sheet “How to answer”, or read it aloud. Ask whether it is clear."
    return (
        ("Before the first interview", tuple(before)),
        ("With each person", (opening, *each, *_written_down(design))),
        ("When something goes wrong", _when_wrong(thing)),
    )


def _written_down(design: Design) -> tuple[str, ...]:
    spoken, written = report_labels(design), written_reports(design)
    few = len(spoken) <= 12
    if spoken == written:
        return (f"Write down exactly what the person says{f': {either(spoken)}' if few else ''}. Nothing else.",)
    pairs = "; ".join(f"{s} = {w}" for s, w in zip(spoken[:12], written, strict=False))
    return (f"Write down what the person says as 0 and 1, in the order of the answers: {pairs}.",)


def _when_wrong(thing: str) -> tuple[str, ...]:
    seen = f"You saw the {thing} before the answer was given: start again. After it: keep the answer and make a note."
    paper = "You saw what the person wrote or marked: do not write it down. Keep only the answer that was said."
    again = (
        "The person does not like what chance said and wants to try again: the first one counts. A second try would "
        "make the results wrong."
    )
    return (
        "The person does not want to take part: write “refused” and go on. Never answer in the person's place.",
        "The person tells you the true answer: do not write it down. Ask for the answer by the rule. If it is not "
        "given, write “refused”.",
        *((seen, again) if thing else (paper,)),
        "Do not ask the same person this question a second time: two answers tell more than one.",
    )

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
from maskwell.privacy.slack import stands_for
from maskwell.procedures.decks import Deck
from maskwell.procedures.dice import DiceTable
from maskwell.procedures.realise import Device
from maskwell.procedures.spoken import report_labels, written_reports
from maskwell.reports.device.paper_cards import either, faces_of, if_right, letters, place_word, quoted
from maskwell.reports.plain_words import concrete, promise, repetition

THINK = "Think of your true answer to the question. Keep it to yourself."
ALONE = "Say only that. Do not explain it."
BACK = "Put the card back and mix the cards again."
RULE = (
    "Please follow the rule every time, also when it makes you say something that is not true of you. That is not a "
    "lie: everyone knows that chance decides what is said."
)
TOGETHER = (
    "We add up what many people said. Because we know how often chance decides, we can work out how many people have "
    "each true answer."
)
NOT_WHO = "We cannot work out who."
SPOKEN = (Fraction(1, 10), Fraction(1, 2))
SHOWN, SHORT, FEW = 6, 72, 3
"""Kinds that are listed, letters of one that is, truths in a sentence."""
DIRECT, DIRECT_COINS, WIDE = 6, 16, 60
"""Lines of a table that holds instructions, outcomes of coins in it, and letters across a table of letters."""

MOST_LISTED = 12
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


@dataclass(frozen=True)
class Words:
    """What both sides are told: steps for the respondent, lists of rules under headings for the interviewer."""

    steps: tuple[str, ...]
    rules: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Question:
    """A question as respondents read it, under a letter where there are two; a line to write on without a text."""

    text: str
    name: str = ""
    answers: tuple[str, ...] = ()


def words_for(device: Device) -> Words:
    """The words for cards, dice or a spinner."""
    if device.dice is not None:
        return Words(_dice_steps(device.dice), _rules(device, _dice_before(device.dice), _dice_each(device.dice)))
    if device.spinner is not None:
        return Words(_spinner_steps(device.deck), _rules(device, SPINNER_BEFORE, SPINNER_EACH))
    return Words(_card_steps(device.deck), _rules(device, _card_before(device.deck), CARD_EACH))


# ---- the respondent


def asked_together(deck: Deck) -> bool:
    """Whether a truth is made of answers to several questions."""
    return all(isinstance(label, tuple) for label in deck.realised.inputs.labels)


def _think(deck: Deck) -> str:
    return "Think of your true answers to all questions. Keep them to yourself." if asked_together(deck) else THINK


def _card_steps(deck: Deck) -> tuple[str, ...]:
    return (_think(deck), "Mix the cards. Draw one and look at it. Let nobody else see it.", said_by(deck), ALONE, BACK)


def said_by(deck: Deck, thing: str = "card") -> str:
    """How an instruction is followed, by the form of the cards; ``thing`` is what bears it."""
    reports, form = deck.reports, deck.form
    if thing == "letter" and in_one_table(deck):
        found = "answers" if asked_together(deck) else "answer"
        return f"Find it at the left, and your true {found} at the top. Say what stands there."
    if form == "bourke-dalenius":
        return f"Find your true answer in the list. Say the {place_word(deck)} in front of it."
    if form in ("warner", "kim-warde", "abul-ela"):
        return f"The {thing} gives you a statement. {if_right(reports)}"
    if form == "mangat-singh":
        return f"The {thing} asks for the truth, or it gives you a statement: {_small(reports)}"
    if form == "mangat":
        always = (
            f"Is your true answer {quoted(deck.truths[0])}? Then say {quoted(reports[0])}, whatever the {thing} says."
        )
        return f"{always} If it is not, the {thing} gives you a statement. {if_right(reports)}"
    if form == "truth-or-fixed":
        return "Do what it says: tell the truth, or say the word that it names."
    found = "answers" if asked_together(deck) else "answer"
    return f"Find your true {found} in the list. Say what stands beside {'them' if asked_together(deck) else 'it'}."


def _small(reports: Sequence[str]) -> str:
    return if_right(reports).replace("Say", "say", 1)


def in_one_table(deck: Deck) -> bool:
    """Whether all that letters stand for fits one table, a column for each truth."""
    labels = [*deck.truths, *deck.reports]
    plain = all(card.face == "table" for card in deck.cards)
    return plain and len(deck.truths) * max(map(letters, labels)) <= WIDE


def is_direct(table: DiceTable) -> bool:
    """Whether the table can hold the instructions themselves: a short list of short ones."""
    short = all(not face.rows for face in faces_of(table.deck)) and len(table.runs()) <= DIRECT
    if table.faces == 2:
        return short and table.outcomes <= DIRECT_COINS
    return short and (table.sums() is not None or table.dice != 2)


def _dice_steps(table: DiceTable) -> tuple[str, ...]:
    coin, several = table.faces == 2, table.dice > 1
    number = NUMBERS.get(table.dice, str(table.dice))
    things = f"the {number} {'coins' if coin else 'dice'}" if several else "the coin" if coin else "the die"
    do, by_sum = "Toss" if coin else "Roll", table.sums() is not None
    order = " one after the other, and keep the order in mind" if several and not by_sum else ""
    return (
        _think(table.deck),
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
        _think(deck),
        "Spin the pointer hard. Let nobody else see where it stops. If it stops on a line, spin again.",
        f"Look up the letter of the field. {said_by(deck, 'letter')}",
        ALONE,
        "Turn the pointer away.",
    )


CHANCE = "What you say depends on chance, and nobody but you knows what chance told you."


def protection(deck: Deck, hidden: str = CHANCE) -> list[str]:
    """What anyone could conclude from a report, for the respondent; ``hidden`` says what only the respondent knows."""
    parity = stands_for(deck.realised)
    if isinstance(parity, float):
        return [promise(parity), *_ruled_out(deck)]
    return [hidden, *(concrete(parity, belief) for belief in SPOKEN)]


def _ruled_out(deck: Deck) -> list[str]:
    """Which reports rule out which truths, the first of them."""
    found = []
    for report, row in zip(deck.reports, deck.realised.exact_matrix(), strict=True):
        left = [truth for truth, p in zip(deck.truths, row, strict=True) if p]
        if 0 < len(left) < len(row):
            found.append(f"Who says {quoted(report)} {_left(left, [t for t in deck.truths if t not in left])}.")
    more = len(found) - SHOWN
    return found if more <= 0 else [*found[:SHOWN], f"Something like it holds for {more} more answers."]


def _left(left: Sequence[str], out: Sequence[str]) -> str:
    """Which truths are left after a report.

    >>> _left(["no"], ["yes"]), _left(["a", "b", "c"], ["d"])
    ('has the true answer “no” for sure', 'cannot have the true answer “d”')
    """
    if len(left) == 1:
        return f"has the true answer {quoted(left[0])} for sure"
    if len(out) <= FEW:
        return f"cannot have the true answer {either(out)}"
    if len(left) <= FEW:
        return f"can only have the true answer {either(left)}"
    return f"cannot have {len(out)} of the {len(left) + len(out)} true answers"


def learned(design: Design) -> str:
    """What the survey learns; that it cannot tell who is said only where no report gives anybody away."""
    return TOGETHER if isinstance(design.parity_exact(), float) else f"{TOGETHER} {NOT_WHO}"


def once(design: Design) -> str:
    """Why the same person is asked once."""
    return repetition(stands_for(design))


# ---- the interviewer

CARD_EACH = (
    "Shuffle the cards well in front of the person: at least seven times.",
    "Hold out all cards face down. The person draws one and looks at it alone.",
    "Turn away. Never look at the card, and never ask what it said.",
    "Let the person put the card back face down, and shuffle again.",
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
    return rules_around(device.deck.realised, before, each, thing=_THING[device.form], spoken=device.deck.reports)


_THING = {"cards": "card", "dice": "dice", "coins": "coins", "spinner": "pointer"}


def rules_around(
    design: Design, before: Sequence[str], each: Sequence[str], *, thing: str, spoken: Sequence[str] | None = None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The rules of a device between those that hold for every device; ``spoken`` is what people say, in row order."""
    opening = "Let the person read the sheet “How to answer”, or read it aloud. Ask whether it is clear."
    return (
        ("Before the first interview", tuple(before)),
        ("With each person", (opening, *each, _written_down(spoken or report_labels(design), written_reports(design)))),
        ("When something goes wrong", _when_wrong(thing)),
    )


def _written_down(spoken: Sequence[str], written: Sequence[str]) -> str:
    few = len(spoken) <= MOST_LISTED
    if list(spoken) == list(written):
        return f"Write down exactly what the person says{f': {either(spoken)}' if few else ''}. Nothing else."
    pairs = "; ".join(f"{s} = {w}" for s, w in zip(spoken[:MOST_LISTED], written, strict=False))
    return f"Write down what the person says as 0 and 1, in the order of the answers: {pairs}."


def _when_wrong(thing: str) -> tuple[str, ...]:
    seen = (
        f"You saw the {thing} before the answer was given: start again. After it: keep the answer, and never tell or "
        "write down what you saw."
    )
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

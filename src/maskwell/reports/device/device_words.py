"""What respondents and interviewers read about a device: the facts that ``templates/device`` put into sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from maskwell.core.exact import to_decimal
from maskwell.designs.design import Design
from maskwell.privacy.criteria import stands_for
from maskwell.privacy.strength import Strength
from maskwell.procedures.decks import Deck, report_labels, written_reports
from maskwell.procedures.dice_spinner import DiceTable
from maskwell.procedures.realisation import Device
from maskwell.reports.device.paper_cards import cards_of, either, faces_of, if_right, letters, place_word, quoted
from maskwell.reports.plain_words import concrete, promise
from maskwell.reports.report import environment, template_environment

if TYPE_CHECKING:
    from jinja2 import Environment

SPOKEN = (Fraction(1, 10), Fraction(1, 2))  # beliefs for which respondents are told what they can become
MOST_KINDS, SHORT, FEW = 6, 72, 3  # kinds that are listed, letters of one that is, truths in a sentence
DIRECT, DIRECT_COINS, WIDE = 6, 16, 60
"""Lines of a table that holds instructions, outcomes of coins in it, and letters across a table of letters."""

MOST_LISTED = 12
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
THINGS = {"cards": "card", "dice": "dice", "coins": "coins", "spinner": "pointer"}  # what an interviewer must not see


MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905


@dataclass(frozen=True)
class Words:
    """What both sides read: steps for the respondent, lists of rules under headings for the interviewer."""

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
    deck = device.deck
    facts: dict[str, Any] = {
        "deck": {
            "form": deck.form,
            "truths": deck.truths,
            "reports": deck.reports,
            "together": all(isinstance(label, tuple) for label in deck.realised.inputs.labels),
            "in_one_table": in_one_table(deck),
            "place_word": place_word(deck),
        }
    }
    if device.dice is not None:
        name, facts = "dice", facts | _dice_facts(device.dice)
    elif device.spinner is not None:
        name = "spinner"
    else:
        name, facts = "cards", facts | {"size": deck.size, "kinds": _kinds(deck)}
    return words_of(name, facts, deck.realised, thing=THINGS[device.form], spoken=deck.reports)


def words_of(
    name: str, facts: Mapping[str, Any], design: Design, *, thing: str, spoken: Sequence[str] | None = None
) -> Words:
    """The words of one file of templates, between the rules of every device."""
    said, written = list(spoken or report_labels(design)), list(written_reports(design))
    pairs = [f"{s} = {w}" for s, w in zip(said[:MOST_LISTED], written, strict=False)]
    told = {"spoken": said, "as_spoken": said == written, "few": len(said) <= MOST_LISTED, "pairs": pairs}
    device, every = Sentences(name, facts), Sentences("rules", told | {"thing": thing})
    each = (*every.lines("opening"), *device.lines("each"), *every.lines("written_down"))
    rules = (device.lines("before"), each, every.lines("when_wrong"))
    return Words(device.lines("steps"), tuple(zip(every.constant("HEADINGS"), rules, strict=True)))


def in_one_table(deck: Deck) -> bool:
    """Whether all that letters represent fits one table, a column for each truth."""
    labels = [*deck.truths, *deck.reports]
    plain = all(card.face == "table" for card in deck.cards)
    return plain and len(deck.truths) * max(map(letters, labels)) <= WIDE


def _kinds(deck: Deck) -> list[str]:
    """The kinds of cards with their numbers, where that is a short list."""
    kinds = [f"{cards_of(face)}: {face.in_short()}" for face in faces_of(deck)]
    return kinds if len(kinds) <= MOST_KINDS and max(map(len, kinds)) <= SHORT else []


def is_direct(table: DiceTable) -> bool:
    """Whether the table can hold the instructions themselves: a short list of short ones."""
    short = all(not face.rows for face in faces_of(table.deck)) and len(table.runs()) <= DIRECT
    if table.faces == 2:
        return short and table.outcomes <= DIRECT_COINS
    return short and (table.sums() is not None or table.dice != 2)


def _dice_facts(table: DiceTable) -> dict[str, Any]:
    return {
        "coins": table.faces == 2,
        "count": table.dice,
        "number": NUMBERS.get(table.dice, str(table.dice)),
        "faces": table.faces,
        "by_sum": table.sums() is not None,
        "direct": is_direct(table),
        "some_again": table.used < table.outcomes,
        "rolls": to_decimal(Fraction(round(100 * table.expected_rolls), 100)),
    }


def months(share: Fraction) -> str | None:
    """A question about birth months to which about this share says yes; None where no whole number of months does."""
    count = 12 * share
    if count.denominator != 1 or not 0 < count < 12:
        return None
    last = MONTHS[int(count) - 1]
    when = {1: f"in {last}", 2: f"in {MONTHS[0]} or {last}"}.get(int(count), f"between {MONTHS[0]} and {last}")
    return f"Was your mother born {when}?"


def protection(deck: Deck, hidden_by: str, strength: Strength) -> list[str]:
    """What anyone could conclude from a report; no sentence reassures beyond ``strength``, that of all reports."""
    parity = stands_for(deck.realised)
    if isinstance(parity, float):
        sentences, said = Sentences("promise"), []
        for report, row in zip(deck.reports, deck.realised.exact_matrix(), strict=True):
            left = [truth for truth, p in zip(deck.truths, row, strict=True) if p]
            if 0 < len(left) < len(row):
                out = [truth for truth in deck.truths if truth not in left]
                said.append(sentences.text("ruled_out", report, left, out, FEW))
        more = len(said) - MOST_KINDS
        return [promise(parity), *(said if more <= 0 else [*said[:MOST_KINDS], sentences.text("more_ruled_out", more)])]
    hidden = Sentences("promise").text("hidden", hidden_by, strength)
    answer = deck.truths[0] if len(deck.truths) == 2 else ""
    return [hidden, *(concrete(parity, belief, answer) for belief in SPOKEN)]


_BREAK = "\ue000"  # stands for a line break of a label, which is no new line of a template


class Sentences:
    """The macros of one file of ``templates/device``, filled with facts."""

    def __init__(self, name: str, facts: Mapping[str, Any] | None = None) -> None:
        environment()
        self._module = _for_sentences().get_template(f"device/{name}.txt").make_module(_whole(dict(facts or {})))

    def lines(self, name: str, *values: Any) -> tuple[str, ...]:
        """The lines of one macro that are not empty."""
        macro: Callable[..., str] = getattr(self._module, name)
        lines = macro(*map(_whole, values)).split("\n")
        return tuple(line.replace(_BREAK, "\n") for line in lines if line)

    def text(self, name: str, *values: Any) -> str:
        """The one line of a macro."""
        (line,) = self.lines(name, *values)
        return line

    def constant(self, name: str) -> Any:
        """Something that the file sets."""
        return getattr(self._module, name)


@cache
def _for_sentences() -> Environment:
    made = template_environment(autoescape=False)  # sentences are escaped where a page holds them
    made.globals.update(either=either, if_right=if_right, quoted=quoted)
    return made


def _whole(value: Any) -> Any:
    """The same with line breaks of labels out of the way."""
    if isinstance(value, str):
        return value.replace("\n", _BREAK)
    if isinstance(value, Mapping):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, Sequence) else value

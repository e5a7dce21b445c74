"""What is printed on cards, how much room it takes, generously counted, and how cards share a sheet of paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TypeVar
from unicodedata import east_asian_width

from maskwell.errors import TooLargeError
from maskwell.procedures.decks import Card, Deck

MOST_PRINTED = 120  # cards that are printed one by one; of larger decks a sheet of each kind, as often as needed
GRIDS = ((3, 4), (2, 4), (2, 3), (2, 2), (1, 2), (1, 1))
_AROUND, _LINES, _HEAD = (10.0, 12.0), 1.3, 5.5  # millimetres of what is not text: edges, rules, heads
LONG_TEXT = 32


@dataclass(frozen=True)
class Face:
    """The text of one card."""

    copies: int  # how many cards of this kind there are
    text: str = ""  # what the card says, in large letters; empty where a table says it
    note: str = ""  # one sentence below it
    # pairs of a truth and what to say, or of a number and a truth where ``ordered``
    rows: tuple[tuple[str, str], ...] = ()
    ordered: bool = False

    def in_short(self) -> str:
        """The card in one line, for lists."""
        if self.ordered:
            return "; ".join(f"{place} {name}" for place, name in self.rows)
        pairs = "; ".join(f"{truth}: say {quoted(report)}" for truth, report in self.rows)
        return pairs or self.text

    def height(self, width: float) -> float:
        """Millimetres that the card needs, down, where it is so many millimetres wide."""
        inside = width - _AROUND[0]
        parts = (0.25 * inside, 0.75 * inside) if self.ordered else (0.5 * inside, 0.5 * inside)
        cells = [max(height(text, w - 1.5, ROW) for text, w in zip(row, parts, strict=True)) for row in self.rows]
        table = sum(cells) + _LINES * len(cells) + _HEAD * bool(cells)
        text = height(self.text, inside, LONG if len(self.text) > LONG_TEXT else LARGE)
        return table + text + height(self.note, inside, SMALL) + _AROUND[1]


@dataclass(frozen=True)
class CardSheet:
    """One side of paper with cards, and the line above them."""

    heading: str
    columns: int
    rows: int
    faces: tuple[Face, ...]


def cards_of(face: Face) -> str:
    """How many cards of a kind there are."""
    return f"{face.copies} {'card' if face.copies == 1 else 'cards'}"


def quoted(label: str) -> str:
    """A label as it is said."""
    return f"“{label}”"


def either(labels: Sequence[str]) -> str:
    """Labels to choose from, in a sentence."""
    labels_said = [quoted(label) for label in labels]
    return labels_said[0] if len(labels_said) == 1 else f"{', '.join(labels_said[:-1])} or {labels_said[-1]}"


def matched(truths: Sequence[str], reports: Sequence[str]) -> str:
    """Which words represent which answers, in a sentence."""
    return ", ".join(f"{quoted(report)} for {quoted(truth)}" for truth, report in zip(truths, reports, strict=True))


def if_right(reports: Sequence[str]) -> str:
    """What is said of a statement, at the start of a sentence."""
    return f"Say {quoted(reports[0])} if it is right for you, else {quoted(reports[1])}."


def letter(number: int) -> str:
    """A, B, ..., Z, AA, AB, ... for 0, 1, ..."""
    first = letter(number // 26 - 1) if number >= 26 else ""
    return first + ascii_uppercase[number % 26]


def faces_of(deck: Deck) -> list[Face]:
    """What each kind of card says."""
    return [_MADE[card.face.split()[0]](deck, card) for card in deck.cards]


def _truth(deck: Deck, card: Card) -> Face:
    words = [deck.reports[i] for i in card.answers]
    if words == deck.truths:
        return Face(card.copies, "Give your true answer.", "Say what is true of you.")
    return Face(card.copies, f"Say the truth: {matched(deck.truths, words)}.")


def _statement(deck: Deck, card: Card) -> Face:
    truths, reports = deck.truths, deck.reports
    note = if_right(reports)
    if deck.form == "mangat":
        otherwise = note[0].lower() + note[1:]
        note = f"If your true answer is {quoted(truths[0])}, always say {quoted(reports[0])}. Otherwise: {otherwise}"
    return Face(card.copies, f"“My true answer is: {truths[int(card.face.split()[1])]}.”", note)


def _order(deck: Deck, card: Card) -> Face:
    reports, truths = deck.reports, deck.truths
    places = sorted((answer, truth) for truth, answer in enumerate(card.answers))
    rows = tuple((reports[answer], truths[truth]) for answer, truth in places)
    return Face(card.copies, note=f"Say only the {place_word(deck)} before your true answer.", rows=rows, ordered=True)


def place_word(deck: Deck) -> str:
    """What precedes the truths of an ordered list."""
    return "number" if all(report.isdigit() for report in deck.reports) else "word"


_MADE: dict[str, Callable[[Deck, Card], Face]] = {
    "truth": _truth,
    "fixed": lambda deck, card: Face(
        card.copies, f"Say {quoted(deck.reports[card.answers[0]])}.", "Say it whatever your true answer is."
    ),
    "table": lambda deck, card: Face(
        card.copies, rows=tuple(zip(deck.truths, (deck.reports[i] for i in card.answers), strict=True))
    ),
    "statement": _statement,
    "order": _order,
}


def grid_for(faces: Sequence[Face]) -> tuple[int, int]:
    """Columns and rows of the smallest cards that hold every face."""
    for columns, rows in GRIDS:
        if all(face.height(SHEET[0] / columns) <= SHEET[1] / rows for face in faces):
            return columns, rows
    raise TooLargeError("a-card-of-lines-does-not", faces=max(len(face.rows) for face in faces))


def sheets_of(faces: Sequence[Face], *, name: str = "") -> list[CardSheet]:
    """All cards on sheets of paper; of large decks one sheet for each kind, with how often to print it."""
    columns, rows = grid_for(faces)
    total, room = sum(face.copies for face in faces), columns * rows
    if total > MOST_PRINTED and len(faces) < math.ceil(total / room):
        return [CardSheet(_many(face, room, name), columns, rows, (face,) * room) for face in faces]
    cards = [face for face in faces for _ in range(face.copies)]
    return [
        CardSheet(
            f"{f'{name}: cards' if name else 'Cards'} {start + 1} to {min(start + room, total)} of {total}",
            columns,
            rows,
            tuple(cards[start : start + room]),
        )
        for start in range(0, total, room)
    ]


def _many(face: Face, room: int, name: str) -> str:
    """How often to print a sheet of one kind."""
    prints = math.ceil(face.copies / room)
    spare = prints * room - face.copies
    left = f" and throw {spare} away" if spare else ""
    times = "once" if prints == 1 else f"{prints} times"
    return f"{name or 'Cards'}: {face.copies:,} of this kind. Print this sheet {times}{left}"


SHEET, FULL = (186.0, 240.0), 246.0
"""Millimetres, across and down, that both A4 and Letter leave for cards; and for text, where fonts may differ."""

SMALL, ROW, LONG, LARGE, HEAD = (1.85, 4.6), (2.2, 4.9), (2.7, 5.8), (3.3, 7.1), (5.6, 13.0)
"""Sizes of type in millimetres: the width of a letter and the height of a line."""

T = TypeVar("T")


def letters(text: str) -> int:
    """Letters of a text, those of double width twice."""
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def lines(text: str, width: float, size: tuple[float, float] = SMALL) -> int:
    """Lines that a text takes on so many millimetres."""
    return math.ceil(letters(text) / max(4, int(width / size[0])))


def height(text: str, width: float, size: tuple[float, float] = SMALL) -> float:
    """Millimetres that a text takes, down."""
    return lines(text, width, size) * size[1]


def instruction_height(
    questions: Iterable[tuple[str, bool]], steps: Iterable[str], table: Sequence[str], paragraphs: Iterable[str]
) -> float:
    """Millimetres of the sheet for respondents: questions (with a list of answers or without), steps, a table, text."""
    asked = sum(20.0 + 6 * listed + max(9.0, height(text, SHEET[0] - 11, (3.4, 7.8))) for text, listed in questions)
    told = sum(4.0 + height(step, SHEET[0] - 14, (2.5, 6.2)) for step in steps)
    thrown = 13.0 * bool(table) + sum(3.5 + height(shown, 34.0, (2.9, 7.2)) for shown in table)
    text = sum(1.5 + height(paragraph, SHEET[0] - 6, (2.1, 5.9)) for paragraph in paragraphs)
    return 20.0 + asked + told + thrown + text + 30.0


def pages(items: Sequence[T], heights: Iterable[float], *, first: float, room: float) -> list[list[T]]:
    """Items page by page: those that fit the room on the first page, which may be none, then on each further one."""
    sheets: list[list[T]] = [[]]
    left = first
    for item, needed in zip(items, heights, strict=True):
        if needed > left and (sheets[-1] or len(sheets) == 1):
            sheets.append([])
            left = room
        sheets[-1].append(item)
        left -= needed
    return sheets

"""How much room texts take on paper, generously counted: what fits a card, and what fits a sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar
from unicodedata import east_asian_width

SHEET, FULL = (186.0, 240.0), 246.0
"""Millimetres, across and down, that both A4 and Letter leave for cards; and for text, where fonts may differ."""

SMALL, ROW, LONG, LARGE, HEAD = (1.85, 4.6), (2.2, 4.9), (2.7, 5.8), (3.3, 7.1), (5.6, 13.0)
"""Sizes of type in millimetres: the width of a letter and the height of a line."""

T = TypeVar("T")


def letters(text: str) -> int:
    """Letters of a text, those of double width twice.

    >>> letters("never"), letters("从不")
    (5, 4)
    """
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)


def lines(text: str, width: float, size: tuple[float, float] = SMALL) -> int:
    """Lines that a text takes on so many millimetres.

    >>> lines("", 50), lines("Say it whatever your true answer is.", 50)
    (0, 2)
    """
    return math.ceil(letters(text) / max(4, int(width / size[0])))


def height(text: str, width: float, size: tuple[float, float] = SMALL) -> float:
    """Millimetres that a text takes, down."""
    return lines(text, width, size) * size[1]


def instruction_height(
    questions: Iterable[tuple[str, bool]], steps: Iterable[str], table: Sequence[str], paragraphs: Iterable[str]
) -> float:
    """Millimetres of the sheet for respondents: questions (with a list of answers or without), steps, a table, text.

    >>> instruction_height([("Did you?", True)], ["Think.", "Draw."], [], ["We add up."]) < FULL / 2
    True
    """
    asked = sum(20.0 + 6 * listed + max(9.0, height(text, SHEET[0] - 11, (3.4, 7.8))) for text, listed in questions)
    told = sum(4.0 + height(step, SHEET[0] - 14, (2.5, 6.2)) for step in steps)
    thrown = 13.0 * bool(table) + sum(3.5 + height(shown, 34.0, (2.9, 7.2)) for shown in table)
    text = sum(1.5 + height(paragraph, SHEET[0] - 6, (2.1, 5.9)) for paragraph in paragraphs)
    return 20.0 + asked + told + thrown + text + 30.0


def pages(items: Sequence[T], heights: Iterable[float], *, first: float, room: float) -> list[list[T]]:
    """Items page by page: those that fit the room on the first page, which may be none, then on each further one.

    >>> pages("abcde", [10] * 5, first=25, room=20)
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    found: list[list[T]] = [[]]
    left = first
    for item, needed in zip(items, heights, strict=True):
        if needed > left and (found[-1] or len(found) == 1):
            found.append([])
            left = room
        found[-1].append(item)
        left -= needed
    return found

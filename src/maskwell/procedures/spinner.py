"""A spinner in place of cards: a sector of the circle for each kind of card."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from maskwell.core.arguments import check_kind
from maskwell.errors import TooLargeError
from maskwell.procedures.decks import Deck

MOST_SECTORS = 24
TENTHS = 3600
SMALLEST = 3
"""Degrees; a pointer cannot be read off a narrower sector."""


@dataclass(frozen=True)
class Sector:
    """The part of the circle that stands for one kind of card: degrees from the top, with the clock."""

    start: Fraction
    stop: Fraction
    kind: int

    @property
    def degrees(self) -> Fraction:
        """Its width."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Spinner:
    """A circle cut into sectors of 360 p degrees, one for each kind of card of a deck of share p."""

    deck: Deck

    @property
    def sectors(self) -> list[Sector]:
        """All sectors, from the top with the clock."""
        ends = [Fraction(0), *accumulate(Fraction(360 * card.copies, self.deck.size) for card in self.deck.cards)]
        return [Sector(a, b, kind) for kind, (a, b) in enumerate(pairwise(ends))]

    @property
    def in_tenths(self) -> bool:
        """Whether every border lies on a tenth of a degree."""
        return all((10 * sector.stop).denominator == 1 for sector in self.sectors)

    def warnings(self) -> list[str]:
        """What the drawing cannot do."""
        found = []
        if not self.in_tenths:
            found.append("some borders are not whole tenths of a degree: the drawing rounds them, a deck would not")
        narrow = min(sector.degrees for sector in self.sectors)
        if narrow < SMALLEST:
            found.append(
                f"the narrowest sector has {float(narrow):.1f} degrees, too few to read off: use cards or dice"
            )
        return found

    def __repr__(self) -> str:
        return f"Spinner(sectors={len(self.sectors)}, in_tenths={self.in_tenths})"


def make_spinner(deck: Deck) -> Spinner:
    """The spinner of a deck.

    Borders are given to a tenth of a degree; where that is not exact, ``warnings`` says so. A real pointer stops where
    friction makes it: cards and dice are the safer devices. Source: derived.

    >>> from maskwell.procedures.decks import make_deck
    >>> from maskwell.procedures.warner import warner
    >>> spinner = make_spinner(make_deck(warner("0.7")))
    >>> [int(sector.degrees) for sector in spinner.sectors]   # yes, the truth, no
    [108, 144, 108]
    """
    check_kind(Deck, deck=deck)
    if deck.kinds > MOST_SECTORS:
        raise TooLargeError(
            f"a spinner of {deck.kinds} sectors; at most {MOST_SECTORS} can be read",
            hint="use cards or dice",
            deck=deck,
        )
    return Spinner(deck)


def sizes_in_tenths(most: int) -> list[int]:
    """Sizes of decks whose spinners have borders on tenths of a degree.

    >>> sizes_in_tenths(10)
    [1, 2, 3, 4, 5, 6, 8, 9, 10]
    """
    return [size for size in range(1, min(most, TENTHS) + 1) if TENTHS % size == 0]

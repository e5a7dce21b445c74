"""Dice, coins and spinners in place of cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from maskwell.core.arguments import as_count, as_whole
from maskwell.errors import ParameterError, TooLargeError
from maskwell.notes import Note
from maskwell.procedures.decks import Deck

MOST_FACES = 100
MOST_DICE = 10
MOST_OUTCOMES = 10**6
SUMS_OF_TWO = {total: 6 - abs(total - 7) for total in range(2, 13)}  # of the 36 outcomes of two ordinary dice


@dataclass(frozen=True)
class Run:
    """Outcomes in order from ``first`` to ``last``, counted from 0; ``kind`` is the card they represent, or None."""

    first: int
    last: int
    kind: int | None


@dataclass(frozen=True, eq=False)
class DiceTable:
    """What the outcomes of several throws mean."""

    deck: Deck  # the cards that outcomes stand for
    # dice, faces: how many dice are thrown one after the other, and how many faces each has; 2 faces are a coin
    dice: int
    faces: int

    @property
    def outcomes(self) -> int:
        """Outcomes that are distinguished, all equally likely: faces to the power of the number of dice."""
        return int(self.faces**self.dice)

    @property
    def per_card(self) -> int:
        """Outcomes for each card."""
        return self.outcomes // self.deck.size

    @property
    def used(self) -> int:
        """Outcomes that represent some card; on the others one rolls again."""
        return self.per_card * self.deck.size

    @property
    def expected_rolls(self) -> Fraction:
        """How often all dice are rolled on average."""
        return Fraction(self.outcomes, self.used)

    def runs(self) -> list[Run]:
        """Which outcomes represent which card, in order: 1-1, 1-2, ... for two dice."""
        ends = [0, *accumulate(card.copies * self.per_card for card in self.deck.cards)]
        runs = [Run(a, b - 1, kind) for kind, (a, b) in enumerate(pairwise(ends))]
        return runs if self.used == self.outcomes else [*runs, Run(self.used, self.outcomes - 1, None)]

    def shown(self, outcome: int) -> tuple[int, ...]:
        """The faces, 1, 2, ..., of an outcome counted from 0, the first die first."""
        outcome = as_whole(outcome, "outcome")
        digits = []
        for _ in range(self.dice):
            outcome, face = divmod(outcome, self.faces)
            digits.append(face + 1)
        return tuple(reversed(digits))

    def kind_of(self, outcome: int) -> int | None:
        """The card of an outcome, None for "roll again"."""
        return next(run.kind for run in self.runs() if run.first <= outcome <= run.last)

    def sums(self) -> list[tuple[int, int, int]] | None:
        """The same by the sum of two ordinary dice: lowest sum, highest sum and card; None where no such rule fits."""
        if (self.dice, self.faces) != (2, 6) or self.used != self.outcomes:
            return None
        return _by_sums([card.copies * self.per_card for card in self.deck.cards])

    def __repr__(self) -> str:
        return f"DiceTable(dice={self.dice}, faces={self.faces}, expected_rolls={self.expected_rolls})"


def dice_table(deck: Deck, *, dice: int | None = None, faces: int = 6) -> DiceTable:
    """A table that turns throws of dice into the cards of a deck: exact, by rolling again where nothing fits.

        S = faces ** dice outcomes,   floor(S / N) for each of the N cards,   expected rolls S / (N floor(S / N))

    where outcomes are ordered, and ``dice`` are as few as can be by default. Source: derived.
    """
    faces = _in_range(faces, "faces", 2, MOST_FACES)
    count = _enough(deck.size, faces) if dice is None else _in_range(dice, "dice", 1, MOST_DICE)
    if faces**count < deck.size:
        raise ParameterError(
            "dice-of-faces-have-outcomes",
            count=count,
            faces_with_count=faces**count,
            size=deck.size,
            enough=_enough(deck.size, faces),
            dice=dice,
            faces=faces,
        )
    if faces**count > MOST_OUTCOMES:
        raise TooLargeError(
            "dice-of-faces-have-outcomes-more",
            count=count,
            faces=faces,
            faces_with_count=faces**count,
            most_outcomes=MOST_OUTCOMES,
        )
    return DiceTable(deck, count, faces)


def _in_range(value: int, name: str, low: int, high: int) -> int:
    count = as_count(value, name)
    if not low <= count <= high:
        raise ParameterError(
            "shown-name-shown-count",
            shown_name=name,
            shown_count=count,
            shown_low=low,
            shown_high=high,
            **{name: value},
        )
    return count


def _enough(cards: int, faces: int) -> int:
    """The fewest dice with as many outcomes as there are cards."""
    dice = 1
    while faces**dice < cards:
        dice += 1
    return dice


def _by_sums(
    weights: Sequence[int], low: int = 2, left: frozenset[int] | None = None
) -> list[tuple[int, int, int]] | None:
    """Neighbouring sums for each kind, of the given weights out of 36, in the order of the kinds where possible."""
    left = frozenset(range(len(weights))) if left is None else left
    if not left:
        return []
    for kind in sorted(left):
        high = _reached(low, weights[kind])
        rest = None if high is None else _by_sums(weights, high + 1, left - {kind})
        if high is not None and rest is not None:
            return [(low, high, kind), *rest]
    return None


def _reached(low: int, weight: int) -> int | None:
    """The sum up to which the outcomes from ``low`` on make the weight."""
    total = 0
    for high in range(low, 13):
        total += SUMS_OF_TWO[high]
        if total >= weight:
            return high if total == weight else None
    return None


def faces_in_words(table: DiceTable, outcome: int) -> str:
    """An outcome as it is read off: 2-5, or heads and tails for coins."""
    faces = table.shown(outcome)
    return "-".join(("heads", "tails")[f - 1] if table.faces == 2 else str(f) for f in faces)


MOST_SECTORS = 24
TENTHS = 3600
SMALLEST = 3  # degrees; a pointer cannot be read off a narrower sector


@dataclass(frozen=True)
class Sector:
    """The part of the circle for one kind of card: degrees from the top, clockwise."""

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
        warnings: list[str] = []
        if not self.in_tenths:
            warnings.append(Note("some-borders-are-not-whole-tenths"))
        narrow = min(sector.degrees for sector in self.sectors)
        if narrow < SMALLEST:
            warnings.append(Note("the-narrowest-sector-has-degrees-too", narrow=float(narrow)))
        return warnings

    def __repr__(self) -> str:
        return f"Spinner(sectors={len(self.sectors)}, in_tenths={self.in_tenths})"


def make_spinner(deck: Deck) -> Spinner:
    """The spinner of a deck, with borders to a tenth of a degree."""
    if deck.kinds > MOST_SECTORS:
        raise TooLargeError("a-spinner-of-sectors-at-most", kinds=deck.kinds, most_sectors=MOST_SECTORS, deck=deck)
    return Spinner(deck)


def sizes_in_tenths(most: int) -> list[int]:
    """Sizes of decks whose spinners have borders on tenths of a degree."""
    return [size for size in range(1, min(most, TENTHS) + 1) if TENTHS % size == 0]

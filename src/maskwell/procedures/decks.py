"""Decks of cards that realise a design exactly: draw a card unseen, find your true answer on it, report what it says.

A card is a map from truths to reports, so a deck is P written as a sum of such maps, each as often as its card. Dice
tables and spinners are made from decks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, pairwise

from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, common_denominator
from maskwell.designs.base import Design, big
from maskwell.errors import MatrixError, ParameterError, TooLargeError

MOST_CARDS = 1000
"""Cards that people are asked to cut and shuffle, unless more are allowed."""

ENTRY_LIMIT = 10_000
Columns = Sequence[Sequence[Fraction]]
Share = tuple[Fraction, tuple[int, ...], str]
"""The share of a kind of card in a deck, its reports and its face."""


@dataclass(frozen=True)
class Card:
    """One kind of card.

    Attributes
    ----------
    answers
        The code of the report for each truth.
    copies
        How many cards of this kind are in the deck.
    face
        What is printed: "table" (a line for each truth), "truth", "fixed", or a form of its own of a named procedure.
    """

    answers: tuple[int, ...]
    copies: int
    face: str = "table"

    @property
    def is_truth(self) -> bool:
        """Whether everybody reports the own category."""
        return self.answers == tuple(range(len(self.answers)))

    @property
    def is_fixed(self) -> bool:
        """Whether everybody reports the same."""
        return len(set(self.answers)) == 1


@dataclass(frozen=True, eq=False)
class Deck:
    """Cards, and the design that a card drawn at random realises; checked when it is made.

    Attributes
    ----------
    realised
        The design of this very deck, to be used in estimation.
    wish
        The design that was asked for; another one than ``realised`` where the deck was bounded.
    form
        "table", "truth-or-fixed", or the name of the procedure whose classical cards these are.
    """

    realised: Design
    wish: Design
    cards: tuple[Card, ...]
    form: str = "table"

    def __post_init__(self) -> None:
        if self.counts() != [[p * self.size for p in row] for row in self.realised.exact_matrix()]:
            raise MatrixError("these cards do not realise the design", hint="make the deck from the design", deck=self)

    @property
    def size(self) -> int:
        """Number of cards."""
        return sum(card.copies for card in self.cards)

    @property
    def kinds(self) -> int:
        """Number of different cards."""
        return len(self.cards)

    @property
    def exact(self) -> bool:
        """Whether the deck realises the design that was asked for, and not one near it."""
        return self.error == 0

    @property
    def error(self) -> Fraction:
        """The largest distance between a probability of the deck and the one asked for."""
        if self.realised is self.wish:
            return Fraction(0)
        both = zip(chain(*self.realised.exact_matrix()), chain(*self.wish.exact_matrix()), strict=True)
        return max(abs(p - q) for p, q in both)

    @property
    def parities(self) -> tuple[Parity, Parity]:
        """Parity of the design that was asked for, and of the deck."""
        return self.wish.parity_exact(), self.realised.parity_exact()

    @property
    def less_private(self) -> bool:
        """Whether rounding made the parity larger than was asked for."""
        wished, found = self.parities
        return found > wished

    def counts(self) -> list[list[int]]:
        """How many cards send truth j to report i, shape (m, k)."""
        table = [[0] * self.realised.k for _ in range(self.realised.m)]
        for card in self.cards:
            for truth, report in enumerate(card.answers):
                table[report][truth] += card.copies
        return table

    def __repr__(self) -> str:
        return f"Deck(size={self.size}, kinds={self.kinds}, form={self.form!r}, exact={self.exact})"


def make_deck(design: Design, *, most: int = MOST_CARDS) -> Deck:
    """The deck that realises a design exactly, with a line for each truth on every card.

        N = lcm of the denominators of P;   N P[i, j] cards send truth j to report i

    where for each truth j the reports lie along positions 1..N, report i on N P[i, j] consecutive ones in row order,
    and card t takes what lies at position t. There are at most k (m - 1) + 1 kinds of cards. Every card shows an
    instruction for every truth, so that a glimpse of it tells nothing about its holder.
    Source: derived; the sum of the maps is P.

    Parameters
    ----------
    design
        Any design of at most 10,000 entries.
    most
        Refuse larger decks; :func:`~maskwell.procedures.bounded.bounded_deck` rounds instead.

    >>> from maskwell.procedures.warner import warner
    >>> deck = make_deck(warner("0.7"))
    >>> deck.size, deck.kinds   # 3 cards "say yes", 4 "say the truth", 3 "say no"
    (10, 3)
    """
    columns = columns_of(design)
    size = _check_size(columns, most)
    laid = [_integers(column, size) for column in columns]
    return Deck(realised=design, wish=design, cards=lay_out(laid))


def columns_of(design: Design) -> list[list[Fraction]]:
    """The columns of P, one for each truth, where they are few enough for something to be printed."""
    if not design.has_entries_up_to(ENTRY_LIMIT):
        raise TooLargeError(
            f"a design of {design.reports_in_words()} by {big(design.k)} entries; a device has at most {ENTRY_LIMIT:,}",
            hint="use a device for each question of a product, or maskwell randomize for what no deck can hold",
            design=design,
        )
    return [list(column) for column in zip(*design.exact_matrix(), strict=True)]


def _check_size(columns: Columns, most: int) -> int:
    size = common_denominator(chain.from_iterable(columns))
    if most < 1:
        raise ParameterError(f"a deck of at most {most} cards", hint="allow at least 1 card", most=most)
    if size > most:
        raise TooLargeError(
            f"an exact deck needs {big(size)} cards, more than {most:,}",
            hint="round it: --deck N (bounded_deck), and estimate with the design that this realises",
            size=size,
            most=most,
        )
    return size


def _integers(column: Sequence[Fraction], size: int) -> list[int]:
    return [int(p * size) for p in column]


def lay_out(columns: Sequence[Sequence[int]]) -> tuple[Card, ...]:
    """Kinds of cards from how many cards send each truth to each report, one list for each truth.

    >>> lay_out([[7, 3], [3, 7]])[0]
    Card(answers=(0, 0), copies=3, face='fixed')
    """
    ends = [list(accumulate(column)) for column in columns]
    cuts = sorted({0, *chain.from_iterable(ends)})
    return tuple(_card(ends, start, stop) for start, stop in pairwise(cuts))


def _card(ends: Sequence[Sequence[int]], start: int, stop: int) -> Card:
    answers = tuple(bisect_right(column, start) for column in ends)
    card = Card(answers, stop - start)
    return Card(answers, stop - start, "truth" if card.is_truth else "fixed" if card.is_fixed else "table")


def truth_or_fixed(deck: Deck) -> Deck | None:
    """The same design with simpler cards: "report the truth" or "report i"; None where it has no such form.

        P = t I + q 1',   t + sum(q) = 1

    where t is the share of cards that ask for the truth and q[i] that of cards that say "report i". Every design of two
    categories that keeps their labels has the form, and so do k-ary ones.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> simple = truth_or_fixed(make_deck(Uniform.from_gamma(3, Categories.of(list("abcd")))))
    >>> [(card.face, card.copies) for card in simple.cards]   # one of six cards for each answer, two for the truth
    [('truth', 2), ('fixed', 1), ('fixed', 1), ('fixed', 1), ('fixed', 1)]
    """
    design = deck.realised
    if design.reports_are_sets or design.outputs != design.inputs:
        return None
    P = design.exact_matrix()
    fixed = [min(row) for row in P]
    truth = 1 - sum(fixed, Fraction(0))
    if any(p != (truth if i == j else 0) + fixed[i] for i, row in enumerate(P) for j, p in enumerate(row)):
        return None
    shares: list[Share] = [(truth, tuple(range(design.k)), "truth")]
    shares += [(q, (i,) * design.k, "fixed") for i, q in enumerate(fixed)]
    return from_shares(deck, shares, "truth-or-fixed")


def from_shares(deck: Deck, shares: Iterable[Share], form: str) -> Deck:
    """Another deck for the same design, from the shares of its kinds of cards; the smallest that holds them."""
    kept = [share for share in shares if share[0]]
    size = common_denominator(share for share, _, _ in kept)
    cards = tuple(Card(answers, int(share * size), face) for share, answers, face in kept)
    return Deck(realised=deck.realised, wish=deck.wish, cards=cards, form=form)


def truth_labels(design: Design) -> list[str]:
    """The true categories in words; those of several questions with commas.

    >>> from maskwell.procedures.warner import warner
    >>> truth_labels(warner("0.7"))
    ['yes', 'no']
    """
    return [_spoken(label) for label in design.inputs.labels]


def report_labels(design: Design) -> list[str]:
    """What is said for each report, in row order: a label, or the categories of a set with commas.

    >>> from maskwell.designs.subset import Subset
    >>> report_labels(Subset.from_gamma(3, Categories.of(["a", "b", "c"]), size=2))
    ['a, b', 'a, c', 'b, c']
    """
    names = truth_labels(design)
    if isinstance(design.outputs, Categories):
        return [_spoken(label) for label in design.outputs.labels]
    texts = written_reports(design)
    return [", ".join(n for n, bit in zip(names, t, strict=True) if bit == "1") or "none" for t in texts]


def written_reports(design: Design) -> list[str]:
    """What is written down for each report, in row order: its label, or for sets k characters 0 and 1."""
    if isinstance(design.outputs, Categories):
        return [_spoken(label) for label in design.outputs.labels]
    from maskwell.core.reported import Reports

    return list(Reports(design.fingerprint, design.k, "bits", design.report_space()).texts())


def _spoken(label: object) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)

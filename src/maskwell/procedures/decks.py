"""Decks of cards that realise a design exactly: draw a card unseen, find your answer on it, report what it says."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, pairwise

from maskwell.core.arguments import as_count, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, common_denominator
from maskwell.core.phrases import in_language, listed, option
from maskwell.designs.design import Design, big
from maskwell.errors import LabelError, MatrixError, ParameterError, TooLargeError
from maskwell.privacy.criteria import verdict
from maskwell.procedures.procedure import Share

NONE = ("none", "none of them", "none of all these")  # what is said for an empty set: the first that is no category


def truth_labels(design: Design) -> list[str]:
    """The true categories in words; those of several questions with commas."""
    return _texts(design.inputs.labels)


def report_labels(design: Design) -> list[str]:
    """What is said for each report, in row order: a label, or the categories of a set with commas."""
    if isinstance(design.outputs, Categories):
        return _texts(design.outputs.labels)
    names = truth_labels(design)
    chosen = [tuple(n for n, bit in zip(names, t, strict=True) if bit == "1") for t in written_reports(design)]
    empty = next((word for word in NONE if word not in names), NONE[0])
    return [text or empty for text in _texts(chosen)]


def written_reports(design: Design) -> list[str]:
    """What is recorded for each report, in row order: its label, or for sets k characters 0 and 1."""
    return _texts(design.written_reports().labels)


def _texts(labels: Sequence[Hashable]) -> list[str]:
    """Labels as texts; parts of tuples get quotes where a comma could be mistaken for the end of one."""
    parts = [part for label in labels if isinstance(label, tuple) for part in label]
    around = "“{}”" if any("," in str(part) for part in parts) else "{}"
    return [
        ", ".join(around.format(part) for part in label) if isinstance(label, tuple) else str(label) for label in labels
    ]


def check_words(design: Design) -> None:
    """Refuse labels that nobody could distinguish on paper, or see at all."""
    for what, texts in (("categories", truth_labels(design)), ("reports", report_labels(design))):
        seen = Counter(" ".join(text.split()) for text in texts)
        alike = [text for text, count in seen.items() if count > 1 or not text]
        if alike:
            raise LabelError(
                "that-cannot-be-told-apart", what=what, alike=listed(map(repr, alike), len(alike), 40), labels=alike
            )


MOST_CARDS = 1000  # cards that people are asked to cut and shuffle, unless more are allowed
MOST_BY_DICE = 10_000  # cards that four ten-sided dice stand for
ENTRY_LIMIT = 10_000
Columns = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class Card:
    """One kind of card."""

    answers: tuple[int, ...]  # the code of the report for each truth
    copies: int  # how many cards of this kind are in the deck
    # what is printed: "table" (a line for each truth), "truth", "fixed", or a form of its own of a named procedure
    face: str = "table"


@dataclass(frozen=True, eq=False)
class Deck:
    """Cards, and the design that a card drawn at random realises; checked when it is made."""

    realised: Design  # the design of this very deck, to be used in estimation
    wish: Design  # the design that was asked for; another one than ``realised`` where the deck was bounded
    cards: tuple[Card, ...]
    form: str = "table"  # "table", "truth-or-fixed", or the name of the procedure whose classical cards these are

    def __post_init__(self) -> None:
        if self.counts() != [[p * self.size for p in row] for row in self.realised.exact_matrix()]:
            raise MatrixError("these-cards-do-not-realise", deck=self)
        told = truthful(self.realised)
        if any(card.face == "truth" and card.answers != told for card in self.cards):
            raise MatrixError("a-card-give-your-true-answer", deck=self)

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
        """Whether rounding made the parity larger than was asked for, or made some report rule out more truths."""
        wished, realised = self.parities
        kept = verdict(realised, wished, decimals=self.wish.decimals).meets
        return not kept or not self.ruled_out <= ruled_out(self.wish.exact_matrix())

    @property
    def ruled_out(self) -> set[tuple[int, int]]:
        """Pairs of a report that occurs and a truth that never gives it."""
        return ruled_out(self.realised.exact_matrix())

    @cached_property
    def truths(self) -> list[str]:
        """The truths in words."""
        return truth_labels(self.realised)

    @cached_property
    def reports(self) -> list[str]:
        """The reports as they are said: in the words of the design that was asked for, also where those are sets."""
        return report_labels(self.wish)

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
    and card t takes what is at position t. There are at most k (m - 1) + 1 kinds of cards. A glimpse of a card reveals
    nothing about its holder. Source: derived; the sum of the maps is P.
    """
    columns, most = columns_of(design), as_count(most, "most")
    size = common_denominator(chain.from_iterable(columns))
    if most < 1:
        raise ParameterError("a-deck-of-at-most-cards", most=most)
    if size > most:
        hint = f"round it: {option('deck', 'N', 'N')}, and estimate with the design that this realises"
        if size <= MOST_BY_DICE:  # the exact way first, where one can be followed
            dice = in_language(f"--dice --faces 10 --deck {size}", f"dice=True, faces=10, deck={size}")
            hint = f"exact with dice: {dice}; or round it: {option('deck', 'N', 'N')}"
        raise TooLargeError("an-exact-deck-needs-cards-more", hint=hint, size_shown=big(size), size=size, most=most)
    return _laid_out(design, columns)


def deck_of_any_size(design: Design) -> Deck:
    """The exact deck, for where it is described and not printed."""
    return _laid_out(design, columns_of(design))


def _laid_out(design: Design, columns: Columns) -> Deck:
    size = common_denominator(chain.from_iterable(columns))
    return Deck(realised=design, wish=design, cards=lay_out([[int(p * size) for p in column] for column in columns]))


def columns_of(design: Design) -> list[list[Fraction]]:
    """The columns of P, one for each truth, where they are few enough for something to be printed."""
    check_entries(design)
    return [list(column) for column in zip(*design.exact_matrix(), strict=True)]


def check_entries(design: Design) -> None:
    """Refuse designs that are too large for something to be printed."""
    check_kind(Design, design=design)
    if not design.has_entries_up_to(ENTRY_LIMIT):
        raise TooLargeError(
            "a-design-of-by-entries",
            reports_in_words=design.reports_in_words(),
            k=big(design.k),
            entry_limit=ENTRY_LIMIT,
            design=design,
        )


def lay_out(columns: Sequence[Sequence[int]]) -> tuple[Card, ...]:
    """Kinds of cards from how many cards send each truth to each report, one list for each truth."""
    ends = [list(accumulate(column)) for column in columns]
    cuts = sorted({0, *chain.from_iterable(ends)})
    return tuple(
        Card(tuple(bisect_right(column, start) for column in ends), stop - start) for start, stop in pairwise(cuts)
    )


def ruled_out(matrix: Sequence[Sequence[Fraction | int]]) -> set[tuple[int, int]]:
    """Pairs of a report that occurs and a truth that never gives it."""
    return {(i, j) for i, row in enumerate(matrix) if any(row) for j, p in enumerate(row) if not p}


def truthful(design: Design) -> tuple[int, ...] | None:
    """The report that states each truth; None where no report does so in words that leave no doubt.

    That is the report of the same words; two truths of other words have the reports "yes" and "no", the first "yes".
    """
    if design.reports_are_sets:
        return None
    truths, reports = truth_labels(design), report_labels(design)
    if set(truths) <= set(reports):
        return tuple(map(reports.index, truths))
    yes_and_no = [label.casefold() for label in reports] == ["yes", "no"]
    return (0, 1) if yes_and_no and design.k == 2 and not set(truths) & set(reports) else None


def truth_or_fixed(deck: Deck) -> Deck | None:
    """The same design with simpler cards: "report the truth" or "report i"; None where it has no such form.

        P = t T + q 1',   t + sum(q) = 1

    where t is the share of cards that ask for the truth, T sends each truth to the report that states it, and q[i] is
    the share of cards that say "report i".
    """
    design = deck.realised
    told = truthful(design)
    if told is None:
        return None
    P = design.exact_matrix()
    fixed = [min(row) for row in P]
    truth = 1 - sum(fixed, Fraction(0))
    if any(p != (truth if i == told[j] else 0) + fixed[i] for i, row in enumerate(P) for j, p in enumerate(row)):
        return None
    shares: list[Share] = [(truth, told, "truth")]
    shares += [(q, (i,) * design.k, "fixed") for i, q in enumerate(fixed)]
    return from_shares(deck, shares, "truth-or-fixed")


def from_shares(deck: Deck, shares: Iterable[Share], form: str) -> Deck:
    """Another deck for the same design, from the shares of its kinds of cards; the smallest that holds them."""
    kept = [share for share in shares if share[0]]
    size = common_denominator(share for share, _, _ in kept)
    cards = tuple(Card(answers, int(share * size), face) for share, answers, face in kept)
    return Deck(realised=deck.realised, wish=deck.wish, cards=cards, form=form)

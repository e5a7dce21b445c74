"""From a design to the thing that lies on the table: which cards, dice or spinner, and what they realise.

Notes of where a design came from can be edited: a procedure is built again, and taken only where its matrix is the
same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Literal, cast

from maskwell.core.arguments import Flag, as_count, check_kind
from maskwell.core.categories import Categories
from maskwell.core.display import Result
from maskwell.core.exact import as_fraction, common_denominator, to_text
from maskwell.designs.design import Design
from maskwell.errors import MaskwellError, MatrixError, ParameterError
from maskwell.privacy.criteria import SLACK_IN_WORDS
from maskwell.procedures import decks, dice_spinner
from maskwell.procedures.decks import Deck
from maskwell.procedures.dice_spinner import DiceTable, Spinner, dice_table, make_spinner
from maskwell.procedures.forced_answers import forced
from maskwell.procedures.procedure import Kind, single_answers
from maskwell.procedures.registry import PROCEDURES
from maskwell.procedures.small_decks import bounded_deck
from maskwell.procedures.statement_cards import mangat

Parameters = Mapping[str, Any]
Medium = Literal["cards", "dice", "spinner"]
MEDIA: tuple[Medium, ...] = ("cards", "dice", "spinner")


@dataclass(frozen=True, eq=False, kw_only=True)
class Device(Result):
    """A way to carry out a design with real people."""

    general: Deck  # the deck that has a line for each truth on every card: it exists for every design
    # the cards that are used: classical or simple ones where the design has them, else those of ``general``. Where the
    # truths are kinds of people, some of whom do not follow the rules, they ask as if everybody did
    deck: Deck
    dice: DiceTable | None = None  # dice, spinner: what stands in for the cards, if anything does
    spinner: Spinner | None = None
    procedure: Known | None = None  # A named procedure that is carried out in its own way, without the cards

    LINES: ClassVar[str] = "deck"

    def __repr__(self) -> str:
        nearness = "exact" if self.general.exact else "rounded"
        return f"Device({self.form}, {self.deck.size} cards of {self.deck.kinds} kinds, {nearness})"

    @property
    def realised(self) -> Design:
        """The design that the device realises, to be used in estimation."""
        return self.general.realised

    @property
    def form(self) -> str:
        """What lies on the table: cards, dice, coins, spinner, or the name of the procedure."""
        if self.procedure is not None:
            return self.procedure.family
        if self.dice is not None:
            return "coins" if self.dice.faces == 2 else "dice"
        return "cards" if self.spinner is None else "spinner"

    def warnings(self) -> list[str]:
        """What must not be overlooked."""
        warnings = [] if self.general.exact else [_rounded(self.general)]
        return [*warnings, *(() if self.spinner is None else self.spinner.warnings())]

    def to_dict(self) -> dict[str, Any]:
        """The content of a JSON answer; cards and kinds count the general deck, whatever is printed."""
        wished, realised = self.general.parities
        spun: dict[str, Any] = {}
        if self.spinner is not None:
            sectors = [{"from": float(s.start), "to": float(s.stop), "kind": s.kind} for s in self.spinner.sectors]
            spun = {"spinner": {"sectors": sectors, "in_tenths": self.spinner.in_tenths}}
        return {
            "cards": self.general.size,
            "kinds": self.general.kinds,
            "exact": self.general.exact,
            "error": float(self.general.error),
            "error_exact": to_text(self.general.error),
            "realised": [[to_text(p) for p in row] for row in self.realised.exact_matrix()],
            "parity": {"asked": self.general.wish.parity(), "realised": self.realised.parity()},
            "parity_exact": {"asked": to_text(wished), "realised": to_text(realised)},
            "less_private": self.general.less_private,
            "deck": _cards(self.general),
            "used": {"form": self.form, "cards": self.deck.size, "kinds": self.deck.kinds, "deck": _cards(self.deck)},
            **(_thrown(self.dice) if self.dice is not None else {}),
            **spun,
            "design": self.realised.to_dict(),
            "warnings": self.warnings(),
        }


def make_device(
    design: Design,
    *,
    medium: Medium = "cards",
    most: int | None = None,
    not_less_private: bool = False,
    general: bool = False,
    dice: int | None = None,
    faces: int = 6,
) -> Device:
    """The device for a design: exact, or rounded to at most so many cards; see :func:`maskwell.device`."""
    check_kind(Design, design=design)
    check_kind(str, medium=medium)
    check_kind(Flag, not_less_private=not_less_private, general=general)
    if medium not in MEDIA:
        raise ParameterError("medium-medium", medium=medium, media=", ".join(MEDIA))
    if not_less_private and most is None:
        raise ParameterError("an-exact-device-has-the-privacy")
    decks.check_entries(design)
    decks.check_words(design)
    known = known_procedure(design) if medium == "cards" and most is None and not general else None
    if known is not None and _is_carried_out(known, design):
        cards = decks.deck_of_any_size(design)
        return Device(general=cards, deck=cards, procedure=known)
    sizes = None if most is None or medium != "spinner" else dice_spinner.sizes_in_tenths(most)
    laid = (
        decks.make_deck(design, most=decks.MOST_CARDS)
        if most is None
        else bounded_deck(design, most, not_less_private=not_less_private, sizes=sizes)
    )
    asked = instructed(laid)
    plain = laid if asked is None else decks.make_deck(asked, most=max(decks.MOST_CARDS, laid.size))
    deck = plain if general else best_deck(plain)
    return Device(
        general=laid,
        deck=deck,
        dice=dice_table(deck, dice=dice, faces=faces) if medium == "dice" else None,
        spinner=make_spinner(deck) if medium == "spinner" else None,
    )


@dataclass(frozen=True)
class Known:
    """A named procedure with its parameters, and the certainty that they give the matrix of the design."""

    family: str
    parameters: Parameters


def known_procedure(design: Design) -> Known | None:
    """The procedure that a design is, None where its provenance names none or is not true of its matrix."""
    procedure = PROCEDURES.get(str(design.provenance.get("family")))
    texts = design.provenance.get("parameters")
    if procedure is None or not isinstance(texts, Mapping) or not design.has_entries_up_to(decks.ENTRY_LIMIT):
        return None
    kinds = {parameter.name: parameter.kind for parameter in procedure.parameters}
    flags = {name: True for name, kind in kinds.items() if kind is Kind.FLAG}  # what was allowed once is allowed again
    try:
        parameters = {name: _read(str(text), kinds[name]) for name, text in texts.items()}
        categories = _sensitive_categories(design) if procedure.needs_categories else None
        made = procedure.design({**parameters, **flags}, categories=categories, allow_unidentifiable=True)
    except (KeyError, ValueError, TypeError, ArithmeticError, MaskwellError):
        return None
    same = made.exact_matrix() == design.exact_matrix()
    return Known(procedure.name, parameters) if same else None


def _sensitive_categories(design: Design) -> Categories:
    """The categories of the sensitive question, where truths are pairs of it and an unrelated answer too."""
    labels = design.inputs.labels
    paired = "variables" in design.provenance and all(isinstance(one, tuple) for one in labels)
    return Categories.of(dict.fromkeys(one[0] for one in labels if isinstance(one, tuple))) if paired else design.inputs


def _read(text: str, kind: Kind) -> Any:
    if kind is Kind.COUNT:
        return as_count(text, "count")
    if kind is Kind.PROBABILITIES:
        return [as_fraction(part) for part in text.split(",")]
    return as_fraction(text)


def classical_deck(deck: Deck, *, most: int = decks.MOST_CARDS) -> Deck | None:
    """The cards by which a named procedure is known, None for a design that has none or needs too many of them."""
    known = known_procedure(deck.realised)
    cards = None if known is None else PROCEDURES[known.family].cards
    if known is None or cards is None:
        return None
    try:
        classical = decks.from_shares(deck, cards(known.parameters, deck.realised.k), known.family)
    except MatrixError:
        return None
    return classical if classical.size <= most else None


def best_deck(deck: Deck) -> Deck:
    """The same design with the cards that people understand best: classical ones, else simple ones, else tables."""
    classical = classical_deck(deck)
    if classical is not None:
        return classical
    simple = decks.truth_or_fixed(deck)
    return deck if simple is None or simple.size > max(decks.MOST_CARDS, deck.size) else simple


def instructed(deck: Deck) -> Design | None:
    """The design of the instructions, where the truths of a design are kinds of people who may not follow them."""
    known, chances = known_procedure(deck.wish), deck.realised.exact_matrix()[0]
    if known is None or known.family not in ("cheating-detection", "lie-detector"):
        return None
    if known.family == "cheating-detection":
        made = forced(1 - chances[1], chances[1], 0, allow_unidentifiable=True)
    else:
        made = mangat(1 - chances[2], allow_unidentifiable=True)
    return made.with_labels(made.inputs, cast(Categories, deck.realised.outputs))


def _is_carried_out(known: Known, design: Design) -> bool:
    """Whether it is done in its own way: with few enough cards to shuffle, and each of two answers in its own words."""
    procedure, given = PROCEDURES[known.family], known.parameters
    shares = [given[name] for name in ("p", "p1", "p2", "theta1", "theta2") if name in given]
    together = common_denominator([*given.get("statements", ()), given.get("unrelated", Fraction(0))])
    few = together <= decks.MOST_CARDS and all(int(share.denominator) <= decks.MOST_CARDS for share in shares)
    if not procedure.without_cards or not few:
        return False
    if not all(isinstance(report, tuple) for report in procedure.reports or ("",)):
        return True
    outputs = cast(Categories, design.outputs)  # of people who answer twice
    return list(outputs.labels) == list(product(single_answers(outputs), repeat=2))


def _rounded(deck: Deck) -> str:
    """What rounding did, to the probabilities and to the privacy."""
    wished, realised = deck.parities
    if deck.less_private and isinstance(realised, float):
        privacy = "a report can now reveal the answer, because some probability was rounded to 0"
    elif deck.less_private:
        privacy = "it is less private than was asked for"
    else:
        near = f" ({SLACK_IN_WORDS})" if realised > wished else ""
        privacy = "it is at least as private as was asked for" if realised < wished else f"its parity is the same{near}"
    moved = f"probabilities moved by up to {float(deck.error):.2g}"
    return f"this is not the design that was asked for: {moved}, and {privacy}; estimate with what the deck realises"


def _cards(deck: Deck) -> list[Mapping[str, Any]]:
    reports, truths = deck.reports, deck.truths
    return [
        {"copies": card.copies, "answers": {t: reports[i] for t, i in zip(truths, card.answers, strict=True)}}
        for card in deck.cards
    ]


def _thrown(table: DiceTable) -> dict[str, Any]:
    runs = [
        {
            "from": dice_spinner.faces_in_words(table, run.first),
            "to": dice_spinner.faces_in_words(table, run.last),
            "kind": run.kind,
        }
        for run in table.runs()
    ]
    sums = table.sums()
    by_sum = None if sums is None else [{"from": low, "to": high, "kind": kind} for low, high, kind in sums]
    shape = {"dice": table.dice, "faces": table.faces, "outcomes": table.outcomes, "table": runs, "sums": by_sum}
    return {"expected_rolls": float(table.expected_rolls), "throws": shape}

"""The classical cards of named procedures, where a design still is what its provenance says.

A design only notes where it came from, and notes can be edited; so each deck is checked against the matrix, and where
they disagree there are no classical cards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from maskwell.core.arguments import as_count
from maskwell.core.categories import Categories
from maskwell.core.exact import as_fraction
from maskwell.designs.design import Design
from maskwell.errors import MaskwellError, MatrixError
from maskwell.procedures.decks import ENTRY_LIMIT, MOST_CARDS, Deck, Share, from_shares, truth_or_fixed
from maskwell.procedures.forced_answers import forced
from maskwell.procedures.procedure import Kind
from maskwell.procedures.registry import PROCEDURES
from maskwell.procedures.statement_cards import mangat

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """A named procedure with its parameters, and the certainty that they give the matrix of the design."""

    family: str
    parameters: Parameters


def known_procedure(design: Design) -> Known | None:
    """The procedure that a design is, None where its provenance names none or is not true of its matrix.

    >>> from maskwell.procedures import crosswise
    >>> known_procedure(crosswise("1/6"))
    Known(family='crosswise', parameters={'q': Fraction(1, 6)})
    """
    procedure = PROCEDURES.get(str(design.provenance.get("family")))
    texts = design.provenance.get("parameters")
    if procedure is None or not isinstance(texts, Mapping) or not design.has_entries_up_to(ENTRY_LIMIT):
        return None
    kinds = {parameter.name: parameter.kind for parameter in procedure.parameters}
    flags = {name: True for name, kind in kinds.items() if kind is Kind.FLAG}  # what was allowed once is allowed again
    try:
        parameters = {name: _read(str(text), kinds[name]) for name, text in texts.items()}
        categories = _own_categories(design) if procedure.needs_categories else None
        made = procedure.design({**parameters, **flags}, categories=categories, allow_unidentifiable=True)
    except (KeyError, ValueError, TypeError, ArithmeticError, MaskwellError):
        return None
    same = made.exact_matrix() == design.exact_matrix()
    return Known(procedure.name, parameters) if same else None


def _own_categories(design: Design) -> Categories:
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


def classical_deck(deck: Deck, *, most: int = MOST_CARDS) -> Deck | None:
    """The cards by which a named procedure is known, None for a design that has none or needs too many of them.

    >>> from maskwell.procedures import make_deck
    >>> from maskwell.procedures import warner
    >>> [(card.face, card.copies) for card in classical_deck(make_deck(warner("0.7"))).cards]
    [('statement 0', 7), ('statement 1', 3)]
    """
    known = known_procedure(deck.realised)
    if known is None or known.family not in FORMS:
        return None
    try:
        classical = from_shares(deck, FORMS[known.family](known.parameters, deck.realised.k), known.family)
    except MatrixError:
        return None
    return classical if classical.size <= most else None


def best_deck(deck: Deck) -> Deck:
    """The same design with the cards that people understand best: classical ones, else simple ones, else tables."""
    return classical_deck(deck) or _simple(deck) or deck


def _simple(deck: Deck) -> Deck | None:
    simple = truth_or_fixed(deck)
    return simple if simple is not None and simple.size <= max(MOST_CARDS, deck.size) else None


def instructed(deck: Deck) -> Design | None:
    """The design of the instructions, where the truths of a design are kinds of people who may not follow them.

    Nobody can be asked whether they always say no; they are asked as if everybody followed the rule.

    >>> from maskwell.procedures import cheating
    >>> from maskwell.procedures import make_deck
    >>> instructed(make_deck(cheating("1/5"))).provenance["family"]   # one card in five says: say yes
    'forced'
    """
    known, chances = known_procedure(deck.wish), deck.realised.exact_matrix()[0]
    if known is None or known.family not in ("cheating-detection", "lie-detector"):
        return None
    if known.family == "cheating-detection":
        made = forced(1 - chances[1], chances[1], 0, allow_unidentifiable=True)
    else:
        made = mangat(1 - chances[2], allow_unidentifiable=True)
    return made.with_labels(made.inputs, cast(Categories, deck.realised.outputs))


def _warner(parameters: Parameters, _: int) -> list[Share]:
    return [(parameters["p"], (0, 1), "statement 0"), (1 - parameters["p"], (1, 0), "statement 1")]


def _mangat(parameters: Parameters, _: int) -> list[Share]:
    return [(parameters["p"], (0, 1), "statement 0"), (1 - parameters["p"], (0, 0), "statement 1")]


def _mangat_singh(parameters: Parameters, _: int) -> list[Share]:
    t, p = parameters["t"], parameters["p"]
    second = [((1 - t) * p, (0, 1), "statement 0"), ((1 - t) * (1 - p), (1, 0), "statement 1")]
    return [(t, (0, 1), "truth"), *second]


def _christofides(parameters: Parameters, _: int) -> list[Share]:
    p = parameters["probabilities"]
    return [(share, (len(p) - 1 - number, number), "table") for number, share in enumerate(p)]


def _bourke_dalenius(parameters: Parameters, k: int) -> list[Share]:
    return [(share, tuple((j + r) % k for j in range(k)), "order") for r, share in enumerate(parameters["weights"])]


def _abul_ela(parameters: Parameters, k: int) -> list[Share]:
    shares = enumerate(parameters["probabilities"])
    return [(share, tuple(int(j != named) for j in range(k)), f"statement {named}") for named, share in shares]


FORMS: dict[str, Callable[[Parameters, int], list[Share]]] = {
    "warner": _warner,
    "kim-warde": _warner,
    "abul-ela": _abul_ela,
    "mangat": _mangat,
    "mangat-singh": _mangat_singh,
    "christofides": _christofides,
    "bourke-dalenius": _bourke_dalenius,
}
"""Cards of the procedures that have cards of their own; forced response, Liu and Chow and k-ary are simple ones."""

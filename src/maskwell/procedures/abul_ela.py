"""Abul-Ela, Greenberg and Horvitz' device: a deck with one statement for each category, in several samples."""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.base import check_two
from maskwell.designs.dense import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.device import check_shares, numbered
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import one_of_several, yes_or_no


def abul_ela(categories: Categories, probabilities: Sequence[Number], *, allow_unidentifiable: bool = False) -> Dense:
    """Draw a card that names one category, and say whether you belong to it.

        Pr(yes | j) = p_j,   sum_j p_j = 1

    where ``probabilities`` are p_1..p_k, the shares of the cards in the deck of this sample. With k categories, k - 1
    samples or more with different decks give all shares; for k = 2 one will do, and it is Warner's. A deck of equal
    shares tells nothing.
    Source: after Abul-Ela, Greenberg and Horvitz (1967), named in [Adeshiyan2011, section 3.1]; P derived from the
    instruction.

    >>> design = abul_ela(Categories.of(["never", "late", "in time"]), ["0.6", "0.2", "0.2"])
    >>> design.parity_exact(), design.identifiable   # a yes is three times likelier from the first category
    (Fraction(3, 1), False)
    """
    check_two(categories)
    k, cards = len(categories), numbered(probabilities, "probabilities")
    if len(cards) != k:
        raise ParameterError(f"{len(cards)} probabilities for {k} categories", hint="give one for each")
    p, settled = check_shares(cards)
    return one_of_several(
        yes_or_no(p, categories),
        family="abul-ela",
        parameters={"probabilities": p},
        needs="probabilities that are not all equal",
        samples=f"one of {k - 1} samples or more: {k} shares need {k - 1} different decks",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
    )


ABUL_ELA = Procedure(
    name="abul-ela",
    build=abul_ela,
    summary="cards that name a category; yes or no; one of several samples",
    source="after Abul-Ela, Greenberg and Horvitz 1967",
    example="--k 3 --probabilities 0.6,0.2,0.2",
    parameters=(Parameter("probabilities", Kind.PROBABILITIES, "shares of the cards that name each category"),),
    truths=None,
)

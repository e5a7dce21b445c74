"""Mangat's device: members of the sensitive group say yes, the others use Warner's cards."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def mangat(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Say yes if you belong to A, whatever the card; otherwise say whether the card is true of you.

        Pr(yes | A) = 1,   Pr(yes | not A) = 1 - p

    where ``p`` is the share of cards that say "I belong to A". Any p above 0 can be estimated from. A no comes only
    from people outside A, so parity is infinite, though no report betrays a member of A.
    Source: after Mangat (1994), named in [Adeshiyan2011, section 2.3]; P derived from the instruction.

    >>> design = mangat("0.7")
    >>> [str(x) for x in design.exact_matrix()[0]], design.parity()   # three in ten outsiders say yes and give cover
    (['1', '3/10'], inf)
    """
    p = check_probability(p, "p")
    return of_two_truths(
        [Fraction(1), Fraction(0)],
        [1 - p, p],
        family="mangat",
        parameters={"p": p},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
    )


MANGAT = Procedure(
    name="mangat",
    build=mangat,
    summary="members say yes, the others use Warner's cards",
    source="after Mangat 1994",
    example="--p 0.7",
    parameters=(Parameter("p", Kind.PROBABILITY, "share of cards with the sensitive statement"),),
)

"""Warner's device: a deck of two statements, one the opposite of the other."""

from __future__ import annotations

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def warner(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Draw a card unseen and say whether its statement is true of you.

        Pr(yes | A) = p,   Pr(yes | not A) = 1 - p

    where ``p``, from 0 to 1, is the share of cards that say "I belong to A"; the others say "I do not belong to A".
    Any p but 1/2 can be estimated from; p and 1 - p are the same device with the answers swapped. 0 and 1 are direct
    questions.
    Source: [Adeshiyan2011, eq. (2.1)], after [Warner1965].

    >>> design = warner("3/4")
    >>> design.parity_exact()   # "yes" is three times likelier from members of A than from others
    Fraction(3, 1)
    """
    p = check_probability(p, "p")
    return of_two_truths(
        [p, 1 - p],
        [1 - p, p],
        family="warner",
        parameters={"p": p},
        needs="p away from 1/2",
        allow_unidentifiable=allow_unidentifiable,
    )


WARNER = Procedure(
    name="warner",
    build=warner,
    summary="cards that say the sensitive statement or its opposite",
    source="Adeshiyan 2011, eq. (2.1), after Warner 1965",
    example="--p 0.7",
    parameters=(Parameter("p", Kind.PROBABILITY, "share of cards with the sensitive statement"),),
)

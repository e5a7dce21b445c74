"""Singh and Joarder's device: Warner's cards, and a second card for members who were about to say no."""

from __future__ import annotations

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def singh_joarder(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Use Warner's cards; a member of A whose card asks for a no draws once more and answers the second card.

        Pr(yes | A) = p + (1 - p) p,   Pr(yes | not A) = 1 - p

    where ``p`` is the share of cards that say "I belong to A"; the others say "I do not belong to A". Estimation fails
    only where the two chances meet, near p = 0.381966.
    Source: after Singh and Joarder (1997); P derived, and it reproduces the published mean 0.334225 of 170 answers with
    p = 0.6.

    >>> design = singh_joarder("0.6")
    >>> [str(x) for x in design.exact_matrix()[0]]   # 84 in 100 members say yes, 40 in 100 others
    ['21/25', '2/5']
    """
    p = check_probability(p, "p")
    a, b = p + (1 - p) * p, 1 - p
    return of_two_truths(
        [a, 1 - a],
        [b, 1 - b],
        family="singh-joarder",
        parameters={"p": p},
        needs="p away from (3 - sqrt(5)) / 2, which is near 0.381966",
        allow_unidentifiable=allow_unidentifiable,
    )


SINGH_JOARDER = Procedure(
    name="singh-joarder",
    build=singh_joarder,
    summary="Warner's cards, with a second draw for members about to say no",
    source="after Singh and Joarder 1997; matrix derived",
    example="--p 0.6",
    parameters=(Parameter("p", Kind.PROBABILITY, "share of cards with the sensitive statement"),),
)

"""Devore's device: the sensitive question, or one that everybody answers with yes."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def devore(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer the sensitive question or, by chance, one that is true of everybody.

        Pr(yes | A) = 1,   Pr(yes | not A) = 1 - p

    where ``p`` is the chance of the sensitive question. Any p above 0 can be estimated from. This **is** the design of
    :func:`~maskwell.procedures.simmons.simmons` with beta = 1, and has the matrix of
    :func:`~maskwell.procedures.mangat.mangat`: a no comes only from outside A.
    Source: after Devore (1977); P derived, and it reproduces the published mean 0.868982 of 240 answers with p = 0.7.

    >>> design = devore("0.7")
    >>> [str(x) for x in design.exact_matrix()[0]], design.provenance["same_as"]   # no yes betrays a member of A
    (['1', '3/10'], 'simmons --p 7/10 --beta 1')
    """
    p = check_probability(p, "p")
    return of_two_truths(
        [Fraction(1), Fraction(0)],
        [1 - p, p],
        family="devore",
        parameters={"p": p},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"simmons --p {p} --beta 1",
    )


DEVORE = Procedure(
    name="devore",
    build=devore,
    summary="the sensitive question or one that everybody answers with yes",
    source="after Devore 1977; matrix derived",
    example="--p 0.7",
    parameters=(Parameter("p", Kind.PROBABILITY, "chance of the sensitive question"),),
)

"""Stochastic lie detector: carriers of a trait say yes or lie, the others use Warner's cards; two samples."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import one_of_several, yes_or_no

KINDS = ("honest carrier", "lying carrier", "non-carrier")
SAMPLES = "ask two samples with different p: together they give the shares of the three kinds of people"


def lie_detector(p: Number) -> Dense:
    """Carriers say yes, or lie and say no; non-carriers say whether the statement on their card is true of them.

        Pr(yes) = 1, 0, 1 - p   for honest carrier, lying carrier, non-carrier

    where ``p`` is the share of cards that say "I am a carrier" in this sample. Two samples with different p give the
    three shares. With them

        pi = share(honest) + share(lying),   t = share(honest) / pi

    where pi is the share of carriers and t the chance that a carrier tells the truth. The matrix is that of
    :func:`~maskwell.procedures.cheating.cheating` with a forced yes of chance 1 - p, and people who always say no taken
    for carriers.
    Source: after Moshagen, Musch and Erdfelder (2012); P derived, and it reproduces the published pi = 0.8707 with
    standard error 0.0411 and t = 0.6358 of 1256 answers with p = 2/12 and 10/12.

    >>> [str(x) for x in lie_detector("1/6").exact_matrix()[0]]   # here most non-carriers say yes
    ['1', '0', '5/6']
    """
    share = check_probability(p, "p")
    return one_of_several(
        yes_or_no([Fraction(1), Fraction(0), 1 - share], Categories.of(KINDS)),
        family="lie-detector",
        parameters={"p": share},
        needs="p from 0 to 1",
        samples=SAMPLES,
    )


LIE_DETECTOR = Procedure(
    name="lie-detector",
    build=lie_detector,
    summary="carriers say yes or lie, others use Warner's cards; one of two samples",
    source="after Moshagen, Musch and Erdfelder 2012; matrix derived",
    example="--p 1/6",
    parameters=(Parameter("p", Kind.PROBABILITY, "share of cards with the sensitive statement in this sample"),),
    truths=KINDS,
    may_fail=False,
)

"""Cheating detection: forced yes in two samples, and a third kind of respondent who says no whatever happens."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import one_of_several, yes_or_no

KINDS = ("honest yes", "honest no", "always no")
SAMPLES = "ask two samples with different p: together they give the shares of the three kinds of people"


def cheating(p: Number) -> Dense:
    """By chance say yes whatever is true, otherwise answer; some say no against the rules.

        Pr(yes) = 1, p, 0   for honest yes, honest no, always no

    where ``p`` is the chance of a forced yes in this sample. Two samples with different p give the three shares. The
    share of people in A lies between that of the honest yes and that sum with those who always say no.
    Source: after Clark and Desharnais (1998); P derived from the instruction.

    >>> [str(x) for x in cheating("1/5").exact_matrix()[0]]   # who always says no never says yes
    ['1', '1/5', '0']
    """
    chance = check_probability(p, "p")
    return one_of_several(
        yes_or_no([Fraction(1), chance, Fraction(0)], Categories.of(KINDS)),
        family="cheating-detection",
        parameters={"p": chance},
        needs="p from 0 to 1",
        samples=SAMPLES,
    )


CHEATING = Procedure(
    name="cheating-detection",
    build=cheating,
    summary="forced yes, with people who say no against the rules; one of two samples",
    source="after Clark and Desharnais 1998",
    example="--p 1/5",
    parameters=(Parameter("p", Kind.PROBABILITY, "chance of a forced yes in this sample"),),
    truths=KINDS,
    may_fail=False,
)

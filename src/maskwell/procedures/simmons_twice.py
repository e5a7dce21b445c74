"""Simmons' device used twice by the same person, with an unrelated question whose yes-rate nobody knows."""

from __future__ import annotations

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import named
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.repeated import repeated
from maskwell.procedures.samples import UNRELATED, one_source, with_unrelated
from maskwell.procedures.simmons import OWN, simmons

REPORTS = tuple(with_unrelated().labels)


def simmons_twice(p1: Number, p2: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Draw from two boxes; each time answer the sensitive question or the unrelated one.

        P[(i, j), (x, y)] = Pr(i | x, y; p1) Pr(j | x, y; p2),   Pr(yes | x, y; p) = p x + (1 - p) y

    where ``p1`` and ``p2``, which must differ, are the chances of the sensitive question in the two boxes, and (x, y)
    is the pair of own and unrelated answer, 1 for yes. Four reports and four truths: P has an inverse, so the only
    unbiased score of the own answer is

        U = ((1 - p2) I - (1 - p1) J) / (p1 - p2)

    where I and J are 1 for yes; the estimate of the share of x is the mean of U. The unrelated answer need not be
    independent of the own one, and nobody needs to know how common it is.
    Source: after Horvitz et al. (1967) and Greenberg et al. (1969); P derived, and it reproduces the published mean
    0.121317 of 188 pairs of answers with p1 = 0.6 and p2 = 0.7.

    >>> design = simmons_twice("0.6", "0.7")
    >>> design.k, design.m, design.identifiable   # two answers do the work of two samples
    (4, 4, True)
    """
    p1, p2 = check_probability(p1, "p1"), check_probability(p2, "p2")
    made = repeated([simmons(p1), simmons(p2)])
    return named(
        made,
        family="simmons-twice",
        parameters={"p1": p1, "p2": p2},
        needs="p1 different from p2",
        allow_unidentifiable=allow_unidentifiable,
        variables=[OWN, UNRELATED],
        wanted=OWN,
        warning=one_source(made),
    )


SIMMONS_TWICE = Procedure(
    name="simmons-twice",
    build=simmons_twice,
    summary="two boxes of cards with the sensitive and an unrelated question; two answers",
    source="after Horvitz et al. 1967 and Greenberg et al. 1969; matrix derived",
    example="--p1 0.6 --p2 0.7",
    parameters=(
        Parameter("p1", Kind.PROBABILITY, "chance of the sensitive question in the first box"),
        Parameter("p2", Kind.PROBABILITY, "chance of the sensitive question in the second box"),
    ),
    truths=REPORTS,
    truths_named=False,
    reports=REPORTS,
)

"""Mangat, Singh and Singh's device: members say yes, the others use cards with an unrelated question."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import UNRELATED, one_of_several, yes_or_no

MEMBERS = "own answer"
KINDS = Categories.of([("yes", "any"), ("no", "yes"), ("no", "no")])
"""Own and unrelated answer; members never answer the unrelated question."""
SAMPLES = "alpha is unknown: ask two samples, or twice, with different p; the first answer is wanted"


def mangat_singh_singh(p: Number, alpha: Number | None = None, *, allow_unidentifiable: bool = False) -> Dense:
    """Say yes if you belong to A; otherwise draw a card that asks about A or about an innocuous trait.

        Pr(yes | A) = 1,   Pr(yes | not A) = (1 - p) alpha

    where ``p`` is the chance of the sensitive question and ``alpha`` the known share of the innocuous trait. A no comes
    only from outside A; with alpha = 0 a yes betrays membership.
    Source: after Mangat, Singh and Singh (1992); P derived, and it reproduces the published total 1206.5 of 802 answers
    with p = 0.6 and alpha = 0.5.

    >>> design = mangat_singh_singh("0.6", "0.5")
    >>> [str(x) for x in design.exact_matrix()[0]]   # one outsider in five gives cover to the members
    ['1', '1/5']

    Without ``alpha`` there are three kinds of people, (own, unrelated): members, and others with and without the trait.

        Pr(yes) = 1, 1 - p, 0   for (yes, any), (no, yes), (no, no)

    A second sample with another p, or a second answer of the same people
    (:func:`~maskwell.procedures.mangat_singh_singh_twice.mangat_singh_singh_twice`), gives their shares.

    >>> mangat_singh_singh("0.6").matrix()[0].tolist()
    [1.0, 0.4, 0.0]
    """
    p = check_probability(p, "p")
    if alpha is None:
        return _unknown(p)
    alpha = check_probability(alpha, "alpha")
    b = (1 - p) * alpha
    return of_two_truths(
        [Fraction(1), Fraction(0)],
        [b, 1 - b],
        family="mangat-singh-singh",
        parameters={"p": p, "alpha": alpha},
        needs="p above 0, or alpha below 1",
        allow_unidentifiable=allow_unidentifiable,
    )


def _unknown(p: Fraction) -> Dense:
    return one_of_several(
        yes_or_no([Fraction(1), 1 - p, Fraction(0)], KINDS),
        family="mangat-singh-singh",
        parameters={"p": p},
        needs="p from 0 to 1",
        samples=SAMPLES,
        variables=[MEMBERS, UNRELATED],
        wanted=MEMBERS,
    )


MANGAT_SINGH_SINGH = Procedure(
    name="mangat-singh-singh",
    build=mangat_singh_singh,
    summary="members say yes, others draw a card; without --alpha, one of two samples",
    source="after Mangat, Singh and Singh 1992; matrix derived",
    example="--p 0.6 --alpha 0.5",
    parameters=(
        Parameter("p", Kind.PROBABILITY, "chance of the sensitive question, for those outside the group"),
        Parameter("alpha", Kind.PROBABILITY, "known share of the unrelated trait", required=False),
    ),
)

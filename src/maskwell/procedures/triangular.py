"""Triangular model: two questions at once, and one answer whether any applies."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure

REPORTS = ("at least one", "neither")


def triangular(q: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Say whether at least one of the sensitive and an innocuous trait applies to you.

        Pr(at least one | A) = 1,   Pr(at least one | not A) = q

    where ``q`` is the known share of people with the innocuous trait, which must be unrelated to the sensitive one. No
    device is needed. The design is that of :func:`~maskwell.procedures.mangat.mangat` with p = 1 - q; any q below 1 can
    be estimated from. Parity is infinite: "neither" is only said outside A.
    Source: after Yu, Tian and Tang (2008); P derived from the instruction.

    >>> design = triangular("1/4")   # mother born in January, February or March
    >>> [str(x) for x in design.exact_matrix()[0]], design.provenance["same_as"]
    (['1', '1/4'], 'mangat --p 3/4')
    """
    q = check_probability(q, "q")
    return of_two_truths(
        [Fraction(1), Fraction(0)],
        [q, 1 - q],
        family="triangular",
        parameters={"q": q},
        needs="q below 1",
        reports=Categories.of(REPORTS),
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"mangat --p {1 - q}",
    )


TRIANGULAR = Procedure(
    name="triangular",
    build=triangular,
    summary="whether a sensitive or an innocuous trait applies, or neither",
    source="after Yu, Tian and Tang 2008",
    example="--q 1/4",
    parameters=(Parameter("q", Kind.PROBABILITY, "known share of people with the innocuous trait"),),
    reports=REPORTS,
)

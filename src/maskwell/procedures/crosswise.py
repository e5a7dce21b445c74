"""Crosswise model: two questions at once, and one answer whether they agree."""

from __future__ import annotations

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure

REPORTS = ("same", "different")


def crosswise(q: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Say whether your answers to the sensitive and to an innocuous question are the same.

        Pr(same | A) = q,   Pr(same | not A) = 1 - q

    where ``q`` is the known share of yes to the innocuous question, which must be unrelated to the sensitive one. No
    device is needed. This **is** Warner's design with p = q; any q but 1/2 can be estimated from.
    Source: after Yu, Tian and Tang (2008); P derived from the instruction.

    >>> design = crosswise("1/6")   # mother born in January or February
    >>> design.parity_exact(), design.provenance["same_as"]
    (Fraction(5, 1), 'warner --p 1/6')
    """
    q = check_probability(q, "q")
    return of_two_truths(
        [q, 1 - q],
        [1 - q, q],
        family="crosswise",
        parameters={"q": q},
        needs="q away from 1/2",
        reports=Categories.of(REPORTS),
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"warner --p {q}",
    )


CROSSWISE = Procedure(
    name="crosswise",
    build=crosswise,
    summary="whether the answers to a sensitive and an innocuous question are the same",
    source="after Yu, Tian and Tang 2008",
    example="--q 1/6",
    parameters=(Parameter("q", Kind.PROBABILITY, "known share of yes to the innocuous question"),),
    reports=REPORTS,
)

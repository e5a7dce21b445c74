"""Christofides' device: a number by chance; one group reports it, the other counts from the far end."""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.dense import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.device import check_shares, numbered, of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def christofides(probabilities: Sequence[Number], *, allow_unidentifiable: bool = False) -> Dense:
    """A spinner shows J from 1 to m; members of A report m + 1 - J, others J.

        Pr(i | A) = p[m + 1 - i],   Pr(i | not A) = p[i]

    where ``probabilities`` are p[1]..p[m], which must not read the same backwards.
    Source: [Adeshiyan2011, section 2.5], after Christofides (2003).

    >>> design = christofides(["1/2", "1/3", "1/6"])
    >>> design.parity_exact()   # a 3 is three times likelier from members of A; a 2 tells nothing
    Fraction(3, 1)
    """
    places = numbered(probabilities, "probabilities")
    if len(places) < 2:
        raise ParameterError(
            f"{len(places)} probabilities: the device needs two numbers or more", hint="give two or more"
        )
    p, settled = check_shares(places)
    return of_two_truths(
        p[::-1],
        p,
        family="christofides",
        parameters={"probabilities": p},
        needs="probabilities that do not read the same backwards",
        reports=Categories.of(range(1, len(p) + 1)),
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
    )


CHRISTOFIDES = Procedure(
    name="christofides",
    build=christofides,
    summary="a random number, or its mirror image for the sensitive group",
    source="Adeshiyan 2011, section 2.5, after Christofides 2003",
    example="--probabilities 1/2,1/3,1/6",
    parameters=(Parameter("probabilities", Kind.PROBABILITIES, "chances of the numbers 1, 2, ..."),),
    reports=None,
)

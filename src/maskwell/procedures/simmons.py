"""Simmons' device: the sensitive question, or an unrelated one whose yes-rate is known."""

from __future__ import annotations

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def simmons(p: Number, beta: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer the sensitive question or, by chance, an innocuous one.

        Pr(yes | A) = p + (1 - p) beta,   Pr(yes | not A) = (1 - p) beta

    where ``p`` is the chance of the sensitive question and ``beta`` the known share of yes to the other one (born in
    June, or an answer printed on a second card). Any p above 0 can be estimated from. With beta = 0 a yes betrays
    membership of A; with beta = 1 every member of A says yes.
    Source: [Adeshiyan2011, eq. (2.3)], after Greenberg et al. (1969).

    >>> design = simmons("0.8", "0.1")
    >>> design.parity_exact()   # far less protection than Warner's 4 with the same p
    Fraction(41, 1)
    """
    p, beta = check_probability(p, "p"), check_probability(beta, "beta")
    a, b = p + (1 - p) * beta, (1 - p) * beta
    return of_two_truths(
        [a, 1 - a],
        [b, 1 - b],
        family="simmons",
        parameters={"p": p, "beta": beta},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
    )


SIMMONS = Procedure(
    name="simmons",
    build=simmons,
    summary="the sensitive question or an unrelated one with a known yes-rate",
    source="Adeshiyan 2011, eq. (2.3), after Greenberg et al. 1969",
    example="--p 0.7 --beta 1/4",
    parameters=(
        Parameter("p", Kind.PROBABILITY, "chance of the sensitive question"),
        Parameter("beta", Kind.PROBABILITY, "known share of yes to the unrelated question"),
    ),
)

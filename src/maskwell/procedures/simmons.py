"""Simmons' device: the sensitive question, or an unrelated one whose yes-rate is known or is estimated too."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import UNRELATED, one_of_several, with_unrelated, yes_or_no

OWN = "own answer"
SAMPLES = "beta is unknown: ask two samples with different p; the first answer of each pair is wanted"


def simmons(p: Number, beta: Number | None = None, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer the sensitive question or, by chance, an innocuous one.

        Pr(yes | A) = p + (1 - p) beta,   Pr(yes | not A) = (1 - p) beta

    where ``p`` is the chance of the sensitive question and ``beta`` the known share of yes to the other one (born in
    June, or an answer printed on a second card). Any p above 0 can be estimated from. With beta = 0 a yes betrays
    membership of A; with beta = 1 every member of A says yes.
    Source: [Adeshiyan2011, eq. (2.3)], after Greenberg et al. (1969).

    >>> design = simmons("0.8", "0.1")
    >>> design.parity_exact()   # far less protection than Warner's 4 with the same p
    Fraction(41, 1)

    Without ``beta`` the design is over the pairs of own and unrelated answer (x, y), each 1 for yes:

        Pr(yes | x, y) = p x + (1 - p) y

    Two samples with different p then give both margins; the two answers need not be independent. The pair is the
    truth that is protected: to someone who knows y, a report may settle x. To someone who only knows how common y is,
    it is the design with that beta.
    Source: after Greenberg et al. (1969), named in [Adeshiyan2011, Remark 2.3]; P derived from the instruction.

    >>> unknown = simmons("3/4")
    >>> [str(x) for x in unknown.exact_matrix()[0]], unknown.identifiable   # one of two samples
    (['1', '3/4', '1/4', '0'], False)
    """
    p = check_probability(p, "p")
    if beta is None:
        return _unknown(p)
    beta = check_probability(beta, "beta")
    a, b = p + (1 - p) * beta, (1 - p) * beta
    return of_two_truths(
        [a, 1 - a],
        [b, 1 - b],
        family="simmons",
        parameters={"p": p, "beta": beta},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
    )


def _unknown(p: Fraction) -> Dense:
    """Every p tells something: 0 asks only the unrelated question, which a second sample may well do."""
    return one_of_several(
        yes_or_no([Fraction(1), p, 1 - p, Fraction(0)], with_unrelated()),
        family="simmons",
        parameters={"p": p},
        needs="p from 0 to 1",
        samples=SAMPLES,
        variables=[OWN, UNRELATED],
        wanted=OWN,
    )


SIMMONS = Procedure(
    name="simmons",
    build=simmons,
    summary="the sensitive question or an unrelated one; without --beta, one of two samples",
    source="Adeshiyan 2011, eq. (2.3), after Greenberg et al. 1969",
    example="--p 0.7 --beta 1/4",
    parameters=(
        Parameter("p", Kind.PROBABILITY, "chance of the sensitive question"),
        Parameter("beta", Kind.PROBABILITY, "known share of yes to the unrelated question", required=False),
    ),
)

"""Soberanis-Cruz' device: the sensitive question, or an unrelated one whose yes-rate is known for everybody."""

from __future__ import annotations

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def soberanis_cruz(p: Number, alpha: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer the sensitive question or, by chance, an innocuous one known for the whole population.

        Pr(yes | A) = p + (1 - p) alpha,   Pr(yes | not A) = (1 - p) alpha

    where ``p`` is the chance of the sensitive question and ``alpha`` the share of yes to the other one, known for the
    population. This **is** the design of :func:`~maskwell.procedures.simmons.simmons` with beta = alpha.
    Source: after Soberanis-Cruz and others (2008); P derived, and it reproduces the published total 196.43 of 290
    answers with p = 0.7 and alpha = 0.5.

    >>> design = soberanis_cruz("0.7", "0.5")
    >>> [str(x) for x in design.exact_matrix()[0]], design.provenance["same_as"]
    (['17/20', '3/20'], 'simmons --p 7/10 --beta 1/2')
    """
    p, alpha = check_probability(p, "p"), check_probability(alpha, "alpha")
    a, b = p + (1 - p) * alpha, (1 - p) * alpha
    return of_two_truths(
        [a, 1 - a],
        [b, 1 - b],
        family="soberanis-cruz",
        parameters={"p": p, "alpha": alpha},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"simmons --p {p} --beta {alpha}",
    )


SOBERANIS_CRUZ = Procedure(
    name="soberanis-cruz",
    build=soberanis_cruz,
    summary="the sensitive question or an unrelated one known for the population",
    source="after Soberanis-Cruz and others 2008; matrix derived",
    example="--p 0.7 --alpha 0.5",
    parameters=(
        Parameter("p", Kind.PROBABILITY, "chance of the sensitive question"),
        Parameter("alpha", Kind.PROBABILITY, "known share of yes to the unrelated question"),
    ),
)

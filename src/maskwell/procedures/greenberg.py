"""Greenberg and others' device: a sensitive question with several answers, or an unrelated one with as many."""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.base import check_two
from maskwell.designs.mixture import Mixture
from maskwell.errors import ParameterError
from maskwell.procedures.device import NO_PROTECTION, check_shares, named, numbered
from maskwell.procedures.procedure import Kind, Parameter, Procedure

REVEALING = "a category with beta = 0 is only reported by those who belong to it"


def greenberg(
    categories: Categories, p: Number, beta: Sequence[Number], *, allow_unidentifiable: bool = False
) -> Mixture:
    """Answer the sensitive question or, by chance, an innocuous one with the same k answers.

        P = p I + (1 - p) beta 1'

    where ``p`` is the chance of the sensitive question and ``beta``, shape (k,), are the known shares of the answers to
    the other one. This **is** the jar of :func:`~maskwell.procedures.liu_chow.liu_chow` with q = (1 - p) beta; any p
    above 0 can be estimated from.
    Source: after Greenberg et al. (1969), named in [Adeshiyan2011, section 3.1]; P derived from the instruction.

    >>> design = greenberg(Categories.of(["never", "late", "in time"]), "0.6", ["1/2", "1/4", "1/4"])
    >>> design.parity_exact(), design.provenance["same_as"]
    (Fraction(7, 1), 'liu-chow --p 3/5 --q 1/5,1/10,1/10')
    """
    check_two(categories)
    answers = numbered(beta, "beta")
    if len(answers) != len(categories):
        raise ParameterError(
            f"{len(answers)} numbers in beta for {len(categories)} categories", hint="give one for each"
        )
    own, (shares, settled) = check_probability(p, "p"), check_shares(answers)
    fixed = [(1 - own) * share for share in shares]
    return named(
        Mixture.of(own, fixed, categories),
        family="greenberg",
        parameters={"p": own, "beta": shares},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        same_as=f"liu-chow --p {own} --q {','.join(map(str, fixed))}",
        warning=NO_PROTECTION if own == 1 else REVEALING if own and not all(fixed) else "",
    )


GREENBERG = Procedure(
    name="greenberg",
    build=greenberg,
    summary="a question with several answers, or an unrelated one with known shares",
    source="after Greenberg et al. 1969",
    example="--k 3 --p 0.6 --beta 1/2,1/4,1/4",
    parameters=(
        Parameter("p", Kind.PROBABILITY, "chance of the sensitive question"),
        Parameter("beta", Kind.PROBABILITIES, "known shares of the answers to the unrelated question"),
    ),
    truths=None,
    reports=None,
    reports_named=False,
)

"""Basic RAPPOR: one bit for each category, every bit kept or flipped with the same chance."""

from __future__ import annotations

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.unary import Unary
from maskwell.procedures.device import named, one_demand
from maskwell.procedures.procedure import Procedure, demand


def rappor(categories: Categories, *, gamma: Number | None = None, epsilon: Number | None = None) -> Unary:
    """Write the truth as bits, one of them 1, and keep each bit with probability p.

        p / (1 - p) = sqrt(gamma)

    where ``gamma``, above 1, is given or is e to the power ``epsilon``; p is rounded so that the exact parity does not
    exceed it.
    Source: after [Erlingsson2014]; p derived from the parity given in :mod:`maskwell.designs.unary`.

    >>> design = rappor(Categories.numbered(3), gamma=4)
    >>> design.keep, design.parity_exact()   # two bits differ between two truths, each worth a factor 2
    (Fraction(2, 3), Fraction(4, 1))
    """
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    make = Unary.rappor_from_gamma if name == "gamma" else Unary.rappor_from_epsilon
    return named(make(value, categories), family="rappor", parameters={name: value})


RAPPOR = Procedure(
    name="rappor",
    build=rappor,
    summary="one bit for each category, all flipped with the same chance",
    source="after Erlingsson et al. 2014",
    example="--k 10 --epsilon 1",
    parameters=(demand(),),
    truths=None,
    reports=None,
    reports_named=False,
    may_fail=False,
)

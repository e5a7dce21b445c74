"""Optimised unary encoding: the true bit is a fair coin, the others are rarely set."""

from __future__ import annotations

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.unary import Unary
from maskwell.procedures.device import named, one_demand
from maskwell.procedures.procedure import Procedure, demand


def oue(categories: Categories, *, gamma: Number | None = None, epsilon: Number | None = None) -> Unary:
    """One bit for each category: the true one is 1 with chance 1/2, each other with chance r.

        r = 1 / (gamma + 1)

    where ``gamma``, above 1, is given or is e to the power ``epsilon``; r is rounded so that the exact parity does not
    exceed it.
    Source: after [Wang2017]; r derived from the parity given in :mod:`maskwell.designs.unary`.

    >>> design = oue(Categories.numbered(3), gamma=4)
    >>> design.flip, design.parity_exact()   # a false bit is set once in five reports
    (Fraction(1, 5), Fraction(4, 1))
    """
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    make = Unary.oue_from_gamma if name == "gamma" else Unary.oue_from_epsilon
    return named(make(value, categories), family="oue", parameters={name: value})


OUE = Procedure(
    name="oue",
    build=oue,
    summary="one bit for each category: a fair coin for the truth, rare ones elsewhere",
    source="after Wang et al. 2017",
    example="--k 10 --epsilon 1",
    parameters=(demand(),),
    truths=None,
    reports=None,
    reports_named=False,
    may_fail=False,
)

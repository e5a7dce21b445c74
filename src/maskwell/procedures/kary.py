"""k-ary randomized response: the truth, or any category with equal chance."""

from __future__ import annotations

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.uniform import Uniform
from maskwell.procedures.device import named, one_demand
from maskwell.procedures.procedure import Procedure, demand


def kary(categories: Categories, *, gamma: Number | None = None, epsilon: Number | None = None) -> Uniform:
    """Every wrong report is equally likely, gamma times less than the truth.

        P[i, i] = gamma / (gamma + k - 1),   P[i, j] = 1 / (gamma + k - 1)

    where k is the number of ``categories`` and ``gamma``, above 1, is given or is e to the power ``epsilon``, then
    rounded so that the exact parity does not exceed it.
    Source: [ChaiNayak2018, Theorem 4.4].

    >>> design = kary(Categories.numbered(4), gamma=3)
    >>> design.exact_matrix()[0][0]   # four answers and parity 3: half of the reports are true
    Fraction(1, 2)
    """
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    make = Uniform.from_gamma if name == "gamma" else Uniform.from_epsilon
    return named(make(value, categories), family="k-ary", parameters={name: value})


KARY = Procedure(
    name="k-ary",
    build=kary,
    summary="the truth, or any category with equal chance",
    source="Chai and Nayak 2018, Theorem 4.4",
    example="--categories never,once,often --epsilon 1",
    parameters=(demand(),),
    truths=None,
    reports=None,
    reports_named=False,
    may_fail=False,
)

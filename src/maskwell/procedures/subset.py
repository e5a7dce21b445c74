"""Subset selection: name several categories, the true one more often among them than not."""

from __future__ import annotations

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.subset import Subset
from maskwell.procedures.device import named, one_demand
from maskwell.procedures.procedure import Kind, Parameter, Procedure, demand


def subset(categories: Categories, *, size: int, gamma: Number | None = None, epsilon: Number | None = None) -> Subset:
    """Report a set of categories; each set is gamma times likelier when it holds the truth.

        Pr(truth in the set) = q gamma / (q gamma + k - q)

    where q is ``size``, from 1 to k - 1, and ``gamma``, above 1, is given or is e to the power ``epsilon``, then
    rounded so that the exact parity does not exceed it.
    Source: [NayakZhai2019, section 3.2]; the size that adds least variance is chosen by
    ``maskwell.planning.optimal.minimax_size``.

    >>> design = subset(Categories.numbered(4), size=2, gamma=3)
    >>> design.include   # three reports in four name the truth, beside one other category
    Fraction(3, 4)
    """
    name, value = one_demand(gamma=gamma, epsilon=epsilon)
    make = Subset.from_gamma if name == "gamma" else Subset.from_epsilon
    design = make(value, categories, size=size)
    return named(design, family="subset", parameters={"size": design.size, name: value})


SUBSET = Procedure(
    name="subset",
    build=subset,
    summary="a set of categories, more likely with the true one in it",
    source="Nayak and Zhai 2019, section 3.2",
    example="--k 10 --gamma 3",
    parameters=(
        Parameter("size", Kind.COUNT, "how many categories a report names; the minimax size if left out", planned=True),
        demand(),
    ),
    truths=None,
    reports=None,
    reports_named=False,
    may_fail=False,
)

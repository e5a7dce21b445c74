"""Local l-diversity: name your category and some random others."""

from __future__ import annotations

from maskwell.core.categories import Categories
from maskwell.designs.ldiverse import LocalDiversity
from maskwell.procedures.device import named
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def ldiverse(categories: Categories, l: int) -> LocalDiversity:  # noqa: E741 (the literature's name)
    """Report a set of l categories that holds the truth and l - 1 others, drawn with equal chance.

        Pr(S | j) = 1 / C(k - 1, l - 1) for every set S of l categories that holds j

    where ``l`` goes from 2 to k - 1 for k ``categories``. Parity is infinite: a report rules the other categories out.
    Source: [NayakZhai2019, section 4].

    >>> design = ldiverse(Categories.numbered(5), 2)
    >>> design.guess_probability()   # two categories named, either may be true
    0.5
    """
    design = LocalDiversity.of(l, categories)
    return named(design, family="l-diverse", parameters={"l": design.size})


LDIVERSE = Procedure(
    name="l-diverse",
    build=ldiverse,
    summary="the true category and l - 1 random others",
    source="Nayak and Zhai 2019, section 4",
    example="--k 10 --l 3",
    parameters=(Parameter("l", Kind.COUNT, "how many categories a report names"),),
    truths=None,
    reports=None,
    reports_named=False,
    may_fail=False,
)

"""Liu and Chow's jar: a red ball asks for the truth, a white one says what to report."""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.base import check_two
from maskwell.designs.mixture import Mixture
from maskwell.errors import ParameterError
from maskwell.procedures.device import NO_PROTECTION, check_shares, named, numbered
from maskwell.procedures.procedure import Kind, Parameter, Procedure

REVEALING = "a category with q = 0 is only reported by those who belong to it"


def liu_chow(categories: Categories, p: Number, q: Sequence[Number], *, allow_unidentifiable: bool = False) -> Mixture:
    """Report your category if the ball is red, otherwise the category written on it.

        P = p I + q 1',   p + sum(q) = 1

    where ``p`` is the share of red balls and ``q``, shape (k,), those of the white balls of each category. Any p above
    0 can be estimated from. The unrelated question of Greenberg et al. (1969) with k answers of known shares beta is
    the case q = (1 - p) beta.
    Source: [Adeshiyan2011, Example 3.1], after Liu and Chow (1976).

    >>> design = liu_chow(Categories.of(["never", "late", "in time"]), "0.6", ["0.2", "0.1", "0.1"])
    >>> design.parity_exact()   # "late" is seven times likelier from those who were late
    Fraction(7, 1)
    """
    check_two(categories)
    white = numbered(q, "q")
    if len(white) != len(categories):
        raise ParameterError(
            f"{len(white)} numbers in q for {len(categories)} categories", hint="give one for each", q=q
        )
    (red, *fixed), settled = check_shares({"p": p, **white})
    warning = NO_PROTECTION if red == 1 else REVEALING if red and not all(fixed) else ""
    return named(
        Mixture.of(red, fixed, categories),
        family="liu-chow",
        parameters={"p": red, "q": fixed},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        warning=warning,
    )


LIU_CHOW = Procedure(
    name="liu-chow",
    build=liu_chow,
    summary="a ball asks for the truth or says what to report",
    source="Adeshiyan 2011, Example 3.1, after Liu and Chow 1976",
    example="--categories never,once,often --p 1/2 --q 1/6,1/6,1/6",
    parameters=(
        Parameter("p", Kind.PROBABILITY, "share of balls that ask for the truth"),
        Parameter("q", Kind.PROBABILITIES, "shares of balls that name each category"),
    ),
    truths=None,
    reports=None,
    reports_named=False,
)

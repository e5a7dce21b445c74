"""Greenberg and others' deck: a statement for each category and an unrelated question, in several samples."""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.base import check_two
from maskwell.designs.dense import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.device import check_shares, numbered
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import UNRELATED, one_of_several, with_unrelated, yes_or_no

CATEGORY = "category"


def greenberg_statements(
    categories: Categories,
    statements: Sequence[Number],
    unrelated: Number,
    beta: Number | None = None,
    *,
    allow_unidentifiable: bool = False,
) -> Dense:
    """Draw a card that names a category, or asks an innocuous question; say yes or no.

        Pr(yes | j) = p_j + p_0 beta,   p_0 + sum_j p_j = 1

    where ``statements`` are p_1..p_k, the shares of the cards "I belong to category j", ``unrelated`` is p_0, that of
    the innocuous question, and ``beta`` the known share of yes to it. With k categories, k - 1 samples or more with
    different decks give all shares.
    Source: after Greenberg et al. (1969), named in [Adeshiyan2011, section 3.1]; P derived from the instruction.

    >>> three = Categories.of(["never", "late", "in time"])
    >>> [str(x) for x in greenberg_statements(three, ["0.5", "0.2", "0.1"], "0.2", "1/2").exact_matrix()[0]]
    ['3/5', '3/10', '1/5']

    Without ``beta`` the design is over pairs of the category and the unrelated answer y, 1 for yes, and one sample more
    is needed:

        Pr(yes | j, y) = p_j + p_0 y

    >>> greenberg_statements(three, ["0.5", "0.2", "0.1"], "0.2").k   # three categories, each with yes and with no
    6
    """
    check_two(categories)
    k, cards = len(categories), numbered(statements, "statements")
    if len(cards) != k:
        raise ParameterError(f"{len(cards)} statements for {k} categories", hint="give the share of one for each")
    (p0, *p), settled = check_shares({"unrelated": unrelated, **cards})
    given: dict[str, object] = {"statements": p, "unrelated": p0}
    if beta is None:
        design = yes_or_no([own + p0 * y for own in p for y in (1, 0)], with_unrelated(categories))
        notes: dict[str, object] = {"variables": [CATEGORY, UNRELATED], "wanted": CATEGORY}
    else:
        known = check_probability(beta, "beta")
        given["beta"] = known
        design, notes = yes_or_no([own + p0 * known for own in p], categories), {}
    return one_of_several(
        design,
        family="greenberg-statements",
        parameters=given,
        needs="statements that are not all equal",
        samples=_samples(k, unknown=beta is None),
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        **notes,
    )


def _samples(k: int, *, unknown: bool) -> str:
    """What must come together.

    >>> _samples(3, unknown=True)
    'one of 3 samples or more: 3 shares and an unknown beta need 3 different decks'
    """
    need = k if unknown else k - 1
    what = f"{k} shares and an unknown beta" if unknown else f"{k} shares"
    return f"one of {need} samples or more: {what} need {need} different decks"


GREENBERG_STATEMENTS = Procedure(
    name="greenberg-statements",
    build=greenberg_statements,
    summary="cards that name a category or ask something unrelated; one of several samples",
    source="after Greenberg et al. 1969",
    example="--k 3 --statements .5,.2,.1 --unrelated .2",
    parameters=(
        Parameter("statements", Kind.PROBABILITIES, "shares of the cards that name each category"),
        Parameter("unrelated", Kind.PROBABILITY, "share of the cards with the unrelated question"),
        Parameter("beta", Kind.PROBABILITY, "known share of yes to the unrelated question", required=False),
    ),
    truths=None,
)

"""Bourke and Dalenius' deck: every card lists all categories in its own order; report the place of yours."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.designs.base import check_two
from maskwell.designs.dense import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.device import NO_PROTECTION, check_list, check_shares, named, numbered
from maskwell.procedures.procedure import Kind, Parameter, Procedure
from maskwell.procedures.samples import one_source


def bourke_dalenius(categories: Categories, weights: Sequence[Number], *, allow_unidentifiable: bool = False) -> Dense:
    """Draw a card and report the place, 1 to k, of your category on it.

        P[i, j] = w[(i - j) mod k]

    where ``weights`` are w[0]..w[k-1]; card r, of share w[r], lists the categories in their order, moved on by r places
    (a cyclic Latin square). The singular values of P are the absolute discrete Fourier coefficients of w, and none of
    them may vanish: equal weights fail, and so does (0.4, 0.2, 0.1, 0.3).
    Source: after Bourke and Dalenius (1976), named in [Adeshiyan2011, section 3.1]; cyclic form derived.

    >>> design = bourke_dalenius(Categories.of(["never", "late", "in time"]), ["0.7", "0.2", "0.1"])
    >>> design.parity_exact()   # place 1 is seven times likelier from the first category than from the second
    Fraction(7, 1)
    """
    check_two(categories)
    k, shares = len(categories), numbered(weights, "weights")
    if len(shares) != k:
        raise ParameterError(f"{len(shares)} weights for {k} categories", hint="give one for each", weights=weights)
    w, settled = check_shares(shares)
    return named(
        Dense.of([[w[(i - j) % k] for j in range(k)] for i in range(k)], categories, Categories.of(range(1, k + 1))),
        family="bourke-dalenius",
        parameters={"weights": w},
        needs="weights without a vanishing Fourier coefficient, such as one weight above 1/2",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        warning=NO_PROTECTION if max(w) == 1 else "",
    )


def permutation_deck(
    categories: Categories,
    weights: Sequence[Number],
    orders: Sequence[Sequence[Hashable]],
    *,
    allow_unidentifiable: bool = False,
) -> Dense:
    """The same with any orders: draw a card and report the place, 1 to k, of your category on it.

        P = sum_r w_r Pi_r,   Pi_r[i, j] = 1 where card r lists category j at place i

    where ``weights`` are the shares w_r of the cards and ``orders`` the k ``categories`` as each card lists them.
    Source: after Bourke and Dalenius (1976), named in [Adeshiyan2011, section 3.1]; P derived from the instruction.

    >>> answers = Categories.of(["never", "late", "in time"])
    >>> deck = permutation_deck(answers, ["3/4", "1/4"], [["never", "late", "in time"], ["in time", "late", "never"]])
    >>> [str(x) for x in deck.exact_matrix()[1]]   # both cards list it second: whoever was late is found out
    ['0', '1', '0']
    """
    check_kind(Flag, allow_unidentifiable=allow_unidentifiable)
    check_two(categories)
    cards = [_places(categories, order) for order in check_list(orders, "orders")]
    shares = numbered(weights, "weights")
    if len(shares) != len(cards):
        raise ParameterError(f"{len(shares)} weights for {len(cards)} cards", hint="give one for each", weights=weights)
    w, settled = check_shares(shares)
    k = len(categories)
    P = [
        [sum((share for share, card in zip(w, cards, strict=True) if card[i] == j), Fraction(0)) for j in range(k)]
        for i in range(k)
    ]
    design = Dense.of(P, categories, Categories.of(range(1, k + 1)))
    return named(
        design,
        family="permutation-deck",
        parameters={"weights": w, "orders": [" ".join(str(place) for place in card) for card in cards]},
        needs="cards whose orders and weights tell the categories apart, such as one card above 1/2",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        warning=one_source(design),
    )


def _places(categories: Categories, order: Sequence[Hashable]) -> list[int]:
    """The codes of the categories in the order of a card.

    >>> _places(Categories.of(["a", "b"]), ["b", "a"])
    [1, 0]
    """
    codes = [categories.code(label) for label in check_list(order, "order")]
    if sorted(codes) != list(range(len(categories))):
        raise ParameterError(
            f"a card lists {len(set(codes))} of {len(categories)} categories", hint="list every category once on a card"
        )
    return codes


BOURKE_DALENIUS = Procedure(
    name="bourke-dalenius",
    build=bourke_dalenius,
    summary="cards list the categories in different orders; report the place of yours",
    source="after Bourke and Dalenius 1976",
    example="--categories a,b,c --weights 0.7,0.2,0.1",
    parameters=(Parameter("weights", Kind.PROBABILITIES, "shares of the k cards, by how far they move the list on"),),
    truths=None,
    reports=None,
)

"""Yes-or-no questions with more than two reports: a number is drawn, and reported by the group one belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.errors import ParameterError
from maskwell.procedures.design_builders import check_count, check_shares, numbered, of_two_truths
from maskwell.procedures.procedure import Share

MOST_DRAWS = 1000


def kuk(theta1: Number, theta2: Number, draws: int, *, allow_unidentifiable: bool = False) -> Dense:
    """Draw cards with replacement from your own deck and report the number of red ones.

        Pr(z | A) = C(r, z) theta1^z (1 - theta1)^(r - z),   Pr(z | not A) the same with theta2,   z = 0..r

    where ``theta1`` and ``theta2`` are the red shares of the decks of members and others, and ``draws`` is r. Parity is
    its value for one draw to the power r. Source: [Adeshiyan2011, section 2.5], after Kuk (1990).
    """
    theta1, theta2 = check_probability(theta1, "theta1"), check_probability(theta2, "theta2")
    r = check_count(draws, "draws", low=1, high=MOST_DRAWS)
    return of_two_truths(
        _binomial(r, theta1),
        _binomial(r, theta2),
        "kuk",
        {"theta1": theta1, "theta2": theta2, "draws": r},
        needs="theta1 different from theta2",
        reports=Categories.numbered(r + 1),
        allow_unidentifiable=allow_unidentifiable,
    )


def _binomial(r: int, theta: Fraction) -> list[Fraction]:
    return [comb(r, z) * theta**z * (1 - theta) ** (r - z) for z in range(r + 1)]


MOST_BALLS = 10**6


def chow(
    red: int, blue: int, draws: int, *, allow_revealing: bool = False, allow_unidentifiable: bool = False
) -> Dense:
    """Draw balls without replacement; members of A report how many are red, others how many are blue.

        Pr(z | A) = C(L, z) C(M, r - z) / C(L + M, r),   Pr(z | not A) = Pr(r - z | A),   z = 0..r

    where ``red`` is L, ``blue`` is M and ``draws`` is r. With more draws than the rarer colour has balls some reports
    betray one group, which is refused unless ``allow_revealing``.
    Source: [Adeshiyan2011, section 2.5], after Leysieffer and Warner (1976).
    """
    L, M = check_count(red, "red", low=1, high=MOST_BALLS), check_count(blue, "blue", low=1, high=MOST_BALLS)
    r = check_count(draws, "draws", low=1, high=min(L + M, MOST_DRAWS))
    if r > min(L, M) and not allow_revealing:
        raise ParameterError(
            "draws-from-red-and-blue-balls", r=r, l=L, m=M, l_shown=min(L, M), red=red, blue=blue, draws=draws
        )
    members = [Fraction(comb(L, z) * comb(M, r - z), comb(L + M, r)) for z in range(r + 1)]
    return of_two_truths(
        members,
        members[::-1],
        "chow",
        {"red": L, "blue": M, "draws": r},
        needs="red different from blue",
        reports=Categories.numbered(r + 1),
        allow_unidentifiable=allow_unidentifiable,
    )


def christofides(probabilities: Sequence[Number], *, allow_unidentifiable: bool = False) -> Dense:
    """A spinner shows J from 1 to m; members of A report m + 1 - J, others J.

        Pr(i | A) = p[m + 1 - i],   Pr(i | not A) = p[i]

    where ``probabilities`` are p[1]..p[m], which must not read the same backwards.
    Source: [Adeshiyan2011, section 2.5], after Christofides (2003).
    """
    places = numbered(probabilities, "probabilities")
    if len(places) < 2:
        raise ParameterError("probabilities-the-device-needs-two-numbers", places_count=len(places))
    p, settled = check_shares(places)
    return of_two_truths(
        p[::-1],
        p,
        "christofides",
        {"probabilities": p},
        needs="probabilities that do not read the same backwards",
        reports=Categories.of(range(1, len(p) + 1)),
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
    )


def christofides_cards(parameters: Mapping[str, Any], _: int) -> list[Share]:
    """A card for each number, with what either group reports of it."""
    p = parameters["probabilities"]
    return [(share, (len(p) - 1 - number, number), "table") for number, share in enumerate(p)]

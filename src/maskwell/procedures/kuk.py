"""Kuk's device: draw cards from one of two decks and tell how many are red."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import check_count, of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure

MOST_DRAWS = 1000


def kuk(theta1: Number, theta2: Number, draws: int, *, allow_unidentifiable: bool = False) -> Dense:
    """Draw cards with replacement from your own deck and report the number of red ones.

        Pr(z | A) = C(r, z) theta1^z (1 - theta1)^(r - z),   Pr(z | not A) the same with theta2,   z = 0..r

    where ``theta1`` and ``theta2`` are the red shares of the deck for members of A and of the deck for others, and
    ``draws`` is r. The two must differ. Protection fades fast with r: parity is its value for one draw to the power r.
    Source: [Adeshiyan2011, section 2.5], after Kuk (1990).

    >>> [float(kuk("0.7", "0.2", draws).parity_exact()) for draws in (1, 3)]   # three cards tell far more than one
    [3.5, 42.875]
    """
    theta1, theta2 = check_probability(theta1, "theta1"), check_probability(theta2, "theta2")
    r = check_count(draws, "draws", low=1, high=MOST_DRAWS)
    return of_two_truths(
        _binomial(r, theta1),
        _binomial(r, theta2),
        family="kuk",
        parameters={"theta1": theta1, "theta2": theta2, "draws": r},
        needs="theta1 different from theta2",
        reports=Categories.numbered(r + 1),
        allow_unidentifiable=allow_unidentifiable,
    )


def _binomial(r: int, theta: Fraction) -> list[Fraction]:
    return [comb(r, z) * theta**z * (1 - theta) ** (r - z) for z in range(r + 1)]


KUK = Procedure(
    name="kuk",
    build=kuk,
    summary="the number of red cards drawn from one of two decks",
    source="Adeshiyan 2011, section 2.5, after Kuk 1990",
    example="--theta1 0.8 --theta2 0.2 --draws 3",
    parameters=(
        Parameter("theta1", Kind.PROBABILITY, "red share of the deck for the sensitive group"),
        Parameter("theta2", Kind.PROBABILITY, "red share of the deck for the others"),
        Parameter("draws", Kind.COUNT, "cards drawn, with replacement"),
    ),
    reports=None,
)

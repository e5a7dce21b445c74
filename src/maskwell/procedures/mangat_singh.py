"""Mangat and Singh's device: the direct question, or Warner's cards."""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.device import of_two_truths
from maskwell.procedures.procedure import Kind, Parameter, Procedure


def equivalent_warner(t: Number, p: Number) -> Fraction:
    """The share of cards with which Warner's device is the same design.

        p' = t + (1 - t) p

    where ``t`` and ``p`` are as in :func:`mangat_singh`. Source: derived; both columns of P agree.

    >>> equivalent_warner("0.3", "0.7")   # the two stages buy nothing that 79 cards in 100 do not
    Fraction(79, 100)
    """
    t, p = check_probability(t, "t"), check_probability(p, "p")
    return t + (1 - t) * p


def mangat_singh(t: Number, p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """With chance t answer directly, otherwise use Warner's cards.

        Pr(yes | A) = t + (1 - t) p,   Pr(yes | not A) = (1 - t) (1 - p)

    where ``t`` is the chance of the direct question and ``p`` the share of cards with the sensitive statement. The two
    probabilities sum to one, so this **is** Warner's device with another share of cards (:func:`equivalent_warner`).
    Source: [Adeshiyan2011, chapter 1], after Mangat and Singh (1990).

    >>> mangat_singh("0.3", "0.7").provenance["same_as"]
    'warner --p 79/100'
    """
    t, p = check_probability(t, "t"), check_probability(p, "p")
    a = equivalent_warner(t, p)
    return of_two_truths(
        [a, 1 - a],
        [1 - a, a],
        family="mangat-singh",
        parameters={"t": t, "p": p},
        needs="t and p with t + (1 - t) p away from 1/2",
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"warner --p {a}",
    )


MANGAT_SINGH = Procedure(
    name="mangat-singh",
    build=mangat_singh,
    summary="the direct question or Warner's cards, in two stages",
    source="Adeshiyan 2011, chapter 1, after Mangat and Singh 1990",
    example="--t 0.4 --p 0.7",
    parameters=(
        Parameter("t", Kind.PROBABILITY, "chance of the direct question"),
        Parameter("p", Kind.PROBABILITY, "share of cards with the sensitive statement"),
    ),
)

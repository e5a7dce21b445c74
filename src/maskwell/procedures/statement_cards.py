"""Warner's cards, which say the sensitive statement or its opposite, and the devices built on them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures.design_builders import of_two_reports
from maskwell.procedures.procedure import Share


def warner(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Draw a card unseen and say whether its statement is true of you.

        Pr(yes | A) = p,   Pr(yes | not A) = 1 - p

    where ``p`` is the share of cards that say "I belong to A"; the others say "I do not belong to A". p and 1 - p are
    the same device with the answers swapped; 0 and 1 are direct questions. Source: [Adeshiyan2011, eq. (2.1)], after
    [Warner1965].
    """
    p = check_probability(p, "p")
    return of_two_reports(
        p, 1 - p, "warner", {"p": p}, needs="p away from 1/2", allow_unidentifiable=allow_unidentifiable
    )


def warner_cards(parameters: Mapping[str, Any], _: int) -> list[Share]:
    """The statement, and its opposite."""
    return [(parameters["p"], (0, 1), "statement 0"), (1 - parameters["p"], (1, 0), "statement 1")]


def kim_warde(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """The design of one stratum: Warner's cards with the share ``p`` of that stratum.

    The strata are a matter of sampling, each estimated by its own design and added up by its known share.
    Source: [Adeshiyan2011, Remark 2.5], after Kim and Warde (2004).
    """
    design = warner(p, allow_unidentifiable=allow_unidentifiable)
    share = design.exact_matrix()[0][0]
    return design.with_provenance(family="kim-warde", same_as=f"warner --p {share}")


def equivalent_warner(t: Number, p: Number) -> Fraction:
    """The share of cards with which Warner's device is the design of :func:`mangat_singh`: t + (1 - t) p.

    Source: derived; both columns of P agree.
    """
    t, p = check_probability(t, "t"), check_probability(p, "p")
    return t + (1 - t) * p


def mangat_singh(t: Number, p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """With chance t answer directly, otherwise use Warner's cards, with the sensitive statement on a share p of them.

        Pr(yes | A) = t + (1 - t) p,   Pr(yes | not A) = (1 - t) (1 - p)

    They sum to one, so this **is** Warner's device with another share of cards (:func:`equivalent_warner`).
    Source: [Adeshiyan2011, chapter 1], after Mangat and Singh (1990).
    """
    t, p = check_probability(t, "t"), check_probability(p, "p")
    a = equivalent_warner(t, p)
    return of_two_reports(
        a,
        1 - a,
        "mangat-singh",
        {"t": t, "p": p},
        needs="t and p with t + (1 - t) p away from 1/2",
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"warner --p {a}",
    )


def mangat_singh_cards(parameters: Mapping[str, Any], _: int) -> list[Share]:
    """Cards that ask for the truth, and Warner's."""
    t, p = parameters["t"], parameters["p"]
    second = [((1 - t) * p, (0, 1), "statement 0"), ((1 - t) * (1 - p), (1, 0), "statement 1")]
    return [(t, (0, 1), "truth"), *second]


def mangat(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Say yes if you belong to A, whatever the card; otherwise say whether the card is true of you.

        Pr(yes | A) = 1,   Pr(yes | not A) = 1 - p

    where ``p`` is the share of cards that say "I belong to A". A no comes only from outside A, so parity is infinite,
    though no report betrays a member. Source: after Mangat (1994), named in [Adeshiyan2011, section 2.3]; P derived.
    """
    p = check_probability(p, "p")
    return of_two_reports(
        Fraction(1), 1 - p, "mangat", {"p": p}, needs="p above 0", allow_unidentifiable=allow_unidentifiable
    )


def mangat_cards(parameters: Mapping[str, Any], _: int) -> list[Share]:
    """The statement, and its opposite, which members are to answer with yes, too."""
    return [(parameters["p"], (0, 1), "statement 0"), (1 - parameters["p"], (0, 0), "statement 1")]


def singh_joarder(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Use Warner's cards; a member of A whose card asks for a no draws once more and answers the second card.

        Pr(yes | A) = p + (1 - p) p,   Pr(yes | not A) = 1 - p

    where ``p`` is the share of cards that say "I belong to A". Source: after Singh and Joarder (1997); P derived, and
    it reproduces the published mean 0.334225 of 170 answers with p = 0.6.
    """
    p = check_probability(p, "p")
    return of_two_reports(
        p + (1 - p) * p,
        1 - p,
        "singh-joarder",
        {"p": p},
        needs="p away from (3 - sqrt(5)) / 2, which is near 0.381966",
        allow_unidentifiable=allow_unidentifiable,
    )

"""Chance decides what some respondents say; some follow the rules, some do not."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.designs.design import check_two
from maskwell.designs.mixture import Mixture
from maskwell.procedures import design_builders as builders


def forced(truth: Number, yes: Number, no: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer truthfully, or say what the dice say.

        Pr(yes | A) = truth + yes,   Pr(yes | not A) = yes,   truth + yes + no = 1

    where the three are the chances of the instructions. With yes = 0 a yes betrays membership of A.
    Source: after Boruch (1971) and Fox and Tracy (1986); P derived from the instruction.
    """
    (t, y, n), settled = builders.check_shares({"truth": truth, "yes": yes, "no": no})
    return builders.of_two_reports(
        t + y,
        y,
        "forced",
        {"truth": t, "yes": y, "no": n},
        needs="truth above 0",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
    )


REVEALING_BALL = "a category with q = 0 is only reported by those who belong to it"


def liu_chow(categories: Categories, p: Number, q: Sequence[Number], *, allow_unidentifiable: bool = False) -> Mixture:
    """Report your category if the ball is red, otherwise the category written on it.

        P = p I + q 1',   p + sum(q) = 1

    where ``p`` is the share of red balls and ``q``, shape (k,), those of the white balls of each category.
    Source: [Adeshiyan2011, Example 3.1], after Liu and Chow (1976).
    """
    check_two(categories)
    white = builders.one_for_each(q, "q", len(categories), said="numbers in q")
    (red, *fixed), settled = builders.check_shares({"p": p, **white})
    warning = builders.NO_PROTECTION if red == 1 else REVEALING_BALL if red and not all(fixed) else ""
    return builders.named(
        Mixture.of(red, fixed, categories),
        "liu-chow",
        {"p": red, "q": fixed},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        warning=warning,
    )


SAMPLES = "ask two samples with different p: together they give the shares of the three kinds of people"


def cheating(p: Number) -> Dense:
    """By chance say yes whatever is true, otherwise answer; some say no against the rules.

        Pr(yes) = 1, p, 0   for honest yes, honest no, always no

    where ``p`` is the chance of a forced yes. The share of people in A lies between that of the honest yes and that sum
    with those who always say no. Source: after Clark and Desharnais (1998); P derived from the instruction.
    """
    chance = check_probability(p, "p")
    chances, kinds = [Fraction(1), chance, Fraction(0)], Categories.of(("honest yes", "honest no", "always no"))
    return builders.one_of_two(chances, kinds, "cheating-detection", chance, samples=SAMPLES)


def lie_detector(p: Number) -> Dense:
    """Carriers say yes, or lie and say no; non-carriers say whether the statement on their card is true of them.

        Pr(yes) = 1, 0, 1 - p   for honest carrier, lying carrier, non-carrier
        pi = share(honest) + share(lying),   t = share(honest) / pi

    where ``p`` is the share of cards that say "I am a carrier", pi that of carriers, and t the probability of an honest
    answer. Source: after Moshagen, Musch and Erdfelder (2012); P derived, and it reproduces the published pi =
    0.8707 with standard error 0.0411 and t = 0.6358 of 1256 answers with p = 2/12 and 10/12.
    """
    share = check_probability(p, "p")
    chances, kinds = (
        [Fraction(1), Fraction(0), 1 - share],
        Categories.of(("honest carrier", "lying carrier", "non-carrier")),
    )
    return builders.one_of_two(chances, kinds, "lie-detector", share, samples=SAMPLES)

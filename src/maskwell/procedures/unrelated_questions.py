"""Yes-or-no questions that hide behind an unrelated one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.procedures import design_builders as builders
from maskwell.procedures.joint_answers import repeated

SENSITIVE = "own answer"
SIMMONS_SAMPLES = "beta is unknown: ask two samples with different p; the first answer of each pair is wanted"


def simmons(p: Number, beta: Number | None = None, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer the sensitive question or, by chance, an innocuous one.

        Pr(yes | A) = p + (1 - p) beta,   Pr(yes | not A) = (1 - p) beta

    where ``p`` is the chance of the sensitive question and ``beta`` the known share of yes to the other one. With beta
    = 0 a yes betrays membership of A; with beta = 1 every member of A says yes.
    Source: [Adeshiyan2011, eq. (2.3)], after Greenberg et al. (1969).

    Without ``beta`` the design is over the pairs of own and unrelated answer (x, y), each 1 for yes:

        Pr(yes | x, y) = p x + (1 - p) y

    Two samples with different p then give both margins. The pair is the truth that is protected: to someone who knows
    y, a report may settle x. Source: named in [Adeshiyan2011, Remark 2.3]; P derived from the instruction.
    """
    p = check_probability(p, "p")
    if beta is None:  # p = 0 asks only the unrelated question, which a second sample may well do
        chances = [Fraction(1), p, 1 - p, Fraction(0)]
        return builders.one_of_two(
            chances, builders.with_unrelated(), "simmons", p, samples=SIMMONS_SAMPLES, **builders.of_pairs(SENSITIVE)
        )
    return _with_known_share("simmons", p, beta, allow_unidentifiable=allow_unidentifiable)


def soberanis_cruz(p: Number, beta: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """The same with an innocuous question whose share of yes, ``beta``, is known for the whole population.

    This **is** the design of :func:`~maskwell.procedures.unrelated_questions.simmons` with the same ``p`` and beta.
    Source: after Soberanis-Cruz and others (2008); P derived, and it reproduces the published total 196.43 of 290
    answers with p = 0.7 and beta = 0.5.
    """
    p, beta = check_probability(p, "p"), check_probability(beta, "beta")
    return _with_known_share(
        "soberanis-cruz",
        p,
        beta,
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"simmons --p {p} --beta {beta}",
    )


def _with_known_share(family: str, p: Fraction, beta: Number, **notes: Any) -> Dense:
    """The sensitive question, or one whose share of yes is known."""
    known = check_probability(beta, "beta")
    chances, given = (p + (1 - p) * known, (1 - p) * known), {"p": p, "beta": known}
    return builders.of_two_reports(*chances, family, given, needs="p above 0", **notes)


def devore(p: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Answer the sensitive question or, by chance, one that is true of everybody.

        Pr(yes | A) = 1,   Pr(yes | not A) = 1 - p

    where ``p`` is the chance of the sensitive question: :func:`~maskwell.procedures.unrelated_questions.simmons` with
    beta = 1. A no comes only from outside A.
    Source: after Devore (1977); P derived, and it reproduces the published mean 0.868982 of 240 answers with p = 0.7.
    """
    p = check_probability(p, "p")
    return builders.of_two_reports(
        Fraction(1),
        1 - p,
        "devore",
        {"p": p},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"simmons --p {p} --beta 1",
    )


MEMBERS_KINDS = Categories.of([("yes", "any"), ("no", "yes"), ("no", "no")])  # members answer no unrelated question
MEMBERS_SAMPLES = "alpha is unknown: ask two samples, or twice, with different p; the first answer is wanted"


def mangat_singh_singh(p: Number, alpha: Number | None = None, *, allow_unidentifiable: bool = False) -> Dense:
    """Say yes if you belong to A; otherwise draw a card that asks about A or about an innocuous trait.

        Pr(yes | A) = 1,   Pr(yes | not A) = (1 - p) alpha

    where ``p`` is the chance of the sensitive question and ``alpha`` the known share of the trait. A no comes only from
    outside A; with alpha = 0 a yes betrays membership. Without ``alpha`` there are three kinds of people, (own,
    unrelated):

        Pr(yes) = 1, 1 - p, 0   for (yes, any), (no, yes), (no, no)

    A second sample with another p, or a second answer of the same people, gives their shares.
    Source: after Mangat, Singh and Singh (1992); P derived, and it reproduces the published total 1206.5 of 802 answers
    with p = 0.6 and alpha = 0.5.
    """
    p = check_probability(p, "p")
    if alpha is None:
        chances = [Fraction(1), 1 - p, Fraction(0)]
        return builders.one_of_two(
            chances, MEMBERS_KINDS, "mangat-singh-singh", p, samples=MEMBERS_SAMPLES, **builders.of_pairs(SENSITIVE)
        )
    alpha = check_probability(alpha, "alpha")
    return builders.of_two_reports(
        Fraction(1),
        (1 - p) * alpha,
        "mangat-singh-singh",
        {"p": p, "alpha": alpha},
        needs="p above 0, or alpha below 1",
        allow_unidentifiable=allow_unidentifiable,
    )


def simmons_twice(p1: Number, p2: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Draw from two boxes; each time answer the sensitive question or the unrelated one.

        P[(i, j), (x, y)] = Pr(i | x, y; p1) Pr(j | x, y; p2),   Pr(yes | x, y; p) = p x + (1 - p) y

    where ``p1`` and ``p2`` differ and (x, y) is the pair of own and unrelated answer, 1 for yes. P has an inverse, so
    the only unbiased score of the own answer, whatever goes with it, is, with I and J 1 for yes,

        U = ((1 - p2) I - (1 - p1) J) / (p1 - p2)

    Source: after Horvitz et al. (1967) and Greenberg et al. (1969); P derived, and it reproduces the published mean
    0.121317 of 188 pairs of answers with p1 = 0.6 and p2 = 0.7.
    """
    return _twice(simmons, p1, p2, needs="p1 different from p2", allow_unidentifiable=allow_unidentifiable)


def _twice(
    device: Callable[[Number], Dense], p1: Number, p2: Number, *, needs: str, allow_unidentifiable: bool
) -> Dense:
    """The same device used twice by the same person, with two chances of the sensitive question."""
    p1, p2 = check_probability(p1, "p1"), check_probability(p2, "p2")
    once = device(p1)
    made = repeated([once, device(p2)])
    return builders.named(
        made,
        f"{once.provenance['family']}-twice",
        {"p1": p1, "p2": p2},
        needs=needs,
        allow_unidentifiable=allow_unidentifiable,
        **builders.of_pairs(SENSITIVE),
        warning=builders.one_source(made),
    )


def mangat_singh_singh_twice(p1: Number, p2: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Members say yes twice; the others draw from two boxes, each time about A or about an innocuous trait.

        P[(i, j), x] = Pr(i | x; p1) Pr(j | x; p2),   Pr(yes | x; p) = 1, 1 - p, 0

    for the kinds x of people (yes, any), (no, yes), (no, no). Four reports for three kinds leave a choice of unbiased
    scores. The published one is, with I and J 1 for yes,

        U = ((1 - p2) I - (1 - p1) J) / (p1 - p2)

    "Yes, no" and "no, yes" are equally informative; merging them leaves one score, of smaller variance, without p1
    different from p2. Source: after Mangat, Singh and Singh (1992); P derived, and U reproduces the published mean
    0.656 of 500 pairs of answers with p1 = 0.6 and p2 = 0.8.
    """
    return _twice(
        mangat_singh_singh,
        p1,
        p2,
        needs="p1 and p2 that are not both 0 nor both 1",
        allow_unidentifiable=allow_unidentifiable,
    )

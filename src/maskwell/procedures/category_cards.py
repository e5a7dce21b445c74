"""Questions with several answers, asked by cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.designs.design import check_two
from maskwell.designs.mixture import Mixture
from maskwell.procedures import design_builders as builders
from maskwell.procedures.procedure import Share

REVEALING = "a category with beta = 0 is only reported by those who belong to it"


def greenberg(
    categories: Categories, p: Number, beta: Sequence[Number], *, allow_unidentifiable: bool = False
) -> Mixture:
    """Answer the sensitive question or, by chance, an innocuous one with the same k answers.

        P = p I + (1 - p) beta 1'

    where ``p`` is the chance of the sensitive question and ``beta``, shape (k,), the known shares of the answers to the
    other one: the jar of :func:`~maskwell.procedures.forced_answers.liu_chow` with q = (1 - p) beta.
    Source: after Greenberg et al. (1969), named in [Adeshiyan2011, section 3.1]; P derived from the instruction.
    """
    check_two(categories)
    answers = builders.one_for_each(beta, "beta", len(categories), said="numbers in beta")
    truthful, (shares, settled) = check_probability(p, "p"), builders.check_shares(answers)
    fixed = [(1 - truthful) * share for share in shares]
    return builders.named(
        Mixture.of(truthful, fixed, categories),
        "greenberg",
        {"p": truthful, "beta": shares},
        needs="p above 0",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        same_as=f"liu-chow --p {truthful} --q {','.join(map(str, fixed))}",
        warning=builders.NO_PROTECTION if truthful == 1 else REVEALING if truthful and not all(fixed) else "",
    )


def abul_ela(categories: Categories, probabilities: Sequence[Number], *, allow_unidentifiable: bool = False) -> Dense:
    """Draw a card that names one category, and say whether you belong to it.

        Pr(yes | j) = p_j,   sum_j p_j = 1

    where ``probabilities`` are p_1..p_k, the shares of the cards in the deck of this sample. k - 1 samples or more with
    different decks give all shares; for k = 2 one will do, and it is Warner's. Source: after Abul-Ela, Greenberg and
    Horvitz (1967), named in [Adeshiyan2011, section 3.1]; P derived from the instruction.
    """
    check_two(categories)
    k = len(categories)
    p, settled = builders.check_shares(builders.one_for_each(probabilities, "probabilities", k))
    return builders.one_of_several(
        builders.yes_or_no(p, categories),
        "abul-ela",
        {"probabilities": p},
        needs="probabilities that are not all equal",
        samples=f"one of {k - 1} samples or more: {k} shares need {k - 1} different decks",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
    )


def abul_ela_cards(parameters: Mapping[str, Any], k: int) -> list[Share]:
    """A statement for each category."""
    shares = enumerate(parameters["probabilities"])
    return [(share, tuple(int(j != asked) for j in range(k)), f"statement {asked}") for asked, share in shares]


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

    where ``statements`` are p_1..p_k, the shares of the cards "I belong to category j", ``unrelated`` is p_0, and
    ``beta`` the known share of yes to the innocuous question. k - 1 samples or more with different decks give all
    shares. Without beta the design is over pairs of the category and the unrelated answer y, 1 for yes, and one sample
    more is needed:

        Pr(yes | j, y) = p_j + p_0 y

    Source: after Greenberg et al. (1969), named in [Adeshiyan2011, section 3.1]; P derived from the instruction.
    """
    check_two(categories)
    k = len(categories)
    cards = builders.one_for_each(statements, "statements", k, hint="give the share of one for each")
    (p0, *p), settled = builders.check_shares({"unrelated": unrelated, **cards})
    parameters: dict[str, object] = {"statements": p, "unrelated": p0}
    if beta is None:
        design = builders.yes_or_no(
            [share + p0 * y for share in p for y in (1, 0)], builders.with_unrelated(categories)
        )
        notes = builders.of_pairs("category")
    else:
        known = check_probability(beta, "beta")
        parameters["beta"] = known
        design, notes = builders.yes_or_no([share + p0 * known for share in p], categories), {}
    return builders.one_of_several(
        design,
        "greenberg-statements",
        parameters,
        needs="statements that are not all equal",
        samples=_samples(k, unknown=beta is None),
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        **notes,
    )


def _samples(k: int, *, unknown: bool) -> str:
    """What must come together."""
    need = k if unknown else k - 1
    what = f"{k} shares and an unknown beta" if unknown else f"{k} shares"
    return f"one of {need} samples or more: {what} need {need} different decks"


def bourke_dalenius(categories: Categories, weights: Sequence[Number], *, allow_unidentifiable: bool = False) -> Dense:
    """Draw a card and report the place, 1 to k, of your category on it.

        P[i, j] = w[(i - j) mod k]

    where ``weights`` are w[0]..w[k-1]; card r, of share w[r], lists the categories moved on by r places. The singular
    values of P are the absolute discrete Fourier coefficients of w: none may vanish.
    Source: after Bourke and Dalenius (1976), named in [Adeshiyan2011, section 3.1]; cyclic form derived.
    """
    check_two(categories)
    k = len(categories)
    w, settled = builders.check_shares(builders.one_for_each(weights, "weights", k))
    return builders.named(
        Dense.of([[w[(i - j) % k] for j in range(k)] for i in range(k)], categories, Categories.of(range(1, k + 1))),
        "bourke-dalenius",
        {"weights": w},
        needs="weights without a vanishing Fourier coefficient, such as one weight above 1/2",
        allow_unidentifiable=allow_unidentifiable,
        settled=settled,
        warning=builders.NO_PROTECTION if max(w) == 1 else "",
    )


def bourke_dalenius_cards(parameters: Mapping[str, Any], k: int) -> list[Share]:
    """A card for each shift of the list."""
    return [(share, tuple((j + r) % k for j in range(k)), "order") for r, share in enumerate(parameters["weights"])]

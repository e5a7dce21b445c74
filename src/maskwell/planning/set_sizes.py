"""Best designs in closed form: which size of subset wastes least, and which l hides as much as which gamma.

Everything is decided in fractions, from the number that a privacy demand allows, never beyond what was asked.

Source: [NayakZhai2019, sections 3.2 and 4.3, eq. (3.3), Tables 1 and 2]; docs/theory/best-designs.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np

from maskwell.core.arguments import Array, Real, as_count, as_list, as_whole
from maskwell.core.exact import Number, as_fraction, floor_to, is_float, safe_below, to_float, to_text
from maskwell.core.verdicts import at_most
from maskwell.designs.design import Design, too_few
from maskwell.designs.subset import sizes_allowed, wrong_size
from maskwell.errors import ParameterError
from maskwell.privacy.criteria import Demand

D = TypeVar("D", bound=Design)

LESS = {"epsilon": "epsilon = 1", **{name: f"{name} = 2" for name in ("gamma", "beta", "bayes_factor")}}
"""A demand that leaves something, in the words of one that leaves nothing."""

SHORT = 64  # numerators of more bits than this are rounded where exact equations have to be solved with them


def check_k(k: int) -> int:
    """At least two categories."""
    count = as_count(k, "k")
    if count < 2:
        raise too_few(count)
    return as_whole(count, "k", high=2**32 - 1)


def gamma_of(demand: Demand | Number) -> Fraction:
    """The parity that designs for a demand, or for a number gamma, are made with: above 1, and allowed."""
    gamma = demand.reachable if isinstance(demand, Demand) else safe_below(demand, "gamma")
    if gamma <= 1:
        said = demand.text if isinstance(demand, Demand) else f"gamma = {demand}"
        name = demand.name if isinstance(demand, Demand) else "gamma"
        raise ParameterError(
            "leaves-no-information-in-a-report", said=said, get=LESS.get(name, LESS["epsilon"]), gamma=gamma
        )
    return gamma


def short_gamma(gamma: Fraction) -> Fraction:
    """The parity itself when it is short; else rounded down so that gamma - 1 keeps 32 binary digits."""
    if gamma.numerator.bit_length() <= SHORT:
        return gamma
    size = (gamma - 1).numerator.bit_length() - (gamma - 1).denominator.bit_length()
    return 1 + floor_to(gamma - 1, max(0, 33 - size))


def remembering(design: D, demand: Demand) -> D:
    """The design with a note of its demand, where its parameters do not say it already."""
    return design if demand.name in ("gamma", "epsilon") else design.with_provenance(demand=demand.text)


def builder_parameters(demand: Demand) -> dict[str, str]:
    """A demand in the words that the builders of designs know: epsilon as it was stated, everything else as gamma."""
    gamma = gamma_of(demand)
    exactly = demand.name == "epsilon" and not demand.strict
    return {"epsilon": str(demand.stated["epsilon"])} if exactly else {"gamma": to_text(gamma)}


NEAR = 1e-9  # how near to a whole number an l that came from a float counts as that number


def added_variance(k: int, gamma: Demand | Number, q: int) -> float:
    """V_R, the variance that subset selection of size q adds at parity gamma."""
    k, g, q = check_k(k), gamma_of(gamma), as_count(q, "q")
    if not 1 <= q <= k - 1:
        raise wrong_size("q", q, k)
    D = q * g + k - q
    return to_float(Fraction(k - 1, k) * ((k - 1) * D**2 / (q * (k - q) * (g - 1) ** 2) - 1))


def minimax_size(k: int, gamma: Demand | Number) -> int:
    """The size of subset selection that adds least variance at parity gamma; the smaller one of two equals.

    >>> [minimax_size(5, g) for g in (2, 3)], minimax_size(64, Demand.from_epsilon(1))
    ([2, 1], 17)
    """
    return minimax_sizes(k, gamma)[0]


def minimax_sizes(k: int, gamma: Demand | Number) -> tuple[int, ...]:
    """Every size that adds least variance: one, or two neighbours that tie."""
    k, g = check_k(k), gamma_of(gamma)
    q = min(k - 1, max(1, math.floor(k / (1 + g))))
    if q == k - 1:
        return (q,)
    beats = g * g * q * (q + 1) - (q * (q + 1) + k * (k - 2 * q - 1))
    return (q,) if beats > 0 else (q, q + 1) if beats == 0 else (q + 1,)


@dataclass(frozen=True, eq=False)
class VarianceTable:
    """Least added variances and the sizes that reach them, a row for each gamma and a column for each k."""

    k: Array
    gamma: Real
    added_variance: Real
    size: Array


def variance_table(ks: Iterable[int], gammas: Iterable[Number]) -> VarianceTable:
    """The least added variance at each parity and number of categories, as [NayakZhai2019, Table 1] prints it."""
    ks, gammas = as_list(ks, "ks"), as_list(gammas, "gammas")
    categories, parities = [check_k(k) for k in ks], [gamma_of(gamma) for gamma in gammas]
    sizes = [[minimax_size(k, gamma) for k in categories] for gamma in parities]
    variances = [
        [added_variance(k, gamma, q) for k, q in zip(categories, row, strict=True)]
        for gamma, row in zip(parities, sizes, strict=True)
    ]
    return VarianceTable(
        np.array(categories), np.array(list(map(to_float, parities))), np.array(variances), np.array(sizes)
    )


@dataclass(frozen=True)
class Matching:
    """A parity at which subset selection adds as much variance as local l-diversity, and the sizes that do."""

    gamma: float
    sizes: tuple[int, ...]
    added_variance: float


def matching_gamma(k: int, l: int) -> Matching:  # noqa: E741 (the literature's name)
    """The smallest parity at which some subset design is as accurate as local l-diversity.

        gamma(q) = (k-q)/(l-q) + sqrt(q (k-q) l (k-l)) / (q (l-q)),   least over 1 <= q < l

    Over real q the least is at ``q = k (1 - sqrt(1 - l/k)) / 2``, about l/4; the whole numbers beside it are compared.
    Source: [NayakZhai2019, Table 2]; the closed forms are derived.

    >>> match = matching_gamma(10, 5)
    >>> match.gamma, match.sizes
    (6.0, (1, 2))
    """
    k, size = check_k(k), as_count(l, "l")
    if not 2 <= size <= k - 1:
        raise ParameterError("l-is-not-possible-for-categories", hint=sizes_allowed(k), l=l, k=k)
    near = math.floor(k * (1 - math.sqrt(1 - size / k)) / 2)
    gammas = {
        q: (k - q) / (size - q) + math.sqrt(q * (k - q) * size * (k - size)) / (q * (size - q))
        for q in range(max(1, near - 1), min(size - 1, near + 2) + 1)
    }
    best = min(gammas.values())
    sizes = tuple(q for q, gamma in gammas.items() if at_most(gamma, best))
    return Matching(best, sizes, (k - 1) * (size - 1) / (k - size))


class MatchingL(NamedTuple):
    """The l of local diversity that is as accurate as the best subset design, and the whole numbers beside it."""

    real: float
    floor: int
    ceiling: int


def matching_l(k: int, gamma: Demand | Number) -> MatchingL:
    """The real l whose local diversity is as accurate as the best subset design at parity gamma.

    l = (q gamma + k - q)^2 / (q gamma^2 + k - q)
    """
    q = minimax_size(k, gamma)
    g = gamma_of(gamma) if isinstance(gamma, Demand) else as_fraction(gamma, "gamma")  # nothing is built from it
    real = (q * g + k - q) ** 2 / (q * g * g + k - q)
    if is_float(gamma) and abs(real - round(real)) < NEAR:  # the last digit of a float is not meant
        real = Fraction(round(real))
    return MatchingL(to_float(real), math.floor(real), math.ceil(real))


def switch_gamma(k: int, q: int) -> float:
    """The parity at which sizes q and q + 1 are equally good; 1 when q + 1 is never better."""
    k, q = check_k(k), as_count(q, "q")
    square = 1 + Fraction(k * (k - 2 * q - 1), q * (q + 1)) if q + 1 < k else Fraction(1)
    return math.sqrt(max(square, Fraction(1)))


def switch_k(gamma: Number, q: int) -> int:
    """The least k at which size q + 1 is better than q: ``k (k - 2q - 1) > q (q + 1) (gamma^2 - 1)``."""
    g, q = gamma_of(gamma), as_count(q, "q")
    most = math.floor(q * (q + 1) * (g * g - 1))
    k = (2 * q + 1 + math.isqrt((2 * q + 1) ** 2 + 4 * most)) // 2
    return k + 1

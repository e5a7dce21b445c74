"""Best designs in closed form: which size of subset wastes least, and which l hides as much as which gamma.

Among all designs of parity gamma, subset selection of the best size q adds least variance in the worst case; at equal
shares no design adds less. With ``D = q gamma + k - q``

    V_R = (k-1)/k [ (k-1) D^2 / (q (k-q) (gamma-1)^2) - 1 ]

which falls in q up to ``k / (1 + gamma)`` and rises after it. Everything is decided in fractions.

Source: [NayakZhai2019, sections 3.2 and 4.3, eq. (3.3), Tables 1 and 2]; closed forms derived from eq. (3.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maskwell.core.arguments import as_count, as_list
from maskwell.core.arrays import Array, Real
from maskwell.core.exact import Number, as_fraction, is_float, to_float
from maskwell.designs.ldiverse import sizes_allowed
from maskwell.designs.subset import wrong_size
from maskwell.errors import ParameterError
from maskwell.planning.demanded import check_k, gamma_of
from maskwell.privacy.criteria import Demand

NEAR = 1e-9
"""How near to a whole number an l that came from a float counts as that number."""


def added_variance(k: int, gamma: Demand | Number, q: int) -> float:
    """Variance that subset selection of size q adds at parity gamma.

        V_R = (k-1)/k [ (k-1) D^2 / (q (k-q) (gamma-1)^2) - 1 ],   D = q gamma + k - q

    >>> round(added_variance(5, 20, 1), 6)
    0.476454
    """
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
    """Every size that adds least variance: one, or two neighbours.

    Size q beats q + 1 exactly when ``gamma^2 > 1 + k (k - 2q - 1) / (q (q + 1))``, and they tie at equality.

    >>> minimax_sizes(10, 6)
    (1, 2)
    """
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
    """The least added variance at each parity and number of categories, as [NayakZhai2019, Table 1] prints it.

    >>> table = variance_table([2, 10], [3, 10])
    >>> table.added_variance.round(4).tolist(), table.size.tolist()
    ([[1.5, 23.7857], [0.2469, 3.1111]], [[1, 3], [1, 1]])
    """
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


# ---- local l-diversity of the same accuracy


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
        raise ParameterError(f"l = {l} is not possible for {k} categories", hint=sizes_allowed(k), l=l, k=k)
    near = math.floor(k * (1 - math.sqrt(1 - size / k)) / 2)
    gammas = {q: _gamma_of_size(k, size, q) for q in range(max(1, near - 1), min(size - 1, near + 2) + 1)}
    best = min(gammas.values())
    sizes = tuple(q for q, gamma in gammas.items() if gamma <= best * (1 + 1e-12))
    return Matching(best, sizes, (k - 1) * (size - 1) / (k - size))


def _gamma_of_size(k: int, l: int, q: int) -> float:  # noqa: E741 (the literature's name)
    return (k - q) / (l - q) + math.sqrt(q * (k - q) * l * (k - l)) / (q * (l - q))


class MatchingL(NamedTuple):
    """The l of local diversity that is as accurate as the best subset design, and the whole numbers beside it.

    ``floor`` adds no more variance than the subset design; ``ceiling`` hides the truth among more answers. There is no
    design below 2, and none at k.
    """

    real: float
    floor: int
    ceiling: int


def matching_l(k: int, gamma: Demand | Number) -> MatchingL:
    """The real l whose local diversity is as accurate as the best subset design at parity gamma.

        l = (q gamma + k - q)^2 / (q gamma^2 + k - q)

    >>> matching_l(10, 6)
    MatchingL(real=5.0, floor=5, ceiling=5)
    >>> matching_l(10, 20)[1:]   # two named answers are a little more accurate, three hide more
    (2, 3)
    """
    q, g = minimax_size(k, gamma), _meant(gamma)
    real = (q * g + k - q) ** 2 / (q * g * g + k - q)
    if is_float(gamma) and abs(real - round(real)) < NEAR:  # the last digit of a float is not meant
        real = Fraction(round(real))
    return MatchingL(to_float(real), math.floor(real), math.ceil(real))


def _meant(gamma: Demand | Number) -> Fraction:
    """Parity as it was meant: nothing is built from it, so that nothing is rounded."""
    return gamma_of(gamma) if isinstance(gamma, Demand) else as_fraction(gamma, "gamma")

"""Best designs in closed form: which size of subset wastes least, and which l hides as much as which gamma.

Source: [NayakZhai2019, sections 3.2 and 4.3, eq. (3.3), Tables 1 and 2]; closed forms derived from eq. (3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maskwell.core.exact import Number, as_fraction, safe_below
from maskwell.designs.demand import as_count
from maskwell.errors import ParameterError


def added_variance(k: int, gamma: float, q: int) -> float:
    """Variance that subset selection of size q adds at parity gamma.

        V_R = (k-1)/k [ (k-1) D^2 / (q (k-q) (gamma-1)^2) - 1 ],   D = q gamma + k - q

    >>> round(added_variance(5, 20, 1), 6)
    0.476454
    """
    D = q * gamma + k - q
    return (k - 1) / k * ((k - 1) * D * D / (q * (k - q) * (gamma - 1) ** 2) - 1)


def minimax_size(k: int, gamma: Number) -> int:
    """The size of subset selection that adds least variance at parity gamma; the smaller one of two equals.

    Size q beats q + 1 exactly when ``gamma^2 > 1 + k (k - 2q - 1) / (q (q + 1))``; compared in fractions.

    >>> [minimax_size(5, g) for g in (2, 3)]
    [2, 1]
    """
    k, g = check_k(k), safe_below(gamma, "gamma")
    if g <= 1:
        raise ParameterError(f"gamma = {gamma} is not above 1", hint="give gamma greater than 1", gamma=gamma)
    q = min(k - 1, max(1, math.floor(k / (1 + g))))
    if q + 1 <= k - 1 and g * g * q * (q + 1) < q * (q + 1) + k * (k - 2 * q - 1):
        return q + 1
    return q


@dataclass(frozen=True)
class Matching:
    """A parity at which subset selection adds as much variance as local l-diversity, and the sizes that do."""

    gamma: float
    sizes: tuple[int, ...]
    added_variance: float


def matching_gamma(k: int, l: int) -> Matching:  # noqa: E741 (the literature's name)
    """The smallest parity at which some subset design is as accurate as local l-diversity.

        gamma(q) = (k-q)/(l-q) + sqrt(q (k-q) l (k-l)) / (q (l-q)),   least over 1 <= q < l

    >>> match = matching_gamma(10, 5)
    >>> match.gamma, match.sizes
    (6.0, (1, 2))
    """
    k, size = check_k(k), as_count(l, "l")
    if not 2 <= size <= k - 1:
        raise ParameterError(f"l = {l} of {k} categories", hint=f"give l from 2 to {k - 1}", l=l, k=k)
    q = np.arange(1, size, dtype=np.float64)
    gammas = (k - q) / (size - q) + np.sqrt(q * (k - q) * size * (k - size)) / (q * (size - q))
    best = float(gammas.min())
    sizes = tuple((np.flatnonzero(gammas <= best * (1 + 1e-12)) + 1).tolist())
    return Matching(best, sizes, (k - 1) * (size - 1) / (k - size))


def matching_l(k: int, gamma: Number) -> tuple[float, int]:
    """The real l whose local diversity is as accurate as the best subset design at parity gamma, and its floor.

        l = (q gamma + k - q)^2 / (q gamma^2 + k - q)

    A floor below 2 means that no l-diversity design is that accurate.

    >>> matching_l(10, 6)
    (5.0, 5)
    """
    q, g = minimax_size(k, gamma), float(as_fraction(gamma, "gamma"))
    real = (q * g + k - q) ** 2 / (q * g * g + k - q)
    nearest = round(real)
    return real, nearest if abs(real - nearest) < 1e-9 else math.floor(real)


def check_k(k: int) -> int:
    """At least two categories."""
    count = as_count(k, "k")
    if count < 2:
        raise ParameterError(f"k = {k}", hint="give at least two categories", k=k)
    return count

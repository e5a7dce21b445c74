"""Where the best size of a subset design changes, along gamma and along the number of categories.

Size q beats q + 1 exactly when ``gamma^2 > 1 + k (k - 2q - 1) / (q (q + 1))``.

Source: derived from [NayakZhai2019, eq. (3.3)].
"""

from __future__ import annotations

import math
from fractions import Fraction

from maskwell.core.arguments import as_count
from maskwell.core.exact import Number
from maskwell.planning.demanded import check_k, gamma_of


def switch_gamma(k: int, q: int) -> float:
    """The parity at which sizes q and q + 1 are equally good; 1 when q + 1 is never better.

    >>> switch_gamma(10, 1)   # below gamma = 6, ten categories are better named two at a time
    6.0
    """
    k, q = check_k(k), as_count(q, "q")
    square = 1 + Fraction(k * (k - 2 * q - 1), q * (q + 1)) if q + 1 < k else Fraction(1)
    return math.sqrt(max(square, Fraction(1)))


def switch_k(gamma: Number, q: int) -> int:
    """The least number of categories at which size q + 1 is better than q.

    It is the least k with ``k (k - 2q - 1) > q (q + 1) (gamma^2 - 1)``.

    >>> switch_k(2, 1)   # at gamma = 2, five categories are the first to be named two at a time
    5
    """
    g, q = gamma_of(gamma), as_count(q, "q")
    most = math.floor(q * (q + 1) * (g * g - 1))
    k = (2 * q + 1 + math.isqrt((2 * q + 1) ** 2 + 4 * most)) // 2
    return k + 1

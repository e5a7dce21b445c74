"""How many sets there are: binomial coefficients of large numbers, from their prime factors.

The exponent of a prime p in C(n, q) is the sum of ``n // p^i - q // p^i - (n - q) // p^i`` over i. Multiplying primes,
halves first, is an order of magnitude faster than dividing factorials once there are many.
"""

from __future__ import annotations

import math

import numpy as np

from maskwell.core.arrays import Array

DIRECT = 10_000
"""Up to so many factors the plain product is as fast."""
SIEVE = 10**8
"""Beyond this a list of all primes would take too much memory."""


def binomial(n: int, q: int) -> int:
    """C(n, q), exactly.

    >>> binomial(6, 2), binomial(40_000, 15_000) == math.comb(40_000, 15_000)
    (15, True)
    """
    if min(q, n - q) <= DIRECT or n > SIEVE:
        return math.comb(n, q)
    primes = _primes(n)
    exponents, power = np.zeros(len(primes), dtype=np.int64), primes.copy()
    while len(live := np.flatnonzero(power <= n)):
        exponents[live] += n // power[live] - q // power[live] - (n - q) // power[live]
        power[live] *= primes[live]
    used = exponents > 0
    return _product([p**e for p, e in zip(primes[used].tolist(), exponents[used].tolist(), strict=True)])


def _primes(n: int) -> Array:
    """All primes up to n."""
    sieve = np.ones(n + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, math.isqrt(n) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    return np.flatnonzero(sieve)


def _product(factors: list[int]) -> int:
    """The product, halves first, so that numbers of the same length meet."""
    if len(factors) <= 16:
        return math.prod(factors)
    middle = len(factors) // 2
    return _product(factors[:middle]) * _product(factors[middle:])

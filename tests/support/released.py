"""Every released table of a small file, with its probability: what exact statements about releases are checked on."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
from tests.support.arrays import Real

from maskwell import Design
from maskwell.estimation.direct_estimate import DirectEstimate, Released, estimate_moved


def moved(P: Real, masses: Any) -> Real:
    """``D_{Ps} - P D_s P'``: the covariance of released counts s, or of weights whose squares are s, given the file."""
    s = np.asarray(masses, dtype=float)
    return np.asarray(np.diag(P @ s) - (P * s) @ P.T)


def known_matrix(released: Sequence[int] | Real, P: Real, target: str = "population") -> DirectEstimate:
    """Shares by somebody who knows the matrix: ``(D_p - P D_p P') / n`` is unbiased for their covariance."""
    n, p = float(np.sum(released)), np.asarray(released) / np.sum(released)
    W = (np.diag(p) - (P * p) @ P.T) / n
    return estimate_moved(Released.of(released), W, categories=range(len(p)), target=target)


def outcomes(design: Design, counts: list[int]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Released counts with their probabilities, over all outcomes; some counts come more than once."""
    P = design.exact_matrix()
    columns = [list(_multinomial(n, [row[j] for row in P])) for j, n in enumerate(counts)]
    for parts in product(*columns):
        chance = Fraction(1)
        for _, p in parts:
            chance *= p
        if chance:
            yield tuple(sum(m[i] for m, _ in parts) for i in range(design.m)), chance


def samples(n: int, pi: list[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Counts of n records drawn with replacement, with their probabilities."""
    yield from _multinomial(n, pi)


def _multinomial(n: int, p: list[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    if len(p) == 1:
        yield (n,), p[0] ** n
        return
    for first in range(n + 1):
        head = comb(n, first) * p[0] ** first
        for rest, chance in _multinomial(n - first, p[1:]):
            yield (first, *rest), head * chance

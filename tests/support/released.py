"""Every released table of a small file, with its probability: what exact statements about releases are checked on."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb

from maskwell.designs import Design


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

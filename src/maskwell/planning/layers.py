"""Splitting the rows of a design into the patterns of an admissible one.

A row v of parity at most gamma is a sum of patterns: with its distinct values x_1 < ... < x_L and S_t the truths where
it is at least x_t,

    v = sum_{t >= 2} w_t (1 + (gamma - 1) [j in S_t]) + constant,     w_t = (x_t - x_{t-1}) / (gamma - 1)

and the constant ``(gamma x_1 - x_L) / (gamma - 1)``, which tells nothing, is shared among the k single truths:

    1 = sum_i (1 + (gamma - 1) [j = i]) / (gamma + k - 1)

Patterns of the same set add up. Everything here is done in integers: rows over one denominator N, gamma = g / h, and
weights over ``N (g - h) (g + (k - 1) h) / h``.

Source: algorithm L follows [ChaiNayak2018, Lemmas 4.2 to 4.4], with the multiplier of Lemma 4.2 in closed form and rows
that become proportional merged; splitting by layers instead of value by value is derived, and so is algorithm D.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from maskwell.core.exact import common_denominator
from maskwell.designs.matrices import DENSE_LIMIT
from maskwell.errors import TooLargeError

Row: TypeAlias = list[int]
Logged: TypeAlias = dict[int, dict[int, int]]
"""For each set, as the bits of a number, how much of it every row of the original has."""


@dataclass(frozen=True)
class Level:
    """Gamma = g / h for k categories."""

    gamma: Fraction
    k: int

    def patterns(self, row: Row) -> Iterator[tuple[int, int]]:
        """The sets that a row of parity at most gamma is made of, and their weights."""
        g, h = self.gamma.numerator, self.gamma.denominator
        truths: dict[int, int] = defaultdict(int)
        for j, value in enumerate(row):
            truths[value] |= 1 << j
        levels, held = sorted(truths), (1 << self.k) - 1
        for low, high in pairwise(levels):
            held ^= truths[low]
            yield held, (high - low) * (g + (self.k - 1) * h)
        if flat := levels[0] * g - levels[-1] * h:
            yield from ((1 << j, flat) for j in range(self.k))

    def is_single(self, row: Row, tolerance: Fraction) -> bool:
        """Whether a row is one pattern: its values lie at both ends of what gamma allows, within the tolerance.

        The tolerance is relative to what lies between the ends, and to the end itself where that is less: at a huge
        gamma a value may be many times the lower end and yet a small part of the upper one.
        """
        g, h = self.gamma.numerator, self.gamma.denominator
        top = max(row)
        above, below = tolerance * top * (g - h), tolerance * top * min(g - h, h)
        return min(row) < top and all((top - x) * g <= above or x * g - top * h <= below for x in row)


def by_layers(rows: Sequence[Row], level: Level) -> Logged:
    """Algorithm D: split every row by layers, once."""
    logged: Logged = defaultdict(dict)
    for i, row in enumerate(rows):
        for held, weight in level.patterns(row) if any(row) else ():
            logged[held][i] = logged[held].get(i, 0) + weight
        _check_size(logged, level.k)
    return logged


def _check_size(logged: Logged, k: int) -> None:
    if len(logged) * k > DENSE_LIMIT:
        raise TooLargeError(
            f"more than {DENSE_LIMIT // k:,} different sets of {k:,} categories are needed; at most "
            f"{DENSE_LIMIT:,} entries are kept",
            hint="group rare categories, or take a subset design, which needs no list of sets",
        )


# ---- algorithm L


@dataclass
class _Generators:
    """Directions b_r with the original rows as their sums: ``row i = sum_r parts[r][i] b_r``."""

    directions: list[Row]
    parts: list[dict[int, Fraction]]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Generators:
        """Without zero rows, and with proportional rows as one direction."""
        found: dict[tuple[int, ...], dict[int, Fraction]] = {}
        for i, row in enumerate(rows):
            if any(row):
                common = math.gcd(*row)
                found.setdefault(tuple(x // common for x in row), {})[i] = Fraction(common)
        return cls([list(direction) for direction in found], list(found.values()))

    def move(self, source: int, target: int, share: Fraction) -> None:
        """Give every row that has some of one direction the share of another."""
        for i, amount in self.parts[source].items():
            self.parts[target][i] = self.parts[target].get(i, Fraction(0)) + amount * share

    def without_constant(self) -> None:
        """Lemma 4.3: the others sum to a constant themselves, so that they can make the constant one."""
        at = next((r for r, b in enumerate(self.directions) if min(b) == max(b)), None)
        if at is None or len(self.directions) == 1:
            return
        weights = [sum(part.values(), Fraction(0)) for part in self.parts]
        rest = sum((w * b[0] for w, b in zip(weights, self.directions, strict=True)), Fraction(0)) - weights[at]
        for r, weight in enumerate(weights):
            if r != at:
                self.move(at, r, weight / rest)
        del self.directions[at], self.parts[at]

    def sharpen(self, i: int, gamma: Fraction) -> None:
        """Lemma 4.2: take as much of a donor out of direction i as brings its parity to gamma."""
        row = self.directions[i]
        high, low = row.index(max(row)), row.index(min(row))
        others = (r for r in range(len(self.directions)) if r != i)
        donor = min(others, key=lambda r: Fraction(self.directions[r][high], self.directions[r][low]))
        taken = _multiplier(row, self.directions[donor], gamma)
        p, q = taken.numerator, taken.denominator
        left = [q * x - p * y for x, y in zip(row, self.directions[donor], strict=True)]
        common = math.gcd(*left)
        self.move(i, donor, taken)
        self.directions[i] = [x // common for x in left]
        self.parts[i] = {at: amount * Fraction(common, q) for at, amount in self.parts[i].items()}


def _multiplier(row: Row, donor: Row, gamma: Fraction) -> Fraction:
    """``min (gamma a_v - a_u) / (gamma b_v - b_u)`` over u, v with a positive denominator."""
    g, h = gamma.numerator, gamma.denominator
    pairs = (
        (g * a - h * c, g * b - h * d) for a, b in zip(row, donor, strict=True) for c, d in zip(row, donor, strict=True)
    )
    return min(Fraction(top, bottom) for top, bottom in pairs if bottom > 0)


def by_lemmas(rows: Sequence[Row], level: Level) -> Logged:
    """Algorithm L: bring every row to parity gamma by the lemmas of the source, then split it by layers."""
    made = _Generators.of(rows)
    made.without_constant()
    for i, row in enumerate(made.directions):
        if 1 < Fraction(max(row), min(row)) < level.gamma:
            made.sharpen(i, level.gamma)
    shared: dict[int, dict[int, Fraction]] = defaultdict(dict)
    for row, part in zip(made.directions, made.parts, strict=True):
        for held, weight in level.patterns(row):
            for i, amount in part.items():
                shared[held][i] = shared[held].get(i, Fraction(0)) + amount * weight
    return _whole(shared)


def _whole(shared: dict[int, dict[int, Fraction]]) -> Logged:
    denominator = common_denominator(amount for part in shared.values() for amount in part.values())
    return {held: {i: int(amount * denominator) for i, amount in part.items()} for held, part in shared.items()}


ALGORITHMS: dict[str, Callable[[Sequence[Row], Level], Logged]] = {"layers": by_layers, "lemmas": by_lemmas}
"""Both ways of improving, by name."""

"""Sequential uniformity: the invariant matrix from which nobody guesses better than without the released value.

Among all such matrices it changes the fewest records.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.release.matrices.counts import WIDE, Amounts, check_length, read_amounts
from maskwell.release.matrices.noted import noted
from maskwell.release.matrices.symmetric import EXACT_BITS, from_flows, rounding_bits, rounding_note

TIED = "two categories have the same count, so the matrix is singular: only direct counts can be used, no inverse"


def sequential_uniform(v: Any, *, categories: Categories | None = None) -> Sparse:
    """Share what is left of the smallest category equally among itself and all larger ones, and go on upwards.

        F_(r)(t) = c_max(r, t),    c_r = sum_{s >= r} (v_(s) - v_(s+1)) / s

    where ``v_(1) >= v_(2) >= ...`` are the counts that are not zero, ``v_(l+1) = 0``, and ``p_ij = F_ij / v_j``. The
    best guess from the released value is right with probability ``v_(1) / sum(v)``, the least that any invariant
    matrix reaches, and that is also the share that stays. It is singular where two counts are equal.

    Flows over a common denominator of more than 200 bits (from about 140 categories on) are rounded; the matrix stays
    invariant and its columns sum to one, without any error.

    Source: [Adeshiyan2011, Example 4.4], which prints one matrix; the general form is derived.

    >>> design = sequential_uniform([12, 8, 3])
    >>> design.columns_exact(1)   # of eight records, three and a half stay and as many join the largest category
    {0: Fraction(7, 16), 1: Fraction(7, 16), 2: Fraction(1, 8)}
    """
    amounts = read_amounts(v, weighted=True)
    inputs = check_length(amounts, categories)
    places = np.flatnonzero(amounts.support)
    order = np.argsort(-amounts.integers[places], kind="stable")
    falling, rank = amounts.integers[places][order], np.argsort(order)
    levels, totals, notes = _integer_levels(falling, amounts)
    design = from_flows(levels[np.maximum.outer(rank, rank)], totals[rank], places, inputs)
    tied = [TIED] if len(np.unique(falling)) < len(falling) else []
    return noted(design, amounts, "sequential", *tied, *notes)


def _integer_levels(falling: Array, amounts: Amounts) -> tuple[Array, Array, list[str]]:
    """The numbers c_r and v_(r) as integers over one denominator, which may be a rounding of the former."""
    steps = [Fraction(int(gap), s + 1) for s, gap in enumerate(falling - np.append(falling[1:], 0))]
    common = math.lcm(*(step.denominator for step in steps))
    levels = _summed_from_the_end([int(step * common) for step in steps])
    notes = []
    if common.bit_length() > EXACT_BITS:
        bits = rounding_bits(amounts)
        levels = [(level << bits) // common for level in levels]
        common, notes = 1 << bits, [rounding_note(amounts, bits)]
    wide: Any = np.int64 if common * int(falling[0]) < WIDE else object
    return np.array(levels, dtype=wide), falling.astype(wide) * common, notes


def _summed_from_the_end(values: list[int]) -> list[int]:
    total, sums = 0, []
    for value in reversed(values):
        total += value
        sums.append(total)
    return sums[::-1]

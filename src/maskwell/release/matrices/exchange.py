"""Equal exchange: every state of a block gives and takes the same expected number of records.

    p_jj = 1 - t / v_j,    p_ij = t / ((l - 1) v_j)   for i != j

where ``v_j`` is the count of state j, ``l`` the number of states of the block that occur and ``t`` its flow. Method 1
and the inverse-frequency method are two ways to choose t.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.release.matrices.assembling import BlockPattern
from maskwell.release.matrices.counts import Amounts, as_words


def equal_exchange(amounts: Amounts, flows: Sequence[Fraction], blocks: Array, inputs: Categories) -> Sparse:
    """The matrix in which every state of block b gives and takes ``flows[b]``, in the units of the integers.

    >>> from maskwell.release.matrices.counts import read_amounts
    >>> design = equal_exchange(read_amounts([3, 1]), [Fraction(1, 2)], np.zeros(2, int), Categories.numbered(2))
    >>> design.columns_exact(0)   # of three records, half a one leaves
    {0: Fraction(5, 6), 1: Fraction(1, 6)}
    """
    moves = np.array([flow > 0 for flow in flows])
    pattern = BlockPattern.of(blocks, amounts.support & moves[blocks])
    above, below = _parts(flows, amounts, pattern)
    others = np.maximum(pattern.sizes - 1, 0)[pattern.members]
    inside = pattern.members >= 0
    leave = np.where(inside, above[pattern.members], 0)
    stay = np.where(inside, others * (below[pattern.members] * amounts.integers - leave), 1)
    divisor = np.gcd(leave, stay)
    return pattern.fill(stay // divisor, leave // divisor, inputs)


def _parts(flows: Sequence[Fraction], amounts: Amounts, pattern: BlockPattern) -> tuple[Array, Array]:
    """Numerators and denominators of the flows, in integers wide enough for all that is made of them."""
    above, below = [flow.numerator for flow in flows], [flow.denominator for flow in flows]
    bound = int(pattern.sizes.max()) * max(max(below) * int(amounts.integers.max()), *above)
    return as_words(np.array(above, dtype=object), bound), as_words(np.array(below, dtype=object), bound)


def least_by_block(amounts: Amounts, blocks: Array) -> list[int]:
    """The smallest count of each block, of the states that occur; 0 where none does."""
    occurring = amounts.support
    order = np.argsort(blocks[occurring], kind="stable")
    own, values = blocks[occurring][order], amounts.integers[occurring][order]
    first = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
    least = [0] * (int(blocks.max()) + 1)
    for block, smallest in zip(own[first].tolist(), np.minimum.reduceat(values, first).tolist(), strict=True):
        least[block] = smallest
    return least

"""Blocks of cells that lie near each other, at least so many to a block, and large enough to keep a bound."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array, as_list, as_whole
from maskwell.core.arrays import Array
from maskwell.core.exact import Number
from maskwell.errors import CountsError, ParameterError
from maskwell.release.matrices.assembling import block_numbers
from maskwell.release.matrices.block_thetas import BlockThetas, thetas_for_blocks

SIZE = 5
"""Cells in a block: with two or three a correct match stays likely whatever is done."""


def blocks_of_cells(codes: Array, size: int = SIZE, within: Iterable[Hashable] | None = None) -> Array:
    """Blocks of consecutive cells in lexicographic order, each of ``size`` cells or more, never across ``within``.

    Parameters
    ----------
    codes
        Shape (k, columns): the labels of each cell by number, the first column the slowest.
    within
        Shape (k,): a label for each cell; cells with different labels never share a block. A group of fewer than
        ``size`` cells is one block.

    >>> codes = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]])
    >>> blocks_of_cells(codes, 2).tolist()   # five cells: one block of three, one of two
    [0, 0, 0, 1, 1]
    >>> blocks_of_cells(codes, 2, within=[0, 0, 0, 1, 1]).tolist()
    [0, 0, 0, 1, 1]
    """
    size = as_whole(size, "size", low=1)
    cells = _check_codes(codes, size)
    group = block_numbers(within, len(cells))
    order = np.lexsort((*cells.T[::-1], group))
    sizes = np.bincount(group)
    first = np.concatenate([[0], np.cumsum(sizes)])
    parts = np.maximum(sizes // size, 1)
    offset = np.concatenate([[0], np.cumsum(parts)])
    own = group[order]
    blocks = np.empty(len(cells), dtype=np.int64)
    blocks[order] = offset[own] + (np.arange(len(cells)) - first[own]) * parts[own] // sizes[own]
    return blocks


def blocks_for_xi(
    codes: Array,
    counts: Any,
    xi: Number,
    *,
    size: int = SIZE,
    within: Iterable[Hashable] | None = None,
    mass: Any = None,
) -> BlockThetas:
    """Blocks, and a theta for each, that bound every probability of a correct match by ``xi``.

    Blocks that cannot keep the bound are joined with the next one of their group, or the last but one, until they can
    or the group is a single block. Where even that is not enough, ``reached`` of the result says so.

    >>> codes = np.arange(12)[:, None]
    >>> found = blocks_for_xi(codes, [1, 1, 1, 1, 9, 9, 2, 1, 3, 1, 5, 4], 0.4, size=3)
    >>> bool(found.reached.all()), len(found.theta)   # four blocks of three were too small
    (True, 2)
    """
    size = as_whole(size, "size", low=1)
    labels = None if within is None else as_list(within, "within")
    blocks, group = blocks_of_cells(codes, size, labels), block_numbers(labels, len(codes))
    while True:
        found = thetas_for_blocks(counts, blocks, xi, mass=mass)
        owner = np.zeros(len(found.theta), dtype=np.int64)
        owner[found.blocks] = group
        joined = _joined(found.reached, owner)
        if joined is None:
            return found
        blocks = joined[found.blocks]


def _joined(reached: Array, owner: Array) -> Array | None:
    """A new number for each block, where those that do not keep the bound share it with a neighbour; or None."""
    follows = np.concatenate([owner[1:] == owner[:-1], [False]])  # whether the next block has the same group
    preceded = np.concatenate([[False], follows[:-1]])
    after = ~reached & follows
    before = ~reached & ~follows & preceded
    if not (after | before).any():
        return None
    glued = after[:-1] | before[1:]
    return np.concatenate([[0], np.cumsum(~glued)])


def _check_codes(codes: Array, size: int) -> Array:
    cells = as_array(codes, "codes")
    if cells.ndim != 2 or not len(cells):
        raise CountsError(f"codes of shape {cells.shape}", hint="give one row for each cell, one column a variable")
    if size < 1:
        raise ParameterError(f"size = {size}", hint="give the smallest number of cells of a block, such as 5")
    return cells

"""Putting a sparse design together: entries of columns sorted and added up, and the pattern of blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import as_list
from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, WrongTypeError


def from_entries(columns: Array, rows: Array, numerators: Array, inputs: Categories) -> Sparse:
    """A design from entries in any order; those of one place are added up, zeros are left out.

    The integers of a column are in the ratio of its probabilities.
    """
    order = np.lexsort((rows, columns))
    columns, rows, numerators = columns[order], rows[order], numerators[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (columns[1:] != columns[:-1]) | (rows[1:] != rows[:-1])
    numerators = np.add.reduceat(numerators, np.flatnonzero(first))
    return from_sorted(columns[first], rows[first], numerators, inputs)


def from_sorted(columns: Array, rows: Array, numerators: Array, inputs: Categories) -> Sparse:
    """From entries in order: an entry of zero is none, because a zero means never."""
    kept = np.asarray(numerators != 0, dtype=bool)
    if not kept.all():
        columns, rows, numerators = columns[kept], rows[kept], numerators[kept]
    starts = np.searchsorted(columns, np.arange(len(inputs) + 1))
    return Sparse.from_integers(starts, rows, numerators, inputs)


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Which entries a matrix has where states change within blocks only, and those outside any block stay.

    Attributes
    ----------
    members
        Shape (k,): the block of each state, -1 for states that stay as they are.
    sizes
        Shape (blocks,): states in each block.
    columns, rows
        Shape (entries,): the places of the entries, sorted by column, then row.
    """

    members: Array
    sizes: Array
    columns: Array
    rows: Array

    @classmethod
    def of(cls, blocks: Array, moving: Array) -> BlockPattern:
        """Every state that moves may become every moving state of its block; a block needs two of them."""
        sizes = np.bincount(blocks[moving], minlength=int(blocks.max()) + 1)
        members = np.where(moving & (sizes[blocks] > 1), blocks, -1)
        inside = np.flatnonzero(members >= 0)
        order = inside[np.argsort(members[inside], kind="stable")]
        sizes = np.bincount(members[inside], minlength=len(sizes))
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])  # of each block within ``order``
        lengths = np.where(members >= 0, sizes[members], 1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.repeat(np.arange(len(blocks)), lengths)
        place = np.arange(starts[-1]) - starts[columns]
        rows = columns.copy()
        entry = members[columns] >= 0
        rows[entry] = order[first[members[columns[entry]]] + place[entry]]
        return cls(members, sizes, columns, rows)

    def fill(self, stay: Array, leave: Array, inputs: Categories) -> Sparse:
        """The design with ``stay[j]`` on the diagonal and ``leave[j]`` elsewhere in column j, as integers in ratio."""
        numerators = np.where(self.rows == self.columns, stay[self.columns], leave[self.columns])
        return from_sorted(self.columns, self.rows, numerators, inputs)


def block_numbers(blocks: object, k: int) -> Array:
    """Labels of blocks, one for each state, as numbers 0, 1, ...; one block for all where there are none."""
    if blocks is None:
        return np.zeros(k, dtype=np.int64)
    labels = blocks if isinstance(blocks, np.ndarray) and blocks.ndim == 1 else as_list(blocks, "blocks")
    if len(labels) != k:
        raise CountsError(f"{len(labels)} blocks for {k} counts", hint="give the block of every state")
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu":
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)  # keeps their order
    numbers: dict[object, int] = {}
    try:
        return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    except TypeError as error:
        raise WrongTypeError(
            "an element of blocks cannot be a label", hint="use texts, numbers, dates or tuples", values=str(error)
        ) from None

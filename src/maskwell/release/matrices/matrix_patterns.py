"""What matrices of a release are put together from: entries, blocks, flows, and what they say of themselves.

*Equal exchange*: every state of a block gives and takes the same expected number of records.

    p_jj = 1 - t / v_j,    p_ij = t / ((l - 1) v_j)   for i != j

where ``v_j`` is the count of state j, ``l`` the number of states of the block that occur and ``t`` its flow. Method 1
and the inverse-frequency method are two ways to choose t.

*Symmetric flows* are invariant however they are rounded. A flow ``F_ij = p_ij v_j`` is the expected number of records
that go from j to i. Where F is symmetric, every flow off the diagonal may be rounded down, both of a pair alike, and
the diagonal may take what is left of v: columns and rows then still sum to v exactly. So these matrices are exact and
invariant even where their formula has huge denominators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, as_list
from maskwell.core.categories import Categories
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, WrongTypeError
from maskwell.release.matrices.amounts import WIDE, Amounts, as_words

# ---- entries


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


def as_sparse(design: CodedDesign) -> Sparse:
    """The same design by its entries that are not zero."""
    return design if isinstance(design, Sparse) else Sparse.of_matrix(design.exact_matrix(), design.inputs)


# ---- blocks


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


def equal_exchange(amounts: Amounts, flows: Sequence[Fraction], blocks: Array, inputs: Categories) -> Sparse:
    """The matrix in which every state of block b gives and takes ``flows[b]``, in the units of the integers.

    >>> from maskwell.release.matrices.amounts import read_amounts
    >>> design = equal_exchange(read_amounts([3, 1]), [Fraction(1, 2)], np.zeros(2, int), Categories.numbered(2))
    >>> design.columns_exact(0)   # of three records, half a one leaves
    {0: Fraction(5, 6), 1: Fraction(1, 6)}
    """
    moves = np.array([flow > 0 for flow in flows])
    pattern = BlockPattern.of(blocks, amounts.support & moves[blocks])
    above, below = _numerators(flows, amounts, pattern)
    others = np.maximum(pattern.sizes - 1, 0)[pattern.members]
    inside = pattern.members >= 0
    leave = np.where(inside, above[pattern.members], 0)
    stay = np.where(inside, others * (below[pattern.members] * amounts.integers - leave), 1)
    divisor = np.gcd(leave, stay)
    return pattern.fill(stay // divisor, leave // divisor, inputs)


def _numerators(flows: Sequence[Fraction], amounts: Amounts, pattern: BlockPattern) -> tuple[Array, Array]:
    """Numerators and denominators of the flows, in integers wide enough for all that is made of them."""
    above, below = [flow.numerator for flow in flows], [flow.denominator for flow in flows]
    bound = int(pattern.sizes.max()) * max(max(below) * int(amounts.integers.max()), *above)
    return as_words(np.array(above, dtype=object), bound), as_words(np.array(below, dtype=object), bound)


def least_by_block(amounts: Amounts, blocks: Array) -> list[int]:
    """The smallest count of each block, of the states that occur; 0 where none does."""
    occurring = amounts.support
    order = np.argsort(blocks[occurring], kind="stable")
    block_of, values = blocks[occurring][order], amounts.integers[occurring][order]
    first = np.flatnonzero(np.concatenate([[True], block_of[1:] != block_of[:-1]]))
    least = [0] * (int(blocks.max()) + 1)
    for block, smallest in zip(block_of[first].tolist(), np.minimum.reduceat(values, first).tolist(), strict=True):
        least[block] = smallest
    return least


# ---- symmetric flows


EXACT_BITS = 200
"""Flows over a common denominator of more bits than this are rounded."""


_LEAST_BITS = 48  # bits that a column of the smallest count keeps at least


def from_flows(flows: Array, totals: Array, places: Array, inputs: Categories) -> Sparse:
    """The design with these flows between the states at ``places``, shape (l, l), in integers; all others stay.

    ``places`` increase. The diagonal of ``flows`` is not read: it is what is left of ``totals``, shape (l,).
    """
    np.fill_diagonal(flows, 0)
    np.fill_diagonal(flows, totals - flows.sum(axis=0))
    lengths = np.ones(len(inputs), dtype=np.int64)
    lengths[places] = len(places)
    columns = np.repeat(np.arange(len(inputs)), lengths)
    moving = np.zeros(len(inputs), dtype=bool)
    moving[places] = True
    inside, rows = moving[columns], columns.copy()
    numerators = np.ones(len(columns), dtype=flows.dtype)
    rows[inside], numerators[inside] = np.tile(places, len(places)), flows.T.ravel()
    return from_sorted(columns, rows, numerators, inputs)


def rounding_bits(amounts: Amounts) -> int:
    """Binary places that rounded flows get: as many as fit a machine word, more where the smallest count needs them.

    >>> from maskwell.release.matrices.amounts import read_amounts
    >>> rounding_bits(read_amounts([1000, 1]))   # multiples of 2**-51 of a record
    51
    """
    counts = amounts.integers[amounts.support]
    largest, smallest = int(counts.max()).bit_length(), int(counts.min()).bit_length()
    return max(0, WIDE.bit_length() - 2 - largest, _LEAST_BITS - smallest)


def rounding_note(amounts: Amounts, bits: int) -> str:
    """What the rounding did, in words."""
    unit = "a record" if amounts.whole else f"the weight {1 / amounts.scale:g}"
    return f"flows between categories are rounded down to multiples of 2^-{bits} of {unit}; what is left stays"


# ---- what a matrix says of how it was made


def with_notes(design: Sparse, amounts: Amounts, method: str, *notes: str, **options: Any) -> Sparse:
    """The design with its method and options, what it is invariant for, and notes in words."""
    kept = "counts" if amounts.whole else "weights"
    texts = [*notes, *unprotected_note(design, amounts)]
    return design.with_provenance(method=method, **options, invariance=kept, notes=texts)


def unprotected_states(design: Sparse, v: Array) -> Array:
    """The states that occur and are always released as they are, by number.

    >>> from maskwell.core import Categories
    >>> unprotected_states(Sparse.unchanged(Categories.numbered(3)), np.array([5, 0, 2])).tolist()
    [0, 2]
    """
    lengths = np.diff(design.starts)
    alone = lengths == 1
    alone[alone] = design.rows[design.starts[:-1][alone]] == np.flatnonzero(alone)
    return np.flatnonzero(alone & np.asarray(v > 0, dtype=bool))


def unprotected_note(design: Sparse, amounts: Amounts) -> list[str]:
    """That some states never change, and how many records that concerns, where counts are known."""
    states = unprotected_states(design, amounts.integers)
    if not len(states):
        return []
    held = f" ({int(amounts.integers[states].sum()):,} records)" if amounts.whole else ""
    return [f"{len(states):,} of {int(amounts.support.sum()):,} categories that occur{held} are never changed"]

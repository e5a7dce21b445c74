"""Matrices with symmetric flows, which are invariant however they are rounded.

A flow ``F_ij = p_ij v_j`` is the expected number of records that go from j to i. Where F is symmetric, every flow off
the diagonal may be rounded down, both of a pair alike, and the diagonal may take what is left of v: columns and rows
then still sum to v exactly. So these matrices are exact and invariant even where their formula has huge denominators.
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.designs.sparse import Sparse
from maskwell.release.matrices.assembling import from_sorted
from maskwell.release.matrices.counts import WIDE, Amounts

EXACT_BITS = 200
"""Flows over a common denominator of more bits than this are rounded."""

_RESOLVED = 48  # bits that a column of the smallest count keeps at least


def rounding_bits(amounts: Amounts) -> int:
    """Binary places that rounded flows get: as many as fit a machine word, more where the smallest count needs them.

    >>> from maskwell.release.matrices.counts import read_amounts
    >>> rounding_bits(read_amounts([1000, 1]))   # multiples of 2**-51 of a record
    51
    """
    counts = amounts.integers[amounts.support]
    largest, smallest = int(counts.max()).bit_length(), int(counts.min()).bit_length()
    return max(0, WIDE.bit_length() - 2 - largest, _RESOLVED - smallest)


def rounding_note(amounts: Amounts, bits: int) -> str:
    """What the rounding did, in words."""
    unit = "a record" if amounts.whole else f"the weight {1 / amounts.scale:g}"
    return f"flows between categories are rounded down to multiples of 2^-{bits} of {unit}; what is left stays"


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

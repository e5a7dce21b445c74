"""What a matrix says of how it was made: its method, what it keeps on average, and what a reader should know."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.designs.sparse import Sparse
from maskwell.release.matrices.counts import Amounts


def noted(design: Sparse, amounts: Amounts, method: str, *notes: str, **options: Any) -> Sparse:
    """The design with its method and options, what it is invariant for, and notes in words."""
    kept = "counts" if amounts.whole else "weights"
    said = [*notes, *unprotected_note(design, amounts)]
    return design.with_provenance(method=method, **options, invariance=kept, notes=said)


def unprotected_states(design: Sparse, v: Array) -> Array:
    """The states that occur and are always released as they are, by number.

    >>> from maskwell.core.categories import Categories
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

"""Names for the array kinds that travel between rooms; for type checkers and readers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""An array whose kind the context tells."""

Real: TypeAlias = NDArray[np.float64]
"""Proportions, matrices, covariances."""

Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Category codes 0..k-1 in the smallest unsigned type that holds them."""

Bits: TypeAlias = NDArray[np.uint8]
"""Sets of categories, shape (n, ceil(k/8)): category j is bit j % 8, least significant first, of byte j // 8."""

Words: TypeAlias = NDArray[np.uint32]
"""Random words, shape (rows, words per row)."""


def code_type(count: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes 0..count-1.

    >>> code_type(256), code_type(257)
    (dtype('uint8'), dtype('uint16'))
    """
    return np.dtype(next(f"u{size}" for size in (1, 2, 4, 8) if count <= 2 ** (8 * size) or size == 8))

"""Rows of a matrix that tell the same: merging them changes nothing."""

from __future__ import annotations

import numpy as np

from maskwell.core.arrays import Real


def reduced_rows(P: Real, rtol: float = 1e-9) -> Real:
    """Drop rows of zeros and add up proportional rows. Source: [ChaiNayak2018, Remark 4.1].

    >>> reduced_rows(np.array([[0.3, 0.1], [0.3, 0.1], [0.4, 0.8]])).round(3).tolist()
    [[0.6, 0.2], [0.4, 0.8]]
    """
    rows = P[P.sum(axis=1) > 0]
    shape = rows / rows.sum(axis=1, keepdims=True)
    merged: list[Real] = []
    left = np.ones(len(rows), dtype=bool)
    for i in range(len(rows)):
        if left[i]:
            alike = left & np.isclose(shape, shape[i], rtol=rtol, atol=0).all(axis=1)
            merged.append(rows[alike].sum(axis=0))
            left &= ~alike
    return np.array(merged)

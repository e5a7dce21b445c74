"""Flows: how many records a matrix is expected to move from each state to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import check_kind
from maskwell.designs.sparse import Sparse
from maskwell.errors import MatrixError
from maskwell.release.matrices.counts import check_lengths, read_amounts


def flows(design: Sparse, v: Any) -> Any:
    """``F_ij = p_ij v_j``, the expected number of records that go from j to i, as a ``scipy.sparse.csc_array``.

    >>> from maskwell.release.matrices.method1 import method1
    >>> flows(method1([12, 8, 3], "2/3"), [12, 8, 3]).toarray().round(9).tolist()   # each category gives two records
    [[10.0, 1.0, 1.0], [1.0, 6.0, 1.0], [1.0, 1.0, 1.0]]
    """
    counts = read_amounts(v, weighted=True).floats
    if len(counts) != design.k:
        raise MatrixError(
            f"{len(counts)} counts for a matrix of {design.k} categories", hint="give one count for each category"
        )
    found = design.csc()
    found.data = found.data * np.repeat(counts, np.diff(design.starts))
    return found


def expected_changed(design: Sparse, v: Any) -> float:
    """``1 - sum_j p_jj v_j / sum(v)``: the share of the records that are expected to change.

    >>> from maskwell.release.matrices.method1 import method1
    >>> round(expected_changed(method1([12, 8, 3], "2/3"), [12, 8, 3]), 4)   # six records of twenty-three
    0.2609
    """
    check_kind(Sparse, design=design)
    counts = read_amounts(v, weighted=True).floats
    check_lengths(design, counts)
    return float(((1 - design.diagonal()) * counts).sum() / counts.sum())

"""What a matrix does to the counts of a file: whether it keeps them, and what it reveals about them.

Where ``P v = v``, who knows P and the total of every group of states that exchange records knows v: to publish such a
matrix is to publish v.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_real, check_kind
from maskwell.core.phrases import shorten
from maskwell.core.verdicts import below
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.errors import CountsError, MatrixError, NotInvariantError, ParameterError, PublishError, TooLargeError
from maskwell.microdata.matrices.bounds import check_one_each, read_amounts
from maskwell.microdata.matrices.matrix_patterns import as_sparse, places_by_cell

TOLERANCE = 1e-9  # Of the total: a matrix that moves an expected count by no more is invariant
DENSE_STATES = 2000  # States that exchange records whose counts are worked out from P in one go


def invariance_error(design: CodedDesign, v: Any) -> float:
    """``max_i |(P v)_i - v_i| / sum(v)``: how far the matrix moves a share [Adeshiyan2011, eq. (4.5)]."""
    counts = _square_counts(design, v)
    return float(np.abs(design.forward(counts) - counts).max() / counts.sum())


def is_invariant(design: CodedDesign, v: Any) -> bool:
    """Whether ``P v = v`` within 1e-9 of the total.

    >>> from maskwell.microdata.matrices import method1
    >>> is_invariant(method1([12, 8, 3], "2/3"), [12, 8, 3])
    True
    """
    check_kind(CodedDesign, design=design)
    return invariance_error(design, v) <= TOLERANCE


def check_invariant(design: CodedDesign, v: Any) -> None:
    """Raise unless the matrix is invariant for v; names the category that it moves most."""
    counts = _square_counts(design, v)
    moved = design.forward(counts) - counts
    worst = int(np.abs(moved).argmax())
    change = float(moved[worst] / counts.sum())
    if abs(change) > TOLERANCE:
        raise NotInvariantError(
            "the-matrix-does-not-keep-the",
            worst_number=worst + 1,
            values=shorten(repr(design.inputs.labels[worst]), 80),
            category=worst,
            change=change,
        )


def _square_counts(design: CodedDesign, v: Any) -> Real:
    counts = read_amounts(v, weighted=True).floats
    if design.k != len(counts) or design.m != design.k:
        raise MatrixError("a-matrix-of-reports-by-categories-for", m=design.m, k=design.k, counts_count=len(counts))
    return counts


def flows(design: Sparse, v: Any) -> Any:
    """``F_ij = p_ij v_j``, the expected number of records that go from j to i, as a ``scipy.sparse.csc_array``."""
    counts = read_amounts(v, weighted=True).floats
    if len(counts) != design.k:
        raise MatrixError("counts-for-a-matrix-of-categories", counts_count=len(counts), k=design.k)
    moved = design.csc()
    moved.data = moved.data * np.repeat(counts, np.diff(design.starts))
    return moved


def expected_changed(design: Sparse, v: Any) -> float:
    """``1 - sum_j p_jj v_j / sum(v)``: the share of the records that are expected to change.

    >>> from maskwell.microdata.matrices import method1
    >>> round(expected_changed(method1([12, 8, 3], "2/3"), [12, 8, 3]), 4)   # six records of twenty-three
    0.2609
    """
    check_kind(Sparse, design=design)
    counts = read_amounts(v, weighted=True).floats
    check_one_each(design, counts)
    return float(((1 - design.diagonal()) * counts).sum() / counts.sum())


def recover_counts(design: CodedDesign, n: Any) -> Real:
    """What an invariant matrix and the released file reveal of the counts: ``P x = x`` [Adeshiyan2011, section 4.6]."""
    groups = as_sparse(design).components()
    totals = _totals(n, groups)
    counts = np.zeros(design.k)
    for members in places_by_cell(groups):
        counts[members] = _stationary(design, members) * totals[groups[members[0]]]
    return counts


def check_publishable(design: CodedDesign, v: Any, clearance: str | None) -> None:
    """Raise where publishing the matrix would publish counts, unless they are cleared for release.

    It would where the matrix is invariant, and where ``x`` with ``P x = x`` and the totals of states that exchange
    records gives each of their counts with an error below 1/2, as a rounded invariant matrix does. The second is
    looked at where at most 2,000 states exchange records.

    Parameters
    ----------
    v
        The counts of the file, or of whatever the matrix was made from.
    clearance
        Why these counts may be known; goes to the log. An empty text is none.

    Source: [Adeshiyan2011, section 4.6].
    """
    check_kind(CodedDesign, design=design)
    check_kind(str | None, clearance=clearance)
    counts = _square_counts(design, v)
    if (clearance or "").strip():
        return
    kept = is_invariant(design, v)
    if not kept and design.k > DENSE_STATES and not isinstance(design, Sparse):
        return
    groups = as_sparse(design).components()
    sizes = np.bincount(groups)
    exchanging = sizes[groups] > 1
    recovered = recover_counts(design, counts) if sizes.max() <= DENSE_STATES else None
    told = int((exchanging & (counts > 0)).sum())
    if told and (kept or (recovered is not None and below(np.abs(recovered - counts)[exchanging], 0.5).all())):
        raise PublishError(
            "this-matrix-reveals-the-true-counts", value_sum=int((counts > 0).sum()), told=told, recovered=recovered
        )


def _totals(n: Any, groups: Array) -> Real:
    if as_array(n, "n").ndim == 1:
        counts = read_amounts(n, weighted=True).floats
        if len(counts) != len(groups):
            raise CountsError("counts-for-categories-give-one", counts_count=len(counts), groups_count=len(groups))
        return np.asarray(np.bincount(groups, counts), dtype=np.float64)
    if groups.max():
        raise ParameterError("the-matrix-has-groups-of-states", groups_max_number=int(groups.max()) + 1)
    return np.array([as_real(n, "n", low=0)])


def _stationary(design: CodedDesign, members: Array) -> Real:
    """Shares x of the states of one group with ``P x = x``, by least squares."""
    if len(members) == 1:
        return np.ones(1)
    if len(members) > DENSE_STATES:
        raise TooLargeError(
            "states-exchange-records-counts-are-worked", members_count=len(members), dense_states=DENSE_STATES
        )
    system = np.vstack([design.entries(members, members) - np.eye(len(members)), np.ones(len(members))])
    return np.asarray(np.linalg.lstsq(system, np.eye(len(members) + 1)[-1], rcond=None)[0])


def expected_failures(design: Sparse, counts: Any, forbidden: Array) -> float:
    """The expected number of released records in forbidden cells: ``sum_{i forbidden} (P N)_i``."""
    amounts = read_amounts(counts, weighted=True).floats
    check_one_each(design, amounts)
    released = design.forward(amounts)
    return float(released[_flags(forbidden, len(released))].sum())


def _flags(forbidden: Any, cells: int) -> Array:
    flags = as_array(forbidden, "forbidden")
    if flags.shape != (cells,) or flags.dtype.kind not in "bui":
        raise ParameterError("forbidden-has-shape-of-for-cells", shape=flags.shape, dtype=flags.dtype, cells=cells)
    return flags.astype(bool)

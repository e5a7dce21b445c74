"""Edit rules: combinations that must not occur, and that no release may create.

A matrix that is invariant over the cells themselves never creates a cell that does not occur: what flows into an empty
cell adds up to its count, which is zero. Variables that are randomized one by one do create such cells.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array, check_kind
from maskwell.core.arrays import Array
from maskwell.core.phrases import shorten
from maskwell.designs.sparse import Sparse
from maskwell.errors import EditRuleError, ParameterError
from maskwell.release.matrices.counts import check_lengths, read_amounts


def check_no_forbidden(counts: Any, forbidden: Array, labels: Sequence[Hashable] | None = None) -> None:
    """Raise where records lie in forbidden cells; the error keeps the fullest and how many records lie there.

    Parameters
    ----------
    counts
        Records in each cell.
    forbidden
        Shape (cells,): which cells must not occur.
    labels
        Names of the cells, for the message.

    Source: [Adeshiyan2011, section 4.5.2].

    >>> check_no_forbidden([30, 0, 20, 50], np.array([False, True, False, False]))   # no married children: nothing said
    """
    records = read_amounts(counts).integers
    inside = np.where(_flags(forbidden, len(records)), records, 0)
    total, worst = int(inside.sum()), int(inside.argmax())
    if total:
        name = shorten(repr(worst if labels is None else labels[worst]), 80)
        raise EditRuleError(
            f"{_records(total)} in forbidden cells, most in cell {worst + 1}",
            hint="correct these records before the release, or take the rule out",
            values=f"{_records(int(inside[worst]))} in {name}, {_records(total)} in all such cells",
            cell=worst,
            count=int(inside[worst]),
            total=total,
        )


def _flags(forbidden: Any, cells: int) -> Array:
    found = as_array(forbidden, "forbidden")
    if found.shape != (cells,) or found.dtype.kind not in "bui":
        raise ParameterError(
            f"forbidden has shape {found.shape} of {found.dtype} for {cells:,} cells",
            hint="give True or False for each",
        )
    return found.astype(bool)


def check_never_creates(design: Sparse, forbidden: Array) -> None:
    """Raise where the matrix could turn an allowed state into a forbidden one.

    >>> check_never_creates(Sparse.of_matrix([[0.5, 0], [0.5, 1]]), np.array([True, False]))   # never into state 0
    """
    check_kind(Sparse, design=design)
    bad = _flags(forbidden, design.m)
    origins = np.repeat(np.arange(design.k), np.diff(design.starts))
    wrong = np.flatnonzero(bad[design.rows] & ~bad[origins])
    if len(wrong):
        made, origin = int(design.rows[wrong[0]]), int(origins[wrong[0]])
        names = [shorten(repr(label), 80) for label in (design.inputs.labels[origin], design.outputs.labels[made])]
        raise EditRuleError(
            f"the matrix can turn category {origin + 1} into category {made + 1}, which a rule forbids",
            hint="randomize within the columns of the rule, or jointly with them",
            values=f"{names[0]} into {names[1]}",
            origin=origin,
            made=made,
        )


def expected_failures(design: Sparse, counts: Any, forbidden: Array) -> float:
    """The expected number of released records in forbidden cells: ``sum_{i forbidden} (P N)_i``.

    >>> from maskwell.release.matrices.method1 import method1
    >>> expected_failures(method1([30, 0, 20], "1/2"), [30, 0, 20], np.array([False, True, False]))
    0.0
    """
    check_kind(Sparse, design=design)
    amounts = read_amounts(counts, weighted=True).floats
    check_lengths(design, amounts)
    released = design.forward(amounts)
    return float(released[_flags(forbidden, len(released))].sum())


def _records(count: int) -> str:
    return f"{count:,} record{'' if count == 1 else 's'}"

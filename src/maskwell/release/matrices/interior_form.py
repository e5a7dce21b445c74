"""The form of a program that the interior-point method works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real


@dataclass(frozen=True, eq=False)
class Layout:
    """Where things are.

    Attributes
    ----------
    released, true
        Shape (flows,): the states of each flow.
    states
        How many there are. The first equations are the sums of rows, then come those of columns, one for each.
    by_state
        Groups of other unknowns, one for each released state.
    even
        Shape (flows,): flows that are alike for all truths, to start from.
    """

    released: Array
    true: Array
    states: int
    by_state: tuple[Array, ...]
    even: Real


@dataclass(frozen=True, eq=False)
class Standard:
    """The program with at most one flow and one other unknown in each row of G; the flows are the first unknowns."""

    cost: Real
    A: Any
    b: Real
    G: Any
    h: Real
    lower: Real
    upper: Real
    layout: Layout

    @property
    def flows(self) -> int:
        """How many flows there are."""
        return len(self.layout.true)


def standard(
    cost: Real, A_ub: Any, b_ub: Real, A_eq: Any, b_eq: Real, lower: Real, upper: Real, layout: Layout
) -> Standard:
    """Rows with several flows, or with several others, become equations with a slack of their own."""
    from scipy.sparse import bmat, csr_matrix, hstack, identity

    A_ub, flows = csr_matrix(A_ub), len(layout.true)
    several = (np.diff(A_ub[:, :flows].indptr) > 1) | (np.diff(A_ub[:, flows:].indptr) > 1)
    wide, count = A_ub[several], int(several.sum())
    return Standard(
        np.concatenate([cost, np.zeros(count)]),
        csr_matrix(bmat([[csr_matrix(A_eq), None], [wide, identity(count)]])) if count else csr_matrix(A_eq),
        np.concatenate([b_eq, b_ub[several]]),
        csr_matrix(hstack([A_ub[~several], csr_matrix((int((~several).sum()), count))])),
        b_ub[~several],
        np.concatenate([lower, np.zeros(count)]),
        np.concatenate([upper, np.full(count, np.inf)]),
        layout,
    )

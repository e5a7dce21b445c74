"""What randomizing the records of a file adds to the variance of its shares, given the file.

With N the counts of the file and M those of the released file, n records in all, drawn independently with P:

    E(M | N) = P N,     C = Cov(M / n | N) = (D_{PN} - P D_N P') / n^2

whatever P is. Source: [Adeshiyan2011, eqs. (4.11), (4.12)], [NayakZhangAdeshiyan2016, eqs. (2.4), (2.7)].
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arguments import Real
from maskwell.designs.coded import CodedDesign
from maskwell.errors import MatrixError, NotInvariantError

INVARIANT = 1e-9
"""A matrix keeps counts if none of them moves by more than this part of their sum."""


def check_keeps(design: CodedDesign, counts: Real) -> None:
    """Raise unless ``P v = v`` up to 1e-9 of the sum of v."""
    if len(counts) != design.k:
        raise MatrixError(
            "counts-for-a-matrix-of-rows",
            values_count=len(counts),
            m=design.m,
            k=design.k,
            expected=design.k,
            what="columns",
        )
    moved = np.abs(design.forward(counts) - counts) if design.m == design.k else np.array([np.inf])
    place = int(moved.argmax())
    if not moved[place] <= INVARIANT * counts.sum():
        raise NotInvariantError(
            "the-matrix-does-not-keep", place=place, moved=moved[place], largest=float(moved[place])
        )


def covariance_of_counts(design: CodedDesign, masses: Real) -> Real:
    """``D_{Ps} - P D_s P'``, shape (m, m)."""
    P = design.entries(np.arange(design.m), np.arange(design.k))
    return np.asarray(np.diag(design.forward(masses)) - (P * masses) @ P.T)


def variance_of_counts(design: CodedDesign, masses: Real) -> Real:
    """Its diagonal, ``sum_j s_j p_ij (1 - p_ij)``, without the rest."""
    return np.asarray(design.forward(masses) - design.forward_squared(masses))

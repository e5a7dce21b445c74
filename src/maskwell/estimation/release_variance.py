"""What randomizing the records of a file adds to the variance of its shares, given the file.

With N the counts of the file and M those of the released file, n records in all, drawn independently with P:

    E(M | N) = P N,     C = Cov(M / n | N) = (D_{PN} - P D_N P') / n^2

whatever P is. With survey weights, W their sum and s the sums of their squares by category,

    C = (D_{Ps} - P D_s P') / W^2

For a P with ``P N = N`` the variance of a share at most doubles: ``0 <= C <= (D_p - p p') / n`` with p = N / n.

Source: [Adeshiyan2011, eqs. (4.11), (4.12)], [NayakZhangAdeshiyan2016, eqs. (2.4), (2.7)]; with weights derived.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, check_counts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.errors import MatrixError, NotInvariantError, ParameterError

COVARIANCE_LIMIT = 2000
"""With more categories than this only variances are worked out."""

INVARIANT = 1e-9
"""A matrix keeps counts if none of them moves by more than this part of their sum."""


def conditional_covariance(P: Any, counts: Any) -> Real:
    """Covariance of the released shares given the file, ``(D_{PN} - P D_N P') / n^2``, shape (m, m).

    Source: [Adeshiyan2011, eq. (4.11)], [NayakZhangAdeshiyan2016, eq. (2.4)].
    """
    design, N = _design_and_counts(P, check_counts(counts))
    return np.asarray(covariance_of_counts(design, N) / N.sum() ** 2)


def conditional_variance(P: Any, counts: Any) -> Real:
    """The diagonal of :func:`conditional_covariance`, shape (m,), for any number of categories."""
    design, N = _design_and_counts(P, check_counts(counts))
    return np.asarray(variance_of_counts(design, N) / N.sum() ** 2)


def weighted_covariance(P: Any, weights: Any, squares: Any) -> Real:
    """Covariance of the released weighted shares given the file, ``(D_{Ps} - P D_s P') / W^2``, shape (m, m).

    where ``weights`` and ``squares`` are the sums of the weights (their sum is W) and of the squared weights (s) by
    category, shape (k,). Source: derived, for the estimate of [NayakZhangAdeshiyan2016, eq. (2.7)].
    """
    design, s = _design_and_counts(P, check_counts(squares, weighted=True, name="squares"))
    return np.asarray(covariance_of_counts(design, s) / _total(weights) ** 2)


def weighted_variance(P: Any, weights: Any, squares: Any) -> Real:
    """The diagonal of :func:`weighted_covariance`, shape (m,), for any number of categories."""
    design, s = _design_and_counts(P, check_counts(squares, weighted=True, name="squares"))
    return np.asarray(variance_of_counts(design, s) / _total(weights) ** 2)


def variance_inflation(P: Any, counts: Any) -> Real:
    """How many times larger the variance of each share is than without randomizing, shape (k,): from 1 to 2.

        VIF_i = 1 + n C_ii / (p_i (1 - p_i)),    p = N / n

    for a P that keeps the counts. 1 for shares of 0 and 1. ``n / VIF_i`` is the effective number of records.
    Source: [Adeshiyan2011, section 4.6]; as a factor derived.

    >>> P = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> variance_inflation(P, [12, 8, 3]).round(3).tolist()   # 23 records tell as much as about 12
    [1.973, 1.998, 1.942]
    """
    design, N = _design_and_counts(P, check_counts(counts))
    check_keeps(design, N)
    n = N.sum()
    open_variance = N / n * (1 - N / n) / n
    added = variance_of_counts(design, N) / n**2
    return np.asarray(1 + np.divide(added, open_variance, out=np.zeros(len(N)), where=open_variance > 0))


def contrast_inflation(P: Any, counts: Any, coefficients: Any) -> float:
    """The same for a sum of shares with factors a: ``1 + n a'Ca / a'(D_p - p p')a``; 1 where that is 0 / 0.

    Source: derived.
    """
    design, N = _design_and_counts(P, check_counts(counts))
    check_keeps(design, N)
    a, p = check_coefficients(coefficients, len(N)), N / N.sum()
    spread = float(p @ a**2 - (p @ a) ** 2)
    added = float(a @ covariance_of_counts(design, N) @ a) / float(N.sum())
    return 1 + added / spread if spread > INVARIANT * float((a**2).max()) else 1.0


def check_coefficients(coefficients: Any, k: int) -> Real:
    """One finite factor for each category, or an error."""
    a = as_floats(coefficients, "coefficients", finite=False)
    if a.shape != (k,) or not np.isfinite(a).all():
        raise ParameterError("coefficients-of-shape-for-categories", shape=a.shape, k=k, coefficients=coefficients)
    return a


def check_keeps(design: CodedDesign, counts: Real) -> None:
    """Raise unless ``P v = v`` up to 1e-9 of the sum of v."""
    check_length(design, counts, design.k, "columns")
    moved = np.abs(design.forward(counts) - counts) if design.m == design.k else np.array([np.inf])
    place = int(moved.argmax())
    if not moved[place] <= INVARIANT * counts.sum():
        raise NotInvariantError(
            "the-matrix-does-not-keep", place=place, moved=moved[place], largest=float(moved[place])
        )


# ---- the two sums everything is made of


def covariance_of_counts(design: CodedDesign, masses: Real) -> Real:
    """``D_{Ps} - P D_s P'``, shape (m, m)."""
    return np.diag(design.forward(masses)) - second_moments(design, masses)


def second_moments(design: CodedDesign, masses: Real) -> Real:
    """``P D_s P'``, shape (m, m)."""
    P = design.entries(np.arange(design.m), np.arange(design.k))
    return np.asarray((P * masses) @ P.T)


def variance_of_counts(design: CodedDesign, masses: Real) -> Real:
    """Its diagonal, ``sum_j s_j p_ij (1 - p_ij)``, without the rest."""
    return np.asarray(design.forward(masses) - design.forward_squared(masses))


def _design_and_counts(P: Any, masses: Real) -> tuple[CodedDesign, Real]:
    design = design_of(P)
    check_length(design, masses, design.k, "true categories")
    return design, masses


def check_length(design: CodedDesign, values: Array, expected: int, what: str) -> None:
    """Raise unless there is one value for each category."""
    if len(values) != expected:
        raise MatrixError(
            "counts-for-a-matrix-of-rows",
            values_count=len(values),
            m=design.m,
            k=design.k,
            expected=expected,
            what=what,
        )


def _total(weights: Any) -> float:
    return float(check_counts(weights, weighted=True, name="weights").sum())

"""Checking, in fractions, that one design is sufficient for another, or that it is not.

A design P is *sufficient* for a design A on the same categories when ``A = C P`` for a transition matrix C, the
*garbling*. What disproves it is a *gain matrix* G, a decision problem in which A wins more than P can:

    sum_ij G_ij a_ij  >  sum_u max_i sum_j G_ij p_uj

Source: [ChaiNayak2018, Definition 4.1] for the order; the gain matrix is the dual of that definition, derived.
"""

from __future__ import annotations

from fractions import Fraction

from maskwell.core.exact import sum_of
from maskwell.designs.rational import Rows, product, transposed


def verify_garbling(C: Rows, P: Rows, A: Rows) -> bool:
    """Whether C is a transition matrix and ``A = C P`` holds exactly."""
    return _fits(C, len(A), len(P)) and is_transition(C) and product(C, P) == [list(row) for row in A]


def verify_gain(G: Rows, P: Rows, A: Rows) -> bool:
    """Whether G has entries in [-1, 1] and lets A win more than P: a proof that P is not sufficient for A."""
    fits = _fits(G, len(A), len(P[0])) and _fits(A, len(A), len(P[0]))
    return fits and all(-1 <= value <= 1 for row in G for value in row) and gain_margin(G, P, A) > 0


def gain_margin(G: Rows, P: Rows, A: Rows) -> Fraction:
    """``sum_ij G_ij a_ij - sum_u max_i sum_j G_ij p_uj``: by how much A wins more than P."""
    won = product([[g for row in G for g in row]], [[a] for row in A for a in row])[0][0]
    return won - sum(map(max, product(P, transposed(G))), Fraction(0))


def garbling_residual(C: Rows, P: Rows, A: Rows) -> Fraction:
    """``max |C P - A|``: how far a garbling of P is from A."""
    made = product(C, P)
    return max(abs(x - y) for row, target in zip(made, A, strict=True) for x, y in zip(row, target, strict=True))


def is_transition(C: Rows) -> bool:
    """Whether all entries are 0 or more and every column sums to one exactly."""
    return all(value >= 0 for row in C for value in row) and all(sum_of(column) == 1 for column in zip(*C, strict=True))


def _fits(X: Rows, rows: int, columns: int) -> bool:
    return len(X) == rows and all(len(row) == columns for row in X)

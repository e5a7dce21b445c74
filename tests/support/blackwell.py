"""The order of designs by other means: for two categories, whether one error curve lies on or below another."""

from __future__ import annotations

import itertools
from fractions import Fraction

Rows = list[list[Fraction]]
Point = tuple[Fraction, Fraction]


def error_curve(rows: Rows) -> list[Point]:
    """Corners of the lower error curve: running sums of the rows, smallest likelihood ratio first."""
    ordered = sorted((row for row in rows if any(row)), key=lambda row: row[1] / (row[0] + row[1]))
    corners = [(Fraction(0), Fraction(0))]
    for a, b in ordered:
        corners.append((corners[-1][0] + a, corners[-1][1] + b))
    return corners


def height(corners: list[Point], x: Fraction) -> Fraction:
    """The lowest point of the curve above x."""
    found = [y for at, y in corners if at == x]
    for (a, b), (c, d) in itertools.pairwise(corners):
        if a < x < c:
            found.append(b + (d - b) * (x - a) / (c - a))
    return min(found)


def tells_as_much(P: Rows, A: Rows) -> bool:
    """Whether P is sufficient for A, both with two columns: nowhere is its error larger."""
    p, a = error_curve(P), error_curve(A)
    return all(height(p, x) <= height(a, x) for x, _ in p + a)

"""Linear algebra without rounding, for small matrices of fractions kept as lists of rows.

Products and eliminations run on integers over common denominators, because sums of fractions spend their time on
greatest common divisors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from maskwell.core.exact import common_denominator

Rows: TypeAlias = Sequence[Sequence[Fraction]]
Matrix: TypeAlias = list[list[Fraction]]
Equation: TypeAlias = tuple[Mapping[int, Fraction], Fraction]
"""``sum_j a_j x_j = b`` as the non-zero ``a_j`` by j, and b."""


def transposed(rows: Rows) -> Matrix:
    """Columns as rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def product(X: Rows, Y: Rows) -> Matrix:
    """``X Y``.

    >>> half = Fraction(1, 2)
    >>> product([[half, half]], [[half, 0], [0, half]])
    [[Fraction(1, 4), Fraction(1, 4)]]
    """
    left, right = [_integers(row) for row in X], [_integers(column) for column in zip(*Y, strict=True)]
    return [[Fraction(sum(map(int.__mul__, a, b)), d * e) for b, e in right] for a, d in left]


def _integers(values: Sequence[Fraction]) -> tuple[list[int], int]:
    denominator = common_denominator(values)
    return [value.numerator * (denominator // value.denominator) for value in values], denominator


def independent_rows(rows: Rows, order: Iterable[int] | None = None) -> list[int]:
    """The rows that do not depend on those before them, in the order given: as many as the rank.

    >>> independent_rows([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)], [Fraction(0), Fraction(1)]])
    [0, 2]
    """
    chosen: list[int] = []
    echelon: list[tuple[int, list[int]]] = []
    for i in range(len(rows)) if order is None else order:
        rest = _reduced(_integers(rows[i])[0], echelon)
        pivot = next((j for j, value in enumerate(rest) if value), None)
        if pivot is not None:
            chosen.append(i)
            echelon.append((pivot, rest))
        if len(chosen) == len(rows[i]):
            break
    return chosen


def _reduced(row: list[int], echelon: list[tuple[int, list[int]]]) -> list[int]:
    """What is left of a row after the echelon, without common factors."""
    for pivot, other in echelon:
        if row[pivot]:
            a, b = other[pivot], row[pivot]
            row = [a * x - b * y for x, y in zip(row, other, strict=True)]
            common = math.gcd(*row)
            row = [x // common for x in row] if common > 1 else row
    return row


def inverse(rows: Rows) -> Matrix:
    """The inverse of a square matrix with independent rows, by elimination without fractions (Bareiss).

    >>> inverse([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])[0]
    [Fraction(3, 2), Fraction(-1, 2)]
    """
    n, scaled = len(rows), [_integers(row) for row in rows]
    work = [numbers + [d * (i == j) for j in range(n)] for i, (numbers, d) in enumerate(scaled)]
    last = 1
    for step in range(n):
        pivot = next(i for i in range(step, n) if work[i][step])
        work[step], work[pivot] = work[pivot], work[step]
        top, last, before = work[step], work[step][step], last
        for i in range(n):
            if i != step:
                factor = work[i][step]
                work[i] = [(last * x - factor * y) // before for x, y in zip(work[i], top, strict=True)]
    return [[Fraction(x, row[i]) for x in row[n:]] for i, row in enumerate(work)]


@dataclass(frozen=True)
class Frame:
    """Rows and columns of a matrix P on which it is invertible, as many as its rank, and that inverse.

    The rows of P are combinations of the rows of the frame, and every vector of the row space is known from its
    entries in the columns of the frame.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    inverse: Matrix

    @classmethod
    def of(cls, P: Rows, order: Iterable[int] | None = None) -> Frame:
        """The frame whose rows come first in ``order``."""
        rows = independent_rows(P, order)
        columns = independent_rows(transposed([P[u] for u in rows]))
        return cls(tuple(rows), tuple(columns), inverse([[P[u][j] for j in columns] for u in rows]))

    @property
    def rank(self) -> int:
        """The rank of P."""
        return len(self.rows)

    def coefficients(self, vectors: Rows) -> Matrix:
        """Row vectors of the row space as combinations of the rows of the frame."""
        return product([[v[j] for j in self.columns] for v in vectors], self.inverse)

    def null_vectors(self, P: Rows) -> Iterable[list[Fraction]]:
        """Vectors x that span ``P x = 0``."""
        k = len(P[0])
        for free in sorted(set(range(k)) - set(self.columns)):
            (inside,) = transposed(product(self.inverse, [[P[u][free]] for u in self.rows]))
            x = [Fraction(j == free) for j in range(k)]
            for j, value in zip(self.columns, inside, strict=True):
                x[j] = -value
            yield x


def solve_sparse(equations: Iterable[Equation]) -> dict[int, Fraction] | None:
    """The only solution of sparse equations; None where there is none, or more than one.

    Short equations are used first, which keeps the rest short.

    >>> solve_sparse([({0: Fraction(2), 1: Fraction(1)}, Fraction(3)), ({1: Fraction(1)}, Fraction(1))])
    {0: Fraction(1, 1), 1: Fraction(1, 1)}
    """
    left = [(dict(terms), value) for terms, value in equations]
    unknowns = {j for terms, _ in left for j in terms}
    solved: list[tuple[int, dict[int, Fraction], Fraction]] = []
    while left:
        left.sort(key=lambda equation: -len(equation[0]))
        terms, value = left.pop()
        if not terms:
            if value:
                return None
            continue
        pivot = min(terms)
        scale = terms.pop(pivot)
        terms, value = {j: a / scale for j, a in terms.items()}, value / scale
        solved.append((pivot, terms, value))
        left = [_without(pivot, terms, value, equation) for equation in left]
    return _back(solved) if len(solved) == len(unknowns) else None


def _without(
    pivot: int, terms: Mapping[int, Fraction], value: Fraction, equation: tuple[dict[int, Fraction], Fraction]
) -> tuple[dict[int, Fraction], Fraction]:
    """An equation after ``x_pivot = value - terms`` has been put in."""
    others, rest = equation
    factor = others.pop(pivot, None)
    if factor is None:
        return equation
    for j, a in terms.items():
        others[j] = others.get(j, Fraction(0)) - factor * a
        if not others[j]:
            del others[j]
    return others, rest - factor * value


def _back(solved: list[tuple[int, dict[int, Fraction], Fraction]]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = {}
    for pivot, terms, value in reversed(solved):
        found[pivot] = value - sum((a * found[j] for j, a in terms.items()), Fraction(0))
    return found

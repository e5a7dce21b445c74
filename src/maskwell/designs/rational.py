"""Linear algebra without rounding: small matrices of fractions as lists of rows, worked on over common denominators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from maskwell.core.exact import common_denominator

_PRIME = 2**61 - 1  # one word: ranks are worked out modulo it first, then checked

Rows: TypeAlias = Sequence[Sequence[Fraction]]
Matrix: TypeAlias = list[list[Fraction]]
Equation: TypeAlias = tuple[Mapping[int, Fraction], Fraction]  # ``sum_j a_j x_j = b``: the non-zero ``a_j`` by j, and b


def transposed(rows: Rows) -> Matrix:
    """Columns as rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def product(X: Rows, Y: Rows) -> Matrix:
    """``X Y``."""
    left, right = [_integers(row) for row in X], [_integers(column) for column in zip(*Y, strict=True)]
    return [[Fraction(sum(map(int.__mul__, a, b)), d * e) for b, e in right] for a, d in left]


def _integers(values: Sequence[Fraction]) -> tuple[list[int], int]:
    denominator = common_denominator(values)
    return [value.numerator * (denominator // value.denominator) for value in values], denominator


def independent_rows(rows: Rows, order: Iterable[int] | None = None, prime: int | None = None) -> list[int]:
    """The rows that do not depend on those before them, in the order given: as many as the rank."""
    numbers, chosen = _over_columns(rows)[0], []
    echelon: list[tuple[int, list[int]]] = []
    for i in range(len(rows)) if order is None else order:
        rest = _reduced(numbers[i], echelon, prime)
        pivot = next((j for j, value in enumerate(rest) if value), None)
        if pivot is not None:
            chosen.append(i)
            echelon.append((pivot, rest))
        if len(chosen) == len(rest):
            break
    return chosen


def _reduced(row: list[int], echelon: list[tuple[int, list[int]]], prime: int | None) -> list[int]:
    """What is left of a row after the echelon: modulo the prime, or without common factors."""
    for pivot, other in echelon:
        if row[pivot]:
            a, b = other[pivot], row[pivot]
            row = [a * x - b * y for x, y in zip(row, other, strict=True)]
            common = 1 if prime else math.gcd(*row)
            row = [x % prime for x in row] if prime else [x // common for x in row] if common else row
    return [x % prime for x in row] if prime else row


def _over_columns(rows: Rows) -> tuple[list[list[int]], list[int]]:
    """Integers and one denominator for each column, which keeps the integers of a transition matrix small."""
    columns = [_integers(column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*(numbers for numbers, _ in columns), strict=True)], [d for _, d in columns]


def inverse(rows: Rows) -> Matrix:
    """The inverse of a square matrix with independent rows, by elimination without fractions (Bareiss)."""
    n, (numbers, denominators) = len(rows), _over_columns(rows)
    work = [row + [int(i == j) for j in range(n)] for i, row in enumerate(numbers)]
    last = 1
    for step in range(n):
        pivot = next(i for i in range(step, n) if work[i][step])
        work[step], work[pivot] = work[pivot], work[step]
        top, last, before = work[step], work[step][step], last
        for i in range(n):
            if i != step:
                factor = work[i][step]
                work[i] = [(last * x - factor * y) // before for x, y in zip(work[i], top, strict=True)]
    return [[Fraction(d * x, last) for x in row[n:]] for row, d in zip(work, denominators, strict=True)]


@dataclass(frozen=True)
class Frame:
    """Rows and columns of P, as many as its rank, on which it is invertible, and that inverse."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    inverse: Matrix

    @classmethod
    def of(cls, P: Rows, order: Sequence[int] | None = None) -> Frame:
        """The frame whose rows come first in ``order``."""
        frame = cls._modulo(P, order, _PRIME)
        return frame if frame.spans(P) else cls._modulo(P, order, None)

    @classmethod
    def _modulo(cls, P: Rows, order: Sequence[int] | None, prime: int | None) -> Frame:
        rows = independent_rows(P, order, prime)
        columns = independent_rows(transposed([P[u] for u in rows]), None, prime)
        return cls(tuple(rows), tuple(columns), inverse([[P[u][j] for j in columns] for u in rows]))

    def spans(self, P: Rows) -> bool:
        """Whether every row of P is a combination of the rows of the frame."""
        return self.rank == len(P) or not any(any(map(any, product(P, [[v] for v in x]))) for x in self.null_vectors(P))

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
    """The only solution of sparse equations; None where there is none, or more than one."""
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
    if len(solved) < len(unknowns):
        return None
    solution: dict[int, Fraction] = {}
    for pivot, terms, value in reversed(solved):
        solution[pivot] = value - sum((a * solution[j] for j, a in terms.items()), Fraction(0))
    return solution


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

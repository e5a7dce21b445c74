"""Any transition matrix, as integers over one denominator for each column. Source: [ChaiNayak2018, section 1]."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, all_from_digits, all_to_digits
from maskwell.designs.coded import CodedDesign, WrittenOut
from maskwell.designs.matrix_reading import DENSE_LIMIT, exact_columns, read_rows, too_many_entries
from maskwell.designs.own_labels import OwnLabels, check_label_counts
from maskwell.errors import MatrixError, WrongTypeError

Chance = tuple[int, int]
Row = Sequence[int] | Sequence[Fraction]
_NEAR, _FLOAT = Fraction(10**8), Fraction(1, 2**50)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dense(OwnLabels, WrittenOut):
    """Any design with few enough entries to be written out.

    ``numerators[j][i] / denominators[j]`` is the chance of report i for truth j: one tuple for each truth.

    >>> design = Dense.of([["7/10", "2/10"], ["3/10", "8/10"]])
    >>> design.parity_exact()
    Fraction(7, 2)
    """

    numerators: tuple[tuple[int, ...], ...]
    denominators: tuple[int, ...]
    kind: ClassVar[str] = "dense"

    @classmethod
    def of(cls, P: Any, inputs: Categories | None = None, outputs: Categories | None = None) -> Self:
        """From a matrix of numbers or fractions whose columns sum to one, shape (m, k).

        Floats are read as the simplest fractions that they can represent (0.7 as 7/10), and otherwise by their binary
        value; ``provenance["settled"]`` is the largest change that made the columns sum to one exactly, and
        ``provenance["given"]`` that there were decimals or floats.
        """
        numerators, noted = exact_columns(P)
        return cls.from_integers(numerators, inputs, outputs).with_provenance(**noted)

    @classmethod
    def from_rows(cls, R: Any, inputs: Categories | None = None, outputs: Categories | None = None) -> Self:
        """From the transposed convention: rows are truths and sum to one."""
        return cls.of(read_rows(R), inputs, outputs)

    @classmethod
    def from_integers(
        cls, numerators: Sequence[Sequence[int]], inputs: Categories | None = None, outputs: Categories | None = None
    ) -> Self:
        """From integers for each truth, in the ratio of the probabilities. Labels default to 0, 1, 2, ..."""
        k, m = len(numerators), len(numerators[0])
        if any(len(column) != m for column in numerators):
            raise MatrixError("columns-of-different-lengths", m=m)
        if any(min(column) < 0 or sum(column) == 0 for column in numerators):
            raise MatrixError("a-column-with-a-negative-integer")
        inputs = Categories.numbered(k) if inputs is None else inputs
        if outputs is None:
            outputs = inputs if m == k else Categories.numbered(m)
        check_label_counts(k, m, inputs, outputs)
        divisors = (math.gcd(*column) for column in numerators)
        reduced = tuple(
            tuple(c) if d == 1 else tuple(n // d for n in c) for c, d in zip(numerators, divisors, strict=True)
        )
        return cls(numerators=reduced, denominators=tuple(map(sum, reduced)), truths=inputs, reports=outputs)

    def _floats(self) -> Real:
        return np.array([[n / d for n in column] for column, d in self._columns()]).T

    def _columns(self) -> Iterable[tuple[tuple[int, ...], int]]:
        return zip(self.numerators, self.denominators, strict=True)

    def _exact_matrix(self) -> list[list[Fraction]]:
        columns = [[Fraction(n, d) for n in column] for column, d in self._columns()]
        return [list(row) for row in zip(*columns, strict=True)]

    def details(self) -> dict[str, Any]:
        """The parity of every row."""
        pairs = zip(self._highest, self._lowest, strict=True)
        return {"row_parities": [_nearest(n * e, d * o) for (n, d), (o, e) in pairs]}

    def row_parities(self) -> list[Parity]:
        """Largest over smallest entry of each row; 1 for a row of zeros."""
        return [_ratio(*ends) for ends in zip(self._highest, self._lowest, strict=True)]

    @cached_property
    def _highest(self) -> list[Chance]:
        return self._ends(self._P.argmax(axis=1), max)

    @cached_property
    def _lowest(self) -> list[Chance]:
        return self._ends(self._P.argmin(axis=1), min)

    def _ends(self, where: Array, most: Callable[..., Chance]) -> list[Chance]:
        """The largest or smallest probability of each report; floats keep the order, so only ties are compared."""
        ends = [(self.numerators[j][i], self.denominators[j]) for i, j in enumerate(where.tolist())]
        same = self._P[np.arange(self.m), where][:, None] == self._P
        for i in np.flatnonzero(same.sum(axis=1) > 1).tolist():
            if most is min and not ends[i][0]:
                continue  # nothing is below zero
            chances = {(self.numerators[j][i], self.denominators[j]) for j in np.flatnonzero(same[i]).tolist()}
            ends[i] = most(chances, key=lambda pair: Fraction(*pair)) if len(chances) > 1 else ends[i]
        return ends

    def parity_exact(self) -> Parity:
        """The largest row parity."""
        return self._largest

    @cached_property
    def _largest(self) -> Parity:
        """Of the rows whose ratio is largest as a float, which is nearest to the fraction and so keeps its order."""
        floats = self.details()["row_parities"]
        most = max(floats)
        return max(_ratio(self._highest[i], self._lowest[i]) for i, one in enumerate(floats) if one == most)

    def is_admissible(self) -> bool:
        """Rows that can occur all take two values in the ratio of the parity; within 1e-8 for decimals."""
        rows = zip(*self.numerators, strict=True)
        if self._largest == math.inf:
            return takes_two_values(rows, math.inf, decimals=self.decimals)
        different = ([Fraction(*pair) for pair in set(zip(row, self.denominators, strict=True))] for row in rows)
        return takes_two_values(different, self._largest, decimals=self.decimals)

    def _cumulative(self) -> tuple[list[list[int]], Sequence[int]]:
        return [list(accumulate(column))[:-1] for column in self.numerators], self.denominators

    def exact_form(self) -> Mapping[str, Any]:
        """One list of integers for each truth, and what they sum to."""
        return {"denominators": all_to_digits(self.denominators), "columns": list(map(all_to_digits, self.numerators))}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories, outputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        if sum(map(len, exact["columns"])) > DENSE_LIMIT:
            raise too_many_entries(len(outputs), len(inputs))
        columns = list(map(all_from_digits, exact["columns"]))
        if [sum(column) for column in columns] != all_from_digits(exact["denominators"]) or not all(columns):
            raise MatrixError("the-integers-of-a-column-do")
        return cls.from_integers(columns, inputs, outputs)


def takes_two_values(rows: Iterable[Row], parity: Parity, *, decimals: bool) -> bool:
    """Whether every row that can occur takes two values in the ratio of the parity; within 1e-8 for given decimals."""
    some = (row for row in rows if any(row))
    if isinstance(parity, float):
        return all(sum(map(bool, row)) == 1 for row in some)
    two = _nearly_two if decimals else _exactly_two
    return parity > 1 and all(two(row, parity) for row in some)


def _exactly_two(row: Row, parity: Fraction) -> bool:
    low, high = min(row), max(row)
    return high * parity.denominator == low * parity.numerator and all(x in (low, high) for x in row)


def _nearly_two(row: Row, parity: Fraction) -> bool:
    """The same within what decimals leave open: 1e-8 of what a row says, or the rounding of a float, 2^-50."""
    low, high = min(row), max(row)
    above, below = max(min(high - low, low) / _NEAR, low * _FLOAT), max((high - low) / _NEAR, high * _FLOAT)
    reached = parity * low - high <= below
    return high > low and reached and all(x - low <= above or high - x <= below for x in row)


def _ratio(high: Chance, low: Chance) -> Parity:
    """Of two chances; 1 where both are zero."""
    if not high[0]:
        return Fraction(1)
    return Fraction(high[0] * low[1], high[1] * low[0]) if low[0] else math.inf


def _nearest(n: int, d: int) -> float:
    """The same of a ratio as the float nearest to it."""
    try:
        return (n / d if d else math.inf) if n else 1.0
    except OverflowError:
        return math.inf


def design_of(P: Any) -> CodedDesign:
    """The design that was given, or that of a matrix whose columns sum to one."""
    if isinstance(P, CodedDesign):
        return P
    if hasattr(P, "reports_are_sets"):
        raise WrongTypeError("a-design-reports-sets-of-categories", kind=P.kind)
    return Dense.of(P)

"""Dense design: any transition matrix, kept as integers over one denominator for each column.

Source: [ChaiNayak2018, section 1].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, from_digits, to_digits, to_float
from maskwell.designs.matrices import exact_columns, read_rows
from maskwell.designs.rows import reduced_rows
from maskwell.designs.written_out import WrittenOut
from maskwell.errors import LabelError, MatrixError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dense(WrittenOut):
    """Any design with few enough entries to be written out.

    ``numerators[j][i] / denominators[j]`` is the chance of report i for truth j: one tuple for each truth.

    >>> design = Dense.of([["7/10", "2/10"], ["3/10", "8/10"]])
    >>> design.parity_exact()
    Fraction(7, 2)
    """

    numerators: tuple[tuple[int, ...], ...]
    denominators: tuple[int, ...]
    truths: Categories
    reports: Categories
    kind: ClassVar[str] = "dense"

    @classmethod
    def of(cls, P: Any, inputs: Categories | None = None, outputs: Categories | None = None) -> Self:
        """From a matrix of numbers or fractions whose columns sum to one, shape (m, k).

        Floats are read as the simplest fractions that they can stand for (0.7 as 7/10), and otherwise by their binary
        value; ``provenance["settled"]`` tells the largest change that made the columns sum to one exactly.
        """
        numerators, settled = exact_columns(P)
        design = cls.from_integers(numerators, inputs, outputs)
        return design.with_provenance(settled=settled) if settled else design

    @classmethod
    def from_rows(cls, R: Any, inputs: Categories | None = None, outputs: Categories | None = None) -> Self:
        """From the transposed convention: rows are truths and sum to one."""
        return cls.of(read_rows(R), inputs, outputs)

    @classmethod
    def from_integers(
        cls,
        numerators: Sequence[Sequence[int]],
        inputs: Categories | None = None,
        outputs: Categories | None = None,
    ) -> Self:
        """From integers for each truth, in the ratio of the probabilities. Labels default to 0, 1, 2, ..."""
        k, m = len(numerators), len(numerators[0])
        if any(len(column) != m for column in numerators):
            raise MatrixError("columns of different lengths", hint=f"give {m} integers for each truth")
        if any(min(column) < 0 or sum(column) == 0 for column in numerators):
            raise MatrixError("a column with a negative integer, or of zeros only", hint="give integers of 0 or more")
        inputs = Categories.numbered(k) if inputs is None else inputs
        if outputs is None:
            outputs = inputs if m == k else Categories.numbered(m)
        check_label_counts(k, m, inputs, outputs)
        reduced = tuple(tuple(n // math.gcd(*column) for n in column) for column in numerators)
        return cls(numerators=reduced, denominators=tuple(map(sum, reduced)), truths=inputs, reports=outputs)

    @property
    def inputs(self) -> Categories:
        """The categories of the true value."""
        return self.truths

    @property
    def outputs(self) -> Categories:
        """The possible reports."""
        return self.reports

    def _floats(self) -> Real:
        return np.array([[n / d for n in column] for column, d in self._columns()]).T

    def _columns(self) -> Iterable[tuple[tuple[int, ...], int]]:
        return zip(self.numerators, self.denominators, strict=True)

    def _exact_matrix(self) -> list[list[Fraction]]:
        columns = [[Fraction(n, d) for n in column] for column, d in self._columns()]
        return [list(row) for row in zip(*columns, strict=True)]

    def details(self) -> dict[str, Any]:
        """The parity of every row."""
        return {"row_parities": [to_float(parity) for parity in self.row_parities()]}

    def row_parities(self) -> list[Parity]:
        """Largest over smallest entry of each row; 1 for a row of zeros."""
        common = math.lcm(*self.denominators)
        scaled = [[n * (common // d) for n in column] for column, d in self._columns()]
        return [_ratio(max(row), min(row)) for row in zip(*scaled, strict=True)]

    def parity_exact(self) -> Parity:
        """The largest row parity."""
        return max(self.row_parities())

    def is_admissible(self) -> bool:
        """Rows that can occur, merged where proportional, all take two values in the ratio of the parity."""
        return takes_two_values(self._P, self.parity())

    def _cumulative(self) -> tuple[list[list[int]], Sequence[int]]:
        return [list(accumulate(column))[:-1] for column in self.numerators], self.denominators

    def exact_form(self) -> Mapping[str, Any]:
        """One list of integers for each truth, and what they sum to."""
        columns = [[to_digits(n) for n in column] for column in self.numerators]
        return {"denominators": [to_digits(d) for d in self.denominators], "columns": columns}

    @classmethod
    def from_exact_form(cls, exact: Mapping[str, Any], inputs: Categories, outputs: Categories) -> Self:
        """Read back what :meth:`exact_form` wrote."""
        columns = [[from_digits(n) for n in column] for column in exact["columns"]]
        if [sum(column) for column in columns] != [from_digits(d) for d in exact["denominators"]] or not all(columns):
            raise MatrixError("the integers of a column do not sum to its denominator", hint="make the file again")
        return cls.from_integers(columns, inputs, outputs)

    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """The same probabilities under other labels; reports take the input labels unless they differ in number."""
        if outputs is None:
            outputs = inputs if self.m == self.k else self.reports
        check_label_counts(self.k, self.m, inputs, outputs)
        return replace(self, truths=inputs, reports=outputs)


def takes_two_values(P: Real, parity: float) -> bool:
    """Whether every row of P, merged where proportional, takes two values in the ratio of the parity."""
    rows = reduced_rows(P)
    if math.isinf(parity):
        return rows.shape == (P.shape[1], P.shape[1]) and bool(((rows > 0).sum(axis=1) == 1).all())
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    noise = 1e-8 * (high - low) + 4 * np.finfo(float).eps * high  # relative to what a row says, not to its size
    two_values = np.minimum(rows - low, high - rows) <= noise
    reached = high - low >= (parity - 1) * low - noise
    return parity > 1 and bool(two_values.all() and reached.all())


def _ratio(high: int, low: int) -> Parity:
    if high == low:
        return Fraction(1)
    return Fraction(high, low) if low else math.inf


def check_label_counts(k: int, m: int, inputs: Categories, outputs: Categories) -> None:
    """Raise unless there is a label for each truth and each report."""
    if (len(inputs), len(outputs)) != (k, m):
        raise LabelError(
            f"{len(inputs)} truth and {len(outputs)} report labels for a matrix of {m} reports by {k} truths",
            hint=f"give {k} categories and {m} reports",
        )

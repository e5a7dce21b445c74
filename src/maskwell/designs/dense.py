"""Dense design: any transition matrix, kept as integers over one denominator for each column.

Source: [ChaiNayak2018, section 1]; the left inverse for more reports than categories is [NayakZhai2019, eq. (6.3)].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arrays import Array, Real, Words
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, interval
from maskwell.core.exact import Parity, from_digits, to_digits, to_float
from maskwell.designs.coded import CodedDesign
from maskwell.designs.matrices import exact_columns, read_rows
from maskwell.designs.rows import reduced_rows
from maskwell.designs.tables import ThresholdTable
from maskwell.errors import LabelError, MatrixError, NotIdentifiableError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dense(CodedDesign):
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
        _check_counts(k, m, inputs, outputs)
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

    @cached_property
    def _P(self) -> Real:  # noqa: N802
        return np.array([[n / d for n in column] for column, d in self._columns()]).T

    def _columns(self) -> Iterable[tuple[tuple[int, ...], int]]:
        return zip(self.numerators, self.denominators, strict=True)

    def _matrix(self) -> Real:
        return self._P.copy()

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
        rows, parity = reduced_rows(self._P), self.parity()
        if math.isinf(parity):
            return rows.shape[0] == self.k and bool(((rows > 0).sum(axis=1) == 1).all())
        low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
        two_values = np.isclose(rows, low, rtol=1e-9, atol=0) | np.isclose(rows, high, rtol=1e-9, atol=0)
        return parity > 1 and bool(two_values.all() and np.allclose(high, parity * low, rtol=1e-8, atol=0))

    def guess_probability(self, prior: Real | None = None) -> float:
        """``sum_i max_j a_j P[i, j]`` for a prior a."""
        a = self.uniform_prior() if prior is None else self.check_distribution(prior, "prior")
        return float((self._P * a).max(axis=1).sum())

    def total_variation(self) -> float:
        """The largest sum of absolute differences between two columns."""
        return max(float(np.abs(self._P - self._P[:, [j]]).sum(axis=0).max()) for j in range(self.k))

    # ---- linear algebra

    @cached_property
    def _singular_values(self) -> Real:
        return np.asarray(np.linalg.svd(self._P, compute_uv=False), dtype=np.float64)

    def rank(self) -> int:
        """Singular values above ``max(k m eps, 1e-12)`` times the largest."""
        values = self._singular_values
        return int((values > values[0] * max(self.k * self.m * np.finfo(float).eps, 1e-12)).sum())

    def singular_range(self) -> tuple[float, float]:
        """From the singular value decomposition."""
        return float(self._singular_values[0]), float(self._singular_values[-1])

    def check_identifiable(self) -> None:
        """Raise, naming a direction that reports cannot show, unless the columns are safely independent."""
        if self.identifiable:
            return
        direction = np.linalg.svd(self._P)[2][-1]
        raise NotIdentifiableError(
            f"the true proportions cannot be estimated: the matrix has rank {self.rank()} for {self.k} categories, and "
            f"moving them along {np.array2string(direction, precision=3, threshold=8)} leaves all reports as they are",
            hint="choose a design whose columns are linearly independent",
            null_direction=direction,
        )

    def left_inverse(self, pi_0: Real | None = None) -> Real:
        """L with L P = I, shape (k, m): the inverse, or for m > k the linear estimator that is best at ``pi_0``.

            L = (P' D^-1 P)^-1 P' D^-1,   D = diag(P pi_0)

        ``pi_0`` is uniform by default; any guess gives an unbiased estimate. Source: [NayakZhai2019, eq. (6.3)].
        """
        if self.m == self.k:
            return np.asarray(np.linalg.inv(self._P), dtype=np.float64)
        lam = self._P @ (self.uniform_prior() if pi_0 is None else self.check_distribution(pi_0, "pi_0"))
        scale = np.zeros(self.m)
        np.divide(1, np.sqrt(lam), out=scale, where=lam > 0)
        q, r = np.linalg.qr(self._P * scale[:, None])
        return np.asarray(np.linalg.solve(r, q.T) * scale)

    @cached_property
    def _L(self) -> Real:  # noqa: N802
        return self.left_inverse()

    def forward(self, x: Real) -> Real:
        """``P x`` along the last axis."""
        return np.asarray(x @ self._P.T)

    def backward(self, x: Real) -> Real:
        """``L x`` along the last axis."""
        return np.asarray(x @ self._L.T)

    def backward_squared(self, x: Real) -> Real:
        """``(L * L) x`` along the last axis."""
        return np.asarray(x @ (self._L**2).T)

    # ---- sampling: the report is the number of cumulative probabilities at or below a uniform number

    @property
    def words_per_row(self) -> int:
        """Two words: one number of 64 bits."""
        return 2

    @cached_property
    def _thresholds(self) -> list[list[int]]:
        return [list(accumulate(column))[:-1] for column in self.numerators]

    @cached_property
    def _table(self) -> ThresholdTable:
        return ThresholdTable.of(self._thresholds, self.denominators)

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition."""
        return interval(self._thresholds[truth], self.denominators[truth], words.part(self.words_per_row))

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        return self._table.draw_rows(codes, words, out)

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
        _check_counts(self.k, self.m, inputs, outputs)
        return replace(self, truths=inputs, reports=outputs)


def _ratio(high: int, low: int) -> Parity:
    if high == low:
        return Fraction(1)
    return Fraction(high, low) if low else math.inf


def _check_counts(k: int, m: int, inputs: Categories, outputs: Categories) -> None:
    if (len(inputs), len(outputs)) != (k, m):
        raise LabelError(
            f"{len(inputs)} truth and {len(outputs)} report labels for a matrix of {m} reports by {k} truths",
            hint=f"give {k} categories and {m} reports",
        )

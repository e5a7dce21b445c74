"""Garblings ``A = C P``, by the positive entries of C. Source: [ChaiNayak2018, Definition 4.1]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.categories import Categories
from maskwell.core.exact import to_digits
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.design import EXACT_LIMIT, MATRIX_LIMIT, Design, big
from maskwell.errors import TooLargeError

Matrix = list[list[Fraction]]
Column = tuple[tuple[int, int], ...]


@dataclass(frozen=True, repr=False)
class Garbling:
    """For each u pairs (i, n): report u becomes i with probability n over the sum of all n of the column."""

    rows: int
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, rows: int, columns: Iterable[Mapping[int, int]]) -> Self:
        """From positive integers for each column, in the ratio of the probabilities."""
        return cls(rows, tuple(tuple(sorted(column.items())) for column in columns))

    @classmethod
    def identity(cls, m: int) -> Self:
        """Nothing changes."""
        return cls(m, tuple(((i, 1),) for i in range(m)))

    @classmethod
    def of_matrix(cls, C: Matrix) -> Self:
        """From fractions written out, whose columns sum to one."""
        design = Dense.of(C)
        return cls.of(design.m, ({i: n for i, n in enumerate(column) if n} for column in design.numerators))

    @property
    def shape(self) -> tuple[int, int]:
        """Reports of A by reports of P."""
        return self.rows, len(self.columns)

    def entries(self) -> Iterator[tuple[int, int, Fraction]]:
        """Row, column and value of every positive entry."""
        for u, column in enumerate(self.columns):
            total = sum(n for _, n in column)
            yield from ((i, u, Fraction(n, total)) for i, n in column)

    def exact(self) -> Matrix:
        """C in fractions, written out as rows; refused when it would be huge."""
        self._check_size(EXACT_LIMIT)
        C = [[Fraction(0)] * len(self.columns) for _ in range(self.rows)]
        for i, u, value in self.entries():
            C[i][u] = value
        return C

    def matrix(self) -> Real:
        """C in floats, shape (reports of A, reports of P); refused when it would be huge."""
        self._check_size(MATRIX_LIMIT)
        C = np.zeros(self.shape)
        for i, u, value in self.entries():
            C[i, u] = value
        return C

    def after(self, design: Design, original: Design) -> Composed:
        """The two steps as one design: first ``design``, then this garbling; equal in law to ``original``."""
        columns = [dict(column) for column in self.columns]
        integers = [[column.get(i, 0) for i in range(self.rows)] for column in columns]
        reports = design.outputs if isinstance(design.outputs, Categories) else None
        return Composed.of(design, Dense.from_integers(integers, reports, original.written_reports()))

    def to_dict(self) -> dict[str, Any]:
        """The integers of each column as decimal text, for files."""
        columns = [[[i, to_digits(n)] for i, n in column] for column in self.columns]
        return {"rows": self.rows, "columns": columns}

    def _check_size(self, limit: int) -> None:
        rows, columns = self.shape
        if rows * columns > limit:
            raise TooLargeError("a-garbling-of-by-entries", rows=rows, columns=columns, limit=big(limit))

    def __repr__(self) -> str:
        return f"Garbling({self.rows:,} x {len(self.columns):,}, {sum(map(len, self.columns)):,} positive)"

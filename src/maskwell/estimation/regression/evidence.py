"""What each report says about the truth: the row of P that belongs to it, for designs that may differ between rows.

Everything a regression needs of the randomization is, for each respondent, the row ``P[z, :]`` of the design that was
used. There are few different rows; they are kept once, and each respondent keeps the number of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.printed import Printed
from maskwell.core.reported import Reports
from maskwell.designs.base import Design
from maskwell.designs.coded import reports_of
from maskwell.errors import NotIdentifiableError, ReportError, WrongTypeError

RANK_TOLERANCE = 1e-12
WEAK = 1e-3


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows of P that belong to the reports.

    Attributes
    ----------
    table
        Shape (R, k): the rows of all designs, one design after the other.
    index
        Shape (n,): which of them belongs to each respondent.
    sizes
        Number of reports of each design; they sum to R.
    categories
        The true categories, the same for all designs.
    """

    table: Real
    index: Array
    sizes: tuple[int, ...]
    categories: Categories

    @classmethod
    def of(cls, reports: Any, designs: Design | Sequence[Design], groups: Any = None) -> Evidence:
        """From codes of reports, one design for all, or several with the number of the design of each row.

        >>> from maskwell.designs.dense import Dense
        >>> warner, direct = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]]), Dense.of([[1, 0], [0, 1]])
        >>> Evidence.of([0, 1, 0], [warner, direct], groups=[0, 0, 1]).rows(slice(0, 3)).T.tolist()
        [[0.7, 0.3], [0.3, 0.7], [1.0, 0.0]]
        """
        chosen = [designs] if isinstance(designs, Design) else list(designs)
        codes = _codes(reports, chosen)
        numbers = _numbers(groups, len(chosen), len(codes))
        sizes = np.array([design.m for design in chosen])
        _check_within(codes, sizes[numbers])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        table = np.concatenate([design.matrix() for design in chosen])
        made = cls(table, starts[numbers] + codes, tuple(map(int, sizes)), chosen[0].inputs)
        made._check(chosen)
        return made

    @classmethod
    def direct(cls, codes: Array, categories: Categories) -> Evidence:
        """For a question that was asked openly: the report is the truth."""
        return cls(np.eye(len(categories)), np.asarray(codes, dtype=np.intp), (len(categories),), categories)

    def thinned(self, step: int) -> Evidence:
        """Every so many respondents."""
        return replace(self, index=self.index[::step])

    @property
    def n(self) -> int:
        """Number of respondents."""
        return len(self.index)

    @property
    def k(self) -> int:
        """Number of true categories."""
        return int(self.table.shape[1])

    def rows(self, where: slice) -> Real:
        """``P[z, :]`` of these respondents, one line for each category: shape (k, rows)."""
        return self._columns.take(self.index[where], axis=1)

    def alternatives(self, where: slice) -> list[Real]:
        """The same for every report that each respondent could have made; zeros where there are fewer."""
        possible = self._alternatives[self.index[where]]
        padded = np.concatenate([self._columns, np.zeros((self.k, 1))], axis=1)
        return [padded.take(possible[:, t], axis=1) for t in range(possible.shape[1])]

    @cached_property
    def _columns(self) -> Real:
        return np.ascontiguousarray(self.table.T)

    @cached_property
    def _alternatives(self) -> Array:
        """For each row of the table the rows of the same design, filled up with the number of a row of zeros."""
        found = np.full((len(self.table), max(self.sizes)), len(self.table))
        start = 0
        for size in self.sizes:
            found[start : start + size, :size] = np.arange(start, start + size)
            start += size
        return found

    @cached_property
    def recovered(self) -> Real:
        """Unbiased indicators of the truth for each row of the table, shape (R, k): the pseudo-inverse of each P."""
        ends = np.cumsum(self.sizes)
        pieces = np.split(self.table, ends[:-1])
        return np.concatenate([np.linalg.pinv(P).T for P in pieces])

    @cached_property
    def identifiable_alone(self) -> bool:
        """Whether each of the designs could be used without the others."""
        return all(np.linalg.matrix_rank(P) == self.k for P in np.split(self.table, np.cumsum(self.sizes)[:-1]))

    def counts(self, weights: Real | None) -> Real:
        """How often each row of the table was seen, with weights."""
        return np.bincount(self.index, weights, minlength=len(self.table)).astype(np.float64)

    def flags(self) -> tuple[str, ...]:
        """What a reader should know about the designs."""
        smallest = float(np.linalg.svd(self.table, compute_uv=False)[-1])
        if smallest < WEAK:
            return (f"the design tells very little: its smallest singular value is {Printed(smallest):.2g}",)
        return ()

    def _check(self, designs: Sequence[Design]) -> None:
        for design in designs[1:]:
            if list(design.inputs.labels) != list(self.categories.labels):
                raise ReportError(
                    "the designs of the groups have different categories",
                    hint="make all designs for the same categories, in the same order",
                )
        self._check_rank(designs)
        impossible = np.unique(self.index[(self.table.max(axis=1) == 0)[self.index]])
        if len(impossible):
            raise ReportError(
                f"reports {impossible[:5].tolist()} were seen but are impossible under the stated design",
                hint="check that this is the design that made the reports",
            )

    def _check_rank(self, designs: Sequence[Design]) -> None:
        _, values, directions = np.linalg.svd(self.table)
        if len(values) < self.k or values[-1] <= RANK_TOLERANCE * values[0]:
            raise _not_identifiable(designs, directions[-1])


def _not_identifiable(designs: Sequence[Design], null: Real) -> NotIdentifiableError:
    """In words; the designs of several samples may tell together what one of them does not."""
    which = "this design" if len(designs) == 1 else f"these {len(designs)} designs together"
    hint = "a regression needs designs that are identifiable alone; maskwell audit tells whether one is"
    if len(designs) == 1 and designs[0].provenance.get("samples"):
        which += ", one of several samples,"
        if not isinstance(designs[0].inputs.labels[0], tuple):
            hint = "give the designs of all samples by groups of rows, or a design that is identifiable alone"
    return NotIdentifiableError(
        f"{which} cannot tell {len(null)} categories apart: no regression", hint=hint, null_direction=null
    )


def _codes(reports: Any, designs: Sequence[Design]) -> Array:
    for design in designs:
        if design.reports_are_sets:
            raise ReportError(
                f"a {design.kind} design reports sets; a regression needs one report out of a list",
                hint="use a design with coded reports, such as k-ary",
            )
    data = reports_of(designs[0], reports) if isinstance(reports, Reports) and len(designs) == 1 else reports
    codes = np.asarray(data.data if isinstance(data, Reports) else data)
    if codes.ndim != 1 or codes.dtype.kind not in "iub":
        raise WrongTypeError(
            f"reports must be one column of codes 0..m-1, not {codes.dtype} of shape {codes.shape}",
            hint="turn labels into codes: design.outputs.encode(labels).codes",
        )
    return codes.astype(np.intp)


def _numbers(groups: Any, n_designs: int, n: int) -> Array:
    if groups is None:
        if n_designs != 1:
            raise ReportError(
                f"{n_designs} designs, and no word which row used which", hint="give groups: the number of the design"
            )
        return np.zeros(n, dtype=np.intp)
    numbers = np.asarray(groups)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iub":
        raise ReportError(
            f"groups has shape {numbers.shape} of {numbers.dtype} for {n:,} rows",
            hint="give the number of the design, counted from 0, for each row",
        )
    if n and not 0 <= numbers.min() <= numbers.max() < n_designs:
        raise ReportError(
            f"groups runs from {numbers.min()} to {numbers.max()} for {n_designs} designs",
            hint=f"number the designs 0..{n_designs - 1}",
        )
    return numbers.astype(np.intp)


def _check_within(codes: Array, sizes: Array) -> None:
    wrong = np.unique(codes[(codes < 0) | (codes >= sizes)])
    if len(wrong):
        raise ReportError(
            f"report codes {wrong[:5].tolist()} are outside 0..m-1 of their design",
            hint="use the design that made the reports; codes start at 0",
            codes=wrong,
        )

"""Readings: what the lines of one design say about the truth.

A report z of a unit is read as its recovery U = L e_z, the column of the left inverse; it is unbiased for the indicator
of the true category whatever the sample, and ``U U' - D_U`` is unbiased for its randomization variance.

Source: [Adeshiyan2011, Theorem 3.1]; the second statement is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.designs.set_reports import SetDesign
from maskwell.errors import ReportError, WrongTypeError
from maskwell.estimation.left_inverse import LeftInverse


class Reading(Protocol):
    """How sums by report code become sums of recoveries."""

    @property
    def design(self) -> Design:
        """The design that made the reports."""

    @property
    def k(self) -> int:
        """Number of true categories."""

    @property
    def size(self) -> int:
        """Number of report codes."""

    def sums(self, x: Real) -> Real:
        """``sum_z x[..., z] U_z``: shape (..., size) to (..., k)."""

    def squares(self, a: Real, centre: Real) -> Real:
        """``sum_z a_z (U_z - centre)(U_z - centre)'``, shape (k, k)."""

    def squares_diagonal(self, a: Real, centre: Real) -> Real:
        """The diagonal of :meth:`squares`, shape (k,)."""


@dataclass(frozen=True, eq=False)
class CodedReading:
    """A design whose report is one code; ``inverse`` replaces the design's own left inverse."""

    design: CodedDesign
    inverse: LeftInverse | None = None

    @property
    def k(self) -> int:
        """Number of true categories."""
        return self.design.k

    @property
    def size(self) -> int:
        """One code for each report."""
        return self.design.m

    def sums(self, x: Real) -> Real:
        """``L x`` along the last axis."""
        return self.design.backward(x) if self.inverse is None else np.asarray(x @ self.inverse.L.T)

    @cached_property
    def table(self) -> Real:
        """All recoveries, shape (m, k)."""
        return self.sums(np.eye(self.size))

    def squares(self, a: Real, centre: Real) -> Real:
        """From the recoveries themselves."""
        apart = self.table - centre
        return np.asarray((apart.T * a) @ apart)

    def squares_diagonal(self, a: Real, centre: Real) -> Real:
        """With squared entries of L; the matrix is never written out."""
        if self.inverse is not None:
            return np.asarray(((self.inverse.L - centre[:, None]) ** 2) @ a)
        return np.asarray(self.design.backward_squared(a) - 2 * centre * self.sums(a) + centre**2 * a.sum())


@dataclass(frozen=True, eq=False)
class LinearReading:
    """Anything that is said of each report of a design, in place of its recovery: ``table`` has shape (m, r)."""

    design: Design
    table: Real

    @property
    def k(self) -> int:
        """How many numbers are said of a report."""
        return int(self.table.shape[1])

    @property
    def size(self) -> int:
        """One code for each report."""
        return len(self.table)

    def sums(self, x: Real) -> Real:
        """``x @ table`` along the last axis."""
        return np.asarray(x @ self.table)

    def squares(self, a: Real, centre: Real) -> Real:
        """From the table itself."""
        apart = self.table - centre
        return np.asarray((apart.T * a) @ apart)

    def squares_diagonal(self, a: Real, centre: Real) -> Real:
        """The same, diagonal only."""
        return np.asarray(a @ (self.table - centre) ** 2)


@dataclass(frozen=True, eq=False)
class SetReading:
    """A design whose report is a set: code j stands for naming category j, code k for the report itself.

    ``U = (x - r) / (p - r)`` for the indicators x of the named categories. Squares are not known from such sums; their
    mean given the truth is, and takes their place.
    """

    design: SetDesign

    @property
    def k(self) -> int:
        """Number of true categories."""
        return self.design.k

    @property
    def size(self) -> int:
        """One code for each category and one for the reports."""
        return self.design.k + 1

    def sums(self, x: Real) -> Real:
        """``(named - r reports) / (p - r)``."""
        p, r = self.design.include, self.design.other
        return np.asarray((x[..., :-1] - float(r) * x[..., -1:]) / float(p - r))

    def squares(self, a: Real, centre: Real) -> Real:
        """From the second moment of the design at the named shares."""
        if a[-1] == 0:
            return np.zeros((self.design.k, self.design.k))
        cross = np.outer(self.sums(a), centre)
        return np.asarray(
            a[-1] * (self.design.second_moment(a[:-1] / a[-1]) + np.outer(centre, centre)) - cross - cross.T
        )

    def squares_diagonal(self, a: Real, centre: Real) -> Real:
        """The same, diagonal only."""
        if a[-1] == 0:
            return np.zeros(self.design.k)
        moment = a[-1] * (self.design.second_moment_diagonal(a[:-1] / a[-1]) + centre**2)
        return np.asarray(moment - 2 * centre * self.sums(a))


def readings_of(designs: Sequence[Design], inverse: LeftInverse | None = None) -> tuple[Reading, ...]:
    """The readings of several samples, of which one alone need not tell the shares."""
    return tuple(reading_of(design, inverse, alone=len(designs) == 1) for design in designs)


def reading_of(design: Design, inverse: LeftInverse | None = None, *, alone: bool = True) -> Reading:
    """The reading of a design, after checking that there is one."""
    if not isinstance(design, Design):
        raise WrongTypeError(f"a survey needs a design, not {type(design).__name__}", hint="load or build one first")
    if alone:
        design.check_identifiable()
    if inverse is not None:
        inverse.check_design(design)
    if isinstance(design, CodedDesign):
        return CodedReading(design, inverse)
    if isinstance(design, SetDesign):
        return SetReading(design)
    raise ReportError(f"a {design.kind} design has no reading for surveys", hint="use a design of codes or of sets")

"""Recovery: what reports say about the truth, and sums of it over groups of cells, without a recovery for every row.

A report z is read as U = L e_z, unbiased for the indicator of the truth, and ``U U' - D_U`` is unbiased for its
randomization variance. A variance needs ``sum a e`` over groups and ``sum a e e'`` over all, e the score of a unit: U,
perhaps minus a centre, and zero outside a domain. Source: [Adeshiyan2011, Theorem 3.1]; the variance derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.documents import joint_fingerprint
from maskwell.core.row_sums import Cells
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.designs.set_reports import SetDesign
from maskwell.errors import ReportError, TooLargeError, WrongTypeError
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.outside_estimates import Recovered
from maskwell.estimation.share_estimate import COVARIANCE_LIMIT, ROUNDING

TABLE_LIMIT = 2 * 10**7  # entries of all left inverses together
BLOCK = 1 << 22  # entries of temporary arrays


@dataclass(frozen=True, eq=False)
class CodedReading:
    """A design whose report is one code; ``inverse`` replaces the design's own left inverse."""

    design: CodedDesign
    inverse: LeftInverse | None = None

    @property
    def k(self) -> int:
        """How many numbers are said of a report."""
        return self.design.k if self.inverse is None else len(self.inverse.L)

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
class SetReading:
    """A design whose report is a set: code j means naming category j, code k the report itself."""

    design: SetDesign
    inverse: LeftInverse | None = None

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
            return np.zeros((self.k, self.k))
        cross = np.outer(self.sums(a), centre)
        moment = self.design.second_moment(a[:-1] / a[-1]) + np.outer(centre, centre)
        return np.asarray(a[-1] * moment - cross - cross.T)

    def squares_diagonal(self, a: Real, centre: Real) -> Real:
        """The same, diagonal only."""
        if a[-1] == 0:
            return np.zeros(self.k)
        moment = a[-1] * (self.design.second_moment_diagonal(a[:-1] / a[-1]) + centre**2)
        return np.asarray(moment - 2 * centre * self.sums(a))


Reading: TypeAlias = CodedReading | SetReading


def readings_of(designs: Sequence[Design], inverse: LeftInverse | None = None) -> tuple[Reading, ...]:
    """The readings of one or several samples; of several, a single one need not identify the shares."""
    readings: list[Reading] = []
    for design in designs:
        if not isinstance(design, Design):
            raise WrongTypeError("a-survey-needs-a-design-not", name=type(design).__name__)
        if len(designs) == 1:
            design.check_identifiable()
        if inverse is not None:
            inverse.check_design(design)
        if not isinstance(design, CodedDesign | SetDesign):
            raise ReportError("a-design-has-no-reading", kind=design.kind)
        readings.append(CodedReading(design, inverse) if isinstance(design, CodedDesign) else SetReading(design))
    return tuple(readings)


@dataclass(frozen=True, eq=False)
class Recovery:
    """Cells with one reading for each sample. ``full``: few enough categories for covariances."""

    cells: Cells
    readings: tuple[Reading, ...]

    def __post_init__(self) -> None:
        for code, reading in enumerate(self.readings):
            seen = np.unique(self.cells.report[self.cells.sample.codes == code])
            if len(seen) and int(seen.max()) >= reading.size:
                raise ReportError("report-code-is-outside-0-use", seen_max=int(seen.max()), size_sub=reading.size - 1)
            if isinstance(reading, SetReading) or not len(seen):
                continue
            impossible = seen[reading.design.apply(reading.design.uniform_prior())[seen] == 0]
            if len(impossible):
                raise ReportError("reports-were-seen-but-are-impossible-under", asarray=impossible[:5].tolist())

    @property
    def k(self) -> int:
        """Number of true categories."""
        return self.readings[0].k

    @property
    def fingerprint(self) -> str:
        """Names the design, or all designs of several samples together."""
        return joint_fingerprint([reading.design.fingerprint for reading in self.readings])

    @cached_property
    def full(self) -> bool:
        """Whether covariances are computed, not only variances."""
        return self.k <= COVARIANCE_LIMIT and self.k * sum(r.size for r in self.readings) <= TABLE_LIMIT

    @cached_property
    def _table(self) -> Real:
        """Recoveries of all codes of all samples, one below the other."""
        return np.concatenate([reading.sums(np.eye(reading.size)) for reading in self.readings])

    @cached_property
    def _row(self) -> Array:
        """The row of the table of each line."""
        starts = np.cumsum([0, *(reading.size for reading in self.readings)])
        return np.asarray(starts[self.cells.sample.codes] + self.cells.report)

    def centred(self, lines: Array, centre: Real) -> Real:
        """``U - centre`` of some lines, shape (lines, k); centre has shape (k,), or a row for each of them."""
        return np.asarray(self._table[self._row[lines]] - centre * self.cells.is_row[lines, None])

    def recovered(self, lines: Array) -> list[Recovered]:
        """For each sample among the lines its design and weights; the largest of a line by Samuelson's inequality."""
        cells, size = self.cells, float(self.cells.weight[lines].sum())
        n, mean = np.maximum(cells.n, 1), cells.weight / np.maximum(cells.n, 1)
        spread = np.maximum(cells.square / n - mean**2, 0)
        largest = np.abs(mean) + np.sqrt((n - 1) * np.where(spread > ROUNDING * mean**2, spread, 0))
        parts = []
        for code in np.unique(cells.sample.codes[lines]):
            own, reading = lines[cells.sample.codes[lines] == code], self.readings[code]
            squares = float(cells.square[own].sum()) / size**2
            if squares > 0:
                most = float(largest[own].max()) / abs(size)
                parts.append(Recovered(reading.design, squares, most, reading.inverse))
        return parts

    def by_sample(self, a: Real, lines: Array) -> Iterator[tuple[Reading, Real]]:
        """For each sample, the sums of ``a`` by report code over the given lines."""
        sample = self.cells.sample.codes[lines]
        for code in np.unique(sample):
            own, reading = lines[sample == code], self.readings[code]
            sums = np.bincount(self.cells.report[own], weights=a[own], minlength=reading.size)
            yield reading, sums.astype(np.float64)


@dataclass(frozen=True, eq=False)
class LineScores:
    """Scores of some lines of cells, zero for all others: any k numbers of a unit, computed by blocks."""

    lines: Array  # Which lines have scores that are not zero
    k: int  # How many numbers are said of a unit
    of_lines: Callable[[Array], Real]  # The scores of some lines, shape (lines, k)
    full: bool = True  # Whether covariances are worked out, not only variances

    def sums(self, a: Real, groups: Array, count: int) -> Real:
        """``sum a e`` over the lines of each group, shape (count, k); groups ascend from line to line."""
        out = np.zeros((count, self.k))
        if len(self.lines):
            member = groups[self.lines]
            starts = np.flatnonzero(np.concatenate(([True], member[1:] != member[:-1])))
            out[member[starts]] = self._group_sums(a, starts)
        return out

    def squares(self, a: Real) -> Real:
        """``sum a e e'``, shape (k, k); only its diagonal, shape (k,), where covariances are left out."""
        total = np.zeros((self.k,) * 2)
        for block in _blocks(len(self.lines), self.k):
            e = self.of_lines(self.lines[block])
            total += (e.T * a[self.lines[block]]) @ e
        return total

    def _group_sums(self, a: Real, starts: Array) -> Real:
        ends = np.append(starts[1:], len(self.lines))
        out, first = np.empty((len(starts), self.k)), 0
        while first < len(starts):
            room = starts[first] + max(1, BLOCK // self.k)
            last = max(first + 1, int(np.searchsorted(ends, room, side="right")))
            lines = self.lines[starts[first] : ends[last - 1]]
            weighted = self.of_lines(lines) * a[lines, None]
            out[first:last] = np.add.reduceat(weighted, starts[first:last] - starts[first], axis=0)
            first = last
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class RecoveredScores(LineScores):
    """``e = U - centre``: sums by report code first, and the operators of the designs where categories are many."""

    recovery: Recovery
    centre: Real

    @classmethod
    def of(cls, recovery: Recovery, lines: Array, centre: Real) -> RecoveredScores:
        """Of the units of some lines; ``centre`` has shape (k,)."""

        def of_lines(chosen: Array) -> Real:
            return recovery.centred(chosen, centre)

        return cls(lines, recovery.k, of_lines, recovery.full, recovery=recovery, centre=centre)

    def squares(self, a: Real) -> Real:
        """``sum a e e'``, shape (k, k), or its diagonal."""
        parts = self.recovery.by_sample(a, self.lines)
        if self.full:
            return sum((r.squares(x, self.centre) for r, x in parts), np.zeros((self.k,) * 2))
        return sum((r.squares_diagonal(x, self.centre) for r, x in parts), np.zeros(self.k))

    def _group_sums(self, a: Real, starts: Array) -> Real:
        if self.full:
            return super()._group_sums(a, starts)
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(self.lines))))
        cells, readings, out = self.recovery.cells, self.recovery.readings, np.zeros((len(starts), self.k))
        for block in _blocks(len(starts), max(reading.size for reading in readings)):
            inside = (group >= block.start) & (group < block.stop)
            count = min(block.stop, len(starts)) - block.start
            for code, reading in enumerate(readings):
                of_sample = inside & (cells.sample.codes[self.lines] == code)
                lines, place = self.lines[of_sample], group[of_sample] - block.start
                key = place * reading.size + cells.report[lines]
                dense = np.bincount(key, weights=a[lines], minlength=count * reading.size).astype(np.float64)
                out[block] += reading.sums(dense.reshape(count, reading.size))
        total = np.bincount(group, weights=a[self.lines] * cells.is_row[self.lines], minlength=len(starts))
        return np.asarray(out - total[:, None] * self.centre)


def square_of(rows: Real, factor: Real, *, full: bool) -> Real:
    """``sum_i factor_i rows_i rows_i'``, or its diagonal."""
    return np.asarray((rows.T * factor) @ rows if full else factor @ rows**2)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK // width)
    return (slice(start, start + step) for start in range(0, n, step))


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Auxiliary values x and the factors g by line; the labels of ``cells.auxiliary`` hold both, g last.

    Residuals ``e_i - B' x_i``, ``B = (sum d x x')^-1 sum d x e'``, w = d g, take the place of scores. Standard.
    """

    recovery: Recovery
    values: Real
    g: Real

    @classmethod
    def of(cls, recovery: Recovery) -> Calibrated | None:
        """From cells with auxiliary values; ``None`` where there are none."""
        labels = recovery.cells.auxiliary.labels
        if labels.dtype.kind != "V":
            return None
        if recovery.cells.sets:
            raise ReportError("calibrated-weights-with-set-reports")
        if not recovery.full:
            raise TooLargeError("calibrated-weights-with-categories", k=recovery.k)
        table = np.frombuffer(labels.tobytes(), dtype=np.float64).reshape(len(labels), -1)
        return cls(recovery, table[:, :-1], table[recovery.cells.auxiliary.codes, -1])

    def residuals(self, scores: LineScores) -> LineScores:
        """The same scores without what the auxiliary values explain of them; all lines have some."""
        cells, lines, codes = self.recovery.cells, scores.lines, self.recovery.cells.auxiliary.codes
        base, x = cells.weight / self.g, self.values[codes]
        cross = (x[lines].T * base[lines]) @ scores.of_lines(lines)
        fitted = self.values @ np.linalg.lstsq((x.T * base) @ x, cross, rcond=None)[0]
        inside = np.zeros(len(cells))
        inside[lines] = 1

        def of_lines(chosen: Array) -> Real:
            return np.asarray(scores.of_lines(chosen) * inside[chosen, None] - fitted[codes[chosen]])

        return LineScores(np.arange(len(cells)), scores.k, of_lines)

"""What each report says about the truth: the row ``P[z, :]`` of its design; few rows differ, and are kept once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Flag, Real, as_array, as_list, check_kind, list_of
from maskwell.core.categories import Categories
from maskwell.core.phrases import Printed, listed, shorten
from maskwell.core.report_data import Reports
from maskwell.designs.coded import codes_of, reports_of
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError, WrongTypeError

RANK_TOLERANCE = 1e-12
WEAK = 1e-3
LIKELY_ALIKE = 1e-12  # chances of a report that differ by no more are the same but for rounding


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows of P that belong to the reports."""

    table: Real  # Shape (R, k): the rows of all designs, one design after the other
    index: Array  # Shape (n,): which of them belongs to each respondent
    sizes: tuple[int, ...]  # Number of reports of each design; they sum to R
    categories: Categories  # The true categories, the same for all designs

    @classmethod
    def of(
        cls, reports: Any, designs: Design | Sequence[Design], groups: Any = None, *, codes: bool = False
    ) -> Evidence:
        """From reports, one design for all, or several with the number of the design of each row."""
        chosen = [designs] if isinstance(designs, Design) else list_of(Design, designs, "designs")
        check_kind(Flag, codes=codes)
        values = _check_column(reports, chosen)
        numbers = _numbers(groups, len(chosen), len(values))
        places = np.empty(len(values), dtype=np.intp)
        for number, design in enumerate(chosen):
            used = slice(None) if len(chosen) == 1 else numbers == number
            places[used] = report_codes(values if len(chosen) == 1 else values[used], design, codes=codes)
        sizes = np.array([design.m for design in chosen])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        table = np.concatenate([design.matrix() for design in chosen])
        made = cls(table, starts[numbers] + places, tuple(map(int, sizes)), chosen[0].inputs)
        made._check(chosen)
        return made

    @classmethod
    def direct(cls, codes: Array, categories: Categories) -> Evidence:
        """For a question that was asked openly: the report is the truth."""
        return cls(np.eye(len(categories)), np.asarray(codes, dtype=np.intp), (len(categories),), categories)

    def against(self, code: int) -> Evidence:
        """With another category as the reference: it comes last, the others keep their order."""
        order = [*(other for other in range(self.k) if other != code), code]
        labels = [self.categories.labels[place] for place in order]
        return replace(self, table=self.table[:, order], categories=Categories.of(labels))

    def combined(self, groups: Sequence[tuple[Hashable, Sequence[int]]]) -> Evidence:
        """With categories put together under new labels, and with them the reports that distinguish them."""
        taken = {code for _, codes in groups for code in codes}
        left = [(label, [code]) for code, label in enumerate(self.categories.labels) if code not in taken]
        parts = [*((label, list(codes)) for label, codes in groups), *left]
        pieces = [_put_together(P, parts) for P in np.split(self.table, np.cumsum(self.sizes)[:-1])]
        sizes = [len(table) for table, _ in pieces]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        places = np.concatenate([start + place for start, (_, place) in zip(starts, pieces, strict=True)])
        table = np.concatenate([table for table, _ in pieces])
        if np.linalg.matrix_rank(table) < len(parts):  # too many reports were put together
            raise _told_apart(parts[0][0])
        return Evidence(table, places[self.index], tuple(sizes), Categories.of([label for label, _ in parts]))

    def part(self, rows: slice | Array) -> Evidence:
        """Some respondents."""
        return replace(self, index=self.index[rows])

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
        places = np.full((len(self.table), max(self.sizes)), len(self.table))
        start = 0
        for size in self.sizes:
            places[start : start + size, :size] = np.arange(start, start + size)
            start += size
        return places

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
            return (
                f"the design carries very little information: its smallest singular value is {Printed(smallest):.2g}",
            )
        return ()

    def _check(self, designs: Sequence[Design]) -> None:
        for design in designs[1:]:
            if list(design.inputs.labels) != list(self.categories.labels):
                raise ReportError("the-designs-of-the-groups")
        _, values, directions = np.linalg.svd(self.table)
        if len(values) < self.k or values[-1] <= RANK_TOLERANCE * values[0]:
            raise _not_identifiable(designs, directions[-1])
        impossible = np.unique(self.index[(self.table.max(axis=1) == 0)[self.index]])
        if len(impossible):
            raise ReportError("reports-were-seen-but-are-impossible", impossible=impossible[:5].tolist())


def _put_together(P: Real, parts: Sequence[tuple[Hashable, Sequence[int]]]) -> tuple[Real, Array]:
    """P for groups of truths and of reports, and the number of the group of each report: shapes (M, K) and (m,)."""
    apart = [P[:, codes].max(axis=1) - P[:, codes].min(axis=1) > LIKELY_ALIKE for _, codes in parts]
    tells = [tuple(np.flatnonzero(row)) or (f"report {report}",) for report, row in enumerate(np.array(apart).T)]
    names = [*dict.fromkeys(tells)]
    place = np.array([names.index(name) for name in tells], dtype=np.intp)
    summed = np.array([P[place == number].sum(axis=0) for number in range(len(names))])
    for label, codes in parts:
        if (np.ptp(summed[:, codes], axis=1) > LIKELY_ALIKE).any():
            raise _told_apart(label)
    return summed[:, [codes[0] for _, codes in parts]], place


def _told_apart(label: Hashable) -> ParameterError:
    return ParameterError("the-categories-of-do-not-lead", label=shorten(repr(label), 24))


def _not_identifiable(designs: Sequence[Design], null: Real) -> NotIdentifiableError:
    """In words; the designs of several samples may identify together what one of them does not."""
    which = "this design" if len(designs) == 1 else f"these {len(designs)} designs together"
    hint = "a regression needs designs that are each identifiable; maskwell audit shows whether one is"
    if len(designs) == 1 and designs[0].provenance.get("samples"):
        which += ", one of several samples,"
        if not isinstance(designs[0].inputs.labels[0], tuple):
            hint = "give the designs of all samples by groups of rows, or a design that is identifiable alone"
    return NotIdentifiableError(
        "cannot-tell-categories-apart-no-regression", hint=hint, which=which, null_count=len(null), null_direction=null
    )


def _check_column(reports: Any, designs: Sequence[Design]) -> Any:
    """The reports as one column; with several designs as an array, of which rows can be taken."""
    for design in designs:
        _labels_of_reports(design)
    if len(designs) == 1:
        plain = isinstance(reports, Sized) and not isinstance(reports, str | range) and getattr(reports, "ndim", 1) > 0
        return reports if plain else as_list(reports, "reports")
    if isinstance(reports, Reports):
        raise ReportError("one-column-of-reports-of-one")
    column = as_array(reports, "reports")
    return column if column.dtype.kind in "iub" else np.asarray(reports, dtype=object)


def report_codes(reports: Any, design: Design, *, codes: bool, name: str = "reports") -> Array:
    """Codes of labels, of :class:`Reports`, or as they are where ``codes`` says so: numbers are never codes unasked."""
    if isinstance(reports, Reports):
        return reports_of(design, reports).astype(np.intp)
    if codes:
        column = as_array(reports, name)
        if column.ndim != 1 or column.dtype.kind not in "iub":
            raise WrongTypeError("codes-are-one-column-of-whole", name=name, dtype=column.dtype, shape=column.shape)
        numbers = column.astype(np.intp)
        wrong = np.unique(numbers[(numbers < 0) | (numbers >= design.m)])
        if len(wrong):
            raise ReportError("report-codes-are-outside-0-m", wrong=wrong[:5].tolist(), codes=wrong)
        return numbers
    outputs = _labels_of_reports(design)
    return np.asarray(codes_of(outputs, reports, _match(reports, outputs.labels, name)), dtype=np.intp)


def _labels_of_reports(design: Design) -> Categories:
    if isinstance(design.outputs, Categories):
        return design.outputs
    raise ReportError("a-design-reports-sets-a-regression", kind=design.kind)


def _match(reports: Any, labels: Sequence[Hashable], name: str) -> str:
    """How labels are found: numbers by their text, and only where the labels of the reports are these numbers."""
    if isinstance(labels, range) or not all(isinstance(label, str) for label in labels):
        return "value"
    values = as_array(reports, name)
    if values.ndim != 1 or values.dtype.kind not in "iub":
        return "value"
    if values.dtype.kind != "b" and {str(number) for number in np.unique(values).tolist()} <= {*labels}:
        return "text"
    reported = listed((repr(label) for label in labels), len(labels), 24)
    raise ReportError(
        "are-but-this-design-reports",
        name=name,
        words="True and False" if values.dtype.kind == "b" else "numbers",
        reported=reported,
        label=shorten(repr(labels[0]), 20),
        labels=labels,
    )


def _numbers(groups: Any, n_designs: int, n: int) -> Array:
    if groups is None:
        if n_designs != 1:
            raise ReportError("designs-and-no-word-which-row", n_designs=n_designs)
        return np.zeros(n, dtype=np.intp)
    numbers = as_array(groups, "groups")
    if numbers.shape != (n,) or numbers.dtype.kind not in "iub":
        raise ReportError("groups-has-shape-of-for-rows", shape=numbers.shape, dtype=numbers.dtype, n=n)
    if n and not 0 <= numbers.min() <= numbers.max() < n_designs:
        raise ReportError(
            "groups-runs-from-to-for-designs",
            numbers_min=numbers.min(),
            numbers_max=numbers.max(),
            n_designs=n_designs,
            n_designs_sub=n_designs - 1,
        )
    unused = np.setdiff1d(np.arange(n_designs), numbers)
    if len(unused):
        raise ReportError("no-row-used-design", unused=unused[0], n_designs=n_designs, designs=unused.tolist())
    return numbers.astype(np.intp)

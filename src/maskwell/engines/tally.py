"""Count the reports in a file of any size, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.core.counts import Counts
from maskwell.core.reported import Reports
from maskwell.designs.base import Design
from maskwell.designs.coded import tally_codes
from maskwell.engines.answers import ReportReader, looked_for
from maskwell.engines.arrow_arrays import bits_from_array, describe, missing_rows, require
from maskwell.engines.arrow_checks import REPORTS
from maskwell.engines.columns import (
    Assignment,
    Problems,
    check_assignments,
    common_rows,
    joint_codes,
    joint_design,
    raise_first,
)
from maskwell.engines.file_kinds import find_column, open_source
from maskwell.engines.plan_columns import whole_numbers
from maskwell.engines.randomize import PIECE_BYTES, Progress, pieces
from maskwell.errors import DataFileError, ReportError


@dataclass(frozen=True)
class Tally:
    """Counted reports, the design of all columns together, and how many rows were left out."""

    counts: Counts
    design: Design
    rows: int
    dropped: int


def tally_file(
    path: str,
    assignments: Sequence[Assignment],
    *,
    missing: str = "error",
    counts: str | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Count the reports of the assigned columns, jointly when there are several.

    ``counts`` names a column with the number of reports that each row stands for. ``missing`` is ``"error"``,
    ``"drop"`` the rows, or ``"category"``: count them as the report "missing" of the design.
    """
    names = check_assignments(assignments)
    with open_source(path, coded=looked_for(assignments, reports=True)) as source:
        positions = [find_column(source.schema, name, path, REPORTS) for name in names]
        weights = None if counts is None else find_column(source.schema, counts, path)
        read = sorted({*positions} if weights is None else {*positions, weights})
        fields, places = [source.schema.field(i) for i in positions], [read.index(i) for i in positions]
        counter = _counter(assignments, fields, places, missing)
        rows = 0
        for batch in pieces(source.batches(read), counter.rows_at_once):
            numbers = None if weights is None else whole_numbers(batch.column(read.index(weights)), str(counts), rows)
            counter.add(batch, rows, numbers)
            rows += len(batch)
            if progress is not None:
                progress(rows, source.done())
        if rows == 0:
            raise DataFileError(f"{path} has no rows", hint="give a file with at least one row", path=path)
        raise_first(counter.problems, rows)
        return Tally(counter.total(), counter.design, rows, counter.dropped)


def _counter(
    assignments: Sequence[Assignment], fields: Sequence[Any], positions: Sequence[int], missing: str
) -> CodeCounter | SetCounter:
    parts = [part for assignment in assignments for part in assignment.parts]
    owners = [(name, leaf) for leaf, names in parts for name in names]
    for (name, leaf), field in zip(owners, fields, strict=True):
        check_made_by(leaf, field, name)
    first, names = parts[0]
    if len(parts) == 1 and first.reports_are_sets:
        return SetCounter(first, names[0], positions[0], missing)
    readers = [ReportReader(_outputs(leaf), names, missing) for leaf, names in parts]
    return CodeCounter(joint_design(assignments), readers, positions)


def check_made_by(design: Design, field: Any, name: str) -> None:
    """Raise where a column of a file says that another design made it."""
    about = describe(field)
    if about is not None and about.get("design") != design.fingerprint:
        raise ReportError(
            f"column {name!r} was made with another design than the one given",
            hint=f"estimate with the design that made the reports, {str(about.get('design'))[:19]}...",
            given=about.get("design"),
            expected=design.fingerprint,
        )


class CodeCounter:
    """Counts how often each report, or each combination of reports, occurs."""

    rows_at_once = 1 << 20

    def __init__(self, design: Design, readers: Sequence[ReportReader], positions: Sequence[int]) -> None:
        self.design, self.dropped, self._readers = design, 0, readers
        places = iter(positions)
        self._places = [[next(places) for _ in reader.names] for reader in readers]
        self._sizes = [len(reader.reports) for reader in readers]
        nothing = Reports(design.fingerprint, design.k, design.encoding, design.empty_reports(0))
        self._values = np.array(design.tally(nothing).values)  # zeros, after checking that there is room for them
        self._n = 0

    @property
    def problems(self) -> list[Problems]:
        """Of all columns."""
        return [problem for reader in self._readers for problem in reader.problems]

    def add(self, batch: Any, row: int, weights: Array | None) -> None:
        """Count the next rows."""
        columns = zip(self._readers, self._places, strict=True)
        encoded = [reader.read([batch.column(i) for i in places], row + 1) for reader, places in columns]
        found: list[Encoded] = [one for one in encoded if one is not None]
        if len(found) < len(encoded) or any(self.problems):
            return
        kept, codes = common_rows(found, len(batch))
        joint = joint_codes(codes, self._sizes)
        self.dropped += len(batch) - len(joint)
        if weights is None:
            tally_codes(joint, self._values)
            self._n += len(joint)
        else:
            own = weights if kept is None else weights[kept]
            np.add.at(self._values, joint, own)
            self._n += int(own.sum())

    def total(self) -> Counts:
        """All rows so far."""
        return Counts(self._values, self._n, self.design.fingerprint)


class SetCounter:
    """Counts how many reports name each category."""

    def __init__(self, design: Design, name: str, position: int, missing: str) -> None:
        self.design, self.dropped, self._position, self._policy = design, 0, position, missing
        self.problems = [Problems(name, design.inputs)]
        self.rows_at_once = max(64, PIECE_BYTES // design.k)
        self._total = Counts(np.zeros(design.k, dtype=np.int64), 0, design.fingerprint)

    def add(self, batch: Any, row: int, weights: Array | None) -> None:
        """Count the next rows."""
        values = batch.column(self._position)
        if values.null_count:
            lost = missing_rows(values)
            if self._policy == "category":
                raise ReportError(
                    "set reports have no category for missing values", hint="leave such rows out: --missing drop"
                )
            if self._policy == "error":
                self.problems[0].note_missing(lost, row + 1)
                return
            self.dropped += int(lost.sum())
            values, weights = values.filter(require().array(~lost)), None if weights is None else weights[~lost]
        bits = bits_from_array(values, self.design.k)
        made = self.design.tally(Reports(self.design.fingerprint, self.design.k, "bits", bits))
        if weights is not None:
            held = np.unpackbits(bits, axis=1, count=self.design.k, bitorder="little")
            made = Counts(weights @ held.astype(np.int64), int(weights.sum()), made.fingerprint)
        self._total = self._total + made

    def total(self) -> Counts:
        """All rows so far."""
        return self._total


def _outputs(design: Design) -> Categories:
    if not isinstance(design.outputs, Categories):
        raise ReportError(
            f"a {design.kind} design reports sets, which cannot be counted with other columns",
            hint="estimate that column alone",
        )
    return design.outputs

"""Randomize columns of a file of any size, in one pass and with the same memory however long it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.atomic import atomic_file, check_output
from maskwell.core.categories import Categories
from maskwell.core.exact import Parity, to_float, to_text
from maskwell.core.randomness import SECURE, RandomSource
from maskwell.core.reported import Reports
from maskwell.designs.base import Design
from maskwell.engines.answers import looked_for
from maskwell.engines.arrow_arrays import describe, described, masks_from_bits, require, texts_from_bits, without_traces
from maskwell.engines.columns import (
    Assignment,
    Problems,
    check_assignments,
    common_rows,
    joint_codes,
    raise_first,
    separate_codes,
)
from maskwell.engines.file_kinds import (
    BATCH_ROWS,
    ending_of,
    engine_of,
    find_column,
    lost_in,
    open_sink,
    open_source,
    rows_of_cells,
)
from maskwell.errors import DataFileError, ParameterError

Progress = Callable[[int, float | None], None]
"""Told the rows so far and, where it is known, the share of the file."""

PIECE_BYTES = 1 << 22
MOST_TEXT = 1 << 26
"""Bytes of texts that wait to be written together."""
TEXTS = ("string", "large_string", "binary", "large_binary")


@dataclass(frozen=True)
class RandomizedColumn:
    """What happened to one column."""

    design: str
    k: int
    encoding: str
    parity: float
    private: bool
    missing: int | None
    """Rows without a value that were left out; None where they were randomized like the others, and not counted."""


@dataclass(frozen=True)
class Randomized:
    """What :func:`randomize_file` did: rows written, rows left out, each column, and where it is."""

    rows: int
    dropped: int
    columns: dict[str, RandomizedColumn]
    output: str
    parity_joint_exact: Parity | None = None
    """The product of the parities where several columns were randomized: what all reports of a row reveal together."""
    lost: tuple[str, ...] = ()
    """What the input told besides its rows and the output cannot hold, in words."""

    @property
    def private(self) -> bool:
        """Whether nobody can undo the randomization."""
        return all(column.private for column in self.columns.values())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        columns = {name: vars(column) for name, column in self.columns.items()}
        parity, joint = self.parity_joint_exact, {}
        if parity is not None:
            joint = {"parity_joint": to_float(parity), "parity_joint_exact": to_text(parity)}
        return {
            "rows": self.rows,
            "dropped": self.dropped,
            "columns": columns,
            "output": self.output,
            "private": self.private,
            "lost": list(self.lost),
            **joint,
        }


def randomize_file(
    path: str,
    output: str,
    assignments: Sequence[Assignment],
    *,
    random: RandomSource | None = None,
    missing: str = "error",
    force: bool = False,
    inputs: Sequence[str] = (),
    progress: Progress | None = None,
) -> Randomized:
    """Randomize the assigned columns and copy the others as they are.

    Parameters
    ----------
    path, output
        Files whose ending tells their kind; ``-`` is CSV on standard input or output.
    assignments
        Which design for which column.
    random
        Where the draws come from; the operating system's generator by default.
    missing
        ``"error"``, ``"drop"`` the rows, or ``"category"``: draw a report for the category "missing" of the design.
    force
        Whether the output may replace a file.
    inputs
        Further files that the output must not replace.
    progress
        Called after each batch.

    Raises
    ------
    DataFileError, UnknownCategoryError, MissingValueError
        Then no output is left. Values that no design knows are counted over the whole file first.
    """
    names = check_assignments(assignments)
    for assignment in assignments:
        _check_one_column_each(assignment)
    texts_only = not engine_of(output).holds_bytes
    check_output(output, force=force, inputs=[path, *inputs])
    source_of_draws = SECURE if random is None else random
    same_kind = ending_of(path) == ending_of(output)
    with open_source(path, coded=looked_for(assignments, reports=False), exact=same_kind) as source:
        lost = lost_in(source.style, output)
        columns = [
            ColumnRandomizer(a, source.schema, path, source_of_draws, texts_only=texts_only) for a in assignments
        ]
        schema = without_traces(source.schema, names)
        for column in columns:
            schema = column.changed(schema)
        with (
            atomic_file(output, force=force, inputs=[path, *inputs], like=path) as file,
            open_sink(file, output, schema, style=source.style) as sink,
        ):
            rows = written = 0
            at_once = min(rows_of_cells(len(schema)), *(column.rows_at_once for column in columns))
            even = EvenRows(sink, at_once)
            for batch in pieces(source.batches(), at_once):
                changed = _randomize_batch(batch, columns, schema, rows, missing)
                if changed is not None:
                    even.write(changed)
                    written += len(changed)
                rows += len(batch)
                if progress is not None:
                    progress(rows, source.done())
            if rows == 0:
                raise DataFileError(f"{path} has no rows", hint="give a file with at least one row", path=path)
            raise_first((problem for column in columns for problem in column.problems), rows)
            even.finish()
    summary = {n: s for c in columns for n, s in c.summary().items()}
    return Randomized(written, rows - written, summary, output, _parity_joint(assignments), lost)


def _parity_joint(assignments: Sequence[Assignment]) -> Parity | None:
    """The product of the parities of several columns, None for a single one."""
    parities = [leaf.parity_exact() for assignment in assignments for leaf in assignment.leaves]
    finite = [parity for parity in parities if isinstance(parity, Fraction)]
    if len(parities) == 1:
        return None
    return math.prod(finite, start=Fraction(1)) if len(finite) == len(parities) else math.inf


class Writes(Protocol):
    """Anything that takes rows."""

    def write(self, batch: Any) -> None:
        """Add rows."""


class EvenRows:
    """Hands rows on in pieces of one length, whatever the lengths they came in.

    A reader cuts a text file by bytes, so that the lengths of its batches depend on the true values. Were they kept,
    the cuts of the output would tell about the truth. Where values are long, a piece ends earlier, at a row that the
    rows handed on tell.
    """

    def __init__(self, sink: Writes, rows: int) -> None:
        self._sink, self._rows, self._count, self._bytes = sink, rows, 0, 0
        self._waiting: list[Any] = []

    def write(self, batch: Any) -> None:
        """Add rows."""
        self._waiting.append(batch)
        self._count, self._bytes = self._count + len(batch), self._bytes + batch.nbytes
        while self._count >= (rows := min(self._rows, self._rows_of_long_texts())):
            self._pass_on(rows)

    def finish(self) -> None:
        """Hand on what is left."""
        if self._count:
            self._pass_on(self._count)

    def _rows_of_long_texts(self) -> int:
        """How many of the waiting rows have texts of so many bytes; more than there are where none have."""
        if self._bytes < MOST_TEXT:
            return self._count + 1
        lengths = np.concatenate([text_bytes(batch) for batch in self._waiting])
        return int(np.searchsorted(np.cumsum(lengths), MOST_TEXT)) + 1

    def _pass_on(self, rows: int) -> None:
        table = require().Table.from_batches(self._waiting)
        for batch in table.slice(0, rows).unify_dictionaries().combine_chunks().to_batches():
            self._sink.write(batch)
        self._waiting, self._count = table.slice(rows).to_batches(), self._count - rows
        self._bytes = sum(batch.nbytes for batch in self._waiting)


def text_bytes(batch: Any) -> Array:
    """Bytes of the texts in each row.

    >>> import pyarrow as pa
    >>> text_bytes(pa.RecordBatch.from_pydict({"a": ["one", None], "b": [1, 2], "c": ["x", "yy"]})).tolist()
    [4, 2]
    """
    arrow, length = require(), require("pyarrow.compute").binary_length
    total = np.zeros(len(batch), dtype=np.int64)
    for column in batch.columns:
        if str(column.type) in TEXTS:
            total += np.asarray(length(column).cast(arrow.int64()).fill_null(0))
    return total


def pieces(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Batches of at most so many rows."""
    for batch in batches:
        for start in range(0, len(batch), rows):
            yield batch.slice(start, rows)


def _randomize_batch(batch: Any, columns: Sequence[ColumnRandomizer], schema: Any, row: int, missing: str) -> Any:
    """The batch with reports in place of the truth; None once any column has met a value it cannot use."""
    arrow = require()
    encoded = [column.encode(batch, row, missing) for column in columns]
    if any(problem for column in columns for problem in column.problems):
        return None
    found = [one for group in encoded for one in group if one is not None]
    kept, codes = common_rows(found, len(batch))
    arrays = (batch if kept is None else batch.filter(arrow.array(kept))).columns
    remaining = iter(codes)
    for column in columns:
        drawn = column.draw([next(remaining) for _ in column.positions])
        for position, array in zip(column.positions, drawn, strict=True):
            arrays[position] = array
    arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, schema, strict=True)]
    return arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _check_one_column_each(assignment: Assignment) -> None:
    several = next((names for _, names in assignment.parts if len(names) > 1), None)
    if several is not None:
        raise ParameterError(
            f"the reports of one design for the columns {', '.join(several)}: files are randomized column by column",
            hint="randomize tables in Python, design.sample(codes); estimate reads such columns",
            columns=several,
        )


class ColumnRandomizer:
    """One assignment at work: from true values to reports, batch after batch."""

    def __init__(
        self, assignment: Assignment, schema: Any, path: str, random: RandomSource, *, texts_only: bool
    ) -> None:
        self._names, self._leaves, self._texts_only = assignment.columns, assignment.leaves, texts_only
        self.positions = [find_column(schema, name, path) for name in self._names]
        self._fields = [schema.field(position) for position in self.positions]
        self._check_true_values()
        self._sampler = assignment.design.sampler(random)
        self.problems = [Problems(n, leaf.inputs) for n, leaf in zip(self._names, self._leaves, strict=True)]
        self._missing: list[int | None] = [0] * len(self._names)
        self._labels = [self._label_array(d, f.type) for d, f in zip(self._leaves, self._fields, strict=True)]

    @property
    def rows_at_once(self) -> int:
        """So many that their reports take a few megabytes."""
        bytes_of_a_row = max(d.k if d.reports_are_sets else 8 for d in self._leaves)
        return max(64, min(BATCH_ROWS, PIECE_BYTES // bytes_of_a_row))

    def changed(self, schema: Any) -> Any:
        """The schema with reports in place of the truth, saying so."""
        for position, field, leaf, labels in zip(self.positions, self._fields, self._leaves, self._labels, strict=True):
            kind = self._set_type(leaf) if labels is None else labels.type
            schema = schema.set(position, described(field.with_type(kind).with_nullable(True), self._about(leaf)))
        return schema

    def encode(self, batch: Any, row: int, missing: str) -> list[Any]:
        """Codes of the columns, None for each that cannot be encoded."""
        encoded = [
            p.encode(batch.column(i), row + 1, missing) for p, i in zip(self.problems, self.positions, strict=True)
        ]
        if missing == "category":  # then a missing value is a truth like others, and their number is nobody's business
            self._missing = [None] * len(encoded)
        else:
            self._missing = [
                (n or 0) + (0 if e is None else e.n_missing) for n, e in zip(self._missing, encoded, strict=True)
            ]
        return encoded

    def draw(self, codes: list[Array]) -> list[Any]:
        """Reports for the next rows, one array for each column."""
        reports = self._sampler.sample(joint_codes(codes, [leaf.k for leaf in self._leaves]))
        if reports.encoding == "bits":
            return [texts_from_bits(reports.data, reports.k) if self._texts_only else masks_from_bits(reports.data)]
        parts = separate_codes(reports.data, [leaf.m for leaf in self._leaves])
        arrow = require()
        return [labels.take(arrow.array(part)) for labels, part in zip(self._labels, parts, strict=True)]

    def summary(self) -> dict[str, RandomizedColumn]:
        """What happened to each column."""
        return {
            name: RandomizedColumn(
                leaf.fingerprint, leaf.k, leaf.encoding, leaf.parity(), self._sampler.private, missing
            )
            for name, leaf, missing in zip(self._names, self._leaves, self._missing, strict=True)
        }

    def _check_true_values(self) -> None:
        for name, field in zip(self._names, self._fields, strict=True):
            if describe(field) is not None:
                raise DataFileError(
                    f"column {name!r} already holds reports of a design",
                    hint="give the file with the true values",
                    column=name,
                )

    def _about(self, leaf: Design) -> dict[str, Any]:
        return dict(Reports(leaf.fingerprint, leaf.k, leaf.encoding, np.empty(0), self._sampler.private).describe())

    def _set_type(self, leaf: Design) -> Any:
        arrow = require()
        return arrow.string() if self._texts_only else arrow.binary((leaf.k + 7) // 8)

    def _label_array(self, leaf: Design, kind: Any) -> Any:
        """All report labels in the type of the column where it can hold them; None for set reports."""
        if not isinstance(leaf.outputs, Categories):
            return None
        arrow = require()
        labels = leaf.outputs.decode(np.arange(leaf.m), like=arrow.array([], type=kind), match="text")
        if not arrow.types.is_dictionary(labels.type):
            return labels
        # The width of the positions is the design's, since that of the true column follows the values that occur in it.
        positions = arrow.int8() if leaf.m <= 2**7 else arrow.int16() if leaf.m <= 2**15 else arrow.int32()
        return labels.cast(arrow.dictionary(positions, labels.type.value_type, labels.type.ordered))

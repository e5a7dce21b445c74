"""Reports read from the rows of a table: which design each row used, and its report as a code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.engines.arrow_arrays import require
from maskwell.engines.assignments import Answers, Samples, Variable, check_reports_one, group_text
from maskwell.engines.column_codes import CategoryCoder, Problems, common_rows, joint_codes
from maskwell.errors import ParameterError

Columns = Mapping[str, Any]
"""The columns of a batch by their names, as Arrow arrays."""


class SampleReader:
    """Turns batches of rows into the sample and the report of each row, gathering what cannot be used."""

    def __init__(self, samples: Samples, missing: str) -> None:
        self.samples = samples
        self._readers = [_VariableReader(variable, missing) for variable in samples.variables]
        self._alike = not samples.group_columns and len(samples) == 1

    @property
    def problems(self) -> list[Problems]:
        """Of all columns, groups first."""
        return [problems for reader in self._readers for problems in reader.problems]

    def read(self, columns: Columns, rows: int, first_row: int) -> tuple[Array, Array, Array]:
        """The rows that can be used (a mask), and of those the samples and the joint codes of their reports."""
        usable = (self._read_alike if self._alike else self._read_groups)(columns, rows, first_row)
        if usable is None or any(self.problems):
            return np.zeros(rows, dtype=np.bool_), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        return usable

    def _read_alike(self, columns: Columns, rows: int, first_row: int) -> tuple[Array, Array, Array] | None:
        """Rows that all used one design for each column: codes stay as small as they come."""
        readers = [report for reader in self._readers for report in reader.by_choice[0]]
        encoded = [reader.read([columns[name] for name in reader.names], first_row) for reader in readers]
        codes_of = [one for one in encoded if one is not None]
        if len(codes_of) < len(encoded):
            return None
        kept, codes = common_rows(codes_of, rows)
        report = joint_codes(codes, [len(reader.reports) for reader in readers])
        everything = np.ones(rows, dtype=np.bool_)
        return everything if kept is None else kept, np.zeros(len(report), dtype=np.int64), report

    def _read_groups(self, columns: Columns, rows: int, first_row: int) -> tuple[Array, Array, Array]:
        kept = np.ones(rows, dtype=np.bool_)
        parts = [reader.read(columns, rows, first_row) for reader in self._readers]
        for part in parts:
            kept &= part.kept
        sample = joint_codes([part.choice[kept] for part in parts], [len(v.choices) for v in self.samples.variables])
        code = parts[0].code[kept]
        for part in parts[1:]:
            code = code * part.size[kept] + part.code[kept]
        return kept, sample.astype(np.int64), code


@dataclass(frozen=True)
class _Part:
    """Of one variable: rows with a report, which design each used, the joint code and the number of reports."""

    kept: Array
    choice: Array
    code: Array
    size: Array


class _VariableReader:
    """Reads one variable: the group of each row, and the report of the design that the group used."""

    def __init__(self, variable: Variable, missing: str) -> None:
        self._variable = variable
        by_column = zip(*([value for _, value in choice.when] for choice in variable.choices), strict=True)
        self._values = [Categories.of(list(dict.fromkeys(values))) for values in by_column]
        rule = "drop" if missing == "drop" else "error"
        self._groups = [
            CategoryCoder(name, known, rule, role="group")
            for name, known in zip(variable.group_columns, self._values, strict=True)
        ]
        self.by_choice = [
            [ReportReader(check_reports_one(leaf), names, missing) for leaf, names in choice.parts]
            for choice in variable.choices
        ]

    @property
    def problems(self) -> list[Problems]:
        """Of the columns that tell the groups, then of the reports."""
        reports = [problems for readers in self.by_choice for reader in readers for problems in reader.problems]
        return [*(coder.problems for coder in self._groups), *reports]

    def read(self, columns: Columns, rows: int, first_row: int) -> _Part:
        """What the next rows hold."""
        kept, choice = self._choose(columns, rows, first_row)
        code, size = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64)
        for number, readers in enumerate(self.by_choice):
            chosen = np.flatnonzero(kept & (choice == number))
            for reader in readers if len(chosen) else ():
                values = [_taken(columns[name], chosen) for name in reader.names]
                report = _placed(reader.read(values, first_row, chosen), len(chosen))
                code[chosen] = code[chosen] * len(reader.reports) + report
                size[chosen] *= len(reader.reports)
                kept[chosen[report < 0]] = False
        return _Part(kept, choice, code, size)

    def _choose(self, columns: Columns, rows: int, first_row: int) -> tuple[Array, Array]:
        """The rows that belong to a group, and the number of the design that each used."""
        if not self._groups:
            return np.ones(rows, dtype=np.bool_), np.zeros(rows, dtype=np.int64)
        codes = [_placed(coder.codes(columns[coder.column], first_row), rows) for coder in self._groups]
        kept = np.logical_and.reduce([one >= 0 for one in codes])
        joint = joint_codes([np.maximum(one, 0) for one in codes], self._sizes)
        choice = self._number_of[joint]
        unknown = np.flatnonzero(kept & (choice < 0))
        if len(unknown):
            raise self._no_design(codes, int(unknown[0]), first_row)
        return kept, choice

    @property
    def _sizes(self) -> list[int]:
        return [len(values) for values in self._values]

    @cached_property
    def _number_of(self) -> Array:
        """The number of the design for each combination of group values, -1 where there is none."""
        number_of = np.full(int(np.prod(self._sizes)), -1, dtype=np.int64)
        for number, choice in enumerate(self._variable.choices):
            place = [np.array([v.code(text)]) for v, (_, text) in zip(self._values, choice.when, strict=True)]
            number_of[int(joint_codes(place, self._sizes)[0])] = number
        return number_of

    def _no_design(self, codes: Sequence[Array], row: int, first_row: int) -> ParameterError:
        names = self._variable.group_columns
        where = group_text((n, str(v.labels[int(c[row])])) for n, v, c in zip(names, self._values, codes, strict=True))
        named = ", ".join(self._variable.columns)
        return ParameterError(
            f"no design for {named!r} has the values of {', '.join(names)} in data row {first_row + row}",
            hint=f"add --design '{named}[{','.join(f'{n}=...' for n in names)}]=D.json' for these rows",
            values=where,
        )


def _taken(column: Any, places: Array) -> Any:
    """The rows in these places of a column."""
    return column if len(places) == len(column) else column.take(require().array(places))


def _placed(encoded: Encoded | None, rows: int) -> Array:
    """Codes of the rows, -1 for those without a value or whose value cannot be used."""
    codes = np.full(rows, -1, dtype=np.int64)
    if encoded is not None:
        codes[slice(None) if encoded.kept is None else encoded.kept] = encoded.codes
    return codes


class ReportReader:
    """Reads the reports of one design from its columns, gathering what cannot be used.

    They stand in one column or, where they are tuples of answers, in one for each answer.
    """

    def __init__(self, reports: Categories, names: Sequence[str], missing: str) -> None:
        self.names, self.reports = tuple(names), reports
        self._answers = None if len(self.names) == 1 else Answers(reports)
        places = (reports,) if self._answers is None else self._answers.places
        self._coders = [CategoryCoder(name, place, missing) for name, place in zip(self.names, places, strict=True)]
        self._together = Problems(", ".join(self.names), reports, role="report")

    @property
    def problems(self) -> list[Problems]:
        """Of each column, then of their answers together."""
        alone = [coder.problems for coder in self._coders]
        return alone if self._answers is None else [*alone, self._together]

    def read(self, columns: Sequence[Any], first_row: int, places: Array | None = None) -> Encoded | None:
        """Codes of the reports, or None when some cannot be used; ``places`` where the rows stand in the batch."""
        encoded = [c.codes(column, first_row, places) for c, column in zip(self._coders, columns, strict=True)]
        usable = [one for one in encoded if one is not None]
        if len(usable) < len(encoded):
            return None
        if self._answers is None:
            return usable[0]
        return self._read_together(self._answers, usable, len(columns[0]), first_row, places)

    def _read_together(
        self, answers: Answers, encoded: Sequence[Encoded], rows: int, first_row: int, places: Array | None
    ) -> Encoded | None:
        kept, codes = common_rows(encoded, rows)
        joined = answers.join(codes)
        if (strange := joined < 0).any():
            labels = [place.decode(code[strange]) for place, code in zip(answers.places, codes, strict=True)]
            times = Counter(zip(*(label.tolist() for label in labels), strict=True))
            self._together.note_unknown(times, np.flatnonzero(strange), first_row, _places(kept, places))
            return None
        return Encoded(joined, rows - len(joined), kept, self.reports)


def _places(kept: Array | None, places: Array | None) -> Array | None:
    """Where the rows that were kept stand in the batch."""
    if kept is None:
        return places
    return np.flatnonzero(kept) if places is None else places[kept]

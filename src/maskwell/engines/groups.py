"""Rows that used different designs: which design each row of a file belongs to, and its reports as codes.

A column has one design for all rows, or one for each group of rows, named by the values of other columns. The designs
that a row used for all its columns together are its *sample*.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories, Encoded
from maskwell.core.phrases import shorten
from maskwell.designs.base import Design
from maskwell.designs.kronecker import Kronecker
from maskwell.engines.answers import ReportReader, looked_for
from maskwell.engines.arrow_arrays import require
from maskwell.engines.columns import Assignment, Problems, joint_codes
from maskwell.errors import ParameterError, ReportError

SAMPLES_LIMIT = 10_000


@dataclass(frozen=True)
class Variable:
    """A column, or the columns of a product of designs, and the designs that groups of rows used for it.

    >>> from maskwell.designs.uniform import Uniform
    >>> coin, die = (Uniform.from_gamma(g, Categories.of(["yes", "no"])) for g in (3, 5))
    >>> first, second = (Assignment.of("y", d, [("group", v)]) for d, v in ((coin, "1"), (die, "2")))
    >>> variables_of([first, second])[0].group_columns
    ('group',)
    """

    choices: tuple[Assignment, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the reports."""
        return self.choices[0].columns

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns that tell which design a row used; none where all rows used one."""
        return tuple(name for name, _ in self.choices[0].when)

    def check(self) -> None:
        """Raise unless every row can have at most one of the designs."""
        named = ", ".join(self.columns)
        if len(self.choices) > 1 and not all(choice.when for choice in self.choices):
            raise ParameterError(
                f"two designs for the column {named!r}",
                hint=f"give it one design, or one for each group of rows: --design '{named}[group=1]=D1.json'",
            )
        if len({tuple(name for name, _ in choice.when) for choice in self.choices}) > 1:
            raise ParameterError(
                f"the groups of {named!r} are told by different columns",
                hint="name the same columns for all of them, in the same order",
            )
        values = [choice.when for choice in self.choices]
        twice = next((when for when in values if values.count(when) > 1), None)
        if twice is not None:
            raise ParameterError(
                f"two designs for {named!r} where {_shown(twice)}", hint="give each group of rows one design"
            )
        inputs = self.choices[0].design.inputs
        for other in self.choices[1:]:
            if other.design.inputs != inputs:
                raise ParameterError(
                    f"the designs of {named!r} have different categories: {_first(inputs)} and "
                    f"{_first(other.design.inputs)}",
                    hint="make them with the same --categories, in the same order",
                )


def _shown(when: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in when)


def _first(categories: Categories) -> str:
    return shorten(", ".join(map(str, categories.labels[:4])), 30)


def variables_of(assignments: Sequence[Assignment]) -> list[Variable]:
    """The assignments by the columns they belong to, in the order in which those are first named; each checked."""
    if not assignments:
        raise ParameterError("no design was given", hint="name a column and its design: --design answer=design.json")
    by_columns: dict[tuple[str, ...], list[Assignment]] = {}
    for assignment in assignments:
        by_columns.setdefault(assignment.columns, []).append(assignment)
    found = [Variable(tuple(choices)) for choices in by_columns.values()]
    for variable in found:
        variable.check()
    _check_named_once([name for variable in found for name in variable.columns])
    return found


def _check_named_once(names: Sequence[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ParameterError(f"two designs for the column {repeated!r}", hint="give each column one design")


@dataclass(frozen=True)
class Samples:
    """All combinations of the designs of several variables, one of which each row used.

    The sample of a row is a mixed-radix number: for each variable, which of its designs; the first variable slowest.
    """

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        for variable in self.variables:
            for choice in variable.choices:
                for leaf in choice.leaves:
                    check_reports_one(leaf)
        if len(self) > SAMPLES_LIMIT:
            raise ParameterError(
                f"{len(self):,} combinations of designs", hint=f"use at most {SAMPLES_LIMIT:,}, or fewer columns"
            )

    def __len__(self) -> int:
        return int(np.prod([len(variable.choices) for variable in self.variables]))

    @cached_property
    def choices(self) -> list[tuple[Assignment, ...]]:
        """For each sample, the assignment of each variable."""
        return list(product(*(variable.choices for variable in self.variables)))

    @cached_property
    def designs(self) -> list[Design]:
        """The design of each sample, all its columns together."""
        return [_together([leaf for one in chosen for leaf in one.leaves]) for chosen in self.choices]

    @property
    def labels(self) -> list[str]:
        """What tells each sample, for people; empty where all rows used one design."""
        return [_shown(dict.fromkeys(pair for one in chosen for pair in one.when)) for chosen in self.choices]

    def looked_for(self) -> dict[str, Categories | None]:
        """The categories that columns hold: reports, and the values that tell which design a row used."""
        every = [choice for variable in self.variables for choice in reversed(variable.choices)]
        values: dict[str, list[str]] = {}
        for name, value in (pair for choice in every for pair in choice.when):
            values.setdefault(name, []).append(value)
        groups = {name: Categories.of(dict.fromkeys(found)) for name, found in values.items()}
        return {**groups, **looked_for(every, reports=True)}

    def check_used(self, seen: Iterable[int]) -> None:
        """Raise for a group of rows that has a design, but no row with a report among the samples that were seen."""
        used = {id(one) for place in seen for one in self.choices[place]}
        for one in (choice for variable in self.variables for choice in variable.choices if choice.when):
            if used and id(one) not in used:
                raise ReportError(
                    f"no row with a report has {shorten(_shown(one.when), 30)}, for which there is a design",
                    hint="leave its design out if this group was not asked, or check the column",
                    group=dict(one.when),
                )

    @property
    def columns(self) -> list[str]:
        """The columns that hold reports."""
        return [name for variable in self.variables for name in variable.columns]

    @property
    def group_columns(self) -> list[str]:
        """The columns that tell the groups, each once."""
        return [*dict.fromkeys(name for variable in self.variables for name in variable.group_columns)]


def _together(leaves: Sequence[Design]) -> Design:
    return leaves[0] if len(leaves) == 1 else Kronecker.of(leaves)


class SampleReader:
    """Turns batches of rows into the sample and the report of each row, gathering what cannot be used."""

    def __init__(self, samples: Samples, missing: str) -> None:
        self.samples = samples
        self._readers = [_VariableReader(variable, missing) for variable in samples.variables]

    @property
    def problems(self) -> list[Problems]:
        """Of all columns, groups first."""
        return [p for reader in self._readers for p in [*reader.group_problems, *reader.problems]]

    def read(self, columns: dict[str, Any], rows: int, first_row: int) -> tuple[Array, Array, Array]:
        """The rows that can be used (a mask), and of those the samples and the joint codes of their reports."""
        kept = np.ones(rows, dtype=np.bool_)
        parts = [reader.read(columns, rows, first_row) for reader in self._readers]
        for part in parts:
            kept &= part.kept
        if any(self.problems):
            return np.zeros(rows, dtype=np.bool_), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
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
    def __init__(self, variable: Variable, missing: str) -> None:
        self._variable, self._policy = variable, missing
        by_column = zip(*([value for _, value in choice.when] for choice in variable.choices), strict=True)
        self._values = [Categories.of(list(dict.fromkeys(values))) for values in by_column]
        self.group_problems = [
            Problems(name, known, role="group")
            for name, known in zip(variable.group_columns, self._values, strict=True)
        ]
        self._by_choice = [
            [ReportReader(check_reports_one(leaf), names, missing) for leaf, names in choice.parts]
            for choice in variable.choices
        ]

    @property
    def problems(self) -> list[Problems]:
        return [p for readers in self._by_choice for reader in readers for p in reader.problems]

    def read(self, columns: dict[str, Any], rows: int, first_row: int) -> _Part:
        kept, choice = self._choose(columns, rows, first_row)
        code, size = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64)
        for number, readers in enumerate(self._by_choice):
            own = np.flatnonzero(kept & (choice == number))
            for reader in readers if len(own) else ():
                values = [_taken(columns[name], own) for name in reader.names]
                found = _placed(reader.read(values, first_row, own), len(own))
                code[own] = code[own] * len(reader.reports) + found
                size[own] *= len(reader.reports)
                kept[own[found < 0]] = False
        return _Part(kept, choice, code, size)

    def _choose(self, columns: dict[str, Any], rows: int, first_row: int) -> tuple[Array, Array]:
        if not self.group_problems:
            return np.ones(rows, dtype=np.bool_), np.zeros(rows, dtype=np.int64)
        policy, everything = "drop" if self._policy == "drop" else "error", np.arange(rows)
        found = [p.encode(columns[p.column], first_row, policy, everything) for p in self.group_problems]
        codes = [_placed(one, rows) for one in found]
        kept = np.logical_and.reduce([one >= 0 for one in codes])
        joint = joint_codes([np.maximum(one, 0) for one in codes], [len(v) for v in self._values])
        choice = self._number_of[joint]
        unknown = np.flatnonzero(kept & (choice < 0))
        if len(unknown):
            raise self._no_design(codes, int(unknown[0]), first_row)
        return kept, choice

    @cached_property
    def _number_of(self) -> Array:
        """The number of the design for each combination of group values, -1 where there is none."""
        found = np.full(int(np.prod([len(v) for v in self._values])), -1, dtype=np.int64)
        for number, choice in enumerate(self._variable.choices):
            place = [np.array([v.code(text)]) for v, (_, text) in zip(self._values, choice.when, strict=True)]
            found[int(joint_codes(place, [len(v) for v in self._values])[0])] = number
        return found

    def _no_design(self, codes: Sequence[Array], row: int, first_row: int) -> ParameterError:
        names = self._variable.group_columns
        where = _shown((n, str(v.labels[int(c[row])])) for n, v, c in zip(names, self._values, codes, strict=True))
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
    found = np.full(rows, -1, dtype=np.int64)
    if encoded is not None:
        found[slice(None) if encoded.kept is None else encoded.kept] = encoded.codes
    return found


def check_reports_one(design: Design) -> Categories:
    """The possible reports of a design that reports one category at a time, or an error."""
    if not isinstance(design.outputs, Categories):
        raise ReportError(
            f"a {design.kind} design reports sets, which cannot be counted by groups, domains or sampling units",
            hint="estimate that column alone, from all rows",
        )
    return design.outputs

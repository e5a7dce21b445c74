"""The columns of a survey's table, read batch after batch: how its rows were sampled, and what was reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_inclusion, check_weights
from maskwell.core.categories import Categories, Encoded
from maskwell.core.groups import Factor
from maskwell.core.labels import plain
from maskwell.core.phrases import design_of, option
from maskwell.core.verdicts import below
from maskwell.engines.arrow_arrays import column_errors, first_used, missing_rows, require
from maskwell.engines.assignments import Answers, Samples, Variable, check_reports_one, group_text
from maskwell.engines.column_codes import (
    NEEDED,
    CategoryCoder,
    Problems,
    check_no_missing,
    check_number_type,
    check_size,
    common_rows,
    joint_codes,
    numbers_of,
    places_of,
    separate_codes,
)
from maskwell.engines.row_sources import find_column
from maskwell.errors import DataFileError, ParameterError, ReportError


@dataclass(frozen=True)
class SamplingColumns:
    """Which column holds what engines read beside the reports: weights, strata and so on, and the domains."""

    weights: str | None = None  # how many people a row stands for; not together with inclusion
    inclusion: str | None = None  # the chance with which a row was drawn
    strata: str | None = None
    clusters: tuple[str, ...] = ()  # from the first stage on; told apart by their labels within a stratum
    population: tuple[str | float, ...] = ()  # for each stage the units to draw from, or the column that holds them
    replicates: str | None = None  # how the names of the replicate weights start
    by: tuple[str, ...] = ()  # columns whose values are the domains
    chances: bool = False  # whether a weight is one over a chance, and so 1 or more
    auxiliary: tuple[str, ...] = ()  # of calibrated weights

    def __post_init__(self) -> None:
        if self.weights is not None and self.inclusion is not None:
            raise ParameterError("both-weights-and-inclusion-chances")

    def __bool__(self) -> bool:
        """Whether any sampling information is given."""
        return any(
            (self.weights, self.inclusion, self.strata, self.clusters, self.population, self.replicates, self.by)
        )

    @property
    def only_domains(self) -> bool:
        """Whether domains are given, but no sampling information."""
        return bool(self.by) and not replace(self, by=())

    @property
    def labelled(self) -> list[str]:
        """Columns whose values are labels."""
        return [name for name in (self.strata, *self.clusters, *self.by) if name is not None]

    @property
    def numeric(self) -> list[str]:
        """Columns whose values are numbers, without the replicates."""
        names = (self.weights, self.inclusion, *self.population, *self.auxiliary)
        return [name for name in names if isinstance(name, str)]

    def replicate_names(self, schema: Any, path: object) -> list[str]:
        """The columns of the replicate weights, in the order of the file."""
        if self.replicates is None:
            return []
        named = {*self.numeric, *self.labelled}
        replicates = [name for name in schema.names if name.startswith(self.replicates) and name not in named]
        if not replicates:
            first_names = ", ".join(schema.names[:10]) + (", ..." if len(schema.names) > 10 else "")
            told = {"replicates": self.replicates, "first_names": first_names, "columns": schema.names}
            raise DataFileError("has-no-columns-whose-names-start", path=path, **told)
        return replicates

    def names(self, schema: Any, path: object) -> list[str]:
        """All columns that must be read, each of which is there."""
        names = [*dict.fromkeys([*self.numeric, *self.labelled, *self.replicate_names(schema, path)])]
        for name in names:
            find_column(schema, name, path)
        return names


class RoleReader:
    """Reads these columns, batch after batch, under the names that :class:`Cells` gives them."""

    def __init__(self, roles: SamplingColumns, schema: Any, path: object) -> None:
        self._roles = roles
        self._replicates = roles.replicate_names(schema, path)

    def with_domain(self, columns: Mapping[str, Any], rows: int) -> Array:
        """Which of the next rows have a value in every column that defines the domains."""
        told = np.ones(rows, dtype=np.bool_)
        for name in self._roles.by:
            told &= ~missing_rows(columns[name])
        return told

    def read(self, columns: Mapping[str, Any], row: int, kept: Array | None = None) -> dict[str, Any]:
        """What is known about the next rows, or the kept ones among them; ``row`` of them were read before."""
        if kept is None or kept.all():
            return self._known(columns, row) | self._domains(columns, row)
        places = require().array(np.flatnonzero(kept))
        known = {name: some_rows(value, kept) for name, value in self._known(columns, row).items()}
        return known | self._domains({name: columns[name].take(places) for name in self._roles.by}, row)

    def told_by(self, columns: Mapping[str, Any], row: int, rows: Array) -> tuple[set[Any], set[Any]]:
        """The strata and the domains that some of the next rows belong to."""
        roles = self._roles
        every = require().array(np.flatnonzero(rows))
        strata = [] if roles.strata is None else [labels_of(columns[roles.strata].take(every), roles.strata, row)]
        told = require().array(np.flatnonzero(rows & self.with_domain(columns, len(rows))))
        domains = self._domains({name: columns[name].take(told) for name in roles.by}, row).values()
        return occurring_labels(strata), occurring_labels(domains)

    def _known(self, columns: Mapping[str, Any], row: int) -> dict[str, Any]:
        roles = self._roles
        known = {
            "weight": self._weights(columns, row),
            "stratum": None if roles.strata is None else labels_of(columns[roles.strata], roles.strata, row),
            "clusters": [labels_of(columns[name], name, row) for name in roles.clusters],
            "population": [self._size(size, columns, row) for size in roles.population],
        }
        if roles.auxiliary:
            known["auxiliary"] = np.column_stack([numbers_of(columns[name], name, row) for name in roles.auxiliary])
        if self._replicates:
            known["replicates"] = np.column_stack([numbers_of(columns[n], n, row) for n in self._replicates])
        return {name: value for name, value in known.items() if value is not None}

    def _weights(self, columns: Mapping[str, Any], row: int) -> Real | None:
        name = self._roles.weights or self._roles.inclusion
        if name is None:
            return None
        values, said = numbers_of(columns[name], name, row), f"column {name!r}"
        if self._roles.weights:
            weights = check_weights(values, len(values), name=said, row=row)
            small = np.flatnonzero(below(weights, 1))
            if self._roles.chances and len(small):
                raise _too_small("column-the-weight-in-row", weights, int(small[0]), name, row)
            return weights
        return check_size(1 / check_inclusion(values, len(values), name=said, row=row), name, row)

    def _size(self, size: str | float, columns: Mapping[str, Any], row: int) -> Any:
        if not isinstance(size, str):
            return size
        values = numbers_of(columns[size], size, row)
        small = np.flatnonzero(values < 1)
        if len(small):
            raise _too_small("column-the-population-in-data-row", values, int(small[0]), size, row)
        return values

    def _domains(self, columns: Mapping[str, Any], row: int) -> dict[str, Factor]:
        no_domain = f"leave rows without a domain out ({option('missing', 'drop')}), or give them one"
        parts = []
        for name in self._roles.by:  # values in a dictionary that no row bears are no domains
            column = columns[name]
            values = first_used(column) if require().types.is_dictionary(column.type) else column
            parts.append(labels_of(values, name, row, no_domain))
        if len(parts) < 2:
            return {"domain": parts[0]} if parts else {}
        sizes = [part.size for part in parts]
        used, places = np.unique(joint_codes([part.codes for part in parts], sizes), return_inverse=True)
        keys = zip(*(part.labels[c] for part, c in zip(parts, separate_codes(used, sizes), strict=True)), strict=True)
        return {"domain": Factor.from_codes(places, [tuple(map(plain, key)) for key in keys], "domains")}


def _too_small(code: str, values: Real, place: int, name: str, row: int) -> ParameterError:
    return ParameterError(code, row_plus_small_number=row + place + 1, values=f"{values[place]:g}", column=name)


def occurring_labels(factors: Iterable[Factor]) -> set[Any]:
    """The labels that some row bears."""
    return {label for factor in factors for label in factor.labels[np.unique(factor.codes)].tolist()}


def some_rows(value: Any, kept: Array) -> Any:
    """The kept rows of a column, of several columns, or a number as it is."""
    if isinstance(value, list):
        return [some_rows(one, kept) for one in value]
    if isinstance(value, Factor):
        return value.take(np.flatnonzero(kept))
    return value[kept] if isinstance(value, np.ndarray) and value.ndim else value


def joined_roles(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What was read from one batch after the other, as of one batch."""
    return {name: _joined([part[name] for part in parts], name) for name in (parts[0] if parts else ())}


def _joined(values: Sequence[Any], name: str) -> Any:
    first = values[0]
    if isinstance(first, list):
        return [_joined(one, name) for one in zip(*values, strict=True)]
    if isinstance(first, Factor):
        return Factor.joined(values, name)
    return np.concatenate(values) if isinstance(first, np.ndarray) and first.ndim else first


def population_of(texts: Sequence[str]) -> tuple[str | float, ...]:
    """Sizes typed as numbers or names of columns."""
    sizes: list[str | float] = [*texts]
    for place, text in enumerate(texts):
        try:
            sizes[place] = size = float(text)
        except ValueError:
            continue
        if not 1 <= size < float("inf"):
            raise ParameterError("a-population-of-text", text=text)
    return tuple(sizes)


def labels_of(column: Any, name: str, row: int, needed: str = NEEDED) -> Factor:
    """A column of labels as codes; a missing value is refused with its row."""
    check_no_missing(column, name, row, needed)
    codes, dictionary = places_of(column)
    with column_errors(name):
        labels = dictionary.to_pylist()
    return Factor.from_codes(codes, labels, f"column {name!r}")


def whole_numbers(column: Any, name: str, row: int) -> Array:
    """Counts of reports from a column of whole numbers of 0 or more."""
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    check_number_type(column.type, name)
    try:
        numbers = column.cast(arrow.int64())
    except arrow.ArrowException:
        what, value = _not_whole(column.to_pylist(), row)
        raise ReportError("column-column-what", what=what, values=value, column=name) from None
    values = np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False))
    wrong = np.flatnonzero(values < 0)
    if len(wrong):
        there = bool(numbers[int(wrong[0])].is_valid)
        words, said = ("a negative", str(values[wrong[0]])) if there else ("no", "")
        place = row + int(wrong[0]) + 1
        raise ReportError("column-has-count-in-row", words=words, row_plus_wrong_number=place, values=said, column=name)
    return values


def _not_whole(values: list[Any], row: int) -> tuple[str, str]:
    """Where the first value is that is not a whole number, or too large for one, and the value."""
    for i, value in enumerate(values, start=row + 1):
        whole = value.is_integer() if isinstance(value, float) else re.fullmatch(r"[+-]?[0-9]{1,18}", str(value))
        if value is not None and not whole:
            is_large = re.fullmatch(r"[+]?[0-9]+", str(value))
            what = "has a count above 10^18" if is_large else "does not have a whole number"
            return f"{what} in row {i}", repr(str(value))
    return "does not hold whole numbers", ""


Columns = Mapping[str, Any]  # the columns of a batch by their names, as Arrow arrays


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
        """Of the columns that define the groups, then of the reports."""
        reports = [problems for readers in self.by_choice for reader in readers for problems in reader.problems]
        return [*(coder.problems for coder in self._groups), *reports]

    def read(self, columns: Columns, rows: int, first_row: int) -> _Part:
        kept, choice = self._choose(columns, rows, first_row)
        code, size = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.int64)
        for number, readers in enumerate(self.by_choice):
            chosen = np.flatnonzero(kept & (choice == number))
            for reader in readers if len(chosen) else ():
                every = len(chosen) == rows
                values = [columns[n] if every else columns[n].take(require().array(chosen)) for n in reader.names]
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
        named, told = ", ".join(self._variable.columns), ",".join(f"{name}=..." for name in names)
        given = {"named": named, "names": ", ".join(names), "values": where}
        typed = design_of(f"{named}[{told}]", "D.json")
        return ParameterError(
            "no-design-for-has-the-values", **given, first_row_plus_row=first_row + row, design_of=typed
        )


def _placed(encoded: Encoded | None, rows: int) -> Array:
    """Codes of the rows, -1 for those without a value or whose value cannot be used."""
    codes = np.full(rows, -1, dtype=np.int64)
    if encoded is not None:
        codes[slice(None) if encoded.kept is None else encoded.kept] = encoded.codes
    return codes


class ReportReader:
    """Reads the reports of one design from one column, or one for each answer; what cannot be used is gathered."""

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
        """Codes of the reports, or None when some cannot be used; ``places`` are the rows in the batch."""
        encoded = [c.codes(column, first_row, places) for c, column in zip(self._coders, columns, strict=True)]
        usable = [one for one in encoded if one is not None]
        if len(usable) < len(encoded):
            return None
        answers, rows = self._answers, len(columns[0])
        if answers is None:
            return usable[0]
        kept, codes = common_rows(usable, rows)
        joined = answers.join(codes)
        if (strange := joined < 0).any():
            labels = [place.decode(code[strange]) for place, code in zip(answers.places, codes, strict=True)]
            times = Counter(zip(*(label.tolist() for label in labels), strict=True))
            if kept is not None:  # where the rows that were kept stand in the batch
                places = np.flatnonzero(kept) if places is None else places[kept]
            self._together.note_unknown(times, np.flatnonzero(strange), first_row, places)
            return None
        return Encoded(joined, rows - len(joined), kept, self.reports)

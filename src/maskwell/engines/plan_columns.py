"""The columns of a file that tell how its rows were sampled: weights, strata, clusters, population, replicates.

Any column that holds no reports is read here: numbers such as weights and counts, labels such as strata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_inclusion, check_weights
from maskwell.core.groups import Factor
from maskwell.core.labels import plain
from maskwell.engines.arrow_arrays import column_errors, first_used, missing_rows, require
from maskwell.engines.column_codes import (
    NEEDED,
    check_no_missing,
    check_number_type,
    check_size,
    joint_codes,
    numbers_of,
    places_of,
    separate_codes,
)
from maskwell.engines.row_sources import MemoryTable, find_column
from maskwell.errors import DataFileError, ParameterError, ReportError

ROUNDING = 1e-9
NO_DOMAIN = "leave rows without a domain out (--missing drop), or give them one"


@dataclass(frozen=True)
class PlanColumns:
    """Names of the columns of a sampling plan, and of those that tell the domains.

    Attributes
    ----------
    weights, inclusion
        One of them: how many people a row stands for, or the chance with which it was drawn.
    strata, clusters
        Clusters from the first stage on; a cluster is told by its label within its stratum.
    population
        For each stage, the number of units to draw from, or the column that holds it.
    replicates
        How the names of the replicate weights start.
    by
        Columns whose values are the domains.
    chances
        Whether a weight is one over a chance, and so 1 or more.
    """

    weights: str | None = None
    inclusion: str | None = None
    strata: str | None = None
    clusters: tuple[str, ...] = ()
    population: tuple[str | float, ...] = ()
    replicates: str | None = None
    by: tuple[str, ...] = ()
    chances: bool = False

    def __post_init__(self) -> None:
        if self.weights is not None and self.inclusion is not None:
            raise ParameterError("both weights and inclusion chances are given", hint="a weight is one over the chance")

    def __bool__(self) -> bool:
        """Whether anything is told at all."""
        return any(
            (self.weights, self.inclusion, self.strata, self.clusters, self.population, self.replicates, self.by)
        )

    @property
    def only_domains(self) -> bool:
        """Whether domains are told, and nothing of how the rows were drawn."""
        return bool(self.by) and not replace(self, by=())

    @property
    def labelled(self) -> list[str]:
        """Columns whose values are labels."""
        return [name for name in (self.strata, *self.clusters, *self.by) if name is not None]

    @property
    def numeric(self) -> list[str]:
        """Columns whose values are numbers, without the replicates."""
        return [name for name in (self.weights, self.inclusion, *self.population) if isinstance(name, str)]

    def replicate_names(self, schema: Any, path: str | MemoryTable) -> list[str]:
        """The columns of the replicate weights, in the order of the file."""
        if self.replicates is None:
            return []
        named = {*self.numeric, *self.labelled}
        replicates = [name for name in schema.names if name.startswith(self.replicates) and name not in named]
        if not replicates:
            first_names = ", ".join(schema.names[:10]) + (", ..." if len(schema.names) > 10 else "")
            raise DataFileError(
                f"{path} has no columns whose names start with {self.replicates!r}",
                hint=f"its columns: {first_names}",
                columns=schema.names,
            )
        return replicates

    def names(self, schema: Any, path: str | MemoryTable) -> list[str]:
        """All columns that must be read, each of which is there."""
        names = [*dict.fromkeys([*self.numeric, *self.labelled, *self.replicate_names(schema, path)])]
        for name in names:
            find_column(schema, name, path)
        return names


class PlanReader:
    """Reads the columns of a plan, batch after batch, in the words that :class:`Cells` takes them."""

    def __init__(self, plan: PlanColumns, schema: Any, path: str | MemoryTable) -> None:
        self._plan = plan
        self._replicates = plan.replicate_names(schema, path)

    def with_domain(self, columns: Mapping[str, Any], rows: int) -> Array:
        """Which of the next rows have a value in every column that tells the domains."""
        told = np.ones(rows, dtype=np.bool_)
        for name in self._plan.by:
            told &= ~missing_rows(columns[name])
        return told

    def read(self, columns: Mapping[str, Any], row: int, kept: Array | None = None) -> dict[str, Any]:
        """What is known about the next rows, or the kept ones among them; ``row`` of them were read before."""
        if kept is None or kept.all():
            return self._known(columns, row) | self._domains(columns, row)
        places = require().array(np.flatnonzero(kept))
        known = {name: some_rows(value, kept) for name, value in self._known(columns, row).items()}
        return known | self._domains({name: columns[name].take(places) for name in self._plan.by}, row)

    def told_by(self, columns: Mapping[str, Any], row: int, rows: Array) -> tuple[set[Any], set[Any]]:
        """The strata and the domains that some of the next rows belong to."""
        plan = self._plan
        every = require().array(np.flatnonzero(rows))
        strata = [] if plan.strata is None else [labels_of(columns[plan.strata].take(every), plan.strata, row)]
        told = require().array(np.flatnonzero(rows & self.with_domain(columns, len(rows))))
        return _borne(strata), _borne(self._domains({n: columns[n].take(told) for n in plan.by}, row).values())

    def _known(self, columns: Mapping[str, Any], row: int) -> dict[str, Any]:
        plan = self._plan
        known = {
            "weight": self._weights(columns, row),
            "stratum": None if plan.strata is None else labels_of(columns[plan.strata], plan.strata, row),
            "clusters": [labels_of(columns[name], name, row) for name in plan.clusters],
            "population": [self._size(size, columns, row) for size in plan.population],
        }
        if self._replicates:
            known["replicates"] = np.column_stack([numbers_of(columns[n], n, row) for n in self._replicates])
        return {name: value for name, value in known.items() if value is not None}

    def _weights(self, columns: Mapping[str, Any], row: int) -> Real | None:
        name = self._plan.weights or self._plan.inclusion
        if name is None:
            return None
        values, said = numbers_of(columns[name], name, row), f"column {name!r}"
        if self._plan.weights:
            return self._at_least_one(check_weights(values, len(values), name=said, row=row), name, row)
        return check_size(1 / check_inclusion(values, len(values), name=said, row=row), name, row)

    def _at_least_one(self, weights: Real, name: str, row: int) -> Real:
        small = np.flatnonzero(weights < 1 - ROUNDING)
        if self._plan.chances and len(small):
            raise ParameterError(
                f"column {name!r}: the weight in row {row + int(small[0]) + 1} is below 1, so it is no 1 / chance",
                hint="independent draws have chances up to 1, and so weights of 1 or more",
                values=f"{weights[small[0]]:g}",
                column=name,
            )
        return weights

    def _size(self, size: str | float, columns: Mapping[str, Any], row: int) -> Any:
        if not isinstance(size, str):
            return size
        values = numbers_of(columns[size], size, row)
        small = np.flatnonzero(values < 1)
        if len(small):
            raise ParameterError(
                f"column {size!r}: the population in data row {row + int(small[0]) + 1} is below 1",
                hint="a population counts the units that could have been drawn: 1 or more",
                values=f"{values[small[0]]:g}",
                column=size,
            )
        return values

    def _domains(self, columns: Mapping[str, Any], row: int) -> dict[str, Factor]:
        parts = [labels_of(_borne_values(columns[name]), name, row, NO_DOMAIN) for name in self._plan.by]
        return {"domain": _crossed(parts)} if parts else {}


def _borne(factors: Iterable[Factor]) -> set[Any]:
    return {label for factor in factors for label in factor.labels[np.unique(factor.codes)].tolist()}


def _borne_values(column: Any) -> Any:
    """A column without values in its dictionary that no row bears: they are no domains."""
    return first_used(column) if require().types.is_dictionary(column.type) else column


def _crossed(parts: Sequence[Factor]) -> Factor:
    """One factor whose labels are those of several, as tuples."""
    if len(parts) == 1:
        return parts[0]
    codes = joint_codes([part.codes for part in parts], _sizes(parts))
    used, places = np.unique(codes, return_inverse=True)
    codes_of = separate_codes(used, _sizes(parts))
    keys = zip(*(part.labels[c] for part, c in zip(parts, codes_of, strict=True)), strict=True)
    return Factor.from_codes(places, [tuple(map(plain, key)) for key in keys], "domains")


def some_rows(value: Any, kept: Array) -> Any:
    """The kept rows of a column, of several columns, or a number as it is."""
    if isinstance(value, list):
        return [some_rows(one, kept) for one in value]
    if isinstance(value, Factor):
        return value.take(np.flatnonzero(kept))
    return value[kept] if isinstance(value, np.ndarray) else value


def _sizes(parts: Sequence[Factor]) -> list[int]:
    return [part.size for part in parts]


def population_of(texts: Sequence[str]) -> tuple[str | float, ...]:
    """Sizes typed as numbers or names of columns.

    >>> population_of(["802", "fpc"])
    (802.0, 'fpc')
    """
    return tuple(_number_or_name(text) for text in texts)


def _number_or_name(text: str) -> str | float:
    try:
        size = float(text)
    except ValueError:
        return text
    if not 1 <= size < float("inf"):
        raise ParameterError(
            f"a population of {text}", hint="a population counts the units that could have been drawn: give 1 or more"
        )
    return size


# ---- numbers and labels of a batch


def labels_of(column: Any, name: str, row: int, needed: str = NEEDED) -> Factor:
    """A column of labels as codes; a missing value is refused with its row.

    >>> import pyarrow as pa
    >>> labels_of(pa.array(["south", "north", "south"]), "region", 0).codes.tolist()
    [1, 0, 1]
    """
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
        raise ReportError(
            f"column {name!r} {what}",
            hint="the counts column holds how many reports each row stands for: 0, 1, 2, ...",
            values=value,
            column=name,
        ) from None
    values = np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False))
    wrong = np.flatnonzero(values < 0)
    if len(wrong):
        there = bool(numbers[int(wrong[0])].is_valid)
        raise ReportError(
            f"column {name!r} has {'a negative' if there else 'no'} count in row {row + int(wrong[0]) + 1}",
            hint="counts are 0 or more",
            values=str(values[wrong[0]]) if there else "",
            column=name,
        )
    return values


def _not_whole(values: list[Any], row: int) -> tuple[str, str]:
    """Where the first value is that is not a whole number, and the value.

    >>> _not_whole(["12", "a few"], 0)
    ('does not have a whole number in row 2', "'a few'")
    """
    for i, value in enumerate(values, start=row + 1):
        whole = value.is_integer() if isinstance(value, float) else re.fullmatch(r"[+-]?[0-9]{1,18}", str(value))
        if value is not None and not whole:
            return f"does not have a whole number in row {i}", repr(str(value))
    return "does not hold whole numbers", ""

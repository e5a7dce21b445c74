"""Columns that were asked directly: a design over the values that a file holds, which reports the truth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.designs.uniform import Uniform
from maskwell.engines.arrow_arrays import require
from maskwell.engines.arrow_checks import column_errors
from maskwell.engines.file_kinds import find_column, open_source
from maskwell.errors import DataFileError, ParameterError

MOST_VALUES = 1000


def direct_design(path: str, name: str) -> Uniform:
    """The design of a column that holds true answers, over the values that occur in it, sorted."""
    if path == "-":
        raise ParameterError(
            "a directly asked column needs two passes over the rows", hint="give a file in place of standard input"
        )
    values: dict[Any, None] = {}
    with open_source(path, coded=[name]) as source:
        position = find_column(source.schema, name, path)
        for batch in source.batches([position]):
            found = batch.column(0)
            coded = found if require().types.is_dictionary(found.type) else found.dictionary_encode()
            with column_errors(name):
                values.update(dict.fromkeys(value for value in coded.dictionary.to_pylist() if value is not None))
            _check_few(values, name)
    if len(values) < 2:
        raise DataFileError(
            f"column {name!r} has {len(values)} different values", hint="a table needs at least two", column=name
        )
    return Uniform.of(Fraction(1), Categories.of(sorted(values, key=_order)))


def _check_few(values: dict[Any, None], name: str) -> None:
    if len(values) > MOST_VALUES:
        raise ParameterError(
            f"column {name!r} has more than {MOST_VALUES:,} different values",
            hint="a directly asked column of a table holds categories; group its values first",
            column=name,
        )


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers by size, also when they are texts, before other texts.

    >>> sorted(["10", "9", "b", "a"], key=_order)
    ['9', '10', 'a', 'b']
    """
    try:
        return (0, float(value), "")
    except (TypeError, ValueError):
        return (1, 0.0, str(value))

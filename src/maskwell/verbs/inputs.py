"""What users hand to a verb: tables or paths, designs or their files, names of columns."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from maskwell.core.option_names import option
from maskwell.designs.design import Design
from maskwell.designs.wire import load_design
from maskwell.engines.assignments import Assignment
from maskwell.engines.row_sources import MemoryTable
from maskwell.errors import LabelError, ParameterError, WrongTypeError

DesignOrPath: TypeAlias = Design | str | os.PathLike[str]
Designs: TypeAlias = Mapping[Any, DesignOrPath] | Sequence[Assignment]
Names: TypeAlias = str | Sequence[str] | None

_WITH_GROUP = re.compile(r"([^\[\]]+)\[((?:[^\[\]\"]|\"[^\"]*\")+)\]")
_QUOTED_VALUE = re.compile(r'(^|,)([^,"=]+)="((?:[^"]|"")*)"')


def rows_of(data: Any) -> str | MemoryTable:
    """Where the rows are: the path of a file, or a table in memory.

    >>> rows_of("survey.parquet"), str(rows_of({"answer": ["yes"]}))
    ('survey.parquet', 'the table')
    """
    if isinstance(data, MemoryTable):
        return data
    return os.fspath(data) if isinstance(data, str | os.PathLike) else MemoryTable(data)


def design_of(design: DesignOrPath) -> Design:
    """A design, or the one that a file holds."""
    if isinstance(design, Design):
        return design
    if isinstance(design, str | os.PathLike):
        return load_design(os.fspath(design))
    raise WrongTypeError(
        f"a design is needed, not a {type(design).__name__}", hint="give a Design, or the path of a design file"
    )


def assignments_of(designs: Designs | None) -> list[Assignment]:
    """Columns with their designs, from ``{"answer": design}``.

    A key names one column, several columns of a product of designs (``"first,second"`` or a tuple), or a column and a
    group of rows: ``"answer[group=1]"``.
    """
    if designs is None:
        return []
    if isinstance(designs, Mapping):
        return [_assignment(columns, design_of(design)) for columns, design in designs.items()]
    if isinstance(designs, list | tuple) and all(isinstance(one, Assignment) for one in designs):
        return list(designs)
    raise WrongTypeError(
        f"designs as a {type(designs).__name__}",
        hint='name the column of each design: {"answer": design}',
    )


def _assignment(columns: Any, design: Design) -> Assignment:
    if isinstance(columns, tuple):
        return Assignment.of(",".join(columns), design)
    if not isinstance(columns, str):
        raise WrongTypeError(f"a column named by a {type(columns).__name__}", hint="name a column by its text")
    names, group = split_group(columns)
    return Assignment.of(names, design, group)


def split_group(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Columns and the group of rows that they are meant in.

    >>> split_group("answer"), split_group("y[group=1,wave=a]")
    (('answer', []), ('y', [('group', '1'), ('wave', 'a')]))
    >>> split_group('y[town="Bonn, Rhine"]')[1]
    [('town', 'Bonn, Rhine')]
    """
    grouped = _WITH_GROUP.fullmatch(text)
    if grouped is None:
        if re.fullmatch(r'.+\[.*".*\]', text):
            raise bad_quotes(text)
        return text, []
    columns, conditions = grouped.groups()
    return columns, [_condition(part, text) for part in _split_conditions(conditions, text)]


def _split_conditions(conditions: str, text: str) -> list[str]:
    whole = _QUOTED_VALUE.sub(r'\1"\2=\3"', conditions)  # quotes around a value become quotes around its whole part
    try:
        return split_list(whole, option("design"))
    except LabelError as error:
        raise bad_quotes(text) from error


def bad_quotes(text: str) -> ParameterError:
    """The error for a group of rows whose quotes do not match."""
    return ParameterError(
        f"{option('design')} {text} has a quote that is not closed, or text after one",
        hint=f"""quote a value with a comma: {option("design")} 'answer[town="Bonn, Rhine"]=design.json'""",
    )


def _condition(part: str, text: str) -> tuple[str, str]:
    name, sign, value = part.partition("=")
    if not (name and sign and value):
        raise ParameterError(
            f"{option('design')} {text}: {part!r} names no group of rows",
            hint=f"name a column and its value: {option('design')} 'answer[group=1]=design.json'",
        )
    return name.strip(), value.strip()


def split_list(text: str, name: str) -> list[str]:
    """The parts of a list typed with commas; quotes protect a comma.

    >>> split_list('never, once,"often, very"', "--categories")
    ['never', 'once', 'often, very']
    """
    try:
        return [part.strip() for part in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
    except csv.Error as error:
        wrong = "a quote that is not closed, or text after one" if '"' in text else "a line break"
        raise LabelError(
            f"{name} {text!r} has {wrong}", hint=f"""quote a whole label: {name} 'no,"yes, once"'"""
        ) from error


def names_of(names: Names, name: str) -> tuple[str, ...]:
    """Names of columns: none, a text with commas between them as a command takes it, or a list of whole names.

    >>> names_of(None, "by"), names_of("region,sex", "by"), names_of(["region, old"], "by")
    ((), ('region', 'sex'), ('region, old',))
    """
    if names is None:
        return ()
    if isinstance(names, str):
        return tuple(split_list(names, option(name)))
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise WrongTypeError(
            f"{name} must be names of columns, not a {type(names).__name__}",
            hint='name one column by its text, several by a list of texts: ["region", "sex"]',
        )
    return tuple(names)


def check_progress(progress: Any) -> None:
    """Raise for something that cannot be told how far the work is."""
    if progress is not None and not callable(progress):
        raise WrongTypeError(
            f"progress must be a function, not a {type(progress).__name__}",
            hint="give a function of two arguments: the rows so far, and the share of the file they are",
        )

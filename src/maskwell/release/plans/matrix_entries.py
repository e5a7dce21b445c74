"""Matrices inside a plan: the name of a file, rows of numbers, or one of these for each cell of ``within``."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from maskwell.core.exact import to_decimal
from maskwell.errors import PlanError
from maskwell.release.plans import plan_entries as read

Rows = tuple[tuple[Fraction, ...], ...]
Given = str | Rows
PerCell = Mapping[tuple[str, ...], Given]
"""One matrix for each cell, by the texts of its labels in the order of ``within``."""


def matrix(value: Any, name: str) -> Given | PerCell:
    """A matrix as it is given.

    >>> matrix([["0.9", 0.2], ["1/10", 0.8]], "matrix")[1]
    (Fraction(1, 10), Fraction(4, 5))
    >>> matrix({"north": "north.csv", "south": {"urban": "su.csv"}}, "matrix")
    {('north',): 'north.csv', ('south', 'urban'): 'su.csv'}
    """
    if isinstance(value, Mapping):
        return dict(_cells(value, name, ()))
    return _one(value, name)


def _cells(value: Mapping[Any, Any], name: str, before: tuple[str, ...]) -> list[tuple[tuple[str, ...], Given]]:
    if not value:
        raise PlanError(f"{name} is an empty table", hint="give one matrix for each cell")
    found: list[tuple[tuple[str, ...], Given]] = []
    for key, entry in value.items():
        cell = (*before, *(key if isinstance(key, tuple) else (str(key),)))
        nested = isinstance(entry, Mapping)
        found += _cells(entry, name, cell) if nested else [(cell, _one(entry, f"{name} of {'/'.join(cell)}"))]
    return found


def _one(value: Any, name: str) -> Given:
    if isinstance(value, str):
        return read.text(value, name)
    rows = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, list | tuple) for row in rows):
        raise PlanError(f"{name} is neither a file nor rows of numbers", hint='write [["0.9", "0.2"], ["0.1", "0.8"]]')
    found = tuple(
        tuple(read.number(entry, f"{name}[{i}, {j}]") for j, entry in enumerate(row)) for i, row in enumerate(rows)
    )
    lengths = sorted({len(row) for row in found})
    if len(lengths) > 1 or lengths == [0]:
        raise PlanError(f"{name} has rows of different lengths: {lengths}", hint="give m rows of k numbers each")
    return found


def states(value: Any, name: str) -> tuple[tuple[str, ...], ...]:
    """The categories that a matrix is written for, in its order; of several variables, lists of labels.

    >>> states(["yes", "no"], "categories"), states([["a", 1], ["b", 2]], "categories")
    ((('yes',), ('no',)), (('a', '1'), ('b', '2')))
    """
    if isinstance(value, str) or not isinstance(value, list | tuple) or not value:
        raise PlanError(f"{name} is no list of categories", hint='write them in order: ["yes", "no"]')
    found = tuple(read.state(one, name) for one in value)
    if len(set(found)) < len(found):
        raise PlanError(f"{name} holds a category twice", hint="name every category once")
    return found


def written(value: Given | PerCell) -> Any:
    """The matrix as a plan writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _nested({cell: written(one) for cell, one in value.items()})
    return [[to_decimal(entry) for entry in row] for row in value]


def _nested(cells: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for cell, content in cells.items():
        inside = out
        for label in cell[:-1]:
            inside = inside.setdefault(label, {})
        inside[cell[-1]] = content
    return out


def located(value: Any, folder: str) -> Any:
    """The matrix with the names of its files seen from a folder."""
    if isinstance(value, Mapping):
        return {cell: located(one, folder) for cell, one in value.items()}
    return str(Path(folder) / value) if isinstance(value, str) else value

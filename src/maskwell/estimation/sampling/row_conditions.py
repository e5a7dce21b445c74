"""``where``: conditions on columns that choose the rows an estimate is about; under a plan these are a domain."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, listed, option
from maskwell.core.row_sums import Cells
from maskwell.errors import ParameterError, WrongTypeError

_BETWEEN = re.compile(r'\s*[,&]\s*(?=(?:[^"]*"[^"]*")*[^"]*$)')
_CONDITION = re.compile(r'\s*("[^"]+"|[^=!<>"]+?)\s*(==|!=|>=|<=|=|>|<)\s*(.+?)\s*')
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
OUTSIDE = ("outside",)  # label of the rows that do not fit; no domain of one column is a tuple of one


@dataclass(frozen=True)
class Condition:
    """A column, a sign, and the values that fit it: several for ``=`` and ``!=``."""

    column: str
    sign: str
    values: tuple[Any, ...]

    def fits(self, label: Hashable) -> bool:
        """Whether a value of the column fits."""
        if self.sign in _ORDER:
            number, limit = _number(label), _number(self.values[0])
            return number is not None and limit is not None and _ORDER[self.sign](number, limit)
        return any(_same(label, value) for value in self.values) == (self.sign == "=")


@dataclass(frozen=True)
class RowConditions:
    """All of them must fit; ``text`` is what was typed."""

    conditions: tuple[Condition, ...]
    text: str

    @classmethod
    def of(cls, where: str | Mapping[str, Any]) -> RowConditions:
        """From a text such as ``region=north, age>=30``, or a dictionary of columns with one value or several."""
        if isinstance(where, Mapping):
            several = {name: isinstance(given, list | tuple | set | frozenset) for name, given in where.items()}
            made = [Condition(str(n), "=", tuple(v) if several[n] else (v,)) for n, v in where.items()]
            text = ", ".join(f"{one.column}={'|'.join(map(str, one.values))}" for one in made)
        elif isinstance(where, str):
            made, text = [_read(part, where) for part in _BETWEEN.split(where)], where
        else:
            raise WrongTypeError("where-must-be-a-text", name=type(where).__name__)
        if not made or not all(one.values for one in made):
            raise ParameterError("where-without-a-condition", hint=_example())
        return cls(tuple(made), text)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it asks for, each once."""
        return tuple(dict.fromkeys(one.column for one in self.conditions))

    def chosen(self, cells: Cells, by: Sequence[str]) -> Chosen:
        """The rows that fit, from cells whose domains are defined by these columns and then by ``by``."""
        names = tuple(dict.fromkeys((*self.columns, *by)))
        labels: list[Any] = cells.domain.labels.tolist()
        values = [dict(zip(names, label if len(names) > 1 else (label,), strict=True)) for label in labels]
        fit = np.array([all(one.fits(value[one.column]) for one in self.conditions) for value in values], dtype=bool)
        kept = fit[cells.domain.codes]
        if not cells.n[kept].any():
            raise ParameterError(
                "where-no-row-with-a-report",
                text=self.text,
                values=listed((str(label) for label in labels), len(labels), VALUES),
            )
        inner = [value[by[0]] if len(by) == 1 else tuple(value[name] for name in by) for value in values]
        return Chosen(cells, kept, tuple(label if fits else OUTSIDE for label, fits in zip(inner, fit, strict=True)))


@dataclass(frozen=True, eq=False)
class Chosen:
    """Cells with the lines that fit, and for each label of their domains the one that they have among these rows."""

    cells: Cells
    kept: Array
    labels: tuple[Any, ...]

    def alone(self, *, domains: bool) -> Cells:
        """The lines that fit, as if there were no others."""
        cells = self.cells.take(np.flatnonzero(self.kept))
        inner = [self.labels[code] for code in cells.domain.codes]
        return replace(cells, domain=_factor(inner) if domains else Factor.constant(len(cells)))

    def as_domain(self) -> Cells:
        """All lines, with one domain for those that fit: its label is True."""
        return replace(self.cells, domain=_factor(self.kept.tolist()))

    def with_domains(self) -> Cells:
        """All lines, with the domains of those that fit; the others are :data:`OUTSIDE`."""
        return replace(self.cells, domain=_factor([self.labels[code] for code in self.cells.domain.codes]))


def _factor(labels: Sequence[Any]) -> Factor:
    """Codes into labels of any kind: numbers, then others in the order of their texts."""

    def place_of(label: Any) -> tuple[Any, ...]:
        number = isinstance(label, int | float)
        return label is OUTSIDE, not number, label if number else str(label)

    order = sorted(dict.fromkeys(labels), key=place_of)
    column = np.empty(len(order), dtype=object)
    column[:] = order
    place = {label: code for code, label in enumerate(order)}
    return Factor(np.array([place[label] for label in labels], dtype=np.int64), column)


def _read(part: str, text: str) -> Condition:
    read = _CONDITION.fullmatch(part)
    if read is None:
        raise ParameterError("where-is-no-condition", hint=_example(), text=text, part=part.strip())
    column, sign, value = (piece.strip().strip('"') for piece in read.groups())
    if sign in _ORDER:
        if _number(value) is None:
            raise ParameterError("where-is-no-number-to-compare", text=text, value=value)
        return Condition(column, sign, (value,))
    return Condition(column, "!=" if sign == "!=" else "=", tuple(v.strip().strip('"') for v in value.split("|")))


def _example() -> str:
    return f"such as {option('where', 'region=north', 'dict(region=north)')}, age>=30 or region=north|south"


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _same(label: Any, value: Any) -> bool:
    """By their text, or as numbers: 1 in a file is "1" and "1.0" on the command line."""
    if str(label) == str(value):
        return True
    one, other = _number(label), _number(value)
    return one is not None and one == other

"""Designs whose parameters are in columns of the data, ``warner(p=p1)``: names and ``+ - * /``, nothing is run."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from maskwell.core.categories import Categories
from maskwell.core.exact import as_fraction
from maskwell.core.expressions import Constant, Items, Name, Node, NotAllowedError, Operation, read_arguments, tokens_of
from maskwell.core.phrases import HINT, MESSAGE, listed, option, shorten
from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.engines.assignments import different_rows
from maskwell.engines.rows import Rows
from maskwell.errors import InputError, MaskwellError, MissingValueError, ParameterError
from maskwell.procedures.registry import procedure_named
from maskwell.verbs.inputs import CALLED, DesignOrPath, is_called

When: TypeAlias = tuple[tuple[str, str], ...]  # the rows that used a design, by columns and their values
MOST_DESIGNS = 1_000
MOST_TOKENS = 200
LARGEST = 1e20
_LABELS = ("categories", "reports")
_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True, eq=False)
class RowDesign:
    """A procedure whose parameters are computed for each row."""

    procedure: str
    parameters: Mapping[str, Node]  # expressions of columns, numbers and arithmetic only, or lists of them
    labels: Mapping[str, Categories]  # categories and reports, where they are named
    columns: tuple[str, ...]  # that the parameters name

    def design(self, row: Mapping[str, str | None]) -> Design:
        """The design of rows with these values."""
        numbers = {name: _number(name, row[name]) for name in self.columns}
        try:
            given = {key: _worked_out(node, numbers) for key, node in self.parameters.items()}
            return procedure_named(self.procedure).design(
                given, categories=self.labels.get("categories"), reports=self.labels.get("reports")
            )
        except (MaskwellError, ArithmeticError, ValueError) as error:
            raise self._no_design(row, error) from error

    def _no_design(self, row: Mapping[str, str | None], error: Exception) -> MaskwellError:
        if self.columns:
            return ParameterError(
                "some-rows-have-parameters-that-make",
                procedure=self.procedure,
                columns=listed(self.columns, len(self.columns), 50),
                values=", ".join(f"{name} = {row[name]}" for name in self.columns),
            )
        if isinstance(error, MaskwellError) and len(error.message) <= MESSAGE:
            return error
        return ParameterError("its-parameters-make-no-design", procedure=self.procedure)


def read_row_design(text: str) -> RowDesign:
    """A text such as ``forced(truth=p1, yes=1/6, no=1-p1-1/6)``."""
    called = CALLED.fullmatch(text)
    if called is None:
        raise ParameterError("is-no-procedure-with-parameters", text=shorten(repr(text), 40))
    name, inside = called.groups()
    procedure = procedure_named(name)
    try:
        if len(tokens_of(inside)) > MOST_TOKENS:
            raise NotAllowedError("it is too long")
        parts = [_parameter(key, node) for key, node in read_arguments(inside)]
    except (NotAllowedError, RecursionError) as error:
        problem = error.problem if isinstance(error, NotAllowedError) else "a part of it cannot be read"
        raise ParameterError("text-problem", text=shorten(repr(text), 40), problem=shorten(problem, 50)) from None
    if len({key for key, _ in parts}) < len(parts):
        raise ParameterError("a-parameter-is-named-twice", text=shorten(repr(text), 40))
    labels = {key: _labels(node) for key, node in parts if key in _LABELS}
    parameters = {key: node for key, node in parts if key not in _LABELS}
    procedure.check_names(parameters)
    columns = dict.fromkeys(name for node in parameters.values() for name in _names(node))
    return RowDesign(name, parameters, labels, tuple(columns))


def designs_by_group(choices: Sequence[tuple[When, DesignOrPath]], rows: Rows) -> list[tuple[When, Design]]:
    """The designs of one column, each with the rows that used it, where some are in columns of the data."""
    read: list[tuple[When, Design | RowDesign]] = [
        (when, read_row_design(choice) if isinstance(choice, str) and is_called(choice) else read_design(choice))
        for when, choice in choices
    ]
    if not any(isinstance(design, RowDesign) for _, design in read):
        return [(when, design) for when, design in read if isinstance(design, Design)]
    named = [name for when, design in read for name in (*(one for one, _ in when), *_columns_of(design))]
    names = [*dict.fromkeys(named)]
    if not names:
        return [(when, design if isinstance(design, Design) else design.design({})) for when, design in read]
    if rows.read_once:
        raise ParameterError("parameters-that-stand-in-columns-need")
    made = []
    for values in different_rows(rows, names, MOST_DESIGNS):
        row = dict(zip(names, values, strict=True))
        design = _chosen(row, read)
        lost = [name for name, value in row.items() if value is None]
        spare = [] if design is None else [name for name in lost if name not in _columns_of(design)]
        if spare:  # a parameter that only other rows need must not be missing
            raise MissingValueError("column-is-missing-in-rows-whose", spare=shorten(repr(spare[0]), 24))
        if design is not None and not lost:
            texts = tuple((name, str(value)) for name, value in row.items())
            made.append((texts, design if isinstance(design, Design) else design.design(row)))
    if not made:
        raise MissingValueError("no-row-has-all-parameters", names=listed(names, 9, 60))
    return made


def _columns_of(design: Design | RowDesign) -> list[str]:
    return [*design.columns] if isinstance(design, RowDesign) else []


def _chosen(
    row: Mapping[str, str | None], read: Sequence[tuple[When, Design | RowDesign]]
) -> Design | RowDesign | None:
    """The design of such rows; none where they have no group, which the reader of the reports will raise."""
    matching = [design for when, design in read if all(row[name] == value for name, value in when)]
    if len(matching) > 1:
        raise ParameterError("two-designs-for-the-same-rows")
    return matching[0] if matching else None


def _parameter(key: str | None, node: Node) -> tuple[str, Node]:
    if key is None:
        raise NotAllowedError("each parameter needs its name")
    _names(node)
    return key, node


def _names(node: Node) -> list[str]:
    """The names in columns, numbers, labels and arithmetic; nothing else is allowed."""
    match node:
        case Name(name):
            return [name]
        case Constant(str()):
            return []
        case Constant(int() | float() as value) if value == 0 or 1 / LARGEST <= abs(value) <= LARGEST:
            return []  # no larger than parameters are, so that exact arithmetic stays short
        case Items(parts, "[") | Operation("-", (_,) as parts):
            return [name for part in parts for name in _names(part)]
        case Operation(symbol, (_, _) as parts) if symbol in _OPERATORS:
            return [name for part in parts for name in _names(part)]
    raise NotAllowedError("it may contain only columns, numbers and + - * /")


def _labels(node: Node) -> Categories:
    """Labels as typed: numbers and words are texts, which match the values of a column by their text."""
    if not isinstance(node, Items):
        raise ParameterError("categories-and-reports-are-lists")
    return Categories.of([_label(part) for part in node.items])


def _label(node: Node) -> str:
    match node:
        case Constant(value) | Name(value):
            return str(value)
    raise ParameterError("a-label-is-a-word")


def _number(name: str, value: str | None) -> Fraction:
    try:
        return as_fraction(str(value))
    except MaskwellError:
        raise InputError(
            "column-holds-something-that-is-no",
            hint=shorten(f"a parameter of {option('design')} is a number or a fraction in every row", HINT),
            name=shorten(repr(name), 24),
            values=str(value),
            column=name,
        ) from None


def _worked_out(node: Node, numbers: Mapping[str, Fraction]) -> Any:
    """Exactly: 1/6 stays 1/6."""
    match node:
        case Name(name):
            return numbers[name]
        case Constant(value):
            return value if isinstance(value, bool | str) else Fraction(str(value))
        case Items(parts):
            return [_worked_out(part, numbers) for part in parts]
        case Operation(_, (operand,)):
            return -_worked_out(operand, numbers)
        case Operation(symbol, (left, right)):
            return _OPERATORS[symbol](_worked_out(left, numbers), _worked_out(right, numbers))
    raise TypeError(type(node).__name__)

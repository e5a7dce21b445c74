"""Designs whose parameters stand in columns of the data: ``warner(p=p1)`` where every row tells its own p.

Such a text is read here, by a grammar of its own: a procedure, its parameters, columns, numbers and ``+ - * /``.
Nothing of it is run. Rows with the same parameters are a group of rows, and each group gets its design.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from maskwell.core.categories import Categories
from maskwell.core.exact import as_fraction
from maskwell.core.phrases import HINT, MESSAGE, listed, option, shorten
from maskwell.designs.design import Design
from maskwell.designs.wire import read_design
from maskwell.engines.assignments import different_rows
from maskwell.engines.formula_text import Sign, signs_of
from maskwell.engines.formula_values import NotAllowedError
from maskwell.errors import InputError, MaskwellError, MissingValueError, ParameterError
from maskwell.procedures.registry import procedure_named
from maskwell.verbs.inputs import CALLED, DesignOrPath, is_called

if TYPE_CHECKING:
    from maskwell.engines.row_sources import MemoryTable

When: TypeAlias = tuple[tuple[str, str], ...]
"""The rows that used a design, by columns and their values."""

MOST_DESIGNS = 1_000
MOST_SIGNS = 200
LARGEST = 1e20
_LABELS = ("categories", "reports")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
_WRITE = "write it as: warner(p=COLUMN), or forced(truth=P1, yes=P2, no=1-P1-P2)"


@dataclass(frozen=True, eq=False)
class RowDesign:
    """A procedure whose parameters are worked out for each row.

    Attributes
    ----------
    procedure
        Its name.
    parameters
        By name, a tree of Python's parser that holds columns, numbers and arithmetic only, or a list of such trees.
    labels
        Categories and reports, where they are named.
    columns
        By the names that stand for them in the trees.
    """

    procedure: str
    parameters: Mapping[str, ast.expr]
    labels: Mapping[str, Categories]
    columns: Mapping[str, str]

    def design(self, row: Mapping[str, str | None]) -> Design:
        """The design of rows with these values."""
        numbers = {stands: _number(name, row[name]) for stands, name in self.columns.items()}
        try:
            given = {key: _worked_out(tree, numbers) for key, tree in self.parameters.items()}
            return procedure_named(self.procedure).design(
                given, categories=self.labels.get("categories"), reports=self.labels.get("reports")
            )
        except (MaskwellError, ArithmeticError, ValueError) as error:
            raise self._no_design(row, error) from error

    def _no_design(self, row: Mapping[str, str | None], error: Exception) -> MaskwellError:
        if self.columns:
            return ParameterError(
                f"{self.procedure}: some rows have parameters that make no design",
                hint=f"look at the columns {listed([*self.columns.values()], len(self.columns), 50)}",
                values=", ".join(f"{name} = {row[name]}" for name in self.columns.values()),
            )
        if isinstance(error, MaskwellError) and len(error.message) <= MESSAGE:
            return error
        return ParameterError(f"{self.procedure}: its parameters make no design", hint=_WRITE)


def read_row_design(text: str) -> RowDesign:
    """A text such as ``warner(p=p1)``.

    >>> read_row_design("forced(truth=p1, yes=1/6, no=1-p1-1/6)").columns
    {'_0': 'p1'}
    """
    called = CALLED.fullmatch(text)
    if called is None:
        raise ParameterError(f"{shorten(repr(text), 40)} is no procedure with parameters", hint=_WRITE)
    name, inside = called.groups()
    procedure = procedure_named(name)
    columns: dict[str, str] = {}
    try:
        parts = [_parameter(part, columns) for part in _parts(signs_of(inside))]
    except (NotAllowedError, SyntaxError, RecursionError) as error:
        problem = error.problem if isinstance(error, NotAllowedError) else "a part of it cannot be read"
        message = f"{shorten(repr(text), 40)}: {shorten(problem, 50)}"
        raise ParameterError(message, hint=_WRITE) from None
    if len({key for key, _ in parts}) < len(parts):
        raise ParameterError(f"{shorten(repr(text), 40)}: a parameter is named twice", hint=_WRITE)
    labels = {key: _labels(tree, columns) for key, tree in parts if key in _LABELS}
    parameters = {key: tree for key, tree in parts if key not in _LABELS}
    procedure.check_names(parameters)
    used = {node.id for tree in parameters.values() for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return RowDesign(name, parameters, labels, {stands: one for stands, one in columns.items() if stands in used})


def designs_by_group(
    choices: Sequence[tuple[When, DesignOrPath]], rows: str | MemoryTable
) -> list[tuple[When, Design]]:
    """The designs of one column, each with the rows that used it, where some stand in columns of the data.

    ``choices`` are designs, paths of design files or texts such as ``warner(p=p1)``.
    """
    read = [(when, _design_or_columns(choice)) for when, choice in choices]
    if not any(isinstance(design, RowDesign) for _, design in read):
        return [(when, design) for when, design in read if isinstance(design, Design)]
    named = [name for when, design in read for name in (*(one for one, _ in when), *_columns_of(design))]
    names = [*dict.fromkeys(named)]
    if not names:
        return [(when, design if isinstance(design, Design) else design.design({})) for when, design in read]
    _check_twice(rows)
    made = []
    for values in different_rows(rows, names, MOST_DESIGNS):
        row = dict(zip(names, values, strict=True))
        design = _chosen(row, read)
        if design is not None and not _is_lost(row, design):
            texts = tuple((name, str(value)) for name, value in row.items())
            made.append((texts, design if isinstance(design, Design) else design.design(row)))
    if not made:
        raise MissingValueError("no row has all parameters of its design", hint=f"look at {listed(names, 9, 60)}")
    return made


def _design_or_columns(choice: DesignOrPath) -> Design | RowDesign:
    return read_row_design(choice) if isinstance(choice, str) and is_called(choice) else read_design(choice)


def _columns_of(design: Design | RowDesign) -> list[str]:
    return [*design.columns.values()] if isinstance(design, RowDesign) else []


def _chosen(
    row: Mapping[str, str | None], read: Sequence[tuple[When, Design | RowDesign]]
) -> Design | RowDesign | None:
    """The design of such rows; none where no group is theirs, which whoever reads the reports will say."""
    matching = [design for when, design in read if all(row[name] == value for name, value in when)]
    if len(matching) > 1:
        raise ParameterError("two designs for the same rows", hint="give each group of rows one design")
    return matching[0] if matching else None


def _is_lost(row: Mapping[str, str | None], design: Design | RowDesign) -> bool:
    """Whether a row lacks a parameter that it needs; one that only other rows need must not be missing."""
    lost = [name for name, value in row.items() if value is None]
    spare = [name for name in lost if name not in _columns_of(design)]
    if spare:
        raise MissingValueError(
            f"column {shorten(repr(spare[0]), 24)} is missing in rows whose design does not need it",
            hint="write any number there, such as 0: a missing value would leave the row out",
        )
    return bool(lost)


def _check_twice(rows: str | MemoryTable) -> None:
    if rows == "-":
        raise ParameterError(
            "parameters that stand in columns need two passes over the rows",
            hint="give a file in place of standard input",
        )


# ---- reading


def _parts(signs: list[Sign]) -> list[list[Sign]]:
    """What stands between the commas."""
    if len(signs) > MOST_SIGNS:
        raise NotAllowedError("it is too long")
    parts, depth = list[list[Sign]]([[]]), 0
    for sign in signs:
        depth += (sign.text in ("(", "[")) - (sign.text in (")", "]")) if sign.kind == "sign" else 0
        if sign == Sign("sign", ",") and depth == 0:
            parts.append([])
        else:
            parts[-1].append(sign)
    return [part for part in parts if part]


def _parameter(signs: list[Sign], columns: dict[str, str]) -> tuple[str, ast.expr]:
    if len(signs) < 3 or signs[0].kind != "name" or signs[1] != Sign("sign", "="):
        raise NotAllowedError("each parameter needs its name")
    tree = ast.parse(" ".join(_stand_in(sign, columns) for sign in signs[2:]), mode="eval").body
    _check(tree, columns)
    return signs[0].text, tree


def _stand_in(sign: Sign, columns: dict[str, str]) -> str:
    """A sign as Python's parser gets it: columns get plain names."""
    if sign.kind not in ("name", "quoted") or sign.text in ("True", "False"):
        return sign.text
    name = sign.text.strip("`")
    stands = next((key for key, one in columns.items() if one == name), f"_{len(columns)}")
    columns[stands] = name
    return stands


def _check(tree: ast.expr, columns: Mapping[str, str]) -> None:
    """Columns, numbers, labels and arithmetic: nothing else."""
    match tree:
        case ast.Name(name) if name in columns:
            parts: list[ast.expr] = []
        case ast.Constant(value) if isinstance(value, str) or _is_moderate(value):
            parts = []
        case ast.List(parts):
            pass
        case ast.UnaryOp(ast.USub(), operand):
            parts = [operand]
        case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
            parts = [left, right]
        case _:
            raise NotAllowedError("only columns, numbers and + - * / may stand in it")
    for part in parts:
        _check(part, columns)


def _is_moderate(value: Any) -> bool:
    """Whether a number is no larger than parameters are, so that exact arithmetic with it stays short."""
    return isinstance(value, int | float) and (value == 0 or 1 / LARGEST <= abs(value) <= LARGEST)


def _labels(tree: ast.expr, columns: Mapping[str, str]) -> Categories:
    """Labels as typed: numbers and words are texts, which match the values of a column by their text."""
    if not isinstance(tree, ast.List):
        raise ParameterError("categories and reports are lists", hint="write them as: reports=[1, 0]")
    return Categories.of([_label(part, columns) for part in tree.elts])


def _label(tree: ast.expr, columns: Mapping[str, str]) -> str:
    match tree:
        case ast.Constant(value):
            return str(value)
        case ast.Name(name):
            return columns[name]
    raise ParameterError("a label is a word or a number", hint="write them as: reports=['yes', 'no']")


# ---- numbers


def _number(name: str, value: str | None) -> Fraction:
    try:
        return as_fraction(str(value))
    except MaskwellError:
        raise InputError(
            f"column {shorten(repr(name), 24)} holds something that is no number",
            hint=shorten(f"a parameter of {option('design')} is a number or a fraction in every row", HINT),
            values=str(value),
            column=name,
        ) from None


def _worked_out(tree: ast.expr, numbers: Mapping[str, Fraction]) -> Any:
    """Exactly: 1/6 stays 1/6."""
    match tree:
        case ast.Name(name):
            return numbers[name]
        case ast.Constant(value):
            return value if isinstance(value, bool | str) else Fraction(str(value))
        case ast.List(parts):
            return [_worked_out(part, numbers) for part in parts]
        case ast.UnaryOp(_, operand):
            return -_worked_out(operand, numbers)
        case ast.BinOp(left, kind, right):
            return _OPERATORS[type(kind)](_worked_out(left, numbers), _worked_out(right, numbers))
    raise TypeError(type(tree).__name__)

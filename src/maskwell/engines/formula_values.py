"""Expressions of a formula, such as ``log(age)`` or ``C(region, Treatment("north"))``: what is allowed, what they give.

An expression is checked and made into a tree of the five kinds of node below, and this tree is evaluated. No text is
ever evaluated as Python: a name is a column or stands in ``FUNCTIONS``, and there is nothing else to be called.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

import numpy as np

from maskwell.core.phrases import HINT, listed, shorten
from maskwell.engines.predictor_columns import Predictors

MOST_CHARACTERS = 200
"""Of a text in quotes."""

MOST_ITEMS = 200
"""Of a list."""

MOST_COLUMNS = 100
"""That one spline or polynomial may have."""

LARGEST = 2**53
LARGEST_POWER = 100
MOST_SHIFTED = 10_000


class NotAllowedError(Exception):
    """An expression that is not allowed: what is wrong, and what to do."""

    def __init__(self, problem: str, hint: str = "use columns, numbers, + - * / ** and functions such as log(age)"):
        super().__init__(problem)
        self.problem, self.hint = problem, hint


# --- the nodes of an expression ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of the data."""

    name: str


@dataclass(frozen=True)
class Constant:
    """A number, a text, True, False or None."""

    value: Any


@dataclass(frozen=True)
class Items:
    """A list of constants or of lists."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Operation:
    """An operator and what it stands between."""

    symbol: str
    operands: tuple[Any, ...]


@dataclass(frozen=True)
class Call:
    """A listed function with what is given for its parameters; ``text`` is how the call is written."""

    name: str
    arguments: Mapping[str, Any]
    text: str


Expression = Column | Constant | Items | Operation | Call

_BETWEEN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BEFORE: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip
_OF_NUMBERS = {"+", "-", "*", "/", "//", "%", "**"}
_COMPARED = {"==", "!=", "<", "<=", ">", ">="}
_OF_ANYTHING = {"C", "I", "lag", "np.where"}
"""Functions that also take categories."""


# --- what may be given for a parameter --------------------------------------------------------------------------------

VALUE = "a column or an expression"


@dataclass(frozen=True)
class _Known:
    """Something that is known before any row is read: how it is called in a message, and whether a value is one."""

    what: str
    accepts: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(low: int, high: int) -> _Known:
    return _Known(
        f"a whole number from {low:,} to {high:,}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high,
    )


def _words(*words: str) -> _Known:
    return _Known(f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words)


def _is_list(value: Any, accepts: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and 0 < len(value) <= MOST_ITEMS and all(map(accepts, value))


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int | float)


FLAG = _Known("True or False", lambda value: isinstance(value, bool))
NUMBER = _Known("a number", _is_number)
SWITCH = _Known("True, False or a number", lambda value: isinstance(value, bool | int | float))
TEXT = _Known("the name of a column in quotes", lambda value: isinstance(value, str))
LABEL = _Known("a category, such as 'north'", _is_label)
NUMBERS = _Known(f"a list of up to {MOST_ITEMS} numbers", lambda value: _is_list(value, _is_number))
LABELS = _Known(f"a list of up to {MOST_ITEMS} categories", lambda value: _is_list(value, _is_label))
MATRIX = _Known("a list of rows", lambda value: _is_list(value, NUMBERS.accepts))
CONTRAST = "a contrast"
_CONTRASTS = "such as C(region, Sum) or C(region, Treatment('north'))"
WIDTH, DEGREE = _whole(1, MOST_COLUMNS), _whole(1, 20)
EDGE = _words("raise", "clip", "na", "zero", "extend")


@dataclass(frozen=True)
class Function:
    """A function of a formula.

    Attributes
    ----------
    parameters
        By name and in order, what may be given for each; only the first ``needed`` must be.
    source
        What works it out: a function of numpy, or how to find it in formulaic.
    kind
        "plain", "stateful" (it remembers the rows of the fit), or "contrast".
    by_name
        Parameters that must be named.
    """

    parameters: Mapping[str, Any]
    needed: int
    source: Any
    kind: str = "plain"
    by_name: frozenset[str] = frozenset()


def _of_one(function: Any) -> Function:
    return Function({"x": VALUE}, 1, function)


def _of_two(function: Any) -> Function:
    return Function({"x1": VALUE, "x2": VALUE}, 2, function)


def _exp10(x: Any) -> Any:
    return np.power(10.0, x)


_SPLINE = {"x": VALUE, "df": WIDTH, "knots": NUMBERS}
_BOUNDS = {"lower_bound": NUMBER, "upper_bound": NUMBER}
_CUBIC = Function({**_SPLINE, **_BOUNDS, "constraints": _words("center"), "extrapolation": EDGE}, 1, "", "stateful")
_SCALE = {"center": SWITCH, "scale": SWITCH, "ddof": NUMBER}
_TREATMENT = Function({"base": LABEL}, 0, "TreatmentContrasts", "contrast")
_SAS = Function({"base": LABEL}, 0, "SASContrasts", "contrast")
_HELMERT = Function({"reverse": FLAG, "scale": FLAG}, 0, "HelmertContrasts", "contrast")
_POLY = Function({"scores": NUMBERS}, 0, "PolyContrasts", "contrast")
_DIFF = Function({"backward": FLAG}, 0, "DiffContrasts", "contrast")
_SUM = Function({}, 0, "SumContrasts", "contrast")

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "C": Function(
            {"data": VALUE, "contrasts": CONTRAST, "levels": LABELS, "spans_intercept": FLAG},
            1,
            "C",
            by_name=frozenset(["levels", "spans_intercept"]),
        ),
        "I": _of_one("I"),
        "Q": Function({"variable": TEXT}, 1, ""),
        "lag": Function({"data": VALUE, "k": _whole(-MOST_SHIFTED, MOST_SHIFTED)}, 1, "lag"),
        "center": Function({"data": VALUE}, 1, "center", "stateful"),
        "scale": Function({"data": VALUE, **_SCALE}, 1, "scale", "stateful"),
        "standardize": Function({"x": VALUE, "center": FLAG, "rescale": FLAG, "ddof": NUMBER}, 1, "", "stateful"),
        "poly": Function({"x": VALUE, "degree": _whole(1, MOST_COLUMNS), "raw": FLAG}, 1, "poly", "stateful"),
        "bs": Function(
            {**_SPLINE, "degree": DEGREE, "include_intercept": FLAG, **_BOUNDS, "extrapolation": EDGE},
            1,
            "bs",
            "stateful",
        ),
        "cr": _CUBIC,
        "cs": _CUBIC,
        "cc": _CUBIC,
        "Treatment": Function({"reference": LABEL}, 0, "TreatmentContrasts", "contrast"),
        "Sum": _SUM,
        "Helmert": _HELMERT,
        "Diff": _DIFF,
        "Poly": _POLY,
        "contr.treatment": _TREATMENT,
        "contr.sas": _SAS,
        "contr.SAS": _SAS,
        "contr.sum": _SUM,
        "contr.helmert": _HELMERT,
        "contr.diff": _DIFF,
        "contr.poly": _POLY,
        "exp": _of_one(np.exp),
        "exp2": _of_one(np.exp2),
        "exp10": _of_one(_exp10),
        "log": _of_one(np.log),
        "log2": _of_one(np.log2),
        "log10": _of_one(np.log10),
        "np.abs": _of_one(np.abs),
        "np.absolute": _of_one(np.abs),
        "np.ceil": _of_one(np.ceil),
        "np.clip": Function({"a": VALUE, "a_min": VALUE, "a_max": VALUE}, 3, np.clip),
        "np.cos": _of_one(np.cos),
        "np.exp": _of_one(np.exp),
        "np.expm1": _of_one(np.expm1),
        "np.floor": _of_one(np.floor),
        "np.log": _of_one(np.log),
        "np.log10": _of_one(np.log10),
        "np.log1p": _of_one(np.log1p),
        "np.log2": _of_one(np.log2),
        "np.maximum": _of_two(np.maximum),
        "np.minimum": _of_two(np.minimum),
        "np.power": _of_two(np.power),
        "np.round": Function({"a": VALUE, "decimals": _whole(-20, 20)}, 1, np.round),
        "np.sign": _of_one(np.sign),
        "np.sin": _of_one(np.sin),
        "np.sqrt": _of_one(np.sqrt),
        "np.square": _of_one(np.square),
        "np.tanh": _of_one(np.tanh),
        "np.where": Function({"condition": VALUE, "x": VALUE, "y": VALUE}, 3, np.where),
    }
)
"""All that can be called in a formula."""


# --- from a tree of Python's parser to one of ours --------------------------------------------------------------------


def read_expression(tree: ast.expr, names: Mapping[str, str]) -> tuple[Expression, str]:
    """Check a tree of Python's parser: our tree, and how the expression is written.

    ``names`` are the columns by the names that stand for them in the tree.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = written(names[node.id])
    return _Builder({written(name): name for name in names.values()}).built(tree), ast.unparse(tree)


def written(name: str) -> str:
    """A column as it is written inside an expression.

    >>> written("age"), written("cov.age"), written("two words"), written("np.log")
    ('age', 'cov.age', '`two words`', '`np.log`')
    """
    return name if (name.isidentifier() and not iskeyword(name)) or is_dotted(name) else f"`{name}`"


def is_dotted(name: str) -> bool:
    """Whether a name with dots in it is that of a column, as R writes them, and no function.

    Names with two underscores at the start of a part need quotes: they look like an attack, and never are meant.

    >>> is_dotted("cov.age"), is_dotted("np.log"), is_dotted("x.__class__")
    (True, False, False)
    """
    parts = name.split(".")
    starts_well = parts[0].isidentifier() and len(parts) > 1
    return starts_well and name not in FUNCTIONS and not any(part.startswith("__") for part in parts)


def least_columns(node: Expression) -> int:
    """How many columns a spline or a polynomial makes, as far as that is known before any row is read."""
    given = node.arguments if isinstance(node, Call) and FUNCTIONS[node.name].kind == "stateful" else {}
    known = {key: plain(one) for key, one in given.items() if isinstance(one, Constant | Items)}
    return max(1, known.get("df") or 1, known.get("degree") or 1, len(known.get("knots") or ()))


def columns_of(node: Expression) -> list[str]:
    """The columns of an expression, in the order in which they are named."""
    match node:
        case Column(name):
            return [name]
        case Operation(_, operands):
            return [name for one in operands for name in columns_of(one)]
        case Call(_, arguments, _):
            return [name for one in arguments.values() for name in columns_of(one)]
    return []


def is_plain(node: Expression, table: Any) -> bool:
    """Whether a factor is a column of numbers or categories, or numbers worked out by NumPy alone."""
    if not isinstance(table, Predictors):
        return False
    match node:
        case Column():
            return True
        case Call("C", arguments):
            return [*arguments] == ["data"] and isinstance(arguments["data"], Column)
    return _is_numeric(node, table)


def _is_numeric(node: Expression, table: Predictors) -> bool:
    match node:
        case Column(name):
            return isinstance(table[name], np.ndarray)
        case Constant(value):
            return _is_number(value)
        case Operation(symbol, operands):
            return symbol in {"+", "-", "*", "/", "**"} and all(_is_numeric(one, table) for one in operands)
        case Call(name, arguments):
            numeric = name == "I" or isinstance(FUNCTIONS[name].source, np.ufunc)
            return numeric and all(_is_numeric(one, table) for one in arguments.values())
    return False


def listed_in(node: Expression) -> list[list[Any]]:
    """The levels and the rows of a contrast that a factor lists, each of which may make a column."""
    arguments = node.arguments if isinstance(node, Call) and node.name == "C" else {}
    lists = [plain(one) for one in arguments.values() if isinstance(one, Items)]
    return [*lists, *(row for rows in lists for row in rows if isinstance(row, list))]


@dataclass(frozen=True)
class _Builder:
    names: Mapping[str, str]

    def built(self, node: ast.expr) -> Expression:
        match node:
            case ast.Name(id) if id in self.names:
                return Column(self.names[id])
            case ast.Constant(value):
                return Constant(_constant(value))
            case ast.List(elts) | ast.Tuple(elts):
                return Items(tuple(self._item(one) for one in elts))
            case ast.UnaryOp(op, operand) if type(op) in _SYMBOLS:
                return self._operation(_SYMBOLS[type(op)], [operand])
            case ast.BinOp(left, op, right) if type(op) in _SYMBOLS:
                return self._operation(_SYMBOLS[type(op)], [left, right])
            case ast.Compare(left, [op], [right]) if type(op) in _SYMBOLS:
                return self._operation(_SYMBOLS[type(op)], [left, right])
            case ast.Compare():
                raise NotAllowedError("more than one comparison", "join two: (18 <= age) & (age < 65)")
            case ast.Call(func, args, keywords):
                return self._call(node, _name_of(func), args, keywords)
        raise NotAllowedError("this is not allowed in a formula")

    def _item(self, node: ast.expr) -> Expression:
        item = self.built(node)
        if not isinstance(item, Constant | Items):
            raise NotAllowedError("a list may hold numbers and texts only")
        return item

    def _operation(self, symbol: str, nodes: list[ast.expr]) -> Expression:
        operands = tuple(self.built(node) for node in nodes)
        _check_operands(symbol, operands)
        numbers = [one.value for one in operands if isinstance(one, Constant)]
        return Constant(_worked_out(symbol, numbers)) if len(numbers) == len(operands) else Operation(symbol, operands)

    def _call(self, node: ast.Call, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Expression:
        if name not in FUNCTIONS:
            raise unknown_function(name)
        function = FUNCTIONS[name]
        given = _given(name, function, args, keywords)
        arguments = {
            key: self._argument(name, key, allowed, given[key])
            for key, allowed in function.parameters.items()
            if key in given
        }
        if name == "Q":
            return Column(plain(arguments["variable"]))
        call = Call(name, arguments, ast.unparse(node))
        if function.kind != "contrast" and not columns_of(call):
            raise NotAllowedError(f"{name} is given no column", "name a column in it, such as age")
        return call

    def _argument(self, name: str, key: str, allowed: Any, node: ast.expr) -> Expression:
        if allowed == CONTRAST:
            return self._contrast(node)
        argument = self.built(node)
        if allowed == VALUE:
            if isinstance(argument, Items) or _is_none(argument):
                raise NotAllowedError(f"{name}: {key} must be a column or a number", _takes(name))
            _check_no_contrast(argument)
            return argument
        if isinstance(argument, Constant | Items) and (
            (_is_none(argument) and name != "Q") or allowed.accepts(plain(argument))
        ):
            return argument
        raise NotAllowedError(f"{name}: {key} must be {allowed.what}", _takes(name))

    def _contrast(self, node: ast.expr) -> Expression:
        alone = self.names.get(node.id, "") if isinstance(node, ast.Name) else _dotted(node)
        if alone in FUNCTIONS and FUNCTIONS[alone].kind == "contrast":
            return Call(alone, {}, alone)
        contrast = self.built(node)
        is_contrast = isinstance(contrast, Call) and FUNCTIONS[contrast.name].kind == "contrast"
        if not (is_contrast or _is_none(contrast) or (isinstance(contrast, Items) and MATRIX.accepts(plain(contrast)))):
            raise NotAllowedError("C: the second value must be a contrast", _CONTRASTS)
        return contrast


def _given(name: str, function: Function, args: list[ast.expr], keywords: list[ast.keyword]) -> dict[str, ast.expr]:
    """What is given for which parameter."""
    given: dict[str, ast.expr] = {}
    places = [key for key in function.parameters if key not in function.by_name]
    if len(args) > len(places):
        raise NotAllowedError(f"{name} takes at most {len(places)} values", _takes(name))
    for key, value in [*zip(places, args, strict=False), *((str(one.arg), one.value) for one in keywords)]:
        if key not in function.parameters:
            raise NotAllowedError(f"{name} has no parameter {shorten(key, 20)!r}", _takes(name))
        if key in given:
            raise NotAllowedError(f"{name} is given {key} twice", _takes(name))
        given[key] = value
    missing = [key for key in [*function.parameters][: function.needed] if key not in given]
    if missing:
        raise NotAllowedError(f"{name} needs {missing[0]}", _takes(name))
    return given


def plain(node: Expression) -> Any:
    """The value of something that names no column: numbers, texts, lists of them."""
    if isinstance(node, Items):
        return [plain(one) for one in node.items]
    if isinstance(node, Constant):
        return node.value
    raise TypeError(f"{type(node).__name__} has no value before rows are read")


def _is_none(node: Expression) -> bool:
    return isinstance(node, Constant) and node.value is None


def unknown_function(name: str) -> NotAllowedError:
    """The error for a function that is not listed."""
    known = sorted({one for one in FUNCTIONS if "." not in one} - {"Q"})
    hint = f"known: {listed(known, len(known), HINT - len('known: '))}"
    return NotAllowedError(f"there is no function {shorten(name, 24)!r}", hint)


def _takes(name: str) -> str:
    return shorten(f"it takes {', '.join(FUNCTIONS[name].parameters)}", HINT)


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Attribute(ast.Name(base), attr):
            return f"{base}.{attr}"
    return ""


def _name_of(node: ast.expr) -> str:
    name = node.id if isinstance(node, ast.Name) else _dotted(node)
    if not name:
        raise NotAllowedError("only listed functions can be called")
    return name


def _constant(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > MOST_CHARACTERS:
            raise NotAllowedError(f"a text of more than {MOST_CHARACTERS} characters", "compute such a column first")
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and math.isfinite(value) and (isinstance(value, float) or abs(value) <= LARGEST):
        return value
    raise NotAllowedError("a number that is too large", f"whole numbers go up to {LARGEST:,}")


def _check_operands(symbol: str, operands: tuple[Expression, ...]) -> None:
    for one in operands:
        _check_no_contrast(one)
        if isinstance(one, Items) or (isinstance(one, Call) and one.name == "C"):
            raise NotAllowedError(f"{symbol} needs columns or numbers on its sides")
        if isinstance(one, Constant) and not _is_number(one.value) and symbol not in ("==", "!="):
            raise NotAllowedError(f"{symbol} needs columns or numbers on its sides")
    power = operands[1] if symbol == "**" else None
    if isinstance(power, Constant) and abs(power.value) > LARGEST_POWER:
        raise NotAllowedError("a power that is too high", f"powers go up to {LARGEST_POWER}")


def _check_no_contrast(node: Expression) -> None:
    if isinstance(node, Call) and FUNCTIONS[node.name].kind == "contrast":
        raise NotAllowedError(f"{node.name} belongs into C", _CONTRASTS)


def _worked_out(symbol: str, values: list[Any]) -> Any:
    """Arithmetic with numbers that stand in the formula."""
    if symbol not in _OF_NUMBERS:
        raise NotAllowedError(f"{symbol} needs a column on one of its sides")
    try:
        if symbol == "**":
            number = math.pow(*values)
            number = int(number) if number.is_integer() and all(isinstance(one, int) for one in values) else number
        else:
            number = _BEFORE[symbol](*values) if len(values) == 1 else _BETWEEN[symbol](*values)
    except (ArithmeticError, ValueError) as error:
        raise NotAllowedError("arithmetic with numbers that has no result") from error
    return _constant(number)


# --- what an expression gives for the rows of a table -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """A table, and what functions such as ``center`` remember, by how they are written."""

    table: Any
    states: dict[str, dict[str, Any]]

    def value(self, node: Expression) -> Any:
        """What an expression gives: a column, or several, as formulaic takes them."""
        match node:
            case Column(name):
                return self.table[name]
            case Constant() | Items():
                return plain(node)
            case Operation(symbol, operands):
                kinds = "biuf" if symbol not in _COMPARED else ""
                values = [self._operand(one, kinds) for one in operands]
                values = [*map(_as_numbers, values)] if symbol in _OF_NUMBERS else values
                return _BEFORE[symbol](*values) if len(values) == 1 else _BETWEEN[symbol](*values)
            case Call(name, arguments, text):
                return self._called(name, arguments, text)

    def _operand(self, node: Expression, kinds: str = "") -> Any:
        """A number, a text or one column, never several columns: these would multiply with each other.

        ``kinds`` are the kinds of values that are possible, as numpy has them; texts would be repeated by ``*``.
        """
        value = self.value(node)
        if isinstance(value, dict) or getattr(value, "shape", ()) not in ((), (len(self.table),)):
            raise ValueError("several columns where one is needed")
        if kinds and getattr(getattr(value, "dtype", np.asarray(value).dtype), "kind", "O") not in kinds:
            raise TypeError("categories or texts where numbers are needed")
        return value

    def _called(self, name: str, arguments: Mapping[str, Any], text: str) -> Any:
        function = FUNCTIONS[name]
        if function.kind == "contrast":
            return _contrast(function, {key: plain(one) for key, one in arguments.items()})
        first, *others = function.parameters
        kinds = "" if name in _OF_ANYTHING else "biuf"
        values = {
            key: self._operand(one, "biuf" if key == "condition" else kinds) if allowed == VALUE else self.value(one)
            for key, one in arguments.items()
            for allowed in [function.parameters[key]]
        }
        if name == "np.where":
            return self._where(**values)
        if callable(function.source):
            return function.source(*(_as_numbers(one) for one in values.values()))
        if name == "I":
            return values[first]
        if isinstance(self.table, Predictors):
            return self.table.categories(arguments[first].name)
        work, start = _transform(function.source or name), values.pop(first)
        if name == "lag":
            return work(start, *values.values())
        if function.kind == "stateful":
            return work(_as_numbers(start), **values, _state=self.states.setdefault(text, {}))
        return work(start, **{key: values[key] for key in others if key in values})

    def _where(self, condition: Any, x: Any, y: Any) -> Any:
        """One of two values by row; texts as references to them, so that long ones cost nothing."""
        import pandas as pd

        either = [np.array(one, dtype=object) if isinstance(one, str) else one for one in (x, y)]
        return pd.Series(np.where(condition, *either), index=self.table.index)


def _as_numbers(value: Any) -> Any:
    """Numbers in double precision also where a column holds True and False."""
    return value.astype(np.float64) if getattr(value, "dtype", None) == np.bool_ else value


def _transform(name: str) -> Any:
    from formulaic.transforms import TRANSFORMS

    return TRANSFORMS[name]


def _contrast(function: Function, values: dict[str, Any]) -> Any:
    from formulaic.transforms import contrasts

    arguments = {("base" if key == "reference" else key): value for key, value in values.items() if value is not None}
    return getattr(contrasts, function.source)(**arguments)

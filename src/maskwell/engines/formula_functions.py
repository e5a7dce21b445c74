"""Functions of a formula, such as ``log(age)`` or ``C(region, Treatment("north"))``: nothing else can be called."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from maskwell.core import expressions
from maskwell.core.expressions import Constant, Items, Name, NotAllowedError, Operation, is_plain_name, written
from maskwell.core.phrases import HINT, listed, shorten
from maskwell.engines import formula_bases as bases

MOST_CHARACTERS = 200  # of a string in quotes
MOST_ITEMS = 200  # of a list
MOST_COLUMNS = 100  # that one spline or polynomial may have
LARGEST = 2**53
LARGEST_POWER = 100
MOST_SHIFTED = 10_000


@dataclass(frozen=True)
class Call:
    """A listed function with what is given for its parameters; ``text`` is how the call is written."""

    name: str
    arguments: Mapping[str, Any]
    text: str


Expression: TypeAlias = Name | Constant | Items | Operation | Call

BETWEEN: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "==": operator.eq,
    "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
BEFORE: Mapping[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
OF_NUMBERS = {"+", "-", "*", "/", "//", "%", "**"}


VALUE = "a column or an expression"
CONTRAST = "a contrast"
_USE = "use columns, numbers, + - * / ** and functions such as log(age)"
_CONTRASTS = "such as C(region, Sum) or C(region, Treatment('north'))"


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
        lambda value: _is_number(value) and isinstance(value, int) and low <= value <= high,
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
WIDTH, DEGREE = _whole(1, MOST_COLUMNS), _whole(1, 20)
EDGE = _words("raise", "clip", "na", "zero", "extend")


@dataclass(frozen=True)
class Function:
    """A function of a formula."""

    parameters: Mapping[str, Any]  # by name and in order, what may be given for each; only the first needed must be
    needed: int
    work: Any = None  # what computes it; None where formula_coding does
    kind: str = "plain"  # "plain", "stateful" (it remembers the rows of the fit), or "contrast"
    by_name: frozenset[str] = frozenset()  # parameters that must be named


def _stateful(work: Any, first: str, **others: Any) -> Function:
    return Function({first: VALUE, **others}, 1, work, "stateful")


def _contrast(work: Any, **parameters: Any) -> Function:
    return Function(parameters, 0, work, "contrast")


_BOUNDS = {"lower_bound": NUMBER, "upper_bound": NUMBER}
_CUBIC = {"df": WIDTH, "knots": NUMBERS, **_BOUNDS, "constraints": _words("center"), "extrapolation": EDGE}
_BY_DEGREE = {"df": WIDTH, "knots": NUMBERS, "degree": DEGREE, "include_intercept": FLAG, **_BOUNDS}
_NATURAL = _stateful(partial(bases.cubic_spline, cyclic=False), "x", **_CUBIC)
_CODED = {"data": VALUE, "contrasts": CONTRAST, "levels": LABELS, "spans_intercept": FLAG}
_SAS = _contrast(bases.sas_contrast, base=LABEL)
_CONTRASTS_BY_NAME = {
    "Sum": _contrast(bases.sum_contrast),
    "Helmert": _contrast(bases.helmert_contrast, reverse=FLAG, scale=FLAG),
    "Diff": _contrast(bases.diff_contrast, backward=FLAG),
    "Poly": _contrast(bases.poly_contrast, scores=NUMBERS),
}
_OF_ONE = "abs absolute ceil cos exp expm1 floor log log10 log1p log2 sign sin sqrt square tanh"

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "C": Function(_CODED, 1, by_name=frozenset(["levels", "spans_intercept"])),
        "I": Function({"x": VALUE}, 1),
        "Q": Function({"variable": TEXT}, 1),
        "lag": Function({"data": VALUE, "k": _whole(-MOST_SHIFTED, MOST_SHIFTED)}, 1),
        "center": _stateful(partial(bases.scale, scale=False), "data"),
        "scale": _stateful(bases.scale, "data", center=SWITCH, scale=SWITCH, ddof=NUMBER),
        "standardize": _stateful(bases.standardize, "x", center=FLAG, rescale=FLAG, ddof=NUMBER),
        "poly": _stateful(bases.poly, "x", degree=_whole(1, MOST_COLUMNS), raw=FLAG),
        "bs": _stateful(bases.basis_spline, "x", **_BY_DEGREE, extrapolation=EDGE),
        "cr": _NATURAL,
        "cs": _NATURAL,
        "cc": _stateful(partial(bases.cubic_spline, cyclic=True), "x", **_CUBIC),
        "Treatment": _contrast(bases.treatment_contrast, reference=LABEL),
        "contr.treatment": _contrast(bases.treatment_contrast, base=LABEL),
        "contr.sas": _SAS,
        "contr.SAS": _SAS,
        **_CONTRASTS_BY_NAME,
        **{f"contr.{name.lower()}": contrast for name, contrast in _CONTRASTS_BY_NAME.items()},
        **{name: Function({"x": VALUE}, 1, getattr(np, name)) for name in ("exp", "exp2", "log", "log2", "log10")},
        "exp10": Function({"x": VALUE}, 1, partial(np.power, 10.0)),
        **{f"np.{name}": Function({"x": VALUE}, 1, getattr(np, name)) for name in _OF_ONE.split()},
        "np.maximum": Function({"x1": VALUE, "x2": VALUE}, 2, np.maximum),
        "np.minimum": Function({"x1": VALUE, "x2": VALUE}, 2, np.minimum),
        "np.power": Function({"x1": VALUE, "x2": VALUE}, 2, np.power),
        "np.clip": Function({"a": VALUE, "a_min": VALUE, "a_max": VALUE}, 3, np.clip),
        "np.round": Function({"a": VALUE, "decimals": _whole(-20, 20)}, 1, np.round),
        "np.where": Function({"condition": VALUE, "x": VALUE, "y": VALUE}, 3),
    }
)


def checked(node: expressions.Node) -> Expression:
    """What was read, if all of it is allowed: functions with their parameters, numbers computed."""
    match node:
        case Name(text, quoted):
            known = text.isidentifier() or (is_plain_name(text) and text not in FUNCTIONS)
            if not (known or quoted):
                hint = "put a column with such a name between two `"
                raise NotAllowedError(f"{shorten(text, 18)!r} is not allowed in a formula", hint)
            return Name(text)
        case Constant(value):
            return Constant(_constant(value))
        case Items(items):
            inner = tuple(map(checked, items))
            if not all(isinstance(one, Constant | Items) for one in inner):
                raise NotAllowedError("a list may hold numbers and texts only", _USE)
            return Items(inner)
        case Operation(symbol, nodes):
            return _operation(symbol, tuple(map(checked, nodes)))
    return _call(node)


def _operation(symbol: str, operands: tuple[Expression, ...]) -> Expression:
    if symbol not in (BETWEEN if len(operands) == 2 else BEFORE):
        raise NotAllowedError(f"{symbol!r} in an expression is not allowed in a formula", _USE)
    for one in operands:
        _check_no_contrast(one)
        known = isinstance(one, Constant) and not _is_number(one.value) and symbol not in ("==", "!=")
        if known or isinstance(one, Items) or (isinstance(one, Call) and one.name == "C"):
            raise NotAllowedError(f"{symbol} needs columns or numbers on its sides", _USE)
    power = operands[-1] if symbol == "**" else None
    if isinstance(power, Constant) and abs(power.value) > LARGEST_POWER:
        raise NotAllowedError("a power that is too high", f"powers go up to {LARGEST_POWER}")
    numbers = [one.value for one in operands if isinstance(one, Constant)]
    return Constant(_computed(symbol, numbers)) if len(numbers) == len(operands) else Operation(symbol, operands)


def _computed(symbol: str, values: list[Any]) -> Any:
    """Arithmetic with numbers of the formula."""
    if symbol not in OF_NUMBERS:
        raise NotAllowedError(f"{symbol} needs a column on one of its sides", _USE)
    try:
        if symbol == "**":
            number = math.pow(*values)
            number = int(number) if number.is_integer() and all(isinstance(one, int) for one in values) else number
        else:
            number = BEFORE[symbol](*values) if len(values) == 1 else BETWEEN[symbol](*values)
    except (ArithmeticError, ValueError) as error:
        raise NotAllowedError("arithmetic with numbers that has no result", _USE) from error
    return _constant(number)


def _constant(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        raise NotAllowedError(f"a text of more than {MOST_CHARACTERS} characters", "compute such a column first")
    if _is_number(value) and not (math.isfinite(value) and (isinstance(value, float) or abs(value) <= LARGEST)):
        raise NotAllowedError("a number that is too large", f"whole numbers go up to {LARGEST:,}")
    return value


def _call(node: expressions.Call) -> Expression:
    name = node.name
    if name not in FUNCTIONS:
        known = sorted({one for one in FUNCTIONS if "." not in one} - {"Q"})
        hint = f"known: {listed(known, len(known), HINT - len('known: '))}"
        raise NotAllowedError(f"unknown function {shorten(name, 24)!r}", hint)
    function = FUNCTIONS[name]
    given = _given(name, function, node.arguments)
    arguments = {key: _argument(name, key, given[key]) for key in function.parameters if key in given}
    if name == "Q":
        return Name(plain(arguments["variable"]))
    call = Call(name, arguments, written(node, FUNCTIONS))
    if function.kind != "contrast" and not columns_of(call):
        raise NotAllowedError(f"{name} is given no column", "name a column in it, such as age")
    return call


def _given(name: str, function: Function, arguments: tuple[tuple[str | None, Any], ...]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    places = [key for key in function.parameters if key not in function.by_name]
    if sum(key is None for key, _ in arguments) > len(places):
        raise NotAllowedError(f"{name} takes at most {len(places)} values", _takes(name))
    for place, (typed, value) in enumerate(arguments):
        key = places[place] if typed is None else typed
        if key not in function.parameters:
            raise NotAllowedError(f"{name} has no parameter {shorten(key, 20)!r}", _takes(name))
        if key in given:
            raise NotAllowedError(f"{name} is given {key} twice", _takes(name))
        given[key] = value
    missing = [key for key in [*function.parameters][: function.needed] if key not in given]
    if missing:
        raise NotAllowedError(f"{name} needs {missing[0]}", _takes(name))
    return given


def _argument(name: str, key: str, node: expressions.Node) -> Expression:
    allowed = FUNCTIONS[name].parameters[key]
    if allowed == CONTRAST:
        return _checked_contrast(node)
    argument = checked(node)
    none = isinstance(argument, Constant) and argument.value is None
    if allowed == VALUE:
        if isinstance(argument, Items) or none:
            raise NotAllowedError(f"{name}: {key} must be a column or a number", _takes(name))
        _check_no_contrast(argument)
        return argument
    known = isinstance(argument, Constant | Items)
    if known and ((none and name != "Q") or allowed.accepts(plain(argument))):
        return argument
    raise NotAllowedError(f"{name}: {key} must be {allowed.what}", _takes(name))


def _checked_contrast(node: expressions.Node) -> Expression:
    if isinstance(node, Name) and _is_contrast(node.text):
        return Call(node.text, {}, node.text)
    contrast = checked(node)
    match contrast:
        case Call(name) if _is_contrast(name):
            return contrast
        case Constant(None):
            return contrast
        case Items() if MATRIX.accepts(plain(contrast)):
            return contrast
    raise NotAllowedError("C: the second value must be a contrast", _CONTRASTS)


def _is_contrast(name: str) -> bool:
    return name in FUNCTIONS and FUNCTIONS[name].kind == "contrast"


def _check_no_contrast(node: Expression) -> None:
    if isinstance(node, Call) and _is_contrast(node.name):
        raise NotAllowedError(f"{node.name} belongs into C", _CONTRASTS)


def _takes(name: str) -> str:
    return shorten(f"it takes {', '.join(FUNCTIONS[name].parameters)}", HINT)


def plain(node: Expression) -> Any:
    """The value of something that names no column: numbers, strings, lists of them."""
    if isinstance(node, Items):
        return [plain(one) for one in node.items]
    if isinstance(node, Constant):
        return node.value
    raise TypeError(f"{type(node).__name__} has no value before rows are read")


def columns_of(node: Expression) -> list[str]:
    """The columns of an expression, in the order in which they are named."""
    match node:
        case Name(name):
            return [name]
        case Operation(_, operands):
            return [name for one in operands for name in columns_of(one)]
        case Call(_, arguments, _):
            return [name for one in arguments.values() for name in columns_of(one)]
    return []


def least_columns(node: Expression) -> int:
    """How many columns a spline or a polynomial makes, as far as that is known before any row is read."""
    given = node.arguments if isinstance(node, Call) and FUNCTIONS[node.name].kind == "stateful" else {}
    known = {key: plain(one) for key, one in given.items() if isinstance(one, Constant | Items)}
    return max(1, known.get("df") or 1, known.get("degree") or 1, len(known.get("knots") or ()))

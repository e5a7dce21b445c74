"""Formulas such as ``y ~ age + C(region)``: what they name, and the columns they make, by the library formulaic.

A formula is a small program, so only known functions may stand in it: what it names is either a column or one of
``FUNCTIONS``.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.phrases import HINT, fault_of, listed, shorten
from maskwell.errors import InputError, MissingExtraError, UnknownCategoryError

FUNCTIONS = frozenset(
    [
        "C",
        "I",
        "Q",
        "Diff",
        "Helmert",
        "Poly",
        "Sum",
        "Treatment",
        "bs",
        "cc",
        "center",
        "contr",
        "cr",
        "cs",
        "exp",
        "exp10",
        "exp2",
        "lag",
        "log",
        "log10",
        "log2",
        "np",
        "poly",
        "scale",
        "standardize",
        "True",
        "False",
        "None",
    ]
)
"""What may be called, besides the parts of ``np`` and ``contr``."""

PARTS = {
    "np": frozenset(
        [
            "abs",
            "absolute",
            "ceil",
            "clip",
            "cos",
            "exp",
            "expm1",
            "floor",
            "log",
            "log10",
            "log1p",
            "log2",
            "maximum",
            "minimum",
            "power",
            "round",
            "sign",
            "sin",
            "sqrt",
            "square",
            "tanh",
            "where",
        ]
    ),
    "contr": frozenset(["diff", "helmert", "poly", "sas", "sum", "treatment", "SAS"]),
}
NODES = (
    ast.Expression, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant, ast.Attribute, ast.BinOp, ast.UnaryOp,
    ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.List, ast.Tuple,
)  # fmt: skip
_QUOTED = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Formula:
    """A formula that was read.

    Attributes
    ----------
    text
        As typed.
    outcome
        The column on the left.
    columns
        Columns on the right, in the order in which they are first named.
    right
        The right side, for formulaic.
    """

    text: str
    outcome: str
    columns: tuple[str, ...]
    right: Any

    def without(self, names: Sequence[str]) -> Any:
        """The right side without the terms that involve these columns."""
        kept = [term for term in self.right if not {*names} & {*_columns_of(term)}]
        return type(self.right)(kept)


def require_formulaic() -> Any:
    """Import formulaic, or say how to install it."""
    try:
        return importlib.import_module("formulaic")
    except ImportError as error:
        raise MissingExtraError(
            "formulas need formulaic, which is not installed", hint="pip install 'maskwell[regress]'"
        ) from error


def read_formula(text: str) -> Formula:
    """Read ``outcome ~ predictors``.

    >>> found = read_formula("y ~ age + C(region):age")
    >>> found.outcome, found.columns
    ('y', ('age', 'region'))
    """
    left, right = _sides(text)
    terms = list(left)
    single = len(terms) == 1 and len(terms[0].factors) == 1 and terms[0].factors[0].eval_method.value == "lookup"
    if not single:
        raise _bad(text, "the left side must be the name of one column", "write it as: outcome ~ predictor + predictor")
    columns = [*dict.fromkeys(name for term in right for name in _columns_of(term))]
    outcome = terms[0].factors[0].expr
    if outcome in columns:
        raise _bad(text, f"{outcome!r} stands on both sides", "take it out on the right")
    if not list(right):
        raise _bad(text, "there is nothing on the right", f"write {outcome} ~ 1 for an intercept alone")
    return Formula(text, outcome, tuple(columns), right)


def read_right_side(text: str) -> tuple[Any, tuple[str, ...]]:
    """Read ``~ age + region``: the terms, and the columns they name."""
    with _problems(text):
        found = require_formulaic().Formula(text.strip().removeprefix("~"))
    if not _is_plain(found):
        raise _bad(text, "it has more than one part", "write it as: ~ predictor + predictor")
    return found, tuple(dict.fromkeys(name for term in found for name in _columns_of(term)))


def _sides(text: str) -> tuple[Any, Any]:
    if text.count("~") != 1 or not text.split("~", maxsplit=1)[0].strip():
        raise _bad(text, "it needs an outcome and a ~", "write it as: outcome ~ predictor + predictor")
    with _problems(text):
        found = require_formulaic().Formula(text)
    if not _is_plain(getattr(found, "lhs", None)) or not _is_plain(getattr(found, "rhs", None)):
        raise _bad(text, "it has more than one part", "write it as: outcome ~ predictor + predictor")
    return found.lhs, found.rhs


def _is_plain(side: Any) -> bool:
    return type(side).__name__ == "SimpleFormula"


@contextmanager
def _problems(text: str) -> Iterator[None]:
    """Turn what formulaic finds wrong into one line."""
    require_formulaic()
    errors = importlib.import_module("formulaic.errors")
    try:
        yield
    except (errors.FormulaicError, SyntaxError) as error:
        said = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", fault_of(error, 60))
        raise _bad(text, said, "write it as: outcome ~ predictor + C(predictor)") from error


@contextmanager
def _problems_with_rows(text: str) -> Iterator[None]:
    """The same where formulaic works on rows: what it says may hold values of them, except for the factor."""
    require_formulaic()
    errors = importlib.import_module("formulaic.errors")
    try:
        yield
    except (errors.FormulaicError, SyntaxError) as error:
        factor = next((found for found in re.findall(r"`([^`]+)`", str(error)) if found in text), None)
        said = f"{factor or 'it'} cannot be worked out"
        raise InputError(
            f"formula {shorten(text, 30)!r}: {shorten(said, 50)}",
            hint="use functions such as log only on columns of numbers",
            values=fault_of(error, 200),
            formula=text,
        ) from None


def _bad(text: str, problem: str, hint: str) -> InputError:
    return InputError(f"formula {shorten(text, 30)!r}: {shorten(problem, 50)}", hint=hint, formula=text)


def uses_of(terms: Iterable[Any]) -> dict[str, set[str]]:
    """How each column stands in some terms: by "name", in "C", or inside another "function".

    >>> {name: sorted(found) for name, found in uses_of(read_formula("y ~ a + C(b) + log(a)").right).items()}
    {'a': ['function', 'name'], 'b': ['C']}
    """
    found: dict[str, set[str]] = {}
    for factor in (factor for term in terms for factor in term.factors):
        for name in _names_in(factor):
            found.setdefault(name, set()).add(_use(factor))
    return found


def _use(factor: Any) -> str:
    if factor.eval_method.value == "lookup":
        return "name"
    return "C" if re.match(r"C\s*\(", factor.expr) else "function"


def _columns_of(term: Any) -> list[str]:
    """Columns that a term names, after checking that it calls nothing but known functions."""
    return [name for factor in term.factors for name in _names_in(factor)]


def _names_in(factor: Any) -> list[str]:
    kind = factor.eval_method.value
    if kind == "lookup":
        return [factor.expr]
    return [] if kind == "literal" else _names_in_code(factor.expr)


def _names_in_code(code: str) -> list[str]:
    quoted = {f"_quoted_{i}": name for i, name in enumerate(dict.fromkeys(_QUOTED.findall(code)))}
    plain = code
    for stand_in, name in quoted.items():
        plain = plain.replace(f"`{name}`", stand_in)
    try:
        tree = ast.parse(plain, mode="eval")
    except SyntaxError as error:
        raise _bad(code, "this is no expression", "use columns and functions such as log(age)") from error
    found = []
    for node in ast.walk(tree):
        _check_node(node, code)
        if isinstance(node, ast.Name) and node.id not in FUNCTIONS:
            found.append(quoted.get(node.id, node.id))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in FUNCTIONS:
            known = listed(sorted(FUNCTIONS - {"True", "False", "None", "np", "contr"}), len(FUNCTIONS) - 5, HINT - 7)
            raise _bad(code, f"there is no function {node.func.id!r}", f"known: {known}")
    return found


def _check_node(node: ast.AST, code: str) -> None:
    allowed = isinstance(node, NODES)
    if isinstance(node, ast.Attribute):
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        allowed = node.attr in PARTS.get(base, ())
    if not allowed:
        raise _bad(code, "this is not allowed in a formula", "use columns, + : * and functions such as log(age)")


def check_columns(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise unless every name is a column; the error lists the columns there are."""
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            columns = f"columns: {listed(known, len(known), HINT - len('columns: '))}"
            raise InputError(
                f"the formula names {shorten(name)!r}, which is no column",
                hint=f"did you mean {close[0]!r}? {columns}"[:HINT] if close else columns,
                name=name,
                columns=tuple(known),
            )


@dataclass(frozen=True, eq=False)
class Coding:
    """Turns tables of predictors into columns of numbers, always in the same way.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20.0, 30.0], "region": ["north", "south"]})
    >>> coding, values = Coding.learn(read_formula("y ~ age + region").right, table)
    >>> coding.names, values.tolist()
    (('Intercept', 'age', 'region[T.south]'), [[1.0, 20.0, 0.0], [1.0, 30.0, 1.0]])
    """

    spec: Any
    names: tuple[str, ...]

    @classmethod
    def learn(cls, right: Any, table: Any) -> tuple[Coding, Real]:
        """From the rows of the fit: levels of categories, centres and scales; and the columns of these rows."""
        made = _made(lambda: right.get_model_matrix(table, context={}, na_action="ignore"), str(right))
        return cls(made.model_spec, tuple(map(str, made.columns))), _numbers(made)

    def apply(self, table: Any) -> Real:
        """The columns of other rows."""
        return _numbers(_made(lambda: self.spec.get_model_matrix(table, context={}), ""))


def _made(make: Callable[[], Any], text: str) -> Any:
    """Let formulaic work: warnings about its own future are silenced, others are errors in our words."""
    with _problems_with_rows(text), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="Data has categories outside")
        try:
            return make()
        except Warning as warning:
            raise UnknownCategoryError(
                "new rows hold a category that the fit did not",
                hint="predict only for categories of the fit",
                values=fault_of(warning, 200),
            ) from None


def _numbers(made: Any) -> Real:
    return np.asarray(made.to_numpy(dtype=np.float64))

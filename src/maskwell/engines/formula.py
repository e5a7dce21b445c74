"""Formulas such as ``y ~ age + C(region)``: what they name, and the columns they make, by the library formulaic.

A formula may come from a stranger, so we read it ourselves (``formula_text``) and work out its expressions ourselves
(``formula_values``). Formulaic gets terms and the values of their factors, and codes categories; it evaluates nothing.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.extras import is_installed, missing_extra
from maskwell.core.phrases import HINT, fault_of, listed, shorten
from maskwell.engines.formula_text import Sign, Term, random_intercept, signs_of, terms_of
from maskwell.engines.formula_values import Expression, NotAllowedError, Rows, is_plain, least_columns, listed_in
from maskwell.engines.predictor_columns import CategoryColumn, PlainCoding, Predictors
from maskwell.errors import (
    InputError,
    MissingValueError,
    TooLargeError,
    UnknownCategoryError,
    WrongTypeError,
)

MOST_COLUMNS = 2_000
"""Of a model matrix, all categories counted."""

MOST_BYTES = 4 << 30
"""Of a model matrix, with its copies for the categories of randomized predictors."""

MOST_WORK = 20_000
"""Of finding which categories to leave out, about two seconds: four times as much for each column of a product."""


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
        The terms of the right side.
    group
        The column whose values have an intercept each, as in ``(1 | firm)``; None without one.
    """

    text: str
    outcome: str
    columns: tuple[str, ...]
    right: tuple[Term, ...]
    group: str | None = None

    def without(self, names: Sequence[str]) -> tuple[Term, ...]:
        """The terms of the right side that do not involve these columns."""
        return tuple(term for term in self.right if not {*names} & {*_columns_of([term])})


def require_formulaic() -> None:
    """Say how to install formulaic where it is missing; it is imported for the formulas that need it."""
    if not is_installed("formulaic"):
        raise missing_extra("formulaic", "a formula")


def read_formula(text: str, *, random: bool = False) -> Formula:
    """Read ``outcome ~ predictors``; with ``random`` there may be a random intercept, ``(1 | firm)``, among them.

    >>> found = read_formula("y ~ age + C(region):age")
    >>> found.outcome, found.columns
    ('y', ('age', 'region'))
    """
    require_formulaic()
    with _problems(text):
        signs = signs_of(_checked_text(text))
        middle = next((place for place, sign in enumerate(signs) if sign == Sign("sign", "~")), 0)
        if middle == 0:
            raise NotAllowedError("it needs an outcome and a ~", _WRITE)
        left, right = signs[:middle], signs[middle + 1 :]
        if len(left) != 1 or left[0].kind not in ("name", "quoted") or left[0].text == ".":
            raise NotAllowedError("the left side must be the name of one column", _WRITE)
        outcome = left[0].text.strip("`")
        right, group = random_intercept(right)
        if group is not None and not random:
            raise NotAllowedError("a random intercept is possible in maskwell regress only", "leave out (1 | ...)")
        terms = terms_of(right)
        columns = _columns_of(terms)
        if outcome in (*columns, group):
            raise NotAllowedError(f"{shorten(outcome, 20)!r} stands on both sides", "take it out on the right")
        if not terms:
            raise NotAllowedError("there is nothing on the right", "write outcome ~ 1 for an intercept alone")
    return Formula(text, outcome, columns, terms, group)


_WRITE = "write it as: outcome ~ predictor + predictor"


def read_right_side(text: str) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Read ``~ age + region``: the terms, and the columns they name."""
    require_formulaic()
    with _problems(text):
        terms = terms_of(signs_of(_checked_text(text).strip().removeprefix("~")))
    return terms, _columns_of(terms)


def _checked_text(text: Any) -> str:
    if not isinstance(text, str):
        raise WrongTypeError(f"a formula is a text, not {type(text).__name__}", hint=_WRITE)
    return text


@contextmanager
def _problems(text: str) -> Iterator[None]:
    """Say what is wrong with a formula in one line."""
    try:
        yield
    except NotAllowedError as error:
        message = f"formula {shorten(repr(text), 30)}: {shorten(error.problem, 52)}"
        raise InputError(message, hint=shorten(error.hint, HINT), formula=text) from None
    except RecursionError:
        message = f"formula {shorten(repr(text), 30)}: it is nested too deeply"
        raise InputError(message, hint="compute such a column first", formula=text) from None


def _faults_of_rows() -> tuple[type[Exception], ...]:
    """What libraries raise where values do not fit a function: texts in log, a knot outside the data."""
    from formulaic.errors import FormulaicError

    return FormulaicError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError


@contextmanager
def _problems_with_rows(said: str) -> Iterator[None]:
    """The same where something is worked out from rows: what a library says may hold values of them."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise TooLargeError(
            f"formula: there is not enough memory for {shorten(repr(said), 48)}",
            hint="use fewer interactions, fewer categories or fewer rows",
        ) from None
    except _faults_of_rows() as error:
        raise InputError(
            f"formula: {shorten(repr(said), 60)} cannot be worked out",
            hint="use functions such as log only on columns of numbers, and C only with categories of the data",
            values=fault_of(error, 200),
        ) from None


def uses_of(terms: Iterable[Term]) -> dict[str, set[str]]:
    """How each column stands in some terms: by "name", in "C", or inside another "function".

    >>> {name: sorted(found) for name, found in uses_of(read_formula("y ~ a + C(b) + log(a)").right).items()}
    {'a': ['function', 'name'], 'b': ['C']}
    """
    uses: dict[str, set[str]] = {}
    for factor in (factor for term in terms for factor in term):
        for name in factor.columns():
            uses.setdefault(name, set()).add(factor.use)
    return uses


def _columns_of(terms: Iterable[Term]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for term in terms for factor in term for name in factor.columns()))


def check_columns(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise unless every name is a column; the error lists the columns there are."""
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            columns = f"columns: {listed(known, len(known), HINT - len('columns: '))}"
            raise InputError(
                f"the formula names {shorten(repr(name))}, which is no column",
                hint=f"did you mean {close[0]!r}? {columns}"[:HINT] if close else columns,
                name=name,
                columns=tuple(known),
            )


@dataclass(frozen=True, eq=False)
class Coding:
    """Turns tables of predictors into columns of numbers, always in the same way.

    >>> region = CategoryColumn(np.array([0, 1]), ["north", "south"])
    >>> table = Predictors({"age": np.array([20.0, 30.0]), "region": region}, 2)
    >>> coding, values = Coding.learn(read_formula("y ~ age + region").right, table)
    >>> coding.names, values.tolist()
    (('Intercept', 'age', 'region[T.south]'), [[1.0, 20.0, 0.0], [1.0, 30.0, 1.0]])
    """

    spec: Any
    names: tuple[str, ...]
    terms: tuple[Term, ...]
    states: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def learn(cls, terms: Iterable[Term], table: Any, *, copies: int = 1) -> tuple[Coding, Real]:
        """From the rows of the fit: levels of categories, centres and scales; and the columns of these rows.

        ``table`` holds Predictors, or a DataFrame of pandas; ``copies`` is how many such matrices will be needed.
        """
        terms, states = tuple(terms), dict[str, dict[str, Any]]()
        _check_bytes(sum(least_columns(factor.expression) for term in terms for factor in term), len(table))
        plain = all(is_plain(factor.expression, table) for term in terms for factor in term)
        table = table if plain else _as_frame(table)
        values = _values(terms, table, states)
        _check_size(terms, values, len(table) * copies)
        _check_labels(terms, values)
        coding = PlainCoding.of([[factor.text for factor in term] for term in terms], values) if plain else None
        if coding is not None:
            return cls(coding, coding.names, terms), coding.matrix(values, len(table))
        table = _as_frame(table)
        spec, matrix = _learned_by_formulaic(terms, table, _values(terms, table, states) if plain else values)
        return cls(spec, tuple(map(str, spec.column_names)), terms, states), matrix

    def apply(self, table: Any) -> Real:
        """The columns of other rows."""
        plain = isinstance(self.spec, PlainCoding)
        table = table if plain else _as_frame(table)
        values = _values(self.terms, table, self.states)
        with _coded("new rows hold a category that the fit did not", "predict only for categories of the fit"):
            if plain:
                return np.asarray(self.spec.matrix(values, len(table)))
            return _numbers(self.spec.get_model_matrix(_bare(table), context=values))


def _as_frame(table: Any) -> Any:
    return table.to_pandas() if isinstance(table, Predictors) else table


def _learned_by_formulaic(terms: Sequence[Term], table: Any, values: dict[str, Any]) -> tuple[Any, Real]:
    """How formulaic codes the values of the factors, and the columns."""
    with _coded("C with levels= leaves out a category of the data", "name all categories in levels"):
        made = _formulaic_terms(terms).get_model_matrix(_bare(table), context=values, na_action="ignore")
    spec = made.model_spec
    if len({*spec.column_names}) != len(spec.column_names):
        twice = next(name for name in spec.column_names if spec.column_names.count(name) > 1)
        raise InputError(f"formula: two columns would be called {shorten(repr(twice))}", hint="rename a column")
    return spec, _numbers(made)


def _bare(table: Any) -> Any:
    """As many rows without columns: formulaic finds all values under the texts of their factors."""
    return table.loc[:, []]


def _formulaic_terms(terms: Sequence[Term]) -> Any:
    """Terms as formulaic has them, with nothing to evaluate: each factor is looked up by its text."""
    import formulaic
    from formulaic.parser import types

    one = types.Factor("1", eval_method="literal")
    return formulaic.Formula(
        [types.Term([types.Factor(factor.text, eval_method="lookup") for factor in term] or [one]) for term in terms]
    )


def _values(terms: Iterable[Term], table: Any, states: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What each factor gives, by its text."""
    rows = Rows(table, states)
    values: dict[str, Any] = {}
    for factor in (factor for term in terms for factor in term):
        if factor.text not in values:
            with _problems_with_rows(factor.text), _quiet():
                values[factor.text] = rows.value(factor.expression)
            _check_known(factor.text, values[factor.text])
    return values


def _check_known(text: str, value: Any) -> None:
    """Raise where a row has no category, such as the first one of ``lag``: it would count as the reference."""
    held = None if isinstance(value, CategoryColumn) else _categories(value)
    lost = 0 if held is None else int(held.isna().sum())
    if held is not None and lost:
        raise MissingValueError(
            f"formula: {shorten(repr(text), 40)} has no category in {lost:,} of {len(held):,} rows",
            hint="leave these rows out, or compute such a column first",
        )


def _check_size(terms: Sequence[Term], values: dict[str, Any], rows: int) -> None:
    """Raise before a model matrix is made that is too large."""
    factors = {factor.text: factor for term in terms for factor in term}
    widths = {text: _width(factor.expression, values[text]) for text, factor in factors.items()}
    columns = sum(math.prod(widths[factor.text][0] for factor in term) for term in terms)
    if columns > MOST_COLUMNS:
        raise TooLargeError(
            f"the formula makes {columns:,} columns",
            hint=f"at most {MOST_COLUMNS:,} are possible: use fewer interactions, or group categories",
        )
    if sum(4 ** sum(widths[factor.text][1] for factor in term) for term in terms) > MOST_WORK:
        raise TooLargeError(
            "the formula multiplies the categories of too many columns",
            hint="use at most six columns of categories in one interaction",
        )
    _check_bytes(columns, rows)


def _check_bytes(columns: int, rows: int) -> None:
    if 8 * columns * rows > MOST_BYTES:
        raise TooLargeError(
            f"the formula makes {columns:,} columns for {rows:,} rows (with copies): more than {MOST_BYTES >> 30} GB",
            hint="use fewer interactions, fewer categories or fewer rows",
        )


def _width(expression: Expression, value: Any) -> tuple[int, bool]:
    """How many columns a factor makes at most, and whether they are those of categories."""
    if isinstance(value, dict):
        return len(value), False
    if getattr(value, "ndim", 0) > 1:
        return int(value.shape[1]), False
    held = _categories(value)
    if held is None:
        return 1, False
    return max(2, len(_levels(held)), *(len(one) for one in listed_in(expression))), True


def _categories(value: Any) -> Any:
    """What a factor gives if that is categories, None if it is numbers."""
    if isinstance(value, CategoryColumn):
        return value
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        return None
    import pandas as pd

    if isinstance(value, dict) or getattr(value, "ndim", 0) > 1:
        return None
    kind = getattr(getattr(value, "__formulaic_metadata__", None), "kind", None)
    if getattr(kind, "value", "") == "categorical" or not pd.api.types.is_numeric_dtype(value):
        return pd.Series(getattr(value, "__wrapped__", value))
    return None


def _levels(held: Any) -> list[Any]:
    if isinstance(held, CategoryColumn):
        return [*held.categories]
    return list(held.cat.categories if hasattr(held, "cat") else held.dropna().unique())


def _check_labels(terms: Sequence[Term], values: dict[str, Any]) -> None:
    """Raise where formulaic would leave out a column, or take one for another, because of how it is called."""
    factors = {factor.text: factor for term in terms for factor in term}
    multiplied = {factor.text for term in terms if len(term) > 1 for factor in term}
    for text, factor in factors.items():
        held = _categories(values[text])
        named = [label for one in listed_in(factor.expression) for label in one if not isinstance(label, list)]
        problem = "" if held is None else _label_problem({*_levels(held), *named}, text in multiplied)
        if problem:
            raise InputError(f"formula: a category of {shorten(repr(text), 30)} {problem}", hint="rename the category")
        if any(text[:place] in factors for place, sign in enumerate(text) if sign == "["):
            message = f"formula: {shorten(repr(text), 30)} could be a column or a category of another one"
            raise InputError(message, hint="rename the column")


def _label_problem(labels: set[Any], multiplied: bool) -> str:  # noqa: FBT001 - of a factor, which is in a product
    texts = [*map(str, labels)]
    if any(text.startswith("__") for text in texts):
        return "starts with two underscores"
    if len({*texts}) < len(texts):
        return "is written like another one"
    if multiplied and any("]:" in text for text in texts):
        return "has ]: in it, which joins the columns of an interaction"
    return ""


@contextmanager
def _coded(problem: str, hint: str) -> Iterator[None]:
    """Let formulaic work: categories that it does not know are an error in our words."""
    with _problems_with_rows("a category or contrast"), _quiet():
        warnings.filterwarnings("error", message="Data has categories outside")
        try:
            yield
        except Warning as warning:
            raise UnknownCategoryError(problem, hint=hint, values=fault_of(warning, 200)) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings about logarithms of zero, which the fit reports, or about the future of a library."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _numbers(made: Any) -> Real:
    return np.asarray(made.to_numpy(dtype=np.float64))

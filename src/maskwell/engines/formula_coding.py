"""From the terms of a formula to a model matrix: what each factor gives, and which of its columns to leave out."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.expressions import Constant, Items, Name, Operation
from maskwell.core.phrases import VALUES, fault_of, listed, shorten
from maskwell.engines.formula_bases import Basis, Contrast, given_contrast, treatment_contrast
from maskwell.engines.formula_functions import (
    BEFORE,
    BETWEEN,
    FUNCTIONS,
    OF_NUMBERS,
    VALUE,
    Call,
    Expression,
    columns_of,
    least_columns,
    plain,
)
from maskwell.errors import InputError, MissingValueError, TooLargeError, UnknownCategoryError


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category for each row, by its place in a list; -1 where it is not known; and what ``C`` says of its coding."""

    codes: Array
    categories: Sequence[Any]
    contrast: Contrast | None = None
    levels: Sequence[Any] | None = None
    spans_intercept: bool = True

    @classmethod
    def of(cls, values: Array) -> CategoryColumn:
        """Values as categories, sorted where they can be compared."""
        if values.dtype != object:
            known = values == values
            categories, places = np.unique(values[known], return_inverse=True)
            codes = np.full(len(values), -1, dtype=np.intp)
            codes[known] = places.reshape(-1)
            return cls(codes, categories.tolist())
        labels = [*dict.fromkeys(label for label in values.tolist() if label is not None and label == label)]
        with suppress(TypeError):  # numbers and texts together stay in the order of the rows
            labels.sort()
        place = {label: code for code, label in enumerate(labels)}
        return cls(np.array([place.get(label, -1) for label in values.tolist()], dtype=np.intp), labels)

    def __len__(self) -> int:
        return len(self.codes)

    def labels(self) -> Array:
        """The category of each row itself; None where it is not known."""
        known = np.empty(len(self.categories) + 1, dtype=object)
        known[:-1] = self.categories
        return known[self.codes]

    def codes_among(
        self,
        categories: Sequence[Any],
        problem: str = "new rows hold a category that the fit did not",
        hint: str = "predict only for categories of the fit",
    ) -> Array:
        """The places of the same categories in another list; ``problem`` is said where one is not in it."""
        place = {label: code for code, label in enumerate(categories)}
        codes = np.array([place.get(label, -1) for label in self.categories], dtype=np.intp)[self.codes]
        if (codes < 0).any():
            unknown = [self.categories[code] for code in np.unique(self.codes[codes < 0])]
            raise UnknownCategoryError(problem, hint=hint, values=listed([*map(str, unknown)], len(unknown), VALUES))
        return codes


@dataclass(frozen=True, eq=False)
class Predictors:
    """A table of predictors by name: arrays of numbers, of True and False, or categories."""

    columns: Mapping[str, Any]
    rows: int

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __len__(self) -> int:
        return self.rows


MOST_COLUMNS = 2_000  # of a model matrix, all categories counted
MOST_BYTES = 4 << 30  # of a model matrix, with its copies for the categories of randomized predictors

MOST_WORK = 20_000
"""Of finding which categories to leave out, about two seconds: four times as much for each column of a product."""

_Scoped: TypeAlias = tuple[tuple[str, bool], ...]  # texts of factors, each with whether it leaves out a column


@dataclass(frozen=True)
class Factor:
    """A column, or an expression: how it is written, and what it says."""

    text: str
    expression: Expression

    @property
    def use(self) -> str:
        """How columns are used in it: by "name", alone in "C", or inside another "function"."""
        match self.expression:
            case Name():
                return "name"
            case Call("C", arguments) if isinstance(arguments["data"], Name):
                return "C"
        return "function"

    @property
    def key(self) -> str:
        """The same for factors that are the same: a column may be called like a function."""
        return f"`{self.text}`" if isinstance(self.expression, Name) else self.text

    def columns(self) -> list[str]:
        """The columns that it names."""
        return columns_of(self.expression)


Term: TypeAlias = tuple[Factor, ...]  # factors that are multiplied; none of them for the intercept


@dataclass(frozen=True, eq=False)
class Coding:
    """Turns tables of predictors into columns of numbers, always in the same way."""

    names: tuple[str, ...]
    terms: tuple[Term, ...]
    factors: Mapping[str, _Factor]
    blocks: tuple[_Scoped, ...]
    states: dict[str, dict[str, Any]]

    @classmethod
    def learn(cls, terms: Iterable[Term], table: Predictors, *, copies: int = 1) -> tuple[Coding, Real]:
        """From the rows of the fit, for so many copies: levels, centres and scales; and the columns of these rows."""
        terms, states = tuple(terms), dict[str, dict[str, Any]]()
        _check_bytes(sum(least_columns(factor.expression) for term in terms for factor in term), len(table))
        values = _values(terms, table, states)
        with _problems_with_rows("a category or contrast"), _quiet():
            factors = {text: _Factor.of(text, value) for text, value in values.items()}
        _check_size(terms, factors, len(table) * copies)
        spanned: set[frozenset[tuple[str, bool]]] = set()
        blocks = tuple(part for term in terms for part in _new_parts([factors[one.text] for one in term], spanned))
        names = [name for block in blocks for name in _names(block, factors)]
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError("formula-two-columns-of-the-model", values=shorten(twice, 200))
        coding = cls(tuple(names), terms, factors, blocks, states)
        return coding, coding._matrix(values, len(table))

    def apply(self, table: Predictors) -> Real:
        """The columns of other rows."""
        return self._matrix(_values(self.terms, table, self.states), len(table))

    def _matrix(self, values: Mapping[str, Any], rows: int) -> Real:
        with _problems_with_rows("a category or contrast"), _quiet():
            needed = {part for block in self.blocks for part in block}
            parts = {(text, reduced): self.factors[text].matrix(values[text], reduced) for text, reduced in needed}
            blocks = [_product([parts[part] for part in block], rows) for block in self.blocks]
            return np.concatenate([np.empty((rows, 0)), *blocks], axis=1)


def _product(parts: Sequence[Real], rows: int) -> Real:
    """Each column of a factor with each of the others; those of the first factor change fastest."""
    block: Real = np.ones((rows, 1))
    for part in parts:
        if part.shape[1] != 1:
            block = (part[:, :, None] * block[:, None, :]).reshape(rows, -1)
    alone = [part for part in parts if part.shape[1] == 1]
    return block * math.prod(alone[1:], start=alone[0]) if alone else block


@dataclass(frozen=True, eq=False)
class _Factor:
    """How one factor is coded: what follows its text in names of columns, if none or one is left out."""

    text: str
    labels: Sequence[str]
    reduced: Sequence[str]
    spans: bool = False
    levels: Sequence[Any] | None = None
    contrast: tuple[Real, Real] | None = None

    @classmethod
    def of(cls, text: str, value: Any) -> _Factor:
        if isinstance(value, Basis):
            labels = [f"[{name}]" for name in value.names]
            return cls(text, labels, labels[1:], value.spans_intercept)
        if not isinstance(value, CategoryColumn):
            return cls(text, [""], [])
        levels = [*(value.categories if value.levels is None else value.levels)]
        if len({*levels}) < len(levels):
            raise ValueError("a level is named twice")
        value.codes_among(levels, "C with levels= leaves out a category of the data", "name all categories in levels")
        coded, names = _reduced(value.contrast or treatment_contrast, levels)
        by_user = getattr(value.contrast, "func", None) is given_contrast  # then it codes the whole, too
        whole: Any = (coded, names) if by_user else (np.eye(len(levels)), levels)
        labels, shorter = ([f"[{name}]" for name in some] for some in (whole[1], names))
        return cls(text, labels, shorter, value.spans_intercept, levels, (whole[0], coded))

    def matrix(self, value: Any, reduced: bool) -> Real:  # noqa: FBT001 - whether a column is left out
        if isinstance(value, CategoryColumn) != (self.levels is not None):
            raise TypeError("numbers where the fit had categories, or categories where it had numbers")
        if self.levels is not None and self.contrast is not None:
            return np.asarray(self.contrast[reduced][value.codes_among(self.levels)])
        block = value.values if isinstance(value, Basis) else np.asarray(value, dtype=np.float64)[:, None]
        return block[:, 1:] if reduced else block


def _reduced(contrast: Contrast, levels: Sequence[Any]) -> tuple[Real, Sequence[Any]]:
    return contrast(levels) if len(levels) > 1 else (np.empty((len(levels), 0)), [])


def _new_parts(term: Sequence[_Factor], spanned: set[frozenset[tuple[str, bool]]]) -> list[_Scoped]:
    """The parts of a term, none of whose columns follow from those of terms before it, which are ``spanned``.

    A term spans one space for each subset of those of its factors that hold a constant. What remains is joined to as
    few parts as possible: a space without a factor and the same with the factor reduced are one with the whole factor.
    """
    choices = [[(factor.text, True), None] if factor.spans else [(factor.text, False)] for factor in term]
    spaces = [tuple(one for one in some if one is not None) for some in itertools.product(*choices)]
    new = [space for space in spaces if frozenset(space) not in spanned]
    spanned |= {*map(frozenset, new)}
    return _joined(new)


def _joined(spaces: Iterable[_Scoped]) -> list[_Scoped]:
    joined: list[_Scoped] = []
    for space in sorted(spaces, key=len):
        for other in joined:
            more = {*space} - {*other}
            if len(other) == len(space) - 1 and len(more) == 1 and all(reduced for _, reduced in more):
                whole = tuple((text, reduced and (text, reduced) not in more) for text, reduced in space)
                joined = _joined([*(one for one in joined if one != other), whole])
                break
        else:
            joined.append(space)
    return joined


def _names(block: _Scoped, factors: Mapping[str, _Factor]) -> list[str]:
    """Names of the columns of a part, those of the first factor changing fastest."""
    several = [
        [f"{text}{label}" for label in (factors[text].reduced if reduced else factors[text].labels)]
        for text, reduced in reversed(block)
    ]
    return [":".join(reversed(product)) or "Intercept" for product in itertools.product(*several)]


def _values(terms: Iterable[Term], table: Predictors, states: dict[str, dict[str, Any]]) -> dict[str, Any]:
    rows = _Rows(table, states)
    values: dict[str, Any] = {}
    for factor in (factor for term in terms for factor in term):
        if factor.text not in values:
            with _problems_with_rows(factor.text), _quiet():
                values[factor.text] = rows.value(factor.expression)
            _check_known(factor.text, values[factor.text])
    return values


def _check_known(text: str, value: Any) -> None:
    """Raise where a row has no category, such as the first one of ``lag``: it would count as the reference."""
    lost = int((value.codes < 0).sum()) if isinstance(value, CategoryColumn) else 0
    if lost:
        raise MissingValueError(
            "formula-has-no-category", text=shorten(repr(text), 40), lost=lost, value_count=len(value)
        )


def _check_size(terms: Sequence[Term], factors: Mapping[str, _Factor], rows: int) -> None:
    """Raise before a model matrix is made that is too large."""
    several = [[factors[factor.text] for factor in term] for term in terms]
    columns = sum(math.prod(max(1 + one.spans, len(one.labels)) for one in term) for term in several)
    if columns > MOST_COLUMNS:
        raise TooLargeError("the-formula-makes-columns", columns=columns, most_columns=MOST_COLUMNS)
    if sum(4 ** sum(one.spans for one in term) for term in several) > MOST_WORK:
        raise TooLargeError("the-formula-multiplies-the-categories")
    _check_bytes(columns, rows)


def _check_bytes(columns: int, rows: int) -> None:
    if 8 * columns * rows > MOST_BYTES:
        most = MOST_BYTES >> 30
        raise TooLargeError("the-formula-makes-columns-for-rows", columns=columns, rows=rows, most_bytes=most)


@contextmanager
def _problems_with_rows(said: str) -> Iterator[None]:
    """Where something is computed from rows, what a library says may hold values of them."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise TooLargeError("formula-there-is-not-enough-memory", said=shorten(repr(said), 48)) from None
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RuntimeError) as error:
        raise InputError(
            "formula-cannot-be-worked-out", said=shorten(repr(said), 60), values=fault_of(error, 200)
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings about logarithms of zero, which the fit reports, or about the future of a library."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


_OF_ANYTHING = {"C", "I", "lag", "np.where"}  # functions that also take categories


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table, and what functions such as ``center`` remember, by how they are written."""

    table: Predictors
    states: dict[str, dict[str, Any]]

    def value(self, node: Expression) -> Any:
        """What an expression gives: numbers, categories or several columns for the rows, or a constant."""
        match node:
            case Name(name):
                return self.table[name]
            case Constant() | Items():
                return plain(node)
            case Operation("==" | "!=" as symbol, operands):
                return BETWEEN[symbol](*map(self._labels, operands))
            case Operation(symbol, operands):
                values = [self._one(one) for one in operands]
                values = [*map(_as_numbers, values)] if symbol in OF_NUMBERS else values
                return BEFORE[symbol](*values) if len(values) == 1 else BETWEEN[symbol](*values)
        return self._called(node)

    def _one(self, node: Expression, *, numbers: bool = True) -> Any:
        """A constant or one column, never several: these would multiply with each other."""
        value = self.value(node)
        if isinstance(value, Basis):
            raise ValueError("several columns where one is needed")
        if numbers and (isinstance(value, CategoryColumn) or np.asarray(value).dtype.kind not in "biuf"):
            raise TypeError("categories or texts where numbers are needed")
        return value

    def _labels(self, node: Expression) -> Any:
        value = self._one(node, numbers=False)
        return value.labels() if isinstance(value, CategoryColumn) else value

    def _called(self, call: Call) -> Any:
        function, arguments = FUNCTIONS[call.name], call.arguments
        match call.name:
            case "C":
                return self._coded(**arguments)
            case "np.where":  # one of two values by row
                either = [self._labels(arguments[name]) for name in ("x", "y")]
                objects = any(isinstance(one, str) or getattr(one, "dtype", "") == "O" for one in either)
                either = [np.array(one, dtype=object) if objects else one for one in either]  # long texts cost nothing
                found = np.where(self._one(arguments["condition"]), *either)
                return CategoryColumn.of(found) if objects else found
        numbers = call.name not in _OF_ANYTHING
        start, *others = (
            self._one(one, numbers=numbers) if function.parameters[key] == VALUE else plain(one)
            for key, one in arguments.items()
        )
        if call.name in ("I", "lag"):
            return start if call.name == "I" else _shifted(start, *others)
        if function.kind == "stateful":
            given = dict(zip([*arguments][1:], others, strict=True))
            return function.work(_as_numbers(start), self.states.setdefault(call.text, {}), **given)
        return function.work(*map(_as_numbers, (start, *others)))

    def _coded(self, data: Any, contrasts: Any = None, levels: Any = None, spans_intercept: Any = None) -> Any:
        """A column as categories, with how they are to be coded."""
        value = self._one(data, numbers=False)
        column = value if isinstance(value, CategoryColumn) else CategoryColumn.of(np.asarray(value))
        listed = None if levels is None else plain(levels)
        spans = spans_intercept is None or plain(spans_intercept) is not False
        return replace(column, contrast=_contrast(contrasts), levels=listed, spans_intercept=spans)


def _contrast(node: Any) -> Any:
    match node:
        case None | Constant(None):
            return None
        case Items():
            return partial(given_contrast, rows=plain(node))
        case Call(name, arguments):
            given: Mapping[str, Any] = {key: plain(one) for key, one in arguments.items()}
            return partial(FUNCTIONS[name].work, **{key: one for key, one in given.items() if one is not None})
    raise TypeError(type(node).__name__)


def _shifted(value: Any, k: int | None = 1) -> Any:
    """The values k rows before; -1 denotes an unknown category, NaN an unknown number."""
    if isinstance(value, CategoryColumn):
        return replace(value, codes=_moved(value.codes, k or 0, -1))
    return _moved(value.astype(np.float64), k, np.nan) if k else value


def _moved(values: Array, k: int, missing: Any) -> Array:
    moved = np.full(len(values), missing, dtype=values.dtype)
    moved[max(k, 0) : max(len(values) + k, 0)] = values[max(-k, 0) : max(len(values) - k, 0)]
    return moved


def _as_numbers(value: Any) -> Any:
    """Columns in double precision: True and False are added as numbers, and whole numbers do not overflow."""
    return value.astype(np.float64) if isinstance(value, np.ndarray) else value

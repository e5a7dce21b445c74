"""Formulas such as ``y ~ age + C(region)``: the terms that they add up to, and the columns that they name.

A formula may come from a stranger: ``(a + b + c)**20`` is refused before it is written out.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from maskwell.core.expressions import Call as CallRead
from maskwell.core.expressions import (
    Constant,
    Name,
    Node,
    NotAllowedError,
    Operation,
    Token,
    misplaced,
    read_terms,
    tokens_of,
    written,
)
from maskwell.core.phrases import HINT, listed, shorten
from maskwell.engines.formula_coding import Factor, Term
from maskwell.engines.formula_functions import FUNCTIONS, checked, columns_of
from maskwell.errors import InputError, WrongTypeError

MOST_TERMS = 1_000
MOST_FACTORS = 12  # of one term, such as ``a:b:c``
MOST_POWER = 10
_MOST_PRODUCTS = 50_000  # products of two terms that are tried while a formula is written out
_WRITE = "write it as: outcome ~ predictor + predictor"
_RANDOM = "write it as: outcome ~ predictor + (1 | firm)"


@dataclass(frozen=True)
class Formula:
    """A formula that was read."""

    text: str  # as typed
    outcome: str  # the column on the left
    columns: tuple[str, ...]  # columns on the right, in the order in which they are first named
    right: tuple[Term, ...]  # the terms of the right side
    group: str | None = None  # the column whose values have an intercept each, as in (1 | firm); None without one

    def without(self, names: Sequence[str]) -> tuple[Term, ...]:
        """The terms of the right side that do not involve these columns."""
        return tuple(term for term in self.right if not {*names} & {*_columns_of([term])})


def read_formula(text: str, *, random: bool = False) -> Formula:
    """Read ``outcome ~ predictors``; with ``random`` there may be a random intercept, ``(1 | firm)``, among them."""
    with _problems(text):
        tokens = tokens_of(text)
        middle = next((place for place, token in enumerate(tokens) if token == Token("sign", "~")), 0)
        if middle == 0:
            raise NotAllowedError("it needs an outcome and a ~", _WRITE)
        if middle > 1 or tokens[0].kind not in ("name", "quoted") or tokens[0].text == ".":
            raise NotAllowedError("the left side must be the name of one column", _WRITE)
        outcome = tokens[0].text.strip("`")
        terms, group = _right_side(tokens[middle + 1 :])
        if group is not None and not random:
            raise NotAllowedError("a random intercept is possible in maskwell regress only", "leave out (1 | ...)")
        columns = _columns_of(terms)
        if outcome in (*columns, group):
            raise NotAllowedError(f"{shorten(outcome, 20)!r} stands on both sides", "take it out on the right")
        if not terms:
            raise _nothing()
    return Formula(text, outcome, columns, terms, group)


def read_right_side(text: str) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """Read ``~ age + region``: the terms, and the columns they name."""
    with _problems(text):
        terms, group = _right_side(tokens_of(text.strip().removeprefix("~")))
        if group is not None:
            raise misplaced("|")
    return terms, _columns_of(terms)


@contextmanager
def _problems(text: str) -> Iterator[None]:
    """Say what is wrong with a formula in one line."""
    if not isinstance(text, str):
        raise WrongTypeError("a-formula-is-a-text-not", name=type(text).__name__)
    try:
        yield
    except NotAllowedError as error:
        message = f"formula {shorten(repr(text), 30)}: {shorten(error.problem, 52)}"
        raise InputError(message, hint=shorten(error.hint or _WRITE, HINT), formula=text) from None
    except RecursionError:
        message = f"formula {shorten(repr(text), 30)}: it is nested too deeply"
        raise InputError(message, hint="compute such a column first", formula=text) from None


def uses_of(terms: Iterable[Term]) -> dict[str, set[str]]:
    """How each column is used in some terms: by "name", in "C", or inside another "function"."""
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
            hint = f"did you mean {close[0]!r}? {columns}"[:HINT] if close else columns
            told = {"name_shown": shorten(repr(name)), "name": name, "columns": tuple(known)}
            raise InputError("the-formula-names-which-is-no", hint=hint, **told)


def _right_side(tokens: list[Token]) -> tuple[tuple[Term, ...], str | None]:
    """The terms, the intercept included unless it is taken out, and the column of a random intercept."""
    if not tokens:
        raise _nothing()
    reader = _TermReader()
    terms = reader.sum(read_terms(tokens), {frozenset(): ()}, outermost=True).values()
    keys: dict[str, str] = {"1": ""}
    for factor in (factor for term in terms for factor in term):
        if keys.setdefault(factor.text, factor.key) != factor.key:
            raise NotAllowedError(f"{shorten(factor.text, 20)!r} could be two things", "rename the column")
    return tuple(sorted(terms, key=len)), reader.group


def _nothing() -> NotAllowedError:
    return NotAllowedError("there is nothing on the right", "write outcome ~ 1 for an intercept alone")


_Terms: TypeAlias = dict[frozenset[str], Term]


@dataclass
class _TermReader:
    """Writes out the terms of a tree of operators; ``group`` is the column of a random intercept."""

    group: str | None = None
    products: int = 0

    def sum(self, node: Node, held: _Terms, *, outermost: bool = False) -> _Terms:
        """Terms with + and - between them, added to those that are there."""
        summands: list[tuple[bool, Node]] = []
        while isinstance(node, Operation) and node.symbol in ("+", "-") and len(node.operands) == 2:
            summands.append((node.symbol == "-", node.operands[1]))
            node = node.operands[0]
        for minus, one in [(False, node), *reversed(summands)]:
            if not (outermost and self._is_random(one, minus)):
                held = self._added(held, one, minus)
        return held

    def _added(self, held: _Terms, node: Node, minus: bool) -> _Terms:  # noqa: FBT001 - the sign of a term
        while isinstance(node, Operation) and node.symbol in ("+", "-") and len(node.operands) == 1:
            minus ^= node.symbol == "-"
            (node,) = node.operands
        if node == Constant(0):
            minus, terms = not minus, _Terms({frozenset(): ()})
        else:
            terms = self.product(node)
        return _new(held, terms) if minus else _checked({**held, **_new(terms, held)})

    def _is_random(self, node: Node, minus: bool) -> bool:  # noqa: FBT001 - the sign of a term
        match node:
            case Operation("()", (Operation("|", (intercept, column)),)):
                if self.group is not None or intercept != Constant(1) or not isinstance(column, Name):
                    raise NotAllowedError("one random intercept is possible, and nothing else before a |", _RANDOM)
                if minus:
                    raise NotAllowedError("a random intercept is added with a +", _RANDOM)
                self.group = column.text
                return True
        return False

    def product(self, node: Node) -> _Terms:
        """The terms between two of + and -."""
        match node:
            case Operation("()", (inner,)):
                return self.sum(inner, {})
            case Operation("+" | "-"):
                return self.sum(node, {})
            case Operation("*", (left, right)):
                one, other = self.product(left), self.product(right)
                both = self._multiplied(one, other)
                return _checked({**one, **_new(other, one), **_new(both, one, other)})
            case Operation("/" | "%in%" as symbol, (left, right)):
                outer, inner = (left, right) if symbol == "/" else (right, left)
                return self._nested(self.product(outer), self.product(inner))
            case Operation(":", (left, right)):
                return self._multiplied(self.product(left), self.product(right))
            case Operation("**", (base, power)):
                return self._power(self.product(base), power)
            case Operation("{}", (inner,)):
                factor = _expression(inner)
            case Operation(symbol):
                raise misplaced(symbol)
            case Constant(1):
                return {frozenset(): ()}
            case Constant(number):
                raise NotAllowedError(f"the number {shorten(str(number), 20)}", "write I(2 * age) for twice a column")
            case Name("."):
                raise NotAllowedError(". for all other columns is not available", "name the columns")
            case Name(name):
                factor = Factor(name, Name(name))
            case _:
                factor = _expression(node)
        return {frozenset([factor.key]): (factor,)}

    def _nested(self, outer: _Terms, inner: _Terms) -> _Terms:
        together = _Terms({frozenset(): ()})
        for key, term in outer.items():
            together = self._multiplied(together, {key: term})
        return _checked({**outer, **_new(self._multiplied(together, inner), outer)})

    def _power(self, terms: _Terms, power: Node) -> _Terms:
        number = power.value if isinstance(power, Constant) and isinstance(power.value, int) else 0
        if not 1 <= number <= MOST_POWER:
            hint = f"powers are whole numbers from 1 to {MOST_POWER}; inside a function: I(age ** 2)"
            said = written(power, FUNCTIONS) if isinstance(power, Name | Constant | CallRead) else "(...)"
            raise NotAllowedError(f"the power {shorten(said, 20)!r}", hint)
        once = terms
        for _ in range(number - 1):
            terms = self._multiplied(terms, once)
        return terms

    def _multiplied(self, first: _Terms, second: _Terms) -> _Terms:
        self.products += len(first) * len(second)
        if self.products > _MOST_PRODUCTS:
            raise _too_many()
        products: _Terms = {}
        for one in first.values():
            for other in second.values():
                factors = {factor.key: factor for factor in (*one, *other)}
                if len(factors) > MOST_FACTORS:
                    hint = f"at most {MOST_FACTORS} are possible"
                    raise NotAllowedError(f"an interaction of {len(factors)} columns", hint)
                products.setdefault(frozenset(factors), tuple(factors.values()))
        return _checked(products)


def _checked(terms: _Terms) -> _Terms:
    if len(terms) > MOST_TERMS:
        raise _too_many()
    return terms


def _new(terms: _Terms, *there: _Terms) -> _Terms:
    return {key: term for key, term in terms.items() if not any(key in one for one in there)}


def _too_many() -> NotAllowedError:
    return NotAllowedError("it has too many terms", f"at most {MOST_TERMS:,} are possible; use fewer interactions")


def _expression(node: Node) -> Factor:
    expression = checked(node)
    if isinstance(expression, Name):
        return Factor(expression.text, expression)
    text = written(node, FUNCTIONS)
    if not columns_of(expression):
        raise NotAllowedError(f"{shorten(text, 20)} names no column", "write 1 for the intercept")
    return Factor(text, expression)

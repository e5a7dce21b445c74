"""The text of a formula: its signs, and the terms that they add up to.

The grammar is that of Wilkinson and Rogers as formulaic reads it. We read it ourselves because formulaic evaluates
parts of a formula while it reads it, and because ``(a + b + c)**20`` must be refused before it is written out.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from keyword import iskeyword

from maskwell.core.phrases import shorten
from maskwell.engines.formula_values import (
    FUNCTIONS,
    Call,
    Column,
    Expression,
    NotAllowedError,
    columns_of,
    is_dotted,
    read_expression,
    unknown_function,
)

MOST_CHARACTERS = 10_000
MOST_DEPTH = 30
"""Of brackets in brackets."""

MOST_SIGNS = 1_000
MOST_OPERATORS = 100
"""In one function or pair of braces."""

MOST_TERMS = 1_000
MOST_FACTORS = 12
"""Of one term, such as ``a:b:c``."""

MOST_POWER = 10
_MOST_PRODUCTS = 50_000
"""Products of two terms that are tried while a formula is written out."""

_MOST_DIGITS = 40
_SIGN = re.compile(
    r"""\s*(?:
    (?P<quoted>`[^`]+`)
    | (?P<text>"[^"`\\\n]*"|'[^'`\\\n]*')
    | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?![\w.]))
    | (?P<name>[\w.]+)
    | (?P<sign>%in%|\*\*|//|==|!=|<=|>=|[-+*/:^()\[\]{},=<>%&|~])
    )""",
    re.VERBOSE,
)
_OPENING, _CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "~", "^", "==", "!=", "<", "<=", ">", ">="}
_FIXED = {"True", "False", "None"}
_WRITE = "write it as: outcome ~ predictor + C(predictor)"


@dataclass(frozen=True)
class Sign:
    """A part of the text that belongs together; ``kind`` is quoted, text, number, name or sign."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Factor:
    """A column, or an expression: how it is written, and what it says."""

    text: str
    expression: Expression

    @property
    def use(self) -> str:
        """How columns stand in it: by "name", alone in "C", or inside another "function"."""
        match self.expression:
            case Column():
                return "name"
            case Call("C", arguments) if isinstance(arguments["data"], Column):
                return "C"
        return "function"

    @property
    def key(self) -> str:
        """The same for factors that are the same: a column may be called like a function."""
        return f"`{self.text}`" if isinstance(self.expression, Column) else self.text

    def columns(self) -> list[str]:
        """The columns that it names."""
        return columns_of(self.expression)


Term = tuple[Factor, ...]
"""Factors that are multiplied; none of them for the intercept."""


def signs_of(text: str) -> list[Sign]:
    """The signs of a formula.

    >>> [str(sign) for sign in signs_of("y ~ log(age) + `two words`")]
    ['y', '~', 'log', '(', 'age', ')', '+', '`two words`']
    """
    if len(text) > MOST_CHARACTERS:
        raise NotAllowedError(f"it has {len(text):,} characters", f"at most {MOST_CHARACTERS:,} are possible")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\r\n":
            raise NotAllowedError(f"the character U+{ord(character):04X} is not allowed", _WRITE)
    signs, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = _SIGN.match(text, place)
        if match is None or match.lastgroup is None:
            raise _unreadable(text[place:].lstrip())
        sign = Sign(match.lastgroup, match[match.lastgroup])
        if sign.kind == "number" and len(sign.text) > _MOST_DIGITS:
            raise NotAllowedError("a number with too many digits", f"at most {_MOST_DIGITS} are possible")
        signs.append(sign)
        place = match.end()
    _check_brackets(signs)
    return signs


def _unreadable(rest: str) -> NotAllowedError:
    first = rest[0]
    if first == "`":
        return NotAllowedError("a ` without a name and a second one", "put ` before and after the name of a column")
    if first in "\"'":
        return NotAllowedError("a text that does not end, or holds ` or \\", "write a category as 'north' or \"north\"")
    return NotAllowedError(f"the sign {first!r} has no meaning here", "put a column with such a name between two `")


def _check_brackets(signs: Iterable[Sign]) -> None:
    """Brackets match and are not nested deeply."""
    awaited: list[str] = []
    for sign in signs:
        if sign.kind != "sign":
            continue
        if sign.text in _OPENING:
            awaited.append(_OPENING[sign.text])
        elif sign.text in _CLOSING and (not awaited or awaited.pop() != sign.text):
            raise NotAllowedError(f"a {sign.text} without a matching bracket", _WRITE)
        if len(awaited) > MOST_DEPTH:
            raise NotAllowedError("brackets that are nested too deeply", f"at most {MOST_DEPTH} levels are possible")
    if awaited:
        raise NotAllowedError(f"a bracket without a matching {awaited[-1]}", _WRITE)


def terms_of(signs: list[Sign]) -> tuple[Term, ...]:
    """The terms of the right side of a formula, the intercept included unless it is taken out.

    >>> [":".join(factor.text for factor in term) for term in terms_of(signs_of("0 + a*b - b + log(c)"))]
    ['a', 'log(c)', 'a:b']
    """
    terms = _Reader(signs).right_side()
    keys: dict[str, str] = {"1": ""}
    for factor in (factor for term in terms for factor in term):
        if keys.setdefault(factor.text, factor.key) != factor.key:
            raise NotAllowedError(f"{shorten(factor.text, 20)!r} could be two things", "rename the column")
    return tuple(sorted(terms, key=len))


def random_intercept(signs: list[Sign]) -> tuple[list[Sign], str | None]:
    """The right side without ``(1 | column)``, and that column; None where there is no such part.

    >>> rest, column = random_intercept(signs_of("age + (1 | firm) + region"))
    >>> " ".join(map(str, rest)), column
    ('age + region', 'firm')
    """
    places = [place for place, sign in enumerate(signs) if sign == Sign("sign", "|") and _depth(signs[:place]) == ["("]]
    bars = [place for place in places if _is_random(signs, place)]
    if not bars:
        return signs, None
    column, start, end = signs[bars[0] + 1 : bars[0] + 2], bars[0] - 2, bars[0] + 3
    simple = signs[bars[0] - 1] == Sign("number", "1") and [*map(str, signs[start:end:4])] == ["(", ")"]
    if len(bars) > 1 or not simple or column[0].kind not in ("name", "quoted"):
        raise NotAllowedError("one random intercept is possible, and nothing else before a |", _RANDOM)
    if start and signs[start - 1] != Sign("sign", "+"):
        raise NotAllowedError("a random intercept is added with a +", _RANDOM)
    rest = [*signs[: max(start - 1, 0)], *signs[end:]]
    rest = rest[1:] if not start and rest[:1] == [Sign("sign", "+")] else rest
    return rest or [Sign("number", "1")], column[0].text.strip("`")


_RANDOM = "write it as: outcome ~ predictor + (1 | firm)"


def _depth(signs: Iterable[Sign]) -> list[str]:
    """The brackets that are open after these signs."""
    opened: list[str] = []
    for sign in signs:
        if sign.kind == "sign" and sign.text in _OPENING:
            opened.append(sign.text)
        elif sign.kind == "sign" and sign.text in _CLOSING:
            opened.pop()
    return opened


def _is_random(signs: list[Sign], bar: int) -> bool:
    """Whether a | stands in brackets of its own, and not in those of a function."""
    opening = next(place for place in range(bar, -1, -1) if not _depth(signs[:place]) and str(signs[place]) == "(")
    return opening == 0 or signs[opening - 1].kind not in ("name", "quoted")


_Terms = dict[frozenset[str], Term]


def _key(term: Term) -> frozenset[str]:
    return frozenset(factor.key for factor in term)


@dataclass
class _Reader:
    """Reads signs from the first to the last; a method for each strength of operators."""

    signs: list[Sign]
    place: int = 0
    products: int = 0

    def right_side(self) -> list[Term]:
        if not self.signs:
            raise NotAllowedError("there is nothing on the right", "write outcome ~ 1 for an intercept alone")
        terms = self.sum({frozenset(): ()})
        if self.place < len(self.signs):
            raise self._misplaced()
        return [*terms.values()]

    def sum(self, held: _Terms) -> _Terms:
        """Terms with + and - between them, added to those that are there."""
        first = True
        while first or self._next() in ("+", "-"):
            minus = self._is_minus()
            if self._next_is_number("0"):
                self.place += 1
                minus, terms = not minus, _Terms({frozenset(): ()})
            else:
                terms = self.product()
            held = _new(held, terms) if minus else self._checked({**held, **_new(terms, held)})
            first = False
        return held

    def _is_minus(self) -> bool:
        minus = False
        while self._next() in ("+", "-"):
            minus ^= self._next() == "-"
            self.place += 1
        return minus

    def product(self) -> _Terms:
        terms = self.interaction()
        while (sign := self._next()) in ("*", "/", "%in%"):
            self.place += 1
            other = self.interaction()
            if sign == "*":
                both = self._multiplied(terms, other)
                terms = self._checked({**terms, **_new(other, terms), **_new(both, terms, other)})
            else:
                outer, inner = (terms, other) if sign == "/" else (other, terms)
                together = _Terms({frozenset(): ()})
                for key, term in outer.items():
                    together = self._multiplied(together, {key: term})
                terms = self._checked({**outer, **_new(self._multiplied(together, inner), outer)})
        return terms

    def interaction(self) -> _Terms:
        terms = self.power()
        while self._next() == ":":
            self.place += 1
            terms = self._multiplied(terms, self.power())
        return terms

    def power(self) -> _Terms:
        terms = self.single()
        if self._next() not in ("**", "^"):
            return terms
        self.place += 1
        sign = self._take()
        if sign.kind != "number" or not sign.text.isdigit() or not 1 <= int(sign.text) <= MOST_POWER:
            hint = f"powers are whole numbers from 1 to {MOST_POWER}; inside a function: I(age ** 2)"
            raise NotAllowedError(f"the power {shorten(sign.text, 20)!r}", hint)
        once = terms
        for _ in range(int(sign.text) - 1):
            terms = self._multiplied(terms, once)
        return terms

    def single(self) -> _Terms:
        """A column, a function, or a sum in brackets."""
        sign = self._take()
        if sign.kind == "sign" and sign.text == "(":
            inner = self.sum({})
            if self._next() != ")":
                raise self._misplaced()
            self.place += 1
            return inner
        if sign.kind == "number":
            if sign.text != "1":
                raise NotAllowedError(f"the number {shorten(sign.text, 20)}", "write I(2 * age) for twice a column")
            return {frozenset(): ()}
        factor = self._factor(sign)
        return {frozenset([factor.key]): (factor,)}

    def _factor(self, sign: Sign) -> Factor:
        if sign.kind == "quoted":
            return Factor(sign.text[1:-1], Column(sign.text[1:-1]))
        if sign.kind == "name" and self._next() != "(":
            if sign.text == ".":
                raise NotAllowedError(". for all other columns is not available", "name the columns")
            return Factor(sign.text, Column(sign.text))
        if sign.kind == "name":
            if sign.text not in FUNCTIONS:
                raise unknown_function(sign.text)
            return _expression([sign, *self._bracketed()])
        if sign.text == "{":
            self.place -= 1
            return _expression(self._bracketed()[1:-1])
        if sign.text in ("|", "~", "["):
            raise NotAllowedError("it has more than one part", "write it as: outcome ~ predictor + predictor")
        self.place -= 1
        raise self._misplaced()

    def _bracketed(self) -> list[Sign]:
        """The signs from an opening bracket to the one that closes it."""
        start, depth = self.place, 0
        while True:
            sign = self._take()
            if sign.kind == "sign":
                depth += (sign.text in _OPENING) - (sign.text in _CLOSING)
            if depth == 0:
                return self.signs[start : self.place]

    def _multiplied(self, first: _Terms, second: _Terms) -> _Terms:
        self.products += len(first) * len(second)
        if self.products > _MOST_PRODUCTS:
            raise _too_many()
        products: _Terms = {}
        for one in first.values():
            for other in second.values():
                term = tuple({factor.key: factor for factor in (*one, *other)}.values())
                if len(term) > MOST_FACTORS:
                    hint = f"at most {MOST_FACTORS} are possible"
                    raise NotAllowedError(f"an interaction of {len(term)} columns", hint)
                products.setdefault(_key(term), term)
        return self._checked(products)

    def _checked(self, terms: _Terms) -> _Terms:
        if len(terms) > MOST_TERMS:
            raise _too_many()
        return terms

    def _next(self) -> str:
        """The sign that comes next; nothing at the end, or where it is no operator and no bracket."""
        sign = self.signs[self.place] if self.place < len(self.signs) else None
        return sign.text if sign is not None and sign.kind == "sign" else ""

    def _next_is_number(self, text: str) -> bool:
        return self.place < len(self.signs) and self.signs[self.place] == Sign("number", text)

    def _take(self) -> Sign:
        if self.place >= len(self.signs):
            raise NotAllowedError("it ends where a column should follow", _WRITE)
        self.place += 1
        return self.signs[self.place - 1]

    def _misplaced(self) -> NotAllowedError:
        sign = self.signs[self.place]
        if sign.kind == "sign" and sign.text in ("|", "~", "[", "]"):
            return NotAllowedError("it has more than one part", "write it as: outcome ~ predictor + predictor")
        return NotAllowedError(f"{shorten(sign.text, 20)!r} is misplaced", "put + : or * between columns")


def _new(terms: _Terms, *there: _Terms) -> _Terms:
    return {key: term for key, term in terms.items() if not any(key in one for one in there)}


def _too_many() -> NotAllowedError:
    return NotAllowedError("it has too many terms", f"at most {MOST_TERMS:,} are possible; use fewer interactions")


def _expression(signs: list[Sign]) -> Factor:
    """What stands in a function or in braces."""
    operators = sum(sign.kind == "sign" and sign.text in _OPERATORS for sign in signs)
    if operators > MOST_OPERATORS or len(signs) > MOST_SIGNS:
        hint = f"at most {MOST_OPERATORS} operators in one function; compute such a column first"
        raise NotAllowedError("a function or braces with too much in it", hint)
    names: dict[str, str] = {}
    plain = " ".join(_stand_in(signs, place, names) for place in range(len(signs)))
    try:
        tree = ast.parse(plain, mode="eval").body
    except SyntaxError as error:
        hint = "use columns, numbers and functions such as log(age); & and | for and and or"
        raise NotAllowedError("a part of it is not an expression", hint) from error
    expression, text = read_expression(tree, names)
    if isinstance(expression, Column):
        return Factor(expression.name, expression)
    if not columns_of(expression):
        raise NotAllowedError(f"{shorten(text, 20)} names no column", "write 1 for the intercept")
    return Factor(text, expression)


def _stand_in(signs: list[Sign], place: int, names: dict[str, str]) -> str:
    """A sign as Python's parser gets it: columns get plain names, so that no name is changed by reading it."""
    sign = signs[place]
    after = signs[place + 1] if place + 1 < len(signs) else Sign("sign", "")
    if sign.kind == "quoted":
        return _named(sign.text[1:-1], names)
    if sign.kind != "name" or sign.text in _FIXED:
        if sign.kind == "sign" and sign.text in ("{", "}", ":", "%in%"):
            raise NotAllowedError(f"{sign.text!r} in an expression is not allowed in a formula")
        return "**" if sign == Sign("sign", "^") else sign.text  # a power, as in R
    if after == Sign("sign", "("):
        if sign.text not in FUNCTIONS:
            raise unknown_function(sign.text)
        return sign.text
    if after == Sign("sign", "=") or (sign.text in FUNCTIONS and "." in sign.text):
        if not (sign.text.isascii() and re.fullmatch(r"[A-Za-z][\w.]*", sign.text)) or iskeyword(sign.text):
            raise NotAllowedError(f"there is no parameter {shorten(sign.text, 20)!r}")
        return sign.text
    if not (sign.text.isidentifier() or is_dotted(sign.text)):
        hint = "put a column with such a name between two `"
        raise NotAllowedError(f"{shorten(sign.text, 18)!r} is not allowed in a formula", hint)
    return _named(sign.text, names)


def _named(name: str, names: dict[str, str]) -> str:
    known = next((key for key, one in names.items() if one == name), f"_{len(names)}")
    names[known] = name
    return known

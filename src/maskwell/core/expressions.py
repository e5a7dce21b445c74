"""One reader for expressions that users type, as ``warner(p=p1)``: tokens, then a tree; nothing is evaluated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, TypeAlias

from maskwell.core.phrases import shorten

MOST_CHARACTERS = 10_000
MOST_DEPTH = 30  # of brackets in brackets
MOST_TOKENS = 1_000
MOST_OPERATORS = 100  # in one function or pair of braces
_MOST_DIGITS = 40
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<quoted>`[^`]+`)
    | (?P<text>"[^"`\\\n]*"|'[^'`\\\n]*')
    | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?![\w.]))
    | (?P<name>[\w.]+)
    | (?P<sign>%in%|\*\*|//|==|!=|<=|>=|[-+*/:^()\[\]{},=<>%&|~])
    )""",
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_COMPARED = {"==", "!=", "<", "<=", ">", ">="}
_STRENGTH = {
    **dict.fromkeys(_COMPARED, 1),
    "|": 2,
    "&": 3,
    "+": 4,
    "-": 4,
    **dict.fromkeys(("*", "/", "//", "%", "%in%"), 5),
    ":": 6,
    "**": 8,
    "^": 8,
}
"""Of operators, as Python has it; ``:`` is the interaction of a formula."""

_SIGNED, _POWER = 7, 8
_NO_EXPRESSION = (
    "a part of it is not an expression",
    "use columns, numbers and functions such as log(age); & and | for and and or",
)
_FIXED = {"True": True, "False": False, "None": None}


class NotAllowedError(Exception):
    """Text that cannot be read or is not allowed: what is wrong, and what to do where that is not the usual hint."""

    def __init__(self, problem: str, hint: str = ""):
        super().__init__(problem)
        self.problem, self.hint = problem, hint


@dataclass(frozen=True)
class Token:
    """Characters that belong together; ``kind`` is quoted, text, number, name or sign."""

    kind: str
    text: str


@dataclass(frozen=True)
class Name:
    """A name, such as that of a column; ``quoted`` if it was typed between backticks."""

    text: str
    quoted: bool = False


@dataclass(frozen=True)
class Constant:
    """A number, a string, True, False or None."""

    value: Any


@dataclass(frozen=True)
class Items:
    """A list, or with another bracket a tuple."""

    items: tuple[Any, ...]
    bracket: str = "["


@dataclass(frozen=True)
class Operation:
    """An operator and its operands; ``()`` are the brackets of a formula outside of functions, ``{}`` its braces."""

    symbol: str
    operands: tuple[Any, ...]


@dataclass(frozen=True)
class Call:
    """A function with its arguments, each with the name of its parameter or without one."""

    name: str
    arguments: tuple[tuple[str | None, Any], ...]


Node: TypeAlias = Name | Constant | Items | Operation | Call


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text whose brackets match."""
    if len(text) > MOST_CHARACTERS:
        raise NotAllowedError(f"it has {len(text):,} characters", f"at most {MOST_CHARACTERS:,} are possible")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\r\n":
            raise NotAllowedError(f"the character U+{ord(character):04X} is not allowed")
    tokens, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise _unreadable(text[place:].lstrip()[0])
        tokens.append(Token(match.lastgroup, match[match.lastgroup]))
        if tokens[-1].kind == "number" and len(tokens[-1].text) > _MOST_DIGITS:
            raise NotAllowedError("a number with too many digits", f"at most {_MOST_DIGITS} are possible")
        place = match.end()
    _check_brackets(token.text for token in tokens if token.kind == "sign")
    return tokens


def _unreadable(first: str) -> NotAllowedError:
    if first == "`":
        return NotAllowedError("a ` without a name and a second one", "put ` before and after the name of a column")
    if first in "\"'":
        return NotAllowedError("a text that does not end, or holds ` or \\", "write a category as 'north' or \"north\"")
    return NotAllowedError(f"the sign {first!r} has no meaning here", "put a column with such a name between two `")


def _check_brackets(signs: Iterable[str]) -> None:
    awaited: list[str] = []
    for sign in signs:
        if sign in _CLOSING:
            awaited.append(_CLOSING[sign])
        elif sign in _CLOSING.values() and (not awaited or awaited.pop() != sign):
            raise NotAllowedError(f"a {sign} without a matching bracket")
        if len(awaited) > MOST_DEPTH:
            raise NotAllowedError("brackets that are nested too deeply", f"at most {MOST_DEPTH} levels are possible")
    if awaited:
        raise NotAllowedError(f"a bracket without a matching {awaited[-1]}")


def read_arguments(text: str) -> tuple[tuple[str | None, Node], ...]:
    """What is given to a function, from the text between its brackets."""
    reader = Reader([*tokens_of(text), Token("sign", ")")])
    return reader.arguments(")")


def read_terms(tokens: list[Token]) -> Node:
    """The right side of a formula: outside of functions and braces, operators and brackets are those of terms."""
    reader = Reader(tokens, terms=True)
    node = reader.expression()
    if reader.place < len(tokens):
        raise reader.misplaced()
    return node


@dataclass
class Reader:
    """Reads tokens from the first to the last, by the strength of the operators between them."""

    tokens: list[Token]
    place: int = 0
    terms: bool = False

    def expression(self, least: int = 0) -> Node:
        """What follows, up to an operator weaker than ``least``."""
        node = self._single()
        while (symbol := self._next()) in _STRENGTH and (strength := _STRENGTH[symbol]) >= least:
            self.place += 1
            other = self.expression(strength + (strength != _POWER))  # powers join from the right
            node = Operation("**" if symbol == "^" else symbol, (node, other))
            if symbol in _COMPARED and self._next() in _COMPARED:
                raise NotAllowedError("more than one comparison", "join two: (18 <= age) & (age < 65)")
        return node

    def _single(self) -> Node:
        """A name, a constant, a call, a list, or one of them with a sign before it."""
        if self.place == len(self.tokens):
            raise self.misplaced()
        token = self.tokens[self.place]
        self.place += 1
        match token.kind, token.text:
            case "quoted", text:
                return Name(text[1:-1], quoted=True)
            case "number", text:
                return Constant(int(text) if text.isdigit() else float(text))
            case "text", text if not self.terms:
                return Constant(text[1:-1])
            case "name", text if self._next() == "(":
                return Call(text, self._inside(")"))
            case "name", text:
                return Constant(_FIXED[text]) if text in _FIXED and not self.terms else Name(text)
            case "sign", "(" if self.terms:
                node = Operation("()", (self.expression(),))
                self._close(")")
                return node
            case "sign", "{" if self.terms:
                self.place -= 1
                inside = self._inside("}")
                if len(inside) != 1 or inside[0][0] is not None:
                    raise NotAllowedError(*_NO_EXPRESSION)
                return Operation("{}", (inside[0][1],))
            case "sign", ("(" | "[") as opening if not self.terms:
                return self._items(opening)
            case "sign", ("+" | "-" | "~") as symbol if not (self.terms and symbol == "~"):
                return Operation(symbol, (self.expression(5 if self.terms else _SIGNED),))
        self.place -= 1
        raise self.misplaced()

    def _inside(self, closing: str) -> tuple[tuple[str | None, Node], ...]:
        """The arguments in the brackets that follow, where operators are those of arithmetic."""
        terms, self.terms, self.place = self.terms, False, self.place + 1
        if terms:
            self._check_length()
        arguments = self.arguments(closing)
        self.terms = terms
        return arguments

    def _check_length(self) -> None:
        depth, operators = 1, 0
        for length, token in enumerate(self.tokens[self.place :]):
            if token.kind == "sign":
                depth += (token.text in _CLOSING) - (token.text in _CLOSING.values())
                operators += token.text in _STRENGTH or token.text == "~"
            if operators > MOST_OPERATORS or length > MOST_TOKENS:
                hint = f"at most {MOST_OPERATORS} operators in one function; compute such a column first"
                raise NotAllowedError("a function or braces with too much in it", hint)
            if not depth:
                return

    def arguments(self, closing: str) -> tuple[tuple[str | None, Node], ...]:
        """What is given between commas, up to the bracket that ends it, which is taken, too."""
        given: list[tuple[str | None, Node]] = []
        while self._next() != closing:
            key = self._parameter()
            if key is None and given and given[-1][0] is not None:
                raise self.misplaced()
            given.append((key, self.expression()))
            if self._next() != ",":
                break
            self.place += 1
        self._close(closing)
        return tuple(given)

    def _parameter(self) -> str | None:
        """The name before an equals sign."""
        if self.tokens[self.place].kind != "name" or self.tokens[self.place + 1] != Token("sign", "="):
            return None
        self.place += 2
        return self.tokens[self.place - 2].text

    def _items(self, opening: str) -> Node:
        """A list or a tuple, or the content of brackets without a comma."""
        start = self.place
        given = self.arguments(_CLOSING[opening])
        if any(key is not None for key, _ in given):
            raise self.misplaced()
        if opening == "(" and len(given) == 1 and self.tokens[self.place - 2] != Token("sign", ","):
            return given[0][1]
        if opening == "(" and not given:
            self.place = start
            raise self.misplaced()
        return Items(tuple(node for _, node in given), opening)

    def _close(self, closing: str) -> None:
        if self._next() != closing:
            raise self.misplaced()
        self.place += 1

    def _next(self) -> str:
        """The operator or bracket that comes next; nothing at the end, or where there is something else."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        return token.text if token is not None and token.kind == "sign" else ""

    def misplaced(self) -> NotAllowedError:
        """The error for the token that comes next."""
        if not self.terms:
            return NotAllowedError(*_NO_EXPRESSION)
        if self.place == len(self.tokens):
            return NotAllowedError("it ends where a column should follow")
        return misplaced(self.tokens[self.place].text)


def misplaced(symbol: str) -> NotAllowedError:
    """The error for something that cannot separate the columns of a formula."""
    if symbol in ("|", "~", "[", "]"):
        return NotAllowedError("it has more than one part", "write it as: outcome ~ predictor + predictor")
    return NotAllowedError(f"{shorten(symbol, 20)!r} is misplaced", "put + : or * between columns")


def written(node: Node, functions: Container[str] = (), least: int = 0) -> str:
    """An expression as text, with the blanks and brackets that Python's style puts there."""
    match node:
        case Name(text, quoted):
            plain = is_plain_name(text) and not (quoted and "." in text and text in functions)
            return text if plain else f"`{text}`"
        case Constant(value):
            return repr(value)
        case Items(items, bracket):
            inner = ", ".join(written(one, functions) for one in items)
            return f"{bracket}{inner}{',' * (bracket == '(' and len(items) == 1)}{_CLOSING[bracket]}"
        case Call(name, arguments):
            given = [f"{key}=" * (key is not None) + written(one, functions) for key, one in arguments]
            return f"{name}({', '.join(given)})"
        case Operation(symbol, (operand,)):
            strength, said = _SIGNED, f"{symbol}{written(operand, functions, _SIGNED)}"
        case Operation(symbol, (left, right)):
            strength = _STRENGTH[symbol]
            sides = (strength + (strength in (1, _POWER)), strength + (strength != _POWER))
            said = f"{written(left, functions, sides[0])} {symbol} {written(right, functions, sides[1])}"
    return f"({said})" if strength < least else said


def is_plain_name(name: str) -> bool:
    """Whether a name needs no backticks in an expression: an identifier, or several joined by dots, as R has them."""
    parts = name.split(".")
    if len(parts) == 1:
        return name.isidentifier() and not iskeyword(name)
    return parts[0].isidentifier() and not any(part.startswith("__") for part in parts)

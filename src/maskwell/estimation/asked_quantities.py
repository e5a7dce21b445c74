"""Quantities as people ask for them, by labels: ``any=once+often``, ``gap=often-never``, ``heavy=often/once+often``.

The longest label that fits is taken, so that labels may hold any sign; quotes protect them, too.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from maskwell.core.arguments import Real, check_ordered
from maskwell.core.exact import as_fraction
from maskwell.core.phrases import HINT, Printed, listed, option, shorten
from maskwell.errors import LabelError, ParameterError, UnknownCategoryError, WrongTypeError

Kind: TypeAlias = Literal["combination", "contrast", "ratio", "groups"]
Sum: TypeAlias = list[tuple[float, str]]  # factors and names
_FACTOR = re.compile(r"(\d+(?:\.\d+)?(?:/\d+)?|\.\d+)\s*\*\s*")
EXAMPLES = {"combine": "any=once+often", "contrast": "gap=often-never", "ratio": "heavy=often/once+often"}
CODE = {
    "combine": '{"any": ["once", "often"]}',
    "contrast": '{"gap": {"often": 1, "never": -1}}',
    "ratio": '{"heavy": ("often", ["once", "often"])}',
}
PARAMETERS = ("lie-detector", "cheating-detection")  # procedures that have parameters of their own


@dataclass(frozen=True)
class Asked:
    """What was asked for: the parameter, the name of the quantity, and its expression or labels."""

    what: str
    name: str
    content: Any

    @property
    def title(self) -> str:
        """For errors."""
        return f"{option(self.what)} {self.name}"


def asked_of(what: str, given: Any) -> tuple[Asked, ...]:
    """From a dictionary of names, an expression, or several of them; a text may begin with a name: ``any=...``."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        asked = [Asked(what, str(name), content) for name, content in given.items()]
    elif isinstance(given, str) or (isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)):
        asked = [_named(what, text) for text in ([given] if isinstance(given, str) else given)]
    else:
        raise WrongTypeError("must-be-a-dictionary", what=what, name=type(given).__name__, code=CODE[what])
    names = [one.name for one in asked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError("stands-there-twice", what_option=option(what), twice=twice)
    return tuple(asked)


def _named(what: str, text: str) -> Asked:
    name, sign, rest = text.partition("=")
    asked = Asked(what, name.strip(), rest.strip()) if sign else Asked(what, text.strip(), text.strip())
    if (what == "combine" and not sign) or not asked.name or not asked.content:
        example = option(what, EXAMPLES[what], CODE[what])
        raise ParameterError("a-name-and-its-categories", what_option=option(what), text=text, example=example)
    return asked


def parameters_of(procedure: str | None, categories: Sequence[Hashable], taken: Sequence[str]) -> list[Asked]:
    """What a procedure is there for: pi and t of a lie detector, pi and cheaters of cheating detection."""
    if procedure not in PARAMETERS or len(categories) != 3:
        return []
    first, second, third = categories
    if procedure == "lie-detector":
        made = [Asked("combine", "pi", [first, second]), Asked("ratio", "t", ([first], [first, second]))]
    else:
        sums = {"pi, at least": [first], "pi, at most": [first, third], "cheating": [third]}
        made = [Asked("combine", name, labels) for name, labels in sums.items()]
    return [one for one in made if one.name not in taken]


class Terms(NamedTuple):
    """What is asked for, by codes of categories: ``factors`` of a sum or numerator, ``below`` of a denominator."""

    name: str
    kind: Kind
    of: str
    factors: Real = np.zeros(0)
    below: Real = np.zeros(0)
    groups: Mapping[Hashable, float] = {}


@dataclass(frozen=True, eq=False)
class QuantityTerms:
    """All quantities that were asked for, with the categories they are made of."""

    combinations: tuple[Terms, ...]
    others: tuple[Terms, ...]
    groups: tuple[Terms, ...]

    @classmethod
    def of(
        cls, asked: Sequence[Asked], categories: Sequence[Hashable], groups: Sequence[Hashable] | None = None
    ) -> QuantityTerms:
        """By the labels of the categories and, where contrasts may be between groups, those of the groups."""
        places: dict[str, tuple[int, ...]] = {_text(label): (j,) for j, label in enumerate(categories)}
        by_label: dict[Hashable, str] = {label: _text(label) for label in categories}
        combinations = []
        for one in (one for one in asked if one.what == "combine"):
            made = _Reader(one, places, by_label, len(categories)).combination()
            combinations.append(made)
            places[one.name], by_label[one.name] = tuple(np.flatnonzero(made.factors).tolist()), one.name
        readers = [_Reader(one, places, by_label, len(categories)) for one in asked if one.what != "combine"]
        terms = [
            reader.ratio() if reader.asked.what == "ratio" else reader.contrast(groups or ()) for reader in readers
        ]
        others, between = (tuple(t for t in terms if (t.kind == "groups") is apart) for apart in (False, True))
        return cls(tuple(combinations), others, between)


@dataclass(frozen=True)
class _Reader:
    """Reads what was asked for; ``places`` has the codes of the categories that each name represents."""

    asked: Asked
    places: Mapping[str, tuple[int, ...]]
    by_label: Mapping[Hashable, str]
    k: int

    def combination(self) -> Terms:
        """A plain sum of categories."""
        title = self.asked.title
        if self.asked.name in self.places:
            raise LabelError("a-category-has-this-name-already", title=title)
        terms = self.sum_of(self.asked.content)
        if any(factor != 1 for factor, _ in terms):
            contrast = option("contrast", EXAMPLES["contrast"], CODE["contrast"])
            raise ParameterError("a-combination-is-a-plain-sum", title=title, contrast=contrast)
        factors = self._vector(terms)
        if (factors > 1).any():
            raise LabelError("a-category-is-counted-twice", title=title)
        return Terms(self.asked.name, "combination", " + ".join(name for _, name in terms), factors)

    def contrast(self, groups: Sequence[Hashable]) -> Terms:
        """A sum with factors, of categories or of groups."""
        names, content = {_text(label): label for label in groups}, self.asked.content
        if (
            isinstance(content, tuple | list)
            and len(content) == 2
            and all(isinstance(one, Hashable) for one in content)
        ):
            content = {content[0]: 1, content[1]: -1}
        both: dict[str, tuple[int, ...]] = {**dict.fromkeys(names, ()), **self.places}
        by_label = {**{label: text for text, label in names.items()}, **self.by_label}
        terms = _Reader(self.asked, both, by_label, self.k).sum_of(content)
        if all(name in names for _, name in terms):
            if any(name in self.places for _, name in terms):
                raise LabelError("a-category-and-a-group", title=self.asked.title)
            return Terms(self.asked.name, "groups", _words(terms), groups={names[name]: f for f, name in terms})
        mixed = next((name for _, name in terms if name not in self.places), None)
        if mixed is not None:
            raise LabelError("is-a-group-not-a-category", title=self.asked.title, mixed=mixed)
        return Terms(self.asked.name, "contrast", _words(terms), self._vector(terms))

    def ratio(self) -> Terms:
        """One sum over another."""
        sums = [self.sum_of(part) for part in self._two_parts()]
        said = (_words(terms) if len(terms) == 1 else f"({_words(terms)})" for terms in sums)
        above, below = map(self._vector, sums)
        return Terms(self.asked.name, "ratio", " / ".join(said), above, below)

    def _two_parts(self) -> Sequence[Any]:
        """Numerator and denominator: of a text, around the first stroke that belongs to no label."""
        content = self.asked.content
        if isinstance(content, tuple | list) and len(content) == 2:
            return content
        if isinstance(content, str):
            strokes = [place for place, sign in enumerate(content) if sign == "/"]
            halves = [(content[:place].strip(), content[place + 1 :].strip()) for place in strokes]
            known = [pair for pair in halves if all(next(self._expression().sums(half), None) for half in pair)]
            if known or (halves and all(halves[0])):
                return (known or halves)[0]
        example = option("ratio", EXAMPLES["ratio"], CODE["ratio"])
        raise ParameterError("a-ratio-has-two-parts", title=self.asked.title, example=example)

    def _vector(self, terms: Sum) -> Real:
        """The factor of each category."""
        factors = np.zeros(self.k)
        for factor, name in terms:
            factors[list(self.places[name])] += factor
        return factors

    def sum_of(self, content: Any) -> Sum:
        """Factors and names of an expression, a list of labels, or labels with factors."""
        if isinstance(content, str):
            terms = self._parsed(content)
        elif isinstance(content, Mapping):
            terms = [(float(as_fraction(f, self.asked.name)), self._known(label)) for label, f in content.items()]
        else:
            check_ordered(content, "categories")
            terms = [(1.0, self._known(one)) for one in (content if isinstance(content, list | tuple) else [content])]
        if not terms:
            known = listed(self.places, len(self.places), 70)
            raise ParameterError("title-has-no-categories", title=self.asked.title, known=known)
        return terms

    def _known(self, label: Any) -> str:
        name = self.by_label.get(label, _text(label)) if isinstance(label, Hashable) else str(label)
        if name not in self.places:
            raise self._unknown(name)
        return name

    def _expression(self) -> _Expression:
        return _Expression(sorted(self.places, key=len, reverse=True))

    def _parsed(self, text: str) -> Sum:
        """``often - 0.5*once``; commas are plus signs. Two readings are an error, also where one of them is a label."""
        alone = [[(1.0, text)]] if text in self.places else []
        expression = self._expression()
        others = (sums for sums in expression.sums(text if alone else text.strip()) if sums not in alone)
        found = [*alone, *islice(others, 2)]
        if not found:
            raise self._unknown(re.split(r"\s*[+,/-]", expression.furthest)[0].strip('" '))
        if len(found) > 1:
            first, second = (
                "".join(f'{"-" if factor < 0 else "+"}"{label}"' for factor, label in terms).removeprefix("+")
                for terms in found[:2]
            )
            named = {"title": f"{self.asked.title}: ", "name": self.asked.name}
            raise ParameterError("this-can-be-read-in-two", **named, first=first, second=second)
        return found[0]

    def _unknown(self, name: str) -> UnknownCategoryError:
        signed = next((label for label in self.places if re.search(r"[-+,/]", label)), None)
        quoted = "" if signed is None else f"; quote labels with signs: '\"{shorten(signed, 20)}\"-...'"
        known = listed(self.places, len(self.places), HINT - len(f"known: {quoted}"))
        title = f"{self.asked.title}: "
        return UnknownCategoryError("title-no-category-name", title=title, name=name[:40], known=known, quoted=quoted)


@dataclass
class _Expression:
    """All ways to read an expression, the longest names first; ``furthest`` is where none goes on."""

    names: Sequence[str]
    furthest: str = ""
    dead: set[str] = field(default_factory=set)

    def sums(self, rest: str) -> Iterator[Sum]:
        """What the rest of the text may say."""
        if not rest:
            yield []
        if not rest or rest in self.dead:
            return
        sign, after = (-1.0 if rest[0] == "-" else 1.0, rest[1:].lstrip()) if rest[0] in "+-," else (1.0, rest)
        factor = _FACTOR.match(after)
        times = sign * (1.0 if factor is None else float(as_fraction(factor[1], "factor")))
        after = after if factor is None else after[factor.end() :]
        none = True
        for name in (one for one in self.names if _starts(after, one)):
            quotes = 2 if after.startswith('"') and not name.startswith('"') else 0
            for others in self.sums(after[len(name) + quotes :].lstrip()):
                none = False
                yield [(times, name), *others]
        if none:
            self.dead.add(rest)
            self.furthest = after if not self.furthest or len(after) < len(self.furthest) else self.furthest


def _starts(text: str, name: str) -> bool:
    """Whether a name stands at the beginning, bare or in quotes, and ends there."""
    if text.startswith(f'"{name}"'):
        return True
    return text.startswith(name) and (len(text) == len(name) or text[len(name)] in " +-,/")


def _words(terms: Sum) -> str:
    """A sum as people write it."""
    signs = ["- " if factor < 0 else "+ " for factor, _ in terms]
    sizes = ["" if abs(factor) == 1 else f"{Printed(abs(factor)):g} " for factor, _ in terms]
    said = " ".join(f"{sign}{size}{name}" for sign, size, (_, name) in zip(signs, sizes, terms, strict=True))
    return said.removeprefix("+ ")


def _text(label: Hashable) -> str:
    """A label as it is typed: tuples in brackets."""
    return f"({', '.join(map(str, label))})" if isinstance(label, tuple) else str(label)

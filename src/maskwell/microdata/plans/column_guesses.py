"""What a column probably is, by its name, its labels and how many records share a value; the words are in a table."""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from maskwell.core.cells import CellTable

FEW = 30  # A column with at most so many labels can be randomized as it is
MANY = 100_000  # Beyond this, a column of categories has to be grouped before anything else
_WORDS = tomllib.loads(Path(__file__).with_name("column_words.toml").read_text(encoding="utf-8"))
TOPICS: Mapping[str, str] = {name: words["says"] for name, words in _WORDS["key"].items()}
"""What others may know of a person, the best known first, each in words."""
_TWELVE_DIGITS = Context(prec=12)
_COUNTRIES = {*_WORDS["labels"]["countries"].split()}


@dataclass(frozen=True)
class Guess:
    """What one column probably is."""

    # The column, records, different values, and records without a value
    name: str
    n: int
    labels: int
    missing: int
    # "weights", "id", "drop" (names people), "few" (categories), "many" (too many of them), "numbers" or "constant"
    role: str
    topic: str | None = None  # Of TOPICS, where an intruder may know it
    why: str = ""  # What the topic was guessed from: "its name" or "its values"
    sensitive: bool = False  # Whether its name is that of something that nobody should learn
    spread: tuple[float, float] | None = None  # The smallest and the largest number, where it holds numbers
    named_weights: bool = False  # Whether its name is that of survey weights, whatever its values are
    of_units: bool = False  # Whether its name speaks of households

    @property
    def key(self) -> bool:
        """Whether an intruder may know it."""
        return self.topic is not None


def guess_column(table: CellTable, *, bodies: bool = False, unique: bool = False) -> Guess:
    """What a column probably is, from a table of it; beside the height of bodies, a weight is that of a body."""
    name = table.columns[0]
    labels = [label for label in table.levels[0] if label is not None]
    missing = sum(int(c) for label, c in zip(table.labels(), table.counts, strict=True) if label[0] is None)
    numbers = numbers_in(labels)
    k = len(labels) if numbers is None else len({*numbers})
    like_body = bodies and not any(has_words(part, "weights") for part in parts_of(name) if not _is_plain_weight(part))
    named_weights = has_words(name, "weights") and not like_body
    weights = named_weights and not missing and bool(numbers) and all(number > 0 for number in numbers or ())
    role = "weights" if weights else _role(name, numbers, k, table.n, unique=unique)
    topic, why = (None, "") if named_weights or role in ("id", "constant") else topic_of(name, labels, numbers)
    return Guess(
        name,
        table.n,
        k,
        missing,
        role,
        topic,
        why,
        sensitive=topic is None and has_words(name, "sensitive"),
        spread=(min(numbers), max(numbers)) if numbers else None,
        named_weights=named_weights,
        of_units=has_words(name, "unit"),
    )


def names_a_body(name: str) -> bool:
    """Whether a column holds the height of bodies or the like, so that a weight may be that of a body."""
    return has_words(name, "body")


def _is_plain_weight(part: str) -> bool:
    return part in ("weight", "weights", "gewicht", "poids", "peso")


def _role(name: str, numbers: Sequence[float] | None, k: int, n: int, *, unique: bool) -> str:
    if k <= 1:
        return "constant"
    whole = numbers is not None and all(number.is_integer() for number in numbers)
    if (k == n or unique) and k > FEW:
        consecutive = whole and numbers is not None and max(numbers) - min(numbers) == k - 1
        if has_words(name, "id") or consecutive:
            return "id"
    if k > FEW and (has_words(name, "id") or (numbers is None and (has_words(name, "person") or 2 * k > n))):
        return "drop"
    if k <= FEW:
        return "few"
    return "numbers" if numbers is not None and k < MANY and (k > n / 50 or not whole) else "many"


def topic_of(name: str, labels: Sequence[Hashable], numbers: Sequence[float] | None) -> tuple[str | None, str]:
    """What others may know of a person that a column holds, and what shows it; by its name, else by its labels."""
    said = _said(name)
    if said.topic is not None or numbers is not None or said.kinds & {"opinion", "sensitive"}:
        return said.topic, "its name" if said.topic else ""
    return _by_labels([str(label) for label in labels])


def _by_labels(labels: Sequence[str]) -> tuple[str | None, str]:
    """What the labels are of: sexes, marital states or countries."""
    plain, (men, women) = {_plain(label) for label in labels}, map(set, _WORDS["labels"]["sexes"])
    if len(plain) <= 3 and plain & men and plain & women:
        return "sex", "its values"
    if sum(label in _WORDS["labels"]["marital"] for label in plain) >= 2:
        return "marital", "its values"
    countries = sum(label in _COUNTRIES for label in labels)
    if countries >= 3 and 5 * countries >= 3 * len(labels):  # the others may be "Other" or "stateless"
        return "citizenship", "its values"
    return None, ""


class _Said(NamedTuple):
    """What a name says: its topic, and the kinds of words that it has, such as those of weights."""

    topic: str | None
    kinds: frozenset[str]


@lru_cache(maxsize=1 << 14)
def _said(name: str) -> _Said:
    parts, joined = parts_of(name), _plain(name).replace(" ", "")
    kinds = frozenset(kind for kind in _KINDS if any(_matches(parts, joined, _WORDS[kind], ways) for ways in _WAYS))
    if "opinion" in kinds:
        return _Said(None, kinds)
    for ways in _WAYS:  # of a topic and a secret that the same way finds, the topic is meant
        for topic, words in _WORDS["key"].items():
            if _matches(parts, joined, words, ways):
                return _Said(topic, kinds)
        if "sensitive" in kinds and _matches(parts, joined, _WORDS["sensitive"], ways):
            break
    return _Said(None, kinds)


_WAYS = (("names", "inside"), ("parts",), ("starts",))
_KINDS = [kind for kind in _WORDS if kind not in ("key", "labels")]


def has_words(name: str, kind: str) -> bool:
    """Whether a name has one of the words of a kind, such as weights."""
    return kind in _said(name).kinds


def _matches(parts: Sequence[str], joined: str, words: Mapping[str, Any], ways: Collection[str]) -> bool:
    return (
        ("names" in ways and joined in words["names"])
        or ("inside" in ways and any(word in joined for word in words["inside"]))
        or ("parts" in ways and any(part in words["parts"] for part in parts))
        or ("starts" in ways and any(part.startswith(tuple(words["starts"])) for part in parts))
    )


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name in small letters, without accents and digits at their ends: ``pb190_maritalStatus``."""
    parts = _plain(_CAMEL.sub(" ", name)).split()
    return tuple(part.rstrip("0123456789") or part for part in parts)


def _plain(text: str) -> str:
    """A text in small letters without accents, its words divided by single spaces."""
    text = text.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")
    letters = unicodedata.normalize("NFKD", text)
    kept = "".join(sign for sign in letters if not unicodedata.combining(sign)).lower()
    return " ".join(re.findall(r"[a-z0-9]+", kept))


def numbers_in(labels: Sequence[Hashable]) -> list[float] | None:
    """The number of each label, or None where one is none; 0.0 and -0.0 are one, as are 0.3 and 0.1 + 0.2."""
    try:
        numbers = [number_of(label) for label in labels]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def number_of(label: Hashable) -> float:
    """The number that a label denotes, to twelve digits, or ValueError."""
    if isinstance(label, bool) or not isinstance(label, int | float | str):
        raise ValueError(label)
    return float(_TWELVE_DIGITS.create_decimal_from_float(float(label))) + 0.0

"""The entries of a plan: one reader and one form for every value; every error names its table and its key."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, TypeVar

from maskwell.core.arguments import as_list, kind_of
from maskwell.core.exact import as_fraction, percent_meant, to_decimal
from maskwell.core.labels import is_missing, read_text, texts
from maskwell.core.phrases import HINT, VALUES, in_toml, listed, shorten, shows_values
from maskwell.errors import MaskwellError, PlanError, UnknownCategoryError

T = TypeVar("T")
Reader = Callable[[Any, str], T]
MISSING = ""  # The label of the missing value in a plan


class Entries:
    """The entries of one table of a plan, taken one by one; what is left at the end was not known."""

    def __init__(self, given: Any, where: str) -> None:
        self.where = where
        self._left = dict(table(given, where))

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str, read: Reader[T], default: Any = None) -> Any:
        """One value in its one form, or the default where it is not given."""
        return read(self._left.pop(key), f"{self.where}: {key}") if key in self._left else default

    def need(self, key: str, read: Reader[T], hint: str) -> Any:
        """One value that must be given."""
        if key not in self._left:
            raise PlanError("where-has-no-key", hint=hint, where=self.where, key=key)
        return self.take(key, read)

    def finish(self, allowed: Iterable[str]) -> None:
        """Raise where something is left."""
        if self._left:
            raise unknown(next(iter(self._left)), f"{self.where}: unknown setting", [*allowed])


def unknown(name: str, said: str, allowed: Collection[str]) -> PlanError:
    """The error for a word that is not known, with the nearest that is."""
    close = difflib.get_close_matches(name, allowed, n=1)
    start = "allowed: "
    hint = f"did you mean {close[0]!r}?" if close else start + listed(allowed, len(allowed), HINT - len(start))
    return PlanError(f"{said} {shorten(name)!r}", hint=hint, name=name, allowed=[*allowed])


def table(value: Any, name: str) -> Mapping[str, Any]:
    """A table of a TOML file."""
    if not isinstance(value, Mapping):
        raise _wrong(value, name, "a table", "write it as { key = value }")
    return {str(key): entry for key, entry in value.items()}


def tables(value: Any, name: str) -> Sequence[Any]:
    """A list of tables."""
    if isinstance(value, Mapping):
        raise PlanError("is-one-table-not-a-list", name=name)
    return _list(value, name)


def text(value: Any, name: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise _wrong(value, name, "a text", 'write it in quotes, such as "region"')
    return value


def names(value: Any, name: str) -> tuple[str, ...]:
    """Names of columns, all different; one alone needs no list."""
    columns = tuple(text(one, name) for one in ([value] if isinstance(value, str) else _list(value, name)))
    return _distinct(columns, name)


def some(value: Any, name: str) -> list[Any]:
    """A list that is not empty."""
    if not (items := _list(value, name)):
        raise PlanError("is-an-empty-list", name=name)
    return items


def some_names(value: Any, name: str) -> tuple[str, ...]:
    """Names of columns, one at least."""
    return names(value if isinstance(value, str) else some(value, name), name)


def label(value: Any, name: str) -> str:
    """The text of one label, whatever its type; the empty text is the missing value."""
    if isinstance(value, Mapping | list | tuple | set):
        raise _wrong(value, name, "a label", 'give a text such as "9"')
    if is_missing(value):
        return MISSING
    return texts(value)[-1 if isinstance(value, float) else 0]


def labels(value: Any, name: str) -> tuple[str, ...]:
    """Texts of labels, all different."""
    single = isinstance(value, str) or not isinstance(value, Iterable)
    return _distinct(tuple(label(one, name) for one in ([value] if single else _list(value, name))), name)


def state(value: Any, name: str) -> tuple[str, ...]:
    """The texts of the labels of one state: one label, or a list of them."""
    return tuple(label(one, name) for one in value) if isinstance(value, list | tuple) else (label(value, name),)


def pairs(value: Any, name: str) -> tuple[tuple[str, str], ...]:
    """Pairs of labels, from and to."""
    label_pairs = [tuple(label(one, name) for one in _list(pair, name)) for pair in _list(value, name)]
    if not label_pairs or any(len(pair) != 2 for pair in label_pairs):
        raise PlanError("holds-something-that-is-no-pair", name=name)
    return _distinct(tuple((a, b) for a, b in label_pairs), name)


def number(value: Any, name: str) -> Fraction:
    """A number as an exact fraction."""
    try:
        return as_fraction(value, name)
    except MaskwellError as error:
        raise PlanError(error.message, hint=error.hint, values=error.values, **error.objects) from error


def share(value: Any, name: str) -> Fraction:
    """A number above 0 and at most 1."""
    fraction = number(value, name)
    if not 0 < fraction <= 1:
        raise PlanError(
            "is-out-of-range-give-a-number",
            name=name,
            fraction=to_decimal(fraction),
            percent_meant=percent_meant(fraction),
            value=fraction,
        )
    return fraction


def whole(value: Any, name: str) -> int:
    """A whole number of 1 or more."""
    amount = number(value, name)
    if amount.denominator != 1 or amount < 1:
        raise PlanError("is-not-a-whole-number-of", name=name, amount=to_decimal(amount))
    return int(amount)


def target(value: Any, name: str) -> int:
    """A whole number of 2 or more."""
    if (k := whole(value, name)) < 2:
        raise PlanError("k-must-be-2-or-more", name=name, k=k)
    return k


def flag(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(value, name, "true or false", "write true or false, without quotes")
    return value


def choice(*allowed: str) -> Reader[str]:
    """One of a few words."""

    def read(value: Any, name: str) -> str:
        if value not in allowed:
            raise PlanError(
                "name-value-in-words-is-not-allowed",
                name=name,
                value_in_words=_value_in_words(value),
                allowed=", ".join(allowed),
            )
        return str(value)

    return read


def by_text(levels: Iterable[Hashable]) -> dict[str, Hashable]:
    """The labels of a column by their texts; the empty text is the missing value."""
    levels_by_text: dict[str, Hashable] = {}
    for level in levels:
        for one in (MISSING,) if is_missing(level) else texts(level):
            levels_by_text.setdefault(one, level)
    return levels_by_text


_READ_AS: Mapping[type, str] = {bool: "boolean", date: "date", datetime: "datetime"}


def typed(text: str, levels: Sequence[Hashable]) -> Hashable:
    """A label that does not occur, in the type of those that do."""
    kinds = {type(level) for level in levels if level is not None}
    if kinds <= {int, float} and kinds:
        try:
            value = float(text)
        except ValueError:
            return text
        return int(value) if value.is_integer() else value
    name = _READ_AS.get(next(iter(kinds))) if len(kinds) == 1 else None
    label = None if name is None else read_text(text, name)
    return text if label is None else label


def find_levels(wanted: Iterable[str], levels: Collection[Hashable], where: str) -> list[Hashable]:
    """The labels of a column that texts of a plan denote, or an error that names the first missing one."""
    known = by_text(levels)
    matches = []
    for one in wanted:
        if one not in known:
            raise unknown_label(one, list(known), where)
        matches.append(known[one])
    return matches


def unknown_label(given: str, known: Sequence[str], where: str, declared: Sequence[str] = ()) -> UnknownCategoryError:
    """The error for a label of the plan that the column does not have; ``declared`` are those that the plan lists."""
    close = difflib.get_close_matches(given, declared, n=1)
    start = "its labels in the plan: "
    hint = f"write it as in the file; {shows_values()} the labels that occur"
    if declared:
        hint = f"did you mean {close[0]!r}?" if close else start + listed(declared, len(declared), HINT - len(start))
    return UnknownCategoryError(
        "there-is-no-category-2",
        hint=hint,
        where=where,
        given=shorten(given),
        values=listed(map(repr, known), len(known), VALUES),
        label=given,
    )


def _list(value: Any, name: str) -> list[Any]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise _wrong(value, name, "a list", 'write it in brackets, such as ["a", "b"]')
    return as_list(value, name)


def _distinct(items: tuple[T, ...], name: str) -> tuple[T, ...]:
    twice = [one for one, times in Counter(items).items() if times > 1]
    if twice:
        raise PlanError("holds-twice", name=name, twice=shorten(repr(twice[0])), value=twice[0])
    return items


def _wrong(value: Any, name: str, allowed: str, hint: str) -> PlanError:
    return PlanError(
        "name-value-in-words-is-not",
        hint=hint,
        name=name,
        value_in_words=_value_in_words(value),
        allowed=allowed,
        value=value,
    )


def _value_in_words(value: Any) -> str:
    written = repr(str(value)) if isinstance(value, str) else str(value)
    return shorten(written, 30) if "\n" not in written else kind_of(value)


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")
# Entries that are texts, also where they look like numbers.
_TEXTS = {
    *["title", "weights", "id", "unit", "dataset", "clearance", "variable", "counts_from", "file", "matrix", "first"]
}


def write_toml(tables: Mapping[str, Any]) -> str:
    """The text of a plan from its tables."""
    parts = []
    for name, content in tables.items():
        many = isinstance(content, list)
        head = f"[[{name}]]" if many else f"[{name}]"
        for table in content if many else [content] * bool(content):
            lines = [write_entry(key, value) for key, value in table.items()]
            parts.append("\n".join([head, *lines]) + "\n")
    return "\n".join(parts)


def write_entry(key: str, value: Any) -> str:
    """One line of a plan."""
    return f"{write_key(key)} = {_value(value, text=key in _TEXTS)}"


def write_key(key: str) -> str:
    """A name as TOML writes it, in quotes where it must be."""
    return key if _BARE.fullmatch(key) else in_toml(key)


def _value(value: Any, *, text: bool) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{write_key(str(key))} = {_value(one, text=text)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_value(one, text=True) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (not text and _DECIMAL.fullmatch(value)):
        return str(value)
    return in_toml(value)

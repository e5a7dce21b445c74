"""Rules for one label: what is allowed, what counts as missing, its texts, its JSON form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from maskwell.core.phrases import MESSAGE, listed, shorten
from maskwell.errors import DesignFileError, LabelError, WrongTypeError

HALF = re.compile("[\ud800-\udfff]")
LARGEST_SAFE_INTEGER = 2**53 - 1  # beyond it a JSON number is rounded by browsers, so the integer travels as text


def is_missing(value: object) -> bool:
    """Tell whether a value is None, NaN, NaT or pandas' NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except (
        TypeError,
        ValueError,
        ArithmeticError,
    ):  # NA and sNaN refuse to be compared, arrays are many values
        return type(value).__name__ == "NAType" or (isinstance(value, Decimal) and value.is_nan())


def plain(value: Any) -> Any:
    """Turn a numpy scalar into the Python value it stands for, and leave anything else alone.

    >>> plain(np.int64(3)), plain(np.datetime64("2024-05-01")), plain("a")
    (3, datetime.date(2024, 5, 1), 'a')
    """
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64) and isinstance(value.item(), int):
        return value.astype(f"{value.dtype.kind}8[us]").item()
    return value.item()


def check_labels(labels: Any) -> Sequence[Hashable]:
    """Return the labels as a tuple (``range(k)`` for the integers 0..k-1), or say why they cannot be categories."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) == 0:
        raise WrongTypeError(
            f"labels must be a list, not {shorten(' '.join(repr(labels).split()))}",
            hint='write the labels one by one: ["yes", "no"]',
            labels=labels,
        )
    if isinstance(labels, range) and labels and labels == range(len(labels)):
        return labels
    plain_labels = tuple(plain(label) for label in labels)
    if not plain_labels:
        raise LabelError("no labels were given; at least one is needed", hint="list the categories in order")
    _check_distinct(plain_labels)
    numbered = all(type(label) is int and label == code for code, label in enumerate(plain_labels))
    return range(len(plain_labels)) if numbered else plain_labels


def _check_distinct(labels: tuple[Any, ...]) -> None:
    first: dict[Hashable, object] = {}
    clashes: list[tuple[object, object]] = []
    for position, label in enumerate(labels):
        if is_missing(label):
            raise LabelError(
                f"label {position + 1} is a missing value ({label!r})",
                hint='name the category for missing values, for instance "missing"',
                position=position,
            )
        if _has_half(label):
            raise LabelError(
                f"label {position + 1} holds half a character, which cannot be written to any file",
                hint="give labels in UTF-8: the text was cut within a character, or read in another encoding",
                position=position,
            )
        try:
            if label in first:
                clashes.append((first[label], label))
            first.setdefault(label, label)
        except TypeError as error:
            raise LabelError(
                f"label {position + 1} is a {shorten(type(label).__name__)}, which cannot be a label",
                hint="use text, numbers, dates or tuples",
                values=shorten(" ".join(repr(label).split())),
                label=label,
            ) from error
    if clashes:
        shown = listed((_clash(a, b) for a, b in clashes), len(clashes), MESSAGE - 20)
        raise LabelError(
            f"labels must differ: {shown}",
            hint="give every category one label of its own",
            duplicates=[b for _, b in clashes],
        )


def _has_half(label: Any) -> bool:
    """Whether a text, alone or in a tuple, holds a surrogate without its other half."""
    if isinstance(label, str):
        return not label.isascii() and HALF.search(label) is not None
    return isinstance(label, tuple) and any(map(_has_half, label))


def _clash(a: object, b: object) -> str:
    return f"{a!r} appears twice" if repr(a) == repr(b) else f"{a!r} equals {b!r}"


def texts(value: Any) -> tuple[str, ...]:
    """List the texts that stand for a value, its ``str()`` first.

    Whole floats also read as integers, booleans in the three usual spellings, midnight as its day, bytes as UTF-8.

    >>> texts(1), texts(1.0), texts(True)
    (('1',), ('1.0', '1'), ('True', 'true', 'TRUE'))
    """
    value = plain(value)
    if isinstance(value, bool):
        return (str(value), str(value).lower(), str(value).upper())
    if isinstance(value, float) and value.is_integer():
        return (str(value), str(int(value)))
    if isinstance(value, datetime):
        day = (str(value.date()),) if value.timetz() == time.min else ()
        return (str(value), value.isoformat(), *day)
    if isinstance(value, bytes):
        return (value.decode(errors="replace"),)
    return (str(value),)


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


READERS: Mapping[str, Callable[[Any], Any]] = {
    "integer": int,
    "float": float,
    "boolean": _truth,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


def read_text(label: object, kind: str) -> Any:
    """Value of that kind which one of the label's texts stands for, or None.

    >>> read_text("1", "integer"), read_text("1.5", "integer"), read_text("true", "boolean")
    (1, None, True)
    """
    for text in texts(label):
        try:
            value = READERS[kind](text)
        except (ValueError, KeyError, OverflowError):
            continue
        if text in texts(value):
            return value
    return None


def to_json(label: Any) -> Any:
    """JSON form of a label: text, numbers and booleans as they are, the rest as an object with one tag.

    >>> to_json("yes"), to_json((1, "a")), to_json(date(2024, 5, 1))
    ('yes', {'tuple': [1, 'a']}, {'date': '2024-05-01'})
    """
    if isinstance(label, bool):
        return label
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, int):
        return int(label) if abs(label) <= LARGEST_SAFE_INTEGER else {"integer": str(int(label))}
    if isinstance(label, float):
        return float(label) if math.isfinite(label) else {"float": str(float(label))}
    if isinstance(label, tuple):
        return {"tuple": [to_json(part) for part in label]}
    if isinstance(label, date):
        tag = "datetime" if isinstance(label, datetime) else "date"
        form = {tag: label.isoformat()}
        if READERS[tag](form[tag]) == label:
            return form
    raise LabelError(
        f"a label of the type {type(label).__name__} has no JSON form",
        hint="use text, numbers, booleans, dates, tuples of these, or the value of an enum",
        values=repr(label),
        label=label,
    )


def from_json(form: Any) -> Hashable:
    """Label from its JSON form.

    >>> from_json({"tuple": [1, "a"]})
    (1, 'a')
    """
    if isinstance(form, str | bool | int | float):
        return form
    if isinstance(form, Mapping) and len(form) == 1:
        ((tag, content),) = form.items()
        if tag == "tuple" and isinstance(content, list):
            return tuple(from_json(part) for part in content)
        if tag in READERS and tag != "boolean" and isinstance(content, str):
            try:
                return READERS[tag](content)  # type: ignore[no-any-return]
            except ValueError:
                pass
    raise DesignFileError(
        f"not the JSON form of a label: {form!r}",
        hint='labels are text, numbers, booleans, or {"tuple": [...]}, {"date": "2024-05-01"}, {"datetime": ...}',
        form=form,
    )


def sorted_levels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Labels in their natural order: numbers, also those written as text, by value; then texts; a missing one last.

    >>> sorted_levels(["10", "9", "N"]), sorted_levels(["b", None, "a"])
    (['9', '10', 'N'], ['a', 'b', None])
    """
    return sorted(labels, key=_natural)


def _natural(label: Hashable) -> tuple[int, float, str]:
    if label is None:
        return (3, 0.0, "")
    try:
        value = float(label)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return (1 if isinstance(label, str) else 2, 0.0, str(label))
    return (1, 0.0, str(label)) if math.isnan(value) else (0, value, str(label))

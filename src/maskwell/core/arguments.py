"""Arguments of the wrong kind: what Python functions say before they begin, in one sentence for each kind.

Messages name the argument and the kind of thing that was given, never its value, which may be confidential.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sized
from types import NoneType, UnionType
from typing import Any, get_args

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.exact import as_fraction, to_float
from maskwell.core.phrases import HINT, listed, shorten
from maskwell.errors import InputError, ParameterError, WrongTypeError

Flag = bool | np.bool_
MOST = 10**9
"""Elements that a list may have."""

MATRIX = "mw.Dense.of(matrix) makes one if the columns sum to 1, mw.Dense.from_rows(matrix) if rows do"
MADE_BY: Mapping[str, str] = {
    "Categories": 'write mw.Categories.of(["yes", "no"]), or mw.Categories.numbered(k)',
    "Cells": "make one of a column of reports: mw.Cells.of(codes)",
    "CellTable": "count a file: mw.count_tables(path, [columns]), or write mw.CellTable.of(columns, counts)",
    "Choice": "make one: mw.choose(k, demand)",
    "Counts": "count the reports with their design: design.tally(reports)",
    "Deck": "make one of a design: mw.make_deck(design)",
    "Demand": "make one, for instance mw.Demand.from_gamma(3)",
    "Design": 'make one, for instance mw.Uniform.from_gamma(3, mw.Categories.of(["yes", "no"]))',
    "Device": "make one of a design: mw.make_device(design)",
    "Estimate": "make one: mw.estimate_by_moments(design.tally(reports), design)",
    "KeyedRandom": "make one of a key file: mw.KeyedRandom.from_file(path, dataset)",
    "Receipt": "read one: mw.load_receipt(path)",
    "Release": "make one: mw.assess_file(path, plan)",
    "ReleasePlan": "read one: mw.load_plan(path)",
    "Reports": "draw them: design.sample(codes)",
    "Sample": "make one: mw.Sample(design.tally(reports), design)",
    "SamplingPlan": "make one, for instance mw.SamplingPlan(weights=weights)",
    "Sparse": "make one of a design: mw.Sparse.of_matrix(design.exact_matrix())",
    "bool": "write True or False",
    "str": "give a text",
}


def check_kind(kind: Any, /, **given: object) -> None:
    """Raise unless every argument is of a kind, which may be a union such as ``Demand | None``.

    >>> check_kind(str | None, name="region", label=None)
    >>> check_kind(str, name=3)
    Traceback (most recent call last):
    maskwell.errors.WrongTypeError: name must be a str, not an int
    hint: give a text
    """
    for name, value in given.items():
        if not isinstance(value, kind):
            kinds = list(get_args(kind)) if isinstance(kind, UnionType) else [kind]
            wanted = " or ".join(dict.fromkeys("None" if one is NoneType else a_kind(one) for one in kinds))
            raise WrongTypeError(f"{name} must be {wanted}, not {kind_of(value)}", hint=_hint(kinds[0], value))


def a_kind(kind: type) -> str:
    """The name of a kind with its article.

    >>> a_kind(int), a_kind(str)
    ('an int', 'a str')
    """
    name = kind.__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {shorten(name, 30)}"


def kind_of(value: object) -> str:
    """What was given, without its value.

    >>> kind_of(None), kind_of([1]), kind_of(dict)
    ('None', 'a list', 'the class dict')
    """
    if value is None:
        return "None"
    return f"the class {shorten(value.__name__, 30)}" if isinstance(value, type) else a_kind(type(value))


def _hint(kind: type, value: object) -> str:
    name = next((base.__name__ for base in kind.__mro__ if base.__name__ in MADE_BY), "")
    if "Design" in {base.__name__ for base in kind.__mro__}:
        if isinstance(value, str) or hasattr(value, "__fspath__"):
            return "read a design file: mw.load_design(path)"
        if isinstance(value, list | tuple) or hasattr(value, "__array__"):
            return MATRIX
    return MADE_BY.get(name, f"give {a_kind(kind)}")


def check_option(name: str, given: object, allowed: Collection[str]) -> None:
    """Raise unless a word is among those that are allowed.

    >>> check_option("method", "bayes", ("moments", "ml"))
    Traceback (most recent call last):
    maskwell.errors.ParameterError: method = 'bayes'
    hint: method is one of 'moments', 'ml'
    """
    if not isinstance(given, str) or given not in allowed:
        shown = shorten(repr(given)) if isinstance(given, str) else kind_of(given)
        choice = listed(map(repr, allowed), len(allowed), HINT - len(f"{name} is one of "))
        raise ParameterError(f"{name} = {shown}", hint=f"{name} is one of {choice}")


def as_list(values: Any, name: str) -> list[Any]:
    """A list of what was given, which is no text, no single value and nothing endless.

    >>> as_list(("a", "b"), "names")
    ['a', 'b']
    """
    fits = isinstance(values, Iterable) and not isinstance(values, str | bytes) and getattr(values, "ndim", 1) > 0
    if not fits or (isinstance(values, Sized) and _length(values) > MOST):
        raise WrongTypeError(f"{name} must be a list, not {kind_of(values)}", hint=f"give {name} as a list")
    return list(values)


def _length(values: Sized) -> int:
    try:
        return len(values)
    except (TypeError, OverflowError):
        return MOST + 1


def list_of(kind: Any, values: Any, name: str) -> list[Any]:
    """A list whose elements are all of one kind.

    >>> list_of(str, ["a", "b"], "names")
    ['a', 'b']
    """
    found = as_list(values, name)
    for i, value in enumerate(found):
        check_kind(kind, **{f"{name}[{i}]": value})
    return found


def as_mapping(values: Any, name: str) -> Mapping[Any, Any]:
    """What was given, if it is a dictionary.

    >>> as_mapping({"a": 1}, "shares")
    {'a': 1}
    """
    if not isinstance(values, Mapping):
        raise WrongTypeError(
            f"{name} must be a dictionary, not {kind_of(values)}", hint=f"give {name} as {{key: value, ...}}"
        )
    return values


def as_array(values: Any, name: str) -> Array:
    """An array of any kind, of as many dimensions as the lists have levels.

    >>> as_array([[1, 2], [3, 4]], "codes").shape
    (2, 2)
    """
    if isinstance(values, range) and _length(values) > MOST:
        raise WrongTypeError(f"{name} has too many elements", hint=f"give at most {MOST:,}")
    try:
        found = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{name} cannot be made into an array", hint="give lists of one length each, or an array", values=error
        ) from None
    return np.ma.filled(found, np.nan) if np.ma.isMaskedArray(values) and found.dtype.kind == "f" else found


def as_floats(values: Any, name: str, *, finite: bool = True) -> Real:
    """Numbers as an array of floats: not texts, not complex, and finite unless told otherwise.

    >>> as_floats([1, 2], "weights")
    array([1., 2.])
    """
    found = as_array(values, name)
    if found.dtype.kind not in "buif" and found.size:
        try:
            found = found.astype(np.float64) if found.dtype.kind == "O" else None
        except (TypeError, ValueError, OverflowError):
            found = None
        if found is None:
            raise WrongTypeError(f"{name} are not numbers", hint="give a list or an array of numbers")
    with np.errstate(over="ignore"):
        numbers: Real = found.astype(np.float64, copy=False)
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise InputError(f"{name} has masked values", hint="leave missing values out, or fill them in")
    if finite and not np.isfinite(numbers).all():
        raise InputError(f"{name} are not all finite numbers", hint="leave missing and infinite values out")
    return numbers


def as_real(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number in a range.

    >>> as_real("1/4", "share", low=0, high=1)
    0.25
    """
    found = to_float(as_fraction(value, name))
    if not low <= found <= high or math.isinf(found):
        allowed = f"from {low:g} to {high:g}" if high < math.inf else f"of {low:g} or more" if low > -math.inf else ""
        raise ParameterError(
            f"{name} = {shorten(str(value))} is out of range", hint=f"give a number {allowed}".strip(), value=value
        )
    return found


def as_whole(value: Any, name: str, *, low: int = 0, high: int = 2**63 - 1) -> int:
    """A whole number in a range.

    >>> as_whole(12, "replicates", low=1)
    12
    """
    number = as_fraction(value, name)
    if number.denominator != 1 or not low <= number <= high:
        allowed = f"of {low} or more" if high >= 2**31 else f"from {low} to {high:,}"
        raise ParameterError(
            f"{name} = {shorten(str(value))} is not a whole number {allowed}",
            hint=f"give a whole number {allowed}",
            value=value,
        )
    return int(number)

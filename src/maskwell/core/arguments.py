"""The kinds of arrays that travel between rooms, and one sentence, which shows no value, for one of another kind."""

from __future__ import annotations

import math
import numbers
import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, MappingView, Set, Sized
from decimal import Decimal
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from maskwell.core.exact import as_fraction, percent_meant, to_float
from maskwell.core.phrases import listed, short_repr, shorten
from maskwell.errors import CountsError, InputError, MissingValueError, ParameterError, WrongTypeError

Array: TypeAlias = NDArray[Any]  # an array whose kind the context tells

Real: TypeAlias = NDArray[np.float64]  # proportions, matrices, covariances

Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]  # codes 0..k-1 in the smallest unsigned type that holds them

Bits: TypeAlias = NDArray[np.uint8]
"""Sets of categories, shape (n, ceil(k/8)): category j is bit j % 8, least significant first, of byte j // 8."""

Words: TypeAlias = NDArray[np.uint32]  # random words, shape (rows, words per row)


def code_type(count: int) -> np.dtype[Any]:
    """The smallest unsigned type that holds the codes 0..count-1."""
    return np.dtype(next(f"u{size}" for size in (1, 2, 4, 8) if count <= 2 ** (8 * size) or size == 8))


Flag = bool | np.bool_
RealNumber, WholeNumber = numbers.Real, numbers.Integral
WORDS: Mapping[str, str] = {
    "Callable": "a function",
    "Integral": "a whole number",
    "Mapping": "a dictionary",
    "PathLike": "a path",
    "Real": "a number",
    "bool": "True or False",
    "str": "a text",
}
LARGEST_COUNT = 2**63 - 1
HIGHEST_LEVEL, LOWEST_LEVEL = 1 - 1e-12, Fraction(1, 10**12)
MOST = 10**9  # elements that a list may have
MATRIX = "mw.designs.Dense.of(matrix) if columns sum to 1, mw.designs.Dense.from_rows(matrix) if rows do"
MADE_BY: Mapping[str, str] = {
    "Categories": 'write mw.Categories.of(["yes", "no"]), or mw.Categories.numbered(k)',
    "Choice": "make one: mw.choose(k, demand)",
    "Counts": "count the reports with their design: design.tally(reports)",
    "Demand": "make one, for instance mw.Demand.from_gamma(3)",
    "Design": 'make one, for instance mw.designs.Uniform.from_gamma(3, mw.Categories.of(["yes", "no"]))',
    "Device": "make one of a design: mw.device(design)",
    "Estimate": "make one: mw.estimation.estimate_by_moments(design.tally(reports), design)",
    "KeyedRandom": "make one of a key file: mw.KeyedRandom.from_file(path, dataset)",
    "Receipt": "read one: mw.microdata.load_receipt(path)",
    "Release": "make one: mw.release(data, plan, folder)",
    "ReleasePlan": "read one: mw.microdata.load_plan(path)",
    "Reports": "draw them: design.sample(codes)",
    "Sample": "make one: mw.estimation.Sample(design.tally(reports), design)",
    "Sampling": "make one, for instance mw.Sampling(weights=weights)",
    "Sparse": "make one of a design: mw.designs.Sparse.of_matrix(design.exact_matrix())",
    "bool": "write True or False",
    "str": "write it in quotation marks",
}


def check_kind(kind: Any, /, **given: object) -> None:
    """Raise unless every argument is of a kind, which may be a union such as ``Demand | None``."""
    for name, value in given.items():
        if not isinstance(value, kind):
            kinds = list(get_args(kind)) if isinstance(kind, UnionType) else [kind]
            expected = " or ".join(dict.fromkeys("None" if one is NoneType else a_kind(one) for one in kinds))
            raise WrongTypeError(
                "name-must-be-expected-not-value",
                hint=_hint(kinds[0], value),
                name=name,
                expected=expected,
                value_kind=kind_of(value),
            )


def a_kind(kind: type) -> str:
    """The name of a kind with its article."""
    name = kind.__name__
    vowel = name[0].lower() in "aeio" or name.startswith("nd")
    return WORDS.get(name) or f"{'an' if vowel else 'a'} {shorten(name, 30)}"


def kind_of(value: object) -> str:
    """What was given, without its value."""
    if value is None:
        return "None"
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    return f"the class {shorten(value.__name__, 30)}" if isinstance(value, type) else a_kind(type(value))


def _hint(kind: type, value: object) -> str:
    name = next((base.__name__ for base in kind.__mro__ if base.__name__ in MADE_BY), "")
    if "Design" in {base.__name__ for base in kind.__mro__}:
        if isinstance(value, str) or hasattr(value, "__fspath__"):
            return "read a design file: mw.load_design(path)"
        if isinstance(value, list | tuple) or hasattr(value, "__array__"):
            return MATRIX
    return MADE_BY.get(name, f"give {a_kind(kind)}")


def shown_short(value: object) -> str:
    """A value that was typed, on one line; only what it is where it is long."""
    return short_repr(value, kind_of(value))


def check_option(name: str, given: object, allowed: Collection[str]) -> None:
    """Raise unless a word is among those that are allowed."""
    if not isinstance(given, str) or given not in allowed:
        typed = shorten(repr(given)) if isinstance(given, str) else shown_short(given)
        few = len(allowed) < 3
        choice = " or ".join(map(repr, allowed)) if few else "one of " + listed(map(repr, allowed), len(allowed), 60)
        raise ParameterError("name-typed", name=name, typed=typed, choice=choice)


def check_path(**given: object) -> None:
    """Raise unless every argument can be the path of a file."""
    for name, value in given.items():
        check_kind(str | os.PathLike, **{name: value})
        try:
            possible = b"\0" not in os.fsencode(os.fspath(value))  # type: ignore[call-overload]
        except (UnicodeError, TypeError):
            possible = False
        if not possible or not os.fspath(value):  # type: ignore[call-overload]
            raise InputError("cannot-be-the-path", name=name)


def check_ordered(values: object, name: str) -> None:
    """Raise for a set: its order follows from hashes, and differs from run to run. Keys of a dictionary have one."""
    if isinstance(values, Set) and not isinstance(values, MappingView):
        raise WrongTypeError("must-be-a-list-not-which", name=name, values_kind=kind_of(values))


def as_list(values: Any, name: str) -> list[Any]:
    """A list of the given items: not a string, a single value or an endless iterator."""
    check_ordered(values, name)
    fits = isinstance(values, Iterable) and not isinstance(values, str | bytes) and getattr(values, "ndim", 1) > 0
    if not fits or (isinstance(values, Sized) and _length(values) > MOST):
        raise WrongTypeError("must-be-a-list-not", name=name, values_kind=kind_of(values))
    return list(values)


def _length(values: Sized) -> int:
    try:
        return len(values)
    except (TypeError, OverflowError):
        return MOST + 1


def list_of(kind: Any, values: Any, name: str) -> list[Any]:
    """A list whose elements are all of one kind."""
    elements = as_list(values, name)
    for i, value in enumerate(elements):
        check_kind(kind, **{f"{name}[{i}]": value})
    return elements


def pairs_of(values: Any, name: str) -> list[tuple[Any, Any]]:
    """A list of pairs."""
    pairs = as_list(values, name)
    lists = (isinstance(pair, tuple | list) or (isinstance(pair, np.ndarray) and pair.ndim > 0) for pair in pairs)
    if not all(is_list and len(pair) == 2 for pair, is_list in zip(pairs, lists, strict=True)):
        raise InputError("are-not-all-pairs", name=name)
    return [(one, two) for one, two in pairs]


def as_mapping(values: Any, name: str) -> Mapping[Any, Any]:
    """What was given, if it is a dictionary."""
    if not isinstance(values, Mapping):
        raise WrongTypeError("must-be-a-dictionary-not", name=name, values_kind=kind_of(values))
    return values


def mask_of(values: Any) -> NDArray[np.bool_] | None:
    """Which elements of a masked array are masked; None for anything else."""
    if "numpy.ma" not in sys.modules or not np.ma.isMaskedArray(values):  # who made such an array has loaded it
        return None
    return np.asarray(np.ma.getmaskarray(values))


def as_array(values: Any, name: str) -> Array:
    """An array of any kind, of as many dimensions as the lists have levels."""
    if isinstance(values, range) and _length(values) > MOST:
        raise WrongTypeError("has-too-many-elements", name=name, most=MOST)
    masked = mask_of(values)
    if masked is not None and masked.any():
        raise MissingValueError("has-masked-values", name=name)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError("cannot-be-made-into-an-array", name=name, values=error) from None
    return array


def as_floats(values: Any, name: str, *, finite: bool = True) -> Real:
    """Numbers as an array of floats: not strings, not complex, and finite by default."""
    array = as_array(values, name)
    if array.dtype.kind not in "buifO" and array.size:
        raise WrongTypeError("name-are-not-numbers", name=name)
    try:
        with np.errstate(over="ignore"):
            result: Real = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise WrongTypeError("name-are-not-numbers", name=name) from None
    if finite and not np.isfinite(result).all():
        raise InputError("are-not-all-finite-numbers", name=name)
    return result


def exact_sum(values: NDArray[Any]) -> int:
    """The sum of whole numbers of 0 or more, which may be larger than 64 bits hold."""
    whole = np.asarray(values).astype(np.int64, copy=False)
    return (int((whole >> 32).sum()) << 32) + int((whole & 0xFFFFFFFF).sum())


MOST_REPORTS = 2**53  # of all counts together: floats hold whole numbers up to this


def check_sum_of_counts(total: float, name: str = "counts") -> None:
    """Raise where counts add up to more than can be counted."""
    if total > MOST_REPORTS:
        raise CountsError("must-add-up-to-at-most", name=name, total=total)


def as_whole_numbers(values: Any, name: str) -> NDArray[np.int64]:
    """Whole numbers as an array of integers; nothing is rounded."""
    whole = as_floats(values, name)
    if (whole != np.floor(whole)).any() or (np.abs(whole) > 2**53).any():
        raise InputError("are-not-all-whole-numbers", name=name)
    return whole.astype(np.int64)


def as_real(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number in a range."""
    number = to_float(as_fraction(value, name))
    if not low <= number <= high or math.isinf(number):
        allowed = f"from {low:g} to {high:g}" if high < math.inf else f"of {low:g} or more" if low > -math.inf else ""
        raise ParameterError(
            "is-out-of-range",
            hint=f"give a number {allowed}".strip(),
            name=name,
            value_shown=shorten(str(value)),
            value=value,
        )
    return number


def check_level(level: Any, *, highest: float = HIGHEST_LEVEL) -> float:
    """A level of confidence strictly between 0 and 1, and not so near to either that no quantile is left."""
    if not isinstance(level, str | Decimal):
        check_kind(RealNumber, level=level)
    value = as_fraction(level, "level")
    if not 0 < value < 1:
        raise ParameterError("level-is-not-strictly-between-0", percent_meant=percent_meant(level), level=level)
    if value > highest:
        raise ParameterError("level-is-too-near-to-1", level=level)
    if value < LOWEST_LEVEL:
        raise ParameterError("level-is-too-near-to-0", level=level)
    return float(value)


def as_count(value: object, name: str) -> int:
    """A whole number, or an error."""
    if type(value) is int and abs(value) <= LARGEST_COUNT:
        return value  # the common case among a million
    try:
        number = as_fraction(value, name)  # type: ignore[arg-type]
    except ParameterError as error:
        if error.__cause__ is None:  # a number, with more digits than can be held
            raise
        raise _no_count(repr(value), name, value) from error
    if number.denominator != 1:
        raise _no_count(str(value), name, value)
    if abs(number) > LARGEST_COUNT:
        raise ParameterError(
            "is-larger-than-any-count",
            name=name,
            value_shown=shorten(str(value), 40),
            largest_count=LARGEST_COUNT,
            value=value,
        )
    return int(number)


def _no_count(typed: str, name: str, value: object) -> ParameterError:
    """The error; digits in groups are common enough for an error of their own."""
    grouped = re.fullmatch(r"\d{1,3}([ ,_.']\d{3})+", str(value).strip())
    digits = re.sub("[^0-9]", "", str(value))
    hint = f"write {digits}, digits only" if grouped else "give a whole number such as 10"
    return ParameterError("is-not-a-whole-number-2", hint=hint, shown_name=name, shown_typed=typed, **{name: value})


def as_whole(value: Any, name: str, *, low: int = 0, high: int = LARGEST_COUNT) -> int:
    """A whole number in a range."""
    number = as_count(value, name)
    if not low <= number <= high:
        allowed = f"of {low} or more" if high >= 2**31 else f"from {low} to {high:,}"
        raise ParameterError(
            "is-not-a-whole-number-give", name=name, value_shown=shorten(str(value)), allowed=allowed, value=value
        )
    return number


LARGEST_SQUARED = 1e150


def check_counts(values: Any, *, weighted: bool = False, name: str = "counts") -> Real:
    """Counts as one column of floats; finite, 0 or more, not all 0, and whole unless ``weighted``."""
    try:
        counts = as_floats(values, name, finite=False)
    except (TypeError, ValueError, OverflowError):
        counts = np.empty((0, 0))
    if counts.ndim != 1 or not len(counts):
        raise CountsError("must-be-one-column-of-numbers", name=name)
    kept = np.where(np.isfinite(counts), counts, 0)
    faults = [(~np.isfinite(counts), "is not a finite number"), (kept < 0, "is negative")]
    faults += [] if weighted else [(kept != np.floor(kept), "is not a whole number")]
    for wrong, what in faults:
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            hint = "sums of weights are 0 or more" if weighted else "counts are whole numbers of 0 or more"
            raise CountsError(f"{name}[{place}] = {counts[place]:g} {what}", hint=hint, **{name: values})
    if not counts.sum() > 0:
        raise CountsError("are-all-zero", shown_name=name, **{name: values})
    return counts


def check_weights(values: Any, n: int, *, name: str = "weights", row: int = 0) -> Real:
    """Weights: finite and above zero. ``row`` is the number of rows before these, for the message."""
    weights = numbers_of_rows(values, name, n)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        hint = "leave rows out that are not in the sample, and give every other row its weight"
        raise _wrong_rows(weights, bad, name, f"is not a number above 0 ({len(bad):,} such)", hint, row)
    return weights


def _wrong_rows(values: Real, bad: Array, name: str, what: str, hint: str, row: int) -> ParameterError:
    """The error for a column in which some rows, at the places ``bad``, hold what they cannot hold."""
    return ParameterError(
        "the-value-in-row",
        hint=hint,
        name=name,
        row_plus_bad_number=row + int(bad[0]) + 1,
        what=what,
        values=f"{values[bad[0]]:g}",
        rows=bad[:10].tolist(),
    )


def check_inclusion(values: Any, n: int, *, name: str = "inclusion probabilities", row: int = 0) -> Real:
    """Probabilities above 0 and up to 1, with a hint for percentages and for weights."""
    chances = numbers_of_rows(values, name, n)
    bad = np.flatnonzero(~((chances > 0) & (chances <= 1)))
    if len(bad):
        high = np.nanmax(chances)
        percent = " (percentages? divide by 100)" if 1 < high <= 100 else ""
        hint = "give probabilities such as 0.25; a weight of 4 is the probability 1/4"
        raise _wrong_rows(chances, bad, name, f"is not above 0 and up to 1{percent}", hint, row)
    return chances


def check_population(values: Any, n: int, *, stage: int = 1, row: int = 0) -> Real:
    """Numbers of units that a stage was drawn from: finite, at least 1."""
    name = f"population of stage {stage}"
    sizes = numbers_of_rows(values, name, n)
    bad = np.flatnonzero(~(np.isfinite(sizes) & (sizes >= 1)))
    if len(bad):
        fraction = "a sampling fraction f of n units means a population of n / f" if sizes[bad[0]] > 0 else ""
        hint = fraction or "give how many units there were to draw from, 1 or more"
        raise _wrong_rows(sizes, bad, name, "is not a number of units", hint, row)
    return sizes


def check_replicates(values: Any, n: int, *, row: int = 0) -> Real:
    """Replicate weights, shape (n, R): finite, 0 or more, at least two columns."""
    replicates = numbers_of_rows(values, "replicate weights", n, columns=True)
    if replicates.shape[1] < 2:
        raise ParameterError(
            "replicate-weights-for-each-row", replicates_shape=replicates.shape[1], shape=replicates.shape
        )
    bad = np.argwhere(~(np.isfinite(replicates) & (replicates >= 0)))
    if len(bad):
        i, r = bad[0].tolist()
        raise ParameterError(
            "replicate-weights-row-column-is-not",
            row_plus_i_number=row + i + 1,
            r_number=r + 1,
            values=f"{replicates[i, r]:g}",
        )
    return replicates


def numbers_of_rows(values: Any, name: str, n: int, *, columns: bool = False) -> Real:
    """A column of n floats (or, with ``columns``, a table of n rows); one number applies to all rows."""
    floats = as_floats(values, name, finite=False)
    if ((floats > LARGEST_SQUARED) & (floats < np.inf)).any():
        raise ParameterError("are-too-large-to-be-squared", name=name)
    if floats.ndim == 0 and not columns:
        return np.full(n, float(floats))
    if floats.ndim != 1 + columns or len(floats) != n:
        what = f"{len(floats):,} {name}" if floats.ndim == 1 + columns else f"{name} of shape {floats.shape}"
        raise InputError("what-for-rows-rows", what=what, shape=floats.shape, rows=n)
    return floats

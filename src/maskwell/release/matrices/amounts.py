"""What a matrix should keep on average: counts, shares or weighted counts, read without rounding.

All constructions of this folder take such a vector v; its scale is of no importance to most of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, as_array, as_list, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import as_fraction, common_denominator
from maskwell.core.phrases import MESSAGE, listed
from maskwell.designs.coded import CodedDesign
from maskwell.errors import CountsError, MaskwellError, MissingValueError

WIDE = 1 << 62
"""Integers below this are worked on as machine words."""

_LARGEST = 10**150
"""Floats hold the product of two such integers."""


@dataclass(frozen=True, eq=False)
class Amounts:
    """A vector v of 0 or more as integers over one denominator: ``v = integers / scale``.

    ``integers`` has shape (k,): machine words where they fit, else Python's integers.
    """

    integers: Array
    scale: int

    @property
    def support(self) -> Array:
        """Which states hold anything, shape (k,)."""
        return np.asarray(self.integers > 0, dtype=bool)

    @property
    def whole(self) -> bool:
        """Whether these are whole numbers, as counts are."""
        return self.scale == 1

    @property
    def floats(self) -> Real:
        """The nearest floats."""
        try:
            return np.asarray(self.integers / self.scale, dtype=np.float64)
        except OverflowError:
            raise CountsError("a count is too large", hint="give counts of ordinary size") from None

    def __len__(self) -> int:
        return len(self.integers)


def read_amounts(v: Any, *, weighted: bool = False) -> Amounts:
    """The counts of k states, or an error that names the first that cannot be one.

    Parameters
    ----------
    v
        k numbers of 0 or more, not all 0. A float stands for its shortest decimal text.
    weighted
        Whether fractions are allowed: sums of weights, or shares.

    >>> read_amounts([12, 8, 3]).integers.tolist()
    [12, 8, 3]
    >>> weighted = read_amounts([0.5, 0.3, 0.2], weighted=True)
    >>> weighted.integers.tolist(), weighted.scale   # five to three to two
    ([5, 3, 2], 10)
    """
    values = _column(v)
    exact = _whole(values)
    amounts = Amounts(exact, 1) if exact is not None else _fractions(values)
    if not weighted and not amounts.whole:
        state = next(j for j, n in enumerate(amounts.integers) if n % amounts.scale)
        raise CountsError(
            f"the count of state {state} is {values[state]}, not a whole number",
            hint="counts are numbers of records; for weights or shares say that they are (weighted=True)",
            state=state,
        )
    _check_not_negative(amounts.integers, values)
    if amounts.integers.dtype == object and (largest := max(amounts.integers)) > _LARGEST:
        what = "too large" if largest > _LARGEST * amounts.scale else "of too different sizes"
        raise CountsError(f"the counts are {what}", hint="give counts of ordinary size")
    return amounts


def check_one_each(design: CodedDesign, counts: Array) -> None:
    """Raise unless there is a count for each true category."""
    if design.k != len(counts):
        raise CountsError(f"{len(counts):,} counts for {design.k:,} categories", hint="give one for each category")


def labels_for(amounts: Amounts, categories: Categories | None) -> Categories:
    """The labels of the states: as given, or 0..k-1; an error where their number differs."""
    check_kind(Categories | None, categories=categories)
    if categories is None:
        return Categories.numbered(len(amounts))
    if len(categories) != len(amounts):
        raise CountsError(
            f"{len(amounts)} counts for {len(categories)} categories", hint="give one count for each category"
        )
    return categories


def as_words(values: Array, bound: int) -> Array:
    """Integers as machine words where ``bound``, which no result will exceed, fits into one; else Python's integers."""
    return values.astype(np.int64 if bound < WIDE else object)


def support(v: Any) -> Array:
    """The states that occur, by number.

    >>> support([5, 0, 3]).tolist()
    [0, 2]
    """
    return np.flatnonzero(read_amounts(v, weighted=True).support)


def _column(v: Any) -> Array:
    try:
        values = as_array(v, "counts") if isinstance(v, np.ndarray) else _listed(v)
    except MissingValueError:
        raise
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not len(values):
        raise CountsError("counts must be one column of numbers, at least one", hint="give one count for each state")
    return values


def _listed(v: Any) -> Array:
    values: Sequence[Any] = as_list(v, "counts")
    plain = all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values)
    return np.array(values) if plain and max(map(abs, values), default=0) < WIDE else np.array(values, dtype=object)


def _whole(values: Array) -> Array | None:
    """The values as machine words, where they are whole numbers of ordinary size."""
    if values.dtype.kind in "iu" and int(values.max()) < WIDE:
        return values.astype(np.int64)
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.floor(values)).all():
        return values.astype(np.int64) if np.abs(values).max() < 2**53 else None
    return None


def _fractions(values: Array) -> Amounts:
    exact = [_fraction(value, state) for state, value in enumerate(values.tolist())]
    scale = common_denominator(exact)
    integers = [value.numerator * (scale // value.denominator) for value in exact]
    return Amounts(np.array(integers, dtype=np.int64 if max(map(abs, integers)) < WIDE else object), scale)


def _fraction(value: Any, state: int) -> Fraction:
    try:
        return as_fraction(value, f"the count of state {state}")
    except MaskwellError as error:
        raise CountsError(
            f"the count of state {state} is {value!r}, not a finite number", hint="give numbers of 0 or more"
        ) from error


def _check_not_negative(integers: Array, values: Array) -> None:
    wrong = np.flatnonzero(integers < 0)
    if len(wrong):
        states_text = listed((f"state {j} has {values[j]}" for j in wrong.tolist()), len(wrong), MESSAGE - 20)
        raise CountsError(f"negative counts: {states_text}", hint="give numbers of 0 or more", states=wrong)
    if not (integers > 0).any():
        raise CountsError("all counts are zero", hint="there is nothing to release; give the counts of the file")

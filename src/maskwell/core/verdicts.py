"""Comparing a computed number with a limit: the last bit of a computation decides nothing.

Whatever is met or not, refused or released is decided here::

    tied       value = limit                              where both are integers or fractions
               |value - limit| <= 1e-9 scale              otherwise
    at_most    below or tied        below    <  and not tied
    at_least   above or tied        above    >  and not tied

where ``scale`` is the larger of the two, or of the numbers they were computed from. A caller that must err chooses the
comparison that counts a tie for the safe side. NaN is neither below, above nor tied.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:  # texts and commands load without NumPy
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[Any]

EXACT_SLACK = Fraction(1, 10**9)
SLACK = float(EXACT_SLACK)  # relative error of a computed number that changes no verdict; exact fractions need none

_MOST_OF_A_STEP = 0.01  # of large numbers the slack is not more than this, or it would hold many whole ones

Scalar: TypeAlias = "int | float | Fraction | np.integer[Any]"


@dataclass(frozen=True)
class Comparison:
    """One of the four comparisons, for single numbers and for arrays.

    >>> at_most(0.1 + 0.2, 0.3), below(0.3, 0.1 + 0.2), above(0.1 + 0.2, 0.3), at_least(0.3, 0.1 + 0.2)
    (True, False, False, True)
    >>> below(49 * Fraction(1, 49), 1), below(49 * (1 / 49), 1), below(Fraction(10**12 - 1, 10**12), 1)
    (False, False, True)
    """

    of_side: Callable[[Any, int], Any]

    @overload
    def __call__(self, value: Scalar, limit: Scalar, *, scale: float = 0.0) -> bool: ...
    @overload
    def __call__(
        self, value: Numbers, limit: Numbers | Scalar, *, scale: Numbers | float = 0.0
    ) -> NDArray[np.bool_]: ...
    def __call__(self, value: Any, limit: Any, *, scale: Any = 0.0) -> Any:
        """Whether it holds, for each number of an array; ``scale`` is the size of what they were computed from."""
        return self.of_side(_side(value, limit, scale), 0)


at_most, below = Comparison(operator.le), Comparison(operator.lt)
at_least, above = Comparison(operator.ge), Comparison(operator.gt)
tied = Comparison(operator.eq)


@overload
def is_inside(share: float) -> bool: ...
@overload
def is_inside(share: Numbers) -> NDArray[np.bool_]: ...
def is_inside(share: Any) -> Any:
    """Whether an estimated share lies between 0 and 1, and is neither."""
    return above(share, 0, scale=1) & below(share, 1)


@overload
def is_outside(share: float) -> bool: ...
@overload
def is_outside(share: Numbers) -> NDArray[np.bool_]: ...
def is_outside(share: Any) -> Any:
    """Whether an estimated share lies below 0 or above 1."""
    return below(share, 0, scale=1) | above(share, 1)


def _side(value: Any, limit: Any, scale: Any) -> Any:
    """-1, 0 or 1: on which side of the limit a number lies; NaN for one that is not a number."""
    if not (isinstance(value, Real) and isinstance(limit, Real) and isinstance(scale, Real)):
        return _sides(value, limit, scale)
    if not (isinstance(value, Rational) and isinstance(limit, Rational)):
        value, limit = _to_float(value), _to_float(limit)
        gap = abs(value - limit)
        if gap <= SLACK * max(abs(value), abs(limit), scale) and math.isfinite(gap):
            return 0
        if math.isnan(value) or math.isnan(limit):
            return math.nan
    return int(value > limit) - int(value < limit)


def _sides(value: Any, limit: Any, scale: Any) -> Any:
    """The same for arrays; integers are compared as they are."""
    import numpy as np

    a, b = (_to_float(one) if isinstance(one, Fraction) else np.asarray(one) for one in (value, limit))
    if all(np.asarray(one).dtype.kind in "iub" for one in (a, b)):
        return np.greater(a, b).astype(np.int8) - np.less(a, b).astype(np.int8)
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = a - b
        near = np.abs(gap) <= SLACK * np.maximum(np.maximum(np.abs(a), np.abs(b)), scale)
    return np.where((a == b) | (near & np.isfinite(gap)), 0.0, np.sign(gap))


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def ranked(values: Numbers) -> NDArray[np.intp]:
    """Places of numbers, the largest first; those that are tied with the next keep the order in which they came."""
    import numpy as np

    order = np.argsort(-values, kind="stable")
    falls = below(values[order][1:], values[order][:-1])
    return order[np.lexsort((order, np.concatenate([[0], np.cumsum(falls)])[: len(order)]))]


def largest(values: Numbers) -> int:
    """The first place whose number is the largest, or tied with it."""
    return int(at_least(values, values.max()).argmax())


def ceil_of(value: float | Fraction) -> int:
    """The least whole number that is not below a computed one, but for its last bits; exact for a fraction."""
    if isinstance(value, Rational):
        return math.ceil(value)
    return math.ceil(value - min(SLACK * abs(value), _MOST_OF_A_STEP))


def floor_of(value: float | Fraction) -> int:
    """The greatest whole number that is not above a computed one, but for its last bits; exact for a fraction."""
    return -ceil_of(-value)

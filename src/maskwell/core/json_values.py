"""Values of any kind as JSON can hold them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any


def plain(value: Any) -> Any:
    """A value as JSON can hold it: infinity as text, no NaN, fractions as text, library numbers as plain ones.

    >>> plain({"parity": math.inf, "p": Fraction(1, 6), "se": math.nan})
    {'parity': 'inf', 'p': '1/6', 'se': None}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else None if math.isnan(number) else "inf" if number > 0 else "-inf"
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if type(value) is list and set(map(type, value)) == {float} and all(map(math.isfinite, value)):
        return value  # a million of them are seen at a glance
    return [plain(item) for item in value] if isinstance(value, Iterable) else str(value)

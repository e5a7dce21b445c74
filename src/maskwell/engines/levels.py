"""Columns of a file as codes into the labels that occur in them, found batch by batch."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.engines.arrow_arrays import require
from maskwell.engines.arrow_checks import column_errors
from maskwell.engines.labelled_columns import ColumnLabels
from maskwell.errors import TooLargeError, UnknownCategoryError, WrongTypeError

MOST_LEVELS = 10**5
"""Labels that a column may have to count as a category."""

MISSING = -1
"""The code of a row without a value."""

Label = Hashable


class LevelCoder:
    """Turns one column into codes, batch after batch; labels get their codes as they are met.

    With ``levels`` the labels are given, and any other is an error.

    >>> import pyarrow as pa
    >>> coder = LevelCoder("smokes")
    >>> coder.codes(pa.array(["no", None, "yes"])).tolist(), coder.labels
    ([0, -1, 1], ['no', 'yes'])
    """

    def __init__(self, column: str, levels: Sequence[Label] | None = None, about: ColumnLabels | None = None) -> None:
        self.column = column
        self.labels: list[Label] = [] if levels is None else [label for label in levels if label is not None]
        self._fixed = levels is not None
        self._places: dict[Label, int] = {label: i for i, label in enumerate(self.labels)}
        self.about = about
        self._last: tuple[Any, Array] | None = None
        self.most: int | None = None
        """Labels that are told apart; further ones count with the last. ``None``: too many are an error."""

    def codes(self, values: Any) -> Array:
        """Codes of the next rows, int32; -1 where there is no value."""
        arrow = require()
        coded = values if arrow.types.is_dictionary(values.type) else values.dictionary_encode()
        table = self._table(coded.dictionary)
        indices = coded.indices
        if indices.null_count:
            indices = indices.cast(arrow.int64()).fill_null(len(table) - 1)  # one more than there are labels
        found: Array = table[integers_of(indices)]
        return found

    def _table(self, dictionary: Any) -> Array:
        """The code of each entry of a dictionary, and one more for none."""
        if self._last is not None and self._last[0].equals(dictionary):
            return self._last[1]
        if len(dictionary) > MOST_LEVELS and self.most is None:
            raise too_many_levels(self.column, len(dictionary))
        with column_errors(self.column):
            values = dictionary.to_pylist()
        found = [self._code(value) for value in values]
        table = np.array([*found, MISSING], dtype=np.int32)
        self._last = dictionary, table
        return table

    def _code(self, value: Any) -> int:
        label = self._label(value)
        if label is None:
            return MISSING
        try:
            place = self._places.get(label)
        except TypeError as error:
            raise WrongTypeError(
                f"column {self.column!r} holds values that cannot be categories",
                hint="use a column of texts or numbers",
                values=str(error),
            ) from None
        if place is None:
            place = self._add(label)
        return place

    def _label(self, value: Any) -> Label:
        if isinstance(value, float):
            if math.isnan(value):
                return None
            value = int(value) if value.is_integer() and abs(value) < 2**53 else value
        if self.about is not None and self._stands_for_missing(value):
            return None
        return value  # type: ignore[no-any-return]

    def _stands_for_missing(self, value: Any) -> bool:
        """Codes that an SPSS file declares missing, and empty texts of files that know no other missing text."""
        about = self.about
        if about is None or (about.text and not isinstance(value, str)):
            return False
        return (about.text and value == "") or any(low <= value <= high for low, high in about.missing)

    def _add(self, label: Label) -> int:
        if self._fixed:
            raise UnknownCategoryError(
                f"column {self.column!r} holds a value that was not there when the file was counted",
                hint="do not change the file while it is being released",
                values=repr(label),
                column=self.column,
                label=label,
            )
        if self.most is not None and len(self.labels) >= self.most:
            return self.most - 1
        if len(self.labels) >= MOST_LEVELS:
            raise too_many_levels(self.column, len(self.labels) + 1)
        self._places[label] = len(self.labels)
        self.labels.append(label)
        return len(self.labels) - 1


def integers_of(values: Any) -> Array:
    """Numbers of an Arrow array without missing ones, as they lie in memory; ``to_numpy`` would load pandas.

    >>> import pyarrow as pa
    >>> integers_of(pa.array([1, 2, 3], pa.int8()).slice(1)).tolist()
    [2, 3]
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    numbers = np.frombuffer(values.buffers()[1], dtype=str(values.type))
    return numbers[values.offset : values.offset + len(values)]


def too_many_levels(column: str, count: int) -> TooLargeError:
    """The error for a column that is no category."""
    return TooLargeError(
        f"column {column!r} has more than {min(count - 1, MOST_LEVELS):,} different values; a category has far fewer",
        hint="group its values into classes first, or leave it out of the plan",
        column=column,
    )

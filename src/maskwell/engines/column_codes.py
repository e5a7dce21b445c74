"""Columns of a batch as codes, by what is known of their values, and as numbers; each value is looked at once."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories, Encoded
from maskwell.core.groups import MISSING_NUMBER, NumberedColumn, joint_keys, mixed
from maskwell.core.groups import separate_codes as separate_keys
from maskwell.core.phrases import HINT, in_language, listed, option, shorten, shown_values
from maskwell.engines.arrow_arrays import column_errors, missing_rows, numbers_in_memory, require
from maskwell.engines.labelled_columns import ColumnLabels
from maskwell.errors import MissingValueError, ParameterError, TooLargeError, UnknownCategoryError, WrongTypeError

NAMED_LABELS = 10
LIKE_MISSING = {"na", "n/a", "#n/a", "nan", "null", "none", "nil", "."}
KEPT_OFFENDERS = 1000
_EMPTY_CELLS = (
    '; only empty cells are missing: in R, write.csv(d, f, na = "")',
    "; only None and empty cells are missing: replace these by None",
)
MOST_LEVELS = 10**5  # labels that a column may have to count as a category
MISSING = -1  # the code of a row without a value
UNKNOWN = -2  # the code of a value that is none of those that were given

Label = Hashable


def places_of(values: Any) -> tuple[Array, Any]:
    """For each row its place in the dictionary of a column, one behind the last for none; and the dictionary."""
    arrow = require()
    if arrow.types.is_float16(values.type):  # which Arrow before 22 encodes in no dictionary
        values = values.cast(arrow.float32())
    if arrow.types.is_float32(values.type) or arrow.types.is_float64(values.type):
        values = arrow.compute.add(values, arrow.scalar(0.0, values.type))  # one zero, whatever its sign
    coded = values if arrow.types.is_dictionary(values.type) else values.dictionary_encode()
    indices = coded.indices
    if indices.null_count:
        indices = indices.cast(arrow.int64()).fill_null(len(coded.dictionary))
    return numbers_in_memory(indices), coded.dictionary


def ids_of(column: Any, name: str) -> Array:
    """A column of ids, each as it is."""
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow.types.is_temporal(column.type):
        raise WrongTypeError("column-holds-which-is-no-id", name=shorten(repr(name), 24), type=column.type, column=name)
    ids: Array = column.to_numpy(zero_copy_only=False)
    return ids


class CategoryCoder:
    """Turns one column into codes of known categories, batch after batch; what cannot be used is in ``problems``."""

    def __init__(self, column: str, categories: Categories, missing: str, *, role: str = "category") -> None:
        self.column, self.categories, self._missing = column, categories, missing
        self.problems = Problems(column, categories, role=role)

    def codes(self, values: Any, first_row: int, places: Array | None = None) -> Encoded | None:
        """Codes of the values, or None when some of them cannot be used; ``places`` are their places in the batch."""
        rule = "category" if self._missing == "category" else "drop"
        try:
            with column_errors(self.column):
                encoded = self.categories.encode(values, missing=rule, match="text")
        except UnknownCategoryError as error:
            rows = cast(Array, error.objects["rows"])
            self.problems.note_unknown(cast(Mapping[Any, int], error.objects["offenders"]), rows, first_row, places)
            return None
        except MissingValueError as error:
            texts = map(str, self.categories.labels[:NAMED_LABELS])
            named = ",".join(f'"{text}"' if "," in text else text for text in texts)
            labels = named if len(self.categories) <= NAMED_LABELS and len(named) <= 28 else "..."
            further, label = option("categories", f"{labels},missing", '[..., "missing"]'), error.objects.get("label")
            raise MissingValueError(
                "column-has-missing-values", further=further, column=self.column, label=label
            ) from error
        if self._missing == "error" and encoded.kept is not None:
            self.problems.note_missing(~encoded.kept, first_row, places)
            return None
        return encoded


_EXPECTED = {"report": ("report of the design", "reports of the design"), "bit": ("bit", "bits")}
"""What one value of a column must be, and several, by its role; categories for the others."""


@dataclass
class Problems:
    """Values of one column that cannot be used, gathered over the whole file so that one error names all."""

    column: str
    categories: Categories
    offenders: Counter[Any] = field(default_factory=Counter)
    unknown: int = 0
    first_unknown: int | None = None
    missing: int = 0
    first_missing: int | None = None
    role: str = "category"
    """What a value must be: a category (of reports, or the truth), the report that the answers in several columns make,
    a group of rows, or a bit that shows whether an item is in a basket."""

    def __bool__(self) -> bool:
        return bool(self.unknown or self.missing)

    def note_missing(self, lost: Array, first_row: int, places: Array | None = None) -> None:
        """Remember how many rows have no value, and the first of them."""
        self.missing += int(lost.sum())
        if self.first_missing is None:
            self.first_missing = _row(int(np.argmax(lost)), first_row, places)

    def note_unknown(self, times: Mapping[Any, int], rows: Array, first_row: int, places: Array | None = None) -> None:
        """Remember values that cannot be used, how often each occurs, and the first of their rows."""
        self.unknown += sum(times.values())
        if self.first_unknown is None:
            self.first_unknown = _row(int(rows[0]), first_row, places)
        self._note_offenders(times)

    def _note_offenders(self, times: Mapping[Any, int]) -> None:
        for value, count in times.items():
            if value in self.offenders or len(self.offenders) < KEPT_OFFENDERS:
                self.offenders[value] += count

    def include(self, later: Problems, rows: int) -> None:
        """Add the problems of a later part of the table, which ``rows`` others come before."""
        self._note_offenders(later.offenders)
        self.unknown, self.missing = self.unknown + later.unknown, self.missing + later.missing
        self.first_unknown = earlier_row(self.first_unknown, later.first_unknown, rows)
        self.first_missing = earlier_row(self.first_missing, later.first_missing, rows)

    def error(self, rows: int) -> UnknownCategoryError | MissingValueError:
        """The one error for this column."""
        if self.unknown:
            return self._unknown_error(rows)
        told: dict[str, Any] = {"first_missing": self.first_missing, "column": self.column, "count": self.missing}
        are = "is" if self.missing == 1 else "are"
        return MissingValueError("of-values-missing-the-first", named=self._named, rows=rows, are=are, **told)

    @property
    def _named(self) -> str:
        return f"column{'s' * (self.role == 'report')} {shorten(repr(self.column), 24)}"

    def _unknown_error(self, rows: int) -> UnknownCategoryError:
        one = self.unknown == 1
        single, several = _EXPECTED.get(self.role, ("category of the design", "categories of the design"))
        are_not = f"is not a {single}" if one else f"are not {several}"
        are_not = are_not if self.role != "group" else f"{'has' if one else 'have'} no design"
        first = f",{'' if one else ' the first'} in data row {self.first_unknown}"
        empty = any(str(value).strip().lower() in LIKE_MISSING for value in self.offenders)
        then = in_language(*_EMPTY_CELLS) if empty else self._what_then()
        known = listed(map(repr, self.categories.labels), len(self.categories), HINT - len(f"allowed: {then}"))
        return UnknownCategoryError(
            "named-count-of-rows-values",
            named=self._named,
            rows=rows,
            are_not=are_not,
            first=first,
            known=known,
            then=then,
            values=shown_values(self.offenders, at_least=len(self.offenders) == KEPT_OFFENDERS),
            column=self.column,
            offenders=dict(self.offenders),
            count=self.unknown,
        )

    def _what_then(self) -> str:
        if self.role == "group":
            return "; give these rows a design too, or leave them out of the file"
        if self.role == "bit":
            return ": whether the item is in the basket, not how often"
        if self.role in ("category", "truth") and all(isinstance(label, tuple) for label in self.categories.labels):
            return "; name one column for each answer"
        return self._codes_hint() or "; recode these, or make another design"

    def _codes_hint(self) -> str:
        """What to do where the two answers were recorded as 1 and 0: only the user knows which is which."""
        texts = {str(value).strip().lower() for value in self.offenders}
        asked = {"category": "reports", "truth": "categories"}.get(self.role)
        if asked is None or len(self.categories) != 2 or not texts <= {"0", "1", "0.0", "1.0"}:
            return ""
        ones = ("1.0,0.0", "[1.0, 0.0]") if any("." in text for text in texts) else ("1,0", "[1, 0]")
        first = str(self.categories.labels[0])
        which = "in this order" if first in ("0", "1") else f"if 1 is {shorten(repr(first), 16)}"
        return f"; {which}, make the design with {option(asked, *ones)}"


def _row(place: int, first_row: int, places: Array | None) -> int:
    return first_row + (place if places is None else int(places[place]))


def earlier_row(first: int | None, later: int | None, rows: int) -> int | None:
    """The first row of a kind, in a part of a table or in a later one that ``rows`` others come before."""
    return first if first is not None or later is None else later + rows


def include_problems(problems: Sequence[Problems], later: Sequence[Problems], rows: int) -> None:
    """Add the problems of a later part of the table, which ``rows`` others come before, column by column."""
    for one, more in zip(problems, later, strict=True):
        one.include(more, rows)


def raise_first(problems: Iterable[Problems], rows: int) -> None:
    """Raise the error of the first column that has one."""
    for problem in problems:
        if problem:
            raise problem.error(rows)


def common_rows(encoded: Sequence[Encoded], rows: int) -> tuple[Array | None, list[Array]]:
    """Rows that have a value in every column (None when all have), and the codes of these rows in each column."""
    masks = [one.kept for one in encoded if one.kept is not None]
    if not masks:
        return None, [one.codes for one in encoded]
    kept = np.logical_and.reduce([np.ones(rows, dtype=np.bool_), *masks])
    return kept, [one.codes[kept if one.kept is None else kept[one.kept]] for one in encoded]


def joint_codes(codes: Sequence[Array], sizes: Sequence[int]) -> Array:
    """One code for each row of several columns, the first column slowest; a single column stays as it is."""
    return codes[0] if len(codes) == 1 else joint_keys(codes, sizes, len(codes[0]))


def separate_codes(joint: Array, sizes: Sequence[int]) -> list[Array]:
    """Undo :func:`joint_codes`."""
    return [joint] if len(sizes) == 1 else separate_keys(joint.astype(np.int64), sizes)


class LevelCoder:
    """Turns one column into codes, batch after batch, as labels are met; given ``levels`` are the only ones allowed."""

    def __init__(self, column: str, levels: Sequence[Label] | None = None, about: ColumnLabels | None = None) -> None:
        self.column = column
        self.labels: list[Label] = [] if levels is None else [label for label in levels if label is not None]
        self.fixed = levels is not None
        self._places: dict[Label, int] = {label: i for i, label in enumerate(self.labels)}
        self.about = about
        self.given: dict[Label, None] = {}  # labels in the order of a dictionary that is marked as ordered
        self.most: int | None = None  # labels that are told apart, the last with all further ones; else these raise
        self.gives_up: int | None = None  # labels above which a column that may be left out is coded no further
        self._given_up = False
        self._last: tuple[Any, Array] | None = None

    @property
    def has_given_up(self) -> bool:
        """Whether the column has more labels than are coded."""
        return self._given_up or (self.gives_up is not None and len(self.labels) > self.gives_up)

    def codes(self, values: Any) -> Array:
        """Codes of the next rows, int32; -1 for a missing value."""
        places, dictionary = places_of(values)
        self._given_up |= self.gives_up is not None and len(dictionary) > self.gives_up
        if self.has_given_up:
            return np.full(len(places), MISSING, dtype=np.int32)
        codes: Array = np.take(self._table(dictionary), places)
        if self.fixed and (codes == UNKNOWN).any():  # a dictionary may list what no record has
            label = dictionary[int(places[np.flatnonzero(codes == UNKNOWN)[0]])].as_py()
            raise UnknownCategoryError("column-holds-a-value", values=repr(label), column=self.column, label=label)
        if getattr(values.type, "ordered", False) and len(self.given) < len(self.labels):
            self.given.update(dict.fromkeys(map(self._label, dictionary.to_pylist())))
        return codes

    def _table(self, dictionary: Any) -> Array:
        """The code of each entry of a dictionary, and one more for none."""
        if self._last is not None and self._last[0].equals(dictionary):
            return self._last[1]
        if len(dictionary) > MOST_LEVELS and self.most is None:
            raise too_many_levels(self.column, len(dictionary))
        with column_errors(self.column):
            values = dictionary.to_pylist()
        table = np.array([*map(self._code, values), MISSING], dtype=np.int32)
        self._last = dictionary, table
        return table

    def _code(self, value: Any) -> int:
        label = self._label(value)
        if label is None:
            return MISSING
        try:
            place = self._places.get(label)
        except TypeError as error:
            raise WrongTypeError("column-holds-values-that-cannot", column=self.column, values=str(error)) from None
        return self._add(label) if place is None else place

    def _label(self, value: Any) -> Label:
        if isinstance(value, float):
            if math.isnan(value):
                return None
            value = int(value) if value.is_integer() and abs(value) < 2**53 else value
        about = self.about
        if about is None or (about.text and not isinstance(value, str)):
            return value  # type: ignore[no-any-return]
        # Codes that an SPSS file declares missing, and empty texts of files that know no other missing text.
        empty = about.text and value == ""
        return None if empty or any(low <= value <= high for low, high in about.missing) else value

    def _add(self, label: Label) -> int:
        if self.fixed:
            return UNKNOWN
        if self.most is not None and len(self.labels) >= self.most:
            return self.most - 1
        if len(self.labels) >= MOST_LEVELS:
            raise too_many_levels(self.column, len(self.labels) + 1)
        self._places[label] = len(self.labels)
        self.labels.append(label)
        return len(self.labels) - 1


def codes_of(coders: Mapping[str, LevelCoder], batch: Any) -> dict[str, Array]:
    """Codes of the next rows, by column."""
    return {name: coder.codes(batch.column(name)) for name, coder in coders.items()}


def too_many_levels(column: str, count: int) -> TooLargeError:
    """The error for a column without categories."""
    return TooLargeError(
        "column-has-more-than-different-values-a", count_sub=min(count - 1, MOST_LEVELS), column=column
    )


@cache
def _words() -> Array:
    chance = np.random.Generator(np.random.PCG64(20_260))
    return chance.integers(0, 1 << 63, 1 << 10, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def numbered_columns(columns: Mapping[str, Any]) -> dict[str, NumberedColumn]:
    """Columns of any type as numbers, by their names."""
    numbered = {}
    for name, column in columns.items():
        with column_errors(name):
            numbered[name] = numbered_column(column)
    return numbered


def numbered_column(column: Any) -> NumberedColumn:
    """Values of any type as numbers of 64 bits; those of integers are all different."""
    places, values = places_of(column if require().types.is_dictionary(column.type) else _simple(column))
    numbers = np.append(_numbers(values), MISSING_NUMBER)
    if values.null_count:
        numbers[:-1][np.array(values.is_null().to_pylist())] = MISSING_NUMBER
    return NumberedColumn(places.astype(np.int64), numbers)


def _simple(column: Any) -> Any:
    """Lists and other values with parts as texts, and values with a meaning of their own as they are stored."""
    arrow = require()
    if isinstance(column.type, arrow.BaseExtensionType):
        column = column.storage
    if arrow.types.is_nested(column.type) or arrow.types.is_interval(column.type):
        return arrow.array([None if value is None else repr(value) for value in column.to_pylist()], arrow.string())
    return column


def _numbers(values: Any) -> Array:
    arrow = require()
    types, kind = arrow.types, values.type
    if types.is_temporal(kind) and not types.is_interval(kind):
        values = values.cast(arrow.int32() if kind.bit_width == 32 else arrow.int64())
        kind = values.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return mixed(numbers_in_memory(values.cast(arrow.int64(), safe=False).fill_null(0)).view(np.uint64))
    if types.is_floating(kind):
        real = numbers_in_memory(values.cast(arrow.float64()).fill_null(0.0)) + 0.0
        return mixed(real.view(np.uint64))
    if "binary" in str(kind):  # of any length, or of one length as UUIDs are: bytes that need not be a text
        values = values.cast(arrow.binary())
    elif not (types.is_string(kind) or types.is_large_string(kind)):
        values = values.cast(arrow.string())
    return _text_numbers(values.cast(arrow.large_binary()))


def _text_numbers(values: Any) -> Array:
    """A number for each text: the sum of its bytes, each times a fixed random number for its place."""
    if not len(values):
        return np.zeros(0, dtype=np.uint64)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(ends)
    signs = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    place = np.arange(len(signs), dtype=np.int64) - np.repeat(ends[:-1] - ends[0], lengths)
    words = _words()
    factors = words[place % len(words)] + (place // len(words)).astype(np.uint64) * np.uint64(2)
    sums = np.append(np.uint64(0), np.cumsum((signs.astype(np.uint64) + np.uint64(1)) * factors, dtype=np.uint64))
    return mixed(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]] + lengths.astype(np.uint64))


LARGEST = 2.0**53
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def numbers_of(column: Any, name: str, row: int) -> Real:
    """A column of numbers, after ``row`` others; a text, a missing or an infinite value is refused with its row."""
    arrow = require()
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    check_no_missing(column, name, row)
    check_number_type(column.type, name)
    try:
        exact = not arrow.types.is_integer(column.type)  # those beyond 2^53 are refused by their size, below
        values = np.asarray(numbers_in_memory(column.cast(arrow.float64(), safe=exact)), dtype=np.float64)
    except arrow.ArrowException:
        for place, value in enumerate(column.to_pylist(), start=row + 1):
            if not isinstance(value, int | float) and not _NUMBER.fullmatch(str(value)):
                raise ParameterError(
                    "column-the-value-in-data-row-is-no", place=place, values=repr(str(value)), column=name
                ) from None
        raise ParameterError("column-does-not-hold-numbers", column=name) from None
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        place = row + int(wrong[0]) + 1
        raise ParameterError("column-the-value-in-data-row-is", place=place, values=str(values[wrong[0]]), column=name)
    return check_size(values, name, row)


def check_size(values: Real, name: str, row: int) -> Real:
    """Raise for numbers that are too large to be weights or populations; sums of their squares would be infinite."""
    wrong = np.flatnonzero(np.abs(values) > LARGEST)
    if len(wrong):
        told = {"values": str(values[wrong[0]]), "column": name}
        place = row + int(wrong[0]) + 1
        raise ParameterError("column-the-value-in-data-row-is-too", row_plus_wrong_number=place, **told)
    return values


def check_number_type(kind: Any, name: str) -> None:
    """Raise for dates and times, which Arrow would take for numbers of days or seconds."""
    if require().types.is_temporal(kind):
        raise ParameterError("column-holds-dates-or-times-not", column=name)


NEEDED = "the sampling plan must be known for every row; complete the column"


def check_no_missing(column: Any, name: str, row: int, needed: str = NEEDED) -> None:
    """Raise where a value is missing."""
    if column.null_count:
        lost = missing_rows(column)
        one, first = int(lost.sum()) == 1, row + int(np.argmax(lost)) + 1
        many = "1 value is missing, in" if one else f"{int(lost.sum()):,} values are missing, the first in"
        raise MissingValueError("column-data-row", hint=needed, many=many, first=first, column=name)

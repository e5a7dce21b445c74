"""Columns of labelled files: from what pyreadstat reads to Arrow, and from Arrow to what it writes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.phrases import shorten
from maskwell.engines.arrow import describe, require
from maskwell.engines.dates import as_dates, date_type
from maskwell.engines.labels import MISSING, ColumnLabels, value_text
from maskwell.errors import DataFileError

_NAN = 0x7FF8_0000_0000_0000
"""Bits of NaN. Letters of extended missing values travel in the bits below it: NaN for everyone else."""


# ---- reading


def column_type(about: ColumnLabels, kind: str, *, spoken: bool, exact: bool) -> Any:
    """The Arrow type in which a column comes."""
    arrow = require()
    if spoken:
        return arrow.dictionary(arrow.int32(), arrow.string())
    if about.text:
        return arrow.string()
    if exact:
        return arrow.float64()
    return date_type(kind, about.format) or (arrow.int32() if about.whole else arrow.float64())


def read_column(values: Sequence[Any], about: ColumnLabels, kind: str, *, spoken: bool, exact: bool) -> Any:
    """A piece of a column as an Arrow array of that type."""
    arrow = require()
    if about.text:
        found = arrow.array(values, arrow.string())
        if exact:
            return found
        texts = arrow.array([None if v == "" or _is_missing_text(v, about) else v for v in values], arrow.string())
        return _spoken_texts(texts, about) if spoken else texts
    numbers = _numbers(values)
    if exact:
        return arrow.array(numbers, mask=_bits(numbers) == _NAN)
    lost = np.isnan(numbers) | _in_ranges(numbers, about)
    if spoken:
        return _spoken_numbers(numbers, lost, about)
    form = column_type(about, kind, spoken=False, exact=False)
    if arrow.types.is_temporal(form):
        return as_dates(numbers, lost, kind, about.format)
    return arrow.array(np.where(lost, 0, numbers), mask=lost).cast(form)


def _numbers(values: Sequence[Any]) -> Real:
    """Numbers, with letters of extended missing values in the bits of NaN."""
    try:
        return np.where(np.isnan(found := np.array(values, dtype=np.float64)), math.nan, found)
    except ValueError:
        return np.array([_tagged(v) if isinstance(v, str) else math.nan if v is None else v for v in values])


def _tagged(letter: str) -> float:
    return float(np.array([_NAN | ord(letter[0])], dtype=np.uint64).view(np.float64)[0])


def _bits(numbers: Real) -> Array:
    return np.ascontiguousarray(numbers).view(np.uint64)


def _letters(numbers: Real) -> Array:
    """The letter of each extended missing value as a code, 0 elsewhere."""
    bits = _bits(numbers)
    return np.where(np.isnan(numbers) & (bits & 0xFFFF_FFFF_FFFF_FF80 == _NAN), bits & 0x7F, 0)


def _in_ranges(numbers: Real, about: ColumnLabels) -> Array:
    lost = np.zeros(len(numbers), dtype=bool)
    for low, high in about.missing:
        lost |= (numbers >= low) & (numbers <= high)
    return lost


def _is_missing_text(value: str, about: ColumnLabels) -> bool:
    return any(low <= value <= high for low, high in about.missing)


def _spoken_numbers(numbers: Real, lost: Array, about: ColumnLabels) -> Any:
    arrow = require()
    distinct, codes = np.unique(np.where(lost, 0.0, numbers), return_inverse=True)
    texts = arrow.array([about.label_of(value) for value in distinct.tolist()], arrow.string())
    return _dictionary(arrow.array(codes.astype(np.int32), mask=lost), texts)


def _spoken_texts(texts: Any, about: ColumnLabels) -> Any:
    coded = texts.dictionary_encode()
    labels = [about.label_of(value) for value in coded.dictionary.to_pylist()]
    return _dictionary(coded.indices, require().array(labels, require().string()))


def _dictionary(codes: Any, texts: Any) -> Any:
    """A dictionary of distinct labels; two values with one label become one."""
    arrow = require()
    return arrow.DictionaryArray.from_arrays(codes, texts).cast(arrow.string()).dictionary_encode()


def as_factor(values: Any, about: ColumnLabels) -> Any | None:
    """A column as the labels of its values, in the order of the values; None unless every value has a label.

    Labels that only repeat the values, and labels of some values alone (``99 = 99 and older``), leave numbers as they
    are.
    """
    arrow = require()
    spoken = arrow.types.is_dictionary(values.type)
    coded = values if spoken else values.dictionary_encode()
    labels = [*dict.fromkeys(about.values[value] for value in _in_order(about))]
    texts: list[Any] = [value if spoken else about.values.get(_key(value)) for value in coded.dictionary.to_pylist()]
    if not {*texts} <= {*labels} or _repeats(about):
        return None
    order = [label for label in labels if label in texts]
    place = {label: i for i, label in enumerate(order)}
    places = arrow.array([place[text] for text in texts], arrow.int32())
    return arrow.DictionaryArray.from_arrays(places.take(coded.indices), arrow.array(order), ordered=True)


def _in_order(about: ColumnLabels) -> list[Any]:
    return sorted(about.values, key=lambda value: (isinstance(value, str), value))


def _key(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) else value


def _repeats(about: ColumnLabels) -> bool:
    return all(value_text(value) == label for value, label in about.values.items())


# ---- writing


def written_column(
    values: Any, field: Any, about: ColumnLabels | None, ending: str, *, same: bool
) -> tuple[Any, ColumnLabels]:
    """A column as pandas has it, and what is to be written about it; ``same`` where source and sink are of one kind."""
    arrow = require()
    known = about or ColumnLabels()
    if arrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if (report := describe(field)) is not None:
        sets = report.get("encoding") == "bits"
        values, known = (values, _as_text(known)) if sets else _reports(values, known, field.name)
    known = _fitting(known, ending, same=same)
    if arrow.types.is_string(values.type) or arrow.types.is_large_string(values.type):
        return values.fill_null("").to_pandas().astype(object), replace(known, text=True)
    if arrow.types.is_temporal(values.type):
        return values.to_pandas(date_as_object=True), replace(known, format=None)
    if arrow.types.is_boolean(values.type):
        values = values.cast(arrow.int8())
    if not (arrow.types.is_integer(values.type) or arrow.types.is_floating(values.type)):
        kind = shorten(str(values.type), 20)
        raise DataFileError(
            f"column {shorten(repr(field.name), 20)} holds {kind}; {ending} files hold numbers, texts and dates",
            hint="leave this column out, or write a .parquet file",
            column=field.name,
        )
    return _pandas_numbers(values, known, ending)


def _reports(values: Any, about: ColumnLabels, name: str) -> tuple[Any, ColumnLabels]:
    """Reports as the values behind their labels, where all have one; else as texts, without labels."""
    arrow = require()
    plain = replace(about, format=None if about.text else about.format)
    if not arrow.types.is_string(values.type) or (about.text and not about.values):
        return values, plain
    coded = values.combine_chunks().dictionary_encode()
    texts = coded.dictionary.to_pylist()
    behind = about.value_of(texts, name)
    found = [behind.get(text, None if text == MISSING else _as_value(text, about)) for text in texts]
    if any(value is None for text, value in zip(texts, found, strict=True) if text != MISSING):
        return values, _as_text(about)
    kind = arrow.string() if about.text else arrow.float64()
    return arrow.array(found, kind).take(coded.indices), plain


def _as_text(about: ColumnLabels) -> ColumnLabels:
    """What remains to be said of a column whose reports are other texts than its values."""
    return ColumnLabels(text=True, label=about.label)


def _as_value(text: str, about: ColumnLabels) -> Any:
    """A value that has no label, written as text."""
    if about.text:
        return text
    try:
        return float(text)
    except ValueError:
        return None


def _fitting(about: ColumnLabels, ending: str, *, same: bool) -> ColumnLabels:
    """What a file of this kind can say about the column."""
    if not same:
        about = replace(about, format=None, missing=(), tagged=())
    if ending == ".dta":
        whole = {
            int(v) if isinstance(v, float) else v: label for v, label in about.values.items() if _is_stata(v, about)
        }
        return replace(about, values=whole)
    if ending == ".sav":
        return replace(about, values={v: t for v, t in about.values.items() if isinstance(v, str) == about.text})
    return about


def _is_stata(value: Any, about: ColumnLabels) -> bool:
    """Stata labels whole numbers and the letters of missing values."""
    if isinstance(value, str):
        return value in about.tagged and not about.text
    return not about.text and float(value).is_integer() and abs(value) < 2**31


def _pandas_numbers(values: Any, about: ColumnLabels, ending: str) -> tuple[Any, ColumnLabels]:
    pandas = importlib.import_module("pandas")
    numbers = np.asarray(values.cast(require().float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    letters = _letters(numbers)
    if letters.any() and ending == ".dta":
        column = numbers.astype(object)
        column[letters > 0] = [chr(code) for code in letters[letters > 0].tolist()]
        found = {chr(code) for code in np.unique(letters[letters > 0]).tolist()}
        return pandas.Series(column, dtype=object), replace(about, tagged=tuple(sorted(found.union(about.tagged))))
    if about.whole and not about.tagged and _are_whole(numbers):
        return pandas.Series(numbers).astype("Int32"), about
    return pandas.Series(numbers), about


def _are_whole(numbers: Real) -> bool:
    known = numbers[~np.isnan(numbers)]
    return bool((known == np.rint(known)).all() and (np.abs(known) < 2**31 - 100).all())

"""What labelled files (SPSS, Stata, SAS) record about their columns, and their values to and from Arrow."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.phrases import shorten
from maskwell.engines.arrow_arrays import describe, require
from maskwell.errors import DataFileError

MISSING = "missing"  # the category for missing values; as a report it is written as a missing value

KEEPS = {
    ".sav": {"variable labels", "value labels", "missing codes", "measurement levels", "formats", "notes"},
    ".dta": {"variable labels", "value labels", "formats"},
    ".xpt": {"variable labels", "formats"},
}
"""What each kind of file can hold; others hold none of it."""

INTEGERS = ("int8", "int16", "int32")


@dataclass(frozen=True)
class ColumnLabels:
    """What is known about one column."""

    text: bool = False
    whole: bool = False
    label: str | None = None  # the question or description
    values: Mapping[Any, str] = field(default_factory=dict)  # labels of values, by the value
    missing: tuple[tuple[Any, Any], ...] = ()  # ranges of values that stand for missing ones, as (low, high)
    tagged: tuple[str, ...] = ()  # letters of extended missing values of Stata and SAS
    format: str | None = None
    measure: str | None = None
    width: int | None = None

    def speaks(self, categories: Categories | None) -> bool:
        """Whether these categories are labels of the values, and not the values themselves."""
        if not self.values:
            return False
        if categories is None:
            return True
        texts = {value_text(label) for label in categories.labels[:1000]} - {MISSING}
        if texts <= {value_text(value) for value in self.values}:
            return False
        return bool(texts & set(self.values.values()))

    @property
    def as_text(self) -> ColumnLabels:
        """What remains to be said of a column whose reports are other texts than its values."""
        return ColumnLabels(text=True, label=self.label)

    @property
    def in_order(self) -> list[str]:
        """The labels, in the order of their values."""
        in_order = sorted(self.values, key=lambda value: (isinstance(value, str), value))
        return [*dict.fromkeys(self.values[value] for value in in_order)]

    def label_of(self, value: Any) -> str:
        """The label of a value, or the value itself as text."""
        return self.values.get(value, value_text(value))

    def value_of(self, categories: Sequence[str], column: str) -> dict[str, Any]:
        """The value behind each label; two values with one label cannot be distinguished."""
        behind: dict[str, Any] = {}
        for value, label in self.values.items():
            if label in behind and label in categories:
                values = f"{value_text(behind[label])}, {value_text(value)}"
                raise DataFileError("column-two-codes-have-the-label", label=label, values=values, column=column)
            behind.setdefault(label, value)
        return behind


@dataclass(frozen=True)
class Labels:
    """What is known about a file: its kind (an ending), its columns, and the file as a whole."""

    kind: str
    columns: Mapping[str, ColumnLabels]
    file_label: str | None = None
    notes: tuple[str, ...] = ()
    table_name: str | None = None
    response_sets: bool = False

    @classmethod
    def of(cls, meta: Any, kind: str) -> Labels:
        """From the metadata of pyreadstat."""
        columns = {name: _column_labels(meta, name) for name in meta.column_names}
        return cls(
            kind, columns, meta.file_label or None, tuple(meta.notes or ()), meta.table_name or None, bool(meta.mr_sets)
        )

    def has(self) -> list[str]:
        """What there is to keep, in words."""
        every = self.columns.values()
        present = {
            "variable labels": any(one.label for one in every),
            "value labels": any(one.values for one in every),
            "missing codes": any(one.missing or one.tagged for one in every),
            "measurement levels": any(one.measure not in (None, "unknown") for one in every),
            "notes": bool(self.notes),
            "multiple response sets": self.response_sets,
        }
        return [name for name, there in present.items() if there]

    def lost_in(self, ending: str) -> tuple[str, ...]:
        """What a file of another kind, or even of this kind, does not keep, in one sentence; nothing if all is kept."""
        kept = set(KEEPS.get(ending, ()))
        if ending == self.kind == ".dta":
            kept.add("missing codes")
        gone = [name for name in self.has() if name not in kept]
        if not gone:
            return ()
        named = gone[0] if len(gone) == 1 else f"{', '.join(gone[:-1])} and {gone[-1]}"
        return (f"a {ending} file does not keep {named} of the {self.kind} file",)


def value_text(value: Any) -> str:
    """A value as people type it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _column_labels(meta: Any, name: str) -> ColumnLabels:
    kind = meta.readstat_variable_types[name]
    ranges = [(r["lo"], r["hi"]) if isinstance(r, dict) else (r, r) for r in meta.missing_ranges.get(name, ())]
    labels = meta.variable_value_labels.get(name, {})
    values = {value if isinstance(value, str) else float(value): label for value, label in labels.items()}
    text = kind == "string"
    letters = {*meta.missing_user_values.get(name, ()), *(v for v in values if isinstance(v, str) and not text)}
    return ColumnLabels(
        text=text,
        whole=kind in INTEGERS,
        label=meta.column_names_to_labels.get(name) or None,
        values=values,
        missing=tuple(ranges),
        tagged=tuple(sorted(letters)),
        format=meta.original_variable_types.get(name) or None,
        measure=meta.variable_measure.get(name) or None,
        width=meta.variable_display_width.get(name) or None,
    )


# ---- dates
#
# They are numbers with a format. SPSS counts seconds from 14 October 1582, Stata days or milliseconds and SAS days or
# seconds from 1 January 1960. Other formats of time (quarters, hours of the day) stay numbers.

_DAY = 86_400
_1970 = date(1970, 1, 1)
_SINCE_1582 = (_1970 - date(1582, 10, 14)).days
_SINCE_1960 = (_1970 - date(1960, 1, 1)).days
SPSS_DATES = {"DATE", "ADATE", "EDATE", "JDATE", "SDATE"}
SPSS_TIMES = {"DATETIME", "YMDHMS"}
SAS_DATES = {"DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "IS8601DA", "B8601DA"}
SAS_TIMES = {"DATETIME", "E8601DT", "IS8601DT", "B8601DT"}


def _scale(kind: str, form: str | None) -> tuple[float, int, bool] | None:
    """Seconds in a unit, days before 1970 of its origin, and whether only the day counts."""
    if form is None:
        return None
    if kind == ".dta":
        if form.startswith(("%td", "%d")):
            return _DAY, _SINCE_1960, True
        return (0.001, _SINCE_1960, False) if form.startswith("%tc") else None
    name = re.sub(r"[\d.]+$", "", form.upper())
    if kind == ".sav":
        return (1.0, _SINCE_1582, name in SPSS_DATES) if name in SPSS_DATES | SPSS_TIMES else None
    if name in SAS_DATES:
        return _DAY, _SINCE_1960, True
    return (1.0, _SINCE_1960, False) if name in SAS_TIMES else None


_NAN = 0x7FF8_0000_0000_0000  # bits of NaN; letters of extended missing values travel below them, NaN for others


def column_type(about: ColumnLabels, kind: str, *, spoken: bool, exact: bool) -> Any:
    """The Arrow type in which a column comes."""
    arrow = require()
    if spoken:
        return arrow.dictionary(arrow.int32(), arrow.string())
    if about.text:
        return arrow.string()
    if exact:
        return arrow.float64()
    if (scale := _scale(kind, about.format)) is not None:
        return arrow.date32() if scale[2] else arrow.timestamp("us")
    return arrow.int32() if about.whole else arrow.float64()


def read_column(values: Sequence[Any], about: ColumnLabels, kind: str, *, spoken: bool, exact: bool) -> Any:
    """A piece of a column as an Arrow array of that type."""
    arrow = require()
    if about.text:
        stored = arrow.array(values, arrow.string())
        if exact:
            return stored
        missing = {one for one in {*values} if any(low <= one <= high for low, high in about.missing)} | {""}
        texts = arrow.array([None if one in missing else one for one in values], arrow.string())
        coded = texts.dictionary_encode()
        return _dictionary(coded.indices, coded.dictionary.to_pylist(), about) if spoken else texts
    numbers = _numbers(values)
    if exact:
        return arrow.array(numbers, mask=_bits(numbers) == _NAN)
    lost = np.isnan(numbers)
    for low, high in about.missing:
        lost |= (numbers >= low) & (numbers <= high)
    if spoken:
        distinct, codes = np.unique(np.where(lost, 0.0, numbers), return_inverse=True)
        return _dictionary(arrow.array(codes.astype(np.int32), mask=lost), distinct.tolist(), about)
    clean, form = np.where(lost, 0.0, numbers), column_type(about, kind, spoken=False, exact=False)
    if (scale := _scale(kind, about.format)) is not None:
        seconds, before, whole_days = scale
        if whole_days:
            days = _of_years(np.floor(clean * seconds / _DAY) - before, 1, lost)
            return arrow.array(days.astype(np.int32), mask=lost).cast(form)
        clean = _of_years(np.rint((clean * seconds - before * _DAY) * 1e6), _DAY * 1e6, lost).astype(np.int64)
    return arrow.array(clean, mask=lost).cast(form)


def _of_years(since_1970: Real, day: float, lost: Array) -> Real:
    """Numbers in units of which ``day`` make a day, all in the years 1 to 9999, which Arrow and Python can hold."""
    possible = (since_1970 >= (date.min - _1970).days * day) & (since_1970 < ((date.max - _1970).days + 1) * day)
    if not (possible | lost).all():
        raise ValueError("date out of the years 1 to 9999")
    return since_1970


def _numbers(values: Sequence[Any]) -> Real:
    """Numbers, with letters of extended missing values in the bits of NaN."""
    try:
        return np.where(np.isnan(numbers := np.array(values, dtype=np.float64)), math.nan, numbers)
    except ValueError:
        letters = {one for one in values if isinstance(one, str)}
        bits = np.array([_NAN | ord(letter[0]) for letter in letters], dtype=np.uint64)
        tagged: dict[Any, float] = dict(zip(letters, bits.view(np.float64).tolist(), strict=True))
        return np.array([math.nan if one is None else tagged.get(one, one) for one in values])


def _bits(numbers: Real) -> Array:
    return np.ascontiguousarray(numbers).view(np.uint64)


def _letters(numbers: Real) -> Array:
    """The letter of each extended missing value as a code, 0 elsewhere."""
    bits = _bits(numbers)
    return np.where(np.isnan(numbers) & (bits & 0xFFFF_FFFF_FFFF_FF80 == _NAN), bits & 0x7F, 0)


def _dictionary(codes: Any, values: Sequence[Any], about: ColumnLabels) -> Any:
    """A dictionary of the distinct labels of some values; two values with one label become one."""
    arrow = require()
    texts = arrow.array([about.label_of(value) for value in values], arrow.string())
    return arrow.DictionaryArray.from_arrays(codes, texts).cast(arrow.string()).dictionary_encode()


def as_factor(values: Any, about: ColumnLabels) -> Any | None:
    """A column as labels in the order of its values; None unless each has one, and some say more than the value."""
    arrow = require()
    spoken = arrow.types.is_dictionary(values.type)
    coded = values if spoken else values.dictionary_encode()
    labels = about.in_order
    values = coded.dictionary.to_pylist()
    if not spoken:
        values = [about.values.get(float(value) if isinstance(value, int | float) else value) for value in values]
    if not {*values} <= {*labels} or all(value_text(value) == label for value, label in about.values.items()):
        return None
    order = [label for label in labels if label in values]
    place = {label: i for i, label in enumerate(order)}
    places = arrow.array([place[text] for text in values], arrow.int32())
    return arrow.DictionaryArray.from_arrays(places.take(coded.indices), arrow.array(order), ordered=True)


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
        values, known = (values, known.as_text) if sets else _reports(values, known, field.name)
    known = _fitting(known, ending, same=same)
    if arrow.types.is_string(values.type) or arrow.types.is_large_string(values.type):
        return values.fill_null("").to_pandas().astype(object), replace(known, text=True)
    if arrow.types.is_temporal(values.type):
        return values.to_pandas(date_as_object=True), replace(known, format=None)
    if arrow.types.is_boolean(values.type):
        values = values.cast(arrow.int8())
    if not (arrow.types.is_integer(values.type) or arrow.types.is_floating(values.type)):
        kind = shorten(str(values.type), 20)
        name = shorten(repr(field.name), 20)
        raise DataFileError(
            "column-holds-files-hold-numbers-texts", name=name, kind=kind, ending=ending, column=field.name
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
    for text in texts:  # a value that has no label, written as text
        with suppress(ValueError):
            if text not in behind and text != MISSING:
                behind[text] = text if about.text else float(text)
    reports = [behind.get(text) for text in texts]
    if any(value is None for text, value in zip(texts, reports, strict=True) if text != MISSING):
        return values, about.as_text
    kind = arrow.string() if about.text else arrow.float64()
    return arrow.array(reports, kind).take(coded.indices), plain


def _fitting(about: ColumnLabels, ending: str, *, same: bool) -> ColumnLabels:
    if not same:
        about = replace(about, format=None, missing=(), tagged=())
    if ending == ".dta":
        whole: dict[Any, str] = {}  # Stata labels whole numbers and the letters of missing values
        for value, label in () if about.text else about.values.items():
            if isinstance(value, str):
                whole |= {value: label} if value in about.tagged else {}
            elif float(value).is_integer() and abs(value) < 2**31:
                whole[int(value)] = label
        return replace(about, values=whole)
    if ending == ".sav":
        return replace(about, values={v: t for v, t in about.values.items() if isinstance(v, str) == about.text})
    return about


def _pandas_numbers(values: Any, about: ColumnLabels, ending: str) -> tuple[Any, ColumnLabels]:
    import pandas as pd

    numbers = np.asarray(values.cast(require().float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    letters = _letters(numbers)
    if letters.any() and ending == ".dta":
        column = numbers.astype(object)
        column[letters > 0] = [chr(code) for code in letters[letters > 0].tolist()]
        tags = {chr(code) for code in np.unique(letters[letters > 0]).tolist()}
        return pd.Series(column, dtype=object), replace(about, tagged=tuple(sorted(tags.union(about.tagged))))
    known = numbers[~np.isnan(numbers)]
    whole = (known == np.rint(known)).all() and (np.abs(known) < 2**31 - 100).all()
    if about.whole and not about.tagged and whole:
        return pd.Series(numbers).astype("Int32"), about
    return pd.Series(numbers), about

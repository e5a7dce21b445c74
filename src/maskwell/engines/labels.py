"""What a labelled file (SPSS, Stata, SAS) tells besides its rows: labels, missing codes, formats.

It travels from the source to the sink beside the rows: a file of the same kind keeps all of it, another kind what it
can hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maskwell.core.categories import Categories
from maskwell.errors import DataFileError

MISSING = "missing"
"""The category for missing values; as a report it is written as a missing value."""

KEEPS = {
    ".sav": {"variable labels", "value labels", "missing codes", "measurement levels", "formats", "notes"},
    ".dta": {"variable labels", "value labels", "formats"},
    ".xpt": {"variable labels", "formats"},
}
"""What each kind of file can hold; others hold none of it."""

INTEGERS = ("int8", "int16", "int32")


@dataclass(frozen=True)
class ColumnLabels:
    """What is known about one column.

    Attributes
    ----------
    text, whole
        Whether it holds texts, or whole numbers.
    label
        The question or description.
    values
        Labels of values, by the value.
    missing
        Ranges of values that stand for missing ones, as (low, high).
    tagged
        Letters of extended missing values of Stata and SAS.
    format, measure, width
        How it is shown.
    """

    text: bool = False
    whole: bool = False
    label: str | None = None
    values: Mapping[Any, str] = field(default_factory=dict)
    missing: tuple[tuple[Any, Any], ...] = ()
    tagged: tuple[str, ...] = ()
    format: str | None = None
    measure: str | None = None
    width: int | None = None

    def speaks(self, categories: Categories | None) -> bool:
        """Whether these categories are labels of the values, and not the values themselves.

        >>> sex = ColumnLabels(values={1.0: "male", 2.0: "female"})
        >>> sex.speaks(Categories.of(["female", "male"])), sex.speaks(Categories.of([1, 2]))
        (True, False)
        """
        if not self.values:
            return False
        if categories is None:
            return True
        wanted = {value_text(label) for label in categories.labels[:1000]} - {MISSING}
        if wanted <= {value_text(value) for value in self.values}:
            return False
        return bool(wanted & set(self.values.values()))

    def label_of(self, value: Any) -> str:
        """The label of a value, or the value itself as text."""
        return self.values.get(value, value_text(value))

    def value_of(self, categories: Sequence[str], column: str) -> dict[str, Any]:
        """The value behind each label; two values with one label cannot be told apart."""
        found: dict[str, Any] = {}
        for value, label in self.values.items():
            if label in found and label in categories:
                raise DataFileError(
                    f"column {column!r}: two codes have the label {label!r}",
                    hint="make the design with the codes in place of the labels",
                    values=f"{value_text(found[label])}, {value_text(value)}",
                    column=column,
                )
            found.setdefault(label, value)
        return found


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
        """From what pyreadstat tells."""
        columns = {name: _column(meta, name) for name in meta.column_names}
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
        """What a file of another kind, or even of this kind, does not keep, in one sentence; nothing if all is kept.

        >>> Labels(".sav", {"sex": ColumnLabels(label="Sex", values={1.0: "male"})}).lost_in(".csv")
        ('a .csv file does not keep variable labels and value labels of the .sav file',)
        """
        kept = set(KEEPS.get(ending, ()))
        if ending == self.kind == ".dta":
            kept.add("missing codes")
        gone = [name for name in self.has() if name not in kept]
        if not gone:
            return ()
        named = gone[0] if len(gone) == 1 else f"{', '.join(gone[:-1])} and {gone[-1]}"
        return (f"a {ending} file does not keep {named} of the {self.kind} file",)


def value_text(value: Any) -> str:
    """A value as people type it.

    >>> value_text(1.0), value_text(2.5), value_text("a")
    ('1', '2.5', 'a')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _column(meta: Any, name: str) -> ColumnLabels:
    kind = meta.readstat_variable_types[name]
    ranges = [(r["lo"], r["hi"]) if isinstance(r, dict) else (r, r) for r in meta.missing_ranges.get(name, ())]
    values = {_number(v): label for v, label in meta.variable_value_labels.get(name, {}).items()}
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


def _number(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)

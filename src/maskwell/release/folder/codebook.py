"""The codebook of a released file: every column, and all categories of those that have some.

Categories come from the plan, from the labels of the file and from its values, also those that do not occur any more.
How often each occurs is not told: what users count in the released file is what they may know.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwell.core.escaping import in_spreadsheet, is_formula, visible_lines
from maskwell.core.labels import texts
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.release.folder.stage_json import label_json

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from maskwell.release.released import Release, ReleasedColumn

MOST_CATEGORIES = 1000
"""Columns with more values than this are not listed unless they were randomized."""


@dataclass(frozen=True)
class Entry:
    """One column of a codebook.

    Attributes
    ----------
    name, kind, label
        What it is called, what it holds, and the question or description.
    categories
        Values with their labels (``None`` without one); ``None`` for columns without categories.
    role
        "randomized", "follows" (linked to a randomized one), "weight" or "unchanged".
    group
        Which group of the receipt randomized it, from 1.
    """

    name: str
    kind: str
    label: str | None
    categories: tuple[tuple[Hashable, str | None], ...] | None
    role: str
    group: int | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        listed = [{"value": label_json(value), "label": text} for value, text in self.categories or ()]
        return {
            "name": self.name,
            "kind": self.kind,
            "label": self.label,
            "role": self.role,
            "group": self.group,
            "categories": None if self.categories is None else listed,
        }


def codebook_of(release: Release) -> tuple[Entry, ...]:
    """The codebook of a release."""
    return tuple(_entry(release, column) for column in release.columns)


def formula_columns(entries: Iterable[Entry]) -> list[str]:
    """Columns with a value that a spreadsheet would take for a formula: the data file keeps its values as they are."""
    return [
        entry.name
        for entry in entries
        if any(is_formula(texts(value)[-1]) for value, _ in entry.categories or () if isinstance(value, str))
    ]


def codebook_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """The content of ``codebook.json``."""
    return {"maskwell": "codebook", "version": 1, "columns": [entry.to_dict() for entry in entries]}


def codebook_csv(entries: Sequence[Entry]) -> str:
    """The text of ``codebook.csv``: a line for each category of each column, one for a column without.

    It is for people: what a spreadsheet would take for a formula gets an apostrophe. Programs read the JSON.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["column", "kind", "label", "role", "value", "value_label"])
    for entry in entries:
        for value, text in entry.categories or (("", None),):
            shown = "" if value is None else texts(value)[-1]
            cells = [entry.name, entry.kind, entry.label or "", entry.role, shown, text or ""]
            writer.writerow([in_spreadsheet(visible_lines(cell)) for cell in cells])
    return out.getvalue()


def _entry(release: Release, column: ReleasedColumn) -> Entry:
    about = _about(release.labels, column.name)
    group = next((i for i, s in enumerate(release.stages, 1) if column.name in (*s.variables, *s.linked)), None)
    return Entry(
        column.name,
        column.kind,
        about.label,
        _categories(release, column, about, group),
        _role(release, column, group),
        group,
    )


def _role(release: Release, column: ReleasedColumn, group: int | None) -> str:
    if group is not None:
        return "randomized" if column.name in release.stages[group - 1].variables else "follows"
    return "weight" if column.name == release.plan.weights else "unchanged"


def _categories(
    release: Release, column: ReleasedColumn, about: ColumnLabels, group: int | None
) -> tuple[tuple[Hashable, str | None], ...] | None:
    own = [label for label in column.labels or () if label is not None]
    if group is None and (len(own) > MOST_CATEGORIES or column.name == release.plan.weights):
        return None
    planned = release.plan.codebook.get(column.name, ())
    values = _by_text([*_typed(planned, own), *own, *about.values])
    return tuple((value, _label(about.values, value)) for value in values) if values else None


def _typed(planned: Iterable[str], own: Sequence[Hashable]) -> list[Hashable]:
    """Labels of the plan, which are texts, as the values of the file that have these texts."""
    known = {text: label for label in own for text in texts(label)}
    return [known.get(text, text) for text in planned]


def _by_text(values: Iterable[Hashable]) -> list[Hashable]:
    """Each value once; values with the same text are one."""
    found: dict[str, Hashable] = {}
    for value in values:
        found.setdefault(texts(value)[-1], value)
    return [*found.values()]


def _label(labels: Mapping[Any, str], value: Hashable) -> str | None:
    return labels.get(value)


def _about(labels: Any, name: str) -> ColumnLabels:
    return labels.columns.get(name, ColumnLabels()) if isinstance(labels, Labels) else ColumnLabels()

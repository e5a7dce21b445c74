"""How people read the states of a release: by the labels of their values, where the file has such labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from maskwell.core.escaping import one_line
from maskwell.engines.labelled_columns import Labels

PARTS = " · "


class Randomized(Protocol):
    """What is randomized, within what."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Columns that are randomized together."""

    @property
    def within(self) -> tuple[str, ...]:
        """Columns within whose cells they are."""


def name_of(state: Sequence[Hashable], columns: Sequence[str] = (), labels: Labels | None = None) -> str:
    """The labels of a state; a missing value is told.

    >>> name_of(("north", None))
    'north · missing'
    >>> from maskwell.engines.labelled_columns import ColumnLabels
    >>> name_of((2, "x"), ["sex", "y"], Labels(".sav", {"sex": ColumnLabels(values={2.0: "female"})}))
    'female · x'
    """
    names = columns or [""] * len(state)
    return PARTS.join(label_of(value, name, labels) for value, name in zip(state, names, strict=True))


def label_of(value: Hashable, column: str, labels: Labels | None) -> str:
    """What a value stands for, or the value itself; on one line."""
    if value is None:
        return "missing"
    known = None if labels is None else labels.columns.get(column)
    return one_line(str(value) if known is None else known.label_of(value))


def columns_of(stage: Randomized) -> str:
    """What is randomized, within what.

    >>> from types import SimpleNamespace
    >>> columns_of(SimpleNamespace(variables=("roof", "sex"), within=("region",)))
    'roof, sex within region'
    """
    within = f" within {', '.join(stage.within)}" if stage.within else ""
    return one_line(", ".join(stage.variables) + within)

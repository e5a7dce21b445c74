"""Names of columns and of states of a release, by the labels of their values where the file has such labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from maskwell.core.phrases import in_words, listed, one_line, shorten

if TYPE_CHECKING:
    from maskwell.engines.labelled_columns import Labels
    from maskwell.microdata.stages.stage import Randomization

NAME, NAMES, LABEL = 24, 60, 24
"""Letters of one name of a column, of several, and of a label; what is longer is cut, numbers never are."""


def names_in_short(columns: Sequence[str], width: int = NAMES) -> str:
    """Names of columns on one line, as many as fit."""
    return listed((shorten(one_line(name), NAME) for name in columns), len(columns), width)


PARTS = " · "


def name_of(state: Sequence[Hashable], columns: Sequence[str] = (), labels: Labels | None = None) -> str:
    """The labels of a state; a missing value is shown."""
    names = columns or [""] * len(state)
    return PARTS.join(label_of(value, name, labels) for value, name in zip(state, names, strict=True))


def label_of(value: Hashable, column: str, labels: Labels | None) -> str:
    """The label of a value, or the value itself; on one line."""
    if value is None:
        return "missing"
    known = None if labels is None else labels.columns.get(column)
    return one_line(str(value) if known is None else known.label_of(value))


def columns_of(stage: Randomization) -> str:
    """What is randomized, within what."""
    within = f" within {', '.join(stage.within)}" if stage.within else ""
    return one_line(", ".join(stage.variables) + within)


def keys_in_words(keys: Sequence[str]) -> str:
    """The keys as a sentence has them, or as many as fit a line."""
    said = in_words([one_line(key) for key in keys])
    return said if len(said) <= NAMES else names_in_short(keys)

"""Columns that tell each other: whether the labels of one follow from those of another, in the first rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arrays import Array
from maskwell.engines.base import Source
from maskwell.engines.levels import LevelCoder

ROWS = 20_000
MOST_LABELS = 5_000
LOOKED_AT = 1_000
FEWEST_TO_NAME = 20
"""Records below which different texts say nothing."""

RECORDS_PER_LABEL = 3
"""A column with fewer records to a label is no category: everything follows from it."""


class Dependence(NamedTuple):
    """Which column tells which."""

    teller: str
    told: str


def first_rows(source: Source) -> Any:
    """Some rows of a source, ``None`` where it has none; a source is read once, so this is asked for once."""
    batch = next((batch for batch in source.batches() if len(batch)), None)
    return None if batch is None else batch.slice(0, ROWS)


def dependences(batch: Any, moved: Sequence[str], others: Iterable[str]) -> list[Dependence]:
    """Pairs of a randomized column and another one, in which the labels of one follow from those of the other.

    Looks at one batch of rows: what does not follow there does not follow at all.
    """
    codes = {name: _codes(name, batch.column(name)) for name in {*moved, *others}}
    found = []
    for name in moved:
        for other in dict.fromkeys(others):
            pair = codes[name], codes[other]
            if _is_category(pair[0]) and _is_category(pair[1]):
                found += [Dependence(other, name)] if _follows(pair[0], pair[1]) else []
                found += [Dependence(name, other)] if _follows(pair[1], pair[0]) else []
    return found


def naming_columns(batch: Any, names: Iterable[str]) -> list[str]:
    """Columns of texts that are different in every row, as names and addresses are; not numbers."""
    if len(batch) < FEWEST_TO_NAME:
        return []
    return [name for name in names if _names_records(batch.column(name)[:LOOKED_AT].to_pylist())]


def _names_records(values: Sequence[Any]) -> bool:
    """Whether values are texts, all different, and mostly no numbers.

    >>> _names_records(["Ann", "Bob", "Cleo"]), _names_records(["12.5", "7", "3"]), _names_records(["a", "a", "b"])
    (True, False, False)
    """
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values) or len({*texts}) < len(texts):
        return False
    return sum(map(_is_number, texts)) * 2 < len(texts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _codes(name: str, column: object) -> Array:
    coder = LevelCoder(name)
    coder.most = MOST_LABELS
    return coder.codes(column) + 1


def _is_category(codes: Array) -> bool:
    labels = len(np.unique(codes))
    return 2 <= labels < MOST_LABELS and labels * RECORDS_PER_LABEL <= len(codes)


def _follows(codes: Array, other: Array) -> bool:
    """Whether every label of the other column goes with one label of this one only.

    >>> group, age = np.array([0, 0, 1, 1]), np.array([3, 4, 8, 9])
    >>> _follows(group, age), _follows(age, group)   # the group follows from the age, not the age from the group
    (True, False)
    """
    pairs = np.unique(other.astype(np.int64) * (int(codes.max()) + 1) + codes)
    return len(pairs) == len(np.unique(other))

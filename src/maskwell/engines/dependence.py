"""Columns that tell each other: whether the labels of one follow from those of another, in the first rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from maskwell.core.arrays import Array
from maskwell.engines.base import Source
from maskwell.engines.levels import LevelCoder

MOST_LABELS = 5_000
RECORDS_PER_LABEL = 3
"""A column with fewer records to a label is no category: everything follows from it."""


class Dependence(NamedTuple):
    """Which column tells which."""

    teller: str
    told: str


def dependences(source: Source, moved: Sequence[str], others: Iterable[str]) -> list[Dependence]:
    """Pairs of a randomized column and another one, in which the labels of one follow from those of the other.

    Looks at the first batch of rows only: what does not follow there does not follow at all.
    """
    batch = next((batch for batch in source.batches() if len(batch)), None)
    if batch is None:
        return []
    codes = {name: _codes(name, batch.column(source.schema.get_field_index(name))) for name in {*moved, *others}}
    found = []
    for name in moved:
        for other in dict.fromkeys(others):
            pair = codes[name], codes[other]
            if _is_category(pair[0]) and _is_category(pair[1]):
                found += [Dependence(other, name)] if _follows(pair[0], pair[1]) else []
                found += [Dependence(name, other)] if _follows(pair[1], pair[0]) else []
    return found


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

"""Which tables of a released file are kept: their counts are unbiased as they stand.

A group that keeps counts keeps the table of all its columns on average, and with it all margins of that table. A table
is kept where every group that moves one of its columns has all of them; where such a group worked within columns that
an earlier one had moved, the earlier one must keep the table of all columns of the later. So groups are followed from
the last to the first, with the columns that must be right before each of them. Reports, receipts, documents for users
and analyses all ask here.
Source: [Adeshiyan2011, Theorems 4.1, 4.2]; for groups of any number derived.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, combinations
from typing import Protocol

from maskwell.release.stages.stage import Randomization, cells_of, moved_by, needed_columns


class Randomized(Randomization, Protocol):
    """Columns that were randomized together: a stage of a release, or a group of its receipt."""

    @property
    def invariance(self) -> str:
        """What the matrix by itself keeps on average."""


def keeps_alone(group: Randomized) -> bool:
    """Whether the matrix by itself keeps counts, or weighted counts, on average."""
    return group.invariance in ("counts", "weights")


def is_kept(groups: Sequence[Randomized], columns: Collection[str]) -> bool:
    """Whether the counts of a table are unbiased as they stand, after all groups; only those that matter are asked.

    >>> from maskwell.release.folder.receipt import Group
    >>> roof = Group(variables=("roof",), within=("town",), linked=(), method="pram", invariance="counts")
    >>> sex = Group(variables=("sex",), within=(), linked=(), method="pram", invariance="counts")
    >>> is_kept([roof, sex], ["town", "roof"]), is_kept([roof, sex], ["roof", "sex"])
    (True, False)
    """
    needed = {*columns}
    kinds = set()
    for group in reversed(groups):
        if needed & {*moved_by(group)}:
            if not keeps_alone(group) or not needed <= {*cells_of(group), *group.linked}:
                return False
            needed = {*cells_of(group)}
            kinds.add(group.invariance)
    return len(kinds) < 2


def unchanged_columns(groups: Sequence[Randomized], columns: Collection[str]) -> tuple[str, ...]:
    """Further columns that stay as they are, and within which some of these are randomized."""
    moved = {name for group in groups for name in moved_by(group)}
    return tuple(name for name in needed_columns(groups, columns) if name not in moved and name not in columns)


def kept_columns(groups: Sequence[Randomized], group: Randomized) -> list[str]:
    """The columns of a table of one group that all groups together keep; none where they keep none.

    The table of all its columns, or of those that no other group moves, or of its variables alone, or else the largest.
    A later group may move columns within which this one works, and an earlier one may have moved them without its
    variables.

    >>> from maskwell.release.folder.receipt import Group
    >>> roof = Group(variables=("roof",), within=("sex",), linked=(), method="pram", invariance="counts")
    >>> sex = Group(variables=("sex",), within=(), linked=(), method="pram", invariance="counts")
    >>> kept_columns([roof], roof), kept_columns([roof, sex], roof), kept_columns([sex, roof], roof)
    (['sex', 'roof'], ['roof'], [])
    """
    moved = {name for other in groups if other is not group for name in moved_by(other)}
    own, variables = [*cells_of(group), *group.linked], {*moved_by(group)}
    likely: list[list[str]] = [own, [name for name in own if name not in moved], [*moved_by(group)]]
    others: Iterator[list[str]] = ([*names] for size in range(len(own) - 1, 0, -1) for names in combinations(own, size))
    tables = chain(likely, others if len(own) <= MOST_COLUMNS else ())
    return next((names for names in tables if variables & {*names} and is_kept(groups, names)), [])


MOST_COLUMNS = 12
"""Among the columns of a larger group only the likely tables are looked for."""

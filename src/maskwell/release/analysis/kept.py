"""Which tables of a released file are kept: their counts are unbiased as they stand.

A group that keeps counts keeps the table of all its columns on average, and with it all margins of that table. A table
is kept where every group that moves one of its columns has all of them; where such a group worked within columns that
an earlier one had moved, the earlier one must keep the table of all columns of the later. So groups are followed from
the last to the first, with the columns that must be right before each of them.
Source: [Adeshiyan2011, Theorems 4.1, 4.2]; for groups of any number derived.
"""

from __future__ import annotations

from collections.abc import Sequence

from maskwell.release.folder.receipt import Group


def is_kept(groups: Sequence[Group], columns: Sequence[str]) -> bool:
    """Whether the counts of a table are unbiased as they stand.

    >>> roof = Group(variables=("roof",), within=("town",), linked=(), method="pram", invariance="counts")
    >>> sex = Group(variables=("sex",), within=(), linked=(), method="pram", invariance="counts")
    >>> is_kept([roof, sex], ["town", "roof"]), is_kept([roof, sex], ["roof", "sex"])
    (True, False)
    """
    needed = {*columns}
    for group in reversed(groups):
        if needed & {*group.moved}:
            if not group.kept or not needed <= {*group.cells, *group.linked}:
                return False
            needed = {*group.cells}
    return len({group.invariance for group in groups}) < 2


def involved(groups: Sequence[Group], columns: Sequence[str]) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """The groups that matter for a table, and the columns that their matrices need together."""
    needed = dict.fromkeys(columns)
    found: list[Group] = []
    for group in reversed(groups):
        if {*group.moved} & needed.keys():
            found.insert(0, group)
            needed |= dict.fromkeys(group.cells)
    linked = {name for group in found for name in group.linked}
    return tuple(found), tuple(name for name in needed if name not in linked)


def kept_columns(groups: Sequence[Group], group: Group) -> list[str]:
    """The columns of the largest table of one group that all groups together keep; none where they keep none.

    A later group may move columns within which this one works, and an earlier one may have moved them without its
    variables.

    >>> roof = Group(variables=("roof",), within=("sex",), linked=(), method="pram", invariance="counts")
    >>> sex = Group(variables=("sex",), within=(), linked=(), method="pram", invariance="counts")
    >>> kept_columns([roof], roof), kept_columns([roof, sex], roof), kept_columns([sex, roof], roof)
    (['sex', 'roof'], ['roof'], [])
    """
    moved = {name for other in groups if other is not group for name in other.moved}
    own = [*group.cells, *group.linked]
    for columns in (own, [name for name in own if name not in moved], [*group.moved]):
        if is_kept(involved(groups, columns)[0], columns):
            return columns
    return []

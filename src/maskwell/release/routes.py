"""How a table of a released file can be estimated: which randomizations touch it, and whether they keep it.

A group that keeps counts keeps the table of all its columns on average, and with it all margins of that table. A table
is kept where every group that moves one of its columns has all of them; where such a group worked within columns that
an earlier one had moved, the earlier one must keep the table of all columns of the later. So groups are followed from
the last to the first, with the columns that must be right before each of them.
Source: [Adeshiyan2011, Theorems 4.1, 4.2]; for groups of any number derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskwell.designs.coded import CodedDesign
from maskwell.errors import ParameterError
from maskwell.release.advice import in_words
from maskwell.release.receipt import Group, Receipt
from maskwell.release.stage_json import labelled_as

OPEN, EXACT, KEPT, SOLVED = "open", "exact", "kept", "solved"


@dataclass(frozen=True, eq=False)
class Route:
    """How a table is estimated.

    Attributes
    ----------
    kind
        "open": nothing moved its columns. "exact": they were swapped, its counts stay exactly. "kept": counts are
        unbiased as they stand. "solved": with the matrices.
    columns
        Of the table.
    groups
        Those that moved its columns, or columns that these depend on, in the order in which they were carried out.
    cells
        Columns that the matrices of these groups need together.
    """

    kind: str
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    cells: tuple[str, ...]

    @property
    def moved(self) -> frozenset[str]:
        """Columns that some group moved."""
        return frozenset(name for group in self.groups for name in group.moved)

    @property
    def weighted(self) -> bool:
        """Whether sums of weights are kept, and not counts."""
        return any(group.invariance == "weights" for group in self.groups)


def route_of(receipt: Receipt, columns: Sequence[str]) -> Route:
    """How the table of these columns is estimated; ParameterError where it cannot be."""
    groups, cells = _involved(receipt.groups, columns)
    kind = _kind(groups, columns)
    if kind == SOLVED:
        _check_known(groups, columns)
    return Route(kind, tuple(columns), groups, cells)


def assigned(route: Route) -> list[tuple[tuple[str, ...], CodedDesign]] | None:
    """The columns of each matrix where each is a design of its own columns, all of them in the table; else None.

    Then reports are estimated as those of a survey with these designs, under any sampling plan.
    """
    found = []
    for group in route.groups:
        if group.design is None or group.within or not {*group.variables} <= {*route.columns}:
            return None
        found.append((group.variables, labelled_as(group.design, group.states, group.outputs)))
    follows = {name for group in route.groups for name in group.linked} & {*route.columns}
    return None if follows or route.kind != SOLVED else found


def _kind(groups: Sequence[Group], columns: Sequence[str]) -> str:
    if not groups:
        return OPEN
    if not is_kept(groups, columns):
        return SOLVED
    return EXACT if all(group.method == "swap" for group in groups) else KEPT


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


def _involved(groups: Sequence[Group], columns: Sequence[str]) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    needed = dict.fromkeys(columns)
    found: list[Group] = []
    for group in reversed(groups):
        if {*group.moved} & needed.keys():
            found.insert(0, group)
            needed |= dict.fromkeys(group.cells)
    linked = {name for group in found for name in group.linked}
    return tuple(found), tuple(name for name in needed if name not in linked)


def _check_known(groups: Sequence[Group], columns: Sequence[str]) -> None:
    hidden = next((group for group in groups if group.design is None), None)
    if hidden is None:
        return
    table = in_words(columns)
    if hidden.kept:
        raise ParameterError(
            f"the table of {table} is not kept, and the matrix of {in_words(hidden.variables)} is withheld",
            hint=f"tables of {in_words([*hidden.cells, *hidden.linked])} are kept; ask the data holder for others",
        )
    raise ParameterError(
        f"the matrix of {in_words(hidden.variables)} is withheld, and counts are biased without it",
        hint="ask the data holder for this table",
    )

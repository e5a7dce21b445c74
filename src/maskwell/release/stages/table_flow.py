"""What becomes of tables in a release: which are kept on average, and what others are expected to be.

*Kept tables*: their counts are unbiased as they stand. A group that keeps counts keeps the table of all its columns on
average, and with it all margins of that table. A table is kept where every group that moves one of its columns has all
of them; where such a group worked within columns that an earlier one had moved, the earlier one must keep the table of
all columns of the later. So groups are followed from the last to the first, with the columns that must be right before
each of them. Reports, receipts, documents for users and analyses all ask here.
Source: [Adeshiyan2011, Theorems 4.1, 4.2]; for groups of any number derived.

*Tables pushed through stages*, without writing matrices out: a stage with the matrix P turns the table M (rows: what it
leaves alone, columns: its states) into ``M P'``. To know the released columns C one needs, before a stage that changes
some of them, all the columns that tell its states. A label that is no state of a stage, such as a missing value, stays
as it is. Where every cell keeps its number as one more column that nothing changes, the table becomes the matrix of all
stages together: what each cell is released as. Source: [Adeshiyan2011, section 4.2, Theorem 4.2]; derived.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows
from maskwell.release.stages.stage import RandomizedColumns, Stage, State, needed_columns


def is_kept(groups: Sequence[RandomizedColumns], columns: Collection[str]) -> bool:
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
        if needed & {*group.moved}:
            if not group.invariant or not needed <= {*group.columns, *group.linked}:
                return False
            needed = {*group.columns}
            kinds.add(group.invariance)
    return len(kinds) < 2


def unchanged_columns(groups: Sequence[RandomizedColumns], columns: Collection[str]) -> tuple[str, ...]:
    """Further columns that stay as they are, and within which some of these are randomized."""
    moved = {name for group in groups for name in group.moved}
    return tuple(name for name in needed_columns(groups, columns) if name not in moved and name not in columns)


def kept_columns(groups: Sequence[RandomizedColumns], group: RandomizedColumns) -> list[str]:
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
    moved = {name for other in groups if other is not group for name in other.moved}
    own, variables = [*group.columns, *group.linked], {*group.moved}
    likely: list[list[str]] = [own, [name for name in own if name not in moved], [*group.moved]]
    others: Iterator[list[str]] = ([*names] for size in range(len(own) - 1, 0, -1) for names in combinations(own, size))
    tables = chain(likely, others if len(own) <= MOST_COLUMNS else ())
    return next((names for names in tables if variables & {*names} and is_kept(groups, names)), [])


MOST_COLUMNS = 12
"""Among the columns of a larger group only the likely tables are looked for."""


# ---- tables pushed through stages


def expected_table(stages: Sequence[Stage], table: CellTable, columns: Sequence[str]) -> CellTable:
    """The expected counts of these columns in the released file, from a table that has all that are needed.

    >>> from maskwell.designs import Dense
    >>> states, P = [("a",), ("b",)], Dense.of([["3/4", "1/2"], ["1/4", "1/2"]])
    >>> stage = Stage(variables=("x",), states=states, outputs=states, design=P, counts=np.array([20, 10]),
    ...     cells=np.zeros(2, dtype=int), method="method1", invariance="counts", derived=True)
    >>> file = CellTable.of(["x", "y"], {("a", "u"): 20, ("b", "v"): 10})
    >>> expected_table([stage], file, ["x", "y"]).grid().tolist()   # each margin is kept, the association is not
    [[15.0, 5.0], [5.0, 5.0]]
    """
    flow = TableFlow.of(table, needed_columns(stages, columns))
    return flow.after(stages, columns).table(tuple(columns))


Check = Callable[[RandomizedColumns, Array], None]
"""Asked before a stage with the state of each cell: raises where the stage is not to be carried out."""


@dataclass(frozen=True, eq=False)
class TableFlow:
    """Cells on their way through stages.

    Attributes
    ----------
    codes, labels
        Codes of the cells by column, each of shape (cells,), and the labels behind the codes.
    mass
        Shape (cells,): expected records.
    origin
        Shape (cells,): a number that stays with the mass wherever it goes, such as that of a true cell; None where
        nobody asks.
    """

    codes: dict[str, Array]
    labels: dict[str, list[Hashable]]
    mass: Real
    origin: Array | None = None

    @classmethod
    def of(cls, table: CellTable, columns: Sequence[str]) -> TableFlow:
        """The records of a table, in some of its columns."""
        part = table.project(columns)
        codes = {name: part.codes[:, i].astype(np.int64) for i, name in enumerate(columns)}
        return cls(codes, {name: [*part.levels[i]] for i, name in enumerate(columns)}, part.counts.astype(np.float64))

    @classmethod
    def from_labels(cls, columns: Sequence[str], cells: Sequence[State]) -> TableFlow:
        """Cells by their labels, one record in each."""
        labels: dict[str, list[Hashable]] = {name: [] for name in columns}
        parts = [*zip(*cells, strict=True)] or [()] * len(columns)
        codes = {name: _extended(labels[name], part) for name, part in zip(columns, parts, strict=True)}
        return cls(codes, labels, np.ones(len(cells)))

    def one_by_one(self) -> TableFlow:
        """The same cells with a mass of one each that keeps the number of its cell."""
        return replace(self, mass=np.ones(len(self.mass)), origin=np.arange(len(self.mass)))

    def after(
        self, stages: Sequence[RandomizedColumns], columns: Sequence[str], check: Check | None = None
    ) -> TableFlow:
        """After all stages that change what is released of some columns; further columns are dropped on the way."""
        flow = self
        for place, stage in enumerate(stages):
            needed = needed_columns(stages[place + 1 :], columns)
            if stage.changed & {*needed}:
                flow = flow.through(stage, needed, check)
        return flow

    def through(self, stage: RandomizedColumns, needed: Sequence[str], check: Check | None = None) -> TableFlow:
        """After one stage, in the columns that are still needed; cells that it does not know stay as they are."""
        state = stage.find(self.labels, self.codes)
        if check is not None:
            check(stage, state)
        inside = state >= 0
        still = [name for name in needed if name not in stage.changed]
        moved = [name for name in needed if name in stage.changed]
        own = [] if self.origin is None else [self.origin]
        groups, of_cell = distinct_rows(
            [column[inside] for column in (*own, *(self.codes[name] for name in still))], int(inside.sum())
        )
        targets, of_output = distinct_rows([stage.output_codes[name] for name in moved], len(stage.outputs))
        arrived = self._product(stage, state, (of_cell, len(groups)), (of_output, len(targets)))
        labels = {name: [*self.labels[name]] for name in needed}
        codes = {name: groups[arrived.row, len(own) + i] for i, name in enumerate(still)}
        for i, name in enumerate(moved):
            met = [stage.levels[name][code] for code in targets[:, i]]
            codes[name] = _extended(labels[name], met)[arrived.col]
        return TableFlow(
            {name: np.concatenate([codes[name], self.codes[name][~inside]]) for name in needed},
            labels,
            np.concatenate([arrived.data, self.mass[~inside]]),
            None if self.origin is None else np.concatenate([groups[arrived.row, 0], self.origin[~inside]]),
        )

    def _product(
        self, stage: RandomizedColumns, state: Array, rows: tuple[Array, int], columns: tuple[Array, int]
    ) -> Any:
        """``M P'`` with the rows of P added up to what is needed of the released states."""
        from scipy.sparse import coo_array, csr_array

        (of_cell, groups), (of_output, targets) = rows, columns
        inside, k = state >= 0, len(stage.states)
        M = csr_array(coo_array((self.mass[inside], (of_cell, state[inside])), shape=(groups, k)))
        reports, truths, p = stage.entries
        P = csr_array(coo_array((p, (of_output[reports], truths)), shape=(targets, k)))
        return coo_array(M @ P.T)

    def cells(self, columns: Sequence[str]) -> list[State]:
        """The labels of each cell."""
        return [*zip(*(map(self.labels[name].__getitem__, self.codes[name].tolist()) for name in columns), strict=True)]

    def table(self, columns: tuple[str, ...]) -> CellTable:
        """As a table of cells."""
        cells, of_cell = distinct_rows([self.codes[name] for name in columns], len(self.mass))
        counts = np.bincount(of_cell, self.mass, minlength=len(cells))
        return CellTable(columns, tuple(tuple(self.labels[name]) for name in columns), cells, counts)


def _extended(labels: list[Hashable], met: Sequence[Hashable]) -> Array:
    """Codes of labels that were met; those that are new are added to the labels."""
    places = {label: code for code, label in enumerate(labels)}
    codes = np.array([places.setdefault(label, len(places)) for label in met], dtype=np.int64)
    labels[:] = [*places]
    return codes

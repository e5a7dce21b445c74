"""The table that a release is expected to give: counts pushed through the stages, without writing matrices out.

A stage with the matrix P turns the table M (rows: what it leaves alone, columns: its states) into ``M P'``. To know the
released columns C one needs, before a stage that changes some of them, all the columns that tell its states. Source:
[Adeshiyan2011, section 4.2]; derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.release.stages import Stage

Labels = list[Hashable]


def needed_columns(stages: Sequence[Stage], columns: Iterable[str]) -> tuple[str, ...]:
    """Columns of the file that must be counted together to know the expected table of these released columns.

    >>> from maskwell.designs.dense import Dense
    >>> states = [(r, c) for r in "ns" for c in "ab"]
    >>> stage = Stage(variables=("x",), within=("region",), states=states, outputs=states, design=Dense.of(np.eye(4)),
    ...     counts=np.ones(4), cells=np.array([0, 0, 1, 1]), method="fixed", invariance="none", derived=False)
    >>> needed_columns([stage], ["x", "y"])   # the matrix of x depends on the region
    ('y', 'region', 'x')
    """
    needed = dict.fromkeys(columns)
    for stage in reversed(stages):
        changed = {*stage.variables, *stage.linked}
        if changed & needed.keys():
            kept = (c for c in needed if c not in stage.variables)  # linked columns too: some records have no state
            needed = dict.fromkeys([*kept, *stage.columns])
    return tuple(needed)


def expected_table(stages: Sequence[Stage], table: CellTable, columns: Sequence[str]) -> CellTable:
    """The expected counts of these columns in the released file, from a table that has all that are needed.

    >>> from maskwell.designs.dense import Dense
    >>> states, P = [("a",), ("b",)], Dense.of([["3/4", "1/2"], ["1/4", "1/2"]])
    >>> stage = Stage(variables=("x",), states=states, outputs=states, design=P, counts=np.array([20, 10]),
    ...     cells=np.zeros(2, dtype=int), method="method1", invariance="counts", derived=True)
    >>> file = CellTable.of(["x", "y"], {("a", "u"): 20, ("b", "v"): 10})
    >>> found = expected_table([stage], file, ["x", "y"])
    >>> found.grid().tolist()   # each margin is kept, the association is not
    [[15.0, 5.0], [5.0, 5.0]]
    """
    after = [_after(stages[place + 1 :], columns) for place in range(len(stages))]
    flow = _Flow.of(table, needed_columns(stages, columns))
    for stage, wanted in zip(stages, after, strict=True):
        if {*stage.variables, *stage.linked} & {*wanted}:
            flow = flow.through(stage, wanted)
    return flow.table(tuple(columns))


def _after(later: Sequence[Stage], columns: Sequence[str]) -> tuple[str, ...]:
    return needed_columns(later, columns)


@dataclass(frozen=True, eq=False)
class _Flow:
    """Expected counts of cells: codes by column, the labels behind the codes."""

    codes: dict[str, Array]
    labels: dict[str, Labels]
    mass: Real

    @classmethod
    def of(cls, table: CellTable, columns: Sequence[str]) -> _Flow:
        own = table.project(columns)
        codes = {name: own.codes[:, i].astype(np.int64) for i, name in enumerate(columns)}
        return cls(codes, {name: list(own.levels[i]) for i, name in enumerate(columns)}, own.counts.astype(np.float64))

    def through(self, stage: Stage, wanted: Sequence[str]) -> _Flow:
        """After one stage, with the columns that are still wanted."""
        from scipy.sparse import coo_array, csr_array

        state, changed = self._states(stage), {*stage.variables, *stage.linked}
        inside, rest = state >= 0, [name for name in wanted if name not in changed]
        groups, of_cell = _distinct([self.codes[name][inside] for name in rest], int(inside.sum()))
        shape = (len(groups), len(stage.states))
        M = csr_array(coo_array((self.mass[inside], (of_cell, state[inside])), shape=shape))
        new = [name for name in wanted if name in changed]
        targets, of_output = _targets(stage, new)
        released, true, p = stage.transitions
        P = csr_array(coo_array((p, (of_output[released], true)), shape=(len(targets), len(stage.states))))
        moved = coo_array(M @ P.T)
        labels = {**{name: self.labels[name] for name in rest}, **{name: list(self.labels[name]) for name in new}}
        codes = {name: groups[moved.row, i] for i, name in enumerate(rest)}
        for i, name in enumerate(new):
            codes[name] = _coded([target[i] for target in targets], labels[name])[moved.col]
        left = {name: np.concatenate([codes[name], self.codes[name][~inside]]) for name in wanted}
        return _Flow(left, labels, np.concatenate([moved.data, self.mass[~inside]]))

    def _states(self, stage: Stage) -> Array:
        """The state of each cell; -1 for records that the stage leaves alone, such as those without a value."""
        distinct, of_cell = _distinct([self.codes[name] for name in stage.columns], len(self.mass))
        places = {tuple(state): i for i, state in enumerate(stage.states)}
        parts = [[self.labels[name][c] for c in distinct[:, i]] for i, name in enumerate(stage.columns)]
        own = [places.get(label, -1) for label in zip(*parts, strict=True)]
        return np.array(own, dtype=np.int64)[of_cell]

    def table(self, columns: tuple[str, ...]) -> CellTable:
        """As a table of cells."""
        distinct, of_cell = _distinct([self.codes[name] for name in columns], len(self.mass))
        counts = np.bincount(of_cell, self.mass, minlength=len(distinct))
        return CellTable(columns, tuple(tuple(self.labels[name]) for name in columns), distinct, counts)


def _distinct(codes: Sequence[Array], rows: int) -> tuple[Array, Array]:
    """The distinct rows of codes, in order, and which of them each row is."""
    if not codes:
        return np.zeros((1, 0), dtype=np.int64), np.zeros(rows, dtype=np.int64)
    found: tuple[Any, Any] = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    return found[0], found[1].ravel()


def _targets(stage: Stage, names: Sequence[str]) -> tuple[list[tuple[Hashable, ...]], Array]:
    """Distinct labels of some of the columns that a stage changes, and which of them each released state has."""
    first = len(stage.within)

    def label(output: tuple[Hashable, ...], name: str) -> Hashable:
        if name in stage.variables:
            return output[first + stage.variables.index(name)]
        return stage.linked[name][tuple(output[first:])]

    places: dict[tuple[Hashable, ...], int] = {}
    of_output = [places.setdefault(tuple(label(o, name) for name in names), len(places)) for o in stage.outputs]
    return [*places], np.array(of_output, dtype=np.int64)


def _coded(found: Sequence[Hashable], labels: Labels) -> Array:
    """Codes of labels; those that the file did not have are added to the labels."""
    places = {label: code for code, label in enumerate(labels)}
    codes = np.array([places.setdefault(label, len(places)) for label in found], dtype=np.int64)
    labels[:] = [*places]
    return codes

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
from maskwell.core.cells import CellTable
from maskwell.release.stages.stage import Stage
from maskwell.release.utility.coded_stages import CodedStage, distinct

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


def expected_table(
    stages: Sequence[Stage] | Sequence[CodedStage], table: CellTable, columns: Sequence[str]
) -> CellTable:
    """The expected counts of these columns in the released file, from a table that has all that are needed.

    Stages that were numbered before are taken as they are.

    >>> from maskwell.designs.dense import Dense
    >>> states, P = [("a",), ("b",)], Dense.of([["3/4", "1/2"], ["1/4", "1/2"]])
    >>> stage = Stage(variables=("x",), states=states, outputs=states, design=P, counts=np.array([20, 10]),
    ...     cells=np.zeros(2, dtype=int), method="method1", invariance="counts", derived=True)
    >>> file = CellTable.of(["x", "y"], {("a", "u"): 20, ("b", "v"): 10})
    >>> found = expected_table([stage], file, ["x", "y"])
    >>> found.grid().tolist()   # each margin is kept, the association is not
    [[15.0, 5.0], [5.0, 5.0]]
    """
    coded = [one if isinstance(one, CodedStage) else CodedStage.of(one) for one in stages]
    plain = [one.stage for one in coded]
    flow = _Flow.of(table, needed_columns(plain, columns))
    for place, one in enumerate(coded):
        wanted = needed_columns(plain[place + 1 :], columns)
        if one.changed & {*wanted}:
            flow = flow.through(one, wanted)
    return flow.table(tuple(columns))


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

    def through(self, coded: CodedStage, wanted: Sequence[str]) -> _Flow:
        """After one stage, with the columns that are still wanted; records that it leaves alone stay as they are."""
        state = self._states(coded)
        inside, rest = state >= 0, [name for name in wanted if name not in coded.changed]
        new = [name for name in wanted if name in coded.changed]
        groups, of_cell = distinct([self.codes[name][inside] for name in rest], int(inside.sum()))
        targets, of_output = distinct([coded.outputs[name] for name in new], len(coded.stage.outputs))
        moved = self._moved(coded, state, of_cell, of_output, (len(groups), len(targets)))
        labels = {name: list(self.labels[name]) for name in wanted}
        codes = {name: groups[moved.row, i] for i, name in enumerate(rest)}
        for i, name in enumerate(new):
            met = [coded.levels[name][code] for code in targets[:, i]]
            codes[name] = _coded(met, labels[name])[moved.col]
        both = {name: np.concatenate([codes[name], self.codes[name][~inside]]) for name in wanted}
        return _Flow(both, labels, np.concatenate([moved.data, self.mass[~inside]]))

    def _moved(self, coded: CodedStage, state: Array, of_cell: Array, of_output: Array, shape: tuple[int, int]) -> Any:
        """``M P'`` with the rows of P added up to what is wanted of the released states."""
        from scipy.sparse import coo_array, csr_array

        inside, k = state >= 0, len(coded.stage.states)
        M = csr_array(coo_array((self.mass[inside], (of_cell, state[inside])), shape=(shape[0], k)))
        released, true, p = coded.stage.transitions
        P = csr_array(coo_array((p, (of_output[released], true)), shape=(shape[1], k)))
        return coo_array(M @ P.T)

    def _states(self, coded: CodedStage) -> Array:
        """The state of each cell; -1 for records that the stage leaves alone, such as those without a value."""
        names = coded.stage.columns
        return coded.find([coded.translation(name, self.labels[name])[self.codes[name]] for name in names])

    def table(self, columns: tuple[str, ...]) -> CellTable:
        """As a table of cells."""
        cells, of_cell = distinct([self.codes[name] for name in columns], len(self.mass))
        counts = np.bincount(of_cell, self.mass, minlength=len(cells))
        return CellTable(columns, tuple(tuple(self.labels[name]) for name in columns), cells, counts)


def _coded(found: Sequence[Hashable], labels: Labels) -> Array:
    """Codes of labels; those that the file did not have are added to the labels."""
    places = {label: code for code, label in enumerate(labels)}
    codes = np.array([places.setdefault(label, len(places)) for label in found], dtype=np.int64)
    labels[:] = [*places]
    return codes

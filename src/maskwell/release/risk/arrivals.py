"""Who arrives where after all stages of a release: listed one by one, or as a product of matrices.

A stage within a column that an earlier stage randomized works on the released value of it, so both are one component,
one matrix from the true labels of some columns to released labels of the key: the product of their matrices, the later
one on the left [Adeshiyan2011, Theorem 4.2]. Components multiply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.cell_table import CellTable
from maskwell.core.joint_keys import LARGEST_KEY, number_cells, possible_cells, renumber
from maskwell.errors import ParameterError, TooLargeError
from maskwell.release.analysis.kept_tables import acting, moved_by, needed_columns
from maskwell.release.risk.binomial_sums import ENTRIES, BinomialSums, check_few_entries, expanded
from maskwell.release.risk.kronecker_arrivals import KroneckerArrivals
from maskwell.release.risk.sparse_arrivals import SparseArrivals
from maskwell.release.risk.table_flow import CodedStage, TableFlow
from maskwell.release.stages.stage import Stage

LISTED = 4 * 10**6
"""Products with at most so many probabilities are listed."""


class Arrivals(Protocol):
    """Which true cells can be released as which cells of the key, with which probability."""

    @property
    def counts(self) -> Array:
        """Records of each true cell, shape (cells,)."""

    @property
    def own(self) -> Array:
        """The row that is the key of each true cell, shape (cells,)."""

    @property
    def kept(self) -> Real:
        """Chance that a record is released with its own key, shape (cells,)."""

    def summands(self, rows: Array) -> BinomialSums:
        """The terms of some rows."""

    def terms(self, row: int) -> tuple[Array, Real]:
        """Records and probabilities of one row."""

    def easiest(self, cells: Array, own: Real) -> Real:
        """The strict risk of cells under the released value that is best for whoever looks; never below ``own``."""

    def best_guesses(self) -> Real:
        """For each released cell the expected records of the true cell that most of them come from."""

    def expected_uniques(self) -> float:
        """Expected number of released cells with one record."""


def arrivals_of(
    stages: Sequence[Stage], table: CellTable, keys: Sequence[str], *, released: CellTable | None = None
) -> Arrivals:
    """How the records of a table are released as cells of a key.

    Parameters
    ----------
    stages
        The randomizations in their order; those that do not touch the key are left out.
    table
        Counts over (at least) the columns of :func:`needed_columns`. Its projection to them has the cells of the
        result.
    keys
        The columns that an intruder knows.
    released
        Counts of the released file over the key, where it is drawn.

    The probability that a cell j is released as x is the product of those of the components,
    ``p_xj = prod_c P_c[x_c, j_c]`` [Adeshiyan2011, section 4.7.5].
    """
    true = table.project(needed_columns(stages, keys))
    table = true if released is None else _with_released(true, released)
    parts = components_of(stages, table, keys)
    unmoved = [table.place(name) for name in keys if not any(name in part.keys for part in parts)]
    (fixed,), space = _numbers([table.sizes[place] for place in unmoved], table.codes[:, unmoved])
    entries = np.prod([part.lengths[part.state] for part in parts], axis=0, dtype=np.float64).sum()
    if len(parts) > 1 and entries > LISTED:
        try:
            cells = len(true)
            return KroneckerArrivals.of(
                true, [replace(p, state=p.state[:cells], own=p.own[:cells]) for p in parts], fixed[:cells]
            )
        except TooLargeError:  # many cells of columns outside the key; perhaps few probabilities all the same
            if entries > ENTRIES:
                raise
    listed = _listed(table, parts, fixed, space)
    return listed if released is None else _seen(listed, table, released, len(true))


def _with_released(table: CellTable, released: CellTable) -> CellTable:
    """The cells of a table, and without a record those of the key that occur only in the released file."""
    known = {*table.project(released.columns).labels()}
    new = [label for label in released.labels() if label not in known]
    if not new:
        return table
    levels = [list(own) for own in table.levels]
    codes = np.zeros((len(new), len(table.columns)), dtype=table.codes.dtype)
    for at, name in enumerate(released.columns):
        own = levels[table.place(name)]
        places = {label: code for code, label in enumerate(own)}
        codes[:, table.place(name)] = [places.setdefault(label[at], len(places)) for label in new]
        own.extend([*places][len(own) :])
    none = np.zeros(len(new), dtype=table.counts.dtype)
    return CellTable(
        table.columns, tuple(map(tuple, levels)), np.concatenate([table.codes, codes]), np.append(table.counts, none)
    )


def _seen(listed: SparseArrivals, table: CellTable, released: CellTable, cells: int) -> SparseArrivals:
    """The arrivals with the records that were released as each cell of the key; the cells after the first are empty."""
    at = [table.place(name) for name in released.columns]
    rows = {
        tuple(table.levels[c][code] for c, code in zip(at, codes, strict=True)): row
        for codes, row in zip(table.codes[:, at].tolist(), listed.own.tolist(), strict=True)
    }
    seen = np.zeros(listed.rows, dtype=np.int64)
    np.add.at(seen, [rows[label] for label in released.labels()], released.counts)
    return replace(listed, counts=listed.counts[:cells], own=listed.own[:cells], seen=seen)


def _listed(table: CellTable, parts: Sequence[Component], fixed: Array, space: int) -> SparseArrivals:
    cell, row, own = np.arange(len(table)), fixed, fixed
    p: Real = np.ones(len(table))
    for part in parts:
        taken, entry = expanded(part.starts, part.state[cell])
        cell, p = cell[taken], p[taken] * part.p[entry]
        row, own = row[taken] * part.parts + part.row[entry], own * part.parts + part.own
        (row, own), space = renumber(space * part.parts, row, own)
    return SparseArrivals.of(table.counts, own, space, row, cell, p)


@dataclass(frozen=True, eq=False)
class Component:
    """One matrix of the key.

    Attributes
    ----------
    within
        Columns that tell which matrix is used and are not randomized.
    keys
        Columns of the key that it changes.
    state
        Shape (cells,): the true state of each cell of the table, 0..states-1.
    own
        Shape (cells,): the released part of the key that is the cell's own.
    parts
        Number of parts of the key that can be released, or are true.
    starts, row, p
        The matrix by columns: state j leads to the parts ``row[starts[j]:starts[j + 1]]``.
    """

    within: tuple[str, ...]
    keys: tuple[str, ...]
    state: Array
    own: Array
    parts: int
    starts: Array
    row: Array
    p: Real

    @property
    def states(self) -> int:
        """Number of true states."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> Array:
        """How many parts each state leads to."""
        return np.diff(self.starts)


def components_of(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> list[Component]:
    """The components of the stages that act on a key; the table holds at least the needed columns."""
    groups: list[list[Stage]] = []
    for stage in acting(stages, keys):
        joined = [_builds_on(stage, group) for group in groups]
        earlier = [one for group, builds in zip(groups, joined, strict=True) if builds for one in group]
        groups = [group for group, builds in zip(groups, joined, strict=True) if not builds]
        groups.append([*sorted(earlier, key=[*stages].index), stage])
    return [_component(group, table, keys) for group in groups]


def _builds_on(stage: Stage, group: Sequence[Stage]) -> bool:
    return bool({name for earlier in group for name in moved_by(earlier)} & {*stage.columns})


def _component(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> Component:
    changed = {name for stage in stages for name in moved_by(stage)}
    part_keys = tuple(name for name in keys if name in changed)
    columns = tuple(dict.fromkeys([*(name for stage in stages for name in stage.columns), *part_keys]))
    true, state = _distinct_cells(table, columns)
    flow = true.one_by_one().after([CodedStage.of(stage) for stage in stages], part_keys, _check_stage)
    assert flow.origin is not None
    true_keys, released_keys = (np.stack([one.codes[name] for name in part_keys], axis=1) for one in (true, flow))
    (own, part), parts = _numbers([len(flow.labels[name]) for name in part_keys], true_keys, released_keys)
    row, p, starts = _merged(flow.origin, part, flow.mass, len(own), parts)
    return Component(
        within=tuple(name for name in columns if name not in changed),
        keys=part_keys,
        state=state,
        own=own[state],
        parts=parts,
        starts=starts,
        row=row,
        p=p,
    )


def _check_stage(coded: CodedStage, state: Array) -> None:
    """Raise where a stage meets none of its states, or leads to more than can be kept."""
    if (state < 0).all():
        raise ParameterError(
            f"no cell of the table is a state of the stage that randomizes {', '.join(coded.stage.variables)}",
            hint="give the counts of the file that the stage was made for",
        )
    check_few_entries(coded.transition_count(state))


def _numbers(sizes: Sequence[int], *codes: Array) -> tuple[list[Array], int]:
    """Combinations of codes as 0, 1, 2, ..., the same in all arrays, and how many there are."""
    return renumber(min(possible_cells(sizes), LARGEST_KEY), *number_cells(sizes, *codes))


def _distinct_cells(table: CellTable, columns: Sequence[str]) -> tuple[TableFlow, Array]:
    """The combinations of some columns that occur, and the number of its combination for each cell."""
    places = [table.place(name) for name in columns]
    (of_cell,), count = _numbers([table.sizes[place] for place in places], table.codes[:, places])
    first = np.zeros(count, dtype=np.int64)
    first[of_cell] = np.arange(len(table))
    codes = table.codes[first].astype(np.int64)
    by_name = {name: codes[:, place] for name, place in zip(columns, places, strict=True)}
    labels = {name: [*table.levels[place]] for name, place in zip(columns, places, strict=True)}
    return TableFlow(by_name, labels, np.ones(count)), of_cell


def _merged(origin: Array, part: Array, p: Real, states: int, parts: int) -> tuple[Array, Real, Array]:
    """Entries sorted by state, those with the same state and part added up: parts, probabilities, starts."""
    order = np.argsort(origin * parts + part, kind="stable")
    key = (origin * parts + part)[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    summed = np.minimum(np.add.reduceat(p[order], first), 1.0)  # a sum of floats may be above one by a rounding
    both = key[first]
    starts = np.searchsorted(both // parts, np.arange(states + 1))
    summed[starts[:-1][np.diff(starts) == 1]] = 1.0  # the only part that a state leads to: it gets there for sure
    return both % parts, summed, starts

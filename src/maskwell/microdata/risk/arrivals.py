"""Who arrives where after all stages of a release: a list, or a product of components [Adeshiyan2011, Theorem 4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import LARGEST_KEY, find_keys, number_cells, possible_cells, renumber
from maskwell.designs.sparse import Sparse
from maskwell.errors import ParameterError, TooLargeError
from maskwell.microdata.risk.binomial_sums import ENTRIES, check_few_entries, expanded
from maskwell.microdata.risk.kronecker_arrivals import KroneckerArrivals
from maskwell.microdata.risk.sparse_arrivals import SparseArrivals
from maskwell.microdata.stages.stage import RandomizedColumns, Stage, TableFlow, acting, needed_columns

LISTED = 4 * 10**6  # products with at most so many probabilities are listed

# Which true cells can be released as which cells of the key, with which probability
Arrivals = SparseArrivals | KroneckerArrivals


def arrivals_of(
    stages: Sequence[Stage], table: CellTable, keys: Sequence[str], *, released: CellTable | None = None
) -> Arrivals:
    """How records are released as cells of a key: ``p_xj = prod_c P_c[x_c, j_c]`` [Adeshiyan2011, section 4.7.5]."""
    table = true = table.project(needed_columns(stages, keys))
    cells = slice(len(true))  # others have no record
    if released is not None:
        table, place = _with_released(true, released)
    parts = components_of(stages, table, keys)
    unmoved = [table.place(name) for name in keys if not any(name in part.keys for part in parts)]
    (fixed,), space = _numbers([table.sizes[place] for place in unmoved], table.codes[:, unmoved])
    entries = np.prod([part.lengths[part.state] for part in parts], axis=0, dtype=np.float64).sum()
    if len(parts) > 1 and entries > LISTED:
        try:
            own = [replace(part, state=part.state[cells], own=part.own[cells]) for part in parts]
            return KroneckerArrivals.of(true, own, fixed[cells])
        except TooLargeError:  # many cells of columns outside the key; perhaps few probabilities all the same
            if entries > ENTRIES:
                raise
    listed = _listed(table, parts, fixed, space)
    if released is None:
        return listed
    seen = np.zeros(listed.rows, dtype=np.int64)
    np.add.at(seen, listed.own[place], released.counts)
    return replace(listed, counts=listed.counts[cells], own=listed.own[cells], seen=seen)


PART = 1 << 16  # cells of a file whose arrivals are in memory at once, where they fall into parts


def arrival_parts(
    stages: Sequence[Stage], table: CellTable, keys: Sequence[str], *, released: CellTable | None = None
) -> Iterator[tuple[Array, Arrivals]]:
    """The same in parts that exchange no records, each with its cells, where one stage has all columns; else in one."""
    table = table.project(needed_columns(stages, keys))
    moving, found = acting(stages, keys), None
    if len(table) > PART and len(moving) == 1 and {*table.columns} == {*moving[0].columns} == {*keys}:
        found = _states_and_reports(moving[0], table, released)
    if found is None:
        yield np.arange(len(table)), arrivals_of(stages, table, keys, released=released)
        return
    (design, of_cell, seen), own = found, moving[0].own
    block = design.components()[of_cell]
    order = np.argsort(block, kind="stable")
    ends = np.flatnonzero(np.diff(block[order], append=-1)) + 1  # of the blocks
    last = ends[np.searchsorted(ends, np.arange(PART, len(order), PART))]
    for cells in (np.sort(part) for part in np.split(order, np.unique(last)) if len(part)):
        state = of_cell[cells]
        cell, entry = expanded(design.starts, state)
        reports = design.rows[entry].astype(np.int64)
        (row, own_row), rows = renumber(design.m, reports, own[state])
        listed = SparseArrivals.of(table.counts[cells], own_row, rows, row, cell, design.values[entry])
        if seen is not None:
            released_as = np.zeros(rows, dtype=np.int64)
            released_as[row] = seen[reports]
            listed = replace(listed, seen=released_as)
        yield cells, listed


def _states_and_reports(
    stage: Stage, table: CellTable, released: CellTable | None
) -> tuple[Sparse, Array, Array | None] | None:
    """The design of a stage, the state of each cell, and the records released with each report."""
    state, seen = states_of(stage, table), None
    if not isinstance(stage.design, Sparse) or (state < 0).any() or (stage.own < 0).any() or stage.linked:
        return None
    if released is not None:
        at = states_of(stage, released)
        if (at < 0).any() or not np.isin(at, state).all():
            return None
        seen = np.zeros(len(stage.outputs), dtype=np.int64)
        seen[stage.own[at]] = released.counts
    return stage.design, state, seen


def states_of(stage: Stage, table: CellTable) -> Array:
    """The state of each cell of a table, -1 for one that is none."""
    places = {name: table.place(name) for name in stage.columns}
    labels = {name: table.levels[place] for name, place in places.items()}
    return stage.find(labels, {name: table.codes[:, place] for name, place in places.items()})


def _with_released(table: CellTable, released: CellTable) -> tuple[CellTable, Array]:
    """The cells of a table and those that only the released file has; and for each released cell one with its key."""
    levels, codes = list(table.levels), np.zeros(released.codes.shape, dtype=table.codes.dtype)
    at = [table.place(name) for name in released.columns]
    for column, place in enumerate(at):
        known_labels = {label: code for code, label in enumerate(levels[place])}
        translated = [known_labels.setdefault(label, len(known_labels)) for label in released.levels[column]]
        codes[:, column] = np.array(translated, dtype=codes.dtype)[released.codes[:, column]]
        levels[place] = tuple(known_labels)
    found = find_keys(*number_cells([len(levels[place]) for place in at], table.codes[:, at], codes))
    new = np.flatnonzero(found < 0)
    if not len(new):
        return table, found
    found[new] = len(table) + np.arange(len(new))
    added = np.zeros((len(new), len(table.columns)), dtype=table.codes.dtype)
    added[:, at] = codes[new]
    counts = np.append(table.counts, np.zeros(len(new), dtype=table.counts.dtype))
    return CellTable(table.columns, tuple(levels), np.concatenate([table.codes, added]), counts), found


def _listed(table: CellTable, parts: Sequence[Component], fixed: Array, space: int) -> SparseArrivals:
    cell, row, own = np.arange(len(table)), fixed, fixed
    p: Real = np.ones(len(table))
    for part in parts:
        taken, entry = expanded(part.starts, part.state[cell])
        cell, p = cell[taken], p[taken] * part.p[entry]
        row, own = row[taken] * part.parts + part.row[entry], own * part.parts + part.own
        (row, own), space = renumber(space * part.parts, row, own)
    return SparseArrivals.of(table.counts, own, space, row, cell, p)


# ---- stages that belong together


@dataclass(frozen=True, eq=False)
class Component:
    """One matrix of the key."""

    keys: tuple[str, ...]  # columns of the key that it changes
    state: Array  # shape (cells,): the true state of each cell of the table, 0..states-1
    own: Array  # shape (cells,): the released part of the key that is the cell's own
    parts: int  # number of parts of the key that can be released, or are true
    # starts, row, p: the matrix by columns: state j leads to the parts ``row[starts[j]:starts[j + 1]]``
    starts: Array
    row: Array
    p: Real

    @property
    def lengths(self) -> Array:
        """How many parts each state leads to."""
        return np.diff(self.starts)


def components_of(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> list[Component]:
    """The components of the stages that act on a key; the table holds at least the needed columns."""
    groups: list[list[Stage]] = []
    for stage in acting(stages, keys):
        joined = [any({*earlier.moved} & {*stage.columns} for earlier in group) for group in groups]
        earlier = [one for group, builds in zip(groups, joined, strict=True) if builds for one in group]
        groups = [group for group, builds in zip(groups, joined, strict=True) if not builds]
        groups.append([*sorted(earlier, key=[*stages].index), stage])
    return [_component(group, table, keys) for group in groups]


def _component(stages: Sequence[Stage], table: CellTable, keys: Sequence[str]) -> Component:
    changed = {name for stage in stages for name in stage.moved}
    part_keys = tuple(name for name in keys if name in changed)
    columns = tuple(dict.fromkeys([*(name for stage in stages for name in stage.columns), *part_keys]))
    # the combinations of the columns that occur, and the number of its combination for each cell
    places = [table.place(name) for name in columns]
    (state,), count = _numbers([table.sizes[place] for place in places], table.codes[:, places])
    first = np.zeros(count, dtype=np.int64)
    first[state] = np.arange(len(table))
    codes = dict(zip(columns, table.codes[first][:, places].astype(np.int64).T, strict=True))
    labels = {name: [*table.levels[place]] for name, place in zip(columns, places, strict=True)}
    true = TableFlow(codes, labels, np.ones(count))
    flow = true.one_by_one().after(stages, part_keys, _check_stage)
    assert flow.origin is not None
    true_keys, released_keys = (np.stack([one.codes[name] for name in part_keys], axis=1) for one in (true, flow))
    (own, part), parts = _numbers([len(flow.labels[name]) for name in part_keys], true_keys, released_keys)
    row, p, starts = _merged(flow.origin, part, flow.mass, len(own), parts)
    return Component(part_keys, state, own[state], parts, starts, row, p)


def _check_stage(stage: RandomizedColumns, state: Array) -> None:
    """Raise where a stage meets none of its states, or leads to more than can be kept."""
    if (state < 0).all():
        raise ParameterError("no-cell-of-the-table", variables=", ".join(stage.variables))
    check_few_entries(stage.transition_count(state))


def _numbers(sizes: Sequence[int], *codes: Array) -> tuple[list[Array], int]:
    """Combinations of codes as 0, 1, 2, ..., the same in all arrays, and how many there are."""
    return renumber(min(possible_cells(sizes), LARGEST_KEY), *number_cells(sizes, *codes))


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

"""Who arrives where after all stages of a release: a list, or a product of components [Adeshiyan2011, Theorem 4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import LARGEST_KEY, find_keys, number_cells, possible_cells, renumber
from maskwell.designs.coded import ENTRY_LIMIT, CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.errors import ParameterError, TooLargeError
from maskwell.microdata.risk import binomial_sums as binomial
from maskwell.microdata.risk.binomial_sums import ENTRIES, BinomialSums
from maskwell.microdata.risk.kronecker_arrivals import KroneckerArrivals
from maskwell.microdata.risk.match_chances import strict_risks, strict_when_highest
from maskwell.microdata.stages.stage import RandomizedColumns, Stage, TableFlow, acting, needed_columns

_NEAR = 1 + 1e-9
_ROOM = 8
_AT_ONCE = 100  # releases that are looked for before those are left out which cannot matter any more
SEARCHED = 1000  # releases under another value than their own whose strict risk is looked for, t by t, of one file


@dataclass(frozen=True, eq=False)
class SparseArrivals:
    """How records of the true cells (columns) are released as cells of the key (rows)."""

    counts: Array  # shape (cells,): records of each true cell
    own: Array  # shape (cells,): the row that is the cell's own key
    rows: int  # number of rows
    row: Array  # row, cell, p: the entries that are not zero, sorted by row
    cell: Array
    p: Real
    seen: Array | None = None  # shape (rows,): records that were released as each row, where the file is drawn

    @classmethod
    def of(cls, counts: Array, own: Array, rows: int, row: Array, cell: Array, p: Real) -> SparseArrivals:
        """Entries in any order; those of empty cells are left out."""
        used = np.flatnonzero((counts[cell] > 0) & (p > 0))
        small = row[used].astype(np.uint16) if rows <= 1 << 16 else row[used]  # sorted by digits, much faster
        used = used[np.argsort(small, kind="stable")]
        return cls(counts, own, rows, row[used].astype(np.int64), cell[used].astype(np.int64), p[used])

    @classmethod
    def from_design(cls, counts: Array, design: CodedDesign) -> SparseArrivals:
        """The design of one stage; a cell's own row is the report with its label."""
        row, cell, p = design.transitions(limit=ENTRY_LIMIT)
        own = np.arange(design.k)
        if design.outputs is not design.inputs:  # a label that is no report gets a row to which nothing leads
            places = {label: i for i, label in enumerate(design.outputs.labels)}
            own = np.array([places.setdefault(label, len(places)) for label in design.inputs.labels], dtype=np.int64)
        return cls.of(counts, own, max(design.m, int(own.max()) + 1), row, cell, p)

    @cached_property
    def kept(self) -> Real:
        """Shape (cells,): chance that a record is released with its own key."""
        out = np.zeros(len(self.counts))
        staying = self.row == self.own[self.cell]
        out[self.cell[staying]] = self.p[staying]
        return out

    def summands(self, rows: Array) -> BinomialSums:
        """The terms of some rows."""
        first, last = np.searchsorted(self.row, [rows.min(initial=0), rows.max(initial=-1) + 1])
        place = np.full(self.rows, -1)
        place[rows] = np.arange(len(rows))
        at = place[self.row[first:last]]
        used = first + np.flatnonzero(at >= 0)
        return binomial.sums_of_terms(at[at >= 0], self.counts[self.cell[used]], self.p[used], len(rows))

    def terms(self, row: int) -> tuple[Array, Real]:
        """Records and probabilities of one row."""
        first, last = np.searchsorted(self.row, [row, row + 1])
        return self.counts[self.cell[first:last]], self.p[first:last]

    def best_guesses(self) -> Real:
        """Shape (rows,): for each released cell the expected records of the true key that most of them have."""
        expected = self.p * self.counts[self.cell]
        if len(np.unique(self.own)) == len(self.own):
            return binomial.highest_of(self.row, expected, self.rows)
        key = self.row * self.rows + self.own[self.cell]
        both, place = np.unique(key, return_inverse=True)
        return binomial.highest_of(both // self.rows, binomial.row_sums(place.ravel(), expected, len(both)), self.rows)

    def expected_uniques(self) -> float:
        """Expected number of released cells with one record."""
        return float(binomial.chance_of_one(self.row, self.counts[self.cell], self.p, self.rows).sum())

    def easiest(self, cells: Array, own: Real) -> Real:
        """The strict risk of cells under the released value that is best for the intruder; never below ``own``."""
        risks = own.copy()
        target, row, p, bound = self._elsewhere(cells, own)
        rows, place = np.unique(row, return_inverse=True)
        if not len(rows):
            return risks
        risk = strict_when_highest(self.summands(rows), place.ravel(), p)
        settled = ~np.isnan(risk)
        np.maximum.at(risks, target[settled], risk[settled])
        open_ = np.flatnonzero(~settled & (bound > risks[target] * _NEAR))
        self._search(risks, target[open_], row[open_], p[open_], bound[open_])
        return risks

    def above(self, cells: Array, least: float) -> tuple[Array, Array, Real]:
        """Looks under another value that find with a chance, or a bound of it, above ``least``: cell, row, risk."""
        target, row, p, bound = self._elsewhere(cells, np.full(len(cells), least))
        rows, place = np.unique(row, return_inverse=True)
        risk = strict_when_highest(self.summands(rows), place.ravel(), p) if len(rows) else bound
        open_ = np.flatnonzero(np.isnan(risk))
        risk[open_] = bound[open_]
        some = open_[:SEARCHED]
        risk[some] = strict_risks([self.terms(int(one)) for one in row[some]], p[some])
        more = risk > least
        return cells[target[more]], row[more], risk[more]

    def _search(self, risks: Real, target: Array, row: Array, p: Real, bound: Real) -> None:
        """Raise risks to the strict risks of targets that are not the likeliest of their row, the easiest first."""
        known: dict[tuple[int, float], float] = {}
        order = np.argsort(-bound, kind="stable")
        while len(order):
            some, order = order[:_AT_ONCE], order[_AT_ONCE:]
            keys = [(int(row[one]), float(p[one])) for one in some]
            new = [key for key in dict.fromkeys(keys) if key not in known][: max(0, SEARCHED - len(known))]
            known.update(
                zip(new, strict_risks([self.terms(at) for at, _ in new], np.array([q for _, q in new])), strict=True)
            )
            reached = [known.get(key, bound[one]) for key, one in zip(keys, some, strict=True)]
            np.maximum.at(risks, target[some], reached)
            order = order[bound[order] > risks[target[order]] * _NEAR]

    def _elsewhere(self, cells: Array, least: Real) -> tuple[Array, Array, Real, Real]:
        """Targets (place, row, p, bound) that may be easier to identify under another value, as far as bounds show."""
        if not len(cells):
            return cells, cells, least, least
        place = np.full(len(self.counts), -1)
        place[cells] = np.arange(len(cells))
        least_here = np.where(place[self.cell] >= 0, least[place[self.cell]], np.inf) * _NEAR
        away = (self.row != self.own[self.cell]) & (1 / self.counts[self.cell] > least_here)
        odds = np.where(self.p < 1, self.p / np.where(self.p < 1, 1 - self.p, 1.0), np.inf)
        for bound in (self._by_highest, self._by_classes, self._by_odds):
            rows = np.zeros(self.rows, dtype=bool)
            rows[self.row[away]] = True
            inside = np.flatnonzero(rows[self.row])
            shares = bound(inside, odds[inside])
            away[inside] &= shares > least_here[inside]
        kept = away[inside]
        return place[self.cell[away]], self.row[away], self.p[away], shares[kept]

    def _by_highest(self, inside: Array, odds: Real) -> Real:
        """``max(o) / sum N o`` of the row of each entry: no share is above it."""
        row, n, finite = self._finite(inside, odds)
        total, highest = (binomial.row_sums(row, n * finite, self.rows), binomial.highest_of(row, finite, self.rows))
        free = binomial.row_sums(row, np.isinf(odds), self.rows) == 0
        bound = np.where(free & (total > 0), highest / np.where(total > 0, total, 1.0), 1.0)
        return np.asarray(bound[row])

    def _by_classes(self, inside: Array, odds: Real) -> Real:
        """A bound within a factor of two of the next, without sorting: odds are put in classes by powers of two."""
        row, n, finite = self._finite(inside, odds)
        power = np.frexp(finite)[1]
        least = int(power.min(initial=0))
        power = np.where(np.isinf(odds), int(power.max(initial=0)) + 1, power) - least
        classes = int(power.max(initial=0)) + 1
        if self.rows * classes > _ROOM * max(len(row), 1 << 20):
            return np.ones(len(row))
        place = row * classes + power
        records = binomial.row_sums(place, n, self.rows * classes).reshape(self.rows, classes)
        weighted = binomial.row_sums(place, n * finite, self.rows * classes).reshape(self.rows, classes)
        above = np.cumsum(records[:, ::-1], axis=1)[:, ::-1] - records
        below = np.cumsum(weighted, axis=1) / np.ldexp(1.0, np.arange(classes) + least)
        certain = np.isinf(odds)
        shares = np.where(certain, records[row, power], (above + below)[row, power])
        return np.asarray(1 / shares)

    def _finite(self, inside: Array, odds: Real) -> tuple[Array, Real, Real]:
        """Rows, records and odds of entries; the odds of those that are certain to arrive as 0."""
        n = self.counts[self.cell[inside]].astype(np.float64)
        return self.row[inside], n, np.where(np.isfinite(odds), odds, 0.0)

    def _by_odds(self, inside: Array, odds: Real) -> Real:
        """``1 / sum_j N_j min(o_j / o, 1)`` for entries that fill whole rows."""
        row, n = self.row[inside], self.counts[self.cell[inside]].astype(np.float64)
        order = np.lexsort((odds, row))
        row, n, o = row[order], n[order], odds[order]
        finite = np.isfinite(o)
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        sizes = np.diff(np.append(starts, len(row)))
        weighted = _running(np.where(finite, n * np.where(finite, o, 0.0), 0.0), starts, sizes)
        records = _running(n, starts, sizes)
        total = np.repeat(records[starts + sizes - 1], sizes)
        certain = np.repeat(np.add.reduceat(np.where(finite, 0.0, n), starts), sizes) if len(starts) else n
        shares = np.where(finite, weighted / np.where(finite & (o > 0), o, 1.0) + total - records, certain)
        out = np.empty(len(order))
        out[order] = 1 / shares
        return out


def joined_blocks(one: Array, ones: int, other: Array, others: int) -> tuple[int, Array, Array]:
    """Blocks of things of two kinds that hang together by pairs: how many blocks, and the block of each thing."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(one)), (one, ones + other)), shape=(ones + others, ones + others))
    count, block = connected_components(graph, directed=False)
    return count, block[:ones].astype(np.int64), block[ones:].astype(np.int64)


def _running(values: Real, starts: Array, sizes: Array) -> Real:
    sums = np.cumsum(values)
    before = np.concatenate([[0.0], sums])[starts]
    return np.asarray(sums - np.repeat(before, sizes))


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
        cell, entry = binomial.expanded(design.starts, state)
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
        taken, entry = binomial.expanded(part.starts, part.state[cell])
        cell, p = cell[taken], p[taken] * part.p[entry]
        row, own = row[taken] * part.parts + part.row[entry], own * part.parts + part.own
        (row, own), space = renumber(space * part.parts, row, own)
    return SparseArrivals.of(table.counts, own, space, row, cell, p)


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
    binomial.check_few_entries(stage.transition_count(state))


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

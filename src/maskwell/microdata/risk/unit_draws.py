"""The risk of a match where all records of a unit, such as a household, have one draw (docs/theory/disclosure-risk.md).

Units of one *make-up* (how many records have each combination of the unchanged columns that are seen) are records of
a file of units. Who sees which records belong together finds one with ``s r / c``: r for the unit, c records alike in
it, s of all alike in such units. Who does not sees ``m = A M``, make-ups by columns; where these are dependent, all
ways to m are listed,

    Pr(the unit is released as i; m) = p_ij [z^m] z^a_ij F(z) / f_j(z) / [z^m] F(z),   f_j = sum_i p_ij z^a_ij
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows
from maskwell.core.verdicts import at_most
from maskwell.microdata.records.unit_rows import UnitMembers
from maskwell.microdata.risk.arrivals import joined_blocks
from maskwell.microdata.risk.file_risk import assess_risk, cells_in, remeasured, risks_as_released
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.risk.unit_risk import with_units
from maskwell.microdata.stages.stage import Stage, TableFlow, acting, needed_columns
from maskwell.notes import Note

WORK = 4 * 10**6  # steps from one way to share out the released counts to the next that are made for one file
STATES = 20_000  # ways to share out the released counts of a block of units that are kept at once
_BITS = 62  # powers are told apart by one number
_ALIKE = "records of one unit alike"
_MAKE_UP = "make-up of a unit"
_ONE_LOOK = ("strict", "any_release")


@dataclass(frozen=True, eq=False)
class DrawnUnits:
    """The units of a file that have one draw, and what is seen of them."""

    # counts over the keys, what tells how they are drawn, and what is seen; and the records by unit, in its cells
    table: CellTable
    members: UnitMembers
    seen: tuple[str, ...] = ()  # unchanged columns inside whose cells records are counted, besides the keys
    shown: bool = False  # whether the released file shows, of some records at least, which belong together
    # counts of the released file over the keys and the columns that are seen, where it is drawn
    released: CellTable | None = None
    # the released records by unit, in the cells of ``released``, where the file shows them
    released_members: UnitMembers | None = None


def have_one_draw(stages: Sequence[Stage], keys: Sequence[str]) -> bool:
    """Whether all records of a unit have one draw of a key."""
    return any(stage.unit is not None for stage in acting(stages, keys))


def units_told(
    report: RiskReport,
    stages: Sequence[Stage],
    units: DrawnUnits,
    *,
    seen_by: Sequence[str],
    seen_share: float,
    also: Callable[[RiskReport], RiskReport] = lambda report: report,
) -> RiskReport:
    """A report with the risk of units, and for draws of whole units where a stage has these; ``also`` adds to it."""
    together = None
    if have_one_draw(stages, report.keys):
        report, together = drawn_together(report, stages, units)
    report = also(report)
    members = replace(units.members, cells=cells_in(units.table, report.table)[units.members.cells])
    return with_units(report, members, seen_by=seen_by, seen_share=seen_share, together=together)


def drawn_together(report: RiskReport, stages: Sequence[Stage], units: DrawnUnits) -> tuple[RiskReport, float | None]:
    """The risk of a match where all records of a unit have one draw: at most ``max over c of r / c``.

    Beside it the largest chance to find a whole unit for who knows all its keys and sees which records are one unit's;
    ``None`` where nothing smaller than one in the units alike can be claimed. Keys with draws of single records are
    taken as unchanged, and what all counts reveal is not known then. Source: derived.
    """
    if any(stage.unit is None for stage in acting(stages, report.keys)):
        units = replace(units, released=None, released_members=None)
    drawn = [stage for stage in stages if stage.unit is not None]
    place = cells_in(units.table, report.table)
    measured = {name: _largest(values, place, len(report.table)) for name, values in _one_look(report, drawn, units)}
    made_up = _MadeUp.of(report.keys, drawn, units)
    chances = made_up.one_look(drawn)
    if units.shown:
        for name in _ONE_LOOK:
            shown = chances[name][made_up.record] * made_up.parts(shown=True)
            measured[name] = np.maximum(measured[name], _largest(shown, place[made_up.cell], len(report.table)))
    measured["in_range"] = measured["strict"]
    released = None if units.released is None else made_up.released(units)
    counted = made_up.counted(drawn, units, released)
    if counted is not None:
        measured["released_counts"] = _largest(counted, place[made_up.cell], len(report.table))
    told = remeasured(report, measured)
    told = replace(told, flags=(*told.flags, Note("all-records-of-a-unit")))
    return told, made_up.whole(drawn, units, released, chances["any_release"])


def _one_look(report: RiskReport, stages: Sequence[Stage], units: DrawnUnits) -> Iterator[tuple[str, Real]]:
    """Bounds for an intruder who looks at one released value, for each cell of the table of the units."""
    table, members = units.table, units.members
    pairs, sizes = np.unique(members.units.astype(np.int64) * len(table) + members.cells, return_counts=True)
    levels, codes = np.unique(sizes, return_inverse=True)
    groups, counts = np.unique((pairs % len(table)) * len(levels) + codes.reshape(-1), return_counts=True)
    cell, code = np.divmod(groups, len(levels))
    of_units = CellTable(
        (*table.columns, _ALIKE),
        (*table.levels, tuple(levels.tolist())),
        np.column_stack([table.codes[cell], code]).astype(table.codes.dtype),
        counts.astype(np.int64),
    )
    found = assess_risk(of_units, [*report.keys, _ALIKE], stages, seen=units.seen)
    place = cells_in(of_units, found.table)
    for name in _ONE_LOOK:
        yield name, _largest(found.per_cell[name][place] / levels[code], cell, len(table))


def _largest(chances: Real, cell: Array, cells: int) -> Real:
    most = np.zeros(cells)
    np.maximum.at(most, cell, chances)
    return most


Label = tuple[Hashable, ...]
MakeUp = tuple[Label, ...]  # the labels of the records of a unit in the unchanged columns that are seen, sorted


@dataclass(frozen=True, eq=False)
class _MadeUp:
    """The file of units: each unit is a record of it, with the columns by which it is drawn and its make-up."""

    # keys, moved, unchanged: the keys, those of them that are randomized, and the columns that are seen and stay
    keys: tuple[str, ...]
    moved: tuple[str, ...]
    unchanged: tuple[str, ...]
    of_units: CellTable  # of_units, make_ups: counts of units, and the make-ups by their numbers
    make_ups: tuple[MakeUp, ...]
    # record, cell: shape (types,): each cell of ``of_units`` with each cell of records that its units have
    record: Array
    cell: Array
    # alike, share, inside: how many records of such a unit have the same keys; of all records with these keys the
    # share that is in units of the same make-up; and the share that is the same in what is seen besides
    alike: Array
    share: Real
    inside: Real

    @classmethod
    def of(cls, keys: Sequence[str], stages: Sequence[Stage], units: DrawnUnits) -> _MadeUp:
        table, unit, cell = units.table, units.members.units.astype(np.int64), units.members.cells
        changed = {name for stage in stages for name in stage.moved}
        moved = tuple(name for name in keys if name in changed)
        unchanged = tuple(dict.fromkeys(name for name in (*keys, *units.seen) if name not in changed))
        numbers: dict[MakeUp, int] = {}
        make_up, first = _make_ups(table, units.members, unchanged, numbers)
        of_units, record = _unit_table(table, needed_columns(stages, moved), first, make_up, len(numbers))
        own = cells_in(table, table.project(keys))[cell]
        alike, every = _times([unit, own]), _times([own])
        rest = cells_in(table, table.project([*keys, *units.seen]))[cell]
        types, of_type = distinct_rows([record[unit], cell], len(unit))
        one = np.zeros(len(types), dtype=np.int64)
        one[of_type] = np.arange(len(unit))
        return cls(
            keys=tuple(keys),
            moved=moved,
            unchanged=unchanged,
            of_units=of_units,
            make_ups=tuple(numbers),
            record=types[:, 0],
            cell=types[:, 1],
            alike=alike[one],
            share=(_times([own, make_up[unit]]) / every)[one],
            inside=(_times([rest]) / every)[one],
        )

    def one_look(self, stages: Sequence[Stage]) -> dict[str, Real]:
        """For each cell of units the match probability of an intruder who sees units and looks at one make-up."""
        report = assess_risk(self.of_units, [*self.moved, _MAKE_UP], stages, seen=())
        place = cells_in(self.of_units, report.table)
        return {name: report.per_cell[name][place] for name in _ONE_LOOK}

    def parts(self, *, shown: bool) -> Real:
        """By type, which part of the chance to find a unit is that to find a record of it, or a bound of it."""
        return (self.share if shown else 1.0) / self.alike

    def _compared(self, stages: Sequence[Stage], released: CellTable, factors: Real) -> Real | None:
        """For each cell of units the match probability of an intruder who compares all counts of make-ups."""
        keys = [*self.moved, _MAKE_UP]
        table = self.of_units.project(needed_columns(stages, keys))
        place = cells_in(self.of_units, table)
        of_table = np.zeros(len(table))
        of_table[place] = factors
        chances = risks_as_released(table, keys, stages, released, of_table)
        return None if chances is None else chances[place]

    def whole(
        self, stages: Sequence[Stage], units: DrawnUnits, released: CellTable | None, one_look: Real
    ) -> float | None:
        """The largest chance to find a whole unit; ``None`` where keys differ in units that are not counted."""
        sizes = np.array([len(make_up) for make_up in self.make_ups])
        in_common = (self.alike == sizes[self.of_units.codes[self.record, -1]]).all()
        if not in_common and units.released_members is None:
            return None
        compared = None if released is None else self._compared(stages, released, np.ones(len(self.of_units)))
        return float(max(one_look.max(), 0.0 if compared is None else compared.max()))

    def released(self, units: DrawnUnits) -> CellTable | None:
        """Released units by their make-up: as the file shows them, or as its counts imply; None where they do not."""
        assert units.released is not None
        if units.released_members is None:
            return self._solved(units.released)
        numbers = {make_up: number for number, make_up in enumerate(self.make_ups)}
        make_up, first = _make_ups(units.released, units.released_members, self.unchanged, numbers)
        return _unit_table(units.released, self.moved, first, make_up, len(numbers))[0]

    def counted(self, stages: Sequence[Stage], units: DrawnUnits, released: CellTable | None) -> Real | None:
        """The chances of records, by type, for an intruder who compares all released counts; None where not known."""
        if released is not None:
            parts = self.parts(shown=units.released_members is not None)
            chances = self._compared(stages, released, _largest(parts, self.record, len(self.of_units)))
            return None if chances is None else chances[self.record] * parts
        if units.released is None or units.shown:  # nothing tells how much of who belongs together is seen
            return None
        return _listed_risks(self, stages, units)

    def _solved(self, released: CellTable) -> CellTable | None:
        """Units by their make-up, M of ``m = A M``; None where the columns of A are not independent."""
        m = defaultdict[Label, dict[Label, int]](dict)
        table = released.project([*self.moved, *self.unchanged])
        for label, n in zip(table.labels(), table.counts.tolist(), strict=True):
            m[label[len(self.moved) :]][label[: len(self.moved)]] = n
        units = dict[Label, int]()
        for block in _blocks(self.make_ups):
            solved = _units_of(m, [self.make_ups[number] for number in block])
            if solved is None:
                return None
            units |= {(*value, block[i]): n for (value, i), n in solved.items() if n}
        return CellTable.of([*self.moved, _MAKE_UP], units)


def _units_of(
    m: Mapping[Label, Mapping[Label, int]], make_ups: Sequence[MakeUp]
) -> dict[tuple[Label, int], int] | None:
    """Units by value and make-up, from the records by label and value; None where these do not determine them."""
    labels = [*dict.fromkeys(label for make_up in make_ups for label in make_up)]
    if len(make_ups) > len(labels):
        return None
    A = np.array([[make_up.count(label) for make_up in make_ups] for label in labels])
    if np.linalg.matrix_rank(A) < len(make_ups):
        return None
    values = [*dict.fromkeys(value for label in labels for value in m.get(label, {}))]
    seen = np.array([[m.get(label, {}).get(value, 0) for value in values] for label in labels])
    solved = np.rint(np.linalg.pinv(A) @ seen).astype(np.int64)
    if (A @ solved != seen).any() or (solved < 0).any():
        return None
    return {(value, i): int(solved[i, j]) for j, value in enumerate(values) for i in range(len(make_ups))}


def _make_ups(
    table: CellTable, members: UnitMembers, columns: Sequence[str], numbers: dict[MakeUp, int]
) -> tuple[Array, Array]:
    """For each unit the number of its make-up, and a cell of a record of it; new make-ups get the next numbers."""
    rest = (cells_in(table, table.project(columns)) if columns else np.zeros(len(table), np.int64))[members.cells]
    labels = table.project(columns).labels() if columns else [()]
    make_up, first = np.zeros((2, len(members.sizes)), dtype=np.int64)
    for units, records in members.sorted_by(rest):
        distinct, which = np.unique(rest[records], axis=0, return_inverse=True)
        named = [tuple(labels[one] for one in each) for each in distinct.tolist()]
        make_up[units] = np.array([numbers.setdefault(each, len(numbers)) for each in named])[which.reshape(-1)]
        first[units] = members.cells[records[:, 0]]
    return make_up, first


def _unit_table(
    table: CellTable, columns: Sequence[str], first: Array, make_up: Array, make_ups: int
) -> tuple[CellTable, Array]:
    """Counts of units over some columns and their make-up, and the cell of each unit."""
    places = [table.place(name) for name in columns]
    codes, cell = distinct_rows([*(table.codes[first, place] for place in places), make_up], len(make_up))
    levels = (*(table.levels[place] for place in places), tuple(range(make_ups)))
    counts = np.bincount(cell, minlength=len(codes))
    return CellTable((*columns, _MAKE_UP), levels, codes.astype(table.codes.dtype), counts), cell


def _times(columns: Sequence[Array]) -> Array:
    rows = distinct_rows(columns, len(columns[0]))[1]
    return np.bincount(rows)[rows]


def _blocks(make_ups: Sequence[MakeUp]) -> list[list[int]]:
    """Make-ups that share a label, directly or by others."""
    labels = {label: i for i, label in enumerate(dict.fromkeys(one for each in make_ups for one in each))}
    pairs = np.array([(number, labels[one]) for number, each in enumerate(make_ups) for one in each])
    _, block, _ = joined_blocks(pairs[:, 0], len(make_ups), pairs[:, 1], len(labels))
    return [np.flatnonzero(block == one).tolist() for one in dict.fromkeys(block.tolist())]


def _listed_risks(made_up: _MadeUp, stages: Sequence[Stage], units: DrawnUnits) -> Real | None:
    """Chances of records, by type, from all ways to the released counts; None where these are too many."""
    assert units.released is not None
    unmoved = [name for name in made_up.keys if name not in made_up.moved]
    kept, seen = ([units.table.place(name) for name in names] for names in (unmoved, made_up.unchanged))
    # released records by the randomized keys and by what is seen besides; and by all keys
    released, by_keys = (
        dict(zip(table.labels(), table.counts.tolist(), strict=True))
        for table in (units.released.project([*made_up.moved, *rest]) for rest in (made_up.unchanged, unmoved))
    )

    def chance(type_: int, places: Mapping[Label, float]) -> float:
        """Where a record is found most easily: among all that look like it, or inside what else is seen of it."""
        label, inside = units.table.label(int(made_up.cell[type_])), float(made_up.inside[type_])
        by_key, in_all = (tuple(label[one] for one in names) for names in (kept, seen))
        most = 0.0
        for value, p in places.items():
            if p > 0:
                most = max(most, p / by_keys[(*value, *by_key)], inside * p / released[(*value, *in_all)])
        return most

    outcomes = _outcomes(made_up, stages)
    risk = 1 / (made_up.of_units.counts[made_up.record] * made_up.alike)  # N units alike share the chance of one
    make_up = made_up.of_units.codes[made_up.record, -1]
    blocks = [np.flatnonzero(np.isin(make_up, block)) for block in _blocks(made_up.make_ups)]
    worst, left = 0.0, WORK
    for types in sorted(blocks, key=lambda one: -float(risk[one].max())):
        if at_most(float(risk[types].max()), worst):
            break
        cells = np.unique(made_up.record[types]).tolist()
        ways = _ways(made_up, cells, [outcomes[cell] for cell in cells], released)
        places = ways.placed(left)
        if places is None:
            return None
        left -= ways.done
        for one in types.tolist():
            risk[one] = chance(one, places[cells.index(int(made_up.record[one]))])
        worst = max(worst, float(risk[types].max()))
    return risk


def _outcomes(made_up: _MadeUp, stages: Sequence[Stage]) -> list[dict[Label, float]]:
    """For each cell of units the chances to be released with each value of the randomized keys."""
    columns = [*needed_columns(stages, made_up.moved), _MAKE_UP]
    flow = TableFlow.of(made_up.of_units, columns).one_by_one().after(stages, made_up.moved)
    assert flow.origin is not None
    outcomes: list[dict[Label, float]] = [{} for _ in range(len(made_up.of_units))]
    for cell, label, p in zip(flow.origin.tolist(), flow.cells(made_up.moved), flow.mass.tolist(), strict=True):
        outcomes[cell][label] = outcomes[cell].get(label, 0.0) + p
    return outcomes


def _ways(
    made_up: _MadeUp, cells: list[int], outcomes: list[dict[Label, float]], released: Mapping[Label, int]
) -> UnitWays:
    """The units of some cells, and what they add to the released counts where they come to a value."""
    added = [
        [Counter((*value, *label) for label in made_up.make_ups[made_up.of_units.codes[cell, -1]]) for value in values]
        for cell, values in zip(cells, outcomes, strict=True)
    ]
    axes = [*dict.fromkeys(label for each in added for one in each for label in one)]
    return UnitWays(
        released=np.array([released.get(label, 0) for label in axes], dtype=np.int64),
        counts=made_up.of_units.counts[cells].tolist(),
        steps=[np.array([[one[label] for label in axes] for one in each], dtype=np.int64) for each in added],
        chances=[np.array([*values.values()]) for values in outcomes],
        values=[[*values] for values in outcomes],
    )


@dataclass(eq=False)
class UnitWays:
    """Units of several cells, ``counts`` of each, that add up to the released counts.

    A polynomial is kept as its powers, shape (states, axes), none above the released counts, and its coefficients.
    """

    released: Array
    counts: Sequence[int]
    steps: Sequence[Array]
    chances: Sequence[Real]
    values: Sequence[Sequence[Any]]  # what units of each cell can come to
    done: int = 0

    def placed(self, work: int) -> list[dict[Any, float]] | None:
        """For each cell the chances of a unit to be released with each value, given all released counts."""
        if np.log2(self.released + 1.0).sum() > _BITS:
            return None
        one = np.zeros((1, len(self.released)), dtype=np.int64), np.ones(1)
        before, after = [one], [one]
        last = len(self.counts) - 1
        for j in range(last):
            before.append(self._times(before[-1], j, self.counts[j]))
            after.append(self._times(after[-1], last - j, self.counts[last - j]))
            if self.done > work or max(len(before[-1][1]), len(after[-1][1])) > STATES:
                return None
        places = []
        for j, n in enumerate(self.counts):
            without = self._times(before[j], j, n - 1)
            if self.done > work or len(without[1]) > STATES:
                return None
            joint = self.chances[j] * self._coefficients(without, after[last - j], self.released - self.steps[j])
            if not joint.sum() > 0:
                return None
            places.append(dict(zip(self.values[j], (joint / joint.sum()).tolist(), strict=True)))
        return places

    @property
    def _radix(self) -> Array:
        return np.cumprod(np.append(1, self.released[:-1] + 1))

    def _times(self, polynomial: tuple[Array, Real], j: int, n: int) -> tuple[Array, Real]:
        """A polynomial times that of n units of a cell, scaled so that its largest coefficient is one."""
        powers, values = polynomial
        for _ in range(n):
            self.done += len(values) * len(self.steps[j])
            if len(values) > STATES:
                break
            reached = (powers[:, None, :] + self.steps[j]).reshape(-1, powers.shape[1])
            possible = (reached <= self.released).all(axis=1)
            reached, added = reached[possible], (values[:, None] * self.chances[j]).reshape(-1)[possible]
            _, first, place = np.unique(reached @ self._radix, return_index=True, return_inverse=True)
            powers = reached[first]
            sums = np.bincount(place.reshape(-1), added, minlength=len(first)).astype(np.float64)
            values = sums / sums.max(initial=1e-300)
        return powers, values

    def _coefficients(self, left: tuple[Array, Real], right: tuple[Array, Real], powers: Array) -> Real:
        """Coefficients of a product of two polynomials at some powers, up to a common factor; 0 at negative ones."""
        places = left[0] @ self._radix
        order = np.argsort(places)
        out = np.zeros(len(powers))
        for i, power in enumerate(powers):
            rest = power - right[0]
            possible = (rest >= 0).all(axis=1)
            at = np.searchsorted(places[order], rest[possible] @ self._radix)
            at = np.minimum(at, len(places) - 1)
            same = places[order][at] == rest[possible] @ self._radix
            out[i] = float((left[1][order][at] * right[1][possible])[same].sum())
        return out

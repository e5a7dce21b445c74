"""What a release reveals by all columns together where units, such as households, are seen or have one draw (derived).

Units of one make-up, with n_j of them in the true file, are drawn alike: as arrangements B of released records with
the chances P_j(B). Where the file shows who belongs together, released arrangements are counted, else released
records. Of the N_x people with the keys x some are in units of make-up j; with h_j(B, i), the expected number of them
who are released as i while their unit becomes B, and the chance that a unit of make-up j became B given what is seen,

    Pr(correct) = sum_j sum_B  n_j / N_x  h_j(B, i) / P_j(B)  Pr(B | j, seen) / (number of records that look like it)

Small files are enumerated; of others nothing is claimed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.cells import CellTable
from maskwell.microdata.records.unit_rows import UnitMembers
from maskwell.microdata.risk.unit_draws import WORK, UnitWays
from maskwell.microdata.stages.stage import Stage, acting, needed_columns

Row = tuple[Hashable, ...]
Arrangement = tuple[Row, ...]  # the released records of a unit, sorted
Place = tuple[Row, Row]  # the true keys of a record, and what it is released as

MOST_UNITS = 100  # units of a file up to which their make-ups are enumerated
MOST_WAYS = 4000  # arrangements of one make-up
MOST_STEPS = 2 * 10**6  # looks of one file, times its units
_LOST = 1e-280  # smaller chances are lost in the range of floats: nothing is claimed there


@dataclass(frozen=True, eq=False)
class SeenUnits:
    """The units of a file, and what is seen of them."""

    table: CellTable  # over at least the columns that tell what is released
    members: UnitMembers  # the records by unit, in the cells of ``table``
    keys: tuple[str, ...]
    visible: tuple[str, ...]  # columns of the released file that are seen
    shown: bool  # whether the file shows which records belong together
    # the released records over the visible columns, and by unit in its cells where the file shows units
    released: CellTable | None = None
    released_members: UnitMembers | None = None


def shown_unit(
    published: str | None, stages: Sequence[Stage], visible: Sequence[str], others: Sequence[str]
) -> str | None:
    """The published column that names units, where records of one are drawn apart, or other columns are randomized."""
    return published if others or any(stage.unit is None for stage in acting(stages, visible)) else None


def unit_chances(
    units: SeenUnits, stages: Sequence[Stage], looks: Sequence[Sequence[str]]
) -> tuple[Real | None, Real | None]:
    """By the cells of the keys the chances of a match, by one look and by all counts; None where not known.

    Of ``looks``, the columns that somebody may look at, the first are all that are visible.
    """
    if len(units.members.sizes) > MOST_UNITS or any(stage.exchanges for stage in stages):
        return None, None
    made = _Units.of(units, stages)
    if made is None:
        return None, None
    one_look, all_counts = made.one_look(), made.all_counts(units)
    for visible in looks[1:]:
        coarser = _Units.of(replace(units, visible=(*visible,)), stages)
        more = None if coarser is None else coarser.one_look()
        one_look = None if one_look is None or more is None else np.maximum(one_look, more)
    return one_look, all_counts


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Units of one make-up: how many, and what becomes of them."""

    count: int
    chances: Mapping[Arrangement, float]
    places: Mapping[Arrangement, Mapping[Place, float]]  # expected members by their true keys and released records


@dataclass(frozen=True, eq=False)
class _Units:
    people: Mapping[Row, int]  # records by their keys
    own: CellTable  # the same as a table
    drawn: Sequence[_Drawn]
    shown: bool

    @classmethod
    def of(cls, units: SeenUnits, stages: Sequence[Stage]) -> _Units | None:
        own, named = units.table.project(units.keys), units.table.columns
        people = dict(zip(own.labels(), own.counts.tolist(), strict=True))
        where = [units.table.place(name) for name in units.keys]
        make_ups: Counter[tuple[int, ...]] = Counter()
        for _, records in units.members.sorted_by(units.members.cells):
            make_ups.update(tuple(one) for one in units.members.cells[records].tolist())
        labels = [*units.table.labels()]
        chosen = [stage for stage in stages if {*stage.moved} & {*needed_columns(stages, units.visible)}]
        steps = [_Step.of(stage, named) for stage in chosen]
        seen = [named.index(name) for name in units.visible]
        drawn = []
        for make_up, count in make_ups.items():
            true = tuple(labels[cell] for cell in make_up)
            ways = _ways(true, steps)
            if ways is None:
                return None
            chances: dict[Arrangement, float] = defaultdict(float)
            places: dict[Arrangement, dict[Place, float]] = defaultdict(lambda: defaultdict(float))
            for rows, p in ways.items():
                visible = [tuple(row[i] for i in seen) for row in rows]
                arranged = tuple(sorted(visible, key=str))
                chances[arranged] += p
                for before, after in zip(true, visible, strict=True):
                    places[arranged][tuple(before[i] for i in where), after] += p
            drawn.append(_Drawn(count, chances, places))
        return cls(people, own, drawn, units.shown)

    def one_look(self) -> Real | None:
        """Given how often one arrangement, or one released record, is there; None where these are too many."""
        most: dict[Row, float] = defaultdict(float)
        looks = {(B, place) for one in self.drawn for B, places in one.places.items() for place in places}
        if not self.shown:
            looks = {((place[1],), place) for _, place in looks}
        counts = [one.count for one in self.drawn]
        if len(looks) * sum(counts) > MOST_STEPS:
            return None
        whole: dict[Arrangement, tuple[list[Real], Real, Real]] = {}
        for seen, (key, row) in sorted(looks, key=str):
            if seen not in whole:
                each = [self._added(one, seen) for one in self.drawn]
                possible = _product([(one > 0).astype(np.float64) for one in each], counts)
                whole[seen] = each, _product(each, counts), possible
            each, every, possible = whole[seen]
            alike = seen.count(row) if self.shown else 1
            hits = np.zeros(len(every) + max(map(len, each)))
            for j, one in enumerate(self.drawn):
                with_target = self._added(one, seen, (key, row))
                if not with_target.any():
                    continue
                others = _product(each, [n.count - (i == j) for i, n in enumerate(self.drawn)])
                found = np.convolve(with_target, others) * one.count / self.people[key]
                hits[: len(found)] += found
            t = np.flatnonzero(possible[1:] > 0) + 1
            known = t[every[t] > _LOST]
            most[key] = max(most[key], float((hits[known] / every[known] / known).max(initial=0.0)) / alike)
            if len(known) < len(t):
                most[key] = max(most[key], 1 / self.people[key])
        return np.array([most[key] for key in self.own.labels()])

    def _added(self, one: _Drawn, seen: Arrangement, place: Place | None = None) -> Real:
        """By the number of times that a unit adds to what is seen, its chance, or its expected members at a place."""
        longest = 1 if self.shown else max((len(B) for B in one.chances), default=0)
        out = np.zeros(longest + 1)
        for B, p in one.chances.items():
            times = int(seen == B) if self.shown else B.count(seen[0])
            out[times] += p if place is None else one.places[B].get(place, 0.0) * (not self.shown or times)
        return out

    def all_counts(self, units: SeenUnits) -> Real | None:
        """Given everything that is released; None where that is not known, or has too many ways."""
        seen = self._counted(units)
        if seen is None:
            return None
        axes: dict[Arrangement, None] = {}
        added: list[list[Counter[Arrangement]]] = []
        for one in self.drawn:
            added.append([Counter([B]) if self.shown else Counter((row,) for row in B) for B in one.chances])
            axes |= dict.fromkeys(axis for each in added[-1] for axis in each)
        if not {*seen} <= {*axes}:
            return None
        ways = UnitWays(
            released=np.array([seen.get(axis, 0) for axis in axes], dtype=np.int64),
            counts=[one.count for one in self.drawn],
            steps=[np.array([[each[axis] for axis in axes] for each in of], dtype=np.int64) for of in added],
            chances=[np.array([*one.chances.values()]) for one in self.drawn],
            values=[[*one.chances] for one in self.drawn],
        )
        placed = ways.placed(WORK)
        if placed is None:
            return None
        chances: dict[tuple[Row, Arrangement, Row], float] = defaultdict(float)
        for one, became in zip(self.drawn, placed, strict=True):
            for B, p in became.items():
                for (key, row), expected in one.places[B].items():
                    look = B if self.shown else (row,)
                    if p > 0:
                        alike = seen[look] * (B.count(row) if self.shown else 1)
                        share = one.count / self.people[key] * expected / one.chances[B]
                        chances[key, look, row] += share * p / alike
        most: dict[Row, float] = defaultdict(float)
        for (key, _, _), chance in chances.items():
            most[key] = max(most[key], chance)
        return np.array([most[key] for key in self.own.labels()])

    def _counted(self, units: SeenUnits) -> Counter[Arrangement] | None:
        """What is seen of the drawn file: arrangements with their numbers, or released records with theirs."""
        if units.released is None or (self.shown and units.released_members is None):
            return None
        labels = [*units.released.labels()]
        if units.released_members is None or not self.shown:
            pairs = zip(labels, units.released.counts.tolist(), strict=True)
            return Counter({(label,): n for label, n in pairs})
        seen: Counter[Arrangement] = Counter()
        for _, records in units.released_members.sorted_by(units.released_members.cells):
            cells = units.released_members.cells[records].tolist()
            seen.update(tuple(sorted((labels[cell] for cell in one), key=str)) for one in cells)
        return seen


@dataclass(frozen=True, eq=False)
class _Step:
    """One stage, by labels of records over some columns."""

    columns: tuple[int, ...]  # places of the columns that tell the state
    outcomes: Mapping[Row, Sequence[tuple[Mapping[int, Hashable], float]]]  # by state the new labels, with chances
    together: bool  # whether all records of a unit have one draw

    @classmethod
    def of(cls, stage: Stage, names: Sequence[str]) -> _Step:
        outcomes: dict[Row, list[tuple[Mapping[int, Hashable], float]]] = {state: [] for state in stage.states}
        released, true, p = stage.transitions
        first, place = len(stage.within), {name: i for i, name in enumerate(names)}
        for i, j, chance in zip(released.tolist(), true.tolist(), p.tolist(), strict=True):
            output = stage.outputs[i]
            new = dict(zip(stage.columns, output, strict=True))
            new |= {
                name: follows[output[first:]] for name, follows in stage.linked.items() if output[first:] in follows
            }
            labels = {place[name]: label for name, label in new.items() if name in place}
            outcomes[stage.states[j]].append((labels, chance))
        return cls(tuple(place[name] for name in stage.columns), outcomes, stage.unit is not None)

    def of_record(self, row: Row) -> Sequence[tuple[Mapping[int, Hashable], float]]:
        """What becomes of a record; one whose state is not known stays as it is."""
        return self.outcomes.get(tuple(row[i] for i in self.columns)) or [({}, 1.0)]

    def of_unit(self, rows: Arrangement) -> Iterator[tuple[Arrangement, float]]:
        """What becomes of the records of a unit, with chances."""
        if self.together:  # the members have one state
            for labels, p in self.of_record(rows[0]):
                yield tuple(_relabelled(row, labels) for row in rows), p
            return
        for drawn in product(*map(self.of_record, rows)):
            new = tuple(_relabelled(row, labels) for row, (labels, _) in zip(rows, drawn, strict=True))
            yield new, float(np.prod([p for _, p in drawn]))


def _relabelled(row: Row, labels: Mapping[int, Hashable]) -> Row:
    return tuple(labels.get(i, label) for i, label in enumerate(row))


def _ways(true: Arrangement, steps: Sequence[_Step]) -> dict[Arrangement, float] | None:
    """What the records of a unit are released as, in their order; None where there are too many ways."""
    ways = {true: 1.0}
    for step in steps:
        after: dict[Arrangement, float] = defaultdict(float)
        for rows, p in ways.items():
            sizes = [1] if step.together else [len(step.of_record(row)) for row in rows]
            if float(np.prod(np.array(sizes, dtype=np.float64))) * len(ways) > 8 * MOST_WAYS:
                return None
            for new, q in step.of_unit(rows):
                after[new] += p * q
        if len(after) > MOST_WAYS:
            return None
        ways = after
    return ways


def _product(each: Sequence[Real], times: Sequence[int]) -> Real:
    """The product of polynomials, each so many times."""
    out = np.ones(1)
    for one, n in zip(each, times, strict=True):
        for _ in range(n):
            out = np.convolve(out, one)
    return out

"""What several releases of the same people reveal to an intruder who sees which released records are one person's.

A person is a cell of one larger table, by the true cells in all files, x = (x_1, x_2, ...); where a person is not in a
file, that is seen. The released record is z = (z_1, z_2, ...). All chances of a match are those of one release with

    p_zx  =  sum over the draws that give z of their chances,  where a kept draw that is the same in two files is made
             once: the same key, the same column of the same matrix, the same true state [ADR 0013]

and with the counts N_x of the pairs, which the intruder is granted. Looks at some columns of some files are counted
too. With the keys in one file only, the attack is on
one of all the people with these keys: an average over those who know more, and never above the largest of them.
Source: derived.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows
from maskwell.designs.column_arrays import Transitions
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.binomial_sums import row_sums
from maskwell.microdata.risk.identity_disclosure import risks_of
from maskwell.microdata.risk.intruders import Intruder
from maskwell.microdata.risk.joint_disclosure import best_looks
from maskwell.microdata.stages.stage import Stage, State

MOST_LOOKS = 64  # sets of files and columns that are looked at
MOST_WAYS = 500_000  # combinations of draws that are followed one by one
ABSENT: tuple[()] = ()  # a person who is not in a file, which is seen

Column = list[tuple[int, float]]


class _NotFollowedError(Exception):
    """More combinations of draws than are followed, or draws that depend on each other."""


@dataclass(frozen=True, eq=False)
class Randomized:
    """One randomization of a file, and what names its kept draws."""

    stage: Stage
    # What the draws of a state are kept under beside its fingerprint and number: equal for draws that are one draw;
    # None for fresh draws
    kept: Hashable | None

    def columns(self) -> tuple[dict[State, int], list[Column], list[Column] | None]:
        """The numbers of the states, the chances of their first draw, and of a second where there is one."""
        stage = self.stage
        first = stage.permanent.transitions
        then = None if stage.steps is None else _by_truth(stage.steps[1].transitions(), len(stage.outputs))
        return {state: i for i, state in enumerate(stage.states)}, _by_truth(first, len(stage.states)), then


@dataclass(frozen=True, eq=False)
class Wave:
    """One file of several: its true cells, how they were randomized, and which columns are known and seen."""

    table: CellTable
    stages: Sequence[Randomized]
    known: Sequence[str]  # of a person who is looked for: the keys, and columns that tell of them
    visible: Sequence[str]  # in the released file


@dataclass(frozen=True)
class LinkedChances:
    """Probabilities of a correct match for an intruder who sees which released records are one person's."""

    chance: float  # for the intruder of the plan, who knows the keys in all files
    one_look: float  # for the one who looks where it is easiest
    one_file: float | None  # the same, of somebody who knows the keys of the best file alone; None where not computed
    all_counts: float  # a bound, for somebody who compares all released counts
    exact: bool  # whether these are chances; else bounds, since there are too many combinations


def linked_chances(waves: Sequence[Wave], cells: Array, counts: Array, intruder: Intruder) -> LinkedChances:
    """The chances of people in these cells, shape (people's cells, waves), -1 where they are not in a file."""
    of_wave = [_known(wave, cells[:, t]) for t, wave in enumerate(waves)]
    alike = _numbered([*zip(*of_wave, strict=True)])
    sure = float(1 / np.bincount(alike, counts).min())
    try:
        drawn = _Drawn.of(waves, cells, counts)
    except _NotFollowedError:
        return LinkedChances(sure, sure, None, sure, exact=False)
    looks = [drawn.seen_in(columns) for columns in _looks(drawn.columns, len(waves))]
    one_file = 0.0
    for known in of_wave:
        some = np.array([one != ABSENT for one in known])
        groups = _numbered(known)
        one_file = max(one_file, float(best_looks(looks, groups)[np.unique(groups[some])].max(initial=0.0)))
    if len(np.unique(alike)) < len(alike):  # also randomized columns that are no keys: one look bounds milder intruders
        look = float(best_looks(looks, alike).max())
        measured = {"in_range": look, "strict": look, "any_release": look}
    else:
        risks = vars(risks_of(looks[0]))
        measured = {name: float(risks[name].max()) for name in ("in_range", "strict", "any_release")}
        elsewhere = float(best_looks(looks[1:], alike).max()) if looks[1:] else 0.0
        look = measured["any_release"] = max(measured["any_release"], elsewhere)
    measured["released_counts"] = sure
    chance = float(intruder.chances({name: np.array([one]) for name, one in measured.items()})[0])
    return LinkedChances(chance, look, min(one_file, look), sure, exact=True)


def _looks(columns: Sequence[tuple[int, str]], files: int) -> list[list[int]]:
    """Columns that somebody may look at: all, those of some files, and then those where some are left out."""
    some = [one for n in range(files, 0, -1) for one in combinations(range(files), n)]
    named = [i for i, (_, name) in enumerate(columns) if name]
    left_out = (out for n in range(len(named)) for out in combinations(named, n))
    looks = dict[tuple[int, ...], None]()
    for out in left_out:
        for chosen in some:
            seen = [i for i in named if columns[i][0] in chosen and i not in out]
            there = {columns[i][0] for i in seen}
            looks[tuple(i for i, (t, name) in enumerate(columns) if i in seen or (not name and t in there))] = None
        if len(looks) >= MOST_LOOKS:
            break
    return [[*one] for one in islice((one for one in looks if one), MOST_LOOKS)]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What people in some true cells can be released as in all files, with its chances."""

    counts: Array
    own: Array  # what is released of each cell where nothing is changed
    columns: list[tuple[int, str]]  # of the codes: file and name; the empty name says whether a person is in the file
    codes: Array  # of each report in each column
    report: Array  # report, cell, p: the chances that are not zero
    cell: Array
    p: Real

    @classmethod
    def of(cls, waves: Sequence[Wave], cells: Array, counts: Array) -> _Drawn:
        if any(one.stage.exchanges or one.stage.unit is not None for wave in waves for one in wave.stages):
            raise _NotFollowedError
        laws = _Laws(waves)
        rows, own, entries = dict[tuple[State, ...], int](), list[int](), list[tuple[int, int, float]]()
        for number, places in enumerate(cells.tolist()):
            for report, one in laws.of(places).items():
                entries.append((rows.setdefault(report, len(rows)), number, one))
            own.append(rows.setdefault(laws.truth(places), len(rows)))
        reached, cell, p = (np.array(part) for part in zip(*entries, strict=True))
        columns, codes = list[tuple[int, str]](), list[Array]()
        for t, wave in enumerate(waves):
            seen = [row[t] for row in rows]
            columns += [(t, ""), *((t, name) for name in wave.visible)]
            codes.append(np.array([one != ABSENT for one in seen], dtype=np.int64))
            codes += [_numbered([one[i] if one else None for one in seen]) for i in range(len(wave.visible))]
        return cls(counts, np.array(own), columns, np.column_stack(codes), reached, cell, p)

    def seen_in(self, columns: Sequence[int]) -> SparseArrivals:
        """Who arrives where, for an intruder who looks at these columns only."""
        rows, of_report = distinct_rows([self.codes[:, i] for i in columns], len(self.codes))
        pairs, place = np.unique(of_report[self.report] * len(self.counts) + self.cell, return_inverse=True)
        row, cell = np.divmod(pairs, len(self.counts))
        p = row_sums(place.reshape(-1), self.p, len(pairs))
        alone = np.bincount(cell, minlength=len(self.counts)) == 1
        chances = np.where(alone[cell], 1.0, np.minimum(p, 1.0))  # sums of products are off by a rounding
        return SparseArrivals.of(self.counts, of_report[self.own], len(rows), row, cell, chances)


@dataclass(eq=False)
class _Laws:
    """The chances of what people in some true cells are released as, in all files."""

    waves: Sequence[Wave]
    ways: int = 0
    stages: list[list[tuple[Randomized, dict[State, int], list[Column], list[Column] | None]]] = field(init=False)
    labels: list[list[State]] = field(init=False)

    def __post_init__(self) -> None:
        self.stages = [[(one, *one.columns()) for one in wave.stages] for wave in self.waves]
        self.labels = [wave.table.labels() for wave in self.waves]

    def truth(self, places: Sequence[int]) -> tuple[State, ...]:
        """What is released where nothing is changed."""
        return tuple(ABSENT if i < 0 else self._seen(t, self._start(t, i)) for t, i in enumerate(places))

    def of(self, places: Sequence[int]) -> dict[tuple[State, ...], float]:
        """All that can be released, and its chances."""
        found: dict[tuple[State, ...], float] = {}
        ways: list[tuple[dict[Hashable, int], tuple[State, ...], float]] = [({}, (), 1.0)]
        for t, cell in enumerate(places):
            if cell < 0:
                ways = [(made, (*seen, ABSENT), p) for made, seen, p in ways]
                continue
            ways = [way for before in ways for way in self._through(t, cell, *before)]
        for _, seen, p in ways:
            found[seen] = found.get(seen, 0.0) + p
        return found

    def _through(
        self, t: int, cell: int, made: dict[Hashable, int], seen: tuple[State, ...], chance: float
    ) -> list[tuple[dict[Hashable, int], tuple[State, ...], float]]:
        """The ways on through one file: the draws that were made, what was seen, and the chance."""
        ways = [(made, self._start(t, cell), chance)]
        for number, (one, places, columns, again) in enumerate(self.stages[t]):
            after = list[tuple[dict[Hashable, int], dict[str, Hashable], float]]()
            for drawn, labels, p in ways:
                state = places.get(tuple(labels[name] for name in one.stage.columns))
                if state is None:
                    after.append((drawn, labels, p))
                    continue
                name: Hashable = (t, number)
                if one.kept is not None:
                    name = (one.kept, one.stage.permanent.drawn_as(state), state)
                first = [(drawn[name], 1.0)] if name in drawn else columns[state]
                for report, q in first:
                    for last, r in [(report, 1.0)] if again is None else again[report]:
                        after.append(({**drawn, name: report}, _moved(one.stage, labels, last), p * q * r))
                self._count(len(first))
            ways = after
        self._count(len(ways))
        return [(drawn, (*seen, self._seen(t, labels)), p) for drawn, labels, p in ways]

    def _start(self, t: int, cell: int) -> dict[str, Hashable]:
        return dict(zip(self.waves[t].table.columns, self.labels[t][cell], strict=True))

    def _seen(self, t: int, labels: Mapping[str, Hashable]) -> State:
        return tuple(labels[name] for name in self.waves[t].visible)

    def _count(self, more: int) -> None:
        self.ways += more
        if self.ways > MOST_WAYS:
            raise _NotFollowedError


def _moved(stage: Stage, labels: Mapping[str, Hashable], report: int) -> dict[str, Hashable]:
    own = stage.outputs[report][len(stage.within) :]
    follows = {name: known[own] for name, known in stage.linked.items() if own in known}
    return {**labels, **dict(zip(stage.variables, own, strict=True)), **follows}


def _by_truth(transitions: Transitions, states: int) -> list[Column]:
    columns: list[Column] = [[] for _ in range(states)]
    for report, state, p in zip(*(one.tolist() for one in transitions), strict=True):
        columns[state].append((report, p))
    return columns


def _known(wave: Wave, cells: Array) -> list[State]:
    """What is known of the people in each cell, from one file."""
    at, labels = [wave.table.place(name) for name in wave.known], wave.table.labels()
    return [ABSENT if cell < 0 else tuple(labels[cell][i] for i in at) for cell in cells.tolist()]


def _numbered(things: Sequence[Hashable]) -> Array:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in things], dtype=np.int64)

"""A simulated linkage attack on all unchanged columns and all counts at once: how often the right record is picked.

A record released in state o came from d with odds ``p_od N_d exp(t f_d)``: f_d says how well its other columns go with
the keys of d, t how far that is trusted (`column_attackers`). The odds are taken as they are, or scaled to the true
counts of all states that exchange records; the record that is picked is the best of those released with the keys of a
person, or of all. The best of all these intruders is reported. Derived.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.randomness import SeededRandom
from maskwell.core.verdicts import below as is_below
from maskwell.microdata.records.column_fit import ColumnFit
from maskwell.microdata.risk.arrivals import states_of
from maskwell.microdata.risk.binomial_sums import expanded
from maskwell.microdata.risk.column_attackers import ATTACKERS, ROUNDS, SCALINGS, LogLikelihood, Origins
from maskwell.microdata.stages.stage import Stage

SEED = 1  # files are drawn with a seed: they are only judged, and the same file is judged alike every time
LOOKED_FOR = 20_000  # people who are looked for in all draws together, about
FEWEST_DRAWS, MOST_DRAWS = 2, 200
# Log odds that are looked up at most where there are more draws than the fewest; so many are counted for each record
MOST_WORK, PER_RECORD = 1 << 26, 20
FEWEST_PEOPLE, MORE_WORK = 1000, 4  # so many times as many where fewer people than these would be looked for
# States that exchange records at most; and log odds that are worked out at once: larger parts are not scaled to counts
MOST_STATES, AT_ONCE = 1500, 1 << 23
# Exponents of a likelihood, by their words in a report: columns reveal the same thing more than once
TRUST = {"1": 1.0, "1/2": 0.5, "1/4": 0.25}
LEAST_ODDS = -30.0  # log odds further below the best ones of a record are taken as these
# Which records are searched, in words: among all of them, or those released with the keys of the person
LOOKS = {"among records with the same released key values": False, "among all records": True}
# Of the picks, the part with the greatest chance; and a smaller part, of which nothing is said below so many people
SUREST, MOST_SURE, FEWEST = 0.1, 0.01, 50
SMALL = 5.0  # people whose keys fewer records have are looked for, where the plan has no limit


@dataclass(frozen=True)
class JoinedRisk:
    """How often an intruder is right who uses unchanged columns and all counts at once."""

    columns: tuple[str, ...]  # the columns that were used
    attack: str  # of those that were tried, the attack that is right most often in its surest tenth
    tried: int
    # people, draws: people whose keys few records have and who were looked for, and how often a file was drawn
    people: int
    draws: int
    # share of the people for whom the right record was picked: of all, and of the tenth that is surest
    right: float
    right_surest: float
    # how many people that tenth has, all draws together; and the standard error of the share among them
    surest: int
    error: float
    # The same attack's share of the hundredth that is surest; None where these are too few to say
    right_most_sure: float | None = None

    @property
    def to_spare(self) -> float:
        """The share of the surest tenth with a standard error to spare: what a limit is kept against."""
        return self.right_surest + self.error

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "columns": list(self.columns)}


def joined_risk(
    stages: Sequence[Stage], keys: Sequence[str], fit: ColumnFit, below: float = SMALL
) -> JoinedRisk | None:
    """The share of right picks; None where that cannot be simulated: it takes one stage of keys drawn independently."""
    moving = [stage for stage in stages if {*stage.moved} & {*keys}]
    if len(moving) != 1 or fit.table.columns != tuple(moving[0].columns):
        return None
    stage = moving[0].permanent  # enough releases reveal a kept report
    earlier = {name for one in stages if one is not moving[0] for name in one.moved}
    keeps_labels = len(stage.outputs) == len(stage.states) and (stage.own == np.arange(len(stage.states))).all()
    simple = not stage.exchanges and stage.unit is None and keeps_labels
    if not simple or not {*keys} <= {*stage.columns} or earlier & {*stage.columns}:
        return None
    search = _Search.of(stage, keys, fit, below)
    return None if search is None else search.outcome()


class _Flows(NamedTuple):
    """The true states that records of a released state come from: where they start, how many, and the flows."""

    starts: Array
    sizes: Array
    true: Array
    flow: Real


class _Pairs(NamedTuple):
    """Records of a drawn file beside the true states that they may come from; all that exchange records, or some."""

    records: Array
    first: Array  # the first pair of each record
    record: Array  # record, true, flow: of each pair the place of the record, the state, and the expected records
    true: Array
    flow: Real
    whole: bool


class _Picks(NamedTuple):
    """The best record for the keys that are looked for: its chance, and whether it has them in truth."""

    keys: Array
    chance: Real
    right: Array


@dataclass(frozen=True, eq=False)
class _Targets:
    """Records beside keys that are looked for, all records of one key in turn, so that the best is found quickly."""

    pairs: Array  # pairs, place: those that are looked at, and the place of the record and the keys of each
    place: Array
    starts: Array  # where keys start among the places; in each the records are in an order by lot
    keys: Array
    right: Array  # whether the record at each place has the keys in truth

    @classmethod
    def of(cls, pairs: Array, record: Array, key: Array, true_key: Array) -> _Targets:
        """Of some of all pairs, from the record and the key of each, and the true key of each record."""
        lot = np.random.default_rng(SEED).permutation(len(true_key))
        both, place = np.unique(key[pairs] * len(lot) + lot[record[pairs]], return_inverse=True)
        keys, drawn = np.divmod(both, len(lot))
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        return cls(pairs, place, starts, keys[starts], true_key[np.argsort(lot)[drawn]] == keys)

    def best(self, chance: Real) -> _Picks:
        """Of equally good records the first by lot."""
        mine = np.bincount(self.place, chance[self.pairs]).round(9)  # on every processor alike
        top = np.maximum.reduceat(mine, self.starts)
        at = np.flatnonzero(mine == np.repeat(top, np.diff(np.append(self.starts, len(mine)))))
        return _Picks(self.keys, top, self.right[at[np.searchsorted(at, self.starts)]])


@dataclass(frozen=True, eq=False)
class _Search:
    stage: Stage  # stage, fit: the randomization, and what the other columns tell
    fit: ColumnFit
    state: Array  # state, cell: the state of each kept record, and the cell of each state in the table of ``fit``
    cell: Array
    # key, holders, wanted: the keys of each state by number, how many records have them, and whether these are few
    key: Array
    holders: Array
    wanted: Array

    @classmethod
    def of(cls, stage: Stage, keys: Sequence[str], fit: ColumnFit, below: float) -> _Search | None:
        """None where nobody is to be looked for, or records that may come to them were not kept."""
        table = fit.table
        state_of_cell = states_of(stage, table)
        cell = np.full(len(stage.states), -1)
        cell[state_of_cell[state_of_cell >= 0]] = np.flatnonzero(state_of_cell >= 0)
        known = table.codes[cell][:, [table.place(name) for name in keys]]
        known[cell < 0] = -1  # a state of an earlier release that nobody has any more
        key = np.unique(known, axis=0, return_inverse=True)[1].reshape(-1)
        holders = np.bincount(key, stage.counts).astype(np.int64)[key]
        wanted = is_below(holders, below) & (cell >= 0)
        released, true, _, _ = stage.occurring_flows()
        needed = cell[np.union1d(true[wanted[released]], np.flatnonzero(wanted))]  # all have records
        if not wanted.any() or (fit.kept[needed] < table.counts[needed]).any():
            return None
        return cls(stage, fit, state_of_cell[fit.cells], cell, key, holders, wanted)

    def outcome(self) -> JoinedRisk | None:
        """The share of right picks, over several draws."""
        parts = self._parts()
        if parts is None:
            return None
        looked = np.concatenate(parts)
        people = self._people(looked)
        pairs = self._pairs_of(looked)
        work = pairs * (self.fit.labels.codes.shape[1] * len(self.fit.columns) + len(ATTACKERS) * len(TRUST) * ROUNDS)
        work += PER_RECORD * len(self.state)
        usual = min(math.ceil(LOOKED_FOR / people), MOST_WORK // work)
        least = min(math.ceil(FEWEST_PEOPLE / people), MORE_WORK * MOST_WORK // work)
        draws = min(MOST_DRAWS, max(FEWEST_DRAWS, usual, least))
        found: dict[str, list[_Picks]] = {}
        for draw, attack, picks in self._attacks(parts, draws):
            moved = picks._replace(keys=picks.keys + draw * (int(self.key.max()) + 1))
            found.setdefault(attack, []).append(moved)
        tried = [(self._shares(people * draws, picks), attack) for attack, picks in found.items()]
        if not tried:
            return None
        (_, share, surest, most_sure), attack = max(tried, key=lambda one: one[0][1:3])
        return JoinedRisk(
            columns=self.fit.columns,
            attack=attack,
            tried=len(tried),
            people=people,
            draws=draws,
            right=max(one[0] for one, _ in tried),
            right_surest=share,
            surest=surest,
            error=math.sqrt(share * (1 - share) / surest),
            right_most_sure=most_sure,
        )

    def _shares(self, people: int, picks: Sequence[_Picks]) -> tuple[float, float, int, float | None]:
        """Right picks of all, of the tenth with the greatest chance, how many people that has, and of the hundredth."""
        keys, chance, found = (np.concatenate(each) for each in zip(*picks, strict=True))
        order = np.lexsort((-chance, keys))  # keys may be those of states that exchange no records
        best = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
        weight = self._holders_of_keys[keys[best] % (int(self.key.max()) + 1)]
        right = found[best] / weight
        order = np.argsort(-(chance[best] / weight), kind="stable")
        reached = np.cumsum(weight[order])

        def of_part(part: float) -> tuple[float, int]:
            surest = order[: int(np.searchsorted(reached, part * reached[-1])) + 1]
            return float(np.average(right[surest], weights=weight[surest])), int(weight[surest].sum())

        share, surest = of_part(SUREST)
        most_sure, few = of_part(MOST_SURE)
        every = float((right * weight).sum() / people)
        return every, share, surest, most_sure if few >= FEWEST else None

    @cached_property
    def _holders_of_keys(self) -> Array:
        return np.bincount(self.key, self.stage.counts).astype(np.int64)

    def _pairs_of(self, states: Array) -> int:
        return int(self.stage.counts[states] @ self._flows.sizes[states])

    def _parts(self) -> list[Array] | None:
        """States that exchange records where somebody is looked for, some of many; None where they are too large."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        released, true, p = self.stage.transitions
        states = len(self.stage.states)
        label = connected_components(coo_array((p, (released, true)), shape=(states, states)), directed=False)[1]
        order = np.argsort(label, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
        parts = [part for part in groups if self.wanted[part].any()]
        if max(map(len, parts)) > MOST_STATES:
            return None
        shuffled = [parts[i] for i in np.random.default_rng(SEED).permutation(len(parts)).tolist()]
        reached = np.cumsum([self._people(part) for part in shuffled])
        return shuffled[: int(np.searchsorted(reached, LOOKED_FOR)) + 1]

    def _people(self, part: Array) -> int:
        """How many are looked for in states that exchange records with each other."""
        wanted = part[self.wanted[part]]
        return int(self.holders[wanted][np.unique(self.key[wanted], return_index=True)[1]].sum())

    def _attacks(self, parts: Sequence[Array], draws: int) -> Iterator[tuple[int, str, _Picks]]:
        """Of each draw and each attack what is picked."""
        sampler = self.stage.design.sampler(SeededRandom(SEED))
        released, true, _ = self.stage.transitions
        leaves = np.zeros(len(self.stage.states), dtype=bool)  # whether records may leave a state
        leaves[true[released != true]] = True
        moving = np.flatnonzero((self.state >= 0) & leaves[self.state])
        room = AT_ONCE // max(len(self.fit.columns), self.fit.labels.codes.shape[1])
        together = np.unique(np.cumsum([self._pairs_of(part) for part in parts]) // room, return_inverse=True)[1]
        records = np.bincount(together, [self.stage.counts[part].sum() for part in parts]).astype(np.int64)
        group = np.full(len(self.stage.states), -1)
        for part, number in zip(parts, together.tolist(), strict=True):
            group[part] = number
        attackers: list[tuple[str, LogLikelihood]] = []
        for draw in range(draws):
            drawn = self.state.copy()
            drawn[moving] = np.asarray(sampler.sample(self.state[moving]).data)
            where = self.cell[drawn[moving]]
            fit = self.fit.shown(moving, np.where(where < 0, self.fit.cells[moving], where))
            if not attackers:  # how columns add up is much the same in every draw
                learned = [(one.name, one.learned(fit)) for one in ATTACKERS]
                attackers = [(name, likelihood) for name, likelihood in learned if likelihood is not None]
            mine = np.where(drawn < 0, -1, group[drawn])
            for number, people in enumerate(records.tolist()):
                for pairs in self._pairs(np.flatnonzero(mine == number), drawn, room, people):
                    for attack, picks in self._picks(fit, attackers, pairs, drawn):
                        yield draw, attack, picks

    def _pairs(self, records: Array, drawn: Array, room: int, people: int) -> Iterator[_Pairs]:
        """Records that exchange keys; where these are too many or not all are kept, wanted ones, in parts."""
        flows = self._flows
        whole = len(records) == people and int(flows.sizes[drawn[records]].sum()) <= 2 * room
        if not whole:
            records = records[self.wanted[drawn[records]]]
        several = np.cumsum(flows.sizes[drawn[records]]) // room * (not whole)
        for some in np.split(records, np.flatnonzero(np.diff(several)) + 1):
            count = flows.sizes[drawn[some]]
            record, entry = expanded(flows.starts, drawn[some])
            if len(record):
                yield _Pairs(some, np.cumsum(count) - count, record, flows.true[entry], flows.flow[entry], whole)

    def _picks(
        self, fit: ColumnFit, attackers: Sequence[tuple[str, LogLikelihood]], pairs: _Pairs, drawn: Array
    ) -> Iterator[tuple[str, _Picks]]:
        """What each attack picks in a drawn file."""
        odds = fit.odds_of_pairs(self.cell[pairs.true], pairs.records[pairs.record])
        states, place = np.unique(pairs.true, return_inverse=True)
        origins = Origins(pairs.first, pairs.record, place, self.stage.counts[states])
        targets = [*self._targets(pairs, drawn[pairs.records])]
        prior, tried = np.log(pairs.flow), [(name, likelihood(odds)) for name, likelihood in attackers]
        for (name, fits), (exponent, trust) in product(tried, TRUST.items()):
            logs = prior + trust * fits
            weights = np.exp(np.maximum(logs - np.maximum.reduceat(logs, pairs.first)[pairs.record], LEAST_ODDS))
            for how, scale in SCALINGS.items():
                chance = (scale if pairs.whole else Origins.as_they_are)(origins, weights)
                for where, looked_at in targets:
                    yield f"{name}, exponent {exponent}{how}, {where}", looked_at.best(chance)

    def _targets(self, pairs: _Pairs, shown: Array) -> Iterator[tuple[str, _Targets]]:
        """Where records are looked for, in words; all records are, where these are known."""
        key, true_key, wanted = self.key[pairs.true], self.key[self.state[pairs.records]], self.wanted[pairs.true]
        for where, anywhere in LOOKS.items():
            looked = wanted if anywhere and pairs.whole else wanted & (key == self.key[shown][pairs.record])
            if looked.any():
                yield where, _Targets.of(np.flatnonzero(looked), pairs.record, key, true_key)

    @cached_property
    def _flows(self) -> _Flows:
        released, true, flow, _ = self.stage.occurring_flows()
        order = np.argsort(released, kind="stable")
        count = np.bincount(released, minlength=len(self.stage.states))
        return _Flows(np.append(0, np.cumsum(count)), count, true[order], flow[order])

"""Somebody who weighs all unchanged columns together, simulated: how often they pick the right record. Derived.

A record released in state o came from d with ``p_od N_d exp(t f_d) / sum_e p_oe N_e exp(t f_e)``: f_d says how well
its other columns go with the keys of d (`column_fit`), t how far that is trusted. The best of several intruders is
told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.randomness import SeededRandom
from maskwell.core.verdicts import below as is_below
from maskwell.microdata.records.column_fit import ColumnFit
from maskwell.microdata.risk.arrivals import states_of
from maskwell.microdata.risk.binomial_sums import expanded
from maskwell.microdata.stages.stage import Stage

SEED = 1  # files are drawn with a seed: they are only judged, and the same file is judged alike every time
LOOKED_FOR = 20_000  # people who are looked for in all draws together, about
FEWEST_DRAWS, MOST_DRAWS = 2, 50
MOST_WORK = 1 << 26  # log odds that are looked up at most where there are more draws than the fewest
MOST_STATES, AT_ONCE = 1500, 1 << 20  # states that exchange records at most; and chances that are worked out at once
SUREST = 0.1  # of the picks, the part with the greatest chance
SMALL = 5.0  # people whose keys fewer records have are looked for, where the plan has no limit
TRUST = (1.0, 0.5)  # how much of its log odds naive Bayes weighs


class Attacker(Protocol):
    """Weighs how well the other columns of a record go with keys; a new one is a class and its place in `ATTACKERS`."""

    def log_odds(self, fit: ColumnFit, cells: Array, records: Array) -> Iterator[Real]:
        """``t f``, shape (pairs,), of a record and a cell at a time, once for each way; ``fit`` is of a drawn file."""


class NaiveBayes:
    """Adds up the log odds of all values given the labels of single keys, or of pairs of keys."""

    def log_odds(self, fit: ColumnFit, cells: Array, records: Array) -> Iterator[Real]:
        """All of them, and half of them."""
        for sums in fit.fits_of_pairs(cells, records):
            yield from (trust * sums for trust in TRUST)


ATTACKERS: tuple[Attacker, ...] = (NaiveBayes(),)  # all who are tried


@dataclass(frozen=True)
class JoinedRisk:
    """How often somebody is right who weighs how well unchanged columns go with the keys of a record."""

    columns: tuple[str, ...]  # the columns that were weighed
    # people, draws: people whose keys few records have and who were looked for, and how often a file was drawn
    people: int
    draws: int
    # share of the people for whom the right record was picked: of all, and of the tenth that is surest
    right: float
    right_surest: float
    # how many people that tenth has, all draws together; and the standard error of the share among them
    surest: int
    error: float

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
    (stage,) = moving
    earlier = {name for one in stages if one is not stage for name in one.moved}
    keeps_labels = len(stage.outputs) == len(stage.states) and (stage.own == np.arange(len(stage.states))).all()
    simple = not stage.exchanges and stage.unit is None and keeps_labels
    if not simple or not {*keys} <= {*stage.columns} or earlier & {*stage.columns}:
        return None
    search = _Search.of(stage, keys, fit, below)
    return None if search is None else search.outcome()


class _Origins(NamedTuple):
    """The true states that records of a released state come from: where they start, how many, and the flows."""

    starts: Array
    sizes: Array
    true: Array
    flow: Real


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
        pairs = int(self.stage.counts[looked] @ self._origins.sizes[looked])
        work = pairs * self.fit.labels.codes.shape[1] * len(self.fit.columns)
        draws = min(MOST_DRAWS, max(FEWEST_DRAWS, min(math.ceil(LOOKED_FOR / people), MOST_WORK // work)))
        looks = [look for look in self._looks(looked, draws) if len(look[0])]
        if not looks:
            return None
        draw, true, drawn, chances = (np.concatenate(each) for each in zip(*looks, strict=True))
        tried = [self._shares(people * draws, draw, true, drawn, chance) for chance in chances.T]
        share, surest = max(one[1:] for one in tried)
        return JoinedRisk(
            columns=self.fit.columns,
            people=people,
            draws=draws,
            right=max(one[0] for one in tried),
            right_surest=share,
            surest=surest,
            error=math.sqrt(share * (1 - share) / surest),
        )

    def _shares(self, people: int, draw: Array, true: Array, drawn: Array, chance: Real) -> tuple[float, float, int]:
        """Right picks of all, and of the tenth with the greatest chance; equally good records are taken by lot."""
        look = draw.astype(np.int64) * (int(self.key.max()) + 1) + self.key[drawn]
        order = np.lexsort((np.random.default_rng(SEED).permutation(len(look)), -chance, look))
        best = order[np.flatnonzero(np.append(True, np.diff(look[order]) > 0))]
        weight = self.holders[drawn[best]]
        right = (self.key[true[best]] == self.key[drawn[best]]) / weight
        order = np.argsort(-(chance[best] / weight), kind="stable")
        reached = np.cumsum(weight[order])
        tenth = order[: int(np.searchsorted(reached, SUREST * reached[-1])) + 1]
        share = float(np.average(right[tenth], weights=weight[tenth]))
        return float((right * weight).sum() / people), share, int(weight[tenth].sum())

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

    def _looks(self, looked: Array, draws: int) -> Iterator[tuple[Array, Array, Array, Real]]:
        """Draw, true and released state of each record released with keys that are looked for, and its chances."""
        looked_at = np.zeros(len(self.stage.states), dtype=bool)
        looked_at[looked] = True
        looked_at &= self.wanted
        sampler = self.stage.design.sampler(SeededRandom(SEED))
        released, true, _ = self.stage.transitions
        leaves = np.zeros(len(self.stage.states), dtype=bool)  # whether records may leave a state
        leaves[true[released != true]] = True
        moving = np.flatnonzero((self.state >= 0) & leaves[self.state])
        for draw in range(draws):
            drawn = self.state.copy()
            drawn[moving] = np.asarray(sampler.sample(self.state[moving]).data)
            where = self.cell[drawn[moving]]
            fit = self.fit.shown(moving, np.where(where < 0, self.fit.cells[moving], where))
            shown = np.flatnonzero((drawn >= 0) & looked_at[drawn])
            several = np.cumsum(self._origins.sizes[drawn[shown]]) // AT_ONCE
            for some in np.split(shown, np.flatnonzero(np.diff(several)) + 1):
                yield np.full(len(some), draw), self.state[some], drawn[some], self._chances(fit, some, drawn[some])

    def _chances(self, fit: ColumnFit, records: Array, drawn: Array) -> Real:
        """Shape (records, intruders): the chance that records have the keys of the states they were released in."""
        if not len(records):
            return np.zeros((0, 1))
        origins = self._origins
        count = origins.sizes[drawn]
        first = np.cumsum(count) - count
        record, entry = expanded(origins.starts, drawn)
        true = origins.true[entry]
        same = self.key[true] == self.key[drawn][record]
        chances = []
        for attacker in ATTACKERS:
            for fits in attacker.log_odds(fit, self.cell[true], records[record]):
                below = fits - np.maximum.reduceat(fits, first)[record]
                odds = origins.flow[entry] * np.exp(below)
                chances.append(np.add.reduceat(odds * same, first) / np.add.reduceat(odds, first))
        return np.stack(chances, axis=1).round(9)  # on every processor alike

    @cached_property
    def _origins(self) -> _Origins:
        released, true, flow, _ = self.stage.occurring_flows()
        order = np.argsort(released, kind="stable")
        count = np.bincount(released, minlength=len(self.stage.states))
        return _Origins(np.append(0, np.cumsum(count)), count, true[order], flow[order])

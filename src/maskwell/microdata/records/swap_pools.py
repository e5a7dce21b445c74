"""Pools of a targeted swap: units at risk, with partners that are alike, whose regions are dealt anew among them.

A record is *at risk* at a level of regions where fewer than k records of its region have its values of the risk
variables; a unit is, where one of its records is. Its pool spans several regions of the coarsest such level, inside one
region of the level above, so that all counts of that region stay; or of a level further up, where it finds too few
partners there. Everything here is about units, such as households.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.extras import require
from maskwell.core.groups import distinct_rows
from maskwell.core.randomness import RandomSource, random_order
from maskwell.engines.column_codes import numbered_column
from maskwell.notes import Note

NO_POOL = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class SwapUnits:
    """The units of a file as a targeted swap sees them."""

    regions: Array  # Shape (units, levels), coarse to fine: the codes of its regions, -1 where one is missing
    levels: Array  # Shape (units,): the coarsest level at which it is at risk, or the number of levels
    profiles: Sequence[Array]  # For each profile the number of the unit's make-up, shape (units,)

    @property
    def placed(self) -> Array:
        """Whether all regions of a unit are known."""
        return np.asarray((self.regions >= 0).all(axis=1))

    def areas(self, level: int) -> Array:
        """The region of the level above, inside which regions of a level are exchanged."""
        return self.regions[:, level - 1] if level else np.zeros(len(self.levels), dtype=np.int64)


def levels_at_risk(units: Array, regions: Array, risk: Array, k: int) -> Array:
    """The coarsest level at which a unit is at risk; ``units`` and ``risk`` are codes of the records."""
    coarsest = np.full(len(regions), regions.shape[1], dtype=np.int64)
    for level in reversed(range(regions.shape[1])):
        cell = distinct_rows([regions[units, level] + 1, risk], len(units))[1]
        coarsest[units[np.bincount(cell)[cell] < k]] = level
    return coarsest


def make_ups(units: Array, values: Array) -> Array:
    """A number for each unit, equal where units have equally many records with the same values."""
    sizes = np.bincount(units)
    order = np.lexsort((values, units))
    first = np.cumsum(sizes) - sizes
    numbers, used = np.zeros(len(sizes), dtype=np.int64), 0
    for size in np.unique(sizes).tolist():
        those = np.flatnonzero(sizes == size)
        found, number = np.unique(values[order[first[those, None] + np.arange(size)]], axis=0, return_inverse=True)
        numbers[those] = number.reshape(-1) + used
        used += len(found)
    return numbers


@dataclass(frozen=True, eq=False)
class Pools:
    """The pool of each unit, :data:`NO_POOL` where its regions stay, and how they came about."""

    units: SwapUnits
    of_units: Array
    at_risk: int  # Units at risk
    wider: int  # Units at risk that are pooled across regions of the level above
    fallback: int  # Units at risk that are pooled by a later profile
    alone: int  # Units at risk that found too few partners

    def notes(self) -> Iterator[str]:
        """What a reader of the report should know."""
        pooled = int((self.of_units >= 0).sum())
        yield Note(
            "targeted-swap-pools",
            pooled=pooled,
            units=len(self.of_units),
            at_risk=self.at_risk,
            moved=self.expected_moves,
        )
        if self.wider:
            yield Note("targeted-swap-wider", units=_units(self.wider))
        if self.fallback:
            yield Note("targeted-swap-fallback", units=_units(self.fallback))
        if self.alone:
            yield Note("targeted-swap-alone", units=_units(self.alone))

    @property
    def expected_moves(self) -> int:
        """How many units are expected to get another lowest region: all but ``sum_r m_r^2 / m`` of a pool of m."""
        some = np.flatnonzero(self.of_units >= 0)
        if not len(some):
            return 0
        pool = self.of_units[some]
        cells, place = distinct_rows([pool, self.units.regions[some, -1]], len(some))
        in_region = np.bincount(place)
        stay = (in_region**2 / np.bincount(pool)[cells[:, 0]]).sum()
        return round(len(some) - float(stay))


def _units(count: int) -> str:
    return "1 unit" if count == 1 else f"{count:,} units"


def drawn_pools(units: SwapUnits, *, size: int, rate: Fraction, random: RandomSource) -> Pools:
    """Pools of ``size`` units or more: first of those at risk, level by level; then until each region has its rate."""
    return _Pooling(units, size, random).pools(rate)


class _Pooling:
    def __init__(self, units: SwapUnits, size: int, random: RandomSource) -> None:
        self.units, self.size = units, size
        n, self.n_levels = len(units.levels), units.regions.shape[1]
        self.turn = np.empty(n, dtype=np.int64)  # who comes first among equals
        self.turn[random_order(random.stream(), 0, n)] = np.arange(n)
        self.pool = np.full(n, NO_POOL, dtype=np.int64)
        self.made_by: list[int] = []  # For each pool the profile in which its units are alike

    def pools(self, rate: Fraction) -> Pools:
        units, wider, fallback = self.units, 0, 0
        for level in range(self.n_levels):
            for number in range(len(units.profiles)):
                for above in range(level, -1, -1):  # inside one region of the level above, else of one further up
                    found = self._pool_those_at_risk(level, number, above)
                    wider += found if above < level else 0
                    fallback += found if number else 0
        at_risk = units.levels < self.n_levels
        alone = int((at_risk & (self.pool < 0)).sum())
        if rate > 0:
            self._pool_to_rate(rate)
        self._take_the_rest()
        return Pools(units, self.pool, int(at_risk.sum()), wider, fallback, alone)

    def _free(self) -> Array:
        return (self.pool < 0) & self.units.placed

    def _groups(self, level: int, number: int, free: Array) -> tuple[Array, Array]:
        """The units that are free, by their group: alike in a profile, inside one area of a level; and its starts."""
        places = np.flatnonzero(free)
        _, group = distinct_rows([self.units.profiles[number][places], self.units.areas(level)[places]], len(places))
        order = np.argsort(group, kind="stable")
        return places[order], np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 2))

    def _pool_those_at_risk(self, level: int, number: int, above: int) -> int:
        """Make pools of those at risk at a level and alike in a profile; how many of them have one now."""
        levels, region, done = self.units.levels, self.units.regions[:, level], 0
        free = self._free() & (levels >= level)
        if not (free & (levels == level)).any():
            return 0
        members, starts = self._groups(above, number, free)
        of_member = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        for group in np.unique(of_member[levels[members] == level]).tolist():
            those = members[starts[group] : starts[group + 1]]
            targets, others = those[levels[those] == level], those[levels[those] > level]
            found, counts = np.unique(region[targets], return_counts=True)
            most, largest = int(counts.max()), found[counts.argmax()]
            needed = max(self.size, 2 * most) - len(targets)
            partners = others[region[others] != largest]
            if needed > 0:
                # first those that are at risk at a finer level, and must be swapped anyway; regions in turn
                partners = self._in_turn(partners, region, levels[partners] == self.n_levels)[:needed]
                targets = np.concatenate([targets, partners])
            if len(targets) >= self.size and len(np.unique(region[targets])) > 1:
                self._add(targets, region, number)
                done += int(counts.sum())
        return done

    def _in_turn(self, those: Array, region: Array, last: Array) -> Array:
        """Units in an order that takes one of each region in turn; those that are ``last`` come behind others."""
        order = np.lexsort((self.turn[those], last, region[those]))
        sorted_ = those[order]
        _, first, sizes = np.unique(region[sorted_], return_index=True, return_counts=True)
        rank = np.arange(len(sorted_)) - np.repeat(first, sizes)
        return np.asarray(sorted_[np.lexsort((self.turn[sorted_], rank))])

    def _add(self, those: Array, region: Array, number: int) -> None:
        """Deal units to pools of ``size`` or more, each with its part of every region."""
        pools = len(those) // self.size
        those = those[np.lexsort((self.turn[those], region[those]))]
        self.pool[those] = len(self.made_by) + np.arange(len(those)) % pools
        self.made_by += [number] * pools

    def _pool_to_rate(self, rate: Fraction) -> None:
        """Further pools, of units in turn, until each lowest region has its share of units in pools."""
        lowest = self.units.regions[:, -1]
        size = int(lowest.max(initial=-1)) + 1
        placed = self.units.placed
        there = np.bincount(lowest[placed], minlength=size)
        missing = -(-there * rate.numerator // rate.denominator) - np.bincount(lowest[self.pool >= 0], minlength=size)
        for number in range(len(self.units.profiles)):
            members, starts = self._groups(self.n_levels - 1, number, self._free())
            group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            of_unit = np.zeros(len(self.pool), dtype=np.int64)
            of_unit[members] = group
            for unit in members[np.argsort(self.turn[members])].tolist():
                if self.pool[unit] >= 0 or missing[lowest[unit]] <= 0:
                    continue
                those = members[starts[of_unit[unit]] : starts[of_unit[unit] + 1]]
                those = those[(self.pool[those] < 0) & (lowest[those] != lowest[unit])]
                if len(those) < self.size - 1:
                    continue
                # first those of regions that still lack some
                chosen = self._in_turn(those, lowest, missing[lowest[those]] <= 0)
                chosen = chosen[np.argsort(missing[lowest[chosen]] <= 0, kind="stable")][: self.size - 1]
                self._add(np.append(chosen, unit), lowest, number)
                np.subtract.at(missing, lowest[np.append(chosen, unit)], 1)

    def _take_the_rest(self) -> None:
        """Where fewer than a pool of units alike in a region stay, and others are pooled, those join these pools.

        Else the few that stay would be found more easily than all of them were before.
        """
        for number, profile in enumerate(self.units.profiles):
            _, cell = distinct_rows([profile, self.units.regions[:, -1] + 1], len(profile))
            staying = np.bincount(cell, self._free(), int(cell.max(initial=-1)) + 1)
            pooled = self.pool >= 0
            mixed = (staying > 0) & (staying < self.size) & (np.bincount(cell, pooled, len(staying)) > 0)
            some = np.flatnonzero(mixed[cell] & self.units.placed)
            some = some[np.lexsort((self.turn[some], cell[some]))]
            for alike in np.split(some, np.flatnonzero(np.diff(cell[some])) + 1):
                mates = [unit for unit in alike[pooled[alike]].tolist() if self.made_by[self.pool[unit]] == number]
                for i, unit in enumerate(alike[~pooled[alike]].tolist() if mates else ()):
                    self.pool[unit] = self.pool[mates[i % len(mates)]]


@dataclass(frozen=True, eq=False)
class PoolColumn:
    """A further column that is never published: the pool of each record, from the column of its unit."""

    column: str
    numbers: Array  # The number of each unit, rising, and its place among the labels
    places: Array
    texts: Sequence[str]
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def new_values(self, column: Any, met: dict[Any, Any]) -> Any:
        """The pools of the records with these units."""
        numbered = numbered_column(column)
        found = np.minimum(np.searchsorted(self.numbers, numbered.numbers[:-1]), len(self.numbers) - 1)
        places = np.append(self.places[found], len(self.texts))[numbered.places]
        return require().array([*self.texts, None]).take(require().array(places))

"""Where the draws of each stage of a release come from: a source of randomness, a key, or a swap."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import RandomSource
from maskwell.designs.sampler import KeyedSampler, Sampler, forget_tables, variable_name
from maskwell.designs.sparse import Sparse
from maskwell.engines.cell_counts import merged
from maskwell.microdata.matrices.swap_flows import SwapSampler, whole_flows
from maskwell.microdata.needed_tables import counted_tables
from maskwell.microdata.records.release_pass import Draws, RowPlan
from maskwell.microdata.release_values import Assessment
from maskwell.microdata.stages.stage import Stage


@dataclass(frozen=True)
class _Sampled:
    """Draws from the design of a stage, row after row."""

    sampler: Sampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return np.asarray(self.sampler.sample(codes).data)

    def finish(self) -> None:
        """What the draws were looked up in makes room for the risk of the drawn file."""
        forget_tables(self.sampler.design)


@dataclass(frozen=True)
class _Keyed:
    """Draws that follow from a key, the id of the record, its true state and the design: the same in every release."""

    sampler: KeyedSampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        assert ids is not None
        return np.asarray(self.sampler.sample_named(codes, ids).data)

    def finish(self) -> None:
        """What the draws were looked up in makes room for the risk of the drawn file."""
        forget_tables(self.sampler.design)


@dataclass(frozen=True)
class _KeyedByUnit:
    """One draw for all records of a unit, whose id and common state they have."""

    sampler: KeyedSampler
    key: KeyedRandom

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        assert ids is not None
        return np.asarray(self.sampler.sample_named(codes, self.key.names(ids)).data)

    def finish(self) -> None:
        """What the draws were looked up in makes room for the risk of the drawn file."""
        forget_tables(self.sampler.design)


def _key_of_one_release(random: RandomSource) -> KeyedRandom:
    """A key that is used once and kept nowhere: members of a unit get one draw, whatever their rows."""
    words = random.stream().words(0, 1, 8).tobytes()
    return KeyedRandom.of(hashlib.sha256(b"units of one release" + words).digest(), "units of one release")


@dataclass(frozen=True)
class _Twice:
    """A kept draw, and a new one from its report."""

    kept: _Keyed
    then: _Sampled

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return self.then.draw(self.kept.draw(codes, ids), ids)

    def finish(self) -> None:
        """Both have been drawn."""
        self.kept.finish()
        self.then.finish()


@dataclass(frozen=True)
class _Swapped:
    """Draws without replacement, that keep every count."""

    sampler: SwapSampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return self.sampler.sample(codes)

    def finish(self) -> None:
        """Only when every record has come are the counts kept."""
        self.sampler.check_finished()


def row_plan(release: Assessment, random: RandomSource, key: KeyedRandom | None) -> RowPlan:
    """The stages of a release with where their draws come from, ready for the rows."""
    plan = release.plan
    tables = [table for table in counted_tables(plan, release.tables) if set(table) & set(plan.randomized)]
    needed = {name for stage in release.stages for name in (*stage.columns, *stage.moved)}
    needed |= {name for table in tables for name in table}
    levels = {name: _all_levels(release, name) for name in sorted(needed)}
    return RowPlan(
        levels=levels,
        stages=[(stage, draws_of(stage, random, key if release.keeps(stage) else None)) for stage in release.stages],
        tables=merged(tables, {name: len(column_levels) for name, column_levels in levels.items()}),
        weights=plan.weights,
        dropped=[*plan.unpublished, *release.file.further],
        identity=plan.id if key is not None else None,
        naming=None if key is None or plan.id is None else key.names,
        declared=plan.missing != "category",
        shuffled=random if plan.order == "shuffled" else None,
    )


def _all_levels(release: Assessment, name: str) -> list[Any]:
    """All labels that a column may have before or after."""
    table = next(table for columns, table in release.tables.items() if name in columns)
    labels = [label for label in release.plan.levels_of(table, name) if label is not None]
    for stage in release.stages:
        if name in stage.linked:
            labels += [label for label in stage.linked[name].values() if label is not None]
        if name in stage.variables:
            place = stage.columns.index(name)
            labels += [label[place] for label in stage.outputs if label[place] is not None]
    return [*dict.fromkeys(labels)]


def draws_of(stage: Stage, random: RandomSource, key: KeyedRandom | None) -> Draws:
    """Where the released states of a stage come from; with a key, draws of its first step are kept by it."""
    if stage.exchanges:
        assert isinstance(stage.design, Sparse)
        return _Swapped(SwapSampler(whole_flows(stage.design, stage.counts, random), random))
    if stage.unit is not None:
        secret = _key_of_one_release(random) if key is None else key
        return _KeyedByUnit(
            KeyedSampler(stage.design, secret, variable_name(stage.variables), stage.fingerprint), secret
        )
    if key is None:
        return _Sampled(stage.design.sampler(random))
    first, then = (stage.design, None) if stage.steps is None else stage.steps
    kept = _Keyed(KeyedSampler(first, key, variable_name(stage.variables), stage.fingerprint))
    return kept if then is None else _Twice(kept, _Sampled(then.sampler(random)))

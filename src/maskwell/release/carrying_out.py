"""The stages of a release in codes, ready for the rows of the file."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import RandomSource
from maskwell.designs.sampler import KeyedSampler, Sampler
from maskwell.designs.sparse import Sparse
from maskwell.engines.cell_counting import merged
from maskwell.engines.release_rows import Draws, RowStage
from maskwell.engines.releasing import RowPlan
from maskwell.release.matrices.swap_flows import SwapSampler, whole_flows
from maskwell.release.released import Release
from maskwell.release.stages.counting import tables_of
from maskwell.release.stages.fixed import known_levels
from maskwell.release.stages.stage import Stage

Levels = Mapping[str, Sequence[Any]]


class _Independent:
    """Draws that do not depend on each other."""

    def finish(self) -> None:
        """Nothing is left over."""


@dataclass(frozen=True)
class _Sampled(_Independent):
    """Draws from the design of a stage, row after row."""

    sampler: Sampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return np.asarray(self.sampler.sample(codes).data)


@dataclass(frozen=True)
class _Keyed(_Independent):
    """Draws that follow from a key, the id of the record, its true state and the design: the same in every release."""

    sampler: KeyedSampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        assert ids is not None
        return np.asarray(self.sampler.sample_named(codes, ids).data)


@dataclass(frozen=True)
class _Twice(_Independent):
    """A kept draw, and a new one from its report."""

    kept: _Keyed
    then: _Sampled

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return self.then.draw(self.kept.draw(codes, ids), ids)


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


def row_plan(release: Release, random: RandomSource, key: KeyedRandom | None) -> RowPlan:
    """The stages of a release as codes, ready for the rows."""
    plan = release.plan
    tables = [table for table in tables_of(plan) if set(table) & set(plan.randomized)]
    needed = {name for stage in release.stages for name in (*stage.columns, *stage.linked)}
    needed |= {name for table in tables for name in table}
    levels = {name: _all_levels(release, name) for name in sorted(needed)}
    return RowPlan(
        levels=levels,
        stages=[
            _row_stage(stage, levels, draws_of(stage, random, key if release.keeps(stage) else None))
            for stage in release.stages
        ],
        tables=merged(tables, {name: len(own) for name, own in levels.items()}),
        weights=plan.weights,
        dropped=[*plan.drop, *([plan.id] if plan.id else [])],
        identity=plan.id if key is not None else None,
        naming=None if key is None else key.names,
        declared=plan.missing != "category",
        shuffled=random if plan.order == "shuffled" else None,
    )


def _all_levels(release: Release, name: str) -> list[Any]:
    """All labels that a column may have before or after."""
    table = next(table for columns, table in release.tables.items() if name in columns)
    labels = [label for label in known_levels(release.plan, table, name) if label is not None]
    for stage in release.stages:
        if name in stage.linked:
            labels += [label for label in stage.linked[name].values() if label is not None]
        if name in stage.variables:
            place = stage.columns.index(name)
            labels += [label[place] for label in stage.outputs if label[place] is not None]
    return [*dict.fromkeys(labels)]


def _row_stage(stage: Stage, levels: Levels, draws: Draws) -> RowStage:
    outputs = [label[len(stage.within) :] for label in stage.outputs]
    linked = {
        name: _codes([(follows[label],) for label in outputs], [name], levels)[:, 0]
        for name, follows in stage.linked.items()
    }
    return RowStage(
        columns=stage.columns,
        variables=stage.variables,
        states=_codes(stage.states, stage.columns, levels),
        released=_codes(outputs, stage.variables, levels),
        draws=draws,
        linked=linked,
    )


def _codes(labels: Sequence[tuple[Hashable, ...]], columns: Sequence[str], levels: Levels) -> Array:
    """Codes of labels, shape (labels, columns); -1 for a missing value."""
    places = [{label: i for i, label in enumerate(levels[name])} | {None: -1} for name in columns]
    codes = [[place[part] for place, part in zip(places, label, strict=True)] for label in labels]
    return np.array(codes, dtype=np.int32).reshape(len(labels), len(columns))


def draws_of(stage: Stage, random: RandomSource, key: KeyedRandom | None) -> Draws:
    """Where the released states of a stage come from; with a key, draws of its first step are kept by it."""
    if stage.method == "swap":
        assert isinstance(stage.design, Sparse)
        return _Swapped(SwapSampler(whole_flows(stage.design, stage.counts, random), random))
    if key is None:
        return _Sampled(stage.design.sampler(random))
    first, then = (stage.design, None) if stage.steps is None else stage.steps
    name = json.dumps(stage.variables)  # unlike for any other columns
    kept = _Keyed(KeyedSampler(first, key, name, stage.fingerprint))
    return kept if then is None else _Twice(kept, _Sampled(then.sampler(random)))

"""Where the draws of each stage of a release come from: a source of randomness, a key, or a swap."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import RandomSource
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sampler import KeyedSampler, Sampler, forget_tables, variable_name
from maskwell.designs.sparse import Sparse
from maskwell.engines.cell_counts import merged
from maskwell.microdata.matrices.swap_flows import SwapSampler, whole_flows
from maskwell.microdata.needed_tables import counted_tables
from maskwell.microdata.records.row_releaser import Draws, RowPlan
from maskwell.microdata.release_values import Assessment
from maskwell.microdata.stages.stage import Stage


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
    if stage.exchanges:  # draws without replacement: only when every record has come are the counts kept
        assert isinstance(stage.design, Sparse)
        swap = SwapSampler(whole_flows(stage.design, stage.counts, random), random)
        return Draws(lambda states, _: swap.sample(states), swap.check_finished)
    if stage.unit is not None:  # one draw for all records of a unit, whose id and common state they have
        if key is None:  # one that is used once and kept nowhere: members get one draw, whatever their rows
            words = random.stream().words(0, 1, 8).tobytes()
            digest = hashlib.sha256(b"units of one release" + words).digest()
            key = KeyedRandom.of(digest, "units of one release")
        return _drawn_by(_keyed(stage, stage.design, key), key.names)
    if key is None:
        return _drawn_by(stage.design.sampler(random))
    if stage.steps is None:
        return _drawn_by(_keyed(stage, stage.design, key))
    kept, again = _drawn_by(_keyed(stage, stage.steps[0], key)), _drawn_by(stage.steps[1].sampler(random))
    return Draws(lambda states, ids: again.draw(kept.draw(states, ids), ids), lambda: (kept.finish(), again.finish()))


def _keyed(stage: Stage, design: CodedDesign, key: KeyedRandom) -> KeyedSampler:
    """Draws that follow from a key, the id of the record, its true state and the design: the same in every release."""
    return KeyedSampler(design, key, variable_name(stage.variables), stage.fingerprint)


def _drawn_by(sampler: Sampler | KeyedSampler, naming: Callable[[Array], Array] | None = None) -> Draws:
    """Draws of a sampler: row after row, or by what each row is named, where the ids must be made names of."""

    def draw(states: Array, ids: Array | None) -> Array:
        names = ids if naming is None or ids is None else naming(ids)
        return np.asarray(sampler.sample_named(states, names).data)

    return Draws(draw, partial(forget_tables, sampler.design))  # the risk of the drawn file needs the room

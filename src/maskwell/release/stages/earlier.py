"""Stages of an earlier release carried out again: the same matrices, with the counts of another file.

Records whose truth did not change then keep the draws that a key gave them. What the matrices keep, and the bounds they
were made for, hold for the counts of the earlier file, and are looked at again with those of this one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.cell_table import CellTable
from maskwell.core.labels import texts
from maskwell.core.phrases import listed, shorten
from maskwell.designs.sparse import Sparse
from maskwell.errors import PlanError, UnknownCategoryError
from maskwell.release.matrices.matrix_checks import is_invariant
from maskwell.release.plans.entries import by_text
from maskwell.release.stages.fixed import typed
from maskwell.release.stages.stage import Stage, state_categories

if TYPE_CHECKING:
    from maskwell.release.plans.plan import ReleasePlan

EARLIER = "the matrix of {variables} is that of an earlier release"
NOT_KEPT = f"{EARLIER}: it keeps the counts of that file on average, not those of this one"
Labels = tuple[Hashable, ...]


def recounted(
    plan: ReleasePlan, stage: Stage, table: CellTable, tables: Mapping[tuple[str, ...], CellTable], where: str
) -> Stage:
    """A stage of an earlier release with the counts of this file, which ``table`` has of its protection.

    Raises
    ------
    UnknownCategoryError
        The file has states that the matrix does not know; says how many, not which.
    """
    if not {*stage.columns} <= {*table.columns}:
        raise PlanError(
            f"{where}: no rule joins {listed(stage.within, len(stage.within), 30)} any more, as in the earlier release",
            hint="keep the rules of the earlier release, or make new matrices: then all draws are new",
        )
    made = _relabelled(stage, table, where)
    counted = replace(made, **_counts(plan, table, made))
    linked = {name: _follows(made, name, tables, where) for name in stage.linked}
    lost = made.invariance in ("counts", "weights") and not _is_kept(counted)
    invariance = "external" if lost else made.invariance
    said, more = (text.format(variables=" and ".join(stage.variables)) for text in (EARLIER, NOT_KEPT))
    notes = [more]  # what was said of the counts of the earlier file does not hold for these
    if invariance != "external":
        notes = [*(note for note in stage.notes if note != said), said]
    return replace(counted, invariance=invariance, linked=linked, notes=tuple(notes))


def _is_kept(stage: Stage) -> bool:
    return bool(stage.mass.sum() > 0) and is_invariant(stage.design, stage.mass)


def _relabelled(stage: Stage, table: CellTable, where: str) -> Stage:
    """The labels of the earlier file in the type of this one, so that its rows are found by them."""
    places = [_Column(table.levels[table.place(name)]) for name in stage.columns]

    def here(labels: Sequence[Labels]) -> list[Labels]:
        return [tuple(own.label(part) for own, part in zip(places, label, strict=True)) for label in labels]

    states, outputs = here(stage.states), here(stage.outputs)
    made = replace(stage, states=states, outputs=outputs)
    if len({*states}) < len(states) or len({*outputs}) < len(outputs) or made.fingerprint != stage.fingerprint:
        raise PlanError(
            f"{where}: labels are not written as in the earlier file: {listed(stage.columns, len(stage.columns), 30)}",
            hint="write them as in that file, as numbers or as texts; else all draws would be new",
        )
    if not isinstance(stage.design, Sparse):
        return made
    return replace(made, design=stage.design.with_labels(state_categories(states), state_categories(outputs)))


class _Column:
    """Labels of an earlier file as labels of this one."""

    def __init__(self, levels: Sequence[Hashable]) -> None:
        self._levels, self._own, self._known = levels, {*levels}, by_text(levels)

    def label(self, earlier: Hashable) -> Hashable:
        """The label of this file with the same text; one that does not occur, in the type of those that do."""
        if earlier is None or earlier in self._own:
            return earlier
        found = next((self._known[text] for text in texts(earlier) if text in self._known), None)
        return typed(texts(earlier)[-1], self._levels) if found is None else found


def _counts(plan: ReleasePlan, table: CellTable, stage: Stage) -> dict[str, Any]:
    """Records and weights of each state; an error for records that the matrix has no state for."""
    places = {label: i for i, label in enumerate(stage.states)}
    own = table.project(stage.columns)
    found = np.array([places.get(label, -1) for label in own.labels()], dtype=np.int64)
    lost = found < 0
    if plan.missing != "category":
        lost &= np.array([None not in label[len(stage.within) :] for label in own.labels()], dtype=bool)
    if lost.any():
        raise _unknown(own, stage, np.flatnonzero(lost))
    kept = found >= 0

    def spread(values: Array | None, kind: Any) -> Any:
        if values is None:
            return None
        return np.bincount(found[kept], values[kept], minlength=len(stage.states)).astype(kind)

    return {
        "counts": spread(own.counts, np.int64),
        "weights": spread(own.weights, np.float64),
        "squares": spread(own.squares, np.float64),
    }


def _unknown(table: CellTable, stage: Stage, lost: Array) -> UnknownCategoryError:
    """Names the column with labels that the earlier file did not have, or else the columns; no label is shown."""
    new = {table.label(int(i)) for i in lost}
    what = f"combinations of {listed(stage.columns, len(stage.columns), 24)}"
    for place, name in enumerate(stage.columns):
        labels = {label[place] for label in new} - {label[place] for label in stage.states}
        if labels:
            what, new = f"categories of {shorten(name, 24)!r}", {(label,) for label in labels}
            break
    return UnknownCategoryError(
        f"the earlier matrix does not know all {what}: {len(new):,} new, records {int(table.counts[lost].sum()):,}",
        hint="group them as in the earlier file, or make new matrices: then all draws are new",
    )


def _follows(
    stage: Stage, name: str, tables: Mapping[tuple[str, ...], CellTable], where: str
) -> dict[Labels, Hashable]:
    """The label of a linked column for each combination, as in the earlier file; in this one it must be the same."""
    table = tables[(*stage.variables, name)]
    columns = [_Column(table.levels[table.place(own)]) for own in (*stage.variables, name)]
    found = {
        tuple(own.label(part) for own, part in zip(columns, key, strict=False)): columns[-1].label(label)
        for key, label in stage.linked[name].items()
    }
    for *variables, label in table.labels():
        if found.setdefault(tuple(variables), label) != label:
            raise PlanError(
                f"{where}: {shorten(name, 20)!r} does not follow as in the earlier file",
                hint="correct the column, or make new matrices: then all draws are new",
                column=name,
            )
    return found

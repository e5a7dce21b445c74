"""Stages whose matrix is there before the file is counted: fixed in the plan, or that of an earlier release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories
from maskwell.core.cells import CellTable
from maskwell.core.labels import texts
from maskwell.core.phrases import listed, shorten, shown_values
from maskwell.designs.sparse import Sparse
from maskwell.errors import PlanError, UnknownCategoryError
from maskwell.microdata.matrices.matrix_checks import is_invariant
from maskwell.microdata.plans.given_methods import Fixed, short_label, text_of
from maskwell.microdata.plans.method import GivenMethod
from maskwell.microdata.plans.plan_entries import by_text, typed
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.stages.stage import Stage, State, state_categories
from maskwell.notes import Note

Labels = tuple[Hashable, ...]
Tables = Mapping[tuple[str, ...], CellTable]
EARLIER = "the matrix of {variables} is that of an earlier release"
NOT_KEPT = f"{EARLIER}: it preserves the counts of that file on average, not those of this one"


def given_stage(plan: ReleasePlan, protection: Protection, how: GivenMethod, table: CellTable, where: str) -> Stage:
    """The stage of a fixed matrix; ``table`` has the columns of ``within`` first, then variables, then joined ones."""
    levels = [plan.levels_of(table, name) for name in protection.variables]
    if isinstance(how, Fixed) and how.by_cell is not None:
        within = protection.within
        table = table.project([*within, *protection.variables])
        cells = _reached(plan, protection, [*dict.fromkeys(label[: len(within)] for label in table.labels())], table)
        designs = {cell: how.cell_design(cell, within, levels, where) for cell in cells}
        notes = how.unused_cells(cells)
    else:
        within, designs = (), {(): how.given_design(levels, where)}
        table, notes = table.project(protection.variables), designs[()].provenance.get("notes", ())
    labels = [(*cell, *label) for cell, design in designs.items() for label in _labels_of(design.inputs, levels)]
    outputs = [(*cell, *label) for cell, design in designs.items() for label in _labels_of(design.outputs, levels)]
    sizes = [design.k for design in designs.values()]
    if within:
        places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        whole = Sparse.stacked([Sparse.of_matrix(design.exact_matrix()) for design in designs.values()], places)
    return Stage(
        variables=protection.variables,
        within=within,
        states=labels,
        outputs=outputs,
        design=whole.with_labels(state_categories(labels), state_categories(outputs)) if within else designs[()],
        cells=np.repeat(np.arange(len(sizes)), sizes),
        method=protection.method,
        invariance="none",
        derived=False,
        notes=notes,
        **_counts_given(plan, table, labels, where),
    )


def _reached(plan: ReleasePlan, protection: Protection, cells: Sequence[Labels], table: CellTable) -> Sequence[Labels]:
    """The cells that occur or that earlier stages lead to: records in one without a matrix would stay, and show it."""
    before = plan.protections[: plan.protections.index(protection)]
    moved = {name for one in before for name in one.moved}
    levels = [plan.levels_of(table, name) if name in moved else None for name in protection.within]
    if not any(levels):
        return cells
    choices = (product(*(labels or [part] for labels, part in zip(levels, cell, strict=True))) for cell in cells)
    return [*dict.fromkeys([*cells, *(cell for some in choices for cell in some)])]


def _labels_of(categories: Categories, levels: Sequence[Sequence[Hashable]]) -> list[Labels]:
    """Labels of a design as labels of the file, matched by their text."""
    known = [({"missing": None} if None in labels else {}) | by_text(labels) for labels in levels]

    def one(label: Hashable) -> Labels:
        parts = text_of(label)
        return tuple(k[t] if t in k else typed(t, labels) for t, k, labels in zip(parts, known, levels, strict=True))

    try:
        labels = [one(label) for label in categories.labels]
    except ValueError as error:
        raise PlanError("the-categories-of-the-design", levels_count=len(levels)) from error
    if twice := [label for label, times in Counter(labels).items() if times > 1]:
        raise PlanError("two-categories-of-the-design-stand", values=short_label(twice[0]))
    return labels


def _counts_given(plan: ReleasePlan, table: CellTable, labels: Sequence[Labels], where: str) -> dict[str, Any]:
    """Records and weights of each state; an error for records that the design has no category for."""
    places = _places(table, labels)
    missing = plan.missing != "category"
    lost = [i for i in np.flatnonzero(places < 0) if not (missing and None in table.label(int(i)))]
    if lost:
        what = "1 value of the file is" if len(lost) == 1 else f"{len(lost):,} values of the file are"
        raise UnknownCategoryError(
            "where-what-not-in-the-matrix",
            where=where,
            what=what,
            values=shown_values({short_label(table.label(int(i))): int(table.counts[i]) for i in lost}),
            offenders={table.label(int(i)): int(table.counts[i]) for i in lost},
        )
    return _counts_at(table, places, len(labels))


def _places(table: CellTable, labels: Sequence[Labels]) -> Array:
    """The state of each cell of a table by its labels, -1 where there is none."""
    places = {label: i for i, label in enumerate(labels)}
    return np.array([places.get(label, -1) for label in table.labels()], dtype=np.int64)


def _counts_at(table: CellTable, places: Array, states: int) -> dict[str, Any]:
    """Records of each state, and the sums of their weights and squared weights."""
    known = places >= 0

    def summed(values: Array | None, kind: Any) -> Any:
        return None if values is None else np.bincount(places[known], values[known], minlength=states).astype(kind)

    return {
        "counts": summed(table.counts, np.int64),
        "weights": summed(table.weights, np.float64),
        "squares": summed(table.squares, np.float64),
    }


def recounted_stage(plan: ReleasePlan, stage: Stage, table: CellTable, tables: Tables, where: str) -> Stage:
    """A stage of an earlier release with the counts of this file, which ``table`` has of its protection."""
    if not {*stage.columns} <= {*table.columns}:
        raise PlanError("no-rule-joins-any-more", where=where, within=listed(stage.within, len(stage.within), 30))
    made, cells = _relabelled(stage, table, where), table.project(stage.columns)
    places = _places(cells, made.states)
    lost_cells = places < 0
    if plan.missing != "category":
        lost_cells &= np.array([None not in label[len(stage.within) :] for label in cells.labels()], dtype=bool)
    if lost_cells.any():
        raise _unknown(cells, made, np.flatnonzero(lost_cells))
    counted = replace(made, **_counts_at(cells, places, len(made.states)))
    linked = {name: _follows(made, name, tables, where) for name in stage.linked}
    lost = made.invariant and not (counted.mass.sum() > 0 and is_invariant(counted.design, counted.mass))
    invariance = "external" if lost else made.invariance
    said, more = (text.format(variables=" and ".join(stage.variables)) for text in (EARLIER, NOT_KEPT))
    notes = [more]  # what was said of the counts of the earlier file does not hold for these
    if invariance != "external":
        notes = [*(note for note in stage.notes if note != said), said]
    return replace(counted, invariance=invariance, linked=linked, notes=tuple(notes))


def can_carry_on(stage: Stage) -> bool:
    """Whether some columns of the matrix of an earlier release can be replaced: each state has one draw by itself."""
    one_draw = stage.steps is None and stage.unit is None and not stage.exchanges
    return one_draw and isinstance(stage.design, Sparse) and stage.derived and [*stage.states] == [*stage.outputs]


def carried_on(
    earlier: Stage,
    own: Stage,
    anew: Collection[State],
    table: CellTable,
    tables: Tables,
    where: str,
) -> Stage:
    """The matrix of an earlier release, with the columns of the plan's ``own`` one where a draw is to be a new one.

    These are the states ``anew``, and those that the earlier release did not have. A state of the earlier release keeps
    its number, and so its words: a record with the same true value is released as before.
    """
    made = _relabelled(earlier, table, where)
    assert isinstance(made.design, Sparse) and isinstance(own.design, Sparse)
    known, mine = ({state: i for i, state in enumerate(one.states)} for one in (made, own))
    states = [*made.states, *(state for state in own.states if state not in known)]
    place = {state: i for i, state in enumerate(states)}
    of_own = np.array([place[state] for state in own.states], dtype=np.int64)
    kept_as, rows, numerators = list[str | None](), list[Array](), list[Array]()
    for state in states:
        then = _column(made.design, known[state], np.arange(len(states))) if state in known else None
        now = _column(own.design, mine[state], of_own) if state in mine and (state in anew or then is None) else then
        assert now is not None
        is_new = then is None or now[0].tolist() != then[0].tolist() or now[1].tolist() != then[1].tolist()
        rows.append(now[0])
        numerators.append(now[1])
        kept_as.append(None if is_new else made.drawn_as(known[state]))
    whole = all(one.dtype != object for one in numerators)
    design = Sparse.from_integers(
        np.cumsum([0, *map(len, rows)]),
        np.concatenate(rows),
        np.concatenate([one.astype(np.int64 if whole else object) for one in numerators]),
        state_categories(states),
    )
    counted = _counts_at(table.project(made.columns), _places(table.project(made.columns), states), len(states))
    within = {cell: i for i, cell in enumerate(dict.fromkeys(state[: len(made.within)] for state in states))}
    stage = replace(
        own,
        states=states,
        outputs=states,
        design=design,
        cells=np.array([within[state[: len(made.within)]] for state in states], dtype=np.int64),
        linked={name: _follows(made, name, tables, where) for name in made.linked},
        kept_as=tuple(kept_as),
        **counted,
    )
    drawn_anew = int(stage.counts[[one is None for one in kept_as]].sum())
    lost = not (stage.mass.sum() > 0 and is_invariant(design, stage.mass))
    names = " and ".join(stage.variables)
    note = Note("draws-are-kept-where-the-limit-allows", names=names, anew=drawn_anew, n=int(stage.counts.sum()))
    return replace(stage, invariance="none" if lost else own.invariance, notes=(*own.notes, note))


def _column(design: Sparse, state: int, places: Array) -> tuple[Array, Array]:
    """The reports of a state in rising order, by their new places, and the integers that their chances are in."""
    part = slice(int(design.starts[state]), int(design.starts[state + 1]))
    at = places[design.rows[part]]
    order = np.argsort(at, kind="stable")
    return at[order], design.numerators[part][order]


def _relabelled(stage: Stage, table: CellTable, where: str) -> Stage:
    """The labels of the earlier file in the type of this one, so that its rows are found by them."""
    places = [_reader(table.levels[table.place(name)]) for name in stage.columns]

    def here(labels: Sequence[Labels]) -> list[Labels]:
        return [tuple(read(part) for read, part in zip(places, label, strict=True)) for label in labels]

    states, outputs = here(stage.states), here(stage.outputs)
    made = replace(stage, states=states, outputs=outputs)
    if len({*states}) < len(states) or len({*outputs}) < len(outputs) or made.fingerprint != stage.fingerprint:
        raise PlanError("labels-are-not-written", where=where, columns=listed(stage.columns, len(stage.columns), 30))
    if not isinstance(stage.design, Sparse):
        return made
    return replace(made, design=stage.design.with_labels(state_categories(states), state_categories(outputs)))


def _reader(levels: Sequence[Hashable]) -> Callable[[Hashable], Hashable]:
    """Reads labels of an earlier file: those of this one with the same text, others in the type of those here."""
    own, known = {*levels}, by_text(levels)

    def here(earlier: Hashable) -> Hashable:
        if earlier is None or earlier in own:
            return earlier
        level = next((known[text] for text in texts(earlier) if text in known), None)
        return typed(texts(earlier)[-1], levels) if level is None else level

    return here


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
        "the-earlier-matrix-does-not-know", what=what, new_count=len(new), count_sum=int(table.counts[lost].sum())
    )


def _follows(stage: Stage, name: str, tables: Tables, where: str) -> dict[Labels, Hashable]:
    """The label of a linked column for each combination, as in the earlier file; in this one it must be the same."""
    table = tables[(*stage.variables, name)]
    columns = [_reader(table.levels[table.place(column)]) for column in (*stage.variables, name)]
    linked_labels = {
        tuple(read(part) for read, part in zip(columns, key, strict=False)): columns[-1](label)
        for key, label in stage.linked[name].items()
    }
    for *variables, label in table.labels():
        if linked_labels.setdefault(tuple(variables), label) != label:
            raise PlanError("does-not-follow", where=where, name=shorten(name, 20), column=name)
    return linked_labels

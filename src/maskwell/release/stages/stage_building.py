"""Stages of a release: from its plan and the counts of a file to the matrix of every cell.

A matrix is worked out from the counts, was fixed before, or is that of an earlier release, carried out again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.core.cell_table import CellTable
from maskwell.core.labels import texts
from maskwell.core.phrases import listed, shorten, shown_values
from maskwell.designs.sparse import Sparse
from maskwell.errors import ParameterError, PlanError, UnknownCategoryError
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.invariance import is_invariant
from maskwell.release.matrices.mixing import mixed, repeated
from maskwell.release.plans.count_methods import matrix_from_counts
from maskwell.release.plans.edit_rules import (
    check_combinations,
    check_moves,
    check_rules,
    check_swaps,
    forbidden_moves,
)
from maskwell.release.plans.given_methods import Fixed, short_label, text_of
from maskwell.release.plans.method import OpenStates
from maskwell.release.plans.plan_entries import by_text, find_levels, typed
from maskwell.release.plans.protection import Protection
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.stages.stage import Stage, state_categories

Labels = tuple[Hashable, ...]
Tables = Mapping[tuple[str, ...], CellTable]
EARLIER = "the matrix of {variables} is that of an earlier release"
NOT_KEPT = f"{EARLIER}: it keeps the counts of that file on average, not those of this one"


def build_stages(
    plan: ReleasePlan,
    tables: Tables,
    external: Mapping[str, CellTable] | None = None,
    earlier: Sequence[Stage] | None = None,
) -> tuple[Stage, ...]:
    """The stages of a plan, in its order.

    ``external`` has the counts of the other files that protections name in ``counts_from``, by their variables.
    ``earlier`` are the stages of an earlier release, whose matrices are carried out again.
    """
    _check_codebook(plan, tables)
    check_rules(plan, tables)
    check_swaps(plan)
    if earlier is not None and len(earlier) != len(plan.protections):
        raise ParameterError(
            f"{len(earlier):,} earlier stages for {len(plan.protections):,} protections of the plan",
            hint="give the stages of an earlier release with the same plan",
        )
    found = []
    for number, protection in enumerate(plan.protections, 1):
        where = f"[[protect]] number {number}"
        if earlier is not None:
            found.append(_again(plan, where, protection, tables, earlier[number - 1]))
            continue
        other = (external or {}).get(",".join(protection.variables))
        found.append(_stage(plan, where, protection, tables, other))
    check_combinations(plan, found, tables)
    return tuple(found)


def _check_codebook(plan: ReleasePlan, tables: Tables) -> None:
    """Raise where the file holds a label that its codebook does not list."""
    for column in plan.codebook:
        table = next((own for columns, own in tables.items() if column in columns), None)
        if table is not None:
            plan.levels_of(table, column)


def _stage(plan: ReleasePlan, where: str, protection: Protection, tables: Tables, external: CellTable | None) -> Stage:
    within, variables = plan.columns_of(protection)
    table = tables[(*within, *variables)]
    linked = {name: _linked(tables[(*variables, name)], name, where) for name in protection.linked}
    if not protection.base.derived:
        stage = _given_stage(plan, protection, table, where)
    else:
        stage = _derived_stage(plan, protection, *_with_external(table, external), within, where)
    if protection.again is not None:
        stage = _randomized_again(stage, protection, where)
    check_moves(plan, stage, table, where)
    _check_linked(stage, linked, where)
    added = [name for name in stage.within if name not in protection.within]
    notes = (f"randomized within {', '.join(added)} too, because a rule joins them",) if added else ()
    return replace(stage, linked=linked, notes=(*stage.notes, *notes))


def _again(plan: ReleasePlan, where: str, protection: Protection, tables: Tables, earlier: Stage) -> Stage:
    """A stage of an earlier release on this file: rules and bounds are looked at again, with its counts."""
    within, variables = plan.columns_of(protection)
    table = tables[(*within, *variables)]
    stage = _recounted(plan, earlier, table, tables, where)
    check_moves(plan, stage, table, where)
    _check_linked(stage, stage.linked, where)
    return stage


def _randomized_again(stage: Stage, protection: Protection, where: str) -> Stage:
    """The stage with a second step that is drawn anew in each release; all that is said of it is about both steps."""
    if [*stage.states] != [*stage.outputs]:
        raise PlanError(
            f"{where}: again needs a matrix whose reports are its categories, in the same order",
            hint='leave out again, or hide changes with draws = "fresh"',
        )
    assert protection.again is not None
    then, whole = repeated(stage.design, protection.again)
    return replace(stage, design=whole, steps=(stage.design, then))


def _linked(table: CellTable, name: str, where: str) -> dict[tuple[Hashable, ...], Hashable]:
    """The label of a linked column for each combination of the variables; an error where it does not follow."""
    found: dict[tuple[Hashable, ...], Hashable] = {}
    for *variables, label in table.labels():
        key = tuple(variables)
        if found.setdefault(key, label) != label:
            both = f"{shorten(str(found[key]), 40)} or {shorten(str(label), 40)}"
            raise PlanError(
                f"{where}: {shorten(name, 20)!r} does not follow: records that agree in the variables differ in it",
                hint=f"randomize them jointly: variables = {[*table.columns]}",
                values=f"{both} for {shorten(', '.join(map(str, key)), 80)}",
                column=name,
            )
    return found


def _check_linked(stage: Stage, linked: Mapping[str, Mapping[tuple[Hashable, ...], Hashable]], where: str) -> None:
    """Raise where a combination can be released for which no record tells the label of a linked column."""
    for name, follows in linked.items():
        for label in stage.outputs:
            if (own := label[len(stage.within) :]) not in follows:
                raise PlanError(
                    f"{where}: a combination may be released for which no record has a value of {name!r}",
                    hint="keep to labels that occur, or randomize the linked column with the others",
                    values=shorten(", ".join(map(str, own)), 80),
                    column=name,
                )


# ---- matrices that are worked out from counts


def _with_external(table: CellTable, external: CellTable | None) -> tuple[CellTable, Array | None]:
    """The cells of the file and of another one, with the records of the file; and the records of the other one."""
    if external is None:
        return table, None
    labels = [*dict.fromkeys([*table.labels(), *external.labels()])]
    both = CellTable.of(table.columns, dict.fromkeys(labels, 1))
    places = {label: i for i, label in enumerate(both.labels())}

    def spread(own: CellTable, values: Array | None) -> Any:
        if values is None:
            return None
        out = np.zeros(len(both), dtype=values.dtype)
        out[[places[label] for label in own.labels()]] = values
        return out

    sums = {"weights": spread(table, table.weights), "squares": spread(table, table.squares)}
    return replace(both, counts=spread(table, table.counts), **sums), spread(external, external.counts)


@dataclass(frozen=True, eq=False)
class _States:
    """The states of a protection: cells of its table with a value in every variable, and what is to be kept."""

    table: CellTable
    rows: Array
    within: tuple[str, ...]
    mass: Array

    @cached_property
    def labels(self) -> list[tuple[Hashable, ...]]:
        """Of the columns of each state."""
        return [self.table.label(int(row)) for row in self.rows]

    @cached_property
    def cells(self) -> Array:
        """A number for each combination of the columns within which is randomized."""
        return _numbered(self.table.codes[self.rows, : len(self.within)])

    def of(self, values: Array | None) -> Any:
        """Values of the table, for the states."""
        return None if values is None else values[self.rows]


def _states(plan: ReleasePlan, table: CellTable, external: Array | None, within: tuple[str, ...], kept: str) -> _States:
    rows = _with_values(plan, table, len(within))
    mass = table.weights if kept == "weights" and table.weights is not None else table.counts
    return _States(table, rows, within, (mass if external is None else external)[rows])


def _derived_stage(
    plan: ReleasePlan,
    protection: Protection,
    table: CellTable,
    external: Array | None,
    within: tuple[str, ...],
    where: str,
) -> Stage:
    invariance = invariance_of(plan, protection)
    states = _states(plan, table, external, within, invariance)
    open_ = _open_states(protection, states, where)
    counts = states.of(table.counts)
    asked = _asked_of(plan, protection, states, open_, counts if external is None else states.mass, where)
    design = matrix_from_counts(protection.base, asked)
    _check_kept(design, protection, states, open_, where)
    notes = [*design.provenance.get("notes", ())]
    if protection.strength != 1:
        design = mixed(design, protection.strength)
    if invariance == "counts" and _weights_differ(states):
        notes.append("counts of records are kept on average, sums of weights are not: weighted tables are biased")
    return Stage(
        variables=protection.variables,
        within=within,
        states=states.labels,
        outputs=states.labels,
        design=_among_all(design, open_, states.labels),
        counts=counts,
        weights=states.of(table.weights),
        squares=states.of(table.squares),
        cells=states.cells,
        method=protection.method,
        invariance=invariance,
        derived=protection.derived,
        notes=tuple(dict.fromkeys(notes)),
    )


def _check_kept(design: Sparse, protection: Protection, states: _States, open_: Array, where: str) -> None:
    """Raise where a plan says what is to be kept on average, and the matrix of its method keeps something else."""
    wanted, table = protection.base.invariance_asked, states.table
    if wanted is None:
        return
    asked = {wanted: {"weights": table.weights, "counts": table.counts}[wanted]}
    if protection.how.exchanges:
        asked["counts"] = table.counts
    if all(amounts is None or is_invariant(design, states.of(amounts)[open_]) for amounts in asked.values()):
        return
    external = protection.counts_from is not None
    method = "a matrix from the counts of another file" if external else protection.method
    raise PlanError(
        f"{where}: {method} does not keep the {'sums of weights' if wanted == 'weights' else 'counts'} of this file",
        hint="leave out invariance" if external else "leave out invariance: then counts of records are kept",
    )


def _weights_differ(states: _States) -> bool:
    """Whether records of some states weigh more on average than others: then counts and weights are not kept alike."""
    if states.table.weights is None:
        return False
    mean = states.of(states.table.weights) / np.maximum(states.of(states.table.counts), 1)
    return bool(np.ptp(mean) > 1e-9 * mean.max()) if len(mean) else False


def _open_states(protection: Protection, states: _States, where: str) -> Array:
    """The states that are randomized: those with records that no entry excludes."""
    excluded = _excluded(protection, states.table, states.rows, where)
    open_ = np.flatnonzero((states.mass > 0) & ~excluded)
    if not len(open_):
        raise PlanError(
            f"{where}: no record of {' and '.join(protection.variables)} is left to randomize",
            hint="look for empty columns, an exclude of every category, or weights that are all zero",
        )
    _check_none_left_open(protection, states, excluded, where)
    return open_


def _check_none_left_open(protection: Protection, states: _States, excluded: Array, where: str) -> None:
    """Raise for records that would stay as they are, unasked, because what the matrix is made for has none of them."""
    forgotten = np.flatnonzero((states.mass == 0) & (states.of(states.table.counts) > 0) & ~excluded)
    if len(forgotten):
        names = (" / ".join(map(str, states.labels[i])) for i in forgotten.tolist())
        cells = listed(names, len(forgotten), 30)
        if protection.counts_from is not None:
            reason, hint = (
                "not in counts_from",
                "add it to that file with at least one record, or exclude it in the plan",
            )
        else:
            reason, hint = (
                "with a weight of 0 only",
                'give these records weights, keep counts (invariance = "counts"), or exclude it',
            )
        raise PlanError(f"{where}: {cells} occurs, but {reason}: it would stay as it is", hint=hint)


def _asked_of(
    plan: ReleasePlan, protection: Protection, states: _States, open_: Array, counts: Array, where: str
) -> OpenStates:
    """What the method of a protection needs to know of its open states."""
    n_within, labels = len(states.within), [states.labels[i] for i in open_]
    rows, cells = states.rows[open_], states.cells[open_]
    return OpenStates(
        counts=counts[open_],
        mass=states.mass[open_],
        labels=[label[n_within:] for label in labels],
        codes=states.table.codes[rows, n_within:],
        cells=cells,
        bounds=_bounds(plan, protection, labels, n_within, where),
        forbidden=forbidden_moves(plan, states.table, rows, cells, protection.variables),
        where=where,
        intruder=plan.intruder,
    )


def _among_all(design: Sparse, open_: Array, labels: Sequence[tuple[Hashable, ...]]) -> Sparse:
    """The matrix over all states: those that are not open stay as they are."""
    rest = np.setdiff1d(np.arange(len(labels)), open_)
    parts, places = [design], [open_]
    if len(rest):
        parts, places = [design, Sparse.unchanged(Categories.numbered(len(rest)))], [open_, rest]
    return Sparse.stacked(parts, places, state_categories(labels))


def _bounds(
    plan: ReleasePlan, protection: Protection, labels: Sequence[tuple[Hashable, ...]], n_within: int, where: str
) -> Bounds:
    """The bounds of a protection, with the match of the whole release and with caps by place."""
    alone = protection.base.follows_match and not protection.bounds.asked() and not protection.caps
    whole = alone or protection.base.needs_match
    match = plan.match_of(protection) if whole else protection.bounds.match
    caps: dict[int, Fraction] = {}
    if protection.caps:  # of a single variable
        levels = [label[n_within] for label in labels]
        found = find_levels(protection.caps, [*dict.fromkeys(levels)], f"{where}: caps")
        wanted = dict(zip(found, protection.caps.values(), strict=True))
        caps = {i: wanted[level] for i, level in enumerate(levels) if level in wanted}
    return replace(protection.bounds, match=match, caps=caps)


def invariance_of(plan: ReleasePlan, protection: Protection) -> str:
    """What a matrix worked out from the file keeps on average."""
    if (wanted := protection.base.invariance_asked) is not None:
        return wanted
    if protection.counts_from is not None:
        return "external"
    bounded = protection.bounds.asked() or protection.caps or plan.match_of(protection) is not None
    by_counts = bounded or protection.how.by_counts or protection.base.by_counts
    return "counts" if plan.weights is None or by_counts else "weights"


def _with_values(plan: ReleasePlan, table: CellTable, n_within: int) -> Array:
    """Cells whose variables all have a value, unless a missing one is a category."""
    lost = np.zeros(len(table), dtype=bool)
    if plan.missing != "category":
        for place, levels in enumerate(table.levels[n_within:], n_within):
            if levels and levels[-1] is None:
                lost |= table.codes[:, place] == len(levels) - 1
    return np.flatnonzero(~lost)


def _numbered(codes: Array) -> Array:
    """A number for each distinct row."""
    if not codes.shape[1]:
        return np.zeros(len(codes), dtype=np.int64)
    _, numbers = np.unique(codes, axis=0, return_inverse=True)
    return np.asarray(numbers).reshape(-1)


def _excluded(protection: Protection, table: CellTable, kept: Array, where: str) -> Array:
    """Which states hold a category that stays as it is and is never drawn."""
    out = np.zeros(len(kept), dtype=bool)
    for column, labels in protection.exclude.items():
        place = table.place(column)
        levels = table.levels[place]
        found = find_levels(labels, levels, f"{where}: exclude of {column!r}")
        hit = np.array([level in found for level in levels], dtype=bool)
        out |= hit[table.codes[kept, place]]
    return out


# ---- matrices that were fixed before the file was seen


def _given_stage(plan: ReleasePlan, protection: Protection, table: CellTable, where: str) -> Stage:
    """The stage of a protection whose matrix does not depend on the file.

    ``table`` has the columns of ``within`` first, then the variables.
    """
    how = protection.how
    if isinstance(how, Fixed) and how.by_cell is not None:
        return _given_by_cell(plan, protection, how, table, where)
    levels = [plan.levels_of(table, name) for name in protection.variables]
    design = how.given_design(levels, where)
    labels, outputs = _labels_of(design.inputs, levels), _labels_of(design.outputs, levels)
    table = table.project(protection.variables)
    return Stage(
        variables=protection.variables,
        states=labels,
        outputs=outputs,
        design=design,
        cells=np.zeros(len(labels), dtype=np.int64),
        method=protection.method,
        invariance="none",
        derived=False,
        notes=design.provenance.get("notes", ()),
        **_counts_given(plan, table, labels, where),
    )


def _given_by_cell(plan: ReleasePlan, protection: Protection, how: Fixed, table: CellTable, where: str) -> Stage:
    """One matrix for each cell of ``within``."""
    n_within = len(protection.within)
    table = table.project([*protection.within, *protection.variables])  # without columns that rules join to them
    cells = _reached(plan, protection, [*dict.fromkeys(label[:n_within] for label in table.labels())], table)
    levels = [plan.levels_of(table, name) for name in protection.variables]
    designs = {cell: how.cell_design(cell, protection.within, levels, where) for cell in cells}
    labels = [(*cell, *label) for cell, design in designs.items() for label in _labels_of(design.inputs, levels)]
    outputs = [(*cell, *label) for cell, design in designs.items() for label in _labels_of(design.outputs, levels)]
    sizes = [design.k for design in designs.values()]
    places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    whole = Sparse.stacked([Sparse.of_matrix(design.exact_matrix()) for design in designs.values()], places)
    return Stage(
        variables=protection.variables,
        within=protection.within,
        states=labels,
        outputs=outputs,
        design=whole.with_labels(state_categories(labels), state_categories(outputs)),
        cells=np.repeat(np.arange(len(sizes)), sizes),
        method=protection.method,
        invariance="none",
        derived=False,
        notes=how.unused_cells(cells),
        **_counts_given(plan, table, labels, where),
    )


def _reached(plan: ReleasePlan, protection: Protection, cells: Sequence[Labels], table: CellTable) -> Sequence[Labels]:
    """The cells that occur, and those that earlier randomizations of ``within`` may lead to.

    Records that come into a cell without a matrix would stay as they are, and a published receipt would tell so.
    """
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
        raise PlanError(
            f"the categories of the design have not {len(levels)} parts, one for each variable",
            hint="name as many variables as the design has, or give categories = [...]",
        ) from error
    if twice := [label for label, times in Counter(labels).items() if times > 1]:
        raise PlanError(
            "two categories of the design stand for one value of the file",
            hint="give every category of the matrix a label of its own",
            values=short_label(twice[0]),
        )
    return labels


def _counts_given(plan: ReleasePlan, table: CellTable, labels: Sequence[Labels], where: str) -> dict[str, Any]:
    """Records and weights of each state; an error for records that the design has no category for."""
    places = _places(table, labels)
    missing = plan.missing != "category"
    lost = [i for i in np.flatnonzero(places < 0) if not (missing and None in table.label(int(i)))]
    if lost:
        what = "1 value of the file is" if len(lost) == 1 else f"{len(lost):,} values of the file are"
        raise UnknownCategoryError(
            f"{where}: {what} not in the matrix",
            hint="add what is missing to the matrix, or group it in the file; --show-values lists it",
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


# ---- matrices of an earlier release, with the counts of this file
#
# Records whose truth did not change then keep the draws that a key gave them. What the matrices keep, and the bounds
# they were made for, hold for the counts of the earlier file, and are looked at again with those of this one.


def _recounted(plan: ReleasePlan, stage: Stage, table: CellTable, tables: Tables, where: str) -> Stage:
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
    counted = replace(made, **_counts_again(plan, table, made))
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
    places = [_EarlierLabels(table.levels[table.place(name)]) for name in stage.columns]

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


class _EarlierLabels:
    """Labels of an earlier file as labels of this one."""

    def __init__(self, levels: Sequence[Hashable]) -> None:
        self._levels, self._own, self._known = levels, {*levels}, by_text(levels)

    def label(self, earlier: Hashable) -> Hashable:
        """The label of this file with the same text; one that does not occur, in the type of those that do."""
        if earlier is None or earlier in self._own:
            return earlier
        found = next((self._known[text] for text in texts(earlier) if text in self._known), None)
        return typed(texts(earlier)[-1], self._levels) if found is None else found


def _counts_again(plan: ReleasePlan, table: CellTable, stage: Stage) -> dict[str, Any]:
    """Records and weights of each state; an error for records that the matrix has no state for."""
    table = table.project(stage.columns)
    places = _places(table, stage.states)
    lost = places < 0
    if plan.missing != "category":
        lost &= np.array([None not in label[len(stage.within) :] for label in table.labels()], dtype=bool)
    if lost.any():
        raise _unknown(table, stage, np.flatnonzero(lost))
    return _counts_at(table, places, len(stage.states))


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


def _follows(stage: Stage, name: str, tables: Tables, where: str) -> dict[Labels, Hashable]:
    """The label of a linked column for each combination, as in the earlier file; in this one it must be the same."""
    table = tables[(*stage.variables, name)]
    columns = [_EarlierLabels(table.levels[table.place(own)]) for own in (*stage.variables, name)]
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

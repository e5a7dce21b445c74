"""From a plan and the counts of a file to stages: which tables are needed, and the matrix of every cell."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.core.cell_table import CellTable
from maskwell.core.phrases import shorten
from maskwell.designs.sparse import Sparse
from maskwell.errors import EditRuleError, PlanError
from maskwell.release.entries import by_text, find_levels
from maskwell.release.fixed import FIXED, fixed_stage
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.mixing import mixed
from maskwell.release.methods import Local, make_matrix
from maskwell.release.plan import ReleasePlan
from maskwell.release.protection import Protection
from maskwell.release.rules import Moves, Rule, Steps
from maskwell.release.stages import Stage, state_categories

BY_COUNTS = {"inverse-frequency", "lowered", "swap"}
"""Methods that work on records, whatever their weights."""

Tables = Mapping[tuple[str, ...], CellTable]


def stage_columns(plan: ReleasePlan, protection: Protection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns within which a protection works, and its variables.

    Columns that a rule joins to a variable are added to those within which it works: then no forbidden combination can
    be made. Source: [Adeshiyan2011, section 4.5.2].
    """
    own = {*protection.variables, *protection.linked}
    joined = [c for rule in plan.rules if isinstance(rule, Rule) and own & {*rule.columns} for c in rule.columns]
    within = dict.fromkeys([*protection.within, *joined])
    return tuple(name for name in within if name not in own), tuple(protection.variables)


def wanted_tables(plan: ReleasePlan) -> list[tuple[str, ...]]:
    """The tables that a file must be counted in to carry out a plan."""
    wanted: list[tuple[str, ...]] = []
    for protection in plan.protections:
        within, variables = stage_columns(plan, protection)
        wanted.append((*within, *variables))
        wanted += [(*variables, name) for name in protection.linked]
    wanted += [rule.columns for rule in plan.rules if isinstance(rule, Rule)]
    return [*dict.fromkeys(wanted)]


def build_stages(
    plan: ReleasePlan, tables: Tables, external: Mapping[str, CellTable] | None = None
) -> tuple[Stage, ...]:
    """The stages of a plan, in its order.

    ``external`` has the counts of the other files that protections name in ``counts_from``, by their variables.
    """
    check_rules(plan, tables)
    _check_swaps(plan)
    found = []
    for number, protection in enumerate(plan.protections, 1):
        other = (external or {}).get(",".join(protection.variables))
        found.append(_stage(plan, f"[[protect]] number {number}", protection, tables, other))
    return tuple(found)


def _check_swaps(plan: ReleasePlan) -> None:
    """A swap moves counted records; within a column that was randomized before it, their number is not known."""
    moved: set[str] = set()
    for number, protection in enumerate(plan.protections, 1):
        within, _ = stage_columns(plan, protection)
        if protection.method == "swap" and moved & {*within}:
            name = min(moved & {*within})
            raise PlanError(
                f"[[protect]] number {number}: a swap within {name!r}, which an earlier protection randomizes",
                hint="put the swap before it, or use another method",
                column=name,
            )
        moved |= {*protection.moved}


def check_rules(plan: ReleasePlan, tables: Tables) -> None:
    """Raise where the file itself holds a forbidden combination."""
    for number, rule in enumerate(plan.rules, 1):
        if not isinstance(rule, Rule):
            continue
        table = tables[rule.columns]
        for column, labels in rule.forbid.items():
            find_levels(labels, _known(plan, table, column), f"[[rule]] number {number}: {column!r}")
        bad = np.flatnonzero(_forbidden(rule, table))
        if bad.size:
            cell = ", ".join(f"{c} = {label}" for c, label in zip(table.columns, table.label(int(bad[0])), strict=True))
            there, every = int(table.counts[bad[0]]), int(table.counts[bad].sum())
            raise EditRuleError(
                f"[[rule]] number {number} forbids {shorten(cell, 60)}, and {there:,} records are there"
                f" ({every:,} in all cells of the rule)",
                hint="correct these records before the release, or take the rule out of the plan",
                cell=table.label(int(bad[0])),
                count=there,
            )


def _known(plan: ReleasePlan, table: CellTable, column: str) -> list[Hashable]:
    return [*table.levels[table.place(column)], *plan.codebook.get(column, ())]


def _forbidden(rule: Rule, table: CellTable, columns: Sequence[str] | None = None) -> Array:
    """Which cells of a table have the labels of a rule."""
    bad = np.ones(len(table), dtype=bool)
    for column in columns or rule.columns:
        place = table.place(column)
        wanted = {*rule.forbid[column]}
        hit = np.array([bool(wanted & {*by_text([level])}) for level in table.levels[place]], dtype=bool)
        bad &= hit[table.codes[:, place]]
    return bad


def _stage(plan: ReleasePlan, where: str, protection: Protection, tables: Tables, external: CellTable | None) -> Stage:
    within, variables = stage_columns(plan, protection)
    table = tables[(*within, *variables)]
    linked = {name: _linked(tables[(*variables, name)], name, where) for name in protection.linked}
    if protection.method in FIXED:
        stage = fixed_stage(plan, protection, table, where)
    else:
        stage = _derived_stage(plan, protection, *_with_external(table, external), within, where)
    _check_moves(plan, stage, table, where)
    _check_combinations(plan, stage, table, where)
    added = [name for name in within if name not in protection.within]
    notes = (f"randomized within {', '.join(added)} too, because a rule joins them",) if added else ()
    return replace(stage, linked=linked, notes=(*stage.notes, *notes))


def _linked(table: CellTable, name: str, where: str) -> dict[tuple[Hashable, ...], Hashable]:
    """The label of a linked column for each combination of the variables; an error where it does not follow."""
    found: dict[tuple[Hashable, ...], Hashable] = {}
    for *variables, label in table.labels():
        key = tuple(variables)
        if found.setdefault(key, label) != label:
            given = ", ".join(map(str, key))
            raise PlanError(
                f"{where}: {name!r} does not follow from {', '.join(table.columns[:-1])}: for {shorten(given, 40)}"
                f" it is {found[key]!r} and {label!r}",
                hint=f"randomize them jointly: variables = {[*table.columns]}",
                column=name,
            )
    return found


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


def _derived_stage(
    plan: ReleasePlan,
    protection: Protection,
    table: CellTable,
    external: Array | None,
    within: tuple[str, ...],
    where: str,
) -> Stage:
    kept = _with_values(plan, table, len(within))
    invariance = invariance_of(plan, protection)
    codes, counts = table.codes[kept], table.counts[kept]
    weights, squares = (None if own is None else own[kept] for own in (table.weights, table.squares))
    mass = weights if invariance == "weights" and weights is not None else counts
    if external is not None:
        mass = external[kept]
    labels = [table.label(int(row)) for row in kept]
    cells = _numbered(codes[:, : len(within)])
    open_ = np.flatnonzero((mass > 0) & ~_excluded(protection, table, kept, where))
    local = Local(
        counts=counts[open_] if external is None else mass[open_],
        mass=mass[open_],
        labels=[labels[i][len(within) :] for i in open_],
        codes=codes[open_, len(within) :],
        cells=cells[open_],
        options=protection.options,
        bounds=_bounds(plan, protection, [labels[i] for i in open_], len(within), where),
        forbidden=_forbidden_moves(plan, table, kept[open_], cells[open_], protection.variables),
        where=where,
    )
    design = make_matrix(protection.base.name, local)
    notes = [*design.provenance.get("notes", ())]
    if protection.strength != 1:
        design = mixed(design, protection.strength)
    rest = np.setdiff1d(np.arange(len(kept)), open_)
    parts, places = [design], [open_]
    if len(rest):
        parts, places = [design, Sparse.unchanged(Categories.numbered(len(rest)))], [open_, rest]
    return Stage(
        variables=protection.variables,
        within=within,
        states=labels,
        outputs=labels,
        design=Sparse.stacked(parts, places, state_categories(labels)),
        counts=counts,
        weights=weights,
        squares=squares,
        cells=cells,
        method=protection.method,
        invariance=invariance,
        derived=protection.derived,
        notes=tuple(dict.fromkeys(notes)),
    )


def _bounds(
    plan: ReleasePlan, protection: Protection, labels: Sequence[tuple[Hashable, ...]], n_within: int, where: str
) -> Bounds:
    """The bounds of a protection, with the match of the whole release and with caps by place."""
    by_match = protection.base.match and not (protection.options.keys() & {"theta", "xi"})
    alone = by_match and not protection.bounds.asked() and not protection.caps
    match = plan.match_of(protection) if alone else protection.bounds.match
    caps: dict[int, Fraction] = {}
    if protection.caps:  # of a single variable
        levels = [label[n_within] for label in labels]
        found = find_levels(protection.caps, [*dict.fromkeys(levels)], f"{where}: caps")
        wanted = dict(zip(found, protection.caps.values(), strict=True))
        caps = {i: wanted[level] for i, level in enumerate(levels) if level in wanted}
    return replace(protection.bounds, match=match, caps=caps)


def invariance_of(plan: ReleasePlan, protection: Protection) -> str:
    """What a matrix worked out from the file keeps on average."""
    wanted = protection.options.get("invariance")
    if wanted is not None:
        return str(wanted)
    if protection.counts_from is not None:
        return "external"
    by_counts = {protection.method, protection.base.name} & BY_COUNTS or plan.match_of(protection) is not None
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


# ---- moves that are not allowed


def _forbidden_moves(
    plan: ReleasePlan, table: CellTable, kept: Array, cells: Array, variables: Sequence[str]
) -> list[tuple[int, int]]:
    """Moves (released, true) between states of one cell that a rule does not allow."""
    rules = [rule for rule in plan.rules if not isinstance(rule, Rule) and rule.variable in variables]
    pairs: list[tuple[int, int]] = []
    for rule in rules:
        allowed, codes = _allowed(plan, rule, table), table.codes[kept, table.place(rule.variable)]
        for cell in np.unique(cells):
            own = np.flatnonzero(cells == cell)
            i, j = np.nonzero(~allowed[np.ix_(codes[own], codes[own])])
            pairs += zip(own[i].tolist(), own[j].tolist(), strict=True)
    return [*dict.fromkeys(pairs)]


def _allowed(plan: ReleasePlan, rule: Steps | Moves, table: CellTable) -> Array:
    """Which label (row) a label (column) may become."""
    levels = table.levels[table.place(rule.variable)]
    texts = [next(iter(by_text([level]))) for level in levels]
    if isinstance(rule, Steps) and not rule.order:
        order = plan.codebook.get(rule.variable) or texts
        rule = replace(rule, order=tuple(order))
    named = [text for _, labels in rule.labels() for text in labels]
    if not plan.codebook.get(rule.variable):
        find_levels(named, levels, f"a rule for {rule.variable!r}")
    return np.array([[rule.allows(true, released) for true in texts] for released in texts], dtype=bool)


def _check_combinations(plan: ReleasePlan, stage: Stage, table: CellTable, where: str) -> None:
    """Raise where the matrix could make a forbidden combination. One that keeps the joint counts never can."""
    places = {label: i for i, label in enumerate(stage.states)}
    own = [table.place(name) for name in stage.columns]
    states = np.array([places.get(tuple(label[i] for i in own), -1) for label in table.labels()], dtype=np.int64)
    for rule in plan.rules:
        inside = [name for name in rule.forbid if name in stage.variables] if isinstance(rule, Rule) else []
        if not isinstance(rule, Rule) or not inside:
            continue
        released, true, p = stage.transitions
        hit = np.array([_meets(rule, inside, stage.columns, label) for label in stage.outputs], dtype=bool)
        reached = np.zeros(len(stage.states) + 1, dtype=bool)
        reached[true[(p > 0) & hit[released]]] = True
        outside = [name for name in rule.columns if name not in stage.variables and name in table.columns]
        bad = np.flatnonzero(reached[states] & (_forbidden(rule, table, outside) if outside else True))
        if bad.size:
            raise EditRuleError(
                f"{where}: {stage.method} could make what a rule forbids ({', '.join(rule.columns)}) of"
                f" {int(table.counts[bad].sum()):,} records",
                hint="use a method that keeps the counts, such as optimal or method1; it never makes new combinations",
                rule=rule,
            )


def _meets(rule: Rule, names: Sequence[str], columns: Sequence[str], label: tuple[Hashable, ...]) -> bool:
    """Whether a state has the labels of a rule in these columns."""
    return all({*rule.forbid[name]} & {*by_text([label[columns.index(name)]])} for name in names)


def _check_moves(plan: ReleasePlan, stage: Stage, table: CellTable, where: str) -> None:
    """Raise where the matrix could make what a rule forbids."""
    if not isinstance(stage.design, Sparse) or not plan.rules:
        return
    places = {label: i for i, label in enumerate(table.labels())}
    kept = np.array([places[label] for label in stage.states if label in places], dtype=np.int64)
    if len(kept) != len(stage.states):
        return
    true = np.repeat(np.arange(stage.design.k), np.diff(stage.design.starts))
    for rule in plan.rules:
        if isinstance(rule, Rule) or rule.variable not in stage.variables:
            continue
        codes = table.codes[kept, table.place(rule.variable)]
        bad = np.flatnonzero(~_allowed(plan, rule, table)[codes[stage.design.rows], codes[true]])
        if bad.size:
            i, j = stage.states[stage.design.rows[bad[0]]], stage.states[true[bad[0]]]
            raise EditRuleError(
                f"{where}: {stage.method} could turn {shorten(str(j), 30)} into {shorten(str(i), 30)};"
                " a rule forbids it",
                hint='use method = "optimal", which keeps to such rules',
                rule=rule,
            )

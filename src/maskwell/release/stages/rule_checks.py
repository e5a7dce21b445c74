"""Whether the file and the matrices of a release keep the rules of its plan.

Source: [Adeshiyan2011, section 4.5.2].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.cell_table import CellTable
from maskwell.core.labels import sorted_levels
from maskwell.core.phrases import shorten
from maskwell.errors import EditRuleError, PlanError
from maskwell.release.plans.plan_entries import by_text, find_levels
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.plans.rules import Moves, Rule, Steps
from maskwell.release.stages.stage import Stage
from maskwell.release.stages.tables_wanted import stage_columns

Tables = Mapping[tuple[str, ...], CellTable]


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
            there = int(table.counts[bad[0]])
            raise EditRuleError(
                f"[[rule]] number {number}: a combination of {shorten(' and '.join(rule.columns), 30)} that it forbids"
                " occurs",
                hint="correct these records before the release, or take the rule out of the plan",
                values=f"{cell} ({there:,} records; {int(table.counts[bad].sum()):,} in all that it forbids)",
                cell=table.label(int(bad[0])),
                count=there,
            )


def _known(plan: ReleasePlan, table: CellTable, column: str) -> list[Hashable]:
    return [*table.levels[table.place(column)], *plan.codebook.get(column, ())]


def _forbidden(rule: Rule, table: CellTable) -> Array:
    """Which cells of a table have the labels of a rule."""
    bad = np.ones(len(table), dtype=bool)
    for column in rule.columns:
        place = table.place(column)
        wanted = {*rule.forbid[column]}
        hit = np.array([bool(wanted & {*by_text([level])}) for level in table.levels[place]], dtype=bool)
        bad &= hit[table.codes[:, place]]
    return bad


def check_swaps(plan: ReleasePlan) -> None:
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


def forbidden_moves(
    plan: ReleasePlan, table: CellTable, kept: Array, cells: Array, variables: Sequence[str]
) -> list[tuple[int, int]]:
    """Moves (released, true) between states of one cell that a rule does not allow."""
    rules = [rule for rule in plan.rules if not isinstance(rule, Rule) and rule.variable in variables]
    pairs: list[tuple[int, int]] = []
    for rule in rules:
        place = table.place(rule.variable)
        allowed, codes = _allowed(plan, rule, table.levels[place]), table.codes[kept, place]
        for cell in np.unique(cells):
            own = np.flatnonzero(cells == cell)
            i, j = np.nonzero(~allowed[np.ix_(codes[own], codes[own])])
            pairs += zip(own[i].tolist(), own[j].tolist(), strict=True)
    return [*dict.fromkeys(pairs)]


def _allowed(plan: ReleasePlan, rule: Steps | Moves, levels: Sequence[Hashable]) -> Array:
    """Which label (row) a label (column) may become."""
    if not plan.codebook.get(rule.variable):
        named = [text for _, labels in rule.labels() for text in labels]
        find_levels(named, levels, f"a rule for {rule.variable!r}")
    texts = [next(iter(by_text([level]))) for level in levels]
    one = {text: texts[i] for i, level in reversed([*enumerate(levels)]) for text in by_text([level])}
    if isinstance(rule, Steps):
        order = rule.order or plan.codebook.get(rule.variable) or texts
        rule = replace(rule, order=tuple(one.get(text, text) for text in order))
    else:
        rule = replace(rule, pairs=tuple((one.get(a, a), one.get(b, b)) for a, b in rule.pairs))
    return np.array([[rule.allows(true, released) for true in texts] for released in texts], dtype=bool)


def check_moves(plan: ReleasePlan, stage: Stage, table: CellTable, where: str) -> None:
    """Raise where the matrix could make a move that a rule does not allow."""
    for rule in plan.rules:
        if isinstance(rule, Rule) or rule.variable not in stage.variables:
            continue
        place = stage.columns.index(rule.variable)
        before, after = ([label[place] for label in labels] for labels in (stage.states, stage.outputs))
        levels = sorted_levels({*table.levels[table.place(rule.variable)], *before, *after})
        number = {level: i for i, level in enumerate(levels)}
        true, released = (np.array([number[level] for level in own], dtype=np.int64) for own in (before, after))
        to, of, _ = stage.transitions
        bad = np.flatnonzero(~_allowed(plan, rule, levels)[released[to], true[of]])
        if bad.size:
            i, j = stage.outputs[to[bad[0]]], stage.states[of[bad[0]]]
            raise EditRuleError(
                f"{where}: {stage.method} could change {rule.variable!r} in a way that a rule forbids",
                hint='use method = "optimal", which keeps to such rules',
                values=f"{_brief(j)} into {_brief(i)}",
                rule=rule,
            )


def _brief(label: tuple[Hashable, ...]) -> str:
    return shorten(", ".join(map(str, label)), 80)

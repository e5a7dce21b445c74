"""Which tables a release needs, and counting a file in all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from maskwell.core.cell_table import CellTable
from maskwell.engines.cell_counts import count_tables
from maskwell.engines.dependence import DependenceCounter
from maskwell.engines.row_batches import Progress
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.stages.tables_wanted import stage_columns, wanted_tables

MOST_PAIRS = 300
"""Pairs of columns whose association is compared."""

Columns = tuple[str, ...]
Tables = dict[Columns, CellTable]


def tables_of(plan: ReleasePlan) -> list[Columns]:
    """All tables that a release needs, of the true file and, where a column is randomized, of the released one.

    They are for its matrices, its risk and its utility.
    """
    risk = [risk_columns(plan)] if plan.keys else []
    return [*dict.fromkeys([*wanted_tables(plan), *_met_tables(plan), *risk, *compared_tables(plan)])]


def _met_tables(plan: ReleasePlan) -> list[Columns]:
    """Tables that tell which records a protection meets that works within a column randomized before it."""
    found, moved = [], set[str]()
    for protection in plan.protections:
        columns = stage_columns(plan, protection)
        if (protection.bounds.asked() or protection.caps) and moved & {*columns[0]}:
            found.append(closure(plan, (*columns[0], *columns[1])))
        moved |= {*protection.moved}
    return found


def compared_tables(plan: ReleasePlan) -> list[Columns]:
    """Tables that are compared before and after: every column that matters, and pairs with a randomized one.

    A pair comes with the columns that tell how it is randomized, so that its association can be foretold.
    """
    moved = {*plan.randomized}
    names = [*dict.fromkeys([*plan.keys, *plan.randomized, *plan.sensitive])]
    names += [name for p in plan.protections for name in p.within if name not in names]
    pairs = [pair for pair in combinations(names, 2) if moved & {*pair}][:MOST_PAIRS]
    return [*dict.fromkeys([*((name,) for name in names), *(closure(plan, pair) for pair in pairs)])]


def risk_columns(plan: ReleasePlan) -> Columns:
    """The keys, and every column that tells how they are randomized."""
    return closure(plan, plan.keys)


def closure(plan: ReleasePlan, columns: Sequence[str]) -> Columns:
    """Columns with all others that tell how they are randomized."""
    found = dict.fromkeys(columns)
    while True:
        before = len(found)
        for protection in plan.protections:
            within, variables = stage_columns(plan, protection)
            if {*variables, *protection.linked} & found.keys():
                found |= dict.fromkeys((*within, *variables))
        if len(found) == before:
            return tuple(found)


def count_file(
    path: str, plan: ReleasePlan, progress: Progress | None = None, beside: DependenceCounter | None = None
) -> Tables:
    """Count a file in all tables of a plan, in one pass; ``beside`` follows its unchanged columns."""
    wanted = tables_of(plan)
    declared = plan.missing != "category"
    found = count_tables(path, wanted, weights=plan.weights, beside=beside, declared=declared, progress=progress)
    return dict(zip(wanted, found, strict=True))


def count_external(plan: ReleasePlan) -> dict[str, CellTable]:
    """The counts of the other files that protections take theirs from, by the variables of the protection."""
    found = {}
    for protection in plan.protections:
        if protection.counts_from is not None:
            within, variables = stage_columns(plan, protection)
            found[",".join(variables)] = count_tables(protection.counts_from, [(*within, *variables)])[0]
    return found

"""Which tables a plan needs of a file, for its matrices, its risk and its utility, and counting them in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from maskwell.core.cells import CellTable
from maskwell.engines.cell_counts import Follower, count_tables
from maskwell.engines.row_sources import Progress
from maskwell.engines.rows import Rows
from maskwell.microdata.plans.edit_rules import Rule
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records.recoding import Recoding, recoded

MOST_PAIRS = 300  # pairs of columns whose association is compared
Columns = tuple[str, ...]
Tables = dict[Columns, CellTable]


def tables_of(plan: ReleasePlan) -> list[Columns]:
    """All tables that a release needs, of the true file and, where a column is randomized, of the released one."""
    return [*dict.fromkeys([*_required(plan), *compared_tables(plan)])]


def _required(plan: ReleasePlan) -> list[Columns]:
    """Tables without which there are no matrices and no risk."""
    tables, met, moved = list[Columns](), list[Columns](), set[str]()
    for protection in plan.protections:
        within, variables = plan.columns_of(protection)
        tables.append((*within, *variables))
        tables += [(*variables, name) for name in protection.linked]
        if (protection.bounds.asked() or protection.caps) and moved & {*within}:  # to know which records it meets
            met.append(closure(plan, (*within, *variables)))
        moved |= {*protection.moved}
    tables += [rule.columns for rule in plan.rules if isinstance(rule, Rule)]
    return [*tables, *met, *([risk_columns(plan)] if plan.keys else [])]


def compared_tables(plan: ReleasePlan) -> list[Columns]:
    """Tables compared before and after: columns that matter, and pairs with what tells how they are randomized."""
    names = _compared_columns(plan)
    return [*dict.fromkeys([*((name,) for name in names), *(closure(plan, pair) for pair in _pairs(plan, names))])]


def _compared_columns(plan: ReleasePlan) -> list[str]:
    within = (name for protection in plan.protections for name in protection.within)
    return [*dict.fromkeys([*plan.keys, *plan.randomized, *plan.sensitive, *within])]


def _pairs(plan: ReleasePlan, names: Sequence[str]) -> Sequence[Columns]:
    """Pairs with a randomized column in the order of the names; those without one, nearly all, are never made."""
    moved = {*plan.randomized}
    places = [place for place, name in enumerate(names) if name in moved]
    pairs = (
        (first, names[j])
        for i, first in enumerate(names)
        for j in (range(i + 1, len(names)) if first in moved else places)
        if j > i
    )
    return [*islice(pairs, MOST_PAIRS)]


def smaller_tables(plan: ReleasePlan) -> dict[Columns, list[Columns]]:
    """Tables that only foretell associations, each with the pairs that are compared where it has too many cells."""
    needed, instead = {*_required(plan)}, dict[Columns, list[Columns]]()
    for pair in _pairs(plan, _compared_columns(plan)):
        if (table := closure(plan, pair)) not in needed and len(table) > len(pair):
            instead.setdefault(table, []).append(pair)
    return instead


def risk_columns(plan: ReleasePlan) -> Columns:
    """The keys, and every column that tells how they are randomized."""
    return closure(plan, plan.keys)


def closure(plan: ReleasePlan, columns: Sequence[str]) -> Columns:
    """Columns with all others that tell how they are randomized."""
    needed = dict.fromkeys(columns)
    while True:
        before = len(needed)
        for protection in plan.protections:
            within, variables = plan.columns_of(protection)
            if {*variables, *protection.linked} & needed.keys():
                needed |= dict.fromkeys((*within, *variables))
        if len(needed) == before:
            return tuple(needed)


def count_records(
    records: Rows,
    plan: ReleasePlan,
    tables: Sequence[Columns],
    progress: Progress | None = None,
    beside: Follower | None = None,
) -> Tables:
    """Count the records of a file or of a table as a plan counts them, in one pass."""
    declared = plan.missing != "category"
    counted = count_tables(
        records,
        tables,
        weights=plan.weights,
        beside=beside,
        declared=declared,
        instead=smaller_tables(plan),
        progress=progress,
    )
    return {table.columns: table for table in counted}


def count_external(plan: ReleasePlan) -> dict[str, CellTable]:
    """The counts of the other files that protections take theirs from, by the variables of the protection."""
    tables = {}
    for protection in plan.protections:
        if protection.counts_from is not None:
            within, variables = plan.columns_of(protection)
            recoding = Recoding({name: plan.recodes[name] for name in (*within, *variables) if name in plan.recodes})
            rows = recoded(Rows.of(protection.counts_from), recoding)
            tables[",".join(variables)] = count_tables(rows, [(*within, *variables)])[0]
    return tables


def counted_tables(plan: ReleasePlan, tables: Mapping[Columns, CellTable]) -> list[Columns]:
    """The tables of a plan that were counted, or those in their place."""
    possible = {*tables_of(plan), *(one for pairs in smaller_tables(plan).values() for one in pairs)}
    return [columns for columns in tables if columns in possible]

"""What a plan would do to records: matrices, risk and utility, from their counts alone. Nothing is written.

The tables that a plan needs are counted in one pass over the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Protocol

from maskwell.core.arguments import check_kind, check_path, list_of
from maskwell.core.cells import CellTable
from maskwell.engines.cell_counts import WRITTEN_AS, count_rows, count_tables, part_of
from maskwell.engines.dependence import DependenceCounter
from maskwell.engines.release_pass import RowsReleased, file_columns
from maskwell.engines.row_batches import Progress
from maskwell.engines.row_sources import MemoryRows, ending_of
from maskwell.errors import ParameterError
from maskwell.release.plans.edit_rules import Rule
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.release_result import Release
from maskwell.release.risk.file_risk import assess_risk
from maskwell.release.risk.risk_report import RiskReport
from maskwell.release.side_channels import (
    SideChannel,
    check_side_channels,
    dependence_counter,
    following_columns,
    side_channel_risk,
    side_channel_warnings,
    side_channels,
)
from maskwell.release.stages.stage import Stage
from maskwell.release.stages.stage_building import build_stages
from maskwell.release.stages.table_flow import unchanged_columns
from maskwell.release.utility.utility_report import UtilityReport, assess_utility

MOST_PAIRS = 300
"""Pairs of columns whose association is compared."""

Columns = tuple[str, ...]
Tables = dict[Columns, CellTable]


class Records(Protocol):
    """Where the true records are: a file, or a table in memory."""

    @property
    def path(self) -> str:
        """Of the file; empty for a table in memory."""

    def names(self) -> list[str]:
        """Of the columns."""

    def count(
        self, tables: Sequence[Columns], beside: DependenceCounter | None = None, progress: Progress | None = None
    ) -> list[CellTable]:
        """The records counted in several tables, in one pass; ``beside`` follows unchanged columns."""


class FileRecords:
    """The records of a file."""

    def __init__(self, path: str, plan: ReleasePlan) -> None:
        self.path, self._weights, self._declared = path, plan.weights, plan.missing != "category"

    def names(self) -> list[str]:
        """Of the columns."""
        return [column.name for column in file_columns(self.path)]

    def count(
        self, tables: Sequence[Columns], beside: DependenceCounter | None = None, progress: Progress | None = None
    ) -> list[CellTable]:
        """The records counted in several tables, in one pass."""
        declared = self._declared
        return count_tables(
            self.path, tables, weights=self._weights, beside=beside, declared=declared, progress=progress
        )


class TableRecords:
    """The records of a table in memory."""

    path = ""

    def __init__(self, rows: MemoryRows, plan: ReleasePlan) -> None:
        self._rows, self._weights = rows, plan.weights

    def names(self) -> list[str]:
        """Of the columns."""
        return [*self._rows.schema.names]

    def count(
        self, tables: Sequence[Columns], beside: DependenceCounter | None = None, progress: Progress | None = None
    ) -> list[CellTable]:
        """The records counted in several tables, in one pass."""
        return count_rows(self._rows, "the table", tables, weights=self._weights, beside=beside, progress=progress)


def assess_file(
    path: str, plan: ReleasePlan, *, earlier: Sequence[Stage] | None = None, progress: Progress | None = None
) -> Release:
    """What a plan would do to a file: its matrices, risk and expected utility. Nothing is written.

    ``earlier`` are the stages of an earlier release, whose matrices are carried out again.
    """
    earlier = None if earlier is None else list_of(Stage, earlier, "earlier")
    check_kind(Callable | None, progress=progress)
    check_path(path=path)
    check_kind(ReleasePlan, plan=plan)
    return assess(FileRecords(path, plan), plan, earlier, progress)


def assess(
    records: Records, plan: ReleasePlan, earlier: Sequence[Stage] | None = None, progress: Progress | None = None
) -> Release:
    """What a plan would do to records, with what their unchanged columns give away."""
    if records.path == "-":
        raise ParameterError(
            "a release reads the file twice, which standard input does not allow", hint="give the path of a file"
        )
    names, table_columns = records.names(), tables_of(plan)
    plan.check(names)
    beside = dependence_counter(plan, names)
    tables = dict(zip(table_columns, records.count(table_columns, beside, progress), strict=True))
    assessed = assess_tables(tables, plan, records.path, earlier)
    channels = side_channels(plan, beside.facts())
    check_side_channels(channels)
    return _with_side_channels(assessed, channels, lambda columns: records.count([tuple(columns)])[0])


def _with_side_channels(
    release: Release, channels: tuple[SideChannel, ...], count: Callable[[Sequence[str]], CellTable]
) -> Release:
    """A release that says what its unchanged columns give away, and the risk that comes with them."""
    if seen := following_columns(release.plan, channels):
        columns = (*risk_columns(release.plan), *seen)
        release = judged(replace(release, seen=seen, tables={**release.tables, columns: count(columns)}))
    risk = side_channel_risk(release.plan, channels, release.stages, count)
    warnings = (*release.warnings, *side_channel_warnings(channels, risk))
    return replace(release, side_channels=channels, side_channel_risk=risk, warnings=warnings)


def assess_tables(
    tables: Tables,
    plan: ReleasePlan,
    path: str = "",
    earlier: Sequence[Stage] | None = None,
    *,
    seen: tuple[str, ...] = (),
) -> Release:
    """The same from counts; ``seen`` are unchanged columns that follow from a key."""
    stages = build_stages(plan, tables, count_external(plan) if earlier is None else None, earlier)
    any_table = next(iter(tables.values()))
    release = Release(
        plan=plan,
        stages=stages,
        rows=any_table.n,
        tables=tables,
        missing=_missing(tables),
        source_name=Path(path).name,
        ending=_ending(path),
        shuffled=plan.order == "shuffled",
        seen=seen,
    )
    return judged(release)


def _ending(path: str) -> str:
    """The kind of the released file: that of the true one, where such files can be written."""
    ending = ending_of(path) if path else ""
    return WRITTEN_AS.get(ending, ending)


def released_tables(release: Release, done: RowsReleased) -> Tables:
    """The tables of the released file: counted where a column was randomized, else those of the true one."""
    moved, needed = {*release.plan.randomized}, tables_of(release.plan)
    return {c: part_of(c, done.tables) if moved & {*c} else release.tables[c] for c in needed}


def judged(release: Release) -> Release:
    """A release with its risk and utility, as far as its tables tell them."""
    return replace(release, risk=_risk(release), utility=_utility(release))


def _risk(release: Release) -> RiskReport | None:
    plan = release.plan
    if not plan.keys:
        return None
    released = None
    if release.released_tables is not None:
        released = release.released_tables[risk_columns(plan)]
    within = [name for name in unchanged_columns(release.stages, plan.keys) if name not in plan.drop]
    return assess_risk(
        release.tables[(*risk_columns(plan), *release.seen)],
        plan.keys,
        release.stages,
        released=released,
        threshold=None if plan.match is None else float(plan.match),
        weights=plan.weights is not None,
        intruder=plan.intruder,
        seen=[*dict.fromkeys([*within, *release.seen])],
    )


def _utility(release: Release) -> UtilityReport:
    compared = compared_tables(release.plan)
    before = [release.tables[table] for table in compared]
    after = None if release.released_tables is None else [release.released_tables[table] for table in compared]
    changed = {name: count / release.rows for name, count in release.changed.items()}
    return assess_utility(before, after, release.stages, changed=changed)


def _missing(tables: Tables) -> dict[str, int]:
    """Records without a value, by column."""
    missing = {}
    for (name, *more), table in tables.items():
        if not more and table.levels[0] and table.levels[0][-1] is None:
            missing[name] = int(table.counts[table.codes[:, 0] == len(table.levels[0]) - 1].sum())
    return missing


# ---- which tables a plan needs


def tables_of(plan: ReleasePlan) -> list[Columns]:
    """All tables that a release needs, of the true file and, where a column is randomized, of the released one.

    They are for its matrices, its risk and its utility.
    """
    risk = [risk_columns(plan)] if plan.keys else []
    return [*dict.fromkeys([*wanted_tables(plan), *_met_tables(plan), *risk, *compared_tables(plan)])]


def _met_tables(plan: ReleasePlan) -> list[Columns]:
    """Tables that tell which records a protection meets that works within a column randomized before it."""
    tables, moved = [], set[str]()
    for protection in plan.protections:
        columns = plan.columns_of(protection)
        if (protection.bounds.asked() or protection.caps) and moved & {*columns[0]}:
            tables.append(closure(plan, (*columns[0], *columns[1])))
        moved |= {*protection.moved}
    return tables


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
    needed = dict.fromkeys(columns)
    while True:
        before = len(needed)
        for protection in plan.protections:
            within, variables = plan.columns_of(protection)
            if {*variables, *protection.linked} & needed.keys():
                needed |= dict.fromkeys((*within, *variables))
        if len(needed) == before:
            return tuple(needed)


def wanted_tables(plan: ReleasePlan) -> list[tuple[str, ...]]:
    """The tables that a file must be counted in to carry out a plan."""
    tables: list[tuple[str, ...]] = []
    for protection in plan.protections:
        within, variables = plan.columns_of(protection)
        tables.append((*within, *variables))
        tables += [(*variables, name) for name in protection.linked]
    tables += [rule.columns for rule in plan.rules if isinstance(rule, Rule)]
    return [*dict.fromkeys(tables)]


def count_file(
    path: str, plan: ReleasePlan, progress: Progress | None = None, beside: DependenceCounter | None = None
) -> Tables:
    """Count a file in all tables of a plan, in one pass; ``beside`` follows its unchanged columns."""
    table_columns = tables_of(plan)
    declared = plan.missing != "category"
    tables = count_tables(
        path, table_columns, weights=plan.weights, beside=beside, declared=declared, progress=progress
    )
    return dict(zip(table_columns, tables, strict=True))


def count_external(plan: ReleasePlan) -> dict[str, CellTable]:
    """The counts of the other files that protections take theirs from, by the variables of the protection."""
    tables = {}
    for protection in plan.protections:
        if protection.counts_from is not None:
            within, variables = plan.columns_of(protection)
            tables[",".join(variables)] = count_tables(protection.counts_from, [(*within, *variables)])[0]
    return tables

"""What a plan would do to a file: matrices, risk and utility, from its counts alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from maskwell.core.arguments import check_kind, check_path, list_of
from maskwell.core.cell_table import CellTable
from maskwell.engines.cell_counts import WRITTEN_AS, count_columns, count_tables, part_of
from maskwell.engines.releasing import RowsReleased, file_columns
from maskwell.engines.row_batches import Progress
from maskwell.engines.row_sources import ending_of
from maskwell.errors import ParameterError
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.plans.plan_file import read_plan
from maskwell.release.plans.starting_plan import starting_plan
from maskwell.release.released import Release
from maskwell.release.risk.file_risk import RiskReport, assess_risk, unchanged_columns
from maskwell.release.side_channels import (
    SideChannel,
    check_side_channels,
    dependence_counter,
    following_columns,
    side_channel_risk,
    side_channel_warnings,
    side_channels,
)
from maskwell.release.stages.building import build_stages
from maskwell.release.stages.counting import (
    Tables,
    compared_tables,
    count_external,
    count_file,
    risk_columns,
    tables_of,
)
from maskwell.release.stages.stage import Stage
from maskwell.release.utility.assessing import assess_utility
from maskwell.release.utility.report import UtilityReport


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
    if path == "-":
        raise ParameterError(
            "a release reads the file twice, which standard input does not allow", hint="give the path of a file"
        )
    names = [column.name for column in file_columns(path)]
    plan.check(names)
    beside = dependence_counter(plan, names)
    tables = count_file(path, plan, progress, beside)
    assessed = assess_tables(tables, plan, path, earlier)
    found = side_channels(plan, beside.facts())
    check_side_channels(found)

    def count(columns: Sequence[str]) -> CellTable:
        return count_tables(path, [columns], weights=plan.weights, declared=plan.missing != "category")[0]

    return with_side_channels(assessed, found, count)


def first_plan(path: str, *, plan: str = "plan.toml", progress: Progress | None = None) -> str:
    """The text of a plan for a file that works as it is: columns that would undo it are not published."""
    tables = count_columns(path, progress=progress)
    names = [table.columns[0] for table in tables]
    others = [column.name for column in file_columns(path) if column.name not in names]
    telling: dict[str, str] = {}
    unique: list[str] = []
    drop: tuple[str, ...] | None = ()  # what names suggest is measured, too
    while True:
        text = starting_plan(tables, path=path, plan=plan, telling=telling, unique=unique, others=others)
        asked = read_plan(text)
        looked_at = asked if drop is None else replace(asked, drop=drop, id=None)
        beside = dependence_counter(looked_at, names)
        count_file(path, asked, progress, beside)
        facts = beside.facts()
        found = side_channels(asked, facts)
        following = following_columns(asked, found)
        refused = [one for one in found if one.refused or one.column in following]
        if not refused and drop is None:
            return text
        unique += [
            one.column for one in facts if one.share_below(2) == 1 and (one.rows == tables[0].n or not one.exact)
        ]
        for one in refused:
            telling[one.column] = f"{telling[one.column]}; {one.words}" if one.column in telling else one.words
        drop = None


def with_side_channels(
    release: Release, found: tuple[SideChannel, ...], count: Callable[[Sequence[str]], CellTable]
) -> Release:
    """A release that says what its unchanged columns give away, and the risk that comes with them."""
    if seen := following_columns(release.plan, found):
        columns = (*risk_columns(release.plan), *seen)
        release = judged(replace(release, seen=seen, tables={**release.tables, columns: count(columns)}))
    risk = side_channel_risk(release.plan, found, release.stages, count)
    warnings = (*release.warnings, *side_channel_warnings(found, risk))
    return replace(release, side_channels=found, side_channel_risk=risk, warnings=warnings)


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
    found = {}
    for (name, *more), table in tables.items():
        if not more and table.levels[0] and table.levels[0][-1] is None:
            found[name] = int(table.counts[table.codes[:, 0] == len(table.levels[0]) - 1].sum())
    return found

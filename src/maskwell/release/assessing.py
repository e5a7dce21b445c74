"""What a plan would do to a file: matrices, risk and utility, from its counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from maskwell.engines.cell_counting import WRITTEN_AS, open_rows, part_of
from maskwell.engines.files import ending_of
from maskwell.engines.randomize import Progress
from maskwell.engines.releasing import RowsReleased, file_columns
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.release.folder.publishing import protection_of
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.released import Release
from maskwell.release.risk.file_risk import RiskReport, assess_risk
from maskwell.release.stages.building import build_stages
from maskwell.release.stages.counting import (
    Tables,
    compared_tables,
    count_external,
    count_file,
    counted_twice,
    risk_columns,
)
from maskwell.release.stages.stage import Stage
from maskwell.release.stages.tables_wanted import stage_columns
from maskwell.release.tellers import telling_columns, telling_weights
from maskwell.release.utility.assessing import assess_utility
from maskwell.release.utility.report import UtilityReport


def assess_file(
    path: str, plan: ReleasePlan, *, earlier: Sequence[Stage] | None = None, progress: Progress | None = None
) -> Release:
    """What a plan would do to a file: its matrices, risk and expected utility. Nothing is written.

    ``earlier`` are the stages of an earlier release, whose matrices are carried out again.
    """
    if path == "-":
        raise ParameterError(
            "a release reads the file twice, which standard input does not allow", hint="give the path of a file"
        )
    plan.check([column.name for column in file_columns(path)])
    found = assess_tables(count_file(path, plan, progress), plan, path, earlier)
    with open_rows(path, []) as source:
        return replace(found, warnings=(*found.warnings, *telling_columns(plan, source)))


def assess_tables(tables: Tables, plan: ReleasePlan, path: str = "", earlier: Sequence[Stage] | None = None) -> Release:
    """The same from counts."""
    stages = build_stages(plan, tables, count_external(plan) if earlier is None else None, earlier)
    for number, stage in enumerate(stages, 1):
        for part in (stage, stage.permanent) if earlier is not None else ():
            _check_own_match(plan, part, tables, f"[[protect]] number {number}")
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
        warnings=tuple(telling_weights(plan, tables)),
    )
    return judged(release)


def _check_own_match(plan: ReleasePlan, stage: Stage, tables: Tables, where: str) -> None:
    """Raise where a matrix that was not made for this file breaks the bound on a match of its own protection."""
    protection = protection_of(plan, stage)
    within, variables = stage_columns(plan, protection)
    table = tables[(*within, *variables)]
    asked = protection.options.get("xi", protection.bounds.match)
    if asked is None or not stage.counts.sum():
        return
    after = assess_risk(table, stage.columns, [stage], threshold=float(asked), every_release=False).after
    if after is not None and after.records_above:
        raise InfeasibleError(
            f"{where}: {after.records_above:,} records are matched with a chance above {float(asked):g}"
            f" (largest {after.max_risk:.3g})",
            hint="allow this chance, or make new matrices: then all draws are new",
            nearest=after.max_risk,
        )


def _ending(path: str) -> str:
    """The kind of the released file: that of the true one, where such files can be written."""
    ending = ending_of(path) if path else ""
    return WRITTEN_AS.get(ending, ending)


def released_tables(release: Release, done: RowsReleased) -> Tables:
    """The tables of the released file: counted where a column was randomized, else those of the true one."""
    moved, needed = {*release.plan.randomized}, counted_twice(release.plan)
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
        released = release.released_tables[risk_columns(plan)].project(plan.keys)
    return assess_risk(
        release.tables[risk_columns(plan)],
        plan.keys,
        release.stages,
        released=released,
        threshold=None if plan.match is None else float(plan.match),
        weights=plan.weights is not None,
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


def check_match(release: Release) -> None:
    """Raise unless the bound on a correct match is kept for every record.

    Of a report that is randomized once more, by the first step alone, too: the second one wears out over many releases.
    """
    _check_match(release)
    if release.plan.match is not None and any(stage.steps is not None for stage in release.stages):
        first = replace(release, stages=tuple(stage.permanent for stage in release.stages), released_tables=None)
        _check_match(replace(first, risk=_risk(first)))


def _check_match(release: Release) -> None:
    plan, risk = release.plan, release.risk
    if plan.match is None or risk is None or risk.after is None:
        return
    above = risk.after.records_above
    if above:
        worst = risk.after.max_risk
        raise InfeasibleError(
            f"{above:,} of {release.rows:,} records keep a chance above {float(plan.match):g} of being matched"
            f" (largest {worst:.3g})",
            hint=_match_hint(release),
            nearest=worst,
        )


def _match_hint(release: Release) -> str:
    plan = release.plan
    open_ = [key for key in plan.keys if key not in plan.randomized]
    if open_ and len(open_) == len(plan.keys):
        return f"none of the keys is randomized: add [[protect]] with variables = {[*plan.keys]}"
    if plan.missing == "unchanged" and any(release.missing.get(key) for key in plan.keys):
        return 'records with a missing key stay as they are: set missing = "category" in [release]'
    if len(plan.protections) > 1 or open_:
        return 'randomize all keys jointly with method = "inverse-frequency", or allow a larger match'
    return "use larger blocks or fewer columns in within, drop a key, or allow a larger match"

"""Release a file: count it, make the matrices, assess them, randomize its rows, and write everything down.

Two passes over the file, whatever its size: one that counts, one that releases. Nothing is written before the plan is
known to be met, and the folder appears whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import SECURE, RandomSource, check_source
from maskwell.designs.base import Design
from maskwell.engines.cell_counts import write_cell_values
from maskwell.engines.formula import read_formula
from maskwell.engines.releasing import RowPlan, RowsReleased, check_ids, file_columns, release_rows
from maskwell.engines.row_batches import Progress
from maskwell.errors import ParameterError, PlanError
from maskwell.release.assessing import assess_file, judged, released_tables
from maskwell.release.carrying_out import row_plan
from maskwell.release.folder.codebook import codebook_of, formula_columns
from maskwell.release.folder.folder import INTERNAL, PUBLIC, check_new_folder, release_folder
from maskwell.release.folder.leaks import check_public
from maskwell.release.folder.publishing import check_matrix, check_randomness, is_included
from maskwell.release.folder.receipt import Receipt, load_receipt, stages_of
from maskwell.release.folder.writing import data_name, write_internal, write_public
from maskwell.release.keeping import check_kept, drawn_until_kept
from maskwell.release.plans.plan import ReleasePlan
from maskwell.release.released import Release, ReleasedColumn
from maskwell.release.row_order import telling_order
from maskwell.release.stages.stage import Stage
from maskwell.release.utility.regressions import compare_regressions


def release_folder_of(
    path: str,
    plan: ReleasePlan,
    folder: str,
    *,
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    report: Callable[[Release], str] | None = None,
    records: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan on a file and write the folder of the release.

    Parameters
    ----------
    path
        The true file.
    plan
        What is to be done.
    folder
        A folder that does not exist yet.
    random
        Where the draws come from: the operating system's generator by default. A seed only for a demonstration.
    key
        A secret with which draws are kept across releases; the plan must name the column with the ids.
    matrices
        The internal receipt of an earlier release, or its path: its matrices are carried out again, with the same key,
        so that records whose true values did not change keep their reports.
    report
        Makes the page for the disclosure board.
    records
        Whether the risk of every record is written, too, for the data holder.
    progress
        Told how far it is.
    """
    source = SECURE if random is None else random
    check_source(source)
    check_randomness(private=source.private, demonstration=plan.demonstration)
    check_key(plan, key)
    check_new_folder(folder)
    earlier = None if matrices is None else earlier_stages(matrices, plan, key)
    assessed = replace(assess_file(path, plan, earlier=earlier, progress=progress), private=source.private)
    check_kept(assessed)
    for stage in assessed.stages:
        check_matrix(plan, stage)
    if key is not None and plan.id is not None:
        check_ids(path, plan.id)
        assessed = replace(assessed, keyed=key.commitment())
    with release_folder(folder) as partial:
        output = partial / PUBLIC / data_name(assessed)

        def draw() -> Release:
            output.unlink(missing_ok=True)
            rows = row_plan(assessed, source, key)
            done = release_rows(path, str(output), rows, rows=assessed.rows, progress=progress)
            return _finished(assessed, rows, done, path)

        release = _with_regressions(drawn_until_kept(draw, repeatable=key is not None), path, str(output))
        files = write_public(release, partial / PUBLIC)
        files += write_internal(release, partial / INTERNAL)
        if report is not None:
            page = partial / INTERNAL / "report.html"
            page.write_text(report(release), encoding="utf-8", newline="\n")
            files.append(page)
        if records:
            files.append(_write_records(release, path, partial / INTERNAL))
        check_public(partial / PUBLIC, release)
        names = tuple(str(file.relative_to(partial)) for file in files)
    return replace(release, files=names)


def earlier_stages(matrices: Receipt | str, plan: ReleasePlan, key: KeyedRandom | None) -> list[Stage]:
    """The stages of an earlier release; an error unless the plan protects the same and the key is the same."""
    receipt = load_receipt(matrices) if isinstance(matrices, str) else matrices
    stages = stages_of(receipt)
    _check_same_key(receipt, key)
    _check_same_protections(receipt, plan)
    return stages


def _check_same_key(receipt: Receipt, key: KeyedRandom | None) -> None:
    if key is None:
        raise ParameterError(
            "earlier matrices without a key: no record would keep its draw", hint="give the key of that release, too"
        )
    if receipt.commitment != key.commitment():
        raise ParameterError(
            "the earlier release was drawn without a key"
            if receipt.commitment is None
            else "the earlier release was drawn with another key or name of the data set, or by another version",
            hint="give its own key and [release] dataset, or make new matrices: then all draws are new",
        )


def _check_same_protections(receipt: Receipt, plan: ReleasePlan) -> None:
    """What is published, and whether draws are kept, may differ; what the matrices are may not."""
    free = {"publish", "clearance", "draws"}
    then, now = receipt.plan.get("protect", []), plan.to_dict()["protect"]
    hint = "plan the same as in the earlier release, or make new matrices: then all draws are new"
    if len(then) != len(now):
        raise PlanError(f"the plan has {len(now)} [[protect]], that of the earlier release {len(then)}", hint=hint)
    for number, (before, after) in enumerate(zip(then, now, strict=True), 1):
        differ = [key for key in {**before, **after} if before.get(key) != after.get(key) and key not in free]
        if differ:
            raise PlanError(f"[[protect]] number {number}: {differ[0]} is not as in the earlier release", hint=hint)
    for key, default in (("missing", "unchanged"), ("weights", None)):
        if receipt.plan.get("release", {}).get(key, default) != getattr(plan, key):
            raise PlanError(f"[release]: {key} is not as in the earlier release", hint=hint)
    if any(protection.method == "swap" for protection in plan.protections):
        raise PlanError(
            "the exchanges of a swap are worked out for one file, and cannot be carried out on another",
            hint="make new matrices: then all draws are new",
        )


def _finished(release: Release, rows: RowPlan, done: RowsReleased, path: str) -> Release:
    """The release with what became of its rows."""
    names = {column.name: column for column in file_columns(path)}
    columns = [
        ReleasedColumn(name, names[name].kind, tuple(rows.levels[name]) if name in rows.levels else None)
        for name in done.names
    ]
    release = replace(
        release,
        released_tables=released_tables(release, done),
        changed=done.changed,
        columns=columns,
        labels=done.labels,
        lost=done.lost,
        warnings=(*release.warnings, *telling_order(release, done.breaks)),
    )
    if formulas := formula_columns(codebook_of(release)):
        told = f"values of {', '.join(formulas)} start like a formula (=, +, - or @): spreadsheets would work them out"
        release = replace(release, warnings=(*release.warnings, told))
    return judged(release)


def _with_regressions(release: Release, path: str, output: str) -> Release:
    """The release with the regressions of its plan on both files."""
    if not release.plan.formulas or release.utility is None:
        return release
    designs = {stage.variables[0]: stage.design for stage in release.stages if _is_known(release, stage)}
    found = [compare_regressions(f, path, output, designs=_used(designs, f)) for f in release.plan.formulas]
    return replace(release, utility=release.utility.with_regressions(found))


def _is_known(release: Release, stage: Stage) -> bool:
    """Whether users get the matrix of a single variable, so that a regression can be corrected with it."""
    return len(stage.columns) == 1 and is_included(release.plan, stage)


def _used(designs: Mapping[str, Design], formula: str) -> dict[str, Design] | None:
    """The designs of columns that a formula names."""
    named = read_formula(formula)
    return {name: one for name, one in designs.items() if name in (named.outcome, *named.columns)} or None


def _write_records(release: Release, path: str, folder: Path) -> Path:
    """The risk of every record, in the order of the true file, with its id where there is one."""
    if release.risk is None:
        raise PlanError("the risk of records needs keys", hint='name them in the plan: [release] keys = ["sex", "age"]')
    output = folder / f"records{'.parquet' if release.ending in ('.parquet', '.arrow') else '.csv'}"
    risk = release.risk
    declared = release.plan.missing != "category"
    write_cell_values(path, str(output), risk.table, risk.per_cell, identity=release.plan.id, declared=declared)
    return output


def check_key(plan: ReleasePlan, key: KeyedRandom | None) -> None:
    """Raise where draws cannot be kept by key as the plan is."""
    if key is not None and plan.id is None:
        raise PlanError(
            "draws by key need a column with record ids",
            hint='name it in the plan: [release] id = "pid"; it is not published',
        )
    if key is not None and any(one.method == "swap" and one.draws == "kept" for one in plan.protections):
        raise ParameterError(
            "a swap draws records together, so that its draws cannot be kept by key",
            hint='draw it anew in each release: draws = "fresh" in its [[protect]]; or leave out the key',
        )
    if key is not None and all(one.draws == "fresh" for one in plan.protections):
        raise ParameterError(
            'a key is of no use: every [[protect]] has draws = "fresh"',
            hint="leave out the key, or draws in one of them",
        )

"""Releasing records: a plan is assessed on the counts of a file or of a table, and then carried out on its rows.

Two passes over a file, whatever its size: one that counts, one that releases. Nothing is written before the plan is
known to be met, and the folder appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Flag, check_kind
from maskwell.core.cells import give_back_memory
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import SECURE, RandomSource, check_source
from maskwell.core.verdicts import at_least, at_most
from maskwell.designs.design import Design
from maskwell.designs.sampler import KeyedSampler, Sampler, forget_tables, variable_name
from maskwell.designs.sparse import Sparse
from maskwell.engines.arrow_arrays import texts_array
from maskwell.engines.cell_counts import merged, write_cell_values
from maskwell.engines.formula import read_formula
from maskwell.engines.input_file import InputFile
from maskwell.engines.release_pass import (
    TEXT,
    Draws,
    RowPlan,
    RowsReleased,
    check_ids,
    file_columns,
    release_batches,
    release_rows,
    text_kind,
)
from maskwell.engines.row_sources import MemoryTable, Progress, steps
from maskwell.errors import ParameterError, PlanError
from maskwell.release.assessment import (
    Release,
    ReleasedColumn,
    assess,
    counted_tables,
    judged,
    prepared,
    released_tables,
    with_released_units,
)
from maskwell.release.folder.ledger import (
    ABANDONED,
    RELEASED,
    Ledger,
    begin,
    check_again,
    check_not_cut,
    drawn_again,
    read_ledger,
    same_matrices,
    settle,
    state_of,
)
from maskwell.release.folder.matrix_disclosure import check_matrix
from maskwell.release.folder.receipt import Receipt, load_receipt, receipt_from_dict, stages_of
from maskwell.release.folder.receipt_contents import dumps, internal_receipt, public_receipt
from maskwell.release.folder.release_folder import (
    check_new_folder,
    check_public,
    data_name,
    release_folder,
    write_internal,
    write_manifest,
    write_public,
)
from maskwell.release.folder.release_metadata import (
    INTERNAL,
    PUBLIC,
    codebook_of,
    formula_columns,
    signed_hashes,
    source_hashes,
)
from maskwell.release.kept_bounds import check_kept, drawn_until_kept
from maskwell.release.matrices.swap_flows import SwapSampler, whole_flows
from maskwell.release.plans.protection import UNIT
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.stages.stage import Stage
from maskwell.release.utility.utility_measures import compare_regressions


@dataclass(frozen=True)
class OpenFolder:
    """The folder of a release before it gets its name: documents may be added to what stays with the data holder."""

    release: Release
    path: Path
    files: list[Path]
    source: Sequence[tuple[str, str]]

    def signed(self) -> list[tuple[str, str]]:
        """What a signature under the release stands for: names and hashes."""
        return signed_hashes(self.path / PUBLIC, self.source, self.release.plan)

    def add_internal(self, name: str, text: str) -> None:
        """Write one more document for the data holder."""
        document = self.path / INTERNAL / name
        document.write_text(text, encoding="utf-8", newline="\n")
        self.files.append(document)

    def finished(self) -> Release:
        """The release with the names of all its files."""
        return self.release.with_released(files=tuple(str(file.relative_to(self.path)) for file in self.files))


@contextmanager
def open_release(
    path: str,
    plan: ReleasePlan,
    folder: str,
    *,
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    records: bool = False,
    ledger: str | Path | None = None,
    draw_anew: bool = False,
    progress: Progress | None = None,
) -> Iterator[OpenFolder]:
    """Carry out a plan on a file; at the end of the ``with`` the folder of the release is checked and gets its name.

    Parameters are those of :func:`maskwell.publish`, for the path of a file and a new folder.
    """
    source = _source(random, plan)
    check_key(plan, key)
    check_new_folder(folder)
    path, plan = prepared(path, plan)
    earlier = None if matrices is None else earlier_stages(matrices, plan, key)
    book = None if ledger is None else read_ledger(ledger)
    counting, writing = steps(progress, 2)
    assessed = _assessed(path, plan, source, earlier, counting)
    for stage in assessed.published:
        check_matrix(plan, stage)
    if key is not None:
        if plan.id is not None:
            check_ids(path, plan.id)
        assessed = replace(assessed, keyed=key.commitment())
    if book is not None:
        check_not_cut(book, assessed, folder)
        assessed = with_earlier(assessed, book, path)
        check_again(assessed.drawn_again, allowed=draw_anew)
    with written_down(book, folder) as entry, release_folder(folder) as partial:
        output, count = partial / PUBLIC / data_name(assessed), assessed.rows

        def write(rows: RowPlan) -> RowsReleased:
            output.unlink(missing_ok=True)
            return release_rows(path, str(output), rows, rows=count, progress=writing)

        drawn = _drawn(
            assessed,
            source,
            key,
            write,
            lambda: str(output),
            lambda release, rows, done: _described(release, rows, done, path),
        )
        release = _with_regressions(drawn, path, str(output))
        files = write_public(release, partial / PUBLIC) + write_internal(release, partial / INTERNAL)
        open_folder = OpenFolder(release, partial, files, source_hashes(path))
        give_back_memory()
        yield open_folder
        if records:
            files.append(_write_records(release, path, partial / INTERNAL))
        check_public(partial / PUBLIC, release)
        before = None if book is None else state_of(book, release)
        files.append(write_manifest(release, partial, open_folder.source, before))
        if book is not None:
            entry.append(begin(book, release, partial, folder, open_folder.source))


def with_earlier(release: Release, ledger: Ledger, path: str | None) -> Release:
    """A release that reports what earlier ones of the same data set, or of the same file, imply together with it."""
    again, same = drawn_again(release, ledger, path), same_matrices(release, ledger, path)
    return replace(release, drawn_again=again, warnings=(*release.warnings, *(one.words for one in again), *same))


@contextmanager
def written_down(ledger: Ledger | None, folder: str) -> Iterator[list[int]]:
    """Where the number goes that a release gets in a ledger; at the end it says there how the release ended.

    After an error, or an interruption, it was abandoned only if the folder did not get its name; else it stays begun.
    """
    entry = list[int]()
    try:
        yield entry
    except BaseException:
        if ledger is not None and entry and not os.path.lexists(folder):
            settle(ledger, entry[0], ABANDONED)
        raise
    if ledger is not None and entry:
        settle(ledger, entry[0], RELEASED)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """Released rows, and the release they came from.

    Attributes
    ----------
    data
        In the kind of table that was given.
    release
        Matrices, risk and utility. It holds the counts of the true table, and is not to be published.
    """

    data: Any
    release: Release

    def receipt(self, *, internal: bool = False) -> Receipt:
        """What users need for a valid analysis, for :func:`estimate_released`; the ``internal`` one tells everything.

        Raises
        ------
        PublishError
            A matrix that the plan wants published would give the counts of the table away.
        """
        check_kind(Flag, internal=internal)
        content = internal_receipt(self.release) if internal else public_receipt(self.release)
        return receipt_from_dict(json.loads(dumps(content)))

    def __repr__(self) -> str:
        return f"ReleasedTable: .data has {self.release.rows:,} records; .release: {self.release!r}"


def release_table(data: Any, plan: ReleasePlan, *, random: RandomSource | None = None) -> ReleasedTable:
    """Carry out a plan on a table of pandas, polars or Arrow, or on a dictionary of columns.

    Parameters
    ----------
    data
        The true table.
    plan
        What is to be done.
    random
        Where the draws come from: the operating system's generator by default. A seed only for a demonstration.

    >>> from maskwell.release import Protection
    >>> people = {"sex": ["f", "f", "m", "m", "m"], "region": ["north", "south", "north", "south", "south"]}
    >>> plan = ReleasePlan.of([Protection.of(["sex"], "method1", within=["region"], theta="1/2")])
    >>> released = release_table(people, plan)
    >>> sorted(released.data["region"])   # nobody moves to another region
    ['north', 'north', 'south', 'south', 'south']
    >>> released
    ReleasedTable: .data has 5 records; .release: Release of 5 records: sex randomized (method1)
    >>> released.receipt().groups[0].within
    ('region',)
    """
    check_kind(ReleasePlan, plan=plan)
    source = _source(random, plan)
    table, plan = prepared(MemoryTable(data), plan)
    tables: list[Any] = []

    def write(work: RowPlan) -> RowsReleased:
        batches, schema, done = release_batches(table.rows, str(table), work)
        tables[:] = [table.rows.like_given(batches, schema)]
        return done

    release = _drawn(_assessed(table, plan, source), source, None, write, lambda: MemoryTable(tables[0]))
    return ReleasedTable(tables[0], release)


# ---- one sequence for files and tables


def _source(random: RandomSource | None, plan: ReleasePlan) -> RandomSource:
    source = SECURE if random is None else random
    check_source(source)
    plan.check_private(private=source.private)
    return source


def _assessed(
    records: str | MemoryTable,
    plan: ReleasePlan,
    source: RandomSource,
    earlier: Sequence[Stage] | None = None,
    progress: Progress | None = None,
) -> Release:
    """The release as its counts tell it, if it keeps what the plan asks for.

    Risk and utility are left out: the drawn file will tell them.
    """
    release = replace(assess(records, plan, earlier, progress), private=source.private)
    check_kept(release)
    return replace(release, risk=None, utility=None)


def _drawn(
    assessed: Release,
    source: RandomSource,
    key: KeyedRandom | None,
    write: Callable[[RowPlan], RowsReleased],
    written: Callable[[], str | MemoryTable],
    described: Callable[[Release, RowPlan, RowsReleased], Release] | None = None,
) -> Release:
    """The release with its records drawn and written; drawn again where the plan has a limit for the drawn file."""

    def draw() -> Release:
        rows = row_plan(assessed, source, key)
        done = write(rows)
        warnings = (*assessed.warnings, *telling_order(assessed, done.breaks))
        tables = released_tables(assessed, done)
        release = replace(assessed, warnings=warnings).with_released(tables=tables, changed=done.changed)
        return release if described is None else described(release, rows, done)

    def judge() -> Release:
        release = draw()
        give_back_memory()
        return judged(with_released_units(release, written()))

    return drawn_until_kept(judge, repeatable=key is not None)


def _described(release: Release, rows: RowPlan, done: RowsReleased, path: str) -> Release:
    """The release with what is known of the released file."""
    kinds = {column.name: column.kind for column in file_columns(path)}
    columns = [_released_column(name, kinds[name], rows, done) for name in done.names]
    release = release.with_released(columns=columns, labels=done.labels, lost=done.lost, form=done.form)
    if formulas := formula_columns(codebook_of(release)):
        told = f"values of {', '.join(formulas)} start like a formula (=, +, - or @): spreadsheets would work them out"
        release = replace(release, warnings=(*release.warnings, told))
    return release


def _released_column(name: str, kind: str, rows: RowPlan, done: RowsReleased) -> ReleasedColumn:
    """A column with all its labels; columns of texts that are numbers throughout are called so."""
    if name in rows.levels:
        labels = tuple(rows.levels[name])
        of_text = text_kind(texts_array([one for one in labels if one is not None])) if kind == TEXT else None
    else:
        of_text, labels = done.values[name].kind, done.values[name].labels or ()
    told = (of_text or kind) if kind == TEXT else kind
    return ReleasedColumn(name, told, labels or None, "," if name in done.commas else ".")


def _with_regressions(release: Release, path: str, output: str) -> Release:
    """The release with the regressions of its plan on both files."""
    if not release.plan.formulas or release.utility is None:
        return release
    designs = {stage.variables[0]: stage.design for stage in release.stages if _is_known(release, stage)}
    written = InputFile.of(output, release.released.form)
    comparisons = [compare_regressions(f, path, written, designs=_used(designs, f)) for f in release.plan.formulas]
    return replace(release, utility=release.utility.with_regressions(comparisons))


def _is_known(release: Release, stage: Stage) -> bool:
    """Whether users get the matrix of a single variable, so that a regression can be corrected with it."""
    return len(stage.columns) == 1 and stage.unit is None and release.plan.publishes(stage)


def _used(designs: Mapping[str, Design], formula: str) -> dict[str, Design] | None:
    """The designs of columns that a formula names."""
    named = read_formula(formula)
    return {name: one for name, one in designs.items() if name in (named.outcome, *named.columns)} or None


def _write_records(release: Release, path: str, folder: Path) -> Path:
    """The risk of every record, in the order of the true file, with its id where there is one."""
    if release.risk is None:
        raise PlanError("the risk of records needs keys", hint='name them in the plan: [release] keys = ["sex", "age"]')
    output = folder / f"records{'.parquet' if release.ending in ('.parquet', '.arrow', '.arrows') else '.csv'}"
    risk = release.risk
    declared = release.plan.missing != "category"
    write_cell_values(path, str(output), risk.table, risk.per_cell, identity=release.plan.id, declared=declared)
    return output


# ---- whether the order of the records tells what was randomized

_SHARE = 0.75
_DEVIATIONS = 5


def telling_order(release: Release, breaks: Mapping[str, int]) -> Iterator[str]:
    """Words for each column whose true labels stand together, where the order is kept.

    In random order ``n - sum_c N_c^2 / n`` rows are expected to have another label than the
    row before, where ``N_c`` of the n records have label c; ``breaks`` tells how many do. Source: derived.
    """
    if release.shuffled:
        return
    for name, n_breaks in breaks.items():
        counts = next(table for columns, table in release.tables.items() if name in columns).project([name]).counts
        n = int(counts.sum())
        expected = n - sum(int(c) ** 2 for c in counts) / n
        if at_most(n_breaks, _SHARE * expected) and at_least(expected - n_breaks, _DEVIATIONS * math.sqrt(n)):
            yield (
                f"the order of the records is kept, and those with the same {name} stand together: its neighbours tell"
                " what a record was; shuffle the records"
            )


# ---- the rows, and where the draws of stages come from


@dataclass(frozen=True)
class _Sampled:
    """Draws from the design of a stage, row after row."""

    sampler: Sampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return np.asarray(self.sampler.sample(codes).data)

    def finish(self) -> None:
        """What the draws were looked up in makes room for the risk of the drawn file."""
        forget_tables(self.sampler.design)


@dataclass(frozen=True)
class _Keyed:
    """Draws that follow from a key, the id of the record, its true state and the design: the same in every release."""

    sampler: KeyedSampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        assert ids is not None
        return np.asarray(self.sampler.sample_named(codes, ids).data)

    def finish(self) -> None:
        """What the draws were looked up in makes room for the risk of the drawn file."""
        forget_tables(self.sampler.design)


@dataclass(frozen=True)
class _KeyedByUnit:
    """One draw for all records of a unit, whose id and common state they have."""

    sampler: KeyedSampler
    key: KeyedRandom

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        assert ids is not None
        return np.asarray(self.sampler.sample_named(codes, self.key.names(ids)).data)

    def finish(self) -> None:
        """What the draws were looked up in makes room for the risk of the drawn file."""
        forget_tables(self.sampler.design)


def _key_of_one_release(random: RandomSource) -> KeyedRandom:
    """A key that is used once and kept nowhere: members of a unit get one draw, whatever their rows."""
    words = random.stream().words(0, 1, 8).tobytes()
    return KeyedRandom.of(hashlib.sha256(b"units of one release" + words).digest(), "units of one release")


@dataclass(frozen=True)
class _Twice:
    """A kept draw, and a new one from its report."""

    kept: _Keyed
    then: _Sampled

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return self.then.draw(self.kept.draw(codes, ids), ids)

    def finish(self) -> None:
        """Both have been drawn."""
        self.kept.finish()
        self.then.finish()


@dataclass(frozen=True)
class _Swapped:
    """Draws without replacement, that keep every count."""

    sampler: SwapSampler

    def draw(self, codes: Array, ids: Array | None) -> Array:
        """Released states."""
        return self.sampler.sample(codes)

    def finish(self) -> None:
        """Only when every record has come are the counts kept."""
        self.sampler.check_finished()


def row_plan(release: Release, random: RandomSource, key: KeyedRandom | None) -> RowPlan:
    """The stages of a release with where their draws come from, ready for the rows."""
    plan = release.plan
    tables = [table for table in counted_tables(release) if set(table) & set(plan.randomized)]
    needed = {name for stage in release.stages for name in (*stage.columns, *stage.moved)}
    needed |= {name for table in tables for name in table}
    levels = {name: _all_levels(release, name) for name in sorted(needed)}
    return RowPlan(
        levels=levels,
        stages=[(stage, draws_of(stage, random, key if release.keeps(stage) else None)) for stage in release.stages],
        tables=merged(tables, {name: len(column_levels) for name, column_levels in levels.items()}),
        weights=plan.weights,
        dropped=[*plan.unpublished, *release.further],
        identity=plan.id if key is not None else None,
        naming=None if key is None or plan.id is None else key.names,
        declared=plan.missing != "category",
        shuffled=random if plan.order == "shuffled" else None,
    )


def _all_levels(release: Release, name: str) -> list[Any]:
    """All labels that a column may have before or after."""
    table = next(table for columns, table in release.tables.items() if name in columns)
    labels = [label for label in release.plan.levels_of(table, name) if label is not None]
    for stage in release.stages:
        if name in stage.linked:
            labels += [label for label in stage.linked[name].values() if label is not None]
        if name in stage.variables:
            place = stage.columns.index(name)
            labels += [label[place] for label in stage.outputs if label[place] is not None]
    return [*dict.fromkeys(labels)]


def draws_of(stage: Stage, random: RandomSource, key: KeyedRandom | None) -> Draws:
    """Where the released states of a stage come from; with a key, draws of its first step are kept by it."""
    if stage.exchanges:
        assert isinstance(stage.design, Sparse)
        return _Swapped(SwapSampler(whole_flows(stage.design, stage.counts, random), random))
    if stage.unit is not None:
        secret = _key_of_one_release(random) if key is None else key
        return _KeyedByUnit(
            KeyedSampler(stage.design, secret, variable_name(stage.variables), stage.fingerprint), secret
        )
    if key is None:
        return _Sampled(stage.design.sampler(random))
    first, then = (stage.design, None) if stage.steps is None else stage.steps
    kept = _Keyed(KeyedSampler(first, key, variable_name(stage.variables), stage.fingerprint))
    return kept if then is None else _Twice(kept, _Sampled(then.sampler(random)))


# ---- draws that are kept across releases


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
    if receipt.plan.get("recode", {}) != plan.to_dict().get("recode", {}):
        raise PlanError("[recode] is not as in the earlier release", hint=hint)
    for key, default in (("missing", "unchanged"), ("weights", None)):
        if receipt.plan.get("release", {}).get(key, default) != getattr(plan, key):
            raise PlanError(f"[release]: {key} is not as in the earlier release", hint=hint)
    if any(protection.how.exchanges for protection in plan.protections):
        raise PlanError(
            "the exchanges of a swap are worked out for one file, and cannot be carried out on another",
            hint="make new matrices: then all draws are new",
        )


def check_key(plan: ReleasePlan, key: KeyedRandom | None) -> None:
    """Raise where draws cannot be kept by key as the plan is."""
    kept_apart = any(one.draws == "kept" and one.each != UNIT for one in plan.protections)
    if key is not None and plan.id is None and kept_apart:
        raise PlanError(
            "draws by key need a column with record ids",
            hint='name it in the plan: [release] id = "pid"; it is not published',
        )
    if key is not None and any(one.how.exchanges and one.draws == "kept" for one in plan.protections):
        raise ParameterError(
            "a swap draws records together, so that its draws cannot be kept by key",
            hint='draw it anew in each release: draws = "fresh" in its [[protect]]; or leave out the key',
        )
    if key is not None and all(one.draws == "fresh" for one in plan.protections):
        raise ParameterError(
            'a key is of no use: every [[protect]] has draws = "fresh"',
            hint="leave out the key, or draws in one of them",
        )

"""Releasing records: a plan is assessed on the counts of a file or of a table, and then carried out on its rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.freed_memory import give_back_memory
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import SECURE, RandomSource, check_source
from maskwell.engines.arrow_arrays import texts_array
from maskwell.engines.cell_counts import parts_of, write_cell_values
from maskwell.engines.formula import read_formula
from maskwell.engines.input_file import InputFile
from maskwell.engines.row_sources import Progress, steps
from maskwell.engines.rows import MemoryTable, Rows
from maskwell.errors import PlanError
from maskwell.microdata.assessment import Judge, assess
from maskwell.microdata.folder import ledger as ledgers
from maskwell.microdata.folder import release_folder as folders
from maskwell.microdata.folder import releases_together as together
from maskwell.microdata.folder.ledger import Ledger
from maskwell.microdata.folder.linked_releases import check_linked, linked_risk
from maskwell.microdata.folder.matrix_disclosure import check_matrix
from maskwell.microdata.folder.receipt import Receipt, receipt_from_dict
from maskwell.microdata.folder.receipt_contents import dumps, internal_receipt, public_receipt
from maskwell.microdata.folder.release_metadata import INTERNAL, PUBLIC, signed_hashes, source_hashes
from maskwell.microdata.kept_bounds import DRAWS, check_kept, check_match, is_kept_as_drawn
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records.column_values import TEXT, text_kind
from maskwell.microdata.records.row_order import Neighbours, reveals_values
from maskwell.microdata.records.row_releaser import RowPlan, RowsReleased, release_batches, release_rows, row_plan
from maskwell.microdata.release_values import Assessment, Draw, Origin, Release, ReleasedColumn
from maskwell.microdata.true_file import counted_tables, prepared
from maskwell.microdata.utility.utility_measures import compare_regressions
from maskwell.microdata.utility.utility_report import UtilityReport
from maskwell.notes import Note


def release_into(
    path: str,
    plan: ReleasePlan,
    folder: str,
    page: Callable[[Draw, list[tuple[str, str]]], str] | None = None,
    *,
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    record_risks: bool = False,
    ledger: str | Path | None = None,
    draw_anew: bool = False,
    earlier_files: Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Release:
    """Carry out a plan on a file as :func:`maskwell.release` does; ``page`` writes the report of a draw and hashes."""
    source = _source(random, plan)
    together.check_key(plan, key)
    folders.check_new_folder(folder)
    rows, plan = prepared(Rows.of(path), plan)
    path = rows.path or path
    earlier = None if matrices is None else together.earlier_stages(matrices, plan, key)
    book = None if ledger is None else ledgers.read_ledger(ledger)
    counting, writing = steps(progress, 2)
    commitment = None if key is None else key.commitment()
    assessed = assess(rows, plan, earlier, counting, Origin(source.private, commitment))
    plan = assessed.plan
    check_kept(assessed)
    for stage in assessed.published:
        check_matrix(plan, stage)
    if book is not None:
        ledgers.check_not_cut(book, assessed, folder)
        assessed = with_earlier(assessed, book, rows, earlier_files)
        together.check_again(assessed.drawn_again, allowed=draw_anew)
        check_linked(assessed.linked, allowed=draw_anew)
    with written_down(book, folder) as entry, folders.release_folder(folder) as partial:
        public, internal = partial / PUBLIC, partial / INTERNAL
        output, count = public / folders.data_name(assessed), assessed.rows

        def write(rows: RowPlan) -> RowsReleased:
            output.unlink(missing_ok=True)
            return release_rows(path, str(output), rows, rows=count, progress=writing)

        release = _drawn(assessed, source, key, write, lambda: Rows.of(str(output)), path)
        files = [*folders.write_public(release, public), *folders.write_internal(release, internal)]
        hashes = source_hashes(path)
        give_back_memory()
        if page is not None:
            text = page(release, signed_hashes(public, hashes, plan))
            files.append(internal / "report.html")
            files[-1].write_text(text, encoding="utf-8", newline="\n")
        if record_risks:
            files.append(_write_records(release, path, internal))
        folders.check_public(public, release)
        before = None if book is None else ledgers.state_of(book, release)
        files.append(folders.write_manifest(release, partial, hashes, before))
        if book is not None:
            entry.append(ledgers.begin(book, release, partial, folder, hashes))
    return Release.of(release, [str(file.relative_to(partial)) for file in files])


def _write_records(release: Draw, path: str, folder: Path) -> Path:
    """The risk of every record, in the order of the true file, with its id where there is one."""
    plan, risk, columnar = release.plan, release.risk, release.file.ending in (".parquet", ".arrow", ".arrows")
    if risk is None:
        raise PlanError("the-risk-of-records-needs-keys")
    output, declared = folder / f"records{'.parquet' if columnar else '.csv'}", plan.missing != "category"
    write_cell_values(path, str(output), risk.table, risk.per_cell, identity=plan.id, declared=declared)
    return output


def with_earlier(
    assessed: Assessment, ledger: Ledger, rows: Rows, earlier_files: Sequence[str | Path] = ()
) -> Assessment:
    """What was assessed, with what earlier releases of the same data set, or of the same file, imply beside it."""
    path, linked = rows.path, linked_risk(assessed, ledger, rows, earlier_files)
    assessed = replace(assessed, origin=replace(assessed.origin, linked=linked))
    again, same = (together.drawn_again(assessed, ledger, path), together.same_matrices(assessed, ledger, path))
    words = (*(one.words for one in again), *same)
    return replace(assessed, origin=replace(assessed.origin, drawn_again=again, words=words))


@contextmanager
def written_down(ledger: Ledger | None, folder: str) -> Iterator[list[int]]:
    """Where the number of a release in a ledger goes; at the end it says how the release ended."""
    entry = list[int]()
    try:
        yield entry
    except BaseException:
        if ledger is not None and entry and not os.path.lexists(folder):
            ledgers.settle(ledger, entry[0], ledgers.ABANDONED)
        raise
    if ledger is not None and entry:
        ledgers.settle(ledger, entry[0], ledgers.RELEASED)


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
        """What users need for a valid analysis; the ``internal`` one holds everything and must not be published."""
        check_kind(Flag, internal=internal)
        content = internal_receipt(self.release) if internal else public_receipt(self.release)
        return receipt_from_dict(json.loads(dumps(content)))

    def __repr__(self) -> str:
        return f"ReleasedTable: .data has {self.release.rows:,} records; .release: {self.release!r}"


def release_table(data: Any, plan: ReleasePlan, *, random: RandomSource | None = None) -> ReleasedTable:
    """Carry out a plan on a table of pandas, polars or Arrow, or on a dictionary of columns."""
    check_kind(ReleasePlan, plan=plan)
    source = _source(random, plan)
    records, plan = prepared(MemoryTable(data), plan)
    table = cast("MemoryTable", records)
    tables: list[Any] = []

    def write(work: RowPlan) -> RowsReleased:
        batches, schema, done = release_batches(table.rows, str(table), work)
        tables[:] = [table.rows.like_given(batches, schema)]
        return done

    assessed = assess(table, plan, origin=Origin(source.private))
    check_kept(assessed)
    draw = _drawn(assessed, source, None, write, lambda: Rows.of(tables[0]))
    return ReleasedTable(tables[0], Release.of(draw))


def _source(random: RandomSource | None, plan: ReleasePlan) -> RandomSource:
    source = SECURE if random is None else random
    check_source(source)
    plan.check_private(private=source.private)
    return source


def _drawn(
    assessed: Assessment,
    source: RandomSource,
    key: KeyedRandom | None,
    write: Callable[[RowPlan], RowsReleased],
    written: Callable[[], Rows],
    path: str | None = None,
) -> Draw:
    """The records drawn and written, again where the limit is for the drawn file; described where there is a path."""
    plan = assessed.plan
    counted, moved = counted_tables(plan, assessed.tables), {*plan.randomized}
    for attempt in range(1, DRAWS + 1):
        rows = row_plan(assessed, source, key)
        done = write(rows)
        tables = {one: assessed.tables[one] for one in counted}
        tables |= parts_of([one for one in counted if moved & {*one}], done.tables)
        give_back_memory()
        file = written()
        judge = Judge(plan, assessed.stages, assessed.file, assessed.joined, tables, file)
        risk = judge.risk()
        if is_kept_as_drawn(plan, risk, attempt, last=key is not None or attempt == DRAWS):
            break
    utility = judge.utility(done.changed)
    give_back_memory()
    described: dict[str, Any] = {}
    if path is not None:
        utility = _with_regressions(assessed, utility, path, InputFile.of(str(file), done.form))
        columns = [*_columns(rows, done)]
        described = {"columns": columns, "labels": done.labels, "lost": done.lost, "form": done.form}
    drawn = Draw(
        assessment=assessed,
        released_tables=tables,
        changed=done.changed,
        attempts=attempt,
        risk=risk,
        utility=utility,
        shuffled=rows.shuffled is not None,
        told_by_order=tuple(telling_order(assessed, done.breaks)),
        **described,
    )
    check_match(drawn)  # a figure may be lost, or be another bound, once the file is drawn
    return drawn


def _columns(rows: RowPlan, done: RowsReleased) -> Iterator[ReleasedColumn]:
    """Yield the columns of the released file with all labels; a text column of numbers only has their type."""
    for name, kind in done.columns:
        if name in rows.levels:
            labels = tuple(rows.levels[name])
            of_text = text_kind(texts_array([one for one in labels if one is not None])) if kind == TEXT else None
        else:
            of_text, labels = done.values[name].kind, done.values[name].labels or ()
        told = (of_text or kind) if kind == TEXT else kind
        yield ReleasedColumn(name, told, labels or None, "," if name in done.commas else ".")


def _with_regressions(assessed: Assessment, utility: UtilityReport, path: str, written: str) -> UtilityReport:
    """The utility with the regressions of the plan on both files, corrected by matrices of columns that users get."""
    plan, compared = assessed.plan, []
    if not plan.formulas:
        return utility
    single = [one for one in assessed.stages if len(one.columns) == 1 and one.unit is None and plan.publishes(one)]
    designs = {stage.variables[0]: stage.design for stage in single}
    for formula in plan.formulas:
        named = read_formula(formula)
        used = {name: one for name, one in designs.items() if name in (named.outcome, *named.columns)}
        compared.append(compare_regressions(formula, path, written, designs=used or None))
    return utility.with_regressions(compared)


def telling_order(assessed: Assessment, breaks: Mapping[str, int]) -> Iterator[str]:
    """Notes on the columns whose neighbours reveal what a record was, by how many rows differ from the one before."""
    if assessed.shuffled:
        return
    for name, differ in breaks.items():
        counts = next(table for columns, table in assessed.tables.items() if name in columns).project([name]).counts
        if reveals_values(differ, [Neighbours(counts, int(counts.sum()) - 1)]):
            yield Note("kept-order-tells-by-neighbours", name=name)

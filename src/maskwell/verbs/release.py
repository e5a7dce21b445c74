"""``release``: post-randomize a file or a table as a plan says; a first plan to start from, and a look before."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, overload

from maskwell.core.arguments import Flag, check_kind, check_path, list_of
from maskwell.core.atomic import scratch_file
from maskwell.core.cells import CellTable
from maskwell.core.display import Result
from maskwell.core.exact import Number
from maskwell.core.extras import missing_extra
from maskwell.core.keyed import KeyedRandom
from maskwell.core.randomness import RandomSource
from maskwell.core.verdicts import at_most
from maskwell.engines.cell_counts import count_columns, count_tables
from maskwell.engines.row_sources import Progress, RowPass, open_sink, steps
from maskwell.engines.rows import Rows
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.microdata import risk_utility
from maskwell.microdata.assessment import assess, assess_counts, assess_tables
from maskwell.microdata.folder.ledger import ledger_beside, read_ledger
from maskwell.microdata.folder.receipt import Receipt
from maskwell.microdata.folder.release_folder import check_new_folder
from maskwell.microdata.folder.releases_together import check_key, earlier_stages
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.plans.key_choice import Choice, Form, candidates_of, choose_keys, counted_together
from maskwell.microdata.plans.plan_drafts import (
    INVERSE_FREQUENCY,
    MIXING,
    Findings,
    forms_to_publish,
    guess_columns,
    limit_of,
    starting_plan,
)
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.release_plan import ReleasePlan, load_plan, read_plan
from maskwell.microdata.publication import ReleasedTable, release_into, release_table, with_earlier
from maskwell.microdata.records.original_values import with_originals
from maskwell.microdata.records.value_counts import ColumnFacts
from maskwell.microdata.release_values import Assessment, Origin, Release
from maskwell.microdata.risk.intruders import ALL_COLUMNS, ANY_LOOK
from maskwell.microdata.side_channels import (
    FEWEST_RECORDS,
    SideChannel,
    changed_together,
    dependence_counter,
    following_columns,
    side_channels,
    unit_guess,
)
from maskwell.microdata.stages.stage_building import build_stages
from maskwell.microdata.true_file import TrueFile, column_fits, count_records, prepared, tables_of
from maskwell.reports.pages.release_page import release_page
from maskwell.reports.pictures.canvas import Picture, styled
from maskwell.reports.pictures.risk_utility_map import plot_risk_utility
from maskwell.reports.report import Report
from maskwell.reports.text.release_report import dry_run_report
from maskwell.verbs.inputs import Names, check_progress, names_of

LIBRARIES = ("jinja2", "matplotlib")
# Combinations up to which a first plan compares methods; beyond, that takes longer than all the rest
MOST_COMPARED = 3_000
MOST_FORMS = 3  # coarser forms of a column that are tried, each in one pass


@overload
def release(data: Any, plan: Any, folder: None = None, *, random: RandomSource | None = None) -> ReleasedTable: ...
@overload
def release(
    data: Any,
    plan: Any,
    folder: str | Path,
    *,
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    record_risks: bool = False,
    ledger: str | Path | None = None,
    draw_anew: bool = False,
    earlier_files: str | Path | Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Release: ...
def release(
    data: Any,
    plan: ReleasePlan | Mapping[str, Any] | str | Path,
    folder: str | Path | None = None,
    *,
    random: RandomSource | None = None,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    record_risks: bool = False,
    ledger: str | Path | None = None,
    draw_anew: bool = False,
    earlier_files: str | Path | Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> Release | ReleasedTable:
    """Carry out a plan on a file or a table: into the folder of a release, or in memory.

    ``folder/public`` holds what users get: the released file, a receipt, a codebook and metadata. ``folder/internal``
    stays with the data holder: all matrices, and the report for a disclosure board.

    Parameters
    ----------
    data
        The true records: the path of a file, a table of pandas, polars, Arrow or Spark, or a dictionary of columns.
    plan
        What is to be done: a :class:`~maskwell.ReleasePlan`, its tables as a dictionary, or the path of its file.
    folder
        A folder that does not exist yet. It appears whole, when everything is written and checked, or not at all.
        Without it the released rows come back in the kind of table that was given (a table of Spark needs a folder). A
        table in memory or of Spark is kept on the disk of the folder for as long as the work lasts, without a name: on
        Linux a process that is killed leaves nothing of the records, elsewhere a folder for its owner alone.
    random
        Where the draws come from: the operating system's generator by default. A seed only for a demonstration. All
        further options are for a folder.
    key
        A secret with which draws are kept: the same true value under the same matrix gives the same report in every
        release, anything else an independent draw. So a report that changed under the same matrix proves that the true
        value changed. The plan must name the column with the ids.
    matrices
        The internal receipt of an earlier release with the same key, or its path. Its matrices are carried out again:
        new ones would give every record a new draw. Rules, bounds and risk are looked at again; counts that the
        matrices kept in the earlier file are not kept in this one.
    record_risks
        Whether the risk of every record is written, too, into ``folder/internal``.
    ledger
        A file that records this release, made where it does not exist. Its earlier releases of the same ``dataset``
        are checked first: columns that would be drawn anew, and what all releases reveal together. With a
        key there is always one: beside the file of the key, or beside the folder where the key has no file.
    draw_anew
        Whether columns may be drawn anew although a bound of the plan does not hold for all releases together.
    earlier_files
        The true files of earlier releases in the ledger, where they differ from this one: what all releases reveal
        together is then computed from the records of the same people. A plan with a limit needs them, or accepts
        ``"linked-releases"``.
    progress
        Called with the rows read so far and the share of the work that is done.

    Raises
    ------
    PlanError, InfeasibleError, EditRuleError, PublishError, UnknownCategoryError
        Before anything is written.

    >>> people = {"sex": ["f", "f", "m", "m", "m"], "region": ["north", "south", "north", "south", "south"]}
    >>> protect = {"variables": ["sex"], "within": ["region"], "method": "method1", "theta": "1/2"}
    >>> release(people, {"protect": [protect]}).receipt()
    Receipt (public) of 5 records: sex (counts preserved)
    """
    asked, table = _plan_of(plan), Rows.of(data)
    if folder is None:
        if any((key, matrices, ledger, record_risks, earlier_files, table.path is not None or not table.at_hand)):
            raise ParameterError("a-file-a-table-of-spark")
        return release_table(data, asked, random=random)
    check_path(folder=folder)
    if ledger is None and isinstance(key, KeyedRandom):
        ledger = ledger_beside(key, folder)
    options: dict[str, Any] = {"random": random, "key": key, "matrices": matrices, "record_risks": record_risks}
    options |= {"ledger": ledger, "draw_anew": draw_anew, "earlier_files": _files_of(earlier_files)}
    options |= {"progress": progress}
    if table.path is not None:
        return _release_file(table.path, asked, str(folder), **options)
    new = check_new_folder(folder)
    with scratch_file(new.with_name(f"{new.name}-records"), "table.parquet", partial(_write, table)) as path:
        return _release_file(str(path), asked, str(folder), **options)


def _release_file(path: str, plan: ReleasePlan, folder: str, **options: Any) -> Release:
    """Carry out a plan on a file and write the folder of the release, once the options are checked."""
    check_kind(Callable | None, progress=options["progress"])
    check_kind(KeyedRandom | None, key=options["key"])
    check_kind(str | Path | None, ledger=options["ledger"])
    check_kind(Flag, draw_anew=options["draw_anew"])
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise missing_extra(missing[0], "the report of a release")
    Thread(target=_load, daemon=True).start()
    return release_into(path, plan, folder, lambda draw, signed: release_page(draw, signed=signed), **options)


def _files_of(files: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    listed = [files] if isinstance(files, str | Path) else list_of(str | Path, files, "earlier_files")
    return tuple(map(str, listed))


def _plan_of(plan: ReleasePlan | Mapping[str, Any] | str | Path) -> ReleasePlan:
    if isinstance(plan, str | Path):
        return load_plan(plan)
    if isinstance(plan, Mapping):
        return ReleasePlan.from_dict(plan)
    check_kind(ReleasePlan, plan=plan)
    return plan


def _write(table: Rows, path: Path) -> None:
    """Write a table to a file, which can be read twice; one of Spark is computed once for that."""
    rows = table.gathered
    with path.open("wb") as file, open_sink(file, str(path), rows.schema) as sink:
        for batch in RowPass(rows, table):
            sink.write(batch)


def _load() -> None:
    """Load the libraries that draw the report while the file is being counted."""
    import jinja2  # noqa: F401

    from maskwell.reports.pictures.canvas import quiet_matplotlib

    with quiet_matplotlib():
        import matplotlib.backends.backend_svg
        import matplotlib.figure  # noqa: F401


@dataclass(frozen=True, eq=False)
class DryRun(Result):
    """What a plan would do to a file or a table, what other bounds would give and cost, and what its recodes save.

    Attributes
    ----------
    release
        The matrices, the risk and the expected utility of the plan.
    points
        The same plan under several bounds.
    recodes
        What each recode of the plan saves.
    """

    release: Assessment
    points: Sequence[risk_utility.RiskUtilityPoint]
    recodes: Sequence[risk_utility.RecodeEffect] = ()

    LINES: ClassVar[str] = "map"

    def to_dict(self) -> dict[str, Any]:
        """The points of the map and what recodes save, as plain values."""
        return {"map": [one.to_dict() for one in self.points], "recodes": [one.to_dict() for one in self.recodes]}

    def to_report(self) -> Report:
        """What the command prints."""
        source = self.release.file.source_name or "TABLE"
        return dry_run_report(self.release, self.points, self.recodes, source=source, plan="PLAN")

    def plot(self, **options: Any) -> Picture:
        """Risk against the share of records that change, for every bound."""
        match = self.release.plan.match
        return styled(plot_risk_utility, self.points, bound=None if match is None else float(match), **options)

    def __repr__(self) -> str:
        return str(self.summary())


def dry_run(
    data: Any,
    plan: ReleasePlan | Mapping[str, Any] | str | Path,
    *,
    key: KeyedRandom | None = None,
    matrices: Receipt | str | None = None,
    ledger: str | Path | None = None,
    earlier_files: str | Path | Sequence[str | Path] = (),
    progress: Progress | None = None,
) -> DryRun:
    """Assess a plan on a file or a table, beside the same plan under other bounds and without its recodes.

    Parameters are those of :func:`release`; with earlier matrices there is nothing beside it. Nothing is written.

    >>> people = {"sex": ["f", "m"] * 30, "region": ["north"] * 41 + ["south"] * 19}
    >>> protect = {"variables": ["sex", "region"], "method": "mixing"}
    >>> tried = dry_run(people, {"release": {"keys": ["sex", "region"], "match": 0.2}, "protect": [protect]})
    >>> [point.label for point in tried.points if point.chosen]
    ['match 0.2']
    """
    check_kind(KeyedRandom | None, key=key)
    check_kind(Receipt | str | None, matrices=matrices)
    check_kind(str | Path | None, ledger=ledger)
    check_progress(progress)
    asked = _plan_of(plan)
    check_key(asked, key)
    ledger = ledger_beside(key) if ledger is None and key is not None else ledger
    files = _files_of(earlier_files)
    earlier = None if matrices is None else earlier_stages(matrices, asked, key)
    rows = Rows.of(data)
    counting, trying, recoding = steps(progress, 3) if earlier is None else (progress, None, None)
    origin = Origin(keyed=None if key is None else key.commitment())
    records, coded = prepared(rows, asked)
    release = assess(records, coded, earlier, counting, origin)
    if ledger is not None:
        release = with_earlier(release, read_ledger(ledger), records, files)
    if earlier is not None:  # other bounds would have other matrices
        return DryRun(release, [risk_utility.point_of(release, risk_utility.label_of(asked), chosen=True)])
    return DryRun(
        release, risk_utility.risk_utility_map(release, trying), risk_utility.recode_effects(rows, release, recoding)
    )


def first_plan(
    data: Any,
    *,
    keys: Names = None,
    plan: str = "plan.toml",
    match: Number | None = None,
    k: int | None = None,
    progress: Progress | None = None,
) -> str:
    """The text of a plan for a file or a table that works as it is: columns that would undo it are not published.

    ``match`` is the largest probability of a correct match (1/2 by default), or ``k`` the number of which it is 1/k.
    Of the methods that reach it that is taken which changes the fewest records. ``keys`` are what an intruder may
    know, guessed where none is named. ``plan`` is what the file of the plan will be called: write the text there, read
    and change it.

    >>> people = {"sex": ["f", "m"] * 30, "region": ["north"] * 41 + ["south"] * 19}
    >>> print(first_plan(people, match="0.2").split("match = ")[1][:3])
    0.2
    """
    limit_of(match, k)  # refused before any work
    check_kind(str, plan=plan)
    check_progress(progress)
    rows, named = Rows.of(data), names_of(keys, "keys")
    here, rest = steps(progress, 2)  # how many passes follow is not known: each takes half of what is left
    tables = count_columns(rows, progress=here)
    known = {table.columns[0] for table in tables}
    findings = Findings(others=tuple(name for name in rows.schema.names if name not in known))
    asked: dict[str, Any] = {"path": str(rows), "plan": plan, "match": match, "k": k, "keys": named}
    if not named:
        here, rest = steps(rest, 2)
        asked["choice"] = _keys_of(rows, tables, here)
    draft = starting_plan(tables, findings=findings, **asked)
    here, rest = steps(rest, 2)
    looked = replace(read_plan(draft), drop=(), id=None)  # what names suggest is measured, too
    look = _Look.of(rows, looked, tables, here)
    findings = _measured(tables, look, findings)
    while (asks := read_plan(starting_plan(tables, findings=findings, **asked))) != looked:
        here, rest = steps(rest, 2)
        look, looked = _Look.of(rows, asks, tables, here), asks
        findings = replace(findings, revealing=_with_words(findings.revealing, look.refused))
    method, intruder = _method_and_intruder(look)
    if findings.revealing:
        findings = _coarser(rows, tables, look.plan, findings, rest)
    return starting_plan(tables, findings=findings, **asked, method=method, intruder=intruder)


def _keys_of(rows: Rows, tables: Sequence[CellTable], progress: Progress | None) -> Choice:
    """The keys of a first plan, from the records that each combination of likely columns has."""
    candidates, n = candidates_of(tables, guess_columns(tables)), tables[0].n if tables else 0
    together = counted_together(candidates, n)
    joint = count_tables(rows, [together], declared=False, progress=progress)[0] if together else None
    return choose_keys(candidates, joint, n)


@dataclass(frozen=True, eq=False)
class _Look:
    """What a plan meets in a file: its records, its counts, and what its unchanged columns reveal."""

    records: Rows
    plan: ReleasePlan
    tables: Mapping[tuple[str, ...], CellTable]
    facts: Sequence[ColumnFacts]
    columns: Sequence[str]  # that stay as they are

    @classmethod
    def of(cls, rows: Rows, plan: ReleasePlan, known: Sequence[CellTable], progress: Progress | None) -> _Look:
        """From one pass over the records, as the plan recodes them; ``known`` has a table of each column."""
        records, plan = prepared(rows, plan)
        judged = known if known and known[0].n >= FEWEST_RECORDS else ()  # columns of fewer records are not judged
        beside = dependence_counter(plan, [table.columns[0] for table in judged])
        tables = count_records(records, plan, tables_of(plan), progress, beside)
        facts = with_originals(beside.facts(), records, plan.recodes, changed_together(plan))
        return cls(records, plan, tables, facts, beside.columns)

    @cached_property
    def refused(self) -> list[SideChannel]:
        """What the release would be refused for."""
        channels = side_channels(self.plan, self.facts)
        following = following_columns(self.plan, channels)
        return [one for one in channels if one.refused or one.column in following]


def _measured(tables: Sequence[CellTable], look: _Look, findings: Findings) -> Findings:
    """What a first look shows of columns that identify records, reveal keys, or name households."""
    whole = [one for one in look.facts if one.rows == tables[0].n or not one.exact]
    return replace(
        findings,
        revealing=_with_words({}, look.refused),
        unique=tuple(one.column for one in whole if one.share_below(2) == 1),
        unit=unit_guess(look.facts),
    )


def _with_words(known: Mapping[str, str], found: Sequence[SideChannel]) -> dict[str, str]:
    words = dict(known)
    for one in found:
        words[one.column] = f"{words[one.column]}; {one.words}" if one.column in words else one.words
    return words


def _coarser(
    rows: Rows, tables: Sequence[CellTable], plan: ReleasePlan, findings: Findings, progress: Progress | None
) -> Findings:
    """For each column that reveals too much, the first of its coarser forms that does not, if one does not."""
    guesses = guess_columns(tables, findings.unique)
    left = {
        guess.name: [*islice(forms_to_publish(guess, table), MOST_FORMS)]
        for table, guess in zip(tables, guesses, strict=True)
        if guess.name in findings.revealing and guess.name in plan.drop
    }
    found: dict[str, Form | None] = {}
    while any(left.values()):
        tried = {name: forms.pop(0) for name, forms in left.items() if forms}
        recodes = {name: form.recode for name, form in tried.items() if form.recode is not None}
        drop = tuple(name for name in plan.drop if name not in recodes)
        here, progress = steps(progress, 2)
        look = _Look.of(rows, replace(plan, drop=drop, recodes={**plan.recodes, **recodes}), tables, here)
        refused = {one.column for one in look.refused}
        found |= {name: form for name, form in tried.items() if name not in refused}
        left = {name: forms for name, forms in left.items() if name not in found}
    return replace(findings, coarser={name: found.get(name) for name in findings.revealing})


def _method_and_intruder(look: _Look) -> tuple[str, str]:
    """The method of a first plan, and the strongest intruder against whom it keeps the limit."""
    plan, tables = look.plan, look.tables
    method = _method_of_fewest_changes(plan, tables)
    if method != MIXING:
        return method, ANY_LOOK.name
    stronger = replace(plan, intruder=ALL_COLUMNS.name)
    fits = column_fits(look.records, stronger, tables, look.columns)
    joined = assess_counts(TrueFile(tables=tables, fits=fits), stronger).joined
    kept = joined is not None and plan.match is not None and at_most(joined.to_spare, plan.match)
    return method, (ALL_COLUMNS if kept else ANY_LOOK).name


def _method_of_fewest_changes(plan: ReleasePlan, tables: Mapping[tuple[str, ...], CellTable]) -> str:
    """The method with which the fewest records change under the bound of a plan; an error where none reaches it."""
    usual = _expected_changes(plan, MIXING, tables)
    if math.isfinite(usual) and max(map(len, tables.values())) > MOST_COMPARED:
        return MIXING
    other = _expected_changes(plan, INVERSE_FREQUENCY, tables)
    if other < usual:
        with suppress(InfeasibleError):
            check_kept(assess_tables(dict(tables), _with_method(plan, INVERSE_FREQUENCY)))
            return INVERSE_FREQUENCY
    if math.isinf(usual):
        build_stages(plan, tables)  # says why
    return MIXING


def _with_method(plan: ReleasePlan, method: str) -> ReleasePlan:
    protections = tuple(Protection.of(one.variables, method, within=one.within) for one in plan.protections)
    return replace(plan, protections=protections)


def _expected_changes(plan: ReleasePlan, method: str, tables: Mapping[tuple[str, ...], CellTable]) -> float:
    """Share of the records that a method changes, infinite where it has no matrix for the plan."""
    try:
        stages = build_stages(_with_method(plan, method), tables)
    except InfeasibleError:
        return math.inf
    return sum(stage.expected_changed() for stage in stages)

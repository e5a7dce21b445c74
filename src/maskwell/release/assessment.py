"""Release: what a plan would do to records, matrices, risk and utility, from their counts alone; nothing is written.

The tables that a plan needs are counted in one pass over the file. What becomes of the records when they are released
is told by the same value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskwell.core.arguments import check_kind, check_path, list_of
from maskwell.core.cells import CellTable, give_back_memory
from maskwell.core.display import Result
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import listed
from maskwell.core.verdicts import at_most
from maskwell.core.verdicts import below as is_below
from maskwell.engines.cell_counts import WRITTEN_AS, count_tables, open_rows, part_of
from maskwell.engines.column_fit import MOST_KEPT, ColumnFit, read_column_fit
from maskwell.engines.dependence import DependenceCounter
from maskwell.engines.input_file import TextForm
from maskwell.engines.recoding import Recoding, RecordsT, recoded, recoding_of
from maskwell.engines.release_pass import RowsReleased, file_columns
from maskwell.engines.row_sources import MemoryTable, Progress, ending_of
from maskwell.engines.unit_rows import UnitMembers, read_units
from maskwell.errors import ParameterError
from maskwell.release.plans.edit_rules import Rule
from maskwell.release.plans.protection import UNIT
from maskwell.release.plans.recodes import check_labels_met, narrowed
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.risk.file_risk import assess_risk, cells_in
from maskwell.release.risk.joined_columns import SMALL, JoinedRisk, joined_risk
from maskwell.release.risk.risk_report import ALL_COLUMNS, OWN_KEY, OWN_KEY_95, RiskReport
from maskwell.release.risk.unit_draws import DrawnUnits, drawn_together, have_one_draw
from maskwell.release.risk.unit_risk import with_units
from maskwell.release.side_channels import (
    SideChannel,
    SideChannelRisk,
    check_side_channels,
    dependence_counter,
    following_columns,
    linking_columns,
    side_channel_risk,
    side_channel_warnings,
    side_channels,
    unit_channel,
)
from maskwell.release.stages.stage import Stage, is_kept, unchanged_columns
from maskwell.release.stages.stage_building import ColumnFits, UnitSizes, build_stages, unit_sizes
from maskwell.release.utility.utility_report import UtilityReport, assess_utility, expected_share

if TYPE_CHECKING:
    from maskwell.release.folder.ledger import DrawnAgain

MADE_FOR_LESS = (
    "matrices are made for {part} times the limit, so that someone who weighs the other columns stays below it, too"
)
KEPT = (
    "draws are kept by key: the same true value under the same matrix gives the same report in every release, anything"
    " else an independent draw"
)
CHANGE_IS_TOLD = (
    "a report that differs from an earlier one under the same key and matrix proves that the true value changed (an"
    ' equal one proves nothing); to hide changes too, set draws = "fresh" or again = 0.5 in [[protect]]'
)
WEARS_OUT = (
    "the second randomization of {variables} is new in each release: many releases together tell the kept report, and"
    " bounds are checked for it, too"
)
FROM_COUNTS = (
    "the matrix of {variables} follows from the counts: a later file has other counts, and its records keep their draws"
    " only if it is released with this matrix, of internal/receipt.json"
)
WITHIN_FRESH = (
    "{variables} is drawn within {within}, whose reports are new in each release: a kept report changes with them, and"
    " several releases tell more than one"
)
DRAWN_AGAIN = (
    "the file was drawn {draws} times until it kept the limit; keeping only such files changes the probabilities of the"
    " draws a little"
)

TOLD_BY_ORDER = (
    "the order of the records is kept, and it tells what {column} was before it was made coarser: shuffle the records"
)
NOT_MET = "[recode.{column}]: no record has {labels}; a label that is spelled otherwise stays as it is"


@dataclass(frozen=True)
class ReleasedColumn:
    """A column of the released file.

    Attributes
    ----------
    name, kind
        The kind is ``text``, ``integer``, ``number``, ``date``, ``boolean`` or ``other``.
    labels
        All its labels in order; None where they are too many.
    decimal
        What stands before the decimals of its numbers in a text file.
    """

    name: str
    kind: str
    labels: tuple[Any, ...] | None = None
    decimal: str = "."


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedRows:
    """What became of the records.

    Attributes
    ----------
    tables
        Counts of the released file by their columns.
    changed
        Records whose value was changed, by column.
    columns
        Of the released file; of a table in memory they are not told.
    labels
        What a labelled file (SPSS, Stata, SAS) tells besides its rows, or ``None``.
    lost
        What the true file told besides its rows and the released one cannot hold, in words.
    form
        How the text of a released CSV file is written.
    attempts
        How often the file was drawn until it kept the limit of the plan.
    files
        What was written, seen from the folder of the release.
    members
        The released records by the units that they belong to, where the file shows these and they have one draw.
    """

    tables: Mapping[tuple[str, ...], CellTable] | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    columns: Sequence[ReleasedColumn] = ()
    labels: Any = None
    lost: tuple[str, ...] = ()
    form: TextForm | None = None
    attempts: int = 1
    files: tuple[str, ...] = ()
    members: UnitMembers | None = None


class WeighedColumns(NamedTuple):
    """What unchanged columns tell of keys, and what follows for the matrices.

    Attributes
    ----------
    fits
        By the columns of protections.
    tighter
        The part of the limit that matrices are made for, so that it is kept against somebody who weighs these columns.
        Not known yet before the first matrices.
    """

    fits: ColumnFits
    tighter: Fraction | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Release(Result):
    """A release of one file: what was assessed from its counts, and what became of its records.

    Attributes
    ----------
    plan, stages
        What was asked for, and the randomizations that carry it out.
    rows, tables, missing
        Of the true file: its records, their counts by columns, and records without a value by column.
    source_name, ending
        Name of the true file without its folder, and the kind of file.
    risk, utility
        What somebody can learn, and what the file is good for; risk is ``None`` without key variables.
    members, sizes
        The records by the units that they belong to, such as households, where the plan names these; and by the
        columns of protections with one draw for a unit, the records of a unit for the labels of ``within``.
    seen
        Unchanged columns that follow from a key: whoever knows the key knows them, and sees which records moved.
    others
        Columns that are published as they are.
    weighed
        What these columns tell of keys, and the part of the limit that matrices are made for because of it.
    joined
        How often somebody is right who weighs how well unchanged columns go with the keys, where that was simulated.
    side_channels, side_channel_risk
        What unchanged columns give away, and the risk of an intruder who knows them too (``None`` where nothing is).
    warnings
        What could undo the protection, in words.
    private, keyed
        Whether nobody can undo the draws: ``False`` for a seed, which only a demonstration may use; and a commitment to
        the key that they were made with, or ``None`` where there was none.
    shuffled
        Whether the records come in random order.
    recoded
        How many categories each recoded column had, and how many it has.
    further
        Columns that rules ask, made from others, and that are not published.
    drawn_again
        Columns that earlier releases drew independently, as a ledger tells, and what all tell together.
    released
        What became of the records; nothing before they are released.
    """

    LINES = "variables"

    plan: ReleasePlan
    stages: tuple[Stage, ...]
    rows: int
    tables: Mapping[tuple[str, ...], CellTable]
    missing: Mapping[str, int] = field(default_factory=dict)
    source_name: str = ""
    ending: str = ""
    risk: RiskReport | None = None
    utility: UtilityReport | None = None
    members: UnitMembers | None = None
    sizes: UnitSizes = field(default_factory=dict)
    seen: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    weighed: WeighedColumns = field(default_factory=lambda: WeighedColumns({}))
    joined: JoinedRisk | None = None
    side_channels: tuple[SideChannel, ...] = ()
    side_channel_risk: SideChannelRisk | None = None
    warnings: tuple[str, ...] = ()
    private: bool = True
    keyed: str | None = None
    shuffled: bool = False
    recoded: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    drawn_again: tuple[DrawnAgain, ...] = ()
    released: ReleasedRows = ReleasedRows()

    @property
    def released_tables(self) -> Mapping[tuple[str, ...], CellTable] | None:
        """Counts of the released file by their columns, ``None`` before there is one."""
        return self.released.tables

    @property
    def changed(self) -> Mapping[str, int]:
        """Records whose value was changed, by column; empty before there is a released file."""
        return self.released.changed

    @property
    def columns(self) -> Sequence[ReleasedColumn]:
        """Columns of the released file."""
        return self.released.columns

    @property
    def labels(self) -> Any:
        """What a labelled file (SPSS, Stata, SAS) tells besides its rows, or ``None``."""
        return self.released.labels

    @property
    def lost(self) -> tuple[str, ...]:
        """What the released file cannot hold of what the true one told besides its rows, in words."""
        return self.released.lost

    @property
    def attempts(self) -> int:
        """How often the file was drawn until it kept the limit of the plan."""
        return self.released.attempts

    @property
    def files(self) -> tuple[str, ...]:
        """What was written, seen from the folder of the release; empty before."""
        return self.released.files

    def with_released(self, **changes: Any) -> Release:
        """The release with something more about its records."""
        return replace(self, released=replace(self.released, **changes))

    def __repr__(self) -> str:
        done = [f"{', '.join(stage.variables)} randomized ({stage.method})" for stage in self.stages]
        return f"Release of {self.rows:,} records: {'; '.join(done) or 'nothing randomized'}"

    @property
    def variables(self) -> dict[str, Stage]:
        """The stage that randomized each variable; linked columns with the stage that they follow."""
        return {name: stage for stage in self.stages for name in stage.moved}

    @property
    def randomized(self) -> list[str]:
        """Columns that are randomized, without those that are linked to them."""
        return [*dict.fromkeys(name for stage in self.stages for name in stage.variables)]

    @property
    def published(self) -> list[Stage]:
        """Stages whose matrix users get, as the plan says."""
        return [stage for stage in self.stages if self.plan.publishes(stage)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report should know, of all stages."""
        told = [note for stage in self.stages for note in stage.notes]
        again = [DRAWN_AGAIN.format(draws=self.attempts)] if self.attempts > 1 else []
        return tuple(dict.fromkeys([*self.warnings, *again, *self._about_limit(), *self._about_draws(), *told]))

    def _about_limit(self) -> Iterator[str]:
        """That matrices are made for a smaller limit, and why."""
        tighter, match = self.weighed.tighter, self.plan.match
        if tighter is not None and tighter < 1 and match is not None:
            yield MADE_FOR_LESS.format(part=to_decimal(tighter))

    def keeps(self, stage: Stage) -> bool:
        """Whether the draws of a stage, or of its first step, are kept by key."""
        return self.keyed is not None and self.plan.protection_of(stage).draws == "kept"

    def draws_of(self, stage: Stage) -> str:
        """``"fresh"`` draws, ``"kept"`` ones, or ``"kept, then fresh"`` where kept reports are randomized once more."""
        if not self.keeps(stage):
            return "fresh"
        return "kept" if stage.steps is None else "kept, then fresh"

    def _about_draws(self) -> Iterator[str]:
        """What draws that are kept tell whoever compares two releases."""
        kept = [stage for stage in self.stages if self.keeps(stage)]
        if kept:
            yield KEPT
        if any(stage.steps is None for stage in kept):
            yield CHANGE_IS_TOLD
        again = [name for stage in kept if stage.steps is not None for name in stage.variables]
        if again:
            yield WEARS_OUT.format(variables=", ".join(again))
        made = [name for stage in kept if stage.derived for name in stage.variables]
        if made:
            yield FROM_COUNTS.format(variables=", ".join(dict.fromkeys(made)))
        new: set[str] = set()
        for stage in self.stages if kept else ():
            within = [name for name in stage.within if name in new]
            if within and stage in kept:
                yield WITHIN_FRESH.format(variables=" and ".join(stage.variables), within=" and ".join(within))
            if within or self.draws_of(stage) != "kept":
                new |= {*stage.moved}

    def expected_change(self) -> float:
        """Share of the records that are expected to change in at least one column.

        Where no table has all columns that are randomized, as if each stage met the same mixture of records.
        """
        share = expected_share(self.stages, self.tables.values(), [*self.variables])
        return 1 - math.prod(1 - stage.expected_changed() for stage in self.stages) if share is None else share

    def risk_dict(self) -> dict[str, Any] | None:
        """The risk for JSON, with that of an intruder who knows unchanged columns too."""
        if self.risk is None:
            return None
        also = self.side_channel_risk
        return {**self.risk.to_dict(), "side_channels": None if also is None else also.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell release --json`` gives it."""
        from maskwell.release.folder.receipt_contents import draws_told

        return {
            "rows": self.rows,
            "variables": self.variable_facts(),
            "risk": self.risk_dict(),
            "side_channels": [one.to_dict() for one in self.side_channels],
            "utility": None if self.utility is None else self.utility.to_dict(),
            "notes": list(self.notes),
            "private": self.private,
            "draws": draws_told(self),
            "drawn_again": [one.to_dict() for one in self.drawn_again],
            "files": list(self.files),
        }

    def variable_facts(self) -> dict[str, dict[str, Any]]:
        """What was done to each variable, as plain values for JSON."""
        return {
            name: {**_about(stage, name, self.stages), **self._expected(name), **self._realised(name)}
            for name, stage in self.variables.items()
        }

    def _expected(self, name: str) -> dict[str, Any]:
        """What the tables of the file tell: of all records, also those without a value."""
        if self.utility is None or name not in self.utility.variables:
            return {}
        return {"expected_changed": self.utility.variables[name].expected_changed}

    def _realised(self, name: str) -> dict[str, Any]:
        if name not in self.changed:
            return {}
        return {"changed": self.changed[name], "realised_changed": self.changed[name] / self.rows if self.rows else 0.0}


def _about(stage: Stage, name: str, stages: Sequence[Stage]) -> dict[str, Any]:
    follows = name not in stage.variables
    return {
        "method": stage.method,
        "variables": list(stage.variables),
        "within": list(stage.within),
        "linked": follows,
        "invariant": is_kept(stages, [name]),
        "invariance": stage.invariance,
        "derived": stage.derived,
        "states": len(stage.states),
        "cells": int(stage.cells.max()) + 1 if len(stage.cells) else 0,
        "expected_changed": stage.expected_changed(None if follows else name),
        "max_posterior": stage.max_posterior(),
        "least_kept": float(np.min(stage.keeps[stage.counts > 0], initial=1.0)),
        "notes": list(stage.notes),
    }


# ---- from the counts of the records

MOST_PAIRS = 300
"""Pairs of columns whose association is compared."""

Columns = tuple[str, ...]
Tables = dict[Columns, CellTable]


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
    return assess(*prepared(path, plan), earlier, progress)


def prepared(records: RecordsT, plan: ReleasePlan) -> tuple[RecordsT, ReleasePlan]:
    """The records with the columns recoded that a plan recodes, and the plan in the codes that the file holds.

    Rules about columns that stay as they are ask further columns of the records, which are not published.
    """
    names = [column.name for column in file_columns(_on_disk(records))]
    plan.check(names)
    kept = plan.order == "kept"
    rows = recoded(records, Recoding(plan.recodes, follow_order=kept)) if plan.recodes else records
    with open_rows(rows, []) as source:
        plan = plan.in_codes(source.style)
    if not any(isinstance(rule, Rule) for rule in plan.rules):
        return rows, plan
    plan, further = narrowed(plan, names)
    return recoded(records, Recoding(plan.recodes, further, follow_order=kept)), plan


def _on_disk(records: RecordsT) -> RecordsT:
    if records == "-":
        raise ParameterError(
            "a release reads the file twice, which standard input does not allow", hint="give the path of a file"
        )
    return records


def assess(
    records: str | MemoryTable,
    plan: ReleasePlan,
    earlier: Sequence[Stage] | None = None,
    progress: Progress | None = None,
) -> Release:
    """What a plan would do to records that :func:`prepared` gave, with what their unchanged columns give away."""
    recoding = recoding_of(records) if plan.recodes or plan.rules else None
    names = [column.name for column in file_columns(records)]
    beside = dependence_counter(plan, [name for name in names if recoding is None or name not in recoding.further])
    tables = count_records(records, plan, tables_of(plan), progress, beside)
    path = "" if isinstance(records, MemoryTable) else records
    assessed = assess_tables(
        tables,
        plan,
        path,
        earlier,
        sizes=_sizes(records, plan, tables),
        weighed=weighed_columns(records, plan, tables, beside.columns),
    )
    facts = beside.facts()
    channels = side_channels(plan, facts)

    def count(columns: Sequence[str]) -> CellTable:
        return count_records(records, plan, [(*columns,)])[(*columns,)]

    assessed = _with_following(assessed, channels, count)
    units = beside.unit_facts()
    if units is not None and plan.unit is not None and assessed.risk is not None:
        members = read_units(
            records,
            plan.unit,
            _risk_table(assessed),
            seen=linking_columns(plan, facts, units),
            declared=plan.missing != "category",
        )
        assessed = replace(assessed, members=members)
        together = unit_channel(plan, units, members)
        channels = (*channels, *([] if together is None else [together]))
    check_side_channels(channels)
    assessed = replace(assessed, others=(*beside.columns,))
    release = _with_side_channels(assessed, channels, count)
    return release if recoding is None else _with_recodes(release, recoding)


def _with_recodes(release: Release, recoding: Recoding) -> Release:
    """A release that says how many categories were made of how many, and which labels of groups did not occur."""
    check_labels_met(release.plan, recoding)
    told = [
        NOT_MET.format(column=column, labels=listed(map(repr, labels), len(labels), 60))
        for column, labels in recoding.not_met().items()
    ]
    told += [TOLD_BY_ORDER.format(column=column) for column in recoding.told_by_order()]
    warnings, further = (*release.warnings, *told), tuple(recoding.further)
    return replace(release, recoded=recoding.categories(), further=further, warnings=warnings)


def _sizes(records: str | MemoryTable, plan: ReleasePlan, tables: Tables) -> UnitSizes:
    """The sizes of units, for protections that have one draw for all records of a unit."""
    sizes = {}
    for i, protection in enumerate(plan.protections, 1):
        if protection.each == UNIT and plan.unit is not None:
            within, variables = plan.columns_of(protection)
            table = tables[(*within, *variables)]
            members = read_units(records, plan.unit, table, declared=plan.missing != "category")
            sizes[(*within, *variables)] = unit_sizes(table, within, members, f"[[protect]] number {i}")
    return sizes


def weighed_columns(
    records: str | MemoryTable, plan: ReleasePlan, tables: Mapping[Columns, CellTable], unchanged: Sequence[str]
) -> WeighedColumns:
    """What the unchanged columns tell of keys, for protections that look at it or whose intruder is simulated."""
    moving = [one for one in plan.protections if {*one.moved} & {*plan.keys}]
    fits: dict[Columns, ColumnFit] = {}
    for protection in moving:
        within, variables = plan.columns_of(protection)
        table, match = tables[(*within, *variables)], plan.match_of(protection)
        least = TIGHTER[-1] if plan.intruder == ALL_COLUMNS else 1
        below = SMALL if match is None else float(1 / (match * least))
        whole, by_unit = table.n <= MOST_KEPT, protection.each == UNIT
        grouped = protection.base.weighs_others and (whole or not by_unit)
        useful = grouped or (whole and not by_unit and len(moving) == 1)
        if useful and is_below(table.counts, below).any():
            others = [name for name in unchanged if name not in table.columns]
            fit = read_column_fit(records, table, others, below, declared=plan.missing != "category")
            fits |= {} if fit is None else {table.columns: fit}
    return WeighedColumns(fits)


TIGHTER = tuple(Fraction(n, 10) for n in range(10, 1, -1))
"""Parts of the limit that are tried in turn, where somebody who weighs all columns is to be kept below it."""


def _against_all_columns(
    plan: ReleasePlan, build: Callable[[Fraction], tuple[Stage, ...]], weighed: WeighedColumns
) -> tuple[tuple[Stage, ...], WeighedColumns, JoinedRisk | None]:
    """The stages, and what somebody reaches who weighs all columns: made for a smaller limit where the plan asks."""
    if weighed.tighter is not None:
        return build(weighed.tighter), weighed, None
    limit = plan.match if plan.match is not None and plan.intruder == ALL_COLUMNS else Fraction(1)
    before: JoinedRisk | None = None
    for tighter in TIGHTER:
        stages = build(tighter)
        joined = _joined(plan, stages, weighed.fits)
        if (
            joined is None or at_most(joined.right_surest + joined.error, limit) or joined == before
        ):  # that changes nothing
            break
        before = joined
    return stages, weighed._replace(tighter=tighter), joined


def _joined(plan: ReleasePlan, stages: Sequence[Stage], fits: ColumnFits) -> JoinedRisk | None:
    """What somebody reaches who weighs how well unchanged columns go with the keys, where that can be simulated."""
    moving = [stage for stage in stages if {*stage.moved} & {*plan.keys}]
    fit = fits.get(tuple(moving[0].columns)) if len(moving) == 1 else None
    below = SMALL if plan.match is None else 1 / float(plan.match)
    return None if fit is None else joined_risk(stages, plan.keys, fit, below)


def _with_following(
    release: Release, channels: tuple[SideChannel, ...], count: Callable[[Sequence[str]], CellTable]
) -> Release:
    """A release whose risk is that of somebody who sees the unchanged columns that follow from a key."""
    seen = following_columns(release.plan, channels)
    if not seen:
        return release
    columns = (*risk_columns(release.plan), *seen)
    return judged(replace(release, seen=seen, tables={**release.tables, columns: count(columns)}))


def _with_side_channels(
    release: Release, channels: tuple[SideChannel, ...], count: Callable[[Sequence[str]], CellTable]
) -> Release:
    """A release that says what its unchanged columns give away, and the risk that comes with them."""
    release = replace(release, side_channels=channels)
    if release.risk is not None:
        release = replace(release, risk=_in_any_sample(release.plan, _of_units(release, release.risk)))
    risk = side_channel_risk(release.plan, channels, release.stages, count)
    warnings = (*release.warnings, *side_channel_warnings(channels, risk))
    return replace(release, side_channel_risk=risk, warnings=warnings)


def assess_tables(
    tables: Tables,
    plan: ReleasePlan,
    path: str = "",
    earlier: Sequence[Stage] | None = None,
    *,
    seen: tuple[str, ...] = (),
    members: UnitMembers | None = None,
    sizes: UnitSizes | None = None,
    weighed: WeighedColumns | None = None,
) -> Release:
    """The same from counts; ``seen`` are unchanged columns that follow from a key.

    ``members`` and ``sizes`` tell of units, and ``weighed`` what unchanged columns tell of keys, as in
    :class:`Release`.
    """
    give_back_memory()
    external, known = count_external(plan) if earlier is None else None, weighed or WeighedColumns({})

    def build(tighter: Fraction) -> tuple[Stage, ...]:
        return build_stages(plan, tables, external, earlier, sizes, known.fits, tighter)

    stages, known, joined = _against_all_columns(plan, build, known)
    give_back_memory()
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
        members=members,
        sizes=sizes or {},
        weighed=known,
        joined=joined,
    )
    return judged(release)


def _ending(path: str) -> str:
    """The kind of the released file: that of the true one, where such files can be written."""
    ending = ending_of(path) if path else ""
    return WRITTEN_AS.get(ending, ending)


def released_tables(release: Release, done: RowsReleased) -> Tables:
    """The tables of the released file: counted where a column was randomized, else those of the true one."""
    moved = {*release.plan.randomized}
    return {c: part_of(c, done.tables) if moved & {*c} else release.tables[c] for c in counted_tables(release)}


def counted_tables(release: Release) -> list[Columns]:
    """The tables of its plan that were counted, or those in their place."""
    possible = {*tables_of(release.plan), *(one for pairs in _instead(release.plan).values() for one in pairs)}
    return [columns for columns in release.tables if columns in possible]


def judged(release: Release) -> Release:
    """A release with its risk and utility, as far as its tables tell them."""
    risk, utility = _risk(release), _utility(release)
    give_back_memory()
    return replace(release, risk=risk, utility=utility)


def _risk(release: Release) -> RiskReport | None:
    plan = release.plan
    if not plan.keys:
        return None
    released = None
    if release.released_tables is not None:
        released = release.released_tables[risk_columns(plan)]
    risk = assess_risk(
        _risk_table(release),
        plan.keys,
        release.stages,
        released=released,
        threshold=None if plan.match is None else float(plan.match),
        weights=plan.weights is not None,
        intruder=plan.intruder,
        seen=_seen_columns(release),
    )
    return replace(_in_any_sample(release.plan, _of_units(release, risk)), joined=release.joined)


def _in_any_sample(plan: ReleasePlan, risk: RiskReport) -> RiskReport:
    """The risk with a tighter bound for people who may not be in the sample, where the plan has a limit and keeps it.

    Another sample in which the limit is broken would not be released. So nobody is sampled and found more often than
    the limit times the chance to be sampled: as long as the limit is for looking where it is easiest.
    """
    after, inclusion = risk.after, risk.before.max_risk_sampled
    if after is None or inclusion is None or plan.match is None or plan.intruder in (OWN_KEY, OWN_KEY_95):
        return risk
    limit = 1.0 if after.records_above else float(plan.match)
    return replace(risk, after=replace(after, max_risk_sampled=inclusion * limit))


def _risk_table(release: Release) -> CellTable:
    """Counts over the keys, the columns that tell how they are randomized, and those that follow from a key."""
    return release.tables[(*risk_columns(release.plan), *release.seen)]


def _seen_columns(release: Release) -> tuple[str, ...]:
    """Unchanged columns inside whose cells records are counted: those within which a key is drawn, and followers."""
    plan = release.plan
    within = [name for name in unchanged_columns(release.stages, plan.keys) if name not in plan.unpublished]
    return tuple(dict.fromkeys([*within, *release.seen]))


def _of_units(release: Release, risk: RiskReport) -> RiskReport:
    """The risk with that of units, such as households, where the plan names these."""
    if release.members is None:
        return risk
    table, together = _risk_table(release), None
    shown = next((one for one in release.side_channels if one.kind == "shows units"), None)
    if have_one_draw(release.stages, release.plan.keys):
        units = DrawnUnits(
            table,
            release.members,
            seen=_seen_columns(release),
            shown=shown is not None,
            released=_released_keys(release),
            released_members=release.released.members,
        )
        risk, together = drawn_together(risk, release.stages, units)
    seen_by = () if shown is None else (shown.column,) if shown.column == shown.of else release.members.seen
    share = 0.0 if shown is None else shown.share
    members = replace(release.members, cells=cells_in(table, risk.table)[release.members.cells])
    return with_units(risk, members, seen_by=seen_by, seen_share=share, together=together)


def _released_keys(release: Release) -> CellTable | None:
    """Counts of the released file over the keys and the columns that are seen, where they were counted."""
    if release.released_tables is None:
        return None
    table = release.released_tables[risk_columns(release.plan)]
    return table if {*_seen_columns(release)} <= {*table.columns} else None


def with_released_units(release: Release, records: str | MemoryTable) -> Release:
    """A release whose records are drawn, with its units as the released records show them."""
    plan = release.plan
    published = plan.unit is not None and plan.unit not in plan.unpublished
    if release.released_tables is None or not published or not have_one_draw(release.stages, plan.keys):
        return release
    assert plan.unit is not None
    table = release.released_tables[risk_columns(plan)]
    return release.with_released(members=read_units(records, plan.unit, table, declared=plan.missing != "category"))


def _utility(release: Release) -> UtilityReport:
    asked = {*compared_tables(release.plan), *(one for pairs in _instead(release.plan).values() for one in pairs)}
    compared = [columns for columns in release.tables if columns in asked]
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
    return [*dict.fromkeys([*_required(plan), *compared_tables(plan)])]


def _required(plan: ReleasePlan) -> list[Columns]:
    """Tables without which there are no matrices and no risk."""
    return [*wanted_tables(plan), *_met_tables(plan), *([risk_columns(plan)] if plan.keys else [])]


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


def _instead(plan: ReleasePlan) -> dict[Columns, list[Columns]]:
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
    path: str | MemoryTable,
    plan: ReleasePlan,
    progress: Progress | None = None,
    beside: DependenceCounter | None = None,
) -> Tables:
    """Count a file or a table in all tables of a plan, in one pass; ``beside`` follows its unchanged columns."""
    return count_records(path, plan, tables_of(plan), progress, beside)


def count_records(
    records: str | MemoryTable,
    plan: ReleasePlan,
    tables: Sequence[Columns],
    progress: Progress | None = None,
    beside: DependenceCounter | None = None,
) -> Tables:
    """Count the records of a file or of a table as a plan counts them, in one pass."""
    declared = plan.missing != "category"
    counted = count_tables(
        records,
        tables,
        weights=plan.weights,
        beside=beside,
        declared=declared,
        instead=_instead(plan),
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
            rows = recoded(protection.counts_from, recoding)
            tables[",".join(variables)] = count_tables(rows, [(*within, *variables)])[0]
    return tables

"""What a release reads of the true records before it draws: counts, and what unchanged columns give away."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from maskwell.core.cells import CellTable
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import listed, shorten
from maskwell.core.verdicts import below as is_below
from maskwell.engines.cell_counts import Follower, count_tables
from maskwell.engines.formula import read_formula
from maskwell.engines.row_sources import Progress, ending_of
from maskwell.engines.rows import WRITTEN_AS, Rows
from maskwell.errors import InfeasibleError, ParameterError
from maskwell.microdata.plans.edit_rules import Rule
from maskwell.microdata.plans.protection import UNIT, Protection
from maskwell.microdata.plans.recodes import narrowed, with_records
from maskwell.microdata.plans.region_pools import pooled
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.plans.suppression import suppression_of
from maskwell.microdata.records.column_fit import MOST_KEPT, ColumnFit, read_column_fit
from maskwell.microdata.records.dependence import DependenceCounter
from maskwell.microdata.records.original_values import with_originals
from maskwell.microdata.records.recoding import Further, Recoding, recoded, recoding_of
from maskwell.microdata.records.unit_rows import UnitMembers, read_units
from maskwell.microdata.risk.joined_columns import SMALL
from maskwell.microdata.risk.unit_table import MOST_UNITS
from maskwell.microdata.side_channels import (
    SideChannel,
    changed_together,
    dependence_counter,
    following_columns,
    linking_columns,
    side_channels,
    unit_channel,
)
from maskwell.microdata.stages.stage_building import ColumnFits, UnitSizes, unit_sizes
from maskwell.notes import Note

MOST_PAIRS = 300  # pairs of columns whose association is compared
MOST_DESCRIBED = 500  # tables whose errors users are told
Columns = tuple[str, ...]
Tables = dict[Columns, CellTable]


def tables_of(plan: ReleasePlan) -> list[Columns]:
    """All tables that a release needs, of the true file and, where a column is randomized, of the released one."""
    joint = [joint_columns(plan)] if plan.keys else []
    return [*dict.fromkeys([*_required(plan), *_compared_once(plan), *joint])]


def _compared_once(plan: ReleasePlan) -> list[Columns]:
    """Tables that are compared, one where several have the same columns: a copy for each pair would fill memory."""
    needed, compared = {*_required(plan)}, compared_tables(plan)
    one_of = {frozenset(table): table for table in reversed(compared)}
    one_of |= {frozenset(table): table for table in compared if table in needed}
    return [table for table in compared if table in needed or one_of[frozenset(table)] == table]


def tables_with(plan: ReleasePlan, tables: Tables, seen: Columns) -> list[Columns]:
    """Tables of the risk that have columns that follow from keys, too; none without such columns."""
    joint = [joint_columns(plan)] if joint_columns(plan) in tables else []
    return [(*one, *seen) for one in dict.fromkeys([risk_columns(plan), *joint])] if seen else []


def _required(plan: ReleasePlan) -> list[Columns]:
    """Tables that the matrices and the risk need."""
    tables, met, moved = list[Columns](), list[Columns](), set[str]()
    for protection in plan.protections:
        within, variables = plan.columns_of(protection)
        tables += required_of(plan, protection)
        if (protection.bounds.asked() or protection.caps) and moved & {*within}:  # to know which records it meets
            met.append(closure(plan, (*within, *variables)))
        moved |= {*protection.moved}
    tables += [rule.columns for rule in plan.rules if isinstance(rule, Rule)]
    return [*tables, *met, *([risk_columns(plan)] if plan.keys else [])]


def required_of(plan: ReleasePlan, protection: Protection) -> list[Columns]:
    """Tables that the matrix of a protection needs."""
    within, variables = plan.columns_of(protection)
    own = (*within, *variables)
    beside = [(*own, *one.outcome(protection)) for one in protection.keep]
    return [own, *((*variables, name) for name in protection.linked), *beside]


def compared_tables(plan: ReleasePlan) -> list[Columns]:
    """Tables compared before and after: columns that matter, and pairs with what determines how they are randomized."""
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
    needed = {*_required(plan)}
    instead = {frozenset(table): (table, list[Columns]()) for table in _compared_once(plan) if table not in needed}
    for pair in _pairs(plan, _compared_columns(plan)):
        table = frozenset(closure(plan, pair))
        if table in instead and len(table) > len(pair):
            instead[table][1].append(pair)
    smaller = {table: pairs for table, pairs in instead.values() if pairs}
    if plan.keys and (joint := joint_columns(plan)) not in (*needed, *_compared_once(plan)):
        smaller.setdefault(joint, [])
    return smaller


def described_tables(plan: ReleasePlan, others: Sequence[str]) -> list[Columns]:
    """Tables whose errors are stated to users: pairs with a randomized column, with all other published ones.

    With weights, these columns alone as well; and larger tables of ``keep``, and columns of formulas, where these are
    three.
    """
    moved = [*dict.fromkeys(plan.randomized)]
    alone = [(name,) for name in moved] if plan.weights is not None else []
    still = [name for name in others if name != plan.weights]
    pairs = [*combinations(moved, 2), *((name, other) for name in moved for other in still)]
    published = {*moved, *still}
    formulas = (read_formula(text) for text in plan.formulas)
    named = (tuple(dict.fromkeys((one.outcome, *one.columns))) for one in formulas)
    triples = (one for one in named if len(one) == 3 and {*one} <= published and {*one} & {*moved})
    asked = (one.columns for one in plan.keep if len(one.columns) > 2 and {*one.columns} & {*moved})
    return [*islice(dict.fromkeys([*alone, *asked, *triples, *pairs]), MOST_DESCRIBED)]


def _described(plan: ReleasePlan, others: Sequence[str]) -> list[Columns]:
    """What has to be counted for these tables besides what is counted anyway, each set of columns once."""
    counted = [{*table} for table in tables_of(plan)]
    needed = (closure(plan, table) for table in described_tables(plan, others))
    more = {frozenset(table): table for table in needed if not any({*table} <= one for one in counted)}
    return [*more.values()]


def risk_columns(plan: ReleasePlan) -> Columns:
    """The keys, and every column that determines how they are randomized."""
    return closure(plan, plan.keys)


def joint_columns(plan: ReleasePlan) -> Columns:
    """The same for all randomized columns together, which an intruder sees beside the keys."""
    own, joint = risk_columns(plan), closure(plan, [*plan.keys, *plan.randomized])
    return own if {*own} == {*joint} else joint


def closure(plan: ReleasePlan, columns: Sequence[str]) -> Columns:
    """Columns with all others that determine how they are randomized."""
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
    optional: Sequence[Columns] = (),
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
        optional=optional,
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


# Parts of the limit that are tried in turn, where a linkage attack on all columns is to stay below it; parts above the
# proportional one times SLACK are skipped
TIGHTER = tuple(Fraction(n, 10) for n in range(10, 1, -1))
SLACK = 1.25
Count = Callable[[Sequence[str]], CellTable]  # counts the records in one more table


@dataclass(frozen=True, eq=False)
class TrueUnits:
    """The records by the units that they belong to, such as households."""

    members: UnitMembers  # In the cells of the keys
    joint: UnitMembers | None = None  # In the cells of all randomized columns, where these matter


@dataclass(frozen=True, eq=False)
class Changes:
    """What recodes and local suppression made of the values."""

    # How many categories each recoded column had, and how many it has; and how many values each key has lost
    recoded: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    suppressed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrueFile:
    """What was counted in the true records."""

    tables: Mapping[Columns, CellTable]  # Their counts by columns
    path: str = ""  # Of the file; empty of a table in memory
    # By the columns of protections with one draw for a unit, the records of a unit for the labels of within
    sizes: UnitSizes = field(default_factory=dict)
    # By the columns of protections, what the other published columns tell of them
    fits: ColumnFits = field(default_factory=dict)
    others: tuple[str, ...] = ()  # Columns that are published as they are
    # Those that follow from a key: whoever knows the key knows them, and sees which records moved; and those by which
    # pools were made
    seen: tuple[str, ...] = ()
    units: TrueUnits | None = None  # Where the plan names units
    channels: tuple[SideChannel, ...] = ()  # What unchanged columns give away
    changes: Changes = field(default_factory=Changes)  # Of values, before anything is counted
    # Further counts, from which users are told how wrong tables are
    described: Mapping[Columns, CellTable] = field(default_factory=dict)
    further: tuple[str, ...] = ()  # Columns that rules ask, made from others, and that are not published
    notes: tuple[str, ...] = ()  # What a reader should know of recodes

    @property
    def members(self) -> UnitMembers | None:
        """The records by their units, in the cells of the keys."""
        return None if self.units is None else self.units.members

    @cached_property
    def rows(self) -> int:
        """Records of the file."""
        return next(iter(self.tables.values())).n

    @cached_property
    def missing(self) -> dict[str, int]:
        """Records without a value, by column."""
        missing = {}
        for (name, *more), table in self.tables.items():
            if not more and table.levels[0] and table.levels[0][-1] is None:
                missing[name] = int(table.counts[table.codes[:, 0] == len(table.levels[0]) - 1].sum())
        return missing

    @cached_property
    def source_name(self) -> str:
        """Name of the file without its folder."""
        return Path(self.path).name

    @cached_property
    def ending(self) -> str:
        """The kind of the released file: that of the true one, where such files can be written."""
        ending = ending_of(self.path) if self.path else ""
        return WRITTEN_AS.get(ending, ending)

    def risk_table(self, plan: ReleasePlan) -> CellTable:
        """Counts over the keys, the columns by which they are randomized, and those that follow from a key."""
        return self.tables[(*risk_columns(plan), *self.seen)]

    def joint_table(self, plan: ReleasePlan) -> CellTable | None:
        """The same with all other randomized columns; None where these have too many cells to be counted."""
        return self.tables.get((*joint_columns(plan), *self.seen))


def prepared(records: Rows, plan: ReleasePlan) -> tuple[Rows, ReleasePlan]:
    """The records recoded as a plan says, with the further columns that its rules ask; and the plan in their codes."""
    if records.read_once:
        raise ParameterError("a-release-reads-the-file-twice")
    kept, further = plan.order == "kept", dict[str, Further]()
    with records.open_stored([]) as source:
        names = source.schema.names
        plan.check(names)
        plan = with_records(plan, records)
        recoding = Recoding(plan.recodes, follow_order=kept)
        plan = plan.in_codes(recoding(source, str(records)).style)
    if any(isinstance(rule, Rule) for rule in plan.rules):
        plan, indicators = narrowed(plan, names)
        further |= indicators
    lost = suppression_of(recoded(records, Recoding(plan.recodes)), plan)
    plan, pools = pooled(recoded(records, Recoding(plan.recodes, suppression=lost)), plan)
    further |= pools
    return recoded(records, Recoding(plan.recodes, further, follow_order=kept, suppression=lost)), plan


def looked_at_again(plan: ReleasePlan, id_: str | None, names: Sequence[str]) -> set[str]:
    """Columns of a file that may be read again once counted: ids, units, weights, what is unchanged."""
    unchanged = {*names} - {*plan.randomized, *plan.unpublished}
    named = {one for one in (id_, plan.unit, plan.weights) if one is not None}
    counted = {name for table in tables_of(plan) for name in table} if unchanged or plan.unit is not None else set()
    return unchanged | named | counted


def read_true_file(
    records: Rows, plan: ReleasePlan, count: Count, progress: Progress | None = None, original: Rows | None = None
) -> TrueFile:
    """Count records that :func:`prepared` gave; ``count`` counts them once more, in a table that is found to matter.

    ``original`` are the same rows where ``records`` cannot be read without their recodes.
    """
    recoding, beside = _recoding(records, plan), _beside(records, plan)
    described = _described(plan, beside.columns)
    counted = count_records(records, plan, tables_of(plan), progress, beside, described)
    tables = {columns: table for columns, table in counted.items() if columns not in described}
    _check_missing_keys(plan, tables)
    sizes = _sizes(records, plan, tables)
    fits = column_fits(records, plan, tables, beside.columns)
    facts = with_originals(beside.facts(), original or records, plan.recodes, changed_together(plan))
    channels = side_channels(plan, facts)
    seen = tuple(dict.fromkeys([*following_columns(plan, channels), *_pooled_by(plan)]))
    if seen:
        tables = {**tables, **{columns: count(columns) for columns in tables_with(plan, tables, seen)}}
    units, of_units = beside.unit_facts(), None
    if units is not None and plan.unit is not None and plan.keys:
        linking, declared = linking_columns(plan, facts, units), plan.missing != "category"
        members = read_units(records, plan.unit, tables[(*risk_columns(plan), *seen)], seen=linking, declared=declared)
        of_units = TrueUnits(members, _joint_members(records, plan, tables, members, seen))
        together = unit_channel(plan, units, members)
        channels = (*channels, *([] if together is None else [together]))
    notes = list[str]()  # which labels of groups did not occur, and what the order of the records tells
    if recoding is not None:
        for column, labels in recoding.not_met().items():
            told = listed(map(repr, labels), len(labels), 60)
            notes.append(Note("labels-that-no-record-has", column=column, labels=told))
        notes += [note for one in recoding.further.values() for note in one.notes]
        notes += [Note("kept-order-tells-old-values", column=column) for column in recoding.told_by_order()]
    lost = None if recoding is None else recoding.suppression
    if lost is not None and plan.suppress is not None:
        counts = ", ".join(f"{name} {n:,}" for name, n in lost.by_key.items())
        figures = {"records": lost.records, "n": lost.table.n, "k": plan.suppress.k}
        matching = "matching any other, which hides less" if plan.suppress.any_value else "counted as a category"
        notes.append(Note("values-were-suppressed", counts=counts, missing=matching, **figures))
    return TrueFile(
        tables=tables,
        path=records.path or "",
        sizes=sizes,
        fits=fits,
        others=(*beside.columns,),
        seen=seen,
        units=of_units,
        channels=channels,
        described={columns: counted[columns] for columns in described if columns in counted},
        changes=Changes({} if recoding is None else recoding.categories(), {} if lost is None else lost.by_key),
        further=() if recoding is None else tuple(recoding.further),
        notes=tuple(notes),
    )


def following(records: Rows, plan: ReleasePlan) -> Columns:
    """The unchanged columns that follow from a key, of records that :func:`prepared` gave."""
    if not plan.keys:
        return ()
    beside = _beside(records, plan)
    count_records(records, plan, [risk_columns(plan)], beside=beside)
    return following_columns(plan, side_channels(plan, beside.facts()))


def _pooled_by(plan: ReleasePlan) -> list[str]:
    """Published columns, besides the keys, by which units are at risk and so are pooled: they say who was where."""
    if not plan.keys:
        return []
    named = [name for one in plan.protections if one.pool for name in one.how.named_columns["risk"]]
    return [name for name in named if name not in (*plan.keys, *plan.randomized, *plan.unpublished)]


def _recoding(records: Rows, plan: ReleasePlan) -> Recoding | None:
    made = plan.recodes or plan.rules or plan.suppress or any(one.pool for one in plan.protections)
    return recoding_of(records) if made else None


def _beside(records: Rows, plan: ReleasePlan) -> DependenceCounter:
    """What follows the unchanged columns through the records."""
    recoding = _recoding(records, plan)
    further = {} if recoding is None else recoding.further
    return dependence_counter(plan, [name for name in records.schema.names if name not in further])


def _joint_members(
    records: Rows, plan: ReleasePlan, tables: Mapping[Columns, CellTable], members: UnitMembers, seen: Columns
) -> UnitMembers | None:
    """The units in the cells of all randomized columns, where they are published or have one draw, and are few."""
    by_unit = any(one.each == UNIT for one in plan.protections)
    table = tables.get((*joint_columns(plan), *seen))
    if table is None or len(members.sizes) > MOST_UNITS or not (by_unit or plan.unit not in plan.unpublished):
        return None
    if joint_columns(plan) == risk_columns(plan) or plan.unit is None:
        return members
    return read_units(records, plan.unit, table, declared=plan.missing != "category")


def _check_missing_keys(plan: ReleasePlan, tables: Tables) -> None:
    """Raise, before anything is computed, where records that stay as they are for a missing key break the limit."""
    moving = [{*one.variables} for one in plan.protections if {*one.moved} & {*plan.keys}]
    if plan.match is None or plan.missing == "category" or not moving:
        return
    table = tables[risk_columns(plan)].project(plan.keys)
    lacking = {key: (table.codes[:, i] == _missing_code(table.levels[i])) for i, key in enumerate(plan.keys)}
    stays = [np.any([lacking[key] for key in plan.keys if key in variables], axis=0) for variables in moving]
    least = -(-plan.match.denominator // plan.match.numerator)
    small = np.logical_and.reduce([table.counts < least, *stays])
    if small.any():
        named = [key for key in plan.keys if (small & lacking[key]).any()]
        raise InfeasibleError(
            "records-with-a-missing-key",
            above=int(table.counts[small].sum()),
            rows=table.n,
            named=listed([shorten(name, 24) for name in named], len(named), 40),
            least=least,
            match=to_decimal(plan.match),
        )


def _missing_code(levels: Sequence[Hashable]) -> int:
    """The code of the missing value in a table, which no cell has where none is missing."""
    return len(levels) - 1 if levels and levels[-1] is None else -1


def _sizes(records: Rows, plan: ReleasePlan, tables: Tables) -> UnitSizes:
    sizes = {}
    for i, protection in enumerate(plan.protections, 1):
        if protection.each == UNIT and plan.unit is not None:
            within, variables = plan.columns_of(protection)
            table = tables[(*within, *variables)]
            members = read_units(records, plan.unit, table, declared=plan.missing != "category")
            sizes[(*within, *variables)] = unit_sizes(table, within, members, f"[[protect]] number {i}")
    return sizes


def column_fits(
    records: Rows, plan: ReleasePlan, tables: Mapping[Columns, CellTable], unchanged: Sequence[str]
) -> ColumnFits:
    """What the unchanged columns reveal about keys, for protections that look at it or whose intruder is simulated."""
    moving = [one for one in plan.protections if {*one.moved} & {*plan.keys}]
    fits: dict[Columns, ColumnFit] = {}
    for protection in moving:
        within, variables = plan.columns_of(protection)
        table, match = tables[(*within, *variables)], plan.match_of(protection)
        least = TIGHTER[-1] if plan.against.weighs_columns else 1
        below = SMALL if match is None else float(1 / (match * least))
        whole, by_unit = table.n <= MOST_KEPT, protection.each == UNIT
        grouped = protection.base.weighs_others and (whole or not by_unit)
        useful = grouped or (whole and not by_unit and len(moving) == 1)
        if useful and is_below(table.counts, below).any():
            others = [name for name in unchanged if name not in table.columns]
            fit = read_column_fit(records, table, others, below, declared=plan.missing != "category")
            fits |= {} if fit is None else {table.columns: fit}
    return fits

"""Assessing a plan: its matrices, risk and utility, from the counts of records; a drawn file is judged alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from maskwell.core.arguments import check_kind, check_path, list_of
from maskwell.core.cells import CellTable
from maskwell.core.freed_memory import give_back_memory
from maskwell.core.phrases import Printed, shorten
from maskwell.core.verdicts import above, at_most
from maskwell.engines.kept_rows import kept_rows
from maskwell.engines.row_sources import Progress
from maskwell.engines.rows import Rows
from maskwell.errors import InfeasibleError, UnknownCategoryError
from maskwell.microdata import true_file
from maskwell.microdata.plans.kept_tables import KeptTable
from maskwell.microdata.plans.recodes import check_labels_met
from maskwell.microdata.plans.release_plan import JOINT_TABLE, ReleasePlan
from maskwell.microdata.records.column_values import check_ids
from maskwell.microdata.records.recoding import recoding_of
from maskwell.microdata.records.unit_rows import UnitMembers, read_units
from maskwell.microdata.release_values import PRIVATE, Assessment, Origin
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.risk.joined_columns import SMALL, JoinedRisk, joined_risk
from maskwell.microdata.risk.joint_disclosure import JointTable, others_randomized, with_joint_table
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.risk.unit_draws import DrawnUnits, have_one_draw, units_told
from maskwell.microdata.risk.unit_table import SeenUnits, shown_unit
from maskwell.microdata.side_channels import check_side_channels, side_channel_risk, side_channel_warnings
from maskwell.microdata.stages.given_stages import can_carry_on
from maskwell.microdata.stages.stage import Stage, State, unchanged_columns
from maskwell.microdata.stages.stage_building import CarriedOn, ColumnFits, build_stages
from maskwell.microdata.table_keeping import check_kept_anyway, keep_tables, not_kept_by
from maskwell.microdata.true_file import Columns, Count, Tables, TrueFile
from maskwell.microdata.utility.propensity import propensity_score, widest_table
from maskwell.microdata.utility.utility_report import UtilityReport, assess_utility
from maskwell.notes import Note


def assess_file(
    path: str, plan: ReleasePlan, *, earlier: Sequence[Stage] | None = None, progress: Progress | None = None
) -> Assessment:
    """What a plan would do to a file, by its matrices or those of ``earlier`` stages. Nothing is written."""
    earlier = None if earlier is None else list_of(Stage, earlier, "earlier")
    check_kind(Callable | None, progress=progress)
    check_path(path=path)
    check_kind(ReleasePlan, plan=plan)
    return assess(*true_file.prepared(Rows.of(path), plan), earlier, progress)


def assess(
    records: Rows,
    plan: ReleasePlan,
    earlier: Sequence[Stage] | None = None,
    progress: Progress | None = None,
    origin: Origin = PRIVATE,
) -> Assessment:
    """What a plan would do to records that :func:`prepared` gave, with what their unchanged columns give away."""
    part = Fraction(1)
    while True:  # forms that keep tables are chosen by matrices for the part of the limit that is needed in the end
        settled, kept = keep_tables(records, plan, earlier, part)
        assessed = _assess_once(records, settled, earlier, progress, origin)
        needed = assessed.tighter or part
        if not kept or needed >= part:
            break
        part = needed
    if kept and needed != part:
        counted = [*assessed.tables.values(), *assessed.file.described.values()]
        kept = tuple(one.again(assessed.stages, counted) for one in kept)
    if kept and needed < 1:  # without keep another part of the limit may do
        plain = _assess_once(records, replace(plan, keep=()), earlier, None, origin)
        known = [*plain.tables.values(), *plain.file.described.values(), *assessed.file.described.values()]
        kept = tuple(one.beside(plain.stages, known) for one in kept)
    counted = [*assessed.tables.values(), *assessed.file.described.values()]
    if earlier is None:
        check_kept_anyway(plan, assessed.stages, counted)
    elif plan.keep:
        said = [_not_kept(*one) for one in not_kept_by(plan, assessed.stages, counted)]
        return replace(assessed, found=(*assessed.found, *said))
    return replace(assessed, kept=kept) if kept else assessed


def _not_kept(table: KeptTable, bias: float | None) -> Note:
    """The note of a table of ``keep`` that earlier matrices do not keep."""
    title = shorten(table.title, 40)
    if bias is None:
        return Note("kept-by-no-earlier-matrix-as-far-as-known", table=title)
    return Note("kept-by-no-earlier-matrix", table=title, bias=Printed(100 * bias))


def _assess_once(
    records: Rows, plan: ReleasePlan, earlier: Sequence[Stage] | None, progress: Progress | None, origin: Origin
) -> Assessment:
    stored = [*dict.fromkeys(name for table in true_file.tables_of(plan) for name in table)]
    id_ = plan.id if origin.keyed is not None else None
    with kept_rows(records, stored, partial(true_file.looked_at_again, plan, id_)) as rows:

        def count(columns: Sequence[str]) -> CellTable:
            return true_file.count_records(rows, plan, [(*columns,)])[(*columns,)]

        file = true_file.read_true_file(rows, plan, count, progress, records)
        if id_ is not None:
            check_ids(rows, id_)
        assessed = assess_counts(file, plan, earlier, origin=origin, count=count)
    recoding = recoding_of(records)
    if recoding is not None and (plan.recodes or plan.rules):
        check_labels_met(plan, recoding)
    return assessed


def assess_tables(
    tables: Tables, plan: ReleasePlan, path: str = "", earlier: Sequence[Stage] | None = None
) -> Assessment:
    """The same from counts alone."""
    return assess_counts(TrueFile(tables=tables, path=path), plan, earlier)


def assess_counts(
    file: TrueFile,
    plan: ReleasePlan,
    earlier: Sequence[Stage] | None = None,
    *,
    tighter: Fraction | None = None,
    origin: Origin = PRIVATE,
    count: Count | None = None,
) -> Assessment:
    """The same from what was read of a file; with ``count``, what unchanged columns give away is checked, too."""
    give_back_memory()
    external = true_file.count_external(plan) if earlier is None else None

    def build(part: Fraction, anew: CarriedOn | None = None) -> tuple[Stage, ...]:
        as_then = earlier if anew is None or anew else None
        return build_stages(plan, file.tables, external, as_then, file.sizes, file.fits, part, anew)

    if earlier is None:
        stages, tighter, joined = _against_all_columns(plan, build, file.fits, tighter)
    else:
        stages, tighter, joined = _as_earlier(plan, build, file, earlier)
    give_back_memory()
    judge = Judge(plan, stages, file, joined)
    risk, utility = judge.risk(), judge.utility()
    give_back_memory()
    also = None
    if count is not None:
        check_side_channels(file.channels)
        also = side_channel_risk(plan, file.channels, stages, count)
    return Assessment(
        plan=plan,
        stages=stages,
        file=file,
        risk=risk,
        utility=utility,
        tighter=tighter,
        joined=joined,
        side_channel_risk=also,
        found=(*side_channel_warnings(file.channels, also), *file.notes),
        origin=origin,
    )


def with_stages(assessed: Assessment, stages: tuple[Stage, ...]) -> Assessment:
    """What was assessed, with other matrices."""
    judge = Judge(assessed.plan, stages, assessed.file, assessed.joined)
    return replace(assessed, stages=stages, risk=judge.risk(), utility=judge.utility())


def _against_all_columns(
    plan: ReleasePlan, build: Callable[[Fraction], tuple[Stage, ...]], fits: ColumnFits, tighter: Fraction | None
) -> tuple[tuple[Stage, ...], Fraction, JoinedRisk | None]:
    """The stages, and what a linkage attack on all columns reaches: made for a smaller limit where the plan asks."""
    if tighter is not None:
        return build(tighter), tighter, None
    limit = plan.match if plan.against.weighs_columns and plan.match is not None else Fraction(1)
    before, hopeless = None, None
    for part in true_file.TIGHTER:
        if hopeless is not None and above(part, hopeless) and part != true_file.TIGHTER[-1]:
            continue
        stages = build(part)
        joined = _joined(plan, stages, fits)
        if joined is None or at_most(joined.to_spare, limit) or joined == before:
            break  # a smaller limit would change nothing
        # the share falls more slowly than the limit that a matrix is made for
        before, hopeless = joined, float(part * limit) / joined.to_spare * true_file.SLACK
    return stages, part, joined


MOST_ROUNDS = 8  # sets of states that are drawn anew, before all are


def _as_earlier(
    plan: ReleasePlan, build: Callable[..., tuple[Stage, ...]], file: TrueFile, earlier: Sequence[Stage]
) -> tuple[tuple[Stage, ...], Fraction, JoinedRisk | None]:
    """The matrices of an earlier release; where they would break the limit, columns of the plan's own in their place.

    States whose records are above the limit are drawn anew, then those that this puts above it, at last all: then the
    matrix is the one that the plan has without an earlier release.
    """
    whole, joined = Fraction(1), None
    possible = any(can_carry_on(stage) for stage in earlier)
    try:
        stages = build(whole)
        joined = _joined(plan, stages, file.fits)
        beyond = _states_above(plan, stages, file, joined)
        if not any(beyond) or not possible:
            return stages, whole, joined
    except (UnknownCategoryError, InfeasibleError):
        if not possible:
            raise
        beyond = [set[State]() for _ in earlier]
    own, tighter, _ = _against_all_columns(plan, lambda part: build(part, ()), file.fits, None)
    every = [{*stage.states} for stage in own]
    for number in range(1, MOST_ROUNDS + 1):
        stages = build(tighter, [*zip(own, beyond, strict=True)])
        joined = _joined(plan, stages, file.fits)
        more = _states_above(plan, stages, file, joined)
        grown = [one | other for one, other in zip(beyond, more, strict=True)]
        if not any(more) or beyond == every:
            break
        beyond = grown if grown != beyond and number < MOST_ROUNDS - 1 else every
    return stages, tighter, joined


def _states_above(
    plan: ReleasePlan, stages: Sequence[Stage], file: TrueFile, joined: JoinedRisk | None
) -> list[set[State]]:
    """Of each stage the states of records above the limit of the plan; all, where only a whole file can be above it."""
    risk = Judge(plan, (*stages,), file, joined).risk()
    if plan.match is None or risk is None or risk.after is None:
        return [set() for _ in stages]
    if joined is not None and plan.against.weighs_columns and above(joined.to_spare, plan.match):
        return [{*stage.states} for stage in stages]
    table, found = risk.table, list[set[State]]()
    over = [table.label(int(cell)) for cell in np.flatnonzero(above(risk.risk, float(plan.match), scale=1))]
    for stage in stages:
        places = [table.place(name) for name in stage.columns if name in table.columns]
        known = len(places) == len(stage.columns)
        found.append({tuple(label[place] for place in places) for label in over} & {*stage.states} if known else set())
    return found


def _joined(plan: ReleasePlan, stages: Sequence[Stage], fits: ColumnFits) -> JoinedRisk | None:
    """What a linkage attack on unchanged columns reaches, where that can be simulated."""
    moving = [stage for stage in stages if {*stage.moved} & {*plan.keys}]
    fit = fits.get(tuple(moving[0].columns)) if len(moving) == 1 else None
    below = SMALL if plan.match is None else 1 / float(plan.match)
    return None if fit is None else joined_risk(stages, plan.keys, fit, below)


@dataclass(frozen=True)
class Judge:
    """Measures risk and utility: of a file that may be drawn, or of one that is."""

    # What is asked for, the randomizations, and what was counted in the true records
    plan: ReleasePlan
    stages: tuple[Stage, ...]
    file: TrueFile
    joined: JoinedRisk | None = None  # The simulated linkage attack on unchanged columns
    # Counts of the drawn file by their columns; None before there is one
    released: Mapping[Columns, CellTable] | None = None
    written: Rows | None = None  # The drawn records, where there are any

    def risk(self) -> RiskReport | None:
        """What an intruder can learn; ``None`` without key variables."""
        plan = self.plan
        if not plan.keys:
            return None
        risk = assess_risk(
            self.file.risk_table(plan),
            plan.keys,
            self.stages,
            released=self._released_keys,
            threshold=None if plan.match is None else float(plan.match),
            weights=plan.weights is not None,
            intruder=plan.intruder,
            seen=self._seen,
        )
        return replace(_in_any_sample(plan, self._of_units(risk)), joined=self.joined)

    def utility(self, changed: Mapping[str, int] | None = None) -> UtilityReport:
        """What the file is good for; ``changed`` is the number of records whose value was changed, by column."""
        plan, tables = self.plan, self.file.tables
        asked = {
            *true_file.compared_tables(plan),
            *(one for pairs in true_file.smaller_tables(plan).values() for one in pairs),
        }
        compared = [columns for columns in tables if columns in asked]
        after = None if self.released is None else [self.released[table] for table in compared]
        shares = {name: n / self.file.rows for name, n in (changed or {}).items()}
        utility = assess_utility([tables[table] for table in compared], after, self.stages, changed=shares)
        widest = None if self.released is None else widest_table(tables, self.released, plan.randomized)
        if widest is None or self.released is None:
            return utility
        shown = [name for name in widest if name not in self.file.further]
        before, drawn = (one[widest].project(shown) for one in (tables, self.released))
        return replace(utility, propensity=propensity_score(before, drawn))

    def _with_joint_table(self, risk: RiskReport) -> RiskReport:
        """The risk with what all randomized columns, and units that are published, reveal beside the keys."""
        plan, table = self.plan, self.file.joint_table(self.plan)
        seen = () if table is None else [name for name in table.columns if name not in plan.unpublished]
        visible = tuple(dict.fromkeys([*plan.keys, *seen]))
        others = others_randomized(self.stages, plan.keys)
        unit = shown_unit(None if plan.unit in plan.unpublished else plan.unit, self.stages, visible, others)
        drawn = None if self.released is None else self.released.get(true_file.joint_columns(plan))
        drawn = drawn.project(visible) if drawn is not None and {*visible} <= {*drawn.columns} else None
        units, members = None, None if self.file.units is None else self.file.units.joint
        if members is not None and table is not None and (others or unit):
            written = self.written if unit else None
            known = None if written is None or drawn is None or self._made(drawn) else self._units_in(written, drawn)
            units = SeenUnits(table, members, plan.keys, visible, unit is not None, drawn, known)
        accepted = JOINT_TABLE in plan.accept
        return with_joint_table(risk, self.stages, JointTable(table, others, visible, drawn, accepted, units, unit))

    @cached_property
    def _released_keys(self) -> CellTable | None:
        return None if self.released is None else self.released[true_file.risk_columns(self.plan)]

    @cached_property
    def _seen(self) -> tuple[str, ...]:
        """Unchanged columns in whose cells records are counted: those within which keys are drawn, and followers."""
        plan = self.plan
        within = [name for name in unchanged_columns(self.stages, plan.keys) if name not in plan.unpublished]
        return tuple(dict.fromkeys([*within, *self.file.seen]))

    def _of_units(self, risk: RiskReport) -> RiskReport:
        """The risk with that of units, such as households, where the plan names these."""
        known = self.file.members
        if known is None:
            return self._with_joint_table(risk)
        shown = next((one for one in self.file.channels if one.kind == "shows units"), None)
        drawn = self._released_keys
        units = DrawnUnits(
            self.file.risk_table(self.plan),
            known,
            seen=self._seen,
            shown=shown is not None,
            released=drawn if drawn is not None and {*self._seen} <= {*drawn.columns} else None,
            released_members=self._released_members,
        )
        seen_by = () if shown is None else (shown.column,) if shown.column == shown.of else known.seen
        share, also = 0.0 if shown is None else shown.share, self._with_joint_table
        return units_told(risk, self.stages, units, seen_by=seen_by, seen_share=share, also=also)

    @cached_property
    def _released_members(self) -> UnitMembers | None:
        """The units of the drawn records as the file shows them, where it does and they have one draw."""
        plan, drawn = self.plan, self._released_keys
        if self.written is None or drawn is None or plan.unit is None or plan.unit in plan.unpublished:
            return None
        if self._made(drawn):
            return None
        return self._units_in(self.written, drawn) if have_one_draw(self.stages, plan.keys) else None

    def _made(self, table: CellTable) -> bool:
        """Whether a table has further columns, which released records lack."""
        return bool({*table.columns} & {*self.file.further})

    def _units_in(self, records: Rows, table: CellTable) -> UnitMembers:
        """The units of drawn records, and the cells that they lie in."""
        assert self.plan.unit is not None
        return read_units(records, self.plan.unit, table, declared=self.plan.missing != "category")


def _in_any_sample(plan: ReleasePlan, risk: RiskReport) -> RiskReport:
    """A limit that holds in every sample is checked where looking is easiest; nobody is sampled and found above it."""
    after, inclusion = risk.after, risk.before.max_risk_sampled
    if after is None or after.sample is None or inclusion is None or plan.match is None:
        return risk
    if not plan.against.looks_anywhere:
        return risk
    limit = 1.0 if after.records_above else float(plan.match)
    sample = replace(after.sample, max_risk_sampled=inclusion * limit)
    return replace(risk, after=replace(after, sample=sample))

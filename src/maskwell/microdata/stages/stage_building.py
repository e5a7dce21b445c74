"""Stages of a release: from its plan and the counts of a file, or an earlier release, to the matrix of every cell."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.categories import Categories
from maskwell.core.cells import CellTable
from maskwell.core.groups import distinct_rows
from maskwell.core.phrases import Printed, listed, shorten
from maskwell.core.verdicts import above
from maskwell.designs.sparse import Sparse
from maskwell.errors import InfeasibleError, ParameterError, PlanError
from maskwell.microdata.matrices.bounds import Bounds
from maskwell.microdata.matrices.kept_cells import KeptCells
from maskwell.microdata.matrices.matrix_algebra import mixed, repeated
from maskwell.microdata.matrices.matrix_checks import is_invariant
from maskwell.microdata.plans.count_methods import Swap, matrix_from_counts
from maskwell.microdata.plans.edit_rules import check_combinations, check_moves, check_rules, forbidden_moves
from maskwell.microdata.plans.kept_tables import KeptTable
from maskwell.microdata.plans.method import CountMethod, GivenMethod, OpenStates
from maskwell.microdata.plans.plan_entries import find_levels
from maskwell.microdata.plans.protection import UNIT, Protection
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records.column_fit import ColumnFit
from maskwell.microdata.records.unit_rows import UnitMembers
from maskwell.microdata.stages.given_stages import can_carry_on, carried_on, given_stage, recounted_stage
from maskwell.microdata.stages.stage import Stage, state_categories
from maskwell.notes import Note

Labels = tuple[Hashable, ...]
Tables = Mapping[tuple[str, ...], CellTable]
# By what is kept, the note that the other is not, where mean weights differ
_NOT_BOTH = {"counts": "counts-are-kept-on-average-sums", "weights": "sums-of-weights-are-kept-on-average"}
# By the columns of a protection, the records of a unit for the labels of its ``within``.
UnitSizes = Mapping[tuple[str, ...], Mapping[Labels, int]]
# By the columns of a protection, what the other published columns tell of them.
ColumnFits = Mapping[tuple[str, ...], ColumnFit]
# Of each protection the stage that the plan itself asks for, and the states whose draws are to be new ones.
CarriedOn = Sequence[tuple[Stage, Collection[Labels]]]


def build_stages(
    plan: ReleasePlan,
    tables: Tables,
    external: Mapping[str, CellTable] | None = None,
    earlier: Sequence[Stage] | None = None,
    sizes: UnitSizes | None = None,
    fits: ColumnFits | None = None,
    tighter: Fraction = Fraction(1),
    anew: CarriedOn | None = None,
) -> tuple[Stage, ...]:
    """The stages of a plan, in its order; ``sizes`` of units, ``fits``, and ``external`` files by their columns.

    Those of an ``earlier`` release are carried out again, with the columns of other matrices where ``anew`` says so.
    """
    for column in plan.codebook:  # refused where the file holds a label that its codebook does not list
        if (table := next((table for columns, table in tables.items() if column in columns), None)) is not None:
            plan.levels_of(table, column)
    if plan.rules:
        check_rules(plan, tables)
    _check_swaps(plan)
    if earlier is not None and len(earlier) != len(plan.protections):
        raise ParameterError(
            "earlier-stages-for-protections", earlier_count=len(earlier), protections_count=len(plan.protections)
        )
    stages = []
    for number, protection in enumerate(plan.protections, 1):
        where = f"[[protect]] number {number}"
        if earlier is not None:
            within, variables = plan.columns_of(protection)
            table = tables[(*within, *variables)]
            if anew is not None and can_carry_on(earlier[number - 1]):
                own, states = anew[number - 1]
                made = carried_on(earlier[number - 1], own, states, table, tables, where)
            else:
                made = recounted_stage(plan, earlier[number - 1], table, tables, where)
            if plan.rules:  # rules and bounds are looked at again, with the counts of this file
                check_moves(plan, made, table, where)
            _check_linked(made, made.linked, where)
            stages.append(_with_sizes(plan, where, made, sizes))
            continue
        other = (external or {}).get(",".join(protection.variables))
        made = _stage(plan, where, protection, _by_unit(plan, protection, tables, sizes), other, fits or {}, tighter)
        stages.append(_with_sizes(plan, where, made, sizes))
    if plan.rules:
        check_combinations(plan, stages, tables)
    return tuple(stages)


def unit_sizes(table: CellTable, within: Sequence[str], members: UnitMembers, where: str) -> dict[Labels, int]:
    """The size of a unit, by the labels of ``within``: all agree, or the released number would reveal units."""
    first = np.zeros(len(members.sizes), dtype=np.int64)
    first[members.units] = members.cells
    differ = first[members.units] != members.cells
    if differ.any():
        codes = table.codes[first[members.units]] != table.codes[members.cells]
        name = table.columns[int(np.flatnonzero(codes.any(axis=0))[0])]
        units = len(np.unique(members.units[differ]))
        raise PlanError(
            "differs-within",
            where=where,
            name=shorten(name, 24),
            units=units,
            words="unit" if units == 1 else "units",
            column=name,
        )
    cells = table.codes[first][:, : len(within)]
    kinds = np.unique(np.column_stack([cells, members.sizes]), axis=0)
    if len(np.unique(kinds[:, :-1], axis=0)) < len(kinds):
        raise PlanError("units-of-different-sizes-would", where=where)
    levels = table.levels[: len(within)]
    return {tuple(level[code] for level, code in zip(levels, row, strict=True)): size for *row, size in kinds.tolist()}


def _by_unit(plan: ReleasePlan, protection: Protection, tables: Tables, sizes: UnitSizes | None) -> Tables:
    """The tables of a protection, with counts of units where these have one draw: matrices are made for them."""
    if protection.each != UNIT:
        return tables
    within, variables = plan.columns_of(protection)
    columns = (*within, *variables)
    known = (sizes or {})[columns]
    of_cells = np.array([known[label[: len(within)]] for label in tables[columns].labels()], dtype=np.int64)
    return {**tables, columns: replace(tables[columns], counts=tables[columns].counts // of_cells)}


def _with_sizes(plan: ReleasePlan, where: str, stage: Stage, sizes: UnitSizes | None) -> Stage:
    """A stage with one draw for a unit says how many records a unit has, and counts records."""
    if plan.protection_of(stage).each != UNIT:
        return stage
    if stage.columns not in (sizes or {}):  # one matrix for all labels of within
        raise PlanError("each-unit-needs-a-matrix", where=where)
    known = (sizes or {})[stage.columns]
    of_states = np.array([known.get(state[: len(stage.within)], 1) for state in stage.states], dtype=np.int64)
    made = stage.unit is None  # an earlier stage was counted in records
    return replace(stage, unit=plan.unit, sizes=of_states, counts=stage.counts * of_states if made else stage.counts)


def _check_swaps(plan: ReleasePlan) -> None:
    """A swap moves counted records; within a column that was randomized before it, their number is not known."""
    moved: set[str] = set()
    for number, protection in enumerate(plan.protections, 1):
        within, _ = plan.columns_of(protection)
        if protection.how.exchanges and moved & {*within}:
            name = min(moved & {*within})
            raise PlanError("protect-number-a-swap-within-which", number=number, column=name)
        moved |= {*protection.moved}


def _stage(
    plan: ReleasePlan,
    where: str,
    protection: Protection,
    tables: Tables,
    external: CellTable | None,
    fits: ColumnFits,
    tighter: Fraction,
) -> Stage:
    if protection.how.by_unit and protection.pool is None:
        raise PlanError("targeted-swap-needs-records", where=where)
    within, variables = plan.columns_of(protection)
    table = tables[(*within, *variables)]
    linked = {name: _linked(tables[(*variables, name)], name, where) for name in protection.linked}
    if isinstance(protection.base, GivenMethod):
        stage = given_stage(plan, protection, protection.base, table, where)
    else:
        fit = fits.get(table.columns) if external is None else None
        counted = _with_external(table, external)
        others = None if fit is None else _OtherColumns(fit, len(within), tighter)
        kept = [(one, tables[(*table.columns, *one.outcome(protection))]) for one in protection.keep]
        stage = _Counted(plan, protection, protection.base, *counted, within, where, others, kept).stage()
    if protection.again is not None:  # drawn anew in each release; all that is said of the stage is about both steps
        if [*stage.states] != [*stage.outputs]:
            raise PlanError("again-needs-a-matrix-whose-reports", where=where)
        then, whole = repeated(stage.design, protection.again)
        stage = replace(stage, design=whole, steps=(stage.design, then))
    if plan.rules:
        check_moves(plan, stage, table, where)
    _check_linked(stage, linked, where)
    added = [name for name in stage.within if name not in (*protection.within, protection.pool)]
    notes = (Note("randomized-within-too-because-a-rule", added=", ".join(added)),) if added else ()
    return replace(stage, linked=linked, notes=(*stage.notes, *notes))


def _linked(table: CellTable, name: str, where: str) -> dict[tuple[Hashable, ...], Hashable]:
    """The label of a linked column for each combination of the variables; an error where it does not follow."""
    linked_labels: dict[tuple[Hashable, ...], Hashable] = {}
    for *variables, label in table.labels():
        key = tuple(variables)
        if linked_labels.setdefault(key, label) != label:
            both = f"{shorten(str(linked_labels[key]), 40)} or {shorten(str(label), 40)}"
            raise PlanError(
                "does-not-follow-records-that-agree",
                where=where,
                name=shorten(name, 20),
                columns=[*table.columns],
                values=f"{both} for {shorten(', '.join(map(str, key)), 80)}",
                column=name,
            )
    return linked_labels


def _check_linked(stage: Stage, linked: Mapping[str, Mapping[tuple[Hashable, ...], Hashable]], where: str) -> None:
    """Raise where a combination can be released for which no record has the label of a linked column."""
    for name, follows in linked.items():
        for label in stage.outputs:
            if (combination := label[len(stage.within) :]) not in follows:
                raise PlanError(
                    "a-combination-may-be-released",
                    where=where,
                    values=shorten(", ".join(map(str, combination)), 80),
                    column=name,
                )


def _with_external(table: CellTable, external: CellTable | None) -> tuple[CellTable, Array | None]:
    """The cells of the file and of another one, with the records of the file; and the records of the other one."""
    if external is None:
        return table, None
    labels = [*dict.fromkeys([*table.labels(), *external.labels()])]
    both = CellTable.of(table.columns, dict.fromkeys(labels, 1))
    places = {label: i for i, label in enumerate(both.labels())}

    def spread(source: CellTable, values: Array | None) -> Any:
        if values is None:
            return None
        out = np.zeros(len(both), dtype=values.dtype)
        out[[places[label] for label in source.labels()]] = values
        return out

    sums = {"weights": spread(table, table.weights), "squares": spread(table, table.squares)}
    return replace(both, counts=spread(table, table.counts), **sums), spread(external, external.counts)


@dataclass(frozen=True, eq=False)
class _Counted:
    """A protection with a matrix to be computed, from its states, or from records of an ``external`` file in them."""

    plan: ReleasePlan
    protection: Protection
    method: CountMethod
    table: CellTable
    external: Array | None
    within: tuple[str, ...]
    where: str
    others: _OtherColumns | None
    kept: Sequence[tuple[KeptTable, CellTable]] = ()  # Tables to be kept, with the counts of their other columns

    def of(self, values: Array | None) -> Any:
        return None if values is None else values[self.rows]

    @cached_property
    def invariance(self) -> str:
        """What the matrix keeps on average."""
        protection, plan = self.protection, self.plan
        if (asked := self.method.invariance_asked) is not None:
            return asked
        if protection.counts_from is not None:
            return "external"
        bounded = protection.bounds.asked() or protection.caps or plan.match_of(protection) is not None
        by_counts = protection.how.by_counts or self.method.by_counts or protection.each == UNIT
        by_counts |= bool(bounded) and not self.method.bounds_weighted
        by_counts |= plan.weights in plan.drop  # users could not weight
        return "counts" if plan.weights is None or by_counts else "weights"

    @cached_property
    def rows(self) -> Array:
        """The places of the states in the table; a missing value is none unless the plan makes it a category."""
        lost, first = np.zeros(len(self.table), dtype=bool), len(self.within)
        for place, levels in enumerate(self.table.levels[first:], first):
            if self.plan.missing != "category" and levels and levels[-1] is None:
                lost |= self.table.codes[:, place] == len(levels) - 1
        return np.flatnonzero(~lost)

    @cached_property
    def mass(self) -> Array:
        weights = self.table.weights if self.invariance == "weights" else None
        kept = self.table.counts if weights is None else weights
        return np.asarray((kept if self.external is None else self.external)[self.rows])

    @cached_property
    def labels(self) -> list[Labels]:
        every = self.table.labels()
        return every if len(self.rows) == len(every) else [every[row] for row in self.rows.tolist()]

    @cached_property
    def cells(self) -> Array:
        codes = self.table.codes[self.rows, : len(self.within)]
        if not codes.shape[1]:
            return np.zeros(len(codes), dtype=np.int64)
        return np.asarray(np.unique(codes, axis=0, return_inverse=True)[1]).reshape(-1)

    @cached_property
    def open_states(self) -> Array:
        """The states that are randomized: those with records that no entry excludes."""
        protection, where = self.protection, self.where
        excluded = np.zeros(len(self.rows), dtype=bool)
        for column, labels in protection.exclude.items():  # they stay as they are and are never drawn
            place = self.table.place(column)
            levels = self.table.levels[place]
            named = find_levels(labels, levels, f"{where}: exclude of {column!r}")
            excluded |= np.array([level in named for level in levels], dtype=bool)[self.table.codes[self.rows, place]]
        if not len(open_ := np.flatnonzero((self.mass > 0) & ~excluded)):
            raise PlanError("no-record-of-is-left", where=where, variables=" and ".join(protection.variables))
        forgotten = np.flatnonzero((self.mass == 0) & (self.of(self.table.counts) > 0) & ~excluded)
        if len(forgotten):  # records that would stay as they are, unasked
            names = (" / ".join(map(str, self.labels[i])) for i in forgotten.tolist())
            weightless = 'give these records weights, preserve counts (invariance = "counts"), or exclude it'
            absent = "add it to that file with at least one record, or exclude it in the plan"
            elsewhere = protection.counts_from is not None
            raise PlanError(
                "occurs-but-it-would-stay",
                hint=absent if elsewhere else weightless,
                where=where,
                cells=listed(names, len(forgotten), 30),
                reason="not in counts_from" if elsewhere else "with a weight of 0 only",
            )
        return open_

    def asked(self) -> OpenStates:
        """What the method needs to know of the open states."""
        plan, table, first, open_ = self.plan, self.table, len(self.within), self.open_states
        rows, cells, labels = self.rows[open_], self.cells[open_], [self.labels[i][first:] for i in open_]
        counts = self.of(table.counts) if self.external is None else self.mass
        asked = OpenStates(
            counts=counts[open_],
            mass=self.mass[open_],
            labels=labels,
            codes=table.codes[rows, first:],
            cells=cells,
            bounds=self._bounds(labels),
            forbidden=forbidden_moves(plan, table, rows, cells, self.protection.variables) if plan.rules else [],
            where=self.where,
            intruder=plan.intruder,
            kept=[self._kept_cells(one, counted).part(rows) for one, counted in self.kept],
        )
        return self.others.beside(asked, rows) if self.others is not None and self.method.weighs_others else asked

    def _kept_cells(self, asked: KeptTable, counted: CellTable) -> KeptCells:
        """The part of each cell of the table that another one names, and its records by outcome."""
        table, width = self.table, len(self.table.columns)
        linked = {*self.protection.linked} & {*asked.columns}  # they follow from all variables together
        names = self.protection.variables if linked else asked.columns
        named = [table.codes[:, i] for i, name in enumerate(table.columns) if name in names]
        parts, outcomes = (
            distinct_rows(named, len(table))[1],
            distinct_rows([*counted.codes[:, width:].T], len(counted)),
        )
        places = {label: i for i, label in enumerate(table.labels())}
        cells = np.array([places[label[:width]] for label in counted.labels()], dtype=np.int64)
        mass = counted.weights if self.invariance == "weights" else counted.counts
        beside = np.zeros((len(table), len(outcomes[0])))
        np.add.at(beside, (cells, outcomes[1]), np.asarray(mass))
        return KeptCells(parts, beside, asked.within)

    def _bounds(self, labels: Sequence[Labels]) -> Bounds:
        """The bounds of the protection, with the match of the whole release and with caps by place."""
        protection, caps = self.protection, dict[int, Fraction]()
        alone = self.method.follows_match and not protection.bounds.asked() and not protection.caps
        whole = alone or "match" in self.method.needs
        match = self.plan.match_of(protection) if whole else protection.bounds.match
        if protection.caps:  # of a single variable
            levels = [label[0] for label in labels]
            capped = find_levels(protection.caps, [*dict.fromkeys(levels)], f"{self.where}: caps")
            by_level = dict(zip(capped, protection.caps.values(), strict=True))
            caps = {i: by_level[level] for i, level in enumerate(levels) if level in by_level}
        return replace(protection.bounds, match=match, caps=caps)

    def check_kept(self, design: Sparse) -> None:
        """Raise where the plan says what is to be kept on average, and the matrix keeps something else."""
        if (to_keep := self.method.invariance_asked) is None:
            return
        kept = {"weights": self.table.weights, "counts": self.table.counts}
        names = {to_keep, "counts"} if self.protection.how.exchanges else {to_keep}
        asked = [self.of(kept[name]) for name in names if kept[name] is not None]
        if all(is_invariant(design, amounts[self.open_states]) for amounts in asked):
            return
        external = self.protection.counts_from is not None
        raise PlanError(
            "does-not-keep" if external else "does-not-keep-the-of-this",
            where=self.where,
            method=self.protection.method,
            words="sums of weights" if to_keep == "weights" else "counts",
        )

    def _lost(self, design: Sparse) -> Note:
        """Of counts and sums of weights those that are not kept, and how far shares of one variable are off."""
        lost = self.of(self.table.weights if self.invariance == "counts" else self.table.counts)[self.open_states]
        moved, total = design.forward(lost) - lost, float(self.of(self.table.counts).sum())
        total = total if self.invariance == "weights" else float(self.of(self.table.weights).sum())
        codes = self.table.codes[self.rows[self.open_states], len(self.within) :]
        bias = max(float(np.abs(np.bincount(column, moved)).max()) for column in codes.T) / total
        return Note(_NOT_BOTH[self.invariance], bias=Printed(100 * bias))

    def stage(self) -> Stage:
        """With the matrix over all states: those that are not open stay as they are."""
        table, protection, open_ = self.table, self.protection, self.open_states
        try:
            design = matrix_from_counts(self.method, self.asked())
        except InfeasibleError as error:
            raise _with_remedy(error, table, self.within) from error
        self.check_kept(design)
        notes, counts = [*design.provenance.get("notes", ())], self.of(table.counts)
        if protection.strength != 1:
            design = mixed(design, protection.strength)
        if self.invariance in _NOT_BOTH and table.weights is not None and len(self.rows):
            mean = table.weights[self.rows] / np.maximum(counts, 1)
            if above(float(mean.max()), float(mean.min())):  # then counts and weights are not kept alike
                notes.append(self._lost(design))
        parts, places, rest = [design], [open_], np.setdiff1d(np.arange(len(self.rows)), open_)
        if len(rest):
            parts, places = [design, Sparse.unchanged(Categories.numbered(len(rest)))], [open_, rest]
        return Stage(
            variables=protection.variables,
            within=self.within,
            states=self.labels,
            outputs=self.labels,
            design=Sparse.stacked(parts, places, state_categories(self.labels)),
            counts=counts,
            weights=self.of(table.weights),
            squares=self.of(table.squares),
            cells=self.cells,
            method=Swap.name if protection.how.exchanges else protection.method,
            invariance=self.invariance,
            derived=protection.derived,
            notes=tuple(dict.fromkeys(notes)),
        )


def _with_remedy(error: InfeasibleError, table: CellTable, within: tuple[str, ...]) -> InfeasibleError:
    """The error of cells with too few records, naming the column without which the smallest has most; others as are."""
    needed = error.objects.get("needed")
    if not isinstance(needed, int):
        return error
    if not within:
        hint = "allow a larger match: the file has no more records to mix with"
        return InfeasibleError(error.message, hint=hint, **error.objects)
    cells = table.project(within)
    others = {name: [other for other in within if other != name] for name in within}
    left = {name: int(cells.project(rest).counts.min()) if rest else cells.n for name, rest in others.items()}
    name = max(left, key=lambda column: left[column])
    rare, records = {*cells.codes[cells.counts < needed, cells.place(name)].tolist()}, cells.project([name])
    told = [
        f"{records.label(place)[0]} ({int(records.counts[place]):,} records)"
        for place, code in enumerate(records.codes[:, 0].tolist())
        if code in rare
    ]
    return InfeasibleError(
        error.message,
        hint=f"without {shorten(name, 16)!r} in within each has {left[name]:,} or more; or group {len(rare):,} of its"
        " labels",
        values=f"{name}: {', '.join(told)}",
        **error.objects,
    )


@dataclass(frozen=True, eq=False)
class _OtherColumns:
    """What other columns reveal about the keys of open states; ``cells`` are those of the states in the table."""

    fit: ColumnFit
    n_within: int
    tighter: Fraction
    cells: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def beside(self, asked: OpenStates, cells: Array) -> OpenStates:
        """What is asked of the matrix of states in these cells, whose other columns are known."""
        bounds = replace(asked.bounds, match=asked.match * self.tighter)
        return replace(asked, bounds=bounds, others=replace(self, cells=cells))

    def order(self) -> list[int]:
        return [int(place) for place in np.argsort(-self.fit.told[self.n_within :], kind="stable")]

    def costs(self, cells: Array) -> Array:
        """How much it shows if the records of two states exchange their keys."""
        return self.fit.exchange_costs(self.cells[cells])

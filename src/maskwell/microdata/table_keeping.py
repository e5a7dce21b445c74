"""How a plan keeps the tables of ``keep``: the form of their protection that reaches them with the fewest changes.

Tried are the protection as it is; with flows that keep the table within its tolerance, where its method can; with the
named key variables unchanged, where the matrix is for a match alone; and within the outcome. The last two keep the
table exactly (docs/adr/0063-tables-that-are-kept.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from maskwell.core.cells import CellTable
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import listed, shorten
from maskwell.core.verdicts import at_most, below
from maskwell.engines.cell_counts import part_of
from maskwell.engines.rows import Rows
from maskwell.errors import InfeasibleError, PlanError
from maskwell.microdata.plans.edit_rules import Rule
from maskwell.microdata.plans.kept_tables import KeptTable, mover_of
from maskwell.microdata.plans.protection import UNIT, Protection
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.side_channels import dependence_counter
from maskwell.microdata.stages.stage import Stage, acting, is_kept
from maskwell.microdata.stages.stage_building import ColumnFits, build_stages
from maskwell.microdata.true_file import Tables, closure, column_fits, count_external, count_records, required_of
from maskwell.microdata.utility.table_errors import TableErrors, stepped_up

AS_IT_IS, LIKE_RECORDS, UNCHANGED, WITHIN = "as it is", "like records", "unchanged", "within"
Fits = Callable[[ReleasePlan, Tables], ColumnFits]


@dataclass(frozen=True)
class TableKept:
    """A table that is kept: how, and the bias of a share and the records that change, without and with it."""

    columns: tuple[str, ...]
    number: int  # Of the protection that keeps it, from 1 on
    asked: float  # The tolerance; 0 for exactly
    way: str  # "as it is", among "like records", key variables "unchanged", or "within" the outcome
    by: tuple[str, ...]  # The columns that stay unchanged, or within which is randomized
    bias_without: float | None  # At most the bias of a share; None where it is not known
    changed_without: float  # The share of records that the protection is expected to change
    bias: float
    changed: float
    of: str = "counts"  # "counts" or "weights": the shares whose bias this is; "both" of either

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "columns": [*self.columns], "by": [*self.by]}

    def again(self, stages: Sequence[Stage], counted: Sequence[CellTable]) -> TableKept:
        """The same by other matrices; an error where these break the tolerance."""
        bias = _bias(stages, self.columns, counted)
        if bias is None or not at_most(bias, self.asked, scale=1):
            raise InfeasibleError("matrices-for-less-break-a-tolerance", table=shorten(", ".join(self.columns), 40))
        return replace(self, bias=bias, changed=stages[self.number - 1].expected_changed())

    def beside(self, stages: Sequence[Stage], counted: Sequence[CellTable]) -> TableKept:
        """The same beside the stages of the plan that keeps no table."""
        changed = stages[self.number - 1].expected_changed()
        return replace(self, bias_without=_bias(stages, self.columns, counted), changed_without=changed)


def keep_tables(
    records: Rows, plan: ReleasePlan, earlier: Sequence[Stage] | None = None, part: Fraction = Fraction(1)
) -> tuple[ReleasePlan, tuple[TableKept, ...]]:
    """The plan with protections that keep its tables, and what each costs; with ``earlier`` stages in their form.

    Matrices are made for a ``part`` of the limit.
    """
    largest_first = sorted(plan.keep, key=lambda one: (-len(one.columns), one.within))  # a table keeps its parts
    asked = [(one, number) for one in largest_first if (number := mover_of(plan, one)) is not None]
    if not asked:
        return plan, ()
    if earlier is not None:
        protections = [
            replace(one, variables=stage.variables, within=stage.within) if any(n == i for _, n in asked) else one
            for i, (one, stage) in enumerate(zip(plan.protections, earlier, strict=True))
        ]
        return replace(plan, protections=tuple(protections), as_typed=plan.as_typed or plan), ()
    whole: dict[int, list[str]] = {}
    for one, number in asked:
        mover = plan.protections[number]
        whole.setdefault(number, []).extend(closure(plan, (*mover.columns, *mover.linked, *one.columns)))
    wide = [tuple(dict.fromkeys(columns)) for columns in whole.values()]
    unchanged = dependence_counter(plan, records.schema.names).columns
    trial = _Trial(
        [*count_records(records, plan, wide).values()],
        lambda tried, tables: column_fits(records, tried, tables, unchanged),
        part,
    )
    settled, known = plan, list[TableKept]()
    for number in whole:
        tables = [table for table, one in asked if one == number]
        before = [trial.of(plan, table, number, plan.protections[number]) for table in tables]
        forms = trial.together(plan, tables, number)
        settled = _with(settled, number, forms[-1].protection)
        for table, form, without in zip(tables, forms, before, strict=True):
            reached = trial.of(settled, table, number, forms[-1].protection)
            figures = (without.bias, without.changed, reached.bias or 0.0, reached.changed)
            known.append(
                TableKept(table.columns, number + 1, float(table.within), form.way, form.by, *figures, reached.of)
            )
    return replace(settled, as_typed=plan.as_typed or plan), tuple(known)


@dataclass(frozen=True)
class _Form:
    """A protection in one of the ways to keep a table, and the columns that matter for it."""

    protection: Protection
    way: str = AS_IT_IS
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Reached:
    bias: float | None
    changed: float
    of: str = "counts"

    def keeps(self, table: KeptTable) -> bool:
        if self.bias is None:
            return False
        return bool(at_most(self.bias, table.within, scale=1)) if table.within else self.bias == 0


@dataclass(frozen=True, eq=False)
class _Trial:
    """What protections in several forms reach, by counts over all columns that matter; each is built once."""

    counted: Sequence[CellTable]
    fits: Fits
    tighter: Fraction
    built: list[tuple[Sequence[Protection], Sequence[Stage]]] = field(default_factory=list)

    def together(self, plan: ReleasePlan, tables: Sequence[KeptTable], number: int) -> list[_Form]:
        """Forms of one protection, the last of which keeps all tables: one table after the other, or all within."""
        options, failed = list[list[_Form]](), None
        try:
            forms, settled = list[_Form](), plan
            for table in tables:
                forms.append(self.best(settled, table, number))
                settled = _with(plan, number, forms[-1].protection)
            options.append(forms)
        except InfeasibleError as error:
            failed = error
        if len(tables) > 1:
            options.append([_within(plan.protections[number], tables)] * len(tables))
        best: tuple[float, list[_Form]] | None = None
        for forms in options:
            try:
                reached = [self.of(plan, table, number, forms[-1].protection) for table in tables]
            except (InfeasibleError, PlanError):
                continue
            wrong = [one for one in zip(tables, reached, strict=True) if not one[1].keeps(one[0])]
            if wrong:  # by what a later table needs
                failed = failed or _not_kept(wrong[0][0], [wrong[0][1].bias])
            elif best is None or below(reached[0].changed, best[0]):
                best = reached[0].changed, forms
        if best is None:
            assert failed is not None
            raise failed
        return best[1]

    def best(self, plan: ReleasePlan, table: KeptTable, number: int) -> _Form:
        """The form that keeps the table with the fewest changes: as it is, where that will do."""
        tried: list[tuple[_Form, _Reached]] = []
        for form in _forms(plan, table, plan.protections[number]):
            try:
                reached = self.of(plan, table, number, form.protection)
            except (InfeasibleError, PlanError):
                if form.way == AS_IT_IS:
                    raise
                continue
            tried.append((form, reached))
            if form.way == AS_IT_IS and reached.keeps(table):
                return form
        kept = [one for one in tried if one[1].keeps(table)]
        if not kept:
            raise _not_kept(table, [reached.bias for _, reached in tried])
        best = kept[0]
        for one in kept[1:]:
            best = one if below(one[1].changed, best[1].changed) else best
        return best[0]

    def of(self, plan: ReleasePlan, table: KeptTable, number: int, protection: Protection) -> _Reached:
        """What a protection reaches: the largest bias of a share, and the records that it changes."""
        whole = _with(plan, number, protection)
        steps = acting(whole.protections, (*table.columns, *protection.variables))
        if any(one.each == UNIT for one in steps):
            return _Reached(None, 0.0)
        stages = next((stages for known, stages in self.built if known == steps), None)
        if stages is None:
            stages = self._stages(whole, steps)
            self.built.append((steps, stages))
        changed = next(stage for stage in stages if stage.variables == protection.variables).expected_changed()
        of = _measured_of(acting(stages, table.columns), self.counted)
        return _Reached(_bias(stages, table.columns, self.counted), changed, of)

    def _stages(self, plan: ReleasePlan, steps: Sequence[Protection]) -> Sequence[Stage]:
        """The stages of some protections, with the rules about them."""
        moved = {name for one in steps for name in one.moved}
        rules = [one for one in plan.rules if moved & {*(one.columns if isinstance(one, Rule) else [one.variable])}]
        part = replace(plan, protections=tuple(steps), rules=tuple(rules), keep=())
        needed = [columns for one in steps for columns in required_of(part, one)]
        needed += [rule.columns for rule in rules if isinstance(rule, Rule)]
        tables = {columns: part_of(columns, self.counted) for columns in needed}
        return build_stages(part, tables, count_external(part), fits=self.fits(part, tables), tighter=self.tighter)


def _forms(plan: ReleasePlan, table: KeptTable, protection: Protection) -> Iterator[_Form]:
    yield _Form(protection)
    outcome = tuple(name for name in table.outcome(protection) if name not in protection.within)
    if table.within and protection.base.keeps_tables:
        yield _Form(replace(protection, keep=(*protection.keep, table)), LIKE_RECORDS, outcome)
    named = tuple(name for name in protection.variables if name in table.columns)
    rest = tuple(name for name in protection.variables if name not in named)
    if rest and _is_for_a_match(plan, protection) and {*named} <= {*plan.keys} - {*plan.sensitive}:
        yield _Form(replace(protection, variables=rest, within=(*protection.within, *named)), UNCHANGED, named)
    yield _within(protection, [table])


def _within(protection: Protection, tables: Sequence[KeptTable]) -> _Form:
    """The protection within the outcomes of tables."""
    names = dict.fromkeys(name for table in tables for name in table.outcome(protection))
    outcome = tuple(name for name in names if name not in protection.within)
    return _Form(replace(protection, within=(*protection.within, *outcome)), WITHIN, outcome)


def _is_for_a_match(plan: ReleasePlan, protection: Protection) -> bool:
    """Whether nothing but the chance of a correct match is asked of a protection, so that a key may stay as it is."""
    asked = {*protection.options} | {*protection.bounds.asked()}
    plain = not (protection.linked or protection.exclude or protection.caps or protection.strength != 1)
    return plain and not asked - {"match", "xi", "block_size", "base"} and plan.match_of(protection) is not None


def _with(plan: ReleasePlan, number: int, protection: Protection) -> ReleasePlan:
    protections = [protection if i == number else one for i, one in enumerate(plan.protections)]
    return replace(plan, protections=tuple(protections))


def not_kept_by(
    plan: ReleasePlan, stages: Sequence[Stage], counted: Sequence[CellTable]
) -> Iterator[tuple[KeptTable, float | None]]:
    """Tables of ``keep`` that matrices do not keep in this file, and their largest bias."""
    for table in plan.keep:
        if not is_kept(stages, table.columns):
            bias = _bias(stages, table.columns, counted)
            if not _Reached(bias, 0.0).keeps(table):
                yield table, bias


def check_kept_anyway(plan: ReleasePlan, stages: Sequence[Stage], counted: Sequence[CellTable]) -> None:
    """Raise for a table within the columns of one protection whose ``within`` an earlier one has randomized."""
    for table, bias in not_kept_by(plan, stages, counted):
        if mover_of(plan, table) is None:
            raise _not_kept(table, [bias])


def _bias(stages: Sequence[Stage], columns: Sequence[str], counted: Sequence[CellTable]) -> float | None:
    """The largest bias of a share, in what the matrices keep; None where nobody can say."""
    steps = acting(stages, columns)
    measured = TableErrors(stages).measured(columns, counted) if steps else {}
    if measured is None:
        return None
    of = _measured_of(steps, counted)
    return max((error.own for kind, error in measured.items() if of in (kind, "both")), default=0.0)


def _measured_of(steps: Sequence[Stage], counted: Sequence[CellTable]) -> str:
    """What the matrix keeps: counts or sums of weights; both where it keeps neither, or nothing of a table moves."""
    if counted[0].weights is None:
        return "counts"
    return steps[-1].invariance if steps and steps[-1].invariant else "both"


def _not_kept(table: KeptTable, biases: Sequence[float | None]) -> InfeasibleError:
    """The error for a table that no form keeps, with the nearest tolerance that one does."""
    known = [bias for bias in biases if bias is not None]
    name = listed(table.columns, len(table.columns), 30)
    if not known:
        return InfeasibleError("table-cannot-be-kept-or-measured", table=name)
    nearest = stepped_up(min(known))
    asked = "exactly" if not table.within else f"within {to_decimal(table.within)}"
    return InfeasibleError("table-cannot-be-kept", table=name, asked=asked, nearest=nearest, columns=table.columns)

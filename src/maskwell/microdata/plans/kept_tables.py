"""Tables of randomized and unchanged columns that a plan wants kept in expectation: ``keep`` in ``[release]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from maskwell.core.exact import to_decimal
from maskwell.core.phrases import in_words, listed, shorten
from maskwell.errors import PlanError
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.protection import UNIT, Protection

if TYPE_CHECKING:
    from maskwell.microdata.plans.release_plan import ReleasePlan

EXACT = Fraction(0)
LEAST_TOLERANCE = Fraction(1, 10**6)


@dataclass(frozen=True)
class KeptTable:
    """Columns whose joint table keeps its shares on average, each within a tolerance; 0 for exactly."""

    columns: tuple[str, ...]
    within: Fraction = EXACT

    @property
    def title(self) -> str:
        """The columns in words."""
        return in_words(self.columns)

    def contents(self) -> Any:
        """As the entry of a plan."""
        return {"table": [*self.columns], "within": to_decimal(self.within)} if self.within else [*self.columns]

    def outcome(self, protection: Protection) -> tuple[str, ...]:
        """Its columns that a protection does not change."""
        return tuple(name for name in self.columns if name not in protection.moved)


def read_kept_tables(value: Any, name: str) -> tuple[KeptTable, ...]:
    """Reads a list of tables, each a list of columns or ``{ table = [...], within = 0.01 }``."""
    if isinstance(value, Mapping | str) or (isinstance(value, list | tuple) and any(isinstance(x, str) for x in value)):
        raise PlanError("keep-is-a-list-of-tables", name=name)
    tables = tuple(_kept_table(one, f"{name}, table {i}") for i, one in enumerate(read.tables(value, name), 1))
    sets = [frozenset(one.columns) for one in tables]
    if twice := [one for i, one in enumerate(tables) if sets[i] in sets[:i]]:
        raise PlanError("holds-twice", name=name, twice=shorten(twice[0].title), value=twice[0].columns)
    return tables


def _kept_table(value: Any, name: str) -> KeptTable:
    if isinstance(value, KeptTable):
        return value
    within = EXACT
    if isinstance(value, Mapping):
        table = read.Entries(value, name)
        columns = table.need("table", read.names, 'name its columns: { table = ["sex", "employment"], within = 0.01 }')
        within = table.take("within", read.number, EXACT)
        table.finish(("table", "within"))
    else:
        columns = read.names(value, name)
    if within and not LEAST_TOLERANCE <= within < 1:
        least = to_decimal(LEAST_TOLERANCE)
        raise PlanError("keep-within-is-out-of-range", name=name, within=to_decimal(within), least=least)
    if len(columns) < 2:
        raise PlanError("keep-needs-two-columns", name=name)
    return KeptTable(columns, within)


def mover_of(plan: ReleasePlan, table: KeptTable) -> int | None:
    """Which protection must keep a table of columns that it moves and others; None where the table stays anyway."""
    moving = [i for i, one in enumerate(plan.protections) if {*one.moved} & {*table.columns}]
    if not moving or {*table.outcome(plan.protections[moving[0]])} <= {
        *plan.columns_of(plan.protections[moving[0]])[0]
    }:
        return None
    return moving[0]


def check_kept_tables(plan: ReleasePlan) -> None:
    """Raise for a table that no protection can keep, with what to do."""
    for table in plan.keep:
        title = shorten(table.title, 40)
        moving = [one for one in plan.protections if {*one.moved} & {*table.columns}]
        if len(moving) > 1:
            names = [name for one in moving for name in one.variables]
            raise PlanError("keep-of-separate-protections", table=title, names=listed(names, len(names), 40))
        if hidden := [name for name in table.columns if name in (*plan.unpublished, plan.weights)]:
            raise PlanError("keep-names-what-is-not-published", table=title, column=shorten(hidden[0], 30))
        if not moving:
            continue
        protection, number = moving[0], plan.protections.index(moving[0]) + 1
        if not protection.derived:
            raise PlanError("keep-needs-counts", table=title, number=number, method=protection.method)
        if protection.each == UNIT and mover_of(plan, table) is not None:
            raise PlanError("keep-of-one-draw", table=title, number=number)

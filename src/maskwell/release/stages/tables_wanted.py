"""Which columns a protection looks at, and which tables its matrix needs."""

from __future__ import annotations

from maskwell.release.plans.edit_rules import Rule
from maskwell.release.plans.release_plan import ReleasePlan


def wanted_tables(plan: ReleasePlan) -> list[tuple[str, ...]]:
    """The tables that a file must be counted in to carry out a plan."""
    wanted: list[tuple[str, ...]] = []
    for protection in plan.protections:
        within, variables = plan.columns_of(protection)
        wanted.append((*within, *variables))
        wanted += [(*variables, name) for name in protection.linked]
    wanted += [rule.columns for rule in plan.rules if isinstance(rule, Rule)]
    return [*dict.fromkeys(wanted)]

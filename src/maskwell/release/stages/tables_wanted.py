"""Which columns a protection looks at, and which tables its matrix needs."""

from __future__ import annotations

from maskwell.release.plans.protection import Protection
from maskwell.release.plans.release_plan import ReleasePlan
from maskwell.release.plans.rules import Rule


def stage_columns(plan: ReleasePlan, protection: Protection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns within which a protection works, and its variables.

    Columns that a rule joins to a variable are added to those within which it works: then no forbidden combination can
    be made. Source: [Adeshiyan2011, section 4.5.2].
    """
    own = {*protection.variables, *protection.linked}
    joined = [c for rule in plan.rules if isinstance(rule, Rule) and own & {*rule.columns} for c in rule.columns]
    within = dict.fromkeys([*protection.within, *joined])
    return tuple(name for name in within if name not in own), tuple(protection.variables)


def wanted_tables(plan: ReleasePlan) -> list[tuple[str, ...]]:
    """The tables that a file must be counted in to carry out a plan."""
    wanted: list[tuple[str, ...]] = []
    for protection in plan.protections:
        within, variables = stage_columns(plan, protection)
        wanted.append((*within, *variables))
        wanted += [(*variables, name) for name in protection.linked]
    wanted += [rule.columns for rule in plan.rules if isinstance(rule, Rule)]
    return [*dict.fromkeys(wanted)]

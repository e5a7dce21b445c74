"""Checks of a release plan: its parts do not contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from maskwell.core.phrases import HINT, listed, shorten
from maskwell.errors import PlanError
from maskwell.microdata.plans.edit_rules import Moves, Rule, Steps
from maskwell.microdata.plans.kept_tables import check_kept_tables
from maskwell.microdata.plans.plan_entries import unknown_label
from maskwell.microdata.plans.protection import UNIT
from maskwell.microdata.plans.recodes import check_recodes
from maskwell.microdata.plans.suppression import check_suppression

if TYPE_CHECKING:
    from maskwell.microdata.plans.release_plan import ReleasePlan


def check_plan(plan: ReleasePlan) -> None:
    """Raise where parts of the plan contradict each other."""
    if not plan.protections:
        raise PlanError("the-plan-protects-nothing-it")
    _check_roles(plan)
    if plan.recodes:
        check_recodes(plan)
    check_suppression(plan)
    first: dict[str, int] = {}
    for i, protection in enumerate(plan.protections, 1):
        for name in protection.moved:
            if first.setdefault(name, i) != i:
                raise PlanError("is-randomized-by-protect-number", first=first[name], i=i, column=name)
    _check_numbers(plan)
    check_kept_tables(plan)
    _check_labels(plan)
    _check_moves(plan)
    for i, rule in enumerate(plan.rules, 1):
        if isinstance(rule, Rule) and all(
            set(plan.codebook.get(column, ("",))) <= set(labels) for column, labels in rule.forbid.items()
        ):
            raise PlanError("forbids-every-record", where=f"[[rule]] number {i}")


def _check_roles(plan: ReleasePlan) -> None:
    """Ids and weights are not randomized; what is dropped is neither randomized nor known to anybody."""
    for role in ("id", "unit", "weights"):
        name = getattr(plan, role)
        if name and name in plan.randomized:
            raise PlanError("release-is-randomized-too", role=role, name=name)
    if plan.id and plan.id in plan.keys:
        raise PlanError("release-id-is-among-the-keys", id=plan.id)
    _check_drawn_by_unit(plan)
    if plan.unit is not None and plan.unit in (*plan.keys, plan.id):
        role = "the id of the records" if plan.unit == plan.id else "among the keys"
        raise PlanError("release-unit-is-also", unit=plan.unit, role=role)
    if plan.unit is not None and plan.order == "kept" and plan.unit in plan.unpublished:
        raise PlanError("release-the-order-of-the-records", unit=shorten(plan.unit, 30))
    for name in plan.drop:
        roles = {"among the keys": plan.keys, "sensitive": plan.sensitive, "to be randomized": plan.randomized}
        if has := [role for role, names in roles.items() if name in names]:
            raise PlanError("release-drop-names-which-is-also", name=name, role=has[0])
    kept = [i for i, one in enumerate(plan.protections, 1) if one.how.invariance_asked == "weights"]
    if kept and not plan.weights:
        raise PlanError("protect-number-invariance-weights", kept=kept[0])
    if plan.match is not None and not plan.keys:
        raise PlanError("release-match-without-keys")


def _check_drawn_by_unit(plan: ReleasePlan) -> None:
    """Protections with one draw for a unit need units, and do not mix with draws of single records."""
    apart = {name for one in plan.protections if one.each != UNIT for name in one.moved}
    for i, one in enumerate(plan.protections, 1):
        if one.each != UNIT:
            continue
        if plan.unit is None:
            raise PlanError("protect-number-each-unit", i=i)
        if mixed := [name for name in plan.columns_of(one)[0] if name in apart]:
            raise PlanError("protect-number-within-which-is-drawn", i=i, mixed=shorten(mixed[0], 30))
        if {*one.moved} & {*plan.keys} and (others := [key for key in plan.keys if key in apart]):
            raise PlanError("keys-are-drawn-for-each-unit", other=shorten(others[0], 30))


def _check_numbers(plan: ReleasePlan) -> None:
    """Every method has the number it needs, or the bound on the match that replaces it."""
    for i, protection in enumerate(plan.protections, 1):
        method = protection.base
        start = "give match in [release], or here: "
        asked = protection.bounds or protection.caps or any(key in protection.options for key in method.one_of)
        if method.match and not asked and plan.match is None:
            allowed = [*dict.fromkeys([*method.one_of, *method.bounds])]
            raise PlanError(
                "protect-number-method-does-not-say",
                hint=start + listed(allowed, len(allowed), HINT - len(start)),
                i=i,
                name=method.name,
            )
        if "match" in method.needs and plan.match_of(protection) is None:
            raise PlanError("protect-number-method-has-no-match", i=i, name=method.name)


def _check_labels(plan: ReleasePlan) -> None:
    """Labels that the plan names are in the codebook, where the column has one."""
    for where, column, labels in _labels(plan):
        known = plan.codebook.get(column, ())
        for label in labels if known else ():
            if label not in known and label:  # the empty text is the missing value
                raise unknown_label(label, known, f"{where} of {column!r}", known)


def _labels(plan: ReleasePlan) -> Iterator[tuple[str, str, Sequence[str]]]:
    for i, protection in enumerate(plan.protections, 1):
        where = f"[[protect]] number {i}"
        yield from ((f"{where}: exclude", column, labels) for column, labels in protection.exclude.items())
        yield f"{where}: caps", protection.variables[0], [*protection.caps]
    for i, rule in enumerate(plan.rules, 1):
        yield from ((f"[[rule]] number {i}", column, labels) for column, labels in rule.labels().items())


def _check_moves(plan: ReleasePlan) -> None:
    """Rules about moves are for variables that move, by a method that can keep them, and agree with each other."""
    for i, rule in enumerate(plan.rules, 1):
        if isinstance(rule, Rule):
            continue
        where = f"[[rule]] number {i}"
        protection = next((one for one in plan.protections if rule.variable in one.variables), None)
        if protection is None:
            raise PlanError("limits-the-moves-of-which-no", where=where, variable=rule.variable)
        if not protection.base.moves:
            raise PlanError("method-moves-anywhere", where=where, name=protection.base.name, variable=rule.variable)
        for other in plan.rules[: i - 1]:
            _check_agree(rule, other, where)


def _check_agree(rule: Steps | Moves, other: object, where: str) -> None:
    if isinstance(other, Rule) or getattr(other, "variable", None) != rule.variable:
        return
    clash = ""
    if isinstance(rule, Steps) and isinstance(other, Steps):
        clash = "has steps already"
    elif isinstance(rule, Moves) and isinstance(other, Moves):
        both = set(rule.pairs) & set(other.pairs) if rule.only != other.only else set()
        clash = "has a move of `only` and `never`" if both else ""
    if clash:
        raise PlanError("contradicts-an-earlier-one", where=where, variable=rule.variable, clash=clash)

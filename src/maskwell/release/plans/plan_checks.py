"""Whether a plan makes sense: against itself, and against the columns of a file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from maskwell.core.phrases import HINT, listed, shorten
from maskwell.engines.formula import read_formula
from maskwell.errors import PlanError
from maskwell.release.plans.entries import unknown_label
from maskwell.release.plans.rules import Moves, Rule, Steps

if TYPE_CHECKING:
    from maskwell.release.plans.plan import ReleasePlan


def check_columns(plan: ReleasePlan, columns: Sequence[str]) -> None:
    """Raise for the first column that the file does not have, with the place where the plan names it."""
    for where, name in _named(plan):
        times = columns.count(name) if isinstance(columns, list | tuple) else [*columns].count(name)
        if times != 1:
            raise _no_column(where, name, columns, times)
    for name in _in_formulas(plan):
        if name in (*plan.drop, plan.id):
            raise PlanError(
                f"[release]: formulas name {shorten(repr(name), 30)}, which the plan does not publish",
                hint="formulas are fitted to the released file, too: name columns that it has",
            )


def _named(plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    for key in ("keys", "sensitive", "drop", "accept"):
        yield from ((f"[release]: {key}", name) for name in getattr(plan, key))
    for key in ("weights", "id"):
        if getattr(plan, key):
            yield f"[release]: {key}", getattr(plan, key)
    for i, protection in enumerate(plan.protections, 1):
        for key in ("variables", "within", "linked"):
            yield from ((f"[[protect]] number {i}: {key}", name) for name in getattr(protection, key))
    for i, rule in enumerate(plan.rules, 1):
        yield from ((f"[[rule]] number {i}", name) for name in rule.columns)
    yield from (("[codebook]", name) for name in plan.codebook)
    yield from (("[release]: formulas", name) for name in _in_formulas(plan))


def _in_formulas(plan: ReleasePlan) -> list[str]:
    """Columns of the formulas; reading them now means that a bad one is told before any work."""
    read = [read_formula(text) for text in plan.formulas]
    return [name for formula in read for name in (formula.outcome, *formula.columns)]


def _no_column(where: str, name: str, columns: Sequence[str], times: int) -> PlanError:
    if times:
        return PlanError(f"{where}: the file has {times} columns named {name!r}", hint="rename all but one of them")
    close = difflib.get_close_matches(name, columns, n=1)
    start = "its columns: "
    hint = f"did you mean {close[0]!r}?" if close else start + listed(columns, len(columns), HINT - len(start))
    return PlanError(f"{where}: the file has no column {name!r}", hint=hint, column=name, columns=[*columns])


def check_plan(plan: ReleasePlan) -> None:
    """Raise where parts of the plan contradict each other."""
    if not plan.protections:
        raise PlanError(
            "the plan protects nothing: it has no table [[protect]]",
            hint='add one, such as [[protect]] with variables = ["sex"] and method = "sequential"',
        )
    _check_roles(plan)
    _check_protected_once(plan)
    _check_numbers(plan)
    _check_labels(plan)
    _check_moves(plan)
    for i, rule in enumerate(plan.rules, 1):
        if isinstance(rule, Rule):
            _check_forbidden(plan, rule, f"[[rule]] number {i}")


def _check_roles(plan: ReleasePlan) -> None:
    """Ids and weights are not randomized; what is dropped is neither randomized nor known to anybody."""
    for role in ("id", "weights"):
        name = getattr(plan, role)
        if name and name in plan.randomized:
            raise PlanError(
                f"[release]: {role} = {name!r} is randomized too", hint="take it out of variables and linked"
            )
    if plan.id and plan.id in plan.keys:
        raise PlanError(f"[release]: id = {plan.id!r} is among the keys", hint="ids are not published: it is no key")
    for name in plan.drop:
        roles = [role for role in ("keys", "sensitive") if name in getattr(plan, role)]
        roles += ["randomized"] if name in plan.randomized else []
        if roles:
            raise PlanError(
                f"[release]: drop names {name!r}, which is also {_role(roles[0])}",
                hint="a column that is not published needs no protection: name it in one place",
            )
    kept = [i for i, one in enumerate(plan.protections, 1) if one.options.get("invariance") == "weights"]
    if kept and not plan.weights:
        raise PlanError(
            f'[[protect]] number {kept[0]}: invariance = "weights", but the plan names no weights',
            hint='name their column: weights = "w" in [release]; or leave out invariance',
        )
    if plan.match is not None and not plan.keys:
        raise PlanError("[release]: match without keys", hint='say what an intruder may know: keys = ["sex", "region"]')


def _role(role: str) -> str:
    return {"keys": "among the keys", "sensitive": "sensitive", "randomized": "to be randomized"}[role]


def _check_protected_once(plan: ReleasePlan) -> None:
    first: dict[str, int] = {}
    for i, protection in enumerate(plan.protections, 1):
        for name in protection.moved:
            if name in first:
                raise PlanError(
                    f"{name!r} is randomized by [[protect]] number {first[name]} and number {i}",
                    hint="randomize it once; to move it with other columns, name them together in variables",
                    column=name,
                )
            first[name] = i


def _check_numbers(plan: ReleasePlan) -> None:
    """Every method has the number it needs, or the bound on the match that stands in for it."""
    for i, protection in enumerate(plan.protections, 1):
        method = protection.base
        start = "give match in [release], or here: "
        asked = protection.bounds or protection.caps or any(key in protection.options for key in method.one_of)
        if method.match and not asked and plan.match is None:
            allowed = [*dict.fromkeys([*method.one_of, *method.bounds])]
            raise PlanError(
                f"[[protect]] number {i}: method {method.name} does not say how much to change",
                hint=start + listed(allowed, len(allowed), HINT - len(start)),
            )
        if method.name == "lowered" and plan.match_of(protection) is None:
            raise PlanError(
                f"[[protect]] number {i}: method lowered has no match to reach",
                hint='give match = 0.5 here or in [release]; for other bounds use method = "optimal"',
            )


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
        yield from ((f"[[rule]] number {i}", column, labels) for column, labels in rule.labels())


def _check_moves(plan: ReleasePlan) -> None:
    """Rules about moves are for variables that move, by a method that can keep them, and agree with each other."""
    for i, rule in enumerate(plan.rules, 1):
        if isinstance(rule, Rule):
            continue
        where = f"[[rule]] number {i}"
        protection = next((one for one in plan.protections if rule.variable in one.variables), None)
        if protection is None:
            raise PlanError(
                f"{where} limits the moves of {rule.variable!r}, which no [[protect]] randomizes",
                hint="name it in variables of a [[protect]], or take out the rule",
            )
        if not protection.base.moves:
            raise PlanError(
                f"{where}: method {protection.base.name} moves {rule.variable!r} anywhere",
                hint='use method = "optimal", which keeps rules about moves',
            )
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
        raise PlanError(f"{where} contradicts an earlier one: {rule.variable!r} {clash}", hint="keep one of the two")


def _check_forbidden(plan: ReleasePlan, rule: Rule, where: str) -> None:
    """The rule leaves something over. Columns that a rule joins are randomized within each other: no more to check."""
    everything = all(set(plan.codebook.get(column, ("",))) <= set(labels) for column, labels in rule.forbid.items())
    if everything:
        raise PlanError(f"{where} forbids every record", hint="leave at least one label out of forbid")

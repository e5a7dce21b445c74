"""Draws that are kept across releases: the matrices of an earlier release, and whether a key can keep draws."""

from __future__ import annotations

from maskwell.core.keyed import KeyedRandom
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.folder.receipt import Receipt, load_receipt, stages_of
from maskwell.microdata.plans.protection import UNIT
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.stages.stage import Stage


def earlier_stages(matrices: Receipt | str, plan: ReleasePlan, key: KeyedRandom | None) -> list[Stage]:
    """The stages of an earlier release; an error unless the plan protects the same and the key is the same."""
    receipt = load_receipt(matrices) if isinstance(matrices, str) else matrices
    stages = stages_of(receipt)
    _check_same_key(receipt, key)
    _check_same_protections(receipt, plan)
    return stages


def _check_same_key(receipt: Receipt, key: KeyedRandom | None) -> None:
    if key is None:
        raise ParameterError("earlier-matrices-without-a-key-no")
    if receipt.commitment != key.commitment():
        raise ParameterError(
            "the-earlier-release-was-drawn-without" if receipt.commitment is None else "the-earlier-release-was-drawn"
        )


def _check_same_protections(receipt: Receipt, plan: ReleasePlan) -> None:
    """What is published, and whether draws are kept, may differ; what the matrices are may not."""
    free = {"publish", "clearance", "draws"}
    then, now = receipt.plan.get("protect", []), plan.to_dict()["protect"]
    if len(then) != len(now):
        raise PlanError("the-plan-has-protect", now_count=len(now), then_count=len(then))
    for number, (before, after) in enumerate(zip(then, now, strict=True), 1):
        differ = [key for key in {**before, **after} if before.get(key) != after.get(key) and key not in free]
        if differ:
            raise PlanError("protect-number-is-not", number=number, differ=differ[0])
    if receipt.plan.get("recode", {}) != plan.to_dict().get("recode", {}):
        raise PlanError("recode-is-not")
    for key, default in (("missing", "unchanged"), ("weights", None)):
        if receipt.plan.get("release", {}).get(key, default) != getattr(plan, key):
            raise PlanError("release-is-not", key=key)
    if any(protection.how.exchanges for protection in plan.protections):
        raise PlanError("the-exchanges-of-a-swap")


def check_key(plan: ReleasePlan, key: KeyedRandom | None) -> None:
    """Raise where draws cannot be kept by key as the plan is."""
    kept_apart = any(one.draws == "kept" and one.each != UNIT for one in plan.protections)
    if key is not None and plan.id is None and kept_apart:
        raise PlanError("draws-by-key-need-a-column")
    if key is not None and any(one.how.exchanges and one.draws == "kept" for one in plan.protections):
        raise ParameterError("a-swap-draws-records-together-so")
    if key is not None and all(one.draws == "fresh" for one in plan.protections):
        raise ParameterError("a-key-is-of-no-use")

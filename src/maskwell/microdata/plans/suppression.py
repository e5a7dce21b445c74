"""The table ``[suppress]``: values of key variables that are left out before anything is randomized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwell.core.phrases import shorten
from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import Rows
from maskwell.errors import PlanError
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.records.local_suppression import LocalSuppression, Suppression, suppressed

if TYPE_CHECKING:
    from maskwell.microdata.plans.release_plan import ReleasePlan

_ENTRIES = ("k", "keys", "importance", "exact", "missing")
_CATEGORY, _ANY = "category", "any"


def read_suppression(given: Any, keys: tuple[str, ...]) -> LocalSuppression:
    """The table of a plan; the keys are those of the release where it names none."""
    if isinstance(given, LocalSuppression):
        return given
    table = read.Entries(given, "[suppress]")
    asked = LocalSuppression(
        k=table.need(
            "k", read.whole, "such as k = 3: every released combination of the key variables has 3 records or more"
        ),
        keys=table.take("keys", read.names, keys),
        importance=table.take("importance", read.names, ()),
        exact=table.take("exact", read.flag, False),
        any_value=table.take("missing", read.choice(_CATEGORY, _ANY), _CATEGORY) == _ANY,
    )
    table.finish(_ENTRIES)
    return asked


def suppression_contents(asked: LocalSuppression) -> dict[str, Any]:
    """As the table of a plan."""
    content: dict[str, Any] = {"k": asked.k, "keys": list(asked.keys)}
    content |= {"importance": list(asked.importance)} if asked.importance else {}
    content |= {"missing": _ANY} if asked.any_value else {}
    return content | ({"exact": True} if asked.exact else {})


def check_suppression(plan: ReleasePlan) -> None:
    """Raise where the plan asks for what cannot be suppressed."""
    asked = plan.suppress
    if asked is None:
        return
    if asked.k < 2:
        raise PlanError("suppress-k-is-below-2", k=asked.k)
    if not asked.keys:
        raise PlanError("suppress-names-no-keys")
    if asked.exact and asked.any_value:
        raise PlanError("suppress-is-exact-and-any")
    for name in asked.importance:
        if name not in asked.keys:
            raise read.unknown(name, "[suppress]: importance: unknown key variable", asked.keys)
    for name in asked.keys:
        roles = {"dropped": plan.drop, "the id": (plan.id,), "the unit": (plan.unit,), "the weights": (plan.weights,)}
        if has := [role for role, names in roles.items() if name in names]:
            raise PlanError("suppress-names-which-is-also", name=shorten(name, 30), role=has[0])


def suppression_of(records: Rows, plan: ReleasePlan) -> Suppression | None:
    """What a plan leaves out of records that are recoded already; they are read once for it."""
    if plan.suppress is None:
        return None
    return suppressed(count_tables(records, [plan.suppress.keys], declared=False)[0], plan.suppress)

"""Rules: which records and moves they forbid."""

from __future__ import annotations

import pytest
from tests.support.quiet import quiet

from maskwell.core.phrases import HINT, MESSAGE
from maskwell.errors import UnknownCategoryError
from maskwell.microdata.plans.edit_rules import Moves, Rule, Steps, read_rule
from maskwell.microdata.plans.plan_entries import find_levels, unknown_label


def test_a_label_outside_the_order_only_stays() -> None:
    steps = Steps("age", 2, ("a", "b", "c", "d"))
    assert [steps.allows("a", other) for other in "abcd"] == [True, True, True, False]
    assert steps.allows("refused", "refused")
    assert not steps.allows("refused", "a")
    assert not steps.allows("a", "refused")
    never, only = Moves("x", (("a", "b"),)), Moves("x", (("a", "b"),), only=True)
    assert (never.allows("a", "b"), only.allows("a", "b")) == (False, True)
    assert (never.allows("b", "a"), only.allows("b", "a")) == (True, False)
    assert never.allows("a", "a")
    assert only.allows("c", "c")


def test_labels_match_by_their_text() -> None:
    rule = read_rule({"forbid": {"roof": [9, 2.0], "new": [True]}}, "rule")
    assert rule == Rule({"roof": ("9", "2"), "new": ("True",)})
    assert find_levels(["9", "2", "a", "true"], [9, 2.0, "a", True], "x") == [9, 2.0, "a", True]


def test_an_unknown_label_is_named_but_none_of_the_file() -> None:
    with quiet(
        UnknownCategoryError, match="exclude: there is no category 'refusd'", values="'refused', 'yes'"
    ) as found:
        find_levels(["refusd"], ["refused", "yes"], "exclude")
    assert "refused" not in found.value.hint
    assert unknown_label("refusd", ["refused"], "exclude", ["refused"]).hint == "did you mean 'refused'?"
    with pytest.raises(UnknownCategoryError) as caught:
        find_levels(["x" * 500], list(range(100_000)), "exclude of 'code'")
    assert len(caught.value.message) <= MESSAGE
    assert len(caught.value.hint) <= HINT

"""Rules: which records and moves they forbid."""

from __future__ import annotations

from maskwell.microdata.plans.edit_rules import Moves, Rule, Steps, read_rule


def test_a_combination_is_forbidden_only_as_a_whole() -> None:
    rule = Rule({"age": ("child",), "marital": ("married", "widowed")})
    assert rule.forbids({"age": "child", "marital": "widowed"})
    assert not rule.forbids({"age": "child", "marital": "single"})
    assert not rule.forbids({"age": "adult", "marital": "married"})


def test_a_label_outside_the_order_only_stays() -> None:
    steps = Steps("age", 2, ("a", "b", "c", "d"))
    assert [steps.allows("a", other) for other in "abcd"] == [True, True, True, False]
    assert steps.allows("refused", "refused")
    assert not steps.allows("refused", "a")
    assert not steps.allows("a", "refused")


def test_moves_that_are_never_made_and_moves_that_are_the_only_ones() -> None:
    never, only = Moves("x", (("a", "b"),)), Moves("x", (("a", "b"),), only=True)
    assert (never.allows("a", "b"), only.allows("a", "b")) == (False, True)
    assert (never.allows("b", "a"), only.allows("b", "a")) == (True, False)
    assert never.allows("a", "a")
    assert only.allows("c", "c")


def test_labels_match_by_their_text() -> None:
    rule = read_rule({"forbid": {"roof": [9, 2.0], "new": [True]}}, "rule")
    assert rule == Rule({"roof": ("9", "2"), "new": ("True",)})


def test_a_rule_comes_back_from_its_table() -> None:
    for rule in (
        Rule({"a": ("1",)}),
        Steps("a", 2, ("x", "y")),
        Moves("a", (("x", "y"),)),
        Moves("a", (("x", "y"),), only=True),
    ):
        assert read_rule(rule.contents(), "rule") == rule

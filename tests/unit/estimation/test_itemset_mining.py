"""Level-wise mining against the search of all sets, the margin, and what is said when the search ends early."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from maskwell.core import SeededRandom
from maskwell.core.verdicts import at_least
from maskwell.designs import item_bits
from maskwell.errors import ParameterError
from maskwell.estimation import itemset_mining
from maskwell.estimation.itemset_mining import mine_itemsets
from maskwell.estimation.itemset_supports import ReportedBaskets
from maskwell.procedures.category_encodings import bits

ITEMS = 9


def made_up(n: int, keep: str, items: int = ITEMS, seed: int = 1) -> ReportedBaskets:
    """Reports of baskets with two bundles of items that go together."""
    random = np.random.default_rng(seed)
    truth = random.random((n, items)) < 0.08
    truth[:, :3] |= random.random((n, 1)) < 0.3
    truth[:, 4:8] |= random.random((n, 1)) < 0.2
    design = item_bits(bits([f"i{a}" for a in range(items)], p=keep))
    packed = np.packbits(truth, axis=1, bitorder="little")
    return ReportedBaskets.of(design.sampler(SeededRandom(seed)).sample(packed).data, design)


def all_sets(baskets: ReportedBaskets, largest: int):
    for size in range(1, largest + 1):
        for chosen in combinations(baskets.names, size):
            yield baskets.support(chosen)


@pytest.mark.parametrize("keep", ["0.95", "0.8", "0.65"])
@pytest.mark.parametrize("largest", [1, 2, 3, 5])
def test_what_is_found_is_what_the_search_of_all_sets_finds(keep: str, largest: int) -> None:
    """Brute force: a set is searched if all its parts are within the margin, and found if its estimate is there."""
    baskets, least, margin = made_up(3000, keep), 0.1, 2.0
    every = {frozenset(one.items): one for one in all_sets(baskets, largest)}
    kept = {items for items, one in every.items() if at_least(one.support + margin * one.standard_error, least)}

    def searched(items: frozenset[str]) -> bool:
        parts = (frozenset(part) for size in range(1, len(items)) for part in combinations(items, size))
        return all(part in kept for part in parts)

    expected = {items for items, one in every.items() if at_least(one.support, least) and searched(items)}
    mined = mine_itemsets(baskets, min_support=least, max_items=largest, margin=margin)
    assert {frozenset(one.items) for one in mined.itemsets} == expected
    for one in mined.itemsets:
        twin = every[frozenset(one.items)]
        assert (one.support, one.standard_error) == pytest.approx((twin.support, twin.standard_error), rel=1e-9)
    counted = [sum(searched(items) for items in every if len(items) == size) for size in range(1, largest + 1)]
    assert list(mined.searched) == [count for count in counted if count]
    assert mined.near == sum(one.support < least for items, one in every.items() if items in kept and searched(items))


def test_rules_are_all_rules_of_the_frequent_sets() -> None:
    baskets = made_up(4000, "0.9")
    mined = mine_itemsets(baskets, min_support=0.15, min_confidence=0.6)
    expected = {}
    for one in mined.itemsets:
        for size in range(1, len(one.items)):
            for given in combinations(one.items, size):
                rule = baskets.confidence(given, [item for item in one.items if item not in given])
                if rule.confidence >= 0.6:
                    expected[given, rule.then] = rule
    assert {(rule.given, rule.then) for rule in mined.rules} == {*expected} and len(expected) > 10
    for rule in mined.rules:
        twin = expected[rule.given, rule.then]
        assert (rule.confidence, rule.standard_error, rule.support) == pytest.approx(
            (twin.confidence, twin.standard_error, twin.support), rel=1e-9
        )
    confidences = [rule.confidence for rule in mined.rules]
    assert confidences == sorted(confidences, reverse=True)


def test_sets_are_ordered_by_size_and_then_by_support() -> None:
    found = mine_itemsets(made_up(3000, "0.9"), min_support=0.05).itemsets
    order = [(len(one.items), -one.support) for one in found]
    assert order == sorted(order) and {size for size, _ in order} == {1, 2, 3, 4}


def test_the_margin_finds_sets_whose_parts_fall_below_the_threshold_by_chance() -> None:
    """Over 40 fixed seeds: without a margin some true sets of three are lost that the margin finds, and never more."""
    lost = 0
    for seed in range(40):
        baskets = made_up(800, "0.75", seed=seed)
        with_margin, without = (
            {one.items for one in mine_itemsets(baskets, min_support=0.24, max_items=3, margin=margin).itemsets}
            for margin in (2, 0)
        )
        assert without <= with_margin
        lost += len(with_margin - without)
    assert lost > 0


def test_what_the_noise_keeps_in_the_search_is_not_counted_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(itemset_mining, "MOST_CANDIDATES", 50)
    mined = mine_itemsets(made_up(300, "0.55", items=12), min_support=0.01)
    assert mined.searched == (12,)
    assert "sets of 2 items were not searched: more than 50 of them may be frequent" in mined.flags[0]
    assert not mine_itemsets(made_up(3000, "0.95"), min_support=0.1).flags


def test_undefined_rules_are_counted_not_told() -> None:
    baskets = made_up(60, "0.6")
    mined = mine_itemsets(baskets, min_support=0.05, min_confidence=0, max_items=2, margin=0)
    rules = 2 * sum(len(one.items) == 2 for one in mined.itemsets)
    told = sum(rule.confidence >= 0 for rule in mined.rules)
    assert mined.undefined > 0 and told + mined.undefined <= rules


def test_nothing_found_is_an_answer() -> None:
    mined = mine_itemsets(made_up(2000, "0.9"), min_support=1.0)
    assert (mined.itemsets, mined.rules, mined.searched, mined.near) == ((), (), (9,), 0)


def test_more_sets_than_numbers_are_refused() -> None:
    names = [str(a) for a in range(5000)]
    baskets = ReportedBaskets.of(np.zeros((4, 625), dtype=np.uint8), item_bits(bits(names, p="0.9")))
    with pytest.raises(ParameterError, match="max_items = 6 for 5,000 items") as raised:
        mine_itemsets(baskets, min_support=0.5, max_items=6)
    assert raised.value.hint == "look for sets of at most 5 items"

"""Whether a kept order reveals a column: of small files, of rare categories, and where rows alternate."""

from itertools import pairwise, permutations
from statistics import fmean, pvariance
from typing import Any

import numpy as np
import pytest
from tests.support.together import together

from maskwell import ReleasePlan
from maskwell.microdata.publication import release_table
from maskwell.microdata.records.row_order import Neighbours, reveals_values

ORDERED = {
    "a small file, half of it in one block": ["yes"] * 50 + ["no"] * 50,
    "1 % in one block": ["no"] * 5000 + ["yes"] * 100 + ["no"] * 4900,
    "2 % in one block": ["yes"] * 200 + ["no"] * 9800,
    "alternating": ["a", "b"] * 1500,
    "a small file, alternating": ["a", "b"] * 50,
    "three in turn": ["a", "b", "c"] * 100,
    "ten in turn": [str(i % 10) for i in range(2000)],
}


def warned(values: list[str]) -> bool:
    protect = {"variables": ["x"], "method": "method1", "theta": "0.2"}
    plan = ReleasePlan.of([protect], order="kept", demonstration=True)
    return any("order is preserved" in one for one in release_table({"x": values}, plan).release.warnings)


@together("name", [*ORDERED])
def test_an_order_that_reveals_a_column_gives_a_warning(name: str) -> None:
    assert warned(ORDERED[name])


@together("name", [*ORDERED])
def test_the_same_values_in_random_order_give_none(name: str) -> None:
    assert not warned(np.random.default_rng(8).permutation(ORDERED[name]).tolist())


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.98, 0.02), (0.2, 0.3, 0.5), (0.1,) * 10])
def test_false_alarms_are_rare(shares: tuple[float, ...]) -> None:
    """2,000 orders each at a false-alarm rate below 1e-6: this test fails by chance in one of 500 seeds at most."""
    rng = np.random.default_rng(20)
    for n in (20, 100, 400):
        values = np.repeat(np.arange(len(shares)), np.round(np.multiply(shares, n)).astype(int))
        known = Neighbours(np.bincount(values), len(values) - 1)
        for _ in range(700):
            rng.shuffle(values)
            assert not reveals_values(int(np.count_nonzero(values[1:] != values[:-1])), [known])


@pytest.mark.parametrize("values", ["aabb", "aaabb", "aabbcc", "aaabbcd"])
def test_moments_are_those_of_all_orders(values: str) -> None:
    equal: list[Any] = [sum(x == y for x, y in pairwise(o)) for o in permutations(values)]
    known = Neighbours([values.count(one) for one in {*values}], len(values) - 1)
    assert known.moments() == pytest.approx((fmean(equal), pvariance(equal)))

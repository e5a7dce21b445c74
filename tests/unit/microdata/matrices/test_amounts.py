"""Counts and weighted counts: read without rounding, refused with their place."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell.core import Categories
from maskwell.errors import CountsError
from maskwell.microdata.matrices.bounds import labels_for, read_amounts, support


def test_whole_numbers_of_any_kind() -> None:
    for given in ([12, 0, 3], (12.0, 0.0, 3.0), np.array([12, 0, 3], dtype=np.uint8), iter([12, 0, 3])):
        found = read_amounts(given)
        assert found.integers.tolist() == [12, 0, 3]
        assert found.whole


def test_weights_are_read_by_their_text() -> None:
    found = read_amounts([0.1, Fraction(1, 3), 2], weighted=True)
    assert found.scale == 30
    assert found.integers.tolist() == [3, 10, 60]
    np.testing.assert_allclose(found.floats, [0.1, 1 / 3, 2])


def test_huge_counts_stay_exact() -> None:
    found = read_amounts([10**30, 1])
    assert found.integers.tolist() == [10**30, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([5, -1], "state 1 has -1"),
        ([0, 0], "all counts are zero"),
        ([1.5, 2], "state 0 is 1.5, not a whole number"),
        ([1, float("nan")], "state 1 is nan"),
        ([1, float("inf")], "state 1 is inf"),
        ([1, "many"], "'many'"),
        ([1, None], "None"),
        ([True, 2], "True"),
        ([], "one column"),
        ([[1, 2]], "one column"),
        (7, "one column"),
    ],
)
def test_what_cannot_be_counts(given: Any, said: str) -> None:
    with pytest.raises(CountsError) as caught:
        read_amounts(given)
    assert said in caught.value.message
    assert caught.value.hint


def test_one_count_for_each_category() -> None:
    with pytest.raises(CountsError, match="2 counts for 3 categories"):
        labels_for(read_amounts([1, 2]), Categories.of(["a", "b", "c"]))


def test_support() -> None:
    assert support([0, 0.5, 0, 2]).tolist() == [1, 3]

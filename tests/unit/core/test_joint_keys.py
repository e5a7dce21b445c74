"""Numbers for combinations of many columns."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.core import joint_keys
from maskwell.core.joint_keys import find_keys, number_cells, renumber


def test_more_combinations_than_words_hold_keep_their_order() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 50, (300, 30))
    first, second = number_cells([50] * 30, codes, codes[::-1])
    np.testing.assert_array_equal(first, second[::-1])
    order = np.lexsort(codes.T[::-1])
    assert (np.diff(first[order]) > 0).all()


@pytest.mark.parametrize("marked", [0, 1 << 22])
def test_marking_and_sorting_give_the_same(marked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_keys, "MARKED", marked - 100)
    rng = np.random.default_rng(3)
    one, two = rng.integers(0, 1000, (2, 20))
    (first, second), count = renumber(1000, one, two)
    expected, place = np.unique(np.concatenate([one, two]), return_inverse=True)
    assert count == len(expected)
    np.testing.assert_array_equal(np.concatenate([first, second]), place.ravel())


def test_what_is_not_known_is_not_found() -> None:
    assert find_keys(np.array([], dtype=int), np.array([3])).tolist() == [-1]

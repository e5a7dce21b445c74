"""Keys of cells against the rows of codes themselves, also where a machine word does not hold them."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.core import groups as keys
from maskwell.core.arguments import Array

FEW, MANY = [2, 3, 4], [1 << 30, 1 << 30, 5]


def codes_of(sizes: list[int], rows: int, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, min(size, 3), rows) for size in sizes]).astype(np.int64)


def ranks(codes: Array) -> list[int]:
    """Places of the rows among the distinct ones, in lexicographic order."""
    rows = [tuple(row) for row in codes.tolist()]
    order = {row: place for place, row in enumerate(sorted(set(rows)))}
    return [order[row] for row in rows]


@pytest.mark.parametrize("sizes", [FEW, MANY])
def test_keys_rise_with_the_rows_and_give_the_codes_back(sizes: list[int]) -> None:
    codes = codes_of(sizes, 50)
    joint = keys.joint_keys(list(codes.T), sizes, 50)
    assert (joint.dtype == object) == (keys.possible_cells(sizes) > keys.LARGEST_KEY)
    assert ranks(joint[:, None]) == ranks(codes)
    again = keys.separate_codes(joint, sizes)
    assert np.column_stack(again).astype(np.int64).tolist() == codes.tolist()


def test_missing_values_come_first() -> None:
    joint = keys.joint_keys([np.array([-1, 0, 1]), np.array([2, -1, 0])], [3, 4], 3, first=-1)
    assert joint.tolist() == [0 * 4 + 3, 1 * 4 + 0, 2 * 4 + 1]


@pytest.mark.parametrize("sizes", [FEW, MANY, [1 << 40] * 4])
def test_cells_of_several_tables_have_the_same_numbers(sizes: list[int]) -> None:
    first, second = codes_of(sizes, 40), codes_of(sizes, 30, seed=2)
    a, b = keys.number_cells(sizes, first, second)
    assert ranks(np.concatenate([a, b])[:, None]) == ranks(np.concatenate([first, second]))
    assert (np.concatenate([a, b]) < keys.LARGEST_KEY).all()


@pytest.mark.parametrize("space", [100, keys.LARGEST_KEY])
def test_numbers_are_closed_up(space: int) -> None:
    (a, b), count = keys.renumber(space, np.array([70, 5, 70]), np.array([99, 5]))
    assert (a.tolist(), b.tolist(), count) == ([1, 0, 1], [2, 0], 3)


@pytest.mark.parametrize("dense", [0, 1000])
def test_known_keys_are_found_at_their_first_place(dense: int) -> None:
    known, asked = np.array([7, 3, 7, 900]), np.array([7, 900, 4, 3, 0])
    assert keys.KeyFinder(known, 1000, dense=dense).find(asked).tolist() == [0, 3, -1, 1, -1]
    nothing = keys.KeyFinder(np.zeros(0, dtype=np.int64), 1000, dense=dense)
    assert nothing.find(asked).tolist() == [-1] * 5


@pytest.mark.parametrize("most", [3, 1 << 40])
def test_distinct_rows_in_order(most: int) -> None:
    codes = codes_of([3, 3], 30)
    codes[0] = most
    groups, of_row = keys.distinct_rows(list(codes.T), 30)
    assert groups[of_row].tolist() == codes.tolist() and groups.tolist() == sorted(groups.tolist())
    assert keys.distinct_rows([], 3)[0].shape == (1, 0) and keys.distinct_rows([], 0)[0].shape == (0, 0)


@pytest.mark.parametrize("sizes", [FEW, MANY, [1 << 40] * 4])
def test_groups_add_up_the_rows_with_equal_codes(sizes: list[int]) -> None:
    codes, values = codes_of(sizes, 60), np.arange(60.0)
    groups = keys.Groups.by([(column, size) for column, size in zip(codes.T, sizes, strict=True)], 60)
    assert groups.codes.tolist() == ranks(codes)
    by_hand = np.bincount(ranks(codes), values)
    np.testing.assert_array_equal(groups.sums(values), by_hand)
    np.testing.assert_array_equal(groups.sums(np.column_stack([values, values]))[:, 1], by_hand)
    assert (groups.codes[groups.row_of_each()] == np.arange(len(groups))).all()

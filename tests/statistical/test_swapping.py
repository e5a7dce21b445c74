"""Records that change by whole flows, against the law of one record; false-alarm rate 1e-6 each, fixed seeds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tests.support.arrays import Array
from tests.support.chisquare import fits

from maskwell.core import SeededRandom
from maskwell.microdata.matrices import sequential_uniform
from maskwell.microdata.matrices.swap_flows import IntegerFlows, SwapSampler, whole_flows

pytestmark = pytest.mark.statistical

RUNS = 2000


def released(runs: int = RUNS) -> Array:
    """Records 0, 1, 2 of the first category, 3, 4, 5 of the second, 6, 7 of the third: shape (runs, 8)."""
    flows, source = IntegerFlows.of([[2, 1, 0], [1, 1, 1], [0, 1, 1]]), SeededRandom(11)
    codes = np.repeat([0, 1, 2], [3, 3, 2])
    return np.array([SwapSampler(flows, source).sample(codes) for _ in range(runs)])


def test_every_assignment_of_a_category_is_equally_likely() -> None:
    seen = released()[:, 3:6].astype(int)
    codes = seen @ [9, 3, 1]
    possible = [9 * a + 3 * b + c for a, b, c in permutations(range(3))]
    assert set(codes.tolist()) <= set(possible)
    assert fits(np.array([(codes == code).sum() for code in possible]), np.full(6, 1 / 6))
    assert not fits(np.array([(codes == code).sum() for code in possible]), np.array([3, 2, 2, 2, 2, 1]) / 12)


def test_drawn_flows_have_the_flows_of_the_matrix_on_average() -> None:
    counts = [12, 8, 3]
    design, source = sequential_uniform(counts), SeededRandom(12)
    up = sum(int(whole_flows(design, counts, source).amounts[0] == 8) for _ in range(RUNS))
    assert fits(np.array([up, RUNS - up]), np.array([0.5, 0.5]))
    assert not fits(np.array([up, RUNS - up]), np.array([0.58, 0.42]))


def test_uneven_parts_are_rounded_up_as_often_as_they_should() -> None:
    counts = [9, 4, 1, 5]
    design, source = sequential_uniform(counts), SeededRandom(13)
    F = design.matrix() * counts
    total = np.zeros((4, 4))
    for _ in range(RUNS):
        flows = whole_flows(design, counts, source)
        total[flows.rows, np.repeat(np.arange(4), np.diff(flows.starts))] += flows.amounts
    part = F - np.floor(F)
    error = np.sqrt(part * (1 - part) / RUNS)
    far = np.abs(total / RUNS - F) / np.maximum(error, 1e-9)
    assert far.max() < 5.4  # sixteen entries, 1e-6 in all
    assert (np.abs(total / RUNS - np.round(F)) > 5.4 * error)[part > 0.1].all()

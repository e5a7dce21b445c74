"""What a randomization achieves, measured on its matrix."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maskwell.designs import Dense
from maskwell.microdata.matrices import Bounds
from maskwell.microdata.stages.achieved_bounds import achieved, bound_is_kept, guessed
from maskwell.microdata.stages.stage import Stage


def stage_of(P: list[list[str]], counts: list[int], cells: list[int] | None = None) -> Stage:
    states = [(f"s{i}",) for i in range(len(counts))]
    return Stage(
        variables=("x",),
        states=states,
        outputs=states,
        design=Dense.of(P),
        counts=np.array(counts),
        cells=np.array(cells or [0] * len(counts)),
        method="fixed",
        invariance="none",
        derived=False,
    )


TWO = stage_of([["3/4", "1/2"], ["1/4", "1/2"]], [20, 10])
BLOCKS = stage_of([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [5, 10, 10], [0, 1, 1])


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        ("posterior", 0.75),
        ("posterior_own", 0.75),
        ("odds", 3),
        ("guess", (15 + 5) / 30),
        ("factor", 1.5),  # s1 given s1: 1/2 against 1/3
        ("parity", 2),
        ("least_kept", 0.5),
        ("changed_at_most", 1 / 3),
        ("changed_at_least", 1 / 3),
    ],
)
def test_values_worked_out_by_hand(bound: str, value: float) -> None:
    assert achieved(TWO, bound) == pytest.approx(value)


def test_cells_are_looked_at_one_by_one() -> None:
    assert achieved(BLOCKS, "parity") == pytest.approx(3)
    assert achieved(BLOCKS, "posterior") == 1  # the cell with one state
    assert achieved(BLOCKS, "odds") == math.inf
    assert achieved(BLOCKS, "guess") == 1 and guessed(BLOCKS) == pytest.approx((5 + 15) / 25)
    pairs = stage_of([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [0, 10, 10], [0, 1, 1])
    assert achieved(pairs, "guess") == pytest.approx(3 / 4)  # a cell without records asks nothing


def test_a_zero_inside_a_cell_rules_a_truth_out() -> None:
    whole = stage_of([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [5, 10, 10])
    assert achieved(whole, "parity") == math.inf == achieved(whole, "factor")


def test_every_bound_is_measured_but_the_one_about_files() -> None:
    assert {name for name in Bounds.names() if achieved(TWO, name) is None} == {"match"}


def test_a_bound_is_kept_up_to_rounding() -> None:
    assert bound_is_kept("match", 0.5, 0.5 + 1e-12) and not bound_is_kept("match", 0.5, 0.501)
    assert bound_is_kept("changed_at_least", 0.1, 0.2) and not bound_is_kept("least_kept", 0.5, 0.4)

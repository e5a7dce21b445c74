"""What a randomization achieves, measured on its matrix."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.support.releases import stage_of

from maskwell.core import CellTable
from maskwell.microdata import Protection, Release, ReleasePlan
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.kept_bounds import achieved, guessed
from maskwell.microdata.matrices import Bounds
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.true_file import tables_of
from maskwell.microdata.utility.utility_report import expected_share


def stage_with(P: list[list[str]], counts: list[int], cells: list[int] | None = None) -> Stage:
    states = [(f"s{i}",) for i in range(len(counts))]
    return stage_of(["x"], states, P, counts, cells=np.array(cells or [0] * len(counts)))


TWO = stage_with([["3/4", "1/2"], ["1/4", "1/2"]], [20, 10])
BLOCKS = stage_with([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [5, 10, 10], [0, 1, 1])


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
    pairs = stage_with([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [0, 10, 10], [0, 1, 1])
    assert achieved(pairs, "guess") == pytest.approx(3 / 4)  # a cell without records asks nothing


def test_a_zero_inside_a_cell_rules_a_truth_out() -> None:
    whole = stage_with([["1", "0", "0"], ["0", "3/4", "1/4"], ["0", "1/4", "3/4"]], [5, 10, 10])
    assert achieved(whole, "parity") == math.inf == achieved(whole, "factor")


def test_every_bound_is_measured_but_the_one_about_files() -> None:
    assert {name for name in Bounds.names() if achieved(TWO, name) is None} == {"match"}


FILE = {("a", "x"): 1, ("b", "y"): 30, ("c", "z"): 9, (None, "x"): 10}


def release() -> Release:
    protections = [Protection.of(["u"], method="method1", theta=1), Protection.of(["v"], method="method1", theta=1)]
    plan = ReleasePlan.of(protections, keys=["u", "v"])
    whole = CellTable.of(["u", "v"], FILE)
    return assess_tables({columns: whole.project(columns) for columns in tables_of(plan)}, plan)


def test_stages_meet_the_same_records() -> None:
    """u: one record of each of three categories moves. v: nine of each of three, of 11, 30 and 9."""
    away = {"a": Fraction(1), "b": Fraction(1, 30), "c": Fraction(1, 9), None: Fraction(0)}
    moved = {"x": Fraction(9, 11), "y": Fraction(9, 30), "z": Fraction(1)}
    exact = sum(n * (1 - (1 - away[u]) * (1 - moved[v])) for (u, v), n in FILE.items()) / 50
    assert release().expected_change() == pytest.approx(float(exact), abs=1e-14)


def test_records_without_a_value_count_among_all() -> None:
    found = release()
    assert found.utility is not None
    assert found.utility.variables["u"].expected_changed == pytest.approx(3 / 50)  # as realised shares are counted
    assert found.to_dict()["variables"]["u"]["expected_changed"] == pytest.approx(3 / 50)


def test_no_table_has_the_columns() -> None:
    assert expected_share(release().stages, [CellTable.of(["u"], {("a",): 1})], ["u", "v"]) is None

"""The expected share of changed records, against the records themselves."""

from __future__ import annotations

from fractions import Fraction

import pytest

from maskwell.core import CellTable
from maskwell.microdata import Protection, Release, ReleasePlan
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.needed_tables import tables_of
from maskwell.microdata.utility.utility_report import expected_share

FILE = {("a", "x"): 1, ("b", "y"): 30, ("c", "z"): 9, (None, "x"): 10}


def release() -> Release:
    protections = [
        Protection.of(["u"], method="method1", theta=1),
        Protection.of(["v"], method="method1", theta=1),
    ]
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
    assert found.variable_facts()["u"]["expected_changed"] == pytest.approx(3 / 50)


def test_no_table_has_the_columns() -> None:
    assert expected_share(release().stages, [CellTable.of(["u"], {("a",): 1})], ["u", "v"]) is None

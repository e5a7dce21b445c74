"""Counts: mergeable, whole, and of one design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maskwell.core.report_data import Counts
from maskwell.errors import MaskwellError, ReportError


def test_counts_add_up() -> None:
    total = Counts(np.array([1, 2]), 3, "f") + Counts(np.array([10, 20], dtype=np.uint8), 30, "f")
    assert total.values.tolist() == [11, 22]
    assert total.n == 33
    assert total.share().tolist() == [11 / 33, 22 / 33]


def test_small_types_do_not_overflow() -> None:
    small = Counts(np.array([200, 0], dtype=np.uint8), 200, "f")
    assert (small + small).values.tolist() == [400, 0]


def test_counts_of_two_designs_do_not_mix() -> None:
    with pytest.raises(ReportError, match="two different designs") as raised:
        Counts(np.array([1]), 1, "f") + Counts(np.array([1]), 1, "g")
    assert raised.value.hint
    assert raised.value.objects["fingerprints"] == ("f", "g")


@pytest.mark.parametrize("bad", [[1.5], [-1], [np.nan], [np.inf], [-0.5, 2]])
def test_counts_are_whole_numbers(bad: list[Any]) -> None:
    with pytest.raises(ReportError) as raised:
        Counts(np.array(bad), 1, "f")
    assert raised.value.hint


def test_whole_floats_are_counts() -> None:
    assert Counts(np.array([3.0, 1.0]), 4, "f").values.dtype == np.int64


def test_counts_cannot_be_changed() -> None:
    given = np.array([1, 2])
    counts = Counts(given, 3, "f")
    given[0] = 100
    assert counts.values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        counts.values[0] = 5


def test_no_reports_have_no_shares() -> None:
    with pytest.raises(ReportError, match="no reports") as raised:
        Counts(np.zeros(3, dtype=int), 0, "f").share()
    assert raised.value.hint


@pytest.mark.parametrize("n", [-1, 1.5, float("nan")])
def test_the_number_of_reports_is_a_count(n: Any) -> None:
    with pytest.raises(MaskwellError) as raised:
        Counts(np.array([1, 2]), n, "f")
    assert raised.value.hint


@pytest.mark.parametrize(
    "values", [np.array([[1, 2]]), np.array(3), np.array([2**63], dtype=np.uint64), np.array(["1"])]
)
def test_counts_are_one_column_of_numbers(values: Any) -> None:
    with pytest.raises(MaskwellError) as raised:
        Counts(values, 3, "f")
    assert raised.value.hint

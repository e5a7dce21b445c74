"""Reports and their texts; counts: mergeable, whole, and of one design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.quiet import told

from maskwell.core import Counts, Reports
from maskwell.core.report_data import split_sets
from maskwell.errors import MissingValueError, ReportError


@settings(deadline=None, derandomize=True, max_examples=50)
@given(
    st.integers(1, 40).flatmap(
        lambda k: st.tuples(st.just(k), st.lists(st.lists(st.booleans(), min_size=k, max_size=k)))
    )
)
def test_texts_and_masks_are_two_writings_of_one_report(drawn: tuple[int, list[list[bool]]]) -> None:
    k, sets = drawn
    texts = ["".join("01"[bit] for bit in row) for row in sets]
    masks = split_sets(np.array(texts, dtype=np.str_), k)
    assert masks.shape == (len(texts), (k + 7) // 8)
    for row, mask in zip(sets, masks, strict=True):
        assert [bool(mask[j // 8] >> (j % 8) & 1) for j in range(k)] == row
        assert int.from_bytes(mask.tobytes(), "little") < 1 << k
    assert Reports("", k, "bits", masks).texts().tolist() == texts


@pytest.mark.parametrize(
    "bad", [["10"], ["1011"], ["1 1"], ["1a1"], ["١٠١"], ["-11"], [""], ["101", "2.0"], [101.0], ["10\n"]]
)
def test_other_texts_are_refused_and_named(bad: list[Any]) -> None:
    with told(ReportError, match="3 characters") as raised:
        split_sets(np.array(bad, dtype=object), 3)
    assert raised.value.objects["rows"] == [len(bad) - 1]


@pytest.mark.parametrize("column", [["101", None], np.array(["101", float("nan")], dtype=object)])
def test_missing_reports_are_called_missing(column: Any) -> None:
    with pytest.raises(MissingValueError, match="1 of 2 reports are missing"):
        split_sets(column, 3)


def test_no_reports_have_no_texts() -> None:
    assert Reports("", 9, "bits", np.zeros((0, 2), dtype=np.uint8)).texts().tolist() == []
    assert split_sets(np.array([], dtype=np.str_), 9).shape == (0, 2)


def test_a_column_of_reports_says_what_it_is() -> None:
    reports = Reports("sha256:abc", 9, "bits", np.zeros((2, 2), dtype=np.uint8))
    assert len(reports) == 2
    assert reports.describe()["bit_order"] == "category j is bit j % 8, least significant first, of byte j // 8"
    assert "k=9" in repr(reports)
    assert "not private" not in repr(reports)
    with pytest.raises(AttributeError):
        reports.k = 3  # type: ignore[misc]


def test_counts_add_up() -> None:
    total = Counts(np.array([1, 2]), 3, "f") + Counts(np.array([10, 20], dtype=np.uint8), 30, "f")
    assert total.values.tolist() == [11, 22]
    assert total.n == 33
    assert total.share().tolist() == [11 / 33, 22 / 33]
    small = Counts(np.array([200, 0], dtype=np.uint8), 200, "f")
    assert (small + small).values.tolist() == [400, 0]
    assert Counts(np.array([3.0, 1.0]), 4, "f").values.dtype == np.int64


def test_counts_cannot_be_changed() -> None:
    given = np.array([1, 2])
    counts = Counts(given, 3, "f")
    given[0] = 100
    assert counts.values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        counts.values[0] = 5


ONE = Counts(np.array([1]), 1, "f")
NO_COUNTS: list[Any] = [[1.5], [-1], [np.nan], [np.inf], [-0.5, 2], [[1, 2]], 3, np.array([2**63], "u8"), ["1"]]


@pytest.mark.parametrize(
    ("said", "call"),
    [
        (None, lambda: Reports("", 3, "codes", np.array([1], dtype=np.uint8)).texts()),
        ("two different designs", lambda: ONE + Counts(np.array([1]), 1, "g")),
        ("no reports", lambda: Counts(np.zeros(3, dtype=int), 0, "f").share()),
        *((None, lambda n=n: Counts(np.array([1, 2]), n, "f")) for n in (-1, 1.5, float("nan"))),
        *((None, lambda values=values: Counts(np.array(values), 1, "f")) for values in NO_COUNTS),
    ],
)
def test_what_is_no_count_and_no_text_is_refused(said: str | None, call: Callable[[], Any]) -> None:
    with told(ReportError, match=said):
        call()

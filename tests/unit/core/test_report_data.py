"""Reports and their texts; counts: mergeable, whole, and of one design."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.quiet import told

from maskwell import Counts
from maskwell.core.report_data import Reports, split_sets
from maskwell.errors import ReportError


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


@pytest.mark.parametrize("bad", [["10"], ["1011"], ["1 1"], ["1a1"], ["١٠١"], ["101", "2.0"], [101.0], ["10\n"]])
def test_other_texts_are_refused_and_named(bad: list[Any]) -> None:
    with told(ReportError, match="3 digits") as raised:
        split_sets(np.array(bad, dtype=object), 3)
    assert raised.value.objects["rows"] == [len(bad) - 1]


ONE = Counts(np.array([1]), 1, "f")
NO_COUNTS: list[Any] = [[1.5], [-1], [np.nan], [np.inf], [-0.5, 2], [[1, 2]], 3, np.array([2**63], "u8"), ["1"]]


@pytest.mark.parametrize(
    ("said", "call"),
    [
        (None, lambda: Reports("", 3, "codes", np.array([1], dtype=np.uint8)).texts()),
        ("two different designs", lambda: ONE + Counts(np.array([1]), 1, "g")),
        ("at least one report is needed for an estimate", lambda: Counts(np.zeros(3, dtype=int), 0, "f").share()),
        *((None, lambda n=n: Counts(np.array([1, 2]), n, "f")) for n in (-1, 1.5, float("nan"))),
        *((None, lambda values=values: Counts(np.array(values), 1, "f")) for values in NO_COUNTS),
    ],
)
def test_what_is_no_count_and_no_text_is_refused(said: str | None, call: Callable[[], Any]) -> None:
    with told(ReportError, match=said):
        call()

"""Labels of a plan and of a file, joined by their texts."""

from __future__ import annotations

import pytest
from tests.support.quiet import quiet

from maskwell.core.phrases import HINT, MESSAGE
from maskwell.errors import UnknownCategoryError
from maskwell.microdata.plans.plan_entries import by_text, find_levels, unknown_label


def test_a_label_is_found_by_its_text_whatever_its_type() -> None:
    assert find_levels(["9", "2", "a", "true"], [9, 2.0, "a", True], "x") == [9, 2.0, "a", True]


def test_the_empty_text_is_the_missing_value() -> None:
    assert find_levels([""], ["a", None], "x") == [None]
    assert by_text(["a", None]) == {"a": "a", "": None}


def test_an_unknown_label_is_named_but_none_of_the_file() -> None:
    with quiet(
        UnknownCategoryError, match="exclude: there is no category 'refusd'", values="'refused', 'yes'"
    ) as found:
        find_levels(["refusd"], ["refused", "yes"], "exclude")
    assert "refused" not in found.value.hint
    assert unknown_label("refusd", ["refused"], "exclude", ["refused"]).hint == "did you mean 'refused'?"


def test_many_labels_fit_a_line() -> None:
    with pytest.raises(UnknownCategoryError) as caught:
        find_levels(["x" * 500], list(range(100_000)), "exclude of 'code'")
    assert len(caught.value.message) <= MESSAGE
    assert len(caught.value.hint) <= HINT

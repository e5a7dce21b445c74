"""What stays in a file and tells the randomized columns: found, named, and not cried out without need."""

from __future__ import annotations

from typing import Any

import pytest

from maskwell.release.in_memory import release_table
from maskwell.release.plans.plan import ReleasePlan

pytest.importorskip("pyarrow")
AGES = [str(20 + i % 40) for i in range(400)]
PEOPLE = {
    "age": AGES,
    "group": [a[0] for a in AGES],
    "sex": ["f", "m", "m"] * 133 + ["f"],
}


def warned(variables: list[str], data: dict[str, Any] = PEOPLE, **more: Any) -> str:
    plan = ReleasePlan.of([{"variables": v, "method": "sequential"} for v in variables], **more)
    return " ".join(release_table(data, plan).release.warnings)


def test_a_finer_column_tells_a_coarser_one() -> None:
    assert "age tells group" in warned(["group"])


def test_a_coarser_column_shows_what_changed() -> None:
    found = warned(["age"])
    assert "age tells group" in found
    assert "linked" in found


def test_columns_that_are_dropped_randomized_too_or_unrelated_are_not_named() -> None:
    assert warned(["group"], drop=["age"]) == ""
    assert "sex" not in warned(["group"])


def test_a_column_that_follows_is_linked_and_not_named() -> None:
    plan = ReleasePlan.of([{"variables": "age", "linked": "group", "method": "sequential"}])
    assert release_table(PEOPLE, plan).release.warnings == ()


def test_weights_that_tell_are_named_once_for_all_columns() -> None:
    half = ["a" if group in "23" else "b" for group in PEOPLE["group"]]
    people = {**PEOPLE, "half": half, "w": [float(group) for group in PEOPLE["group"]]}
    plan = ReleasePlan.of(
        [{"variables": v, "method": "sequential"} for v in ("half", "group")], weights="w", drop=["age"]
    )
    (found,) = [text for text in release_table(people, plan).release.warnings if "weight" in text]
    assert "half (400 records)" in found
    assert "group" in found


def test_nothing_is_said_of_columns_with_a_label_for_every_record() -> None:
    assert "number" not in warned(["group"], {**PEOPLE, "number": list(range(400))}, drop=["age"])


def test_texts_that_are_different_for_every_record_are_named() -> None:
    found = warned(["group"], {**PEOPLE, "name": [f"person {i}" for i in range(400)]}, drop=["age"])
    assert "may name people, and are published: name" in found

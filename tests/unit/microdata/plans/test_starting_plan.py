"""A first plan from the data: works as it is, and says what it guessed."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest

from maskwell.core import CellTable
from maskwell.errors import PlanError
from maskwell.microdata import starting_plan
from maskwell.microdata.plans.plan_drafts import choose_keys, guess_column
from maskwell.microdata.plans.release_plan import read_plan


def column(name: str, *labels: Hashable, times: int = 50) -> CellTable:
    return CellTable.of([name], {(label,): times for label in labels})


def distinct(name: str, n: int, *, as_text: bool = False, step: int = 1) -> CellTable:
    """A column with n different values, made without asking for each."""
    levels: tuple[Hashable, ...] = tuple(f"v{i}" for i in range(n)) if as_text else tuple(range(0, step * n, step))
    codes = np.arange(n, dtype=np.int32).reshape(-1, 1)
    return CellTable((name,), (levels,), codes, np.ones(n, dtype=np.int64))


@pytest.mark.parametrize(
    ("table", "role"),
    [
        (column("sex", "f", "m"), "few"),
        (column("year", 2025), "constant"),
        (column("sampling_weight", 100), "weights"),
        (column("PWGTP", 1, 2, 3), "weights"),
        (column("WEIGHT", "112.7", "118.3"), "weights"),
        (column("weight_class", "light", "heavy"), "few"),
        (column("wgt", 0, 1), "few"),
        (column("weight", 60, 70, None), "few"),
        (distinct("pid", 100), "id"),
        (distinct("person", 100), "id"),
        (distinct("expend", 100, step=7), "numbers"),
        (distinct("surname", 100, as_text=True), "drop"),
        (CellTable.of(["hid"], {(i,): 2 for i in range(60)}), "drop"),
        (CellTable.of(["age"], {(i,): 90 for i in range(88)}), "many"),
        (CellTable.of(["bmi"], {(i + 0.5,): 90 for i in range(88)}), "numbers"),
        (CellTable.of(["job"], {(f"job {i}",): 90 for i in range(88)}), "many"),
        (distinct("code", 100_000, step=3), "many"),
    ],
)
def test_what_a_column_probably_is(table: CellTable, role: str) -> None:
    assert guess_column(table).role == role


def test_beside_a_height_a_weight_is_that_of_a_body() -> None:
    assert guess_column(column("weight", 60, 70), bodies=True).role == "few"
    assert "Survey weights" not in starting_plan([column("weight", 60, 70), column("height", 170, 180)])
    assert guess_column(column("weight", 60, 70)).role == "weights"


def test_keys_are_known_things_with_records_enough() -> None:
    known = [column(name, *range(5), times=40) for name in ("sex", "region", "marital", "race", "educ", "nation")]
    guesses = [*map(guess_column, [column("odd", 1, 2, 3, 4, times=50), *known])]
    assert choose_keys(guesses) == ["sex", "region"]  # a third would leave fewer than four records a cell
    assert choose_keys([*map(guess_column, [column("odd", 1, 2), column("other", 1, 2)])]) == ["odd", "other"]


def test_the_plan_can_be_read_and_fits_the_file() -> None:
    tables = [
        column("sex", "f", "m"),
        column("region", "north", "south"),
        column("income class", "low", "high"),
        column("design_weight", 1, 2),
        distinct("pid", 100),
        distinct("email", 100, as_text=True),
        distinct("income", 100, step=3),
    ]
    text = starting_plan(tables, path="folder/people.csv")
    plan = read_plan(text)
    plan.check([table.columns[0] for table in tables])
    assert plan.keys == plan.protections[0].variables == ("sex", "region", "income class")
    assert (plan.weights, plan.id, plan.drop, plan.match) == ("design_weight", "pid", ("email",), plan.match)
    assert "maskwell release people.csv --plan plan.toml" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_sensitive_value_can_be_randomized_by_taking_signs_off() -> None:
    tables = [column(name, "a", "b", times=10) for name in ("sex", "region", "marital", "race")]
    text = starting_plan([*tables, column("smokes", *map(str, range(20)), times=1)])
    assert read_plan(text).sensitive == ("smokes",)
    head, example = text.split("take the signs off these lines:\n")
    assert read_plan(head + "\n" + example.replace("# ", "")).protections[1].variables == ("smokes",)


def test_too_many_categories_are_told_what_to_do() -> None:
    text = starting_plan([column("sex", "f", "m"), distinct("code", 120_000, step=3)])
    assert "Too many categories to randomize; group them" in text
    assert "code (120,000 or more)" in text
    with pytest.raises(PlanError, match="between 2 and 30 different values") as caught:
        starting_plan([distinct("income", 100, step=3)], path="numbers.csv")
    assert "group values into classes" in caught.value.hint


def test_names_with_control_characters_make_a_plan_that_can_be_read() -> None:
    odd = "o\x01\nd\x85\u2028d\x7f"
    tables = [column("sex", "f", "m"), column("region", "n", "s"), distinct(odd, 100, step=3), column("k" + odd, "c")]
    text = starting_plan(tables, telling={"k" + odd: f"{odd} gives away sex"}, others=["l" + odd])
    assert {*read_plan(text).drop} == {"k" + odd, "l" + odd}
    assert read_plan(starting_plan([column("sex" + odd, "f", "m")])).keys == ("sex" + odd,)

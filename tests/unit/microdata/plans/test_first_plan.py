"""Plans to start from, made from files with columns of every type: they work as they are, and say what was guessed."""

import random
from collections.abc import Hashable, Mapping
from itertools import combinations
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from maskwell.core import CellTable
from maskwell.errors import InfeasibleError, ParameterError, PlanError
from maskwell.microdata import Protection, ReleasePlan, assess_file, starting_plan, true_file
from maskwell.microdata.kept_bounds import check_kept
from maskwell.microdata.plans.plan_drafts import choose_keys, guess_column
from maskwell.microdata.plans.release_plan import read_plan
from maskwell.verbs import first_plan
from maskwell.verbs import release as publish_module

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(columns: Mapping[str, object], folder: Path) -> str:
    path = folder / "people.parquet"
    parquet.write_table(pa.table(columns), path)
    return str(path)


def test_columns_of_which_nothing_can_be_said_are_not_published(tmp_path: Path) -> None:
    odd = {"tags": pa.array([["a", "b"]] * 40), "photo": pa.array([b"\xff"] * 40), "ba\nd\x01\u2028": [{"x": 1}] * 40}
    path = written({**odd, "sex": ["f", "m"] * 20, "region": ["n", "n", "s", "s"] * 10}, tmp_path)
    text = first_plan(path)
    plan = read_plan(text)
    assert {*plan.drop} == {*odd}
    assert plan.keys == ("sex", "region")
    assert "Neither texts nor numbers nor dates" in text


def test_one_line_of_a_first_plan_sets_its_bound(tmp_path: Path) -> None:
    people = {"sex": ["f", "m"] * 39 + ["f", "x"], "region": ["n", "n", "s", "s"] * 19 + ["e", "n", "e", "s"]}
    path = written(people, tmp_path)
    text = first_plan(path, match="0.2")
    for bound in ("0.2", "0.1", "0.35"):
        plan = read_plan(text.replace("match = 0.2 ", f"match = {bound} "))
        assert (plan.protections[0].method, float(plan.match or 0)) == ("mixing", float(bound))
        release = assess_file(path, plan)
        check_kept(release)
        assert release.risk is not None
        assert release.risk.before.max_risk == 1
    with pytest.raises(ParameterError, match="match = 20 is not a probability"):
        first_plan(path, match=20)
    with pytest.raises(InfeasibleError, match=r"1 of 1 cells have too few records \(80; match = 0.01 needs 100\)"):
        first_plan(path, match="0.01")


def test_what_it_suggests_in_comments_works_once_the_signs_are_off(tmp_path: Path) -> None:
    draw = random.Random(5)
    sizes = draw.choices((1, 2, 3, 4), k=300)
    houses = [house for house, size in enumerate(sizes) for _ in range(size)]
    regions = [draw.choice("abcd") for _ in sizes]
    people = {
        "hid": houses,
        "region": [regions[house] for house in houses],
        "sex": [draw.choice("fm") for _ in houses],
        "shoes": [draw.choice("xyz") for _ in houses],
        "age": [draw.randrange(90) for _ in houses],
        "weight": [1.1 + 3 * draw.random() for _ in houses],
    }
    path = written(people, tmp_path)
    text = first_plan(path, match="0.2")
    assert read_plan(text).unit is None
    assert {*read_plan(text).drop} == {"hid", "weight"}
    assert "records for each value on average, alike in region" in text
    for line in ('unit = "hid"', "[recode.age]", "cuts = ", "[recode.weight]", "round = 2"):
        assert f"\n# {line}" in text
        text = text.replace(f"\n# {line}", f"\n{line}")
    text = text.replace('"shoes"]', '"shoes", "age"]').replace('drop = ["hid", "weight"]', 'weights = "weight"')
    plan = read_plan(text)
    release = assess_file(path, plan)
    check_kept(release)
    assert release.risk.units is not None
    assert (plan.unit, plan.weights, len(plan.recodes["age"].cuts)) == ("hid", "weight", 4)
    named = first_plan(path, keys="sex,age", match="0.2")
    assert read_plan(named).keys == read_plan(named).protections[0].variables == ("sex", "age")
    assert "\n# [recode.age]" in named
    assert "add it to keys" not in named
    check_kept(assess_file(path, read_plan(named)))
    with pytest.raises(ParameterError, match="keys = 'hair'"):
        first_plan(path, keys=["hair"])
    draw.shuffle(houses)
    assert "# unit" not in first_plan(written({**people, "hid": houses}, tmp_path))


def test_the_method_that_changes_fewer_records_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written({"sex": ["f", "m"] * 40, "region": ["n", "n", "s", "s"] * 20}, tmp_path)
    changes = {"mixing": 0.2, "inverse-frequency": 0.1}
    monkeypatch.setattr(publish_module, "_expected_changes", lambda _, method, __: changes[method])
    assert read_plan(first_plan(path)).protections[0].method == "inverse-frequency"
    with monkeypatch.context() as many:
        many.setattr(publish_module, "MOST_COMPARED", 3)
        assert read_plan(first_plan(path)).protections[0].method == "mixing"
    kept = Mock(side_effect=InfeasibleError("not kept"))
    monkeypatch.setattr(publish_module, "check_kept", kept)
    assert read_plan(first_plan(path)).protections[0].method == "mixing"


def test_what_would_help_is_told_where_cells_have_too_few_records(tmp_path: Path) -> None:
    people = {
        "sex": [*"fmfmfmfmfm"] * 4,
        "region": ["n"] * 20 + ["s"] * 20,
        "town": ["a"] * 18 + ["b", "c"] + ["a"] * 20,
    }
    protect = {"variables": ["sex"], "within": ["region", "town"], "method": "mixing"}
    plan = ReleasePlan.of([protect], keys=["sex", "region", "town"], match="0.2")
    with pytest.raises(
        InfeasibleError, match=r"2 of 4 cells have too few records \(1; match = 0.2 needs 5\)"
    ) as raised:
        assess_file(written(people, tmp_path), plan)
    assert raised.value.hint == "without 'town' in within each has 20 or more; or group 2 of its labels"
    assert raised.value.values == "town: b (1 records), c (1 records)"
    alone = ReleasePlan.of([{**protect, "variables": ["region"], "within": []}], keys=["region"], match="0.02")
    with pytest.raises(InfeasibleError, match="1 of 1 cells") as raised:
        assess_file(written(people, tmp_path), alone)
    assert raised.value.hint.startswith("allow a larger match")


def test_missing_keys_are_refused_before_any_matrix_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = {"sex": [*"fm"] * 40 + [None, "f"], "region": ["n", "n", "s", "s"] * 20 + ["n", None], "job": ["a"] * 82}
    path = written(people, tmp_path)

    def plan(missing: str, *variables: str, match: str = "0.2") -> ReleasePlan:
        protect = [Protection.of(variables, "mixing")]
        return ReleasePlan.of(protect, keys=["sex", "region"], match=match, missing=missing)

    check_kept(assess_file(path, plan("category", "sex", "region")))
    check_kept(assess_file(path, plan("unchanged", "sex", "region", match="1")))
    with monkeypatch.context() as none:
        none.setattr("maskwell.microdata.assessment.build_stages", Mock(side_effect=AssertionError("too late")))
        with pytest.raises(InfeasibleError, match="2 of 82 records have no value of sex, region") as raised:
            assess_file(path, plan("unchanged", "sex", "region"))
        with pytest.raises(InfeasibleError, match="1 of 82 records have no value of sex, stay"):
            assess_file(path, plan("unchanged", "sex"))
        with pytest.raises(AssertionError, match="too late"):  # nobody keeps these keys for a missing value
            assess_file(path, plan("unchanged", "job"))
    assert 'missing = "category"' in str(raised.value.hint)


class _Counted(str):
    """A name that counts how often it is looked up or compared."""

    looked_up = 0

    def __hash__(self) -> int:
        _Counted.looked_up += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        _Counted.looked_up += 1
        return super().__eq__(other)


def _looked_up(sensitive: int) -> int:
    before = _Counted.looked_up
    plan = ReleasePlan.of(
        [Protection.of(["region"], "mixing")],
        keys=["region"],
        match="0.3",
        sensitive=[_Counted(f"income{i}") for i in range(sensitive)],
    )
    assert len(true_file.compared_tables(plan)) == 1 + sensitive + min(sensitive, true_file.MOST_PAIRS)
    return _Counted.looked_up - before


def test_pairs_to_compare_are_looked_up_a_few_times_in_the_order_of_combinations() -> None:
    """Pairs of all columns were made to keep those with a randomized one: 50 million of 10,000 columns."""
    assert _looked_up(2_000) < 2.2 * _looked_up(1_000)
    plan = ReleasePlan.of(
        [Protection.of(["c", "e"], "mixing")], keys=["a", "c", "e"], sensitive=["b", "d"], match="0.3"
    )
    names = ["a", "c", "e", "b", "d"]
    pairs = [table for table in true_file.compared_tables(plan) if len(table) > 1]
    every = [pair for pair in combinations(names, 2) if {"c", "e"} & {*pair}]
    assert pairs == [*dict.fromkeys(true_file.closure(plan, pair) for pair in every)]


def column(name: str, *labels: Hashable, times: int = 50) -> CellTable:
    return CellTable.of([name], {(label,): times for label in labels})


def distinct(name: str, n: int, *, as_text: bool = False, step: int = 1) -> CellTable:
    """A column with n different values, made without asking for each."""
    levels: tuple[Hashable, ...] = tuple(f"v{i}" for i in range(n)) if as_text else tuple(range(0, step * n, step))
    codes = np.arange(n, dtype=np.int32).reshape(-1, 1)
    return CellTable((name,), (levels,), codes, np.ones(n, dtype=np.int64))


ROLES = {
    "few": [column("sex", "f", "m"), column("weight_class", "light", "heavy"), column("wgt", 0, 1)],
    "constant": [column("year", 2025)],
    "weights": [column("sampling_weight", 100), column("PWGTP", 1, 2, 3), column("WEIGHT", "112.7", "118.3")],
    "id": [distinct("pid", 100), distinct("person", 100)],
    "drop": [distinct("surname", 100, as_text=True), column("hid", *range(60), times=2)],
    "numbers": [distinct("expend", 100, step=7), column("bmi", *(i + 0.5 for i in range(88)), times=90)],
    "many": [column("age", *range(88), times=90), column("job", *(f"job {i}" for i in range(88)), times=90)],
}


def test_what_a_column_probably_is_and_which_are_keys() -> None:
    assert {role: [guess_column(table).role for table in tables] for role, tables in ROLES.items()} == {
        role: [role] * len(tables) for role, tables in ROLES.items()
    }
    assert guess_column(column("weight", 60, 70, None)).role == "few"
    assert guess_column(distinct("code", 100_000, step=3)).role == "many"
    assert guess_column(column("weight", 60, 70), bodies=True).role == "few"
    assert "Survey weights" not in starting_plan([column("weight", 60, 70), column("height", 170, 180)])
    assert guess_column(column("weight", 60, 70)).role == "weights"
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


def test_sensitive_values_and_names_with_control_characters_make_a_plan_that_can_be_read() -> None:
    tables = [column(name, "a", "b", times=10) for name in ("sex", "region", "marital", "race")]
    text = starting_plan([*tables, column("smokes", *map(str, range(20)), times=1)])
    assert read_plan(text).sensitive == ("smokes",)
    head, example = text.split("take the signs off these lines:\n")
    assert read_plan(head + "\n" + example.replace("# ", "")).protections[1].variables == ("smokes",)
    odd = "o\x01\nd\x85\u2028d\x7f"
    tables = [column("sex", "f", "m"), column("region", "n", "s"), distinct(odd, 100, step=3), column("k" + odd, "c")]
    text = starting_plan(tables, telling={"k" + odd: f"{odd} gives away sex"}, others=["l" + odd])
    assert {*read_plan(text).drop} == {"k" + odd, "l" + odd}
    assert read_plan(starting_plan([column("sex" + odd, "f", "m")])).keys == ("sex" + odd,)


def test_too_many_categories_and_none_are_told_what_to_do() -> None:
    text = starting_plan([column("sex", "f", "m"), distinct("code", 120_000, step=3)])
    assert "Too many categories to randomize; group them" in text
    assert "code (120,000 or more)" in text
    with pytest.raises(PlanError, match="between 2 and 30 different values") as caught:
        starting_plan([distinct("income", 100, step=3)], path="numbers.csv")
    assert "group values into classes" in caught.value.hint

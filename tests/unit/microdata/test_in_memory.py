"""Tables in memory, released in their own kind; and rules that name a few labels of an unchanged column."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused

import maskwell as mw
from maskwell import Release, ReleasePlan, SeededRandom
from maskwell.designs.sampler import forget_tables
from maskwell.engines.input_file import InputFile
from maskwell.errors import (
    DataFileError,
    EditRuleError,
    InfeasibleError,
    PlanError,
    PublishError,
    UnknownCategoryError,
    WrongTypeError,
)
from maskwell.microdata.assessment import assess_file
from maskwell.microdata.publication import release_into, release_table

pytest.importorskip("pyarrow")

DEGREES = ("none", "school", "trade", "bachelor", "master", "doctor")
HIGH = ["bachelor", "master", "doctor"]
RULE = {"forbid": {"age": ["child"], "degree": HIGH}}
NAME = "degree in rule 1"


def written(folder: Path, n: int = 600) -> str:
    draw = random.Random(9)
    lines = []
    for _ in range(n):
        age = draw.choices(["child", "young", "old"], (3, 4, 3))[0]
        degree = draw.choice(DEGREES[:2]) if age == "child" else draw.choices(DEGREES, (30, 30, 20, 10, 8, 1))[0]
        lines.append([age, draw.choices(["north", "south", "islands"], (50, 49, 1))[0], degree])
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "region", "degree"], *lines])
    return str(folder / "people.csv")


def plan(**more: Any) -> ReleasePlan:
    protect = {"variables": ["age", "region"], "method": "mixing", **more.pop("protect", {})}
    release = {"keys": ["age", "region"], "match": "0.2", "demonstration": True, "accept": ["degree"]}
    return ReleasePlan.from_dict({"release": release, "rule": [RULE], "protect": [protect], **more})


def test_a_rule_costs_less_than_all_categories_and_more_than_none(tmp_path: Path) -> None:
    path = written(tmp_path)
    narrow = assess_file(path, plan())
    assert narrow.stages[0].within == (NAME,)
    assert {label[0] for label in narrow.stages[0].states} == {"yes", "no"}
    free = assess_file(path, plan(rule=[]))
    assert free.expected_change() <= narrow.expected_change()
    assert narrow.risk.after.max_risk <= 0.2 + 1e-9
    refused(InfeasibleError, "too few records", assess_file, path, plan(protect={"within": ["degree"]}))
    assert narrow.plan.to_dict()["rule"] == [RULE], "the plan is signed as it was typed"


def released(path: str, folder: Path, asked: ReleasePlan, seed: int) -> Release:
    return release_into(path, asked, str(folder), random=SeededRandom(seed))


def test_no_released_record_breaks_the_rule_and_the_further_column_is_not_published(tmp_path: Path) -> None:
    path = written(tmp_path)
    moved = 0
    for seed in range(3):
        release = released(path, tmp_path / f"r{seed}", plan(), seed)
        with (tmp_path / f"r{seed}/public/data.csv").open(newline="") as file:
            people = [*csv.DictReader(file)]
        assert [*people[0]] == ["age", "region", "degree"]
        assert not [one for one in people if one["age"] == "child" and one["degree"] in HIGH]
        moved += release.changed["age"]
    assert moved > 0
    receipt = json.loads((tmp_path / "r0/public/receipt.json").read_text())
    assert receipt["groups"][0]["within"] == [NAME]
    internal = tmp_path / "r0/internal/receipt.json"
    both = mw.risk(path, "age,region", receipt=internal, released=tmp_path / "r0/public/data.csv")
    assert both.after.max_risk_any_release == pytest.approx(release_risk(tmp_path / "r0"))


def release_risk(folder: Path) -> float:
    told = json.loads((folder / "internal/receipt.json").read_text())["risk"]["after"]
    return float(told["max_risk_any_release"])


def test_rules_that_the_file_or_a_fixed_matrix_breaks_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(EditRuleError, match="occurs"):
        assess_file(path, plan(rule=[{"forbid": {"age": ["child"], "degree": ["school"]}}]))
    with pytest.raises(UnknownCategoryError, match="docter"):
        assess_file(path, plan(rule=[{"forbid": {"age": ["child"], "degree": ["docter"]}}]))
    listed = assess_file(
        path,
        plan(rule=[{"forbid": {"age": ["child"], "degree": ["priest"]}}], codebook={"degree": [*DEGREES, "priest"]}),
    )
    assert listed.stages[0].within == (NAME,), "a label of the codebook that does not occur is no mistake"
    path = written(tmp_path)
    fixed = {"variables": ["region"], "method": "uniform", "gamma": 3}
    rule = [{"forbid": {"region": ["islands"], "degree": ["doctor"]}}]
    both = ReleasePlan.from_dict(
        {"release": {"accept": ["degree", "age"]}, "protect": [fixed], "rule": rule, "codebook": {"degree": [*DEGREES]}}
    )
    with pytest.raises(EditRuleError):
        assess_file(
            path, both
        )  # a matrix that users get could make what the rule forbids: no help from a further column
    within = assess_file(path, plan(protect={"within": ["degree"]}, rule=[], release={"accept": ["degree"]} | MATCH))
    assert within.file.further == ()


MATCH: dict[str, Any] = {"keys": ["age", "region"], "match": "1"}


pa = pytest.importorskip("pyarrow")
PEOPLE = {"x": ["a"] * 120 + ["b"] * 80 + ["c"] * 30, "y": list(range(230))}


def plan_of(**more: Any) -> ReleasePlan:
    protect = {"variables": "x", "method": "method1", "theta": "2/3"}
    return ReleasePlan.of([{**protect, **more.pop("protect", {})}], **{"order": "kept", **more})


def test_tables_of_every_kind_come_back_and_those_of_draws_make_room() -> None:
    """They would be a tenth of the memory of a large release; made again, they draw the same."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for data in (pandas.DataFrame(PEOPLE), polars.DataFrame(PEOPLE), pa.table(PEOPLE), PEOPLE):
        released = release_table(data, plan_of(accept="y")).data
        assert type(released) is type(data)
        assert list(released["y"]) == list(range(230)) or released["y"].to_pylist() == list(range(230))
    (stage,) = release_table(PEOPLE, plan_of(accept="y")).release.stages
    assert "_table" not in vars(stage.design)
    codes = np.arange(3).repeat(100)
    first = stage.design.sample(codes, random=SeededRandom(1)).data
    assert "_table" in vars(stage.design)
    forget_tables(stage.design)
    assert "_table" not in vars(stage.design)
    assert (stage.design.sample(codes, random=SeededRandom(1)).data == first).all()


def test_a_kept_or_random_order_tells_and_weights_may_differ_for_every_record() -> None:
    """They tell the records apart, so that the plan has to accept them."""
    released = release_table(PEOPLE, plan_of(accept="y", order="shuffled", protect={"theta": "0"})).data
    pairs = list(zip(released["x"], released["y"], strict=True))
    assert sorted(pairs, key=lambda pair: pair[1]) == list(zip(PEOPLE["x"], PEOPLE["y"], strict=True))
    assert released["y"] != PEOPLE["y"]
    # All a come first, then b and c: whatever is drawn, the neighbours tell.
    people = {"x": PEOPLE["x"]}
    assert any("order is preserved" in warning for warning in release_table(people, plan_of()).release.warnings)
    assert not release_table(people, plan_of(order="shuffled")).release.warnings
    mixed = {"x": np.random.default_rng(3).permutation(people["x"]).tolist()}
    assert not release_table(mixed, plan_of()).release.warnings
    refused(PublishError, "seed", release_table, PEOPLE, plan_of(), random=SeededRandom(1))
    data = {"x": ["a", "b"] * 1500, "w": [1 + i / 7 for i in range(3000)]}
    refused(PlanError, "w identifies records: 100 % have a unique value", release_table, data, plan_of(weights="w"))
    released = release_table(data, plan_of(weights="w", accept="w"))
    assert sorted(released.data["w"]) == data["w"]
    assert any("accepted by the plan: w identifies" in warning for warning in released.release.warnings)
    by_key = release_table(data, plan_of(weights="w", keys=["x", "w"], accept="record-order")).release
    assert by_key.risk.before.uniques == 3000, "as a key, every weight counts"


@pytest.mark.parametrize(
    ("data", "error"), [(3, WrongTypeError), ({"x": []}, DataFileError), ({"z": ["a"]}, PlanError)]
)
def test_tables_that_cannot_be_released_are_refused(data: Any, error: type[Exception]) -> None:
    refused(error, "", release_table, data, plan_of())


class Passes:
    """A view of a file that counts how often it is opened and how often its rows pass."""

    opened = passed = 0

    def __call__(self, source: Any, path: str) -> Any:
        self.opened += 1
        batches = source.batches

        def counted(only: Any = None) -> Any:
            self.passed += 1
            yield from batches(only)

        source.batches = counted
        return source


def test_the_rows_of_a_file_pass_twice_whatever_is_weighed_of_them(tmp_path: Path) -> None:
    """Households, a column that follows from a key and one that restores a target are all looked at again."""
    random = np.random.default_rng(4)
    hid = np.sort(random.integers(0, 700, 2_000))
    job = (random.random(2_000) ** 4 * 60).astype(int)
    people = {
        "hid": [f"h{one}" for one in hid],
        "region": random.choice(["north", "south"], 700)[hid],
        "job": [f"j{one:02}" for one in job],
        "sector": [f"s{one // 10}" for one in job],
        "income": random.integers(0, 90, 700)[hid],
        "weight": random.normal(70, 9, 2_000).round(),
    }
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([people, *zip(*people.values(), strict=True)])
    release = {"keys": ["region", "job"], "unit": "hid", "drop": ["hid"], "demonstration": True}
    protect = {"variables": ["job"], "within": ["region"], "method": "method1", "theta": "0.5"}
    accept = {"accept": ["income", "weight"]}
    asked = ReleasePlan.from_dict({"release": release | accept, "protect": [protect]})
    passes = Passes()
    done = release_into(InputFile.of(str(path), view=passes), asked, str(tmp_path / "out"), random=SeededRandom(1))
    assert (passes.passed, passes.opened) == (2, 3), "the plan looks at the names first"
    assert (done.file.seen, done.file.members is not None, [*done.file.fits]) == (
        ("sector",),
        True,
        [("region", "job")],
    )
    in_memory = release_table(people, asked, random=SeededRandom(1)).release
    assert in_memory.assessment.risk.to_dict() == done.assessment.risk.to_dict()
    assert (in_memory.joined, in_memory.side_channels) == (done.joined, done.side_channels)


def test_weights_that_are_not_published_are_read_again_where_a_column_follows_a_key(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    region = random.integers(0, 6, 600)
    people = {
        "region": region,
        "country": region // 3,
        "w": random.integers(1, 9, 600),
        "job": random.integers(0, 4, 600),
    }
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([people, *zip(*people.values(), strict=True)])
    protect = {"variables": ["region"], "method": "method1", "theta": "0.5"}
    terms = {"keys": ["region", "job"], "weights": "w", "drop": ["w"], "accept": ["country"]}
    plan = ReleasePlan.from_dict({"release": terms, "protect": [protect]})
    from_file, in_memory = assess_file(str(path), plan).risk, release_table(people, plan).release.assessment.risk
    assert from_file is not None and from_file.to_dict() == in_memory.to_dict()

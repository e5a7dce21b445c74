"""A rule that names a few labels of an unchanged column costs what it must: its other labels are not told apart."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

import maskwell as mw
from maskwell.core import SeededRandom
from maskwell.errors import EditRuleError, InfeasibleError, UnknownCategoryError
from maskwell.microdata import Release, ReleasePlan, assess_file
from maskwell.microdata.publication import release_into

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
    with pytest.raises(InfeasibleError, match="too few records"):
        assess_file(path, plan(protect={"within": ["degree"]}))
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


def test_what_the_file_breaks_and_what_it_does_not_have_is_refused(tmp_path: Path) -> None:
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

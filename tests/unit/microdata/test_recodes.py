"""Recodes of a plan: as if the file had been recoded by hand before; nothing public tells what the columns held."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell import ReleasePlan, SeededRandom
from maskwell.errors import PlanError
from maskwell.microdata.assessment import assess_file
from maskwell.microdata.publication import release_into, release_table
from maskwell.reports.text.release_report import recode_table
from maskwell.verbs import dry_run

pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")

JOBS = ("astronomer", "baker", "blacksmith", "clerk", "falconer")
RECODE: dict[str, Any] = {
    "age": {"cuts": [30, 60]},
    "job": {"group": {"rare craft": ["astronomer", "falconer", "blacksmith"]}},
    "rooms": {"top": 6},
    "weight": {"round": 5},
}
PLAN: dict[str, Any] = {
    "release": {"keys": ["age", "job"], "match": "0.5", "weights": "weight", "demonstration": True},
    "recode": RECODE,
    "protect": [{"variables": ["age", "job"], "method": "mixing"}],
}


def people(n: int = 400) -> dict[str, list[Any]]:
    draw = random.Random(3)
    return {
        "age": [draw.randint(18, 97) for _ in range(n)],
        "job": draw.choices(JOBS, (1, 40, 2, 56, 1), k=n),
        "rooms": [draw.randint(1, 13) for _ in range(n)],
        "weight": [round(draw.uniform(2, 49), 3) for _ in range(n)],
    }


def by_hand(data: dict[str, list[Any]]) -> dict[str, list[Any]]:
    def age(years: int) -> str:
        return "under 30" if years < 30 else "30 to under 60" if years < 60 else "60 or more"

    rare = RECODE["job"]["group"]["rare craft"]
    return {
        "age": [age(years) for years in data["age"]],
        "job": ["rare craft" if job in rare else job for job in data["job"]],
        "rooms": [min(rooms, 6) for rooms in data["rooms"]],
        "weight": [math.floor(weight / 5 + 0.5) * 5.0 for weight in data["weight"]],
    }


def written(folder: Path, data: dict[str, list[Any]], name: str = "people.csv") -> str:
    path = folder / name
    pandas.DataFrame(data).to_csv(path, index=False)
    return str(path)


def released(source: str, plan: dict[str, Any], folder: Path, **more: Any) -> Path:
    """The folder of a release, without the report and its pictures."""
    release_into(source, ReleasePlan.from_dict(plan), str(folder), **more)
    return folder


def test_a_recoded_plan_is_the_plan_on_a_file_recoded_by_hand_and_names_labels_not_met(tmp_path: Path) -> None:
    plan = ReleasePlan.from_dict(PLAN)
    plain = ReleasePlan.from_dict({key: value for key, value in PLAN.items() if key != "recode"})
    one = assess_file(written(tmp_path, people()), plan)
    two = assess_file(written(tmp_path, by_hand(people()), "hand.csv"), plain)
    assert one.risk.to_dict() == two.risk.to_dict() and one.stages[0].states == two.stages[0].states
    assert (one.stages[0].design.matrix() == two.stages[0].design.matrix()).all()
    for columns, table in two.tables.items():
        assert np.allclose(one.tables[columns].weights, table.weights)
    assert one.file.changes.recoded["job"] == (5, 3)
    drawn = release_table(people(), plan, random=SeededRandom(1)).data
    twin = release_table(by_hand(people()), plain, random=SeededRandom(1)).data
    assert drawn == twin
    recode = {**RECODE, "job": {"group": {"rare craft": ["astronomer", "falconr"]}}}
    release = assess_file(written(tmp_path, people()), ReleasePlan.from_dict({**PLAN, "recode": recode}))
    assert any("falconr" in note and "astronomer" not in note for note in release.notes)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"age": {}}, "says nothing"),
    ({"age": {"tops": 3}}, "unknown setting 'tops'"),
    ({"age": {"top": 3, "cuts": [3]}}, "has cuts and top"),
    ({"age": {"top": 3, "bottom": 3}}, "is not above bottom"),
    ({"age": {"cuts": [3, 3]}}, "rising order"),
    ({"age": {"cuts": []}}, "rising order"),
    ({"age": {"round": 0}}, "is not above 0"),
    ({"age": {"other": "x"}}, "other without group"),
    ({"job": {"group": {"a": ["x"], "b": ["x"]}}}, "in two groups"),
    ({"job": {"group": {"a": []}}}, "without labels"),
    ({"job": {"group": {"a": ["x", ""]}}}, "missing value"),
    ({"weight": {"cuts": [3]}}, "must stay numbers"),
    ({"agee": {"top": 3}}, "no column 'agee'"),
]


@together(["recode", "words"], WRONG)
def test_a_recode_that_cannot_be_is_refused(tmp_path: Path, recode: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words) as refused:
        assess_file(written(tmp_path, people(30)), ReleasePlan.from_dict({**PLAN, "recode": recode}))
    assert all(len(line) <= 100 for line in f"error: {refused.value}".splitlines())


@together("kind", [".csv", ".parquet", ".sav"])
def test_no_public_file_tells_what_the_columns_held(tmp_path: Path, kind: str) -> None:
    frame = pandas.DataFrame(people())
    source = str(tmp_path / f"people{kind}")
    if kind == ".csv":
        frame.to_csv(source, index=False)
    elif kind == ".parquet":
        frame["job"] = frame["job"].astype("category")
        frame.to_parquet(source)
    else:
        spss = pytest.importorskip("pyreadstat")
        frame["job"] = frame["job"].map(JOBS.index).astype(float)
        labels = {"job": dict(enumerate(JOBS)), "age": {97: "ninety-seven or the oldest"}}
        spss.write_sav(frame, source, variable_value_labels=labels)
    public = released(source, PLAN, tmp_path / "released", random=SeededRandom(2)) / "public"
    content = b"".join(path.read_bytes() for path in sorted(public.iterdir()))
    assert not [word for word in ("astronomer", "falconer", "blacksmith", "ninety-seven") if word.encode() in content]
    book = {entry["name"]: entry for entry in json.loads((public / "codebook.json").read_text())["columns"]}
    assert [one["value"] for one in book["age"]["categories"]] == ["under 30", "30 to under 60", "60 or more"]
    assert {one["value"] for one in book["job"]["categories"]} == {"rare craft", "baker", "clerk"}
    assert book["job"]["recoded"] == "categories were grouped"
    receipt = json.loads((public / "receipt.json").read_text())
    assert receipt["recoded"]["rooms"] == "6 means 6 or more"
    before = mw.risk(source, "age,job", receipt=tmp_path / "released/internal/receipt.json").before
    assert before.cells == len({*zip(*(by_hand(people())[name] for name in ("age", "job")), strict=True)})


def test_the_dry_run_says_what_each_recode_saves_and_which_rules_it_lifts(tmp_path: Path) -> None:
    path = written(tmp_path, people())
    effects = dry_run(path, ReleasePlan.from_dict(PLAN)).recodes
    assert [one.left_out for one in effects] == [(), ("age",), ("job",), ("age", "job")]
    assert effects[1].categories == ((len({*people()["age"]}), 3),)
    for one in effects:
        recode = {column: table for column, table in RECODE.items() if column not in one.left_out}
        alone = assess_file(path, ReleasePlan.from_dict({**PLAN, "recode": recode}))
        assert alone.risk is not None
        assert one.alone == alone.risk.before.uniques and one.changed == pytest.approx(alone.expected_change())
        assert one.risk <= 0.5 + 1e-9
    plan, age, _, neither = effects
    assert plan.alone <= age.alone <= neither.alone and plan.changed < age.changed
    assert json.loads(json.dumps([one.to_dict() for one in effects]))[0]["left_out"] == []
    rule = {"forbid": {"age": ["under 30"], "job": ["rare craft"]}}
    data = people()
    data["job"] = ["clerk" for _ in data["age"]]
    data["job"][::50] = ["astronomer" if age >= 30 else "clerk" for age in data["age"][::50]]
    plan = {**PLAN, "rule": [rule]}
    tried = dry_run(written(tmp_path, data), ReleasePlan.from_dict(plan)).recodes
    assert [one.lifted for one in tried] == [(), (1,), (1,), (1,)]
    recode = {column: table for column, table in RECODE.items() if column != "age"}
    alone = assess_file(written(tmp_path, data), ReleasePlan.from_dict({**PLAN, "recode": recode}))
    assert tried[1].changed == pytest.approx(alone.expected_change())
    words = " ".join("\n".join(block.to_text()) for block in recode_table(tried))
    assert "age as it is: computed without [[rule]] number 1, which names new categories" in words
    table = dry_run(pandas.DataFrame(data), ReleasePlan.from_dict(plan)).recodes
    assert [one.to_dict() for one in table] == [one.to_dict() for one in tried]


def test_an_order_that_tells_the_old_values_is_told() -> None:
    """Sorted by age or by job, also within the new categories; not where the order tells no more than these do."""
    plan = {**PLAN, "release": {**PLAN["release"], "order": "kept", "accept": ["record-order"]}}
    plan["protect"] = [{"variables": ["sex"]}]
    plan["release"]["keys"] = ["sex"]
    plan["protect"][0] |= {"method": "mixing"}
    frame = pandas.DataFrame({**people(), "sex": random.Random(9).choices("fm", k=400)})
    frame["class"], frame["job"] = by_hand(people())["age"], random.Random(8).choices(JOBS, k=400)

    def told(table: Any, **more: Any) -> list[str]:
        tables = {**plan, "release": {**plan["release"], "drop": ["class"], **more}}
        warnings = dry_run(table, ReleasePlan.from_dict(tables)).release.warnings
        return [one.split("original values of ")[1].split(";")[0] for one in warnings if "original values of" in one]

    assert told(frame) == [] and told(frame.sort_values("age")) == ["age"]
    assert told(frame.sort_values(["class", "age"], ascending=False)) == ["age"]
    assert told(frame.sort_values("class", kind="stable")) == [] and told(frame.sort_values("job")) == ["job"]
    assert told(frame.sort_values("age"), order="shuffled") == []


def test_labels_of_an_spss_file_may_stand_in_a_plan(tmp_path: Path) -> None:
    spss = pytest.importorskip("pyreadstat")
    frame = pandas.DataFrame(people())
    frame["job"] = frame["job"].map(JOBS.index).astype(float)
    spss.write_sav(frame, tmp_path / "people.sav", variable_value_labels={"job": dict(enumerate(JOBS))})
    protect = {"variables": ["job"], "method": "method1", "theta": "0.2", "exclude": ["clerk"]}
    codes = {"release": {"accept": ["age", "weight"]}, "protect": [{**protect, "exclude": ["3"]}]}
    words = {"release": {"accept": ["age", "weight"]}, "protect": [protect]}
    tables = [assess_file(str(tmp_path / "people.sav"), ReleasePlan.from_dict(one)) for one in (codes, words)]
    matrices = [one.stages[0].design.matrix() for one in tables]
    assert (matrices[0] == matrices[1]).all() and matrices[0][3, 3] == 1
    assert tables[1].plan.to_dict()["protect"][0]["exclude"] == {"job": ["clerk"]}, "the plan is signed as it was typed"
    assert tables[1].plan.protections[0].exclude == {"job": ("3",)}


def test_other_recodes_than_those_of_an_earlier_release_or_of_dropped_columns_are_refused(tmp_path: Path) -> None:
    key = mw.KeyedRandom(bytes(range(32)), "people")
    source = written(tmp_path, {**people(), "pid": list(range(400))})
    plan = {**PLAN, "release": {**PLAN["release"], "id": "pid", "dataset": "people"}}
    matrices = str(released(source, plan, tmp_path / "first", key=key) / "internal/receipt.json")
    other = {**plan, "recode": {**RECODE, "rooms": {"top": 7}}}
    refused(PlanError, "recode", released, source, other, tmp_path / "second", key=key, matrices=matrices)
    assert released(source, plan, tmp_path / "third", key=key, matrices=matrices).is_dir()
    release = {**PLAN["release"], "drop": ["rooms"]}
    refused(PlanError, "not published", ReleasePlan.from_dict, {**PLAN, "release": release})

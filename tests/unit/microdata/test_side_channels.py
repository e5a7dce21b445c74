"""Unchanged columns that identify records or give protected ones away: refused, accepted or named, in all rows."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell import Release, ReleasePlan
from maskwell.engines import cell_counts
from maskwell.errors import PlanError, PublishError
from maskwell.microdata import side_channels
from maskwell.microdata.folder.receipt_contents import internal_receipt, public_receipt
from maskwell.microdata.folder.release_folder import check_rows
from maskwell.microdata.plans.release_plan import read_plan
from maskwell.microdata.publication import release_table
from maskwell.microdata.records import dependence, value_counts
from maskwell.microdata.side_channels import SideChannel, check_side_channels
from maskwell.verbs import first_plan

pa = pytest.importorskip("pyarrow")
RANDOM = np.random.default_rng(8)
AGES = [str(20 + i % 40) for i in range(400)]
PEOPLE = {"age": AGES, "group": [a[0] for a in AGES], "sex": ["f", "m", "m"] * 133 + ["f"]}


def plan_of(variables: list[str], **more: Any) -> ReleasePlan:
    bounds = more.pop("bounds", {"method": "sequential"})
    return ReleasePlan.of([{"variables": v, **bounds} for v in variables], **more)


def released(variables: list[str], data: dict[str, Any] = PEOPLE, **more: Any) -> Release:
    return release_table(data, plan_of(variables, **more)).release


def warned(variables: list[str], data: dict[str, Any] = PEOPLE, **more: Any) -> str:
    return " ".join(released(variables, data, **more).warnings)


def refusal(variables: list[str], data: dict[str, Any] = PEOPLE, **more: Any) -> PlanError:
    return refused(PlanError, "", released, variables, data, **more)


def households(n: int = 600) -> dict[str, Any]:
    """Persons in households, with three ids of persons and one of households."""
    sizes = RANDOM.integers(1, 6, n)
    hid = np.repeat(np.arange(n), sizes)
    rows = len(hid)
    data = {
        "pid": np.arange(rows) + 1,
        "pb030": [f"AT{i:07}" for i in range(rows)],
        "rb030": RANDOM.permutation(10 * rows)[:rows],
        "hid": hid * 7 + 13,
        "hsize": np.repeat(sizes, sizes).astype(str),
        "sex": RANDOM.choice(["f", "m"], rows),
        "region": np.repeat(RANDOM.choice(list("abc"), n), sizes),
        "health": RANDOM.choice(["good", "bad", "fair"], rows),
    }
    order = RANDOM.permutation(rows)
    return {name: np.asarray(column)[order].tolist() for name, column in data.items()}


def test_finer_columns_give_coarser_ones_away_and_coarser_ones_show_changes() -> None:
    error = refusal(["group"])
    assert error.message == "group can be inferred from age (right for 100 % of records, 25 % without it)"
    assert error.hint == 'add drop = ["age"] to [release], or accept = ["age"] if it may be published'
    # Labels of two records each; the third and later rows of a label never come.
    data = {"pair": [i // 2 for i in range(380)], "x": [str(i // 2 % 5) for i in range(380)]}
    assert "x can be inferred from pair (right for 100 % of records" in refusal(["x"], data).message
    # columns that are dropped, randomized too or unrelated are not named; nothing is judged from a handful of records
    assert warned(["group"], drop=["age"]) == "" and "sex" not in warned(["group"], accept=["age"])
    data = {"x": ["a", "b"] * 9, "y": list(range(18))}
    assert warned(["x"], data) == ""
    found = warned(["age"])
    assert "group follows from age for 100 % of records; name group in linked, or drop it" in found
    # nothing is said of a column that follows and is linked, nor of keys, whose risk is measured
    plan = ReleasePlan.of([{"variables": "age", "linked": "group", "method": "sequential"}])
    assert release_table(PEOPLE, plan).release.warnings == ()
    data = {**PEOPLE, "x": list(range(400))}
    assert released(["group"], data, drop=["age"], keys=["x", "group"]).side_channels == ()
    found = released(["group"], keys=["age", "group"], drop=["sex"]).side_channels
    assert [(one.column, one.of, one.refused) for one in found] == [("age", "group", False)]


@pytest.mark.parametrize("rows", [400, 25_000])
def test_one_exception_or_a_late_row_silences_nothing(rows: int) -> None:
    """The exception comes first, and in a long file the dependence is looked at beyond the first rows."""
    ages = [str(20 + i % 40) for i in range(rows)]
    data = {"age": ages, "group": ["9", *(a[0] for a in ages[1:])]}
    (found,) = refusal(["group"], data).objects["found"]  # type: ignore[attr-defined]
    assert (found["column"], found["of"]) == ("age", "group") and 0.99 < found["share"] < 1


IDS = [list(range(400)), [f"person {i}" for i in range(400)], (RANDOM.random(400) * 1e6).tolist()]
IDS += [[None if i % 2 else i for i in range(400)], [i // 2 if i % 7 == 0 else i for i in range(400)]]


@pytest.mark.parametrize("column", IDS)
def test_columns_with_a_value_for_every_record_are_refused(column: list[Any]) -> None:
    error = refusal(["group"], {**PEOPLE, "x": column}, drop=["age"])
    assert error.message.startswith("x identifies records: ") and error.objects["columns"] == ["x"]


def test_records_in_small_groups_are_named_or_refused_by_the_bound_on_a_match() -> None:
    data = {**PEOPLE, "x": RANDOM.permutation([i // 4 for i in range(400)]).tolist()}
    assert warned(["group"], data, drop=["age"]) == ""
    keys = {"keys": ["group"], "drop": ["age"], "bounds": {"method": "method1", "theta": "0.5"}}
    assert warned(["group"], data, match="0.3", **keys) == ""
    assert "x identifies records: 100 % share their value with fewer than 9 others" in str(
        refusal(["group"], data, match="0.1", **keys)
    )
    column = [i if i % 8 == 1 else -(i % 3) for i in range(400)]
    release = released(["group"], {**PEOPLE, "x": column}, drop=["age"], keys=["group"])
    assert "x identifies records: 12.5 % have a unique value; coarsen x, or drop it" in release.warnings
    assert release.side_channel_risk.chance == 1 and release.side_channel_risk.words in release.warnings


def test_copies_of_an_id_are_found() -> None:
    school = [i % 12 for i in range(400)]
    data = {
        "sex": RANDOM.choice(["f", "m"], 400).tolist(),
        "school": school,
        "code": [f"S{(5 * s) % 12}" for s in school],
    }
    error = refusal(["sex"], data, id="school")
    assert error.message == "code has one value for each value of school, which is not published"
    assert warned(["sex"], data, drop=["school"]) == "", "categories may be published under another name"
    # a copy with a few records alone is still a copy; a column within which is randomized is no key
    hid = [i // 8 if i < 360 else i for i in range(400)]
    data = {"sex": RANDOM.choice(["f", "m"], 400).tolist(), "hid": hid, "code": [f"H{7 * h}" for h in hid]}
    error = refusal(["sex"], data, id="hid")
    assert error.message == "code has one value for each value of hid, which is not published"
    data = {"sex": RANDOM.choice(["f", "m"], 400).tolist(), "hid": [i // 2 for i in range(400)]}
    plan = ReleasePlan.of([{"variables": "sex", "within": "hid", "method": "sequential"}])
    refused(PlanError, "hid identifies records", release_table, data, plan)


def test_two_columns_that_tell_together_or_are_weights_are_named() -> None:
    a, k = RANDOM.integers(0, 2, 4000), RANDOM.integers(0, 2, 4000)
    data = {"a": a.tolist(), "k": k.tolist(), "x": (a ^ k).astype(str).tolist(), "copy": (a ^ k).tolist()}
    found = refusal(["x"], data, keys=["k", "x"]).objects["found"]
    assert [(one["column"], one["by"]) for one in found] == [("a", "k"), ("copy", "value")]  # type: ignore[attr-defined]
    assert "inferred from a and k (right for 100 % of records" in found[0]["words"]  # type: ignore[index]
    half = ["a" if group in "23" else "b" for group in PEOPLE["group"]]
    people = {**PEOPLE, "half": half, "w": [float(group) for group in PEOPLE["group"]]}
    people["w"][0] = people["w"][20]
    error = refusal(["half", "group"], people, weights="w", drop=["age"])
    assert [one["of"] for one in error.objects["found"]] == ["half", "group"]  # type: ignore[attr-defined]
    assert error.message == "unchanged columns reveal too much: w (half 99.8 %; group 99.8 %)"
    region = [str(i % 4) for i in range(400)]
    data = {"region": region, "town": [f"{r}{i % 2}" for i, r in enumerate(region)], "sex": PEOPLE["sex"]}
    plan = ReleasePlan.of([{"variables": "town", "within": "region", "method": "sequential"}], drop=["sex"])
    assert not [one for one in release_table(data, plan).release.side_channels if one.kind.startswith("restores")]


def test_a_rare_value_that_a_column_gives_away_is_refused() -> None:
    group = ["rare" if i % 40 == 0 else str(i % 3) for i in range(4000)]
    data = {"group": group, "tongue": ["x" if g == "rare" else "abcd"[i % 4] for i, g in enumerate(group)]}
    assert refusal(["group"], data).message == (
        "a rare value of group can be inferred from tongue (right for 100 % of its records)"
    )
    few = [i % 160 == 0 for i in range(2_400)]
    data = {
        "illness": ["rare" if one else "ab"[i % 2] for i, one in enumerate(few)],
        "drug": ["yes" if one else None for one in few],
        "sex": ["f", "m", "m"] * 800,
    }
    assert "a rare value of illness can be inferred from drug" in refusal(["illness"], data).message
    rare = RANDOM.random(4_000) < 0.02
    man = RANDOM.random(4_000) < 0.5
    data = {
        "illness": np.where(rare, "rare", RANDOM.choice(["a", "b"], 4_000)).tolist(),
        "drug": (rare ^ man).tolist(),
        "sex": np.where(man, "m", "f").tolist(),
    }
    assert "a rare value of illness can be inferred from drug" in refusal(["illness"], data, keys=["sex"]).message
    # A fifth are children, who are single; of the others nothing is told.
    status = ["single" if i % 5 == 0 else "abc"[int(RANDOM.integers(0, 3))] for i in range(3000)]
    data = {"status": status, "grown": ["yes" if i % 5 else "no" for i in range(3000)]}
    status[0] = "a"
    status[1] = status[2] = "single"
    assert "a rare value" not in warned(["status"], data)
    assert "status is certain from grown for 20 % of records" in warned(["status"], data)


def _noisy(share: float) -> dict[str, Any]:
    x = RANDOM.integers(0, 2, 6000)
    u = np.where(RANDOM.random(6000) < share, x, 1 - x)
    return {"x": x.astype(str).tolist(), "u": u.tolist()}


NO_BOUND = {"method": "sequential"}
XI = {"method": "inverse-frequency", "xi": "0.5"}
BEST = {"method": "optimal", "posterior": "0.7"}
TOLD = [(0.97, NO_BOUND, True), (0.9, NO_BOUND, False), (0.92, XI, True), (0.8, XI, False), (0.8, BEST, True)]


@pytest.mark.parametrize(("share", "bounds", "is_refused"), [*TOLD, (0.8, {**BEST, "posterior": "0.9"}, False)])
def test_bounds_say_how_much_may_be_restored(share: float, bounds: dict[str, str], is_refused: bool) -> None:
    """Wrong guesses of one half are corrected: gain 2 share - 1; 0.9 is allowed, 0.75 with a bound on a match."""
    data = _noisy(share)
    if is_refused:
        assert "x can be inferred from u" in refusal(["x"], data, bounds=bounds).message
    else:
        assert "unchanged columns give protected ones away" in warned(["x"], data, bounds=bounds)


def test_an_accepted_column_is_published_with_the_risk_of_who_knows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ages of twenty records each within two groups: who knows the age as well finds one of twenty at best."""
    data = households()
    drop = ["pid", "pb030", "rb030"]
    release = released(["hsize", "sex"], data, keys=["hsize", "sex"], drop=drop, accept=["hid", "region"])
    assert all(one.accepted for one in release.side_channels if one.refused)
    assert any(text.startswith("accepted by the plan: hid identifies records") for text in release.warnings)
    risk = release.side_channel_risk
    assert (risk.keys, risk.columns, risk.chance) == (("hsize", "sex"), ("hid",), 1.0)
    internal = json.loads(json.dumps(internal_receipt(release)))
    assert internal["plan"]["release"]["accept"] == ["hid", "region"]
    assert internal["risk"]["side_channels"]["max_risk"] == 1.0
    assert {one["column"] for one in internal["side_channels"] if one["accepted"]} == {"hid"}
    assert "side_channels" not in public_receipt(release)
    data = {"age": [i % 40 for i in range(800)], "group": ["ab"[i % 2] for i in range(800)]}
    release = released(["group"], data, keys=["group"], accept=["age"])
    risk = release.side_channel_risk
    assert risk.exact and 1 / 800 < risk.chance <= 1 / 20 + 1e-9
    assert risk.chance > release.risk.after.max_risk_strict
    monkeypatch.setattr(side_channels, "MOST_CELLS", 10)
    risk = released(["group"], data, keys=["group"], accept=["age"]).side_channel_risk
    assert (risk.chance, risk.exact) == (1 / 20, False)


def test_what_is_refused_or_accepted_is_said_in_one_line() -> None:
    found = [SideChannel(f"a_long_name_of_a_column_{i}", "identifies", None, 1.0, refused=True) for i in range(9)]
    caught = refused(PlanError, "", check_side_channels, found)
    assert len(caught.message) <= 93 and len(caught.hint) <= 94
    assert "(9 in all)" in caught.message
    assert warned(["group"], drop=["age"], accept=["sex"]) == ""
    assert refusal(["group"], drop=["age"], accept=["sexx"]).hint == "did you mean 'sex'?"
    table = pa.table([pa.array(["a", "b"] * 50), *[pa.array([1, 2] * 50)] * 2], names=["x", "y", "y"])
    refused(PlanError, "2 columns named 'y'", release_table, table, plan_of(["x"]))


@pytest.fixture
def person_file(tmp_path: Path) -> str:
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table(households()), path, row_group_size=500)
    return str(path)


def test_ids_are_refused_before_anything_is_written(person_file: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"pb030 \(100 % unique\), rb030 \(100 % unique\), "):
        mw.release(person_file, plan_of(["sex"], id="pid"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("limit", [None, 256])
def test_a_first_plan_publishes_no_ids_and_works(
    person_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    """Also where columns have more values than their tables hold."""
    if limit is not None:
        monkeypatch.setattr(dependence, "MOST_CELLS", limit)
        monkeypatch.setattr(dependence, "FEWEST_CELLS", limit)
        monkeypatch.setattr(cell_counts, "MOST_LISTED", 100)
    text = first_plan(person_file)
    plan = read_plan(text)
    assert plan.id == "pid" and {*plan.drop} >= {"pb030", "rb030", "hid"}
    assert "pb030 identifies records: 100 % have a unique value" in text
    assert "hsize" in plan.randomized
    assert re.search(r"hsize can be (recomputed|inferred) from hid", " ".join(text.replace("#", "").split()))
    mw.release(person_file, plan, str(tmp_path / "out"))
    assert {*pytest.importorskip("pyarrow.parquet").read_schema(tmp_path / "out/public/data.parquet").names} == {
        "hsize",
        "sex",
        "region",
        "health",
    }


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["pid", "pb030", "rb030"])
def test_the_last_look_finds_ids_in_all_rows_of_the_written_file(
    person_file: str, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows begin with a thousand that are alike."""
    plan = plan_of(["sex"], drop=["pid", "pb030", "rb030", "hid"])
    release = mw.release(person_file, plan, str(tmp_path / "out"))
    pq = pytest.importorskip("pyarrow.parquet")
    written = tmp_path / "out/public/data.parquet"
    table = pq.read_table(written)
    ids = pq.read_table(person_file).column(name).to_pylist()[:1500]
    column = [ids[0]] * (len(table) - len(ids)) + ids
    monkeypatch.setattr(type(release), "columns", [*release.columns, release.columns[0]], raising=False)
    pq.write_table(table.set_column(0, release.columns[0].name, pa.array(column)), written)
    refused(PublishError, f"'{release.columns[0].name}' distinguishes the records", check_rows, written, release)


# ---- columns together, and columns that are mostly empty


SIZES = RANDOM.integers(1, 8, 2_000)
ADULTS = np.array([RANDOM.integers(1, size + 1) for size in SIZES])
FAMILIES = {
    "hsize": SIZES.tolist(),
    "adults": ADULTS.tolist(),
    "children": (SIZES - ADULTS).astype(str).tolist(),
    "sex": RANDOM.choice(["f", "m"], 2_000).tolist(),
}


def test_one_column_hides_no_other_accepted_or_not() -> None:
    assert "hsize (children 100 % with adults)" in refusal(["children"], FAMILIES).message
    done = released(["children"], FAMILIES, keys=["sex"], accept=["hsize"])
    assert done.side_channel_risk.columns == ("hsize", "adults")
    shuffled = {**FAMILIES, "children": RANDOM.permutation(FAMILIES["children"]).tolist()}
    assert released(["children"], shuffled).side_channels == ()
    code = RANDOM.integers(0, 8, 4_000)

    def copy(share: float) -> list[int]:
        return np.where(RANDOM.random(4_000) < share, code, RANDOM.integers(0, 8, 4_000)).tolist()

    data = {"y": code.astype(str).tolist(), "a": copy(0.95), "b": copy(0.97)}
    for accepted, other in (("a", "b"), ("b", "a")):
        assert refusal(["y"], data, keys=["a", "b"], accept=[accepted]).objects["columns"] == [other]


@pytest.mark.parametrize("keys", [[], ["hsize"], ["adults", "hsize"]])
def test_a_column_within_which_is_randomized_tells_nothing_together_with_another(keys: list[str]) -> None:
    bounds = {"method": "sequential", "within": ["hsize"]}
    found = refusal(["children"], FAMILIES, bounds=bounds, keys=keys)
    assert "hsize" in found.message and "adults" in found.message


@together("tenths", range(1, 10))
def test_a_gain_of_exactly_one_half_is_named_whatever_the_last_bits(tenths: int) -> None:
    """In floats (0.7 - 0.4) / (1 - 0.4) is below one half, and others are above."""
    without = tenths / 10

    def told(share: float) -> list[str]:
        restored = (value_counts.Restored("age", share, without),)
        groups = np.zeros(value_counts.SIZES)
        facts = value_counts.ColumnFacts("z", 400, 2.0, True, groups, restored, records=400)
        return [one.kind for one in side_channels.side_channels(plan_of(["age"]), [facts])]

    assert told((1 + without) / 2) == ["restores"] and told((1 + without) / 2 - 1e-6) == []


def experienced(rows: int = 900) -> dict[str, Any]:
    """Experience follows from age and education together, and from neither alone; pay follows from nothing."""
    random = np.random.default_rng(4)
    age, school = random.integers(20, 32, rows), random.choice([8, 10, 12, 13, 16], rows, p=[0.05, 0.1, 0.4, 0.3, 0.15])
    pay = random.choice(["low", "middle", "high"], rows)
    return {"age": age.tolist(), "school": school.tolist(), "exper": (age - school).tolist(), "pay": pay.tolist()}


def test_a_column_that_follows_from_two_keys_together_shows_which_records_moved() -> None:
    data = experienced()
    keys = ["age", "school"]
    plan = {"variables": keys, "method": "mixing"}
    terms = {"keys": keys, "match": 0.1}
    error = refused(PlanError, "", release_table, data, ReleasePlan.of([plan], **terms))
    assert error.hint == 'exper shows which records moved: add drop = ["exper"] or use linked'
    dry = mw.verbs.dry_run(data, {"release": terms, "protect": [plan]}).release
    (found,) = (one for one in dry.file.channels if one.kind == "shows changes")
    assert found.words == "exper follows from age, school for 100 % of records" and found.together == ("age", "school")
    seen = dry.file.risk_table(dry.plan)
    assert seen.columns == ("age", "school", "exper") and dry.risk is not None
    assert dry.risk.after.max_risk > 0.1
    for way in ({"drop": ["exper"]}, {"linked": ["exper"]}):
        ways = {name: value for name, value in way.items() if name != "drop"}
        kept = mw.verbs.dry_run(
            data, {"release": {**terms, "drop": way.get("drop", [])}, "protect": [{**plan, **ways}]}
        ).release
        assert not [one for one in kept.file.channels if one.kind == "shows changes"], way
    assert read_plan(first_plan(data, keys=keys, match="0.1")).drop == ("exper",)


@pytest.mark.parametrize("others", [[], ["ward"]])
def test_a_column_that_follows_from_keys_before_they_are_recoded_shows_changes_too(others: list[str]) -> None:
    """In classes of age experience no longer follows; the classes it never occurs in still show who moved."""
    data = {**experienced(), "ward": np.random.default_rng(5).integers(0, 40, 900).tolist()}
    keys = ["age", "school", *others]
    plan = {
        "release": {"keys": keys, "match": 0.1, "drop": [] if others else ["ward"]},
        "protect": [{"variables": keys, "method": "mixing"}],
        "recode": {"age": {"cuts": [23, 26, 29]}},
    }
    dry = mw.verbs.dry_run(data, plan).release
    (found,) = (one for one in dry.file.channels if one.kind == "shows changes")
    assert found.words == "exper follows from the original values of age, school for 100 % of records"
    assert dry.file.risk_table(dry.plan).columns == (*keys, "exper")
    assert dry.risk is not None and dry.risk.after.max_risk > 0.1
    assert f"{found.words}; coarsen exper, or drop it" in " ".join(dry.warnings)
    error = refused(PlanError, "", mw.release, data, plan)
    assert error.hint == 'exper shows which records moved: add drop = ["exper"] or coarsen'
    for terms in ({"drop": ["exper"]}, {"accept": ["exper"]}):
        kept = mw.verbs.dry_run(data, {**plan, "release": {**plan["release"], **terms}}).release
        assert kept.file.seen == (), terms
    # with errors in one of three records it does not follow, nor does a column without any relation
    random = np.random.default_rng(6)
    wrong = np.where(random.random(900) < 0.33, random.integers(4, 24, 900), data["exper"]).tolist()
    loose = mw.verbs.dry_run({**data, "exper": wrong}, plan).release
    assert not [one for one in loose.file.channels if one.kind == "shows changes"]

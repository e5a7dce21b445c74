"""The risk of households and other units, against a slow twin and an intruder; and what shows who belongs together."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.together import together

from maskwell import risk
from maskwell.core import CellTable, KeyedRandom, SeededRandom
from maskwell.engines.rows import MemoryTable
from maskwell.errors import MaskwellError, MissingValueError, PlanError
from maskwell.microdata import Release, ReleasePlan, release_table
from maskwell.microdata.analysis import estimate_released
from maskwell.microdata.assessment import assess
from maskwell.microdata.folder.receipt import stage_from_dict
from maskwell.microdata.folder.receipt_contents import stage_to_dict
from maskwell.microdata.publication import open_release
from maskwell.microdata.records.unit_rows import read_units
from maskwell.microdata.risk import assess_risk, cell_risks
from maskwell.microdata.risk.unit_risk import same_units, unit_risks
from maskwell.microdata.true_file import prepared
from maskwell.microdata.utility.utility_measures import inflation_of
from maskwell.reports.text.release_report import dry_run_report

FALSE_ALARM = 1e-6


def people(households: int = 120, seed: int = 3) -> dict[str, Any]:
    """Persons in households, of which a few columns are those of the household."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, households)
    hid = np.repeat(np.arange(households), sizes)
    roof = random.integers(0, 3, households)[hid]
    relat = np.concatenate([np.arange(size) for size in sizes])
    return {
        "hid": (hid * 7 + 5).tolist(),
        "roof": [f"r{one}" for one in roof],
        "sex": [f"s{one}" for one in random.integers(0, 2, len(hid))],
        "relat": [("head", "spouse", "child", "child")[one] for one in relat],
        "hsize": [str(one) for one in sizes[hid]],
        "village": [f"v{one}" for one in (np.arange(households) // 2)[hid]],
        "income": [f"i{one}" for one in random.integers(0, 40, households)[hid]],
    }


def assessed(data: dict[str, Any], protect: list[str], keys: list[str], **more: Any) -> Release:
    plan = ReleasePlan.of([{"variables": protect, "method": "mixing"}], keys=keys, match="0.4", unit="hid", **more)
    return assess(MemoryTable(data), plan)


def test_one_of_a_unit_is_found_as_a_slow_twin_says() -> None:
    data = people()
    keys = ["roof", "sex", "relat"]
    rows = list(zip(*(data[key] for key in keys), strict=True))
    cells, members = Counter(rows), defaultdict[int, list[tuple[str, ...]]](list)
    for hid, row in zip(data["hid"], rows, strict=True):
        members[hid].append(row)
    slow = {hid: 1 - math.prod(1 - 1 / cells[row] for row in group) for hid, group in members.items()}
    alike = Counter(tuple(sorted(group)) for group in members.values())
    units = risk(data, keys, unit="hid").report.units
    assert units is not None
    assert units.units == len(members)
    assert units.before.max_risk == pytest.approx(max(slow.values()))
    assert units.before.expected_units == pytest.approx(sum(slow.values()))
    assert units.before.expected_records == pytest.approx(sum(slow[hid] for hid in data["hid"]))
    assert units.known_together == 1 / min(alike.values())
    assert units.alone == sum(n for n in alike.values() if n == 1)
    by_record = unit_risks([1 / cells[row] for row in rows], data["hid"])
    assert by_record == pytest.approx([slow[hid] for hid in data["hid"]])


def test_units_alike_are_those_with_the_same_cells_in_any_order() -> None:
    random = np.random.default_rng(4)
    units = random.permutation(np.repeat(np.arange(300), random.integers(1, 4, 300)))
    cells = random.integers(0, 5, len(units))
    groups = [tuple(sorted(cells[units == unit].tolist())) for unit in range(300)]
    assert same_units(units, cells).tolist() == [Counter(groups)[group] for group in groups]


def test_a_household_is_at_least_as_easy_to_find_as_each_of_its_members() -> None:
    drop = ["village", "income", "hsize"]
    release = assessed(people(), ["roof", "sex", "relat"], ["roof", "sex", "relat"], drop=drop)
    assert release.risk is not None
    assert release.file.members is not None
    units, chance = release.risk.units, release.risk.per_cell["after"][release.file.members.cells]
    assert units is not None
    assert units.after is not None
    assert release.risk.after is not None
    assert release.risk.after.max_risk <= units.after.max_risk <= units.after.max_bound <= 1
    assert units.after.max_risk == pytest.approx(unit_risks(chance, release.file.members.units.tolist()).max())
    said = " ".join(" ".join(dry_run_report(release, [], source="f", plan="p")).split())
    assert "At least one of the records with the same hid is found with a chance of up to" in said
    assert "the limit is for single records" in said


def test_the_worst_of_a_household_is_for_whoever_finds_most() -> None:
    """Also for somebody who compares all counts of the file as it came out: in JSON as in the text."""
    protect = [{"variables": ["x"], "method": "method1", "theta": "0.9"}]
    plan = ReleasePlan.of(protect, keys=["x"], unit="hid", demonstration=True)
    release = release_table({"x": [*"abccddd"], "hid": [0, 0, 2, 3, 4, 5, 6]}, plan, random=SeededRandom(2)).release
    report, members = release.risk, release.file.members
    assert report is not None and report.units is not None and report.units.after is not None and members is not None
    told, units, whose = report.headline, report.units.after, members.units.tolist()
    most = np.max([report.per_cell[name] for name in ("any_release", "released_counts")], axis=0)[members.cells]
    assert (most > report.per_cell["after"][members.cells] + 1e-6).any()
    assert units.worst_risk == pytest.approx(unit_risks(np.minimum(most, 1), whose).max())
    assert units.worst_bound == pytest.approx(min(1, max(most[members.units == one].sum() for one in whose)))
    assert told["covers_released_counts"] is True
    assert told["worst_unit"] == units.worst_risk > units.max_risk
    assert told["worst_unit"] >= told["worst"]
    text = " ".join(" ".join(dry_run_report(release, [], source="f", plan="p")).split())
    assert " % for someone who also compares all released counts" in text.replace("\u00a0", " ")
    known = {name: chance for name, chance in report.after.max_risk_by.items() if name != "released_counts"}
    unknown = replace(report, after=replace(report.after, max_risk_by=known))
    assert unknown.headline["covers_released_counts"] is False


# ---- an intruder who knows all members of a household

COUNTS = [1, 2, 3, 30]
HOUSEHOLD = [0, 1, 3]
"""Records by their place: the only one of its cell, one of two, and one of three."""


def test_somebody_who_knows_all_members_finds_one_no_more_often_than_stated() -> None:
    """He looks for each member where it is easiest, in 4,000 releases; the bound holds, two thirds of it would not.

    One-sided binomial test, with a false alarm of 1e-6 at most over all looks.
    """
    data = {"x": [c for c, n in zip("abcd", COUNTS, strict=True) for _ in range(n)]}
    data["hid"] = [0 if i in HOUSEHOLD else i + 1 for i in range(sum(COUNTS))]
    release = assessed(data, ["x"], ["x"])
    assert release.risk is not None
    units = release.risk.units
    assert units is not None
    assert units.after is not None
    sampler, releases = release.stages[0].design.sampler(SeededRandom(5)), 4_000
    codes = np.tile(np.repeat(np.arange(4), COUNTS), releases)
    values = np.asarray(sampler.sample(codes).data).reshape(releases, -1)
    order = np.random.default_rng(6).random(values.shape)
    beaten = {1.0: 0, 2 / 3: 0}
    looks = [(a, b, c) for a in range(4) for b in range(4) for c in range(4)]
    for look in looks:
        right = np.zeros(releases, dtype=bool)
        one_there = np.ones(releases, dtype=bool)
        for member, value in zip(HOUSEHOLD, look, strict=True):
            here = values == value
            picked = np.where(here, order, 2.0).argmin(axis=1)
            one_there &= here.sum(axis=1) == 1
            right |= (picked == member) & here.any(axis=1)
        for share in beaten:
            for seen in (np.ones(releases, dtype=bool), one_there):
                chance = binom.sf(int(right[seen].sum()) - 1, int(seen.sum()), share * units.after.max_bound)
                beaten[share] += bool(chance < FALSE_ALARM / (4 * len(looks)))
    assert beaten[1.0] == 0
    assert beaten[2 / 3] > 0


# ---- what shows who belongs together


def test_units_are_not_published_unless_accepted() -> None:
    data = people()
    plan = {"keys": ["roof"], "match": "0.4", "unit": "hid", "drop": ["village", "income", "hsize"]}
    protect = [{"variables": ["roof"], "method": "mixing"}]
    assert "hid" not in release_table(data, ReleasePlan.of(protect, **plan)).data
    done = release_table(data, ReleasePlan.of(protect, **plan, accept=["hid"]))
    assert "hid" in done.data
    assert done.release.risk is not None
    units = done.release.risk.units
    assert units is not None
    assert (units.seen_by, units.seen_share) == (("hid",), 1.0)
    assert units.worst >= units.known_together


def test_columns_of_the_household_show_together_who_belongs_to_it() -> None:
    """Neither village nor income tells a household; together they do, and so its size can be counted again."""
    data = people(300)
    keys, drop = ["sex", "hsize"], ["roof", "relat"]
    with pytest.raises(PlanError, match="hid") as refused:
        assessed(data, ["hsize"], keys, drop=drop)
    assert "hsize can be counted again" in str(refused.value.objects["found"])
    release = assessed(data, ["hsize"], keys, drop=drop, accept=["village"])
    assert release.risk is not None
    units = release.risk.units
    assert units is not None
    assert {*units.seen_by} == {"village", "income"}
    hidden = {hid for hid, n in Counter(zip(data["village"], data["income"], data["hid"], strict=True)).items() if n}
    looks = Counter((village, income) for village, income, _ in {*hidden})
    sizes = Counter(data["hid"])
    rows = list(zip(data["village"], data["income"], data["hid"], strict=True))
    shown = sum(looks[row[:2]] < 3 and sizes[row[2]] > 1 for row in rows) / len(rows)
    assert units.seen_share == pytest.approx(shown)


def test_a_household_without_a_head_shows_a_change() -> None:
    release = assessed(people(), ["relat"], ["relat"], drop=["village", "income"], accept=["hid"])
    (together_,) = [one for one in release.side_channels if one.kind == "shows units"]
    assert "a changed relat may show" in together_.words


@together(
    ["more", "said"],
    [
        ({"order": "kept"}, "order"),
        ({"keys": ["hid"]}, "keys"),
        ({"id": "hid"}, "id"),
        ({"unit": "roof"}, "randomized"),
        ({"unit": "household"}, "no column"),
    ],
)
def test_what_units_cannot_be_is_said(more: dict[str, Any], said: str) -> None:
    asked = {"keys": ["roof"], "match": "0.4", "unit": "hid", **more}
    protect = [{"variables": ["roof"], "method": "mixing"}]
    with pytest.raises(MaskwellError, match=said) as caught:
        assess(*prepared(MemoryTable(people()), ReleasePlan.of(protect, **asked)))
    assert len(caught.value.message) <= 100
    assert len(caught.value.hint) <= 100


def test_every_record_belongs_to_a_unit() -> None:
    table = CellTable.of(["sex"], {("f",): 2})
    with pytest.raises(MissingValueError, match="1 record"):
        read_units(MemoryTable({"sex": ["f", "f"], "hid": [1, None]}), "hid", table)


# ---- one draw for all members

LIVING = [("a", "ff"), ("b", "fm"), ("b", "mm"), ("c", "ff"), ("c", "fm"), ("c", "fm")]
"""Six households of two: their roof, and the sexes of their members."""


def homes() -> dict[str, Any]:
    people = [(hid, roof, sex) for hid, (roof, sexes) in enumerate(LIVING) for sex in sexes]
    hid, roof, sex = zip(*people, strict=True)
    return {"hid": list(hid), "roof": list(roof), "sex": list(sex), "hsize": ["2"] * len(hid)}


def together_plan(**more: Any) -> ReleasePlan:
    asked = {"keys": ["roof", "sex"], "unit": "hid", **more}
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "mixing", "match": "0.5", "each": "unit"}
    return ReleasePlan.of([protect], **asked)


def test_members_who_move_together_are_found_no_more_often_than_stated() -> None:
    """All releases of six households are written out: the exact chance of every look is at most the stated one.

    Without regard to who moves with whom, the figure would be beaten.
    """
    release = assess(MemoryTable(homes()), together_plan())
    (stage,) = release.stages
    matrix = np.zeros((3, 3))
    report, true, p = stage.transitions
    matrix[report, true] = p
    assert stage.counts.tolist() == [2, 4, 6]
    assert stage.draw_counts.tolist() == [1, 2, 3]
    true_roofs = ["abc".index(roof) for roof, _ in LIVING]
    chances = defaultdict[tuple[Any, ...], float](float)
    for outcome in itertools.product(range(3), repeat=len(LIVING)):
        chance = math.prod(matrix[z, x] for z, x in zip(outcome, true_roofs, strict=True))
        for z, sex in itertools.product(range(3), "fm") if chance else ():
            shown = [(hid, z == roof) for hid, roof in enumerate(outcome) for one in LIVING[hid][1] if one == sex]
            t = sum(here for _, here in shown)
            chances[z, sex, t] += chance
            for hid in {hid for hid, here in shown if here}:
                chances[z, sex, t, hid] += chance
    exact = {
        (hid, sex): max(chances[z, sex, t, hid] / chances[z, sex, t] / t for z, _, t, _ in _looks(chances, hid, sex))
        for hid, (_, sexes) in enumerate(LIVING)
        for sex in sexes
    }
    assert release.risk is not None
    labels = release.risk.table.labels()
    places = [release.risk.table.place(name) for name in ("roof", "sex")]
    stated = {tuple(label[i] for i in places): r for label, r in zip(labels, release.risk.risk, strict=True)}
    apart = assess_risk(release.risk.table, ["roof", "sex"], release.stages).risk
    careless = {tuple(label[i] for i in places): r for label, r in zip(labels, apart, strict=True)}
    assert all(chance <= stated[LIVING[hid][0], sex] + 1e-12 for (hid, sex), chance in exact.items())
    assert any(chance > careless[LIVING[hid][0], sex] + 1e-6 for (hid, sex), chance in exact.items())


def _looks(chances: dict[tuple[Any, ...], float], hid: int, sex: str) -> list[tuple[Any, ...]]:
    return [look for look in chances if len(look) == 4 and look[3] == hid and look[1] == sex and look[2]]


def test_a_household_with_one_draw_is_found_as_a_record_of_a_file_of_households() -> None:
    release = assess(MemoryTable(homes()), together_plan(keys=["roof", "hsize"], match="0.5"))
    assert release.risk is not None
    units = release.risk.units
    assert units is not None
    of_households = cell_risks([1, 2, 3], release.stages[0].design).any_release.max()
    assert units.known_together == pytest.approx(of_households)
    assert units.known_together <= 0.5 + 1e-9 < 1  # the only household with its roof
    assert units.after is not None
    assert units.after.max_risk == units.after.max_bound


def test_all_members_have_one_draw_which_a_key_keeps() -> None:
    random = np.random.default_rng(9)
    hid = random.permutation(np.repeat(np.arange(4000), 2))
    data = {"hid": hid.tolist(), "roof": [f"r{one % 4}" for one in hid], "hsize": ["2"] * len(hid)}
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": "0.5", "each": "unit"}
    plan = ReleasePlan.of([protect], unit="hid", accept=["hid"], order="kept", demonstration=True)
    done = release_table(data, plan, random=SeededRandom(3))
    assert not any(one.kind == "restores" for one in done.release.side_channels)  # nobody differs from the others
    released, (stage,) = defaultdict[int, set[str]](set), done.release.stages
    for one, roof in zip(done.data["hid"], done.data["roof"], strict=True):
        released[one].add(roof)
    assert {len(roofs) for roofs in released.values()} == {1}
    kept = sum(roofs == {f"r{one % 4}"} for one, roofs in released.items())
    assert binom.sf(kept - 1, 4000, stage.keeps[0]) > FALSE_ALARM
    assert binom.cdf(kept, 4000, stage.keeps[0]) > FALSE_ALARM
    assert stage.fingerprint != replace(stage, unit=None).fingerprint  # record 7 and household 7 share no words
    again = stage_from_dict(stage_to_dict(stage))
    assert (again.unit, again.fingerprint, again.sizes.tolist()) == ("hid", stage.fingerprint, [2] * 4)
    factor = inflation_of(stage, "roof")
    assert factor is not None
    q = stage.keeps[0]
    added = sum(2 * n * x * (1 - x) for n, x in zip([2000] * 4, [q, *[(1 - q) / 3] * 3], strict=True))
    assert factor.factors[0] == pytest.approx(1 + added / (8000 * 0.25 * 0.75))
    for columns, more in ((["roof", "hsize"], {}), (["roof"], {"weights": "hid"})):
        with pytest.raises(MaskwellError, match="one draw for all records") as refused:
            estimate_released(done.data, done.receipt(), columns, **more)
        assert max(len(refused.value.message), len(refused.value.hint)) <= 93
    shares = estimate_released(done.data, done.receipt(), ["roof"], target="file").estimate
    published = done.receipt().groups[0].inflation["roof"]
    assert factor.factors.max() <= published < 1.1 * factor.factors.max()
    np.testing.assert_allclose(shares.variance, (published - 1) * shares.pi_hat * (1 - shares.pi_hat) / 7999)
    assert any("moved together" in flag for flag in shares.flags)


def test_a_key_keeps_the_draws_of_households_without_ids_of_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{hid},r{hid % 3},2" for hid in range(40) for _ in range(2)]
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": "0.9", "each": "unit"}
    plan = ReleasePlan.of([protect], unit="hid", dataset="homes", accept=["hid"])
    key, seen = KeyedRandom.of(bytes(range(32)), "homes"), []
    for name, order in (("one", rows), ("two", rows[::-1])):
        Path("homes.csv").write_text("\n".join(["hid,roof,hsize", *order]) + "\n", encoding="utf-8")
        with open_release("homes.csv", plan, name, key=key, ledger="k.ledger") as opened:
            assert opened.release.drawn_again == ()
        seen.append(sorted(Path(name, "public", "data.csv").read_text(encoding="utf-8").splitlines()))
    assert seen[0] == seen[1] != sorted(["hid,roof,hsize", *rows])


@together(
    ["data", "more", "said"],
    [
        ({"roof": [*"abbbccccccca"]}, {}, "'roof' differs within"),
        ({"hsize": ["2", "2", *["3"] * 10]}, {"keys": ["hsize"]}, None),
        ({"hid": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4], "roof": [*"aabbbbcccccc"]}, {}, "different sizes"),
        ({}, {"unit": None}, "names no unit"),
        ({}, {"also": ["sex"]}, "for each record"),
        ({}, {"how": {"method": "uniform", "gamma": "3"}}, "for each size of unit"),
    ],
)
def test_what_one_draw_for_a_unit_needs(data: dict[str, Any], more: dict[str, Any], said: str | None) -> None:
    asked: dict[str, Any] = {"keys": ["roof", "sex"], "unit": "hid", **more}
    also, how = asked.pop("also", None), asked.pop("how", {"method": "method1", "theta": "0.5"})
    asked = {key: value for key, value in asked.items() if value is not None}
    protect: list[dict[str, Any]] = [{"variables": ["roof"], "within": ["hsize"], "each": "unit", **how}]
    protect += [{"variables": also, "method": "method1", "theta": "0.5"}] if also else []
    if said is None:
        assert assess(MemoryTable({**homes(), **data}), ReleasePlan.of(protect, **asked)).stages[0].unit == "hid"
        return
    with pytest.raises(PlanError, match=said) as caught:
        assess(MemoryTable({**homes(), **data}), ReleasePlan.of(protect, **asked))
    assert len(caught.value.message) <= 100
    assert len(caught.value.hint) <= 100

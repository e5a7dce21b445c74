"""The risk of households and other units, against a slow twin and an intruder; and what shows who belongs together."""

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.quiet import refused
from tests.support.together import together

from maskwell import Release, ReleasePlan, SeededRandom, risk
from maskwell.core.cells import CellTable
from maskwell.engines.rows import MemoryTable
from maskwell.errors import MaskwellError, MissingValueError, PlanError
from maskwell.microdata.assessment import assess
from maskwell.microdata.publication import release_table
from maskwell.microdata.records.unit_rows import read_units
from maskwell.microdata.true_file import prepared
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


def test_a_household_is_found_as_a_slow_twin_says_and_as_easily_as_its_members() -> None:
    data = people()
    keys = ["roof", "sex", "relat"]
    rows = list(zip(*(data[key] for key in keys), strict=True))
    cells, members = Counter(rows), defaultdict[int, list[tuple[str, ...]]](list)
    for hid, row in zip(data["hid"], rows, strict=True):
        members[hid].append(row)
    slow = {hid: 1 - math.prod(1 - 1 / cells[row] for row in group) for hid, group in members.items()}
    alike = Counter(tuple(sorted(group)) for group in members.values())
    units = risk(data, keys, unit="hid").report.units
    assert units.units == len(members) and units.before.max_risk == pytest.approx(max(slow.values()))
    assert units.before.expected_units == pytest.approx(sum(slow.values()))
    assert units.before.expected_records == pytest.approx(sum(slow[hid] for hid in data["hid"]))
    assert units.alone == sum(n for n in alike.values() if n == 1)
    assert units.known_together == 1 / min(alike[tuple(sorted(group))] for group in members.values())
    table = CellTable.of(["sex"], {("f",): 2})
    refused(MissingValueError, "1 record", read_units, MemoryTable({"sex": ["f", "f"], "hid": [1, None]}), "hid", table)
    drop = ["village", "income", "hsize"]
    release = assessed(people(), ["roof", "sex", "relat"], ["roof", "sex", "relat"], drop=drop)
    units, chance = release.risk.units, release.risk.per_cell["after"][release.file.members.cells]
    assert release.risk.after.max_risk <= units.after.max_risk <= units.after.max_bound <= 1
    assert units.after.max_risk == pytest.approx(max(one_of(chance, release.file.members.units).values()))
    said = " ".join(" ".join(dry_run_report(release, [], source="f", plan="p")).split())
    assert "At least one of the records with the same hid is re-identified with a probability of up to" in said
    assert "the limit applies to single records" in said


def one_of(chances: Any, units: Any) -> dict[int, float]:
    """For each unit the chance that one of its records is found, if they are matched independently."""
    return {unit: 1 - math.prod(1 - min(c, 1) for c in chances[units == unit]) for unit in set(units.tolist())}


def test_the_worst_of_a_household_is_for_whoever_finds_most() -> None:
    """Also for somebody who compares all counts of the file as it came out: in JSON as in the text."""
    protect = [{"variables": ["x"], "method": "method1", "theta": "0.9"}]
    plan = ReleasePlan.of(protect, keys=["x"], unit="hid", demonstration=True)
    release = release_table({"x": [*"abccddd"], "hid": [0, 0, 2, 3, 4, 5, 6]}, plan, random=SeededRandom(2)).release
    report, members = release.risk, release.file.members
    told, units, whose = report.headline, report.units.after, members.units.tolist()
    most = np.max([report.per_cell[name] for name in ("any_release", "released_counts")], axis=0)[members.cells]
    assert (most > report.per_cell["after"][members.cells] + 1e-6).any()
    assert units.worst_risk == pytest.approx(max(one_of(most, members.units).values()))
    assert units.worst_bound == pytest.approx(min(1, max(most[members.units == one].sum() for one in whose)))
    assert told["covers_released_counts"] is True and told["worst_unit"] == units.worst_risk > units.max_risk
    assert told["worst_unit"] >= told["worst"]
    text = " ".join(" ".join(dry_run_report(release, [], source="f", plan="p")).split())
    assert " % for an intruder who also compares all released counts" in text.replace("\u00a0", " ")
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
    units = release.risk.units
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
    assert beaten[1.0] == 0 and beaten[2 / 3] > 0


# ---- what shows who belongs together


def test_units_are_not_published_unless_accepted_and_show_changes() -> None:
    data = people()
    plan = {"keys": ["roof"], "match": "0.4", "unit": "hid", "drop": ["village", "income", "hsize"]}
    protect = [{"variables": ["roof"], "method": "mixing"}]
    assert "hid" not in release_table(data, ReleasePlan.of(protect, **plan)).data
    done = release_table(data, ReleasePlan.of(protect, **plan, accept=["hid"]))  # each roof has three records and more
    assert "hid" in done.data
    units = done.release.risk.units
    assert (units.seen_by, units.seen_share) == (("hid",), 1.0) and units.worst >= units.known_together
    release = assessed(people(), ["relat"], ["relat"], drop=["village", "income"], accept=["hid"])
    (together_,) = [one for one in release.side_channels if one.kind == "shows units"]
    assert "a changed relat may show" in together_.words


def test_columns_of_the_household_show_together_who_belongs_to_it() -> None:
    """Neither village nor income tells a household; together they do, and so its size can be counted again."""
    data = people(300)
    keys, drop = ["sex", "hsize"], ["roof", "relat"]
    error = refused(PlanError, "hid", assessed, data, ["hsize"], keys, drop=drop)
    assert "hsize can be recomputed by counting" in str(error.objects["found"])
    release = assessed(data, ["hsize"], keys, drop=drop, accept=["village"])
    units = release.risk.units
    assert {*units.seen_by} == {"village", "income"}
    hidden = {hid for hid, n in Counter(zip(data["village"], data["income"], data["hid"], strict=True)).items() if n}
    looks = Counter((village, income) for village, income, _ in {*hidden})
    sizes = Counter(data["hid"])
    rows = list(zip(data["village"], data["income"], data["hid"], strict=True))
    shown = sum(looks[row[:2]] < 3 and sizes[row[2]] > 1 for row in rows) / len(rows)
    assert units.seen_share == pytest.approx(shown)


NO_UNITS = [({"order": "kept"}, "order"), ({"keys": ["hid"]}, "keys"), ({"id": "hid"}, "id")]
NO_UNITS += [({"unit": "roof"}, "randomized"), ({"unit": "household"}, "no column")]


@together(["more", "said"], NO_UNITS)
def test_what_units_cannot_be_is_said(more: dict[str, Any], said: str) -> None:
    asked = {"keys": ["roof"], "match": "0.4", "unit": "hid", **more}
    records, protect = MemoryTable(people()), [{"variables": ["roof"], "method": "mixing"}]
    caught = refused(MaskwellError, said, lambda: assess(*prepared(records, ReleasePlan.of(protect, **asked))))
    assert len(caught.message) <= 100 and len(caught.hint) <= 100

"""Households with one draw, against an intruder who uses all that is public: releases of a small file are listed."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.quiet import refused
from tests.support.together import together

from maskwell import KeyedRandom, Release, ReleasePlan, SeededRandom, risk
from maskwell.core.arguments import Array, Real
from maskwell.core.cells import CellTable
from maskwell.engines.rows import MemoryTable
from maskwell.errors import MaskwellError, ParameterError, PlanError
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.assessment import assess
from maskwell.microdata.folder.receipt import stage_from_dict
from maskwell.microdata.folder.receipt_contents import stage_to_dict
from maskwell.microdata.publication import release_into, release_table
from maskwell.microdata.records.unit_rows import read_units
from maskwell.microdata.risk import unit_draws
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.risk.identity_disclosure import cell_risks
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.risk.unit_draws import DrawnUnits, drawn_together
from maskwell.microdata.utility.utility_measures import inflation_of

FALSE_ALARM = 1e-6

HOMES = (("a", "ff"), ("b", "fm"), ("b", "mm"), ("c", "ff"), ("c", "fm"), ("c", "fm"))
"""Six households of two: their roof, and the sexes of their members."""

ROOFS = "abc"


def table_of(roofs: Sequence[str]) -> dict[str, list[Any]]:
    """The persons of the households, with these roofs."""
    rows = [
        (hid, roof, sex, "2") for hid, (roof, (_, sexes)) in enumerate(zip(roofs, HOMES, strict=True)) for sex in sexes
    ]
    return dict(zip(("hid", "roof", "sex", "hsize"), map(list, zip(*rows, strict=True)), strict=True))


TRUE = table_of([roof for roof, _ in HOMES])


def drawn_once(theta: str = "0.6") -> dict[str, Any]:
    return {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": theta, "each": "unit"}


@cache
def assessed(keys: tuple[str, ...], accept: tuple[str, ...], theta: str = "0.6") -> Release:
    return assess(MemoryTable(TRUE), ReleasePlan.of([drawn_once(theta)], keys=keys, unit="hid", accept=accept))


def outcomes(release: Release) -> tuple[Array, Real]:
    """All roofs that the households may be released with, and their chances."""
    report, true, p = release.stages[0].transitions
    P = np.zeros((3, 3))
    P[report, true] = p
    every = np.array([*itertools.product(range(3), repeat=len(HOMES))])
    return every, P[every, [ROOFS.index(roof) for roof, _ in HOMES]].prod(axis=1)


class Intruder:
    """Somebody who knows keys of a person, the matrix and all households, and sees counts of a released file."""

    def __init__(self, release: Release, keys: Sequence[str], *, sees_units: bool) -> None:
        self.every, self.chance = outcomes(release)
        self.sexes = "sex" in keys
        self.sees_units = sees_units and self.sexes  # without the sex all households look alike

    def public(self, roofs: Sequence[int]) -> Hashable:
        """What the file shows: households by their members, or persons."""
        shown = [(roof, sexes if self.sexes else "") for roof, (_, sexes) in zip(roofs, HOMES, strict=True)]
        if not self.sees_units and self.sexes:
            shown = [(roof, sex) for roof, sexes in shown for sex in sexes]
        return tuple(sorted(Counter(shown).items()))

    def releases(self) -> dict[Hashable, list[int]]:
        """All that the file may show, with the outcomes that do."""
        shown = defaultdict[Hashable, list[int]](list)
        for number in np.flatnonzero(self.chance > 0).tolist():
            shown[self.public(self.every[number].tolist())].append(number)
        return shown

    def chance_of(self, roof: str, sex: str, numbers: list[int]) -> float:
        """With which he finds a person, looking where it is best: at a roof, and at households of some members."""
        own = [hid for hid, (true, _) in enumerate(HOMES) if true == roof]
        looks = {sexes for _, sexes in HOMES} if self.sees_units else {""}
        return max(self._look(own, sex, value, look, numbers) for value in range(3) for look in looks)

    def _look(self, own: list[int], sex: str, value: int, look: str, numbers: list[int]) -> float:
        persons = np.array([sexes.count(sex) if self.sexes else 2 for _, sexes in HOMES])
        meant = np.array([not look or sexes == look for _, sexes in HOMES])
        here = (self.every[numbers] == value) & meant  # (outcomes, households)
        there = np.maximum((here * persons).sum(axis=1), 1)
        likely = self.chance[numbers] / self.chance[numbers].sum()
        right = (likely[:, None] * here * persons / there[:, None]).sum(axis=0)  # one of them is picked
        if not self.sees_units:  # the household that is meant is the one found most easily
            return float(max(right[hid] / persons[hid] for hid in own if persons[hid]))
        return float(right[own].sum() / persons[own].sum())


def stated(release: Release, keys: Sequence[str], roofs: Sequence[int], *, published: bool) -> RiskReport:
    """The risk of one release, by the code that is tested."""
    table = release.risk.table
    data = table_of([ROOFS[roof] for roof in roofs])
    counts = Counter(zip(*(data[name] for name in table.columns), strict=True))
    released = CellTable.of(table.columns, dict(counts))
    members = read_units(MemoryTable(data), "hid", released) if published else None
    apart = assess_risk(table, keys, release.stages, released=released)
    units = DrawnUnits(table, release.file.members, ("hsize",), published, released, members)
    return drawn_together(apart, release.stages, units)[0]


@together(
    ["keys", "published"],
    [(("roof", "sex"), False), (("roof", "sex"), True), (("roof", "hsize"), False), (("roof", "hsize"), True)],
)
def test_who_uses_all_counts_finds_what_is_stated(keys: tuple[str, ...], published: bool) -> None:
    """Exact for every release that is tried; where all roofs come out as they were, more than by one look."""
    release = assessed(keys, ("hid",) if published else ())
    intruder = Intruder(release, keys, sees_units=published)
    releases = intruder.releases()
    persons = {(roof, sex) for roof, sexes in HOMES for sex in sexes}
    unchanged = intruder.public([ROOFS.index(roof) for roof, _ in HOMES])
    found = {}
    for shown in [unchanged, *[*releases][5 :: max(1, len(releases) // 2)]]:
        numbers = releases[shown]
        exact = found[shown] = max(intruder.chance_of(*person, numbers) for person in persons)
        report = stated(release, keys, intruder.every[numbers[0]].tolist(), published=published)
        assert report.after.max_risk_released_counts == pytest.approx(exact, abs=1e-12)
        assert report.worst >= exact - 1e-12
    if published or "hsize" in keys:
        assert found[unchanged] > release.risk.after.max_risk + 0.03


def test_what_counts_do_not_tell_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of keys that are drawn both ways, a file with two of each kind: by a list of all releases it is 35 %."""
    release = assessed(("roof", "sex"), ())
    for limit, is_told in ((unit_draws.STATES, True), (3, False)):
        monkeypatch.setattr(unit_draws, "STATES", limit)
        report = stated(release, ("roof", "sex"), [0, 1, 1, 2, 2, 2], published=False)
        assert report.is_flagged("all-counts-not-covered") is not is_told
        assert (report.after.max_risk_released_counts is not None) is is_told
    homes = ("aff", "bfm", "bmm", "afm")
    rows = [(str(hid), home[0], sex, "2") for hid, home in enumerate(homes) for sex in home[1:]]
    data = dict(zip(("hid", "roof", "sex", "hsize"), map(list, zip(*rows, strict=True)), strict=True))
    by_record = {"variables": ["sex"], "method": "method1", "theta": "0.25"}
    done = release_table(data, ReleasePlan.of([drawn_once("0.25"), by_record], keys=["roof"], unit="hid"))
    shown = {"roof": data["roof"], "sex": ["f", "m"] * 4, "hsize": data["hsize"]}
    report = risk(data, ["roof", "sex"], released=shown, receipt=done.receipt(internal=True)).report
    assert report.after.max_risk_released_counts is None and report.is_flagged("all-counts-not-covered")
    assert report.worst >= 0.35


def test_a_receipt_tells_that_units_were_drawn() -> None:
    """Without that, the chance after a release would be that of draws apart, and too small."""
    keys = ["roof", "hsize"]
    done = release_table(TRUE, ReleasePlan.of([drawn_once()], keys=keys, unit="hid", accept=["hid"]))
    stated, receipt = done.release.risk, done.receipt(internal=True)
    again = risk(TRUE, keys, released=done.data, receipt=receipt).report
    assert again.after.max_risk_by == stated.after.max_risk_by
    counted = stated.after.max_risk_released_counts
    assert again.units.known_together == stated.units.known_together >= 2 * counted - 1e-9
    refused(ParameterError, "hid", risk, TRUE, keys, receipt=receipt, unit="sex")


@together(
    ["keys", "limit", "intruder", "bound"],
    [
        (("roof", "sex"), "1", "any-look", 1.0),
        (("roof", "hsize"), "0.5", "any-look", 0.5),
        (("roof", "hsize"), "0.5", "own-key-95", 1.0),  # in some releases more is found than the limit allows
        (("roof", "sex"), "0.9", "any-look", 1.0),  # kept by draws apart, broken by those of households
    ],
)
def test_chances_of_a_sample_are_those_of_draws_together(
    keys: tuple[str, ...], limit: str, intruder: str, bound: float
) -> None:
    """Each person stands for twenty; a limit counts where it is the plan's and is kept wherever somebody looks."""
    data = TRUE | {"w": [20.0] * 12}
    plan = ReleasePlan.of([drawn_once()], keys=keys, unit="hid", weights="w", match=limit, intruder=intruder)
    report = assess(MemoryTable(data), plan).risk
    part = report.per_cell["population"] / report.per_cell["before"]
    assert report.after.max_risk_population == (report.per_cell["after"] * part).max()
    assert report.after.max_risk_sampled == pytest.approx(bound / 20, rel=1e-6)
    apart = {"variables": ["roof"], "method": "method1", "theta": "0.6"}
    done = release_table(data, ReleasePlan.of([apart], keys=["roof"], weights="w", drop=["hid"]))
    found = risk(data, "roof", receipt=done.receipt(internal=True), weights="w", match=0.9).after
    assert found.records_above == 0  # of a limit that whoever asks has given: it is not kept in other samples
    assert found.max_risk_sampled == pytest.approx(1 / 20, rel=1e-6)


# ---- one look at a file, and the draws themselves


def together_plan(**more: Any) -> ReleasePlan:
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "mixing", "match": "0.5", "each": "unit"}
    return ReleasePlan.of([protect], **{"keys": ["roof", "sex"], "unit": "hid", **more})


def test_members_who_move_together_are_found_no_more_often_than_stated() -> None:
    """All releases of six households are written out: the exact chance of every look is at most the stated one.

    Without regard to who moves with whom, the figure would be beaten.
    """
    release = assess(MemoryTable(TRUE), together_plan())
    assert release.stages[0].counts.tolist() == [2, 4, 6]
    assert release.stages[0].draw_counts.tolist() == [1, 2, 3]
    seen, there = defaultdict[Any, float](float), defaultdict[Any, float](float)
    for roofs, chance in zip(*outcomes(release), strict=True):
        for z, sex in itertools.product(range(3), "fm"):
            shown = [hid for hid in range(len(HOMES)) for one in HOMES[hid][1] if roofs[hid] == z and one == sex]
            seen[z, sex, len(shown)] += chance
            for hid in {*shown}:
                there[hid, z, sex, len(shown)] += chance
    exact = defaultdict[Any, float](float)
    for (hid, z, sex, t), chance in there.items():
        if chance:
            exact[HOMES[hid][0], sex] = max(exact[HOMES[hid][0], sex], chance / seen[z, sex, t] / t)
    table = release.risk.table
    places = [table.place(name) for name in ("roof", "sex")]
    stated, careless = (
        {tuple(label[i] for i in places): r for label, r in zip(table.labels(), risks, strict=True)}
        for risks in (release.risk.risk, assess_risk(table, ["roof", "sex"], release.stages).risk)
    )
    assert all(chance <= stated[person] + 1e-12 for person, chance in exact.items())
    assert any(chance > careless[person] + 1e-6 for person, chance in exact.items())


def test_a_household_with_one_draw_counts_as_one_record() -> None:
    release = assess(MemoryTable(TRUE), together_plan(keys=["roof", "hsize"], match="0.5"))
    units = release.risk.units
    assert units.known_together == pytest.approx(cell_risks([1, 2, 3], release.stages[0].design).any_release.max())
    assert units.known_together <= 0.5 + 1e-9 < 1  # the only household with its roof
    assert units.after.max_risk == units.after.max_bound
    # Exactly: 1 + the variance of a share over all releases, over that of a sample of as many persons.
    release = assessed(("roof", "hsize"), ())
    every, chance = outcomes(release)
    factor = inflation_of(release.stages[0], "roof")
    true = np.array([ROOFS.index(roof) for roof, _ in HOMES])
    for value in range(3):
        shares, share = (every == value).mean(axis=1), (true == value).mean()
        assert chance @ shares == pytest.approx(share)
        variance = chance @ (shares - share) ** 2
        assert factor.factors[value] == pytest.approx(1 + 12 * variance / (share * (1 - share)))


def test_all_members_have_one_draw_which_a_key_keeps() -> None:
    random = np.random.default_rng(9)
    hid = random.permutation(np.repeat(np.arange(4000), 2))
    data = {"hid": hid.tolist(), "roof": [f"r{one % 4}" for one in hid], "hsize": ["2"] * len(hid)}
    plan = ReleasePlan.of([drawn_once("0.5")], unit="hid", accept=["hid"], order="kept", demonstration=True)
    done = release_table(data, plan, random=SeededRandom(3))
    assert not any(one.kind == "restores" for one in done.release.side_channels)  # nobody differs from the others
    released, (stage,) = defaultdict[int, set[str]](set), done.release.stages
    for one, roof in zip(done.data["hid"], done.data["roof"], strict=True):
        released[one].add(roof)
    assert {len(roofs) for roofs in released.values()} == {1}
    kept, q = sum(roofs == {f"r{one % 4}"} for one, roofs in released.items()), stage.keeps[0]
    assert min(binom.sf(kept - 1, 4000, q), binom.cdf(kept, 4000, q)) > FALSE_ALARM
    assert stage.fingerprint != replace(stage, unit=None).fingerprint  # record 7 and household 7 share no words
    again = stage_from_dict(stage_to_dict(stage))
    assert (again.unit, again.fingerprint, again.sizes.tolist()) == ("hid", stage.fingerprint, [2] * 4)
    factor = inflation_of(stage, "roof").factors
    for columns, more in ((["roof", "hsize"], {}), (["roof"], {"weights": "hid"})):
        with pytest.raises(MaskwellError, match="one draw for all records") as refused:
            estimate_released(done.data, done.receipt(), columns, **more)
        assert max(len(refused.value.message), len(refused.value.hint)) <= 93
    shares = estimate_released(done.data, done.receipt(), ["roof"], target="file").estimate
    published = done.receipt().groups[0].inflation["roof"]
    assert factor.max() <= published < 1.1 * factor.max()
    np.testing.assert_allclose(shares.variance, (published - 1) * shares.pi_hat * (1 - shares.pi_hat) / 7999)
    assert any("moved together" in flag for flag in shares.flags)


def test_a_key_keeps_the_draws_of_households_without_ids_of_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{hid},r{hid % 3},2" for hid in range(40) for _ in range(2)]
    plan = ReleasePlan.of([drawn_once("0.9")], unit="hid", dataset="homes", accept=["hid"])
    key, seen = KeyedRandom.of(bytes(range(32)), "homes"), []
    for name, order in (("one", rows), ("two", rows[::-1])):
        Path("homes.csv").write_text("\n".join(["hid,roof,hsize", *order]) + "\n", encoding="utf-8")
        assert release_into("homes.csv", plan, name, key=key, ledger="k.ledger").drawn_again == ()
        seen.append(sorted(Path(name, "public", "data.csv").read_text(encoding="utf-8").splitlines()))
    assert seen[0] == seen[1] != sorted(["hid,roof,hsize", *rows])


@together(
    ["data", "more", "said"],
    [
        ({"roof": [*"abbbccccccca"]}, {}, "'roof' differs within"),
        ({"hid": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4], "roof": [*"aabbbbcccccc"]}, {}, "different sizes"),
        ({}, {"unit": None}, "names no unit"),
        ({}, {"also": ["sex"]}, "for each record"),
        ({}, {"how": {"method": "uniform", "gamma": "3"}}, "for each size of unit"),
    ],
)
def test_what_one_draw_for_a_unit_needs(data: dict[str, Any], more: dict[str, Any], said: str) -> None:
    asked: dict[str, Any] = {"keys": ["roof", "sex"], "unit": "hid", **more}
    also, how = asked.pop("also", None), asked.pop("how", {"method": "method1", "theta": "0.5"})
    protect: list[dict[str, Any]] = [{"variables": ["roof"], "within": ["hsize"], "each": "unit", **how}]
    protect += [{"variables": also, "method": "method1", "theta": "0.5"}] if also else []
    asked = {key: value for key, value in asked.items() if value is not None}
    caught = refused(PlanError, said, lambda: assess(MemoryTable(TRUE | data), ReleasePlan.of(protect, **asked)))
    assert max(len(caught.message), len(caught.hint)) <= 100

"""Households with one draw against an intruder who uses all that is public: every release of a small file is listed."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.support.together import together

from maskwell import risk
from maskwell.core import CellTable
from maskwell.core.arguments import Array, Real
from maskwell.engines.rows import MemoryTable
from maskwell.errors import ParameterError
from maskwell.microdata import Release, ReleasePlan, release_table
from maskwell.microdata.assessment import assess
from maskwell.microdata.records.unit_rows import read_units
from maskwell.microdata.risk import RiskReport, assess_risk, unit_draws
from maskwell.microdata.risk.file_risk import NOT_COVERED
from maskwell.microdata.risk.unit_draws import DrawnUnits, drawn_together
from maskwell.microdata.utility.utility_measures import inflation_of

HOMES = (("a", "ff"), ("b", "fm"), ("b", "mm"), ("c", "ff"), ("c", "fm"), ("c", "fm"))
"""Six households of two: their roof, and the sexes of their members."""

ROOFS = "abc"


def table_of(roofs: Sequence[str]) -> dict[str, list[Any]]:
    """The persons of the households, with these roofs."""
    rows = [
        (hid, roof, sex, "2") for hid, (roof, (_, sexes)) in enumerate(zip(roofs, HOMES, strict=True)) for sex in sexes
    ]
    return dict(zip(("hid", "roof", "sex", "hsize"), map(list, zip(*rows, strict=True)), strict=True))


@cache
def assessed(keys: tuple[str, ...], accept: tuple[str, ...], theta: str = "0.6") -> Release:
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": theta, "each": "unit"}
    plan = ReleasePlan.of([protect], keys=keys, unit="hid", accept=accept)
    return assess(MemoryTable(table_of([roof for roof, _ in HOMES])), plan)


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
    assert release.risk is not None
    assert release.file.members is not None
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
        assert report.after is not None
        assert report.after.max_risk_released_counts == pytest.approx(exact, abs=1e-12)
        assert report.worst >= exact - 1e-12
    assert release.risk is not None
    assert release.risk.after is not None
    if published or "hsize" in keys:
        assert found[unchanged] > release.risk.after.max_risk + 0.03


def test_the_inflation_of_households_is_that_of_all_releases() -> None:
    """Exactly: 1 + the variance of a share over all releases, over that of a sample of as many persons."""
    release = assessed(("roof", "hsize"), ())
    every, chance = outcomes(release)
    factor = inflation_of(release.stages[0], "roof")
    assert factor is not None
    true = np.array([ROOFS.index(roof) for roof, _ in HOMES])
    for value in range(3):
        shares, share = (every == value).mean(axis=1), (true == value).mean()
        assert chance @ shares == pytest.approx(share)
        variance = chance @ (shares - share) ** 2
        assert factor.factors[value] == pytest.approx(1 + 12 * variance / (share * (1 - share)))


def test_what_counts_do_not_tell_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    release = assessed(("roof", "sex"), ())
    roofs = [0, 1, 1, 2, 2, 2]
    assert NOT_COVERED not in stated(release, ("roof", "sex"), roofs, published=False).flags
    monkeypatch.setattr(unit_draws, "STATES", 3)
    report = stated(release, ("roof", "sex"), roofs, published=False)
    assert report.after is not None
    assert report.after.max_risk_released_counts is None
    assert NOT_COVERED in report.flags


def test_a_receipt_tells_that_units_were_drawn() -> None:
    """Without that, the chance after a release would be that of draws apart, and too small."""
    data = table_of([roof for roof, _ in HOMES])
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": "0.6", "each": "unit"}
    done = release_table(data, ReleasePlan.of([protect], keys=["roof", "hsize"], unit="hid", accept=["hid"]))
    stated = done.release.risk
    assert stated is not None
    assert stated.after is not None
    assert stated.units is not None
    again = risk(data, ["roof", "hsize"], released=done.data, receipt=done.receipt(internal=True)).report
    assert again.after is not None
    assert again.units is not None
    assert again.after.max_risk_any_release == stated.after.max_risk_any_release
    assert again.after.max_risk_released_counts == stated.after.max_risk_released_counts
    counted = stated.after.max_risk_released_counts
    assert counted is not None
    assert again.units.known_together == stated.units.known_together >= 2 * counted - 1e-9
    with pytest.raises(ParameterError, match="hid"):
        risk(data, ["roof", "hsize"], receipt=done.receipt(internal=True), unit="sex")


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
    data = table_of([roof for roof, _ in HOMES]) | {"w": [20.0] * 12}
    protect = {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": "0.6", "each": "unit"}
    plan = ReleasePlan.of([protect], keys=keys, unit="hid", weights="w", match=limit, intruder=intruder)
    report = assess(MemoryTable(data), plan).risk
    assert report is not None
    assert report.after is not None
    part = report.per_cell["population"] / report.per_cell["before"]
    assert report.after.max_risk_population == (report.per_cell["after"] * part).max()
    assert report.after.max_risk_sampled == pytest.approx(bound / 20, rel=1e-6)


def test_a_limit_of_whoever_asks_is_not_kept_in_other_samples() -> None:
    data = table_of([roof for roof, _ in HOMES]) | {"w": [20.0] * 12}
    protect = {"variables": ["roof"], "method": "method1", "theta": "0.6"}
    done = release_table(data, ReleasePlan.of([protect], keys=["roof"], weights="w", drop=["hid"]))
    found = risk(data, "roof", receipt=done.receipt(internal=True), weights="w", match=0.9).after
    assert found is not None
    assert found.records_above == 0
    assert found.max_risk_sampled == pytest.approx(1 / 20, rel=1e-6)


def test_counts_of_keys_that_are_drawn_both_ways_are_not_covered() -> None:
    """A file with two of each kind, of which 25 % was said; by a list of all releases it is 35 %."""
    homes = ("aff", "bfm", "bmm", "afm")
    rows = [(str(hid), home[0], sex, "2") for hid, home in enumerate(homes) for sex in home[1:]]
    data = dict(zip(("hid", "roof", "sex", "hsize"), map(list, zip(*rows, strict=True)), strict=True))
    by_unit = {"variables": ["roof"], "within": ["hsize"], "method": "method1", "theta": "0.25", "each": "unit"}
    by_record = {"variables": ["sex"], "method": "method1", "theta": "0.25"}
    done = release_table(data, ReleasePlan.of([by_unit, by_record], keys=["roof"], unit="hid"))
    shown = {"roof": data["roof"], "sex": ["f", "m"] * 4, "hsize": data["hsize"]}
    report = risk(data, ["roof", "sex"], released=shown, receipt=done.receipt(internal=True)).report
    assert report.after is not None
    assert report.after.max_risk_released_counts is None
    assert NOT_COVERED in report.flags
    assert report.worst >= 0.35

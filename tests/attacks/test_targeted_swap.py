"""Targeted swaps against an intruder who lists every arrangement of the regions inside the pools of small files."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell.core.categories import Categories
from maskwell.engines.rows import Rows
from maskwell.errors import InfeasibleError
from maskwell.microdata.assessment import assess
from maskwell.microdata.matrices.swap_flows import UnitDealer
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.true_file import prepared

AREAS = ["nuts", "lau"]
Data = dict[str, list[Any]]


def small_file(number: int) -> Data:
    """Households of one or two people in three municipalities of two regions, with a rare value of y."""
    draw = random.Random(number)
    rows: Data = {name: [] for name in ("hid", "nuts", "lau", "size", "y")}
    for household in range(draw.randint(5, 8)):
        size, lau = draw.choices([1, 2], [3, 1])[0], draw.choice(["A1", "A2", "B1"])
        for _ in range(size):
            values = (household, lau[0], lau, size, draw.choices("xyz", [4, 2, 1])[0])
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)
    return rows


def planned(keys: list[str], **more: Any) -> mw.ReleasePlan:
    release = {name: more.pop(name) for name in ("match", "drop") if name in more}
    asked = {"variables": AREAS, "method": "targeted-swap", "similar": ["size"], "risk": ["y"], "k": 2, "size": 2}
    return mw.ReleasePlan.of([asked | more], keys=keys, unit="hid", demonstration=True, **release)


def pools_of(data: Data, plan: mw.ReleasePlan) -> list[str]:
    """The pool of each record, as the release has it: those of a demonstration can be drawn again."""
    rows, _ = prepared(Rows.of(data), plan)
    with rows.open_stored([]) as source:
        table = [batch.column(len(source.schema) - 1).to_pylist() for batch in source.batches()]
    return [pool for part in table for pool in part]


def arrangements(data: Data, pools: list[str]) -> Iterator[dict[int, tuple[str, str]]]:
    """The regions of each household in every arrangement, all equally likely."""
    regions = {hid: (nuts, lau) for hid, nuts, lau in zip(*(data[name] for name in ("hid", *AREAS)), strict=True)}
    members: dict[str, list[int]] = defaultdict(list)
    for hid, pool in dict(zip(data["hid"], pools, strict=True)).items():
        members[pool].append(hid)
    dealt = [[*permutations([regions[hid] for hid in one])] for one in members.values()]
    for choice in product(*dealt):
        yield {
            hid: region
            for one, part in zip(members.values(), choice, strict=True)
            for hid, region in zip(one, part, strict=True)
        }


Visible = frozenset[tuple[tuple[Any, ...], int]]


def best_guesses(data: Data, pools: list[str], others: list[str]) -> tuple[list[float], dict[Visible, list[float]]]:
    """For each record the largest chance that one released with some keys is the target's.

    Given how many have these keys; and given all counts, for each way in which these can come out.
    """
    n = len(data["hid"])
    seen, alone = Counter[Visible](), Counter[tuple[Any, int]]()
    placed: list[Counter[Any]] = [Counter() for _ in range(n)]
    one_look: list[Counter[Any]] = [Counter() for _ in range(n)]
    for regions in arrangements(data, pools):
        keys = [(*regions[data["hid"][i]], *(data[name][i] for name in others)) for i in range(n)]
        counts = Counter(keys)
        visible = frozenset(counts.items())
        seen[visible] += 1
        alone.update(counts.items())
        for i, key in enumerate(keys):
            placed[i][visible, key, counts[key]] += 1
            one_look[i][key, counts[key]] += 1
    looks = [max(times / alone[look] / look[1] for look, times in one.items()) for one in one_look]
    given_all = {visible: [0.0] * n for visible in seen}
    for i, one in enumerate(placed):
        for (visible, _, alike), times in one.items():
            given_all[visible][i] = max(given_all[visible][i], times / seen[visible] / alike)
    return looks, given_all


def risks(data: Data, plan: mw.ReleasePlan) -> tuple[RiskReport, np.ndarray]:
    """The report, and by record the chance that the limit is for."""
    rows, made = prepared(Rows.of(data), plan)
    report = assess(rows, made).risk
    assert report is not None
    return report, report.per_cell["after"][cells_of(data, plan, report)]


def cells_of(data: Data, plan: mw.ReleasePlan, report: RiskReport) -> list[int]:
    """The cell of each record in the table of a report."""
    names, label = report.table.columns, {one: i for i, one in enumerate(report.table.labels())}
    columns = {**data, next(name for name in names if name.startswith("pool")): pools_of(data, plan)}
    return [label[row] for row in zip(*(columns[name] for name in names), strict=True)]


@together("number", range(10))
def test_no_arrangement_reveals_more_than_is_reported(number: int) -> None:
    data = small_file(number)
    for others in (["size"], ["y"], ["size", "y"]):
        plan = planned([*AREAS, *others], rate="0.3" if number % 2 else "0.01")
        looks, given_all = best_guesses(data, pools_of(data, plan), others)
        report, reported = risks(data, plan)
        assert report.after is not None and report.after.max_risk >= max(looks) - 1e-12
        assert (reported >= np.array(looks) - 1e-12).all(), (number, others)
        out = mw.release(data, plan, random=mw.SeededRandom(number))
        visible = frozenset(Counter(zip(*(out.data[name] for name in (*AREAS, *others)), strict=True)).items())
        drawn = out.release.risk
        known = drawn.per_cell.get("released_counts")
        if known is not None:
            counted = known[cells_of(data, plan, drawn)]
            assert (counted >= np.array(given_all[visible]) - 1e-12).all(), (number, others)


def test_the_reported_chance_is_reached() -> None:
    """Four households, alike, each alone with y in its municipality: the pool of four is all that hides them."""
    data = {
        "hid": [1, 2, 3, 4],
        "nuts": ["A", "A", "B", "B"],
        "lau": ["A1", "A2", "B1", "B2"],
        "size": [1, 1, 1, 1],
        "y": ["x", "x", "x", "x"],
    }
    plan = planned([*AREAS, "y"], size=4, k=3)
    assert pools_of(data, plan) == ["pool 1"] * 4
    report, reported = risks(data, plan)
    looks, given_all = best_guesses(data, pools_of(data, plan), ["y"])
    assert looks == [0.25] * 4 == pytest.approx(reported.tolist()) and {*map(tuple, given_all.values())} == {
        (0.25,) * 4
    }
    assert report.before.max_risk == 1 and report.after is not None and report.after.max_risk == pytest.approx(0.25)
    released = mw.release(data, planned([*AREAS, "y"], size=4, k=3, match="1/4"), random=mw.SeededRandom(1))
    assert released.release.risk.after.max_risk == pytest.approx(0.25)
    tight = planned([*AREAS, "y"], size=4, k=3, match="1/5")
    refused(InfeasibleError, "4 of 4 records keep a probability of a correct match above 0.2", mw.release, data, tight)


def test_an_intruder_who_knows_how_pools_are_made_finds_no_more_than_is_reported() -> None:
    """Who was at risk depends on y, which is no key here: one released file proves that a household was in B1."""
    truth, plan = ("A2", "A1", "B1", "A1"), planned(AREAS, k=2, size=2, rate="1")
    law: dict[tuple[str, ...], Counter[tuple[str, ...]]] = defaultdict(Counter)

    def file_of(regions: tuple[str, ...]) -> Data:
        nuts = [one[0] for one in regions]
        return {"hid": [0, 1, 2, 3], "nuts": nuts, "lau": [*regions], "size": [1] * 4, "y": ["x", "y", "x", "x"]}

    for regions in {*permutations(truth)}:  # whatever the order of chance, the pools are these
        ways = [*arrangements(file_of(regions), pools_of(file_of(regions), plan))]
        for one in ways:
            law[tuple(one[hid][1] for hid in range(4))][regions] += 24 // len(ways)
    chances = [
        sum(times for regions, times in law[seen].items() if regions[hid] == "B1") / law[seen].total()
        for seen in law
        if law[seen][truth]
        for hid in range(4)
    ]
    report, _ = risks(file_of(truth), plan)
    assert max(chances) == 1
    assert report.after is not None and report.after.max_risk >= max(chances) - 1e-12


def test_deals_are_even_over_all_arrangements() -> None:
    """Of 4,800 deals each of the 24 arrangements has 200 on average; chi-square beyond 80 has a chance of 3e-8."""
    source, cells, codes = mw.SeededRandom(7), np.zeros(4, dtype=np.int64), np.arange(4)
    met: Counter[tuple[int, ...]] = Counter()
    for _ in range(4800):
        dealer = UnitDealer(cells, np.ones(4, dtype=np.int64), Categories.numbered(4), source)
        met[tuple(dealer.sample(codes, codes).tolist())] += 1
        dealer.check_finished()
    assert len(met) == 24 and sum((times - 200) ** 2 / 200 for times in met.values()) < 80
